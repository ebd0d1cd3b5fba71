"""Weight decay on E, V and W: the phases of the optimum on Data I, and the descent of full models to it.

With decay μ the objective is L + (μ/2)(‖E‖² + ‖V‖² + ‖W‖²). Let Z = [λa, s] have a row for each word type. The least
objective over all E, V, W with these scores is L(Z) + μ‖Z‖_*, with the sum of the singular values of Z; there
EᵀE = VVᵀ + WWᵀ. On Data I (n polar words, half of each class, n₀ neutral ones, a share q of polar words in each text)
three phases are stationary:

flat
    V = 0. Polar words vote ±s, neutral ones 0. The objective is log(1 + e^{−qs}) + μ√n s.
two-sided
    V ⟂ W. Polar words of both classes have attention Δ beyond neutral ones and vote ±s. With the attention weight
    q_Δ = qe^Δ/(qe^Δ + 1 − q) the objective is log(1 + e^{−q_Δ s}) + μ(√n s + λΔ√(nn₀/(n + n₀))).
one-sided
    V ∥ ±W, so that λa = κs for every word: attention is the vote, up to a factor. ‖Z‖_* is √(1 + κ²) times the length
    of all votes.

At the flat optimum βq = μ√n, with β = 1/(1 + e^{qs}). There ∂/∂Δ of the two-sided objective is
μ√n(λ√(n₀/(n + n₀)) − (1 − q)s). So flat attention is unstable towards two-sided attention where
s > λ√(n₀/(n + n₀))/(1 − q), that is below μ_c = (q/√n)/(1 + exp(qλ√(n₀/(n + n₀))/(1 − q))). Towards one-sided
attention it becomes unstable at a larger decay.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize

from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier


@dataclass(frozen=True)
class Optimum:
    """The least objective of a phase, with the scores of positive, negative and neutral words."""

    objective: float
    attention: Float[np.ndarray, "3"]
    polarity: Float[np.ndarray, "3"]


@dataclass(frozen=True)
class DecayProgramme:
    """Data I at one λ and decay μ.

    Attributes
    ----------
    lam, mu : float
    polar, neutral : int
        n and n₀.
    share : float
        q.
    """

    lam: float
    mu: float
    polar: int = 100
    neutral: int = 1000
    share: float = 1 / 6

    @property
    def sizes(self) -> Float[np.ndarray, "3"]:
        """Word types of each kind."""
        return np.array([self.polar / 2, self.polar / 2, self.neutral])

    def loss(self, a: Float[np.ndarray, "3"], s: Float[np.ndarray, "3"]) -> float:
        """The mean loss by the attention and polarity scores of the kinds."""
        weight = 1 / (1 + (1 - self.share) / self.share * np.exp(a[2] - a[:2]))
        return float(np.logaddexp(0, np.array([-1, 1]) * (weight * s[:2] + (1 - weight) * s[2])).mean())

    def objective(self, a: Float[np.ndarray, "3"], s: Float[np.ndarray, "3"]) -> float:
        """The loss, and μ times the sum of the singular values of [λa, s]."""
        Z = np.sqrt(self.sizes)[:, None] * np.stack([self.lam * a, s], 1)
        return self.loss(a, s) + self.mu * float(np.linalg.svd(Z, compute_uv=False).sum())

    @cached_property
    def optima(self) -> dict[str, Optimum]:
        """The least objective of each phase: over one, two and four numbers."""
        up = self.neutral / (self.polar + self.neutral)  # of Δ: attention scores of all words add up to zero
        phases = {
            "flat": (lambda x: (np.zeros(3), x[0] * np.array([1, -1, 0])), [[2.0], [10.0]]),
            "two-sided": (
                lambda x: (x[1] * np.array([up, up, up - 1]), x[0] * np.array([1, -1, 0])),
                [[s, delta] for s in (2.0, 10.0) for delta in (0.5, 3.0)],
            ),
            "one-sided": (
                lambda x: (x[3] / self.lam * x[:3], x[:3]),
                [[s, -3 * s, s / 4, -kappa] for s in (2.0, 8.0) for kappa in (0.3, 1.0, 3.0)],
            ),
        }
        optima = {}
        options = {"xatol": 1e-9, "fatol": 1e-14, "maxiter": 20_000, "maxfev": 20_000, "adaptive": True}
        for phase, (scores, starts) in phases.items():
            runs = [
                minimize(lambda x, of=scores: self.objective(*of(x)), start, method="Nelder-Mead", options=options)
                for start in starts
            ]
            best = min(runs, key=lambda run: run.fun)
            optima[phase] = Optimum(float(best.fun), *scores(best.x))
        return optima

    @cached_property
    def phase(self) -> str:
        """The phase of the least objective; flat where the others come down to it, and "nothing" where it votes 0."""
        best, least = "nothing", np.log(2)  # of a model that is zero
        for phase in ("flat", "two-sided", "one-sided"):
            if self.optima[phase].objective < least - 1e-10:
                best, least = phase, self.optima[phase].objective
        return best

    @property
    def critical(self) -> float:
        """μ_c, below which flat attention is unstable towards two-sided attention."""
        s = self.lam * np.sqrt(self.neutral / (self.neutral + self.polar)) / (1 - self.share)
        return float(self.share / np.sqrt(self.polar) / (1 + np.exp(self.share * s)))

    def from_start(self, seed: int, d: int = 3) -> Optimum:
        """Where a descent of E, V and W themselves ends from a random start, with one vector for each kind."""
        draw = np.random.default_rng(seed)

        def scores(x):
            E, (V, W) = x[: 3 * d].reshape(3, d), x[3 * d :].reshape(2, d)
            return E @ V / self.lam, E @ W

        def objective(x):
            E, U = x[: 3 * d].reshape(3, d), x[3 * d :]
            return self.loss(*scores(x)) + self.mu / 2 * (float(self.sizes @ (E * E).sum(1)) + float(U @ U))

        start = draw.normal(size=5 * d) * draw.choice([0.1, 1.0, 3.0])
        result = minimize(objective, start, method="BFGS", options={"gtol": 1e-8, "maxiter": 5000})
        return Optimum(float(result.fun), *scores(result.x))


@torch.no_grad()
def descend(
    model: AttentionClassifier, corpus: Corpus, mu: float, rate: float, steps: int, momentum: float = 0.0
) -> AttentionClassifier:
    """Change a model by descent with momentum on the mean loss of all texts, with decay μ on every parameter."""
    velocity = {name: torch.zeros_like(parameter) for name, parameter in model.named_parameters()}
    for _ in range(steps):
        for name, slope in dynamics.gradients(model, corpus).items():
            parameter = getattr(model, name)
            velocity[name].mul_(momentum).add_(slope + mu * parameter)
            parameter -= rate * velocity[name]
    return model


@torch.no_grad()
def one_sided_factor(model: AttentionClassifier, corpus: Corpus, lam: float, mu: float) -> float:
    """κ of one-sided attention at this λ by the votes of a model: sᵀρ / (mλμ‖W‖²).

    At rest V = Eᵀρ/(mλμ), and E = sWᵀ/‖W‖² where its rank is one. The sum sᵀρ/m is the mean over texts of yβ times the
    variance of votes in the text: attention favours the class with the larger sum.
    """
    s, rho = model.token_scores().polarity, dynamics.token_sums(model, corpus).rho
    return float(s @ rho / (len(corpus) * lam * mu * model.W.square().sum()))
