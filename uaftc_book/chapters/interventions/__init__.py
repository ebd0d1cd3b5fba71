"""Chapter 22_interventions: what closes the gap, and other optimizers."""

from __future__ import annotations

from itertools import product

import torch

from uaftc_book.chapters.exact_dynamics import growing_vector
from uaftc_book.chapters.interventions import laws  # noqa: F401 registers its table
from uaftc_book.claims import reads
from uaftc_book.readings import lead, rows_of, several, sst
from uaftc_book.small_data import (
    MANY_SEEDS,
    OPTIMIZERS,
    RANGES,
    WHOLE_EPOCHS,
    ends,
    initial_model,
    small_config,
    small_data,
)
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import table2_cell
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.models.separate_tables import SeparateTables
from uaftc_lib.scores import auc_of, dot_product, examined_types, make_perpendicular, score_frame
from uaftc_lib.training import Run, fit

INTERVENTIONS = ("none", "penalty", "V₀ ⊥ W₀", "separate tables")
GROWING = "V ⟂ the W that grows"  # an intervention for W₀ within ±0.1
SHORT_INTERVENTIONS = (*INTERVENTIONS, GROWING)


@torch.no_grad()
def take_from_V(model: AttentionClassifier, intervention: str, corpus: Corpus) -> None:
    """Take from V what an intervention takes from it: its part along W, or along the W that grows; else nothing."""
    if intervention == "V₀ ⊥ W₀":
        make_perpendicular(model)
    elif intervention == GROWING:
        grown = growing_vector(model, corpus)
        model.V -= (model.V @ grown) / (grown @ grown) * grown


def train_with_intervention(
    dataset: Dataset, intervention: str, dimension: int = 50, seed: int = 0, epochs: int = 75, weight_range: float = 1.0
) -> tuple[AttentionClassifier, Run]:
    """A run with one of :data:`SHORT_INTERVENTIONS` against the gap, at λ = 100.

    Raises
    ------
    ValueError
        For an unknown intervention.
    """
    if intervention not in SHORT_INTERVENTIONS:
        raise ValueError(f"no intervention {intervention!r}; there are {', '.join(SHORT_INTERVENTIONS)}")
    table = SeparateTables if intervention == "separate tables" else AttentionClassifier
    model = table(len(dataset.vocabulary), dimension=dimension, lam=100.0, weight_range=weight_range, seed=seed)
    take_from_V(model, intervention, dataset.train)
    penalty = 1e-3 if intervention == "penalty" else 0.0
    return model, fit(model, dataset, small_config(seed=seed, penalty=penalty, epochs=epochs))


@experiment(jobs_over(seed=MANY_SEEDS, intervention=INTERVENTIONS), rows=1)
def exact_interventions(intervention: str, seed: int) -> list[dict]:
    """λ = 100 on noisy data: the gap with and without an intervention, and the accuracy on fresh instances."""
    dataset = small_data(noise=0.1)
    model, _ = train_with_intervention(dataset, intervention, seed=seed)
    fresh = small_data(seed=1, noise=0.1, class_sizes=(3000, 3000)).train
    return [ends(model, examined_types(dataset)) | {"accuracy": model.accuracy(fresh)}]


@experiment(jobs_over(noise=(0.1, 0.0), seed=MANY_SEEDS, intervention=INTERVENTIONS), rows=1)
def interventions_whole(noise: float, intervention: str, seed: int) -> list[dict]:
    """Each intervention on 12,000 texts with 1,000 neutral words; without noise they are Data I, with it Data II."""
    name = "synthetic-2" if noise else "synthetic-1"
    dataset = load_dataset(name)
    model, _ = train_with_intervention(dataset, intervention, seed=seed, epochs=WHOLE_EPOCHS)
    fresh = load_dataset(name, seed=1).train
    return [ends(model, examined_types(dataset)) | {"accuracy": model.accuracy(fresh)}]


@experiment(jobs_over(noise=(0.1, 0.0), seed=MANY_SEEDS, intervention=SHORT_INTERVENTIONS), rows=1)
def interventions_short(noise: float, intervention: str, seed: int) -> list[dict]:
    """interventions_whole from W within ±0.1, where the W that grows is hardly W₀; three times as long."""
    dataset = load_dataset("synthetic-2" if noise else "synthetic-1")
    model, _ = train_with_intervention(
        dataset, intervention, seed=seed, epochs=WHOLE_EPOCHS * RANGES[0.1], weight_range=0.1
    )
    return [ends(model, examined_types(dataset))]


