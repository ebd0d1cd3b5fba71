"""A number that a page prints: made once, it knows its value, its interval, from how much it is, and its condition.

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
import torch
from jaxtyping import Float

from uaftc_book.paragraphs import over_seeds, told
from uaftc_book.rules import Interval, interval
from uaftc_book.wording import error_in_words, with_interval

ROUNDING = 1e-9  # what two sides computed in float64 may differ by, unless an identity says otherwise
MARK = re.compile(r'<abbr class="check" tabindex="0" title="(\w+): [^"]*">([^<]*?)\s?<b>([✓✗])</b></abbr>')


def marked(text: str, kind: str, condition: str, holds: bool) -> str:
    """What is checked, with a tick or a cross; the condition opens at a pointer or a tap."""
    text += "\N{NO-BREAK SPACE}" * bool(text)
    return f'<abbr class="check" tabindex="0" title="{kind}: {escape(condition)}">{text}<b>{"✗✓"[holds]}</b></abbr>'


@dataclass(frozen=True)
class Number:
    """A measured number. Each of its conditions returns the same number with that condition.

    Attributes
    ----------
    interval : Interval
        Without ends where no interval is known.
    values : tuple of float
        One for each run, where they are known.
    of : str
        What ``interval.n`` counts.
    condition : str
        What must be true of it.
    holds : bool
    """

    interval: Interval
    values: tuple[float, ...] = ()
    of: str = "runs"
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
        """The lower end of its interval, or itself."""
        return self.interval.low if math.isfinite(self.interval.low) else self.mean

    @property
    def high(self) -> float:
        """The upper end of its interval, or itself."""
        return self.interval.high if math.isfinite(self.interval.high) else self.mean

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
    def source(self) -> str:
        """From how much it is."""
        return f"one {self.of.removesuffix('s')}" if self.n == 1 else f"{self.n:,} {self.of}"

    def __format__(self, form: str) -> str:
        if not form or math.isnan(self.mean):
            text = with_interval(*self.interval[:3])
        else:
            text = over_seeds(self.values, form) if self.values else told(self.interval, form)
        return marked(text, "checked", f"{self.condition} ({self.source})", self.holds) if self.condition else text

    def __str__(self) -> str:
        return format(self)


def number(
    value: Number | Interval | float | Sequence[float] | Float[np.ndarray, "runs"], n: int = 1, of: str = "runs"
) -> Number:
    """A number from n runs, without an interval; or the mean and the interval of one value for each run."""
    if isinstance(value, (Number, Interval)):
        return value if isinstance(value, Number) else Number(value, of=of)
    values = np.asarray(value, dtype=float)
    if values.ndim:
        return Number(interval(values), tuple(values), of)
    return Number(Interval(float(values), -math.inf, math.inf, n), of=of)


def exact(error: object, bound: float = ROUNDING, name: str = "both sides") -> str:
    """The tick of what is true whatever the parameters; ``error``: by how much its sides differ, or a violation.

    Raises
    ------
    AssertionError
        If the error is not below the bound.
    """
    worst = largest(error, bound, name)
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
