"""How alike the hops of structured attention are, and whether each has something of its own to look at."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from torch import Tensor

from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import sum_by_instance
from uaftc_lib.models.structured import overlap
from uaftc_lib.token_lists import token_types

EVEN = 1e-4  # a hop is even over a text if its weights or scores spread by less than this share of their size
PLACES = 5  # fifths of a text, from its beginning to its end
SIGN, FUNCTION, OTHER = "sign", "function word", "other"

Hops = Float[Tensor, "positions hops"]


def grams(values: Hops, corpus: Corpus) -> Float[Tensor, "instances hops hops"]:
    """Σ_j x_jr x_jq of each instance, for all pairs of hops."""
    rows = [sum_by_instance(one.unsqueeze(1) * values, corpus.instance_of, len(corpus)) for one in values.unbind(1)]
    return torch.stack(rows, 1)


def pairs_of(matrices: Float[Tensor, "instances hops hops"]) -> Float[Tensor, "instances pairs"]:
    """The entries of two different hops, each pair once."""
    one, other = torch.triu_indices(*matrices.shape[1:], offset=1)
    return matrices[:, one, other]


def correlations(values: Hops, corpus: Corpus) -> Float[Tensor, "instances pairs"]:
    """Pearson's correlation of each two hops over the positions of an instance; nan where one of the two is even.

    It is 1 for equal hops and 0, on average, where the positions of one are shuffled, however sharp or diffuse the two
    are: mean and spread are taken out. So diffuse hops are alike only if they lean to the same words. (The products of
    weights in Lin's ‖AAᵀ − I‖² tell sharp hops on one word from all others; the weight that two hops have in common is
    large for any two that are diffuse.)
    """
    values = values.double()
    means = sum_by_instance(values, corpus.instance_of, len(corpus)) / corpus.lengths.unsqueeze(1)
    rest = values - means[corpus.instance_of]
    squares = sum_by_instance(rest**2, corpus.instance_of, len(corpus))
    size = sum_by_instance(values**2, corpus.instance_of, len(corpus))
    norms = torch.where(squares > EVEN**2 * size, squares, torch.nan).sqrt()
    return pairs_of(grams(rest / norms[corpus.instance_of], corpus))


def shared(weights: Hops, corpus: Corpus) -> Float[Tensor, "instances pairs"]:
    """Σ_j min(α_jr, α_jq): the weight that two hops have in common, 1 − half of their L1 distance."""
    found = []
    for r in range(weights.shape[1] - 1):
        least = torch.minimum(weights[:, r : r + 1], weights[:, r + 1 :])
        found.append(sum_by_instance(least, corpus.instance_of, len(corpus)))
    return torch.cat(found, 1)


@torch.no_grad()
def hops_alike(scores: Hops, weights: Hops, corpus: Corpus) -> dict[str, float]:
    """Means over texts (and pairs of hops) of how sharp hops are and how alike; nan where there are no pairs.

    - overlap: ‖AAᵀ − I‖²_F (Lin et al. 2017), which grows with the hops and with how diffuse each is; "overlap of a
      pair": (α_r·α_q)², its part that is due to two hops, for a pair;
    - "weight in common" (:func:`shared`), correlations of weights and of scores (:func:`correlations`);
    - "largest weight" of a hop, and its "entropy", as a share of that of even weights.
    """
    weights, longer = weights.double(), corpus.lengths > 1
    largest = weights.new_zeros(len(corpus), weights.shape[1])
    largest.scatter_reduce_(0, corpus.instance_of.unsqueeze(1).expand_as(weights), weights, "amax")
    entropy = sum_by_instance(-torch.xlogy(weights, weights), corpus.instance_of, len(corpus))
    row = {
        "overlap": overlap(weights, corpus).mean(),
        "largest weight": largest.mean(),
        "entropy": (entropy[longer] / corpus.lengths[longer].double().log().unsqueeze(1)).mean(),
    }
    names = ("overlap of a pair", "weight in common", "correlation of weights", "correlation of scores")
    if weights.shape[1] == 1:
        return {name: float(value) for name, value in row.items()} | dict.fromkeys(names, float("nan"))
    values = (
        pairs_of(grams(weights, corpus)) ** 2,
        shared(weights, corpus),
        correlations(weights, corpus),
        correlations(scores, corpus),
    )
    return {name: float(value) for name, value in (row | {n: v.nanmean() for n, v in zip(names, values)}).items()}


def mutual_information(table: Float[Tensor, "groups hops"]) -> float:
    """Mutual information of hop and group, in bits, where column r has the weight of hop r by group and sums to 1."""
    joint = table / table.shape[1]
    expected = joint.sum(1, keepdim=True) / table.shape[1]
    ratio = torch.where(joint > 0, joint / expected, 1.0)
    return float((joint * ratio.log2()).sum())


def specialisation(
    weights: Hops, group: Int[Tensor, "positions"], corpus: Corpus, permutations: int, seed: int = 0
) -> dict[str, float]:
    """What the hop tells of the group of the words that it weighs (:func:`mutual_information`), and what chance would.

    A text is drawn, then a hop, then a position by its weights. By chance: in each text the hops are dealt out anew,
    so that none can have a lasting preference; "chance" is the mean over permutations, "chance 95 %" their quantile.
    """
    groups, hops = int(group.max()) + 1, weights.shape[1]
    pairs, pair_of = torch.unique(corpus.instance_of * groups + group, return_inverse=True)
    held = sum_by_instance(weights.double(), pair_of, len(pairs)) / len(corpus)
    text, of = pairs // groups, pairs % groups
    draws, chance = torch.Generator().manual_seed(seed), []
    for _ in range(permutations if hops > 1 else 0):
        order = torch.rand(len(corpus), hops, generator=draws).argsort(1)
        chance.append(mutual_information(sum_by_instance(held.gather(1, order[text]), of, groups)))
    chance = chance or [0.0]
    found = mutual_information(sum_by_instance(held, of, groups))
    return {"bits": found, "chance": float(np.mean(chance)), "chance 95 %": float(np.quantile(chance, 0.95))}


def kinds(data: Dataset) -> tuple[list[str], Int[Tensor, "types"]]:
    """Names of kinds of words, and the kind of each type: what the lists of Eq 28 have, signs, function words, others.

    A word of a class's list is of that kind whatever else it is; function words are scikit-learn's.
    """
    lists = token_types(data.train, data.vocabulary)
    names = [*data.classes, "neutral", SIGN, FUNCTION, OTHER]
    kind = torch.full((len(data.vocabulary),), names.index(OTHER))
    kind[lists["neutral"]] = names.index("neutral")
    words = data.vocabulary.words
    for name, holds in (
        (FUNCTION, lambda word: word in ENGLISH_STOP_WORDS),
        (SIGN, lambda word: not any(map(str.isalpha, word))),
    ):
        kind[torch.tensor([i for i, word in enumerate(words) if holds(word)], dtype=torch.long)] = names.index(name)
    for number, name in enumerate(data.classes if len(data.classes) > 2 else ("negative", "positive")):
        kind[lists[name]] = number
    return names, kind


def places(corpus: Corpus) -> Int[Tensor, "positions"]:
    """In which fifth of its text a position lies, from 0."""
    place = torch.arange(len(corpus.tokens)) - corpus.offsets[:-1][corpus.instance_of]
    return place * PLACES // corpus.lengths[corpus.instance_of]


def above(values: Float[Tensor, "types"], known: Bool[Tensor, "types"], most: int) -> Int[Tensor, "some"]:
    """The types that lead by a value, of those that are known; at most so many."""
    return torch.where(known, values, -torch.inf).argsort(descending=True, stable=True)[: min(most, int(known.sum()))]
