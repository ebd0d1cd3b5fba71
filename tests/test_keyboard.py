"""Keys alone: Tab comes to all that can be used on a page, once each, is seen where it is, and leaves again."""

import pytest
from test_pages import NAMES, PAGES, opened

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


@pytest.mark.parametrize(
    "name", [one for one in ("404", "search", "glossary", "symbols", "17_scorecard") if one in NAMES]
)
def test_tab_walks_through_a_whole_page(browser, name):
    with opened(browser, PAGES / f"{name}.html") as (page, _):
        assert walked(page) == ([], [])


def test_the_walk_sees_what_it_should(browser, tmp_path):
    bad = "<button style='outline: none'>unseen</button>"
    bad += "<a href='#' onkeydown='event.preventDefault()'>trap</a><a href='#'>x</a>"
    (tmp_path / "bad.html").write_text(bad, encoding="utf-8")
    with opened(browser, tmp_path / "bad.html") as (page, _):
        wrong, missed = walked(page)
        assert [text[:2] for text in wrong] == ["<b", "<a"] and len(missed) == 1
