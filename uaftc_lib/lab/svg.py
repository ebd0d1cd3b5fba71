"""Small pictures as SVG text. Colours come from the style sheet, so that they follow the reader's scheme."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 380, 270
LEFT, RIGHT, TOP, BOTTOM = 52, 10, 22, 38
# Around a point: ▲ ▼ ■ ◆. Every other kind is a round dot, made by the style sheet.
SHAPES = {
    "positive": "m0-3.4 3 5.2h-6z",
    "negative": "m0 3.4 3-5.2h-6z",
    "class2": "m-2.5-2.5h5v5h-5z",
    "class3": "m0-3.4 3.4 3.4-3.4 3.4-3.4-3.4z",
}
SHAPES |= {"class0": SHAPES["positive"], "class1": SHAPES["negative"]}


class Axis(NamedTuple):
    """From numbers to pixels: ``low`` lands on ``begin``, ``high`` on ``end``; logarithmic if asked."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return self.begin + (value - low) / (high - low) * (self.end - self.begin)

    @property
    def ticks(self) -> list[float]:
        """Round numbers within the axis: powers of ten, or steps of 1, 2 or 5 times one."""
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            return [10.0**k for k in range(first, last + 1)]
        step = round_step((self.high - self.low) / 5)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]


def round_step(rough: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below ``rough``."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def padded(values: Sequence[float]) -> tuple[float, float]:
    """Bounds a little outside of the values; never empty."""
    low, high = min(values), max(values)
    margin = 0.06 * (high - low) or max(abs(low), 1e-3) * 0.5
    return low - margin, high + margin


def axis_number(value: float) -> str:
    """A number for an axis or a caption: three digits, a true minus sign."""
    text = f"{value:.0f}" if 1000 <= abs(value) < 10000 else f"{value:.3g}"
    if "e" in text:
        digits, power = text.split("e")
        text = f"{digits}·10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
        text = text.removeprefix("1·")
    return text.replace("-", "−")


def axes(x: Axis, y: Axis, x_label: str, y_label: str) -> str:
    """Grid lines, numbers and labels."""
    parts = []
    for value in x.ticks:
        place = f"{x(value):.1f}"
        parts.append(f'<line class="grid" x1="{place}" x2="{place}" y1="{y.begin}" y2="{y.end}"/>')
        parts.append(f'<text x="{place}" y="{y.begin + 15}" text-anchor="middle">{axis_number(value)}</text>')
    for value in y.ticks:
        place = f"{y(value):.1f}"
        parts.append(f'<line class="grid" y1="{place}" y2="{place}" x1="{x.begin}" x2="{x.end}"/>')
        parts.append(f'<text x="{x.begin - 6}" y="{place}" dy="0.35em" text-anchor="end">{axis_number(value)}</text>')
    parts.append(f'<text class="label" x="{x.end}" y="{y.begin + 32}" text-anchor="end">{escape(x_label)} →</text>')
    parts.append(f'<text class="label" x="2" y="12">↑ {escape(y_label)}</text>')
    return "".join(parts)


def plane(x: tuple[float, float], y: tuple[float, float], logarithmic: bool = False) -> tuple[Axis, Axis]:
    """Axes of one picture; ``logarithmic`` speaks of x."""
    return (
        Axis(*x, LEFT, WIDTH - RIGHT, logarithmic),
        Axis(*y, HEIGHT - BOTTOM, TOP),
    )


def dots(xs: Iterable[float], ys: Iterable[float], kind: str) -> str:
    """Points of one kind as a single path, in the kind's shape; the style sheet gives them colour."""
    shape = SHAPES.get(kind, "h0")
    path = "".join(f"M{x:.1f} {y:.1f}{shape}" for x, y in zip(xs, ys))
    return f'<path class="dots {kind}" d="{path}"/>'


def line(xs: Iterable[float], ys: Iterable[float], kind: str) -> str:
    """A line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys))
    return f'<polyline class="line {kind}" points="{path}"/>'


def picture(content: str, label: str) -> str:
    """The content as one picture with a name for those who cannot see it."""
    name = escape(label, quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">{content}</svg>'
