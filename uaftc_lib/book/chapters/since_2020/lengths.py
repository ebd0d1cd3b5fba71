"""Chapter 20: how much of a weight is the length of its text."""

from __future__ import annotations

from itertools import product

import numpy as np

from uaftc_lib.book.chapters.since_2020.polarity_first import DATASETS, LAMS, start
from uaftc_lib.book.small_data import SEEDS
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment
from uaftc_lib.neighbours import dispersion
from uaftc_lib.training import TrainingConfig, fit


@experiment(jobs=[{"dataset": d, "lam": v, "seed": s} for d, s, v in product(DATASETS, SEEDS, LAMS)], rows=1)
def weights_by_length(dataset: str, lam: float, seed: int) -> list[dict]:
    """Training texts: the largest weight of each against its bound and its length; beside scores dealt out anew."""
    data = load_dataset(dataset)
    model = start(data, lam, seed)
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
        "power": dispersion.power(lengths, weights),
        "power of dealt scores": dispersion.power(lengths, dispersion.largest(dealt, corpus)),
        "power of the bound": dispersion.power(lengths, bound),
    }
    return [row]
