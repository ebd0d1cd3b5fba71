"""The attention that differs most from the model's and leaves its prediction alone, found exactly.

Jain & Wallace (2019) searched for it by gradient. The Jensen–Shannon divergence is convex, and the weights
that are allowed form a polytope, so a maximum lies at a vertex of it; a vertex has few non-zero weights, and
all of them can be tried.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numba
import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.contributions import one_hop
from uaftc_lib.explain.flips import class_scores
from uaftc_lib.models import AttentionClassifier

LOG2 = log(2)


class Adversary(NamedTuple):
    """weights: "positions"; divergence from the model's weights, in nats: "instances"."""

    weights: Float[Tensor, "positions"]
    divergence: Float[Tensor, "instances"]


def jensen_shannon(
    p: Float[Tensor, "positions"], q: Float[Tensor, "positions"], corpus: Corpus
) -> Float[Tensor, "instances"]:
    """½ KL(p ‖ m) + ½ KL(q ‖ m) with m = (p + q)/2, natural logarithm: between 0 and log 2."""
    m = (p + q) / 2
    terms = (torch.xlogy(p, p) + torch.xlogy(q, q)) / 2 - torch.xlogy(m, m)
    return terms.new_zeros(len(corpus)).index_add(0, corpus.instance_of, terms)


@torch.no_grad()
def adversarial_attention(model: AttentionClassifier, corpus: Corpus, tolerance: float = 0.01) -> Adversary:
    """The weights farthest from the model's that move no class probability by more than ``tolerance``.

    Two classes: the allowed weights keep the log-odds in an interval, a vertex has at most two non-zero
    weights, and the optimum is exact, in O(n²) for n positions.

    Three classes: |Δ probability| ≤ tolerance is no polytope in the weights. It is replaced by the bounds on
    all pairwise log-odds that imply it, Δ(s_k − s_l) ≤ min(u_k, d_l), where u_k and d_k are how far the
    log-odds of class k may rise and fall. Within these bounds, which for two classes are the condition
    itself, the optimum is exact, with at most three non-zero weights, in O(n³).

    Parameters
    ----------
    tolerance : float
        Largest change of a probability, from 0 up to but not including 1.

    Raises
    ------
    ValueError
        If the tolerance is out of range or there are more than three classes.
    """
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance is a change of probability, at least 0 and below 1, got {tolerance}")
    if model.classes > 3:
        raise ValueError(
            f"the exact search takes O(n^K) steps for K classes and is offered for two and three, the model "
            f"has {model.classes}: train it on one class against the others"
        )
    out = one_hop(model(corpus), "the search for other weights")
    alpha = out.weights.cpu().double().numpy()
    # A little inside, so that the probabilities keep the promise in the model's own precision.
    inside = max(tolerance - 32 * torch.finfo(out.weights.dtype).eps, 0.0)
    bounds = log_odds_bounds(torch.from_numpy(class_scores(out.polarity)), inside)
    # Two classes are three, of which the last is free.
    missing = 3 - model.classes
    polarity = np.pad(class_scores(out.token_polarity), ((0, 0), (0, missing)))
    bounds = np.pad(bounds.numpy(), ((0, 0), (0, missing), (0, missing)), constant_values=np.inf)
    weights = _search(alpha, polarity, corpus.offsets.cpu().numpy(), bounds)
    weights = torch.from_numpy(weights).to(out.weights)
    return Adversary(weights, jensen_shannon(out.weights, weights, corpus))


def log_odds_bounds(
    logits: Float[Tensor, "instances classes"], tolerance: float
) -> Float[Tensor, "instances classes classes"]:
    """Entry k, l: how far s_k − s_l may rise so that no probability moves by more than ``tolerance``.

    The log-odds of class k are x_k = s_k − log Σ_{l≠k} exp(s_l); where the probability may reach 0 or 1 the
    bound is infinite.
    """
    itself = torch.eye(logits.shape[1], dtype=torch.bool)
    x = logits - logits.unsqueeze(1).masked_fill(itself, -torch.inf).logsumexp(2)
    p, q = x.sigmoid(), (-x).sigmoid()
    rise = (p + tolerance).log() - (q - tolerance).clamp(min=0).log() - x
    fall = (q + tolerance).log() - (p - tolerance).clamp(min=0).log() + x
    return torch.minimum(rise.unsqueeze(2), fall.unsqueeze(1)).clamp(min=0)


@numba.njit(cache=True, nogil=True)
def _term(a, b):
    """What a position with weights a and b adds to the divergence."""
    m = (a + b) / 2
    value = 0.0
    if a > 0:
        value += a * np.log(a / m)
    if b > 0:
        value += b * np.log(b / m)
    return value / 2


