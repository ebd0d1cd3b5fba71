"""Models that know nothing of the task: labels permuted, or parameters drawn anew (Adebayo et al. 2018).

What an explanation says of them it would say of any model.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import torch

from uaftc_lib import checks
from uaftc_lib.corpus import Dataset
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.neighbours.encoders import fresh
from uaftc_lib.neighbours.protocol import train_model
from uaftc_lib.neighbours.settings import JAIN_WALLACE
from uaftc_lib.streams import generator

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


def redrawn(model: AttentionClassifier, seed: int, parts: Sequence[str] = PARTS) -> AttentionClassifier:
    """A copy with some parts at another start: W; V, M and c; the projection or LSTM; the embeddings.

    Raises
    ------
    ValueError
        For an unknown part.
    """
    for part in parts:
        checks.one_of("a part", part, PARTS)
    start, copy = fresh(model, seed), deepcopy(model)
    with torch.no_grad():
        for (name, parameter), drawn in zip(copy.named_parameters(), start.parameters()):
            if part_of(name) in parts:
                parameter.copy_(drawn)
    return copy


def part_of(name: str) -> str:
    """The part to which a parameter belongs."""
    known = {"W": "output", "V": "attention", "M": "attention", "c": "attention", "embedding": "embedding"}
    return known.get(name, "encoder")
