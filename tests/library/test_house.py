"""The house: a library that knows no book, a core that knows no wing, chapters that know no other."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import uaftc_lib
from uaftc_book import contents

CHECKOUT = Path(uaftc_lib.__file__).parents[1]
WINGS = {  # what each may import besides the core and its engine room, which may import neither wing nor book
    "__main__": {"cli"},
    "experiments": {"plots"},
    "plots": set(),
    "vectors": set(),
    "report": {"plots", "vectors"},
    "cli": {"plots", "experiments", "report", "vectors"},
}
BOOK = "uaftc_book"  # the upper floor, which may import everything


@cache
def sources() -> dict[str, ast.Module]:
    """Full name -> syntax tree of every module of both floors."""
    found = {}
    for path in sorted(path for package in ("uaftc_lib", BOOK) for path in (CHECKOUT / package).rglob("*.py")):
        parts = path.relative_to(CHECKOUT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(name: str, tree: ast.Module) -> set[str]:
    """Our modules that a module imports, inside of functions too."""
    named = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level and node.module, f"{name} imports by dots: name the module, or nothing sees the arrow"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            named |= {one if one in sources() else node.module for one in inner}
    return {one for one in named if one in sources()} - {name}


def room(name: str) -> str:
    """ "uaftc_lib.report.judge" -> "report"; the library itself is "", all of the book is one."""
    package, _, rest = name.partition(".")
    return BOOK if package == BOOK else rest.partition(".")[0]


@cache
def arrows() -> dict[str, set[str]]:
    """Module -> our modules that it imports."""
    return {name: imported(name, tree) for name, tree in sources().items()}


@pytest.mark.parametrize("part", sorted({room(name) for name in sources()} - {"", BOOK}))
def test_the_core_imports_no_wing_and_a_wing_what_it_may(part):
    allowed = {part, *WINGS.get(part, ())}
    mine = {(one, other) for one in arrows() if room(one) == part for other in arrows()[one]}
    assert not {(one, other) for one, other in mine if room(other) in {*WINGS, BOOK} - allowed}


def test_there_is_no_circle_of_imports():
    # A package's list of what it offers is no dependency of the parts that it lists.
    graph = {name: {other for other in others if not name.startswith(f"{other}.")} for name, others in arrows().items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_nothing_imports_a_chapter_but_its_notebook():
    chapters = {name for name in sources() if name.startswith(f"{contents.PACKAGE}.")}
    assert {one: others & chapters for one, others in arrows().items() if others & chapters} == {}
    for path in (CHECKOUT / "notebooks").glob("*.md"):
        imports = re.findall(r"uaftc_book\.chapters(?:\.(\w+)| import ([\w, ]+))", path.read_text(encoding="utf-8"))
        named = {name for one, several in imports for name in [one, *re.split(", | as .*", several)] if name}
        # Every equation stands in the errata, some with a check of another chapter.
        assert path.stem == "A_errata" or named <= {contents.MODULES.get(path.stem)}, path
