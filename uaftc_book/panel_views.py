"""The panels of scores (Figs 2 to 4, S13 to S28) as figures and in words, from one seed or from many."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from uaftc_book.panels import NAMES, cited_panel, in_print, seeds_of_panel
from uaftc_lib import plots

SHORT = {kind: kind.rsplit(".", 1)[-1] for kind in NAMES.values()}  # rec.motorcycles: motorcycles


def as_boxes(panel: Mapping, rows: pd.DataFrame, count: str = "", **options) -> plots.Figure:
    """A panel of which quantiles are published: the seeds in ``rows`` (as in ``figure_scores``), and those beside.

    ``count`` stands behind the title: in how many seeds the panel comes out.
    """
    of = f"words of {SHORT[panel['type']]}" if panel["type"] else f"{panel['model']}, λ = {panel['lam']:g}"
    return plots.quantiles(
        seeds_of_panel(panel, rows).replace({"type": SHORT}),
        "type",
        "a panel",
        published=in_print(panel["figure"]).replace({"type": SHORT}),
        title=f"{cited_panel(panel['figure'])}: {of}" + f" ({count})" * bool(count),
        y_label=f"{panel['scores']} score",
        **options,
    )


def over_neutral(panel: Mapping, stored: pd.DataFrame) -> pd.DataFrame:
    """How well each list is told from the neutral one: the least and greatest probability over seeds, a row a list."""
    rows = seeds_of_panel(panel, stored)
    return rows[rows["type"] != "neutral"].groupby("type")["over neutral"].agg(["min", "max"])
