"""Chapter 21: a phase diagram: where in a plane of two settings which outcome was predicted, and which was measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator

from uaftc_lib.plots.figure import Figure, render, require
from uaftc_lib.plots.summaries import titled
from uaftc_lib.plots.theme import INK, OTHERS, WIDE, series_style

BAND = OTHERS[0]


def phase_diagram(
    data: pd.DataFrame,
    x: str,
    y: str,
    group: str,
    band: pd.DataFrame,
    caption: str,
    *,
    outcomes: list[str] | None = None,
    ticks: tuple[float, ...] = (),
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    band_label: str = "predicted",
) -> Figure:
    """Outcomes as markers over the predicted band; x logarithmic, y logarithmic to both sides of a linear middle.

    Parameters
    ----------
    data : DataFrame
        A row for each run: the settings ``x`` and ``y``, the outcome ``group``, and "seed": runs of equal settings
        stand side by side.
    band : DataFrame
        Columns ``y``, "low", "high" and "seed": the two ends of each run's band, drawn as lines; between their
        geometric means it is shaded.
    outcomes : list of str, optional
        All of them in order, the wanted one first; by default by appearance.
    """
    require(data, x, y, group, "seed")
    require(band, y, "low", "high", "seed")
    names = outcomes or list(dict.fromkeys(data[group]))
    looks = {name: series_style(name, names) for name in names}
    runs = sorted(data["seed"].unique())
    steps = np.diff(np.log10(np.sort(data[x].unique())))
    aside = {r: 10 ** (0.55 * steps.min() * (i - (len(runs) - 1) / 2) / len(runs)) for i, r in enumerate(runs)}
    left, right = data[x].min() / 1.5, data[x].max() * 1.5

    def draw(axes: Axes) -> list:
        middle = np.exp(np.log(band[["low", "high"]]).assign(at=band[y]).groupby("at").mean())
        axes.fill_betweenx(
            middle.index, middle["low"], middle["high"].clip(upper=right), color=BAND, alpha=0.13, linewidth=0
        )
        for _, own in band.groupby("seed"):
            for end, style in (("low", (0, (4, 2))), ("high", "-")):
                axes.plot(own[end].clip(upper=2 * right), own[y], color=BAND, linewidth=0.9, linestyle=style, alpha=0.8)
        for name, (color, marker, _) in looks.items():
            rows = data[data[group] == name]
            axes.scatter(
                rows[x] * rows["seed"].map(aside), rows[y], s=15, marker=marker, color=color,
                linewidths=0, alpha=0.95,
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=0.03, linscale=0.6)
        axes.set(xlim=(left, right), ylim=(-1.15, 1.15), xlabel=x_label or x, ylabel=y_label or y, title=title)
        if ticks:
            axes.yaxis.set_major_locator(FixedLocator(ticks))
            axes.set_yticks(ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])
            axes.yaxis.set_minor_locator(NullLocator())
        decades = [value for value in 10.0 ** np.arange(-3, 6) if left <= value <= right]
        axes.set_xticks(decades, [f"{value:g}" for value in decades])
        axes.grid(False)
        axes.axhline(0, color=INK, linewidth=0.5, alpha=0.5)
        marks = [
            Line2D([], [], linestyle="", marker=marker, color=color, label=name)
            for name, (color, marker, _) in looks.items()
        ]
        ends = [
            Line2D([], [], color=BAND, linewidth=0.9, linestyle=(0, (4, 2)), label="lower end"),
            Line2D([], [], color=BAND, linewidth=0.9, label="upper end"),
        ]
        return [*marks, Patch(facecolor=BAND, alpha=0.2, label=band_label), *ends]

    counts = "; ".join(f"{name}: {(data[group] == name).sum()} runs" for name in names)
    axes_names = f"{x_label or x} and {y_label or y}"
    alt = f"Phase diagram{titled(title)}: outcomes by {axes_names} over the band that was predicted. {counts}."
    return render(draw, data[[x, y, group, "seed"]], caption, alt, (WIDE[0], 4.2))
