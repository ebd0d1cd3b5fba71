"""Words of an encoder that reads words together: what a text becomes when it is read again without one of them."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.contributions import by_hop, probabilities
from uaftc_lib.explain.words import class_polarity
from uaftc_lib.models import AttentionClassifier, sum_by_instance


@torch.no_grad()
def read_again(
    model: AttentionClassifier, corpus: Corpus, pair_of: Int[Tensor, "positions"], instance: Int[Tensor, "pairs"]
) -> Float[np.ndarray, "pairs columns"]:
    """What :func:`~uaftc_lib.explain.words.pair_values` says, where states know their neighbours.

    Each text is read again without each of its words; the contribution of a word is the fall of the logit. A word that
    is the whole text has none.
    """
    pairs, lengths = len(instance), corpus.lengths[instance]
    pair = torch.repeat_interleave(torch.arange(pairs), lengths)
    position = torch.arange(len(pair)) + (corpus.offsets[:-1][instance] - lengths.cumsum(0) + lengths)[pair]
    kept = pair_of[position] != pair
    left = torch.bincount(pair[kept], minlength=pairs)
    erased = left > 0
    offsets = torch.cat([left.new_zeros(1), left[erased].cumsum(0)])
    others = corpus._with(tokens=corpus.tokens[position[kept]], offsets=offsets, labels=corpus.labels[instance[erased]])
    out = model(corpus)
    logit, P = class_polarity(out.polarity)[instance], probabilities(out.polarity)[instance]
    without, P_without = logit.clone(), P.clone()
    again = model(others).polarity
    without[erased], P_without[erased] = class_polarity(again), probabilities(again)
    hops = by_hop(out, corpus)
    A = sum(sum_by_instance(hop.weights, pair_of, pairs) for hop in hops).unsqueeze(1) / len(hops)
    return torch.cat([torch.ones_like(A), A, A * P, logit - without, P - P_without], 1).cpu().numpy()
