"""The lock pins all that pyproject.toml and requirements.in ask for, and what is installed is what is locked."""

import sys
import tomllib
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from uaftc_book.publish import CHECKOUT

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def applying(texts: list[str], python: str) -> dict[str, Requirement]:
    """Requirements by name, but for the package itself with other extras: those that are meant for one Python."""
    asked = [Requirement(text.split(" #")[0]) for text in texts if text and not text.startswith("#")]
    environment = {"python_version": python, "python_full_version": f"{python}.1", "extra": ""}
    meant = [one for one in asked if one.marker is None or one.marker.evaluate(environment)]
    return {canonicalize_name(one.name): one for one in meant if one.name != PROJECT["name"]}


def lines(file: str) -> list[str]:
    return (CHECKOUT / file).read_text(encoding="utf-8").splitlines()


def asked_for(*extras: str) -> list[str]:
    """What the package and some extras ask for."""
    return [text for one in (PROJECT["dependencies"], *map(EXTRAS.get, extras)) for text in one]


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_lock_pins_what_is_asked_for(python):
    locked = applying(lines("requirements.lock"), python)
    for name, requirement in applying([*asked_for(*EXTRAS), *lines("requirements.in")], python).items():
        assert name in locked, f"{name} is not locked: run `make lock`"
        (pin,) = locked[name].specifier
        assert requirement.specifier.contains(pin.version), f"{requirement}, lock: {pin}"


def test_what_is_installed_is_what_is_locked():
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    locked = applying(lines("requirements.lock"), here)
    other = {
        name: version(name)
        for name in applying(asked_for("live", "book", "test"), here)
        if not locked[name].specifier.contains(version(name))
    }
    assert other == {}
