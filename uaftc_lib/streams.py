"""Separate random streams from one seed, so that no draw disturbs another and no global state is touched."""

from __future__ import annotations

import numpy as np
import torch

PURPOSES = ("initial values", "order", "masks", "data")


def stream_seed(seed: int, purpose: str) -> int:
    """A 63-bit seed for one purpose, independent of the other purposes' (numpy's SeedSequence).

    Raises
    ------
    ValueError
        If ``seed`` is negative or the purpose unknown.
    """
    if purpose not in PURPOSES:
        raise ValueError(f"unknown purpose {purpose!r}; there are {', '.join(PURPOSES)}")
    if seed < 0:
        raise ValueError(f"a seed is a non-negative integer, got {seed}")
    state = np.random.SeedSequence([seed, PURPOSES.index(purpose)]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


def generator(seed: int, purpose: str) -> torch.Generator:
    """A generator of its own for one purpose."""
    return torch.Generator().manual_seed(stream_seed(seed, purpose))
