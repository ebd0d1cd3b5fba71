"""The claims of Sections 3 and 4: what the update equations are said to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch

from uaftc_lib.claims.judge import SMALL, Part, Tables, claim, exact, exceeds
from uaftc_lib.exact_studies import small_data
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.term_studies import PAPER_NEUTRAL, SMALL_NEUTRAL

POLARITY, ATTENTION, EXACT = "03_polarity_dynamics", "04_attention_dynamics", "06_exact_dynamics"
CELLS = {  # the cases of the table "terms": name -> noise, neutral types, λ
    "Data I, λ = 1": (0.0, SMALL_NEUTRAL, 1.0),
    "Data I, λ = 10": (0.0, SMALL_NEUTRAL, 10.0),
    "Data I, λ = 100": (0.0, SMALL_NEUTRAL, 100.0),
    "Data I, λ = 10, 1,000 neutral words": (0.0, PAPER_NEUTRAL, 10.0),
    "Data II, λ = 10": (0.1, SMALL_NEUTRAL, 10.0),
}
ONE, TEN, HUNDRED, MANY, NOISY = CELLS


def cells(tables: Tables, *names: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Cases of the table "terms": their names and rows."""
    for name in names or CELLS:
        noise, neutral, lam = CELLS[name]
        yield name, tables("terms", noise=noise, neutral_types=neutral, lam=lam)


def gaps(tables: Tables, *lams: float) -> Iterator[tuple[str, pd.DataFrame]]:
    """Cases of the table "exact_gap", sixty starts each."""
    for lam in lams or (10.0, 100.0):
        yield f"Data I, λ = {lam:g}", tables("exact_gap", lam=lam)


def column(rows: pd.DataFrame, name: str) -> pd.Series:
    """A column as floats by seed; empty where there are no rows."""
    return rows.set_index("seed")[name].astype(float) if len(rows) else pd.Series(dtype=float)


def least(*columns: pd.Series) -> pd.Series:
    """The smallest of several columns, start by start: positive where all are."""
    return pd.concat(columns, axis=1).min(axis=1)


def size(rows: pd.DataFrame, name: str) -> pd.Series:
    """Mean size of a quantity over positive and negative words."""
    return (column(rows, f"{name} positive").abs() + column(rows, f"{name} negative").abs()) / 2


def opposed(rows: pd.DataFrame, name: str) -> pd.Series:
    """Positive where a quantity is above zero for positive words and below it for negative ones."""
    return least(column(rows, f"{name} positive"), -column(rows, f"{name} negative"))


def both(rows: pd.DataFrame, name: str) -> pd.Series:
    """Positive where a quantity is above zero for both kinds of polar words."""
    return least(column(rows, f"{name} positive"), column(rows, f"{name} negative"))


def neutral_small(rows: pd.DataFrame, name: str) -> pd.Series:
    """Positive where a quantity is small for neutral words, compared with polar ones; in units of the latter."""
    return SMALL - column(rows, f"{name} neutral").abs() / size(rows, name)


def lead(rows: pd.DataFrame, name: str = "attention") -> pd.Series:
    """By how much the weaker kind of polar words leads the neutral ones."""
    return both(rows, name) - column(rows, f"{name} neutral")


def difference(rows: pd.DataFrame, name: str = "attention") -> pd.Series:
    """Positive minus negative words."""
    return column(rows, f"{name} positive") - column(rows, f"{name} negative")


@claim("3", "The polarity score of a text is the sum of those of its tokens, weighted by attention.",
       "01_model#from-scores-to-weights-to-a-decision", "relative error of Eq 6", "1")  # fmt: skip
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


@claim("4.1", "π is positive for positive tokens and negative for negative ones.",
       f"{POLARITY}#a-b-and-c-while-learning", "the smaller of π (positive words) and −π (negative words)")  # fmt: skip
def pi_takes_sides(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, opposed(rows, "π"))


@claim("4.1", "π is close to zero for neutral tokens.",
       f"{POLARITY}#a-b-and-c-while-learning", f"{SMALL:g} − |π| of neutral words, in units of polar ones")  # fmt: skip
def pi_of_neutral(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, neutral_small(rows, "π"))


@claim("4.1", "In C the products with neutral tokens cancel.",
       f"{POLARITY}#a-b-and-c-while-learning", f"{SMALL:g} − the part of C that comes from neutral words")  # fmt: skip
def neutral_part_of_C(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, SMALL - size(rows, "largest C from neutral") / size(rows, "largest C"))


