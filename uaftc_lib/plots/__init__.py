"""Every figure type of the book, published values drawn beside ours.

    scatter · boxes · quantiles · sentence       tokens: by type, as distributions (from stored quantiles), one instance
    curves · bars · accuracy_against_lam         seeds: mean and band, mean and interval, Table 2 as a picture
    row                                          several figures as panels of one
    table                                        a frame without its row numbers, each column in its own format

Each function takes a DataFrame and a caption and returns a :class:`Figure`; as the last expression of a cell
it shows itself. ``figure.data`` is the frame that was drawn, ``figure.save(path)`` writes it, and the SVG.

How a figure reaches a page. A notebook has no place for a caption or for alternative text beside a plain
matplotlib output, so a :class:`Figure` emits HTML: a ``<figure>`` with one inline ``<svg role="img"
aria-label=...>`` for each panel, then ``<figcaption>`` and a link that holds the drawn numbers as CSV (of
more than ``DATA_LINK_ROWS`` rows, a sentence that says that they are too many for the page). It
needs no script, file or style sheet, and looks the same in Jupyter, in the built book, from ``file://`` and
in print.

* Text, axes and published values are drawn in ``currentColor`` on a transparent ground, so they follow the
  theme of the page, light or dark; data colours stand out on both, and stay apart for colour-blind readers. Blue is
  positive and orange negative in every figure. Every colour comes with a marker or a line style of its own.
* Ours is filled and coloured, published is hollow and dashed, in every figure type.
* Text stays text: it can be searched and selected. On a phone it has 9 pixels at least. Panels of one figure wrap: side
  by side on a desk, one below the other on a phone (:func:`row`).
* Clouds of more than 300 points are rasterised inside the SVG. No date and no random ids: two runs are
  byte-identical.
* The caption is written by the page, its numbers computed there (an f-string); the alternative text is made
  here from the data. A figure without a caption is a ValueError.
"""

from uaftc_lib.extras import needs

with needs("drawing"):
    from uaftc_lib.plots.figure import Figure, Panel, row
    from uaftc_lib.plots.points import boxes, quantiles, scatter, sentence
    from uaftc_lib.plots.seeds import accuracy_against_lam, bars, curves
    from uaftc_lib.plots.summaries import summarise
    from uaftc_lib.plots.table import Table, table
    from uaftc_lib.plots.theme import PANEL, WIDE

__all__ = [
    "PANEL",
    "WIDE",
    "Figure",
    "Panel",
    "Table",
    "accuracy_against_lam",
    "bars",
    "boxes",
    "curves",
    "quantiles",
    "row",
    "scatter",
    "sentence",
    "summarise",
    "table",
]
