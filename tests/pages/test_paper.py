"""The book on paper: what its pages say, with their numbers, in the PDF and in the ePub."""

import re
import xml.etree.ElementTree as ElementTree
import zipfile
from collections import Counter

import pypdfium2
import pytest
from bs4 import BeautifulSoup
from test_pages import PAGES

from uaftc_book.publish import paper

PAGE = """<!doctype html><meta charset="utf-8" /><article class="bd-article"><section id="{name}"><h1>{title}</h1>
<p>{text}</p><section id="end"><h2>Its end</h2></section></section></article>"""
FIRST = """The first & only. <script>alert(1)</script><button class="set">λ = 3</button> <button>Copy</button>
<a href="second.html#there">There</a>, <a href="#first">here</a>, <a href="search.html">search</a>,
<a href="https://example.org/">outside</a>, in a <a download="x.csv" href="data:text/csv,1">CSV file</a>.
<figcaption>A figure. <a download="x.csv" href="data:text/csv,1">The numbers (CSV)</a></figcaption>
<iframe title="a report"></iframe>
<details class="hide"><summary>Code</summary>1 + 1</details>
<details class="section-more"><summary>More: 3 words</summary><p>Folded, not lost.</p></details>
<details class="uaftc-statements"><summary>Proved: Eq 1</summary><pre>def equation_1</pre></details>
<style>#first > p { color: red }</style><span style="display: none">unseen</span>"""
LAB = """<uaftc-lab>Drag λ.</uaftc-lab><script>
Object.assign(document.querySelector("uaftc-lab"), { run: { milliseconds: 1, job: 1 }, job: 1 });</script>"""
NUMERAL = re.compile(r"\d[\d.,]*\d|\d")


@pytest.fixture(scope="module")
def small(browser, tmp_path_factory):
    """A book of two pages on paper: its folder, its parts."""
    checkout = tmp_path_factory.mktemp("checkout")
    pages = checkout / "_build" / "book" / "_build" / "html"
    (pages / "_static").mkdir(parents=True)
    (pages / "_static" / "pygments.css").write_text("")
    (checkout / "_toc.yml").write_text(
        "root: first\nparts:\n- caption: More\n  chapters: [{file: second, title: Second (§2)}, {file: genindex}]\n"
    )
    second = '<span id="there">There.</span>' + "<p>A line.</p>" * 200 + LAB
    for name, title, text in (("first", "0. A & B", FIRST), ("second", "1. Two", second)):
        (pages / f"{name}.html").write_text(PAGE.format(name=name, title=title, text=text))
    tab = browser.new_page()
    book = [*paper.parts(tab, pages, checkout)]
    folder = tmp_path_factory.mktemp("paper")
    (folder / "book.pdf").write_bytes(paper.pdf_of(tab, book, pages))
    paper.write_epub(book, folder / "book.epub", pages)
    assert sorted(path.name for path in pages.rglob("*.*")) == ["first.html", "pygments.css", "second.html"]
    return folder, book, lambda: [*paper.parts(tab, pages, checkout)]


def test_a_page_comes_without_what_only_a_screen_can_do(small):
    first = small[1][0]
    root = ElementTree.fromstring(first.xhtml)
    said = " ".join("".join(root.itertext()).split())
    assert said == (
        "0. A & B The first & only. λ = 3 There, here, search, outside, in a CSV file. A figure. "
        "On its page: a report. Folded, not lost. Proved: Eq 1 Its end"
    )
    links = [one.get("href") for one in root.iter("{http://www.w3.org/1999/xhtml}a")]
    assert links == ["second.xhtml#there", "first.xhtml#first", "https://example.org/"]
    assert first.styles == ["#first > p { color: red }"]


def test_a_live_figure_is_a_picture_and_leads_to_its_page_where_that_has_an_address(small, monkeypatch):
    monkeypatch.setenv("UAFTC_SITE", "https://example.org/book")
    first, addressed = small[2]()
    for second, end in ((small[1][1], "On its page λ can be moved."), (addressed, "Move λ on the page.")):
        image = re.search('<img src="data:image/png;base64,[^"]{20,}" alt="([^"]*)"', second.xhtml)
        assert image[1] == "Drag λ."
        assert f"A live figure as it begins. {end}" in re.sub("<a[^>]*>|</a>", "", second.xhtml)
    assert 'href="https://example.org/book/second.html"' in addressed.xhtml
    assert 'href="https://example.org/book/search.html"' in first.xhtml


def test_the_contents_of_the_pdf_name_the_page_of_each_title(small):
    pdf = pypdfium2.PdfDocument(small[0] / "book.pdf")
    first, *others = (" ".join(page.get_textpage().get_text_range().split()) for page in pdf)
    assert [part.title for part in small[1]] == ["0. A & B", "1. Second (§2)"]
    titles = re.findall(r"(0\. A & B|1\. Second \(§2\)|Its end) (\d+)", first)
    assert [title for title, _ in titles] == ["0. A & B", "Its end", "1. Second (§2)", "Its end"]
    for title, page in titles:
        assert title in others[int(page) - 2]
    assert int(titles[-1][1]) > int(titles[-2][1]), "the second page of the book takes several of paper"
    assert [mark.get_title() for mark in pdf.get_toc()][1:] == ["0. A & B", "Its end", "1. Second (§2)", "Its end"]


def test_the_epub_has_a_file_for_each_page_and_all_its_links_lead_somewhere(small):
    with zipfile.ZipFile(small[0] / "book.epub") as epub:
        kind, *names = epub.infolist()
        assert (kind.filename, kind.compress_type, epub.read(kind)) == ("mimetype", 0, b"application/epub+zip")
        texts = {one.filename: epub.read(one).decode() for one in names if one.filename.endswith((".xhtml", ".opf"))}
        listed = set(re.findall('href="([^"]+)"', texts.pop("book.opf")))
        assert listed == {one.filename for one in names} - {"META-INF/container.xml", "book.opf"}
        for text in texts.values():
            ElementTree.fromstring(text.encode())
            for name, anchor in re.findall(r'href="(\w+\.xhtml)#?([^"]*)"', text):
                assert not anchor or f'id="{anchor}"' in texts[name]


def test_without_a_browser_it_says_what_it_looked_for(monkeypatch):
    monkeypatch.setattr(paper.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match="none is installed .looked for chromium-headless-shell, "), paper.browser():
        pass


def numerals(text: str) -> Counter:
    return Counter(NUMERAL.findall(text))


@pytest.mark.long
def test_every_number_of_a_page_is_on_paper(browser, tmp_path):
    """Paragraphs, cells and captions; formulas are drawings."""
    tab = browser.new_page()
    book = [*paper.parts(tab, PAGES)]
    printed = pypdfium2.PdfDocument(paper.pdf_of(tab, book, PAGES))
    on_paper = numerals("\n".join(page.get_textpage().get_text_range() for page in printed))
    everywhere = Counter()
    for part in book:
        page = BeautifulSoup((PAGES / f"{part.name}.html").read_text(encoding="utf-8"), "html.parser").article
        for unseen in page.select("script, details.hide, uaftc-lab, .uaftc-frames, .math, summary, footer, style"):
            unseen.decompose()
        said = Counter()
        for element in page.select("p, td, figcaption"):
            if not element.find(["p", "td", "figcaption"]):
                said += numerals(element.get_text(" "))
        text = numerals(" ".join(ElementTree.fromstring(part.xhtml).itertext()))
        assert said - text == Counter(), part.name
        everywhere += said
    assert everywhere.total() > 10_000
    missing = everywhere - on_paper
    assert missing.total() < 0.001 * everywhere.total(), missing
