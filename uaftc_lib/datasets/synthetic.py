"""Synthetic Data I and II (Appendix C)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.datasets import register
from uaftc_lib.streams import stream_seed


def distinct_integers(rng: np.random.Generator, rows: int, count: int, below: int) -> np.ndarray:
    """Each row: ``count`` distinct integers in [0, below), all sets equally likely."""
    drawn = rng.integers(below, size=(rows, count))
    while True:
        ordered = np.sort(drawn, axis=1)
        repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not repeated.any():
            return drawn
        drawn[repeated] = rng.integers(below, size=(repeated.sum(), count))


def synthetic(
    name: str,
    seed: int = 0,
    noise: float = 0.0,
    class_sizes: tuple[int, int] = (6000, 6000),
    neutral_types: int = 1000,
    polarity_types: int = 50,
    neutral_tokens: int = 10,
    polarity_tokens: int = 2,
) -> Dataset:
    """Instances of distinct neutral tokens and distinct tokens of their class's polarity.

    Token ids by kind: neutral, then positive, then negative (``polarity_types`` of each).

    Parameters
    ----------
    noise : float
        The share of each class's instances whose polarity tokens come from the other class.
    class_sizes : (int, int)
        Number of negative and of positive instances.

    Raises
    ------
    ValueError
        If a number is impossible, for example more distinct tokens than types.
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"noise is a share between 0 and 1, got {noise}")
    if len(class_sizes) != 2 or min(class_sizes) < 0 or sum(class_sizes) < 1:
        raise ValueError(f"class_sizes are the numbers of negative and positive instances, got {class_sizes}")
    for kind, tokens, types in (
        ("neutral", neutral_tokens, neutral_types),
        ("polarity", polarity_tokens, polarity_types),
    ):
        if not 0 <= tokens <= types:
            raise ValueError(f"{tokens} distinct {kind} tokens cannot be drawn from {types} types")
    if neutral_tokens + polarity_tokens < 1:
        raise ValueError("an instance needs at least one token")
    rng = np.random.default_rng(stream_seed(seed, "data"))
    negative, positive = class_sizes
    instances = negative + positive
    labels = np.repeat([0, 1], class_sizes)
    looks_positive = labels == 1
    for begin, size in ((0, negative), (negative, positive)):
        exchanged = begin + rng.permutation(size)[: round(noise * size)]
        looks_positive[exchanged] = ~looks_positive[exchanged]
    neutral = distinct_integers(rng, instances, neutral_tokens, neutral_types)
    polar = distinct_integers(rng, instances, polarity_tokens, polarity_types)
    polar += neutral_types + np.where(looks_positive, 0, polarity_types)[:, None]
    tokens = rng.permuted(np.hstack([neutral, polar]), axis=1)
    shuffled = rng.permutation(instances)
    length = neutral_tokens + polarity_tokens
    kinds = (("neutral", neutral_types), ("positive", polarity_types), ("negative", polarity_types))
    classes = ("negative", "positive")
    return Dataset(
        name=name,
        vocabulary=Vocabulary([f"{kind}-{i}" for kind, size in kinds for i in range(size)]),
        classes=classes,
        train=Corpus(
            tokens=torch.from_numpy(tokens[shuffled].reshape(-1)),
            offsets=torch.arange(instances + 1) * length,
            labels=torch.from_numpy(labels[shuffled]),
            classes=classes,
        ),
        provenance={"source": "generated", "seed": seed, "noise": noise, "class_sizes": tuple(class_sizes)},
    )


@register("synthetic-1")
def data_one(data_home: Path, **options) -> Dataset:
    """Data I: polarity tokens occur in instances of their own class only."""
    return synthetic("synthetic-1", **options)


@register("synthetic-2")
def data_two(data_home: Path, noise: float = 0.1, **options) -> Dataset:
    """Data II: in 10 % of each class's instances the polarity tokens are the other class's."""
    return synthetic("synthetic-2", noise=noise, **options)
