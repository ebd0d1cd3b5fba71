"""The wheel, installed without any extra: it holds the whole library, explains a file, and says what it lacks."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from test_package import CHECKOUT, MODULES, ROOT

from uaftc_lib import load_dataset
from uaftc_lib.datasets import cache, sst
from uaftc_lib.datasets.download import DataUnavailable

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
ABSENT = "spacy seaborn matplotlib IPython ipywidgets anywidget ipykernel papermill jupytext nbformat nbconvert".split()
ABSENT += "jupyter_book jupyterlab sphinx pytest hypothesis pyarrow distributed transformers".split()
FOUND = f"import importlib.util; print([name for name in {ABSENT} if importlib.util.find_spec(name)])"
BASE_MODULES = [name for name in MODULES if not name.startswith(("uaftc_lib.plots", "uaftc_book"))]
WORDS = "the a film plot actors good great awful dull music scene story ending camera".split()
REPORT = "--text text --label label --epochs 3 --dimension 8".split()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of this checkout, built here."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def closure(requirements: list[str]) -> list[metadata.Distribution]:
    """What is installed here of all that these need, directly or not."""
    found: dict[tuple, metadata.Distribution] = {}

    def follow(requirements: list[str], extras: set[str]) -> None:
        for requirement in map(Requirement, requirements):
            key = (canonicalize_name(requirement.name), *sorted(requirement.extras))
            meant = [requirement.marker is None or requirement.marker.evaluate({"extra": e}) for e in ("", *extras)]
            if any(meant) and key not in found:
                found[key] = metadata.distribution(requirement.name)
                follow(found[key].requires or [], requirement.extras)

    follow(requirements, set())
    return list(found.values())


class Environment:
    """A virtual environment, and processes in it that see nothing of this one."""

    def __init__(self, folder: Path):
        venv.create(folder, symlinks=True)
        self.folder, self.bin = folder, folder / "bin"
        self.site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))

    def run(self, command: str, *arguments: object) -> subprocess.CompletedProcess:
        """A command of the environment, in its folder."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "UAFTC", "COV"))}
        kept |= {"UAFTC_DATA": str(self.folder / "data"), "COLUMNS": "200"}
        words = [self.bin / command, *map(str, arguments)]
        return subprocess.run(words, cwd=self.folder, env=kept, capture_output=True, text=True)

    def link(self, distributions: list[metadata.Distribution]) -> None:
        """Have what is installed here without installing it."""
        for distribution in distributions:
            for top in {file.parts[0] for file in distribution.files} - {"..", "__pycache__"}:
                if not (self.site / top).exists():
                    (self.site / top).symlink_to(distribution.locate_file(top))


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory) -> Environment:
    """The wheel as pip installs it, beside what its base requirements bring: links to what is installed here."""
    environment = Environment(tmp_path_factory.mktemp("bare"))
    command = [*PIP, "--python", environment.bin / "python", "install", "--no-deps", "--no-index", wheel]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = metadata.distributions(path=[str(wheel)])
    environment.link(closure(built.requires))
    take_over_compiled_loops(environment)
    return environment


def take_over_compiled_loops(environment: Environment) -> None:
    """What numba has compiled here: to compile it again takes a minute. It asks when a source was last changed."""
    for path in ROOT.rglob("*"):
        there = environment.site / path.relative_to(CHECKOUT)
        if path.suffix == ".py":
            shutil.copystat(path, there)
        elif path.suffix in (".nbi", ".nbc"):
            there.parent.mkdir(exist_ok=True)
            shutil.copy2(path, there)


def reviews(path: Path) -> Path:
    """Made-up reviews of two classes."""
    draws = np.random.default_rng(0)
    kinds = [("good", "liked"), ("awful", "disliked")] * 100
    rows = [f"{' '.join(draws.choice(WORDS, 8))} {telling},{label}" for telling, label in kinds]
    path.write_text("\n".join(["text,label", *rows]))
    return path


