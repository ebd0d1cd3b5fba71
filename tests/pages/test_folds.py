"""What a page folds and numbers: each check says what came of it, what is linked to opens, figures run on."""

import re
from types import SimpleNamespace

import figures
import folds
import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.errors import ExtensionError
from test_pages import PAGES, opened

from uaftc_book.publish import chapters

PROVED = "<li><b>proved</b> Twice as much (in one run) (error 4e-16)</li>"
EXACT = PROVED.replace("4e-16", "0")


@pytest.mark.parametrize(
    ("items", "words"),
    [
        (PROVED, "✓ proved (error 4e−16)"),
        (PROVED + EXACT, "✓ 2 proved (error at most 4e−16)"),
        (EXACT, "✓ proved (error 0)"),
    ],
)
def test_a_check_is_called_by_what_came_of_it(items, words):
    assert folds.label(f'<ul class="uaftc-checks">{items}</ul>') == words


def test_what_came_of_a_check_stands_in_one_list_above_its_code_and_figures_stay():
    lists = [f'<ul class="uaftc-checks">{item}</ul>' for item in (PROVED, EXACT)]
    checks, figure = cell("a", lists[0]), cell("b", "<figure>")
    folds.part(figure, "output").extend(nodes.container("", nodes.raw("", html, format="html")) for html in lists)
    folds.name_cells(nodes.section("", checks, nodes.paragraph(), figure))
    assert folds.part(checks, "output") is None and folds.html_of(folds.part(figure, "output")) == "<figure>"
    assert folds.part(figure, "source")[0].astext() == f'<ul class="uaftc-checks">{PROVED}{EXACT}</ul>'
    assert figure["prompt_show"] == "✓ 2 proved (error at most 4e−16)"


def cell(source, puts_out="", says="Code", kind="code"):
    """A folded cell; what its code is tells them apart."""
    made = nodes.container("", nodes.container("", nodes.literal_block("", source), nb_element="cell_code_source"))
    if puts_out:
        made += nodes.container("", nodes.raw("", puts_out, format="html"), nb_element="cell_code_output")
    made["nb_element"] = "cell_code"
    folds.fold(made, says, kind)
    return made


def gathered(*sections):
    """What stands behind each line of some sections, in order."""
    parts = [nodes.section("", *nodes_of_it) for nodes_of_it in sections]
    page = nodes.section("", *parts)
    folds.gather([one for one in page.findall(nodes.container) if folds.element(one) == "cell_code"])
    lines = [part for part in page.findall(nodes.container) if folds.element(part) == "cell_code_source"]
    return [[block.astext() for block in line] for line in lines]


BETWEEN = nodes.paragraph("", "Between.")


@pytest.mark.parametrize(
    ("sections", "lines"),
    [
        # Code that shows nothing stands behind the next line of its section.
        ([[cell("a"), BETWEEN, cell("b"), cell("c", "<figure>")]], [["a", "b", "c"]]),
        ([[cell("a")], [cell("b", "<figure>")]], [["a"], ["b"]]),
        ([[cell("a"), cell("b", "<p>", "✓ proved", "checks")]], [["a", "b"]]),
        ([[cell("a"), cell("b", "<p>", "Check and solution")]], [["a"], ["b"]]),
        # Lines that follow each other are one.
        ([[cell("a", "<figure>"), cell("b", "<p>")]], [["a", "b"]]),
        ([[cell("a", "<figure>"), BETWEEN.deepcopy(), cell("b", "<p>")]], [["a"], ["b"]]),
    ],
)
def test_code_is_gathered_behind_lines(sections, lines):
    assert gathered(*sections) == lines


def test_a_solution_says_what_it_is():
    solution = cell("answer")
    solution["classes"], page = ["tag_solution"], nodes.section("", cell("a"), solution)
    folds.name_cells(page)
    assert solution["prompt_show"] == "Check and solution" and gathered([*page]) == [["a"], ["answer"]]


def test_the_map_on_a_phone_names_what_it_lists(browser):
    with opened(browser, PAGES / "A_map.html", 390) as (page, _):
        said = "all => all.map(one => getComputedStyle(one, '::before').content)"
        named = page.locator(".map tbody tr:first-child td").evaluate_all(said)
    assert named == ["none", '"status: "', "none", '"data: "']


