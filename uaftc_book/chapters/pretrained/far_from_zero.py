"""What becomes of the dynamics, of the band and of the law of the gap when E starts far from zero: the runs."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import product

import pandas as pd
import torch

from uaftc_book.chapters.attention_dynamics import sst_config
from uaftc_book.chapters.exact_dynamics import growing_vector
from uaftc_book.chapters.pretrained.initialisations import INITIALISATIONS, carried_shares, from_book
from uaftc_book.chapters.scores import human_agreement, score_row
from uaftc_book.panels import score_rows, tilt
from uaftc_book.small_data import SEEDS, by_kind, ends
from uaftc_lib import dynamics
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.dynamics.laws import admissible_band
from uaftc_lib.dynamics.ledger import fit_with_ledger
from uaftc_lib.experiments.paper_models import table2_cell
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types, examined_types, score_frame
from uaftc_lib.training import fit

DATASETS = ("sst", "20news-1")
CLAIMED, OTHER_LAMS = (10.0, 100.0), (1.0, 0.1, 10000.0)  # λ of the claims; those that show the band
FEWER = ("random", "long random", "dealt out", "vectors")
MIRRORS = {"as drawn": (1, 1), "−V": (-1, 1), "−W": (1, -1), "−V −W": (-1, -1)}  # the signs of V and W


def far_model(dataset: Dataset, initialisation: str, lam: float, seed: int, **options) -> AttentionClassifier:
    """A DP of the paper's size, with E from an initialisation."""
    vectors = from_book(initialisation, dataset, seed)
    return AttentionClassifier(len(dataset.vocabulary), lam=lam, vectors=vectors, seed=seed, **options)


@experiment(
    jobs_over(seed=SEEDS, dataset=DATASETS, initialisation=INITIALISATIONS, optimizer=("Adagrad", "SGD"), lam=10.0),
    rows=1,
)
def far_terms(dataset: str, initialisation: str, optimizer: str, lam: float, seed: int) -> list[dict]:
    """From each initialisation of E, without dropout: π, ρ and what A to F have added, means over words of each kind.

    In the form of "sst_terms": π and ρ are the mean of looks after every epoch. With what V and W brought alone.
    """
    data, looks = load_dataset(dataset), []
    types, model = examined_types(data), far_model(data, initialisation, lam, seed, dtype=torch.float64)
    first = deepcopy(model)

    def look(epoch: int, model: AttentionClassifier) -> dict:
        if epoch:
            sums = dynamics.token_sums(model, data.train)
            looks.append(by_kind({"π": sums.pi, "ρ": sums.rho}, types))
        return {}

    only = replace(data, dev=None, test=None)
    run, ledgers = fit_with_ledger(model, only, sst_config(optimizer, seed), look)
    names = {name: name for name in "ABCDEF"} | {"rest of s": "polarity_remainder", "rest of a": "attention_remainder"}
    added = by_kind({name: getattr(ledgers[-1], entry) for name, entry in names.items()}, types)
    seen = pd.DataFrame(looks).mean().to_dict() | {"loss": run.history["loss"].iloc[-1]}
    return [seen | added | ends(model, types) | carried_shares(first, model, types)]


@experiment(
    jobs=[
        {"dataset": data, "initialisation": initialisation, "optimizer": optimizer, "lam": lam, "seed": seed}
        for data, optimizer, lam in (
            ("sst", "Adagrad", 10.0),
            ("20news-1", "Adagrad", 10.0),
            ("sst", "Adagrad", 100.0),
            ("sst", "SGD", 10.0),
        )
        for seed, initialisation in product(SEEDS, INITIALISATIONS)
    ],
    rows=len(MIRRORS),
)
def far_pairs(dataset: str, initialisation: str, optimizer: str, lam: float, seed: int) -> list[dict]:
    """From each initialisation of E, V₀ and W₀ as drawn and with other signs: the gap, and V₀·(the W that grows)."""
    data = load_dataset(dataset)
    types, only, rows = examined_types(data), replace(data, dev=None, test=None), []
    for mirror, signs in MIRRORS.items():
        model = far_model(data, initialisation, lam, seed)
        with torch.no_grad():
            for parameter, sign in zip((model.V, model.W), signs):
                parameter *= sign
        V, W, growing = model.V.detach().clone(), model.W.detach(), growing_vector(model, data.train)
        told = {"V₀·W₀": float(V @ W), "V₀·growing": float(V @ growing), "‖W₀‖": float(W.norm())}
        told |= {"‖growing‖": float(growing.norm()), "initial gap": ends(model, types)["gap"]}
        run = fit(model, only, sst_config(optimizer, seed), progress=False)
        rows.append({"mirror": mirror} | told | ends(model, types) | {"loss": run.history["loss"].iloc[-1]})
    return rows


def middle_of_band(model: AttentionClassifier, dataset: Dataset, types: Types) -> dict[str, float]:
    """The ends of the band of λ (:func:`admissible_band`): their medians over polar words."""
    polar = torch.cat([types["positive"], types["negative"]])
    found = admissible_band(model, dataset.train)._asdict()
    return {f"{name} end": float(values[polar].nanmedian()) for name, values in found.items()}


def score_jobs() -> list[dict]:
    """SST at the λ of the claims, with and without the penalty, other λ, then 20News I; from four initialisations."""
    cells = [("sst", CLAIMED, (0.0, 1e-4)), ("sst", OTHER_LAMS, (0.0,)), ("20news-1", CLAIMED + OTHER_LAMS, (0.0,))]
    return [
        job
        for data, lams, penalties in cells
        for job in jobs_over(dataset=data, lam=lams, penalty=penalties, seed=SEEDS, initialisation=FEWER)
    ]


@experiment(jobs=score_jobs(), rows=1)
def far_scores(dataset: str, initialisation: str, lam: float, penalty: float, seed: int) -> list[dict]:
    """The paper's training from each initialisation of E: scores and accuracies, gap, lead, the band before and after.

    In the form of "sst_scores"; of 20News I without what people say of words.
    """
    data = load_dataset(dataset)
    types, cell = examined_types(data), table2_cell(dataset, lam=lam, penalty=penalty, seed=seed)
    model = cell.classifier(data, "cpu", vectors=from_book(initialisation, data, seed))
    first = deepcopy(model)
    run = fit(model, data, cell.training(), progress=False)
    row = score_row(model, run, score_frame(model, data, types), types) | ends(model, types)
    row |= {f"initial {name}": value for name, value in middle_of_band(first, data, types).items()}
    row |= middle_of_band(model, data, types) | carried_shares(first, model, types)
    return [row | (human_agreement(model, data) if dataset == "sst" else {})]


@experiment(
    jobs=[
        {"dataset": data, "model": "DP", "lam": lam, "initialisation": initialisation, "seed": seed}
        for seed, (data, lam), initialisation in product(
            SEEDS, (("sst", 10.0), ("sst", 100.0), ("20news-1", 10.0)), INITIALISATIONS
        )
    ],
    rows=12,
)
def far_panels(dataset: str, model: str, lam: float, initialisation: str, seed: int) -> list[dict]:
    """In the form of "figure_scores": distributions of scores and weights by kind of word, by initialisation."""
    data, cell = load_dataset(dataset), table2_cell(dataset, model=model, lam=lam, seed=seed)
    classifier = cell.classifier(data, "cpu", vectors=from_book(initialisation, data, seed))
    fit(classifier, data, cell.training(), progress=False)
    return [row | {"V·W": tilt(classifier)} for row in score_rows(classifier, data, examined_types(data))]
