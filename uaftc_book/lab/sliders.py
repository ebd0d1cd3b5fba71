"""Sliders over training runs: frames over λ for a page, and ipywidgets for a live kernel, which trains again."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from html import escape

from uaftc_book.lab.frames import Frame, accuracy_name, caption, counts, draw_accuracy, draw_scores, train_frame
from uaftc_book.lab.module import style
from uaftc_book.lab.stops import LAYOUT, STYLE, Slider, Stop, redrawn
from uaftc_lib.corpus import Dataset
from uaftc_lib.training import TrainingConfig

LAMS = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
CONTROLS = {
    "lam": ("scaling factor λ", "log", -2, 4),
    "learning_rate": ("learning rate η", "log", -4, 1),
    "penalty": ("|V·W| penalty (0 at left)", "log", -6, 0),
    "dimension": ("dimension d", "whole", 2, 200),
    "epochs": ("epochs", "whole", 1, 40),
    "seed": ("seed", "whole", 0, 50),
}


def slider(name: str, value: float):
    """The ipywidgets slider of one control."""
    import ipywidgets

    label, kind, low, high = CONTROLS[name]
    common = {"description": label, "style": STYLE, "layout": LAYOUT}
    if kind == "whole":
        return ipywidgets.IntSlider(value, min(low, value), max(high, value), **common)
    value = min(max(value, 10.0**low), 10.0**high)
    return ipywidgets.FloatLogSlider(value, min=low, max=high, step=0.1, readout_format=".3g", **common)


def timed(train: Callable[..., Frame]) -> Callable[..., str]:
    """What trains a frame and gives it as HTML, with the time that it took."""

    def draw(**values) -> str:
        started = time.perf_counter()
        frame = train(**values)
        seconds = time.perf_counter() - started
        return (
            f'{style()}<div class="uaftc-frames"><div class="frames"><div class="frame">'
            f'{draw_scores(frame).drawings()}</div></div><div class="legend">{escape(counts(frame))}</div>'
            f'<p class="caption">{escape(caption(frame))} Trained in {seconds:.2f} s.</p></div>'
        )

    return draw


def sliders(
    dataset: Dataset, config: TrainingConfig | None = None, controls: Sequence[str] = tuple(CONTROLS), **options
):
    """Sliders that retrain through :func:`fit` while they move: for a live kernel.

    They begin at ``config`` and ``options`` (of :func:`train_frame`), which hold where no slider is.

    Raises
    ------
    ValueError
        For an unknown control.
    """
    unknown = [name for name in controls if name not in CONTROLS]
    if unknown:
        raise ValueError(f"unknown controls {', '.join(unknown)}; there are {', '.join(CONTROLS)}")
    config = config or TrainingConfig()
    begin = {"lam": 10.0, "dimension": 100, "seed": 0} | options
    begin |= {name: getattr(config, name) for name in ("learning_rate", "penalty", "epochs")}

    def train(**values) -> Frame:
        training = {name: values[name] for name in ("learning_rate", "penalty", "epochs", "seed") if name in values}
        if training.get("penalty", 1.0) <= 1e-6:  # the lowest end of a logarithmic slider means none
            training["penalty"] = 0.0
        own = options | {name: values[name] for name in ("lam", "dimension", "seed") if name in values}
        return train_frame(dataset, own.pop("lam", 10.0), dataclasses.replace(config, **training), **own)

    return redrawn({name: slider(name, begin[name]) for name in controls}, timed(train))


class LambdaSlider(Slider):
    """Frames by rising λ: a :class:`Slider` whose stops are training runs.

    ``retrain(lam) -> Frame`` is what a live kernel does between them; None: there too the slider only switches.
    """

    def __init__(
        self, frames: Sequence[Frame], retrain: Callable[[float], Frame] | None = None, start: float | None = None
    ):
        if not frames:
            raise ValueError("a λ slider needs at least one frame")
        self.frames = sorted(frames, key=lambda frame: frame.lam)
        lams = [frame.lam for frame in self.frames]
        if len(set(lams)) != len(lams):
            raise ValueError(f"every λ may occur once, got {lams}")
        self.retrain = retrain
        redraw = retrain and (lambda value: timed(retrain)(lam=value))
        nearest = lams.index(min(lams, key=lambda lam: abs(math.log(lam / (start or 10)))))
        compared = accuracy_name(self.frames) and len(lams) > 1
        stops = []
        for frame in self.frames:
            figures = [draw_scores(frame), *([draw_accuracy(self.frames, frame)] if compared else [])]
            stops.append(Stop(frame.lam, "".join(figure.drawings() for figure in figures), caption(frame)))
        super().__init__("scaling factor", "λ", stops, nearest, redraw, escape(counts(self.frames[nearest])))


def lambda_slider(
    dataset: Dataset, lams: Sequence[float] = LAMS, config: TrainingConfig | None = None, start: float = 10, **options
) -> LambdaSlider:
    """Train at each λ and put the runs behind a slider; in a live kernel any λ between is trained on demand.

    The λ nearest to ``start`` is shown first; ``options`` are those of :func:`train_frame`.
    """

    def retrain(lam: float) -> Frame:
        return train_frame(dataset, lam, config, **options)

    return LambdaSlider([retrain(lam) for lam in lams], retrain, start)
