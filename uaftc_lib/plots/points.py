"""Figures in which a point is a token: scatter and box plots."""

from __future__ import annotations

from functools import partial

import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from uaftc_lib.plots.figure import Figure, published_entry, published_values, render, require
from uaftc_lib.plots.summaries import distribution, itemised, middle, number, titled
from uaftc_lib.plots.theme import HOLLOW, INK, PUBLISHED, Look, looks_of, name_places

RASTER_ABOVE = 300  # points
BOX = ("whislo", "q1", "med", "q3", "whishi")  # of Axes.bxp
PRINTED = ("whisker_low", "q1", "median", "q3", "whisker_high")
DEEPEST = 0.6  # of a colour over the page, light or dark, on which the ink can still be read
STORED = ("p5", "p25", "median", "p75", "p95")


def scatter(
    data: pd.DataFrame,
    x: str,
    y: str,
    group: str,
    caption: str,
    *,
    diagonal: bool = False,
    upright: bool = False,
    raster: bool = True,
    joined: str = "",
    published: pd.DataFrame | None = None,
    **options,
) -> Figure:
    """A point for each row, by token type; with ``diagonal`` the line where y is x, with ``upright`` that where x is 0.

    ``joined``: a column; a line joins the points of a group in the order of rows, and its ends bear their values of it.
    ``raster``: clouds of many points as an image, which does not grow with them; else each is drawn.
    ``published``: columns ``group``, "low", "high"; these ranges stand at the right edge.
    """
    require(data, x, y, group)
    options = {"x_label": x, "y_label": y} | options
    ranges = published_values(published, group, "low", "high").to_dict("records")
    looks, cloud = looks_of(data[group]), len(data) > RASTER_ABOVE
    style = {"s": 9, "alpha": 0.6, "rasterized": raster} if cloud else {"s": 18, "alpha": 0.85}
    # A cloud is one bitmap: nothing of it can stand out alone.
    parts = {name: None if cloud else f"series{i}" for i, name in enumerate(looks)}

    def draw(axes: Axes) -> list:
        # The most numerous group first, so that the others lie on top of it.
        for name in sorted(looks, key=lambda name: -(data[group] == name).sum()):
            rows, (color, marker, _) = data[data[group] == name], looks[name]
            axes.scatter(rows[x], rows[y], color=color, marker=marker, linewidths=0, gid=parts[name], **style)
            if joined:
                axes.plot(rows[x], rows[y], color=color, linewidth=0.9, gid=parts[name])
                for _, end in rows.iloc[[0, -1]].iterrows():
                    axes.annotate(f"{end[joined]:g}", (end[x], end[y]), (3, 3), textcoords="offset points", color=color)
        axes.axhline(0, color=INK, linewidth=0.7)
        if upright:
            axes.axvline(0, color=INK, linewidth=0.7)
        if diagonal:
            axes.axline((0, 0), slope=1, color=INK, linewidth=0.7, linestyle=(0, (4, 2)))
        edge = {"transform": axes.get_yaxis_transform(), "clip_on": False}
        for i, v in enumerate(ranges):
            color = looks[v[group]].color if v[group] in looks else INK
            axes.plot([1.03 + 0.04 * i] * 2, [v["low"], v["high"]], color=color, **edge, **HOLLOW)
        mark = partial(Line2D, [], [], linestyle="")
        handles = [mark(color=look.color, marker=look.marker, label=n, gid=parts[n]) for n, look in looks.items()]
        return handles + published_entry(ranges)

    alt = f"Scatter plot{titled(**options)}: {options['y_label']} against {options['x_label']}."
    known = (f"{v[group]} {number(v['low'])} to {number(v['high'])}" for v in ranges)
    alt += distribution(data, y, group) + itemised(known, " Published ranges:")
    return render(draw, data.filter(items=["word", x, y, group]), caption, alt, **options)


