"""Words and curves of one colour light up together: by pointer and by keys, and nothing else does."""

import pytest
from test_pages import OPEN, PAGES, opened

PAGE = PAGES / "03_polarity_dynamics.html"  # its second figure has curves of all three kinds, and words for them
NAMES = """(state) => [...document.querySelectorAll(`#figure-2 svg:first-of-type .series.${state}`)]
    .map((one) => one.textContent.trim()).filter(Boolean)"""
WORDS = "() => [...document.querySelectorAll('.kind.lit')].map((one) => one.textContent)"


@pytest.fixture
def page(browser):
    with opened(browser, PAGE) as (page, troubles):
        page.evaluate(OPEN)
        yield page
        assert troubles == []


def lit(page) -> tuple[set[str], set[str], set[str]]:
    """Of the first panel of the figure: the names that are lit, those that are faded; and the words that are lit."""
    words = {text.replace("\xa0", " ").lower().removesuffix("s") for text in page.evaluate(WORDS)}
    return {*page.evaluate(NAMES, "lit")}, {*page.evaluate(NAMES, "faded")}, words


NOTHING = (set(), set(), set())
POSITIVE = ({"positive"}, {"negative", "neutral"}, {"positive word"})


def test_a_curve_and_its_name_light_up_the_words_and_words_the_curve(page):
    word = page.locator("section:has(> .cell #figure-2) .kind.positive").first
    for pointed in (page.locator("#figure-2 .series.s0 text").first, word):
        assert lit(page) == NOTHING
        pointed.hover()
        assert lit(page) == POSITIVE
        assert page.locator("#figure-2 svg:nth-of-type(2) .series.s1.faded").count() > 0, "in all panels"
        page.mouse.move(0, 0)
    assert lit(page) == NOTHING


def test_keys_keep_a_kind_lit_and_let_it_go(page):
    word = page.locator("section:has(> .cell #figure-2) .kind.positive[tabindex='0']")
    assert word.count() == 1, "one stop for Tab in a section"
    word.focus()
    assert lit(page) == POSITIVE
    page.keyboard.press("Enter")
    assert word.get_attribute("aria-pressed") == "true"
    word.blur()
    assert lit(page) == POSITIVE, "kept"
    page.keyboard.press("Escape")
    assert lit(page) == NOTHING and word.get_attribute("aria-pressed") == "false"


def test_words_are_marked_only_beside_a_figure_that_has_their_kind(page):
    told = page.evaluate("""() => [...document.querySelectorAll('.kind')].map((word) => {
      const kinds = [...word.closest('section').querySelectorAll('figure .series')].map((one) => one.textContent.trim());
      return kinds.some((name) => name.startsWith(word.classList[1]));
    })""")
    assert len(told) > 5 and all(told)


def test_a_series_of_another_name_lights_up_alone(page):
    page.locator("#figure-1 .series text", has_text="A").first.hover()
    assert page.locator("#figure-1 .series.lit text").evaluate_all("all => all.map(o => o.textContent.trim())") == ["A"] * 2
    assert page.locator("#figure-1 .series.faded").count() > 0 and page.evaluate(WORDS) == []
