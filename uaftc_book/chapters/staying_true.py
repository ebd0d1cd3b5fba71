"""Chapter 09_staying_true: what objectives that keep states close to their words buy, and what they cost."""

from __future__ import annotations

import numpy as np
import pandas as pd

from uaftc_book.cases import Tables
from uaftc_book.neighbours.jain_wallace import area_under_curve, classifier_quality, default_lam
from uaftc_book.neighbours.measured import LOO, SPREAD, all_measures, looked_at
from uaftc_book.neighbours.people import asked
from uaftc_book.neighbours.settings import ADVERSARY, WORD_LEVEL
from uaftc_book.neighbours.wiegreffe_pinter import both_adversaries, ceiling
from uaftc_book.neighbours.word_level import WordLevelClassifier, kept, train_kind
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over, stored
from uaftc_lib.locations import data_home

# ---
# The classifiers of every objective, their seeds and strengths, and all that is measured of them.


USUAL_LAM = default_lam("bilstm", "tanh")
NAMES = {
    "base": "none",
    "concatenation": "[h; e]",
    "residual": "h + e",
    "tied": "tied",
    "masked": "masked words",
    "diverse": "diverse",
    "orthogonal": "orthogonal",
}
BASE = NAMES["base"]


def variants(dataset: str) -> dict[str, tuple[str, float]]:
    """Name -> kind and strength of all that is looked at on a data set, the base first."""
    strengths = dict.fromkeys(NAMES.keys() - WORD_LEVEL.tried.keys(), 0.0) | WORD_LEVEL.chosen.get(dataset, {})
    kinds = [kind for kind in NAMES if kind in WORD_LEVEL.usual.get(dataset, {}) and kind in strengths]
    found = {NAMES[kind]: (kind, strengths[kind]) for kind in kinds}
    dear = WORD_LEVEL.dear.get(dataset, {})
    return found | {f"{NAMES[kind]}, δ = {strength:g}": (kind, strength) for kind, strength in dear.items()}


def objective_jobs() -> list[dict]:
    """The search, then every seed of what is looked at, then of two layers; in this order."""
    found = [
        {"dataset": dataset, "kind": kind, "strength": strength, "layers": 1, "seed": seed}
        for dataset, seeds in WORD_LEVEL.searched.items()
        for seed in range(seeds)
        for kind, strengths in ({"base": [0.0]} | WORD_LEVEL.tried).items()
        for strength in strengths
    ]
    found += [
        {"dataset": dataset, "kind": kind, "strength": strength, "layers": layers, "seed": seed}
        for layers, wanted in ((1, WORD_LEVEL.usual), (2, WORD_LEVEL.two_layers))
        for dataset, kinds in wanted.items()
        for seed in range(max(kinds.values()))
        for kind, strength in variants(dataset).values()
        if seed < kinds.get(kind, 0)
    ]
    return [dict(job) for job in dict.fromkeys(tuple(job.items()) for job in found)]


@experiment(jobs=objective_jobs(), rows=1)
def word_level(dataset: str, kind: str, strength: float, layers: int, seed: int) -> list[dict]:
    """What a word-level objective does to accuracy, to what attention agrees with, and to what states keep of words."""
    data = load_dataset(dataset)
    return [row_of(data, *train_kind(data, kind, strength, seed, layers))]


@experiment(jobs_over(seed=range(WORD_LEVEL.lam_seeds), lam=WORD_LEVEL.lams), rows=1)
def word_level_lams(lam: float, seed: int) -> list[dict]:
    """SST, a control: the same of the base at other λ, without any objective."""
    data = load_dataset("sst")
    return [row_of(data, *train_kind(data, "base", seed=seed, lam=lam))]


SECOND = [{"objective": name, "seed": s} for name, n in WORD_LEVEL.second.objectives.items() for s in range(n)]


@experiment(SECOND, rows=len(WORD_LEVEL.second.strengths) + len(ADVERSARY.tolerances))
def word_level_adversary(objective: str, seed: int) -> list[dict]:
    """SST: how far a second model gets that is trained to weigh otherwise and answer alike; and what is exact."""
    data = load_dataset("sst")
    kind, strength = variants("sst")[objective]
    model, _ = train_kind(data, kind, strength, seed)
    return both_adversaries(model, data, seed, WORD_LEVEL.second.strengths)


def row_of(data: Dataset, model: WordLevelClassifier, best_epoch: int) -> dict:
    """Everything that is measured of a model here."""
    corpus = looked_at(data)
    row = {"best_epoch": best_epoch, "AUC on dev": area_under_curve(model, data.dev)} | classifier_quality(
        model, data.test
    )
    row |= all_measures(model, corpus, people=asked(data, corpus, data_home()), dear=False) | kept(model, data)
    for bound in ceiling(model, corpus):
        tolerance = bound.pop("tolerance")
        row |= {f"exact {name} at {tolerance}": value for name, value in bound.items()}
    return row


def by_rule(dataset: str, kind: str) -> float:
    """The largest strength tried whose mean AUC on dev is no more than the price below the base's."""
    rows = stored("word_level", dataset=dataset, layers=1)
    rows = rows[rows.seed < WORD_LEVEL.searched[dataset]]
    reached = rows.groupby(["kind", "strength"])["AUC on dev"].mean()
    cheap = reached[kind][reached[kind] >= reached["base", 0.0] - WORD_LEVEL.price]
    return float(cheap.index.max())


def seeds_of_variant(name: str, dataset: str = "sst", layers: int = 1, tables: Tables | None = None) -> pd.DataFrame:
    """The stored seeds of a variant."""
    kind, strength = variants(dataset)[name]
    where = {"dataset": dataset, "kind": kind, "strength": strength, "layers": layers}
    return by_seed((tables or stored)("word_level", **where))


def rows_at(lam: float, tables: Tables | None = None) -> pd.DataFrame:
    """The stored seeds of the control, the base at a λ, on SST."""
    if lam == USUAL_LAM:
        return seeds_of_variant(BASE, tables=tables)
    return by_seed((tables or stored)("word_level_lams", lam=lam))


def by_seed(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows under their seeds; where there are none, as they are."""
    return rows.set_index("seed").sort_index() if len(rows) else rows


def changed(rows: pd.DataFrame, column: str, dataset: str = "sst", layers: int = 1) -> pd.Series:
    """What a number of some seeds is above that of the same seeds of the base."""
    return (rows[column] - seeds_of_variant(BASE, dataset, layers)[column]).dropna()


def beyond_spread(rows: pd.DataFrame, tables: Tables | None = None) -> pd.Series:
    """How far τ of some seeds on SST lies above what the base of the same seed has at the same spread of scores.

    That is read off a line in the logarithm of the spread, through the base's models of this seed at the λ of the grid;
    nan where fewer than three were run.
    """
    base = pd.concat(rows_at(lam, tables)[[SPREAD, LOO]] for lam in (*WORD_LEVEL.lams, USUAL_LAM))
    above = {}
    for seed, row in rows[[SPREAD, LOO]].iterrows():
        own = base[base.index == seed]
        if len(own) > 2:
            slope, level = np.polyfit(np.log(own[SPREAD]), own[LOO], 1)
            above[seed] = row[LOO] - level - slope * np.log(row[SPREAD])
    return pd.Series(above, dtype=float)
