"""Equations 56 to 71: the affine input layer (Appendix D) and additive attention (Appendix E)."""

from __future__ import annotations

import torch
from torch import Tensor

from uaftc_book.equations import Equality, Order, equation, relative_error
from uaftc_book.paths import product_rule
from uaftc_book.random_models import Case, View
from uaftc_lib.streams import generator


@equation(56, "affine representation of a token", "definition")
def _(case: Case):
    view = case.view("DP-A")
    return Equality(view.model.score(view.E)[2], torch.stack([view.M @ e for e in view.E]))


@equation(57, "its attention score", "definition")
def _(case: Case):
    view = case.view("DP-A")
    return Equality(view.model.token_scores().attention, view.H @ view.V / view.lam)


@equation(58, "its polarity score", "definition")
def _(case: Case):
    view = case.view("DP-A")
    return Equality(view.model.token_scores().polarity, view.H @ view.W)


@equation(59, "affine: gradient of an embedding", "exact")
def _(case: Case):
    view = case.view("DP-A")
    along_V = torch.outer(view.per_type(view.push), view.M.T @ view.V) / view.lam
    along_W = torch.outer(view.per_type(view.pull), view.M.T @ view.W)
    return Equality(-(along_V + along_W) / view.m, view.grad["embedding"])


@equation(60, "affine: gradient of V", "exact")
def _(case: Case):
    view = case.view("DP-A")
    return Equality(-view.push @ view.h_j / (view.m * view.lam), view.grad["V"])


@equation(
    61,
    "affine: gradient of M",
    "not legible in our copy",
    correction="derived anew: −(1/m) Σ yβα [(sⱼ − s) V/λ + W] eⱼᵀ",
)
def _(case: Case):
    view = case.view("DP-A")
    pulled = view.push[:, None] * view.V / view.lam + view.pull[:, None] * view.W
    return Equality(-pulled.T @ view.e_j / view.m, view.grad["M"])


@equation(
    62,
    "affine: product rule for the polarity score",
    "not legible in our copy",
    correction="derived anew: (de/dτ)ᵀMᵀW + eᵀ(dM/dτ)ᵀW + hₑᵀ dW/dτ",
)
def _(case: Case):
    view = case.view("DP-A")
    by_e = -view.grad["embedding"] @ view.M.T @ view.W
    by_M = -view.E @ view.grad["M"].T @ view.W
    return Equality(by_e + by_M - view.H @ view.grad["W"], view.s_rate)


def _seen(view: View) -> tuple[Tensor, Tensor]:
    return view.M.T @ view.V, view.M.T @ view.W


@equation(63, "affine: the update of a polarity score, five terms", "exact")
def _(case: Case):
    view = case.view("DP-A")
    (V_seen, W_seen), Q = _seen(view), view.V @ view.W
    products = view.E @ view.e_j.T
    first = view.pi * (W_seen @ W_seen)
    second = (view.H @ view.h.T) @ view.r
    third = products @ view.pull * (view.W @ view.W)
    fourth = view.rho * (W_seen @ V_seen) / view.lam
    fifth = products @ view.push * Q / view.lam
    return Equality((first + second + third + fourth + fifth) / view.m, view.s_rate)


def _terms_64(view: View) -> tuple[Tensor, Tensor]:
    """The first term of Eq 64 and the sum of the others."""
    (V_seen, W_seen), products = _seen(view), view.E @ view.e_j.T
    first = view.per_type(view.push) * (V_seen @ V_seen) / view.lam**2
    second = view.pi * (W_seen @ V_seen) / view.lam
    third = products @ view.pull * (view.W @ view.V) / view.lam
    fourth = products @ view.push * (view.V @ view.V) / view.lam**2
    fifth = view.H @ view.h_j.T @ view.push / view.lam**2
    return first / view.m, (second + third + fourth + fifth) / view.m


def _printed_64(case: Case) -> Equality:
    # s without an instance: even the number that fits best, by least squares over all types, does not do.
    view = case.view("DP-A")
    _, others = _terms_64(view)
    V_seen, _ = _seen(view)
    factor = (V_seen @ V_seen) / (view.m * view.lam**2) * view.pi
    left_over = factor * view.s_e - (view.a_rate - others)
    best = (factor @ left_over) / (factor @ factor)
    return Equality(factor * (view.s_e - best) + others, view.a_rate)


@equation(
    64,
    "affine: the update of an attention score, five terms",
    "misprinted",
    printed=_printed_64,
    correction="(sₑ − s) must read (sₑ − s⁽ᵗ⁾), different for each text",
)
def _(case: Case):
    view = case.view("DP-A")
    return Equality(sum(_terms_64(view)), view.a_rate)


@equation(65, "additive attention score", "definition")
def _(case: Case):
    view = case.view("AD")
    x = torch.stack([view.M @ e for e in view.E])
    return Equality(view.model.token_scores().attention, torch.tanh(x) @ view.V / view.lam)


