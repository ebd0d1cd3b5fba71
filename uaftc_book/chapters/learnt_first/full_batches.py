"""Chapter 23: attention against association: after full batches, after dropout, and for permuted labels."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from uaftc_book.chapters.learnt_first.polarity_first import DATASETS, LAMS, LEAST
from uaftc_book.controls import with_permuted_labels
from uaftc_book.small_data import SEEDS
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.token_lists import association
from uaftc_lib.training import TrainingConfig, fit

RATES = {"sst": 10.0, "20news-1": 5.0}  # with three times as much some seeds break down at λ = 1
EPOCHS = 800
ARMS, PERMUTED = {"a, γ above zero": 1, "a, γ below zero": -1}, "permuted: "  # each arm of the U outwards


def arms(a: np.ndarray, gamma: np.ndarray, kept: np.ndarray) -> tuple[float, float]:
    """Rank correlation of attention and γ among the kept words with γ above zero, and among those below."""
    above, below = kept & (gamma > 0), kept & (gamma < 0)
    return tuple(spearmanr(a[of], gamma[of]).statistic for of in (above, below))


def arms_of(model: AttentionClassifier, data: Dataset, prefix: str = "", of: Dataset | None = None) -> dict[str, float]:
    """:func:`arms` of a model's attention among words of :data:`LEAST` occurrences; ``of``: whose labels γ counts."""
    kept = np.bincount(data.train.tokens.numpy(), minlength=len(data.vocabulary)) >= LEAST
    gamma = association((of or data).train, data.vocabulary).numpy()
    found = arms(model.token_scores().attention.double().numpy(), gamma, kept)
    return {f"{prefix}{name}": value for name, value in zip(ARMS, found)}


def with_control(model: AttentionClassifier, data: Dataset, seed: int) -> dict[str, float]:
    """The arms with γ, and with the γ of permuted labels."""
    return arms_of(model, data) | arms_of(model, data, PERMUTED, with_permuted_labels(data, seed))


@experiment(jobs_over(dataset=RATES, seed=SEEDS, lam=LAMS), rows=1)
def u_of_full_batches(dataset: str, lam: float, seed: int) -> list[dict]:
    """Plain gradient descent on full batches: attention against γ, at the best epoch on dev and at the last."""
    data = load_dataset(dataset)
    model, last = AttentionClassifier(len(data.vocabulary), lam=lam, seed=seed), {}

    def look(epoch: int, now: AttentionClassifier) -> dict:
        if epoch == EPOCHS:
            last.update(arms_of(now, data, "last: ") | {"last: right in training": now.accuracy(data.train)})
        return {}

    config = TrainingConfig(optimizer="sgd", learning_rate=RATES[dataset], batch_size=None, epochs=EPOCHS, seed=seed)
    run = fit(model, data, config, look, progress=False)
    row = {"epoch": run.best_epoch, "right in training": model.accuracy(data.train), "right": run.test_accuracy}
    return [row | with_control(model, data, seed) | last]


@experiment(jobs_over(dataset=DATASETS, seed=SEEDS, lam=LAMS), rows=1)
def u_of_permuted_labels(dataset: str, lam: float, seed: int) -> list[dict]:
    """Adagrad in batches, as in polarity_first: attention against γ, and, a control, against γ of permuted labels."""
    data = load_dataset(dataset)
    model = AttentionClassifier(len(data.vocabulary), lam=lam, seed=seed)
    fit(model, data, TrainingConfig(epochs=10, seed=seed), progress=False)
    return [with_control(model, data, seed) | {"right in training": model.accuracy(data.train)}]


@experiment(jobs_over(dataset=RATES, seed=SEEDS), rows=1)
def u_with_dropout(dataset: str, seed: int) -> list[dict]:
    """λ = 10 and dropout as in Table 2: attention against γ among words with γ above zero, and among those below."""
    data = load_dataset(dataset)
    model = AttentionClassifier(len(data.vocabulary), lam=10.0, seed=seed)
    fit(model, data, TrainingConfig(epochs=10, dropout=0.5, seed=seed), progress=False)
    return [arms_of(model, data) | {"right": model.accuracy(data.test)}]
