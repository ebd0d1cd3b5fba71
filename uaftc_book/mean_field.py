"""The mean field of exchangeable types: gradient flow of the means of kinds of words (chapters 3 and 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.dynamics.flow import solve
from uaftc_lib.models import AttentionClassifier, sum_by_instance


@dataclass(frozen=True)
class MeanField:
    """A corpus whose types fall into kinds that are exchangeable, instance by instance.

    The approximation: all types of a kind carry the mean vector of the kind, and every type of a kind occurs
    equally often with every pattern. Neglected are the spread of the scores within a kind and the chance
    fluctuation of the counts; nothing else, the equations of the means are then those of the full model.

    Attributes
    ----------
    types : Float[np.ndarray, "kinds"]
        Number of token types of each kind.
    patterns : Float[np.ndarray, "patterns kinds"]
        Number of tokens of each kind in an instance.
    signs, shares : Float[np.ndarray, "patterns"]
        y of a pattern, and the fraction of the instances that follow it.
    """

    types: Float[np.ndarray, "kinds"]
    patterns: Float[np.ndarray, "patterns kinds"]
    signs: Float[np.ndarray, "patterns"]
    shares: Float[np.ndarray, "patterns"]

    @classmethod
    def from_corpus(cls, corpus: Corpus, kinds: list[Int[Tensor, "_"]]) -> MeanField:
        """Patterns counted in a binary corpus; each token type must belong to exactly one of the kinds.

        Raises
        ------
        ValueError
            If the corpus holds a type that is in no kind, or has more than two classes.
        """
        owner = torch.full((max(int(corpus.tokens.max()), max(int(ids.max()) for ids in kinds)) + 1,), -1)
        for k, ids in enumerate(kinds):
            owner[ids] = k
        if (owner[corpus.tokens] < 0).any():
            stray = int(corpus.tokens[owner[corpus.tokens] < 0][0])
            raise ValueError(f"token type {stray} occurs but belongs to none of the {len(kinds)} kinds")
        member = torch.nn.functional.one_hot(owner[corpus.tokens], len(kinds)).double()
        counts = sum_by_instance(member, corpus.instance_of, len(corpus))
        rows, seen = torch.cat([corpus.signs.double()[:, None], counts], 1).unique(dim=0, return_counts=True)
        return cls(
            types=np.array([len(ids) for ids in kinds], dtype=float),
            patterns=rows[:, 1:].numpy(),
            signs=rows[:, 0].numpy(),
            shares=(seen / len(corpus)).double().numpy(),
        )

    def sums(
        self, a: Float[np.ndarray, "kinds"], s: Float[np.ndarray, "kinds"]
    ) -> tuple[Float[np.ndarray, "kinds"], Float[np.ndarray, "kinds"]]:
        """π/m and ρ/m of one type of each kind, from the scores of the kinds."""
        weight = np.exp(a - a.max())
        alpha = weight / (self.patterns @ weight)[:, None]
        total = self.patterns * alpha
        polarity = total @ s
        pull = (self.shares * self.signs / (1 + np.exp(self.signs * polarity)))[:, None] * total / self.types
        return pull.sum(0), (pull * (s - polarity[:, None])).sum(0)

    def start(self, model: AttentionClassifier, kinds: list[Int[Tensor, "_"]]) -> np.ndarray:
        """The Gram matrix of [mean vector of each kind; V; W] of a binary DP model."""
        if dynamics.kind(model) != "DP" or not model.binary:
            raise ValueError("the mean field is written for the binary model DP")
        means = [model.embedding[ids].mean(0) for ids in kinds]
        X = torch.stack([*means, model.V, model.W]).detach().double()
        return (X @ X.T).numpy()

    def flow(
        self,
        start: Float[np.ndarray, "rows rows"],
        lam: float,
        times,
        method: str = "LSODA",
        rtol: float = 1e-8,
        atol: float = 1e-10,
    ) -> Float[np.ndarray, "times rows rows"]:
        """Inner products of [means; V; W] along gradient flow; three kinds: 5 vectors, 15 inner products.

        Scores of the kinds are a = G[:, :kinds, -2]/λ and s = G[:, :kinds, -1]; V·W = G[:, -2, -1].
        """
        kinds = len(self.types)
        rows = kinds + 2
        upper = np.triu_indices(rows)
        G, S = np.empty((rows, rows)), np.zeros((rows, rows))

        def derivative(_, values):
            G[upper] = values
            G.T[upper] = values
            pi, rho = self.sums(G[:kinds, -2] / lam, G[:kinds, -1])
            S[:kinds, -2], S[:kinds, -1] = rho / lam, pi
            # V and W feel all types of a kind, a mean only its own share: S is not symmetric here.
            S[-2, :kinds], S[-1, :kinds] = self.types * rho / lam, self.types * pi
            SG = S @ G
            return (SG + SG.T)[upper]

        states = solve(derivative, start[upper], times, method, rtol, atol)
        path = np.empty((len(states), rows, rows))
        path[:, upper[0], upper[1]] = path[:, upper[1], upper[0]] = states
        return path


def crossing(times: Float[np.ndarray, "times"], values: Float[np.ndarray, "times"], level: float) -> float:
    """When a curve first comes to a level, between two times in their logarithms; nan if it does not."""
    above = np.flatnonzero(values >= level)
    if not len(above) or above[0] == 0:
        return float("nan")
    i = above[0]
    part = (level - values[i - 1]) / (values[i] - values[i - 1])
    low = max(times[i - 1], times[1] / 10)
    return float(np.exp(np.log(low) + part * (np.log(times[i]) - np.log(low))))
