"""V turning to the programme of the words that it chooses, E and W held: a small live figure that needs no kernel."""

from __future__ import annotations

import json
from functools import cache
from html import escape

from uaftc_book.lab.module import local_imports, part, read, style

WITHOUT = "Live figure: turn V's first direction and follow it in time, here in your browser. It needs JavaScript."


@cache
def choosing_presets() -> dict[str, dict]:
    """Problems in the plane by name: words, W, texts as (class ±1, words), and V₀/λ as angle and length."""
    return json.loads(read("choosing.json"))


class ChoosingFigure:
    """Words fixed, V alone in gradient flow: the last expression of a cell shows it, see js/turning.js.

    Parameters
    ----------
    preset : str
        The problem that is shown first, one of :func:`choosing_presets`.

    Raises
    ------
    ValueError
        For an unknown preset.
    """

    def __init__(self, preset: str = "first toy"):
        if preset not in choosing_presets():
            raise ValueError(f"no preset {preset!r}; there are {', '.join(choosing_presets())}")
        self.preset = preset

    def __repr__(self) -> str:
        return WITHOUT

    def _repr_html_(self) -> str:
        presets = json.dumps(choosing_presets(), ensure_ascii=False, separators=(",", ":"))
        parts = "".join(map(part, ("elements", "player", "plane", "choosing")))
        script = f"const PRESETS = {presets};\n{parts}{local_imports(read('js/turning.js'))}"
        return (
            f"{style()}<style>{read('choosing.css')}</style>"
            f'<div class="uaftc-frames uaftc-choosing" data-preset="{escape(self.preset)}">'
            f'<p class="caption">{WITHOUT}</p><script>(() => {{\n"use strict";\n{script}}})();</script></div>'
        )
