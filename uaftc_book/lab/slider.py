"""One slider: on a page it switches stops that were made beforehand, in a live kernel it draws anew as it moves.

Stops along λ are training runs as a rule: of real corpora and recurrent encoders, which a browser should not train.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import jinja2
import pandas as pd
import torch
from jaxtyping import Float
from markupsafe import Markup
from matplotlib.axes import Axes
from torch import Tensor

from uaftc_book.lab.module import read, style
from uaftc_lib.corpus import Dataset
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.plots import Figure, scatter
from uaftc_lib.plots.figure import render
from uaftc_lib.plots.summaries import number
from uaftc_lib.plots.theme import INK
from uaftc_lib.token_lists import token_types
from uaftc_lib.training import TrainingConfig, fit

PAGE = jinja2.Environment(loader=jinja2.FunctionLoader(read), autoescape=True, undefined=jinja2.StrictUndefined)
VIEW_KEY = "application/vnd.jupyter.widget-view+json"
NEUTRAL = "neutral"
LAMS = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)


def in_kernel() -> bool:
    """Whether a Jupyter kernel runs this code, so that widgets have someone to talk to."""
    ipython = sys.modules.get("IPython")  # which a kernel has imported
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class Stop(NamedTuple):
    """A stop of a slider: its value, the HTML that is shown there, and a sentence that begins ``λ = 10: ``."""

    value: float
    picture: str
    says: str


@dataclass
class Slider:
    """Stops along a number. In a page: a slider that switches them. In a live kernel: one that draws anew.

    Parameters
    ----------
    name, symbol : str
        Of the number: "scaling factor", "λ".
    stops : sequence of Stop
        By rising value; all above zero.
    start : float, optional
        The stop nearest to it is shown first; None: the first one.
    redraw : callable, optional
        ``redraw(value) -> Stop``: what a live kernel shows between the stops; None: there too they are only switched.
    legend : str
        HTML that stands below every stop.
    frames : sequence of Frame
        The training runs behind the stops, if they are such: see :meth:`over`.

    Raises
    ------
    ValueError
        If there is no stop, or their values do not rise.
    """

    name: str
    symbol: str
    stops: Sequence[Stop]
    start: float | None = None
    redraw: Callable[[float], Stop] | None = None
    legend: str = ""
    frames: Sequence[Frame] = ()

    def __post_init__(self):
        values = [stop.value for stop in self.stops]
        if not values or values != sorted(set(values)):
            raise ValueError(f"a slider needs stops of rising values, got {values}")
        start = self.start or values[0]
        self.first = values.index(min(values, key=lambda value: abs(math.log(value / start))))

    @classmethod
    def over(cls, frames: Sequence[Frame], start: float = 10, retrain: Callable | None = None) -> Slider:
        """A slider along λ over training runs; ``retrain(lam) -> Frame`` is what a live kernel does between them."""
        frames = sorted(frames, key=lambda frame: frame.lam)

        def stop_at(frame: Frame, *more: Figure) -> Stop:
            return Stop(frame.lam, "".join(one.drawings() for one in (draw_scores(frame), *more)), caption(frame))

        def retrained(lam: float) -> Stop:
            began = time.perf_counter()
            stop = stop_at(retrain(lam))
            return stop._replace(says=f"{stop.says} Trained in {time.perf_counter() - began:.2f} s.")

        compared = len(frames) > 1 and accuracy_name(frames)
        stops = [stop_at(frame, *([draw_accuracy(frames, frame)] if compared else [])) for frame in frames]
        legend = escape(counts(frames[0])) if frames else ""
        return cls("scaling factor", "λ", stops, start, retrain and retrained, legend, frames)

    def _repr_html_(self) -> str:
        script, sheet = Markup(read("frames.js")), Markup(read("frames.css"))
        values = vars(self) | {"start": self.first, "script": script, "style": sheet, "number": number}
        return PAGE.get_template("slider.html").render(values)

    def live(self):
        """The ipywidgets slider that draws anew as it moves; it begins with the stop that is there."""
        import ipywidgets

        def shown(stop: Stop) -> str:
            says = f'<div class="legend">{self.legend}</div><p class="caption">{escape(stop.says)}</p>'
            return f'{style()}<div class="uaftc-frames"><div class="frame">{stop.picture}</div>{says}</div>'

        def move(_) -> None:
            # The front end merges moves that arrive while a run is under way, so every run is of the newest.
            try:
                picture.value = shown(self.redraw(control.value))
            except ValueError as error:
                picture.value = f"<p>{escape(str(error))}</p>"

        first = self.stops[self.first]
        low, high = (math.log10(self.stops[i].value) for i in (0, -1))
        control = ipywidgets.FloatLogSlider(
            first.value, min=low, max=high, step=0.1, readout_format=".3g", description=f"{self.name} {self.symbol}",
            style={"description_width": "11em"}, layout={"width": "min(100%, 36em)"},
        )  # fmt: skip
        picture = ipywidgets.HTML(shown(first))
        control.observe(move, "value")
        return ipywidgets.VBox([control, picture])

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        bundle = {"text/plain": "\n".join(stop.says for stop in self.stops), "text/html": self._repr_html_()}
        if self.redraw and in_kernel():
            bundle[VIEW_KEY] = self.live()._repr_mimebundle_()[VIEW_KEY]
        return bundle


def lambda_slider(
    dataset: Dataset, lams: Sequence[float] = LAMS, config: TrainingConfig | None = None, start: float = 10, **options
) -> Slider:
    """Train at each λ and put the runs behind a slider; in a live kernel any λ between is trained on demand.

    The λ nearest to ``start`` is shown first; ``options`` are those of :func:`train_frame`.
    """

    def retrain(lam: float) -> Frame:
        return train_frame(dataset, lam, config, **options)

    return Slider.over([retrain(lam) for lam in lams], start, retrain)


@dataclass(frozen=True)
class Frame:
    """What one λ gave: accuracies (fractions, nan where there is no such split) and scores by kind of token.

    polarity, attention: kind of token, "neutral" first -> scores of some of its types; means: kind -> (mean
    polarity score, mean attention score, number of types) over all of them. With more than two classes the
    kinds are the classes, the polarity score of a type is that for its own class, and of a neutral one the
    mean over classes.
    """

    lam: float
    dev_accuracy: float
    test_accuracy: float
    best_epoch: int
    polarity: dict[str, list[float]]
    attention: dict[str, list[float]]
    means: dict[str, tuple[float, float, int]]


def train_frame(
    dataset: Dataset, lam: float, config: TrainingConfig | None = None, shown: int = 250, **model_options
) -> Frame:
    """Train an :class:`AttentionClassifier` of these options at one λ and keep the global scores of its tokens.

    ``shown``: at most so many types of each kind are kept for the picture, evenly spread over their ids (frequency
    ranks); the means are over all of them.

    Raises
    ------
    ValueError
        If model, data and configuration do not fit.
    """
    if shown < 1:
        raise ValueError(f"shown is the number of words drawn of each kind, at least 1, got {shown}")
    model = AttentionClassifier(len(dataset.vocabulary), lam=lam, classes=len(dataset.classes), **model_options)
    run = fit(model, dataset, config)
    scores = model.token_scores()
    ids = token_types(dataset.train, dataset.vocabulary)
    polarity, attention, means = {}, {}, {}
    for kind in (NEUTRAL, *(name for name in ids if name != NEUTRAL)):
        chosen = ids[kind]
        some = chosen[torch.linspace(0, len(chosen) - 1, min(shown, len(chosen))).round().long()]
        own = own_polarity(scores.polarity, kind, dataset.classes)
        polarity[kind] = [round(value, 4) for value in own[some].tolist()]
        attention[kind] = [float(f"{value:.4g}") for value in scores.attention[some].tolist()]
        if len(chosen):
            both = own[chosen].mean(), scores.attention[chosen].mean()
            means[kind] = (*map(float, both), len(chosen))
    return Frame(float(lam), run.dev_accuracy, run.test_accuracy, run.best_epoch, polarity, attention, means)


def own_polarity(polarity: Float[Tensor, "types ..."], kind: str, classes: Sequence[str]) -> Float[Tensor, "types"]:
    """The one polarity score by which types of a kind are drawn; see :class:`Frame`."""
    if polarity.ndim == 1:
        return polarity
    return polarity.mean(1) if kind == NEUTRAL else polarity[:, list(classes).index(kind)]


def accuracy_name(frames: Sequence[Frame]) -> str:
    """The accuracy that the frames have: test, else dev, else none."""
    known = (name for name in ("test", "dev") if not any(math.isnan(accuracy(frame, name)) for frame in frames))
    return next(known, "")


def accuracy(frame: Frame, name: str) -> float:
    """That of a split, in per cent."""
    return 100 * getattr(frame, f"{name}_accuracy")


def draw_scores(frame: Frame) -> Figure:
    """The scatter of all kinds: polarity score to the right, attention score up."""
    rows = [(*score, kind) for kind, values in frame.polarity.items() for score in zip(values, frame.attention[kind])]
    columns = ("polarity score s", "attention score a", "kind")
    return scatter(pd.DataFrame(rows, columns=columns), *columns, caption(frame), title=at_lam(frame.lam), raster=False)


def draw_accuracy(frames: Sequence[Frame], current: Frame) -> Figure:
    """Accuracy against λ, the current λ marked."""
    name, lam = accuracy_name(frames), current.lam
    data = pd.DataFrame({"lam": [frame.lam for frame in frames], "accuracy": [accuracy(one, name) for one in frames]})

    def draw(axes: Axes) -> None:
        axes.plot(data["lam"], data["accuracy"], color=INK, marker="o")
        axes.plot(lam, accuracy(current, name), color=INK, marker="o", markersize=10, markerfacecolor="none")

    alt = f"{name} accuracy against λ; {accuracy(current, name):.1f} % at {at_lam(lam)}"
    labels = {"x_label": "scaling factor λ", "y_label": f"{name} accuracy, %", "title": at_lam(lam)}
    return render(draw, data, caption(current), alt, log_x=True, **labels)


def ordered_kinds(frame: Frame) -> list[str]:
    """The kinds that have types, neutral ones last."""
    return sorted(frame.means, key=lambda kind: kind == NEUTRAL)


def at_lam(lam: float) -> str:
    """``λ = 10``, as a caption says it."""
    return f"λ = {number(lam)}"


def caption(frame: Frame) -> str:
    """What the picture shows, in numbers."""
    means = ", ".join(f"{number(frame.means[kind][1])} for {kind}" for kind in ordered_kinds(frame))
    name = accuracy_name([frame])
    ending = f"; {name} accuracy {accuracy(frame, name):.1f} %" if name else ""
    return f"{at_lam(frame.lam)}: mean attention score {means} words{ending}."


def counts(frame: Frame) -> str:
    """How many types each kind has."""
    return "Token types: " + ", ".join(f"{frame.means[kind][2]:,} {kind}" for kind in ordered_kinds(frame))
