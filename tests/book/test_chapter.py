"""What a chapter states: proofs with their errors, measurements with their numbers, and the order behind the page."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_book import chapter as chapters
from uaftc_book import equations, paragraphs, rules
from uaftc_book.cases import exceeds
from uaftc_book.chapter import Chapter
from uaftc_book.numbers import exact, number
from uaftc_book.readings import column
from uaftc_book.wording import Line, Lines, true_minus, with_interval


@pytest.fixture
def page() -> Chapter:
    """A chapter with its published parameters."""
    return Chapter("30_none", {"__annotations__": {}, "In": []})


@pytest.fixture
def changed(monkeypatch, tmp_path) -> Chapter:
    """A chapter whose published copy shows two numbers, with another λ."""
    tick = f"At λ = 10 it is {number([1.0, 2.0, 3.0]).above(-1):.1f}, and both sides agree {exact(0)}."
    row = "<tr><td>a &lt; b at λ\N{NO-BREAK SPACE}= 10</td><td>2\N{NO-BREAK SPACE}[1, 3]\N{NO-BREAK SPACE}✓</td>"
    outputs = [{"data": {"text/markdown": [tick]}}, {"data": {"text/html": [f"<table>{row}</tr></table>"]}}]
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "30_none.ipynb").write_text(json.dumps({"cells": [{}, {"outputs": outputs}]}))
    monkeypatch.setattr(chapters, "CHECKOUT", tmp_path)
    monkeypatch.setattr(chapters, "published_parameters", lambda name, cells: {"lam": 10.0})
    return Chapter("30_none", {"__annotations__": {"lam": float}, "lam": 3.0})


def test_a_proof_is_shown_with_its_error(page, capsys):
    page.identity("two sides", 2.3e-16)
    page.identity("every word", torch.tensor([1e-17, 4e-12]), 1e-11)
    page.identity("no violation", -0.5)
    assert capsys.readouterr().out.splitlines() == [
        "proved: two sides (error 2e-16)",
        "proved: every word (error 4e-12)",
        "proved: no violation (error 0)",
    ]


@pytest.mark.parametrize("error", [1e-3, float("nan"), [0.0, 1.0], float("inf")])
def test_a_proof_that_fails_raises_whatever_the_parameters(changed, error):
    with pytest.raises(AssertionError, match=r"two sides: error \S+, of which less than 1e-09 is allowed"):
        changed.identity("two sides", error)


@pytest.fixture
def texts(monkeypatch) -> list[str]:
    """What pages show as paragraphs."""
    shown = []
    monkeypatch.setattr(chapters, "Markdown", lambda text: shown.append(text) or text)
    return shown


OF_TEN = number(np.linspace(1, 2, 10), of="seeds")  # 1.5 [1.28, 1.72]


@pytest.mark.parametrize(
    "one, holds, condition",
    [
        (OF_TEN.above(1.2), True, "above 1.2"),
        (OF_TEN.above(1.4), False, "above 1.4"),
        (OF_TEN.each_above(0.9), True, "each above 0.9"),
        (OF_TEN.each_above(1.2), False, "each above 1.2"),
        (OF_TEN.below(1.8), True, "below 1.8"),
        (OF_TEN.below(1.6), False, "below 1.6"),
        (OF_TEN.between(1.2, 1.8), True, "between 1.2 and 1.8"),
        (OF_TEN.between(1.4, 1.8), False, "between 1.4 and 1.8"),
        (OF_TEN.not_above(1.4), True, "not above 1.4"),
        (OF_TEN.not_above(1.2), False, "not above 1.2"),
        (OF_TEN.undecided(1.5), True, "its interval holds 1.5"),
        (OF_TEN.undecided(), False, "its interval holds 0"),
        (number(2.0).above(1), True, "above 1"),
        (number(rules.share(np.array([True] * 9 + [False]))).above(0.5), True, "above 0.5"),
        (number([2.0]).above(1), False, "above 1"),
        (number([2.0]).undecided(), True, "its interval holds 0"),
        (number(rules.Interval(1.0, np.nan, np.nan, 3)).above(0), False, "above 0"),
        (number(np.nan, 0).above(1), False, "above 1"),
        (number(np.nan, 0).not_above(1), False, "not above 1"),
        (number(np.nan).each_above(1), False, "each above 1"),
    ],
)
def test_a_condition_is_one_of_the_interval_or_of_the_number_alone(one, holds, condition):
    assert (one.holds, one.condition) == (holds, condition)


def test_a_number_is_one_object_and_prints_itself_wherever_it_stands(page, texts, capsys):
    one = page.number([0.4, 0.5, 0.6], of="seeds")
    page.say(f"It is {one.above(0.2):.2f}, or {one:.0%}; both sides agree {exact([0, -1e-16], 1e-12)}.")
    tick = '<abbr class="check" tabindex="0" title="{}">{}<b>✓</b></abbr>'
    above = tick.format("checked: above 0.2 (3 seeds)", "0.50 [0.25, 0.75]\xa0")
    agree = tick.format("proved: error 1e-16, less than 1e-12 is allowed", "")
    assert texts == [f"It is {above}, or 50% [25%, 75%]; both sides agree {agree}."]
    page.results({"the same": one.above(0.2)})
    assert "the same 0.5 [0.25, 0.75] ✓ above 0.2 (3 seeds)" in " ".join(capsys.readouterr().out.split())
    page.show()
    assert capsys.readouterr().out.strip() == (
        "3 statements checked: 2 measured, 1 proved; "
        "if all 2 with a 95% interval were false, fewer than one would pass by chance"
    )
    for apart in (0.1, [0, -0.1], float("nan")):
        with pytest.raises(AssertionError, match="both sides: error (0.1|nan), of which less than 1e-09 is allowed"):
            exact(apart)
    with pytest.raises(ValueError, match="show it by chapter.say"):
        paragraphs.say(f"{one.above(0.2)}")


def test_a_number_knows_the_stored_table_that_it_comes_from():
    rows = pd.DataFrame({"seed": [0, 1, 2], "lam": 10.0, "gap": [1.0, 2.0, 3.0]})
    rows.attrs["table"] = "scores"
    by_seed = rows[rows.lam == 10].set_index("seed")["gap"]
    assert number(by_seed - 0.5 * by_seed, of="seeds").above(0).checked == "above 0 (3 seeds, table scores)"
    assert exceeds("x", column(rows, "gap")).number.table == "scores"
    assert number([1.0], of="pairs of λ").above(0).checked == "above 0 (one pair of λ)"


def test_a_sentence_follows_its_table_and_a_check_that_fails_stops_the_page(page, texts):
    for table, sentence in (
        ([0.4, 0.5, 0.6], "It rises by 0.5 [0.25, 0.75]\xa0✓."),
        ([-0.4, -0.5, -0.6], "It rises by −0.5 [−0.75, −0.25]\xa0✗."),
    ):
        page.say(f"It rises by {page.number(table).above(0)}.")
        assert page.take(texts[-1]) == sentence
    message = re.escape("with the published parameters: It rises by −0.5 [−0.75, −0.25] (above 0 (3 runs))")
    with pytest.raises(AssertionError, match=message):
        page.show()
    page.results({"it rises": page.number([-1.0, -1.1]).above(0)})
    with pytest.raises(AssertionError, match="it rises, measured: −1.*above 0"):
        page.show()
    with pytest.raises(KeyError):
        page.number(lambda: {}["x"])


def test_with_other_parameters_a_number_stands_with_the_published_one(changed, texts, capsys):
    changed.say(f"At λ = 3 it is {changed.number([0.0, 0.1]).above(1):.1f}, and both sides agree {exact(0)}.")
    assert texts[-1].count("(published: 2.0 [−0.5, 4.5])") == 1 and texts[-1].endswith("</abbr>.")
    changed.say(f"At λ = 300 it is {changed.number([0.0, 0.1]).above(1):.1f}, and both sides agree {exact(0)}.")
    assert "published" not in texts[-1], "one published sentence is the twin of one"
    changed.results({"a < b at λ = 10": changed.number(lambda: {}["x"]).above(0)})
    row = " ".join(capsys.readouterr().out.split())
    assert "a < b at λ = 10 not measured ✗ above 0 (0 runs) 2 [1, 3]" in row
    changed.show()
    assert "5 statements checked: 3 does not hold here, 2 proved" in capsys.readouterr().out


def test_the_foot_counts_what_stands_above_it_once(page, capsys, monkeypatch):
    monkeypatch.setattr(equations, "PROVED", {8, 9})
    page.identity("two sides", 0)
    page.say(f"{page.number(0.4321).above(0)} in one run.")
    page.show()
    page.show()
    assert capsys.readouterr().out.splitlines()[2:] == [
        "2 statements checked: 1 proved, 1 measured; 2 equations checked above"
    ]


def test_the_foot_says_how_many_intervals_would_lie_beyond_their_bounds_by_chance(page, capsys):
    one = page.number([0.4, 0.5, 0.6], of="seeds")
    page.results({f"interval {i}": one.above(0.2) for i in range(39)})
    page.results({"no interval": page.number(1.0).above(0), "wide": one.not_above(0.4), "open": one.undecided(0.5)})
    page.say(f"It rises by {one.above(0.2)}.")
    page.show()
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("43 measured; if all 40 with a 95% interval were false, at most about 1 would pass by chance")


def test_an_exercise_refuses_the_tempting_answer_and_judges_the_readers(page, capsys):
    for answer in (..., 2, 3):
        page.exercise(answer, lambda n: n == 2, right=2, tempting=3)
    assert capsys.readouterr().out == "Right.\nNot yet.\n"
    for check in (lambda n: True, lambda n: False):
        with pytest.raises(AssertionError, match="accepts the right answer alone"):
            page.exercise(..., check, right=2, tempting=3)


def test_housekeeping_raises_and_is_not_shown(page, capsys):
    page.housekeeping("a stored row", True)
    page.show()
    assert capsys.readouterr().out.strip() == ""
    with pytest.raises(AssertionError, match="a stored row: fails"):
        page.housekeeping("a stored row", False)


def test_lines_are_a_list_on_a_page_and_text_elsewhere():
    lines = Lines([Line("proved", "|a| < b (error 0)"), Line("fails", "Eq 3")])
    items = '<ul class="uaftc-checks"><li><b>proved</b> |a| &lt; b (error 0)</li>'
    assert repr(lines) == "proved: |a| < b (error 0)\nfails: Eq 3"
    assert lines._repr_html_() == f"{items}<li><b>fails</b> Eq 3</li></ul>"
    opening = '<details class="uaftc-statements"><summary>a &lt; b</summary><ul class="uaftc-checks"><li>'
    assert Lines(lines.lines, "a < b")._repr_html_().startswith(opening)
    foot = Lines([], "1 < 2")
    assert repr(foot) == "1 < 2" and foot._repr_html_() == '<p class="uaftc-statements">1 &lt; 2</p>'


def test_a_line_with_a_source_opens_to_it():
    html = Line("proved", "a < b", source="assert a < b").as_html()
    assert html.startswith('<details><summary><b>proved</b> a &lt; b</summary><div class="highlight">')


def test_a_minus_is_one_before_a_number_and_nowhere_else():
    numbers, others = "-0.5 (-3 to 7), λ=-1", " 10-20, 2020-11, well-known, 1e-05, `a -1`, $x^{-1}$, [it](a.md#-2)"
    assert true_minus(numbers + others) == numbers.replace("-", "−") + others


def test_a_share_needs_cases():
    with pytest.raises(ValueError, match=re.escape("a share needs at least one case")):
        rules.share(np.array([], dtype=bool))


def test_an_interval_of_shares_stays_between_none_and_all_and_others_do_not():
    values = [1.0, 1.0, 0.9]
    assert paragraphs.over_seeds(values).endswith(", 100%]") and paragraphs.over_seeds([0.0, 0.0, 0.1]).startswith(
        "3% [0%"
    )
    assert paragraphs.over_seeds(values, ".2f", most=1).endswith(", 1.00]"), "a cosine has an end, too"
    assert paragraphs.over_seeds(values, ".2f").endswith(", 1.11]") and paragraphs.over_seeds([2.0, 2.0, 1.0]).endswith(
        "310%]"
    )


def test_of_nothing_no_number_is_told():
    nothing = rules.Interval(np.nan, np.nan, np.nan, 0)
    assert paragraphs.over_seeds([]) == paragraphs.told(nothing) == with_interval(*nothing[:3]) == "not measured"
    assert paragraphs.told(rules.interval(np.array([0.5]))) == "0.50", "one value has no interval"
