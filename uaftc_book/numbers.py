"""A number that a page prints: made once, it knows its value, interval, condition, and the table it comes from.

    votes = chapter.number(rows["polarity"], of="seeds")
    chapter.say(f"Their votes agree by {votes.above(0.3):.2f}.")  # Their votes agree by 0.52 [0.47, 0.57] ✓.

Where a number with a condition stands it shows a tick, or a cross where its condition fails. The page reads ticks and
crosses from what it prints (:class:`uaftc_book.chapter.Chapter`), so a check is where its sentence or its cell is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float

from uaftc_book.paragraphs import over_seeds, told
from uaftc_book.rules import Interval, interval
from uaftc_book.wording import error_in_words, with_interval

ROUNDING = 1e-9  # what two sides computed in float64 may differ by, unless an identity says otherwise
# Its groups: kind, condition, number, sign.
MARK = re.compile(r'<abbr class="check" tabindex="0" title="(\w+): ([^"]*)">([^<]*?)\s?<[bi]>([✓✗])</[bi]></abbr>')


def marked(text: str, kind: str, condition: str, holds: bool) -> str:
    """What is checked, with a tick or a cross; the condition opens at a pointer or a tap."""
    text += "\N{NO-BREAK SPACE}" * bool(text)
    sign = "<b>✓</b>" if holds else "<i>✗</i>"
    return f'<abbr class="check" tabindex="0" title="{kind}: {escape(condition)}">{text}{sign}</abbr>'


@dataclass(frozen=True)
class Number:
    """A measured number. Each of its conditions returns the same number with that condition.

    Attributes
    ----------
    interval : Interval
    values : tuple of float
        One for each run, where they are known.
    single : bool
        It has no interval: conditions are of the number alone.
    of : str
        What ``interval.n`` counts.
    table : str
        The stored table that it comes from; empty for what the page itself makes.
    form : str
        How it is written, where a sentence does not say; empty: two digits.
    condition : str
        What must be true of it.
    holds : bool
    """

    interval: Interval
    values: tuple[float, ...] = ()
    single: bool = False
    of: str = "runs"
    table: str = ""
    form: str = ""
    condition: str = ""
    holds: bool = True

    @property
    def mean(self) -> float:
        """The number itself."""
        return self.interval.mean

    @property
    def n(self) -> int:
        """From how many it is."""
        return self.interval.n

    @property
    def low(self) -> float:
        """The lower end of its interval; itself, if it is single."""
        return self.mean if self.single else self.interval.low

    @property
    def high(self) -> float:
        """The upper end of its interval; itself, if it is single."""
        return self.mean if self.single else self.interval.high

    def above(self, bound: float) -> Number:
        """All of the interval lies above a bound."""
        return self.so(self.low > bound, f"above {bound:g}")

    def each_above(self, bound: float) -> Number:
        """The value of each run lies above a bound."""
        return self.so(min(self.values, default=math.nan) > bound, f"each above {bound:g}")

    def below(self, bound: float) -> Number:
        """All of the interval lies below a bound."""
        return self.so(self.high < bound, f"below {bound:g}")

    def between(self, low: float, high: float) -> Number:
        """All of the interval lies between two bounds."""
        return self.so(low < self.low and self.high < high, f"between {low:g} and {high:g}")

    def not_above(self, bound: float) -> Number:
        """Not all of the interval lies above a bound."""
        return self.so(self.low <= bound, f"not above {bound:g}")

    def undecided(self, bound: float = 0) -> Number:
        """The interval holds a bound."""
        return self.so(self.low < bound < self.high, f"its interval holds {bound:g}")

    def so(self, holds: object, condition: str) -> Number:
        """Any other condition, in words."""
        return replace(self, condition=condition, holds=bool(holds) and not math.isnan(self.mean))

    @property
    def runs(self) -> str:
        """From how much it is, in words."""
        return re.sub(r"s\b", "", f"one {self.of}", count=1) if self.n == 1 else f"{self.n:,} {self.of}"

    @property
    def checked(self) -> str:
        """Its condition, from how much it is, and its table."""
        return f"{self.condition} ({self.runs}{f', table {self.table}' if self.table else ''})"

    def __format__(self, form: str) -> str:
        form = form or self.form
        if not form or math.isnan(self.mean):
            text = with_interval(*self.interval[:3])
        else:
            text = over_seeds(self.values, form) if self.values else told(self.interval, form)
        return marked(text, "checked", self.checked, self.holds) if self.condition else text

    def __str__(self) -> str:
        return format(self)


def number(
    value: Number | Interval | float | Sequence[float] | Float[np.ndarray, "runs"] | pd.Series,
    n: int = 1,
    of: str = "runs",
    table: str = "",
    form: str = "",
) -> Number:
    """A number from n runs, without an interval; or the mean and the interval of one value for each run.

    ``table``: by default the one that a column of a stored table, or what was computed from it, knows.
    """
    if isinstance(value, Number):
        return value
    labels = {"of": of, "table": table or getattr(value, "attrs", {}).get("table", ""), "form": form}
    if isinstance(value, Interval):
        return Number(value, **labels)
    values = np.asarray(value, dtype=float)
    if values.ndim:
        return Number(interval(values), tuple(values), **labels)
    return Number(Interval(float(values), -math.inf, math.inf, n), single=True, **labels)


def exact(differences: object, bound: float = ROUNDING) -> str:
    """The tick of what is true whatever the parameters: the sizes of some differences are below a bound.

    Raises
    ------
    AssertionError
        If one is not.
    """
    worst = largest(np.abs(np.asarray(torch.as_tensor(differences, dtype=torch.float64))), bound, "both sides")
    return marked("", "proved", f"{error_in_words([worst])}, less than {bound:g} is allowed", True)


def largest(error: object, bound: float, name: str) -> float:
    """The largest of some errors, at least zero.

    Raises
    ------
    AssertionError
        If it is not below the bound.
    """
    worst = float(np.max(np.asarray(torch.as_tensor(error, dtype=torch.float64))))
    if not worst < bound:
        raise AssertionError(f"{name}: error {worst:.3g}, of which less than {bound:g} is allowed")
    return max(worst, 0)
