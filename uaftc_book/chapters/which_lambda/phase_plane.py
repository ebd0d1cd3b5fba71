"""A phase diagram that is solved in the reader's browser: a point is dragged through λ and cos(V₀, W₀)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache

from uaftc_book.lab.module import part, read, style

STEPS_PER_TIME, KEPT = 2, 120  # steps for each unit of τ; moments that are drawn
FIRST = {"lam": 10.0, "cosine": 0.25}
PARTS = ("draw", "flow", "plane", "phase")
MISSING = (
    "Live figure: drag a point through λ and cos(V₀, W₀), and the mean field is solved in your browser. "
    "It needs JavaScript."
)


@cache
def source() -> str:
    """The text of the module, which defines the element <uaftc-phase>; a page needs no remarks and no margins in it."""
    return re.sub(r"^ *(//.*\n)?", "", "".join(part(name) for name in PARTS), flags=re.MULTILINE)


@dataclass(frozen=True)
class PhasePlane:
    """A live figure. The last expression of a cell shows it.

    Attributes
    ----------
    field : dict
        "types", "patterns", "signs", "shares" of a mean field of three kinds: positive, negative, neutral words.
    lams, cosines : list of float
        The grid of the stored runs, both rising.
    ranges : list of dict
        Of each range of W₀: "reach"; "time", that of a run; "initialisations", of each seed that is shown "gram", the
        fifteen inner products with V ⟂ W, "p", the products of p₀ with V, W and itself, "middle" of its band and
        "ends", ``scale`` λ times the end scores of its runs, kind by kind; "outcomes", of each seed a letter for
        each run: w as wanted, p positive words sink, n negative ones, b both. Runs are ordered by λ, then cosine.
    scale : int
    """

    field: dict
    lams: list[float]
    cosines: list[float]
    ranges: list[dict]
    scale: int

    def data(self) -> dict:
        """What the element is given."""
        steps = [round(STEPS_PER_TIME * one["time"]) for one in self.ranges]
        ranges = [one | {"steps": n, "every": n // KEPT} for one, n in zip(self.ranges, steps)]
        told = {"field": self.field, "lams": self.lams, "cosines": self.cosines, "ranges": ranges, "scale": self.scale}
        return told | {"first": FIRST}

    def _repr_html_(self) -> str:
        written = json.dumps(self.data(), separators=(",", ":")).replace("<", "\\u003c")
        return (
            f"{style()}<style>{read('phase.css')}</style><uaftc-phase><p>{MISSING}</p>"
            f'<script type="application/json">{written}</script></uaftc-phase>'
            f'<script type="module">\n{source()}</script>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/plain": MISSING, "text/html": self._repr_html_()}
