"""What no page asks for does not travel with the pages."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat

from uaftc_book.publish.sources import code_cells
from uaftc_lib import files

# Maps of scripts and styles, the theme's words in other languages, letters for old browsers; and a script of all
# extensions of MathJax, each of which stands there alone.
NEVER_ASKED_FOR = ("**/*.map", "_static/locales", "**/*.ttf", "**/fa-regular-400.woff2", "**/all-packages.js")
# Of MathJax: what draws, what it loads for a rare command, and what reads formulas out, in English and in Braille.
SPOKEN = tuple(f"sre/mathmaps/{one}.json" for one in ("base", "en", "nemeth"))
MATHJAX = ("tex-svg.js", "input/tex/extensions/", "a11y/", *SPOKEN)


def slim(pages: Path) -> None:
    """Remove from built pages what is never asked for, and from the notebooks beside them outputs, which pages show."""
    for path in [path for pattern in NEVER_ASKED_FOR for path in pages.glob(pattern)]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    mathjax = pages / "_static" / "mathjax"
    for path in [path for path in mathjax.rglob("*") if path.is_file()]:
        if not path.relative_to(mathjax).as_posix().startswith(MATHJAX):
            path.unlink()
    for path in (pages / "_sources").glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in code_cells(notebook):
            cell.outputs = []
        files.write(path, nbformat.writes(notebook, indent=None, separators=(",", ":")))
