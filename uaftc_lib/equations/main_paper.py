"""Equations 1 to 28: Sections 3 to 5."""

from __future__ import annotations

from functools import partial

import torch

from uaftc_lib import flow
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets.synthetic import synthetic
from uaftc_lib.equations.case import Case
from uaftc_lib.equations.registry import Equality, Order, equation
from uaftc_lib.token_types import association, class_frequencies, token_types

model_page = partial(equation, page="01_model")
gradients_page = partial(equation, page="02_gradients")
polarity_page = partial(equation, page="03_polarity_dynamics")
attention_page = partial(equation, page="04_attention_dynamics")


@model_page(1, "attention score of a token", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model(view.corpus).scores, view.h_j @ view.V / view.lam)


@model_page(2, "attention weight", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model(view.corpus).weights, view.alpha)


@model_page(3, "representation of an instance", "definition")
def _(case: Case):
    # The model never forms h; it is what s varies with when W does.
    view = case.view()
    by_W = torch.func.jacrev(
        lambda W: torch.func.functional_call(view.model, view.P | {"W": W}, (view.corpus,)).polarity
    )(view.W)
    return Equality(by_W, view.h)


@model_page(4, "polarity score of an instance", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model(view.corpus).polarity, view.h @ view.W)


@model_page(5, "logistic loss", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model.loss(view.corpus), -torch.sigmoid(view.y * view.s).log().mean())


@model_page(6, "an instance's polarity is the weighted sum of its tokens'", "exact")
def _(case: Case):
    view = case.view()
    out = view.model(view.corpus)
    weighted = out.weights * out.token_polarity
    return Equality(torch.stack([weighted[part].sum() for part in view.parts]), view.h @ view.W)


@model_page(7, "polarity score of a token", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model(view.corpus).token_polarity, view.h_j @ view.W)


@gradients_page(8, "gradient flow, the limit of gradient descent", "definition")
def _(case: Case):
    # Gradient descent with η = 1/n reaches the flow at τ = 1 with an error that is proportional to η.
    view = case.view()
    end = flow.integrate(view.model, view.corpus, [0.0, 1.0]).states[-1]
    rates, errors = [1 / 16, 1 / 32, 1 / 64, 1 / 128], []
    for rate in rates:
        model = case.model()
        for _step in range(round(1 / rate)):
            found = torch.autograd.grad(model.loss(view.corpus), list(model.parameters()))
            with torch.no_grad():
                for parameter, gradient in zip(model.parameters(), found):
                    parameter -= rate * gradient
        reached = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
        errors.append((reached - torch.from_numpy(end)).abs().max())
    return Order(rates, errors, expected=1)


@gradients_page(9, "product rule for the polarity score", "exact")
def _(case: Case):
    view = case.view()
    return Equality(-view.grad["embedding"] @ view.W - view.E @ view.grad["W"], view.s_rate)


def _slope_of_path(case: Case, name: str) -> Order:
    # The central difference of the integrated path meets −∂ℓ with an error of second order in the width.
    view, middle, widths, errors = case.view(), 0.5, [0.02, 0.04, 0.08], []
    for width in widths:
        times = [0, middle - width, middle, middle + width]
        _, before, model, after = flow.integrate(view.model, view.corpus, times, rtol=1e-13, atol=1e-14)
        central = (getattr(after, name) - getattr(before, name)) / (2 * width)
        gradient = torch.autograd.grad(model.loss(view.corpus), getattr(model, name))[0]
        errors.append((central + gradient).abs().max())
    return Order(widths, errors, expected=2)


@gradients_page(10, "the flow of W", "definition")
def _(case: Case):
    return _slope_of_path(case, "W")


@gradients_page(11, "the flow of an embedding", "definition")
def _(case: Case):
    return _slope_of_path(case, "embedding")


@gradients_page(12, "two causes of a polarity score's change", "exact")
def _(case: Case):
    view = case.view()
    first, second = -view.grad["embedding"] @ view.W, -view.E @ view.grad["W"]
    return Equality(first + second, view.s_rate)


def embedding_gradient(view) -> torch.Tensor:
    """Eq 13, 37: −(1/m) Σ yβα [V(e − h)ᵀ/λ + I] W, an outer product and a matrix for each occurrence."""
    identity = torch.eye(len(view.V), dtype=torch.float64)
    rows = []
    for j in range(len(view.tokens)):
        bracket = torch.outer(view.V, view.e_j[j] - view.h[view.t[j]]) / view.lam + identity
        rows.append(-view.pull[j] * (bracket @ view.W))
    return view.per_type(torch.stack(rows)) / view.m


@gradients_page(13, "gradient of an embedding", "exact")
def _(case: Case):
    view = case.view()
    return Equality(embedding_gradient(view), view.grad["embedding"])


@gradients_page(14, "gradient of W", "exact")
def _(case: Case):
    view = case.view()
    return Equality(-(view.r[:, None] * view.h).mean(0), view.grad["W"])


@polarity_page(15, "first cause: the embedding moves (A and B)", "exact")
def _(case: Case):
    view = case.view()
    A = view.per_type(view.push) / view.lam * (view.V @ view.W) / view.m
    B = (view.W @ view.W) * view.per_type(view.pull) / view.m
    return Equality(A + B, -view.grad["embedding"] @ view.W)


