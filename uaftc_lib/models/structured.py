"""Structured self-attention (Lin et al. 2017): several attention distributions, or hops, over one instance."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from uaftc_lib import checks
from uaftc_lib.corpus import Corpus
from uaftc_lib.models.classifier import AttentionClassifier, Dropout, Output, softmax_by_instance, sum_by_instance
from uaftc_lib.streams import generator


def overlap(weights: Float[Tensor, "positions hops"], corpus: Corpus) -> Float[Tensor, "instances"]:
    """‖AAᵀ − I‖²_F of each instance, where row r of A holds the weights of hop r.

    It is 0 when every hop looks at one word and no two at the same, and hops (hops − 1) when all look at the
    same one.
    """
    products = weights.unsqueeze(2) * weights.unsqueeze(1)
    gram = sum_by_instance(products, corpus.instance_of, len(corpus))
    return ((gram - torch.eye(weights.shape[1]).to(gram)) ** 2).sum((1, 2))


class StructuredClassifier(AttentionClassifier):
    """Hop r has its own context vector and its own part of W: a_jr = keys_j·V_r/λ, s_jr = values_j·W_r.

    The logit is s = Σ_r Σ_j α_jr s_jr; V is "d hops", W "hops·d" or "hops·d classes".

    Parameters
    ----------
    hops : int
        Attention distributions, r in the paper of Lin et al.
    projections : bool
        False: keys are tanh(M h) and values h, as in that paper. True: keys are M h and values N h, two
        independent linear projections (Vaswani et al. 2017).
    **options
        As for :class:`AttentionClassifier`, but ``attention``; ``encoder="affine"`` would own M too and is refused.

    Raises
    ------
    ValueError
        If hops is no whole number above 0, or another argument does not fit.
    """

    def __init__(
        self,
        vocabulary_size: int,
        dimension: int = 100,
        lam: float = 10.0,
        encoder: str = "none",
        hops: int = 4,
        projections: bool = False,
        **options,
    ):
        self.hops = checks.whole("hops", hops, 1)
        super().__init__(vocabulary_size, dimension, lam, encoder, "additive", **options)
        # A name of its own, so that code written for one distribution refuses this model.
        self.attention = "structured"
        self.projections = projections
        self.V = nn.Parameter(self.V.detach().reshape(-1, hops))
        if projections:
            draws = generator(self.seed, "projections")
            d = len(self.M)
            N = (2 * torch.rand(d, d, generator=draws, dtype=torch.float64) - 1) / math.sqrt(d)
            self.N = nn.Parameter(N.to(self.M))

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, hops={self.hops}, projections={self.projections}"

    def score(
        self, embeddings: Float[Tensor, "tokens d"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> tuple[Float[Tensor, "tokens hops"], Float[Tensor, "tokens hops ..."], Float[Tensor, "tokens h"]]:
        """Attention and polarity scores of tokens for each hop, and their values."""
        h = self.encode(embeddings, offsets)
        keys, values = (h @ self.M.T, h @ self.N.T) if self.projections else (torch.tanh(h @ self.M.T), h)
        W = self.W.reshape(self.hops, -1, *self.W.shape[1:])
        return keys @ self.V / self.lam, torch.einsum("td,hd...->th...", values, W), values

    def attend(self, corpus: Corpus, dropout: Dropout | None = None, sparse: bool = False) -> Output:
        """As :meth:`AttentionClassifier.attend`, for every hop; the pooled vectors stand end to end."""
        rows = functional.embedding(corpus.tokens, self.embedding, sparse=sparse)
        if dropout is not None:
            rows = rows * dropout.embedding
        scores, token_polarity, values = self.score(rows, corpus.offsets)
        weights = softmax_by_instance(scores, corpus.instance_of, len(corpus))
        pooled = sum_by_instance(weights.unsqueeze(2) * values.unsqueeze(1), corpus.instance_of, len(corpus))
        pooled = pooled.flatten(1) if dropout is None else pooled.flatten(1) * dropout.pooled
        return Output(pooled @ self.W, scores, weights, token_polarity)

    def penalty(self, corpus: Corpus | None = None) -> Float[Tensor, ""]:
        """The mean overlap of the hops, ‖AAᵀ − I‖²_F, over the instances of a corpus (without dropout).

        Raises
        ------
        ValueError
            If there is no corpus.
        """
        if corpus is None:
            raise ValueError("the overlap of hops is that of weights on a corpus: penalty(corpus)")
        return overlap(self(corpus).weights, corpus).mean()
