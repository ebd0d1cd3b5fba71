"""Classifiers whose states stay close to their words, and objectives that keep them there.

Tutek & Šnajder (2020, "Staying True to Your Word") put states and embeddings together, tie them, or have the states
predict masked words; Mohankumar et al. (2020) let states differ from one another. We could not read the first paper's
code and tables, so its forms here are ours; the second paper's are those of its code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from uaftc_book.neighbours.jain_wallace import JainWallaceClassifier, Objective, class_balanced
from uaftc_book.neighbours.settings import JAIN_WALLACE, WORD_LEVEL
from uaftc_lib import checks
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import AttentionClassifier, Output, sum_by_instance
from uaftc_lib.streams import generator

POOLED = ("state", "concatenation", "residual")


class WordLevelClassifier(JainWallaceClassifier):
    """Theirs over an LSTM whose states have as many elements as embeddings, so that the two can be compared and added.

    Parameters
    ----------
    vocabulary_size : int
    pools : {"state", "concatenation", "residual"}
        What is pooled: h_j, [h_j; e_j] or h_j + e_j.
    orthogonal : bool
        Whether each state of a direction is made orthogonal to the sum of those before it.
    one_direction : bool
        Whether the LSTM reads from the left alone, with 256 units, as in Mohankumar et al.'s code.
    keys, lam, seed
        As in :class:`JainWallaceClassifier`.

    Raises
    ------
    ValueError
        For an unknown choice or an impossible number.
    """

    def __init__(
        self,
        vocabulary_size: int,
        pools: str = "state",
        orthogonal: bool = False,
        one_direction: bool = False,
        keys: str = "tanh",
        lam: float | None = None,
        seed: int = 0,
    ):
        checks.one_of("pools", pools, POOLED)
        size = JAIN_WALLACE.states["bilstm"] if one_direction else JAIN_WALLACE.dimension
        pooled = size + JAIN_WALLACE.dimension if pools == "concatenation" else size
        states = 2 * size if one_direction else size
        super().__init__(vocabulary_size, "bilstm", keys, lam, seed, states=states, pooled=pooled)
        self.pools, self.orthogonal, self.size = pools, orthogonal, size
        if orthogonal:
            self.recurrent.onward = Orthogonal(self.recurrent.onward)
            self.recurrent.backward_ = Orthogonal(self.recurrent.backward_)
        if one_direction:
            self.recurrent.backward_ = Nothing()

    def __getstate__(self) -> dict:
        """What a copy takes along: not the states of a text."""
        return {name: value for name, value in super().__getstate__().items() if name != "latest"}

    def encode(
        self, embeddings: Float[Tensor, "tokens d"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> Float[Tensor, "tokens h"]:
        """What is pooled, of tokens; their states are kept in ``latest``, for an objective to ask nothing twice."""
        h = self.latest = self.states(embeddings, offsets)
        if self.pools == "concatenation":
            return torch.cat([h, embeddings], dim=1)
        return h + embeddings if self.pools == "residual" else h

    def states(
        self, embeddings: Float[Tensor, "tokens d"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> Float[Tensor, "tokens h"]:
        """The states."""
        if offsets is None:
            offsets = torch.arange(len(embeddings) + 1, device=embeddings.device)
        return self.recurrent(embeddings, offsets)[:, : self.size]


class Nothing(nn.Module):
    """What reads in the place of the second direction: its states are one zero, which is cut off."""

    def forward(self, padded: Float[Tensor, "steps texts d"]) -> tuple[Float[Tensor, "steps texts 1"], None]:
        """Zeros."""
        return padded.new_zeros(*padded.shape[:2], 1), None


class Orthogonal(nn.Module):
    """An LSTM that reads on with states less their component along the sum of those before (Mohankumar et al. 2020)."""

    def __init__(self, network: nn.LSTM):
        super().__init__()
        self.network = network

    def forward(self, padded: Float[Tensor, "steps texts d"]) -> tuple[Float[Tensor, "steps texts h"], None]:
        """As torch's LSTM from a zero state."""
        net = self.network
        read = functional.linear(padded, net.weight_ih_l0, net.bias_ih_l0 + net.bias_hh_l0)
        h = c = before = read.new_zeros(padded.shape[1], net.hidden_size)
        states = []
        for gates in read:
            entry, forget, new, out = (gates + h @ net.weight_hh_l0.T).chunk(4, dim=1)
            c = forget.sigmoid() * c + entry.sigmoid() * new.tanh()
            h = out.sigmoid() * c.tanh()
            along = (h * before).sum(1, keepdim=True) / (before * before).sum(1, keepdim=True).clamp(min=1e-12)
            h = h - along * before
            before = before + h
            states.append(h)
        return torch.stack(states), None


def mean_by_instance(values: Float[Tensor, "positions"], corpus: Corpus) -> Float[Tensor, "instances"]:
    """The mean over the positions of each instance."""
    return sum_by_instance(values, corpus.instance_of, len(corpus)) / corpus.lengths


def conicity(h: Float[Tensor, "positions d"], corpus: Corpus) -> Float[Tensor, "instances"]:
    """The mean cosine of the states of a text with their mean: 1 where all point one way."""
    mean = sum_by_instance(h, corpus.instance_of, len(corpus))
    return mean_by_instance(functional.cosine_similarity(h, mean[corpus.instance_of], eps=1e-8), corpus)


