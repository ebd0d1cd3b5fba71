"""The claims of Appendices B and C: embeddings, synthetic data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from uaftc_lib.claims.analysis import (
    COUNTED,
    EVERYWHERE,
    FOUND,
    MANY,
    MODERATE,
    NOISY,
    NOISY_MANY,
    both,
    cells,
    column,
    difference,
    lead,
    least,
    opposed,
    size,
)
from uaftc_lib.claims.verdicts import SMALL, Part, Tables, alike, asked_of, claim, exceeds

GEOMETRY, SYNTHETIC = "05_embedding_geometry", "08_synthetic"
ENDS, STARTED = f"{GEOMETRY}#where-the-words-end-figs-s2-and-s6", f"{GEOMETRY}#small-and-large-starts-fig-s1"
FIRST = f"{GEOMETRY}#b-and-c-before-the-first-step"
GAP, RATIO = (f"{SYNTHETIC}#{name}" for name in ("where-the-gap-comes-from", "more-bad-news-than-good"))
STARTS = {
    "small Data I, E ±0.1, W ±0.1": (0.1, 0.1),
    "small Data I, E ±1, W ±0.1": (1.0, 0.1),
    "small Data I, E ±0.1, W ±1": (0.1, 1.0),
    "small Data I, E ±1, W ±1": (1.0, 1.0),
}


SIGNS_AT = (20, 60, 120)  # epochs


def signs_case(epoch: int, weight: float) -> str:
    """The name of a case of :func:`smaller_is_quicker`."""
    return f"small Data I, signs of pairs, epoch {epoch}, W ±{weight:g}"


def followed(tables: Tables, embedding_range: float, weight_range: float) -> pd.DataFrame:
    """Inner products of embeddings by epoch from one start: seed, epoch, like, unlike (means), signs (a share)."""
    rows = tables("embedding_start", embedding_range=embedding_range, weight_range=weight_range)
    if not len(rows):
        return pd.DataFrame(columns=["seed", "epoch", "like", "unlike", "signs"])
    like = (rows["positive–positive"] + rows["negative–negative"]) / 2
    rows = rows.assign(like=like, unlike=rows["positive–negative"], signs=rows["wanted signs"])
    return rows.sort_values(["seed", "epoch"])


def growth(rows: pd.DataFrame, name: str) -> pd.Series:
    """Last minus first value of a quantity, by seed."""
    return rows.groupby("seed")[name].agg(lambda values: values.iloc[-1] - values.iloc[0]).astype(float)


def arrival(rows: pd.DataFrame, level: float = 0.5) -> pd.Series:
    """The epoch at which the mean product of like words has grown by ``level``, by seed."""
    by_seed = {
        seed: np.interp(level, (one.like - one.like.iloc[0]).cummax(), one.epoch) for seed, one in rows.groupby("seed")
    }
    return pd.Series(by_seed, dtype=float)


# fmt: off
asked_of(cells(*MODERATE), "products_part", "B.1",
         "Like words end with positive inner products, a positive and a negative one with a negative product.", ENDS,
         "the smaller of like and −unlike", lambda rows: least(column(rows, "like"), -column(rows, "unlike")))
asked_of(cells(*MODERATE), "products_of_neutral", "B.1", "Products with neutral words stay small.", ENDS,
         f"{SMALL:g} − the largest mean product with neutral words, in units of like ones",
         lambda rows: SMALL - column(rows, "with neutral") / column(rows, "like").abs())
asked_of(lambda tables: ((name, followed(tables, *ranges)) for name, ranges in STARTS.items()), "products_move", "B.1",
         "During training products of like words grow and those of unlike words fall (Fig S1).", STARTED,
         "growth of like, or fall of unlike, the lesser",
         lambda rows: least(growth(rows, "like"), -growth(rows, "unlike")))
# fmt: on


@claim("B.1", "Embeddings that start in a smaller range develop more quickly in the desired direction (Fig S1).",
       STARTED, "share of the pairs with the desired sign, from E ±0.1 minus from E ±1; epochs by which the mean "
       "product of like words has grown by 0.5 later from E ±1 than from E ±0.1")  # fmt: skip
def smaller_is_quicker(tables: Tables) -> Iterator[Part]:
    for weight in (0.1, 1.0):
        large, small = (followed(tables, value, weight) for value in (1.0, 0.1))
        for epoch in SIGNS_AT:
            shares = [column(rows[rows.epoch == epoch], "signs") for rows in (small, large)]
            yield exceeds(signs_case(epoch, weight), shares[0] - shares[1])
        yield exceeds(f"small Data I, mean of like words, W ±{weight:g}", arrival(large) - arrival(small))


# fmt: off
asked_of(cells(), "E_dominates_first", "B.2", "At first F is small beside E.", COUNTED,
         f"{SMALL:g} − |F| / |E| of polar words before the first step",
         lambda rows: SMALL - size(rows, "first |F|") / size(rows, "first |E|"))
asked_of(lambda tables: [(name, tables("start_terms", embedding_range=e, weight_range=w))
                         for name, (e, w) in STARTS.items()],
         "B_decides_first", "B.1", "At first C is about zero, and B decides the update of polarity scores.", FIRST,
         f"{SMALL:g} − |C| / |B| of polar words before the first step",
         lambda rows: SMALL - size(rows, "|C|") / size(rows, "|B|"),
         instead="Where it is clearest ({case}), C is {share} times as large as B.")
asked_of(cells(*MODERATE), "like_outweighs", "B.2",
         "Like products outweigh unlike ones: a polar word's products with both kinds sum to more than zero.",
         f"{GEOMETRY}#are-the-conditions-met", "mean product of like words, of the kind where it is less, plus unlike",
         lambda rows: column(rows, "weaker like") + column(rows, "unlike"))
asked_of(EVERYWHERE, "F_is_positive", "B.2", "F becomes significantly positive for positive and for negative words.",
         COUNTED, "the smaller of F of positive and of negative words, summed over the run",
         lambda rows: both(rows, "F"))
# fmt: on


def last(tables: Tables, penalty: float) -> pd.DataFrame:
    """The last epoch of "synthetic_gap"."""
    rows = tables("synthetic_gap", penalty=penalty)
    return rows[rows.epoch == rows.epoch.max()] if len(rows) else rows


@claim("C", "Over several trials trends and patterns are similar.", GAP,
       "how much nearer each start is to the mean of all than that is to zero")  # fmt: skip
def trials_are_similar(tables: Tables) -> Iterator[Part]:
    rows = last(tables, 0.0)
    yield exceeds("lead of the weaker polar kind", alike(lead(rows)))
    yield exceeds("positive minus negative words", alike(difference(rows)))


@claim("C.1", "With noise (Data II) the patterns are still there.", FOUND,
       "lead in attention; the smaller of s and −s of its kind")  # fmt: skip
def noise_is_harmless(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(NOISY, NOISY_MANY)(tables):
        yield exceeds(f"attention, {name}", lead(rows))
        yield exceeds(f"polarity, {name}", opposed(rows, "polarity"))


# fmt: off
asked_of(cells(MANY, NOISY_MANY), "neutral_around_zero", "C.1",
         "Polarity scores of neutral words lie around zero (Fig S3).", FOUND,
         f"{SMALL:g} − |mean s| of neutral words, in units of that of polar ones",
         lambda rows: SMALL - column(rows, "polarity neutral").abs() / size(rows, "polarity"))
asked_of(lambda tables: [("Data I", last(tables, 0.0))], "apparent_gap", "C.3",
         "There is an apparent gap between positive and negative words (Fig S5a).", GAP,
         f"|gap| − {SMALL:g}, in units of the attention of polar words",
         lambda rows: difference(rows).abs() / size(rows, "attention") - SMALL)
# fmt: on


@claim("C.3", "A penalty on V·W makes the gap almost disappear (Fig S5b).", GAP,
       f"{SMALL:g} − |gap| with the penalty, in units of the mean without")  # fmt: skip
def penalty_closes_the_gap(tables: Tables) -> Iterator[Part]:
    cures = [tables("exact_cures", cure=cure) for cure in ("none", "penalty")]
    for name, pair in (("Data I, λ = 10", [last(tables, p) for p in (0.0, 1e-3)]), ("small Data II, λ = 100", cures)):
        free, held = (difference(rows).abs() for rows in pair)
        yield exceeds(name, SMALL - held / free.mean())


def by_ratio(tables: Tables) -> Iterator[tuple[str, float, pd.Series, pd.Series]]:
    """Case, the sign of the larger class, V·W of a skewed class ratio and that of 1:1 from the same starts."""
    for perpendicular, start in ((False, "random start"), (True, "V ⟂ W at the start")):
        of = {
            ratio: column(tables("synthetic_ratio", ratio=ratio, perpendicular=perpendicular), "V·W")
            for ratio in ("1:1", "1:2", "2:1", "1:5", "5:1")
        }
        even = of.pop("1:1")
        for ratio, skewed in of.items():
            yield f"{ratio}, {start}", 1.0 if ratio[0] > ratio[2] else -1.0, skewed, even


@claim("C.3", "The ratio of positive to negative instances has an impact on V·W.",
       RATIO,
       "V·W of the ratio minus that of 1:1 from the same start, towards the larger class")  # fmt: skip
def ratio_moves_VW(tables: Tables) -> Iterator[Part]:
    for case, towards, skewed, even in by_ratio(tables):
        yield exceeds(case, towards * (skewed - even))


@claim("C.3", "V·W is generally small on balanced data, compared with skewed data (Fig S7).",
       RATIO, "|V·W| of the ratio minus |V·W| of 1:1 from the same start")  # fmt: skip
def VW_and_ratio(tables: Tables) -> Iterator[Part]:
    for case, _, skewed, even in by_ratio(tables):
        yield exceeds(case, skewed.abs() - even.abs())
