"""Chapter 14: the classifiers of both sides of the quarrel, their seeds and λ, and all that is measured of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.stats import norm

from uaftc_book import rules
from uaftc_book.neighbours.encoders import default_lam
from uaftc_book.neighbours.measured import all_measures, looked_at
from uaftc_book.neighbours.people import asked
from uaftc_book.neighbours.protocol import classifier_quality, train_classifier
from uaftc_book.neighbours.settings import CHANGED, CROSSED, QUARREL
from uaftc_book.neighbours.yardsticks import agreement, without_integration, yardstick_agreements
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import train_real
from uaftc_lib.experiments.registry import experiment, jobs_over, stored
from uaftc_lib.intervals import CONFIDENCE
from uaftc_lib.locations import PAPER_NAMES, data_home, published
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.settings import MODELS

# In the order in which figures take them, so that each keeps its colour where those at the end are lacking.
ENCODERS = {"DP": "words (DP)", "projection": "projection", "words": "words", "bilstm": "BiLSTM", "DP-L": "LSTM (DP-L)"}
THEIR_NAMES = {"projection": "average", "bilstm": "lstm"}  # of the published table
LAMS = QUARREL.lams
LOO, SPREAD = "tau attention, leave-one-out", "spread attention of leave-one-out"
REST = "spread per attention of leave-one-out"


def usual_lam(model: str) -> float:
    """The λ at which a model is looked at by itself: 10 for those of Table 2, what it amounts to for the others."""
    return 10.0 if model in MODELS else default_lam(*model.split("+"))


def trained_by_protocol(data: Dataset, model: str, lam: float, seed: int) -> tuple[AttentionClassifier, dict]:
    """A model of Table 2 by its protocol ("DP", "DP-L"), or one of Jain & Wallace's by theirs, and how it went."""
    if model in MODELS:
        fitted, run = train_real(data, model=model, lam=lam, seed=seed)
        return fitted, {"best_epoch": run.best_epoch, "early loss": run.history["loss"].iloc[:5].mean()}
    fitted, best_epoch = train_classifier(data, *model.split("+"), lam=lam, seed=seed)
    return fitted, {"best_epoch": best_epoch}


def jobs_of(models: dict[str, int], **settings: Iterable) -> list[dict]:
    """A job for each seed of each model at each value of the settings, the first seeds first."""
    return [
        {"model": model} | dict(zip(settings, values)) | {"seed": seed}
        for seed in range(max(models.values()))
        for model, values in product(models, product(*settings.values()))
        if seed < models[model]
    ]


def jobs() -> list[dict]:
    """Every model at its usual λ, then some of them at every λ, then more at some; in this order they are made."""
    usual = [
        {"dataset": dataset, "model": job["model"], "lam": usual_lam(job["model"]), "seed": job["seed"]}
        for dataset, models in QUARREL.usual.items()
        for job in jobs_of(models)
    ]
    by_lam = [
        {"dataset": dataset} | job for dataset, models in QUARREL.by_lam.items() for job in jobs_of(models, lam=LAMS)
    ]
    more = [{"dataset": "sst"} | job for job in jobs_of(QUARREL.at_ends["sst"], lam=QUARREL.ends)]
    return [dict(job) for job in dict.fromkeys(tuple(job.items()) for job in usual + by_lam + more)]


@experiment(jobs=jobs(), rows=1)
def quarrel(dataset: str, model: str, lam: float, seed: int) -> list[dict]:
    """What a model's attention agrees with, how soon its decisions turn, how free its weights are: on the test set."""
    data = load_dataset(dataset)
    fitted, went = trained_by_protocol(data, model, lam, seed)
    corpus = looked_at(data)
    people = asked(data, corpus, data_home())
    return [went | classifier_quality(fitted, data.test) | all_measures(fitted, corpus, people=people)]


@experiment(jobs=jobs_of(CHANGED.other_initialisations, embedding_range=CHANGED.embedding_ranges), rows=1)
def other_initialisations(model: str, embedding_range: float, seed: int) -> list[dict]:
    """SST: what attention agrees with where the embeddings begin smaller or larger than elsewhere in chapter 14."""
    return [agreement_of(model, seed, embedding_range=embedding_range)]


@experiment(jobs=jobs_of(CHANGED.second_epoch), rows=1)
def second_epoch(model: str, seed: int) -> list[dict]:
    """SST: what attention agrees with where, as in Jain & Wallace's code, no epoch before the second is kept."""
    return [agreement_of(model, seed, earliest=2)]


@experiment(jobs_over(model=CROSSED.models), rows=1)
def seeds_and_texts(model: str) -> list[dict]:
    """SST: how wide the mean agreement is with seeds and texts both drawn, beside the shorter way of chapter 14."""
    data = load_dataset("sst")
    corpus = looked_at(data)
    taus = []
    for seed in range(CROSSED.seeds):
        found, _ = without_integration(trained_by_protocol(data, model, usual_lam(model), seed)[0], corpus)
        taus.append(agreement(found["attention"], found["leave-one-out"], corpus).tau)
    taus = np.array(taus)
    taus = taus[:, np.isfinite(taus).all(0)]
    both, shorter = rules.crossed(taus), by_texts(taus.mean(1), (taus.var(1, ddof=1)).mean() / taus.shape[1])
    return [
        {"seeds": len(taus), "texts": taus.shape[1], "tau": both.mean}
        | {
            f"{name} {end}": getattr(found, end)
            for name, found in (("crossed", both), ("shorter", shorter))
            for end in ("low", "high")
        }
    ]


