"""What states near their words guarantee: how much leaving a word out can do by way of the states of the others."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_book.neighbours.again import at_places, largest_by_instance, place_in_text
from uaftc_book.neighbours.word_level import WordLevelClassifier, embeddings_and_states
from uaftc_lib.corpus import Corpus
from uaftc_lib.models import softmax_by_instance, sum_by_instance


class Bounded(NamedTuple):
    """Of each position: what its absence does to the logit beyond its own state's fall, the most it can do, and ε."""

    beyond: Float[Tensor, "positions"]
    bound: Float[Tensor, "positions"]
    epsilon: Float[Tensor, "positions"]


@torch.no_grad()
def by_others(model: WordLevelClassifier, corpus: Corpus) -> Bounded:
    """|s(x₋ⱼ) − s(x₋ⱼ with the states of x)| of every position j, and its bound by how far states are from words.

    Where |h_i − e_i| ≤ ε in x and in x₋ⱼ, no state moves by more than 2ε, so no s_i by more than u = 2ε|W| and no a_i
    by more than θ = 2ε|V||M|/λ (the operator norm of M, as tanh moves less than its argument). Weights then move by a
    total variation of at most tanh(θ/2), and the logit by at most u + (max s_i − min s_i) tanh(θ/2).

    Raises
    ------
    ValueError
        If the model pools something else than its states, its keys are not those of tanh, or a text has one word.
    """
    if model.pools != "state" or model.keys != "tanh":
        raise ValueError(f"the bound is that of pooled states and keys of tanh, not of {model.pools!r}, {model.keys!r}")
    if int(corpus.lengths.min()) < 2:
        raise ValueError("a text of one word has no others: give texts of two words or more")
    place, copies = torch.from_numpy(place_in_text(corpus)), at_places(corpus)[corpus.instance_of]
    rest = copies.without(place[copies.tokens] == place[copies.instance_of])  # copy j of a text lacks position j

    def said(texts: Corpus) -> list[Tensor]:
        e, h = embeddings_and_states(model, texts)
        a, s, _ = model.score(e, texts.offsets)
        return [a.double(), s.double(), (h - e).norm(dim=1).double()]

    def logit(scores: Tensor, values: Tensor) -> Tensor:
        weights = softmax_by_instance(scores, rest.instance_of, len(rest))
        return sum_by_instance(weights * values, rest.instance_of, len(rest))

    a, s, apart = (values[rest.tokens] for values in said(corpus))
    a_new, s_new, apart_new = said(rest._with(tokens=corpus.tokens[rest.tokens]))
    epsilon = largest_by_instance(torch.maximum(apart, apart_new), rest)
    V, W, M = model.V.double(), model.W.double(), model.M.double()
    u, theta = 2 * epsilon * W.norm(), 2 * epsilon * V.norm() * torch.linalg.matrix_norm(M, 2) / model.lam
    spread = largest_by_instance(s, rest) + largest_by_instance(-s, rest)
    return Bounded((logit(a_new, s_new) - logit(a, s)).abs(), u + spread * torch.tanh(theta / 2), epsilon)
