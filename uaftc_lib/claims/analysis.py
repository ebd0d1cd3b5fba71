"""The claims of Sections 3 and 4: what the update equations are said to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import torch

from uaftc_lib.claims.verdicts import SMALL, Cases, Part, Tables, asked_of, claim, exact, exceeds
from uaftc_lib.exact_studies import small_data
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.term_studies import PAPER_NEUTRAL, SMALL_NEUTRAL

MODEL, POLARITY, ATTENTION = "01_model", "03_polarity_dynamics", "04_attention_dynamics"
EXACT, SYNTHETIC, SCORES = "06_exact_dynamics", "08_synthetic", "10_scores"
LEARNING, BOOKS = f"{POLARITY}#a-b-and-c-while-learning", f"{POLARITY}#the-books"
ATTENTION_BOOKS, SINK = f"{ATTENTION}#the-books-of-data-i", f"{ATTENTION}#why-neutral-words-sink"
COUNTED, FOUND = (
    "05_embedding_geometry#a-contradiction-decided-by-counting",
    f"{SYNTHETIC}#do-the-scores-find-the-words",
)
IN_UNITS = "of a neutral word, in units of that of a polar one"

CELLS = {  # the cases of the table "terms": name -> noise, neutral types, λ
    "small Data I, λ = 1": (0.0, SMALL_NEUTRAL, 1.0),
    "small Data I, λ = 10": (0.0, SMALL_NEUTRAL, 10.0),
    "small Data I, λ = 100": (0.0, SMALL_NEUTRAL, 100.0),
    "Data I, λ = 1": (0.0, PAPER_NEUTRAL, 1.0),
    "Data I, λ = 10": (0.0, PAPER_NEUTRAL, 10.0),
    "Data I, λ = 100": (0.0, PAPER_NEUTRAL, 100.0),
    "small Data II, λ = 10": (0.1, SMALL_NEUTRAL, 10.0),
    "Data II, λ = 10": (0.1, PAPER_NEUTRAL, 10.0),
}
ONE, TEN, HUNDRED, MANY_ONE, MANY, MANY_HUNDRED, NOISY, NOISY_MANY = CELLS
MODERATE = (TEN, HUNDRED, MANY, MANY_HUNDRED, NOISY, NOISY_MANY)
TOO_SMALL = {
    f"{name}, λ = {lam:g}": (0.0, neutral, lam)
    for name, neutral in (("small Data I", SMALL_NEUTRAL), ("Data I", PAPER_NEUTRAL))
    for lam in (1.0, 0.1, 0.01)
}
STILL_SMALLER = tuple(name for name in TOO_SMALL if name not in CELLS)


def cells(*names: str) -> Cases:
    """Cases of the table "terms"; without names all that the paper speaks for."""
    listed = CELLS | TOO_SMALL

    def of(tables: Tables) -> Iterator[tuple[str, pd.DataFrame]]:
        for name in names or CELLS:
            noise, neutral, lam = listed[name]
            yield name, tables("terms", noise=noise, neutral_types=neutral, lam=lam)

    return of


def rows_of(case: str, table: str, **where: object) -> Cases:
    """One case: the rows of a table that have these values."""
    return lambda tables: [(case, tables(table, **where))]


def several(*cases: Cases) -> Cases:
    """Cases after one another."""
    return lambda tables: [case for some in cases for case in some(tables)]


def sst(lam: float, penalty: float = 0, case: str = "") -> Cases:
    """The ten starts on SST."""
    return rows_of(case or f"SST, λ = {lam:g}", "sst_scores", lam=lam, penalty=penalty)


GAPS = {lam: rows_of(f"small Data I, λ = {lam:g}, sixty starts", "exact_gap", lam=float(lam)) for lam in (10, 100)}
BOTH_GAPS = several(*GAPS.values())
# TEN and HUNDRED are not among the cells: BOTH_GAPS has more starts of the same.
EVERYWHERE = several(BOTH_GAPS, cells(ONE, MANY_ONE, MANY, MANY_HUNDRED, NOISY, NOISY_MANY))


def column(rows: pd.DataFrame, name: str) -> pd.Series:
    """A column as floats by seed; empty where there are no rows."""
    return rows.set_index("seed")[name].astype(float) if len(rows) else pd.Series(dtype=float)


def least(*columns: pd.Series) -> pd.Series:
    """The smallest of several columns, start by start: positive where all are."""
    return pd.concat(columns, axis=1).min(axis=1, skipna=False)


def size(rows: pd.DataFrame, name: str) -> pd.Series:
    """The size of a quantity's mean over positive words, and over negative ones: the mean of both."""
    return (column(rows, f"{name} positive").abs() + column(rows, f"{name} negative").abs()) / 2


