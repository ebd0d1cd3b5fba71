"""Clocks, lines of the table, and made-up corpora."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from uaftc_lib import Corpus, Dataset, Vocabulary, load_dataset
from uaftc_lib.experiments.provenance import cores
from uaftc_lib.streams import generator
from uaftc_lib.training import TrainingConfig, batches_of, choose_trainer

BUSY = 1.2  # processes that want a core, for each core: above it the wall clock counts others' work


@dataclass(frozen=True)
class Setup:
    """How much is measured: ``quick`` makes everything tiny and needs no data."""

    quick: bool
    rounds: int
    scratch: Path

    def dataset(self, name: str) -> Dataset:
        return zipf_dataset(name, 6000, 400) if self.quick else load_dataset(name)


@dataclass(frozen=True)
class Line:
    """One line of the table. A target is a bound on the ratio, or, where there is no peer, on ``ours``.

    ``ours`` and ``peer`` are medians over rounds in which the two took turns; ``ratio`` is the median of the
    rounds' ratios. ``*_cpu``: seconds of processor time for the same (nan: not measured). ``load``: processes
    that wanted a core while this was measured, for each core; above 1 the wall clock counts others' work.
    """

    benchmark: str
    what: str
    unit: str
    ours: float
    peer: float = np.nan
    ratio: float = np.nan
    sense: str = ""  # "at least", "at most" or "1 ±"
    target: float = np.nan
    ours_cpu: float = np.nan
    peer_cpu: float = np.nan
    rounds: int = 1
    load: float = np.nan
    note: str = ""

    @property
    def miss(self) -> float:
        """By how much the target is missed, 0 or less where it is met; nan where nothing was demanded or measured."""
        reached = self.ours if np.isnan(self.ratio) else self.ratio
        if self.sense == "1 ±":
            return abs(reached - 1) - self.target
        return {"at least": self.target - reached, "at most": reached - self.target}.get(self.sense, np.nan)

    @property
    def met(self) -> str:
        """ "yes", "no", or "" where nothing was demanded or measured."""
        return "" if np.isnan(self.miss) else "yes" if self.miss <= 0 else "no"

    @property
    def explanation(self) -> str:
        """What was measured of the miss, where a target was not met."""
        if self.met != "no":
            return ""
        said = [f"missed by {self.miss:.3g}"]
        if self.load > BUSY:
            said.append(f"measured beside other work, {self.load:.1f} processes for each core")
        if self.unit == "slope":
            said.append(f"by processor time the slope is {self.ours_cpu:.3g}")
        elif not np.isnan(self.peer_cpu):
            said.append(f"in processor time {self.ours_cpu:.3g} s beside {self.peer_cpu:.3g} s")
        elif not np.isnan(self.ours_cpu):
            said.append(f"the processor time is {self.ours_cpu:.3g} s")
        return "; ".join(said)


def not_measured(benchmark: str, what: str, unit: str, why: str, **demanded) -> Line:
    return Line(benchmark, what, unit, np.nan, note=f"not measured: {why}", **demanded)


@dataclass(frozen=True)
class Seconds:
    """Of one run: by the wall clock, and of the processor (all threads, finished children included)."""

    wall: float
    cpu: float


def load() -> float:
    """Processes that want a core, for each core (over the last minute)."""
    return round(os.getloadavg()[0] / cores(), 2) if hasattr(os, "getloadavg") else np.nan


def processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def clock(action: Callable[[], object]) -> Seconds:
    wall, cpu = time.perf_counter(), processor_seconds()
    action()
    return Seconds(time.perf_counter() - wall, processor_seconds() - cpu)


def take_turns(rounds: int, *actions: Callable[[], object]) -> list[list[Seconds]]:
    """For each action its seconds, round by round: what disturbs one round disturbs all actions."""
    turns = [[clock(action) for action in actions] for _ in range(rounds)]
    return [list(column) for column in zip(*turns)]


def median(values) -> float:
    return float(statistics.median(values))


def compare(ours: list[Seconds], peer: list[Seconds], peer_over_ours: bool) -> dict:
    """The numbers of a :class:`Line` from seconds that were taken in turns."""
    ratios = [b.wall / a.wall if peer_over_ours else a.wall / b.wall for a, b in zip(ours, peer)]
    return {
        "ours": median(s.wall for s in ours),
        "peer": median(s.wall for s in peer),
        "ratio": median(ratios),
        "ours_cpu": median(s.cpu for s in ours),
        "peer_cpu": median(s.cpu for s in peer),
        "rounds": len(ours),
        "load": load(),
    }


def single_thread() -> None:
    torch.set_num_threads(1)


def trainer_of(model, corpus: Corpus, **settings) -> Callable[[], float]:
    """``epoch()`` runs one epoch by the method that ``fit`` would take, shuffling included."""
    config = TrainingConfig(**settings)
    trainer, order = choose_trainer(model, config)(model, corpus, config), generator(config.seed, "order")
    return lambda: trainer.epoch(batches_of(len(corpus), config.batch_size, order))


def zipf_corpus(tokens: int, types: int, length: int = 100, seed: int = 0) -> Corpus:
    """Instances of ``length`` tokens; the frequency of a type falls as the inverse of its rank."""
    draws = np.random.default_rng(seed)
    heights = np.cumsum(1 / (np.arange(types) + 2.7))
    ids = np.empty(tokens - tokens % length, np.int64)
    for begin in range(0, len(ids), 1_000_000):
        part = ids[begin : begin + 1_000_000]
        part[:] = np.searchsorted(heights, draws.random(len(part)) * heights[-1])
    instances = len(ids) // length
    return Corpus(torch.from_numpy(ids), torch.arange(instances + 1) * length, torch.arange(instances) % 2)


def words_of_types(types: int) -> Vocabulary:
    return Vocabulary([f"w{i}" for i in range(types)])


def zipf_dataset(name: str, tokens: int, types: int) -> Dataset:
    splits = {split: zipf_corpus(tokens, types, 20, seed) for seed, split in enumerate(("train", "dev", "test"))}
    return Dataset(name, words_of_types(types), ("0", "1"), **splits)
