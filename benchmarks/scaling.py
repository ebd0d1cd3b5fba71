"""How the cost of an epoch grows with tokens, types and dimension, and how much memory a gigabyte of data takes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import Line, Setup, clock, load, median, trainer_of, zipf_corpus

from uaftc_lib import AttentionClassifier, Corpus

TYPES, DIMENSION = 10_000, 100


def slope(sizes, seconds) -> float:
    """Of log time against log size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def grow(setup: Setup, axis: str, sizes: list[int], build: Callable, sense: str, target: float, note: str):
    """A line with the fitted slope, and the seconds of an epoch (medians) at each size, all sizes in turns."""
    epochs, repeats = [], []
    for size in sizes:
        epoch = build(size)
        first = min(clock(epoch).wall, clock(epoch).wall) if size < sizes[-1] else clock(epoch).wall
        epochs.append(epoch)
        repeats.append(max(1, int(0.1 / first)) if not setup.quick else 1)
    turns = []
    for _ in range(setup.rounds):
        turns.append([clock(lambda e=e, n=n: [e() for _ in range(n)]) for e, n in zip(epochs, repeats)])
    rows = [
        {
            "axis": axis,
            "size": size,
            "seconds": median(turn[i].wall for turn in turns) / repeats[i],
            "cpu_seconds": median(turn[i].cpu for turn in turns) / repeats[i],
        }
        for i, size in enumerate(sizes)
    ]
    wall, cpu = (slope(sizes, [row[column] for row in rows]) for column in ("seconds", "cpu_seconds"))
    what = f"slope of log time against log {axis}, {sizes[0]:,} to {sizes[-1]:,}"
    line = Line(
        f"scaling-{axis}", what, "slope", wall, sense=sense, target=target, ours_cpu=cpu, rounds=setup.rounds,
        load=load(), note=note,
    )  # fmt: skip
    return [line], rows


def first_instances(corpus: Corpus, tokens: int) -> Corpus:
    return corpus[: max(2, tokens // 100)]


def tokens(setup: Setup):
    sizes = [2000, 4000, 8000] if setup.quick else [100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000]
    whole = zipf_corpus(sizes[-1], TYPES)

    def build(size: int):
        return trainer_of(AttentionClassifier(TYPES, DIMENSION), first_instances(whole, size))

    return grow(setup, "tokens", sizes, build, "1 ±", 0.05, f"{TYPES} types, d = {DIMENSION}, instances of 100")


def types(setup: Setup):
    sizes = [100, 200, 400] if setup.quick else [1000, 4000, 16_000, 64_000, 256_000]
    count = 4000 if setup.quick else 1_000_000

    def build(size: int):
        return trainer_of(AttentionClassifier(size, DIMENSION), zipf_corpus(count, size))

    return grow(setup, "types", sizes, build, "at most", 1.05, f"{count} tokens, d = {DIMENSION}, instances of 100")


def dimension(setup: Setup):
    sizes = [16, 32, 64] if setup.quick else [50, 100, 200, 400, 800]
    corpus = zipf_corpus(4000 if setup.quick else 1_000_000, TYPES)

    def build(size: int):
        return trainer_of(AttentionClassifier(TYPES, size), corpus)

    note = f"{len(corpus.tokens)} tokens, {TYPES} types, instances of 100"
    return grow(setup, "dimension", sizes, build, "at most", 1.05, note)


def memory(setup: Setup) -> list[Line]:
    """Peak memory of one epoch of ``fit`` above the imports, in a process of its own, over what must be held."""
    sizes = (2000, 100, 100_000) if setup.quick else (833_000, 100, 41_700_000)
    script = Path(__file__).with_name("memory.py")
    said = subprocess.run([sys.executable, script, *map(str, sizes)], check=True, capture_output=True, text=True).stdout
    told = json.loads(said.splitlines()[-1])
    note = (
        f"{told['needed'] / 1e6:.0f} MB of parameters, optimiser state and token ids; "
        f"the peak is {told['peak'] / 1e6:.0f} MB above the imports"
    )
    ratio = told["peak"] / told["needed"]
    what = "peak memory over parameters, optimiser state and token ids"
    return [Line("memory", what, "ratio", ratio, sense="at most", target=2.5, load=load(), note=note)]