def size_of_polar(rows: pd.DataFrame, name: str) -> pd.Series:
    """The mean over polar words of the size of a quantity."""
    return size(rows, f"|{name}|")


def opposed(rows: pd.DataFrame, name: str) -> pd.Series:
    """Positive where a quantity is above zero for positive words and below it for negative ones."""
    return least(column(rows, f"{name} positive"), -column(rows, f"{name} negative"))


def both(rows: pd.DataFrame, name: str = "attention") -> pd.Series:
    """Positive where a quantity is above zero for both kinds of polar words."""
    return least(column(rows, f"{name} positive"), column(rows, f"{name} negative"))


def neutral_small(name: str) -> Callable[[pd.DataFrame], pd.Series]:
    """Positive where a quantity is small for a neutral word, compared with a polar one; in units of the latter."""
    return lambda rows: SMALL - column(rows, f"|{name}| neutral") / size_of_polar(rows, name)


def lead(rows: pd.DataFrame, name: str = "attention") -> pd.Series:
    """By how much the weaker kind of polar words leads the neutral ones."""
    return both(rows, name) - column(rows, f"{name} neutral")


def difference(rows: pd.DataFrame, name: str = "attention") -> pd.Series:
    """Positive minus negative words."""
    return column(rows, f"{name} positive") - column(rows, f"{name} negative")


def along_VW(rows: pd.DataFrame, values: pd.Series) -> pd.Series:
    """Values, turned so that they are positive where they have the sign of V·W."""
    return np.sign(column(rows, "V·W")) * values


@claim("3", "The polarity score of a text is the sum of those of its tokens, weighted by attention.",
       f"{MODEL}#from-scores-to-weights-to-a-decision", "relative error of Eq 6")  # fmt: skip
def weighted_sum(tables: Tables) -> Iterator[Part]:
    corpus, errors = small_data(class_sizes=(20, 20)).train, []
    for seed in range(10):
        model = AttentionClassifier(200, dimension=8, weight_range=1.0, seed=seed, dtype=torch.float64)
        with torch.no_grad():
            out = model(corpus)
            pooled = torch.zeros(len(corpus), 8, dtype=torch.float64)
            pooled.index_add_(0, corpus.instance_of, out.weights[:, None] * model.embedding[corpus.tokens])
            summed = torch.zeros(len(corpus), dtype=torch.float64)
            summed.index_add_(0, corpus.instance_of, out.weights * out.token_polarity)
            errors.append(float((summed - pooled @ model.W).abs().max() / summed.abs().max()))
    yield exact("random models", errors)


# fmt: off
asked_of(cells(), "pi_takes_sides", "4.1", "π is positive for positive tokens and negative for negative ones.",
         LEARNING, "the smaller of π (positive words) and −π (negative words)", lambda rows: opposed(rows, "π"))
asked_of(cells(), "pi_of_neutral", "4.1", "π is close to zero for neutral tokens.", LEARNING,
         f"{SMALL:g} − |π| {IN_UNITS}", neutral_small("π"))
asked_of(cells(*MODERATE), "neutral_part_of_C", "4.1", "In C the products with neutral tokens cancel.", LEARNING,
         f"{SMALL:g} − the part of C that comes from neutral words",
         lambda rows: SMALL - size(rows, "largest C from neutral") / size(rows, "largest C"))
asked_of(cells(*MODERATE), "signs_of_B_and_C", "4.1",
         "B and C are positive for positive tokens and negative for negative ones.",
         BOOKS, "the smallest of B, C (positive words) and −B, −C (negative words)",
         lambda rows: least(opposed(rows, "B"), opposed(rows, "C")))
