"""Separate random streams from one seed, so that no draw disturbs another and no global state is touched."""

from __future__ import annotations

import numpy as np

from uaftc_lib.checks import one_of, whole

PURPOSES = ("initial values", "order", "masks", "data", "projections", "start of embeddings", "masked words")


def stream_seed(seed: int, purpose: str) -> int:
    """A 63-bit seed for one purpose, independent of the other purposes' (numpy's SeedSequence).

    Raises
    ------
    ValueError
        If ``seed`` is no whole number, at least 0, or the purpose unknown.
    """
    one_of("purpose", purpose, PURPOSES)
    sequence = np.random.SeedSequence([whole("seed", seed), PURPOSES.index(purpose)])
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def generator(seed: int, purpose: str) -> torch.Generator:
    """A generator of its own for one purpose."""
    import torch  # a seed can be had without it

    return torch.Generator().manual_seed(stream_seed(seed, purpose))
