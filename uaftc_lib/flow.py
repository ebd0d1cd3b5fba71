"""Gradient flow: the whole model, its Gram matrix, the mean field of exchangeable types, and the start.

Time τ is that of dz/dτ = −∂ℓ/∂z (Eq 8); n steps of SGD with learning rate η reach τ = nη up to O(η).
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.integrate import solve_ivp
from torch import Tensor

from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier, sum_by_instance


def _solve(derivative, start: np.ndarray, times, method: str, rtol: float, atol: float) -> np.ndarray:
    """States "times unknowns" of an initial value problem that starts at times[0]."""
    times = np.asarray(times, dtype=float)
    if times.ndim != 1 or len(times) < 2 or (np.diff(times) <= 0).any():
        raise ValueError(f"times must be at least two rising numbers, got {times}")
    found = solve_ivp(derivative, times[[0, -1]], start, method=method, t_eval=times, rtol=rtol, atol=atol)
    if not found.success:
        raise RuntimeError(f"the solver stopped at τ = {found.t[-1] if len(found.t) else times[0]}: {found.message}")
    return found.y.T


@dataclass(frozen=True)
class Trajectory:
    """Models along gradient flow: ``trajectory[i]`` is the model at ``times[i]``."""

    times: Float[np.ndarray, "times"]
    states: Float[np.ndarray, "times unknowns"]
    template: AttentionClassifier

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, i: int) -> AttentionClassifier:
        return _with_parameters(deepcopy(self.template), self.states[i])

    def drift(self) -> dict[str, Float[np.ndarray, "times"]]:
        """Largest absolute change of each conserved matrix since the start."""
        kept = [dynamics.conserved(model) for model in self]
        return {name: np.array([float((now[name] - kept[0][name]).abs().max()) for now in kept]) for name in kept[0]}

    def __iter__(self):
        return (self[i] for i in range(len(self)))


def _with_parameters(model: AttentionClassifier, values: np.ndarray) -> AttentionClassifier:
    torch.nn.utils.vector_to_parameters(torch.tensor(values), model.parameters())
    return model


def integrate(
    model: AttentionClassifier,
    corpus: Corpus,
    times,
    method: str = "DOP853",
    rtol: float = 1e-10,
    atol: float = 1e-12,
) -> Trajectory:
    """Gradient flow of all parameters (Eq 8), by scipy's solve_ivp on the closed-form right-hand side.

    Parameters
    ----------
    model : AttentionClassifier
        Where the flow starts; it is not changed. It must be float64 and without a recurrent encoder.
    times : rising numbers
        The flow starts at times[0].

    Raises
    ------
    ValueError
        If the model is not float64 or has no closed form, or the times do not rise.
    RuntimeError
        If the solver gives up.
    """
    if model.embedding.dtype != torch.float64:
        raise ValueError(f"gradient flow is solved in float64, this model is {model.embedding.dtype}")
    working = deepcopy(model)
    names = [name for name, _ in working.named_parameters()]

    def derivative(_, values):
        found = dynamics.gradients(_with_parameters(working, values), corpus)
        return -torch.cat([found[name].reshape(-1) for name in names]).numpy()

    start = torch.nn.utils.parameters_to_vector(model.parameters()).detach().numpy()
    return Trajectory(
        np.asarray(times, dtype=float), _solve(derivative, start, times, method, rtol, atol), deepcopy(model)
    )


def gram(model: AttentionClassifier) -> Float[Tensor, "rows rows"]:
    """G = XXᵀ of X = [E; V; W], with a row for each type, for V, and for W (K classes: each W_k).

    Raises
    ------
    ValueError
        For models other than DP.
    """
    if dynamics.kind(model) != "DP":
        raise ValueError(f"the Gram matrix closes for DP alone, this model is {dynamics.kind(model)}")
    X = torch.cat([model.embedding, model.V[None], model.W.reshape(len(model.V), -1).T]).detach()
    return X @ X.T


def gram_flow(
    model: AttentionClassifier,
    corpus: Corpus,
    times,
    method: str = "DOP853",
    rtol: float = 1e-10,
    atol: float = 1e-12,
) -> Float[np.ndarray, "times rows rows"]:
    """The Gram matrix along gradient flow, without the vectors: Ġ = SG + GS, S = [[0, R], [Rᵀ, 0]].

    R = −∂ℓ/∂Z needs only the scores Z = [a, s], which are columns of G: the dimension d has dropped out.

    Raises
    ------
    ValueError, RuntimeError
        As :func:`gram` and :func:`integrate`.
    """
    start = gram(model).double()
    rows, types = len(start), len(model.embedding)

    def derivative(_, values):
        G = torch.from_numpy(values).reshape(rows, rows)
        s = G[:types, types + 1 :]
        sums = dynamics.sums_of_scores(G[:types, types] / model.lam, s.squeeze(1) if model.binary else s, corpus)
        S = torch.zeros_like(G)
        S[:types, types] = sums.rho / (len(corpus) * model.lam)
        S[:types, types + 1 :] = sums.pi.reshape(types, -1) / len(corpus)
        SG = (S + S.T) @ G
        return (SG + SG.T).reshape(-1).numpy()

    states = _solve(derivative, start.reshape(-1).numpy(), times, method, rtol, atol)
    return states.reshape(len(states), rows, rows)


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

        states = _solve(derivative, start[upper], times, method, rtol, atol)
        path = np.empty((len(states), rows, rows))
        path[:, upper[0], upper[1]] = path[:, upper[1], upper[0]] = states
        return path


class Escape(NamedTuple):
    """How the model leaves the saddle E = 0, W = 0; see :func:`saddle_escape`."""

    rate: float
    time: float
    direction: Float[Tensor, "types"]


def saddle_direction(corpus: Corpus, types: int) -> Float[Tensor, "types"]:
    """π₀(w) = ½ Σ_t y n_tw / length_t: π where all attention is equal and all polarity is zero."""
    share = (corpus.signs.double() / (2 * corpus.lengths))[corpus.instance_of]
    return sum_by_instance(share, corpus.tokens, types)


@torch.no_grad()
def mean_margin(model: AttentionClassifier, corpus: Corpus) -> float:
    """(1/m) Σ_t y s^(t)."""
    return float((corpus.signs.to(model.W) * model(corpus).polarity).mean())


@torch.no_grad()
def saddle_escape(model: AttentionClassifier, corpus: Corpus, margin: float = 0.5) -> Escape:
    """When the mean margin (1/m) Σ y s^(t) will reach ``margin``, from the initial vectors of a binary DP.

    Near E, W = 0, with equal weights and β = ½, the flow is linear: with p = Eᵀπ₀ it is dp/dτ = ‖π₀‖² W/m,
    dW/dτ = p/m. Hence (W ± p/‖π₀‖)/2 grow and fall at ‖π₀‖/m, the scores at the rate 2‖π₀‖/m, and the mean
    margin is (2/m) p·W = (2‖π₀‖/m)(|u|² e^(2‖π₀‖τ/m) − |v|² e^(−2‖π₀‖τ/m)), u, v = (W ± p/‖π₀‖)/2.
    The logistic loss saturates as s grows, so the true time is later: little for a small margin.

    Raises
    ------
    ValueError
        For other models, a margin that is not positive, or a corpus with π₀ = 0.
    """
    if dynamics.kind(model) != "DP" or not model.binary:
        raise ValueError("the escape is predicted for the binary model DP")
    if not margin > 0:
        raise ValueError(f"margin must be positive, got {margin}")
    direction = saddle_direction(corpus, len(model.embedding)).to(model.W)
    norm, m = float(direction.norm()), len(corpus)
    if norm == 0:
        raise ValueError("π₀ = 0: no token type is associated with a class, nothing grows at first order")
    p = model.embedding.T @ direction / norm
    u, v = float((model.W + p).square().sum()) / 4, float((model.W - p).square().sum()) / 4
    wanted = margin * m / (2 * norm)
    growth = (wanted + math.sqrt(wanted**2 + 4 * u * v)) / (2 * u)
    return Escape(rate=2 * norm / m, time=max(math.log(growth), 0.0) * m / (2 * norm), direction=direction)


def crossing_time(times, values, level: float) -> float:
    """The first time at which linearly interpolated values reach a level; nan if they do not."""
    times, values = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    above = np.flatnonzero(values >= level)
    if not len(above):
        return math.nan
    i = above[0]
    if i == 0:
        return float(times[0])
    part = (level - values[i - 1]) / (values[i] - values[i - 1])
    return float(times[i - 1] + part * (times[i] - times[i - 1]))