asked_of(cells(*MODERATE), "B_and_C_of_neutral", "4.1", "B and C are about zero for neutral tokens.", BOOKS,
         f"{SMALL:g} − |B|, |C| {IN_UNITS}", lambda rows: least(neutral_small("B")(rows), neutral_small("C")(rows)))
asked_of(several(cells(*MODERATE), sst(10)), "polarity_parts", "4.1",
         "Positive tokens end with large positive polarity scores, negative ones with large negative ones.", FOUND,
         "the smaller of s (positive words) and −s (negative words)", lambda rows: opposed(rows, "polarity"))
asked_of(cells(*MODERATE), "polarity_of_neutral", "4.1",
         "Neutral tokens end with polarity scores that are not significant.", FOUND, f"{SMALL:g} − |s| {IN_UNITS}",
         neutral_small("polarity"))
asked_of(cells(), "rho_of_polar", "4.1", "ρ is positive for polarity tokens.", LEARNING,
         "the smaller of ρ of positive and of negative words", lambda rows: both(rows, "ρ"))
asked_of(cells(), "rho_of_neutral", "4.1", "ρ is close to zero for neutral tokens.", SINK,
         f"{SMALL:g} − |ρ| {IN_UNITS}", neutral_small("ρ"))
asked_of(cells(*MODERATE), "A_is_small", "4.1", "With an appropriate λ, A is negligible.",
         f"{POLARITY}#which-keeps-a-small", f"{SMALL:g} − mean |A| of polar words, in units of mean |B|, over the run",
         lambda rows: SMALL - size_of_polar(rows, "A") / size_of_polar(rows, "B"))
# fmt: on


@claim("4.1", "A parts the sizes of positive and negative polarity scores, as V·W points.",
       f"{POLARITY}#does-a-small-make-a-large",
       "s, or A's part of s, of positive plus that of negative words, in the direction of V·W")  # fmt: skip
def A_tips_the_balance(tables: Tables) -> Iterator[Part]:
    for name, rows in BOTH_GAPS(tables):
        yield exceeds(name, along_VW(rows, column(rows, "polarity positive") + column(rows, "polarity negative")))
    for name, rows in cells()(tables):
        yield exceeds(f"A's part, {name}", along_VW(rows, column(rows, "A positive") + column(rows, "A negative")))


def beside_moderate(tables: Tables) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Each case with a λ that is too small: its rows, and those of the same data at λ = 10."""
    moderate = {neutral: rows for neutral, (_, rows) in zip((SMALL_NEUTRAL, PAPER_NEUTRAL), cells(TEN, MANY)(tables))}
    for name, (_, neutral, _) in TOO_SMALL.items():
        ((_, rows),) = cells(name)(tables)
        yield name, rows, moderate[neutral]


@claim("4.2", "If λ is too small, A is no longer close to zero.", f"{POLARITY}#does-a-small-make-a-large",
       f"mean |A| of polar words, in units of mean |B|, over the run − {SMALL:g}; and the share of them for which A is "
       "more than a fifth of B, minus the same at λ = 10",
       instead="It stays close ({case}): what A adds to polar words over the run is {ratio} of what B adds. For some "
               "words, which B has moved little, it is not small.")  # fmt: skip
def small_lam_makes_A_large(tables: Tables) -> Iterator[Part]:
    share = "words with A > B/5"
    for name, rows, moderate in beside_moderate(tables):
        yield exceeds(f"on average, {name}", size_of_polar(rows, "A") / size_of_polar(rows, "B") - SMALL)
        yield exceeds(f"share of words, {name}", column(rows, share) - column(moderate, share))


@claim("4.2", "If λ is too small, what was said of polarity scores may fail.", f"{POLARITY}#does-a-small-make-a-large",
       f"|s| {IN_UNITS}, minus the same at λ = 10")  # fmt: skip
def small_lam_spoils_polarity(tables: Tables) -> Iterator[Part]:
    for name, rows, moderate in beside_moderate(tables):
        yield exceeds(name, neutral_small("polarity")(moderate) - neutral_small("polarity")(rows))


# fmt: off
asked_of(EVERYWHERE, "D_takes_sides", "4.2",
         "D favours positive tokens where V·W > 0, and negative ones where V·W < 0.",
         ATTENTION_BOOKS, "D of positive minus D of negative words, in the direction of V·W",
         lambda rows: along_VW(rows, difference(rows, "D")))
asked_of(cells(), "D_of_neutral", "4.2", "D hardly moves neutral tokens.", ATTENTION_BOOKS,
         f"{SMALL:g} − |D| {IN_UNITS}", neutral_small("D"))
asked_of(several(BOTH_GAPS, sst(10), sst(100)), "gap_follows_VW", "4.2",
         "V·W leads to a gap between the attention scores of positive and negative tokens.",
         f"{EXACT}#why-good-and-bad-words-part", "attention of positive minus negative words, in the direction of V·W",
         lambda rows: along_VW(rows, difference(rows)))
asked_of(EVERYWHERE, "E_of_polar", "4.2", "E is positive for polarity tokens.", ATTENTION_BOOKS,
         "the smaller of E of positive and of negative words", lambda rows: both(rows, "E"))
# fmt: on


@claim("4.2", "F is not negative for polarity tokens.", COUNTED, "F of each kind, summed over the run")
def F_of_polar(tables: Tables) -> Iterator[Part]:
    for name, rows in EVERYWHERE(tables):
        for kind in ("positive", "negative"):
            yield exceeds(f"{kind} words, {name}", column(rows, f"F {kind}"))


def first_F(rows: pd.DataFrame) -> pd.Series:
    """The mean size of F before the first step, in units of the run's largest: of the kind for which it is most."""
    shares = [
        column(rows, f"first |F| {k}") / column(rows, f"largest |F| {k}") for k in ("positive", "negative", "neutral")
    ]
    return pd.concat(shares, axis=1).max(axis=1)


