"""Chapter 03_attention_order: the flow of inner products, leaving the saddle, and the gap foretold from there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from scipy import stats
from torch import Tensor

from uaftc_book.cases import Part, Tables, exceeds
from uaftc_book.claims import reading
from uaftc_book.inner_products import gram, growing_vector
from uaftc_book.readings import HUNDRED, TEN, along_VW, cells, difference, rows_of, several
from uaftc_book.small_data import (
    MANY_SEEDS,
    RANGES,
    SST_STEPS,
    WHOLE_EPOCHS,
    WHOLE_STEPS,
    ends,
    initial_model,
    mean_field_end,
    range_data,
    small_config,
)
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.datasets import load_dataset
from uaftc_lib.datasets.synthetic import distinct_integers
from uaftc_lib.dynamics.flow import solve
from uaftc_lib.dynamics.laws import family, invariants
from uaftc_lib.dynamics.ledger import Ledger, fit_with_ledger
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types, dot_product, examined_types
from uaftc_lib.streams import stream_seed
from uaftc_lib.training import fit


def gram_flow(model: AttentionClassifier, corpus: Corpus, times) -> Float[np.ndarray, "times rows rows"]:
    """The Gram matrix along gradient flow, without the vectors: Ġ = SG + GS, S = [[0, R], [Rᵀ, 0]].

    R = −∂ℓ/∂Z needs only the scores Z = [a, s], which are columns of G: the dimension d has dropped out.

    Raises
    ------
    ValueError, RuntimeError
        As :func:`~uaftc_book.inner_products.gram` and :func:`uaftc_lib.dynamics.flow.integrate`.
    """
    initial = gram(model).double()
    rows, types = len(initial), len(model.embedding)

    def derivative(_, values):
        G = torch.from_numpy(values).reshape(rows, rows)
        s = G[:types, types + 1 :]
        sums = dynamics.sums_of_scores(G[:types, types] / model.lam, s.squeeze(1) if model.binary else s, corpus)
        S = torch.zeros_like(G)
        S[:types, types] = sums.rho / (len(corpus) * model.lam)
        S[:types, types + 1 :] = sums.pi.reshape(types, -1) / len(corpus)
        SG = (S + S.T) @ G
        return (SG + SG.T).reshape(-1).numpy()

    states = solve(derivative, initial.reshape(-1).numpy(), times, "DOP853", 1e-10, 1e-12)
    return states.reshape(len(states), rows, rows)


def discrete_drift(model: AttentionClassifier, corpus: Corpus, learning_rate: float) -> dict[str, Float[Tensor, "d d"]]:
    """The exact change of each conserved matrix in one SGD step: η² times the same form of the gradients.

    The part linear in η vanishes, because the forms are conserved by the flow. It needs one learning rate for
    all parameters. Σ_k W_k does not drift at all. Gradients are closed forms, of a recurrent encoder autograd's.
    """
    which = family(model)
    if which == "recurrent":
        names, parameters = zip(*model.named_parameters())
        slopes = dict(zip(names, torch.autograd.grad(model.loss(corpus), parameters)))
    else:
        slopes = dynamics.gradients(model, corpus)
    drift = invariants(which, slopes)
    return {name: learning_rate**2 * matrix for name, matrix in drift.items()}


def entry_means(ledger: Ledger, types: Types) -> dict[str, float]:
    """Means of D, E and F of a ledger over the types of each kind: "D positive", ..."""
    return {f"{name} {kind}": float(getattr(ledger, name)[ids].mean()) for name in "DEF" for kind, ids in types.items()}


@experiment(jobs_over(lam=(10.0, 100.0), seed=range(60)), rows=1)
def exact_gap(lam: float, seed: int) -> list[dict]:
    """The gap between positive and negative words after training on Data I, and its prediction before that."""
    dataset = load_dataset("synthetic-1")
    types = examined_types(dataset)
    model = initial_model(dataset, lam, seed=seed)
    cosine = float(torch.cosine_similarity(model.V.detach(), model.W.detach(), dim=0))
    gap, lead = mean_field_end(model, dataset, types, WHOLE_STEPS)
    predicted = {"V₀·W₀": dot_product(model), "cosine": cosine, "predicted gap": gap, "predicted lead": lead}
    _, ledgers = fit_with_ledger(model, dataset, small_config(epochs=WHOLE_EPOCHS, seed=seed))
    return [predicted | ends(model, types) | entry_means(ledgers[-1], types)]


@cache
def other_draw(draw: int) -> Dataset:
    """Data I, drawn with another seed."""
    return load_dataset("synthetic-1", seed=draw)


@experiment(
    [
        job
        for data, optimizers, dimensions, lams in (
            ("Data I", "sgd", (20, 50, 200), (1.0, 10.0, 100.0, 1000.0)),
            ("SST", ("sgd", "adagrad"), 100, (10.0, 100.0)),
        )
        for job in jobs_over(
            data=data, optimizer=optimizers, weight_range=RANGES, dimension=dimensions, lam=lams, seed=MANY_SEEDS
        )
    ],
    rows=1,
)
def exact_range(data: str, optimizer: str, weight_range: float, dimension: int, lam: float, seed: int) -> list[dict]:
    """W from ±1 and from ±0.1: which polar words end above, and what could be told of it before the first step."""
    dataset, longer = range_data(data), RANGES[weight_range]
    types = examined_types(dataset)
    model = initial_model(dataset, lam, dimension, weight_range=weight_range, seed=seed)
    V, W, growing = model.V.detach(), model.W.detach(), growing_vector(model, dataset.train)
    told = {"V₀·W₀": float(V @ W), "growing": float(V @ growing)}
    told |= {"‖V‖": float(V.norm()), "‖W‖": float(W.norm()), "‖growing‖": float(growing.norm())}
    told |= dict.fromkeys(("predicted gap", "predicted lead"), math.nan)
    if data == "SST":
        config = replace(SST_STEPS[optimizer], seed=seed)
    else:
        gap, lead = mean_field_end(model, dataset, types, WHOLE_STEPS * longer)
        told |= {"predicted gap": gap, "predicted lead": lead}
        config = small_config(epochs=WHOLE_EPOCHS * longer, seed=seed)
    run, ledgers = fit_with_ledger(model, dataset, config)
    of = entry_means(ledgers[-1], types)
    told |= {f"{term} gap": of[f"{term} positive"] - of[f"{term} negative"] for term in "DEF"}
    return [told | ends(model, types) | {"loss": run.history["loss"].iloc[-1]}]


@experiment(jobs_over(draw=range(1, 5), weight_range=RANGES, lam=(1.0, 10.0, 100.0, 1000.0), seed=MANY_SEEDS), rows=1)
def exact_draws(draw: int, weight_range: float, lam: float, seed: int) -> list[dict]:
    """Other draws of the texts of Data I, from the seeds of :func:`exact_range` at d = 50, where they are draw 0."""
    dataset = other_draw(draw)
    model = initial_model(dataset, lam, weight_range=weight_range, seed=seed)
    growing = float(model.V.detach() @ growing_vector(model, dataset.train))
    told = {"V₀·W₀": dot_product(model), "growing": growing}
    config = small_config(epochs=WHOLE_EPOCHS * RANGES[weight_range], seed=seed)
    fit(model, dataset, config, progress=False)
    return [told | ends(model, examined_types(dataset))]


def class_data(classes: int, seed: int = 0, texts: int = 12_000) -> Dataset:
    """Texts as in Data I, but of K classes of one size. Word ids: 1,000 neutral, then 50 polar ones of each class."""
    rng = np.random.default_rng(stream_seed(seed, "data"))
    labels, length = np.arange(texts) % classes, 12
    polar = 1000 + 50 * labels[:, None] + distinct_integers(rng, texts, 2, 50)
    tokens = torch.from_numpy(np.hstack([distinct_integers(rng, texts, 10, 1000), polar]).reshape(-1))
    corpus = Corpus(tokens, torch.arange(texts + 1) * length, torch.from_numpy(labels), classes)
    vocabulary = Vocabulary([f"word-{i}" for i in range(1000 + 50 * classes)])
    return Dataset(f"{classes} classes", vocabulary, corpus.classes, corpus, provenance={"seed": seed})


def first_push(corpus: Corpus, types: int) -> Float[Tensor, "types classes"]:
    """π₀, a column for each class: Σ_t (1 or 0, whether t is of the class, less 1/K) n_tw / length_t."""
    zero = torch.zeros(types, corpus.class_count, dtype=torch.float64)
    return dynamics.sums_of_scores(zero[:, 0], zero, corpus).pi


@torch.no_grad()
def growing_vectors(model: AttentionClassifier, corpus: Corpus) -> Float[Tensor, "d classes"]:
    """W_k − W̄ + Eᵀπ₀ₖ/σ₁(π₀), a column for each class of a softmax model: twice the initial part of W_k that grows."""
    pi = first_push(corpus, len(model.embedding)).to(model.W)
    return model.W - model.W.mean(1, keepdim=True) + model.embedding.T @ pi / torch.linalg.matrix_norm(pi, 2)


@experiment(
    [
        job
        for classes, lams in ((3, 100.0), (4, (10.0, 30.0, 100.0)), (6, 100.0))
        for job in jobs_over(classes=classes, weight_range=RANGES, lam=lams, seed=MANY_SEEDS)
    ],
    rows=1,
)
def exact_classes(classes: int, weight_range: float, lam: float, seed: int) -> list[dict]:
    """K classes: how well the growing products, and V₀·W_k alone, order the attention of the classes' words."""
    dataset = class_data(classes, seed)
    model = AttentionClassifier(
        len(dataset.vocabulary), dimension=50, lam=lam, classes=classes, weight_range=weight_range, seed=seed
    )
    V = model.V.detach().clone()
    products = {"growing": V @ growing_vectors(model, dataset.train), "V₀·W₀": V @ model.W.detach()}
    run = fit(model, dataset, small_config(epochs=WHOLE_EPOCHS * RANGES[weight_range], seed=seed), progress=False)
    scores = model.token_scores().attention.detach()
    attention = scores[1000 : 1000 + 50 * classes].reshape(classes, 50).mean(1)
    row = {}
    for name, product in products.items():
        row[f"Spearman, {name}"] = float(stats.spearmanr(product, attention).statistic)
        row[f"top class, {name}"] = int(product.argmax() == attention.argmax())
    return [row | {"loss": run.history["loss"].iloc[-1]}]


