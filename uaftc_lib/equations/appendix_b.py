"""Equations 42 to 55: the inner products of embeddings, Appendix B."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.equations.case import Case, View
from uaftc_lib.equations.registry import Equality, Inequality, Order, equation, relative_error
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.streams import generator

page = partial(equation, page="05_embedding_geometry")

FACTORS = (30.0, 100.0, 300.0, 1000.0)  # λ of the approximations, in units of the case's


@equation(42, "gradient of an embedding: a part along V and a part along W", "exact", "02_gradients")
def _(case: Case):
    view = case.view()
    along_V = torch.outer(view.per_type(view.push) / view.lam, view.V)
    along_W = torch.outer(view.per_type(view.pull), view.W)
    return Equality(-(along_V + along_W) / view.m, view.grad["embedding"])


@page(43, "how an inner product of two embeddings moves", "exact")
def _(case: Case):
    view = case.view()
    half = -view.grad["embedding"] @ view.E.T
    return Equality(half + half.T, view.rate(lambda P: P["embedding"] @ P["embedding"].T))


def _half(view: View, A: Tensor) -> Equality:
    B = torch.outer(view.pi, view.s_e) / view.m
    return Equality(A + B, -view.grad["embedding"] @ view.E.T)


def _printed_44(case: Case) -> Equality:
    # At λ = 1 the superfluous factor cannot be seen.
    view = case.with_(lam=case.lam + 1).view()
    return _half(view, torch.outer(view.rho, view.a_e) / (view.m * view.lam))


@page(
    44,
    "the part that one embedding's movement contributes: A_ik + B_ik",
    "misprinted",
    printed=_printed_44,
    correction="A_ik = ρ(e_i) a_k / m: the printed 1/λ is superfluous, a_k holds it already",
)
def _(case: Case):
    view = case.view()
    return _half(view, torch.outer(view.rho, view.a_e) / view.m)


def _large_lambda(case: Case, approximation, exact) -> Order:
    """Relative error of an approximation as λ grows; neglecting a term in 1/λ leaves order −1."""
    views = [case.with_(lam=case.lam * factor).view() for factor in FACTORS]
    errors = [relative_error(approximation(view), exact(view)) for view in views]
    return Order([view.lam for view in views], errors, expected=-1)


def _first_half(view: View) -> Tensor:
    return -view.grad["embedding"] @ view.E.T


def _omega_rate(view: View) -> Tensor:
    return view.rate(lambda P: P["embedding"] @ P["embedding"].T)


def _pi_s(view: View) -> Tensor:
    return torch.outer(view.pi, view.s_e)


@page(
    45,
    "the same for large λ",
    "misprinted",
    printed=lambda case: _large_lambda(case, _pi_s, _first_half),
    correction="1/m is missing: π(e_i) s_k / m; then the error falls as 1/λ",
)
def _(case: Case):
    return _large_lambda(case, lambda view: _pi_s(view) / view.m, _first_half)


@page(
    46,
    "the movement of an inner product for large λ",
    "misprinted",
    printed=lambda case: _large_lambda(case, lambda view: _pi_s(view) + _pi_s(view).T, _omega_rate),
    correction="1/m is missing; exactly it is RZᵀ + ZRᵀ with Z = [λa, s], R = [ρ/λ, π]/m",
)
def _(case: Case):
    return _large_lambda(case, lambda view: (_pi_s(view) + _pi_s(view).T) / view.m, _omega_rate)


@page(
    47,
    "the update of a polarity score without A",
    "approximate",
    correction="neglects A: the error falls as 1/λ",
)
def _(case: Case):
    def without_A(view: View) -> Tensor:
        return (view.W @ view.W) * view.pi / view.m + view.E @ (view.E.T @ view.pi) / view.m

    return _large_lambda(case, without_A, lambda view: view.s_rate)


POLAR, NEUTRAL = 3, 4


def mirrored(case: Case, attention: float = 1.0, opposite: bool = False) -> View:
    """A corpus and a model that exchanging positive and negative leaves unchanged.

    Types 0 to 2 are positive, 3 to 5 their negative partners, the rest neutral; every positive instance has a
    negative partner. a_e is ``attention``/λ for polarity tokens (with ``opposite`` its negative for negative
    ones), s_e is ±1, neutral tokens have a = s = 0; V ⟂ W. λ is ten times that of the case.
    """
    draws = generator(case.seed, "data")
    lists, labels = [], []
    for _ in range(case.instances):
        neutral = (
            2 * POLAR + torch.randint(NEUTRAL, (int(torch.randint(1, 5, (1,), generator=draws)),), generator=draws)
        ).tolist()
        polar = torch.randint(POLAR, (int(torch.randint(1, 4, (1,), generator=draws)),), generator=draws)
        lists += [polar.tolist() + neutral, (polar + POLAR).tolist() + neutral]
        labels += [1, 0]
    # All partners occur, so that no π or ρ is an empty sum.
    lists += [list(range(POLAR)) + [2 * POLAR], list(range(POLAR, 2 * POLAR)) + [2 * POLAR]]
    corpus = Corpus.from_lists(lists, [*labels, 1, 0])
    model = AttentionClassifier(2 * POLAR + NEUTRAL, case.dimension, 10 * case.lam, seed=case.seed, dtype=torch.float64)
    with torch.no_grad():
        model.V.zero_()[0] = 1
        model.W.zero_()[1] = 1
        model.embedding[:, :2] = 0
        model.embedding[: 2 * POLAR, 0] = attention
        model.embedding[:POLAR, 1] = 1
        model.embedding[POLAR : 2 * POLAR, 1] = -1
        if opposite:
            model.embedding[POLAR : 2 * POLAR, 0] *= -1
    return View(model, corpus)


class _Pairs:
    """The quantities of Appendix B.2 for all positive e_*, all positive e_+ and their partners e_-."""

    def __init__(self, view: View, star_negative: bool = False):
        star = torch.arange(POLAR) + POLAR * star_negative
        plus, minus = torch.arange(POLAR), torch.arange(POLAR, 2 * POLAR)
        half, B = _first_half(view), _pi_s(view) / view.m
        self.star_plus, self.plus_star = half[star][:, plus], half[plus][:, star].T
        self.star_minus, self.minus_star = half[star][:, minus], half[minus][:, star].T
        self.B_star_plus, self.B_plus_star = B[star][:, plus], B[plus][:, star].T
        self.B_star_minus, self.B_minus_star = B[star][:, minus], B[minus][:, star].T
        self.rate_plus = self.star_plus + self.plus_star
        self.rate_minus = self.star_minus + self.minus_star


def _chain(*falling: Tensor) -> Inequality:
    """Each entry larger than the next."""
    return Inequality([one - other for one, other in zip(falling, falling[1:])])


def _zero(like: Tensor) -> Tensor:
    return torch.zeros_like(like)


def _inequality(number: int, title: str, statement, **outside):
    """Registers a statement of B.2: under its conditions, and where they are broken."""

    @page(
        number,
        title,
        "conditional",
        printed=lambda case: statement(mirrored(case, **(outside or {"attention": -1.0}))),
        correction=CONDITIONS.get(number, CONDITION),
    )
    def _(case: Case):
        return statement(mirrored(case))


CONDITION = "needs a_+, a_-, a_* > 0 and ρ > 0 for these tokens"
SYMMETRY = "needs equal attention scores, opposite polarity scores, and opposite π, of e_+ and e_-"
CONDITIONS = {
    51: f"{CONDITION}; λ so large that |A| < |B|",
    52: f"{CONDITION}; λ so large that |A| < |B|",
    53: f"{CONDITION}; λ so large that |A| < |B|",
    54: f"{CONDITION}; {SYMMETRY} (the text before it says opposite attention scores)",
    55: f"{CONDITION}; {SYMMETRY} (the text before it says opposite attention scores)",
}


def _equal(one: Tensor, other: Tensor) -> Tensor:
    """A margin that decides an equality inside a chain: no limit where it holds, negative where it fails."""
    difference = (one - other).abs()
    return torch.where(difference < 1e-12, torch.inf, -difference)


def _48(view):
    q = _Pairs(view)
    return _chain(q.star_plus, q.B_star_plus, _zero(q.star_plus))


def _49(view):
    q = _Pairs(view)
    return _chain(q.plus_star, q.B_plus_star, _zero(q.plus_star))


def _50(view):
    q = _Pairs(view)
    return _chain(q.rate_plus, q.B_star_plus + q.B_plus_star, _zero(q.rate_plus))


def _51(view):
    q = _Pairs(view)
    return _chain(_zero(q.star_minus), q.star_minus, q.B_star_minus)


def _52(view):
    q = _Pairs(view)
    return _chain(_zero(q.minus_star), q.minus_star, q.B_minus_star)


def _53(view):
    q = _Pairs(view)
    return _chain(_zero(q.rate_minus), q.rate_minus, q.B_star_minus + q.B_minus_star)


def _54(view):
    q = _Pairs(view)
    same = q.B_star_plus + q.B_plus_star, -q.B_star_minus - q.B_minus_star
    return Inequality([q.rate_plus - same[0], _equal(*same), same[1] + q.rate_minus])


def _55(view):
    q = _Pairs(view, star_negative=True)
    same = q.B_star_minus + q.B_minus_star, -q.B_star_plus - q.B_plus_star
    return Inequality([q.rate_minus - same[0], _equal(*same), same[1] + q.rate_plus])


_inequality(48, "two positive tokens attract: e_*'s part", _48)
_inequality(49, "two positive tokens attract: e_+'s part", _49)
_inequality(50, "two positive tokens attract", _50)
_inequality(51, "a positive and a negative token repel: e_*'s part", _51)
_inequality(52, "a positive and a negative token repel: e_-'s part", _52)
_inequality(53, "a positive and a negative token repel", _53)
_inequality(54, "attraction outweighs repulsion, positive e_*", _54, opposite=True)
_inequality(55, "attraction outweighs repulsion, negative e_*", _55, opposite=True)
