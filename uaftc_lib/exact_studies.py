"""Many-seed studies of the exact dynamics: small runs on 1,200 instances of Data I with 100 neutral words.

Jobs and rows are as in :mod:`uaftc_lib.studies`, which keeps the tables.
"""

from __future__ import annotations

import math
from itertools import product

import torch

from uaftc_lib import flow
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets.synthetic import synthetic
from uaftc_lib.ledger import Ledger, fit_with_ledger
from uaftc_lib.measures import Types, dot_product, examined_types, start_perpendicular, type_means
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.separate_tables import SeparateTables
from uaftc_lib.training import Run, TrainingConfig, fit

CURES = ("none", "penalty", "perpendicular start", "separate tables")
OPTIMIZERS = {"sgd": 1.0, "adagrad": 0.05, "adam": 0.005}  # and their learning rates


def small_data(seed: int = 0, noise: float = 0.0, class_sizes: tuple[int, int] = (600, 600)) -> Dataset:
    """Data I (``noise``: Data II) with fewer instances and 100 neutral words, so that a run takes a second."""
    return synthetic("synthetic-1", seed=seed, noise=noise, class_sizes=class_sizes, neutral_types=100)


def set_cosine(model: AttentionClassifier, cosine: float) -> AttentionClassifier:
    """Turn W in the plane of V and W, its length kept, so that cos(V, W) is the one given; the model."""
    with torch.no_grad():
        along = model.V / model.V.norm()
        across = model.W - (model.W @ along) * along
        across /= across.norm()
        model.W.copy_(model.W.norm() * (cosine * along + math.sqrt(1 - cosine**2) * across))
    return model


def start_model(dataset: Dataset, lam: float = 10.0, dimension: int = 50, **options) -> AttentionClassifier:
    """A binary model with W from ±1, as in Appendix C's runs."""
    return AttentionClassifier(
        len(dataset.vocabulary), dimension=dimension, lam=lam, **({"weight_range": 1.0} | options)
    )


def small_config(optimizer: str = "sgd", epochs: int = 75, seed: int = 0, **options) -> TrainingConfig:
    """Batches of 200; SGD: gradient flow up to τ = 6 epochs · learning rate."""
    rate = options.pop("learning_rate", OPTIMIZERS[optimizer])
    return TrainingConfig(optimizer=optimizer, learning_rate=rate, batch_size=200, epochs=epochs, seed=seed, **options)


def ends(model: AttentionClassifier, types: Types) -> dict[str, float]:
    """Means of the scores of each kind, the gap, the lead of the weaker polar kind, V·W."""
    means = type_means(model, types)
    positive, negative, neutral = (means[f"attention {k}"] for k in ("positive", "negative", "neutral"))
    return means | {
        "gap": positive - negative,
        "lead": min(positive, negative) - neutral,
        "V·W": dot_product(model),
    }


def mean_field_end(model: AttentionClassifier, dataset: Dataset, types: Types, time: float) -> tuple[float, float]:
    """Gap and lead of the weaker polar kind at τ = ``time``, predicted from the vectors of the model now."""
    kinds = list(types.values())
    field = flow.MeanField.from_corpus(dataset.train, kinds)
    G = field.flow(field.start(model, kinds), model.lam, [0.0, time])[-1]
    attention = dict(zip(types, G[: len(kinds), -2] / model.lam))
    polar = attention["positive"], attention["negative"]
    return float(polar[0] - polar[1]), float(min(polar) - attention["neutral"])


def booked(ledger: Ledger, types: Types, names: str = "DEF") -> dict[str, float]:
    """Means of entries of a ledger over the types of each kind: "D positive", ..."""
    return {f"{name} {kind}": float(getattr(ledger, name)[ids].mean()) for name in names for kind, ids in types.items()}


def exact_gap(lam: float, seed: int) -> list[dict]:
    """The gap between positive and negative words after training, and its prediction from the start."""
    dataset = small_data()
    types = examined_types(dataset)
    model = start_model(dataset, lam, seed=seed)
    start, cosine = dot_product(model), float(torch.cosine_similarity(model.V.detach(), model.W.detach(), dim=0))
    gap, lead = mean_field_end(model, dataset, types, 450.0)
    _, ledgers = fit_with_ledger(model, dataset, small_config(seed=seed))
    predicted = {"start": start, "cosine": cosine, "predicted gap": gap, "predicted lead": lead}
    return [predicted | ends(model, types) | booked(ledgers[-1], types)]


def exact_phase(lam: float, cosine: float, seed: int) -> list[dict]:
    """Which words win attention, from a start with a given λ and angle of V and W."""
    dataset = small_data()
    types = examined_types(dataset)
    model = set_cosine(start_model(dataset, lam, seed=seed), cosine)
    sizes = {"‖V‖": float(model.V.detach().norm()), "‖W‖": float(model.W.detach().norm())}
    gap, lead = mean_field_end(model, dataset, types, 450.0)
    fit(model, dataset, small_config(seed=seed))
    return [sizes | {"predicted gap": gap, "predicted lead": lead} | ends(model, types)]


