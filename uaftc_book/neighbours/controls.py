"""Models that know nothing of the task: labels permuted, or parameters drawn anew (Adebayo et al. 2018).

What an explanation says of them it would say of any model. Beside them: words that a model never met in training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from uaftc_book.neighbours.deception import shown
from uaftc_book.neighbours.jain_wallace import classifier_quality, fresh, train_model
from uaftc_book.neighbours.settings import CONTROLS, JAIN_WALLACE
from uaftc_book.neighbours.yardsticks import agreement, without_integration, yardstick_agreements
from uaftc_lib import checks
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.streams import generator

LIKENED = ("attention", "contribution", "gradient", "leave-one-out")
PARTS = ("output", "attention", "encoder", "embedding")  # from the logit down


def trained_on_permuted_labels(
    base: AttentionClassifier, dataset: Dataset, seed: int, epochs: int = JAIN_WALLACE.epochs
) -> AttentionClassifier:
    """A model of the base's kind, trained on the training texts with their labels dealt out anew.

    It is left at the last epoch: the dev split's labels are true, and would choose the least mistaken one.
    """
    order = torch.randperm(len(dataset.train), generator=generator(seed, "data"))
    train = replace(dataset.train, labels=dataset.train.labels[order])
    model = fresh(base, seed)
    train_model(model, replace(dataset, train=train, dev=None), seed, epochs)
    return model


def with_parts_redrawn(model: AttentionClassifier, seed: int, parts: Sequence[str] = PARTS) -> AttentionClassifier:
    """A copy with some parts of another initialisation: W; V, M and c; the projection or LSTM; the embeddings.

    Raises
    ------
    ValueError
        For an unknown part.
    """
    for part in parts:
        checks.one_of("a part", part, PARTS)
    other, copy = fresh(model, seed), deepcopy(model)
    with torch.no_grad():
        for (name, parameter), drawn in zip(copy.named_parameters(), other.parameters()):
            if part_of(name) in parts:
                parameter.copy_(drawn)
    return copy


def part_of(name: str) -> str:
    """The part to which a parameter belongs."""
    known = {"W": "output", "V": "attention", "M": "attention", "c": "attention", "embedding": "embedding"}
    return known.get(name, "encoder")


def from_another_seed(
    base: AttentionClassifier, dataset: Dataset, seed: int, epochs: int = JAIN_WALLACE.epochs
) -> AttentionClassifier:
    """A model of the base's kind, trained from another seed on the same texts."""
    model = fresh(base, seed)
    train_model(model, dataset, seed, epochs)
    return model


def drawn_words(dataset: Dataset, share: float, seed: int, fewest: int = CONTROLS.fewest) -> Int[Tensor, "ids"]:
    """A share, drawn, of the words that occur at least so often in training: to be held out of it."""
    counts = dataset.train.tokens.bincount(minlength=dataset.vocabulary.word_count)[: dataset.vocabulary.word_count]
    often = torch.nonzero(counts >= fewest).squeeze(1)
    order = torch.randperm(len(often), generator=generator(seed, "data"))
    return often[order[: round(share * len(often))]]


def without_words(dataset: Dataset, words: Int[Tensor, "ids"]) -> Dataset:
    """The data set with some words left out of the texts of train and dev; the test set keeps them."""

    def left(corpus: Corpus) -> Corpus:
        return corpus.without(torch.isin(corpus.tokens, words))

    return replace(dataset, train=left(dataset.train), dev=left(dataset.dev))


def models(
    base: AttentionClassifier, dataset: Dataset, words: Int[Tensor, "ids"], seed: int, epochs: int
) -> Iterator[tuple[str, AttentionClassifier]]:
    """The base, one trained like it from another seed, and those that know nothing, or nothing of some words.

    What is trained on permuted labels ends at the last epoch: beside it, what is so trained on true ones.
    """
    yield "trained", base
    yield "trained again", from_another_seed(base, dataset, seed, epochs)
    yield "words held out", from_another_seed(base, without_words(dataset, words), seed, epochs)
    yield "trained to the last epoch", from_another_seed(base, replace(dataset, dev=None), seed, epochs)
    yield "labels permuted", trained_on_permuted_labels(base, dataset, seed, epochs)
    yield "output drawn anew", with_parts_redrawn(base, seed, ("output",))
    yield "attention drawn anew", with_parts_redrawn(base, seed, ("attention",))
    yield "all drawn anew", with_parts_redrawn(base, seed)


def rows_of_controls(
    base: AttentionClassifier,
    dataset: Dataset,
    corpus: Corpus,
    words: Int[Tensor, "ids"],
    seed: int,
    epochs: int = JAIN_WALLACE.epochs,
) -> list[dict]:
    """A row for each of :func:`models`: what explanations say on a corpus, beside what they say of the base itself.

    "like": the mean τ over texts of sizes here with those of the base. The rest is
    :func:`~.jain_wallace.classifier_quality` and what shows of the words (:func:`~.deception.shown`) on the test set,
    and :func:`~.yardsticks.yardstick_agreements`.
    """
    of_base, _ = without_integration(base, corpus)
    found = []
    for kind, model in models(base, dataset, words, seed, epochs):
        here, _ = without_integration(model, corpus)
        side = np.where(model(corpus).polarity.detach().numpy() > 0, 1, -1)
        like = {f"like {one}": agreement(abs(here[one]), abs(of_base[one]), corpus).tau.mean() for one in LIKENED}
        told = {f"words' {name}": value for name, value in shown(model, dataset.test, words).items()}
        said = like | yardstick_agreements(here, side, corpus) | told
        found.append({"kind": kind} | classifier_quality(model, dataset.test) | said)
    return found
