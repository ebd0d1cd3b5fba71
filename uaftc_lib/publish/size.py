"""What no page asks for does not travel with the pages."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat

from uaftc_lib.publish.sources import code_cells

# Maps of scripts and styles, the theme's words in other languages; letters for old browsers, or for no icon.
NEVER_ASKED_FOR = ("**/*.map", "_static/locales", "_static/**/*.ttf", "**/fa-regular-400.woff2")
BRANDS, BRAND = "**/fa-brands-400.woff2", 'class="fab '  # letters of hosts' icons, and what asks for them
# Of MathJax: what draws, what it loads for a rare command, and what reads formulas out, in English and in Braille.
SPOKEN = tuple(f"sre/mathmaps/{one}.json" for one in ("base", "en", "nemeth"))
MATHJAX = ("tex-svg.js", "input/tex/extensions/", "a11y/", *SPOKEN)
EVERYTHING = "input/tex/extensions/all-packages.js"  # each extension stands beside it alone
# Names, punctuation and spaces in code have the colour of the code itself.
PLAIN = re.compile(r'<span class="[npw]">([^<]*)</span>')
# Of a drawing: the lines of a path, and what is said of how it looks; neither needs its spaces.
LINES, STYLE = re.compile(r'(?<= d=")[^"]*'), re.compile(r'(?<= style=")[^"]*')
NAMESPACE = re.compile(r' xmlns(?::xlink)?="[^"]*"(?=[^<>]*>)|xlink:(?=href=)')  # a page in HTML needs none
ICONS = Path("_static", "scripts", "fontawesome.js")
# As the script has them: name:[width,height,[other names],"code point","path"], of which the theme brings two thousand.
ICON = re.compile(r'"?([\w-]+)"?:\[\d+,\d+,\[([^\]]*)\],"[0-9a-f]+",(?:"[^"]*"|\[[^\]]*\])\],?')


def slim(pages: Path) -> None:
    """Remove from built pages what is never asked for, and from the notebooks beside them outputs, which pages show."""
    mathjax = pages / "_static" / "mathjax"
    asked = any(BRAND in path.read_text(encoding="utf-8") for path in pages.glob("*.html"))
    never = NEVER_ASKED_FOR if asked else (*NEVER_ASKED_FOR, BRANDS)
    for path in [found for pattern in never for found in pages.glob(pattern)]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in [path for path in mathjax.rglob("*") if path.is_file()]:
        name = path.relative_to(mathjax).as_posix()
        if name == EVERYTHING or not name.startswith(MATHJAX):
            path.unlink()
    script = pages / ICONS
    if script.exists():
        used = icons(pages)
        text = script.read_text(encoding="utf-8")
        script.write_text(ICON.sub(lambda icon: icon[0] if used & names(icon) else "", text), encoding="utf-8")
    for path in pages.glob("*.html"):
        path.write_text(without_spaces(PLAIN.sub(r"\1", path.read_text(encoding="utf-8"))), encoding="utf-8")
    for path in (pages / "_sources").glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in code_cells(notebook):
            cell.outputs = []
        path.write_text(nbformat.writes(notebook, indent=None, separators=(",", ":")), encoding="utf-8")


def without_spaces(page: str) -> str:
    """The page with drawings that are written more shortly, and look the same."""
    page = LINES.sub(lambda lines: re.sub(r" ?([A-Za-z]) ?", r"\1", lines[0]).strip(), page)
    page = NAMESPACE.sub("", page)
    return STYLE.sub(lambda style: re.sub(r"([:;]) +", r"\1", style[0]).rstrip(";"), page)


def icons(pages: Path) -> set[str]:
    """Names of the icons that pages and scripts ask for."""
    asking = [*pages.glob("*.html"), *(path for path in (pages / "_static").rglob("*.js") if path.name != ICONS.name)]
    return {name for path in asking for name in re.findall(r"\bfa-([a-z][a-z0-9-]*)", path.read_text(encoding="utf-8"))}


def names(icon: re.Match) -> set[str]:
    """All names of an icon."""
    return {icon[1], *re.findall(r"[\w-]+", icon[2])}
