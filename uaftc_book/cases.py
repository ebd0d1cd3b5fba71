"""One case of a claim: "X exceeds Y", from X − Y of each seed, and other forms of it.

"Close to zero" is read as "less than a fifth of what it is compared with" (:data:`SMALL`). This reading was
chosen with the results known, and it is wide on purpose: in Data I the sum rule of ρ alone makes a neutral word
exactly one tenth as large as a polar one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pandas as pd

from uaftc_book import rules
from uaftc_book.nulls import Null
from uaftc_book.numbers import Number, number
from uaftc_book.rules import OPEN
from uaftc_lib.experiments.registry import stored

SMALL = 0.2
SURE = math.log(99)  # a large polarity score: alone it gives odds of 99 to 1


class Tables:
    """Stored results by name; an empty frame where there are none."""

    def __init__(self, frames: Mapping[str, pd.DataFrame] | None = None):
        self.frames = dict(frames or {})
        self.stored = frames is None
        self.asked: dict = {}  # rows, by name and values: several claims ask for the same
        self.read: set[str] = set()  # names, since a claim was begun
        self.compared: dict = {}  # columns of Table 2, by data set and model: several claims ask for each

    def __call__(self, name: str, **where) -> pd.DataFrame:
        """The rows of a table that have these values, ordered by seed."""
        self.read.add(name)
        if name not in self.frames:
            self.frames[name] = pd.DataFrame()
            if self.stored:
                with suppress(FileNotFoundError):
                    self.frames[name] = stored(name)
        key = (name, *where.items())
        if key not in self.asked:
            rows = self.frames[name]
            kept = np.ones(len(rows), bool)
            for column, value in where.items():
                if kept.any():
                    kept &= (rows[column] == value).to_numpy()
            rows = rows[kept] if where else rows
            self.asked[key] = rows.sort_values("seed") if "seed" in rows else rows
        return self.asked[key]


@dataclass(frozen=True)
class Part:
    """One case of a claim: the verdict of the rules, and what was found, in words.

    ``number``: X − Y, where the rule has it, from ``n`` seeds; ``held``, from :func:`exceeds` alone: in how many of
    these X − Y lies above zero.
    ``null``: how X − Y stands to that of models trained on permuted labels, where this is known.
    """

    case: str
    verdict: str
    found: str = ""
    n: int = 0
    number: Number = number(math.nan, 0)
    held: int = 0
    null: Null | None = None

    @property
    def strength(self) -> float:
        """X − Y in half widths of its interval; nan where the rules decide nothing."""
        mean, half = self.number.mean, self.number.interval.half
        if self.verdict == OPEN or math.isnan(mean):
            return math.nan
        return mean / half if half else math.copysign(math.inf, mean) if mean else 0.0


def exceeds(case: str, differences: Iterable[float]) -> Part:
    """X exceeds Y, from X − Y of each seed."""
    values = pd.Series(differences, dtype=float)
    values.attrs = getattr(differences, "attrs", {})  # its table
    values = values[np.isfinite(values)]
    if not len(values):
        return Part(case, OPEN, "no runs yet")
    one, values, n = number(values, of="seeds"), values.to_numpy(), len(values)
    held = int((values > 0).sum())
    found = f"{one}, {held} of {n} seeds"
    if 0 < held < n:
        among = rules.share(values > 0)
        found += f" ({100 * among.low:.0f}–{100 * among.high:.0f} %)"
    return of_interval(case, one, found, held)


def of_interval(case: str, difference: Number, text: str, held: int = 0) -> Part:
    """A case with the verdict on the interval of X − Y; its line says so where seeds are too few."""
    verdict = rules.decided(difference.interval)
    return Part(case, verdict, text + TOO_FEW * (verdict == OPEN), difference.n, difference, held)


TOO_FEW = f"; {rules.LEAST_SEEDS} seeds are needed"


def contrast(case: str, differences: np.ndarray, beside: str = "") -> Part:
    """X exceeds Y in accuracy, from X − Y of each seed and test text (:func:`uaftc_book.rules.crossed`).

    ``beside``: told after the numbers.
    """
    one = number(rules.crossed(100 * np.asarray(differences, dtype=float)), of="seeds")
    return of_interval(case, one, f"{one} points, {one.runs}, {differences.shape[1]:,} texts{beside}")


def exact(case: str, errors: Iterable[float]) -> Part:
    """An identity, from its relative error in each of several random models."""
    errors = list(errors)
    worst, n = max(errors), len(errors)
    if worst < 1e-12:
        return Part(case, "supported", f"relative error below 1e-12 in {n} of {n}", n)
    return Part(case, "contradicted", f"relative error up to {worst:.0e}, {n} tried", n)


def alike(values: pd.Series) -> pd.Series:
    """How much smaller the distance of each seed from the mean is than the mean: the same sign and about the size."""
    return abs(values.mean()) - (values - values.mean()).abs()
