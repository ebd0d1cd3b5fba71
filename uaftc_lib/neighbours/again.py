"""Texts with some of their words left out, read again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier, Output, softmax_by_instance, sum_by_instance

PART = 2**20  # positions that are read again together


@torch.no_grad()
def logits_without(
    model: AttentionClassifier,
    corpus: Corpus,
    key: Int[np.ndarray, "positions"],
    instance: Int[np.ndarray, "copies"],
    cut: Int[np.ndarray, "copies"],
    drop: Callable[[Tensor, Tensor], Tensor] = torch.eq,
    again: bool = True,
) -> Float[np.ndarray, "copies"]:
    """The logit of each copy of an instance without its positions for which ``drop(key, cut)`` holds; nan: none left.

    Where states know their neighbours the rest is read again; not so with ``again=False``, which leaves the states of
    the rest as they are.
    """
    key, instance, cut = (torch.from_numpy(one).to(corpus.tokens) for one in (key, instance, cut))
    out, places = model(corpus), corpus._with(tokens=torch.arange(len(corpus.tokens)).to(corpus.tokens))
    found = np.full(len(instance), np.nan)
    part = (corpus.lengths[instance].cumsum(0) - 1) // PART
    for of_part in torch.split(
        torch.arange(len(instance)), torch.unique_consecutive(part, return_counts=True)[1].tolist()
    ):
        copies = places[instance[of_part]]
        dropped = drop(key[copies.tokens], cut[of_part][copies.instance_of])
        rest = copies.without(dropped)
        stays = torch.bincount(copies.instance_of[~dropped], minlength=len(copies)) > 0
        if again and model.recurrent is not None:
            logit = in_float64(model(rest._with(tokens=corpus.tokens[rest.tokens])), rest).polarity
        else:
            logit = in_float64(
                Output(None, out.scores[rest.tokens], None, out.token_polarity[rest.tokens]), rest
            ).polarity
        found[of_part[stays.cpu()].numpy()] = logit.cpu().numpy()
    return found


def in_float64(out: Output, corpus: Corpus) -> Output:
    """Weights and logits of one distribution in float64 from the scores on: at small λ float32 loses the order of α."""
    scores, polarity = out.scores.double(), out.token_polarity.double()
    weights = softmax_by_instance(scores, corpus.instance_of, len(corpus))
    return Output(sum_by_instance(weights * polarity, corpus.instance_of, len(corpus)), scores, weights, polarity)


def drawn(corpus: Corpus, most: int, seed: int) -> Int[np.ndarray, "some"]:
    """At most so many positions of each instance, drawn."""
    instance_of = corpus.instance_of.cpu().numpy()
    order = np.lexsort((np.random.default_rng(seed).random(len(instance_of)), instance_of))
    return np.sort(order[place_in_text(corpus) < most])


def place_in_text(corpus: Corpus) -> Int[np.ndarray, "positions"]:
    """0, 1, ... from the first word of each instance."""
    begins = corpus.offsets[:-1].cpu().numpy()
    return np.arange(len(corpus.tokens)) - begins[corpus.instance_of.cpu().numpy()]


def drawn_texts(corpus: Corpus, most: int, seed: int) -> Int[Tensor, "some"]:
    """Instances, drawn, for as long as they hold at most so many positions together; one too many is passed over."""
    chosen, lengths = [], corpus.lengths.tolist()
    for t in np.random.default_rng(seed).permutation(len(corpus)).tolist():
        if lengths[t] <= most:
            chosen.append(t)
            most -= lengths[t]
    return torch.tensor(sorted(chosen)).to(corpus.tokens)
