"""Equations 72 to 83: several classes (Appendix F)."""

from __future__ import annotations

import torch
from torch import Tensor

from uaftc_book.equations import Equality, equation
from uaftc_book.random_models import Case, View


@equation(72, "polarity scores of an instance, one for each class", "definition")
def _(case: Case):
    view = case.multiclass()
    return Equality(view.model(view.corpus).polarity, torch.stack([view.W.T @ h for h in view.h]))


@equation(73, "class probabilities", "definition")
def _(case: Case):
    view = case.multiclass()
    exponentials = view.s.exp()
    probabilities = torch.log_softmax(view.model(view.corpus).polarity, 1).exp()
    return Equality(probabilities, exponentials / exponentials.sum(1, keepdim=True))


@equation(74, "cross-entropy loss", "definition")
def _(case: Case):
    view = case.multiclass()
    p = view.s.softmax(1)
    losses = [-p[t, k].log() for t, k in enumerate(view.corpus.labels.tolist())]
    return Equality(torch.stack(losses).mean(), view.model.loss(view.corpus))


class _Instance:
    """One instance with K classes, as functions of h and W; every label in turn."""

    def __init__(self, case: Case, label: int):
        h, W = case.multiclass().h[0], case.multiclass().W
        self.h, self.W = h.clone().requires_grad_(), W.clone().requires_grad_()
        s = self.h @ self.W
        self.p_hat = s.softmax(0) - torch.eye(case.classes, dtype=torch.float64)[label]
        loss = -torch.log_softmax(s, 0)[label]
        self.by_h, self.by_W, self.by_s = torch.autograd.grad(loss, [self.h, self.W, s])


def _all_labels(case: Case, left, right) -> Equality:
    instances = [_Instance(case, label) for label in range(case.classes)]
    return Equality([left(i) for i in instances], [right(i) for i in instances])


@equation(75, "gradient of the pooled vector", "exact")
def _(case: Case):
    return _all_labels(case, lambda i: i.W @ i.p_hat, lambda i: i.by_h)


@equation(76, "gradient of the polarity scores", "exact")
def _(case: Case):
    return _all_labels(case, lambda i: i.p_hat, lambda i: i.by_s)


@equation(77, "gradient of W, one instance", "exact")
def _(case: Case):
    return _all_labels(case, lambda i: torch.outer(i.h, i.p_hat), lambda i: i.by_W)


@equation(78, "gradient of an embedding", "exact")
def _(case: Case):
    view = case.multiclass()
    identity = torch.eye(case.dimension, dtype=torch.float64)
    rows = [
        alpha * (torch.outer(view.V, e - view.h[t]) / view.lam + identity) @ view.W @ view.p_hat[t]
        for alpha, e, t in zip(view.alpha, view.e_j, view.t.tolist())
    ]
    return Equality(view.per_type(torch.stack(rows)) / view.m, view.grad["embedding"])


@equation(79, "gradient of W, all instances", "exact")
def _(case: Case):
    view = case.multiclass()
    outer = [torch.outer(h, p) for h, p in zip(view.h, view.p_hat)]
    return Equality(torch.stack(outer).mean(0), view.grad["W"])


@equation(80, "gradient of V", "exact")
def _(case: Case):
    view = case.multiclass()
    p_hat = view.p_hat[view.t]
    by_vectors = ((view.e_j - view.h[view.t]) @ view.W * p_hat).sum(1)
    by_scores = ((view.s_j - view.s[view.t]) * p_hat).sum(1)
    forms = [(view.alpha * lead) @ view.e_j / (view.m * view.lam) for lead in (by_vectors, by_scores)]
    return Equality(forms, [view.grad["V"]] * 2)


@equation(81, "polarity scores of a token, one for each class", "definition")
def _(case: Case):
    view = case.multiclass()
    return Equality(view.model.token_scores().polarity, torch.stack([view.W.T @ e for e in view.E]))


def _polarity_terms(view: View, weight: Tensor) -> Tensor:
    """The right side of Eq 82, with the given weight of each occurrence in terms 1 and 2."""
    p_hat = view.p_hat[view.t]
    lead = ((view.s_j - view.s[view.t]) * p_hat).sum(1)
    first = torch.outer(view.per_type(weight * lead), view.W.T @ view.V) / view.lam
    second = view.per_type(weight[:, None] * p_hat) @ (view.W.T @ view.W)
    third = view.E @ view.h.T @ view.p_hat
    return -(first + second + third) / view.m


def _printed_82(case: Case) -> Equality:
    view = case.multiclass()
    return Equality(_polarity_terms(view, torch.ones_like(view.alpha)), view.s_rate)


@equation(
    82,
    "the update of the polarity scores",
    "misprinted",
    printed=_printed_82,
    correction="αⱼ⁽ᵗ⁾ is missing in terms 1 and 2; in the text after it, row vectors of W are its columns",
)
def _(case: Case):
    view = case.multiclass()
    return Equality(_polarity_terms(view, view.alpha), view.s_rate)


def _attention_terms(view: View, factor: float) -> Tensor:
    """The right side of Eq 83, with the given factor of its first sum."""
    p_hat = view.p_hat[view.t]
    lead = view.alpha * ((view.s_j - view.s[view.t]) * p_hat).sum(1)
    first = factor * (view.E @ view.e_j.T) @ lead
    second = -view.per_type(lead) * (view.V @ view.V) / (view.m * view.lam**2)
    third = -view.per_type(view.alpha[:, None] * p_hat) @ (view.W.T @ view.V) / (view.m * view.lam)
    return first + second + third


def _printed_83(case: Case) -> Equality:
    view = case.multiclass()
    return Equality(_attention_terms(view, 1 / (view.m * view.lam)), view.a_rate)


@equation(
    83,
    "the update of an attention score",
    "misprinted",
    printed=_printed_83,
    correction="the first factor is −1/(mλ²), not 1/(mλ)",
)
def _(case: Case):
    view = case.multiclass()
    return Equality(_attention_terms(view, -1 / (view.m * view.lam**2)), view.a_rate)
