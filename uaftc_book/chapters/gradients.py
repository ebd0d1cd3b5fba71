"""Chapter A_gradients: Equations 8 to 27, and 29 to 42 of Appendices A and B."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from uaftc_book.equations import Equality, Order, equation, relative_error
from uaftc_book.paths import along_path, embedding_gradient, product_rule, stepped
from uaftc_book.random_models import Case
from uaftc_lib.dynamics import flow


@equation(8, "gradient flow, the limit of gradient descent", "definition")
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
        errors.append(relative_error(reached, torch.from_numpy(end)))
    return Order(rates, errors, expected=1, ceiling=1e-3)


@equation(9, "product rule for the polarity score", "exact", standing="derived")
def _(case: Case):
    return product_rule(case, "polarity", "W")


def _slope_of_path(case: Case, name: str) -> Order:
    corpus = case.corpus()

    def difference(model, velocity):
        gradient = torch.autograd.grad(model.loss(corpus), getattr(model, name))[0]
        return -gradient, velocity(lambda m: getattr(m, name))

    return along_path(case, difference)


@equation(10, "the flow of W", "definition")
def _(case: Case):
    return _slope_of_path(case, "W")


@equation(11, "the flow of an embedding", "definition")
def _(case: Case):
    return _slope_of_path(case, "embedding")


@equation(12, "two causes of a polarity score's change", "exact")
def _(case: Case):
    # Sums over occurrences (Eq 13, 14) against a finite step.
    view = case.view()
    by_W = -(view.r[:, None] * view.h).mean(0)
    causes = -embedding_gradient(view) @ view.W - view.E @ by_W
    return Equality(causes, stepped(case, "polarity", "W", rate=1.0))


@equation(13, "gradient of an embedding", "exact")
def _(case: Case):
    view = case.view()
    return Equality(embedding_gradient(view), view.grad["embedding"])


@equation(14, "gradient of W", "exact")
def _(case: Case):
    view = case.view()
    return Equality(-(view.r[:, None] * view.h).mean(0), view.grad["W"])


layout = partial(
    equation,
    status="conditional",
    correction="if and only if ∂h/∂x stands for the transpose of the Jacobian matrix (denominator layout)",
)


def _dot(h_j: Tensor, V: Tensor, lam: float) -> Tensor:
    return h_j @ V / lam


def _curved(h_j: Tensor, V: Tensor, lam: float) -> Tensor:
    """Some attention score that is not linear: Eq 30 to 33 are stated for any."""
    return torch.tanh(h_j) @ V / lam


def _pool(h_j: Tensor, V: Tensor, lam: float, score=_dot) -> Tensor:
    return score(h_j, V, lam).softmax(0) @ h_j


def _loss(h_j: Tensor, V: Tensor, W: Tensor, y: int, lam: float) -> Tensor:
    return -torch.nn.functional.logsigmoid(y * _pool(h_j, V, lam) @ W)


def _residual(h_j: Tensor, V: Tensor, W: Tensor, y: int, lam: float) -> Tensor:
    return y * torch.sigmoid(-y * _pool(h_j, V, lam) @ W)


@equation(15, "first cause: the embedding moves (A and B)", "exact")
def _(case: Case):
    view = case.view()
    A = view.per_type(view.push) / view.lam * (view.V @ view.W) / view.m
    B = (view.W @ view.W) * view.per_type(view.pull) / view.m
    return Equality(A + B, -view.grad["embedding"] @ view.W)


@equation(16, "π, the signed attention of a token", "definition")
def _(case: Case):
    # π(e) is what the loss feels of s_e alone.
    view = case.view()
    s_e = view.s_e.clone().requires_grad_()
    parts = [view.alpha[part] @ s_e[view.tokens[part]] for part in view.parts]
    loss = torch.nn.functional.softplus(-view.y * torch.stack(parts)).mean()
    return Equality(view.pi, -view.m * torch.autograd.grad(loss, s_e)[0])


@equation(17, "second cause: W moves (C)", "exact")
def _(case: Case):
    view = case.view()
    by_instance = view.E @ (view.r[:, None] * view.h).sum(0) / view.m
    by_position = view.E @ (view.pull[:, None] * view.e_j).sum(0) / view.m
    moved = -view.E @ view.grad["W"]
    return Equality([by_instance, by_position], [moved, moved])


@equation(18, "C, split by the class of the instances", "exact")
def _(case: Case):
    view = case.view()
    products = (view.alpha * view.beta[view.t])[:, None] * (view.e_j @ view.E.T)
    positive = products[view.y[view.t] > 0].sum(0)
    negative = (-products[view.y[view.t] < 0]).sum(0)
    return Equality((positive + negative) / view.m, -view.E @ view.grad["W"])


@equation(19, "the update of a polarity score: A + B + C", "exact")
def _(case: Case):
    view = case.view()
    A = (view.V @ view.W / view.lam) * view.rho / view.m
    B = (view.W @ view.W) * view.pi / view.m
    C = view.E @ (view.pull[:, None] * view.e_j).sum(0) / view.m
    return Equality(A + B + C, view.s_rate)


@equation(20, "ρ, the signed attention times the margin of a token", "definition")
def _(case: Case):
    # ρ(e) is what the loss feels of a_e alone.
    view = case.view()
    a_e = view.a_e.clone().requires_grad_()
    parts = [a_e[view.tokens[part]].softmax(0) @ view.s_j[part] for part in view.parts]
    loss = torch.nn.functional.softplus(-view.y * torch.stack(parts)).mean()
    return Equality(view.rho, -view.m * torch.autograd.grad(loss, a_e)[0])


@equation(21, "product rule for the attention score", "exact", standing="derived")
def _(case: Case):
    return product_rule(case, "attention", "V")


@equation(22, "two causes of an attention score's change", "exact")
def _(case: Case):
    # As Eq 12, with Eq 23; a longer step, lest a small change of a drown in rounding.
    view = case.view()
    by_V = -(view.push[:, None] * view.e_j).sum(0) / (view.m * view.lam)
    causes = -(embedding_gradient(view) @ view.V + view.E @ by_V) / view.lam
    return Equality(causes, stepped(case, "attention", "V", rate=case.lam))


@equation(23, "gradient of V", "exact")
def _(case: Case):
    view = case.view()
    return Equality(-(view.push[:, None] * view.e_j).sum(0) / (view.m * view.lam), view.grad["V"])


@equation(24, "first cause: the embedding moves (E and D)", "exact")
def _(case: Case):
    view = case.view()
    E = (view.V @ view.V) * view.per_type(view.push) / (view.m * view.lam**2)
    D = view.per_type(view.pull * (view.W @ view.V)) / (view.m * view.lam)
    return Equality(E + D, -view.grad["embedding"] @ view.V / view.lam)


@equation(25, "second cause: V moves (F)", "exact")
def _(case: Case):
    view = case.view()
    F = view.E @ (view.push[:, None] * view.e_j).sum(0) / (view.m * view.lam**2)
    return Equality(F, -view.E @ view.grad["V"] / view.lam)


@equation(26, "F, split by the class of the instances", "exact")
def _(case: Case):
    view = case.view()
    lead = (view.alpha * view.beta[view.t] * (view.s_j - view.s[view.t]))[:, None] * (view.e_j @ view.E.T)
    split = lead[view.y[view.t] > 0].sum(0) + (-lead[view.y[view.t] < 0]).sum(0)
    return Equality(split / (view.m * view.lam**2), -view.E @ view.grad["V"] / view.lam)


@equation(27, "the update of an attention score: D + E + F", "exact")
def _(case: Case):
    view = case.view()
    D = (view.V @ view.W) * view.lam * view.pi
    E = (view.V @ view.V) * view.rho
    F = view.E @ (view.push[:, None] * view.e_j).sum(0)
    return Equality((D + E + F) / (view.m * view.lam**2), view.a_rate)


@equation(29, "gradients of s, W and h", "exact")
def _(case: Case):
    h_j, V, W = case.tokens()
    left, right = [], []
    for y in (-1, 1):
        h = _pool(h_j, V, case.lam).detach().requires_grad_()
        s = h @ W
        found = torch.autograd.grad(-torch.nn.functional.logsigmoid(y * s), [s, W, h])
        left += [-y * torch.sigmoid(-y * s), -y * torch.sigmoid(-y * s) * h, -y * torch.sigmoid(-y * s) * W]
        right += found
    return Equality(left, right)


def _jacobian(case: Case, score) -> tuple[Tensor, Tensor, Tensor]:
    """∂h_a/∂h_ib as "positions a b", ∂α_j/∂h_i as "i j d", and ∂a_i/∂h_i as "i d", all by autograd."""
    h_j, V, _ = case.tokens()
    whole = torch.func.jacrev(lambda x: _pool(x, V, case.lam, score))(h_j).permute(1, 0, 2)
    weights = torch.func.jacrev(lambda x: score(x, V, case.lam).softmax(0))(h_j).permute(1, 0, 2)
    own = torch.func.jacrev(lambda x: score(x, V, case.lam))(h_j).diagonal().T
    return whole, weights, own


def _by_products(case: Case) -> Tensor:
    """The right side of Eq 30 for each i."""
    h_j, V, _ = case.tokens()
    _, weights, _ = _jacobian(case, _curved)
    alpha = _curved(h_j, V, case.lam).softmax(0)
    identity = torch.eye(case.dimension, dtype=torch.float64)
    return torch.einsum("ija,jb->iab", weights, h_j) + alpha[:, None, None] * identity


def _by_bracket(case: Case, score, own: Tensor) -> Tensor:
    """α_i [∂a_i/∂h_i (h_i − h)ᵀ + I] for each i."""
    h_j, V, _ = case.tokens()
    alpha, h = score(h_j, V, case.lam).softmax(0), _pool(h_j, V, case.lam, score)
    identity = torch.eye(case.dimension, dtype=torch.float64)
    return alpha[:, None, None] * (own[:, :, None] * (h_j - h)[:, None, :] + identity)


@layout(
    30,
    "how the pooled vector moves with a token's",
    printed=lambda case: Equality(_by_products(case), _jacobian(case, _curved)[0]),
)
def _(case: Case):
    return Equality(_by_products(case), _jacobian(case, _curved)[0].mT)


@equation(31, "how the weights move with a token's vector", "exact")
def _(case: Case):
    h_j, V, _ = case.tokens()
    _, weights, own = _jacobian(case, _curved)
    alpha = _curved(h_j, V, case.lam).softmax(0)
    delta = torch.eye(len(alpha), dtype=torch.float64)
    return Equality((alpha * (delta - alpha[:, None]))[:, :, None] * own[:, None, :], weights)


@equation(32, "Kronecker's delta", "definition")
def _(case: Case):
    # δ is what makes Eq 31 hold: ∂α_j/∂a_i = α_j (δ_ji − α_i) for every pair, solved for δ.
    h_j, V, _ = case.tokens()
    a = _curved(h_j, V, case.lam)
    alpha = a.softmax(0)
    by_score = torch.func.jacrev(lambda x: x.softmax(0))(a)
    return Equality(by_score / alpha[:, None] + alpha, torch.eye(len(a), dtype=torch.float64))


@layout(
    33,
    "the same, summed",
    printed=lambda case: Equality(_by_bracket(case, _curved, _jacobian(case, _curved)[2]), _jacobian(case, _curved)[0]),
)
def _(case: Case):
    whole, _, own = _jacobian(case, _curved)
    return Equality(_by_bracket(case, _curved, own), whole.mT)


@equation(34, "dot-product score and its gradient", "exact")
def _(case: Case):
    h_j, V, _ = case.tokens()
    return Equality((V / case.lam).expand_as(h_j), _jacobian(case, _dot)[2])


def _dot_bracket(case: Case) -> Tensor:
    h_j, V, _ = case.tokens()
    return _by_bracket(case, _dot, (V / case.lam).expand_as(h_j))


@layout(
    35,
    "the same for dot-product attention",
    printed=lambda case: Equality(_dot_bracket(case), _jacobian(case, _dot)[0]),
)
def _(case: Case):
    return Equality(_dot_bracket(case), _jacobian(case, _dot)[0].mT)


@equation(36, "gradient of a token's vector, one instance", "exact")
def _(case: Case):
    h_j, V, W = case.tokens()
    left, right = [], []
    for y in (-1, 1):
        r = _residual(h_j, V, W, y, case.lam)
        left.append(-r * (_dot_bracket(case) @ W))
        right.append(torch.autograd.grad(_loss(h_j, V, W, y, case.lam), h_j)[0])
    return Equality(left, right)


@equation(37, "gradient of an embedding, all instances", "exact")
def _(case: Case):
    # Tokens that occur several times, in one instance or in many, add up.
    view = case.view()
    return Equality(embedding_gradient(view), view.grad["embedding"])


@equation(
    38,
    "chain rule for V",
    "exact",
    correction="right in either layout: this Jacobian, a covariance matrix over λ, is symmetric",
)
def _(case: Case):
    h_j, V, W = case.tokens()
    jacobian = torch.func.jacrev(lambda v: _pool(h_j, v, case.lam))(V)
    by_V = torch.func.jacrev(lambda v: _dot(h_j, v, case.lam).softmax(0))(V)
    left, right = [], []
    for y in (-1, 1):
        by_h = -_residual(h_j, V, W, y, case.lam) * W
        left += [jacobian @ by_h, jacobian.T @ by_h, by_V.T @ h_j @ by_h]
        right += [torch.autograd.grad(_loss(h_j, V, W, y, case.lam), V)[0]] * 3
    return Equality(left, right)


@equation(39, "how the weights move with V", "exact")
def _(case: Case):
    h_j, V, _ = case.tokens()
    alpha, h = _dot(h_j, V, case.lam).softmax(0), _pool(h_j, V, case.lam)
    by_V = torch.func.jacrev(lambda v: _dot(h_j, v, case.lam).softmax(0))(V)
    return Equality(alpha[:, None] / case.lam * (h_j - h), by_V)


@equation(40, "gradient of V, one instance, in three forms", "exact")
def _(case: Case):
    h_j, V, W = case.tokens()
    alpha, h = _dot(h_j, V, case.lam).softmax(0), _pool(h_j, V, case.lam)
    left, right = [], []
    for y in (-1, 1):
        factor = -_residual(h_j, V, W, y, case.lam) / case.lam
        left.append(factor * (alpha[:, None] * (h_j - h)).T @ h_j @ W)
        left.append(factor * ((alpha[:, None] * h_j).T @ h_j - torch.outer(h, h)) @ W)
        left.append(factor * (alpha[:, None] * h_j).T @ (h_j - h) @ W)
        right += [torch.autograd.grad(_loss(h_j, V, W, y, case.lam), V)[0]] * 3
    return Equality(left, right)


@equation(41, "gradient of V, all instances", "exact")
def _(case: Case):
    view = case.view()
    lead = (view.e_j - view.h[view.t]) @ view.W
    by_vectors = -(view.pull * lead) @ view.e_j / (view.m * view.lam)
    by_scores = -view.push @ view.e_j / (view.m * view.lam)
    return Equality([by_vectors, by_scores], [view.grad["V"]] * 2)


@equation(42, "gradient of an embedding: a part along V and a part along W", "exact")
def _(case: Case):
    view = case.view()
    along_V = torch.outer(view.per_type(view.push) / view.lam, view.V)
    along_W = torch.outer(view.per_type(view.pull), view.W)
    return Equality(-(along_V + along_W) / view.m, view.grad["embedding"])
