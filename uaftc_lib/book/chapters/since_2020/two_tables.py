"""Chapter 20: the score of a topic word and the length of its value vector, in a model of two tables."""

from __future__ import annotations

import numpy as np
import torch

from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.models.separate_tables import SeparateTables

TOPICS, OTHERS, TIME = 4, 40, 10.0


def departure(lam: float, m: int, step: float, free: bool, seed: int) -> dict[str, float | bool]:
    """How far |v|²|V|² departs from 2λ²(a + (eᵃ − 1)/m) + const along gradient descent, V held and keys from zero.

    Texts have one topic word, whose class it tells, among ``m`` others: these are held at zero, or ``free`` to learn
    from the values they begin with. The error is the greatest over topic words and steps, of the greatest side.
    """
    draws = np.random.default_rng([m, seed])
    lists = [[t % TOPICS, *(TOPICS + draws.choice(OTHERS, m, replace=False)).tolist()] for t in range(40)]
    corpus = Corpus.from_lists(lists, [t % 2 for t in range(40)])
    model = SeparateTables(TOPICS + OTHERS, dimension=5, lam=lam, weight_range=1.0, seed=seed, dtype=torch.float64)
    with torch.no_grad():
        model.keys.zero_()
        if not free:
            model.embedding[TOPICS:] = 0
        first, worst, greatest = None, 0.0, 0.0
        for _ in range(round(TIME / step) + 1):
            a = model.keys[:TOPICS] @ model.V / lam
            left = model.values[:TOPICS].square().sum(1) * model.V.square().sum()
            right = 2 * lam**2 * (a + (a.exp() - 1) / m)
            first = left - right if first is None else first
            worst, greatest = max(worst, float((left - right - first).abs().max())), float(left.max())
            slopes = dynamics.gradients(model, corpus)
            if not free:
                slopes["embedding"][TOPICS:] = 0
            model.embedding -= step * slopes["embedding"]
            model.W -= step * slopes["W"]
    return {"lam": lam, "m": m, "step": step, "free": free, "error": worst / greatest, "score": float(a.max())}
