"""What each word does in its text where the encoder reads words together: by reading again without it."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.contributions import by_hop, probabilities
from uaftc_lib.explain.words import class_polarity
from uaftc_lib.models import AttentionClassifier, Output, sum_by_instance


def push_columns(classes: int) -> slice:
    """Where the pushes stand among the columns of :func:`~uaftc_lib.explain.words.pair_values`."""
    return slice(2 + classes, 2 + 2 * classes)


@torch.no_grad()
def read_again(
    model: AttentionClassifier,
    out: Output,
    corpus: Corpus,
    pair_of: Int[Tensor, "positions"],
    instance: Int[Tensor, "pairs"],
) -> Float[np.ndarray, "pairs columns"]:
    """What :func:`~uaftc_lib.explain.words.pair_values` says, where states know their neighbours.

    Each text is read again without each of its words; the contribution of a word is the fall of the logit. A word that
    is the whole text has none.
    """
    pairs, copies = len(instance), corpus[instance]
    dropped = corpus._with(tokens=pair_of)[instance].tokens == copies.instance_of
    erased = torch.bincount(copies.instance_of[~dropped], minlength=pairs) > 0
    others = copies.without(dropped)
    logit, P = class_polarity(out.polarity)[instance], probabilities(out.polarity)[instance]
    without, P_without = logit.clone(), P.clone()
    again = model(others).polarity
    without[erased], P_without[erased] = class_polarity(again), probabilities(again)
    hops = by_hop(out, corpus)
    A = sum(sum_by_instance(hop.weights, pair_of, pairs) for hop in hops).unsqueeze(1) / len(hops)
    return torch.cat([torch.ones_like(A), A, A * P, logit - without, P - P_without], 1).cpu().numpy()
