"""Keys alone: Tab comes to all that can be used on a page, once each, is seen where it is, and leaves again."""

import json

import pytest
from made_report import made_report
from test_pages import NAMES, OPEN, PAGES, REACHED, WIDTHS, opened

from uaftc_lib.report import write

AT = """() => {
  let at = document.activeElement;
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at;
}"""
STOP = """() => {
  let at = document.activeElement;
  while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (at === document.body) return null;
  window.visited ??= new Set();
  const again = visited.has(at), style = getComputedStyle(at);
  visited.add(at);
  const seen = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== "none";
  return [at.outerHTML.slice(0, 100), again, seen];
}"""
MISSED = """() => {
  const trees = [document, ...[...document.querySelectorAll('*')].map((one) => one.shadowRoot).filter(Boolean)];
  const usable = 'a[href], button:enabled, input:enabled, select:enabled, summary, [tabindex="0"]';
  const shown = { visibilityProperty: true, contentVisibilityAuto: true };
  return trees.flatMap((tree) => [...tree.querySelectorAll(usable)])
    .filter((one) => one.tabIndex >= 0 && one.type !== 'radio' && one.checkVisibility(shown))
    .filter((one) => one.offsetWidth && !visited.has(one))
    .map((one) => one.outerHTML.slice(0, 100));
}"""

SIDEWAYS = """() => {
  window.sideways = [...document.querySelectorAll('.bd-article *')].filter((one) =>
    one.scrollWidth - one.clientWidth > 2 && ['auto', 'scroll'].includes(getComputedStyle(one).overflowX)
      && one.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }));
  return sideways.map((one) => one.outerHTML.slice(0, 100));
}"""
GO_THERE = """(i) => {
  const it = sideways[i], place = it.tabIndex >= 0 ? it : it.querySelector('a[href], button, input, [tabindex="0"]');
  it.scrollLeft = 0;
  place?.focus();
  return place !== null;
}"""
IN_SIGHT = """() => {
  const at = document.activeElement.getBoundingClientRect(), nav = document.querySelector('nav');
  const { left, right } = nav.getBoundingClientRect();
  const faded = nav.scrollWidth - nav.clientWidth - nav.scrollLeft > 1 ? 40 : 0;
  return left - 1 <= at.left && at.right <= right - faded + 1;
}"""


def walked(page, most: int = 1500) -> tuple[list[str], list[str]]:
    """Where Tab stops unseen or for a second time, and what it never comes to."""
    wrong = []
    for _ in range(most):
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP)
        if stop is None or stop[1]:
            return wrong + ([stop[0]] if stop else []), page.evaluate(MISSED)
        wrong += [stop[0]] * (not stop[2])
    return [f"no end after {most} stops"], []


@pytest.fixture(params=WIDTHS.values(), ids=WIDTHS)
def width(request) -> int:
    return request.param


def tab_to(page, wanted: str, most: int = 400) -> None:
    """Press Tab until it stops at what a selector names."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(f"({AT})().matches({json.dumps(wanted)})"):
            return
    pytest.fail(f"Tab does not come to {wanted}")


WALKED = ("404", "search", "glossary", "symbols", "10_scorecard", "00_intro", "06_accuracy")


@pytest.mark.parametrize("name", [one for one in WALKED if one in NAMES])
def test_tab_walks_through_a_whole_page(browser, name, width):
    with opened(browser, PAGES / f"{name}.html", width) as (page, _):
        if name == "00_intro":
            page.locator("uaftc-lab").scroll_into_view_if_needed()
            page.wait_for_function("document.querySelector('uaftc-lab').numbers")
        assert walked(page) == ([], [])


def test_stored_runs_follow_the_keys(browser):
    shown = "[...document.querySelector('.frames').children].findIndex((one) => !one.hidden)"
    with opened(browser, PAGES / "06_accuracy.html") as (page, _):
        tab_to(page, ".uaftc-frames input")
        before, caption = page.evaluate(shown), page.locator(".uaftc-frames .caption").first
        says = caption.inner_text()
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"{shown} === {before + 1}")
        assert caption.inner_text() != says
        assert says.split(":")[0] != page.evaluate(f"({AT})().getAttribute('aria-valuetext')")


def test_escape_closes_the_search_and_the_keys_are_where_they_were(browser, width):
    with opened(browser, PAGES / "01_model.html", width) as (page, _):
        tab_to(page, "button.search-button__button")
        button = page.evaluate_handle(f"({AT})()")
        for keys in ("Enter", "Control+k"):
            page.keyboard.press(keys)
            page.wait_for_function("document.activeElement.closest('#pst-search-dialog')")
            page.keyboard.type("attention")
            page.keyboard.press("Escape")
            page.wait_for_function("!document.querySelector('#pst-search-dialog').open")
            page.wait_for_function("(it) => it === document.activeElement", arg=button)


def test_what_scrolls_sideways_is_scrolled_by_keys(browser, width):
    """All folds open; the keys are at what scrolls, or in it."""
    with opened(browser, PAGES / "A_map.html", width) as (page, _):
        page.evaluate(OPEN)
        page.wait_for_function(REACHED)
        found = page.evaluate(SIDEWAYS)
        assert found, "this page has wide tables"
        for i, what in enumerate(found):
            assert page.evaluate(GO_THERE, i), f"no keys come to {what}"
            page.keyboard.press("ArrowRight")
            page.wait_for_function(f"sideways[{i}].scrollLeft > 0")


def test_the_sections_of_a_report_are_reached_by_tab(browser, tmp_path, width):
    """Where they do not fit beside each other, each is wholly seen when the keys are at it."""
    write.write_report(*made_report(), tmp_path)
    with opened(browser, tmp_path / "report.html", width) as (page, _):
        assert walked(page) == ([], [])
        page.reload()
        tab_to(page, "nav a")
        for _ in range(page.locator("nav a").count() - 1):
            assert page.evaluate(IN_SIGHT), page.evaluate("document.activeElement.textContent")
            page.keyboard.press("Tab")
        assert page.evaluate(IN_SIGHT) and page.evaluate("document.activeElement.textContent") == "Data"
        page.keyboard.press("Enter")
        page.wait_for_function("location.hash === '#data'")
        top = "document.querySelector('#data').getBoundingClientRect().top"
        page.wait_for_function(f"0 <= {top} && {top} < innerHeight")


def test_the_walk_sees_what_it_should(browser, tmp_path):
    bad = "<button style='outline: none'>unseen</button>"
    bad += "<a href='#' onkeydown='event.preventDefault()'>trap</a><a href='#'>x</a>"
    (tmp_path / "bad.html").write_text(bad, encoding="utf-8")
    with opened(browser, tmp_path / "bad.html") as (page, _):
        wrong, missed = walked(page)
        assert [text[:2] for text in wrong] == ["<b", "<a"] and len(missed) == 1
