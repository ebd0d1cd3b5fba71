"""The whole book as one PDF and one ePub: each page as the browser shows it, without what only a screen can do.

``python -m uaftc_book.publish.paper FOLDER`` writes both there (``make dist`` does). A formula is the drawing that
MathJax has made of it, a live figure its first state. What is folded on a page stands open, but for code, which is in
the notebooks.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from itertools import chain
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from uaftc_book.publish import address
from uaftc_book.publish.pages import changed_on
from uaftc_book.publish.sources import CHECKOUT
from uaftc_lib import __version__, files

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
TAKE = Path(__file__).with_name("paper.js")
STYLE = Path(__file__).with_name("paper.css")
STYLES = ("pygments.css",)  # of the pages
PAGE = "@page { size: A4; margin: 18mm; @bottom-center { content: counter(page); font: 9pt sans-serif; } }"
OPENED = "lab => { for (let d = lab; (d = d.closest('details:not([open])')); ) d.open = true; lab.scrollIntoView(); }"
TRAINED = "lab => lab.run && lab.run.milliseconds !== null && lab.run.job === lab.job && lab.frame == null"
# What stands before figures while one scrolls, and what only a screen can do with them.
HIDDEN = ".bd-header, .bd-header-article, button, input, details:not(.section-more) { display: none !important }"
EVERYWHERE = {"What it means", "Checks"}  # sections that the table of contents leaves out
LEFT_OUT = {"genindex"}  # on paper names have no use without page numbers
TITLE = "Understanding Attention for Text Classification"
ABOUT = (
    f"The living edition, version {__version__}. This is the book as its pages show it. Most code, sliders that train "
    "a model, and the numbers behind each figure are on the pages and in their notebooks."
)


@dataclass(frozen=True)
class Part:
    """A page of the book on paper. ``headings``: the level, the text and the anchor of each, in order."""

    name: str
    caption: str
    title: str
    xhtml: str
    styles: list[str]
    headings: list[tuple[int, str, str]]

    @property
    def sections(self) -> list[tuple[str, str]]:
        """Texts and anchors of the sections."""
        return [(text, anchor) for level, text, anchor in self.headings if level == 2 and text not in EVERYWHERE]


def toc(checkout: Path = CHECKOUT) -> Iterator[tuple[str, str, str]]:
    """Each page that is on paper: name, caption of its part of the book, title with the paper's sections."""
    import yaml

    contents = yaml.safe_load((checkout / "_toc.yml").read_text(encoding="utf-8"))
    yield contents["root"], "", ""
    for part in contents["parts"]:
        for page in part["chapters"]:
            if page["file"] not in LEFT_OUT:
                yield page["file"], part["caption"], page.get("title", "")


@contextmanager
def browser() -> Iterator[object]:
    """A running Chromium.

    Raises
    ------
    SystemExit
        If none is installed.
    """
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not path:
        raise SystemExit(f"The PDF is printed by a browser, and none is installed (looked for {', '.join(BROWSERS)}).")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


def picture(lab: object) -> str:
    """A live figure as it begins, as an address of a PNG."""
    lab.evaluate(OPENED)
    lab.page.wait_for_function(TRAINED, arg=lab.element_handle())
    return f"data:image/png;base64,{b64encode(lab.screenshot(style=HIDDEN)).decode()}"


def parts(tab: object, pages: Path, checkout: Path = CHECKOUT) -> Iterator[Part]:
    """Every page of the book, taken from where they are built."""
    entries = [*toc(checkout)]
    names = [name for name, *_ in entries]
    for name, caption, title in entries:
        tab.goto((pages / f"{name}.html").as_uri())
        arguments = [name, names, address.site(checkout), [*map(picture, tab.locator("uaftc-lab").all())]]
        xhtml, styles, headings = tab.evaluate(TAKE.read_text(encoding="utf-8"), arguments)
        first = headings[0][1]  # with the chapter's number
        if title:  # as the table of contents has it, with the sections of the paper
            headings[0][1] = title = re.match(r"(\d+\. )?", first)[0] + title
            before, _, after = xhtml.partition("</h1>")
            xhtml = f"{before[: before.index('<h1>')]}<h1>{escape(title)}</h1>{after}"
        yield Part(name, caption, title or first, xhtml, styles, [*map(tuple, headings)])


