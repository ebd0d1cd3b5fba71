"""Frames put into numbers and words, for captions and alternative texts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from uaftc_lib.intervals import half_width
from uaftc_lib.plots.theme import groups, raised


def summarise(data: pd.DataFrame, by: list[str], y: str) -> pd.DataFrame:
    """n, mean, least, greatest and the 95 % t interval of the mean: low, high (n = 1: the mean itself)."""
    summary = data.groupby(by, sort=False, observed=True)[y].agg(["count", "mean", "sem", "min", "max"])
    summary = summary.rename(columns={"count": "n", "min": "least", "max": "greatest"})
    half = half_width(summary.pop("sem").fillna(0), summary["n"].clip(lower=2) - 1)
    return summary.assign(low=summary["mean"] - half, high=summary["mean"] + half).reset_index()


def titled(title: str = "", **_) -> str:
    """The title among a figure's options, in brackets."""
    return f" ({title})" if title else ""


def itemised(parts: Iterable[str], head: str = "") -> str:
    """ " Head: one; two.", or nothing where there is nothing to list."""
    told = "; ".join(parts)
    return f"{head} {told}." if told else ""


def number(value: float | np.number) -> str:
    """Three significant digits and a true minus sign: −0.0759, 1500, 1.23·10⁴; the lab's script says the same."""
    text = f"{value:.0f}" if 1000 <= abs(value) < 10000 else f"{value:.3g}"
    return (raised(text) if "e" in text else text).replace("-", "−")


def middle(low: float, median: float, high: float) -> str:
    """Median and quartiles, in words."""
    return f"median {number(median)}, middle half {number(low)} to {number(high)}"


def distribution(data: pd.DataFrame, y: str, group: str) -> str:
    """Number, median and quartiles of each group, in words."""
    values = {name: data.loc[data[group] == name, y] for name in groups(data[group])}
    return itemised(f"{name}: {len(y)} points, {middle(*y.quantile([0.25, 0.5, 0.75]))}" for name, y in values.items())
