"""Flat attention solved in closed form: W and the polar direction rotate together, and attention follows (chapter 4).

The setting is Data I or II as the mean field has it: n polar word types, half of each class, and n₀ neutral ones; a
share q of the words of each text is polar; all texts have one β. Let π₀ be π at flat attention and zero scores
(:func:`~uaftc_book.inner_products.saddle_direction`), û = π₀/‖π₀‖, ν = ‖π₀‖/m and g = Eᵀû. Then, step by step:

1. At flat attention π/m = 2βν û, so dW/dτ = 2βν g and dg/dτ = 2βν W. With dθ = 2βν dτ this is a hyperbolic rotation:
   W = W₀ cosh θ + g₀ sinh θ, g = g₀ cosh θ + W₀ sinh θ, and ‖W‖² − ‖g‖² is conserved.
2. The mean margin is M = (2/m) π₀·s = 2ν g·W, and β = 1/(1 + e^M) gives the time, τ = ∫(1 + e^M)/(2ν) dθ.
   In Data II a share ε of the texts has the other class's polar words. For these texts M has the other sign, and all
   steps hold with (1 − ε)/(1 + e^M) − ε/(1 + e^−M) for β, ν being that without noise. M then ends at log((1 − ε)/ε).
3. Term D moves the attention of a polar word by ∫û_w W·V₀/λ dθ = û_w V₀·(g − g₀)/λ, because dg/dθ = W. Here
   û_w = ±u, with u = q/(2nν).
4. With dθ for dτ, a polar word has ρ_w/m = (1 − q) u² g·W, a neutral one −n/n₀ times this (all ρ add up to zero).
   Since ∫g·W dθ = ½(‖g‖² − ‖g₀‖²) =: I, term E gives a polar word (1 − q) u² ‖V₀‖² I/λ². It lifts polar words above
   neutral ones by r² n u² (1 − q) ‖V₀‖² I/λ², with r² = 1/n + 1/n₀.
5. Both classes stay above the neutral words while the lift of step 4 exceeds half of the gap of step 3. So the upper
   end of λ is proportional to I and inversely to |V₀·g|: it grows as √M, with the logarithm of the time.

The next order (``turning=True``) lets V and the attention weights move:

6. Let κ be the mean vector of polar words minus that of neutral ones. By step 4 dκ/dθ = r² n u² (1 − q) g·W V/λ, and
   dV/dτ = Eᵀρ/(mλ) becomes dV/dθ = n u² (1 − q) g·W κ/λ. So V and κ/r rotate as W and g do, by an angle x with
   dx = r n u² (1 − q) g·W dθ/λ.
7. The lead κ·V/λ changes the polar weight of a text to q_x = q e^lead/(q e^lead + 1 − q). It replaces q in steps 1, 2
   and 4: dθ = 2βν (q_x/q) dτ, M = 2ν (q_x/q) g·W. Steps 6 and 7 are exact where V and κ are orthogonal to W and g.
8. Polar words of both classes share the vote κ·W beyond that of neutral ones, so ρ of a polar word has a further part,
   û_w (1 − q) κ·W. With f = n u² (1 − q_x) κ·W/λ it adds f V to dg/dθ and f g to dV/dθ. Their effect on V·g is
   added once, along the path of step 7: g gets ∫cosh(θ − t) f V dt, V gets ∫cosh(x − x_t) f g dt.

Left out: that the β of the two classes part, and that unequal attention of the classes changes ρ.
So at λ = 10 the gap of step 8 is too large after a long training, most at a large d.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.integrate import cumulative_trapezoid

from uaftc_book.inner_products import saddle_direction
from uaftc_book.mean_field import MeanField
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.dynamics.flow import solve
from uaftc_lib.models import AttentionClassifier, sum_by_instance
from uaftc_lib.scores import Types


@dataclass(frozen=True)
class FlatFlow:
    """Initial vectors and numbers of the corpus, from which attention at a time τ follows without training.

    Attributes
    ----------
    nu : float
        ν = ‖π₀‖/m, without noise.
    share : float
        q, the polar share of the words of a text.
    polar, neutral : int
        n and n₀, numbers of word types.
    noise : float
        ε, the share of texts with the polar words of the other class.
    V, W, g, common, difference : Float[np.ndarray, "d"]
        V₀, W₀, g₀, κ₀, and the mean vector of positive words minus that of negative ones.
    """

    nu: float
    share: float
    polar: int
    neutral: int
    noise: float
    V: Float[np.ndarray, "d"]
    W: Float[np.ndarray, "d"]
    g: Float[np.ndarray, "d"]
    common: Float[np.ndarray, "d"]
    difference: Float[np.ndarray, "d"]

    @classmethod
    @torch.no_grad()
    def from_model(
        cls, model: AttentionClassifier, corpus: Corpus, types: Types, exchangeable: bool = False
    ) -> FlatFlow:
        """The flow from the vectors of a model, not yet trained, on a corpus like Data I.

        Parameters
        ----------
        exchangeable : bool
            Average π₀ over the words of each kind, as the mean field does; by default each word has its own.

        Raises
        ------
        ValueError
            For other models than the binary DP, unequal classes, or types other than positive, negative and neutral
            words.
        """
        if dynamics.kind(model) != "DP" or not model.binary:
            raise ValueError("the flat flow is written for the binary model DP")
        if set(types) != {"positive", "negative", "neutral"}:
            raise ValueError(f"types must be positive, negative and neutral words, got {', '.join(types)}")
        if int(corpus.signs.sum()):
            raise ValueError("the flat flow needs classes of equal size")
        pi = saddle_direction(corpus, len(model.embedding)).double()
        if exchangeable:
            for ids in types.values():
                pi[ids] = pi[ids].mean()
        E, polar = model.embedding.double(), torch.cat([types["positive"], types["negative"]])
        positive, negative, neutral = (E[types[kind]].mean(0) for kind in ("positive", "negative", "neutral"))
        vectors = (model.V.double(), model.W.double(), E.T @ pi / pi.norm())
        vectors += ((positive + negative) / 2 - neutral, positive - negative)
        share = float(torch.isin(corpus.tokens, polar).double().mean())
        side = torch.zeros(len(E))
        side[types["positive"]], side[types["negative"]] = 1.0, -1.0
        sides = sum_by_instance(side[corpus.tokens], corpus.instance_of, len(corpus))
        noise = float((sides * corpus.signs < 0).double().mean())
        nu = float(pi.norm()) / len(corpus) / (1 - 2 * noise)
        numbers = nu, share, len(polar), len(types["neutral"]), noise
        return cls(*numbers, *(vector.numpy().copy() for vector in vectors))

    @property
    def unit(self) -> float:
        """u, the size of û at a polar word."""
        return self.share / (2 * self.polar * self.nu)

    @property
    def ratio(self) -> float:
        """r, with r² = 1/n + 1/n₀."""
        return (1 / self.polar + 1 / self.neutral) ** 0.5

    def rotated(self, theta: Float[np.ndarray, "*angles"] | float) -> tuple[Float[np.ndarray, "*angles d"], ...]:
        """W and g at an angle θ."""
        cosh, sinh = np.cosh(theta)[..., None], np.sinh(theta)[..., None]
        return self.W * cosh + self.g * sinh, self.g * cosh + self.W * sinh

    def turned(self, x: Float[np.ndarray, "*angles"] | float) -> tuple[Float[np.ndarray, "*angles d"], ...]:
        """V and κ at an angle x of the second rotation (step 6)."""
        r, cosh, sinh = self.ratio, np.cosh(x)[..., None], np.sinh(x)[..., None]
        return self.V * cosh + self.common / r * sinh, self.common * cosh + r * self.V * sinh

    def product(self, theta: Float[np.ndarray, "*angles"] | float) -> Float[np.ndarray, "*angles"] | float:
        """g·W at an angle θ; the mean margin at flat attention is 2ν times it."""
        return (self.W @ self.W + self.g @ self.g) / 2 * np.sinh(2 * theta) + self.g @ self.W * np.cosh(2 * theta)

    def polar_weight(self, x: Float[np.ndarray, "*angles"] | float, lam: float) -> Float[np.ndarray, "*angles"] | float:
        """q_x, the attention weight of the polar words of a text (step 7)."""
        V, common = self.turned(x)
        odds = self.share / (1 - self.share) * np.exp(dot(V, common) / lam)
        return odds / (1 + odds)

    def path(
        self, time: float, lam: float, turning: bool = False, moments: int = 400, close: float = 1e-10
    ) -> dict[str, np.ndarray]:
        """Angles, margin and attention at rising times from 0 to ``time``, the last one included.

        Parameters
        ----------
        time : float
            τ of the flow: SGD steps times their learning rate.
        turning : bool
            Add the next order (steps 6 to 8); by default steps 1 to 4.
        close : float
            Relative tolerance of the solver.

        Returns
        -------
        dict
            "τ", "θ", "x", "margin"; "gap", attention of positive words minus that of negative ones; "lead positive",
            "lead negative", attention beyond that of neutral words; "lead", the smaller of the two.

        Raises
        ------
        ValueError
            If λ or the time is not positive.
        """
        if not (lam > 0 and time > 0):
            raise ValueError(f"λ and time must be positive, got {lam} and {time}")
        rate = self.polar * self.unit**2 / lam  # n u²/λ

        def weight(x):
            return self.polar_weight(x, lam) if turning else self.share + 0 * x

        def speed(_, angles):
            q, product = weight(angles[1]), self.product(angles[0])
            nu = self.nu * q / self.share
            growth = np.exp(2 * nu * product)
            turn = 2 * nu * (1 - self.noise - self.noise * growth) / (1 + growth)
            return [turn, self.ratio * rate * (1 - q) * product * turn]

        times = np.append(0.0, np.geomspace(min(1.0, time / 2), time, moments))
        theta, x = solve(speed, np.zeros(2), times, "LSODA", close, close / 100).T
        (W, g), q = self.rotated(theta), weight(x)
        V, common = self.turned(x) if turning else (self.V, self.common)
        odd = dot(V, self.difference + 2 * self.unit * (g - self.g))
        if turning:
            both, f = dot(V, common), (rate * (1 - q) * dot(common, W))[:, None]
            odd = odd + 2 * self.unit * (dot(V, driven(theta, f * V)) + dot(driven(x, f * g, theta), g))
        else:
            both = V @ common + self.lift(g) / lam
        found = {"τ": times, "θ": theta, "x": x, "margin": 2 * self.nu * q / self.share * self.product(theta)}
        leads = {"lead positive": (both + odd / 2) / lam, "lead negative": (both - odd / 2) / lam}
        return found | {"gap": odd / lam} | leads | {"lead": (both - abs(odd) / 2) / lam}

    def end(self, time: float, lam: float, turning: bool = False) -> dict[str, float]:
        """The last row of :meth:`path`."""
        return {name: float(values[-1]) for name, values in self.path(time, lam, turning).items()}

    def lift(self, g: Float[np.ndarray, "*times d"]) -> Float[np.ndarray, "*times"] | float:
        """λ² times what term E has given to polar words beyond neutral ones (step 4)."""
        gained = (dot(g, g) - self.g @ self.g) / 2
        return self.ratio**2 * self.polar * self.unit**2 * (1 - self.share) * (self.V @ self.V) * gained

    def middle(self, g: Float[np.ndarray, "*times d"]) -> Float[np.ndarray, "*times"] | float:
        """λ|cos(V₀, g)| at which the lead of the weaker class is zero, without κ₀: steps 3 and 4."""
        return self.lift(g) / np.linalg.norm(self.V) / (self.unit * np.linalg.norm(g, axis=-1))

    def grown(self, time: float) -> Float[np.ndarray, "d"]:
        """g after a time."""
        return self.rotated(self.path(time, np.inf, close=1e-13)["θ"][-1])[1]

    def upper_end(self, time: float, within: tuple[float, float] = (1.0, 1e5)) -> float:
        """The λ up to which no class loses its attention (steps 3 to 5, with κ₀), or the nearest in a range."""
        g = self.grown(time)
        lacks = abs(self.V @ (self.difference + 2 * self.unit * (g - self.g))) / 2 - self.V @ self.common
        return float(np.clip(self.lift(g) / lacks if lacks > 0 else np.inf, *within))


def dot(a: Float[np.ndarray, "... d"], b: Float[np.ndarray, "... d"]) -> Float[np.ndarray, "..."] | float:
    """Inner products of vectors, row by row."""
    return (a * b).sum(-1)


def driven(
    angle: Float[np.ndarray, "times"],
    force: Float[np.ndarray, "times d"],
    clock: Float[np.ndarray, "times"] | None = None,
) -> Float[np.ndarray, "times d"]:
    """∫cosh(angle − angle_t) force dt over the clock, by default the angle itself: what a force adds to a rotation."""
    clock = angle if clock is None else clock
    cosh, sinh = np.cosh(angle)[:, None], np.sinh(angle)[:, None]
    integrals = (cumulative_trapezoid(part * force, clock, axis=0, initial=0) for part in (cosh, sinh))
    return cosh * next(integrals) - sinh * next(integrals)


def flat_leads(
    field: MeanField, start: Float[np.ndarray, "rows rows"], time: float
) -> tuple[Float[np.ndarray, "2"], Float[np.ndarray, "2"]]:
    """c and L: λ times the lead of positive, and of negative words is c + L/λ, to the order of :meth:`FlatFlow.path`.

    By the mean field, for classes of any size: these have two β, and no closed form.
    """
    very_large, moments = 1e9, np.linspace(0.0, time, 400)
    path = field.flow(start, very_large, moments)
    rho = [field.sums(G[:3, -2] / very_large, G[:3, -1])[1] for G in path]
    lifts = start[-2, -2] * np.trapezoid(rho, moments, axis=0)
    return path[-1][:2, -2] - path[-1][2, -2], lifts[:2] - lifts[2]
