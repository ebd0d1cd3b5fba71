"""Chapter A_interventions: what closes the gap, and other optimizers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional

from uaftc_book.claims import reads
from uaftc_book.inner_products import growing_vector, vector_laws
from uaftc_book.mean_field import MeanField
from uaftc_book.readings import lead, rows_of, several, sst
from uaftc_book.small_data import (
    MANY_SEEDS,
    OPTIMIZERS,
    RANGES,
    SEEDS,
    SST_STEPS,
    WHOLE_EPOCHS,
    ends,
    initial_model,
    range_data,
    small_config,
    small_data,
)
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import table2_cell
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.models.separate_tables import SeparateTables
from uaftc_lib.scores import Types, auc_of, dot_product, examined_types, make_perpendicular, score_frame, type_means
from uaftc_lib.training import AutogradTrainer, Run, TrainingConfig, draw_dropout, fit

# ---
# Which laws of gradient flow survive which optimizer (Chapter A_interventions).


LAM = 10.0
LOOKS = 25  # at a run, beside the first


@dataclass(frozen=True)
class Way:
    """How to descend: momentum and a decay of E, V and W, which a :class:`TrainingConfig` has not, and what it has.

    ``finer``: by how much steps are shorter, and epochs more.
    """

    optimizer: str = "sgd"
    momentum: float = 0.0
    decay: float = 0.0
    finer: int = 1
    config: dict = field(default_factory=dict)


WAYS = {
    "SGD": Way(),
    "SGD, half the step": Way(finer=2),
    "SGD, momentum 0.9": Way(momentum=0.9, config={"learning_rate": OPTIMIZERS["sgd"] / 10}),
    "SGD, dropout 0.5": Way(config={"dropout": 0.5}),
    "SGD, weight decay": Way(decay=1e-3),
    "Adagrad": Way("adagrad"),
    "Adam": Way("adam"),
}


class Descent(AutogradTrainer):
    """The reference, with momentum and with a decay of E, V and W; a ``trainer`` for :func:`fit`."""

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig, way: Way, decay_of_V=1.0):
        super().__init__(model, corpus, config)
        self.sparse = False  # decay and momentum move rows that do not occur
        for (name, _), group in zip(model.named_parameters(), self.optimizer.param_groups):
            if config.optimizer == "sgd":
                group["momentum"] = way.momentum
            group["weight_decay"] = way.decay * (decay_of_V if name == "V" else 1.0)


class Watched(Descent):
    """The same, and the sum over the steps of what Eq law-vw foretells of V·W, on the batch of each step.

    ``foretold``: per unit of the learning rate, and the same less what the decay takes.
    """

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig, way: Way):
        super().__init__(model, corpus, config, way)
        self.way, self.foretold = way, np.zeros(2)

    def epoch(self, batches: list[Tensor]) -> float:
        """One pass over the batches of instance indices; the mean of the instances' losses."""
        total = 0.0
        for indices in batches:
            law = float(vector_laws(self.model, self.corpus[indices])["V·W"])
            self.foretold += law, law - 2 * self.way.decay * dot_product(self.model)
            total += super().epoch([indices])
        return total


def balance_of_rho(model: AttentionClassifier, corpus: Corpus, config: TrainingConfig) -> float:
    """|Σρ| / Σ|ρ| over all places of the full batch, of the loss that is descended: with dropout under its masks."""
    out = model(corpus, draw_dropout(model, corpus, config, 0) if config.dropout else None)
    loss = functional.softplus(-corpus.signs.to(out.polarity) * out.polarity).mean()
    (rho,) = torch.autograd.grad(loss, [out.scores])
    return float(rho.sum().abs() / rho.abs().sum())


def factors(model: AttentionClassifier) -> tuple[Tensor, Tensor]:
    """EᵀE and VVᵀ + WWᵀ, whose difference gradient flow keeps."""
    E, V, W = (model.get_parameter(name).detach() for name in ("embedding", "V", "W"))
    return E.T @ E, torch.outer(V, V) + torch.outer(W, W)


def relative_difference(one: AttentionClassifier, other: AttentionClassifier) -> float:
    """The larger relative difference of the attention scores, and of the polarity scores, of two models."""
    pairs = zip(one.token_scores(), other.token_scores())
    return max(float((x - y).abs().max() / x.abs().max()) for x, y in pairs)


def config_of(way: Way, data: str, weight_range: float, seed: int) -> TrainingConfig:
    """As many epochs as the other stored runs on Data I, from ±0.1 three times as many; on SST those of chapter 3."""
    if data == "SST":
        config = replace(SST_STEPS[way.optimizer], seed=seed)
    else:
        config = small_config(way.optimizer, epochs=WHOLE_EPOCHS * RANGES[weight_range], seed=seed)
    finer = {"learning_rate": config.learning_rate / way.finer, "epochs": config.epochs * way.finer}
    return replace(config, **(finer | way.config))


def rescaled(
    initial: Callable[..., AttentionClassifier], dataset: Dataset, way: Way, config: TrainingConfig, power: int
) -> AttentionClassifier:
    """The model without λ: V/λ at first, and the learning rate of V over λ^power; a decay is multiplied by it."""
    model = initial(lam=1.0)
    with torch.no_grad():
        model.V /= LAM
    other = replace(config, learning_rates={"V": config.learning_rate / LAM**power})
    odd = way.momentum or way.decay  # all else the fast path can do
    fit(
        model,
        dataset,
        other,
        trainer=(lambda *given: Descent(*given, way, LAM**power)) if odd else None,
        progress=False,
    )
    return model


