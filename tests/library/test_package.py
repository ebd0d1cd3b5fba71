"""The package as a whole: every module can be imported, its names mean what they say, what is missing is named."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import uaftc_book
import uaftc_lib
from uaftc_lib.experiments.cells import Cell
from uaftc_lib.extras import needs
from uaftc_lib.settings import ModelSettings, TrainingConfig

ROOT = Path(uaftc_lib.__file__).parent
CHECKOUT = ROOT.parent
PACKAGES = (uaftc_lib, uaftc_book)
MODULES = sorted(one.name for each in PACKAGES for one in pkgutil.walk_packages(each.__path__, f"{each.__name__}."))


def test_missing_package_is_named_with_what_to_install():
    words = r"^drawing needs nowhere, which is not installed: pip install '\.\[book\]' in a clone of the book$"
    with pytest.raises(ImportError, match=words):
        with needs("drawing"):
            importlib.import_module("nowhere")
    with pytest.raises(ValueError, match="^a cluster needs nowhere, which is not installed: pip install distributed$"):
        with needs("a cluster", "distributed", ValueError):
            importlib.import_module("nowhere.deep")


@pytest.mark.parametrize("name", MODULES)
def test_every_module_can_be_imported(name):
    assert importlib.import_module(name).__name__ == name


ROOMS = sorted(module.name for module in pkgutil.iter_modules(uaftc_lib.__path__))


def test_no_public_name_is_that_of_a_module():
    """A module of the same name would take its place as soon as anyone imports it."""
    assert not {*uaftc_lib.__all__} & {*ROOMS}
    assert {*uaftc_lib.__all__} <= {*dir(uaftc_lib)}
    assert all(callable(getattr(uaftc_lib, name)) for name in uaftc_lib.__all__)
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
