"""The claims of Sections 5 and 6: real data, Table 2, Figs 2 to 5."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from uaftc_lib.claims.analysis import ONE, PAPER_NEUTRAL, SMALL_NEUTRAL, TEN, both, column, difference, lead, least, opposed, size
from uaftc_lib.claims.columns import LARGE, Column, compare
from uaftc_lib.claims.judge import OPEN, SMALL, Part, Tables, alike, claim, exceeds, same
from uaftc_lib.locations import PAPER_NAMES

SEEDS, REAL = "10_scores#one-start-is-no-evidence", "12_lambda#which-differences-are-real"
FIGURES = "10_scores"
LAMS, HUGE = 7, 10000.0


def columns_of(tables: Tables, *models: str) -> Iterator[tuple[str, Column | None]]:
    """The columns of Table 2 with their names; None where a λ has no runs yet."""
    known = tables.frames.setdefault("columns of table2", {})
    runs = tables("table2")
    for key, title in PAPER_NAMES.items():
        for model in models:
            if (key, model) not in known:
                rows = runs[(runs.dataset == key) & (runs.model == model)] if len(runs) else runs
                made = rows.groupby("lam").seed.nunique() if len(rows) else pd.Series(dtype=int)
                known[key, model] = compare(rows) if len(made) == LAMS and made.min() > 1 else None
            yield f"{title}, {model}", known[key, model]


def not_made(name: str) -> Part:
    return Part(name, OPEN, "the runs are not complete yet")


def column_part(case: str, pairs: pd.DataFrame, seeds: int, sign: int = 1) -> Part:
    """Whether all these differences count and have the sign; contradicted where one counts against it or all are equal."""
    worse = sign * pairs.points
    right, wrong = (pairs.counts & (worse > 0)).sum(), (pairs.counts & (worse < 0)).sum()
    verdict = "supported" if right == len(pairs) else "undecided"
    if wrong or (pairs.equivalent & ~pairs.counts).all():
        verdict = "contradicted"
    found = f"{worse.min():.1f} to {worse.max():.1f} points, {right} of {len(pairs)} count; {seeds} starts"
    return Part(case, verdict, found.replace("-", "−"), seeds)


def small_lam_hurts(tables: Tables, *models: str) -> Iterator[Part]:
    """Small λ against each λ ≥ 10, a case for each column and small λ."""
    for name, found in columns_of(tables, *models):
        if found is None:
            yield not_made(name)
            continue
        for lam in (0.001, 1.0):
            pairs = found.pairs[(found.pairs.lam == lam) & (found.pairs.against >= LARGE)]
            yield column_part(f"{name}, λ = {lam:g}", pairs, found.seeds)


@claim("5", "With dot-product attention a small λ (1 or 0.001) gives worse results.", REAL,
       "points lost against each λ from 10 on; all must count", "table2")  # fmt: skip
def small_lam_is_worse(tables: Tables) -> Iterator[Part]:
    yield from small_lam_hurts(tables, "DP")


@claim("5", "A proper λ gives the best results.", REAL,
       "whether the λ that is best on dev data counts against every other from 10 on, on test data")  # fmt: skip
def proper_lam_is_best(tables: Tables) -> Iterator[Part]:
    verdicts = {"real": "supported", "illusion": "contradicted", "undecided": "undecided"}
    for name, found in columns_of(tables, "DP"):
        if found is None:
            yield not_made(name)
            continue
        large = found.pairs[found.pairs.lam >= LARGE]
        rivals = large[(large.lam == found.best) | (large.against == found.best)]
        lost = rivals.points.where(rivals.against == found.best, -rivals.points)
        told = f"best on dev: λ = {found.best:g}; {lost.min():.1f} to {lost.max():.1f} points before the others, {found.seeds} starts"
        yield Part(name, verdicts[found.optimum], told.replace("-", "−"), found.seeds)


@claim("5", "A very large λ makes no significant difference.", REAL,
       "λ = 10,000 against the others from 10 on: equivalent to all of them")  # fmt: skip
def huge_lam_is_harmless(tables: Tables) -> Iterator[Part]:
    for name, found in columns_of(tables, "DP"):
        if found is None:
            yield not_made(name)
            continue
        pairs = found.pairs[(found.pairs.against == HUGE) & (found.pairs.lam >= LARGE)]
        verdict = "supported" if pairs.equivalent.all() else "contradicted" if pairs.counts.any() else "undecided"
        told = f"{pairs.points.min():+.1f} to {pairs.points.max():+.1f} points, {pairs.equivalent.sum()} of {len(pairs)} equivalent"
        yield Part(name, verdict, f"{told}; {found.seeds} starts".replace("-", "−"), found.seeds)


@claim("5", "A proper λ is crucial for the model with an affine layer, too.", REAL,
       "points lost at small λ against each λ from 10 on; all must count", "table2")  # fmt: skip
def lam_is_crucial_with_affine(tables: Tables) -> Iterator[Part]:
    yield from small_lam_hurts(tables, "DP-A")


@claim("5", "A proper λ is crucial for the model with an LSTM, too.", REAL,
       "points lost at small λ against each λ from 10 on; all must count", "table2")  # fmt: skip
def lam_is_crucial_with_lstm(tables: Tables) -> Iterator[Part]:
    yield from small_lam_hurts(tables, "DP-L")


@claim("5", "At a very large λ the attention weights of all words of a text are close to each other.",
       "06_exact_dynamics#what-really-is", f"{SMALL:g} − the largest |nα − 1| in any text of n words")  # fmt: skip
def mean_pooling(tables: Tables) -> Iterator[Part]:
    rows = tables("terms", noise=0.0, neutral_types=SMALL_NEUTRAL, lam=HUGE)
    yield exceeds("Data I, λ = 10,000", SMALL - column(rows, "farthest weight"))


def wide(tables: Tables, dataset: str, model: str = "DP", lam: float = 10.0, scores: str = "attention",
         value: str = "mean") -> pd.DataFrame:  # fmt: skip
    """Rows of "figure_scores" as columns "attention positive", ... by seed, as in the other tables."""
    rows = tables("figure_scores", dataset=dataset, model=model, lam=lam, scores=scores)
    if not len(rows):
        return rows
    found = rows.pivot(index="seed", columns="type", values=value).add_prefix(f"{scores} ")
    return found.rename_axis(columns=None).reset_index()


def first_three(tables: Tables, scores: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """The data sets of Fig 2 at λ = 10."""
    yield "SST", tables("sst_scores", lam=10, penalty=0)
    yield "IMDB", wide(tables, "imdb", scores=scores)
    yield "20News I", wide(tables, "20news-1", scores=scores)


@claim("5", "At λ = 10 positive tokens have positive polarity scores, negative ones negative (Fig 2).", FIGURES,
       "the smaller of s (positive words) and −s (negative words)", "2a 2b 2c")  # fmt: skip
def figure_2_polarity(tables: Tables) -> Iterator[Part]:
    for name, rows in first_three(tables, "polarity"):
        yield exceeds(name, opposed(rows, "polarity"))


@claim("5", "Neutral tokens have polarity scores around zero (Fig 2).", FIGURES,
       f"{SMALL:g} − |mean s| of neutral words, in units of polar ones", "2a 2b 2c")  # fmt: skip
def figure_2_neutral(tables: Tables) -> Iterator[Part]:
    for name, rows in first_three(tables, "polarity"):
        yield exceeds(name, SMALL - column(rows, "polarity neutral").abs() / size(rows, "polarity"))


@claim("5", "Both positive and negative tokens have more attention than neutral ones (Fig 2).", FIGURES,
       "attention of the weaker polar kind minus neutral words", "2d 2e 2f")  # fmt: skip
def figure_2_attention(tables: Tables) -> Iterator[Part]:
    for name, rows in first_three(tables, "attention"):
        yield exceeds(name, lead(rows))


@claim("5", "On SST at λ = 100 positive tokens have less attention than neutral and negative ones (Fig 3b).", SEEDS,
       "attention of neutral or negative words, whichever is less, minus positive words", "3b")  # fmt: skip
def figure_3b(tables: Tables) -> Iterator[Part]:
    rows = tables("sst_scores", lam=100, penalty=0)
    others = least(column(rows, "attention neutral"), column(rows, "attention negative"))
    yield exceeds("SST", others - column(rows, "attention positive"))


@claim("5", "At λ = 100 all attention scores are much smaller than at λ = 10 (Fig 3b).", SEEDS,
       f"{SMALL:g} − mean |a| of polar words at λ = 100, in units of that at λ = 10", "3b")  # fmt: skip
def attention_shrinks(tables: Tables) -> Iterator[Part]:
    ten, hundred = (size(tables("sst_scores", lam=lam, penalty=0), "attention") for lam in (10, 100))
    yield exceeds("SST", SMALL - hundred / ten)


@claim("5", "At λ = 100 polarity scores are larger than at λ = 10 (Fig 3a).", SEEDS,
       "mean |s| of polar words at λ = 100 minus λ = 10", "3a")  # fmt: skip
def polarity_grows(tables: Tables) -> Iterator[Part]:
    ten, hundred = (size(tables("sst_scores", lam=lam, penalty=0), "polarity") for lam in (10, 100))
    yield exceeds("SST", hundred - ten)
    small = {lam: size(rows, "polarity") for lam, rows in (
        (lam, tables("terms", noise=0.0, neutral_types=SMALL_NEUTRAL, lam=lam)) for lam in (10.0, 100.0))}  # fmt: skip
    yield exceeds("Data I", small[100.0] - small[10.0])


@claim("5", "The model still performs well at λ = 100, though attention is less interpretable.", SEEDS,
       "test accuracy at λ = 100 minus λ = 10: equivalent within a point, or better")  # fmt: skip
def large_lam_still_works(tables: Tables) -> Iterator[Part]:
    ten, hundred = (column(tables("sst_scores", lam=lam, penalty=0), "test_accuracy") for lam in (10, 100))
    yield same("SST", hundred - ten)


@claim("5", "With a penalty on V·W, at a large λ, both polar kinds end with positive attention scores above neutral ones.",
       SEEDS, "the least of: attention of either polar kind, and its lead over neutral words")  # fmt: skip
def penalty_at_large_lam(tables: Tables) -> Iterator[Part]:
    rows = tables("sst_scores", lam=100, penalty=1e-4)
    yield exceeds("SST, λ = 100", least(both(rows, "attention"), lead(rows)))
    rows = tables("exact_cures", cure="penalty")
    yield exceeds("Data II, λ = 100", least(both(rows, "attention"), lead(rows)))


@claim("5", "The penalty does not improve test performance significantly.", SEEDS,
       "test accuracy with minus without penalty: equivalent within a point")  # fmt: skip
def penalty_and_accuracy(tables: Tables) -> Iterator[Part]:
    for lam in (10, 100):
        free, held = (column(tables("sst_scores", lam=lam, penalty=p), "test_accuracy") for p in (0, 1e-4))
        yield same(f"SST, λ = {lam}", held - free)
    free, held = (column(tables("exact_cures", cure=cure), "accuracy") for cure in ("none", "penalty"))
    yield same("Data II, λ = 100", held - free)


@claim("5", "With three classes, too, polar tokens have more attention than neutral ones (Fig 3c).", FIGURES,
       "attention of the words of a class minus neutral words", "3c")  # fmt: skip
def figure_3c(tables: Tables) -> Iterator[Part]:
    rows = wide(tables, "20news-2")
    for name in ("rec.motorcycles", "sci.med", "talk.politics.guns"):
        yield exceeds(name, column(rows, f"attention {name}") - column(rows, "attention neutral"))


@claim("5", "Additive attention gives similar scores (Fig 4).", FIGURES,
       "attention: lead of the weaker polar kind; polarity: the smaller of s and −s of its kind", "4a 4b")  # fmt: skip
def figure_4(tables: Tables) -> Iterator[Part]:
    yield exceeds("SST, attention", lead(wide(tables, "sst", "AD")))
    yield exceeds("SST, polarity", opposed(wide(tables, "sst", "AD", scores="polarity"), "polarity"))


def medians(tables: Tables) -> pd.DataFrame:
    """Median mean weight of each kind by seed: "weight positive", ..."""
    rows = tables("sst_weights", lam=10)
    return rows.pivot(index="seed", columns="type", values="median").add_prefix("weight ").reset_index() if len(rows) else rows


@claim("5", "Polarity tokens have larger attention weights than neutral ones (Fig 5).", "11_weights#average-weights",
       "median weight of the weaker polar kind minus neutral words", "5")  # fmt: skip
def figure_5_polar(tables: Tables) -> Iterator[Part]:
    yield exceeds("SST", lead(medians(tables), "weight"))


@claim("5", "Positive tokens have lower weights than negative ones, and lower scores (Fig 5, Fig 2d).",
       "11_weights#average-weights", "negative minus positive words", "5 2d")  # fmt: skip
def figure_5_order(tables: Tables) -> Iterator[Part]:
    yield exceeds("SST, median weight", -difference(medians(tables), "weight"))
    yield exceeds("SST, attention score", -difference(tables("sst_scores", lam=10, penalty=0)))


@claim("5", "Some neutral tokens are outliers with large weights (Fig 5).", "11_weights#the-outliers",
       "the largest weight of a neutral word minus the end of the upper whisker", "5")  # fmt: skip
def figure_5_outliers(tables: Tables) -> Iterator[Part]:
    rows = tables("sst_weights", lam=10, type="neutral")
    whisker = column(rows, "q3") + 1.5 * (column(rows, "q3") - column(rows, "q1"))
    yield exceeds("SST", column(rows, "greatest") - whisker)


@claim("5", "The patterns are similar with different initializations.", "06_exact_dynamics#why-good-and-bad-words-part",
       "how much nearer each start is to the mean of all than that is to zero")  # fmt: skip
def patterns_are_similar(tables: Tables) -> Iterator[Part]:
    data, sst = tables("exact_gap", lam=10.0), tables("sst_scores", lam=10, penalty=0)
    for name, rows in (("Data I", data), ("SST", sst)):
        polar = pd.concat([column(rows, f"attention {kind}") for kind in ("positive", "negative")], axis=1).mean(axis=1)
        yield exceeds(f"{name}: polar minus neutral words", alike(polar - column(rows, "attention neutral")))
        yield exceeds(f"{name}: positive minus negative words", alike(difference(rows)))


@claim("6", "The affine model, additive attention and several classes behave alike.", "07_variants#what-it-means",
       "attention of the weakest polar kind minus neutral words")  # fmt: skip
def variants_behave_alike(tables: Tables) -> Iterator[Part]:
    for name in ("DP-A", "AD"):
        yield exceeds(f"Data I, {name}", lead(tables("variants", variant=name, penalty=0.0)))
    rows = tables("class_terms")
    weakest = least(*(column(rows, f"attention {k}") for k in "012"))
    yield exceeds("three classes", weakest - column(rows, "attention 3"))
