"""Structured self-attention (Lin et al. 2017) at full size: how many hops, how strong a penalty, and what hops do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from uaftc_book.chapters.words_and_classes import hop_measures as measures
from uaftc_book.controls import with_permuted_labels
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.explain.contributions import by_hop
from uaftc_lib.models import Output, StructuredClassifier, sum_by_instance
from uaftc_lib.training import Run, TrainingConfig, fit


@dataclass(frozen=True)
class Grid:
    """What is trained. The encoder is an LSTM in both directions; λ = 1, as Lin et al. divide by nothing."""

    datasets: tuple[str, ...] = ("sst", "20news-2")
    hops: tuple[int, ...] = (1, 3, 10, 30)
    penalties: tuple[float, ...] = (0.0, 0.03, 1.0)
    seeds: int = 3
    chosen_seeds: int = 10  # of the chosen model, of the same with projections, and of one hop without a penalty
    dimension: int = 100
    hidden: int = 50  # of each direction
    lam: float = 1.0
    permutations: int = 200  # of the hops of every text, for what chance gives
    words: int = 8  # told of a hop
    least_texts: int = 5  # of the test set that must hold such a word


GRID = Grid()
# Data set -> hops and penalty: of several hops the simplest whose mean dev accuracy on the stored grid lies within one
# standard error of the best (Breiman et al. 1984); fewer hops are simpler, then a smaller penalty. Tests recompute it.
CHOSEN: dict[str, dict[str, float]] = {"sst": {"hops": 3, "penalty": 0.0}, "20news-2": {"hops": 10, "penalty": 0.0}}
EPOCHS = {0.0: 4, 0.03: 4, 1.0: 8}  # of each penalty: where it is strong the hops part first, the classes come late
CONFIG = {"optimizer": "adam", "learning_rate": 0.003, "batch_size": 50, "dropout": 0.5}


def structured_jobs(chosen: dict[str, dict[str, float]] = CHOSEN) -> list[dict]:
    """The grid, first seeds first; then more seeds of what is chosen, of it with projections, and of one hop."""
    run = {"dataset": GRID.datasets, "hops": GRID.hops, "penalty": GRID.penalties, "projections": False}
    grid = jobs_over(seed=range(GRID.seeds), **run)
    further = [
        {"dataset": dataset, **settings, "projections": projections, "seed": seed}
        for seed, (dataset, one) in product(range(GRID.chosen_seeds), chosen.items())
        for settings, projections in ((one, False), (one, True), ({"hops": 1, "penalty": 0.0}, False))
    ]
    return [dict(job) for job in dict.fromkeys(tuple(job.items()) for job in grid + further)]


def untrained_model(data: Dataset, hops: int, projections: bool, seed: int) -> StructuredClassifier:
    """A model of the grid before its first step."""
    sizes = {"hidden": GRID.hidden, "classes": len(data.classes)}
    options = {"encoder": "lstm", "hops": hops, "projections": projections, "seed": seed} | sizes
    return StructuredClassifier(len(data.vocabulary), GRID.dimension, GRID.lam, **options)


def trained_model(
    data: Dataset, hops: int, penalty: float, projections: bool, seed: int, **changed: int
) -> tuple[StructuredClassifier, Run]:
    """A model of the grid, left at the epoch of the best dev accuracy; ``changed``: the number of its epochs."""
    model = untrained_model(data, hops, projections, seed)
    config = TrainingConfig(**({"epochs": EPOCHS[penalty]} | CONFIG | changed), penalty=penalty, seed=seed)
    return model, fit(model, data, config, progress=False)


def share_correct(out: Output, corpus: Corpus) -> float:
    """The share of instances whose class has the largest logit."""
    said = out.polarity.argmax(1) if out.polarity.dim() > 1 else (out.polarity > 0).long()
    return float((said == corpus.labels).double().mean())


def groupings(data: Dataset, corpus: Corpus) -> dict[str, Int[Tensor, "positions"]]:
    """Each position's word, kind of word and place in its text."""
    kind = measures.kinds(data)[1]
    return {"word": corpus.tokens, "kind": kind[corpus.tokens], "place": measures.places(corpus)}