def tied(corpus: Corpus, strength: float, power: int) -> Objective:
    """The usual loss, and of each text strength · mean_j |h_j − e_j|, or its square (``power`` 2)."""
    usual = class_balanced(corpus)

    def loss(model: AttentionClassifier, batch: Corpus, out: Output) -> Tensor:
        apart = model.latest - functional.embedding(batch.tokens, model.embedding)
        return usual(model, batch, out) + strength * mean_by_instance(apart.norm(dim=1) ** power, batch).sum()

    return loss


def diverse(corpus: Corpus, strength: float) -> Objective:
    """The usual loss, and of each text strength · :func:`conicity`."""
    usual = class_balanced(corpus)

    def loss(model: AttentionClassifier, batch: Corpus, out: Output) -> Tensor:
        return usual(model, batch, out) + strength * conicity(model.latest, batch).sum()

    return loss


def masked(corpus: Corpus, strength: float, seed: int) -> Objective:
    """The usual loss, and for each text strength · the mean −log p of a batch's masked words.

    Some words are read as zero vectors, and the states of some of these tell them: p is the softmax of h·E + log f over
    all types, f their shares of the corpus (one is added to each count), so that a state need tell only what f does
    not. The decoder is the table of embeddings (theirs is linear; whether it is tied, or has a bias, is not known).
    """
    usual, draws = class_balanced(corpus), generator(seed, "masked words")

    @lru_cache(1)
    def log_shares(model: AttentionClassifier) -> Float[Tensor, "types"]:
        counts = 1 + torch.bincount(corpus.tokens, minlength=len(model.embedding))
        return (counts / counts.sum()).log().to(model.embedding)

    def loss(model: AttentionClassifier, batch: Corpus, out: Output) -> Tensor:
        hidden = torch.rand(len(batch.tokens), generator=draws).to(model.embedding) < WORD_LEVEL.masked
        if not hidden.any():
            return usual(model, batch, out)
        asked = torch.nonzero(hidden).squeeze(1)
        asked = asked[torch.randperm(len(asked), generator=draws)[: WORD_LEVEL.most_predicted].to(asked.device)]
        e = functional.embedding(batch.tokens, model.embedding)
        h = model.states(e.masked_fill(hidden.unsqueeze(1), 0.0), batch.offsets)
        told = functional.cross_entropy(h[asked] @ model.embedding.T + log_shares(model), batch.tokens[asked])
        return usual(model, batch, out) + strength * told * len(batch)

    return loss


# Each as the arguments of its model, and what makes its objective from (corpus, strength, seed) where it has one.
KINDS: dict[str, tuple[dict, Callable[[Corpus, float, int], Objective] | None]] = {
    "base": ({}, None),
    "concatenation": ({"pools": "concatenation"}, None),
    "residual": ({"pools": "residual"}, None),
    "tied": ({}, lambda corpus, strength, _seed: tied(corpus, strength, power=2)),
    "tied by norm": ({}, lambda corpus, strength, _seed: tied(corpus, strength, power=1)),
    "masked": ({}, masked),
    "diverse": ({}, lambda corpus, strength, _seed: diverse(corpus, strength)),
    "orthogonal": ({"orthogonal": True}, None),
    "one direction": ({"one_direction": True}, None),
    "one direction, diverse": ({"one_direction": True}, lambda corpus, strength, _seed: diverse(corpus, strength)),
    "one direction, orthogonal": ({"one_direction": True, "orthogonal": True}, None),
}


def initial(
    dataset: Dataset, kind: str, strength: float = 0.0, seed: int = 0, lam: float | None = None
) -> tuple[WordLevelClassifier, Objective | None]:
    """A classifier of one of :data:`KINDS` before training, and what it is trained on, None for the usual loss.

    Raises
    ------
    ValueError
        For an unknown kind, or a strength where there is no objective to weigh, or none where there is.
    """
    checks.one_of("kind", kind, KINDS)
    arguments, objective = KINDS[kind]
    if (strength > 0) != (objective is not None):
        needs = "needs a strength above 0" if objective else "has no objective: its strength is 0"
        raise ValueError(f"{kind!r} {needs}, got {strength}")
    model = WordLevelClassifier(len(dataset.vocabulary), **arguments, lam=lam, seed=seed)
    model.check(dataset.train)
    return model, objective(dataset.train, strength, seed) if objective else None


@torch.no_grad()
def alone_and_in_texts(model: AttentionClassifier, corpus: Corpus) -> dict[str, float]:
    """Correlation over positions of a word's score alone and in its text, of attention and of polarity.

    Scores of attention are compared within texts, as no constant that a text adds to all changes its weights.
    """
    alone, out = model.token_scores(), model(corpus)

    def within(scores: Tensor) -> Tensor:
        return scores - mean_by_instance(scores, corpus)[corpus.instance_of]

    pairs = {
        "attention": (within(alone.attention[corpus.tokens]), within(out.scores)),
        "polarity": (alone.polarity[corpus.tokens], out.token_polarity),
    }
    return {
        f"{name} alone and in its text": float(torch.corrcoef(torch.stack(pair))[0, 1]) for name, pair in pairs.items()
    }