@polarity_page(16, "π, the signed attention of a token", "definition")
def _(case: Case):
    # π(e) is what the loss feels of s_e alone.
    view = case.view()
    s_e = view.s_e.clone().requires_grad_()
    parts = [view.alpha[part] @ s_e[view.tokens[part]] for part in view.parts]
    loss = torch.nn.functional.softplus(-view.y * torch.stack(parts)).mean()
    return Equality(view.pi, -view.m * torch.autograd.grad(loss, s_e)[0])


@polarity_page(17, "second cause: W moves (C)", "exact")
def _(case: Case):
    view = case.view()
    by_instance = view.E @ (view.r[:, None] * view.h).sum(0) / view.m
    by_position = view.E @ (view.pull[:, None] * view.e_j).sum(0) / view.m
    moved = -view.E @ view.grad["W"]
    return Equality([by_instance, by_position], [moved, moved])


@polarity_page(18, "C, split by the class of the instances", "exact")
def _(case: Case):
    view = case.view()
    products = (view.alpha * view.beta[view.t])[:, None] * (view.e_j @ view.E.T)
    positive = products[view.y[view.t] > 0].sum(0)
    negative = (-products[view.y[view.t] < 0]).sum(0)
    return Equality((positive + negative) / view.m, -view.E @ view.grad["W"])


@polarity_page(19, "the update of a polarity score: A + B + C", "exact")
def _(case: Case):
    view = case.view()
    A = (view.V @ view.W / view.lam) * view.rho / view.m
    B = (view.W @ view.W) * view.pi / view.m
    C = view.E @ (view.pull[:, None] * view.e_j).sum(0) / view.m
    return Equality(A + B + C, view.s_rate)


@polarity_page(20, "ρ, the signed attention times the lead of a token", "definition")
def _(case: Case):
    # ρ(e) is what the loss feels of a_e alone.
    view = case.view()
    a_e = view.a_e.clone().requires_grad_()
    parts = [a_e[view.tokens[part]].softmax(0) @ view.s_j[part] for part in view.parts]
    loss = torch.nn.functional.softplus(-view.y * torch.stack(parts)).mean()
    return Equality(view.rho, -view.m * torch.autograd.grad(loss, a_e)[0])


@attention_page(21, "product rule for the attention score", "exact")
def _(case: Case):
    view = case.view()
    return Equality(-(view.grad["embedding"] @ view.V + view.E @ view.grad["V"]) / view.lam, view.a_rate)


@attention_page(22, "two causes of an attention score's change", "exact")
def _(case: Case):
    view = case.view()
    first = -view.grad["embedding"] @ view.V / view.lam
    second = -view.E @ view.grad["V"] / view.lam
    return Equality(first + second, view.a_rate)


@attention_page(23, "gradient of V", "exact")
def _(case: Case):
    view = case.view()
    return Equality(-(view.push[:, None] * view.e_j).sum(0) / (view.m * view.lam), view.grad["V"])


@attention_page(24, "first cause: the embedding moves (E and D)", "exact")
def _(case: Case):
    view = case.view()
    E = (view.V @ view.V) * view.per_type(view.push) / (view.m * view.lam**2)
    D = view.per_type(view.pull * (view.W @ view.V)) / (view.m * view.lam)
    return Equality(E + D, -view.grad["embedding"] @ view.V / view.lam)


@attention_page(25, "second cause: V moves (F)", "exact")
def _(case: Case):
    view = case.view()
    F = view.E @ (view.push[:, None] * view.e_j).sum(0) / (view.m * view.lam**2)
    return Equality(F, -view.E @ view.grad["V"] / view.lam)


@attention_page(26, "F, split by the class of the instances", "exact")
def _(case: Case):
    view = case.view()
    lead = (view.alpha * view.beta[view.t] * (view.s_j - view.s[view.t]))[:, None] * (view.e_j @ view.E.T)
    split = lead[view.y[view.t] > 0].sum(0) + (-lead[view.y[view.t] < 0]).sum(0)
    return Equality(split / (view.m * view.lam**2), -view.E @ view.grad["V"] / view.lam)


@attention_page(27, "the update of an attention score: D + E + F", "exact")
def _(case: Case):
    view = case.view()
    D = (view.V @ view.W) * view.lam * view.pi
    E = (view.V @ view.V) * view.rho
    F = view.E @ (view.push[:, None] * view.e_j).sum(0)
    return Equality((D + E + F) / (view.m * view.lam**2), view.a_rate)


def _small_data_one(case: Case) -> Dataset:
    return synthetic("synthetic-1", seed=case.seed, class_sizes=(600, 600), neutral_types=100)


def _open_intervals(case: Case) -> Equality:
    # Every polarity token of Data I has γ = ±1 exactly: open intervals find none of the hundred.
    data = _small_data_one(case)
    gamma = association(data.train, data.vocabulary)
    counts = class_frequencies(data.train, data.vocabulary)
    positive = (gamma > 0.5) & (gamma < 1) & (counts[:, 1] > 5)
    negative = (gamma > -1) & (gamma < -0.5) & (counts[:, 0] > 5)
    return Equality([positive.sum(), negative.sum()], [50, 50])


@equation(
    28,
    "γ, the association of a token with a class",
    "misprinted",
    "09_datasets",
    printed=_open_intervals,
    correction="the intervals for γ are half-open: (0.5, 1] and [−1, −0.5)",
)
def _(case: Case):
    data = _small_data_one(case)
    found = token_types(data.train, data.vocabulary)
    return Equality([len(found["positive"]), len(found["negative"])], [50, 50])
