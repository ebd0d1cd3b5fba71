"""The classifiers of Jain & Wallace (2019), and of Wiegreffe & Pinter (2019), who took them over.

What is pooled is a word's embedding, a projection of it, or the state of a bidirectional LSTM. The logit is
Σ_j α_j s_j with s_j = W·h_j in all of them, so that ``explain`` is exact for states. Their output bias is left out:
as Σ_j α_j = 1 it would only shift all s_j.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from uaftc_book.neighbours.settings import JAIN_WALLACE
from uaftc_lib import checks
from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.streams import generator

READS = tuple(JAIN_WALLACE.states)  # words, projection, bilstm
KEYS = ("tanh", "dot")


class JainWallaceClassifier(AttentionClassifier):
    """Two classes, one logit; all weights but the LSTM's start as torch's linear layers do, in ±1/√(inputs).

    Parameters
    ----------
    vocabulary_size : int
    reads : {"words", "projection", "bilstm"}
        h_j = e_j, tanh(P e_j + b) (theirs is called "average"), or the states of a bidirectional LSTM.
    keys : {"tanh", "dot"}
        a_j = V·tanh(M h_j + c)/λ, with half as many elements, or V·h_j/λ.
    lam : float, optional
        The scaling factor λ; theirs, and the default: 1 with "tanh", the square root of the size of a state with "dot".
    seed : int
    embedding_range : float
        Embeddings begin uniform in ± this; theirs were fastText's.
    states, pooled : int, optional
        Elements of a projection or an LSTM's state, and of what is pooled; by default theirs, and as many.

    Raises
    ------
    ValueError
        For an unknown choice or an impossible number.
    """

    def __init__(
        self,
        vocabulary_size: int,
        reads: str = "bilstm",
        keys: str = "tanh",
        lam: float | None = None,
        seed: int = 0,
        embedding_range: float = JAIN_WALLACE.embedding_range,
        states: int | None = None,
        pooled: int | None = None,
    ):
        checks.one_of("reads", reads, READS)
        checks.one_of("keys", keys, KEYS)
        states = states or JAIN_WALLACE.states[reads]
        pooled = pooled or states
        super().__init__(
            vocabulary_size,
            JAIN_WALLACE.dimension,
            lam=lam_of(keys, pooled) if lam is None else lam,
            encoder="lstm" if reads == "bilstm" else "none",
            hidden=states // 2,
            embedding_range=embedding_range,
            seed=seed,
        )
        self.reads, self.keys = reads, keys
        draws = generator(seed, "projections")

        def linear(inputs: int, *shape: int) -> nn.Parameter:
            values = (2 * torch.rand(*shape, generator=draws, dtype=torch.float64) - 1) / inputs**0.5
            return nn.Parameter(values.float())

        if reads == "projection":
            self.P, self.b = linear(JAIN_WALLACE.dimension, states, JAIN_WALLACE.dimension), linear(states, states)
        compared = pooled // 2 if keys == "tanh" else pooled
        self.V, self.W = linear(compared, compared), linear(pooled, pooled)
        if keys == "tanh":
            self.M, self.c = linear(pooled, compared, pooled), linear(pooled, compared)

    def encode(
        self, embeddings: Float[Tensor, "tokens d"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> Float[Tensor, "tokens h"]:
        """Representations h of tokens, as :meth:`AttentionClassifier.encode`."""
        if self.reads == "projection":
            return torch.tanh(embeddings @ self.P.T + self.b)
        return super().encode(embeddings, offsets)

    def score(
        self, embeddings: Float[Tensor, "tokens d"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> tuple[Float[Tensor, "tokens"], Float[Tensor, "tokens"], Float[Tensor, "tokens h"]]:
        """Attention scores, polarity scores and representations h of tokens."""
        h = self.encode(embeddings, offsets)
        keys = torch.tanh(h @ self.M.T + self.c) if self.keys == "tanh" else h
        return keys @ self.V / self.lam, h @ self.W, h

    def type_rows(self, corpus: Corpus, sparse: bool) -> tuple[Float[Tensor, "types d"], Int[Tensor, "positions"]]:
        """As :meth:`AttentionClassifier.type_rows`; AMSGrad needs a whole gradient, yet not all types to be read."""
        types, where = torch.unique(corpus.tokens, return_inverse=True)
        return self.embedding[types], where

    def again(self, seed: int) -> JainWallaceClassifier:
        """A model of the same kind and size at another initialisation."""
        return JainWallaceClassifier(len(self.embedding), self.reads, self.keys, self.lam, seed)

    @property
    def attention_parameters(self) -> list[nn.Parameter]:
        """Those that only weights depend on."""
        return [self.V, self.M, self.c] if self.keys == "tanh" else [self.V]


def default_lam(reads: str, keys: str) -> float:
    """The λ that Jain & Wallace's attention amounts to: 1, or √H of scaled dot products."""
    return lam_of(keys, JAIN_WALLACE.states[reads])


def lam_of(keys: str, pooled: int) -> float:
    """The same where so many elements are pooled."""
    return pooled**0.5 if keys == "dot" else 1.0


def fresh(model: AttentionClassifier, seed: int) -> AttentionClassifier:
    """A model of the same kind and size at another initialisation: one of theirs, or the paper's DP or DP-L."""
    if isinstance(model, JainWallaceClassifier):
        return model.again(seed)
    types, dimension = model.embedding.shape
    return AttentionClassifier(
        types, dimension, model.lam, model.encoder, model.attention, hidden=len(model.V) // 2, seed=seed
    )
