"""Chapter 23: the score of a topic word and the length of its value vector, in a model of two tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from scipy.stats import spearmanr

from uaftc_book.chapters.learnt_first.polarity_first import LEAST
from uaftc_book.controls import with_permuted_labels
from uaftc_book.neighbours.score_and_length import descend_two_tables, law, missed
from uaftc_book.small_data import SEEDS
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models.separate_tables import SeparateTables
from uaftc_lib.training import TrainingConfig, fit

TOPICS, OTHERS, TEXTS = 4, 40, 40
TIME = 150.0  # of a descent, in units of λ²: what it takes to grow a score by as much goes as λ²
HEADS = ("held", "learnt")  # W: held at 1/λ of what is drawn, or learnt from what is drawn
BINS, RATE = 10, 1.0  # of words by their score; of gradient descent on SST


def law_departure(lam: float, m: int, head: str, step: float, free: bool, seed: int) -> dict[str, float | str | bool]:
    """How far |v|²|V|² departs from 2λ²(a + (eᵃ − 1)/m) + const along gradient descent, V held and keys from zero.

    Texts have one topic word, whose class it tells, among ``m`` others: these are held at zero, or ``free`` to learn
    from the values they begin with. Steps are ``step`` λ² long. Errors are the greatest over topic words and steps, in
    units of the greatest growth that the law gives; beside the law's, that of two others: without its exponential, and
    with the line that the exponential begins as.
    """
    draws, types = np.random.default_rng([m, seed]), TOPICS + OTHERS
    shares = np.zeros((TEXTS, types))
    for t in range(TEXTS):
        shares[t, [t % TOPICS, *(TOPICS + draws.choice(OTHERS, m, replace=False))]] = 1
    model = SeparateTables(types, dimension=5, lam=lam, weight_range=1.0, seed=seed, dtype=torch.float64)
    values, W, V = (of.detach().numpy().copy() for of in (model.values, model.W, model.V))
    moves = np.ones(types)
    if not free:
        values[TOPICS:], moves[TOPICS:] = 0, 0
    rate = step * lam**2
    initial = values, W / lam if head == HEADS[0] else W, V
    rates = rate * moves, rate if head == HEADS[1] else 0.0
    found = descend_two_tables(
        shares, 2.0 * (np.arange(TEXTS) % 2) - 1, initial, lam, rates, round(TIME / step), TOPICS
    )
    a = found.score
    growth = law(a, lam, m).max()
    errors = {
        "error": law(a, lam, m),
        "without the exponential": 2 * lam**2 * a,
        "with a line for it": 2 * lam**2 * a * (1 + 1 / m),
    }
    about = {"lam": lam, "m": m, "head": head, "step": step, "free": free, "score": float(a.max())}
    return about | {name: missed(found, said, growth) for name, said in errors.items()}


@experiment(jobs_over(seed=SEEDS, lam=(1.0, 3.0), labels=("real", "permuted")), rows=BINS)
def score_and_length(lam: float, labels: str, seed: int) -> list[dict]:
    """SST, two tables, V held and keys from zero: growth of |v|²|V|² beside the law's, by the score of words.

    Words of six occurrences or more in ten bins of equal size, by their score; m of a word: of its texts, the mean.
    """
    data = load_dataset("sst")
    data = data if labels == "real" else with_permuted_labels(data, seed)
    model, corpus = SeparateTables(len(data.vocabulary), lam=lam, seed=seed, dtype=torch.float64), data.train
    with torch.no_grad():
        model.keys.zero_()
    size = model.V.detach().square().sum()
    before = model.values.detach().square().sum(1) * size
    config = TrainingConfig(optimizer="sgd", learning_rate=RATE, learning_rates={"V": 0.0}, epochs=20, seed=seed)
    fit(model, Dataset(data.name, data.vocabulary, data.classes, corpus, test=data.test), config, progress=False)
    with torch.no_grad():
        a = model.keys @ model.V / lam
        grown = model.values.square().sum(1) * size - before
    counts = torch.bincount(corpus.tokens, minlength=len(a)).double()
    others = (corpus.lengths - 1).clamp(min=1).double()[corpus.instance_of]
    m = torch.zeros_like(counts).index_add(0, corpus.tokens, others) / counts
    law = 2 * lam**2 * (a + (a.exp() - 1) / m)
    kept = counts >= LEAST
    table = pd.DataFrame({"score": a[kept].numpy(), "grown": grown[kept].numpy(), "law": law[kept].numpy()})
    rank = {"rank": spearmanr(table["score"], table["grown"]).statistic, "right": model.accuracy(data.test)}
    bins = table.groupby(pd.qcut(table["score"], BINS, labels=False, duplicates="drop")).mean()
    return [{"bin": int(number)} | row.to_dict() | rank for number, row in bins.iterrows()]
