"""Texts with some of their words left out, read again, and what that does beside holding states fixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_book.neighbours.settings import MEASURES
from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.contributions import leave_group_out
from uaftc_lib.models import AttentionClassifier, Output, softmax_by_instance, sum_by_instance
from uaftc_lib.models.encoders import consecutive_parts

PART = 2**20  # positions that are read again together


class Reread(NamedTuple):
    """Logits of texts without some words, Σ α_j s_j over the rest; nan where none is left.

    ``fixed``: α from the scores of the whole text, and s_j of the whole text; ``values``: α from them, s_j as the rest
    is read again; ``weights``: the other way round; ``again``: both read again, which is what the model says of it.
    """

    fixed: Float[np.ndarray, "copies"]
    values: Float[np.ndarray, "copies"]
    weights: Float[np.ndarray, "copies"]
    again: Float[np.ndarray, "copies"]


@torch.no_grad()
def reread(
    model: AttentionClassifier,
    corpus: Corpus,
    key: Int[np.ndarray, "positions"],
    instance: Int[np.ndarray, "copies"],
    cut: Int[np.ndarray, "copies"],
    drop: Callable[[Tensor, Tensor], Tensor] = torch.eq,
) -> Reread:
    """Copies of instances, each without the positions for which ``drop(key, cut)`` holds.

    All four are the same where states do not know their neighbours, and nothing is read again.
    """
    key, instance, cut = (torch.from_numpy(one).to(corpus.tokens) for one in (key, instance, cut))
    before, places = model(corpus), at_places(corpus)
    found = np.full((4, len(instance)), np.nan)
    for copy in consecutive_parts(corpus.lengths[instance], PART):
        copies = places[instance[copy]]
        dropped = drop(key[copies.tokens], cut[copy][copies.instance_of])
        rest = copies.without(dropped)
        stays = torch.bincount(copies.instance_of[~dropped], minlength=len(copies)) > 0
        old = after = in_float64(before.scores[rest.tokens], before.token_polarity[rest.tokens], rest)
        if model.recurrent is not None:
            out = model(rest._with(tokens=corpus.tokens[rest.tokens]))
            after = in_float64(out.scores, out.token_polarity, rest)
        for row, weights, values in zip(found, (old, old, after, after), (old, after, old, after)):
            logit = sum_by_instance(weights.weights * values.token_polarity, rest.instance_of, len(rest))
            row[copy][stays.cpu().numpy()] = logit.cpu().numpy()
    return Reread(*found)


class LeftOut(NamedTuple):
    """Falls of the logit without one word: ``whole`` = ``own`` + ``values`` + ``weights``; nan: not read again.

    ``own``: with the states of the others held fixed. What reading them again adds comes by the others' s_j
    (``values``) and by their weights; each is averaged over which of the two changes first.
    """

    own: Float[np.ndarray, "positions"]
    values: Float[np.ndarray, "positions"]
    weights: Float[np.ndarray, "positions"]
    whole: Float[np.ndarray, "positions"]


@torch.no_grad()
def left_out(model: AttentionClassifier, corpus: Corpus, most: int = MEASURES.read_again, seed: int = 0) -> LeftOut:
    """s(x) − s(x₋ⱼ) and its parts, for so many positions of a text, drawn.

    For all of them where states do not know their neighbours: then the word's own part is everything.
    """
    out, instance = whole_output(model, corpus), corpus.instance_of.cpu().numpy()
    own = leave_group_out(out, corpus, at_places(corpus).tokens, corpus.instance_of).cpu().numpy()
    if model.recurrent is None:
        return LeftOut(own, np.zeros_like(own), np.zeros_like(own), own)
    read, place = drawn_positions(corpus, most, seed), place_in_text(corpus)
    without = reread(model, corpus, place, instance[read], place[read])
    values, weights, whole = np.full((3, len(own)), np.nan)
    values[read] = (without.fixed - without.values + without.weights - without.again) / 2
    weights[read] = (without.fixed - without.weights + without.values - without.again) / 2
    whole[read] = out.polarity.cpu().numpy()[instance[read]] - without.again
    return LeftOut(own, values, weights, whole)


def part_shares(left: LeftOut) -> dict[str, float]:
    """Σ part·whole / Σ whole² for each part, which sum to 1; how often the own part has the sign of the whole."""
    own, values, weights, whole = (one[np.isfinite(left.whole)] for one in left)
    names = ("own state", "others' values", "others' weights")
    row = {f"share of {name}": (one @ whole) / (whole @ whole) for name, one in zip(names, (own, values, weights))}
    return row | {"own state has the sign": float((np.sign(own) == np.sign(whole)).mean())}


def whole_output(model: AttentionClassifier, corpus: Corpus) -> Output:
    """What the model says, in float64 from the scores on: at small λ float32 loses the order of the weights."""
    out = model(corpus)
    return in_float64(out.scores, out.token_polarity, corpus)


def in_float64(scores: Float[Tensor, "positions"], polarity: Float[Tensor, "positions"], corpus: Corpus) -> Output:
    """The weights and logits that follow from the scores of positions."""
    scores, polarity = scores.double(), polarity.double()
    weights = softmax_by_instance(scores, corpus.instance_of, len(corpus))
    return Output(sum_by_instance(weights * polarity, corpus.instance_of, len(corpus)), scores, weights, polarity)


def largest_by_instance(values: Float[Tensor, "positions"], corpus: Corpus) -> Float[Tensor, "instances"]:
    """The largest value in each instance."""
    return values.new_full((len(corpus),), -torch.inf).scatter_reduce(0, corpus.instance_of, values, "amax")


def at_places(corpus: Corpus) -> Corpus:
    """A corpus with, instead of each token, its position."""
    return corpus._with(tokens=torch.arange(len(corpus.tokens)).to(corpus.tokens))


def place_in_text(corpus: Corpus) -> Int[np.ndarray, "positions"]:
    """0, 1, ... from the first word of each instance."""
    begins = corpus.offsets[:-1].cpu().numpy()
    return np.arange(len(corpus.tokens)) - begins[corpus.instance_of.cpu().numpy()]


def drawn_positions(corpus: Corpus, most: int, seed: int) -> Int[np.ndarray, "some"]:
    """At most so many positions of each instance, drawn."""
    instance_of = corpus.instance_of.cpu().numpy()
    order = np.lexsort((np.random.default_rng(seed).random(len(instance_of)), instance_of))
    return np.sort(order[place_in_text(corpus) < most])


def drawn_texts(corpus: Corpus, most: int, seed: int) -> Int[Tensor, "some"]:
    """Instances, drawn, for as long as they hold at most so many positions together; one too many is passed over."""
    chosen, lengths = [], corpus.lengths.tolist()
    for t in np.random.default_rng(seed).permutation(len(corpus)).tolist():
        if lengths[t] <= most:
            chosen.append(t)
            most -= lengths[t]
    return torch.tensor(sorted(chosen)).to(corpus.tokens)
