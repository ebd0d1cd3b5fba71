"""The fewest words whose removal changes the decision."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.contributions import one_hop
from uaftc_lib.fast.compiled import compiled_once
from uaftc_lib.models import AttentionClassifier


def class_scores(polarity: Float[Tensor, "rows ..."]) -> Float[np.ndarray, "rows classes"]:
    """Polarity scores for every class, in float64; one logit s stands for the pair (0, s)."""
    if polarity.dim() == 1:
        polarity = torch.stack([torch.zeros_like(polarity), polarity], 1)
    return np.ascontiguousarray(polarity.detach().cpu().double().numpy())


@torch.no_grad()
def minimal_flip_sets(model: AttentionClassifier, corpus: Corpus) -> list[Int[Tensor, "removed"] | None]:
    """For each instance the fewest positions whose removal changes the predicted class.

    The weights of what is left are renormalised, which multiplies every logit by the same positive number and
    so changes no decision: a rival r beats the predicted class k as soon as the margins α_j (s_jr − s_jk) of
    the positions that are left sum to more than 0. Removing the most adverse margins first is therefore
    optimal for each rival, and the smallest of these sets is the smallest of all. Ties go to the lower class
    index, as in :meth:`AttentionClassifier.predict`.

    Returns
    -------
    list
        One tensor of positions within the instance each, in the order of removal; None where no removal that
        leaves a word changes the class. Of equally small sets, that of the rival of lowest index.
    """
    out = one_hop(model(corpus), "the smallest removal")
    scores = out.scores.cpu().double().numpy()
    order, counts = _removals(scores, class_scores(out.token_polarity), corpus.offsets.cpu().numpy())
    removed = torch.from_numpy(order).to(corpus.tokens.device)
    return [
        None if count < 0 else removed[begin : begin + count]
        for begin, count in zip(corpus.offsets.tolist(), counts.tolist())
    ]


@compiled_once()
def _removals(scores, polarity, offsets):
    """Positions in the order of removal, instance by instance, and how many must go (−1: impossible)."""
    order = np.zeros(len(scores), np.int64)
    counts = np.full(len(offsets) - 1, -1)
    for t in range(len(counts)):
        begin, end = offsets[t], offsets[t + 1]
        a, s = scores[begin:end], polarity[begin:end]
        weights = np.exp(a - a.max())
        totals = np.zeros(s.shape[1])
        for j in range(len(a)):
            totals += weights[j] * s[j]
        decided = np.argmax(totals)
        for rival in range(s.shape[1]):
            if rival == decided:
                continue
            removals = _removals_for(a, s[:, rival] - s[:, decided], rival < decided)
            if len(removals) and (counts[t] < 0 or len(removals) < counts[t]):
                counts[t] = len(removals)
                order[begin : begin + len(removals)] = removals
    return order, counts


@compiled_once()
def _removals_for(a, margins, tie_flips):
    """The fewest positions to remove for one rival; empty if it cannot win.

    Logarithms keep the size of every exp(a_j) |margin_j| however small λ is.
    """
    size = np.log(np.abs(margins)) + a
    for_rival = size[margins > 0]
    against = np.nonzero(margins < 0)[0]
    if len(for_rival) == 0:
        # At best the margins are all zero, which is a tie.
        return against if tie_flips and len(against) < len(margins) else against[:0]
    largest = for_rival.max()
    rival_total = largest + np.log(np.exp(for_rival - largest).sum())
    against = against[np.argsort(size[against])]
    kept, total = 0, 0.0
    while kept < len(against) - 1:
        total += np.exp(size[against[kept]] - rival_total)
        if total > 1 or (total == 1 and not tie_flips):
            break
        kept += 1
    return against[kept:][::-1]
