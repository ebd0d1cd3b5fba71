"""Chapter 21_which_lambda: the phase diagram, and both ends of λ."""

from __future__ import annotations

import math
from itertools import product

import torch
from torch import Tensor

from uaftc_lib.book.cases import SMALL
from uaftc_lib.book.claims import reads
from uaftc_lib.book.readings import HUGE, column, rows_of
from uaftc_lib.book.small_data import (
    RANGES,
    SEEDS,
    WHOLE_EPOCHS,
    WHOLE_STEPS,
    ends,
    mean_field_end,
    small_config,
    start_model,
)
from uaftc_lib.corpus import Corpus
from uaftc_lib.datasets import load_dataset
from uaftc_lib.dynamics.ledger import fit_with_ledger
from uaftc_lib.experiments.registry import experiment
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import examined_types
from uaftc_lib.training import fit


def set_cosine(model: AttentionClassifier, cosine: float) -> AttentionClassifier:
    """Turn W in the plane of V and W, its length kept, so that cos(V, W) is the one given; the model."""
    with torch.no_grad():
        along = model.V / model.V.norm()
        across = model.W - (model.W @ along) * along
        across /= across.norm()
        model.W.copy_(model.W.norm() * (cosine * along + math.sqrt(1 - cosine**2) * across))
    return model


@experiment(
    jobs=[
        {"weight_range": w, "lam": v, "cosine": c, "seed": s}
        for w, s, v, c in product(
            RANGES,
            range(3),
            (1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0),
            (-0.95, -0.7, -0.45, -0.25, -0.1, -0.03, 0.0, 0.03, 0.1, 0.25, 0.45, 0.7, 0.95),
        )
    ],
    rows=1,
)
def exact_phase(weight_range: float, lam: float, cosine: float, seed: int) -> list[dict]:
    """Which words win attention on Data I, from a start with a given λ and angle of V and W."""
    dataset, longer = load_dataset("synthetic-1"), RANGES[weight_range]
    types = examined_types(dataset)
    model = set_cosine(start_model(dataset, lam, weight_range=weight_range, seed=seed), cosine)
    sizes = {"‖V‖": float(model.V.detach().norm()), "‖W‖": float(model.W.detach().norm())}
    gap, lead = mean_field_end(model, dataset, types, WHOLE_STEPS * longer)
    fit(model, dataset, small_config(epochs=WHOLE_EPOCHS * longer, seed=seed), progress=False)
    return [sizes | {"predicted gap": gap, "predicted lead": lead} | ends(model, types)]


def heaviest(model: AttentionClassifier, corpus: Corpus) -> tuple[Tensor, Tensor]:
    """Of each instance of equal length the weight of its heaviest word, and the place of that word."""
    with torch.no_grad():
        return model(corpus).weights.reshape(len(corpus), -1).max(1)


@experiment(jobs=[{"lam": v, "seed": s} for v, s in product((0.001, 0.01, 0.1, 1.0, 10.0), SEEDS)], rows=1)
def hard_attention(lam: float, seed: int) -> list[dict]:
    """What training does to the heaviest word of a text, and what a start does that is nudged in the twelfth digit."""
    dataset = load_dataset("synthetic-1")
    texts = dataset.train
    models = [start_model(dataset, lam, seed=seed, dtype=torch.float64) for _ in range(2)]
    with torch.no_grad():
        models[1].embedding *= 1 + 1e-12
    first = heaviest(models[0], texts)
    (_, ledgers), _ = (
        fit_with_ledger(model, dataset, small_config(epochs=WHOLE_EPOCHS, seed=seed)) for model in models
    )
    last, nudged = (heaviest(model, texts) for model in models)
    moved = {name: float(getattr(ledgers[-1], name).abs().sum()) for name in "DEF"}
    return [
        {
            "weight at the start": float(first[0].median()),
            "weight at the end": float(last[0].median()),
            "changed": float((first[1] != last[1]).double().mean()),
            "changed by the nudge": float((nudged[1] != last[1]).double().mean()),
            "share of E": moved["E"] / sum(moved.values()),
            "accuracy": float((models[0].predict(texts) == texts.labels).double().mean()),
        }
    ]


reads(
    "mean_pooling",
    rows_of("Data I, λ = 10,000", "terms", noise=0.0, lam=HUGE),
    lambda rows: SMALL - column(rows, "farthest weight"),
)
