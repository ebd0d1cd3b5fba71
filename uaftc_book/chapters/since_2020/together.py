"""Chapter 20: whether the globally best words of all texts can be chosen together."""

from __future__ import annotations

import numpy as np
import torch

from uaftc_book.chapters.since_2020.selected import SST, contradicted, problem
from uaftc_book.neighbours import selection
from uaftc_book.small_data import SEEDS
from uaftc_lib.experiments.registry import experiment, jobs_over

PARTS = (10, 20, 50, 100, 200, 500, 1000, 6920)  # numbers of texts; the last is all of SST's training set


@experiment(jobs_over(seed=SEEDS), rows=len(PARTS))
def best_words(seed: int) -> list[dict]:
    """SST, E and W of a trained model: is there a V that chooses the best word of every text? By number of texts."""
    model, corpus = problem(SST, PARTS[-1], seed)
    order, rows = np.random.default_rng(seed).permutation(len(corpus)), []
    for count in PARTS:
        texts = selection.texts_of(model, corpus[torch.from_numpy(np.sort(order[:count]))])
        best = texts.best(texts.gamma)
        against = contradicted(texts, best)
        possible = not against and selection.max_margin(texts, best).feasible
        rows.append({"texts": count, "possible": float(possible), "contradicted": against})
    return rows
