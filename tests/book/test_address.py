"""The repository's address: what is made from it, and that nothing is while there is none."""

import json
import re
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace

import pages  # an extension of Sphinx
import pytest
import yaml
from bs4 import BeautifulSoup
from small_book import add_pages, make_checkout
from test_pages import CARD_AT_MOST

from uaftc_book import publish
from uaftc_book.publish.address import OF_PAGES, VARIABLE, binder, pages_address, provider, repository
from uaftc_book.publish.head import png, preview_card, sentence_of

EXAMPLE = "https://github.com/Example/living-edition"
HERE = "https://example.github.io/living-edition/"


@pytest.fixture(autouse=True)
def nothing_is_said_by_the_environment(monkeypatch):
    for variable in (VARIABLE, OF_PAGES):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("address", "pages"),
    [
        (EXAMPLE, HERE),
        ("https://gitlab.com/example/book", "https://example.gitlab.io/book/"),
        ("https://gitlab.com/Group/sub/book", "https://group.gitlab.io/sub/book/"),
        ("https://github.com/Example/example.github.io", "https://example.github.io/"),
    ],
)
def test_pages_follow_from_the_repository(address, pages):
    assert pages_address(address) == pages


BAD = ["github.com/a/b", "https://github.com/a", "http://", "https://github.com/a/b?x=1", "https://github.com/a/b c"]


@pytest.mark.parametrize(
    "address", [*BAD, "https://github.com/a/../b", "https://github.com/a/b#c", 'https://h.org/a/"b"']
)
def test_another_address_is_refused_in_words(address):
    with pytest.raises(ValueError, match="must say https://HOST/OWNER/NAME, got"):
        pages_address(address)


def test_a_host_of_ones_own_must_say_where_its_pages_are(monkeypatch):
    for address in ("https://git.example.org/a/b", "https://github.com/a/b/c"):
        with pytest.raises(ValueError, match=f"Say it by \\${OF_PAGES}"):
            pages_address(address)
    monkeypatch.setenv(OF_PAGES, "https://pages.example.org/a/b")
    assert pages_address("https://git.example.org/a/b") == "https://pages.example.org/a/b/"
    assert [provider(f"https://{host}/a/b") for host in ("gitlab.example.org", "github.com")] == ["gitlab", "github"]
    monkeypatch.setenv(OF_PAGES, "")
    assert pages_address(EXAMPLE) == HERE, "a variable that is not set is empty in a workflow"
    monkeypatch.setenv(OF_PAGES, "pages")
    with pytest.raises(ValueError, match="got 'https://github.com/a/b' pages"):
        pages_address("https://github.com/a/b")


def test_what_the_environment_says_goes_first(monkeypatch):
    assert repository() == "" and repository("https://github.com/a/b/") == "https://github.com/a/b"
    assert repository("https://github.com/a/b.git") == "https://github.com/a/b"
    monkeypatch.setenv(VARIABLE, EXAMPLE)
    assert repository("https://github.com/a/b") == EXAMPLE


@pytest.fixture(scope="module", params=["", EXAMPLE], ids=["unset", "set"])
def built(request, tmp_path_factory) -> tuple[str, Path]:
    """A small book, built with the repository's address or without: the address, and the folder of its pages."""
    checkout = add_pages(make_checkout(tmp_path_factory.mktemp("book")))
    config = checkout / "_config.yml"
    config.write_text(re.sub(r"(?m)^  url: .*", f'  url: "{request.param}"', config.read_text()))
    publish.refresh(checkout)
    with pytest.MonkeyPatch.context() as patch:
        for variable in (VARIABLE, OF_PAGES):
            patch.delenv(variable, raising=False)
        return request.param, publish.build(checkout)


