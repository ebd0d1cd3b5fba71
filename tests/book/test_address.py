"""The addresses of the repository and of the site: what is made from them, and that nothing is while there are none."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace

import pages  # an extension of Sphinx
import pytest
import yaml
from bs4 import BeautifulSoup
from docutils import nodes
from small_book import add_pages, make_checkout, replace

from uaftc_book import publish
from uaftc_book.publish.address import SITE, site

EXAMPLE = "https://github.com/Example/living-edition"
HERE = "https://example.github.io/living-edition/"


@pytest.fixture(autouse=True)
def nothing_is_said_by_the_environment(monkeypatch):
    monkeypatch.delenv(SITE, raising=False)


def test_what_the_environment_says_goes_first(tmp_path, monkeypatch):
    assert site(tmp_path) == ""
    (tmp_path / "_config.yml").write_text("html: {baseurl: 'https://example.org/book'}")
    assert site(tmp_path) == "https://example.org/book/"
    monkeypatch.setenv(SITE, "")
    assert site(tmp_path) == "https://example.org/book/", "a variable that is not set is empty in a workflow"
    monkeypatch.setenv(SITE, HERE)
    assert site(tmp_path) == HERE


@pytest.fixture(scope="module", params=["", EXAMPLE], ids=["unset", "set"])
def built(request, tmp_path_factory) -> tuple[str, Path]:
    """A small book, built with addresses or without: the repository's, and the folder of its pages."""
    checkout = add_pages(make_checkout(tmp_path_factory.mktemp("book")))
    config = checkout / "_config.yml"
    for name, address in (("url", EXAMPLE), ("baseurl", HERE)) if request.param else ():
        replace(config, f'  {name}: ""', f'  {name}: "{address}"')
    publish.refresh(checkout)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(SITE, raising=False)
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


@pytest.mark.parametrize("host", ["github", "gitlab"])
def test_colab_reads_github_alone(host, tmp_path):
    options = {"repository_url": f"https://{host}.com/a/b", "launch_buttons": {"binderhub_url": "b", "colab_url": "c"}}
    config = SimpleNamespace(html_theme_options=options, html_title="The book", ogp_social_cards={})
    pages.configure(SimpleNamespace(srcdir=tmp_path / "book"), config)
    assert ("colab_url" in options["launch_buttons"]) == (host == "github")
    assert options["use_repository_button"] and config.ogp_social_cards == {"enable": False}


def test_the_head_of_a_page_says_what_it_is(built):
    address, folder = built
    page = BeautifulSoup((folder / "01_small.html").read_text(encoding="utf-8"), "html.parser")
    said = {tag.get("name") or tag["property"]: tag["content"] for tag in page.find_all("meta") if tag.get("content")}
    assert said["description"] == said["og:description"] == "A sentence."
    assert said["og:title"] == said["citation_title"] == "A small chapter"
    title = yaml.safe_load((folder.parents[3] / "_config.yml").read_text(encoding="utf-8"))["title"]
    assert said["og:site_name"] == said["citation_inbook_title"] == title
    assert page.find("link", rel="icon")["href"] == "_static/icon.svg"
    assert (folder / "_static" / "icon.svg").exists()
    here = HERE + "01_small.html"
    assert said["og:url"] == (here if address else "01_small.html")
    assert said.get("citation_public_url") == (here if address else None)
    card = said.get("og:image", "").removeprefix(HERE)
    assert bool(card) == bool(address) and (not card or (folder / card).read_bytes()[:4] == b"\x89PNG")
    index = BeautifulSoup((folder / "index.html").read_text(encoding="utf-8"), "html.parser")
    assert index.find("meta", property="og:title")["content"] == index.title.string.split(" —")[0] == "A small chapter"
    assert bool(index.find("link", rel="canonical")) == bool(address)
    assert index.find("link", rel="icon")["href"].startswith("data:image/svg+xml,%3Csvg")


def test_a_site_has_a_map_if_it_has_an_address(built):
    address, folder = built
    assert (folder / "robots.txt").exists() == (folder / "sitemap.xml").exists() == bool(address)
    if not address:
        return
    assert (folder / "robots.txt").read_text() == f"Sitemap: {HERE}sitemap.xml\n"
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
    assert len(issues) == bool(address)


def test_nothing_travels_that_no_page_asks_for(built):
    _, folder = built
    assert list(folder.rglob("*.map")) == [] and not (folder / "_static" / "mathjax" / "tex-chtml.js").exists()
    assert (folder / "_static" / "mathjax" / "tex-svg.js").exists()
    cells = json.loads((folder / "_sources" / "01_small.ipynb").read_text())["cells"]
    assert [cell["outputs"] for cell in cells if cell["cell_type"] == "code" and cell["outputs"]] == []


def test_the_sentence_of_a_page_is_what_it_found():
    def sentence(*paragraphs):
        needs = nodes.paragraph("", "A minute to read.", classes=["page-needs"])
        return pages.sentence_of(nodes.section("", needs, *(nodes.paragraph("", "", *parts) for parts in paragraphs)))

    question, bold = nodes.Text("Is it so? Yes."), nodes.strong("", "It is so, by a half.")
    assert sentence([question], [bold, nodes.Text(" And more.")]) == "It is so, by a half."
    assert sentence([question], [nodes.strong("", "Short.")]) == "Is it so?"
    assert sentence() == ""
    bold, formula = nodes.strong("", "It all fits into two numbers"), nodes.math("", "\\lambda")
    goes_on = [bold, nodes.Text(", a and\nb, by "), formula, nodes.Text(". No more.")]
    assert sentence(goes_on) == "It all fits into two numbers, a and b, by lambda."


def test_a_build_with_an_address_that_cannot_be_keeps_the_pages_that_are_there(tmp_path, monkeypatch):
    checkout = add_pages(make_checkout(tmp_path))
    (pages := checkout / "_build" / "book" / "_build" / "html").mkdir(parents=True)
    (pages / "old.html").write_text("old")
    monkeypatch.setenv(SITE, "github.com/a")
    publish.refresh(checkout)
    with pytest.raises(SystemExit, match="must say"):
        publish.build(checkout)
    assert (pages / "old.html").exists()
