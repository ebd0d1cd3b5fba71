"""Chapter 14: the classifiers of both sides of the quarrel, their seeds and λ, and all that is measured of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from uaftc_lib.book import rules
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, stored
from uaftc_lib.experiments.table2 import train_real
from uaftc_lib.locations import PAPER_NAMES, data_home, published
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.neighbours.encoders import default_lam
from uaftc_lib.neighbours.measured import looked_at, measured
from uaftc_lib.neighbours.people import rated
from uaftc_lib.neighbours.protocol import quality, train
from uaftc_lib.neighbours.settings import LATER, QUARREL, STARTS
from uaftc_lib.neighbours.yardsticks import agreements, without_integration
from uaftc_lib.settings import MODELS

ENCODERS = {"DP": "words (DP)", "DP-L": "LSTM (DP-L)", "words": "words", "projection": "projection", "bilstm": "BiLSTM"}
THEIR_NAMES = {"projection": "average", "bilstm": "lstm"}  # of the published table
LAMS = QUARREL.lams


def usual_lam(model: str) -> float:
    """The λ at which a model is looked at by itself: 10 for those of Table 2, what it amounts to for the others."""
    return 10.0 if model in MODELS else default_lam(*model.split("+"))


def trained(data: Dataset, model: str, lam: float, seed: int) -> tuple[AttentionClassifier, dict]:
    """A model of Table 2 by its protocol ("DP", "DP-L"), or one of Jain & Wallace's by theirs, and how it went."""
    if model in MODELS:
        fitted, run = train_real(data, model=model, lam=lam, seed=seed)
        return fitted, {"best_epoch": run.best_epoch, "early loss": run.history["loss"].iloc[:5].mean()}
    fitted, best_epoch = train(data, *model.split("+"), lam=lam, seed=seed)
    return fitted, {"best_epoch": best_epoch}


def jobs() -> list[dict]:
    """Every model at its usual λ, then some of them at every λ; in this order they are made."""
    made = [
        {"dataset": dataset, "model": model, "lam": lam, "seed": seed}
        for seeds_of, lams_of in (
            (QUARREL.usual, lambda model: [usual_lam(model)]),
            (QUARREL.by_lam, lambda _: QUARREL.lams),
        )
        for dataset, models in seeds_of.items()
        for model, seeds in models.items()
        for lam, seed in product(lams_of(model), range(seeds))
    ]
    return [dict(one) for one in dict.fromkeys(tuple(job.items()) for job in made)]


@experiment(jobs=jobs(), rows=1)
def quarrel(dataset: str, model: str, lam: float, seed: int) -> list[dict]:
    """What a model's attention agrees with, how soon its decisions turn, how free its weights are: on the test set."""
    data = load_dataset(dataset)
    fitted, went = trained(data, model, lam, seed)
    corpus, people = looked_at(data), None
    if dataset == "sst":
        counts = data.train.tokens.bincount(minlength=len(data.vocabulary)).numpy()
        people = rated(corpus, data.vocabulary, data_home()), counts
    return [went | quality(fitted, data.test) | measured(fitted, corpus, people=people)]


@experiment(
    jobs=[
        {"model": model, "embedding_range": start, "seed": seed}
        for model, seeds in STARTS.models.items()
        for start, seed in product(STARTS.embedding_ranges, range(seeds))
    ],
    rows=1,
)
def other_starts(model: str, embedding_range: float, seed: int) -> list[dict]:
    """SST: what attention agrees with where the embeddings begin smaller or larger than elsewhere in chapter 14."""
    return [agreement_of(model, seed, embedding_range=embedding_range)]


@experiment(
    jobs=[{"model": model, "seed": seed} for model, seeds in LATER.models.items() for seed in range(seeds)], rows=1
)
def second_epoch(model: str, seed: int) -> list[dict]:
    """SST: what attention agrees with where, as in Jain & Wallace's code, no epoch before the second is kept."""
    return [agreement_of(model, seed, earliest=2)]


def agreement_of(model: str, seed: int, **changed: float) -> dict:
    """A model of theirs, trained on SST with something changed: its quality, agreements and largest weight."""
    data = load_dataset("sst")
    fitted, best_epoch = train(data, *model.split("+"), seed=seed, **changed)
    corpus = looked_at(data)
    found, _ = without_integration(fitted, corpus)
    side = np.where(fitted(corpus).polarity.detach().numpy() > 0, 1, -1)
    largest = np.median(np.maximum.reduceat(found["attention"], corpus.offsets[:-1].numpy()))
    row = {"best_epoch": best_epoch, "texts": len(corpus), "largest weight": float(largest)}
    return row | quality(fitted, data.test) | agreements(found, side, corpus)


def encoder_of(model: str) -> str:
    """ "bilstm+dot" -> "BiLSTM", as the figures call it."""
    return ENCODERS[model.partition("+")[0]]


def rows_of(model: str, lam: float | None = None, dataset: str = "sst") -> pd.DataFrame:
    """The stored seeds of a model, at its usual λ or another."""
    return stored("quarrel", dataset=dataset, model=model, lam=usual_lam(model) if lam is None else lam)


def over_texts(rows: pd.DataFrame, column: str) -> rules.Interval:
    """A mean over texts, and its interval over seeds, made wider by what the texts, shared by all seeds, leave open."""
    found = rules.interval(rows[column].to_numpy())
    texts = 1.96 * np.sqrt((rows[f"{column} sd"] ** 2).mean() / rows["texts"].mean())
    half = np.hypot(found.mean - found.low, texts)
    return rules.Interval(found.mean, found.mean - half, found.mean + half, found.n)


def printed(quantity: str, model: str, dataset: str = "SST") -> float:
    """What Jain & Wallace's code gave of one of their models; nan of any other."""
    reads, _, keys = model.partition("+")
    table = published("neighbours")
    table = table[table.source.str.startswith("Jain") & (table.dataset == dataset) & (table.quantity == quantity)]
    values = table[table.model == f"{THEIR_NAMES.get(reads)}+{keys}"].value
    return float(values.iloc[0]) if len(values) else np.nan


def by_lam(quantity: str, dataset: str = "sst") -> pd.DataFrame:
    """A quantity of every seed of the models that were trained at every λ: what a figure draws."""
    rows = stored("quarrel", dataset=dataset)
    rows = rows[rows.model.isin(QUARREL.by_lam[dataset])]
    return pd.DataFrame({"lam": rows.lam, "tau": rows[quantity], "encoder": rows.model.map(encoder_of)})


def printed_by_lam(quantity: str, dataset: str = "sst") -> pd.DataFrame:
    """The published values of the same."""
    models = [f"{reads}+dot" for reads in THEIR_NAMES if f"{reads}+dot" in QUARREL.by_lam[dataset]]
    return pd.DataFrame(
        {"lam": usual_lam(one), "tau": printed(quantity, one, PAPER_NAMES[dataset]), "encoder": encoder_of(one)}
        for one in models
    )
