"""The claims of the supplement: embeddings, synthetic data, other models."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from uaftc_lib.claims.analysis import HUNDRED, MANY, NOISY, TEN, both, cells, column, difference, gaps, lead, least, opposed, size
from uaftc_lib.claims.experiments import wide
from uaftc_lib.claims.judge import SMALL, Part, Tables, alike, claim, exceeds

EMBEDDINGS, SYNTHETIC, VARIANTS, SCORES = "05_embedding_geometry", "08_synthetic", "07_variants", "10_scores"
STARTS = {"E ±0.1, W ±0.1": (0.1, 0.1), "E ±1, W ±0.1": (1.0, 0.1), "E ±0.1, W ±1": (0.1, 1.0), "E ±1, W ±1": (1.0, 1.0)}


def followed(tables: Tables, embedding_range: float, weight_range: float) -> pd.DataFrame:
    """A start's inner products by epoch: seed, epoch, like, unlike, with neutral."""
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
    return pd.Series(
        {seed: float(np.interp(level, (one.like - one.like.iloc[0]).cummax(), one.epoch)) for seed, one in rows.groupby("seed")},
        dtype=float,
    )


@claim("B.1", "Like words end with positive inner products, a positive and a negative one with a negative product.",
       f"{EMBEDDINGS}#where-the-words-end-figs-s2-and-s6", "the smaller of like and −unlike", "S2 S6")  # fmt: skip
def products_part(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, least(column(rows, "like"), -column(rows, "unlike")))


@claim("B.1", "Products with neutral words stay small.", f"{EMBEDDINGS}#where-the-words-end-figs-s2-and-s6",
       f"{SMALL:g} − the largest mean product with neutral words, in units of like ones", "S2 S6")  # fmt: skip
def products_of_neutral(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, SMALL - column(rows, "with neutral") / column(rows, "like").abs())


@claim("B.1", "During training products of like words grow and those of unlike words fall (Fig S1).",
       f"{EMBEDDINGS}#small-and-large-starts-fig-s1", "growth of like, or fall of unlike, the lesser", "S1")  # fmt: skip
def products_move(tables: Tables) -> Iterator[Part]:
    for name, ranges in STARTS.items():
        rows = followed(tables, *ranges)
        yield exceeds(name, least(growth(rows, "like"), -growth(rows, "unlike")))


@claim("B.1", "Embeddings that start in a smaller range develop more quickly (Fig S1).",
       f"{EMBEDDINGS}#small-and-large-starts-fig-s1", "epochs by which E ±1 is later than E ±0.1", "S1")  # fmt: skip
def smaller_is_quicker(tables: Tables) -> Iterator[Part]:
    for weight in (0.1, 1.0):
        late, early = (arrival(followed(tables, value, weight)) for value in (1.0, 0.1))
        yield exceeds(f"W ±{weight:g}", late - early)


@claim("B.2", "At first E dominates the update of attention scores.",
       f"{EMBEDDINGS}#a-contradiction-decided-by-counting",
       f"{SMALL:g} − |F| / |E| of polar words before the first step")  # fmt: skip
def E_dominates_first(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, SMALL - size(rows, "first F") / size(rows, "first E"))


@claim("B.2", "Like products outweigh unlike ones: a polar word's products with both kinds sum to more than zero.",
       f"{EMBEDDINGS}#are-the-conditions-met", "like plus unlike", "S2")  # fmt: skip
def like_outweighs(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, column(rows, "like") + column(rows, "unlike"))


@claim("B.2", "F becomes significantly positive for polar words.",
       f"{EMBEDDINGS}#a-contradiction-decided-by-counting", "the smaller of F of positive and of negative words")  # fmt: skip
def F_is_positive(tables: Tables) -> Iterator[Part]:
    for name, rows in gaps(tables):
        yield exceeds(name, both(rows, "F"))


@claim("C", "Over several trials trends and patterns are similar.", f"{SYNTHETIC}#where-the-gap-comes-from",
       "how much nearer each start is to the mean of all than that is to zero")  # fmt: skip
def trials_are_similar(tables: Tables) -> Iterator[Part]:
    rows = last(tables, 0.0)
    yield exceeds("lead of the weaker polar kind", alike(lead(rows)))
    yield exceeds("positive minus negative words", alike(difference(rows)))


