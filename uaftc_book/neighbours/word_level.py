"""Classifiers whose states stay close to their words, and objectives that keep them there.

Tutek & Šnajder (2020, "Staying True to Your Word") put states and embeddings together, tie them, or have the states
tell masked words; Mohankumar et al. (2020) let states differ from one another. The first paper's code and tables could
not be had: what it left open is settled here, and said.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from uaftc_book.neighbours.encoders import JainWallaceClassifier
from uaftc_book.neighbours.protocol import Objective, class_balanced, train_model
from uaftc_book.neighbours.settings import JAIN_WALLACE, WORD_LEVEL
from uaftc_lib import checks
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import AttentionClassifier, Output, sum_by_instance
from uaftc_lib.models.encoders import Recurrent
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
    layers : int
        LSTMs, each but the first over the states of the one before.
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
        layers: int = 1,
        keys: str = "tanh",
        lam: float | None = None,
        seed: int = 0,
    ):
        checks.one_of("pools", pools, POOLED)
        checks.whole("layers", layers, 1)
        size = JAIN_WALLACE.dimension
        pooled = 2 * size if pools == "concatenation" else size
        super().__init__(vocabulary_size, "bilstm", keys, lam, seed, states=size, pooled=pooled)
        self.pools, self.orthogonal = pools, orthogonal
        draws = generator(seed, "further layers")
        self.further = nn.ModuleList(
            Recurrent("lstm", size, size // 2, draws, self.V.dtype, self.V.device) for _ in range(layers - 1)
        )
        if orthogonal:
            for layer in (self.recurrent, *self.further):
                layer.onward, layer.backward_ = Orthogonal(layer.onward), Orthogonal(layer.backward_)

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
    ) -> Float[Tensor, "tokens d"]:
        """The states of the last layer."""
        if offsets is None:
            offsets = torch.arange(len(embeddings) + 1, device=embeddings.device)
        h = self.recurrent(embeddings, offsets)
        for layer in self.further:
            h = layer(h, offsets)
        return h

    def again(self, seed: int) -> WordLevelClassifier:
        """A model of the same kind and size at another initialisation."""
        layers = 1 + len(self.further)
        return WordLevelClassifier(len(self.embedding), self.pools, self.orthogonal, layers, self.keys, self.lam, seed)


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


def embeddings_and_states(
    model: WordLevelClassifier, batch: Corpus
) -> tuple[Float[Tensor, "tokens d"], Float[Tensor, "tokens d"]]:
    """Embeddings and states of all positions."""
    embeddings = functional.embedding(batch.tokens, model.embedding)
    return embeddings, model.states(embeddings, batch.offsets)


def mean_by_instance(values: Float[Tensor, "positions"], corpus: Corpus) -> Float[Tensor, "instances"]:
    """The mean over the positions of each instance."""
    return sum_by_instance(values, corpus.instance_of, len(corpus)) / corpus.lengths


def conicity(h: Float[Tensor, "positions d"], corpus: Corpus) -> Float[Tensor, "instances"]:
    """The mean cosine of the states of a text with their mean: 1 where all point one way."""
    mean = sum_by_instance(h, corpus.instance_of, len(corpus))
    return mean_by_instance(functional.cosine_similarity(h, mean[corpus.instance_of], eps=1e-8), corpus)


def tied(corpus: Corpus, strength: float) -> Objective:
    """The usual loss, and of each text strength · mean_j |h_j − e_j|²."""
    usual = class_balanced(corpus)

    def loss(model: AttentionClassifier, batch: Corpus, out: Output) -> Tensor:
        apart = model.latest - functional.embedding(batch.tokens, model.embedding)
        return usual(model, batch, out) + strength * mean_by_instance((apart**2).sum(1), batch).sum()

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
        asked = asked[torch.randperm(len(asked), generator=draws)[: WORD_LEVEL.most_told].to(asked.device)]
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
    "tied": ({}, lambda corpus, strength, _seed: tied(corpus, strength)),
    "masked": ({}, masked),
    "diverse": ({}, lambda corpus, strength, _seed: diverse(corpus, strength)),
    "orthogonal": ({"orthogonal": True}, None),
}


def train_kind(
    dataset: Dataset,
    kind: str,
    strength: float = 0.0,
    seed: int = 0,
    layers: int = 1,
    epochs: int = JAIN_WALLACE.epochs,
    lam: float | None = None,
) -> tuple[WordLevelClassifier, int]:
    """A classifier of one of :data:`KINDS`, trained by Jain & Wallace's protocol; the epoch at which it is left.

    Raises
    ------
    ValueError
        For an unknown kind, or a strength where there is no objective to weigh, or none where there is.
    """
    checks.one_of("kind", kind, KINDS)
    given, objective = KINDS[kind]
    if (strength > 0) != (objective is not None):
        needs = "needs a strength above 0" if objective else "has no objective: its strength is 0"
        raise ValueError(f"{kind!r} {needs}, got {strength}")
    model = WordLevelClassifier(len(dataset.vocabulary), **given, layers=layers, lam=lam, seed=seed)
    model.check(dataset.train)
    asked = objective(dataset.train, strength, seed) if objective else None
    return model, train_model(model, dataset, seed, epochs, asked)
