"""What tests need from outside, and what happens without it: a skip in words, or a failure where
UAFTC_REQUIRED names it ("data", "browser")."""

import ast
import functools
import os
import shutil
from pathlib import Path

import nbformat
import pytest
from jaxtyping import install_import_hook

CHECKOUT = Path(__file__).resolve().parent

# Shapes and types in signatures are checked while tests run; numba compiles the loops of the others.
ROOMS = {path.stem for path in (CHECKOUT / "uaftc_lib").iterdir()} - {"masks", "kernels", "bookkeeping"}
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"  # an int may stand for a float
install_import_hook([f"uaftc_lib.{room}" for room in ROOMS], CHECKER)

from uaftc_lib.datasets import dataset_names, load_dataset  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def missing(kind: str, reason: str) -> None:
    """Skip, saying why; fail where the run was promised that nothing of this kind is missing."""
    if kind in os.environ.get("UAFTC_REQUIRED", "").split():
        pytest.fail(f"{reason} (and UAFTC_REQUIRED names {kind!r})", pytrace=False)
    pytest.skip(reason)


@functools.cache
def why_not(name: str) -> str:
    """Why a data set cannot be had; empty if it can."""
    try:
        load_dataset(name)
    except OSError as error:
        return str(error)
    return ""


@pytest.fixture(scope="session")
def dataset():
    """``dataset(name)`` loads a data set, and skips the test where it cannot be had."""

    @functools.cache
    def load(name: str):
        if reason := why_not(name):
            missing("data", f"data set {name!r} is not at hand: {reason}")
        return load_dataset(name)

    return load


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium browser."""
    found = [path for name in BROWSERS if (path := shutil.which(name))]
    if not found:
        missing("browser", f"no browser is installed (looked for {', '.join(BROWSERS)})")
    return found[0]


@functools.cache
def datasets_of(notebook: Path) -> list[str]:
    """The data sets that a notebook names in its code."""
    cells = [cell.source for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    code = "\n".join(line for cell in cells for line in cell.splitlines() if not line.startswith("%"))
    constants = {node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)}
    return [name for name in dataset_names() if name in constants]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip the replay of a notebook whose data cannot be had."""
    if item.path.suffix == ".ipynb":
        for name in datasets_of(item.path):
            if reason := why_not(name):
                missing("data", f"{item.path.name} needs the data set {name!r}: {reason}")