def test_buttons_and_links_need_an_address(built):
    address, folder = built
    page = (folder / "01_small.html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="(https?://[^"]*)"', page))
    if not address:
        assert [link for link in links if "github" in link or "colab" in link or "mybinder" in link] == []
        assert "dropdown-source-buttons" not in page and "dropdown-launch-buttons" not in page
        assert 'rel="canonical"' not in page
        return
    name = "Example/living-edition"
    assert {
        f"https://github.com/{name}",
        f"https://mybinder.org/v2/gh/{name}/main?urlpath=lab/tree/book/01_small.ipynb",
        f"https://colab.research.google.com/github/{name}/blob/main/book/01_small.ipynb",
    } <= links
    assert any(link.startswith(f"{address}/issues/new?") for link in links)
    assert f'<link rel="canonical" href="{HERE}01_small.html" />' in page
    assert "google.colab" not in page and "google.colab" in (folder / "_sources" / "01_small.ipynb").read_text()


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (EXAMPLE, "gh/Example/living-edition"),
        ("https://gitlab.com/example/book", "gl/example%2Fbook"),
        ("https://gitlab.com/Group/sub/book", "gl/Group%2Fsub%2Fbook"),
        ("https://git.example.org/a/b", "git/https%3A%2F%2Fgit.example.org%2Fa%2Fb"),
    ],
)
def test_binder_is_told_of_any_host(address, name):
    assert binder(address) == name
    options = {"repository_url": address, "repository_branch": "main"}
    button = {"text": "Binder", "url": "https://mybinder.org/v2/git/https%3A//any/main?urlpath=lab/tree/book/x.ipynb"}
    app = SimpleNamespace(config=SimpleNamespace(html_theme_options=options))
    pages.correct_links(app, "x", "", {"header_buttons": [{"buttons": [button]}, {"type": "javascript"}]}, None)
    assert button["url"] == f"https://mybinder.org/v2/{name}/main?urlpath=lab/tree/book/x.ipynb"


def test_colab_is_offered_where_notebooks_can_say_where_the_book_is(monkeypatch):
    """That is written down with the address, not with the environment of one build."""

    def configured(url: str) -> dict:
        options = {"repository_url": url, "launch_buttons": {"binderhub_url": "b", "colab_url": "c"}}
        pages.configure(None, config := SimpleNamespace(html_theme_options=options))
        assert config.html_baseurl == HERE
        return config.html_theme_options["launch_buttons"]

    monkeypatch.setenv(VARIABLE, EXAMPLE)
    assert configured("") == {"binderhub_url": "b"}
    assert configured(EXAMPLE) == {"binderhub_url": "b", "colab_url": "c"}
    monkeypatch.setenv(VARIABLE, "https://gitlab.com/example/living-edition")
    monkeypatch.setenv(OF_PAGES, HERE)
    assert configured("https://gitlab.com/example/living-edition") == {"binderhub_url": "b"}, "Colab reads GitHub alone"