@claim("4.1", "B and C are positive for positive tokens and negative for negative ones.",
       f"{POLARITY}#the-books", "the smallest of B, C (positive words) and −B, −C (negative words)")  # fmt: skip
def signs_of_B_and_C(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, least(opposed(rows, "B"), opposed(rows, "C")))


@claim("4.1", "B and C are about zero for neutral tokens.",
       f"{POLARITY}#the-books", f"{SMALL:g} − |B|, |C| of neutral words, in units of polar ones")  # fmt: skip
def B_and_C_of_neutral(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, least(neutral_small(rows, "B"), neutral_small(rows, "C")))


@claim("4.1", "Positive tokens end with large positive polarity scores, negative ones with large negative ones.",
       "08_synthetic#do-the-scores-find-the-words", "the smaller of s (positive words) and −s (negative words)",
       "S3a S3b")  # fmt: skip
def polarity_parts(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables, TEN, HUNDRED, NOISY):
        yield exceeds(name, opposed(rows, "polarity"))
    yield exceeds("SST, λ = 10", opposed(tables("sst_scores", lam=10, penalty=0), "polarity"))


@claim("4.1", "Neutral tokens end with polarity scores that are not significant.",
       "08_synthetic#do-the-scores-find-the-words", f"{SMALL:g} − |s| of neutral words, in units of polar ones",
       "S3a S3b")  # fmt: skip
def polarity_of_neutral(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables, TEN, HUNDRED, MANY, NOISY):
        yield exceeds(name, neutral_small(rows, "polarity"))
    yield exceeds("SST, λ = 10", neutral_small(tables("sst_scores", lam=10, penalty=0), "polarity"))


@claim("4.1", "ρ is positive for polarity tokens.",
       f"{POLARITY}#a-b-and-c-while-learning", "the smaller of ρ of positive and of negative words")  # fmt: skip
def rho_of_polar(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, both(rows, "ρ"))


@claim("4.1", "ρ is close to zero for neutral tokens.",
       f"{ATTENTION}#why-neutral-words-sink", f"{SMALL:g} − |ρ| of neutral words, in units of polar ones")  # fmt: skip
def rho_of_neutral(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, neutral_small(rows, "ρ"))


@claim("4.1", "With an appropriate λ, A is negligible.",
       f"{POLARITY}#which-keeps-a-small", f"{SMALL:g} − |A| / |B| of polar words, over the run")  # fmt: skip
def A_is_small(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables, TEN, HUNDRED, MANY, NOISY):
        yield exceeds(name, SMALL - size(rows, "A") / size(rows, "B"))


@claim("4.1", "A parts the sizes of positive and negative polarity scores, the way V·W points.",
       f"{POLARITY}#does-a-small-make-a-large", "s of positive plus s of negative words, in the direction of V·W")  # fmt: skip
def A_tips_the_balance(tables: Tables) -> Iterator[Part]:
    for name, rows in gaps(tables):
        tipped = column(rows, "polarity positive") + column(rows, "polarity negative")
        yield exceeds(name, np.sign(column(rows, "V·W")) * tipped)


@claim("4.2", "λ should not be too small, or A is no longer close to zero.",
       f"{POLARITY}#does-a-small-make-a-large", "|A| / |B| of polar words at λ = 1, minus the same at the other λ")  # fmt: skip
def small_lam_makes_A_large(tables: Tables) -> Iterator[Part]:
    share = {name: size(rows, "A") / size(rows, "B") for name, rows in cells(tables, ONE, TEN, HUNDRED)}
    yield exceeds("against λ = 10", share[ONE] - share[TEN])
    yield exceeds("against λ = 100", share[ONE] - share[HUNDRED])


@claim("4.2", "D favours positive tokens where V·W > 0, and negative ones where V·W < 0.",
       f"{ATTENTION}#the-books-of-data-i", "D of positive minus D of negative words, in the direction of V·W")  # fmt: skip
def D_takes_sides(tables: Tables) -> Iterator[Part]:
    for name, rows in gaps(tables):
        yield exceeds(name, np.sign(column(rows, "V·W")) * difference(rows, "D"))


@claim("4.2", "D hardly moves neutral tokens.",
       f"{ATTENTION}#the-books-of-data-i", f"{SMALL:g} − |D| of neutral words, in units of polar ones")  # fmt: skip
def D_of_neutral(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, neutral_small(rows, "D"))


@claim("4.2", "V·W leads to a gap between the attention scores of positive and negative tokens.",
       f"{EXACT}#why-good-and-bad-words-part", "attention of positive minus negative words, in the direction of V·W",
       "S5a")  # fmt: skip