def mean_field_errors(
    field: MeanField, start: np.ndarray, path: pd.DataFrame, types: Types, times: np.ndarray
) -> tuple[float, float]:
    """How wrong the mean field is of the type means, in units of the largest: at the times, and with a free clock.

    With a free clock every state is compared with the nearest one on the path of the mean field.
    """
    names = [f"{what} {kind}" for what in ("attention", "polarity") for kind in types]
    unit = np.repeat([path[names[:3]].abs().max(axis=None), path[names[3:]].abs().max(axis=None)], 3)

    def scores(taus):
        G = field.flow(start, LAM, taus)
        return np.concatenate([G[:, :3, -2] / LAM, G[:, :3, -1]], axis=1) / unit

    found = path[names].to_numpy() / unit
    clocked = np.abs(found - scores(times)).max()
    anywhere = scores(np.concatenate([[0.0], np.geomspace(0.5, 20 * times[-1], 2000)]))
    nearest = [np.abs(anywhere - row).max(axis=1).min() for row in found]
    return float(clocked), float(max(nearest))


@experiment(
    jobs_over(data="Data I", weight_range=1.0, optimizer=WAYS, seed=MANY_SEEDS)
    + jobs_over(data="SST", weight_range=0.1, optimizer=("SGD", "Adagrad"), seed=SEEDS)
    + jobs_over(data="Data I", weight_range=0.1, optimizer=("SGD", "SGD, momentum 0.9"), seed=MANY_SEEDS)
    + jobs_over(data="Data I", weight_range=0.1, optimizer=("Adagrad", "Adam"), seed=SEEDS),
    rows=1,
)
def law_drift(data: str, weight_range: float, optimizer: str, seed: int) -> list[dict]:
    """How far each law of gradient flow is from what an optimizer does, in float64 at λ = 10.

    "Σρ": the largest |Σρ|/Σ|ρ| at any look. "λ": scores of the model without λ, V's rate divided by λ², against this
    one's, in units of the largest; "λ, by λ": the rate (a decay: as well) divided by λ alone. "Q": the drift of
    EᵀE − VVᵀ − WWᵀ over what its two parts moved; "Q, decay": after the decay that a weight decay gives it. "V·W": its
    path against the sum of its law over the steps, in units of how far it went; "V·W, decay": with the decay in the
    law; "V·W, free": with the best clock. "mean field" and "mean field, free": as :func:`mean_field_errors`, on Data I,
    whose words are of three kinds. Times are those of plain descent, learning rate × steps / (1 − momentum).
    """
    dataset, way = range_data(data), WAYS[optimizer]
    types, corpus = examined_types(dataset), dataset.train
    config = config_of(way, data, weight_range, seed)
    shape = {"dimension": 100 if data == "SST" else 50, "weight_range": weight_range}
    initial = partial(initial_model, dataset, seed=seed, dtype=torch.float64, **shape)
    model, kinds = initial(lam=LAM), list(types.values())
    first, before, trainers, looks = initial(lam=LAM), factors(model), [], []

    def trainer(*given) -> Watched:
        trainers.append(Watched(*given, way))
        return trainers[0]

    def look(epoch: int, model: AttentionClassifier) -> dict:
        if epoch % -(-config.epochs // LOOKS) == 0 or epoch == config.epochs:
            foretold = dict(zip(("law", "law, decay"), trainers[0].foretold))
            sums = {"Σρ": balance_of_rho(model, corpus, config), "V·W": dot_product(model)}
            looks.append({"step": trainers[0].step} | foretold | sums | type_means(model, types))
        return {}

    run = fit(model, dataset, config, look, trainer, progress=False)
    path, clock = pd.DataFrame(looks), config.learning_rate / (1 - way.momentum)
    moved, laws = path["V·W"] - path["V·W"].iloc[0], path[["law", "law, decay"]]
    free = (moved @ laws["law"]) / (laws["law"] @ laws["law"])

    def missed(foretold) -> float:
        return float((moved - foretold).abs().max() / moved.abs().max())

    gained = [now - then for now, then in zip(factors(model), before)]
    size = sum(float(part.norm()) for part in gained)
    kept = (1 - config.learning_rate * way.decay) ** (2 * int(path["step"].iloc[-1]))
    now, then = (one - other for one, other in (factors(model), before))
    clocked = unclocked = np.nan
    if data != "SST":
        means = MeanField.from_corpus(corpus, kinds)
        begin, times = means.start(first, kinds), path["step"].to_numpy() * clock
        clocked, unclocked = mean_field_errors(means, begin, path, types, times)
    return [
        {
            "steps": int(path["step"].iloc[-1]),
            "time": float(path["step"].iloc[-1] * clock),
            "loss": run.history["loss"].iloc[-1],
            "Σρ": path["Σρ"].max(),
            "λ": relative_difference(model, rescaled(initial, dataset, way, config, 2)),
            "λ, by λ": relative_difference(model, rescaled(initial, dataset, way, config, 1)),
            "Q": float((now - then).norm()) / size,
            "Q, decay": float((now / kept - then).norm()) / size,
            "V·W": missed(clock * laws["law"]),
            "V·W, decay": missed(clock * laws["law, decay"]),
            "V·W, free": missed(free * laws["law"]),
            "mean field": clocked,
            "mean field, free": unclocked,
        }
    ]


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