@torch.no_grad()
def looked_into(model: StructuredClassifier, data: Dataset, permutations: int = GRID.permutations) -> dict[str, float]:
    """How alike the hops are on the test set, what each has of its own, and how often a single one is right there."""
    out = model(data.test)
    row = measures.hops_alike(out.scores, out.weights, data.test)
    for name, group in groupings(data, data.test).items():
        found = measures.specialisation(out.weights, group, data.test, permutations)
        row |= {f"{name}, {what}": value for what, value in found.items()}
    alone = [share_correct(hop, data.test) for hop in by_hop(out, data.test)]
    return row | {"best hop alone": max(alone), "mean hop alone": float(np.mean(alone)), "worst hop alone": min(alone)}


def before(model: StructuredClassifier, data: Dataset) -> dict[str, float]:
    """What of :func:`looked_into` an untrained model has already: hops that were drawn apart are not alike."""
    row = looked_into(model, data, permutations=0)
    names = ("correlation of weights", "correlation of scores", "word, bits", "kind, bits", "place, bits")
    return {f"initial {name}": row[name] for name in names}


@experiment(structured_jobs(), rows=1)
def structured(dataset: str, hops: int, penalty: float, projections: bool, seed: int) -> list[dict]:
    """Structured self-attention on all texts: quality, how alike its hops are, what they specialise in."""
    data = load_dataset(dataset)
    model, run = trained_model(data, hops, penalty, projections, seed)
    told = {"dev_accuracy": run.dev_accuracy, "test_accuracy": run.test_accuracy, "best_epoch": run.best_epoch}
    told |= {"early loss": run.history["loss"].iloc[0]} | looked_into(model, data)
    return [told | before(untrained_model(data, hops, projections, seed), data)]


@torch.no_grad()
def of_hops(model: StructuredClassifier, data: Dataset) -> list[dict]:
    """A row for each hop: how often right alone, how diffuse, its weight by kind of word, and the words it prefers.

    "class" is that whose listed words it weighs most. It prefers a word by how much more weight it gives it, on
    average, than all hops do, per occurrence and in units of an even weight; a word must stand in some test texts.
    """
    corpus, out = data.test, model(data.test)
    weights, types = out.weights.double(), len(data.vocabulary)
    names, kind = measures.kinds(data)
    by_kind = sum_by_instance(weights, kind[corpus.tokens], len(names)) / len(corpus)
    even = weights * corpus.lengths[corpus.instance_of].unsqueeze(1)
    counts = torch.bincount(corpus.tokens, minlength=types).unsqueeze(1)
    lift = sum_by_instance(even, corpus.tokens, types) / counts.clamp(min=1)
    texts = torch.bincount(torch.unique(corpus.instance_of * types + corpus.tokens) % types, minlength=types)
    known = (texts >= GRID.least_texts) & (torch.arange(types) < data.vocabulary.word_count)
    rows = []
    for r, hop in enumerate(by_hop(out, corpus)):
        leading = measures.above(lift[:, r] - lift.mean(1), known, GRID.words)
        of_class = by_kind[: len(data.classes), r]
        row = {
            "hop": r,
            "alone": share_correct(hop, corpus),
            "entropy": measures.hops_alike(hop.scores.unsqueeze(1), hop.weights.unsqueeze(1), corpus)["entropy"],
            "class": names[int(of_class.argmax())],
            "weight, words of it": float(of_class.max()),
            "weight, words of a class": float(of_class.sum()),
            **{f"weight, {name}": float(by_kind[k, r]) for k, name in enumerate(names) if k >= len(data.classes)},
            "words": " ".join(data.vocabulary.word(i) for i in leading.tolist()),
        }
        rows.append(row)
    return rows


@experiment(jobs_over(dataset=CHOSEN, seed=range(GRID.seeds)))
def hop_words(dataset: str, seed: int) -> list[dict]:
    """The chosen model of several hops: what each of them looks at."""
    data = load_dataset(dataset)
    return of_hops(trained_model(data, **CHOSEN[dataset], projections=False, seed=seed)[0], data)


@experiment(jobs_over(seed=range(GRID.seeds), dataset=CHOSEN), rows=1)
def structured_permuted(dataset: str, seed: int) -> list[dict]:
    """A control: the chosen model on training texts whose labels mean nothing, left at its last epoch."""
    data = load_dataset(dataset)
    mixed = replace(with_permuted_labels(data, seed), dev=None)
    model, run = trained_model(mixed, **CHOSEN[dataset], projections=False, seed=seed)
    return [{"test_accuracy": run.test_accuracy, "best_epoch": run.best_epoch} | looked_into(model, data)]
