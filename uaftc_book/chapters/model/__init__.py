"""Chapter 01_model: Equations 1 to 7, and the claim of Section 3."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from uaftc_book.cases import Part, Tables, exact
from uaftc_book.claims import reading
from uaftc_book.equations import Equality, equation
from uaftc_book.random_models import Case
from uaftc_book.small_data import small_data
from uaftc_lib.models import AttentionClassifier


@equation(1, "attention score of a token", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model(view.corpus).scores, view.h_j @ view.V / view.lam)


@equation(2, "attention weight", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model(view.corpus).weights, view.alpha)


@equation(3, "representation of an instance", "definition")
def _(case: Case):
    # The model never forms h; it is what s varies with when W does.
    view = case.view()
    by_W = torch.func.jacrev(
        lambda W: torch.func.functional_call(view.model, view.P | {"W": W}, (view.corpus,)).polarity
    )(view.W)
    return Equality(by_W, view.h)


@equation(4, "polarity score of an instance", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model(view.corpus).polarity, view.h @ view.W)


@equation(5, "logistic loss", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model.loss(view.corpus), -torch.sigmoid(view.y * view.s).log().mean())


@equation(6, "an instance's polarity is the weighted sum of its tokens'", "exact")
def _(case: Case):
    view = case.view()
    out = view.model(view.corpus)
    weighted = out.weights * out.token_polarity
    return Equality(torch.stack([weighted[part].sum() for part in view.parts]), view.h @ view.W)


@equation(7, "polarity score of a token", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model(view.corpus).token_polarity, view.h_j @ view.W)


@reading
def weighted_sum(tables: Tables) -> Iterator[Part]:
    corpus, errors = small_data(class_sizes=(20, 20)).train, []
    for seed in range(10):
        model = AttentionClassifier(200, dimension=8, weight_range=1.0, seed=seed, dtype=torch.float64)
        with torch.no_grad():
            out = model(corpus)
            pooled = torch.zeros(len(corpus), 8, dtype=torch.float64)
            pooled.index_add_(0, corpus.instance_of, out.weights[:, None] * model.embedding[corpus.tokens])
            summed = torch.zeros(len(corpus), dtype=torch.float64)
            summed.index_add_(0, corpus.instance_of, out.weights * out.token_polarity)
            errors.append(float((summed - pooled @ model.W).abs().max() / summed.abs().max()))
    yield exact("random models", errors)
