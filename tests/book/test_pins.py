"""requirements.in, requirements.lock, pyproject.toml, environment.yml and what is installed say the same."""

import json
import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from uaftc_book.publish import CHECKOUT
from uaftc_book.publish.address import pages_address
from uaftc_book.publish.sources import COLAB

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
ENVIRONMENT = yaml.safe_load((CHECKOUT / "environment.yml").read_text(encoding="utf-8"))


def requirements(file: str) -> list[Requirement]:
    lines = (CHECKOUT / file).read_text(encoding="utf-8").splitlines()
    return [Requirement(line.split(" #")[0]) for line in lines if line and not line.startswith("#")]


def applying(asked: list[Requirement], python: str, platform: str = "linux") -> list[Requirement]:
    """Those that are meant for one Python on one platform."""
    system = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[platform]
    environment = {"python_version": python, "python_full_version": f"{python}.1"}
    environment |= {"sys_platform": platform, "platform_system": system, "extra": ""}
    return [each for each in asked if each.marker is None or each.marker.evaluate(environment)]


def pins(python: str, platform: str = "linux") -> dict[str, str]:
    """Versions that the lock gives one Python on one platform, by name."""
    found: dict[str, str] = {}
    for pin in applying(requirements("requirements.lock"), python, platform):
        name = canonicalize_name(pin.name)
        assert name not in found, f"{name} is pinned twice for Python {python} on {platform}"
        (specifier,) = pin.specifier
        assert specifier.operator == "=="
        found[name] = specifier.version
    return found


def direct(extras: Iterable[str]) -> list[Requirement]:
    """What the package and some extras ask for, but for the package itself with another extra."""
    lists = [PROJECT["dependencies"], *(EXTRAS[extra] for extra in extras)]
    asked = [Requirement(text) for one in lists for text in one]
    return [each for each in asked if each.name != PROJECT["name"]]


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("file", ["pyproject.toml", "requirements.in"])
def test_lock_pins_what_is_asked_for(file, python):
    locked = pins(python)
    asked = direct(EXTRAS) if file == "pyproject.toml" else requirements(file)
    asked = applying(asked, python)
    assert len(asked) > 20
    for requirement in asked:
        name = canonicalize_name(requirement.name)
        assert name in locked, f"{file} asks for {name}, which is not locked: run `make lock`"
        assert requirement.specifier.contains(locked[name]), f"{file}: {requirement}, lock: {locked[name]}"


def test_extras_say_all_that_their_users_need():
    assert set(EXTRAS) == {"live", "book", "lab", "test", "bench", "words", "vectors", "transformers"}
    on_top = {extra for extra, asked in EXTRAS.items() if f"{PROJECT['name']}[book]" in asked}
    assert on_top == {"lab", "test", "bench"}
    installed = re.findall(r"'\.\[(\S+)\]'", (CHECKOUT / "Makefile").read_text(encoding="utf-8"))
    assert installed == ["book", "$*"], "make brings no other extra, transformers least of all"


def test_lock_names_no_build_and_no_index():
    text = (CHECKOUT / "requirements.lock").read_text(encoding="utf-8")
    assert not re.search(r"(?m)^(nvidia-|cuda-|triton)|\+cpu|^--|://", text)
    assert re.search(r"(?m)^torch==[\d.]+$", text)


def test_conda_environment_takes_its_pins_from_the_lock():
    *conda, pip = ENVIRONMENT["dependencies"]
    options = dict(line.split(" ", 1) for line in pip["pip"])
    assert options["--constraint"] == "requirements.lock"
    editable = Requirement(PROJECT["name"] + options["--editable"].removeprefix("."))
    assert editable.extras == {"test", "lab"}
    assert set(options) == {"--constraint", "--editable", "--extra-index-url"}
    (python,) = [line.removeprefix("python=") for line in conda if line.startswith("python=")]
    assert python in PYTHONS
    assert {line for line in conda if not line.startswith("python=")} == {"pip", "make", "git"}


def test_pythons_agree():
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert [f"3.{minor}" for minor in range(8, 20) if allowed.contains(f"3.{minor}.0")] == list(PYTHONS)


def test_what_is_installed_is_what_is_locked():
    import sys

    here = f"{sys.version_info.major}.{sys.version_info.minor}", sys.platform
    locked, asked = pins(*here), applying(direct(["live", "book", "test"]), *here)
    names = [canonicalize_name(requirement.name) for requirement in asked]
    other = {name: version(name) for name in names if version(name).split("+")[0] != locked[name]}
    assert other == {}


def text_of(path: Path) -> bytes:
    """A file, or of a notebook the cells that are not made from the address."""
    if path.suffix != ".ipynb":
        return path.read_bytes()
    cells = json.loads(path.read_bytes())["cells"]
    return json.dumps([cell for cell in cells if COLAB not in cell["metadata"].get("tags", [])]).encode()


def test_repository_address_is_written_once_if_at_all():
    address = yaml.safe_load((CHECKOUT / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
    assert address == "" or pages_address(address)
    folders = ("uaftc_lib", "uaftc_book", "notebooks", "book", ".ci", ".github")
    paths = [path for folder in folders for path in (CHECKOUT / folder).rglob("*") if path.is_file()]
    paths += [path for path in CHECKOUT.iterdir() if path.is_file() and path.name != "_config.yml"]
    texts = {path: text_of(path) for path in paths if "__pycache__" not in path.parts}
    written = (address or "https://github.com/uaftc").encode()
    assert [str(path) for path, text in texts.items() if written in text] == []
