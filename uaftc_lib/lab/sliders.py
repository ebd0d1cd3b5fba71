"""ipywidgets sliders for a live kernel: every move trains again, on any data set."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from html import escape

from uaftc_lib.checks import whole
from uaftc_lib.corpus import Dataset
from uaftc_lib.lab import frames
from uaftc_lib.plots import Figure
from uaftc_lib.training import TrainingConfig

CONTROLS = {
    "lam": ("scaling factor λ", "log", -2, 4),
    "learning_rate": ("learning rate η", "log", -4, 1),
    "penalty": ("|V·W| penalty (0 at left)", "log", -6, 0),
    "dimension": ("dimension d", "whole", 2, 200),
    "epochs": ("epochs", "whole", 1, 40),
    "seed": ("seed", "whole", 0, 50),
}
STYLE, LAYOUT = {"description_width": "11em"}, {"width": "min(100%, 36em)"}


def in_kernel() -> bool:
    """Whether a Jupyter kernel runs this code, so that widgets have someone to talk to."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return hasattr(get_ipython(), "kernel")


def show(frame: frames.Frame, seconds: float | None = None) -> str:
    """One frame as HTML, with the time that training took."""
    took = "" if seconds is None else f" Trained in {seconds:.2f} s."
    return (
        f'{frames.style()}<div class="uaftc-frames"><div class="frames"><div class="frame">'
        f'{frames.draw_scores(frame)}</div></div><div class="legend">{frames.legend(frame)}</div>'
        f'<p class="caption">{escape(frames.caption(frame) + took)}</p></div>'
    )


def slider(name: str, value: float):
    """The ipywidgets slider of one control."""
    import ipywidgets

    label, kind, low, high = CONTROLS[name]
    common = {"description": label, "style": STYLE, "layout": LAYOUT}
    if kind == "whole":
        return ipywidgets.IntSlider(value, min(low, value), max(high, value), **common)
    value = min(max(value, 10.0**low), 10.0**high)
    return ipywidgets.FloatLogSlider(value, min=low, max=high, step=0.1, readout_format=".3g", **common)


def retraining(controls: dict, train: Callable[..., frames.Frame], first: frames.Frame | None):
    """Controls above a picture that ``train(**values)`` draws anew whenever one of them moves."""
    import ipywidgets

    def draw(_=None):
        # The front end merges moves that arrive while a run is under way, so every run is of the newest.
        started = time.perf_counter()
        try:
            frame = train(**{name: control.value for name, control in controls.items()})
            picture.value = show(frame, time.perf_counter() - started)
        except ValueError as error:
            picture.value = f"<p>{escape(str(error))}</p>"

    picture = ipywidgets.HTML()
    if first is None:
        draw()
    else:
        picture.value = show(first)
    for control in controls.values():
        control.observe(draw, "value")
    return ipywidgets.VBox([*controls.values(), picture])


def pick(label: str, count: int, draw: Callable[[int], Figure], first: int = 0):
    """A slider over ``count`` numbered things above the figure that ``draw(number)`` makes: for a live kernel.

    Raises
    ------
    ValueError
        If there are none, or ``first`` is not one of them.
    """
    import ipywidgets

    if whole("first", first) >= whole("count", count, least=1):
        raise ValueError(f"first must be one of 0 to {count - 1}, got {first}")
    control = ipywidgets.IntSlider(first, 0, count - 1, description=label, style=STYLE, layout=LAYOUT)
    picture = ipywidgets.HTML(draw(first).to_html())

    def show_chosen(change: dict) -> None:
        picture.value = draw(change["new"]).to_html()

    control.observe(show_chosen, "value")
    return ipywidgets.VBox([control, picture])


def retraining_slider(train: Callable[[float], frames.Frame], first: frames.Frame, low: float, high: float):
    """One λ slider between ``low`` and ``high``, beginning with a frame that is already there."""
    import math

    control = slider("lam", first.lam)
    control.min, control.max = math.log10(low), math.log10(high)
    return retraining({"lam": control}, train, first)


def sliders(
    dataset: Dataset,
    config: TrainingConfig | None = None,
    controls: Sequence[str] = tuple(CONTROLS),
    shown: int = 250,
    **model_options,
):
    """Sliders that retrain through :func:`fit` while they move: for a live kernel.

    Parameters
    ----------
    dataset : Dataset
    config : TrainingConfig, optional
        Where the sliders begin, and what they leave alone.
    controls : sequence of str
        Some of "lam", "learning_rate", "penalty", "dimension", "epochs", "seed".
    **model_options
        Of :class:`AttentionClassifier`.

    Raises
    ------
    ValueError
        For an unknown control.
    """
    unknown = [name for name in controls if name not in CONTROLS]
    if unknown:
        raise ValueError(f"unknown controls {', '.join(unknown)}; there are {', '.join(CONTROLS)}")
    config = config or TrainingConfig()
    begin = {"lam": 10.0, "dimension": 100, "seed": 0} | model_options
    begin |= {name: getattr(config, name) for name in ("learning_rate", "penalty", "epochs")}
    fixed = {name: value for name, value in model_options.items() if name not in controls}

    def train(**values) -> frames.Frame:
        training = {name: values[name] for name in ("learning_rate", "penalty", "epochs", "seed") if name in values}
        if training.get("penalty", 1.0) <= 1e-6:  # the lowest end of a logarithmic slider means none
            training["penalty"] = 0.0
        model = {name: values[name] for name in ("dimension", "seed") if name in values}
        lam = values.get("lam", begin["lam"])
        options = {**fixed, **model}
        options.pop("lam", None)
        return frames.train_frame(dataset, lam, dataclasses.replace(config, **training), shown, **options)

    return retraining({name: slider(name, begin[name]) for name in controls}, train, None)