# fmt: off
asked_of(cells(*CELLS, *STILL_SMALLER), "F_at_first", "4.2", "F is close to zero at first, for every token.", COUNTED,
         f"{SMALL:g} − |F| before the first step, in units of its largest of the run",
         lambda rows: SMALL - first_F(rows))
asked_of(cells(), "E_of_neutral", "4.2", "E is about zero for neutral tokens.", SINK,
         f"{SMALL:g} − |E| {IN_UNITS}", neutral_small("E"))
asked_of(cells(), "F_of_neutral", "4.2", "F is about zero for neutral tokens.", SINK,
         f"{SMALL:g} − |F| of a neutral word, the mean, in units of E of a polar one",
         lambda rows: SMALL - column(rows, "|F| neutral") / size_of_polar(rows, "E"))
asked_of(several(GAPS[10], cells(MANY, NOISY, NOISY_MANY), sst(10)), "polar_lead", "4.2",
         "At a moderate λ polarity tokens end with more attention than neutral ones.", FOUND,
         "attention of the weaker polar kind minus neutral words", lead)
asked_of(several(GAPS[100], cells(MANY_HUNDRED)), "D_at_large_lam", "4.2",
         "If λ is too large, D becomes significant beside E.", ATTENTION_BOOKS,
         "|D| − |E| of polar words at λ = 100", lambda rows: size(rows, "D") - size(rows, "E"))
# fmt: on


def on_both_sides(rows: pd.DataFrame, name: str = "attention") -> pd.Series:
    """How far from zero the nearer kind of polar words is; negative where both kinds lie on the same side."""
    good, bad = column(rows, f"{name} positive"), column(rows, f"{name} negative")
    return -np.sign(good * bad) * least(good.abs(), bad.abs())


# fmt: off
asked_of(several(GAPS[100], cells(MANY_HUNDRED), sst(100)), "opposite_signs", "4.2",
         "At a very large λ positive and negative tokens have attention scores of opposite signs.",
         f"{SCORES}#one-start-is-no-evidence",
         "how far below and above zero the two kinds lie, the nearer one; negative: on the same side", on_both_sides)
CURED = (rows_of(f"small Data II, {cure}", "exact_cures", cure=cure) for cure in ("penalty", "perpendicular start"))
asked_of(several(*CURED, sst(100, 1e-4, "SST, penalty")), "control_of_VW", "4.2",
         "Where λ is large, controlling V·W brings the desired order back.", f"{EXACT}#the-same-on-real-sentences",
         "attention of the weaker polar kind minus neutral words, λ = 100; only cures that keep V·W small to the end",
         lead)
# fmt: on
