"""The claims of Sections 5 and 6 on scores and weights: real data, Figs 2 to 5."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from uaftc_lib.claims.accuracy import HUGE
from uaftc_lib.claims.analysis import (
    GAPS,
    MANY,
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
    sst,
)
from uaftc_lib.claims.verdicts import SMALL, Cases, Part, Tables, alike, asked_of, claim, exceeds, same
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.term_studies import SMALL_NEUTRAL

SEEDS, SCORES, WEIGHTS = (
    "10_scores#one-start-is-no-evidence",
    "10_scores#every-panel-of-the-paper",
    "11_weights",
)
ONE_BELOW = "Where it is clearest ({case}), both polar kinds end above the neutral words in only {held} of {n} starts."
LEAD = "attention of the weaker polar kind minus neutral words"


# fmt: off
asked_of(rows_of("small Data I, λ = 10,000", "terms", noise=0.0, neutral_types=SMALL_NEUTRAL, lam=HUGE),
         "mean_pooling", "5",
         "At a very large λ the attention weights of all words of a text are close to each other.",
         "06_exact_dynamics#the-two-ends-of", f"{SMALL:g} − the largest |nα − 1| in any text of n words",
         lambda rows: SMALL - column(rows, "farthest weight"))
# fmt: on


def wide(tables: Tables, dataset: str, model: str = "DP", lam: float = 10.0, scores: str = "attention",
         value: str = "mean") -> pd.DataFrame:  # fmt: skip
    """Rows of "figure_scores" as columns "attention positive", ... by seed, as in the other tables."""
    rows = tables("figure_scores", dataset=dataset, model=model, lam=lam, scores=scores)
    return by_type(rows, scores, value) if len(rows) else rows


def by_type(rows: pd.DataFrame, scores: str, value: str = "mean") -> pd.DataFrame:
    """A row a type as a column a type: seed, "attention positive", ..."""
    wide_rows = rows.pivot(index="seed", columns="type", values=value)
    return wide_rows.add_prefix(f"{scores} ").rename_axis(columns=None).reset_index()


def beside(learner: str) -> Cases:
    """SST at λ = 10 by another optimizer or with another encoder: both scores, in the same form."""

    def of(tables: Tables) -> Iterator[tuple[str, pd.DataFrame]]:
        rows = tables("side_scores", learner=learner)
        if len(rows):
            attention, polarity = (by_type(rows[rows.scores == name], name) for name in ("attention", "polarity"))
            rows = attention.merge(polarity, on="seed")
        yield f"SST, {learner}", rows

    return of


def first_three(scores: str) -> Cases:
    """The data sets of Fig 2 at λ = 10."""
    others = {"IMDB": "imdb", "20News I": "20news-1"}
    return several(
        sst(10, case="SST"), lambda tables: [(name, wide(tables, key, scores=scores)) for name, key in others.items()]
    )


# fmt: off
asked_of(first_three("polarity"), "figure_2_polarity", "5",
         "At λ = 10 positive tokens have positive polarity scores, negative ones negative (Fig 2).", SCORES,
         "the smaller of s (positive words) and −s (negative words)", lambda rows: opposed(rows, "polarity"))
asked_of(first_three("polarity"), "figure_2_neutral", "5", "Neutral tokens have polarity scores around zero (Fig 2).",
         SCORES, f"{SMALL:g} − |mean s| of neutral words, in units of polar ones",
         lambda rows: SMALL - column(rows, "polarity neutral").abs() / size(rows, "polarity"))
asked_of(first_three("attention"), "figure_2_attention", "5",
         "Both positive and negative tokens have more attention than neutral ones (Fig 2).", SCORES, LEAD, lead)
asked_of(several(GAPS[10], cells(MANY, NOISY, NOISY_MANY), first_three("attention")), "polar_attention_is_positive",
         "4.2", "At a moderate λ polarity tokens end with positive attention scores.", SCORES,
         "attention of the weaker polar kind", both)
asked_of(sst(100), "figure_3b", "5",
         "On SST at λ = 100 positive tokens have less attention than neutral and negative ones (Fig 3b).", SEEDS,
         "attention of neutral or negative words, whichever is less, minus positive words",
         lambda rows: least(-difference(rows), column(rows, "attention neutral") - column(rows, "attention positive")))
# fmt: on


def ten_and_hundred(tables: Tables, name: str) -> tuple[pd.Series, pd.Series]:
    """The mean size of polar words' scores on SST at λ = 10 and at λ = 100."""
    return tuple(size(tables("sst_scores", lam=lam, penalty=0), name) for lam in (10, 100))


