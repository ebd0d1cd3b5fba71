"""The supplement's panels of scores, and both of 20News II, where the training labels mean nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import pandas as pd
from torch import Tensor

from uaftc_book.chapters.scores.null_controls import matched_types
from uaftc_book.controls import held_out_types, with_permuted_labels
from uaftc_book.small_data import SEEDS
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import table2_cell
from uaftc_lib.experiments.registry import experiment
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types, auc_of, examined_types, score_frame
from uaftc_lib.training import TrainingConfig, choose_trainer, fit

LOSSES = (0.5, 0.2)  # mean training losses at which runs are compared
LOWEST = f"loss {min(LOSSES):g}"
LONGER = 3  # times as many epochs for permuted labels that are not learnt by then
PERMUTATIONS = range(20)
PANELS = [("sst", "DP-A", 20.0), ("imdb", "DP-A", 10.0)]
PANELS += [("20news-1", "DP-A", lam) for lam in (1.0, 10.0, 20.0, 50.0)]
PANELS += [("imdb", "AD", 10.0), ("20news-2", "DP", 10.0), ("20news-2", "DP-A", 10.0), ("sst", "DP-L", 10.0)]
JOBS = [
    {"dataset": dataset, "model": model, "lam": lam, "labels": labels, "seed": seed}
    for dataset, model, lam in PANELS
    for labels, seeds in (("real", SEEDS), ("permuted", PERMUTATIONS))
    for seed in seeds
]


def vote_for_own_class(words: pd.DataFrame, name: str, classes: Sequence[str]) -> float:
    """How far the words of a list vote for its class: their mean score for it, less the largest one for another."""
    if name == "neutral":
        return float("nan")
    if "polarity" in words:
        return words["polarity"].mean() * (-1 if name == "negative" else 1)
    votes = words[[f"polarity {each}" for each in classes]].mean().set_axis(list(classes))
    return votes[name] - votes.drop(name).max()


def rows_by_kind(model: AttentionClassifier, dataset: Dataset, types: Types) -> list[dict]:
    """A row for each kind of words: how many, their mean scores, and how well scores tell them from neutral ones.

    With a recurrent encoder also their local scores, over the training occurrences.
    """
    rows: Mapping[str, dict] = {name: {"type": name, "words": len(ids)} for name, ids in types.items()}
    for prefix, corpus in (("", None), ("local ", dataset.train))[: 1 + (model.recurrent is not None)]:
        frame = score_frame(model, dataset, types, corpus)
        for name, row in rows.items():
            mine = frame[frame["type"] == name]
            row[f"{prefix}attention"] = mine["attention"].mean()
            row[f"{prefix}attention over neutral"] = auc_of(frame, "attention", name, "neutral")
            row[f"{prefix}own polarity"] = vote_for_own_class(mine, name, dataset.classes)
            vote = "polarity" if "polarity" in frame else f"polarity {name}"
            if vote in frame:
                beside = (name, "neutral") if name != "negative" else ("neutral", name)
                row[f"{prefix}own polarity over neutral"] = auc_of(frame, vote, *beside)
    return list(rows.values())


class Enough(Exception):
    """A longer run has reached what it was for."""


class Watch:
    """Trains as usual, and keeps scores by kinds of words for several moments, each at the first chance."""

    def __init__(self, dataset: Dataset, lists: Mapping[str, Types], last: int):
        self.dataset, self.lists, self.last, self.rows = dataset, lists, last, {}

    def __call__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig) -> Watch:
        """As ``trainer`` of ``fit``: what follows is another run."""
        self.trainer, self.losses = choose_trainer(model, config)(model, corpus, config), [math.nan]
        return self

    def epoch(self, batches: Sequence[Tensor]) -> float:
        self.losses.append(self.trainer.epoch(batches))
        return self.losses[-1]

    def look(self, epoch: int, model: AttentionClassifier) -> dict:
        """As ``record`` of ``fit``: the last epoch, and the first one whose loss lies below each level."""
        for moment, reached in [(f"loss {level:g}", self.losses[-1] <= level) for level in LOSSES]:
            if reached:
                self.keep(moment, epoch, model)
        if epoch == self.last:
            self.keep("last", epoch, model)
        if "kept" in self.rows and LOWEST in self.rows:  # only in the longer run
            raise Enough
        return {}

    def keep(self, moment: str, epoch: int, model: AttentionClassifier) -> None:
        """Measure, unless this moment is over."""
        if moment not in self.rows:
            about = {"moment": moment, "epoch": epoch, "loss": self.losses[epoch]}
            found = ((name, rows_by_kind(model, self.dataset, types)) for name, types in self.lists.items())
            self.rows[moment] = [{"lists": name} | about | row for name, rows in found for row in rows]


@experiment(jobs=JOBS)
def panel_controls(dataset: str, model: str, lam: float, labels: str, seed: int) -> list[dict]:
    """Scores by kinds of words under real and permuted training labels: at the kept and last epoch, at equal losses.

    Permuted labels that the usual epochs do not teach to the lowest of the losses are trained longer, for the losses.
    """
    data = load_dataset(dataset)
    if labels == "permuted":
        data = with_permuted_labels(data, seed)
    lists = {"training": examined_types(data)}
    lists["matched"] = matched_types(lists["training"], data.train, len(data.vocabulary))
    if labels == "real":
        lists["held out"] = held_out_types(data)
    cell = table2_cell(dataset, model, lam, seed)
    watch = Watch(data, lists, cell.epochs)
    classifier = cell.classifier(data, "cpu")
    run = fit(classifier, data, cell.training(), record=watch.look, trainer=watch)
    watch.keep("kept", run.best_epoch, classifier)
    if labels == "permuted" and LOWEST not in watch.rows:
        cell = replace(cell, epochs=LONGER * watch.last)
        with suppress(Enough):
            fit(cell.classifier(data, "cpu"), data, cell.training(), record=watch.look, trainer=watch)
    return [row for rows in watch.rows.values() for row in rows]