def test_the_head_of_a_page_says_what_it_is(built):
    address, folder = built
    page = BeautifulSoup((folder / "01_small.html").read_text(encoding="utf-8"), "html.parser")
    said = {tag.get("name") or tag["property"]: tag["content"] for tag in page.find_all("meta") if tag.get("content")}
    assert said["description"] == said["og:description"] == "A sentence."
    assert said["og:title"] == said["citation_title"] == "A small chapter"
    title = yaml.safe_load((folder.parents[3] / "_config.yml").read_text(encoding="utf-8"))["title"]
    assert said["og:site_name"] == said["citation_inbook_title"] == title
    about = json.loads(page.find("script", type="application/ld+json").string)
    assert about["@type"] == "Chapter" and about["description"] == "A sentence."
    assert page.find("link", rel="icon")["href"] == "_static/icon.svg"
    assert (folder / "_static" / "icon.svg").exists()
    here = HERE + "01_small.html"
    assert {said.get("og:url"), said.get("citation_public_url"), about.get("url")} == {here if address else None}
    assert ("og:image" in said) == bool(address)
    index = BeautifulSoup((folder / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert index.find("meta", property="og:title")["content"] == index.title.string.split(" —")[0] == "A small chapter"
    assert bool(index.find("link", rel="canonical")) == bool(address)
    assert index.find("link", rel="icon")["href"].startswith("data:image/svg+xml,%3Csvg")


def test_a_site_has_a_map_if_it_has_an_address(built):
    address, folder = built
    robots = (folder / "robots.txt").read_text()
    assert robots.startswith("User-agent: *\nAllow: /\n")
    assert (f"Sitemap: {HERE}sitemap.xml" in robots) == bool(address)
    assert (folder / "sitemap.xml").exists() == bool(address)
    if not address:
        return
    space = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    listed = [one.text for one in ElementTree.parse(folder / "sitemap.xml").iter(f"{space}loc")]
    assert listed == [HERE + "01_small.html", HERE + "references.html"]


def test_a_page_that_is_not_there_leads_to_the_book(built):
    address, folder = built
    page = BeautifulSoup((folder / "404.html").read_text(encoding="utf-8"), "html.parser")
    assert page.h1.string == "This page is not here" and page.find("a", href="00_intro.html")
    assert page.title.string.strip().startswith(page.h1.string) and not page.find("link", rel="canonical")
    assert (page.base["href"] if page.base else "") == (HERE if address else "")
    assert not address or page.find(["base", "link", "script"]) == page.base, "what stands before it is not found"
    issues = [link["href"] for link in page("a", href=re.compile("/issues/new"))]
    assert len(issues) == bool(address) and "404" not in "".join(issues)


def test_nothing_travels_that_no_page_asks_for(built):
    _, folder = built
    assert list(folder.rglob("*.map")) == [] and not (folder / "_static" / "mathjax" / "tex-chtml.js").exists()
    assert (folder / "_static" / "mathjax" / "tex-svg.js").exists()
    cells = json.loads((folder / "_sources" / "01_small.ipynb").read_text())["cells"]
    assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["outputs"]] == []


def test_the_sentence_of_a_page_is_what_it_found():
    found = "<p>Is it so? Yes.</p><p><strong>It is so, by a half.</strong> And more.</p>"
    assert sentence_of(found) == "It is so, by a half."
    assert sentence_of("<p>Is it so? Yes.</p><p><strong>Short.</strong></p>") == "Is it so?"
    assert sentence_of("") == ""
    goes_on = "<p><strong>It all fits into two numbers</strong>, <em>a</em> and b: one each. No more.</p>"
    assert sentence_of(goes_on) == "It all fits into two numbers, a and b: one each."
    formula = r'<span class="math">\(\boldsymbol{V}^\top\boldsymbol{W}\)</span>'
    assert sentence_of(f"<p>The gap follows {formula}, and \\(\\lambda\\).</p>") == "The gap follows V·W, and lambda."


def test_a_build_with_an_address_that_cannot_be_keeps_the_pages_that_are_there(tmp_path, monkeypatch):
    checkout = add_pages(make_checkout(tmp_path))
    (pages := checkout / "_build" / "book" / "_build" / "html").mkdir(parents=True)
    (pages / "old.html").write_text("old")
    monkeypatch.setenv(VARIABLE, "https://github.com/a")
    publish.refresh(checkout)
    with pytest.raises(SystemExit, match="must say"):
        publish.build(checkout)
    assert (pages / "old.html").exists()


def test_a_card_shows_the_first_figure_or_the_sentence_and_names_the_book():
    drawn = '<svg width="96" height="48" viewBox="0 0 72 36"><rect width="72" height="36" fill="currentColor"/></svg>'
    icon = '<svg viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
    figure = f'<figure class="uaftc"><div>{drawn}</div></figure>'
    sentence = "It is <so>, and " + "so " * 60
    for body, shown in ((figure, 'viewBox="0 0 72 36"'), ("<p>no figure</p>", "It is &lt;so&gt;, and")):
        svg = preview_card("Questions & <answers>", sentence, body, "The book & more", icon)
        ElementTree.fromstring(svg)
        assert all(one in svg for one in ("Questions &amp; &lt;answers&gt;", "The book &amp; more", "M0 0h9v9z", shown))
        heights = [float(y) for y in re.findall(r'<text x="48" y="([\d.]+)"', svg)]
        assert heights == sorted(heights) and heights[-1] < 550, "it ends above the name of the book"
        picture = png(svg)
        assert picture[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", picture[16:24]) == (1200, 630)
        assert picture[25] == 3, "its colours come from a palette"


def test_cards_are_small(built):
    address, folder = built
    cards = sorted((folder / "_static").glob("cards/*.png"))
    assert {"01_small.png", "references.png"} <= {path.name for path in cards} or not address
    assert [path.name for path in cards if path.stat().st_size > CARD_AT_MOST] == []
