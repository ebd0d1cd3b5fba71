"""Scores where the training labels mean nothing, on lists from other texts, and among words of equal frequency."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor

from uaftc_book.controls import halves, held_out_types, with_permuted_labels
from uaftc_book.nulls import at_losses
from uaftc_book.panels import tilt, weight_frame
from uaftc_book.small_data import SEEDS
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import table2_cell, train_real
from uaftc_lib.experiments.registry import experiment, jobs_over, stored
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types, auc_of, examined_types, score_frame, type_means
from uaftc_lib.token_lists import token_types
from uaftc_lib.training import fit

LOSSES = (0.5, 0.3, 0.2)  # mean training losses at which runs are compared
LONGER = 3  # times as many epochs for permuted labels, which are learnt later
PAIRS = (("positive", "neutral"), ("negative", "neutral"), ("negative", "positive"))
RATIO = 1.25  # of the counts of two words that are paired, at most
FREQUENT = 200  # words, that is more than half of the running text
# Data set, model, λ, permutations.
PANELS = [("sst", "DP", 10.0, 40), ("sst", "DP", 100.0, 40), ("20news-1", "DP", 10.0, 40), ("sst", "AD", 10.0, 20)]
PANELS += [("sst", "DP-A", 10.0, 20), ("imdb", "DP", 10.0, 40)]
JOBS = [
    {"dataset": dataset, "model": model, "lam": lam, "labels": labels, "seed": seed}
    for dataset, model, lam, permutations in PANELS
    for labels, seeds in (("real", SEEDS), ("half", SEEDS), ("permuted", range(permutations)))
    for seed in seeds
]


def matched_types(types: Types, corpus: Corpus, vocabulary_size: int) -> dict[str, Int[Tensor, "kept"]]:
    """The lists, less every word that has no partner of about its frequency on the other side.

    Each polar word, the most frequent first, takes the neutral word of the nearest count that is still free, if
    their counts differ by a factor of :data:`RATIO` at most.
    """
    counts = torch.bincount(corpus.tokens, minlength=vocabulary_size)
    free = types["neutral"][counts[types["neutral"]].argsort(stable=True)].tolist()
    sizes = np.log(counts[torch.tensor(free, dtype=torch.long)].double().numpy()).tolist()
    kept: dict[str, list[int]] = {name: [] for name in types}
    polar = [(int(counts[i]), name, i) for name, ids in types.items() if name != "neutral" for i in ids.tolist()]
    for count, name, i in sorted(polar, key=lambda word: (-word[0], word[2])):
        place = int(np.searchsorted(sizes, np.log(count)))
        beside = [k for k in (place - 1, place) if 0 <= k < len(sizes)]
        near = min(beside, key=lambda k: abs(sizes[k] - np.log(count)), default=None)
        if near is not None and abs(sizes[near] - np.log(count)) <= np.log(RATIO):
            kept[name].append(i)
            kept["neutral"].append(free.pop(near))
            sizes.pop(near)
    return {name: torch.tensor(sorted(ids), dtype=torch.long) for name, ids in kept.items()}


def world(dataset: Dataset, labels: str, seed: int) -> tuple[Dataset, dict[str, Types]]:
    """What is trained on, and the lists on which scores are then compared."""
    if labels == "half":
        half, other = halves(dataset, seed)
        return half, {"training": examined_types(half), "held out": token_types(other, dataset.vocabulary)}
    if labels == "permuted":
        dataset = with_permuted_labels(dataset, seed)
    types = examined_types(dataset)
    lists = {"training": types, "matched": matched_types(types, dataset.train, len(dataset.vocabulary))}
    return dataset, lists | ({"held out": held_out_types(dataset)} if labels == "real" else {})


def aucs_of_types(scores: pd.DataFrame) -> dict[str, float]:
    """How well attention tells each two of the three kinds of words apart."""
    return {f"AUC {high} over {low}": auc_of(scores, "attention", high, low) for high, low in PAIRS}


def score_measures(model: AttentionClassifier, dataset: Dataset, types: Types) -> dict[str, float]:
    """Means of scores, how well kinds of words separate by them, V·W; of DP the median weight in the test set."""
    scores = score_frame(model, dataset, types)
    row = type_means(model, types) | {"V·W": tilt(model)} | aucs_of_types(scores)
    row["AUC polarity"] = auc_of(scores, "polarity", "positive", "negative")
    if model.recurrent is None and model.M is None:
        weights = weight_frame(model, dataset, types)
        medians = weights.groupby("type")["weight"].median()
        row |= {f"weight {name}": medians.get(name) for name in types}
    return row | {f"{name} words": len(ids) for name, ids in types.items()}


@experiment(jobs=JOBS)
def null_controls(dataset: str, model: str, lam: float, labels: str, seed: int) -> list[dict]:
    """Scores by lists under real and permuted training labels: at the kept epoch, at equal epochs and losses."""
    data, lists = world(load_dataset(dataset), labels, seed)
    cell = table2_cell(dataset, model, lam, seed)
    usual = cell.epochs
    cell = replace(cell, epochs=usual * (LONGER if labels == "permuted" else 1))
    classifier = cell.classifier(data, "cpu")
    seen: list[dict[str, dict]] = []

    def look(_epoch: int, now: AttentionClassifier) -> dict:
        seen.append({name: score_measures(now, data, types) for name, types in lists.items()})
        return {}

    history = fit(classifier, data, cell.training(), record=look).history
    kept = int(history["dev_accuracy"].iloc[: usual + 1].idxmax())
    moments = {"kept": kept, f"epoch {usual // 4}": usual // 4, f"epoch {usual}": usual}
    moments |= at_losses(history["loss"], LOSSES)
    return [
        {"lists": name, "moment": moment, "epoch": epoch}
        | {"loss": history["loss"][epoch], "dev_accuracy": history["dev_accuracy"][epoch]}
        | row
        for moment, epoch in moments.items()
        for name, row in seen[epoch].items()
    ]


def at_loss(
    data: Dataset, labels: str, seed: int, look: Callable[[AttentionClassifier], dict]
) -> tuple[int, float, dict]:
    """DP on SST at λ = 10: the first epoch whose training loss is below the least level, its loss, what is seen then.

    Raises
    ------
    ValueError
        If no epoch reaches it.
    """
    usual, level, seen = table2_cell("sst", lam=10.0, seed=seed), min(LOSSES), []
    cell = replace(usual, epochs=60 if labels == "permuted" else 30)  # all have reached it by then

    def record(_epoch: int, now: AttentionClassifier) -> dict:
        seen.append(look(now))
        return {}

    losses = fit(cell.classifier(data, "cpu"), data, cell.training(), record=record).history["loss"]
    epoch = int((losses <= level).idxmax())
    if not losses[epoch] <= level:
        raise ValueError(f"{labels} {seed}: no epoch of {cell.epochs} reaches a loss of {level:g}")
    return epoch, float(losses[epoch]), seen[epoch]


@experiment(jobs_over(seed=SEEDS), rows=FREQUENT)
def frequent_words(seed: int) -> list[dict]:
    """SST at λ = 10: both scores of each of the most frequent words, and the list on which it stands, if on one."""
    data = load_dataset("sst")
    model, _ = train_real(data, seed=seed)
    scores = model.token_scores()
    lists = {i: name for name, ids in examined_types(data).items() for i in ids.tolist()}
    return [
        {
            "word": data.vocabulary.word(i),
            "list": lists.get(i, "none"),
            "attention": float(scores.attention[i]),
            "polarity": float(scores.polarity[i]),
        }
        for i in range(FREQUENT)
    ]


def outspoken() -> pd.DataFrame:
    """Frequent words of SST on no list whose vote is, with every seed, stronger than that of a listed word on average.

    A row a word, by falling mean: the least, greatest and mean polarity over the stored seeds.
    """
    where = {"dataset": "sst", "model": "DP", "lam": 10.0, "labels": "real", "lists": "training", "moment": "kept"}
    listed, words = stored("null_controls", **where), stored("frequent_words", list="none")
    votes = words.groupby("word", sort=False)["polarity"].agg(["min", "max", "mean"])
    loud = (votes["min"] > listed["polarity positive"].mean()) | (votes["max"] < listed["polarity negative"].mean())
    return votes[loud].sort_values("mean", ascending=False)
