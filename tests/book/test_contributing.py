"""CONTRIBUTING.md: every block works as it stands."""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from uaftc_book.publish import CHECKOUT

BLOCK = re.compile(r"^(`{3,})(\w+)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
EXPECTED = ("CosineClassifier", "proved: Eq 84 corrected", "20 of    20 jobs", "holds\n")
FILE = re.compile(r"(?:#|<!--) ([\w/]+\.(?:py|md|toml|yml))(?: -->)?\n")


def blocks() -> list[tuple[str, str]]:
    """Language and text of each block."""
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return [match[1:] for match in BLOCK.findall(text)]


def add(text: str, checkout: Path) -> bool:
    """Whether a block names a file; if so, it is added there."""
    named = FILE.match(text)
    if named is None:
        return False
    path, new = checkout / named[1], text[named.end() :]
    there = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(f"{there}\n{new}" if there else new, encoding="utf-8")
    return True


def run(language: str, text: str, checkout: Path) -> subprocess.CompletedProcess:
    """A block in a process of its own, which finds the copy of the library first."""
    command = {"python": [sys.executable, "-c", text], "sh": ["sh", "-euc", text]}[language]
    surroundings = {name: value for name, value in os.environ.items() if name != "UAFTC_RESULTS"}
    surroundings |= {"PYTHONPATH": str(checkout), "UAFTC_DATA": str(checkout / "data")}
    surroundings["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(command, cwd=checkout, env=surroundings, capture_output=True, text=True)


@pytest.fixture
def copied(tmp_path):
    """The library and what a chapter needs beside it; empty folders of notebooks, results and data."""
    for name in ("uaftc_lib", "uaftc_book"):
        shutil.copytree(CHECKOUT / name, tmp_path / name)  # with its compiled loops
    for name in ("requirements.lock", "_toc.yml"):
        shutil.copy(CHECKOUT / name, tmp_path)
    for name in ("notebooks", "book/results", "data"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def test_every_block_works(copied):
    to_run = [block for block in blocks() if not add(block[1], copied)]
    said = ""
    for language, group in itertools.groupby(to_run, key=lambda block: block[0]):  # a process for blocks in a row
        done = run(language, "\n".join(text for _, text in group), copied)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        said += done.stdout
    assert [line for line in EXPECTED if line not in said] == []
    assert "file: 30_dimension" in (copied / "_toc.yml").read_text(encoding="utf-8")
