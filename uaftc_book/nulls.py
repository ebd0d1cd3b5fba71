"""The null control of a claim: the same number, of models whose training labels were permuted.

Real and permuted runs are compared at equal training loss, since nonsense is learnt later: at the lowest of the stored
losses that all of them reach. A claim beats its control where the mean of the real seeds lies outside of the central
95 % of the permuted runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import pandas as pd

from uaftc_book.wording import short

KINDS = ["real", "permuted"]
CENTRAL = (0.025, 0.975)  # of the permutations
# The cases of claims that have a null control: data set, model, λ.
NULLS = {
    "SST": ("sst", "DP", 10.0),
    "SST, λ = 10": ("sst", "DP", 10.0),
    "SST, λ = 100": ("sst", "DP", 100.0),
    "SST, AD": ("sst", "AD", 10.0),
    "IMDB, AD": ("imdb", "AD", 10.0),
    "IMDB": ("imdb", "DP", 10.0),
    "20News I": ("20news-1", "DP", 10.0),
}


class Null(NamedTuple):
    """A statistic of seeds with real labels (its mean) beside that of runs with permuted ones (their central 95 %)."""

    moment: str  # at which runs are compared
    mean: float
    low: float
    high: float
    seeds: int
    permutations: int

    @property
    def told(self) -> str:
        """The range under permuted labels, and where the real mean stands to it."""
        return f"{short(self.low)} to {short(self.high)}; real {self.verdict} ({short(self.mean)})"

    @property
    def verdict(self) -> str:
        """Whether the real mean lies outside of the permuted runs, and on which side."""
        return "more" if self.mean > self.high else "less" if self.mean < self.low else "as much"


def at_losses(losses: pd.Series, levels: Iterable[float]) -> dict[str, int]:
    """Where a run's loss is first at a level or below, of those that it reaches: "loss 0.5", ..."""
    return {f"loss {level:g}": int((losses <= level).idxmax()) for level in levels if (losses <= level).any()}


def equal_loss(rows: pd.DataFrame) -> str:
    """The lowest of the stored training losses that all runs reach, with real labels and with permuted ones; or ""."""
    rows = rows[rows["labels"].isin(KINDS)]
    runs = rows.groupby("labels")["seed"].nunique().reindex(KINDS, fill_value=0)
    for moment in sorted(name for name in rows["moment"].unique() if name.startswith("loss ")):
        there = rows[rows["moment"] == moment].groupby("labels")["seed"].nunique().reindex(KINDS, fill_value=0)
        if there.equals(runs) and there.all():
            return moment
    return ""


def against_null(
    rows: pd.DataFrame, value: Callable[[pd.DataFrame], pd.Series], moment: str = "", lists: str = "training"
) -> Null | None:
    """A statistic with real and with permuted labels; None where no moment is common to all runs.

    Parameters
    ----------
    rows : DataFrame
        Of the experiment null_controls or panel_controls: one data set, model and λ.
    value : callable
        The statistic by seed, from rows that have a "seed" and the columns of the experiment.
    moment : str, optional
        Default: :func:`equal_loss`.
    """
    rows = rows[(rows["lists"] == lists) & rows["labels"].isin(KINDS)]
    moment = moment or equal_loss(rows)
    rows = rows[rows["moment"] == moment]
    if not len(rows):
        return None
    real, permuted = (value(rows[rows["labels"] == labels]) for labels in KINDS)
    return Null(moment, float(real.mean()), *permuted.quantile(CENTRAL), len(real), len(permuted))


def null_of(case: str, tables: Callable[..., pd.DataFrame], value: Callable[[pd.DataFrame], pd.Series]) -> Null | None:
    """The null control of a case of a claim; None where there is none."""
    if case not in NULLS:
        return None
    rows = control_rows(tables, NULLS[case])
    return against_null(rows, value) if len(rows) else None


def control_rows(tables: Callable[..., pd.DataFrame], where: tuple[str, str, float]) -> pd.DataFrame:
    """Rows of the experiment null_controls; where it has none, mean scores of panel_controls in the same form.

    Parameters
    ----------
    where : (str, str, float)
        Data set, model, λ.
    """
    of = dict(zip(("dataset", "model", "lam"), where))
    rows = tables("null_controls", **of)
    if not len(rows) and len(rows := tables("panel_controls", **of)):
        runs = ["labels", "seed", "lists", "moment", "epoch"]
        rows = rows.assign(polarity=rows["own polarity"].mask(rows["type"] == "negative", -rows["own polarity"]))
        rows = rows.pivot(index=runs, columns="type", values=["attention", "polarity"])
        rows = rows.set_axis([" ".join(pair) for pair in rows.columns], axis=1).reset_index()
    return rows


def panel_null(
    tables: Callable[..., pd.DataFrame],
    where: tuple[str, str, float],
    column: str,
    value: Callable[[pd.DataFrame], pd.Series],
) -> Null | None:
    """The null control of a panel of the supplement; None where there is none.

    Parameters
    ----------
    where : (str, str, float)
        Data set, model, λ.
    column : str
        Of the experiment panel_controls.
    value : callable
        The statistic by seed, from a table of that column: a row for each run, a column for each kind of words.
    """
    rows = tables("panel_controls", **dict(zip(("dataset", "model", "lam"), where)))
    if not len(rows):
        return None
    return against_null(rows, lambda some: value(some.pivot(index="seed", columns="type", values=column)))


def lead_of(means: pd.DataFrame) -> pd.Series:
    """By how much the weakest list of polar words leads the neutral ones."""
    return least_of(means) - means["neutral"]


def least_of(means: pd.DataFrame) -> pd.Series:
    """The weakest list of polar words."""
    return means.drop(columns="neutral").min(axis=1)


def polar_of(means: pd.DataFrame) -> pd.Series:
    """Polar words, the mean of their lists, beside neutral ones."""
    return means.drop(columns="neutral").mean(axis=1) - means["neutral"]
