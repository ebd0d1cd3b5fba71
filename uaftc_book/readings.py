"""How claims read stored tables: the cases that several chapters speak of, and what is measured of the rows of a case.

X − Y is a number for each seed; :func:`uaftc_book.cases.exceeds` makes a verdict of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from uaftc_book.cases import OPEN, SMALL, SURE, Part, Tables
from uaftc_book.claims import Cases

SIGNS_AT = (2, 6, 12)  # epochs


def signs_case(epoch: int, weight: float) -> str:
    """The name of a case of the claim "smaller_is_quicker"."""
    return f"Data I, signs of pairs, epoch {epoch}, W ±{weight:g}"


M_OF_LIBRARY = "±1/√d"
RANGES_OF_M = {M_OF_LIBRARY: lambda d: d**-0.5, "±0.1": lambda d: 0.1, "±3/√d": lambda d: 3 * d**-0.5}


def ranges(M: str) -> str:
    """From which ranges W and M are drawn, as the names of cases tell it."""
    return f"W from ±0.1, M {M}"


# The cases on synthetic data, at the paper's size (12,000 texts, 1,000 neutral words): their table, and of which rows.
ONE, TEN, HUNDRED = "Data I, λ = 1", "Data I, λ = 10", "Data I, λ = 100"
SHORT_TEN, SHORT_HUNDRED = f"{TEN}, W₀ within ±0.1", f"{HUNDRED}, W₀ within ±0.1"
NOISY = "Data II, λ = 10"
CELLS: dict[str, tuple[str, dict[str, float]]] = {
    ONE: ("terms", {"noise": 0.0, "lam": 1.0}),
    TEN: ("terms", {"noise": 0.0, "lam": 10.0}),
    HUNDRED: ("terms", {"noise": 0.0, "lam": 100.0}),
    SHORT_TEN: ("short_terms", {"lam": 10.0}),
    SHORT_HUNDRED: ("short_terms", {"lam": 100.0}),
    NOISY: ("terms", {"noise": 0.1, "lam": 10.0}),
}
MODERATE = (TEN, HUNDRED, SHORT_TEN, SHORT_HUNDRED, NOISY)
TOO_SMALL = {f"Data I, λ = {lam:g}": ("terms", {"noise": 0.0, "lam": lam}) for lam in (1.0, 0.1, 0.01)}
TOO_SMALL |= {
    f"{name}, W₀ within ±0.1": ("short_terms_lams", {"lam": of["lam"]}) for name, (_, of) in TOO_SMALL.items()
}
HUGE = 10000.0  # the largest λ of Table 2
OTHER_MODELS = (  # data set, model, λ; footnote 11 speaks of DP-L and DP-A
    ("sst", "DP-A", 20.0),
    ("sst", "DP-L", 10.0),
    ("sst", "AD", 10.0),
    ("imdb", "DP-A", 10.0),
    ("imdb", "AD", 10.0),
    ("20news-1", "DP-A", 10.0),
)


def cells(*names: str) -> Cases:
    """Cases of :data:`CELLS`; without names all that the paper speaks for."""
    listed = CELLS | TOO_SMALL

    def of(tables: Tables) -> Iterator[tuple[str, pd.DataFrame]]:
        for name in names or CELLS:
            table, where = listed[name]
            yield name, tables(table, **where)

    return of


def rows_of(case: str, table: str, **where: object) -> Cases:
    """One case: the rows of a table that have these values."""
    return lambda tables: [(case, tables(table, **where))]


VERY_LARGE = rows_of("Data I, λ = 10,000", "terms", noise=0.0, lam=HUGE)


def several(*cases: Cases) -> Cases:
    """Cases after one another."""
    return lambda tables: [case for some in cases for case in some(tables)]


def sst(lam: float, penalty: float = 0, case: str = "") -> Cases:
    """The ten seeds on SST."""
    return rows_of(case or f"SST, λ = {lam:g}", "sst_scores", lam=lam, penalty=penalty)


def column(rows: pd.DataFrame, name: str) -> pd.Series:
    """A column as floats by seed; empty where there are no rows."""
    if not len(rows):
        return pd.Series(dtype=float)
    return rows[name].set_axis(pd.Index(rows["seed"])).astype(float)  # which copies no other column


def least(*columns: pd.Series) -> pd.Series:
    """The smallest of several columns, seed by seed: positive where all are."""
    return pd.concat(columns, axis=1).min(axis=1, skipna=False)


def minus(one: str, *others: str) -> Callable[[pd.DataFrame], pd.Series]:
    """A function of rows: a column minus the largest of others."""
    return lambda rows: column(rows, one) - pd.concat([column(rows, name) for name in others], axis=1).max(axis=1)


def size(rows: pd.DataFrame, name: str) -> pd.Series:
    """The size of a quantity's mean over positive words, and over negative ones: the mean of both."""
    return (column(rows, f"{name} positive").abs() + column(rows, f"{name} negative").abs()) / 2


def size_of_polar(rows: pd.DataFrame, name: str) -> pd.Series:
    """The mean over polar words of the size of a quantity."""
    return size(rows, f"|{name}|")


def opposed(rows: pd.DataFrame, name: str) -> pd.Series:
    """Positive where a quantity is above zero for positive words and below it for negative ones."""
    return least(column(rows, f"{name} positive"), -column(rows, f"{name} negative"))


def sure_votes(rows: pd.DataFrame) -> pd.Series:
    """By how much the polarity scores of both kinds are larger than what counts as large, each on its side."""
    return opposed(rows, "polarity") - SURE


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


def sides_along_VW(rows: pd.DataFrame, name: str) -> pd.Series:
    """Positive where a quantity is above zero for one kind of polar words and below for the other, as V·W points."""
    return least(along_VW(rows, column(rows, f"{name} positive")), along_VW(rows, -column(rows, f"{name} negative")))


def on_both_sides(rows: pd.DataFrame, name: str = "attention") -> pd.Series:
    """How far from zero the nearer kind of polar words is; negative where both kinds lie on the same side."""
    good, bad = column(rows, f"{name} positive"), column(rows, f"{name} negative")
    return -np.sign(good * bad) * least(good.abs(), bad.abs())


def wide(tables: Tables, dataset: str, model: str = "DP", lam: float = 10.0, scores: str = "attention",
         value: str = "mean") -> pd.DataFrame:  # fmt: skip
    """Rows of "figure_scores" as columns "attention positive", ... by seed, as in the other tables."""
    rows = tables("figure_scores", dataset=dataset, model=model, lam=lam, scores=scores)
    return by_type(rows, scores, value) if len(rows) else rows


def by_type(rows: pd.DataFrame, scores: str, value: str = "mean") -> pd.DataFrame:
    """A row a type as a column a type: seed, "attention positive", ..."""
    wide_rows = rows.pivot(index="seed", columns="type", values=value)
    return wide_rows.add_prefix(f"{scores} ").rename_axis(columns=None).reset_index()


def not_made(name: str) -> Part:
    return Part(name, OPEN, "the runs are not complete yet")
