"""Figures in which a point is a token: scatter, box plots, a sentence as a heat map."""

from __future__ import annotations

import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from uaftc_lib.plots.figure import Figure, render, require
from uaftc_lib.plots.summaries import distribution, number, titled
from uaftc_lib.plots.theme import (
    COLORS,
    INK,
    PANEL,
    PUBLISHED,
    RASTER_ABOVE,
    color_of,
    groups,
    legend_below,
    marker_of,
    published_handle,
)


def scatter(
    data: pd.DataFrame,
    x: str,
    y: str,
    group: str,
    caption: str,
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    diagonal: bool = False,
    raster: bool = True,
    published: pd.DataFrame | None = None,
    size: tuple[float, float] = PANEL,
) -> Figure:
    """A point for each row, by token type; with ``diagonal`` the line on which y is x.

    ``raster``: clouds of many points as an image, which does not grow with them; else each is drawn.

    ``published``: columns ``group``, "low", "high"; these ranges stand at the right edge.

    Raises
    ------
    ValueError
        For an empty caption, an empty frame or a column that is not there (so do all figure types).
    """
    require(data, x, y, group)
    if published is not None:
        require(published, group, "low", "high")
    names = groups(data[group])
    # The most numerous group first, so that the others lie on top of it.
    order = sorted(names, key=lambda name: -(data[group] == name).sum())

    def draw(axes: Axes) -> None:
        cloud = len(data) > RASTER_ABOVE
        # A cloud is one bitmap: nothing of it can stand out alone.
        parts = {} if cloud else {name: f"series{i}" for i, name in enumerate(names)}
        for name in order:
            rows = data[data[group] == name]
            axes.scatter(
                rows[x],
                rows[y],
                gid=parts.get(name),
                s=9 if cloud else 18,
                marker=marker_of(name, names),
                color=color_of(name, names),
                alpha=0.6 if cloud else 0.85,
                linewidths=0,
                rasterized=raster and cloud,
            )
        axes.axhline(0, color=INK, linewidth=0.7)
        if diagonal:
            axes.axline((0, 0), slope=1, color=INK, linewidth=0.7, linestyle=(0, (4, 2)))
        if log_x:
            axes.set_xscale("log")
        handles = [
            Line2D(
                [], [], linestyle="", marker=marker_of(n, names), color=color_of(n, names), label=n, gid=parts.get(n)
            )
            for n in names
        ]
        if published is not None:
            for i, (_, values) in enumerate(published.iterrows()):
                axes.plot(
                    [1.03 + 0.04 * i] * 2,
                    [values["low"], values["high"]],
                    color=color_of(values[group], names) if values[group] in names else INK,
                    transform=axes.get_yaxis_transform(),
                    clip_on=False,
                    linestyle=PUBLISHED,
                    marker="D",
                    markerfacecolor="none",
                    linewidth=1.1,
                )
            handles.append(published_handle())
        legend_below(axes, handles)
        axes.set(xlabel=x_label or x, ylabel=y_label or y, title=title)

    alt = f"Scatter plot{titled(title)}: {y_label or y} against {x_label or x}. {distribution(data, y, group)}"
    if published is not None:
        ranges = (f"{v[group]} {number(v['low'])} to {number(v['high'])}" for _, v in published.iterrows())
        alt += f" Published ranges: {'; '.join(ranges)}."
    return render(draw, data[named(data, x, y, group)], caption, alt, size)


def boxes(
    data: pd.DataFrame,
    y: str,
    group: str,
    caption: str,
    *,
    title: str = "",
    y_label: str = "",
    published: pd.DataFrame | None = None,
    size: tuple[float, float] = PANEL,
) -> Figure:
    """Box plots (whiskers at 1.5 times the middle half, as seaborn draws them).

    ``published``: columns ``group``, "q1", "median", "q3" and, where known, "whisker_low", "whisker_high".
    """
    require(data, y, group)
    if published is not None:
        require(published, group, "q1", "median", "q3")
    names = groups(data[group])

    def draw(axes: Axes) -> None:
        width = 0.38 if published is not None else 0.6
        centres = {name: i - (0.22 if published is not None else 0) for i, name in enumerate(names)}
        shown = data.assign(position=data[group].map(centres))
        for name in names:
            color = color_of(name, names)
            outliers = {"marker": marker_of(name, names), "markersize": 3, "alpha": 0.6, "markeredgecolor": color}
            seaborn.boxplot(
                shown[shown[group] == name], x="position", y=y, ax=axes, native_scale=True, width=width,
                color=color, saturation=1, linecolor=INK, linewidth=0.9, flierprops=outliers,
            )  # fmt: skip
        if published is not None:
            for _, v in published.iterrows():
                box = {"med": v["median"], "q1": v["q1"], "q3": v["q3"]}
                for end, whisker, edge in (("whislo", "whisker_low", "q1"), ("whishi", "whisker_high", "q3")):
                    box[end] = v[whisker] if pd.notna(v.get(whisker)) else v[edge]
                draw_box(axes, box, names.index(v[group]) + 0.22, width)
        finish_boxes(axes, names, published is not None, y_label or y, title)

    alt = f"Box plots{titled(title)} of {y_label or y}. {distribution(data, y, group)}"
    if published is not None:
        known = (f"{v[group]} median {number(v['median'])}" for _, v in published.iterrows())
        alt += f" Published: {'; '.join(known)}."
    return render(draw, data[named(data, y, group)], caption, alt, size)


