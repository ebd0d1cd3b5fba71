"""Colours, markers and line styles: the same for a type, a pair of types or a term in every figure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter

INK = "#1a1b1c"  # stands for currentColor until the SVG is written
BLUE, ORANGE, GREY, GREEN, PINK, OLIVE, VIOLET, BROWN, CRIMSON = (
    "#1F83CC", "#D55E00", "#8A8A8A", "#009E73", "#B0548E", "#A6860A", "#7A5CF0", "#91604A", "#C2395B",
)  # fmt: skip
SOLID, DASHED, DOTTED, DASH_DOT = "-", (0, (6, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5))
STYLES = {  # what has a colour, a marker and a dash of its own; terms as in the live figures
    "positive": (BLUE, "^", SOLID), "negative": (ORANGE, "v", DASHED), "neutral": (GREY, "o", DOTTED),
    "not examined": ("#B9B9B9", ".", (0, (1, 3))),
    "A": (PINK, "o", SOLID), "B": (GREEN, "s", DASHED), "C": (OLIVE, "P", DOTTED),
    "D": (PINK, "o", SOLID), "E": (GREEN, "s", DASHED), "F": (OLIVE, "P", DOTTED),
    "pos-pos": (BLUE, "^", SOLID), "neg-neg": (ORANGE, "v", DASHED), "neg-pos": (VIOLET, "P", DOTTED),
    "neu-neu": (GREY, "o", DASH_DOT), "neu-pos": (GREEN, "s", SOLID), "neg-neu": (OLIVE, "X", DASHED),
}  # fmt: skip
COLORS = {name: color for name, (color, _, _) in STYLES.items()}
TYPES = ("positive", "negative", "neutral", "not examined")
OTHERS = (GREEN, PINK, VIOLET, BROWN, OLIVE, CRIMSON)  # no blue and no orange: these are positive and negative
MARKERS, DASHES = "osPX*<", (SOLID, DASHED, DOTTED, DASH_DOT)
KEPT = {  # the place that a model or a data set keeps in every figure
    "DP": 0, "DP-A": 1, "AD": 2, "DP-L": 3,
    "SST": 0, "IMDB": 1, "20News I": 2, "20News II": 3, "Data I": 4, "Data II": 5,
}  # fmt: skip
PUBLISHED = (0, (3, 1.5))
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PANEL = (3.3, 2.6)  # inches: two fit beside each other on a desk, one fills a phone
WIDE = (4.8, 3.0)  # a panel that stands alone
LEGEND_LINE = 0.19  # inches
RASTER_ABOVE = 300  # points
DATA_LINK_ROWS = 6000  # about 200 kB in the page; the caption of a longer frame says that it is left out

THEME = {
    **{key: INK for key in ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")},
    "font.size": 9.5,
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
    "legend.fontsize": 9.5,
    "legend.handlelength": 2.2,  # both dashes show
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
    return [n for n in TYPES if n in names] + [n for n in names if n not in TYPES]


def spelled(name: str) -> str:
    """A pair of types as STYLES spells it ("Pos-Neg", "positive–negative": "neg-pos"); any other name as it is."""
    pair = re.fullmatch(r"(pos|neg|neu)\w*[-–](pos|neg|neu)\w*", str(name).lower())
    return "-".join(sorted(pair.groups())) if pair else name


def place_of(name: str, names: list[str]) -> int:
    """The place that a name keeps, else the next that is free; by order alone where two would have the same."""
    others = [n for n in names if spelled(n) not in STYLES]
    kept = {n: KEPT[n] for n in others if n in KEPT}
    if len(set(kept.values())) < len(kept):
        kept = {}
    if name in kept:
        return kept[name]
    free = [place for place in range(len(others)) if place not in kept.values()]
    return free[[n for n in others if n not in kept].index(name)]


def series_style(name: str, names: list[str]) -> tuple:
    """Colour, marker and dash: its own, else those of its place; "negative words: all" is orange too."""
    if (own := STYLES.get(spelled(name))) is not None:
        return own
    place = place_of(name, names)
    of = re.match(r"(positive|negative|neutral)(?= words|,)", str(name))
    color = COLORS[of[0]] if of else OTHERS[place % len(OTHERS)]
    taken = {STYLES[spelled(n)][1] for n in names if spelled(n) in STYLES}
    markers = [marker for marker in MARKERS if marker not in taken]
    return color, markers[place % len(markers)], DASHES[place % len(DASHES)]


def color_of(name: str, names: list[str]) -> str:
    """The colour of a name among these."""
    return series_style(name, names)[0]


def marker_of(name: str, names: list[str]) -> str:
    """The marker that goes with the colour."""
    return series_style(name, names)[1]


def dash_of(name: str, names: list[str]):
    """The line style that goes with the colour."""
    return series_style(name, names)[2]


def power(value: float) -> str:
    """0.01, 256000, 10⁻⁵: a number of a logarithmic axis, its letters all of one size."""
    text = f"{value:g}" if abs(value) >= 0.001 else f"{value:.2e}"
    return raised(text) if "e" in text else text


def raised(text: str) -> str:
    """1e-05 as 10⁻⁵."""
    digits, exponent = text.split("e")
    return re.sub(r"^(-?)1·", r"\1", f"{float(digits):g}·10{str(int(exponent)).translate(RAISED)}")


class Powers(LogFormatter):
    """matplotlib's logarithmic axis without its exponents, which are too small to read."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return power(x) if super().__call__(x, pos) else ""


def published_handle(marker: str = "D", linestyle: object = PUBLISHED) -> Line2D:
    """The entry of published values in a legend: hollow and dashed; boxes have no marker, points no line."""
    return Line2D([], [], color=INK, linestyle=linestyle, linewidth=1, marker=marker, markerfacecolor="none",
                  label="published")  # fmt: skip


def legend_below(axes: Axes, handles: list) -> None:
    """Below the axes, so that it never covers data; as many entries in a line as fit, and room for more lines."""
    if not handles:
        return
    figure = axes.figure
    for lines in range(1, len(handles) + 1):
        drawn = figure.legend(handles=handles, loc="outside lower center", ncols=-(-len(handles) // lines),
                              columnspacing=1.0, handletextpad=0.4)  # fmt: skip
        if lines == len(handles) or drawn.get_window_extent().width <= figure.bbox.width:
            break
        drawn.remove()
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE * (lines - 1))
    for handle, line, text in zip(handles, drawn.legend_handles, drawn.get_texts()):
        if isinstance(handle, Line2D):  # the page lights up what belongs together
            line.set_gid(handle.get_gid())
            text.set_gid(handle.get_gid())
