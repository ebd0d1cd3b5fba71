"""Figures in which a row is a run: curves with bands, bars with intervals, accuracy against λ."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator
from pandas import DataFrame

from uaftc_lib.plots.figure import Figure, published_entry, published_values, render, require
from uaftc_lib.plots.summaries import itemised, number, summarise, titled
from uaftc_lib.plots.theme import HOLLOW, INK, LETTERS, PANEL, groups, looks_of, name_places, power


def curves(
    data: DataFrame,
    x: str,
    y: str,
    group: str,
    caption: str,
    *,
    band: str = "range",
    percent: bool = False,
    published: DataFrame | None = None,
    **options,
) -> Figure:
    """The mean over rows of equal ``x`` and ``group`` (the seeds), with a band.

    ``band``: "range" from the least to the greatest, "interval" the 95 % t interval of the mean.
    ``published``: the same columns x, y, group; what is of no group of the data is drawn in ink.
    """
    require(data, x, y, group)
    options = {"x_label": x, "y_label": y} | options
    if band not in ("range", "interval"):
        raise ValueError(f'band must be "range" or "interval", got {band!r}')
    summary = summarise(data, [group, x], y).sort_values(x)
    low, high = ("least", "greatest") if band == "range" else ("low", "high")
    scale, looks = 100 if percent else 1, looks_of(data[group])
    shown = summary.assign(mean=scale * summary["mean"], low=scale * summary[low], high=scale * summary[high])
    if percent and data[y].between(0, 1).all():  # of shares: no band leaves 0 to 100
        shown[["low", "high"]] = shown[["low", "high"]].clip(0, 100)
    printed = published_values(published, x, y, group).assign(said=lambda printed: scale * printed[y])

    def draw(axes: Axes) -> list:
        handles = []
        for i, (name, look) in enumerate(looks.items()):
            rows = shown[shown[group] == name]
            own = {"color": look.color, "gid": f"series{i}"}
            if (rows["high"] > rows["low"]).any():  # of one run there is no band
                axes.fill_between(rows[x], rows["low"], rows["high"], alpha=0.25, linewidth=0, **own)
            marker = look.marker if len(rows) <= 12 else ""
            handles += axes.plot(rows[x], rows["mean"], linestyle=look.dash, marker=marker, label=name, **own)
        for name, points in printed.groupby(group):  # of no series in particular: in ink
            color, own = (looks[name].color, f"series{[*looks].index(name)}") if name in looks else (INK, None)
            axes.plot(points[x], points["said"], color=color, gid=own, **HOLLOW)
        places = sorted(summary[x].unique())
        if options.get("log_x") and len(places) <= 12:
            axes.set_xticks(places, sparse_labels(places, LETTERS * (axes.figure.get_figwidth() - 0.7)))
            axes.xaxis.set_minor_locator(NullLocator())
        if not options.get("log_y") and summary[low].min() < 0 < summary[high].max():
            axes.axhline(0, color=INK, linewidth=0.7)
        return handles + published_entry(printed)

    parts = []
    for name in looks:
        rows = shown[shown[group] == name]
        first, last = rows.iloc[0], rows.iloc[-1]
        begin, end = (f"{number(one['mean'])} at {number(one[x])}" for one in (first, last))
        part = f"{name}: from {begin} to {end}"
        part += f" (band {number(last['low'])} to {number(last['high'])})" if last["n"] > 1 else ""
        parts.append(part + "".join(f", published {number(v)}" for v in printed[printed[group] == name]["said"][-1:]))
    alt = f"Curves{titled(**options)}: {options['y_label']} against {options['x_label']}.{itemised(parts)}"
    others = printed[~printed[group].isin(looks)]
    alt += itemised((f"{number(v['said'])} at {number(v[x])}" for _, v in others.iterrows()), " Published:")
    return render(draw, summary, caption, alt, **options)


def bars(
    data: DataFrame, x: str, y: str, caption: str, *, group: str = "", published: DataFrame | None = None, **options
) -> Figure:
    """Means as bars with 95 % t intervals, rows (seeds) as dots where they are few.

    ``published``: columns x, y (and group).
    """
    require(data, x, y, *([group] if group else []))
    options = {"y_label": y, "size": PANEL} | options
    printed = published_values(published, x, y)
    data = data if group else data.assign(**{"": "ours"})
    looks, places = looks_of(data[group]), groups(data[x])
    summary = summarise(data, [group, x], y)
    width = 0.8 / max(len(looks), 1)
    here = summary.assign(k=summary[group].map([*looks].index)).sort_values("k").groupby(x, observed=True)["k"]
    aside = width * (here.cumcount() - (here.transform("size") - 1) / 2)  # those of a place stand in its middle

    def draw(axes: Axes) -> list:
        handles = []
        for name, look in looks.items():
            rows, seeds = summary[summary[group] == name], data[data[group] == name]
            points = printed[printed[group] == name] if group in printed else printed
            own = dict(zip(rows[x], aside[rows.index]))
            at, at_seed, at_point = (
                np.array([places.index(place) + own.get(place, 0) for place in of[x]]) for of in (rows, seeds, points)
            )
            color = {"color": (look.color, 0.4), "edgecolor": look.color}  # pale, so that what lies on it is seen
            handles.append(axes.bar(at, rows["mean"], 0.85 * width, label=name, **color))
            if len(seeds) > len(rows):  # else one number a bar: there is nothing to spread
                if len(seeds) <= 30 * len(places):
                    spread = 0.25 * width * np.linspace(-1, 1, 7)[np.arange(len(seeds)) % 7]
                    axes.plot(at_seed + spread, seeds[y], ".", color=look.color, markersize=3)
                off = [rows["mean"] - rows["low"], rows["high"] - rows["mean"]]
                axes.errorbar(at, rows["mean"], off, fmt="none", ecolor=INK, elinewidth=1.2, capsize=2.5)
            if len(points):
                axes.plot(at_point, points[y], color=INK, markersize=5, **HOLLOW | {"linestyle": ""})
        if not options.get("log_y"):
            axes.axhline(0, color=INK, linewidth=0.7)
        name_places(axes, places)
        handles += published_entry(printed, linestyle="")
        return handles if len(handles) > 1 else []

    interval = " (95 % interval {low} to {high})" if len(data) > len(summary) else ""
    told = summary.assign(**summary[["mean", "low", "high"]].map(number)).to_dict("records")
    parts = (f"{v[group]} {v[x]}: {v['mean']}{interval.format_map(v)}" for v in told)
    alt = f"Bars{titled(**options)} of {options['y_label']}.{itemised(parts)}"
    alt += itemised((f"{v[x]} {number(v[y])}" for _, v in printed.iterrows()), " Published:")
    drawn = [name for name in dict.fromkeys(("seed", x, group, y)) if name and name in data]
    return render(draw, data[drawn], caption, alt, **options)


def sparse_labels(places: list[float], room: float = 26.0) -> list[str]:
    """Tick labels of a logarithmic axis of ``room`` letters, its ends first; those that would touch are left empty."""
    names = [power(float(f"{place:.2g}") if place % 1 else place) for place in places]
    at, kept = room * np.log(places) / (np.log(places[-1] / places[0]) or 1), []
    for i in (0, len(places) - 1, *range(1, len(places) - 1)):
        if all(abs(at[i] - at[k]) >= (len(names[i]) + len(names[k]) + 1) / 2 for k in kept):
            kept.append(i)
    return [name if i in kept else "" for i, name in enumerate(names)]
