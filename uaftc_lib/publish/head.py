"""What is said of a page to machines: search engines, previews of links, reference managers."""

from __future__ import annotations

import json
import re
import subprocess
from html import escape
from pathlib import Path
from textwrap import wrap

from bs4 import BeautifulSoup

CARD = (1200, 630)  # pixels of the picture in a link's preview
INK = "#14181d"


def sentence_of(body: str) -> str:
    """The chapter's one sentence: the first that is set in bold, which is what it found; else the first of all."""
    page = BeautifulSoup(body, "html.parser")
    bold = [one.get_text() for one in page.select("p > strong:first-child") if not one.find_parent("table")]
    others = [one.get_text() for one in page.select("p:not(.page-needs)")]
    texts = [text for text in bold if len(text.split()) > 4] + others
    text = " ".join(plain(texts[0]).split()) if texts else ""
    return re.split(r"(?<=[.?!])\s+(?=[A-Z“])", text, maxsplit=1)[0]


def plain(text: str) -> str:
    """A text whose formulas have lost their marks."""
    text = re.sub(r"\\(?:boldsymbol|mathrm|text)\s*\{?(\w+)\}?", r"\1", text.replace("\\top", "T").replace("^T", "·"))
    return re.sub(r"\\([a-z]+)", r"\1", re.sub(r"\\[()!,]|[{}]", "", text))


def last_change(file: str, checkout: Path) -> str:
    """The day on which a file was changed last, as YYYY-MM-DD; empty where there is no history."""
    command = ["git", "log", "-1", "--format=%cs", "--", file]
    try:
        return subprocess.run(command, cwd=checkout, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def linked_data(title: str, sentence: str, book: dict[str, str], url: str, changed: str) -> str:
    """The page as a chapter of the book, as JSON-LD that may stand in a page."""
    author = {"@type": "Organization", "name": book["author"]}
    about = {
        "@context": "https://schema.org",
        "@type": "Chapter",
        "name": title,
        "description": sentence,
        "inLanguage": "en",
        "license": "https://opensource.org/license/mit",
        "isPartOf": {"@type": "Book", "name": book["title"], "author": author},
    }
    about |= {"url": url} if url else {}
    about |= {"dateModified": changed} if changed else {}
    return json.dumps(about, ensure_ascii=False).replace("<", "\\u003c")


def card(title: str, body: str, book: str) -> bytes:
    """A PNG for previews of links: the title over the page's first figure, or over the book's title if it has none."""
    import matplotlib
    from resvg_py import svg_to_bytes

    panels = re.search(r'<figure class="uaftc".*?</figure>', body, re.DOTALL)
    drawn = re.findall(r"<svg .*?</svg>", panels[0], re.DOTALL)[:2] if panels else []
    width, height = CARD
    lines = wrap(title, 48)[:2]
    top = 60 + 58 * len(lines)
    each = (width - 80 - 40 * (len(drawn) - 1)) / max(len(drawn), 1)
    rows = [(80 + 58 * i, 46, line) for i, line in enumerate(lines)]
    rows += [] if drawn else [(top + 60 + 40 * i, 30, line) for i, line in enumerate(wrap(book, 70))]
    text = "".join(f'<text x="40" y="{y}" font-size="{size}">{escape(line)}</text>' for y, size, line in rows)
    inner = "".join(
        re.sub(r' (width|height|style)="[^"]*"', "", svg.split(">", 1)[0])
        + f' x="{40 + i * (each + 40)}" y="{top}" width="{each}" height="{height - top - 30}">'
        + svg.split(">", 1)[1]
        for i, svg in enumerate(drawn)
    )
    whole = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width}" '
        f'height="{height}" color="{INK}" fill="{INK}" font-family="DejaVu Sans">{text}<g>{inner}</g></svg>'
    )
    letters = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    options = {"background": "#ffffff", "skip_system_fonts": True, "font_files": [str(letters)]}
    return bytes(svg_to_bytes(svg_string=whole, font_family="DejaVu Sans", **options))
