"""Lists of words beside those of other methods: what differs for sure, by pairs of the same file and seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from uaftc_book import rules
from uaftc_book.paragraphs import told as in_brackets
from uaftc_book.wording import with_interval

OURS = "uaftc explain"
MEASURES = {  # column -> what it is called, and whether more of it is better
    "precision": ("true, of those listed", True),
    "recall": ("listed, of true words", True),
    "precision_at_truth": ("true, of as many first words", True),
    "wrong_side": ("of another class, of those listed", False),
    "confounds": ("listed, of companions", False),
    "nulls": ("listed, of words without effect", False),
    "listed": ("words listed", None),
    "overlap": ("common to two halves, of first words", True),
    "ratings": ("rank correlation with people's ratings", True),
    "accuracy": ("right, of unseen texts", True),
    "processor_seconds": ("seconds of processor", False),
}
WITHOUT_END = {"listed", "processor_seconds"}  # above; shares end at one, correlations are left as they are


def share_in_words(found: rules.Interval) -> str:
    """A mean of shares with its interval, of which no part lies where no share can be."""
    return in_brackets(found._replace(low=max(0.0, found.low), high=min(1.0, found.high)))


def by_method(rows: pd.DataFrame, measures: Iterable[str]) -> pd.DataFrame:
    """For each file and method the mean of each measure over the seeds, with its interval; empty where none is."""
    found = []
    for (file, method), own in rows.groupby(["file", "method"], sort=False):
        told = {"file": file, "method": method, "seeds": len(own)}
        for name in measures:
            values = own[name].dropna().to_numpy()
            if len(values) < 2:
                continue
            mean = rules.interval(values)
            if name in WITHOUT_END:
                told[MEASURES[name][0]] = with_interval(mean.mean, max(0.0, mean.low), mean.high)
            else:
                told[MEASURES[name][0]] = in_brackets(mean) if name == "ratings" else share_in_words(mean)
        found.append(told)
    table = pd.DataFrame(found).fillna("")
    return table[[*table.columns[:3], *(MEASURES[name][0] for name in measures if MEASURES[name][0] in table)]]


def ahead(rows: pd.DataFrame, file: str, method: str, measure: str, ours: str = OURS) -> rules.Interval | None:
    """How far ours is better than another method: mean over the seeds that both have, and its interval.

    None where fewer than two seeds have both numbers.
    """
    values = rows[rows["file"] == file].pivot(index="seed", columns="method", values=measure)
    pairs = values.reindex(columns=[ours, method]).dropna()
    if len(pairs) < 2:
        return None
    difference = (pairs[ours] - pairs[method]).to_numpy()
    return rules.interval(difference if MEASURES[measure][1] else -difference)


def compared(rows: pd.DataFrame, asked: Mapping[str, Iterable[str]]) -> pd.DataFrame:
    """For each file and measure asked for the methods that are surely worse than ours, and surely better."""
    found = []
    for file, measures in asked.items():
        methods = [name for name in rows.loc[rows["file"] == file, "method"].unique() if name != OURS]
        for measure in measures:
            by = {method: ahead(rows, file, method, measure) for method in methods}
            worse = [name for name, one in by.items() if one and one.low > 0]
            better = [name for name, one in by.items() if one and one.high < 0]
            if worse or better:
                told = ["all others" if names == methods else "; ".join(names) for names in (worse, better)]
                found.append([file, MEASURES[measure][0], *told])
    return pd.DataFrame(found, columns=["file", "measure", "ours is better than", "ours is worse than"])
