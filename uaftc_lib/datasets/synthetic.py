"""Synthetic Data I and II (Appendix C)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

import uaftc_lib
from uaftc_lib.checks import fraction, whole
from uaftc_lib.datasets import register
from uaftc_lib.streams import stream_seed


def distinct_integers(rng: np.random.Generator, rows: int, count: int, below: int) -> np.ndarray:
    """Each row: ``count`` distinct integers in [0, below), all sets equally likely (Floyd's algorithm)."""
    drawn = np.empty((rows, count), dtype=np.int64)
    for column, largest in enumerate(range(below - count, below)):
        candidate = rng.integers(largest + 1, size=rows)
        taken = (drawn[:, :column] == candidate[:, None]).any(axis=1)
        drawn[:, column] = np.where(taken, largest, candidate)
    return drawn


def synthetic(
    name: str,
    data_home: Path | None = None,
    *,
    seed: int = 0,
    noise: float = 0.0,
    class_sizes: tuple[int, int] = (6000, 6000),
    neutral_types: int = 1000,
    polarity_types: int = 50,
    neutral_tokens: int = 10,
    polarity_tokens: int = 2,
) -> uaftc_lib.Dataset:
    """Instances of distinct neutral tokens and distinct tokens of their class's polarity.

    Data I ("synthetic-1") has no noise, Data II ("synthetic-2") 10 %. Nothing is read from ``data_home``.
    Token ids by kind: neutral, then positive, then negative (``polarity_types`` of each).

    Parameters
    ----------
    noise : float
        The share of each class's instances whose polarity tokens come from the other class.
    class_sizes : (int, int)
        Number of negative and of positive instances, at least one each.

    Raises
    ------
    ValueError
        If a number is impossible, for example more distinct tokens than types.
    """
    noise = fraction("noise", noise)
    if not isinstance(class_sizes, (tuple, list)) or len(class_sizes) != 2:
        raise ValueError(f"class_sizes are the numbers of negative and positive instances, got {class_sizes}")
    class_sizes = tuple(whole("a class size", size) for size in class_sizes)
    if not all(class_sizes):
        raise ValueError(f"class_sizes are {class_sizes[0]} and {class_sizes[1]}: each class needs an instance")
    for kind, tokens, types in (
        ("neutral", neutral_tokens, neutral_types),
        ("polarity", polarity_tokens, polarity_types),
    ):
        if whole(f"{kind}_tokens", tokens) > whole(f"{kind}_types", types):
            raise ValueError(f"{tokens} distinct {kind} tokens cannot be drawn from {types} types")
    if neutral_tokens + polarity_tokens < 1:
        raise ValueError("an instance needs at least one token")
    rng = np.random.default_rng(stream_seed(seed, "data"))
    import torch  # after the checks: whoever made a mistake need not wait for it

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
    return uaftc_lib.Dataset(
        name=name,
        vocabulary=uaftc_lib.Vocabulary([f"{kind}-{i}" for kind, size in kinds for i in range(size)]),
        classes=classes,
        train=uaftc_lib.Corpus(
            tokens=torch.from_numpy(tokens[shuffled].reshape(-1)),
            offsets=torch.arange(instances + 1) * length,
            labels=torch.from_numpy(labels[shuffled]),
            classes=classes,
        ),
        provenance={"source": "generated", "seed": seed, "noise": noise, "class_sizes": class_sizes},
    )


register("synthetic-1")(partial(synthetic, "synthetic-1"))
register("synthetic-2")(partial(synthetic, "synthetic-2", noise=0.1))
