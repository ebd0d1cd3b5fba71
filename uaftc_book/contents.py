"""Which module serves which chapter.

A chapter has one notebook, and in ``uaftc_book/chapters/`` one module of its name, without the number: the checks of
its equations, its experiments and the readings of its claims. A chapter that needs none of these has no module.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

PACKAGE = "uaftc_book.chapters"
FOLDER = Path(__file__).with_name("chapters")
NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
NAMES = {path.stem: path.stem.partition("_")[2] for path in sorted(NOTEBOOKS.glob("*.md"))}
MODULES = {chapter: name for chapter, name in NAMES.items() if (FOLDER / f"{name}.py").exists()}


def chapter_of(module: str) -> str:
    """The chapter that a module serves, from the module's full name.

    Raises
    ------
    ValueError
        If it serves none: what is registered there would stand on no page.
    """
    for chapter, name in MODULES.items():
        if module == f"{PACKAGE}.{name}":
            return chapter
    raise ValueError(f"{module} serves no chapter: give it a notebook of its name")


def load_chapters(chapters: Iterable[str] = tuple(MODULES)) -> None:
    """Import the modules of some chapters, by default of all, so that what they register is known."""
    for chapter in chapters:
        import_module(f"{PACKAGE}.{MODULES[chapter]}")
