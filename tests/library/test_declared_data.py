"""A test or a notebook sees the data sets that it declares and no others; without them it is skipped."""

import os
import re
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from uaftc_book.publish import CHECKOUT
from uaftc_lib.datasets import cache, imdb, sst

pytestmark = pytest.mark.long  # four runs of pytest

TESTS = """
import pytest
from uaftc_lib import load_dataset
from uaftc_lib.experiments.sweep import loaded

@pytest.mark.data("sst")
def test_declared():
    loaded("sst", None, "{}")

def test_undeclared():
    loaded("sst", None, "{}")  # the library remembers it

@pytest.mark.data("sst")
def test_another():
    load_dataset("imdb")

@pytest.mark.data("name")
@pytest.mark.parametrize("name", ["sst", "imdb"])
def test_parameter(name):
    load_dataset(name)
"""
CELL = 'from uaftc_lib import load_dataset\n_ = load_dataset("sst")'
DECLARED = {"test_declared", "test_parameter[sst]", "test_parameter[imdb]", "declared"}
OTHERS = {"test_undeclared", "test_another", "undeclared"}


@pytest.fixture
def outcomes(tmp_path):
    """``outcomes(home)``: how each of these tests and notebooks ends in another run of pytest, and its words."""
    home, folder = tmp_path / "home", tmp_path / "tests"
    texts = {split: ([["good"], ["bad"]], [1, 0]) for split in ("train", "dev", "test")}
    for name, rules in (("sst", sst.RULES), ("imdb", imdb.RULES)):
        place = cache.prepared_folder(home, name, rules)
        place.parent.mkdir(parents=True, exist_ok=True)
        cache.write_prepared(cache.from_texts(name, texts, ("negative", "positive"), {}), place)
    folder.mkdir()
    (folder / "test_it.py").write_text(TESTS)
    for name, data in (("declared", ["sst"]), ("undeclared", [])):
        notebook = new_notebook(cells=[new_code_cell(CELL, execution_count=1)], metadata={"data": data})
        nbformat.write(notebook, folder / f"{name}.ipynb")

    def run(home=home, proxy="") -> tuple[dict[str, str], str]:
        of_network = dict.fromkeys(("http_proxy", "https_proxy"), proxy)
        path = os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")])
        empty = dict.fromkeys(("UAFTC_REQUIRED", "UAFTC_SHARE"), "")
        surroundings = os.environ | of_network | empty | {"UAFTC_DATA": str(home), "PYTHONPATH": path}
        options = ["--nbval", "-v", "-rs", "-p", "conftest", "-p", "no:cacheprovider", "-W", "ignore"]
        command = [sys.executable, "-m", "pytest", *options, folder]
        said = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True).stdout
        line = r"^(?:test_it\.py::)?(\S+?)(?:::ipynb::Cell 0)? (PASSED|FAILED|SKIPPED|ERROR)"
        return dict(re.findall(line, said, re.MULTILINE)), said

    return run


def test_what_is_declared_is_there_and_nothing_else(outcomes):
    found, said = outcomes()
    assert found == dict.fromkeys(DECLARED, "PASSED") | dict.fromkeys(OTHERS, "FAILED"), said
    assert said.count("could not be downloaded") >= len(OTHERS)
    assert said.count("ProxyError") >= len(OTHERS), "the network is shut"


def test_without_data_what_declares_it_is_skipped_in_words(outcomes, tmp_path):
    found, said = outcomes(tmp_path / "empty", "http://127.0.0.1:9")
    assert {found[name] for name in DECLARED} == {"SKIPPED"} and "PASSED" not in found.values()
    assert "data set 'sst' is not at hand: " in said