def anchored(part: Part) -> str:
    """A page within the one file that is printed: its anchors and links begin with its name.

    But for those of tables, T_ and a digest, to which their styles belong.
    """
    text = re.sub(r'\b(id|aria-labelledby|aria-describedby)="(?!T_)', rf'\1="{part.name}--', part.xhtml)
    text = re.sub(r'(href="|url\()#', rf"\1#{part.name}--", text)
    text = re.sub(r'href="(\w+)\.xhtml#', r'href="#\1--', text)
    text = re.sub(r'href="(\w+)\.xhtml"', r'href="#\1"', text)
    return f'<div class="chapter" id="{part.name}">{text}</div>'


def contents(book: list[Part], number: dict[str, int]) -> str:
    """The table of contents, with page numbers by anchor."""
    lines, caption = [], ""
    for part in book:
        if part.caption != caption:
            caption = part.caption
            lines.append(f'<p class="caption">{escape(caption)}</p>')
        for text, anchor in [(part.title, ""), *part.sections]:
            target = f"{part.name}--{anchor}" if anchor else part.name
            kind = "section" if anchor else "title"
            lines.append(f'<p class="{kind}"><a href="#{target}">{escape(text)}</a><span>{number[target]}</span></p>')
    return f'<nav class="contents">{"".join(lines)}</nav>'


def xhtml_of(title: str, body: str, book: list[Part], folder: str = "", page: str = "") -> str:
    """A file of the ePub, or all that is printed, with styles in a folder and of the printed page."""
    links = "".join(f'<link rel="stylesheet" href="{folder}{name}" />' for name in (*STYLES, STYLE.name))
    styles = dict.fromkeys(chain([page], *(part.styles for part in book)))
    links += "".join(f"<style>{escape(style)}</style>" for style in styles if style)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops" lang="en" xml:lang="en"><head><title>{escape(title)}</title>'
        f'{links}</head><body class="bd-article">{body}</body></html>'
    )


def printed(tab: object, book: list[Part], pages: Path, number: dict[str, int]) -> bytes:
    """The book as a browser prints it from a file beside the pages; ``number``: of the page of each anchor."""
    opening = f"<header><h1>{TITLE}</h1><p>{ABOUT}</p></header>{contents(book, number)}"
    texts = {"paper.xhtml": xhtml_of(TITLE, opening + "".join(map(anchored, book)), book, "_static/", PAGE)}
    texts[f"_static/{STYLE.name}"] = STYLE.read_text(encoding="utf-8")
    try:
        for name, text in texts.items():
            files.write(pages / name, text)
        tab.goto((pages / "paper.xhtml").as_uri())
        return tab.pdf(outline=True, tagged=True, print_background=True, prefer_css_page_size=True)
    finally:
        for name in texts:
            (pages / name).unlink(missing_ok=True)


def anchors(book: list[Part]) -> list[str]:
    """The anchor of each heading, in order, in the file that is printed."""
    return [f"{part.name}--{at}" if level > 1 else part.name for part in book for level, _, at in part.headings]


def page_numbers(pdf: bytes, book: list[Part]) -> dict[str, int]:
    """The page of each heading, by its anchor.

    Raises
    ------
    AssertionError
        If the bookmarks of the PDF are not the headings of the book.
    """
    import pypdfium2

    _, *marks = pypdfium2.PdfDocument(pdf).get_toc()  # the first is the title of the book
    titles = ["".join(mark.get_title().split()) for mark in marks]
    if titles != ["".join(text.split()) for part in book for _, text, _ in part.headings]:
        raise AssertionError("the bookmarks of the PDF are not the headings of the book")
    return {name: mark.get_dest().get_index() + 1 for name, mark in zip(anchors(book), marks)}


