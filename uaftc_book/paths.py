"""What several chapters prove with: quantities along an integrated path, and what one step does to a score."""

from __future__ import annotations

import torch
from torch import Tensor

from uaftc_book.equations import Order, relative_error
from uaftc_book.random_models import Case
from uaftc_lib.dynamics import flow


def along_path(case: Case, difference, name: str = "DP") -> Order:
    """Two sides made of central differences on an integrated path: an error of second order in their width.

    ``difference`` gets the path's middle and a function from a quantity of the model to its central difference.
    """
    view, middle, widths = case.view(name), 0.5, [0.005, 0.01, 0.02]
    times = sorted({0.0, middle, *(middle - w for w in widths), *(middle + w for w in widths)})
    path = dict(zip(times, flow.integrate(view.model, view.corpus, times, rtol=1e-13, atol=1e-14)))

    def error(width: float) -> float:
        before, after = path[middle - width], path[middle + width]
        return relative_error(*difference(path[middle], lambda of: (of(after) - of(before)).detach() / (2 * width)))

    return Order(widths, [error(width) for width in widths], expected=2)


def product_rule(case: Case, which: str, vector: str, name: str = "DP", word=lambda model: model.embedding) -> Order:
    """Velocities of a score and of its factors, ``word`` and V or W, all measured on a path: no gradient is used."""

    def difference(model, velocity):
        by_word = velocity(word) @ getattr(model, vector).detach()
        by_vector = word(model).detach() @ velocity(lambda m: getattr(m, vector))
        moved = velocity(lambda m: getattr(m.token_scores(), which))
        return (by_word + by_vector) / (model.lam if vector == "V" else 1), moved

    return along_path(case, difference, name)


def stepped(case: Case, which: str, vector: str, rate: float) -> Tensor:
    """What one step of gradient descent does to a score, over its rate, less what both factors do together."""
    model = case.model()
    before = getattr(model.token_scores(), which)
    model.loss(case.corpus()).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= rate * parameter.grad
    together = rate * model.embedding.grad @ getattr(model, vector).grad
    return (getattr(model.token_scores(), which) - before) / rate - together / (model.lam if vector == "V" else 1)


def embedding_gradient(view) -> torch.Tensor:
    """Eq 13, 37: −(1/m) Σ yβα [V(e − h)ᵀ/λ + I] W, an outer product and a matrix for each occurrence."""
    identity = torch.eye(len(view.V), dtype=torch.float64)
    rows = []
    for j in range(len(view.tokens)):
        bracket = torch.outer(view.V, view.e_j[j] - view.h[view.t[j]]) / view.lam + identity
        rows.append(-view.pull[j] * (bracket @ view.W))
    return view.per_type(torch.stack(rows)) / view.m
