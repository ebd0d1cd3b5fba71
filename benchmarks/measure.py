"""Clocks, and made-up corpora."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from uaftc_lib import Corpus, Dataset, Vocabulary
from uaftc_lib.experiments.provenance import cores


def load() -> float:
    """Processes that want a core, for each core (over the last minute): above 1 the clock counts others' work."""
    return round(os.getloadavg()[0] / cores(), 2) if hasattr(os, "getloadavg") else np.nan


def processor_seconds() -> float:
    """Of all threads, finished children included."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def take_turns(rounds: int, *actions: Callable[[], object]) -> list[list[float]]:
    """For each action its seconds, round by round: what disturbs one round disturbs all actions."""
    turns = [[seconds(action) for action in actions] for _ in range(rounds)]
    return [list(column) for column in zip(*turns)]


def compare(ours: list[float], peer: list[float], peer_over_ours: bool) -> dict[str, float]:
    """Medians of seconds that were taken in turns, and the median of the rounds' ratios."""
    ratios = [b / a if peer_over_ours else a / b for a, b in zip(ours, peer)]
    medians = [statistics.median(values) for values in (ours, peer, ratios)]
    return dict(zip(("ours", "peer", "ratio"), medians)) | {"rounds": len(ours)}


def zipf_dataset(name: str, tokens: int, types: int, length: int = 20) -> Dataset:
    """Instances of ``length`` tokens; the frequency of a type falls as the inverse of its rank."""
    heights, splits = np.cumsum(1 / (np.arange(types) + 2.7)), {}
    for seed, split in enumerate(("train", "dev", "test")):
        draws = np.random.default_rng(seed).random(tokens - tokens % length)
        ids, count = torch.from_numpy(np.searchsorted(heights, draws * heights[-1])), tokens // length
        splits[split] = Corpus(ids, torch.arange(count + 1) * length, torch.arange(count) % 2)
    return Dataset(name, Vocabulary([f"w{i}" for i in range(types)]), ("0", "1"), **splits)