def last(tables: Tables, penalty: float) -> pd.DataFrame:
    """The last epoch of "synthetic_gap"."""
    rows = tables("synthetic_gap", penalty=penalty)
    return rows[rows.epoch == rows.epoch.max()] if len(rows) else rows


@claim("C.1", "With noise (Data II) the patterns are still there.", f"{SYNTHETIC}#do-the-scores-find-the-words",
       "lead in attention; the smaller of s and −s of its kind", "S3b S4b")  # fmt: skip
def noise_is_harmless(tables: Tables) -> Iterator[Part]:
    ((_, rows),) = cells(tables, NOISY)
    yield exceeds("attention", lead(rows))
    yield exceeds("polarity", opposed(rows, "polarity"))


@claim("C.3", "There is an apparent gap between positive and negative words (Fig S5a).",
       f"{SYNTHETIC}#where-the-gap-comes-from", f"|gap| − {SMALL:g}, in units of the attention of polar words", "S5a")  # fmt: skip
def apparent_gap(tables: Tables) -> Iterator[Part]:
    rows = last(tables, 0.0)
    yield exceeds("Data I", difference(rows).abs() / size(rows, "attention") - SMALL)


@claim("C.3", "A penalty on V·W makes the gap almost disappear (Fig S5b).", f"{SYNTHETIC}#where-the-gap-comes-from",
       f"{SMALL:g} − mean |gap| with the penalty, in units of that without", "S5b")  # fmt: skip
def penalty_closes_the_gap(tables: Tables) -> Iterator[Part]:
    free, held = (difference(last(tables, penalty)).abs() for penalty in (0.0, 1e-3))
    yield exceeds("Data I, λ = 10", SMALL - held / free.mean())
    free, held = (difference(tables("exact_cures", cure=cure)).abs() for cure in ("none", "penalty"))
    yield exceeds("Data II, λ = 100", SMALL - held / free.mean())


@claim("C.3", "|V·W| is small on balanced data and larger on skewed data (Fig S7).",
       f"{SYNTHETIC}#more-bad-news-than-good", "|V·W| of the ratio minus that of 1:1, from the same start", "S7")  # fmt: skip
def VW_and_ratio(tables: Tables) -> Iterator[Part]:
    for ratio in ("1:2", "2:1", "1:5", "5:1"):
        for perpendicular, start in ((False, "random start"), (True, "V ⟂ W at the start")):
            skewed, even = (
                column(tables("synthetic_ratio", ratio=value, perpendicular=perpendicular), "V·W").abs() for value in (ratio, "1:1")
            )
            yield exceeds(f"{ratio}, {start}", skewed - even)


@claim("D", "With an affine layer polarity scores part as in the simple model.", f"{VARIANTS}#an-affine-layer",
       "the smaller of s (positive words) and −s (negative words)", "S9")  # fmt: skip
def affine_polarity(tables: Tables) -> Iterator[Part]:
    for penalty in (0.0, 1e-3):
        rows = tables("variants", variant="DP-A", penalty=penalty)
        yield exceeds("with penalty" if penalty else "without penalty", opposed(rows, "polarity"))


@claim("D", "With an affine layer both polar kinds end with large attention.", f"{VARIANTS}#an-affine-layer",
       "the least of: attention of either polar kind, and its lead over neutral words", "S9")  # fmt: skip
def affine_attention(tables: Tables) -> Iterator[Part]:
    for penalty in (0.0, 1e-3):
        rows = tables("variants", variant="DP-A", penalty=penalty)
        yield exceeds("with penalty" if penalty else "without penalty", least(both(rows, "attention"), lead(rows)))


@claim("D", "Behind the affine layer representations have the properties of embeddings (Fig S8).",
       f"{VARIANTS}#an-affine-layer", "the smaller of like and −unlike products", "S8")  # fmt: skip
def affine_products(tables: Tables) -> Iterator[Part]:
    rows = tables("affine_terms")
    for name, which in (("embeddings", "e"), ("representations", "h")):
        yield exceeds(name, least(column(rows, f"{which} like"), -column(rows, f"{which} unlike")))


@claim("E", "With additive attention both polar kinds end with large attention (Fig S10).",
       f"{VARIANTS}#additive-attention", "the least of: attention of either polar kind, and its lead over neutral words",
       "S10")  # fmt: skip
