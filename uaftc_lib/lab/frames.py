"""One training run per λ, drawn as a frame: what a browser should not train, real corpora and recurrent encoders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_lib.corpus import Dataset
from uaftc_lib.lab import svg
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.token_lists import token_types
from uaftc_lib.training import TrainingConfig, fit

NEUTRAL = "neutral"


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
    dataset: Dataset,
    lam: float,
    config: TrainingConfig | None = None,
    shown: int = 250,
    **model_options,
) -> Frame:
    """Train a classifier at one λ and keep the global scores of the polarity and neutral tokens.

    Parameters
    ----------
    shown : int
        At most so many types of each kind are kept for the picture, evenly spread over their ids (frequency
        ranks); the means are over all of them.
    **model_options
        Of :class:`AttentionClassifier`.

    Raises
    ------
    ValueError
        If model, data and configuration do not fit.
    """
    if shown < 1:
        raise ValueError(f"shown is the number of token types drawn of each kind, at least 1, got {shown}")
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


def style_of(frame: Frame) -> dict[str, str]:
    """Kind of token -> the name of its colour and shape; neutral ones last."""
    polar = [kind for kind in frame.polarity if kind != NEUTRAL]
    named = {"positive", "negative"}.issuperset(polar)
    return {kind: kind if named else f"class{i % 4}" for i, kind in enumerate(polar)} | {NEUTRAL: NEUTRAL}


def accuracy_name(frames: Sequence[Frame]) -> str:
    """The accuracy that the frames have: test, else dev, else none."""
    return next(
        (
            name
            for name in ("test_accuracy", "dev_accuracy")
            if all(not math.isnan(getattr(frame, name)) for frame in frames)
        ),
        "",
    )


def draw_scores(frame: Frame) -> str:
    """The scatter of all kinds: polarity score to the right, attention score up."""
    xs = [value for values in frame.polarity.values() for value in values]
    ys = [value for values in frame.attention.values() for value in values]
    x, y = svg.plane(svg.padded([*xs, 0]), svg.padded([*ys, 0]))
    parts = [svg.axes(x, y, "polarity score s", "attention score a")]
    styles = style_of(frame)
    for kind, values in frame.polarity.items():
        parts.append(svg.dots(map(x, values), map(y, frame.attention[kind]), styles[kind]))
    return svg.picture("".join(parts), f"Polarity and attention scores of token types at {at_lam(frame.lam)}")


def draw_accuracy(frames: Sequence[Frame], current: float) -> str:
    """Accuracy against λ, the current λ marked."""
    name = accuracy_name(frames)
    lams, values = [f.lam for f in frames], [100 * getattr(f, name) for f in frames]
    x, y = svg.plane((min(lams) / 1.3, max(lams) * 1.3), svg.padded(values), logarithmic=True)
    here = values[lams.index(current)]
    label = name.replace("_", " ")
    parts = [
        svg.axes(x, y, "λ", f"{label}, %"),
        svg.line(map(x, lams), map(y, values), "ink"),
        svg.dots(map(x, lams), map(y, values), "ink"),
        f'<circle class="here" r="7" cx="{x(current):.1f}" cy="{y(here):.1f}"/>',
    ]
    return svg.picture("".join(parts), f"{label} against λ; {here:.1f} % at {at_lam(current)}")


def at_lam(lam: float) -> str:
    """``λ = 10``, as a caption says it."""
    return f"λ = {svg.axis_number(lam)}"


def caption(frame: Frame) -> str:
    """What the picture shows, in numbers."""
    means = ", ".join(
        f"{svg.axis_number(frame.means[kind][1])} for {kind}" for kind in style_of(frame) if kind in frame.means
    )
    name = accuracy_name([frame])
    ending = f"; {name.replace('_', ' ')} {100 * getattr(frame, name):.1f} %" if name else ""
    return f"{at_lam(frame.lam)}: mean attention score {means} tokens{ending}."


def legend(frame: Frame) -> str:
    """Which shape and colour is which kind, and how many types it has."""
    return "".join(
        f'<span class="key {style}">{escape(kind)} ({frame.means[kind][2]:,})</span>'
        for kind, style in style_of(frame).items()
        if kind in frame.means
    )


def style() -> str:
    """The style sheet of frames and sliders, as an element."""
    sheet = (resources.files(__package__) / "frames.css").read_text(encoding="utf-8")
    return f"<style>{sheet}</style>"
