"""The scorecard as a picture: a line a section of the paper, a square a sentence."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from uaftc_book.cards import SIGNS, part_of
from uaftc_book.claims import Judged, counted
from uaftc_book.verdicts import WORDS
from uaftc_lib import plots
from uaftc_lib.plots.figure import render
from uaftc_lib.plots.points import DEEPEST
from uaftc_lib.plots.theme import GREEN, GREY, INK, OLIVE, ROSE

# Apart for every kind of colour vision, on a light page and on a dark one; the signs say the same.
HUES = (GREEN, DEEPEST), (GREEN, 0.3), (OLIVE, 0.5), (ROSE, 0.3), (ROSE, DEEPEST), (GREY, 0.0)
COLORS = dict(zip(WORDS, HUES))
BARS = {"no less": 1.0, "less": 0.0}  # how dark the bar in a square is
TITLES = {
    "1": "introduction", "4.1": "polarity", "4.2": "attention", "5": "experiments", "B": "inner products",
    "C": "invented texts", "D": "affine layer", "E": "additive", "F": "several classes", "G": "more figures",
}  # fmt: skip
ACROSS, MARGIN, DOWN = 15, 6.3, 1.12  # squares in a line; what stands left of them; from line to line
INCHES, LETTERS = 7.2, 14  # on a desk; a phone shows half of both


def of_labels(one: Judged) -> str:
    """What shuffled labels show: no less in any case, or less in one; empty where a sentence has not this control."""
    return "" if not one.shuffled else "less" if "less" in one.shuffled else "no less"


def strip(judged: Iterable[Judged], caption: str) -> plots.Figure:
    """A square a sentence, with colour and sign of its verdict, best first; its bar is of shuffled labels."""
    judged = sorted(judged, key=lambda one: ([*TITLES].index(part_of(one.claim.section)), WORDS.index(one.verdict)))
    data = pd.DataFrame(
        [(one.claim.section, one.claim.quote, one.verdict, of_labels(one)) for one in judged],
        columns=["section", "sentence", "verdict", "shuffled labels"],
    )
    verdicts = {word: n for word, n in counted(judged).items() if n}
    entries = [(word, "", f"{word}: {n}") for word, n in verdicts.items()]
    entries += [("", "", "")] * (-len(entries) % 3)
    entries += [("", bar, f"{bar}: {(data['shuffled labels'] == bar).sum()}") for bar in BARS]
    parts = data.groupby(data["section"].map(part_of), sort=False)
    lines = sum(-(-len(rows) // ACROSS) for _, rows in parts) - (-len(entries) // 3) + 0.5

    def draw(axes: Axes) -> None:
        def write(x: float, y: float, text: str, **options: object) -> None:
            axes.text(x, y + 0.46, text, va="center", fontsize=LETTERS, **options)

        def square(x: float, y: float, verdict: str, bar: str) -> None:
            if verdict:
                axes.add_patch(Rectangle((x, y), 0.92, 0.92, facecolor=COLORS[verdict], edgecolor=COLORS[verdict][0]))
                write(x + 0.46, y, SIGNS[verdict], ha="center")
            if bar:
                low = y + 0.04 if verdict else y + 0.39
                axes.add_patch(Rectangle((x + 0.06, low), 0.8, 0.14, facecolor=(INK, BARS[bar]), edgecolor=INK))

        y = 0.0
        for part, rows in parts:
            write(-MARGIN, y - DOWN, part, fontweight="bold")
            write(1.5 - MARGIN, y - DOWN, TITLES[part])
            for place, (_, _, verdict, bar) in enumerate(rows.itertuples(index=False)):
                y -= DOWN * (place % ACROSS == 0)
                square(place % ACROSS, y, verdict, bar)
        for place, (verdict, bar, text) in enumerate(entries):
            x = -MARGIN + (ACROSS + MARGIN) / 3 * (place % 3)
            square(x, y - DOWN * (place // 3 + 1.4), verdict, bar)
            write(x + 1.2, y - DOWN * (place // 3 + 1.4), text)
        axes.set(xlim=(-MARGIN, ACROSS), ylim=(-DOWN * lines, 0), aspect="equal")
        axes.axis("off")

    alt = f"{len(data)} squares: " + ", ".join(f"{n} {word}" for word, n in verdicts.items()) + "."
    return render(draw, data, caption, alt, (INCHES, INCHES * DOWN * lines / (ACROSS + MARGIN)))
