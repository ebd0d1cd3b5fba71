"""Null controls: what lists and scores show where labels mean nothing and on lists of other texts.

All lists of polar words come from the labels on which a model is then trained. Some of what they show would be there
whatever the labels are. These are the worlds that tell how much.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.scores import Types
from uaftc_lib.token_lists import token_types

LABELS = 13  # the stream from which labels are dealt out and halves are drawn


def with_permuted_labels(dataset: Dataset, seed: int) -> Dataset:
    """The same texts, the labels of the training texts dealt out anew; other splits stay as they are."""
    order = shuffled(len(dataset.train), seed)
    return replace(dataset, train=replace(dataset.train, labels=dataset.train.labels[order]))


def halves(dataset: Dataset, seed: int) -> tuple[Dataset, Corpus]:
    """A data set that trains on half of the texts, drawn at random, and the other half."""
    order, middle = shuffled(len(dataset.train), seed), len(dataset.train) // 2
    first, second = (dataset.train[part.sort().values] for part in (order[:middle], order[middle:]))
    return replace(dataset, train=first), second


def shuffled(count: int, seed: int) -> Int[Tensor, "count"]:
    """0 to ``count`` − 1 in an order of a stream of its own."""
    return torch.from_numpy(np.random.default_rng([LABELS, seed]).permutation(count))


def joined(*corpora: Corpus) -> Corpus:
    """The instances of several corpora, one after another."""
    lengths = torch.cat([corpus.lengths for corpus in corpora])
    return Corpus(
        tokens=torch.cat([corpus.tokens for corpus in corpora]),
        offsets=torch.cat([torch.zeros(1, dtype=lengths.dtype), lengths.cumsum(0)]),
        labels=torch.cat([corpus.labels for corpus in corpora]),
        class_count=corpora[0].class_count,
        classes=corpora[0].classes,
    )


def held_out_types(dataset: Dataset) -> Types:
    """The lists by the labels of dev and test, on which nothing is trained; only words that training has, too."""
    met = torch.bincount(dataset.train.tokens, minlength=len(dataset.vocabulary)) > 0
    found = token_types(joined(dataset.dev, dataset.test), dataset.vocabulary)
    return {name: ids[met[ids]] for name, ids in found.items()}
