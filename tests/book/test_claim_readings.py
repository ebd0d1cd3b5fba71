"""The forms in which claims are read, in a world where they are so; turned in sign, each turns its verdict."""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from cases import quick
from hypothesis import given
from hypothesis import strategies as st

from uaftc_book import claims, rules
from uaftc_book.cases import OPEN, SMALL, SURE, contrast, exceeds
from uaftc_book.readings import CELLS, HUGE, TOO_SMALL, minus
from uaftc_lib.experiments.registry import stored

SUPPORTED, CONTRADICTED, UNDECIDED = rules.VERDICTS
TURNED = {SUPPORTED: CONTRADICTED, CONTRADICTED: SUPPORTED, UNDECIDED: UNDECIDED}
JOBS = [where for name, where in {**CELLS, **TOO_SMALL}.values() if name == "terms"] + [{"noise": 0.0, "lam": HUGE}]
RUNS = pd.DataFrame([job | {"seed": seed} for job, seed in product(JOBS, range(10))])


class Form(NamedTuple):
    """A form, by a claim that is read so: of sizes a, b, c the values of positive, negative and neutral words.

    ``turned``: values of which the opposite is true. ``half``: of which one kind of polar words is as claimed, which is
    not enough; none where no kind can be so alone. The last of four values is V·W.
    """

    claim: str
    quantity: str
    true: Callable[[float, float, float], tuple[float, ...]]
    turned: Callable[[float, float, float], tuple[float, ...]]
    half: Callable[[float, float, float], tuple[float, ...]] | None = None


FORMS = {
    "both": Form(
        "rho_of_polar", "ρ", lambda a, b, c: (a, b, c), lambda a, b, c: (-a, -b, c), lambda a, b, c: (a, -b, c)
    ),
    "lead": Form(
        "polar_lead", "attention", lambda a, b, c: (c + a, c + b, c), lambda a, b, c: (c - a, c - b, c),
        lambda a, b, c: (c + a, c - b, c),
    ),
    "opposed": Form(
        "pi_takes_sides", "π", lambda a, b, c: (a, -b, c), lambda a, b, c: (-a, b, c), lambda a, b, c: (a, b, c)
    ),
    "sure_votes": Form(
        "polarity_parts", "polarity", lambda a, b, c: (SURE + a, -SURE - b, c),
        lambda a, b, c: (-SURE - a, SURE + b, c), lambda a, b, c: (SURE + a, -SURE + b, c),
    ),
    "on_both_sides": Form(
        "opposite_signs", "attention", lambda a, b, c: (a, -b, c), lambda a, b, c: (a, b, c)
    ),
    "along_VW": Form(
        "gap_follows_VW", "attention", lambda a, b, c: (c + a, c, 9.0, b), lambda a, b, c: (c + a, c, 9.0, -b)
    ),
    "sides_along_VW": Form(
        "D_takes_sides", "D", lambda a, b, c: (a, -b, 9.0, c), lambda a, b, c: (a, -b, 9.0, -c),
        lambda a, b, c: (a, b, 9.0, c),
    ),
    "neutral_small": Form(
        "pi_of_neutral", "π", lambda a, b, c: (a, -b, 0.19 * (a + b) / 2), lambda a, b, c: (a, -b, 0.21 * (a + b) / 2)
    ),
}  # fmt: skip
sizes = st.floats(0.2, 3.0)


def terms(quantity, values, seed):
    """The table "terms", ten seeds a cell: a quantity and its sizes by kind, with one percent of noise."""
    rng, rows = np.random.default_rng(seed), RUNS.assign(**{"V·W": (*values, 1.0)[3]})
    for kind, value in zip(("positive", "negative", "neutral"), values):
        near = value * (1 + 0.01 * rng.uniform(-1, 1, len(rows)))
        rows = rows.assign(**{f"{quantity} {kind}": near, f"|{quantity}| {kind}": abs(near)})
    return {"terms": rows}


def decided(name, tables):
    """The verdicts on a claim in those of its cases for which there are rows."""
    parts = claims.judge(claims.CLAIMS[name], claims.Tables(tables)).parts
    return {part.verdict for part in parts if part.verdict != OPEN}


@quick
@given(st.sampled_from(list(FORMS)), sizes, sizes, sizes, st.integers(0, 99))
def test_a_reading_turned_in_sign_turns_its_verdict(name, a, b, c, seed):
    form = FORMS[name]
    assert decided(form.claim, terms(form.quantity, form.true(a, b, c), seed)) == {SUPPORTED}
    assert decided(form.claim, terms(form.quantity, form.turned(a, b, c), seed)) == {CONTRADICTED}
    if form.half:
        assert decided(form.claim, terms(form.quantity, form.half(a, b, c), seed)) == {CONTRADICTED}


@quick
@given(st.lists(st.floats(-2, 2), min_size=1, max_size=20), st.floats(-3, 3))
def test_differences_turned_in_sign_turn_the_verdict_on_a_case(noise, shift):
    differences = np.array(noise) + shift
    one, other = exceeds("x", differences), exceeds("x", -differences)
    if len(noise) < rules.LEAST_SEEDS:
        assert one.verdict == other.verdict == OPEN
        return
    assert other.verdict == TURNED[one.verdict]
    assert (other.number.mean, other.number.low) == pytest.approx((-one.number.mean, -one.number.high))
    assert one.strength == pytest.approx(-other.strength) or not np.isfinite(one.strength)
    assert one.held + other.held == (differences != 0).sum()


@quick
@given(st.floats(-1, 1), st.integers(0, 99))
def test_accuracies_turned_in_sign_turn_the_verdict_on_a_case(shift, seed):
    values = shift + np.random.default_rng(seed).normal(size=(10, 30))
    one, other = contrast("x", values), contrast("x", -values)
    assert other.verdict == TURNED[one.verdict] and other.number.mean == pytest.approx(-one.number.mean)


def test_what_exceeds_the_largest_of_others_falls_short_when_all_are_turned():
    rows = pd.DataFrame({"seed": range(10), "X": 2.0, "Y": 1.0, "Z": -5.0})
    assert (minus("X", "Y", "Z")(rows) == 1).all() and (minus("X", "Y", "Z")(-rows) < 0).all()


def test_small_and_sure_are_what_the_claims_say():
    assert SMALL == 0.2 and f"{SURE:.1f}" == "4.6" in claims.CLAIMS["polarity_parts"].measured
    assert f"{SMALL:g} (what counts as small) − |π|" in claims.CLAIMS["pi_of_neutral"].measured


def test_nothing_measured_decides_nothing():
    empty = claims.Tables({})
    asked = [
        {name: claims.judge(one, empty) for name, one in claims.CLAIMS.items() if name != "weighted_sum"}
        for _ in range(2)
    ]
    assert {part.verdict for one in asked[0].values() for part in one.parts} == {OPEN}
    assert {one.verdict for one in asked[0].values()} == {"undecided"}
    cases = [{name: [part.case for part in one.parts] for name, one in ones.items()} for ones in asked]
    assert cases[0] == cases[1], "asked twice, the same cases"


def test_four_seeds_of_the_stored_results_decide_nothing():
    few = {name: stored(name).query(f"seed < {rules.LEAST_SEEDS - 1}") for name in ("terms", "sst_scores")}
    for form in FORMS.values():
        judged = claims.judge(claims.CLAIMS[form.claim], claims.Tables(few))
        assert {part.verdict for part in judged.parts} == {OPEN}
        assert any("5 seeds are needed" in part.found for part in judged.parts)