def pdf_of(tab: object, book: list[Part], pages: Path) -> bytes:
    """The book as a PDF, with page numbers in its table of contents.

    Raises
    ------
    AssertionError
        If a number in the table moves what comes after it.
    """
    places = dict.fromkeys(anchors(book), 888)  # as wide as a number
    number = page_numbers(printed(tab, book, pages, places), book)
    pdf = printed(tab, book, pages, number)
    if page_numbers(pdf, book) != number:
        raise AssertionError("the table of contents with page numbers is longer or shorter than without")
    return pdf


def write_epub(book: list[Part], path: Path, pages: Path) -> None:
    """The book as an ePub 3: a file for each page, the styles, the table of contents."""
    items, order = [], []
    for part in book:
        drawn = ' properties="svg"' if "<svg" in part.xhtml else ""
        items.append(f'<item id="p{part.name}" href="{part.name}.xhtml" media-type="application/xhtml+xml"{drawn}/>')
        order.append(f'<itemref idref="p{part.name}"/>')
    items += [f'<item id="{name}" href="{name}" media-type="text/css"/>' for name in (*STYLES, STYLE.name)]
    entries = ""
    for part in book:
        page = f"{part.name}.xhtml"
        sections = "".join(f'<li><a href="{page}#{at}">{escape(text)}</a></li>' for text, at in part.sections)
        sections = f"<ol>{sections}</ol>" if sections else ""
        entries += f'<li><a href="{page}">{escape(part.title)}</a>{sections}</li>'
    nav = f'<h1>{TITLE}</h1><p>{ABOUT}</p><nav epub:type="toc"><h2>Contents</h2><ol>{entries}</ol></nav>'
    package = (
        '<?xml version="1.0" encoding="utf-8"?>\n<package xmlns="http://www.idpf.org/2007/opf" version="3.0" '
        'unique-identifier="id" xml:lang="en"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:identifier id="id">urn:uuid:{uuid5(NAMESPACE_URL, f"{TITLE} {__version__}")}</dc:identifier>'
        f"<dc:title>{TITLE}</dc:title><dc:language>en</dc:language><dc:creator>The uaftc contributors</dc:creator>"
        f'<meta property="dcterms:modified">{changed_on(".", CHECKOUT) or "2020-07-05"}T00:00:00Z</meta>'
        "</metadata><manifest>"
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        f'{"".join(items)}</manifest><spine><itemref idref="nav"/>{"".join(order)}</spine></package>'
    )
    container = (
        '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)  # first, and as it is
        file.writestr("META-INF/container.xml", container)
        file.writestr("book.opf", package)
        file.writestr("nav.xhtml", xhtml_of("Contents", nav, []))
        for part in book:
            file.writestr(f"{part.name}.xhtml", xhtml_of(part.title, part.xhtml, [part]))
        for style in (*(pages / "_static" / name for name in STYLES), STYLE):
            file.write(style, style.name)
    files.write(path, whole.getvalue())


def write(folder: Path, checkout: Path = CHECKOUT) -> list[Path]:
    """Write the PDF and the ePub of the pages that are built into a folder, and return their paths."""
    pages = checkout / "_build" / "book" / "_build" / "html"
    pdf, epub = (folder / f"uaftc-book-{__version__}.{kind}" for kind in ("pdf", "epub"))
    folder.mkdir(parents=True, exist_ok=True)
    with browser() as running:
        tab = running.new_page(viewport={"width": 1280, "height": 900}, device_scale_factor=2)
        book = [*parts(tab, pages, checkout)]
        files.write(pdf, pdf_of(tab, book, pages))
    write_epub(book, epub, pages)
    return [pdf, epub]


if __name__ == "__main__":
    print(*write(Path(sys.argv[1])), sep="\n")
