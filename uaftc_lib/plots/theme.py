"""Colours, markers and line styles: the same for a token type in every figure."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

INK = "#1a1b1c"  # stands for currentColor until the SVG is written
COLORS = {"positive": "#1F83CC", "negative": "#D55E00", "neutral": "#8A8A8A", "not examined": "#B9B9B9"}
OTHERS = ("#009E73", "#CC79A7", "#1F83CC", "#D55E00", "#A6860A", "#8A8A8A")
MARKERS = {"positive": "^", "negative": "v", "neutral": "o", "not examined": "."}
DASHES = {"positive": "-", "negative": (0, (6, 1.5)), "neutral": (0, (1.5, 1)), "not examined": (0, (1, 3))}
PANEL = (3.3, 2.6)  # inches: two fit beside each other on a desk, one fills a phone
WIDE = (4.8, 3.0)  # a panel that stands alone
RASTER_ABOVE = 300  # points
DATA_LINK_ROWS = 6000  # about 200 kB in the page; the caption of a longer frame says that it is left out

THEME = {
    **{key: INK for key in ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")},
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": INK,
    "grid.alpha": 0.12,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 1.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.dpi": 150,
    "svg.fonttype": "none",
    "svg.hashsalt": "uaftc",
}


def groups(values: Iterable) -> list[str]:
    """Names in order of appearance, token types always positive, negative, neutral."""
    names = list(dict.fromkeys(values))
    return [n for n in COLORS if n in names] + [n for n in names if n not in COLORS]


def other(name: str, names: list[str]) -> int:
    """The place of a name among those that have no colour of their own."""
    return [n for n in names if n not in COLORS].index(name)


def color_of(name: str, names: list[str]) -> str:
    """The colour of a token type, else the next one in the order of names."""
    return COLORS[name] if name in COLORS else OTHERS[other(name, names) % len(OTHERS)]


def marker_of(name: str, names: list[str]) -> str:
    """The marker that goes with the colour."""
    return MARKERS[name] if name in MARKERS else "osP^vX"[other(name, names) % 6]


def dash_of(name: str, names: list[str]):
    """The line style that goes with the colour."""
    styles = ("-", (0, (6, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
    return DASHES[name] if name in DASHES else styles[other(name, names) % 4]


def published_handle(marker: str = "D") -> Line2D:
    """The entry of published values in a legend: hollow and dashed; boxes have no marker."""
    return Line2D([], [], color=INK, linestyle=(0, (3, 1.5)), linewidth=1, marker=marker, markerfacecolor="none",
                  label="published")  # fmt: skip


def legend(axes: Axes, handles: list) -> None:
    """Below the axes, so that it never covers data; two lines where one would not fit a phone."""
    if handles:
        length = sum(len(handle.get_label()) + 5 for handle in handles)
        columns = len(handles) if length <= 44 else -(-len(handles) // 2)
        axes.figure.legend(handles=handles, loc="outside lower center", ncols=columns,
                           columnspacing=1.0, handletextpad=0.4)  # fmt: skip
