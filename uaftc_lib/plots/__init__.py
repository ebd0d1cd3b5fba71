"""Every figure type of the book, published values drawn beside ours.

    scatter · boxes · quantiles                  tokens: by type, as distributions (from stored quantiles)
    curves · bars                                seeds: mean and band, mean and interval
    sentences                                    words in colour: attention, contribution and its sign
    row                                          several figures as panels of one
    table                                        a frame without its row numbers, each column in its own format

Each takes a DataFrame and a caption, and as ``options`` title, x_label, y_label, log_x, log_y and size (inches); what
makes no sense is a ValueError. It returns a :class:`Figure`, which shows itself as the last expression of a cell;
``figure.data`` is what was drawn, ``figure.save(path)`` writes it, and the SVG. In a page a figure is HTML without
script, file or style sheet: an inline ``<svg role="img" aria-label=...>`` for each panel, the caption, and the drawn
numbers as CSV. It is the same in Jupyter, in the book, from ``file://`` and in print.

* Text, axes and published values are in ``currentColor`` on a transparent ground, so they follow the theme of the
  page; data colours stand out on light and dark, and stay apart for colour-blind readers. Blue is positive and orange
  negative in every figure. Every colour comes with a marker or a line style of its own.
* Ours is filled and coloured, published is hollow and dashed, in every figure type.
* Text stays text, on a phone of 9 pixels at least. Panels wrap: side by side on a desk, one below the other on a phone.
* Clouds of more than 300 points are rasterised. Two runs are byte-identical.
* The caption is written by the page, with numbers computed there; the alternative text is made here from the data.
"""

from uaftc_lib.extras import needs

with needs("drawing"):
    from uaftc_lib.plots.figure import Figure, row
    from uaftc_lib.plots.points import boxes, quantiles, scatter
    from uaftc_lib.plots.seeds import bars, curves
    from uaftc_lib.plots.sentences import sentences
    from uaftc_lib.plots.summaries import summarise
    from uaftc_lib.plots.table import table
    from uaftc_lib.plots.theme import PANEL, WIDE

__all__ = [
    "PANEL", "WIDE", "Figure", "bars", "boxes", "curves", "quantiles", "row", "scatter",
    "sentences", "summarise", "table",
]  # fmt: skip
