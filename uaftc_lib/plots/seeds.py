"""Figures in which a row is a run: curves with bands, bars with intervals, accuracy against λ."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from uaftc_lib.plots.figure import Figure, render, require
from uaftc_lib.plots.summaries import number, summarise, titled
from uaftc_lib.plots.theme import (
    INK,
    PANEL,
    PUBLISHED,
    WIDE,
    color_of,
    dash_of,
    groups,
    legend_below,
    marker_of,
    power,
    published_handle,
)

LETTERS = 10  # of tick labels that stand beside each other, an inch
SLANTED = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}


def curves(
    data: pd.DataFrame,
    x: str,
    y: str,
    group: str,
    caption: str,
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    band: str = "range",
    published: pd.DataFrame | None = None,
    log_x: bool = False,
    log_y: bool = False,
    percent: bool = False,
    size: tuple[float, float] = PANEL,
) -> Figure:
    """The mean over rows of equal ``x`` and ``group`` (the seeds), with a band.

    ``band``: "range" from the least to the greatest, "interval" the 95 % t interval of the mean.
    ``published``: the same columns x, y, group.
    """
    require(data, x, y, group)
    if band not in ("range", "interval"):
        raise ValueError(f'band must be "range" or "interval", got {band!r}')
    scale = 100 if percent else 1
    names = groups(data[group])
    summary = summarise(data, [group, x], y).sort_values(x)
    low, high = ("least", "greatest") if band == "range" else ("low", "high")

    def draw(axes: Axes) -> None:
        handles = []
        for i, name in enumerate(names):
            rows, style = summary[summary[group] == name], dash_of(name, names)
            few = len(rows) <= 12
            if (rows[high] > rows[low]).any():  # of one run there is no band
                axes.fill_between(
                    rows[x], scale * rows[low], scale * rows[high], color=color_of(name, names),
                    alpha=0.25, linewidth=0, gid=f"series{i}",
                )  # fmt: skip
            handles += axes.plot(
                rows[x],
                scale * rows["mean"],
                color=color_of(name, names),
                linestyle=style,
                marker=marker_of(name, names) if few else "",
                label=name,
                gid=f"series{i}",
            )
            if published is not None:
                points = published[published[group] == name]
                axes.plot(
                    points[x],
                    scale * points[y],
                    color=color_of(name, names),
                    linestyle=PUBLISHED,
                    linewidth=1,
                    marker="D",
                    markerfacecolor="none",
                    gid=f"series{i}",
                )
        if published is not None:
            handles.append(published_handle())
        if log_x:
            axes.set_xscale("log")
            places = sorted(summary[x].unique())
            if len(places) <= 12:
                axes.set_xticks(places, sparse_labels(places))
                axes.xaxis.set_minor_locator(NullLocator())
        if log_y:
            axes.set_yscale("log")
        elif axes.get_ylim()[0] < 0 < axes.get_ylim()[1]:
            axes.axhline(0, color=INK, linewidth=0.7)
        legend_below(axes, handles)
        axes.set(xlabel=x_label or x, ylabel=y_label or y, title=title)

    parts = []
    for name in names:
        rows = summary[summary[group] == name]
        first, last = rows.iloc[0], rows.iloc[-1]
        parts.append(
            f"{name}: from {number(scale * first['mean'])} at {number(first[x])} to "
            f"{number(scale * last['mean'])} at {number(last[x])}"
            + (f" (band {number(scale * last[low])} to {number(scale * last[high])})" if last["n"] > 1 else "")
        )
        if published is not None and (published[group] == name).any():
            parts[-1] += f", published {number(scale * published[published[group] == name][y].iloc[-1])}"
    alt = f"Curves{titled(title)}: {y_label or y} against {x_label or x}. {'; '.join(parts)}."
    return render(draw, summary, caption, alt, size)


def accuracy_against_lam(
    data: pd.DataFrame,
    caption: str,
    *,
    group: str = "model",
    published: pd.DataFrame | None = None,
    title: str = "",
    size: tuple[float, float] = WIDE,
) -> Figure:
    """Accuracy (fractions; drawn in per cent) against λ: columns "lam", "accuracy", ``group``, a row a seed.

    Mean and 95 % interval over seeds; ``published``: the same columns.
    """
    return curves(
        data, "lam", "accuracy", group, caption, title=title, x_label="scaling factor λ",
        y_label="accuracy, %", band="interval", published=published, log_x=True, percent=True, size=size,
    )  # fmt: skip


def bars(
    data: pd.DataFrame,
    x: str,
    y: str,
    caption: str,
    *,
    group: str | None = None,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    log_y: bool = False,
    published: pd.DataFrame | None = None,
    size: tuple[float, float] = PANEL,
) -> Figure:
    """Means as bars with 95 % t intervals, rows (seeds) as dots where they are few.

    ``published``: columns x, y (and group).
    """
    require(data, x, y, *([group] if group else []))
    data = data if group else data.assign(**{"": "ours"})
    group = group or ""
    names, places = groups(data[group]), groups(data[x])
    summary = summarise(data, [group, x], y)
    width = 0.8 / len(names)

    def centre(place: object, name: str) -> float:
        return places.index(place) + (names.index(name) - (len(names) - 1) / 2) * width

    def draw(axes: Axes) -> None:
        handles = []
        for name in names:
            rows, color = summary[summary[group] == name], color_of(name, names)
            at = np.array([centre(place, name) for place in rows[x]])
            handles.append(axes.bar(at, rows["mean"], 0.85 * width, color=color, alpha=0.55, label=name))
            seeds = data[data[group] == name]
            single = len(seeds) == len(rows)  # one number a bar: there is nothing to spread
            if not single and len(seeds) <= 30 * len(places):
                spread = 0.25 * width * np.linspace(-1, 1, 7)[np.arange(len(seeds)) % 7]
                axes.plot([centre(p, name) for p in seeds[x]] + spread, seeds[y], ".", color=color, markersize=3)
            if not single:
                axes.errorbar(
                    at, rows["mean"], [rows["mean"] - rows["low"], rows["high"] - rows["mean"]],
                    fmt="none", ecolor=INK, elinewidth=1.2, capsize=2.5,
                )  # fmt: skip
            if published is not None:
                known = published if group not in published else published[published[group] == name]
                at = [centre(place, name) for place in known[x]]
                axes.plot(at, known[y], "D", color=INK, markerfacecolor="none", markersize=5)
        if published is not None:
            handles.append(published_handle(linestyle=""))
        if log_y:
            axes.set_yscale("log")
        else:
            axes.axhline(0, color=INK, linewidth=0.7)
        crowded = sum(len(str(place)) + 2 for place in places) > LETTERS * size[0]
        axes.set_xticks(range(len(places)), places, **(SLANTED if crowded else {}))
        axes.grid(False, axis="x")
        legend_below(axes, handles if len(handles) > 1 else [])
        axes.set(xlabel=x_label, ylabel=y_label or y, title=title)

    parts = [
        f"{v[group]} {v[x]}: {number(v['mean'])}"
        + f" (95 % interval {number(v['low'])} to {number(v['high'])})" * (len(data) > len(summary))
        for _, v in summary.iterrows()
    ]
    alt = f"Bars{titled(title)} of {y_label or y}. {'; '.join(parts)}."
    if published is not None:
        alt += " Published: " + "; ".join(f"{v[x]} {number(v[y])}" for _, v in published.iterrows()) + "."
    drawn = [name for name in dict.fromkeys(("seed", x, group, y)) if name and name in data]
    return render(draw, data[drawn], caption, alt, size)


def sparse_labels(places: list[float]) -> list[str]:
    """Tick labels of a logarithmic axis, fractions in two digits; those that would touch on a phone are left empty."""
    labels, last = [], 0.0
    for place in places:
        apart = place >= 8 * last
        told = place if place == int(place) else float(f"{place:.2g}")
        labels.append(power(told) if apart else "")
        last = place if apart else last
    return labels