def train_with_cure(
    dataset: Dataset, cure: str, lam: float = 100.0, dimension: int = 50, seed: int = 0
) -> tuple[AttentionClassifier, Run]:
    """A run on small data with one of :data:`CURES` of the gap.

    Raises
    ------
    ValueError
        For an unknown cure.
    """
    if cure not in CURES:
        raise ValueError(f"no cure {cure!r}; there are {', '.join(CURES)}")
    table = SeparateTables if cure == "separate tables" else AttentionClassifier
    model = table(len(dataset.vocabulary), dimension=dimension, lam=lam, weight_range=1.0, seed=seed)
    if cure == "perpendicular start":
        start_perpendicular(model)
    penalty = 1e-3 if cure == "penalty" else 0.0
    return model, fit(model, dataset, small_config(seed=seed, penalty=penalty))


def accuracy(model: AttentionClassifier, corpus: Corpus) -> float:
    """The share of instances on the right side of s = 0 (binary)."""
    with torch.no_grad():
        return float(((model(corpus).polarity > 0) == (corpus.labels == 1)).double().mean())


def exact_cures(cure: str, seed: int) -> list[dict]:
    """λ = 100 on noisy data: the gap with and without a cure, and the accuracy on fresh instances."""
    dataset = small_data(noise=0.1)
    model, _ = train_with_cure(dataset, cure, seed=seed)
    fresh = small_data(seed=1, noise=0.1, class_sizes=(3000, 3000)).train
    return [ends(model, examined_types(dataset)) | {"accuracy": accuracy(model, fresh)}]


def exact_optimizers(optimizer: str, lam: float, seed: int) -> list[dict]:
    """The type means after training by another optimizer, and V·W at the start."""
    dataset = small_data()
    model = start_model(dataset, lam, seed=seed)
    start = {"start": dot_product(model)}
    run = fit(model, dataset, small_config(optimizer, seed=seed))
    return [start | ends(model, examined_types(dataset)) | {"loss": run.history["loss"].iloc[-1]}]


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


def wanted_signs(vectors: torch.Tensor, types: Types) -> float:
    """The share of pairs of polar words with the product that B.1 wants: positive of like, negative of unlike ones."""
    ids = torch.cat([types["positive"], types["negative"]])
    sides = torch.ones(len(ids), dtype=vectors.dtype)
    sides[len(types["positive"]) :] = -1
    wanted = (vectors[ids] @ vectors[ids].T) * torch.outer(sides, sides) > 0
    pairs = len(ids) * (len(ids) - 1)
    return float((wanted.sum() - wanted.diagonal().sum()) / pairs)


def embedding_range_run(
    dataset: Dataset,
    embedding_range: float,
    weight_range: float,
    lam: float = 10.0,
    dimension: int = 50,
    epochs: int = 120,
    seed: int = 0,
) -> tuple[AttentionClassifier, Run]:
    """A run of which the inner products of embeddings are followed: means by kind, and the share as wanted."""
    types = examined_types(dataset)
    model = start_model(dataset, lam, dimension, embedding_range=embedding_range, weight_range=weight_range, seed=seed)
    config = small_config(epochs=epochs, seed=seed)

    def follow(_, model: AttentionClassifier) -> dict[str, float]:
        vectors = model.embedding.detach().double()
        return pair_means(vectors, types) | {"wanted signs": wanted_signs(vectors, types)}

    return model, fit(model, dataset, config, record=follow)


def embedding_start(embedding_range: float, weight_range: float, seed: int) -> list[dict]:
    """Inner products of embeddings by epoch, from starting ranges of embeddings and W (Fig S1)."""
    _, run = embedding_range_run(small_data(), embedding_range, weight_range, seed=seed)
    return run.history.drop(columns="dev_accuracy").iloc[::5].to_dict("records")


SEEDS = range(10)
EXACT_STUDIES = {
    "exact_gap": (exact_gap, [{"lam": v, "seed": s} for v, s in product((10.0, 100.0), range(60))]),
    "exact_phase": (
        exact_phase,
        [
            {"lam": v, "cosine": c, "seed": s}
            for s, v, c in product(
                range(3),
                (1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0),
                (-0.95, -0.7, -0.45, -0.25, -0.1, -0.03, 0.0, 0.03, 0.1, 0.25, 0.45, 0.7, 0.95),
            )
        ],
    ),
    "exact_cures": (exact_cures, [{"cure": c, "seed": s} for s, c in product(range(30), CURES)]),
    "exact_optimizers": (
        exact_optimizers,
        [{"optimizer": o, "lam": v, "seed": s} for o, v, s in product(OPTIMIZERS, (10.0, 100.0), SEEDS)],
    ),
    "embedding_start": (
        embedding_start,
        [{"embedding_range": r, "weight_range": w, "seed": s} for r, w, s in product((0.1, 1.0), (0.1, 1.0), SEEDS)],
    ),
}
