"""Runs on Data I and on a small copy, 1,200 instances with 100 neutral words: what several chapters measure of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pandas as pd
import torch
from torch import Tensor

from uaftc_book.flat_flow import FlatFlow
from uaftc_book.mean_field import MeanField
from uaftc_lib import dynamics
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.datasets.synthetic import synthetic
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import KINDS, Types, dot_product, examined_types, follow, make_perpendicular, type_means
from uaftc_lib.training import Run, TrainingConfig, fit


def sst_config(optimizer: str, seed: int, epochs: int = 4) -> TrainingConfig:
    """Adagrad as in the paper but without dropout, or plain SGD for twice as many epochs."""
    common = {"batch_size": 100, "seed": seed}
    if optimizer == "SGD":
        return TrainingConfig(optimizer="sgd", learning_rate=10.0, epochs=2 * epochs, **common)
    return TrainingConfig(learning_rate=0.02, learning_rate_decay=0.001, epochs=epochs, **common)


SST_STEPS = {"sgd": sst_config("SGD", seed=0), "adagrad": sst_config("Adagrad", seed=0)}  # no epoch is chosen


@cache
def range_data(name: str) -> Dataset:
    """The data of :func:`uaftc_book.chapters.attention_order.exact_range`; of SST the training texts alone."""
    if name == "SST":
        return replace(load_dataset("sst"), dev=None, test=None)
    return load_dataset({"Data I": "synthetic-1"}[name])


def train_synthetic(
    dataset: Dataset,
    lam: float = 10.0,
    dimension: int = 100,
    weight_range: float = 1.0,
    learning_rate: float = 0.25,
    epochs: int = 30,
    penalty: float = 0.0,
    perpendicular: bool = False,
    seed: int = 0,
) -> tuple[AttentionClassifier, Run]:
    """DP on synthetic data by SGD in batches of 200 (Appendix C); the history follows the type means.

    W starts in ±1: with it the spread of the published scores comes out; ``perpendicular`` starts at V·W = 0.
    """
    types = examined_types(dataset)
    model = AttentionClassifier(
        len(dataset.vocabulary), dimension=dimension, lam=lam, weight_range=weight_range, seed=seed
    )
    if perpendicular:
        make_perpendicular(model)
    config = TrainingConfig(
        optimizer="sgd", learning_rate=learning_rate, batch_size=200, epochs=epochs, penalty=penalty, seed=seed
    )
    return model, fit(model, dataset, config, record=lambda _, m: follow(m, types))


SEEDS, MANY_SEEDS = range(10), range(30)
RANGES = {1.0: 1, 0.1: 3}  # W₀ within ± these, and how many times as long a run is: a short W grows late
OPTIMIZERS = {"sgd": 1.0, "adagrad": 0.05, "adam": 0.005}  # and their learning rates
SMALL_NEUTRAL, PAPER_NEUTRAL = 100, 1000
WHOLE_EPOCHS = 8  # on 12,000 texts: 480 steps, where 75 epochs on 1,200 are 450
WHOLE_STEPS = 480  # at a learning rate of one: the time τ of such a run


def small_data(seed: int = 0, noise: float = 0.0, class_sizes: tuple[int, int] = (600, 600)) -> Dataset:
    """Data I (``noise``: Data II) with fewer instances and 100 neutral words, so that a run takes a second."""
    return synthetic("synthetic-1", seed=seed, noise=noise, class_sizes=class_sizes, neutral_types=100)


def initial_model(dataset: Dataset, lam: float = 10.0, dimension: int = 50, **options) -> AttentionClassifier:
    """A binary model before training, with W from ±1, as in Appendix C's runs."""
    return AttentionClassifier(
        len(dataset.vocabulary), dimension=dimension, lam=lam, **({"weight_range": 1.0} | options)
    )


def set_cosine(model: AttentionClassifier, cosine: float) -> AttentionClassifier:
    """Turn W in the plane of V and W, its length kept, so that cos(V, W) is the one given; the model."""
    with torch.no_grad():
        along = model.V / model.V.norm()
        across = model.W - (model.W @ along) * along
        across /= across.norm()
        model.W.copy_(model.W.norm() * (cosine * along + math.sqrt(1 - cosine**2) * across))
    return model


