"""The package as a whole: every module of it can be imported."""

import importlib
import pkgutil
from pathlib import Path

import pytest

import uaftc_lib

ROOT = Path(uaftc_lib.__file__).parent
MODULES = sorted(module.name for module in pkgutil.walk_packages(uaftc_lib.__path__, "uaftc_lib."))


def test_no_module_is_overlooked():
    found = {".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in ROOT.rglob("*.py")}
    assert {name.removesuffix(".__init__") for name in found} == {"uaftc_lib", *MODULES}


@pytest.mark.parametrize("name", MODULES)
def test_every_module_can_be_imported(name):
    assert importlib.import_module(name).__name__ == name
