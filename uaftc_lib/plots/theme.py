"""Colours, markers and line styles: the same for a type, a pair of types or a term in every figure."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter

from uaftc_lib.settings import PAPER_MODELS

INK = "#1a1b1c"  # stands for currentColor until the SVG is written
BLUE, ORANGE, GREY, GREEN, PINK, OLIVE, VIOLET, BROWN, CRIMSON = (
    "#1F83CC", "#D55E00", "#8A8A8A", "#009E73", "#B0548E", "#A6860A", "#7A5CF0", "#91604A", "#C2395B",
)  # fmt: skip
LIME, TEAL, ROSE, PURPLE = "#6A8F14", "#0C90A5", "#DB3FA0", "#9657B5"  # of data sets alone
SOLID, DASHED, DOTTED, DASH_DOT = "-", (0, (6, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5))
STYLES = {  # what has a colour, a marker and a dash of its own; terms as in the live figures
    "positive": (BLUE, "^", SOLID), "negative": (ORANGE, "v", DASHED), "neutral": (GREY, "o", DOTTED),
    "not examined": ("#B9B9B9", ".", (0, (1, 3))),
    "A": (PINK, "o", SOLID), "B": (GREEN, "s", DASHED), "C": (OLIVE, "P", DOTTED),
    "D": (PINK, "o", SOLID), "E": (GREEN, "s", DASHED), "F": (OLIVE, "P", DOTTED),
    "pos-pos": (BLUE, "^", SOLID), "neg-neg": (ORANGE, "v", DASHED), "neg-pos": (VIOLET, "P", DOTTED),
    "neu-neu": (GREY, "o", DASH_DOT), "neu-pos": (GREEN, "s", SOLID), "neg-neu": (OLIVE, "X", DASHED),
    "SST": (LIME, "s", DASHED), "IMDB": (TEAL, "P", DOTTED),
    "20News I": (ROSE, "X", DASH_DOT), "20News II": (PURPLE, "*", SOLID),
}  # fmt: skip
COLORS = {name: color for name, (color, _, _) in STYLES.items()}
TYPES = ("positive", "negative", "neutral", "not examined")
OTHERS = (GREEN, PINK, VIOLET, BROWN, OLIVE, CRIMSON)  # no blue and no orange: these are positive and negative
MARKERS, DASHES = "osPX*<", (SOLID, DASHED, DOTTED, DASH_DOT)
KEPT = {name: place for place, name in enumerate(PAPER_MODELS)}  # places kept in every figure
PUBLISHED = (0, (3, 1.5))
HOLLOW = {"linestyle": PUBLISHED, "linewidth": 1, "marker": "D", "markerfacecolor": "none"}  # all that is published
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PANEL = (3.3, 2.6)  # inches: two fit beside each other on a desk, one fills a phone
WIDE = (4.8, 3.0)  # a panel that stands alone
LEGEND_LINE, LEGEND_SPACE, LETTERS = 0.19, 0.135, 10  # inches; letters an inch, of names that stand beside each other
DATA_LINK_ROWS = 6000  # about 200 kB in the page; the caption of a longer frame says that it is left out

THEME = {
    **{f"{part}color": INK for part in ("text.", "xtick.", "ytick.", "grid.", "axes.label", "axes.edge")},
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    "font.size": 9.5, "axes.titlesize": 10, "axes.titlelocation": "left", "axes.linewidth": 0.7,
    "axes.grid": True, "axes.axisbelow": True, "grid.alpha": 0.12, "grid.linewidth": 0.6,
    "legend.fontsize": 9.5, "legend.columnspacing": 1.0, "legend.handletextpad": 0.4,
    "legend.handlelength": 2.2,  # both dashes show
    "lines.linewidth": 1.6, "lines.markersize": 4, "savefig.dpi": 150, "svg.fonttype": "none", "svg.hashsalt": "uaftc",
}  # fmt: skip
Look = namedtuple("Look", "color marker dash")  # how a series is drawn


def groups(values: Iterable) -> list[str]:
    """Names in order of appearance, token types always positive, negative, neutral."""
    return sorted(dict.fromkeys(values), key=lambda name: TYPES.index(name) if name in TYPES else len(TYPES))


def spelled(name: str) -> str:
    """A pair of types as STYLES spells it ("Pos-Neg", "positive–negative": "neg-pos"); any other name as it is."""
    pair = re.fullmatch(r"(pos|neg|neu)\w*[-–](pos|neg|neu)\w*", str(name).lower())
    return "-".join(sorted(pair.groups())) if pair else name


def place_of(name: str, names: list[str]) -> int:
    """The place that a name keeps, else the first that is free."""
    taken = {KEPT.get(n) for n in names} | {OTHERS.index(c) for n in names if (c := COLORS.get(spelled(n))) in OTHERS}
    free = sorted(set(range(len(OTHERS) + len(names))) - taken)
    return (dict(zip((n for n in names if spelled(n) not in STYLES and n not in KEPT), free)) | KEPT)[name]


def series_style(name: str, names: list[str]) -> Look:
    """Colour, marker and dash: its own, else those of its place; "negative words: all" is orange too."""
    if (own := STYLES.get(spelled(name))) is not None:
        return Look(*own)
    place = place_of(name, names)
    of = re.match(r"(positive|negative|neutral)(?= words|,)", str(name))
    color = COLORS[of[0]] if of else OTHERS[place % len(OTHERS)]
    taken = {STYLES[spelled(n)][1] for n in names if spelled(n) in STYLES}
    markers = [marker for marker in MARKERS if marker not in taken]
    return Look(color, markers[place % len(markers)], DASHES[place % len(DASHES)])


def looks_of(values: Iterable) -> dict[str, Look]:
    """Every name among the values, in the order of :func:`groups`, and how it is drawn."""
    names = groups(values)
    return {name: series_style(name, names) for name in names}


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


def name_places(axes: Axes, names: list) -> None:
    """Names below 0, 1, 2, ..., slanted where they would touch."""
    crowded = sum(len(str(name)) + 2 for name in names) > LETTERS * axes.figure.get_figwidth()
    slant = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    axes.set_xticks(range(len(names)), names, **slant)
    axes.grid(False, axis="x")


def legend_below(figure: Figure, handles: list) -> None:
    """Below the axes, which keep their size; as many entries in a line as fit, and room for every line."""
    for lines in range(1, len(handles) + 1):
        drawn = figure.legend(handles=handles, loc="outside lower center", ncols=-(-len(handles) // lines))
        if lines == len(handles) or drawn.get_window_extent().width <= figure.bbox.width:
            break
        drawn.remove()
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE * lines + LEGEND_SPACE)
    for handle, *parts in zip(handles, drawn.legend_handles, drawn.get_texts()):
        for part in parts if isinstance(handle, Line2D) else ():  # the page lights up what belongs together
            part.set_gid(handle.get_gid())
