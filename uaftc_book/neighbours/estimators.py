"""What is estimated of a word in practice: sampled Shapley values, and LIME's weights.

Both ask a model again and again about a text with words taken out. Here they ask the very game of which
:func:`uaftc_lib.explain.shapley` gives the exact values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.linear_model import Ridge

KERNEL_WIDTH = 25  # of LIME on texts, for a hundred times the cosine distance


class Game(NamedTuple):
    """A text whose words are kept or dropped: their attention and polarity scores."""

    scores: Float[np.ndarray, "words"]
    polarity: Float[np.ndarray, "words"]

    @property
    def weights(self) -> Float[np.ndarray, "words"]:
        """e^{a_j}, up to a factor."""
        return np.exp(self.scores - self.scores.max())

    def logit(self, kept: Bool[np.ndarray, "subsets words"]) -> Float[np.ndarray, "subsets"]:
        """v(S) = Σ_S w_j s_j / Σ_S w_j, and 0 of no words."""
        weights = self.weights
        total = kept @ weights
        return np.divide(kept @ (weights * self.polarity), total, out=np.zeros(len(kept)), where=total > 0)

    @property
    def gradient(self) -> Float[np.ndarray, "words"]:
        """α_j (s_j − s), that of the logit with respect to a mask of ones that multiplies the e^{a_j}."""
        alpha = self.weights / self.weights.sum()
        return alpha * (self.polarity - alpha @ self.polarity)


def permutations_for(evaluations: int, words: int) -> int:
    """How many permutations that many evaluations are, at least one: in each the words come one by one."""
    return max(1, round(evaluations / words))


def sampled_shapley(game: Game, evaluations: int, seed: int = 0) -> Float[np.ndarray, "words"]:
    """Shapley values over :func:`permutations_for` the evaluations, drawn at random (Castro et al., 2009)."""
    n = len(game.scores)
    ordered = np.tile(np.arange(n), (permutations_for(evaluations, n), 1))
    return over_permutations(game, np.random.default_rng(seed).permuted(ordered, axis=1))


def over_permutations(game: Game, orders: Int[np.ndarray, "permutations words"]) -> Float[np.ndarray, "words"]:
    """What each word adds to those before it: the mean over some orders."""
    weights = game.weights[orders]
    logits = (weights * game.polarity[orders]).cumsum(1) / weights.cumsum(1)
    return np.bincount(orders.ravel(), np.diff(logits, axis=1, prepend=0).ravel()) / len(orders)


def lime(game: Game, evaluations: int = 5000, seed: int = 0) -> Float[np.ndarray, "words"]:
    """The weights of LIME for texts (Ribeiro et al., 2016), every position a feature, with its own settings.

    The text itself and subsets of which the number of dropped words is uniform in 1 ... n. Its own code draws them and
    makes a text of each one by one; here all are drawn at once.
    """
    draws, words = np.random.default_rng(seed), len(game.scores)
    kept = draws.random((evaluations, words)).argsort(1) >= draws.integers(1, words + 1, (evaluations, 1))
    kept[0] = True
    return lime_weights(kept, game.logit(kept))


def lime_weights(
    kept: Bool[np.ndarray, "subsets words"], values: Float[np.ndarray, "subsets"]
) -> Float[np.ndarray, "words"]:
    """LIME's regression: ridge with penalty 1, subsets weighted by their similarity with the whole text."""
    return Ridge(alpha=1.0).fit(kept.astype(float), values, sample_weight=similarity(kept.mean(1))).coef_


def similarity(share: Float[np.ndarray, "subsets"]) -> Float[np.ndarray, "subsets"]:
    """LIME's kernel, of the share of the words that are kept: their cosine with the whole text is its root."""
    return np.exp(-((100 * (1 - np.sqrt(share)) / KERNEL_WIDTH) ** 2) / 2)
