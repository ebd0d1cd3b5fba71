"""Sentences in colour: how much attention each word gets, and for which class it speaks."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import pandas as pd

from uaftc_lib import coloured
from uaftc_lib.plots.figure import Figure, Panel, checked, require


def sentences(lines: Mapping[str, pd.DataFrame], caption: str, classes: tuple[str, str] = ("−", "+")) -> Figure:
    """Words as they are read: attention is the background, contribution the underline; its sign is a colour and a mark.

    The numbers of a word open at a pointer or the focus of the keyboard, and a screen reader reads them. In print
    colours stay; where the system forces its own colours each word bears its weight in letters.

    Parameters
    ----------
    lines : mapping
        Sentences by their titles, as "λ = 1". A row for each word: "word", "weight" (0 to 1), "contribution" (to the
        logit; underlines are as thick as its share of the sentence's largest), and what else shall open.
    caption : str
    classes : pair of str
        What negative and positive contributions speak for.

    Raises
    ------
    ValueError
        If a column is missing, or there is no caption or no word.
    """
    if not lines or any(frame.empty for frame in lines.values()):
        raise ValueError("there is nothing to draw: a sentence without words")
    for frame in lines.values():
        require(frame, "word", "weight", "contribution")
    body = "".join(map(line, lines, lines.values())) + legend(*classes)
    panel = f'<div class="sentences"><style>{coloured.STYLE}</style>{body}</div>'
    data = pd.concat([frame.assign(sentence=title) for title, frame in lines.items()], ignore_index=True)
    return Figure(data, checked(caption), (Panel(panel, f"{len(lines)} sentences in colour."),))


def line(title: str, frame: pd.DataFrame) -> str:
    """One sentence and its title."""
    largest = frame["contribution"].abs().max() or 1.0
    words = (word(row, row["contribution"] / largest) for row in frame.to_dict("records"))
    return f"<p><strong>{escape(title)}</strong> {' '.join(words)}</p>"


def word(row: dict, share: float) -> str:
    """One word; ``share``: its contribution over the largest of the sentence."""
    numbers = ", ".join(f"{name} {value:.2f}".replace("-", "−") for name, value in row.items() if name != "word")
    return (
        f'<span class="{coloured.classes(row["weight"], share)}" tabindex="0" data-weight="{row["weight"]:.0%}" '
        f'data-numbers="{escape(numbers)}">{escape(str(row["word"]))}</span>'
    )


def legend(negative: str, positive: str) -> str:
    """What background and underline mean."""
    return (
        "<small>Background: attention weight. Underline: contribution, "
        f'<span class="against">− for {escape(negative)}</span>, '
        f'<span class="for">+ for {escape(positive)}</span>.</small>'
    )
