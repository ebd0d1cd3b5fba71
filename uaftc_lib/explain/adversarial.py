"""The attention that differs most from the model's and leaves its prediction alone, found exactly.

Jain & Wallace (2019) searched for it by gradient. The Jensen–Shannon divergence is convex, and the weights
that are allowed form a polytope, so a maximum lies at a vertex of it; a vertex has few non-zero weights, and
all of them can be tried.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.contributions import one_hop
from uaftc_lib.explain.flips import class_scores
from uaftc_lib.fast.compiled import compiled_once
from uaftc_lib.models import AttentionClassifier, sum_by_instance

LOG2 = log(2)


class Adversary(NamedTuple):
    """weights: "positions"; divergence from the model's weights, in nats: "instances"."""

    weights: Float[Tensor, "positions"]
    divergence: Float[Tensor, "instances"]


def jensen_shannon(
    p: Float[Tensor, "positions"], q: Float[Tensor, "positions"], corpus: Corpus
) -> Float[Tensor, "instances"]:
    """½ KL(p ‖ m) + ½ KL(q ‖ m) with m = (p + q)/2, natural logarithm: between 0 and log 2."""
    corpus.check_filled()
    m = (p + q) / 2
    terms = (torch.xlogy(p, p) + torch.xlogy(q, q)) / 2 - torch.xlogy(m, m)
    return sum_by_instance(terms, corpus.instance_of, len(corpus))


@torch.no_grad()
def adversarial_attention(
    model: AttentionClassifier, corpus: Corpus, tolerance: float | Float[Tensor, "instances"] = 0.01
) -> Adversary:
    """The weights farthest from the model's that move no class probability by more than ``tolerance``.

    Offered for two classes: the allowed weights keep the log-odds in an interval, a vertex has at most two non-zero
    weights, and the optimum is exact, in O(n²) for n positions.

    Parameters
    ----------
    tolerance : float or "instances"
        Largest change of a probability, from 0 up to but not including 1.

    Raises
    ------
    ValueError
        If the tolerance is out of range or there are more than two classes.
    """
    tolerance = torch.as_tensor(tolerance, dtype=torch.float64).cpu()
    if not ((0 <= tolerance) & (tolerance < 1)).all():
        raise ValueError(f"tolerance is a change of probability, at least 0 and below 1, got {tolerance.tolist()}")
    if model.classes > 2:
        raise ValueError(
            f"the exact search is offered for two classes, the model has {model.classes}: train it on one class "
            "against the others"
        )
    out = one_hop(model(corpus), "the search for other weights")
    alpha = out.weights.cpu().double().numpy()
    # A little inside, so that the probabilities keep the promise in the model's own precision.
    inside = (tolerance - 32 * torch.finfo(out.weights.dtype).eps).clamp(min=0)
    logits, polarity = (class_scores(one) for one in (out.polarity, out.token_polarity))
    bounds = log_odds_bounds(torch.from_numpy(logits[:, 1] - logits[:, 0]), inside)
    weights = _search(alpha, polarity[:, 1] - polarity[:, 0], corpus.offsets.cpu().numpy(), bounds.numpy())
    weights = torch.from_numpy(weights).to(out.weights)
    return Adversary(weights, jensen_shannon(out.weights, weights, corpus))


def log_odds_bounds(
    x: Float[Tensor, "instances"], tolerance: float | Float[Tensor, "*instances"]
) -> Float[Tensor, "instances 2"]:
    """How far log-odds may fall and rise so that no probability moves by more than ``tolerance``."""
    p, q = x.sigmoid(), (-x).sigmoid()
    fall = (q + tolerance).log() - (p - tolerance).clamp(min=0).log() + x
    rise = (p + tolerance).log() - (q - tolerance).clamp(min=0).log() - x
    return torch.stack([fall, rise], 1).clamp(min=0)


@compiled_once()
def _term(a, b):
    """What a position with weights a and b adds to the divergence."""
    m = (a + b) / 2
    value = 0.0
    if a > 0:
        value += a * np.log(a / m)
    if b > 0:
        value += b * np.log(b / m)
    return value / 2


@compiled_once()
def _search(alpha, log_odds, offsets, bounds):
    """Every vertex: one position whose log-odds are allowed, or two whose mixture lies on a bound."""
    weights = np.zeros(len(alpha))
    for t in range(len(offsets) - 1):
        begin, end = offsets[t], offsets[t + 1]
        p = alpha[begin:end]
        x = log_odds[begin:end] - (p * log_odds[begin:end]).sum()
        slack = 8 * 2.3e-16 * (1 + np.abs(x).max())
        best, first, second, share = -1.0, 0, 0, 1.0
        for i in range(len(p)):
            if -bounds[t, 0] - slack <= x[i] <= bounds[t, 1] + slack:
                value = LOG2 / 2 * (1 - p[i]) + _term(p[i], 1.0)
                if value > best:
                    best, first, second, share = value, i, i, 1.0
        for i in range(len(p)):
            for j in range(i + 1, len(p)):
                for limit in (bounds[t, 1], -bounds[t, 0]):
                    if not min(x[i], x[j]) < limit < max(x[i], x[j]):
                        continue
                    u = (x[j] - limit) / (x[j] - x[i])
                    value = LOG2 / 2 * (1 - p[i] - p[j]) + _term(p[i], u) + _term(p[j], 1 - u)
                    if value > best:
                        best, first, second, share = value, i, j, u
        if best < 0:  # only by rounding; the model's own weights are always allowed
            weights[begin:end] = p
        else:
            weights[begin + first] += share
            weights[begin + second] += 1 - share
    return weights
