"""How a drawing becomes part of a page: inline SVG, alternative text, caption, numbers."""

from __future__ import annotations

import hashlib
import html
import io
import re
import warnings
from collections.abc import Callable, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter

from uaftc_lib import files
from uaftc_lib.plots.theme import DATA_LINK_ROWS, HOLLOW, INK, PANEL, THEME, Powers, legend_below

CROWD = re.compile(r'<use xlink:href="#(\w+)" x="[^"]*" y="[^"]*" (style="[^"]*")/>'
                   r'(?:\s*<use xlink:href="#\1" x="[^"]*" y="[^"]*" \2/>){20,}')  # fmt: skip


@dataclass(frozen=True)
class Panel:
    """One drawing and what it shows, in words; ``bare``: without its legend; ``legend``: the names in that."""

    svg: str
    alt: str
    bare: str = ""
    legend: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """Panels, their caption and the frame that was drawn. See the module's text for how it is shown."""

    data: pd.DataFrame
    caption: str
    panels: tuple[Panel, ...]

    @property
    def alt(self) -> str:
        """The alternative text of all panels."""
        return " ".join(panel.alt for panel in self.panels)

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": f"{self.caption}\n\n{self.alt}"}

    def drawings(self) -> str:
        """The panels alone, to be set into other HTML."""
        named = (f'<svg role="img" aria-label="{html.escape(panel.alt)}" ' for panel in self.panels)
        return "".join(panel.svg.replace("<svg ", name, 1) for panel, name in zip(self.panels, named))

    def to_html(self) -> str:
        """The figure as it stands in the page."""
        link = f" (The numbers, {len(self.data):,} rows, are too many for the page.)"
        if len(self.data) <= DATA_LINK_ROWS:
            numbers = html.escape(quote(self._csv(), safe=" ,.;:+-/()[]"))
            link = f' <a download="figure.csv" href="data:text/csv;charset=utf-8,{numbers}">The numbers (CSV)</a>'
        panels = f'<div style="display:flex;flex-wrap:wrap;align-items:flex-start;gap:0.75rem">{self.drawings()}</div>'
        says = f'<figcaption style="text-align:left">{html.escape(self.caption, quote=False)}{link}</figcaption>'
        return f'<figure class="uaftc" style="margin:1rem 0">{panels}{says}</figure>'

    def save(self, path: str | Path) -> None:
        """Write the numbers, ``path``.csv, and the drawing, ``path``.svg (several: .1.svg, ...; sentences: .html)."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write(path.with_name(f"{path.name}.csv"), self._csv())
        for i, panel in enumerate(self.panels, start=1):
            kind = "svg" if panel.svg.startswith("<svg") else "html"  # sentences in colour
            end = f".{kind}" if len(self.panels) == 1 else f".{i}.{kind}"
            files.write(path.with_name(path.name + end), panel.svg)

    def _csv(self) -> str:
        return self.data.to_csv(index=False, float_format="%.5g", lineterminator="\n")


def row(*figures: Figure, caption: str) -> Figure:
    """Several figures as the panels of one, side by side where there is room; neighbours share a legend."""
    data = pd.concat([figure.data for figure in figures], ignore_index=True)
    panels = [panel for figure in figures for panel in figure.panels]
    drawn = [
        replace(panel, svg=panel.bare) if panel.legend and panel.legend == before else panel
        for before, panel in zip([(), *(panel.legend for panel in panels)], panels)
    ]
    return replace(figures[0], data=data, caption=checked(caption), panels=tuple(drawn))


def render(
    draw: Callable[[Axes], list | None],
    data: pd.DataFrame,
    caption: str,
    alt: str,
    size: tuple[float, float] = PANEL,
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    y_range: tuple[float, float] | None = None,
) -> Figure:
    """One panel; ``draw`` gives the entries of its legend, if it has one; neighbours may share a ``y_range``."""
    caption = checked(caption)
    if not len(data):
        raise ValueError("there is nothing to draw: the frame is empty")
    with matplotlib.rc_context(THEME), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the letters are those of the page
        warnings.filterwarnings("ignore", "vert: bool was deprecated")  # seaborn 0.13 says it to matplotlib 3.11
        canvas = Canvas(figsize=size, layout="constrained")
        axes = canvas.subplots()
        axes.set(xlabel=x_label, ylabel=y_label, title=title)
        axes.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
        handles = draw(axes) or []
        if y_range:
            axes.set_ylim(y_range)
        for axis in (axes.xaxis, axes.yaxis):
            if isinstance(axis.get_major_formatter(), LogFormatter):
                axis.set(major_formatter=Powers(), minor_formatter=Powers())
        svg = bare = written(canvas)
        if handles:
            legend_below(canvas, handles)
            svg = written(canvas)
    panel = Panel(svg, alt, bare, tuple(handle.get_label() for handle in handles))
    return Figure(data.reset_index(drop=True), caption, (panel,))


def written(canvas: Canvas) -> str:
    """A drawing as SVG for a page."""
    buffer = io.StringIO()
    canvas.savefig(buffer, format="svg")
    svg = slimmed(buffer.getvalue())
    # As large as drawn where there is room, as wide as the page where there is not.
    width, height = 96 * canvas.get_size_inches()
    shape = f'width="{width:g}" height="{height:g}" style="max-width:100%;height:auto;font-family:system-ui,sans-serif"'
    return re.sub(r' (width|height)="[\d.]+pt"', "", svg).replace("<svg ", f"<svg {shape} ", 1)


def slimmed(svg: str) -> str:
    """What matplotlib wrote, in the ink of the page, without what nobody sees, its ids all its own."""
    svg = svg[svg.index("<svg ") :].replace(INK, "currentColor")
    svg = re.sub(r"(?s)<metadata>.*?</metadata>\s*|<!--.*?-->\s*", "", svg)
    svg = CROWD.sub(crowded, re.sub(r'<g id="series(\d+)">', r'<g class="series s\1">', svg))
    # Names that nothing refers to, turns by nothing: as much as the points themselves.
    named = set(re.findall(r"#([\w-]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in named else "", svg)
    svg = re.sub(r' transform="rotate\(-?0 [^)]*\)"', "", svg)
    mark = "f" + hashlib.sha256(svg.encode()).hexdigest()[:8]  # ids must differ between the figures of a page
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{mark}-", svg)
    # Hundredths of a point are enough; the letters are those of the page; lines of text need no margin.
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), svg)
    svg = re.sub(r"\s*\n\s*", " ", re.sub(r"font-family: [^;\"]*;? ?", "", svg))
    return re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", svg)


def crowded(uses: re.Match) -> str:
    """Many equal marks as the corners of one line that is not drawn itself: a fifth of the letters."""
    own = f"crowd-{hashlib.sha256(uses[0].encode()).hexdigest()[:8]}"
    places = re.findall(r'x="([-\d.]+)" y="([-\d.]+)"', uses[0])
    corners = " ".join(f"{float(x):.1f},{float(y):.1f}" for x, y in places)
    mark = f'overflow="visible" markerUnits="userSpaceOnUse"><use xlink:href="#{uses[1]}" {uses[2]}/></marker>'
    return f'<marker id="{own}" {mark}<polyline points="{corners}" style="fill: none; marker: url(#{own})"/>'


def checked(caption: str) -> str:
    """The caption with true minus signs, unless there is none."""
    if not caption.strip():
        raise ValueError("a figure needs a caption that says what it shows and what it means")
    return re.sub(r"(?<![\w-])-(?=\d)", "−", caption)


def require(data: pd.DataFrame, *columns: str) -> None:
    """Raise ValueError unless the frame has these columns."""
    missing = [column for column in columns if column not in data]
    if missing:
        raise ValueError(f"the frame has no column {', '.join(missing)}; it has {', '.join(map(str, data))}")


def published_values(data: pd.DataFrame | None, *columns: str) -> pd.DataFrame:
    """Published values with these columns; an empty frame where there are none."""
    data = pd.DataFrame(columns=columns) if data is None else data
    require(data, *columns)
    return data


def published_entry(published: Sized, **changed) -> list[Line2D]:
    """The entry of published values in a legend, where there are any; boxes have no marker, points no line."""
    return [Line2D([], [], color=INK, label="published", **HOLLOW | changed)] if len(published) else []