def quantiles(
    data: pd.DataFrame,
    group: str,
    caption: str,
    *,
    published: pd.DataFrame | None = None,
    title: str = "",
    y_label: str = "",
    size: tuple[float, float] = PANEL,
) -> Figure:
    """Boxes from stored quantiles, a row a start and group: columns "p5", "p25", "median", "p75", "p95".

    Box and whiskers (at 5 and 95 %) are means over the starts, dots the starts' medians. ``published``: the
    same columns.
    """
    columns = dict(zip(("whislo", "q1", "med", "q3", "whishi"), ("p5", "p25", "median", "p75", "p95")))
    require(data, group, *columns.values())
    if published is not None:
        require(published, group, *columns.values())
    names = groups(data[group])
    means = data.groupby(group)[list(columns.values())].mean()
    aside = 0 if published is None else 0.22

    def draw(axes: Axes) -> None:
        width = 0.6 if published is None else 0.38
        for i, name in enumerate(names):
            box = {key: means[column][name] for key, column in columns.items()}
            draw_box(axes, box, i - aside, width, color_of(name, names))
            medians = data.loc[data[group] == name, "median"]
            if len(medians) > 1:
                axes.plot([i - aside] * len(medians), medians, ".", color=INK, markersize=3, alpha=0.6)
        if published is not None:
            for _, v in published[published[group].isin(names)].iterrows():
                box = {key: v[column] for key, column in columns.items()}
                draw_box(axes, box, names.index(v[group]) + aside, width)
        axes.axhline(0, color=INK, linewidth=0.7)
        finish_boxes(axes, names, published is not None, y_label, title)

    def told(values: pd.Series) -> str:
        low, median, high = (number(values[name]) for name in ("p25", "median", "p75"))
        return f"median {median}, middle half {low} to {high}"

    alt = f"Boxes{titled(title)} of {y_label}. " + "; ".join(f"{name}: {told(means.loc[name])}" for name in names) + "."
    if published is not None:
        alt += " Published: " + "; ".join(f"{v[group]}: {told(v)}" for _, v in published.iterrows()) + "."
    return render(draw, data[[group, *columns.values()]], caption, alt, size)


def draw_box(axes: Axes, box: dict[str, float], at: float, width: float, color: str = "") -> None:
    """One box of known quantiles: filled with a colour, or hollow and dashed, as all that is published."""
    dash = "-" if color else PUBLISHED
    line = {"color": INK, "linestyle": dash, "linewidth": 0.9}
    filled = {"facecolor": color, "edgecolor": INK, "linewidth": 0.9} if color else line
    axes.bxp(
        [box], positions=[at], widths=width, manage_ticks=False, showfliers=False, patch_artist=bool(color),
        boxprops=filled, whiskerprops=line, capprops=line, medianprops=line,
    )  # fmt: skip


def finish_boxes(axes: Axes, names: list[str], compared: bool, y_label: str, title: str) -> None:
    """What stands around boxes: their names, and a legend where published ones stand beside ours."""
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.grid(False, axis="x")
    legend_below(axes, [Patch(facecolor=INK, alpha=0.5, label="ours"), published_handle("")] if compared else [])
    axes.set(xlabel="", ylabel=y_label, title=title)


def sentence(
    data: pd.DataFrame,
    caption: str,
    *,
    word: str = "word",
    unsigned: tuple[str, ...] = ("weight",),
    title: str = "",
    digits: int = 2,
) -> Figure:
    """A heat map of one instance: a line for each word, a column for each other column, each number written.

    Each column has its own scale: orange (negative) to blue (positive), the ``unsigned`` ones white to green.
    """
    require(data, word)
    columns = [column for column in data if column != word]

    def draw(axes: Axes) -> None:
        for i, column in enumerate(columns):
            values = data[column].to_numpy(float)
            signed = column not in unsigned
            shown = values / max(abs(values).max(), 1e-12)
            palette = seaborn.blend_palette(
                [COLORS["negative"], "#f7f7f7", COLORS["positive"]] if signed else ["#f7f7f7", "#009E73"], as_cmap=True
            )
            for j, (value, depth) in enumerate(zip(values, shown)):
                color = palette((depth + 1) / 2 if signed else depth)
                axes.bar(i, 0.94, 0.96, bottom=j - 0.47, color=color)
                axes.text(
                    i, j, f"{value:.{digits}f}".replace("-", "−"), ha="center", va="center",
                    color="#000000",
                )  # fmt: skip
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(data)), data[word])
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.grid(False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(data) - 0.5, -0.5), title=title)

    lines = (
        f"{v[word]}: " + ", ".join(f"{column} {v[column]:.{digits}f}" for column in columns) for _, v in data.iterrows()
    )
    alt = f"Heat map of a sentence{titled(title)}. {'; '.join(lines)}."
    return render(draw, data, caption, alt, (max(PANEL[0], 0.8 * len(columns) + 1.2), 0.24 * len(data) + 0.5))


def named(data: pd.DataFrame, *columns: str) -> list[str]:
    """The drawn columns, after a column of words where there is one, so that a saved point has a name."""
    return ["word", *columns] if "word" in data else list(columns)
