"""What a host runs by itself: linted, pinned, with the least rights, and nothing but commands that are here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import compare
import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook, new_output

from uaftc_book.publish import CHECKOUT

WORKFLOWS = sorted((CHECKOUT / ".github" / "workflows").glob("*.yml"))
JOBS = {
    f"{path.stem}: {name}": job
    for path in WORKFLOWS
    for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
}
STEPS = [step for job in JOBS.values() for step in job["steps"]]
SCHEMA = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
GITLAB = CHECKOUT / ".gitlab-ci.yml"
LINTERS = {
    "actionlint": [Path(sys.executable).with_name("actionlint"), *WORKFLOWS],
    "zizmor": [Path(sys.executable).with_name("zizmor"), "--offline", "--persona=auditor", *WORKFLOWS],
    "schema": [*SCHEMA, "vendor.github-workflows", *WORKFLOWS],
    "time limits": [*SCHEMA, "custom.github-workflows-require-timeout", *WORKFLOWS],
    "GitLab": [*SCHEMA, "vendor.gitlab-ci", "--data-transform", "gitlab-ci", GITLAB],
}


@pytest.mark.parametrize("linter", LINTERS)
def test_linters_have_nothing_to_say(linter):
    done = subprocess.run(LINTERS[linter], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_actions_are_pinned_by_hash_with_their_version_beside():
    written = re.findall(r"uses: (.*)", "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS))
    assert len(written) == sum("uses" in step for step in STEPS) > 10
    assert [each for each in written if not re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []
    assert len(set(written)) == len({each.partition("@")[0] for each in written}), "one version of each"


def test_only_publishing_may_write():
    held = {name: {right for right, how in job["permissions"].items() if how == "write"} for name, job in JOBS.items()}
    assert {name: rights for name, rights in held.items() if rights} == {
        "ci: pages": {"pages", "id-token"},
        "release: release": {"contents"},
    }
    assert all(yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {} for path in WORKFLOWS)


def test_what_is_run_is_here():
    makefile = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
    run = [step["run"] for step in STEPS if "run" in step]
    run += yaml.safe_load(GITLAB.read_text(encoding="utf-8"))["pages"]["script"]
    for target in re.findall(r"make (\w+)", " ; ".join(run)):
        assert re.search(rf"(?m)^{target}:", makefile), target
    others = [line for line in run if not line.startswith("make ")]
    assert [line.split()[0] for line in others] == [".ci/run", "test", "gh", "mv"]
    assert os.access(CHECKOUT / ".ci" / "run", os.X_OK)


def test_a_host_can_say_where_its_pages_are():
    """Whatever builds pages needs it, with an address of a host that is not known."""
    told = [yaml.safe_load(path.read_text(encoding="utf-8"))["env"] for path in WORKFLOWS]
    assert told == [{"UAFTC_PAGES": "${{ vars.UAFTC_PAGES }}"}] * 3


def test_a_run_is_compared_with_what_is_committed(tmp_path, capsys):
    path = tmp_path / "book" / "01_small.ipynb"
    path.parent.mkdir()

    def executed(first: str, second: str) -> None:
        cells = [new_code_cell("1"), new_code_cell("2", metadata={"tags": ["nbval-ignore-output"]})]
        for number, (cell, text) in enumerate(zip(cells, (first, second))):
            cell.id = f"cell-{number}"
            cell.outputs = [new_output("stream", name="stdout", text=text)]
        nbformat.write(new_notebook(cells=cells), path)

    executed("slope 0.51, error 2e-16\n", "one")
    as_nobody = ["git", "-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*as_nobody, *words], cwd=tmp_path, check=True)
    executed("slope 0.51, error 4e-15\n", "two")
    assert compare.main(checkout=tmp_path) == 0
    executed("slope 0.52, error 4e-15\n", "two")
    assert compare.main(checkout=tmp_path) == 1
    same, different, line = capsys.readouterr().out.splitlines()
    assert (same, different) == ("- 01_small: the same", "- 01_small: lines that differ: 1")
    assert "[1] slope 0.51" in line and "[1] slope 0.52" in line
