"""Which texts a model is trained on, which choose its epoch, and which it is asked about without having seen them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

FOLDS = 5
MOST_WEIGHED = 5000  # clusters
OF_DEV = 8  # one in so many of the texts that are not tested chooses the epoch


@dataclass(frozen=True)
class Fold:
    """Rows of one model: disjoint, in their old order."""

    train: Int[np.ndarray, "trained"]
    dev: Int[np.ndarray, "choosing"]
    test: Int[np.ndarray, "tested"]

    @property
    def rest(self) -> Int[np.ndarray, "others"]:
        """All that is not tested."""
        return np.sort(np.concatenate([self.train, self.dev]))


def parts(
    labels: Int[np.ndarray, "texts"], cluster: Int[np.ndarray, "texts"], count: int, seed: int
) -> Int[np.ndarray, "texts"]:
    """For each text the number of its part: every class in equal shares, clusters whole.

    Where clusters hold several texts and are not too many to be weighed one by one, each class is spread over the parts
    by its texts; else a cluster counts as one text of the class that most of its texts have.
    """
    _, cluster = np.unique(cluster, return_inverse=True)
    clusters = int(cluster.max()) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class of fewer clusters than parts is spread over some of them
        if clusters < len(labels) and clusters <= MOST_WEIGHED:
            splits = StratifiedGroupKFold(count, shuffle=True, random_state=seed).split(labels, labels, cluster)
            return numbered((members for _, members in splits), len(labels))
        votes = np.zeros((clusters, labels.max() + 1), np.int64)
        np.add.at(votes, (cluster, labels), 1)
        splits = StratifiedKFold(count, shuffle=True, random_state=seed).split(votes, votes.argmax(1))
        return numbered((members for _, members in splits), clusters)[cluster]


def numbered(parts: Iterable[Int[np.ndarray, "part"]], count: int) -> Int[np.ndarray, "members"]:
    """For each of so many members the number of the part in which it is."""
    part = np.empty(count, np.int64)
    for k, members in enumerate(parts):
        part[members] = k
    return part


def folds(
    labels: Int[np.ndarray, "texts"],
    cluster: Int[np.ndarray, "texts"],
    test: Bool[np.ndarray, "texts"] | None = None,
    seed: int = 0,
) -> Iterator[Fold]:
    """Five models: each leaves out a fifth of the texts, and is tested on it.

    ``test``: the texts that are to be tested; then each model leaves out a fifth of the others, and all are tested on
    these.
    """
    others = np.arange(len(labels)) if test is None else np.flatnonzero(~test)
    part = parts(labels[others], cluster[others], FOLDS, seed)
    for k in range(FOLDS):
        rest = others[part != k]
        choosing = parts(labels[rest], cluster[rest], OF_DEV, seed + 1 + k) == 0
        yield Fold(rest[~choosing], rest[choosing], others[part == k] if test is None else np.flatnonzero(test))
