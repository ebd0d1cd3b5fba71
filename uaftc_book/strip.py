"""The scorecard as a picture: a square a sentence, in the order of the paper."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from uaftc_book.cards import SIGNS
from uaftc_book.claims import Judged, counted
from uaftc_book.verdicts import WORDS
from uaftc_lib import plots
from uaftc_lib.plots.figure import render
from uaftc_lib.plots.points import DEEPEST
from uaftc_lib.plots.theme import CRIMSON, GREEN, GREY, INK, OLIVE

HUES = (GREEN, DEEPEST), (GREEN, 0.3), (OLIVE, 0.5), (CRIMSON, 0.3), (CRIMSON, DEEPEST), (GREY, 0.25)
COLORS = dict(zip(WORDS, HUES))
BARS = {"less": 0.0, "less in part": 0.4, "no less": 1.0}  # how dark the bar below a square is
ACROSS, DOWN = 16, 1.9  # squares in a line; from line to line, in squares


def of_labels(one: Judged) -> str:
    """What shuffled labels show of a sentence; empty where it has not this control."""
    less = one.shuffled.count("less")
    return "" if not one.shuffled else "less" if less == len(one.shuffled) else "less in part" if less else "no less"


def strip(judged: Iterable[Judged], caption: str) -> plots.Figure:
    """A square a sentence, in the colour and with the sign of its verdict; below it what shuffled labels show."""
    judged = list(judged)
    data = pd.DataFrame(
        [(one.claim.section, one.claim.said, one.verdict, of_labels(one)) for one in judged],
        columns=["section", "sentence", "verdict", "shuffled labels"],
    )

    def draw(axes: Axes) -> list[Patch]:
        first = ~data["section"].duplicated()
        for place, (section, _, verdict, labels) in enumerate(data.itertuples(index=False)):
            x, y = place % ACROSS, -DOWN * (place // ACROSS)
            axes.add_patch(Rectangle((x, y), 0.9, 0.9, facecolor=COLORS[verdict]))
            axes.text(x + 0.45, y + 0.42, SIGNS[verdict], ha="center", va="center")
            if first[place]:
                axes.text(x, y + 0.98, section, fontweight="bold")
            if labels:
                axes.add_patch(Rectangle((x, y - 0.36), 0.9, 0.22, facecolor=(INK, BARS[labels]), edgecolor=INK))
        axes.set(xlim=(-0.1, ACROSS), ylim=(y - 0.5, 1.7), aspect="equal")
        axes.axis("off")
        shown = [word for word in WORDS if (data["verdict"] == word).any()]
        return [Patch(facecolor=COLORS[word], label=f"{SIGNS[word]} {word}") for word in shown] + [
            Patch(facecolor=(INK, depth), edgecolor=INK, label=f"shuffled labels show {word}")
            for word, depth in BARS.items()
            if (data["shuffled labels"] == word).any()
        ]

    alt = f"{len(data)} squares: " + ", ".join(f"{n} {word}" for word, n in counted(judged).items() if n) + "."
    lines = -(-len(data) // ACROSS)
    return render(draw, data, caption, alt, (plots.WIDE[0], plots.WIDE[0] / ACROSS * DOWN * lines + 0.6))
