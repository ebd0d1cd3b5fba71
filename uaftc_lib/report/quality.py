"""Is the model worth explaining? Held against the prior and a linear model, part by part of the unseen texts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Shaped
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.metrics import recall_score, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from uaftc_lib.intervals import half_width

Probabilities = Float[np.ndarray, "texts classes"]
BINS = 10
FEW = 200  # unseen texts below which it remains open how good a model is
MATERIAL = 0.02  # by how much the linear model must be better to matter: a share of balanced accuracy
NEARLY_WHOLE = 0.9  # share of a class's texts from which a word that tells the class nearly decides it
VERDICTS = {  # what may be concluded, and why
    "useless": (
        "No conclusion may be drawn.",
        "On texts it had not seen, the model is not surely better than the shares of the classes alone: it has learnt "
        "nothing, or its five trainings disagree too much to tell. Its words are not to be trusted.",
    ),
    "worse than linear": (
        "Conclusions may be drawn about this model, but not about what matters in these texts.",
        "A linear model that only counts the same words is clearly better on unseen texts: there is more to "
        "learn from these texts than this model has learnt. Its words stand beside.",
    ),
    "few": (
        "Conclusions may be drawn about this model; how good it is remains open.",
        "It is better than the shares of the classes, but only {independent} unseen texts were there to test it "
        "(copies, and texts of one group, counted once).",
    ),
    "sound": (
        "Conclusions may be drawn about this model, and the model is worth asking.",
        "On texts it had not seen, it is better than the shares of the classes, and a linear model on the same words "
        "is not materially better.",
    ),
}


def calibration(probability: Probabilities, labels: Int[np.ndarray, "texts"]) -> pd.DataFrame:
    """Confidence of the predicted class against how often it was right, in ten bins of equal width."""
    confidence, right = probability.max(1), probability.argmax(1) == labels
    rows = pd.DataFrame({"confidence": confidence, "accuracy": right, "instances": 1})
    index = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins = rows.groupby(index).agg({"confidence": "mean", "accuracy": "mean", "instances": "sum"})
    bins.insert(0, "low", bins.index / BINS)
    bins.insert(1, "high", (bins.index + 1) / BINS)
    return bins.reset_index(drop=True)


def calibration_error(bins: pd.DataFrame) -> float:
    """Expected calibration error: the mean gap of confidence and accuracy, weighted by instances."""
    gap = (bins["confidence"] - bins["accuracy"]).abs()
    return float((gap * bins["instances"]).sum() / bins["instances"].sum())


def share_right(right: Bool[np.ndarray, "texts"]) -> dict[str, float]:
    """The share of right answers with its 95 % interval (Wilson)."""
    low, high = proportion_confint(int(right.sum()), len(right), method="wilson")
    return {"accuracy": float(right.mean()), "low": float(low), "high": float(high)}


def mean_log_loss(probability: Probabilities, labels: Int[np.ndarray, "texts"]) -> float:
    """The mean of −log of the probability of the true class, in nats a text."""
    return float(-np.log(probability[np.arange(len(labels)), labels].clip(1e-12)).mean())


def balanced_accuracy(probability: Probabilities, labels: Int[np.ndarray, "texts"]) -> float:
    """The mean over the classes of the share of right answers."""
    return float(recall_score(labels, probability.argmax(1), labels=np.unique(labels), average="macro"))


def auc(probability: Probabilities, labels: Int[np.ndarray, "texts"]) -> float:
    """How often a text of a class is given a higher probability of it than one of another class; mean over classes.

    Not a number where all texts are of one class.
    """
    there = [k for k in np.unique(labels) if not (labels == k).all()]
    return math.nan if not there else float(np.mean([roc_auc_score(labels == k, probability[:, k]) for k in there]))


def tempered(
    probability: Probabilities, prior: Probabilities, labels: Int[np.ndarray, "texts"], part: Int[np.ndarray, "texts"]
) -> Probabilities:
    """The same answers, as sure as they proved right to be: prior · (probability / prior)ᵃ, a from the other parts.

    A model that ranks texts well but is too sure of itself would else seem worse than the prior, which is a = 0.
    """
    floor = 1e-12
    ahead = np.log(probability.clip(floor)) - np.log(prior.clip(floor))

    def answers(a: float, rows: np.ndarray) -> np.ndarray:
        return softmax(np.log(prior[rows].clip(floor)) + a * ahead[rows], axis=1)

    def loss(a: float, rows: np.ndarray) -> float:
        return mean_log_loss(answers(a, rows), labels[rows])

    found = np.empty_like(probability)
    for k in np.unique(part):
        a = minimize_scalar(loss, bounds=(0, 5), args=(part != k,), method="bounded").x
        found[part == k] = answers(a, part == k)
    return found


def over_parts(
    measure: Callable, part: Int[np.ndarray, "texts"], *arrays: Shaped[np.ndarray, "texts ..."]
) -> tuple[float, float, float]:
    """Mean and 95 % interval (Student's t) of a measure over the parts of the unseen texts in which it can be had."""
    found = np.array([measure(*(array[part == k] for array in arrays)) for k in np.unique(part)])
    found = found[np.isfinite(found)]
    if len(found) < 2:
        return math.nan, math.nan, math.nan
    mean, half = float(found.mean()), float(half_width(stats.sem(found), len(found) - 1))
    return mean, mean - half, mean + half


def quality(
    ours: Probabilities,
    linear: Probabilities,
    prior: Probabilities,
    labels: Int[np.ndarray, "texts"],
    part: Int[np.ndarray, "texts"],
    independent: int,
) -> dict:
    """Everything that the report says of the model's worth, and its verdict.

    ``prior``: the shares of the classes among the training texts; ``part``: the fifth to which an unseen text belongs;
    ``independent``: how many unseen texts there are, copies and groups counted once.

    The verdict is "useless" unless the log-loss of the :func:`tempered` answers is surely below that of the prior and
    the AUC surely above one half (95 % intervals over the parts), "worse than linear" if the linear model's balanced
    accuracy is surely higher and by more than two points, "few" below 200 independent unseen texts, else "sound".
    """
    fair = tempered(ours, prior, labels, part)
    gain = over_parts(lambda p, q, y: mean_log_loss(q, y) - mean_log_loss(p, y), part, fair, prior, labels)
    ranking, of_linear = (over_parts(auc, part, each, labels) for each in (ours, linear))
    margin = over_parts(lambda p, q, y: balanced_accuracy(q, y) - balanced_accuracy(p, y), part, ours, linear, labels)
    if not (gain[1] > 0 and ranking[1] > 0.5):  # so also where they cannot be had
        verdict = "useless"
    elif margin[0] > MATERIAL and margin[1] > 0:
        verdict = "worse than linear"
    else:
        verdict = "few" if independent < FEW else "sound"
    largest = int(prior.mean(0).argmax())
    losses = {name: mean_log_loss(P, labels) for name, P in (("model", ours), ("prior", prior), ("linear", linear))}
    bounds = ("low", "high")
    return {
        "verdict": verdict,
        "tested": len(labels),
        "independent": independent,
        "largest_class": largest,
        "log_loss": losses | {"gain": gain[0]} | dict(zip(bounds, gain[1:])),
        "auc": {"model": ranking[0], "linear": of_linear[0]} | dict(zip(bounds, ranking[1:])),
        "attention": judged(ours, labels),
        "linear": judged(linear, labels),
        "majority": share_right(labels == largest) | {"balanced_accuracy": 1 / len(np.unique(labels))},
        "margin": {"accuracy": margin[0]} | dict(zip(bounds, margin[1:])),
    }


def judged(probability: Probabilities, labels: Int[np.ndarray, "texts"]) -> dict:
    """How often a model is right, in all and class by class, and whether it knows how often."""
    bins = calibration(probability, labels)
    return share_right(probability.argmax(1) == labels) | {
        "balanced_accuracy": balanced_accuracy(probability, labels),
        "confidence": float(probability.max(1).mean()),
        "calibration_error": calibration_error(bins),
        "calibration": bins.to_dict("records"),
    }