def with_optimizer(
    dataset: Dataset, optimizer: str, lam: float, seed: int, epochs: int, weight_range: float = 1.0
) -> dict[str, float]:
    """A run by another optimizer: the type means, V₀·W₀, and the loss."""
    model = initial_model(dataset, lam, seed=seed, weight_range=weight_range)
    initial = {"V₀·W₀": dot_product(model)}
    run = fit(model, dataset, small_config(optimizer, epochs=epochs, seed=seed))
    return initial | ends(model, examined_types(dataset)) | {"loss": run.history["loss"].iloc[-1]}


BY_OPTIMIZER = jobs_over(optimizer=OPTIMIZERS, lam=(10.0, 100.0), seed=MANY_SEEDS)


@experiment(jobs=BY_OPTIMIZER, rows=1)
def optimizers_whole(optimizer: str, lam: float, seed: int) -> list[dict]:
    """Other optimizers on the whole of Data I."""
    return [with_optimizer(load_dataset("synthetic-1"), optimizer, lam, seed, WHOLE_EPOCHS)]


@experiment(jobs=BY_OPTIMIZER, rows=1)
def optimizers_short(optimizer: str, lam: float, seed: int) -> list[dict]:
    """optimizers_whole from W within ±0.1, three times as long; and the growing product at first."""
    dataset = load_dataset("synthetic-1")
    begin = initial_model(dataset, lam, seed=seed, weight_range=0.1)
    growing = float(begin.V.detach() @ growing_vector(begin, dataset.train))
    run = with_optimizer(dataset, optimizer, lam, seed, WHOLE_EPOCHS * RANGES[0.1], weight_range=0.1)
    return [{"growing": growing} | run]


@experiment(jobs_over(seed=MANY_SEEDS, intervention=INTERVENTIONS), rows=1)
def sst_interventions(intervention: str, seed: int) -> list[dict]:
    """SST at λ = 100 with one of the interventions: type means, V·W, AUC of types, accuracies."""
    return [sst_with_intervention(intervention, seed)]


@experiment(jobs_over(seed=MANY_SEEDS), rows=1)
def sst_growing(seed: int) -> list[dict]:
    """SST from a V that is perpendicular to the W that grows."""
    return [sst_with_intervention(GROWING, seed)]


def sst_with_intervention(intervention: str, seed: int) -> dict[str, float]:
    """A run of Table 2's model on SST with an intervention, or none."""
    dataset = load_dataset("sst")
    types = examined_types(dataset)
    cell = table2_cell("sst", lam=100.0, seed=seed, penalty=1e-4 if intervention == "penalty" else 0.0)
    model = cell.classifier(dataset, "cpu")
    take_from_V(model, intervention, dataset.train)
    if intervention == "separate tables":
        model = SeparateTables(len(dataset.vocabulary), dimension=cell.dimension, lam=cell.lam, seed=seed)
    run = fit(model, dataset, cell.training(), progress=False)
    scores = score_frame(model, dataset, types)
    auc = {
        f"AUC {kind} over neutral": auc_of(scores, "attention", kind, "neutral") for kind in ("positive", "negative")
    }
    accuracies = {"dev_accuracy": run.dev_accuracy, "test_accuracy": run.test_accuracy, "best_epoch": run.best_epoch}
    return ends(model, types) | auc | accuracies


HELD = ("penalty", "V₀ ⊥ W₀")
WITH_INTERVENTION = [
    rows_of(f"{name}, {intervention}{start}", table, noise=noise, intervention=intervention)
    for table, start in (("interventions_whole", ""), ("interventions_short", ", W₀ within ±0.1"))
    for (name, noise), intervention in product((("Data I", 0.0), ("Data II", 0.1)), HELD)
]
WITH_INTERVENTION += [
    sst(100, 1e-4, "SST, penalty"),
    rows_of("SST, V₀ ⊥ W₀", "sst_interventions", intervention="V₀ ⊥ W₀"),
]
reads("control_of_VW", several(*WITH_INTERVENTION), lead)