def test_wheel_holds_the_library_and_nothing_else(wheel):
    (built,) = metadata.distributions(path=[str(wheel)])
    held = {str(file) for file in built.files if not file.parts[0].endswith(".dist-info")}
    here = [path.relative_to(CHECKOUT).as_posix() for path in ROOT.rglob("*") if path.is_file()]
    assert held == {path for path in here if "__pycache__" not in path} and not any(
        "uaftc_book" in path for path in held
    )
    assert {".py", ".csv", ".toml", ".js", ".css", ".html", ".json"} <= {Path(path).suffix for path in held}


def test_bare_environment_is_bare_and_enough_for_every_module_of_the_base(bare):
    (built,) = metadata.distributions(path=[str(bare.site)], name="uaftc-lib")
    assert bare.run("uaftc", "--version").stdout == f"uaftc {built.version}\n"
    assert bare.run("python", "-c", FOUND).stdout == "[]\n"
    places = f"import importlib; print({{importlib.import_module(name).__file__ for name in {BASE_MODULES}}})"
    done = bare.run("python", "-c", places)
    assert done.returncode == 0, done.stderr
    assert all(Path(place).is_relative_to(bare.site) for place in ast.literal_eval(done.stdout))


def test_wheel_explains_a_file(bare):
    """It makes the whole report, and the word that decides is found."""
    out = bare.folder / "report"
    done = bare.run("uaftc", "explain", reviews(bare.folder / "reviews.csv"), *REPORT, "--out", out)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["predictions.csv", "report.html", "report.json", "words.csv"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<script" in page and "<style" in page and "awful" in page
    words = pd.read_csv(out / "words.csv").set_index(["word", "class"])["influence"]
    assert words["awful", "disliked"] > 0 > words["awful", "liked"]
    assert json.loads((out / "report.json").read_text(encoding="utf-8"))["rows"]["used"] == 200


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["explain", "some.parquet", *REPORT, "--out", "none"], "reading Parquet needs pyarrow, {} pyarrow"),
        (
            ["sweep", "--dataset", "synthetic-1", "--out", "runs.csv", "--dask", "tcp://127.0.0.1:1"],
            "a dask cluster needs distributed, {} distributed",
        ),
        (["data", "sst"], "preparing sst needs spacy, {} '.[book]' in a clone of the book"),
        (["scorecard"], "No such command 'scorecard'"),
    ],
)
def test_what_is_not_there_is_answered_in_one_line(bare, command, words):
    (bare.folder / "some.parquet").write_bytes(b"PAR1")
    done = bare.run("uaftc", *command)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert words.format("which is not installed: pip install") in done.stderr.splitlines()[-1]
    assert not (bare.folder / "none").exists()


def test_wings_say_what_to_install(bare):
    code = """
try:
    import uaftc_lib.plots
except ImportError as error:
    print(error)
"""
    said = bare.run("python", "-c", code).stdout
    assert re.fullmatch(
        r".+ needs \w+, which is not installed: pip install '\.\[book\]' in a clone of the book\n", said
    )


def test_what_was_prepared_before_needs_no_tokenizer(tmp_path, monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    folder = cache.prepared_folder(tmp_path, "sst", sst.RULES)
    folder.parent.mkdir()
    texts = {split: ([["good", "film"], ["dull"]], [1, 0]) for split in ("train", "dev", "test")}
    cache.write_prepared(cache.from_texts("sst", texts, sst.CLASSES, {}), folder)
    folder.with_name(f"{folder.name}.lock").touch()
    monkeypatch.setattr(cache, "version", absent)
    assert load_dataset("sst", tmp_path).vocabulary.words == ("good", "film", "dull")
    folder.with_name(f"{folder.name}.1").mkdir()
    with pytest.raises(DataUnavailable, match="preparing sst needs spacy, which is not installed"):
        load_dataset("sst", tmp_path)  # two versions prepared it: which is meant?