def agreement_of(model: str, seed: int, **changed: float) -> dict:
    """A model of theirs, trained on SST with something changed: its quality, agreements and largest weight."""
    data = load_dataset("sst")
    fitted, best_epoch = train_classifier(data, *model.split("+"), seed=seed, **changed)
    corpus = looked_at(data)
    found, _ = without_integration(fitted, corpus)
    side = np.where(fitted(corpus).polarity.detach().numpy() > 0, 1, -1)
    largest = np.median(np.maximum.reduceat(found["attention"], corpus.offsets[:-1].numpy()))
    row = {"best_epoch": best_epoch, "texts": len(corpus), "largest weight": float(largest)}
    return row | classifier_quality(fitted, data.test) | yardstick_agreements(found, side, corpus)


def encoder_of(model: str) -> str:
    """ "bilstm+dot" -> "BiLSTM", as the figures call it."""
    return ENCODERS[model.partition("+")[0]]


def seeds_of_model(model: str, lam: float | None = None, dataset: str = "sst") -> pd.DataFrame:
    """The stored seeds of a model, at its usual λ or another."""
    return stored("quarrel", dataset=dataset, model=model, lam=usual_lam(model) if lam is None else lam)


def over_texts(rows: pd.DataFrame, column: str) -> rules.Interval:
    """A mean over texts, and its interval over seeds, made wider by what the texts, shared by all seeds, leave open."""
    return by_texts(rows[column].to_numpy(), (rows[f"{column} sd"] ** 2).mean() / rows["texts"].mean())


def by_texts(means: Float[np.ndarray, "seeds"], variance: float) -> rules.Interval:
    """The interval of the seeds' means, made wider by the variance that the texts leave each of them."""
    return rules.widened(rules.interval(means), norm.ppf((1 + CONFIDENCE) / 2) * np.sqrt(variance))


def printed(quantity: str, model: str, dataset: str = "SST") -> float:
    """What Jain & Wallace's code gave of one of their models; nan of any other."""
    reads, _, keys = model.partition("+")
    table = published("neighbours")
    table = table[table.source.str.startswith("Jain") & (table.dataset == dataset) & (table.quantity == quantity)]
    values = table[table.model == f"{THEIR_NAMES.get(reads)}+{keys}"].value
    return float(values.iloc[0]) if len(values) else np.nan


def explained_by_spread(rows: pd.DataFrame, quantity: str = LOO) -> float:
    """The share of the variance of a τ over some models that a parabola in log σ explains."""
    size = np.log(rows[SPREAD].to_numpy())
    columns = np.column_stack([np.ones_like(size), size, size**2])
    rest = rows[quantity] - columns @ np.linalg.lstsq(columns, rows[quantity])[0]
    return 1 - (rest**2).mean() / rows[quantity].var(ddof=0)


def beyond_words(model: str, lam: float | None = None, words: str = "DP") -> rules.Interval:
    """How far a model's τ on SST lies from that of words at the same spread, between their means by λ."""
    rows, curve = seeds_of_model(model, lam), stored("quarrel", dataset="sst", model=words)
    curve = curve.groupby("lam")[[SPREAD, LOO]].mean().sort_values(SPREAD)
    of_words = np.interp(np.log(rows[SPREAD]), np.log(curve[SPREAD]), curve[LOO])
    return rules.interval(rows[LOO].to_numpy() - of_words)


def by_lam(quantity: str, dataset: str = "sst") -> pd.DataFrame:
    """A quantity of every seed of the models that were trained at every λ: what a figure draws."""
    rows = stored("quarrel", dataset=dataset)
    return drawn(rows[rows.model.isin(QUARREL.by_lam[dataset])], lam="lam", tau=quantity)


def drawn(rows: pd.DataFrame, **columns: str) -> pd.DataFrame:
    """Some columns under other names, and each row's encoder, in the order of figures."""
    found = pd.DataFrame({name: rows[column] for name, column in columns.items()})
    found["encoder"] = pd.Categorical(rows.model.map(encoder_of), [*ENCODERS.values()])
    return found.sort_values("encoder", kind="stable").astype({"encoder": object})


def printed_by_lam(quantity: str, dataset: str = "sst") -> pd.DataFrame:
    """The published values of the same."""
    models = [f"{reads}+dot" for reads in THEIR_NAMES if f"{reads}+dot" in QUARREL.by_lam[dataset]]
    return pd.DataFrame(
        {"lam": usual_lam(one), "tau": printed(quantity, one, PAPER_NAMES[dataset]), "encoder": encoder_of(one)}
        for one in models
    )
