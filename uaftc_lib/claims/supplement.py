"""The claims of the supplement: embeddings, synthetic data, other models."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from uaftc_lib.claims.analysis import (
    BOTH_GAPS,
    COUNTED,
    FOUND,
    NOISY,
    NOISY_MANY,
    both,
    cells,
    column,
    difference,
    lead,
    least,
    opposed,
    rows_of,
    several,
    size,
)
from uaftc_lib.claims.experiments import as_printed, wide
from uaftc_lib.claims.verdicts import SMALL, Part, Tables, alike, asked_of, claim, exceeds
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.panels import panels

GEOMETRY, SYNTHETIC, VARIANTS, SCORES = (
    "05_embedding_geometry",
    "08_synthetic",
    "07_variants",
    "10_scores#every-panel-of-the-paper",
)
ENDS, STARTED = f"{GEOMETRY}#where-the-words-end-figs-s2-and-s6", f"{GEOMETRY}#small-and-large-starts-fig-s1"
GAP, AFFINE, ADDITIVE = (
    f"{SYNTHETIC}#where-the-gap-comes-from",
    f"{VARIANTS}#an-affine-layer",
    f"{VARIANTS}#additive-attention",
)
CLASSES = f"{VARIANTS}#several-classes"
STARTS = {
    "E ±0.1, W ±0.1": (0.1, 0.1),
    "E ±1, W ±0.1": (1.0, 0.1),
    "E ±0.1, W ±1": (0.1, 1.0),
    "E ±1, W ±1": (1.0, 1.0),
}


def large(rows: pd.DataFrame) -> pd.Series:
    """The least of: attention of either polar kind, and its lead over neutral words."""
    return least(both(rows), lead(rows))


def followed(tables: Tables, embedding_range: float, weight_range: float) -> pd.DataFrame:
    """Mean inner products by epoch from one start: seed, epoch, like, unlike."""
    rows = tables("embedding_start", embedding_range=embedding_range, weight_range=weight_range)
    if not len(rows):
        return pd.DataFrame(columns=["seed", "epoch", "like", "unlike"])
    like = (rows["positive–positive"] + rows["negative–negative"]) / 2
    return rows.assign(like=like, unlike=rows["positive–negative"]).sort_values(["seed", "epoch"])


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
asked_of(cells(), "products_part", "B.1",
         "Like words end with positive inner products, a positive and a negative one with a negative product.", ENDS,
         "the smaller of like and −unlike", lambda rows: least(column(rows, "like"), -column(rows, "unlike")))
asked_of(cells(), "products_of_neutral", "B.1", "Products with neutral words stay small.", ENDS,
         f"{SMALL:g} − the largest mean product with neutral words, in units of like ones",
         lambda rows: SMALL - column(rows, "with neutral") / column(rows, "like").abs())
asked_of(lambda tables: ((name, followed(tables, *ranges)) for name, ranges in STARTS.items()), "products_move", "B.1",
         "During training products of like words grow and those of unlike words fall (Fig S1).", STARTED,
         "growth of like, or fall of unlike, the lesser",
         lambda rows: least(growth(rows, "like"), -growth(rows, "unlike")))
# fmt: on


@claim("B.1", "Embeddings that start in a smaller range develop more quickly (Fig S1).", STARTED,
       "epochs by which E ±1 is later than E ±0.1")  # fmt: skip
def smaller_is_quicker(tables: Tables) -> Iterator[Part]:
    for weight in (0.1, 1.0):
        late, early = (arrival(followed(tables, value, weight)) for value in (1.0, 0.1))
        yield exceeds(f"W ±{weight:g}", late - early)


# fmt: off
asked_of(cells(), "E_dominates_first", "B.2", "At first E dominates the update of attention scores.", COUNTED,
         f"{SMALL:g} − |F| / |E| of polar words before the first step",
         lambda rows: SMALL - size(rows, "first F") / size(rows, "first E"))
asked_of(cells(), "like_outweighs", "B.2",
         "Like products outweigh unlike ones: a polar word's products with both kinds sum to more than zero.",
         f"{GEOMETRY}#are-the-conditions-met", "like plus unlike",
         lambda rows: column(rows, "like") + column(rows, "unlike"))
asked_of(BOTH_GAPS, "F_is_positive", "B.2", "F becomes significantly positive for positive and for negative words.",
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
asked_of(lambda tables: [("Data I", last(tables, 0.0))], "apparent_gap", "C.3",
         "There is an apparent gap between positive and negative words (Fig S5a).", GAP,
         f"|gap| − {SMALL:g}, in units of the attention of polar words",
         lambda rows: difference(rows).abs() / size(rows, "attention") - SMALL)
# fmt: on


@claim("C.3", "A penalty on V·W makes the gap almost disappear (Fig S5b).", GAP,
       f"{SMALL:g} − |gap| with the penalty, in units of the mean without")  # fmt: skip
def penalty_closes_the_gap(tables: Tables) -> Iterator[Part]:
    cures = [tables("exact_cures", cure=cure) for cure in ("none", "penalty")]
    for name, pair in (("Data I, λ = 10", [last(tables, p) for p in (0.0, 1e-3)]), ("Data II, λ = 100", cures)):
        free, held = (difference(rows).abs() for rows in pair)
        yield exceeds(name, SMALL - held / free.mean())


@claim("C.3", "|V·W| is small on balanced data and larger on skewed data (Fig S7).",
       f"{SYNTHETIC}#more-bad-news-than-good", "|V·W| of the ratio minus that of 1:1, from the same start")  # fmt: skip
def VW_and_ratio(tables: Tables) -> Iterator[Part]:
    for perpendicular, start in ((False, "random start"), (True, "V ⟂ W at the start")):
        size_of = {
            ratio: column(tables("synthetic_ratio", ratio=ratio, perpendicular=perpendicular), "V·W").abs()
            for ratio in ("1:1", "1:2", "2:1", "1:5", "5:1")
        }
        even = size_of.pop("1:1")
        for ratio, skewed in size_of.items():
            yield exceeds(f"{ratio}, {start}", skewed - even)


def variant(name: str, penalty: float = 0.0, case: str = "Data I"):
    """Ten starts of one of the models on small Data I."""
    return rows_of(case, "variants", variant=name, penalty=penalty)


BOTH_AFFINE = several(variant("DP-A", 0.0, "without penalty"), variant("DP-A", 1e-3, "with penalty"))
PARTED = "the smaller of s (positive words) and −s (negative words)"
LARGE = "the least of: attention of either polar kind, and its lead over neutral words"
# fmt: off
asked_of(BOTH_AFFINE, "affine_polarity", "D", "With an affine layer polarity scores part as in the simple model.",
         AFFINE, PARTED, lambda rows: opposed(rows, "polarity"))
asked_of(BOTH_AFFINE, "affine_attention", "D", "With an affine layer both polar kinds end with large attention.",
         AFFINE, LARGE, large)
asked_of(variant("AD"), "additive_attention", "E",
         "With additive attention both polar kinds end with large attention (Fig S10).", ADDITIVE, LARGE, large)
asked_of(variant("AD"), "additive_polarity", "E",
         "With additive attention polarity scores part as in the simple model (Fig S10).", ADDITIVE, PARTED,
         lambda rows: opposed(rows, "polarity"))
THREE = rows_of("three classes", "class_terms")
asked_of(THREE, "own_class", "F", "A word's polarity score for its own class becomes large.", CLASSES,
         "s of the word's class minus the mean of the others",
         lambda rows: least(*(column(rows, f"own polarity {k}") for k in "012")))
asked_of(THREE, "classes_attract", "F",
         "Products of words of a class are larger than those of words of two classes (Fig S11).",
         CLASSES, "the smallest within a class minus the largest across",
         lambda rows: column(rows, "within") - column(rows, "across"))
asked_of(THREE, "class_attention_grows", "F", "The attention of the words of every class grows (Fig S12).", CLASSES,
         "attention at the end minus at the start, of the class that grows least",
         lambda rows: least(*(column(rows, f"attention {k}") - column(rows, f"start attention {k}") for k in "012")))
asked_of(rows_of("Data I", "exact_optimizers", optimizer="adam", lam=10.0), "adam_is_similar", "G",
         "With Adam the patterns are similar.", "06_exact_dynamics#with-another-optimizer",
         "attention of the weaker polar kind minus neutral words", lead)
asked_of(lambda tables: [("SST", wide(tables, "sst", "DP-L", scores="local attention"))], "lstm_local", "G.1",
         "With an LSTM polarity tokens have larger local attention scores than neutral ones (Fig S13).", SCORES,
         "mean local score of the weaker polar kind minus neutral words", lambda rows: lead(rows, "local attention"))
# fmt: on


claim(
    "G",
    "The examined tokens are as many as in Table S1.",
    "09_datasets#counting-words",
    "counts that differ",
    "table_S1",
)(as_printed("S1"))


@claim("D", "Behind the affine layer representations have the properties of embeddings (Fig S8).", AFFINE,
       "the smaller of like and −unlike products")  # fmt: skip
def affine_products(tables: Tables) -> Iterator[Part]:
    rows = tables("affine_terms")
    for which, case in (("e", "embeddings"), ("h", "representations")):
        yield exceeds(case, least(column(rows, f"{which} like"), -column(rows, f"{which} unlike")))


@claim("G.1", "With global scores the pattern is clearer than with local ones (Fig S13).", SCORES,
       "probability that a polar word leads a neutral one: global minus local")  # fmt: skip
def lstm_global(tables: Tables) -> Iterator[Part]:
    by = {
        scores: wide(tables, "sst", "DP-L", scores=scores, value="over neutral")
        for scores in ("attention", "local attention")
    }
    for kind in ("positive", "negative"):
        pair = [column(rows, f"{scores} {kind}") for scores, rows in by.items()]
        yield exceeds(f"SST, {kind} words", pair[0] - pair[1])


@claim("G.2", "Other models and other λ show similar patterns: polar words have more attention (Figs S15 to S28).",
       SCORES, "attention of the weakest polar kind minus neutral words")  # fmt: skip
def other_panels(tables: Tables) -> Iterator[Part]:
    of = panels()
    for panel in of[of.figure.str.startswith("S") & (of.scores == "attention") & (of.model != "DP-L")].itertuples():
        rows = wide(tables, panel.dataset, panel.model, panel.lam)
        kinds = [name for name in rows.columns if name not in ("seed", "attention neutral")] if len(rows) else []
        found = least(*(column(rows, name) for name in kinds)) - column(rows, "attention neutral") if kinds else []
        yield exceeds(f"{panel.figure}: {PAPER_NAMES[panel.dataset]}, {panel.model}, λ = {panel.lam:g}", found)
