"""What is said of a page to machines: search engines, previews of links, reference managers."""

from __future__ import annotations

import json
import re
import subprocess
from html import escape
from io import BytesIO
from pathlib import Path
from textwrap import wrap

from bs4 import BeautifulSoup

CARD = (1200, 630)  # pixels of the picture in a link's preview
EDGE, FOOT = 48, 84  # of them, beside what is drawn and below it
INK, PALE, BLUE = "#14181d", "#5b6570", "#1f5fa8"
FIGURE = re.compile(r'<figure class="uaftc".*?</figure>', re.DOTALL)
SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z“])")
NO_TEXT = re.compile(r"<(svg|table|pre|script)\b.*?</\1>", re.DOTALL)  # most of a page, and slow to read


def sentence_of(body: str) -> str:
    """The chapter's one sentence: the first that is set in bold, which is what it found; else the first of all."""
    page = BeautifulSoup(NO_TEXT.sub("", body), "html.parser")
    long = [one for one in page.select("p > strong:first-child") if len(one.get_text().split()) > 4]
    if long:  # to the end of the sentence, which may go on in other letters
        text = "".join(one.get_text() for one in (long[0], *long[0].next_siblings))
    else:
        text = "".join(one.get_text() for one in page.select("p:not(.page-needs)")[:1])
    return SENTENCE.split(" ".join(without_formulas(text).split()), maxsplit=1)[0]


def without_formulas(text: str) -> str:
    """A text whose formulas have lost their marks."""
    text = re.sub(r"\\(?:boldsymbol|mathrm|text)\s*\{?(\w+)\}?", r"\1", text.replace("\\top", "T").replace("^T", "·"))
    return re.sub(r"\\([a-z]+)", r"\1", re.sub(r"\\[()!,]|[{}]", "", text))


def changed_on(file: str, checkout: Path) -> str:
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


def preview_card(title: str, sentence: str, body: str, book: str, icon: str) -> str:
    """A picture for previews of links, as SVG: a page's title over its first figure, or else its sentence.

    Below stands which book it is of, beside the icon.
    """
    width, height = CARD
    panels = FIGURE.search(body)
    drawn = re.findall(r"<svg .*?</svg>", panels[0], re.DOTALL)[:2] if panels else []
    if drawn:
        lines = [(line, 42, INK) for line in wrap(title, 46)[:2]]
    else:
        size = next((size for size in (84, 72, 60, 48) if size * len(wrap(sentence, 1900 // size)) < 300), 36)
        lines = [(title, 30, PALE), ("", 30, INK), *((line, size, INK) for line in even_lines(sentence, 1900 // size))]
    top, told = 24, f'<rect width="{width}" height="12" fill="{BLUE}" />'
    for line, size, ink in lines:
        top += 1.3 * size
        told += written(line, EDGE, top, size, ink)
    each = (width - 2 * EDGE - 40 * (len(drawn) - 1)) / max(len(drawn), 1)
    told += "".join(
        placed(svg, EDGE + i * (each + 40), top + 24, each, height - top - 24 - FOOT) for i, svg in enumerate(drawn)
    )
    told += placed(icon, EDGE, height - 62, 36, 36) + written(book, EDGE + 52, height - 36, 24, PALE)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width}" '
        f'height="{height}" color="{INK}" fill="{INK}" font-family="DejaVu Sans">{told}</svg>'
    )


def even_lines(text: str, width: int) -> list[str]:
    """The lines of a text, none longer than a width, and as even as their number allows."""
    count = len(wrap(text, width))
    tried = (wrap(text, each, break_long_words=False) for each in range(1, width + 1))
    return next(lines for lines in tried if len(lines) <= count)


def written(line: str, x: float, y: float, size: float, ink: str) -> str:
    """A line of text of an SVG."""
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{ink}">{escape(line)}</text>'


def placed(svg: str, x: float, y: float, width: float, height: float) -> str:
    """An SVG at a place within another."""
    start, rest = svg.split(">", 1)
    start = re.sub(r' (width|height|style)="[^"]*"', "", start)
    return f'{start} x="{x}" y="{y}" width="{width}" height="{height}">{rest}'


def png(svg: str) -> bytes:
    """The picture as a small PNG: of drawings, 64 colours are enough."""
    import matplotlib
    from PIL import Image
    from resvg_py import svg_to_bytes

    letters = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    options = {"background": "#ffffff", "skip_system_fonts": True, "font_files": [str(letters)]}
    whole = Image.open(BytesIO(bytes(svg_to_bytes(svg_string=svg, font_family="DejaVu Sans", **options))))
    whole.convert("RGB").quantize(64).save(small := BytesIO(), "PNG", optimize=True)
    return small.getvalue()
