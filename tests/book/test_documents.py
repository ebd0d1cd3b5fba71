"""README and docs: what stands in a block works, and is run here unless its line says what it needs or takes.

Such a line is read as its program would read it: options, targets, files, parameters of chapters.
"""

import ast
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import papermill.cli
import pytest
from click.testing import CliRunner

from uaftc_book import cards, claims
from uaftc_book.publish import CHECKOUT, chapters, parameters_of, read_published
from uaftc_lib.cli import app

TEXTS = {
    path.relative_to(CHECKOUT).as_posix(): path.read_text(encoding="utf-8")
    for path in (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md")), CHECKOUT / "book" / "api.md")
}
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
DEAR = re.compile(r"#.*\((?:needs|takes) [^)]+\)$")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#([^)]+))?\)")
APPS = {"uaftc": app, "papermill": papermill.cli.papermill}

BLOCKS = [(name, *match) for name, text in TEXTS.items() for match in BLOCK.findall(text)]
LINES = [line for _, language, block in BLOCKS if language == "sh" for line in block.splitlines() if line]
COMMANDS = {shlex.join(shlex.split(line, comments=True)): line for line in LINES}


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The checkout by links; what a command writes stays beside them."""
    for path in CHECKOUT.iterdir():
        if path.name not in (".git", "report", "runs.csv"):
            (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check_options(name: str, words: list[str]) -> None:
    """What click reads without a fault; and parameters that chapters have."""
    context = APPS[name].make_context(name, list(words))
    if name == "uaftc":
        command, own, rest = app.resolve_command(context, words)
        own.make_context(command, rest, parent=context)
    for chapter in {Path(word).stem for word in words} & set(chapters()):
        given = {word for option, word in pairwise(words) if option == "-p"}
        assert given <= parameters_of(read_published(chapter)).keys()


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def check_files(words: list[str]) -> None:
    """Files that are named are there, or are made by something that git ignores; of a script its options, too."""
    named = [word for word in words if re.search(r"\w[./]\w", word)]
    assert named
    for path in (CHECKOUT / word for word in named):
        assert path.exists() or not subprocess.run(["git", "check-ignore", "-q", path], cwd=CHECKOUT).returncode, path
        if path.suffix == ".py":
            text = path.read_text(encoding="utf-8")
            ast.parse(text)
            assert [word for word in words if word.startswith("--") and word not in text] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_works(command, copy, untyped):
    name, *words = shlex.split(command)
    if name == "make":
        run("make", "--dry-run", *words)
    elif name == "pip":  # what it would do, with the packages that are there
        run(sys.executable, "-m", "pip", *words, "--dry-run", "--no-index", "--no-build-isolation")
    elif name not in APPS:
        check_files([name, *words])
    else:
        check_options(name, words)
        if not DEAR.search(COMMANDS[command]):
            done = CliRunner().invoke(APPS[name], words)
            assert done.exit_code == 0, f"{done.output}{done.exception!r}"


@pytest.mark.parametrize("text", [block for _, language, block in BLOCKS if language == "python"])
def test_every_example_works(text, copy, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.fspath(CHECKOUT))
    run(sys.executable, "-c", text)


@pytest.mark.parametrize("name", TEXTS)
def test_what_a_text_names_is_there(name):
    """Files that it links, and targets of make within its sentences."""
    targets = set(re.search(r"^\.PHONY: (.*)", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)[1].split())
    assert set(re.findall(r"`make ([\w-]+)", TEXTS[name])) <= targets
    for file, place in LINK.findall(TEXTS[name]):
        path = (CHECKOUT / name).parent / file
        assert path.exists(), file
        heads = re.findall(r"^#+ (.*)", path.read_text(encoding="utf-8"), re.MULTILINE) if place else []
        assert not place or place in [re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads]


def test_the_readme_counts_as_the_scorecard_does():
    assert f"{cards.so_many(claims.judge_all())} hold" in TEXTS["README.md"]


def test_the_readme_is_read_in_a_minute_and_its_doors_are_short():
    assert len(TEXTS["README.md"].splitlines()) <= 80
    assert [block for name, _, block in BLOCKS if name == "README.md" and len(block.splitlines()) > 10] == []
    assert "@equation(27," in (CHECKOUT / "uaftc_book/chapters/gradients.py").read_text(encoding="utf-8")