@claim("5", "At λ = 100 all attention scores are much smaller than at λ = 10 (Fig 3b).", SEEDS,
       f"{SMALL:g} − |mean a| at λ = 100, in units of that at λ = 10")  # fmt: skip
def attention_shrinks(tables: Tables) -> Iterator[Part]:
    ten, hundred = ten_and_hundred(tables, "attention")
    yield exceeds("SST, polar words", SMALL - hundred / ten)
    ten, hundred = (column(tables("sst_scores", lam=lam, penalty=0), "attention neutral").abs() for lam in (10, 100))
    yield exceeds("SST, neutral words", SMALL - hundred / ten)


@claim("5", "At λ = 100 polarity scores are larger than at λ = 10 (Fig 3a).", SEEDS,
       "mean |s| of polar words at λ = 100 minus λ = 10")  # fmt: skip
def polarity_grows(tables: Tables) -> Iterator[Part]:
    ten, hundred = ten_and_hundred(tables, "polarity")
    yield exceeds("SST", hundred - ten)
    ten, hundred = (
        size(tables("terms", noise=0.0, neutral_types=SMALL_NEUTRAL, lam=lam), "polarity") for lam in (10.0, 100.0)
    )
    yield exceeds("small Data I", hundred - ten)


@claim("5", "The model still performs well at λ = 100, though attention is less interpretable.", SEEDS,
       "test accuracy at λ = 100 minus λ = 10: equivalent within a point")  # fmt: skip
def large_lam_still_works(tables: Tables) -> Iterator[Part]:
    ten, hundred = (column(tables("sst_scores", lam=lam, penalty=0), "test_accuracy") for lam in (10, 100))
    yield same("SST", hundred - ten)


PENALISED = several(sst(100, 1e-4), rows_of("small Data II, λ = 100", "exact_cures", cure="penalty"))
# fmt: off
asked_of(PENALISED, "penalty_at_large_lam", "5",
         "With a penalty on V·W, at a large λ, both polar kinds end with positive attention scores above neutral ones.",
         SEEDS, "the least of: attention of either polar kind, and its lead over neutral words",
         lambda rows: least(both(rows), lead(rows)))
# fmt: on


@claim("5", "The penalty does not improve test performance significantly.", SEEDS,
       "test accuracy with minus without penalty: equivalent within a point")  # fmt: skip
def penalty_and_accuracy(tables: Tables) -> Iterator[Part]:
    for lam in (10, 100):
        free, held = (column(tables("sst_scores", lam=lam, penalty=p), "test_accuracy") for p in (0, 1e-4))
        yield same(f"SST, λ = {lam}", held - free)
    free, held = (column(tables("exact_cures", cure=cure), "accuracy") for cure in ("none", "penalty"))
    yield same("small Data II, λ = 100", held - free)


@claim("5", "With three classes, too, polar tokens have more attention than neutral ones (Fig 3c).", SCORES,
       "attention of the words of a class minus neutral words")  # fmt: skip
def figure_3c(tables: Tables) -> Iterator[Part]:
    rows = wide(tables, "20news-2")
    for name in ("rec.motorcycles", "sci.med", "talk.politics.guns"):
        yield exceeds(name, column(rows, f"attention {name}") - column(rows, "attention neutral"))


@claim("5", "Additive attention gives similar scores (Fig 4).", SCORES,
       "attention: lead of the weaker polar kind; polarity: the smaller of s and −s of its kind")  # fmt: skip