def boxes(
    data: pd.DataFrame, y: str, group: str, caption: str, *, published: pd.DataFrame | None = None, **options
) -> Figure:
    """Box plots (whiskers at 1.5 times the middle half).

    ``published``: columns ``group``, "q1", "median", "q3" and, where known, "whisker_low", "whisker_high".
    """
    require(data, y, group)
    options = {"y_label": y} | options
    printed = published_values(published, group, "q1", "median", "q3").set_index(group).reindex(columns=PRINTED)
    printed = printed.bfill(axis=1).ffill(axis=1).set_axis(BOX, axis=1)  # a whisker that is not known ends at its box
    looks = looks_of(data[group])
    aside, width = (0.22, 0.38) if len(printed) else (0, 0.6)
    places = data[group].map({name: place - aside for place, name in enumerate(looks)})
    color = {
        "hue": data[group],
        "hue_order": [*looks],
        "palette": {name: look.color for name, look in looks.items()},
        "saturation": 1,
    }
    line = {"linecolor": INK, "linewidth": 0.9, "width": width, "native_scale": True, "dodge": False}

    def draw(axes: Axes) -> list | None:
        seaborn.boxplot(x=places, y=data[y], **color, **line, fliersize=3, legend=False, ax=axes)
        axes.set_xlabel(options.get("x_label", ""))
        for box, look in zip(axes.containers, looks.values()):
            for outside in box.fliers:
                outside.set(marker=look.marker, alpha=0.6, color=look.color, mfc=look.color, mec=look.color)
        return beside_published(axes, looks, printed, aside, width)

    alt = f"Box plots{titled(**options)} of {options['y_label']}.{distribution(data, y, group)}"
    alt += itemised((f"{name} median {number(value)}" for name, value in printed["med"].items()), " Published:")
    return render(draw, data.filter(items=["word", y, group]), caption, alt, **options)


def quantiles(
    data: pd.DataFrame, group: str, caption: str, *, published: pd.DataFrame | None = None, **options
) -> Figure:
    """Boxes from stored quantiles (:data:`STORED`), a row a seed and group: their means, dots each seed's median."""
    require(data, group, *STORED)
    options = {"y_label": ""} | options
    printed = published_values(published, group, *STORED).set_index(group)[[*STORED]].set_axis(BOX, axis=1)
    looks, seeds = looks_of(data[group]), data.groupby(group)
    ours = seeds[[*STORED]].mean().loc[[*looks]].set_axis(BOX, axis=1)
    dots = seeds["median"].agg(lambda medians: medians.tolist() if len(medians) > 1 else [])

    def draw(axes: Axes) -> list:
        axes.axhline(0, color=INK, linewidth=0.7)
        return draw_boxes(axes, looks, ours.assign(fliers=dots), printed, Look(INK, ".", ""))

    alt = f"Boxes{titled(**options)} of {options['y_label']}."
    for rows, head in ((ours, ""), (printed, " Published:")):
        alt += itemised((f"{name}: {middle(v.q1, v.med, v.q3)}" for name, v in rows.iterrows()), head)
    return render(draw, data[[group, *STORED]], caption, alt, **options)


def draw_boxes(axes: Axes, looks: dict, ours: pd.DataFrame, printed: pd.DataFrame, dot: Look) -> list | None:
    """Boxes by the columns of ``Axes.bxp``, filled, and published ones."""
    aside, width = (0.22, 0.38) if len(printed) else (0, 0.6)
    drawn = hollow_boxes(axes, ours, [place - aside for place in range(len(ours))], width, "-")
    for box, outside, look in zip(drawn["boxes"], drawn["fliers"], looks.values()):
        box.set_facecolor(look.color)
        outside.set(marker=dot.marker, markersize=3, alpha=0.6, color=dot.color, mfc=dot.color, mec=dot.color)
    return beside_published(axes, looks, printed, aside, width)


def hollow_boxes(axes: Axes, rows: pd.DataFrame, places: list[float], width: float, dash: str | tuple) -> dict:
    """Boxes by the columns of ``Axes.bxp``, without a filling."""
    stroke = {"linestyle": dash, "linewidth": 0.9}
    line = dict.fromkeys(("whiskerprops", "capprops", "medianprops"), stroke | {"color": INK})
    return axes.bxp(
        rows.to_dict("records"), places, widths=width, **line,
        boxprops=stroke | {"facecolor": "none", "edgecolor": INK}, patch_artist=True, manage_ticks=False,
        showfliers="fliers" in rows,
    )  # fmt: skip


def beside_published(axes: Axes, looks: dict, printed: pd.DataFrame, aside: float, width: float) -> list | None:
    """The published boxes, hollow and dashed beside ours; names below; the legend's entries, if it needs any."""
    known = printed[printed.index.isin([*looks])]
    hollow_boxes(axes, known, [[*looks].index(name) + aside for name in known.index], width, PUBLISHED)
    axes.set_xlim(-0.6, len(looks) - 0.4)
    name_places(axes, [*looks])
    entry = published_entry(printed, marker="")
    return entry and [Patch(facecolor=INK, alpha=0.5, label="ours"), *entry]
