"""Chapter A3_table2: Table 2 cell by cell, beside what is printed; and what Appendix G says of Adam."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from uaftc_book import rules
from uaftc_book.cases import Tables
from uaftc_book.chapters.lam import is_complete
from uaftc_book.claims import Cases, reads
from uaftc_book.readings import by_type, lead, least, opposed, rows_of, several
from uaftc_lib import plots
from uaftc_lib.experiments.registry import stored
from uaftc_lib.locations import PAPER_NAMES, published
from uaftc_lib.plots.figure import render
from uaftc_lib.plots.theme import INK, series_style
from uaftc_lib.settings import PAPER_MODELS

LINEAR = 2.0  # points
TICKS = (-40, -10, -2, -1, 0, 1, 2, 10, 40)


def stored_runs(name: str) -> pd.DataFrame:
    """The runs of a stored sweep, by λ (they stand there as they were finished); accuracy is that on the test data."""
    runs = stored(name).rename(columns={"test_accuracy": "accuracy"})
    return runs.sort_values("lam", kind="stable", ignore_index=True)


def printed_accuracies() -> pd.DataFrame:
    """The published Table 2: dataset and model (under our names), lam, accuracy (a fraction)."""
    printed = published("table2").rename(columns={"scaling_factor": "lam"})
    printed["accuracy"] = printed.pop("test_accuracy_percent") / 100
    printed["dataset"] = printed["dataset"].map({name: key for key, name in PAPER_NAMES.items()})
    return printed


def complete_columns(runs: pd.DataFrame) -> dict[str, list[str]]:
    """Data set -> its models of which every λ has been made."""
    complete = {key for key, rows in runs.groupby(["dataset", "model"]) if is_complete(rows)}
    blocks = {key: [name for name in PAPER_MODELS if (key, name) in complete] for key in PAPER_NAMES}
    return {key: models for key, models in blocks.items() if models}


def beside_print(runs: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """A row a cell, in per cent: mean, low, high (the interval of the mean), seeds, published, difference, missed.

    ``least``, ``most``: ours − print, for one further run of ours (95 %); ``missed``: zero lies outside.
    """
    said = printed.set_index(["dataset", "model", "lam"]).accuracy
    rows = []
    for (key, name, value), group in runs.groupby(["dataset", "model", "lam"]):
        mean, low, high, n = rules.interval(group.accuracy.to_numpy())
        target = said[key, name, value]
        further = rules.further_run(group.accuracy.to_numpy())
        rows.append({
            "dataset": key, "model": name, "lam": value, "mean": 100 * mean, "low": 100 * low, "high": 100 * high,
            "seeds": n, "published": 100 * target, "difference": 100 * (mean - target),
            "least": 100 * (further.low - target), "most": 100 * (further.high - target),
            "missed": not further.low <= target <= further.high,
        })  # fmt: skip
    return pd.DataFrame(rows)


def other_models_on_sst(learner: str) -> Cases:
    """SST at λ = 10 by another optimizer or with another encoder: both scores, in the same form."""

    def of(tables: Tables) -> Iterator[tuple[str, pd.DataFrame]]:
        rows = tables("side_scores", learner=learner)
        if len(rows):
            attention, polarity = (by_type(rows[rows.scores == name], name) for name in ("attention", "polarity"))
            rows = attention.merge(polarity, on="seed")
        yield f"SST, {learner}", rows

    return of


reads(
    "adam_is_similar",
    several(rows_of("Data I", "optimizers_whole", optimizer="adam", lam=10.0), other_models_on_sst("Adam")),
    lambda rows: least(lead(rows), opposed(rows, "polarity")),
)


def ours_less_print(cells: pd.DataFrame, title: str) -> plots.Figure:
    """The cells of a data set (:func:`beside_print`): ours − published in points, with prediction intervals, by λ.

    The scale is linear within ±:data:`LINEAR` points and logarithmic beyond: at the smallest λ runs differ by tens.
    """
    names, places = [name for name in PAPER_MODELS if name in set(cells.model)], sorted(cells.lam.unique())

    def draw(axes: Axes) -> list:
        axes.axhline(0, color=INK, linewidth=0.8)
        handles = []
        for i, name in enumerate(names):
            rows, (color, marker, _) = cells[cells.model == name], series_style(name, names)
            at = np.array([places.index(value) for value in rows.lam]) + 0.18 * (i - (len(names) - 1) / 2)
            off = [rows.difference - rows.least, rows.most - rows.difference]
            handles.append(
                axes.errorbar(at, rows.difference, off, fmt=marker, color=color, markersize=4,
                              elinewidth=1.2, label=name)
            )  # fmt: skip
        axes.set_yscale("symlog", linthresh=LINEAR)
        axes.set_yticks(TICKS, [f"{tick:+g}".replace("-", "−") if tick else "0" for tick in TICKS], minor=False)
        axes.set_xticks(range(len(places)), ["10⁴" if value == 1e4 else f"{value:g}" for value in places])
        return handles

    outside = int(cells.missed.sum())
    alt = f"{title}: {len(cells)} cells by λ and model; the interval of {outside} does not reach zero."
    labels = {"x_label": "scaling factor λ", "y_label": "ours − published, points", "title": title}
    return render(draw, cells, f"{title}: ours − published.", alt, **labels)
