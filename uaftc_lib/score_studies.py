"""Studies of scores: Appendix C's synthetic world, SST and its cures, every panel on real data.

Jobs and rows are as in :mod:`uaftc_lib.studies`, which keeps the tables. A run takes seconds, an LSTM's minutes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pandas as pd
import torch

from uaftc_lib import checks
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.exact_studies import CURES, SEEDS, ends
from uaftc_lib.measures import (
    dot_product,
    examined_types,
    human_agreement,
    score_frame,
    separation,
    start_perpendicular,
    type_means,
    weight_frame,
)
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.panels import panels, score_rows, tilt
from uaftc_lib.separate_tables import SeparateTables
from uaftc_lib.sweep.cells import Cell, cells_of, load_grid
from uaftc_lib.training import Run, TrainingConfig, fit

RATIOS = {  # positive:negative -> numbers of negative and of positive instances
    "1:1": (6000, 6000),
    "1:2": (8000, 4000),
    "1:5": (10000, 2000),
    "2:1": (4000, 8000),
    "5:1": (2000, 10000),
}


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
        start_perpendicular(model)
    config = TrainingConfig(
        optimizer="sgd",
        learning_rate=learning_rate,
        batch_size=200,
        epochs=epochs,
        penalty=penalty,
        seed=seed,
    )
    return model, fit(model, dataset, config, record=lambda _, m: follow(m, types))


def follow(model: AttentionClassifier, types: dict) -> dict[str, float]:
    """What the training curves show: type means, V·W, ‖V‖, ‖W‖."""
    V, W = model.V.detach(), model.W.detach()
    return type_means(model, types) | {
        "V·W": dot_product(model),
        "‖V‖": float(V.norm()),
        "‖W‖": float(W.norm()),
    }


def table2_cell(dataset: str, model: str = "DP", lam: float = 10.0, seed: int = 0, **settings) -> Cell:
    """The cell of Table 2 that trains this model on this data set (DP: as the authors released it).

    ``settings`` are those of :class:`uaftc_lib.sweep.cells.Cell`; they win over the table's.

    Raises
    ------
    ValueError
        For an unknown model or setting, or one that cannot be.
    """
    (cell,) = cells_of(load_grid("table2"), dataset=dataset, model=model, lam=lam, seeds=1, **settings)
    return replace(cell, seed=seed)


def train_real(dataset: Dataset, **settings) -> tuple[AttentionClassifier, Run]:
    """The model of a :func:`table2_cell` of this data set, trained."""
    cell = table2_cell(dataset.name, **settings)
    model = cell.classifier(dataset, "cpu")
    return model, fit(model, dataset, cell.training())


def synthetic_gap(penalty: float, seed: int) -> list[dict]:
    """Data I with and without a penalty on V·W: a row an epoch (Fig S5)."""
    _, run = train_synthetic(load_dataset("synthetic-1"), penalty=penalty, seed=seed)
    return run.history.drop(columns="dev_accuracy").to_dict("records")


def synthetic_ratio(ratio: str, perpendicular: bool, seed: int) -> list[dict]:
    """V·W after training on 12,000 instances of Data I with positive:negative = ratio (Fig S7)."""
    dataset = load_dataset("synthetic-1", class_sizes=RATIOS[ratio], seed=seed)
    _, run = train_synthetic(dataset, perpendicular=perpendicular, seed=seed)
    first, last = run.history.iloc[0], run.history.iloc[-1]
    return [{"start": first["V·W"], "V·W": last["V·W"], "loss": last["loss"]}]


def synthetic_steps(learning_rate: float, epochs: int, seed: int) -> list[dict]:
    """Data I: small steps for long against large steps for short, the same learning rate × epochs."""
    _, run = train_synthetic(load_dataset("synthetic-1"), learning_rate=learning_rate, epochs=epochs, seed=seed)
    return run.history.tail(1).drop(columns=["epoch", "dev_accuracy"]).to_dict("records")


def synthetic_start(weight_range: float, seed: int) -> list[dict]:
    """Data I from other starting ranges of W: a row an epoch."""
    _, run = train_synthetic(load_dataset("synthetic-1"), weight_range=weight_range, seed=seed)
    return run.history.drop(columns="dev_accuracy").to_dict("records")


def sst_scores(lam: float, penalty: float, seed: int) -> list[dict]:
    """SST: means and separation of the examined tokens' scores, agreement with human ratings, accuracies."""
    dataset = load_dataset("sst")
    types = examined_types(dataset)
    model, run = train_real(dataset, lam=lam, penalty=penalty, seed=seed)
    scores = score_frame(model, dataset, types)
    return [score_row(model, run, scores, types) | human_agreement(model, dataset)]


def sst_cures(cure: str, seed: int) -> list[dict]:
    """SST at λ = 100 with one of the cures of the gap: type means, V·W, separation of types, accuracies."""
    dataset = load_dataset("sst")
    types = examined_types(dataset)
    cell = table2_cell("sst", lam=100.0, seed=seed, penalty=1e-4 if cure == "penalty" else 0.0)
    model = cell.classifier(dataset, "cpu")
    if cure == "perpendicular start":
        start_perpendicular(model)
    elif cure == "separate tables":
        model = SeparateTables(len(dataset.vocabulary), dimension=cell.dimension, lam=cell.lam, seed=seed)
    run = fit(model, dataset, cell.training(), progress=False)
    scores = score_frame(model, dataset, types)
    auc = {
        f"AUC {kind} over neutral": separation(scores, "attention", kind, "neutral")
        for kind in ("positive", "negative")
    }
    accuracies = {"dev_accuracy": run.dev_accuracy, "test_accuracy": run.test_accuracy, "best_epoch": run.best_epoch}
    return [ends(model, types) | auc | accuracies]