def small_config(optimizer: str = "sgd", epochs: int = 75, seed: int = 0, **options) -> TrainingConfig:
    """Batches of 200; SGD: gradient flow up to τ = 6 epochs · learning rate."""
    rate = options.pop("learning_rate", OPTIMIZERS[optimizer])
    return TrainingConfig(optimizer=optimizer, learning_rate=rate, batch_size=200, epochs=epochs, seed=seed, **options)


def ends(model: AttentionClassifier, types: Types) -> dict[str, float]:
    """Means of the scores of each kind, the gap, the lead of the weaker polar kind, V·W."""
    means = type_means(model, types)
    positive, negative, neutral = (means[f"attention {k}"] for k in KINDS)
    return means | {"gap": positive - negative, "lead": min(positive, negative) - neutral, "V·W": dot_product(model)}


def mean_field_end(model: AttentionClassifier, dataset: Dataset, types: Types, time: float) -> tuple[float, float]:
    """Gap and lead of the weaker polar kind at τ = ``time``, predicted from the vectors of the model now."""
    kinds = list(types.values())
    field = MeanField.from_corpus(dataset.train, kinds)
    G = field.flow(field.start(model, kinds), model.lam, [0.0, time])[-1]
    attention = dict(zip(types, G[: len(kinds), -2] / model.lam))
    polar = attention["positive"], attention["negative"]
    return float(polar[0] - polar[1]), float(min(polar) - attention["neutral"])


@cache
def flat_flow(weight_range: float, dimension: int, seed: int) -> FlatFlow:
    """Initial vectors on Data I."""
    dataset = range_data("Data I")
    model = initial_model(dataset, dimension=dimension, weight_range=weight_range, seed=seed)
    return FlatFlow.from_model(model, dataset.train, examined_types(dataset))


def predicted_gaps(runs: pd.DataFrame) -> list[float]:
    """The gap by the next order before each of the stored runs ``exact_range`` on Data I."""
    gaps, settings = [], runs[["weight_range", "dimension", "lam", "seed"]]
    for weight_range, dimension, lam, seed in settings.itertuples(index=False):
        flow = flat_flow(weight_range, int(dimension), int(seed))
        gaps.append(flow.end(WHOLE_STEPS * RANGES[weight_range], lam, turning=True)["gap"])
    return gaps


def pair_means(vectors: torch.Tensor, types: Types) -> dict[str, float]:
    """Mean inner product of two different vectors of each pair of kinds: "positive–negative", ..."""
    names, found = list(types), {}
    for i, one in enumerate(names):
        for other in names[i:]:
            products = vectors[types[one]] @ vectors[types[other]].T
            if one == other:
                total = products.sum() - products.diagonal().sum()
                mean = total / (len(products) * (len(products) - 1))
            else:
                mean = products.mean()
            found[f"{one}–{other}"] = float(mean)
    return found


def grouped(products: dict[str, float]) -> dict[str, float]:
    """The means of :func:`pair_means` by group; of products with neutral words the largest."""
    like = products["positive–positive"], products["negative–negative"]
    return {
        "like": sum(like) / 2,
        "weaker like": min(like),
        "unlike": products["positive–negative"],
        "with neutral": max(abs(value) for name, value in products.items() if "neutral" in name),
    }


def by_kind(values: Mapping[str, Tensor], types: Types) -> dict[str, float]:
    """Means over the words of each kind, and of their sizes: "π positive", "|π| positive", ..."""
    return {
        f"{what} {kind}": float(those[ids].mean())
        for name, v in values.items()
        for what, those in ((name, v), (f"|{name}|", v.abs()))
        for kind, ids in types.items()
    }


def velocities(model: AttentionClassifier, dataset: Dataset, types: Types) -> dict[str, float]:
    """π, ρ, B, C, C's part from neutral words, E and F of each kind, now (:func:`by_kind`)."""
    sums = dynamics.token_sums(model, dataset.train)
    polarity, attention = (
        dynamics.polarity_update(model, dataset.train),
        dynamics.attention_update(model, dataset.train),
    )
    E, ids = model.embedding.detach(), types["neutral"]
    values = {"π": sums.pi, "ρ": sums.rho, "B": polarity.B, "C": polarity.C, "E": attention.E, "F": attention.F}
    values["C from neutral"] = E @ (E[ids].T @ sums.pi[ids]) / len(dataset.train)
    return by_kind(values, types)
