"""Words in colour, as the book and the report show them: attention is the background, contribution the underline."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

LEVELS = 10  # of a background and of an underline: style sheets of a report may not stand at its words
MARKED = 0.1  # of the largest contribution: from here on a word bears its sign
STYLE = Path(__file__).with_name("coloured.css").read_text(encoding="utf-8") + "".join(
    f".a{level}{{--weight:{level / LEVELS}}}.s{level}{{--size:{level / LEVELS}}}\n" for level in range(1, LEVELS + 1)
)


def classes(weight: float, share: float) -> str:
    """The classes of a word's element, which stands inside one of class "sentences".

    Parameters
    ----------
    weight : float
        Of attention, 0 to 1; nan where there is none.
    share : float
        The word's contribution over the largest of its text, −1 to 1.
    """
    shade = round(LEVELS * weight) if isfinite(weight) else 0
    mark = " marked" if abs(share) >= MARKED else ""
    return f"{'for' if share >= 0 else 'against'}{mark} a{shade} s{round(LEVELS * abs(share))}"