def gap_follows_VW(tables: Tables) -> Iterator[Part]:
    for name, rows in gaps(tables):
        yield exceeds(name, np.sign(column(rows, "V·W")) * difference(rows))
    for lam in (10, 100):
        rows = tables("sst_scores", lam=lam, penalty=0)
        yield exceeds(f"SST, λ = {lam}", np.sign(column(rows, "V·W")) * difference(rows))


@claim("4.2", "E is positive for polarity tokens.",
       f"{ATTENTION}#the-books-of-data-i", "the smaller of E of positive and of negative words")  # fmt: skip
def E_of_polar(tables: Tables) -> Iterator[Part]:
    for name, rows in gaps(tables):
        yield exceeds(name, both(rows, "E"))


@claim("4.2", "F is not negative for polarity tokens.",
       "05_embedding_geometry#a-contradiction-decided-by-counting", "F, summed over the run")  # fmt: skip
def F_of_polar(tables: Tables) -> Iterator[Part]:
    for name, rows in gaps(tables):
        for kind in ("positive", "negative"):
            yield exceeds(f"{kind} words, {name}", column(rows, f"F {kind}"))


@claim("4.2", "F is close to zero at first, for every token.",
       "05_embedding_geometry#a-contradiction-decided-by-counting",
       f"{SMALL:g} − |F| before the first step, in units of its largest size")  # fmt: skip
def F_at_first(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        shares = [column(rows, f"first F {k}").abs() / column(rows, f"largest F {k}") for k in ("positive", "negative", "neutral")]
        yield exceeds(name, SMALL - pd.concat(shares, axis=1).max(axis=1))


@claim("4.2", "E is about zero for neutral tokens.",
       f"{ATTENTION}#why-neutral-words-sink", f"{SMALL:g} − |E| of neutral words, in units of polar ones")  # fmt: skip
def E_of_neutral(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, neutral_small(rows, "E"))


@claim("4.2", "F is about zero for neutral tokens.",
       f"{ATTENTION}#why-neutral-words-sink", f"{SMALL:g} − |F| of neutral words, in units of polar ones")  # fmt: skip
def F_of_neutral(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(tables):
        yield exceeds(name, neutral_small(rows, "F"))


@claim("4.2", "At a moderate λ polarity tokens end with more attention than neutral ones.",
       "08_synthetic#do-the-scores-find-the-words", "attention of the weaker polar kind minus neutral words",
       "S4a")  # fmt: skip
def polar_lead(tables: Tables) -> Iterator[Part]:
    for name, rows in gaps(tables, 10.0):
        yield exceeds(name, lead(rows))
    for name, rows in cells(tables, MANY, NOISY):
        yield exceeds(name, lead(rows))
    yield exceeds("SST, λ = 10", lead(tables("sst_scores", lam=10, penalty=0)))


@claim("4.2", "If λ is too large, D becomes significant beside E.",
       f"{ATTENTION}#the-books-of-data-i", "|D| − |E| of polar words at λ = 100")  # fmt: skip
def D_at_large_lam(tables: Tables) -> Iterator[Part]:
    for name, rows in gaps(tables, 100.0):
        yield exceeds(name, size(rows, "D") - size(rows, "E"))


@claim("4.2", "At a very large λ positive and negative tokens have attention scores of opposite signs.",
       "10_scores#one-start-is-no-evidence",
       "how far below and above zero the two kinds lie, the nearer one; negative: on the same side")  # fmt: skip
def opposite_signs(tables: Tables) -> Iterator[Part]:
    for name, rows in (*gaps(tables, 100.0), ("SST, λ = 100", tables("sst_scores", lam=100, penalty=0))):
        good, bad = column(rows, "attention positive"), column(rows, "attention negative")
        nearer = pd.concat([good.abs(), bad.abs()], axis=1).min(axis=1)
        yield exceeds(name, -np.sign(good * bad) * nearer)


@claim("4.2", "Where λ is large, controlling V·W brings the desired order back.",
       f"{EXACT}#three-cures-compared", "attention of the weaker polar kind minus neutral words, λ = 100")  # fmt: skip
def control_of_VW(tables: Tables) -> Iterator[Part]:
    for cure in ("penalty", "perpendicular start"):
        yield exceeds(f"Data II, {cure}", lead(tables("exact_cures", cure=cure)))
    yield exceeds("SST, penalty", lead(tables("sst_scores", lam=100, penalty=1e-4)))
