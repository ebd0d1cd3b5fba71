"""What each position does to the logit: contributions, erasure, permuted weights.

With a_j, α_j, s_j of Eq 1, 2 and 7 the logit is s = Σ_j α_j s_j (Eq 6). Nothing else is used, so the
statements hold for every encoder whose states are held fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier, Output, softmax_by_instance, sum_by_instance


class Permuted(NamedTuple):
    """Mean and variance of the logit under permuted weights: "instances" or "instances classes"."""

    mean: Float[Tensor, "instances ..."]
    variance: Float[Tensor, "instances ..."]


def beside(weights: Shaped[Tensor, "rows ..."], polarity: Float[Tensor, "rows ..."]) -> Shaped[Tensor, "rows ..."]:
    """A value for each row, shaped so that it multiplies rows with or without a class dimension."""
    return weights.reshape(weights.shape + (1,) * (polarity.dim() - weights.dim()))


def probabilities(polarity: Float[Tensor, "instances ..."]) -> Float[Tensor, "instances classes"]:
    """Class probabilities from logits: σ(−s) and σ(s) for one logit, else their softmax (Eq 73)."""
    if polarity.dim() == 1:
        return torch.stack([torch.sigmoid(-polarity), torch.sigmoid(polarity)], 1)
    return polarity.softmax(1)


@torch.no_grad()
def contributions(model: AttentionClassifier, corpus: Corpus) -> Float[Tensor, "positions ..."]:
    """α_j s_j: what each position adds to the logit of its instance (Eq 6, 81).

    "positions" with one logit, "positions classes" with more; "positions hops ..." with structured attention,
    which has α and s for each hop. The sum over an instance is its logit.
    """
    out = model(corpus)
    return beside(out.weights, out.token_polarity) * out.token_polarity


@torch.no_grad()
def leave_one_out(model: AttentionClassifier, corpus: Corpus) -> Float[Tensor, "positions ..."]:
    """s − s₋ⱼ: how much the logit falls when position j is dropped and the other weights are renormalised.

    Equal to α_j (s_j − s) / (1 − α_j); 0 for one-word instances, which nothing can replace. Shapes as
    :func:`contributions`.
    """
    positions = torch.arange(len(corpus.tokens), device=corpus.tokens.device)
    return sum(leave_group_out(hop, corpus, positions, corpus.instance_of) for hop in by_hop(model(corpus), corpus))


def by_hop(out: Output, corpus: Corpus) -> list[Output]:
    """What each hop of structured attention says by itself; the logits of the hops sum to those of the model."""
    if out.weights.dim() == 1:
        return [out]
    hops = []
    for scores, weights, polarity in zip(out.scores.unbind(1), out.weights.unbind(1), out.token_polarity.unbind(1)):
        logit = sum_by_instance(beside(weights, polarity) * polarity, corpus.instance_of, len(corpus))
        hops.append(Output(logit, scores, weights, polarity))
    return hops


def one_hop(out: Output, purpose: str) -> Output:
    """The same, or ValueError where weights are several and each hop is renormalised on its own."""
    if out.weights.dim() > 1:
        raise ValueError(
            f"{purpose} is exact for one attention distribution, this model has {out.weights.shape[1]} hops"
        )
    return out


def leave_group_out(
    out: Output, corpus: Corpus, group_of: Int[Tensor, "positions"], instance_of_group: Int[Tensor, "groups"]
) -> Float[Tensor, "groups ..."]:
    """The fall of the logit when all positions of a group are dropped: A (S/A − s) / (1 − A).

    A and S are the sums of the group's weights and contributions. A group lies within one instance; for one
    that is the whole instance the numerator is 0, and so is the result.
    """
    instances, groups = len(corpus), len(instance_of_group)
    weights, polarity = out.weights, out.token_polarity
    members = torch.bincount(group_of, minlength=groups)
    whole = members == corpus.lengths[instance_of_group]

    def grouped(values):
        return sum_by_instance(values, group_of, groups)

    A = grouped(weights)
    S = grouped(beside(weights, polarity) * polarity)
    A_ = beside(A, S)
    # Where a group holds most of the weight, 1 − A would cancel (at small λ to nothing), so the weights of
    # the others are computed anew from their scores. There is at most one such group in an instance.
    dominant = (A > 0.5) & ~whole
    scores = out.scores.masked_fill(dominant[group_of], -torch.inf)
    others = softmax_by_instance(scores, corpus.instance_of, instances)
    rest = sum_by_instance(beside(others, polarity) * polarity, corpus.instance_of, instances)
    s = out.polarity[instance_of_group]
    return torch.where(beside(dominant, S), S - A_ * rest[instance_of_group], (S - A_ * s) / (1 - A_.clamp(max=0.5)))


@torch.no_grad()
def permutation_test(model: AttentionClassifier, corpus: Corpus) -> Permuted:
    """Mean and variance of the logit when the weights of an instance are permuted at random.

    Over all n! permutations, equally likely, the mean is the mean polarity score of the n positions and the
    variance Σ_j (α_j − 1/n)² Σ_j (s_j − s̄)² / (n − 1). Jain & Wallace (2019) sampled a hundred permutations.
    The hops of structured attention are permuted independently, so both add up over them.
    """
    hops = [permuted(hop, corpus) for hop in by_hop(model(corpus), corpus)]
    return Permuted(sum(hop.mean for hop in hops), sum(hop.variance for hop in hops))


def permuted(out: Output, corpus: Corpus) -> Permuted:
    """:func:`permutation_test` for one attention distribution."""
    instance_of, instances = corpus.instance_of, len(corpus)
    polarity = out.token_polarity
    n = corpus.lengths.to(polarity)
    s_bar = sum_by_instance(polarity, instance_of, instances)
    s_bar = s_bar / beside(n, s_bar)
    spread = sum_by_instance((polarity - s_bar[instance_of]) ** 2, instance_of, instances)
    uneven = sum_by_instance((out.weights - 1 / n[instance_of]) ** 2, instance_of, instances)
    return Permuted(s_bar, spread * beside(uneven / (n - 1).clamp(min=1), spread))
