"""Chapter 23: what the signed frequency of a word foretells of its scores, and polarity learnt without attention."""

from __future__ import annotations

from copy import deepcopy
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.stats import kendalltau, spearmanr

from uaftc_book.controls import with_permuted_labels
from uaftc_book.neighbours.one_step import signed_frequency
from uaftc_book.small_data import SEEDS
from uaftc_lib import dynamics
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.token_lists import association
from uaftc_lib.training import TrainingConfig, fit

DATASETS, LAMS = ("sst", "20news-1", "imdb"), (1.0, 10.0, 100.0)
OF_CLASSES = "20news-2"
UNIFORM = 1e9  # a λ that leaves every weight 1/n
LEAST = 6  # occurrences of a word that is looked at
OTHER = 1000  # added to the seed of a run that is to share no initial value


def before_training(dataset: Dataset, lam: float, seed: int) -> AttentionClassifier:
    """A model DP before training."""
    return AttentionClassifier(len(dataset.vocabulary), lam=lam, classes=len(dataset.classes), seed=seed)


def scores_along(dataset: Dataset, lam: float, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """a and s of all types after the first epoch, and of the model that is kept (the best on dev)."""
    model, early = before_training(dataset, lam, seed), []

    def look(epoch: int, now: AttentionClassifier) -> dict:
        if epoch == 1:
            early.extend(x.double().numpy() for x in now.token_scores())
        return {}

    fit(model, dataset, TrainingConfig(epochs=10, seed=seed), look, progress=False)
    late = [x.double().numpy() for x in model.token_scores()]
    return [early[0], late[0]], [early[1], late[1]]


def first_slopes(model: AttentionClassifier, dataset: Dataset) -> dict[str, Float[np.ndarray, "types"]]:
    """ds/dτ at V = 0, whole and B alone, which is the word's own part of it (Eq 19; A is nothing there)."""
    model = deepcopy(model).double()
    with torch.no_grad():
        model.V.zero_()
    update = dynamics.polarity_update(model, dataset.train)
    return {"first slope": update.total.numpy(), "own part of it": update.B.numpy()}


def tau(x: np.ndarray, y: np.ndarray) -> float:
    """Kendall's τ-b."""
    return float(kendalltau(x, y).statistic)


def votes(s: Float[np.ndarray, "types ..."]) -> Float[np.ndarray, "types"]:
    """|s|; of several classes the length of s without its mean, which changes nothing."""
    return abs(s) if s.ndim == 1 else np.linalg.norm(s - s.mean(1, keepdims=True), axis=1)


class Learnt(NamedTuple):
    """Of the words that are looked at: a and s after the first epoch and at the end, and s of other runs without a."""

    a_early: Float[np.ndarray, "words"]
    a: Float[np.ndarray, "words"]
    s_early: Float[np.ndarray, "words ..."]
    s: Float[np.ndarray, "words ..."]
    alone: Float[np.ndarray, "words ..."]
    of_noise: Float[np.ndarray, "words ..."]
    counts: Int[np.ndarray, "words"]


def learnt(data: Dataset, dealt: Dataset, lam: float, seed: int) -> Learnt:
    """Train with attention, and from another seed without it, with the labels and with those of ``dealt``."""
    counts = np.bincount(data.train.tokens.numpy(), minlength=len(data.vocabulary))
    kept = counts >= LEAST
    (a_early, a), (s_early, s) = ([of[kept] for of in pair] for pair in scores_along(data, lam, seed))
    alone, of_noise = (scores_along(of, UNIFORM, seed + OTHER)[1][1][kept] for of in (data, dealt))
    return Learnt(a_early, a, s_early, s, alone, of_noise, counts[kept])


def foretold(of: Learnt) -> dict[str, float]:
    """Kendall's τ of attention and polarity with what was known before, or learnt before the other."""
    return {
        "τ a, |s| alone": tau(of.a, votes(of.alone)),
        "τ a, |s| alone of permuted labels": tau(of.a, votes(of.of_noise)),
        "τ a, frequency": tau(of.a, of.counts),
        "τ a at the end, |s| of the first epoch": tau(of.a, votes(of.s_early)),
        "τ |s| at the end, a of the first epoch": tau(votes(of.s), of.a_early),
        "τ |s| at the end, |s| of the first epoch": tau(votes(of.s), votes(of.s_early)),
    }


@experiment(jobs_over(dataset=DATASETS, seed=SEEDS, lam=LAMS), rows=1)
def polarity_first(dataset: str, lam: float, seed: int) -> list[dict]:
    """Rank correlations over frequent words: of a trained model's scores with what was known or learnt before."""
    data = load_dataset(dataset)
    dealt = with_permuted_labels(data, seed)
    of = learnt(data, dealt, lam, seed)
    a, s = of.a, of.s
    kept = np.bincount(data.train.tokens.numpy(), minlength=len(data.vocabulary)) >= LEAST
    pi, pi_of_noise = (signed_frequency(one.train, len(one.vocabulary))[kept] for one in (data, dealt))
    gamma = association(data.train, data.vocabulary).numpy()[kept]
    slopes = {name: slope[kept] for name, slope in first_slopes(before_training(data, lam, seed), data).items()}
    row = {"words": int(kept.sum())}
    row |= {f"{name}: s, signed frequency": spearmanr(slope, pi).statistic for name, slope in slopes.items()}
    row |= {f"{name}: s, s at the end": spearmanr(slope, s).statistic for name, slope in slopes.items()}
    row |= {
        "first epoch: s, s at the end": spearmanr(of.s_early, s).statistic,
        "end: s, signed frequency": spearmanr(s, pi).statistic,
        "end: s, signed frequency of permuted labels": spearmanr(s, pi_of_noise).statistic,
        "end: s, γ": spearmanr(s, gamma).statistic,
        "end: a, γ above zero": spearmanr(a[gamma > 0], gamma[gamma > 0]).statistic,
        "end: a, γ below zero": spearmanr(a[gamma < 0], gamma[gamma < 0]).statistic,
        "τ a, |signed frequency|": tau(a, abs(pi)),
    }
    return [row | foretold(of)]


@experiment(jobs_over(seed=SEEDS, lam=LAMS), rows=1)
def polarity_first_of_classes(lam: float, seed: int) -> list[dict]:
    """20 Newsgroups II, four classes: what foretells attention, and what attention foretells."""
    data = load_dataset(OF_CLASSES)
    return [foretold(learnt(data, with_permuted_labels(data, seed), lam, seed))]
