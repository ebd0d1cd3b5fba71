"""Null controls: what lists and scores show where labels mean nothing and on lists of other texts.

All lists of polar words come from the labels on which a model is then trained. Some of what they show would be there
whatever the labels are. These are the worlds that tell how much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.experiments.paper_models import table2_cell
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types, examined_types
from uaftc_lib.token_lists import token_types
from uaftc_lib.training import fit

LABELS = 13  # the stream from which labels are dealt out and halves are drawn
RUNS_OF_LABELS = {"real": 10, "half": 10, "permuted": 40}  # how many seeds of each world are run
LOSSES = (0.5, 0.3, 0.2)  # mean training losses at which runs are compared
RATIO = 1.25  # of the counts of two words that are paired, at most


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