# Rows g of the bounds g·(s_1 − s_0, s_2 − s_0) ≤ bounds[k, l], and which k, l each one is.
_NORMALS = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [1, -1], [-1, 1]])
_PAIRS = np.array([[1, 0], [0, 1], [2, 0], [0, 2], [1, 2], [2, 1]])


@numba.njit(cache=True, nogil=True)
def _allowed(x, y, limits, slack):
    for c in range(6):
        if _NORMALS[c, 0] * x + _NORMALS[c, 1] * y > limits[c] + slack:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _corners(limits, slack):
    """The corners of the hexagon of allowed log-odds."""
    corners = []
    for c in range(6):
        for d in range(c + 1, 6):
            det = _NORMALS[c, 0] * _NORMALS[d, 1] - _NORMALS[c, 1] * _NORMALS[d, 0]
            if det != 0 and np.isfinite(limits[c]) and np.isfinite(limits[d]):
                x = (limits[c] * _NORMALS[d, 1] - limits[d] * _NORMALS[c, 1]) / det
                y = (limits[d] * _NORMALS[c, 0] - limits[c] * _NORMALS[d, 0]) / det
                if _allowed(x, y, limits, slack):
                    corners.append((x, y))
    return corners


@numba.njit(cache=True, nogil=True)
def _search(alpha, polarity, offsets, bounds):
    weights = np.zeros(len(alpha))
    limits = np.zeros(6)
    for t in range(len(offsets) - 1):
        begin, end = offsets[t], offsets[t + 1]
        p = alpha[begin:end]
        n = len(p)
        x = polarity[begin:end, 1] - polarity[begin:end, 0]
        y = polarity[begin:end, 2] - polarity[begin:end, 0]
        x, y = x - (p * x).sum(), y - (p * y).sum()
        slack = 8 * 2.3e-16 * (1 + np.abs(x).max() + np.abs(y).max())
        for c in range(6):
            limits[c] = bounds[t, _PAIRS[c, 0], _PAIRS[c, 1]]
        best = -1.0
        support, shares = np.zeros(3, np.int64), np.zeros(3)
        for i in range(n):
            if _allowed(x[i], y[i], limits, slack):
                value = LOG2 / 2 * (1 - p[i]) + _term(p[i], 1.0)
                if value > best:
                    best = value
                    support[:], shares[0], shares[1], shares[2] = i, 1.0, 0.0, 0.0
        for i in range(n):
            for j in range(i + 1, n):
                for c in range(6):
                    at_i = _NORMALS[c, 0] * x[i] + _NORMALS[c, 1] * y[i]
                    at_j = _NORMALS[c, 0] * x[j] + _NORMALS[c, 1] * y[j]
                    if not min(at_i, at_j) < limits[c] < max(at_i, at_j):
                        continue
                    u = (at_j - limits[c]) / (at_j - at_i)
                    if not _allowed(u * x[i] + (1 - u) * x[j], u * y[i] + (1 - u) * y[j], limits, slack):
                        continue
                    value = LOG2 / 2 * (1 - p[i] - p[j]) + _term(p[i], u) + _term(p[j], 1 - u)
                    if value > best:
                        best = value
                        support[0], support[1], support[2] = i, j, j
                        shares[0], shares[1], shares[2] = u, 1 - u, 0.0
        for corner_x, corner_y in _corners(limits, slack):
            for i in range(n):
                for j in range(i + 1, n):
                    for k in range(j + 1, n):
                        det = (x[j] - x[i]) * (y[k] - y[i]) - (x[k] - x[i]) * (y[j] - y[i])
                        if det == 0:
                            continue
                        v = ((corner_x - x[i]) * (y[k] - y[i]) - (x[k] - x[i]) * (corner_y - y[i])) / det
                        w = ((x[j] - x[i]) * (corner_y - y[i]) - (corner_x - x[i]) * (y[j] - y[i])) / det
                        u = 1 - v - w
                        if u < 0 or v < 0 or w < 0:
                            continue
                        value = LOG2 / 2 * (1 - p[i] - p[j] - p[k])
                        value += _term(p[i], u) + _term(p[j], v) + _term(p[k], w)
                        if value > best:
                            best = value
                            support[0], support[1], support[2] = i, j, k
                            shares[0], shares[1], shares[2] = u, v, w
        if best < 0:  # only by rounding; the model's own weights are always allowed
            weights[begin:end] = p
            continue
        for m in range(3):
            weights[begin + support[m]] += shares[m]
    return weights