def sst_weights(lam: float, seed: int) -> list[dict]:
    """SST: quartiles of the mean attention weight of each type on the test set, a row a type (Fig 5)."""
    dataset = load_dataset("sst")
    model, _ = train_real(dataset, lam=lam, seed=seed)
    frame = weight_frame(model, dataset, examined_types(dataset))
    quartiles = {"least": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "greatest": 1.0}
    return [
        {
            "type": name,
            "words": len(rows),
            **{key: rows["weight"].quantile(q) for key, q in quartiles.items()},
        }
        for name, rows in frame.groupby("type")
    ]


def figure_scores(dataset: str, model: str, lam: float, seed: int) -> list[dict]:
    """The paper's panels of scores and weights: distributions by token type, a row for each of both."""
    return scores_after(table2_cell(dataset, model=model, lam=lam, seed=seed))


def side_scores(learner: str, seed: int) -> list[dict]:
    """The same on SST at λ = 10 for the side columns of Table 2: DP by Adam, or behind a GRU."""
    checks.one_of("learner", learner, ("Adam", "GRU"))
    (cell,) = cells_of(load_grid("side_columns"), model="DP" if learner == "Adam" else learner, lam=10.0, seeds=1)
    return scores_after(replace(cell, seed=seed))


def scores_after(cell: Cell) -> list[dict]:
    """Train a cell: distributions of all scores by token type, with what there is to say of the run."""
    data = load_dataset(cell.dataset)
    classifier = cell.classifier(data, "cpu")
    run = fit(classifier, data, cell.training())
    of_run = {
        **{name: getattr(cell, name) for name in ("epochs", "learning_rate", "weight_decay")},
        "V·W": tilt(classifier),
        "early loss": run.history["loss"].iloc[:5].mean(),
        **{name: getattr(run, name) for name in ("dev_accuracy", "test_accuracy", "best_epoch")},
    }
    return [row | of_run for row in score_rows(classifier, data, examined_types(data))]


def figure_points(dataset: str, model: str, lam: float) -> list[dict]:
    """The scatters of Figs 2 to 4 that take long to make: up to 100 tokens of each type, from frequent to rare."""
    data = load_dataset(dataset)
    classifier, _ = train_real(data, model=model, lam=lam)
    types = {
        name: ids[torch.linspace(0, len(ids) - 1, min(100, len(ids))).long()]
        for name, ids in examined_types(data).items()
    }
    if classifier.binary:
        return score_frame(classifier, data, types).drop(columns="word").to_dict("records")
    attention = classifier.token_scores().attention
    return [
        {"type": name, "rank": int(i) + 1, "attention": float(attention[i])} for name, ids in types.items() for i in ids
    ]


def figure_jobs() -> list[dict]:
    """Ten starts of each panel's model."""
    runs = panels()[["dataset", "model", "lam"]].drop_duplicates().astype({"lam": float}).to_dict("records")
    return [run | {"seed": seed} for seed in SEEDS for run in runs]


def score_row(model: AttentionClassifier, run: Run, scores: pd.DataFrame, types: dict) -> dict[str, float]:
    """Type means, V·W, separation of types, mean training loss of the first five epochs and accuracies."""
    pairs = (("positive", "neutral"), ("negative", "neutral"), ("negative", "positive"))
    return (
        follow(model, types)
        | {f"AUC {high} over {low}": separation(scores, "attention", high, low) for high, low in pairs}
        | {"early loss": run.history["loss"].iloc[:5].mean()}
        | {"dev_accuracy": run.dev_accuracy, "test_accuracy": run.test_accuracy, "best_epoch": run.best_epoch}
    )


SCORE_STUDIES = {
    "synthetic_gap": (synthetic_gap, [{"penalty": p, "seed": s} for p, s in product((0.0, 1e-3), SEEDS)]),
    "synthetic_ratio": (
        synthetic_ratio,
        [{"ratio": r, "perpendicular": p, "seed": s} for p, r, s in product((False, True), RATIOS, SEEDS)],
    ),
    "synthetic_steps": (
        synthetic_steps,
        [{"learning_rate": 7.5 / n, "epochs": n, "seed": 0} for n in (30, 60, 150, 500)],
    ),
    "synthetic_start": (
        synthetic_start,
        [{"weight_range": w, "seed": 2} for w in (0.01, 0.1, 0.5, 1.0, 2.0)],
    ),
    "sst_scores": (
        sst_scores,
        [{"lam": v, "penalty": p, "seed": s} for v, p, s in product((10.0, 100.0), (0.0, 1e-4), SEEDS)],
    ),
    "sst_weights": (sst_weights, [{"lam": 10.0, "seed": s} for s in SEEDS]),
    "figure_scores": (figure_scores, figure_jobs()),
    "side_scores": (side_scores, [{"learner": n, "seed": s} for s, n in product(SEEDS, ("Adam", "GRU"))]),
    "figure_points": (
        figure_points,
        [
            {"dataset": d, "model": m, "lam": 10.0}
            for d, m in (("imdb", "DP"), ("20news-1", "DP"), ("20news-2", "DP"), ("sst", "AD"))
        ],
    ),
    "sst_cures": (sst_cures, [{"cure": c, "seed": s} for s, c in product(range(30), CURES)]),
}
