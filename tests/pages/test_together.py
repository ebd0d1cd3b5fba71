"""Words and curves of one colour light up together: by pointer and by keys, and nothing else does."""

import itertools

import pandas as pd
import pytest
from test_pages import opened

from uaftc_book.publish import CHECKOUT
from uaftc_lib import plots

KINDS = ["positive", "negative", "neutral"]
PAGE = """<!doctype html><html lang="en"><style>{style}</style><script>{script}</script><article class="bd-article">
<section id="curves"><p>The <b>Positive words</b> rise, <a href="#x">positive words</a> and more positive words.</p>
  {curves}
  <section id="within"><p>Negative words without a figure of their own.</p></section></section>
<section id="dots">{dots}<p>Of neutral words and of negative words.</p></section>
<section id="others">{others}<p>Of positive words nothing is drawn.</p></section></article></html>"""


@pytest.fixture
def page(browser, tmp_path):
    """A page of three sections: curves in two panels, dots, and curves of something else."""
    data = pd.DataFrame(itertools.product(KINDS, range(3)), columns=["kind", "epoch"])
    data = data.assign(score=range(9), other=range(9))
    panels = [plots.curves(data, "epoch", y, "kind", "Two panels.") for y in ("score", "other")]
    static = CHECKOUT / "book" / "_static"
    text = PAGE.format(
        style=(static / "book.css").read_text(encoding="utf-8"),
        script=(static / "together.js").read_text(encoding="utf-8"),
        curves=plots.row(*panels, caption="Found for negative words.").to_html(),
        dots=plots.scatter(data, "score", "other", "kind", "Dots.").to_html(),
        others=plots.curves(data.assign(kind=data["kind"].str[:2]), "epoch", "score", "kind", "No kinds.").to_html(),
    )
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    with opened(browser, tmp_path / "page.html") as (page, troubles):
        yield page
        assert troubles == []


def state(page, kind: str) -> list[str]:
    """The words and the names in legends that are lit or faded, of the whole page."""
    found = page.locator(f".kind.{kind}, .series.{kind}").all_text_contents()
    return [text.strip() for text in found if text.strip()]


def test_only_words_beside_a_figure_of_their_kind_are_marked(page):
    marked = page.locator(".kind")
    expected = ["Positive words", "positive words", "negative words", "neutral words", "negative words"]
    assert marked.all_text_contents() == expected
    assert page.locator(".kind[tabindex='0']").count() == 4, "the first of each kind in a section"
    assert state(page, "lit") == state(page, "faded") == []


@pytest.mark.parametrize("at", [".kind.positive >> nth=1", ".series.s0 text >> nth=0", "svg >> nth=1 >> .series.s0"])
def test_what_is_pointed_at_lights_up_all_that_is_of_its_kind(page, at):
    page.locator("#curves").locator(at).first.hover(force=True)
    assert state(page, "lit") == ["Positive words", "positive words", "positive"]
    assert state(page, "faded") == ["negative", "neutral"]
    assert [svg.locator(".series.lit").count() for svg in page.locator("#curves svg").all()] == [3, 1], "one legend"
    assert page.locator("#curves .series.s1 path").first.evaluate(
        "one => +getComputedStyle(one.closest('.series')).opacity < 0.5"
    )
    page.mouse.move(1000, 0)
    assert state(page, "lit") == state(page, "faded") == []


def test_dots_light_up_too_and_other_names_alone(page):
    page.locator("#dots .kind.neutral").hover()
    assert state(page, "lit") == ["neutral", "neutral words"] and state(page, "faded") == ["positive", "negative"]
    assert page.locator("#dots .series.lit").count() == 3, "dots, and mark and name in the legend"
    page.locator("#others .series text", has_text="po").hover()
    assert state(page, "lit") == ["po"] and state(page, "faded") == ["ne"]


def test_keys_keep_a_kind_lit_and_let_it_go(page):
    word = page.locator("#dots .kind.negative")
    word.focus()
    assert "negative" in state(page, "lit")
    page.keyboard.press("Enter")
    word.blur()
    assert "negative" in state(page, "lit") and word.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Escape")
    assert state(page, "lit") == [] and word.get_attribute("aria-pressed") == "false"
    word.click()
    page.mouse.move(1000, 0)
    assert "negative" not in state(page, "faded") and "positive" in state(page, "faded")
