"""Attention from one embedding table, polarity from another: keys and values that share no parameter."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from uaftc_lib.models.classifier import AttentionClassifier


class SeparateTables(AttentionClassifier):
    """The model of Section 3 with a = k·V/λ and s = e·W, where k and e are rows of two tables.

    ``embedding`` holds both side by side, "types 2d": columns 0 to d − 1 are the values e, with the same
    initial values as the model of one table and the same seed, the rest are the keys k. V·W then enters no
    derivative: A and D vanish identically (:func:`uaftc_lib.dynamics.polarity_update`).

    Takes the arguments of :class:`AttentionClassifier` but ``encoder`` and ``attention``.
    """

    def __init__(self, vocabulary_size: int, **options):
        for name in ("encoder", "attention"):
            if name in options:
                raise ValueError(f"{name} does not apply to separate tables: they feed dot-product attention")
        super().__init__(vocabulary_size, **options)
        # A name of its own, so that code written for one table refuses this model.
        self.encoder = "separate"
        other = AttentionClassifier(vocabulary_size, **(options | {"seed": self.seed + 2**31}))
        self.embedding = nn.Parameter(torch.cat([self.embedding.data, other.embedding.data], 1))

    @property
    def values(self) -> Float[Tensor, "types d"]:
        """The table e that W reads."""
        return self.embedding[:, : len(self.V)]

    @property
    def keys(self) -> Float[Tensor, "types d"]:
        """The table k that V reads."""
        return self.embedding[:, len(self.V) :]

    def score(
        self, embeddings: Float[Tensor, "tokens both"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> tuple[Float[Tensor, "tokens"], Float[Tensor, "tokens ..."], Float[Tensor, "tokens d"]]:
        """Attention scores, polarity scores and values of tokens; ``offsets`` play no part."""
        d = len(self.V)
        return embeddings[:, d:] @ self.V / self.lam, embeddings[:, :d] @ self.W, embeddings[:, :d]
