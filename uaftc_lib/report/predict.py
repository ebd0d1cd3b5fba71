"""Predict: what models that have not seen a row answer about it, which of its words pushed, which labels are suspect.

A class has a calibrated probability: the model's, with its logits divided by a temperature (Guo et al. 2017), which
changes no answer. The temperature that a row gets was fitted to other rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.words import word_instance_pairs
from uaftc_lib.report.prepare import Prepared
from uaftc_lib.report.train import FOLDS, Reader, Trained, chunks

NAMED = 5  # words of a row that are named, those that push most
COLDEST, HOTTEST = -3.0, 3.0  # log of a temperature


@dataclass(frozen=True)
class Predicted:
    """What is said of every row that is used.

    Attributes
    ----------
    probability : Float[np.ndarray, "texts classes"]
        Calibrated, by models that have not seen the text.
    temperature : float
        Of the five models, for texts that none of them has seen. Fitted to the tested texts: in small files several
        models have answered each; in large ones one, so that five together are rather less sure than right.
    suspect : Int[np.ndarray, "texts"]
        Of suspect labels the rank, from 1, the least probable label first; 0 of all others.
    reader : Int[np.ndarray, "texts"]
        Which model has not seen the text; -1 where none reads it word by word (a recurrent one reads a sample).
    words : list of str
        Those that push most towards the answer, with their push.
    """

    probability: Float[np.ndarray, "texts classes"]
    temperature: float
    suspect: Int[np.ndarray, "texts"]
    reader: Int[np.ndarray, "texts"]
    words: list[str]

    @cached_property
    def answer(self) -> Int[np.ndarray, "texts"]:
        """The class of highest probability."""
        return self.probability.argmax(1)


def predict(prepared: Prepared, trained: Trained, verdict: str) -> Predicted:
    """Answers about every row. Under the verdict "nothing" no label is suspect."""
    labels, unit = prepared.whole.labels.numpy(), prepared.unit
    weight = (unit >= 0) / np.bincount(unit[unit >= 0])[unit]
    fold = np.full(len(labels), FOLDS)
    logits = np.zeros((len(labels), len(prepared.classes)))
    for k, (reader, each) in enumerate(zip(trained.readers, trained.folds)):
        rows = each.held_out
        fold[rows], logits[rows] = k, np.log(reader.probability(prepared.whole, rows).clip(1e-12))
    tested = trained.tested
    logits[tested] = trained.ours.logits
    probability = np.empty_like(logits)
    for k in np.unique(fold):
        others = (fold != k) & (fold < FOLDS)
        heat = temperature(logits[others], labels[others], weight[others])
        probability[fold == k] = softmax(logits[fold == k] / heat, axis=1)
    words, which = [""] * len(labels), np.full(len(labels), -1)
    for k, rows in unseen(prepared, trained):
        which[rows] = k
        for place, line in zip(rows.tolist(), pushing(trained.readers[k], prepared, rows, logits[rows].argmax(1))):
            words[place] = line
    suspect = doubtful(probability, labels) * (verdict != "nothing")
    heat = temperature(logits[tested], labels[tested], weight[tested])
    return Predicted(probability, heat, suspect, which, words)


def temperature(
    logits: Float[np.ndarray, "texts classes"], labels: Int[np.ndarray, "texts"], weight: Float[np.ndarray, "texts"]
) -> float:
    """The temperature under which the labels are most probable."""

    def loss(log_temperature: float) -> float:
        scaled = softmax(logits / np.exp(log_temperature), axis=1)[np.arange(len(labels)), labels]
        return -float(weight @ np.log(scaled.clip(1e-12)))

    return float(np.exp(minimize_scalar(loss, bounds=(COLDEST, HOTTEST), method="bounded").x))


def doubtful(
    probability: Float[np.ndarray, "texts classes"], labels: Int[np.ndarray, "texts"]
) -> Int[np.ndarray, "texts"]:
    """The rank of each suspect label, 0 where it is not suspect.

    A label is suspect if the answer is another class, and at least as probable here as it is on average where it is the
    label: the threshold of confident learning (Northcutt, Jiang & Chuang 2021), asked of the most probable class alone.
    """
    texts, answer = np.arange(len(labels)), probability.argmax(1)
    of_label = probability[texts, labels]
    usual = np.bincount(labels, of_label, probability.shape[1]) / np.bincount(labels, minlength=probability.shape[1])
    suspect = np.flatnonzero((answer != labels) & (probability[texts, answer] >= usual[answer]))
    rank = np.zeros(len(labels), np.int64)
    rank[suspect[np.argsort(of_label[suspect], kind="stable")]] = 1 + np.arange(len(suspect))
    return rank


def unseen(prepared: Prepared, trained: Trained) -> Iterator[tuple[int, Int[np.ndarray, "rows"]]]:
    """The number of each model with parts of the rows that it has not seen.

    Each row stands there once; with a recurrent encoder a sample of them.
    """
    for k, (reader, fold) in enumerate(zip(trained.readers, trained.folds)):
        rows = fold.held_out
        if prepared.test is not None and k == 0:
            rows = np.concatenate([rows, fold.test])
        for part in chunks(rows, reader, "test", trained.settings["seed"]):
            yield k, part


def push_of_positions(
    reader: Reader, whole: Corpus, rows: Int[np.ndarray, "rows"], answer: Int[np.ndarray, "rows"]
) -> tuple[Corpus, Float[np.ndarray, "positions"], Float[np.ndarray, "positions"]]:
    """Some texts; and of each position its attention, and its push on the answer of its text."""
    corpus = whole[torch.from_numpy(rows)]
    attention, push = reader.position_values(whole, rows)
    return corpus, attention, push[np.arange(len(push)), answer[corpus.instance_of.numpy()]]


def of_words(values: Float[np.ndarray, "positions ..."], n: int) -> Float[np.ndarray, "words ..."]:
    """Values of the n words of a text; of that of a pair either of its words has half."""
    single, pairs = values[:n].astype(float), values[n:] / 2
    single[: len(pairs)] += pairs
    single[n - len(pairs) :] += pairs
    return single


def pushing(
    reader: Reader, prepared: Prepared, rows: Int[np.ndarray, "rows"], answer: Int[np.ndarray, "rows"]
) -> list[str]:
    """The words of each text that push most towards the answer, as "great +1.20, fine +0.43"."""
    corpus, _, push = push_of_positions(reader, prepared.whole, rows, answer)
    word, instance, pair_of = word_instance_pairs(corpus, len(prepared.vocabulary))
    word, instance = word.numpy(), instance.numpy()
    push = np.bincount(pair_of.numpy(), push, len(word))
    order = np.lexsort([-push, instance])
    place = np.arange(len(order)) - np.searchsorted(instance[order], instance[order])
    chosen = order[(place < NAMED) & (push[order] >= 0.005) & (word[order] < prepared.vocabulary.word_count)]
    lines: list[list[str]] = [[] for _ in rows]
    for i, w, x in zip(instance[chosen].tolist(), word[chosen].tolist(), push[chosen].tolist()):
        lines[i].append(f"{prepared.vocabulary.word(w)} +{x:.2f}")
    return [", ".join(line) for line in lines]


def prediction_table(prepared: Prepared, predicted: Predicted) -> pd.DataFrame:
    """The columns of predictions.csv, a row for each text that is used."""
    names, labels = np.array(prepared.classes, dtype=object), prepared.whole.labels.numpy()
    columns = {
        "row": prepared.rows,
        "label": names[labels],
        "answer": names[predicted.answer],
        "probability": predicted.probability.max(1),
        "label_probability": predicted.probability[np.arange(len(labels)), labels],
        "suspect": pd.Series(predicted.suspect, dtype="Int64").where(predicted.suspect > 0),
        "words": predicted.words,
    }
    return pd.DataFrame(columns)
