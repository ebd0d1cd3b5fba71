"""Data III: texts of which one token is moved along a hidden direction, or none; attention beside mean pooling.

After the sparse-token model of Barnfield, Cui and Lu (ICLR 2026), as its abstract and summaries tell it: a text is
L standard normal vectors; in a positive one a token, at a random place, has θξ added, with |ξ| = 1. Ours: a last
coordinate that is 1 everywhere gives W a bias, which the model of the book does not have (attention cannot see it).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import functional

from uaftc_lib.checks import real_number, whole

SIGNALS = 17  # the stream from which Data III is drawn


class Needles(NamedTuple):
    """Embeddings of every token, "texts length d", which are held, and y = ±1, "texts"."""

    X: Float[Tensor, "texts length d"]
    y: Float[Tensor, "texts"]


def needles(length: int, strength: float, texts: int = 200, dimension: int = 10, seed: int = 0) -> Needles:
    """Data III: as many positive as negative texts of ``length`` tokens; ``dimension``: without the constant 1.

    Raises
    ------
    ValueError
        If a number is impossible.
    """
    for name, value in (("length", length), ("texts", texts), ("dimension", dimension)):
        whole(name, value, least=1)
    real_number("strength", strength)
    rng = np.random.default_rng([SIGNALS, seed])
    xi = rng.normal(size=dimension)
    X = np.ones((texts, length, dimension + 1), np.float32)
    X[..., :-1] = rng.standard_normal((texts, length, dimension), np.float32)
    positive = np.arange(texts) % 2 == 1
    X[positive, rng.integers(length, size=positive.sum()), :-1] += strength * xi / np.linalg.norm(xi)
    return Needles(torch.from_numpy(X), torch.from_numpy(2.0 * positive - 1).float())


def logits(X: Float[Tensor, "texts length d"], V: Float[Tensor, "d"], W: Float[Tensor, "d"]) -> Float[Tensor, "texts"]:
    """s of each text at λ = 1 (Eq 1 to 4), the embeddings given."""
    return ((X @ V).softmax(1) * (X @ W)).sum(1)


def trained_on_needles(
    train: Needles, steps: int = 150, rate: float = 0.1
) -> tuple[Float[Tensor, "d"], Float[Tensor, "d"]]:
    """V and W trained from zero on held embeddings, full batch, by Adam."""
    V, W = (torch.zeros(train.X.shape[2], requires_grad=True) for _ in range(2))
    optimizer = torch.optim.Adam([V, W], lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        functional.softplus(-train.y * logits(train.X, V, W)).mean().backward()
        optimizer.step()
    return V.detach(), W.detach()


def accuracies(train: Needles, test: Needles) -> dict[str, float]:
    """Right on the test texts: with attention, and by logistic regression on the mean vectors."""
    said = logits(test.X, *trained_on_needles(train))
    means = LogisticRegression(C=100.0, max_iter=500).fit(train.X.mean(1), train.y)
    by_mean = means.decision_function(test.X.mean(1))
    return {
        "attention": float(((said > 0) == (test.y > 0)).double().mean()),
        "mean pooling": float(((by_mean > 0) == (test.y.numpy() > 0)).mean()),
    }
