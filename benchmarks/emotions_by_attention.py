"""Attention times class probabilities, and influence, on made-up emotions: python benchmarks/emotions_by_attention.py

The causes of the emotions are known (chapter 7). For each reader, real or permuted labels, seed and method a row in
emotions_by_attention.csv in the results folder; rows that are there stay.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_book.chapters import words_and_classes
from uaftc_lib import explain, files, results_folder
from uaftc_lib.experiments.store import StoredTable, fill
from uaftc_lib.progress import progress_bar
from uaftc_lib.report.judge import word_table
from uaftc_lib.report.prepare import Prepared, prepare
from uaftc_lib.report.read import read_table
from uaftc_lib.report.request import Columns
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.train import train
from uaftc_lib.report.words import Cutter

METHODS = {"association": "association", "lift": "lift", "influence × texts": "total"}  # and their columns
READERS = {  # as the command is asked, and words read as they are in as many epochs as an LSTM has
    "none": {},
    "none, 8 epochs": {"epochs": 8},
    "lstm": {"encoder": "lstm", "epochs": 8},
}
CASES = (("none", "real"), ("none", "permuted"), ("none, 8 epochs", "real"), ("lstm", "real"))
LEAST_TEXTS = 20  # that must hold a word: lift and association of rare ones say little
SEEDS = 10
JOBS = [{"encoder": encoder, "labels": of, "seed": seed} for seed, (encoder, of) in product(range(SEEDS), CASES)]


def lift_of(association: Float[Tensor, "words classes"]) -> Float[Tensor, "words classes"]:
    """Association over what its margins alone would give."""
    return association * association.sum() / (association.sum(1, keepdim=True) * association.sum(0))


def read(frame: pd.DataFrame) -> Prepared:
    """The texts as the command reads them from a file."""
    with TemporaryDirectory() as folder:
        files.write(file := Path(folder, "emotions.csv"), frame.to_csv(index=False))
        return prepare(read_table(file, Columns("text", "label")), Cutter())


def by_method(frame: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """word, class, listed and the numbers of the three methods, each text read by a model that has not seen it."""
    prepared = read(frame)
    trained, whole = train(prepared, settings, partial(progress_bar, disable=True)), prepared.whole
    association = 0
    for reader, fold in zip(trained.readers, trained.folds):
        texts = reader.read(whole, fold.test)
        A, P = explain.attention_matrix(reader.model, texts), explain.class_matrix(reader.model, texts)
        association = association + explain.association_matrix(A, P)
    words = word_table(trained.pushes, prepared.vocabulary, prepared.unit)
    at = [prepared.vocabulary.id(word) for word in words["word"]], [*words["class"].map(whole.classes.index)]
    told = {name: values[at].numpy() for name, values in (("association", association), ("lift", lift_of(association)))}
    return words.assign(**told)


def answered(words: pd.DataFrame, column: str) -> dict[str, float]:
    """How often an order is right, means over emotions.

    true: of the first words of an emotion, as many as speak for it, the share that do; company: whether the thing
    beside its first adjective is among them; "strong leads", "weak is second": of its verb's emotions.
    """
    truth, rows = words_and_classes.truth(), []
    for emotion in words_and_classes.EMOTIONS:
        true = set(truth.loc[truth["class"] == emotion, "word"])
        first = set(words[words["class"] == emotion].nlargest(len(true), column)["word"])
        verb, (_, second) = next((verb, both) for verb, both in words_and_classes.VERBS.items() if both[0] == emotion)
        order = words[words["word"] == verb].nlargest(2, column)["class"].tolist()
        row = {"true": len(true & first) / len(true), "company": words_and_classes.COMPANY[emotion] in first}
        rows.append(row | {"strong leads": order[:1] == [emotion], "weak is second": order == [emotion, second]})
    return pd.DataFrame(rows).astype(float).mean().to_dict()


def emotions_by_attention(encoder: str, labels: str, seed: int) -> list[dict]:
    """The made-up emotions, real and permuted labels: attention times class probabilities, and influence, in order."""
    frame = words_and_classes.made(seed)
    if labels == "permuted":
        frame["label"] = np.random.default_rng([seed, 31]).permutation(frame["label"])
    words = by_method(frame, Settings(seed=seed, **READERS[encoder]))
    listed, enough = int(words["listed"].sum()), words[words["texts"] >= LEAST_TEXTS]
    return [{"method": name, "listed": listed} | answered(enough, column) for name, column in METHODS.items()]


if __name__ == "__main__":
    torch.set_num_threads(1)
    table = StoredTable(results_folder() / "emotions_by_attention.csv", tuple(JOBS[0]), rows=len(METHODS))
    fill(table, [(job, partial(emotions_by_attention, **job)) for job in JOBS])
