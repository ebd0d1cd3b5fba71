"""Computed paragraphs and cells of tables: numbers of several runs, and the verdict that they allow."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from IPython.display import Markdown, display

from uaftc_book import rules
from uaftc_book.wording import true_minus, with_interval

VERDICTS = {"supported": "holds", "contradicted": "does not hold", "undecided": "undecided"}


def say(text: str) -> None:
    """Show a paragraph with computed numbers.

    Raises
    ------
    ValueError
        If a number in it is checked: only the page's own :meth:`~uaftc_book.chapter.Chapter.say` counts checks.
    """
    if 'class="check"' in text:
        raise ValueError("this paragraph holds a checked number: show it by chapter.say, which counts it")
    display(Markdown(paragraph(text)))


def paragraph(text: str) -> str:
    """A text in one line, minus signs as they should be."""
    return true_minus(re.sub("[ \n]+", " ", text).strip())  # blanks that do not break stay


def told(found: rules.Interval, form: str = ".2f") -> str:
    """A mean with its interval, if it has one."""
    return with_interval(*found[:3], lambda value: f"{value:{form}}".replace("-", "−"))


def over_seeds(values: Iterable[float], form: str = ".0%", most: float = np.inf) -> str:
    """Mean and interval over runs, which ends at ± ``most``; of one or two their values."""
    values = np.asarray(values, dtype=float)
    if len(values) < 3:
        return " and ".join(f"{value:{form}}" for value in values).replace("-", "−") or "not measured"
    found = rules.interval(values)
    if form.endswith("%") and (values >= 0).all() and (values <= 1).all():  # of shares: no interval leaves 0 to 1
        found = found._replace(low=max(found.low, 0.0), high=min(found.high, 1.0))
    return told(found._replace(low=max(found.low, -most), high=min(found.high, most)), form)


def points(values: Iterable[float]) -> str:
    """The same of a difference of shares, in points of a hundred."""
    return over_seeds(100 * np.asarray(values, dtype=float), "+.1f")


def verdict(found: rules.Interval) -> str:
    """On "X exceeds Y", from the interval of X − Y; undecided with fewer runs than the rules ask for."""
    return VERDICTS.get(rules.decided(found), f"undecided: {found.n} seeds")