def figure_4(tables: Tables) -> Iterator[Part]:
    yield exceeds("SST, attention", lead(wide(tables, "sst", "AD")))
    yield exceeds("SST, polarity", opposed(wide(tables, "sst", "AD", scores="polarity"), "polarity"))


def medians(tables: Tables) -> pd.DataFrame:
    """Median mean weight of each kind by seed: "weight positive", ..."""
    rows = tables("sst_weights", lam=10)
    return (
        rows.pivot(index="seed", columns="type", values="median").add_prefix("weight ").reset_index()
        if len(rows)
        else rows
    )


# fmt: off
asked_of(lambda tables: [("SST", medians(tables))], "figure_5_polar", "5",
         "Polarity tokens have larger attention weights than neutral ones (Fig 5).", f"{WEIGHTS}#average-weights",
         "median weight of the weaker polar kind minus neutral words", lambda rows: lead(rows, "weight"))
# fmt: on


@claim("5", "Positive tokens have lower weights than negative ones, and lower scores (Fig 5, Fig 2d).",
       f"{WEIGHTS}#average-weights", "negative minus positive words")  # fmt: skip
def figure_5_order(tables: Tables) -> Iterator[Part]:
    yield exceeds("SST, median weight", -difference(medians(tables), "weight"))
    yield exceeds("SST, attention score", -difference(tables("sst_scores", lam=10, penalty=0)))


# fmt: off
asked_of(rows_of("SST", "sst_weights", lam=10, type="neutral"), "figure_5_outliers", "5",
         "Some neutral tokens are outliers with large weights (Fig 5).", f"{WEIGHTS}#the-outliers",
         "the largest weight of a neutral word minus the end of the upper whisker",
         lambda rows: column(rows, "greatest") - 2.5 * column(rows, "q3") + 1.5 * column(rows, "q1"))
# fmt: on


OTHER_MODELS = (  # data set, model, λ; footnote 11 speaks of DP-L and DP-A
    ("sst", "DP-A", 20.0),
    ("sst", "DP-L", 10.0),
    ("sst", "AD", 10.0),
    ("imdb", "DP-A", 10.0),
    ("imdb", "AD", 10.0),
    ("20news-1", "DP-A", 10.0),
)


@claim("5", "The patterns are similar with different initializations.", SEEDS,
       "how much nearer each start is to the mean of all than that is to zero",
       instead="Which of the two kinds of polar words leads may change with the start. Where it is clearest ({case}), "
       "only {held} of {n} starts are nearer to the mean of all than that is to zero.")  # fmt: skip
def patterns_are_similar(tables: Tables) -> Iterator[Part]:
    others = [(f"{PAPER_NAMES[where[0]]}, {where[1]}", wide(tables, *where)) for where in OTHER_MODELS]
    for name, rows in [*sst(10)(tables), *others]:
        polar = (column(rows, "attention positive") + column(rows, "attention negative")) / 2
        yield exceeds(f"{name}: polar minus neutral words", alike(polar - column(rows, "attention neutral")))
        yield exceeds(f"{name}: positive minus negative words", alike(difference(rows)))


@claim("6", "The affine model, additive attention and several classes behave alike.", "07_variants#what-it-means",
       "attention of the weakest polar kind minus neutral words", instead=ONE_BELOW)  # fmt: skip
def variants_behave_alike(tables: Tables) -> Iterator[Part]:
    for name in ("DP-A", "AD"):
        yield exceeds(f"small Data I, {name}", lead(tables("variants", variant=name, penalty=0.0)))
    for key, model, lam in (where for where in OTHER_MODELS if where[1] != "DP-L"):
        yield exceeds(f"{PAPER_NAMES[key]}, {model}, λ = {lam:g}", lead(wide(tables, key, model, lam)))
    rows = tables("class_terms")
    yield exceeds(
        "three classes", least(*(column(rows, f"attention {k}") for k in "012")) - column(rows, "attention 3")
    )
