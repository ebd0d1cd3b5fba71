"""One training run per λ, drawn as a frame: what a browser should not train, real corpora and recurrent encoders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from uaftc_lib.corpus import Dataset
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.plots import Figure, scatter
from uaftc_lib.plots.figure import render
from uaftc_lib.plots.summaries import number
from uaftc_lib.plots.theme import INK
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
