"""Numbers and lines as the pages write them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


class Lines:
    """Lines of the form "proved: this": on a page a list whose lines wrap, elsewhere text."""

    def __init__(self, lines: Sequence[str]):
        self.lines = lines

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        parts = (line.partition(": ") for line in self.lines)
        items = (f"<li><b>{escape(kind)}</b> {escape(told)}</li>" for kind, _, told in parts)
        return f'<ul class="uaftc-checks">{"".join(items)}</ul>'


def short(value: float) -> str:
    """Two significant digits, a true minus sign."""
    text = f"{value:.2g}" if abs(value) < 100 else f"{value:.0f}"
    return text.replace("-", "−")


def with_interval(mean: float, low: float, high: float) -> str:
    """A mean, and its interval in brackets."""
    return f"{short(mean)} [{short(low)}, {short(high)}]"
