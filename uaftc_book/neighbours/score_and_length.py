"""A score and the length of a value vector, tied together in a model of two tables: gradient descent in one loop.

Lu, Mao and Nayak (ICLR 2021, arXiv 2011.10036; the abstract was read): keys and values in two tables, keys from zero,
the query held, one topic word a text among m others. Then |v|²|V|² = 2λ²(a + (eᵃ − 1)/m) + const of the topic word,
whatever the classifier is; λ is ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit


class TiedDescent(NamedTuple):
    """Scores a and |v|²|V|² of the topic words along descent, "steps topics": before the first step, and after each."""

    score: Float[np.ndarray, "steps topics"]
    size: Float[np.ndarray, "steps topics"]


def descend_two_tables(
    shares: Float[np.ndarray, "texts types"],
    y: Float[np.ndarray, "texts"],
    initial: tuple[Float[np.ndarray, "types d"], Float[np.ndarray, "d"], Float[np.ndarray, "d"]],
    lam: float,
    rates: tuple[Float[np.ndarray, "types"], float],
    steps: int,
    topics: int,
) -> TiedDescent:
    """Full-batch gradient descent of values, keys and W, of which keys are followed by their scores: V is held.

    Parameters
    ----------
    shares
        How often each type stands in each text.
    initial
        Values, W and V.
    rates
        The learning rate of each type, its key and its value, and that of W; 0 holds what it belongs to.
    topics
        The first so many types are followed.

    Raises
    ------
    ValueError
        If a text has no word.
    """
    if not (shares.sum(1) > 0).all():
        raise ValueError("every text needs a word")
    (values, W, V), (of_types, of_W) = initial, rates
    a, square = np.zeros(len(values)), float(V @ V)
    scores, sizes = np.empty((steps + 1, topics)), np.empty((steps + 1, topics))
    for step in range(steps + 1):
        scores[step], sizes[step] = a[:topics], (values[:topics] ** 2).sum(1) * square
        weights = shares * np.exp(a)
        weights /= weights.sum(1, keepdims=True)
        s = values @ W
        logits = weights @ s
        pull = y * expit(-y * logits) / len(y)
        of_value = pull @ weights  # π of Eq 16, over the number of texts
        of_score = s * of_value - (pull * logits) @ weights  # ρ of Eq 20, likewise
        moved = values + (of_types * of_value)[:, None] * W
        W = W + of_W * (of_value @ values)
        values, a = moved, a + of_types * of_score * square / lam**2
    return TiedDescent(scores, sizes)


def law(a: Float[np.ndarray, "..."], lam: float, m: int) -> Float[np.ndarray, "..."]:
    """2λ²(a + (eᵃ − 1)/m): by how much |v|²|V|² is said to have grown."""
    return 2 * lam**2 * (a + np.expm1(a) / m)


def missed(found: TiedDescent, said: Float[np.ndarray, "steps topics"], growth: float) -> float:
    """The most by which |v|²|V|² less what is said of it leaves its first value, of a ``growth``."""
    rest = found.size - said
    return float(abs(rest - rest[0]).max() / growth)
