"""What no page asks for does not travel with the pages."""

from __future__ import annotations

import html
import re
import shutil
from collections import Counter
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote

import nbformat

from uaftc_book.publish.sources import code_cells

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
STYLED = re.compile(r"<(?:use|path|text|t[dh]|rect|g|line|circle)\b[^<>]*>")  # of drawings and tables
NAMESPACE = re.compile(r' xmlns(?::xlink)?="[^"]*"(?=[^<>]*>)|xlink:(?=href=)')  # a page in HTML needs none
NUMBERS = re.compile(r'href="data:text/csv;charset=utf-8,([^"]{10000,})"')  # of a figure with many points
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
        page = without_spaces(PLAIN.sub(r"\1", path.read_text(encoding="utf-8")))
        page = with_numbers_apart(page, pages / "_numbers")
        path.write_text(with_shared_styles(page), encoding="utf-8")
    for path in (pages / "_sources").glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in code_cells(notebook):
            cell.outputs = []
        path.write_text(nbformat.writes(notebook, indent=None, separators=(",", ":")), encoding="utf-8")


def with_numbers_apart(page: str, folder: Path) -> str:
    """The page, with a file in the folder for each figure that has many numbers."""

    def stored(found: re.Match) -> str:
        numbers = unquote(html.unescape(found[1])).encode()
        folder.mkdir(exist_ok=True)
        path = folder / f"{sha256(numbers).hexdigest()[:16]}.csv"
        path.write_bytes(numbers)
        return f'href="{folder.name}/{path.name}"'

    return NUMBERS.sub(stored, page)


def without_spaces(page: str) -> str:
    """The page with drawings that are written more shortly, and look the same."""
    page = LINES.sub(lambda lines: re.sub(r" ?([A-Za-z]) ?", r"\1", lines[0]).strip(), page)
    page = NAMESPACE.sub("", page)
    return STYLE.sub(lambda style: re.sub(r"([:;]) +", r"\1", style[0]).rstrip(";"), page)


def with_shared_styles(page: str) -> str:
    """The page with each style that many elements have written once, under a name."""
    styles = Counter(style for tag in STYLED.findall(page) if " class=" not in tag for style in STYLE.findall(tag))
    often = [style for style, times in styles.most_common() if times * (len(style) - 3) > 2 * len(style) + 30]
    shared = {style: f"z{number}" for number, style in enumerate(often)}

    def named(found: re.Match) -> str:
        tag = found[0]
        own = STYLE.search(tag)
        if not own or " class=" in tag or own[0] not in shared:
            return tag
        return tag.replace(f'style="{own[0]}"', f'class="{shared[own[0]]}"')

    # As strong as what is written at an element: no rule of the theme comes before it.
    rules = "".join(f".{name}:not(#z){{{html.unescape(style)}}}" for style, name in shared.items())
    return STYLED.sub(named, page).replace("</head>", f"<style>{rules}</style></head>", 1) if rules else page


def icons(pages: Path) -> set[str]:
    """Names of the icons that pages and scripts ask for."""
    asking = [*pages.glob("*.html"), *(path for path in (pages / "_static").rglob("*.js") if path.name != ICONS.name)]
    return {name for path in asking for name in re.findall(r"\bfa-([a-z][a-z0-9-]*)", path.read_text(encoding="utf-8"))}


def names(icon: re.Match) -> set[str]:
    """All names of an icon."""
    return {icon[1], *re.findall(r"[\w-]+", icon[2])}
