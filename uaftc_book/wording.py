"""Numbers and lines as the pages write them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

MINUS = re.compile(r"(`[^`]*`|\$[^$]*\$|\]\([^)]*\))|(?<![\w-])-(?=\d)")


@dataclass(frozen=True)
class Line:
    """What came of a check. ``source``: the check's code."""

    kind: str
    text: str
    source: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"

    def as_html(self) -> str:
        """The kind in bold; with a source what opens to it."""
        line = f"<b>{escape(self.kind)}</b> {escape(self.text)}"
        if not self.source:
            return line
        return f"<details><summary>{line}</summary>{highlight(self.source, PythonLexer(), HtmlFormatter())}</details>"


class Lines:
    """Lines of checks: on a page a list, elsewhere text. A summary opens to the list, or stands alone without lines."""

    def __init__(self, lines: Sequence[Line], summary: str = ""):
        self.lines, self.summary = lines, summary

    def __repr__(self) -> str:
        return "\n".join(map(str, self.lines)) or self.summary

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{line.as_html()}</li>" for line in self.lines)
        items, summary = f'<ul class="uaftc-checks">{items}</ul>', escape(self.summary)
        if not self.lines:
            return f'<p class="uaftc-statements">{summary}</p>'
        if not summary:
            return items
        return f'<details class="uaftc-statements"><summary>{summary}</summary>{items}</details>'


def error_in_words(errors: Sequence[float]) -> str:
    """The largest of some errors of rounding: "error at most 4e-16"."""
    return f"error {'at most ' * (len(errors) > 1)}{max(errors):.1g}"


def true_minus(text: str) -> str:
    """A text whose negative numbers have true minus signs; code, formulas and addresses stay as they are."""
    return MINUS.sub(lambda found: found[1] or "−", text)


def short(value: float) -> str:
    """Two significant digits, a true minus sign."""
    text = f"{value:.2g}" if abs(value) < 100 else f"{value:.0f}"
    return text.replace("-", "−")


def with_interval(mean: float, low: float, high: float, form: Callable[[float], str] = short) -> str:
    """A mean, and in brackets its interval if it has one; words where there was nothing to take the mean of."""
    ends = f" [{form(low)}, {form(high)}]" if math.isfinite(high - low) else ""
    return "not measured" if math.isnan(mean) else form(mean) + ends
