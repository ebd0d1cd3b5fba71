"""Unseen texts as they stand in the file, with what the model made of each of their words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from uaftc_lib.explain.flips import minimal_flip_sets
from uaftc_lib.report.again import push_columns
from uaftc_lib.report.pushes import word_values
from uaftc_lib.report.texts import Prepared
from uaftc_lib.report.training import Reader

EACH = 5  # of the surest, the wrong and the unsure
SHORT, LONGEST = 150, 1000  # words: longer ones only where there are no others, and never


def examples(
    reader_of: Callable[[int], Reader],
    prepared: Prepared,
    spans: Callable[[str], list[tuple[int, int]]],
    tested: Int[np.ndarray, "tested"],
    probability: Float[np.ndarray, "tested classes"],
) -> dict[str, list[dict]]:
    """Of each class a text that is typical of it; the surest, the wrong and the unsure ones. No text stands twice.

    Parameters
    ----------
    reader_of : callable
        The model for which a text, by its place in ``prepared.whole``, was unseen.
    prepared : Prepared
    spans : callable
        Where the words of a text stand in it: ``Cutter.spans``.
    tested : Int[np.ndarray, "tested"]
        Places of the texts that were tested.
    probability : Float[np.ndarray, "tested classes"]
        What was said of them.
    """
    lengths = prepared.whole.lengths.numpy()[tested]
    chosen = choice(probability, prepared.whole.labels.numpy()[tested], lengths)
    return {
        kind: [
            example(reader_of(int(tested[i])), prepared, spans, int(tested[i]), probability[i]) for i in places.tolist()
        ]
        for kind, places in chosen.items()
    }


def choice(
    probability: Float[np.ndarray, "tested classes"],
    labels: Int[np.ndarray, "tested"],
    lengths: Int[np.ndarray, "tested"],
) -> dict[str, Int[np.ndarray, "chosen"]]:
    """Which of the tested texts are shown, as places among them.

    "typical" are those that were answered right with the median confidence of their class.
    """
    confidence, predicted = probability.max(1), probability.argmax(1)
    right, free = predicted == labels, lengths <= LONGEST

    def first(order: Int[np.ndarray, "tested"], allowed: Bool[np.ndarray, "tested"], count: int) -> np.ndarray:
        order = order[(allowed & free)[order]]
        order = order[np.argsort(lengths[order] > SHORT, kind="stable")][:count]
        free[order] = False
        return order

    falling = np.argsort(-confidence, kind="stable")
    typical = []
    for k in range(probability.shape[1]):
        mine = right & (labels == k)
        if mine.any():
            typical.append(first(np.argsort(abs(confidence - np.median(confidence[mine])), kind="stable"), mine, 1))
    return {
        "typical": np.concatenate([np.zeros(0, np.int64), *typical]),
        "sure": first(turns(falling, predicted), right, EACH),
        "wrong": first(falling, ~right, EACH),
        "unsure": first(falling[::-1], np.ones_like(right), EACH),
    }


def turns(order: Int[np.ndarray, "tested"], classes: Int[np.ndarray, "tested"]) -> Int[np.ndarray, "tested"]:
    """The same order, the classes taking turns."""
    turn = np.zeros_like(order)
    for k in np.unique(classes):
        mine = np.flatnonzero(classes[order] == k)
        turn[mine] = np.arange(len(mine))
    return order[np.argsort(turn, kind="stable")]


@torch.no_grad()
def example(
    reader: Reader,
    prepared: Prepared,
    spans: Callable[[str], list[tuple[int, int]]],
    place: int,
    probability: Float[np.ndarray, "classes"],
) -> dict:
    """One text: where its words stand, their attention and influence on the answer, and what would turn it.

    ``turned_by`` is None where no removal turns the answer, and with a recurrent encoder, where nobody knows it.
    ``word`` is None where the model does not know it.
    """
    corpus, answer = reader.read(prepared.whole, np.array([place])), int(probability.argmax())
    text, vocabulary, recurrent = prepared.texts[place], prepared.vocabulary, reader.model.recurrent is not None
    each, here = torch.arange(len(corpus.tokens)), torch.zeros(len(corpus.tokens), dtype=torch.long)
    _, values = word_values(reader.model, corpus, each, here)
    influence = values[:, push_columns(corpus.class_count)][:, answer]
    words = [
        {
            "start": start,
            "end": end,
            "word": None if token == vocabulary.unk else vocabulary.word(token),
            "attention": round(attention, 6),
            "influence": round(push, 6),
        }
        for (start, end), token, attention, push in zip(
            spans(text), corpus.tokens.tolist(), values[:, 1].tolist(), influence.tolist(), strict=True
        )
    ]
    flip = None if recurrent else minimal_flip_sets(reader.model, corpus)[0]
    return {
        "row": int(prepared.rows[place]),
        "text": text,
        "label": prepared.classes[int(corpus.labels[0])],
        "predicted": prepared.classes[answer],
        "confidence": float(probability.max()),
        "words": words,
        "turned_by": None if flip is None else flip.tolist(),
    }
