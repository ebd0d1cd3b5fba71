"""Jain & Wallace's permutation test: the same weights for other words of the text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from uaftc_book.neighbours.settings import MEASURES
from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.contributions import permuted
from uaftc_lib.models import Output

BINS = (0.25, 0.5, 0.75)  # of the largest weight of a text


class Permutations(NamedTuple):
    """Of each text: the logit, and over permutations of its weights.

    ``mean`` and ``deviation`` of the logit over all permutations, in closed form; ``drawn``: the logits of some.
    """

    logit: Float[np.ndarray, "instances"]
    largest: Float[np.ndarray, "instances"]
    mean: Float[np.ndarray, "instances"]
    deviation: Float[np.ndarray, "instances"]
    drawn: Float[np.ndarray, "permutations instances"]

    @property
    def moved(self) -> Float[np.ndarray, "instances"]:
        """The median |Δŷ| of those that were drawn."""
        return np.median(abs(expit(self.drawn) - expit(self.logit)), axis=0)

    @property
    def turned(self) -> Float[np.ndarray, "instances"]:
        """The share of them with another decision."""
        return ((self.drawn > 0) != (self.logit > 0)).mean(0)

    def distance(self, logit: Float[np.ndarray, "instances"]) -> float:
        """How many standard deviations logits lie from the mean: the median over texts."""
        return float(np.median(abs(logit - self.mean) / self.deviation))


def permutations(out: Output, corpus: Corpus, count: int = MEASURES.permutations, seed: int = 0) -> Permutations:
    """The test on what a model says of a corpus, with so many permutations drawn."""
    closed, random = permuted(out, corpus), np.random.default_rng(seed)
    logit, weights, values = (one.cpu().numpy() for one in (out.polarity, out.weights, out.token_polarity))
    text_of = corpus.instance_of.cpu().numpy()
    logits = np.stack(
        [
            np.bincount(text_of, weights[np.lexsort((random.random(len(weights)), text_of))] * values)
            for _ in range(count)
        ]
    )
    return Permutations(
        logit,
        np.maximum.reduceat(weights, corpus.offsets[:-1].cpu().numpy()),
        closed.mean.cpu().numpy(),
        closed.variance.sqrt().cpu().numpy(),
        logits,
    )


def permutation_row(found: Permutations) -> dict[str, float]:
    """Medians of |Δŷ| by largest weight and decision (nan: no such text), and what uniform weights leave standing.

    "permuted distance": how many deviations the logit lies from the mean over all permutations, the median;
    "permuted, largest weight": rank correlation of |Δŷ| with the largest weight over texts.
    """
    row = {
        "permuted": float(np.median(found.moved)),
        "permuted turned": float(found.turned.mean()),
        "permuted distance": found.distance(found.logit),
        "uniform kept": float(((found.mean > 0) == (found.logit > 0)).mean()),
        "largest weight": float(np.median(found.largest)),
    }
    bin_of, moved = np.searchsorted(BINS, found.largest), found.moved
    for side, of_side in (("negative", found.logit <= 0), ("positive", found.logit > 0)):
        for b, (low, high) in enumerate(zip((0, *BINS), (*BINS, 1))):
            mine = moved[of_side & (bin_of == b)]
            name = f"permuted {low:g} to {high:g} {side}"
            row |= {name: float(np.median(mine)) if len(mine) else np.nan, f"{name} texts": len(mine)}
    return row