class _Instance:
    """One instance with additive attention; its representations need not be rows of a table."""

    def __init__(self, case: Case, y: int):
        self.e, self.V, self.W = case.tokens()
        draws = generator(case.seed, "initial values")
        self.M = torch.randn(case.dimension, case.dimension, generator=draws, dtype=torch.float64)
        self.M = (self.M / case.dimension**0.5).requires_grad_()
        self.lam, x = case.lam, self.e @ self.M.T
        self.tanh, self.slope = torch.tanh(x), 1 - torch.tanh(x) ** 2
        self.alpha = (self.tanh @ self.V / self.lam).softmax(0)
        self.h = self.alpha @ self.e
        self.s_j, self.s = self.e @ self.W, self.h @ self.W
        self.r = y * torch.sigmoid(-y * self.s)
        loss = -torch.nn.functional.logsigmoid(y * self.s)
        self.by_e, self.by_V, self.by_M = torch.autograd.grad(loss, [self.e, self.V, self.M])


def _both_labels(case: Case, left, right) -> Equality:
    instances = [_Instance(case, y) for y in (-1, 1)]
    return Equality([left(i) for i in instances], [right(i) for i in instances])


@equation(66, "additive: gradient of a token's embedding", "exact")
def _(case: Case):
    def left(i: _Instance) -> Tensor:
        identity = torch.eye(len(i.V), dtype=torch.float64)
        return torch.stack(
            [
                -i.r * w * (torch.outer(i.M.T @ (D * i.V), e - i.h) / i.lam + identity) @ i.W
                for w, D, e in zip(i.alpha, i.slope, i.e)
            ]
        )

    return _both_labels(case, left, lambda i: i.by_e)


@equation(67, "additive: gradient of V", "exact")
def _(case: Case):
    def left(i: _Instance) -> Tensor:
        return -i.r / i.lam * ((i.alpha * i.s_j) @ (i.tanh - i.alpha @ i.tanh))

    return _both_labels(case, left, lambda i: i.by_V)


@equation(68, "additive: gradient of M", "exact")
def _(case: Case):
    def left(i: _Instance) -> Tensor:
        products = torch.einsum("ja,jb->jab", i.e, i.slope * i.V)
        centred = products - torch.einsum("j,jab->ab", i.alpha, products)
        return -i.r / i.lam * torch.einsum("j,jab->ba", i.alpha * i.s_j, centred)

    return _both_labels(case, left, lambda i: i.by_M)


@equation(69, "additive: product rule for the polarity score", "exact")
def _(case: Case):
    return product_rule(case, "polarity", "W", "AD")


@equation(70, "additive: product rule for the attention score", "exact")
def _(case: Case):
    return product_rule(case, "attention", "V", "AD", lambda model: torch.tanh(model.embedding @ model.M.T))


def linearised_71(view: View) -> list[Tensor]:
    """The four terms of Eq 71."""
    products, x = view.E @ view.e_j.T, view.E @ view.M.T
    V_seen = view.M.T @ view.V
    first = view.rho * (V_seen @ V_seen) / view.lam**2
    second = view.pi * (view.W @ V_seen) / view.lam
    third = products @ view.push * (view.V @ view.V) / view.lam**2
    fourth = x @ x[view.tokens].T @ view.push / view.lam**2
    return [term / view.m for term in (first, second, third, fourth)]


def causes_71(view: View) -> list[Tensor]:
    """What these terms linearise: da_e/dτ by what moves (e, e, M, V) and by which score the loss wants it moved."""
    P = {name: p.clone().requires_grad_() for name, p in view.P.items()}
    a, s, _ = view.scores(P)
    zero = {name: torch.zeros_like(p) for name, p in view.P.items()}

    def moved(name: str, pull: Tensor) -> Tensor:
        velocity = torch.autograd.grad(pull / view.m, P[name], retain_graph=True)[0]
        return torch.func.jvp(lambda z: view.scores(z)[0], (view.P,), (zero | {name: velocity},))[1]

    by_attention, by_polarity = view.rho @ a, view.pi @ s
    return [moved(*cause) for cause in (
        ("embedding", by_attention), ("embedding", by_polarity), ("M", by_attention), ("V", by_attention)
    )]  # fmt: skip


def scaled_view(case: Case, scale: float) -> View:
    """The additive model with M, and so every x_e, made smaller."""
    model = case.model("AD")
    with torch.no_grad():
        model.M *= scale
    return View(model, case.corpus())


@equation(
    71,
    "additive: the update of an attention score for small x",
    "approximate",
    correction="the error of each of its terms falls with the square of x; exact terms have Dₑ = diag(1 − tanh² xₑ)",
)
def _(case: Case):
    # Term by term: they grow with different powers of x, so the error of their sum, relative to the sum, has no
    # order before x is so small that the one without x leads, and how small that is depends on the corpus. x itself
    # must be small, because π and ρ move with it too, in first order.
    view = case.view("AD")
    largest = float((view.E @ view.M.T).abs().max())
    scales, errors = [8e-4, 4e-4, 2e-4, 1e-4], []
    for scale in scales:
        view = scaled_view(case, scale / largest)
        pairs = list(zip(linearised_71(view), causes_71(view)))
        errors.append([relative_error(exact, term) for term, exact in pairs])
    # Where every text repeats a single word ρ is zero, and only the second term is there.
    there = slice(None) if view.rho.abs().max() > 1e-12 else slice(1, 2)
    return Order(scales, torch.tensor(errors, dtype=torch.float64)[:, there], expected=2)
