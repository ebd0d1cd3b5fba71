"""Numbers and lines as the pages write them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

MINUS = re.compile(r"(`[^`]*`|\$[^$]*\$|\]\([^)]*\))|(?<![\w-])-(?=\d)")


class Lines:
    """Lines of the form "proved: this": on a page a list whose lines wrap, elsewhere text.

    ``sources``: Python that a line opens to on a page, "" where there is none; as many as lines, or none at all.
    """

    def __init__(self, lines: Sequence[str], sources: Sequence[str] = ()):
        self.lines, self.sources = lines, sources or [""] * len(lines)

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        items = (f"<li>{as_html(line, source)}</li>" for line, source in zip(self.lines, self.sources))
        return f'<ul class="uaftc-checks">{"".join(items)}</ul>'


def as_html(line: str, source: str) -> str:
    """A line, its first word bold; with a source what opens to it."""
    kind, _, told = line.partition(": ")
    told = f"<b>{escape(kind)}</b> {escape(told)}"
    if not source:
        return told
    code = highlight(source, PythonLexer(), HtmlFormatter())
    return f"<details><summary>{told}</summary>{code}</details>"


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
