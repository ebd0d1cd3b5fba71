"""Chapter 23: attention against association after gradient descent on full batches, and what frequency makes of it."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.stats import spearmanr

from uaftc_lib.book.chapters.learnt_first.polarity_first import DATASETS, LAMS, LEAST
from uaftc_lib.book.controls import with_permuted_labels
from uaftc_lib.book.small_data import SEEDS
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.token_lists import association
from uaftc_lib.training import TrainingConfig, fit

RATES = {"sst": 10.0, "20news-1": 5.0}  # with three times as much some seeds break down at λ = 1
EPOCHS = 800


def arms(a: np.ndarray, gamma: np.ndarray, kept: np.ndarray) -> tuple[float, float]:
    """Rank correlation of attention and γ among the kept words with γ above zero, and among those below."""
    above, below = kept & (gamma > 0), kept & (gamma < 0)
    return tuple(float(spearmanr(a[of], gamma[of]).statistic) for of in (above, below))


@experiment(jobs=[{"dataset": d, "lam": v, "seed": s} for d, s, v in product(RATES, SEEDS, LAMS)], rows=1)
def u_of_full_batches(dataset: str, lam: float, seed: int) -> list[dict]:
    """Plain gradient descent on full batches: attention against γ, at the best epoch on dev and at the last."""
    data = load_dataset(dataset)
    kept = np.bincount(data.train.tokens.numpy(), minlength=len(data.vocabulary)) >= LEAST
    gamma, dealt = (association(of.train, data.vocabulary).numpy() for of in (data, with_permuted_labels(data, seed)))
    model, last = AttentionClassifier(len(data.vocabulary), lam=lam, seed=seed), {}

    def look(epoch: int, now: AttentionClassifier) -> dict:
        if epoch == EPOCHS:
            a = now.token_scores().attention.double().numpy()
            last.update(zip(("last: a, γ above zero", "last: a, γ below zero"), arms(a, gamma, kept)))
            last["last: right in training"] = now.accuracy(data.train)
        return {}

    config = TrainingConfig(optimizer="sgd", learning_rate=RATES[dataset], batch_size=None, epochs=EPOCHS, seed=seed)
    run = fit(model, data, config, look, progress=False)
    a = model.token_scores().attention.double().numpy()
    row = {"epoch": run.best_epoch, "right in training": model.accuracy(data.train), "right": run.test_accuracy}
    row |= dict(zip(("a, γ above zero", "a, γ below zero"), arms(a, gamma, kept)))
    row |= dict(zip(("permuted: a, γ above zero", "permuted: a, γ below zero"), arms(a, dealt, kept)))
    return [row | last]


@experiment(jobs=[{"dataset": d, "lam": v, "seed": s} for d, s, v in product(DATASETS, SEEDS, LAMS)], rows=1)
def u_of_permuted_labels(dataset: str, lam: float, seed: int) -> list[dict]:
    """Adagrad in batches, as in polarity_first: attention against γ, and, a control, against γ of permuted labels."""
    data = load_dataset(dataset)
    kept = np.bincount(data.train.tokens.numpy(), minlength=len(data.vocabulary)) >= LEAST
    model = AttentionClassifier(len(data.vocabulary), lam=lam, seed=seed)
    fit(model, data, TrainingConfig(epochs=10, seed=seed), progress=False)
    a = model.token_scores().attention.double().numpy()
    row = {}
    for before, of in (("", data), ("permuted: ", with_permuted_labels(data, seed))):
        gamma = association(of.train, data.vocabulary).numpy()
        row |= dict(zip((f"{before}a, γ above zero", f"{before}a, γ below zero"), arms(a, gamma, kept)))
    return [row | {"right in training": model.accuracy(data.train)}]
