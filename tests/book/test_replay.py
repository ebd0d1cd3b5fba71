"""When the replay of a notebook fails, it says where, what differs, and how to accept it."""

import os
import subprocess
import sys

import compare
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from uaftc_book.publish import CHECKOUT

ROUNDING = CHECKOUT / "tests" / "rounding.cfg"


def text(*lines: str) -> list[nbformat.NotebookNode]:
    return [new_output("stream", name="stdout", text="".join(f"{line}\n" for line in lines))]


def table(value: str) -> list[nbformat.NotebookNode]:
    html = f"<table><tr><td>{'same ' * 30}{value}</td></tr></table>"
    return [
        new_output(
            "execute_result",
            data={"text/html": html, "text/plain": "<IPython.core.display.HTML object>"},
            execution_count=1,
        )
    ]


CELLS = [
    ("print('the same')", text("the same")),
    ("print('proved: this (error 2e-16)')", text("proved: this (error 4e-15)")),
    ("print('one\\nslope 0.52\\nthree\\nfour')", text("one", "slope 0.51", "three")),
    ("import pandas as pd\n\n1 / 0", []),
    (
        "from IPython.display import HTML\nHTML('<table><tr><td>' + 'same ' * 30 + '2.0</td></tr></table>')",
        table("1.0"),
    ),
    ("print('\\n'.join(map(str, range(20))))", text(*map(str, range(100, 120)))),
]
SAID = """06_small, cell 3: output differs
  slope 0.51 → slope 0.52
  (nothing) → four
If this is as it should be, keep it by: uaftc book --again 06_small
06_small, cell 4: ZeroDivisionError: division by zero
----> 3 1 / 0
06_small, cell 5: output differs
  …same same same same 1.0</td> → …same same same same 2.0</td>
If this is as it should be, keep it by: uaftc book --again 06_small
06_small, cell 6: output differs
  100 → 0
  … and 10 more
If this is as it should be, keep it by: uaftc book --again 06_small
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> list[str]:
    """What pytest prints when it replays a notebook with these cells, without its own lines."""
    folder = tmp_path_factory.mktemp("book")
    cells = [new_code_cell(code, outputs=outputs, execution_count=1) for code, outputs in CELLS]
    nbformat.write(new_notebook(cells=cells), folder / "06_small.ipynb")
    options = ["--nbval", "--nbval-sanitize-with", ROUNDING, "-q", "-p", "conftest", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, folder]
    path = os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert "4 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_failed_replay_says_chapter_cell_old_and_new_and_the_command(said):
    end = next(number for number, line in enumerate(said) if "short test summary" in line)
    mine = [line for line in said[:end] if not line.startswith(("____", "====", "..F"))]
    shown = SAID.splitlines()
    many = shown.index("  100 → 0")
    expected = shown[: many + 1] + [f"  {100 + n} → {n}" for n in range(1, 10)] + shown[many + 1 :]
    assert [line for line in mine if line] == expected


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
