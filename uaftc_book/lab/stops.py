"""A slider over stops: on a page it switches what was made beforehand, in a live kernel it draws anew."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from uaftc_book.lab.module import read, style
from uaftc_lib.plots.summaries import number

PAGE = jinja2.Environment(loader=jinja2.FunctionLoader(read), autoescape=True, undefined=jinja2.StrictUndefined)
VIEW_KEY = "application/vnd.jupyter.widget-view+json"
STYLE, LAYOUT = {"description_width": "11em"}, {"width": "min(100%, 36em)"}


def in_kernel() -> bool:
    """Whether a Jupyter kernel runs this code, so that widgets have someone to talk to."""
    ipython = sys.modules.get("IPython")  # which a kernel has imported
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class Stop(NamedTuple):
    """A stop of a slider: its value, the HTML that is shown there, and a sentence that begins ``λ = 10: ``."""

    value: float
    picture: str
    says: str

    def html(self) -> str:
        """Both, the sentence below."""
        return f'{self.picture}<p class="caption">{escape(self.says)}</p>'


@dataclass
class Slider:
    """Stops along a number. In a page: a slider that switches them. In a live kernel: one that draws anew.

    Parameters
    ----------
    name, symbol : str
        Of the number: "scaling factor", "λ".
    stops : sequence of Stop
        By rising value; all above zero.
    start : int
        The stop that is shown first.
    redraw : callable, optional
        ``redraw(value) -> str``, HTML; None: also a live kernel only switches the stops.
    legend : str
        HTML that stands below every stop.
    """

    name: str
    symbol: str
    stops: Sequence[Stop]
    start: int = 0
    redraw: Callable[[float], str] | None = None
    legend: str = ""

    def _repr_html_(self) -> str:
        script, sheet = Markup(read("frames.js")), Markup(read("frames.css"))
        return PAGE.get_template("slider.html").render(vars(self), script=script, style=sheet, number=number)

    def live(self):
        """The ipywidgets slider that draws anew as it moves; it begins with the stop that is there."""
        import ipywidgets

        first = self.stops[self.start]
        low, high = (math.log10(self.stops[i].value) for i in (0, -1))
        label = {"description": f"{self.name} {self.symbol}", "style": STYLE, "layout": LAYOUT}
        control = ipywidgets.FloatLogSlider(first.value, min=low, max=high, step=0.1, readout_format=".3g", **label)
        shown = f'{style()}<div class="uaftc-frames">{first.html()}</div>'
        return redrawn({"value": control}, lambda value: self.redraw(value), shown)  # its argument may have any name

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        bundle = {"text/plain": "\n".join(stop.says for stop in self.stops), "text/html": self._repr_html_()}
        if self.redraw and in_kernel():
            bundle[VIEW_KEY] = self.live()._repr_mimebundle_()[VIEW_KEY]
        return bundle


def redrawn(controls: dict, draw: Callable[..., str], first: str = ""):
    """Controls above HTML that ``draw(**values)`` gives anew whenever one of them moves; a ValueError is shown."""
    import ipywidgets

    def move(_=None):
        # The front end merges moves that arrive while a run is under way, so every run is of the newest.
        try:
            picture.value = draw(**{name: control.value for name, control in controls.items()})
        except ValueError as error:
            picture.value = f"<p>{escape(str(error))}</p>"

    picture = ipywidgets.HTML(first)
    if not first:
        move()
    for control in controls.values():
        control.observe(move, "value")
    return ipywidgets.VBox([*controls.values(), picture])
