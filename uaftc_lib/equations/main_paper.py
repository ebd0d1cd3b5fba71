"""Equations 1 to 28: Sections 3 to 5."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

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


def along_path(case: Case, difference, name: str = "DP") -> Order:
    """``difference`` of central differences on an integrated path: an error of second order in their width.

    It gets the path's middle and a function from a quantity of the model to its central difference.
    """
    view, middle, widths = case.view(name), 0.5, [0.02, 0.04, 0.08]
    times = sorted({0.0, middle, *(middle - w for w in widths), *(middle + w for w in widths)})
    path = dict(zip(times, flow.integrate(view.model, view.corpus, times, rtol=1e-13, atol=1e-14)))

    def error(width: float) -> Tensor:
        before, after = path[middle - width], path[middle + width]
        return difference(path[middle], lambda of: (of(after) - of(before)).detach() / (2 * width)).abs().max()

    return Order(widths, [error(width) for width in widths], expected=2)


def product_rule(case: Case, which: str, vector: str, name: str = "DP", word=lambda model: model.embedding) -> Order:
    """Velocities of a score and of its factors, ``word`` and V or W, all measured on a path: no gradient is used."""

    def difference(model, velocity):
        by_word = velocity(word) @ getattr(model, vector).detach()
        by_vector = word(model).detach() @ velocity(lambda m: getattr(m, vector))
        moved = velocity(lambda m: getattr(m.token_scores(), which))
        return moved - (by_word + by_vector) / (model.lam if vector == "V" else 1)

    return along_path(case, difference, name)


@gradients_page(9, "product rule for the polarity score", "exact")
def _(case: Case):
    return product_rule(case, "polarity", "W")


def _slope_of_path(case: Case, name: str) -> Order:
    corpus = case.corpus()

    def difference(model, velocity):
        gradient = torch.autograd.grad(model.loss(corpus), getattr(model, name))[0]
        return velocity(lambda m: getattr(m, name)) + gradient

    return along_path(case, difference)


@gradients_page(10, "the flow of W", "definition")
def _(case: Case):
    return _slope_of_path(case, "W")


@gradients_page(11, "the flow of an embedding", "definition")
def _(case: Case):
    return _slope_of_path(case, "embedding")


def _stepped(case: Case, which: str, vector: str, rate: float) -> Tensor:
    """What one step of gradient descent does to a score, over its rate, less what both factors do together."""
    model = case.model()
    before = getattr(model.token_scores(), which)
    model.loss(case.corpus()).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= rate * parameter.grad
    together = rate * model.embedding.grad @ getattr(model, vector).grad
    return (getattr(model.token_scores(), which) - before) / rate - together / (model.lam if vector == "V" else 1)


@gradients_page(12, "two causes of a polarity score's change", "exact")
def _(case: Case):
    # Sums over occurrences (Eq 13, 14) against a finite step.
    view = case.view()
    by_W = -(view.r[:, None] * view.h).mean(0)
    causes = -embedding_gradient(view) @ view.W - view.E @ by_W
    return Equality(causes, _stepped(case, "polarity", "W", rate=1.0))


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
    return product_rule(case, "attention", "V")


@attention_page(22, "two causes of an attention score's change", "exact")
def _(case: Case):
    # As Eq 12, with Eq 23; a longer step, lest a small change of a drown in rounding.
    view = case.view()
    by_V = -(view.push[:, None] * view.e_j).sum(0) / (view.m * view.lam)
    causes = -(embedding_gradient(view) @ view.V + view.E @ by_V) / view.lam
    return Equality(causes, _stepped(case, "attention", "V", rate=case.lam))


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
    correction="the intervals are half-open: (0.5, 1] and [−1, −0.5); the frequencies are token counts, not documents",
)
def _(case: Case):
    data = _small_data_one(case)
    found = token_types(data.train, data.vocabulary)
    return Equality([len(found["positive"]), len(found["negative"])], [50, 50])