def additive_attention(tables: Tables) -> Iterator[Part]:
    rows = tables("variants", variant="AD", penalty=0.0)
    yield exceeds("Data I", least(both(rows, "attention"), lead(rows)))


@claim("E", "With additive attention polarity scores part as in the simple model (Fig S10).",
       f"{VARIANTS}#additive-attention", "the smaller of s (positive words) and −s (negative words)", "S10")  # fmt: skip
def additive_polarity(tables: Tables) -> Iterator[Part]:
    yield exceeds("Data I", opposed(tables("variants", variant="AD", penalty=0.0), "polarity"))


@claim("F", "A word's polarity score for its own class becomes large.", f"{VARIANTS}#several-classes",
       "s of the word's class minus the mean of the others")  # fmt: skip
def own_class(tables: Tables) -> Iterator[Part]:
    rows = tables("class_terms")
    yield exceeds("three classes", least(*(column(rows, f"own polarity {k}") for k in "012")))


@claim("F", "Products of words of a class are larger than those of words of two classes (Fig S11).",
       f"{VARIANTS}#several-classes", "the smallest within a class minus the largest across", "S11")  # fmt: skip
def classes_attract(tables: Tables) -> Iterator[Part]:
    rows = tables("class_terms")
    yield exceeds("three classes", column(rows, "within") - column(rows, "across"))


@claim("F", "The attention of the words of every class grows (Fig S12).", f"{VARIANTS}#several-classes",
       "attention at the end minus at the start, of the class that grows least", "S12")  # fmt: skip
def class_attention_grows(tables: Tables) -> Iterator[Part]:
    rows = tables("class_terms")
    grown = (column(rows, f"attention {k}") - column(rows, f"start attention {k}") for k in "012")
    yield exceeds("three classes", least(*grown))


@claim("G", "With Adam the patterns are similar.", "06_exact_dynamics#with-another-optimizer",
       "attention of the weaker polar kind minus neutral words")  # fmt: skip
def adam_is_similar(tables: Tables) -> Iterator[Part]:
    yield exceeds("Data I", lead(tables("exact_optimizers", optimizer="adam")))


@claim("G.1", "With an LSTM polarity tokens have larger local attention scores than neutral ones (Fig S13).", SCORES,
       "mean local score of the weaker polar kind minus neutral words", "S13")  # fmt: skip
def lstm_local(tables: Tables) -> Iterator[Part]:
    yield exceeds("SST", lead(wide(tables, "sst", "DP-L", scores="local attention"), "local attention"))


@claim("G.1", "With global scores the pattern is clearer than with local ones (Fig S13).", SCORES,
       "probability that a polar word leads a neutral one: global minus local", "S13")  # fmt: skip
def lstm_global(tables: Tables) -> Iterator[Part]:
    by = {s: wide(tables, "sst", "DP-L", scores=s, value="over neutral") for s in ("attention", "local attention")}
    for kind in ("positive", "negative"):
        pair = [column(rows, f"{scores} {kind}") for scores, rows in by.items()]
        yield exceeds(f"SST, {kind} words", pair[0] - pair[1])


PANELS = {  # attention on other data, with other models: figure -> data set, model, λ
    "S15": ("sst", "DP-A", 20.0),
    "S18": ("imdb", "DP-A", 10.0),
    "S20": ("imdb", "AD", 10.0),
    "S21": ("20news-1", "DP-A", 1.0),
    "S22": ("20news-1", "DP-A", 10.0),
    "S23": ("20news-1", "DP-A", 20.0),
    "S24": ("20news-1", "DP-A", 50.0),
    "S28": ("20news-2", "DP-A", 10.0),
}


@claim("G.2", "Other models and other λ show similar patterns: polar words have more attention (Figs S14 to S28).", SCORES,
       "attention of the weakest polar kind minus neutral words", " ".join(PANELS))  # fmt: skip
def other_panels(tables: Tables) -> Iterator[Part]:
    for figure, (dataset, model, lam) in PANELS.items():
        rows = wide(tables, dataset, model, lam)
        kinds = [name for name in rows.columns if name not in ("seed", "attention neutral")] if len(rows) else []
        found = least(*(column(rows, name) for name in kinds)) - column(rows, "attention neutral") if kinds else []
        yield exceeds(f"{figure}: {dataset}, {model}, λ = {lam:g}", found)