@pytest.fixture(scope="module", params=chapters())
def page(request):
    """The page of a chapter, read once for all that is asked of it: without what is in its drawings and its code."""
    text = (PAGES / f"{request.param}.html").read_text(encoding="utf-8")
    return BeautifulSoup(re.sub(r"<(svg|pre|script)\b.*?</\1>", "", text, flags=re.DOTALL), "html.parser")


def test_every_check_stands_once_at_its_number_or_behind_its_line(page):
    """And no list stands open."""
    lists = page.select("ul.uaftc-checks")
    folded = page.select("div.folded-checks > details.hide .cell_input > ul, details.uaftc-statements > ul")
    cells = [cell for cell in page.select("td") if re.search("\xa0[✓✗]$", cell.get_text())]
    ticks = page.select("abbr.check") + cells
    assert (lists or ticks) and lists == folded
    foot = [int(n) for one in page.select("p.uaftc-statements") for n in re.findall(r"^\d+", one.get_text())]
    assert sum(foot) == len(page.select("details.hide ul.uaftc-checks > li")) + len(ticks)


def test_code_stands_below_what_it_shows_and_in_one_line(page):
    lines = page.select("div.cell > details.hide")
    assert [one for one in lines if one.find_next_sibling(class_="cell_output") and "folded-" in str(one.parent)] == []
    alone = [one.parent for one in lines if one.summary.get_text(" ", strip=True) == "Code Code"]
    silent = [one for one in alone if not one.select_one(":scope > .cell_output")]
    assert [one for one in silent if (after := one.find_next_sibling()) is not None and after in alone] == []


def test_numbers_run_on_and_links_find_their_figure(page):
    numbers = [one["id"] for one in page.select("figure.uaftc[id]")]
    assert numbers == [f"figure-{n}" for n in range(1, len(numbers) + 1)]
    assert {one["href"][1:] for one in page.select("a.figure-number")} <= set(numbers)
    unnumbered = [one for one in page.select("figure.uaftc:not([id])") if not one.find_parent(class_="uaftc-frames")]
    assert unnumbered == []


def test_a_section_is_folded_but_printed_and_what_leads_into_it_opens_it(browser):
    with opened(browser, PAGES / "03_attention_order.html") as (shown, _):
        within = shown.locator("details.section-more [id]").first.get_attribute("id")
        seen = f"document.getElementById('{within}').checkVisibility({{ contentVisibilityAuto: true }})"
        assert not shown.evaluate(seen)
        shown.emulate_media(media="print")
        shown.wait_for_function(seen)
        shown.emulate_media(media="screen")
        assert not shown.evaluate(seen)
        shown.evaluate(f"location.hash = '#{within}'")
        shown.wait_for_function(seen)


# --- the numbers of figures

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


def counted(*parts):
    """Text and target of each link on a page of figures and links, which are named by their role or put out by code."""
    page = nodes.section("", *parts)
    figures.number_figures(SimpleNamespace(env=SimpleNamespace(docname="01_model")), page)
    return [(one.astext(), one["refuri"]) for one in page.findall(nodes.reference)]


def link(text):
    (made,), _ = figures.role("fig", f"`{text}`", text, 1, None)
    return nodes.paragraph("", "", made)


def drawn():
    return nodes.raw("", ONE.format("Found."), format="html")


def test_a_link_names_the_figure_beside_it():
    put_out = nodes.paragraph("", "", nodes.reference("", "the figure above", refuri="#figure-above"))
    places = [link("below"), drawn(), link("above"), link("below"), drawn(), put_out, link("above-1"), link("1")]
    assert counted(*places) == [(f"Figure {n}", f"#figure-{n}") for n in (1, 1, 2, 2, 1, 1)]


@pytest.mark.parametrize(("text", "number"), [("2", 2), ("0", 0), ("below", 2)])
def test_a_number_that_no_figure_has_is_an_error(text, number):
    with pytest.raises(ExtensionError, match=f"1 figures, and refers to Figure {number}"):
        counted(drawn(), link(text))
    with pytest.raises(ExtensionError, match="refers to Figure 0"):
        counted(link("above"), drawn())