PAIRS = jobs_over(optimizer=SST_STEPS, lam=(10.0, 100.0), seed=range(20))


@experiment(jobs=PAIRS, rows=1)
def exact_pairs(optimizer: str, lam: float, seed: int, weight_range: float = 0.1) -> list[dict]:
    """SST from V and W as drawn (W within ±0.1), and with −V, −W and both: by how much negative words lead."""
    dataset, lead = range_data("SST"), {}
    for name, side_of_V, side_of_W in (("as drawn", 1, 1), ("−V", -1, 1), ("−W", 1, -1), ("−V −W", -1, -1)):
        model = initial_model(dataset, lam, 100, weight_range=weight_range, seed=seed)
        with torch.no_grad():
            model.V *= side_of_V
            model.W *= side_of_W
        fit(model, dataset, replace(SST_STEPS[optimizer], seed=seed), progress=False)
        lead[name] = -ends(model, examined_types(dataset))["gap"]
    return [lead]


@experiment(jobs=PAIRS, rows=1)
def exact_pairs_wide(optimizer: str, lam: float, seed: int) -> list[dict]:
    """As :func:`exact_pairs`, with W within ±1."""
    return exact_pairs(optimizer, lam, seed, weight_range=1.0)


NEAR = [
    rows_of(f"Data I, λ = {v:g}, W₀ within ±0.1", "exact_range", data="Data I", weight_range=0.1, dimension=200, lam=v)
    for v in (10.0, 100.0)
]


@reading
def gap_follows_VW(tables: Tables) -> Iterator[Part]:
    for case, rows in several(cells(TEN, HUNDRED), *NEAR)(tables):
        yield exceeds(case, along_VW(rows, difference(rows)))
    for lam in (10.0, 100.0):  # V·W ends below zero from all seeds, so that its sign is no test
        free, held = (tables("sst_scores", lam=lam, penalty=p) for p in (0.0, 1e-4))
        yield exceeds(f"SST, λ = {lam:g}, less with a penalty", along_VW(free, difference(free) - difference(held)))
    for lam in (10.0, 100.0):
        rows = tables("exact_range", data="SST", lam=lam)
        rows = rows[rows["V·W"] > 0] if len(rows) else rows
        yield exceeds(f"SST, λ = {lam:g}, where V·W ends above zero", difference(rows).groupby(level=0).mean())
