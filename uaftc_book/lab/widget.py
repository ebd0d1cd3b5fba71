"""The live lab as the output of a cell: an anywidget in a live kernel, HTML with the module in a page."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from html import escape, unescape

from uaftc_book.lab import parity
from uaftc_book.lab.module import module_source
from uaftc_book.lab.slider import VIEW_KEY, in_kernel
from uaftc_lib.plots.summaries import number

MODES = ("full", "compact")
FIGURES = ("scatter", "means", "terms", "vectors", "weights", "accuracy")
TEXT = (
    "At λ = {lam}, mean attention score {a_positive} for positive, {a_negative} for negative and {a_neutral} "
    "for neutral words."
)
# The theme lays HTML outputs on a light card; the lab brings its own colours.
CLEAR = "{ background: none !important; padding: 0 !important }"
PLACEHOLDER = re.compile(r"\{(\w+)\}")
TRAITS = ("name", "mode", "figure", "text", "notebook", "parameter")


def said(name: str, value: float | str | None) -> str:
    """A setting or a result as a sentence says it; js/controls.js and js/compact.js say it in the same way."""
    about = parity.settings()["controls"].get(name, {})
    match about.get("kind"):
        case "choice":
            return about["choices"][str(value)]
        case "angle":
            return "as drawn" if value is None else f"{number(value)}°"
        case "log or none" if value == 0:
            return "none"
        case "share":
            return f"{100 * value:.1f} %".replace(".0", "")
    return f"{100 * value:.1f} %" if name == "accuracy" else number(value)


class Page:
    """Whether this kernel's notebook already holds the module: a page needs it once."""

    has_module = False


@dataclass(eq=False)
class Lab:
    """A live figure that trains in the reader's browser; as the last expression of a cell it shows itself.

    Parameters
    ----------
    state : dict, optional
        Settings that differ from the defaults, for example ``{"lam": 100, "seed": 3}``: lam, optimizer, lr,
        d, epochs, batch, seed, penalty, angle, ratio, noise, instances.
    mode : {"full", "compact"}
        "compact": one sentence with λ in it, and one picture.
    figure : {"scatter", "means", "terms", "vectors", "weights", "accuracy"}
        The picture of a compact lab.
    text : str, optional
        The sentence of a compact lab. A setting, as ``{lam}``, becomes a slider; ``{a_positive}``, ``{s_neutral}``,
        ``{gap}``, ``{VW}``, ``{accuracy}`` and the like become numbers that follow it.
    preset : str, optional
        Start from a preset; ``state`` goes on top.
    name : str
        How the address of the page calls it: different for each lab of a page.
    notebook, parameter : str
        The notebook that the command for running a page again names, found out from the page if empty, and its
        parameter that this command sets to the reader's λ.
    least : float
        The smallest λ that the notebook takes: the command leaves a smaller one out.

    Raises
    ------
    ValueError
        For an unknown choice, setting, preset or placeholder.
    """

    state: dict | None = None
    mode: str = "full"
    figure: str = "scatter"
    text: str = ""
    preset: str | None = None
    name: str = "lab"
    notebook: str = ""
    parameter: str = "lam"
    least: float = 0

    def __post_init__(self):
        for label, allowed in (("mode", MODES), ("figure", FIGURES)):
            if getattr(self, label) not in allowed:
                raise ValueError(f"{label} must be one of {', '.join(allowed)}, got {getattr(self, label)!r}")
        presets = parity.settings()["presets"]
        if self.preset is not None and self.preset not in presets:
            raise ValueError(f"no preset {self.preset!r}; there are {', '.join(presets)}")
        if self.mode == "full" and self.text:
            raise ValueError('only a compact lab has a sentence of its own: use mode="compact"')
        if self.mode == "compact":
            self.text = self.text or TEXT
        known = {*parity.settings()["controls"], *parity.TOLD}
        if unknown := sorted(set(PLACEHOLDER.findall(self.text)) - known):
            raise ValueError(f"the text speaks of {', '.join(unknown)}; it can speak of {', '.join(sorted(known))}")
        # Everything that differs from the defaults: a short attribute, and a stable one.
        self.given = (presets[self.preset]["state"] if self.preset else {}) | (self.state or {})
        self.state = parity.complete_state(self.given)

    @cached_property
    def numbers(self) -> dict:
        """What PyTorch finds after the last epoch of this state, under the names that captions use."""
        *_, last = parity.train(self.state)
        return self.state | parity.numbers(last)

    def caption(self) -> str:
        """The text with its numbers, as the page shows it before anyone moves λ."""
        return unescape(re.sub("<[^>]+>", "", self.written()))

    def written(self) -> str:
        """The caption as HTML, its numbers marked: js/compact.js shows them until it has its own."""
        if not self.text:
            return "Live figure: drag λ, and the model is trained again in your browser. It needs JavaScript."
        return PLACEHOLDER.sub(
            lambda found: f'<b data-name="{found[1]}">{said(found[1], self.numbers[found[1]])}</b>', escape(self.text)
        )

    def html(self, with_module: bool = True) -> str:
        """The element, its text for readers without JavaScript inside, and if asked the module."""
        attributes = {name: getattr(self, name) for name in TRAITS} | {
            "parameter": self.parameter if self.parameter != "lam" else "",
            "least": f"{self.least:g}" if self.least else "",
            "state": json.dumps(self.given, ensure_ascii=False) if self.given else "",
        }
        written = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items() if value)
        clear = f"<style>.cell_output .text_html:has(uaftc-lab) {CLEAR}</style>"
        script = f'{clear}<script type="module">\n{module_source()}</script>' if with_module else ""
        return f"<uaftc-lab{written}><p>{self.written()}</p></uaftc-lab>{script}"

    def widget(self):
        """The anywidget of a live kernel; its ``state`` and ``numbers`` follow what the reader does."""
        import anywidget  # here, because widgets start slowly
        import traitlets

        class LabWidget(anywidget.AnyWidget):
            _esm = module_source()
            state, numbers = (traitlets.Dict().tag(sync=True) for _ in range(2))
            name, mode, figure, text, notebook, parameter = (traitlets.Unicode().tag(sync=True) for _ in range(6))
            least = traitlets.Float().tag(sync=True)

        return LabWidget(state=self.state, **{name: getattr(self, name) for name in (*TRAITS, "least")})

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        bundle = {"text/plain": self.caption(), "text/html": self.html(not Page.has_module)}
        Page.has_module = True
        if in_kernel():
            bundle[VIEW_KEY] = self.widget().get_view_spec()
        return bundle


lab = Lab  # a verb, as :func:`lambda_slider` is
