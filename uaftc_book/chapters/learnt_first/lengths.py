"""Chapter 23: how much of a weight is the length of its text."""

from __future__ import annotations

import numpy as np
import torch

from uaftc_book.chapters.learnt_first.polarity_first import DATASETS, LAMS, before_training
from uaftc_book.neighbours import dispersion
from uaftc_book.neighbours.length_aware import RULES, LengthAwareClassifier, LengthAwareTrainer
from uaftc_book.small_data import SEEDS
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.training import TrainingConfig, fit

AWARE_LAMS, AWARE_SEEDS = (1.0, 10.0), 20


@experiment(jobs_over(dataset=DATASETS, seed=SEEDS, lam=LAMS), rows=1)
def weights_by_length(dataset: str, lam: float, seed: int) -> list[dict]:
    """Training texts: the largest weight of each against its bound and its length; beside scores dealt out anew."""
    data = load_dataset(dataset)
    model = before_training(data, lam, seed)
    fit(model, data, TrainingConfig(epochs=10, seed=seed), progress=False)
    corpus = data.train
    lengths = corpus.lengths.numpy()
    scores, span = dispersion.attention_scores(model, corpus)
    weights, bound = dispersion.largest(scores, corpus), dispersion.most(lengths, span)
    dealt = np.random.default_rng(seed).permutation(scores)
    row = {
        "span": span,
        "over the bound": float((weights - bound).max()),
        "part of the bound": float(np.median(weights / bound)),
        "texts": len(corpus),
        "longest": int(lengths.max()),
        "power": dispersion.power_of_length(lengths, weights),
        "power of dealt scores": dispersion.power_of_length(lengths, dispersion.largest(dealt, corpus)),
        "power of the bound": dispersion.power_of_length(lengths, bound),
    }
    return [row]


@experiment(jobs_over(seed=range(AWARE_SEEDS), dataset=DATASETS, lam=AWARE_LAMS, rule=RULES), rows=1)
def length_aware(dataset: str, lam: float, rule: str, seed: int) -> list[dict]:
    """A fixed λ, one that falls with the length of a text, and one that does for lengths dealt out: the test set."""
    data = load_dataset(dataset)
    model = LengthAwareClassifier(len(data.vocabulary), data.train.lengths, rule, lam=lam, seed=seed)
    config = TrainingConfig(epochs=10, dropout=0.5, seed=seed)
    run = fit(model, data, config, trainer=LengthAwareTrainer, progress=False)
    corpus, lengths = data.test, data.test.lengths.numpy()
    with torch.no_grad():
        out = model(corpus)
    right = ((out.polarity > 0).long() == corpus.labels).double().numpy()
    largest = np.maximum.reduceat(out.weights.double().numpy(), corpus.offsets[:-1].numpy())
    long = lengths > np.median(lengths)
    row = {"dev": run.dev_accuracy, "test": run.test_accuracy, "test, longer half": right[long].mean()}
    return [row | {"test, shorter half": right[~long].mean(), "power": dispersion.power_of_length(lengths, largest)}]
