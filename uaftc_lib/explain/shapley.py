"""Exact Shapley values: the logit shared out among the words by what each adds to every choice of the others."""

from __future__ import annotations

from functools import cache
from math import ceil, log, sqrt

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.contributions import by_hop
from uaftc_lib.fast.compiled import compiled_once
from uaftc_lib.models import AttentionClassifier, Output

# The trapezoidal rule in log t is off by 2|Γ(1 + 2πi/STEP)| < 1e-14 of E[w_j/W], whatever the weights.
STEP = 0.28
ASLEEP, DEAD = -36.0, log(40)  # log tw below which 1 − e^{−tw}, and above which e^{−tw}, is nothing in float64


@torch.no_grad()
def shapley(model: AttentionClassifier, corpus: Corpus) -> Float[Tensor, "positions ..."]:
    """The exact Shapley value of every position: its part of the logit of its instance, to which they sum.

    The game (Shapley 1953): some positions S of n are kept, the others dropped, and the weights w_j = e^{a_j}
    renormalised, v(S) = Σ_S w_j s_j / Σ_S w_j and v(∅) = 0. φ_i is the mean of v(S ∪ i) − v(S) over all orders
    of the positions, S being those before i. The states are held fixed, as in :func:`leave_one_out`.

    Sums over 2ⁿ subsets become integrals: S holds each other position with probability p, p uniform, and
    1/Σ_S w_j = ∫ e^{−tΣ_S w_j} dt. With x_j = e^{−t w_j}, q_j = 1 − p + p x_j, y_j = w_j s_j x_j / q_j::

        φ_i = ∫₀^∞ ∫₀¹ Π_j q_j · [y_i − (1 − q_i) Σ_j y_j] / q_i  dp dt

    which is O(n) for all i at once. Gauss and Legendre's rule is exact in p with n/2 nodes, and with O(√n) it is
    in float64; the trapezoidal rule in log t converges exponentially. Errors are about 1e-13 of the largest
    |s_j|, for scores of any range, in O(n^1.5) for a text.

    Returns
    -------
    Tensor
        "positions" with one logit, "positions classes" with more; computed in float64. Structured attention: the sum
        over its hops, each a game of its own, as the logits of the hops sum to those of the model.
    """
    return sum(shapley_of(hop, corpus) for hop in by_hop(model(corpus), corpus))


def shapley_of(out: Output, corpus: Corpus) -> Float[Tensor, "positions ..."]:
    """:func:`shapley` for one attention distribution."""
    scores = out.scores.detach().cpu().double().numpy()
    polarity = out.token_polarity.detach().cpu().double().reshape(len(scores), -1).numpy()
    values = np.empty_like(polarity)
    for begin, end in zip(corpus.offsets[:-1].tolist(), corpus.offsets[1:].tolist()):
        order = begin + np.argsort(-scores[begin:end])
        # Equal polarity scores are shared out equally, so only what differs from their mean is integrated.
        mean = polarity[order].mean(0)
        values[order] = mean / len(order) + _integrate(scores[order], polarity[order] - mean, *nodes(len(order)))
    return torch.from_numpy(values).to(out.token_polarity).reshape(out.token_polarity.shape)


@cache
def nodes(n: int) -> tuple[Float[np.ndarray, "nodes"], Float[np.ndarray, "nodes"]]:
    """Places and weights on [0, 1] that integrate E f(S), a polynomial in p of degree n − 1 at most.

    On the ellipse about 0 and 1 on which |p| + |1 − p| = cosh η it is at most (cosh η)ⁿ, so that so many nodes
    are off by about e^{nη²/2 − 2η nodes}, least e^{−2 nodes²/n}: below 1e-16 with √(18.5 n) of them.
    """
    places, weights = np.polynomial.legendre.leggauss(min(ceil(n / 2), ceil(sqrt(18.5 * n)) + 1))
    return (1 + places) / 2, weights / 2


@compiled_once()
def _integrate(a, s, p, weight):
    """The values of one text, its scores in falling order; ``weight`` belongs to the nodes ``p``.

    As t grows words wake (tw > 0), the heaviest first, and die (e^{−tw} = 0): only those in between differ.
    """
    n, classes = s.shape
    values, of_dead, later = np.zeros((n, classes)), np.zeros((n, classes)), np.zeros(classes)
    dead, awake, first, log_t = 0, 0, 0, ASLEEP  # log t is counted from −a of a word
    while dead < n:
        if dead == awake:
            first, log_t = awake, ASLEEP
        while awake < n and a[awake] - a[first] >= ASLEEP - log_t:
            awake += 1
        while dead < awake and a[dead] - a[first] > DEAD - log_t:
            dead += 1
        tw = np.exp(log_t + (a[dead:awake] - a[first]))
        lost, y = -np.expm1(-tw), tw * np.exp(-tw)
        product, total = STEP * weight * (1 - p) ** dead, np.zeros((classes, len(p)))
        for k in range(len(tw)):
            q = 1 - p * lost[k]
            product *= q
            total += np.outer(s[dead + k], y[k] / q)
        total *= product * p
        for k in range(len(tw)):
            q = 1 - p * lost[k]
            values[dead + k] += s[dead + k] * y[k] * (product / q / q).sum() - lost[k] * (total / q).sum(1)
        if 0 < dead < n:
            of_dead[dead] -= (total / (1 - p)).sum(1)
        log_t += STEP
    for k in range(n - 1, -1, -1):  # what came after its death, the smallest first
        values[k] += later
        later += of_dead[k]
    return values
