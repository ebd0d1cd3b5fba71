"""Figures are numbered in the order of their page, and captions lead with their first sentence."""

from types import SimpleNamespace

import figures
import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.errors import ExtensionError
from test_pages import PAGES

from uaftc_lib.publish import chapters

ONE = '<figure class="uaftc"><svg></svg><figcaption>{}<a>CSV</a></figcaption></figure>'


def test_captions_lead_with_their_first_sentence():
    html, count = figures.numbered(ONE.format("Words part (Fig. S3) early. The rest.") + ONE.format("One sentence."), 2)
    captions = [one.get_text(" ", strip=True) for one in BeautifulSoup(html, "html.parser").select("figcaption")]
    assert captions == ["Figure 3. Words part (Fig. S3) early. The rest. CSV", "Figure 4. One sentence. CSV"]
    leads = [one.get_text() for one in BeautifulSoup(html, "html.parser").select(".finding")]
    assert (leads, count) == (["Words part (Fig. S3) early.", "One sentence."], 4)


def test_what_a_slider_switches_has_no_number():
    switched = f'<div class="uaftc-frames">{ONE.format("At one λ.")}</div>'
    assert figures.numbered(switched, 1) == (switched, 1)


@pytest.mark.parametrize("number", ["2", "0"])
def test_a_number_that_no_figure_has_is_an_error(number):
    (link,), _ = figures.role("fig", f"`{number}`", number, 1, None)
    doctree = nodes.section("", nodes.raw("", ONE.format("Found."), format="html"), nodes.paragraph("", "", link))
    with pytest.raises(ExtensionError, match=f"1 figures, and refers to Figure {number}"):
        figures.number_figures(SimpleNamespace(env=SimpleNamespace(docname="01_model")), doctree)


@pytest.mark.parametrize("name", chapters())
def test_numbers_run_on_and_links_find_their_figure(name):
    page = BeautifulSoup((PAGES / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
    numbers = [one["id"] for one in page.select("figure.uaftc[id]")]
    assert numbers == [f"figure-{n}" for n in range(1, len(numbers) + 1)]
    assert {one["href"][1:] for one in page.select("a.figure-number")} <= set(numbers)
    unnumbered = [one for one in page.select("figure.uaftc:not([id])") if not one.find_parent(class_="uaftc-frames")]
    assert unnumbered == []
