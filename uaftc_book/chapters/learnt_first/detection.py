"""Chapter 23: how strong a signal in one token of L must be for attention, and for mean pooling, to find it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from uaftc_book.neighbours.needles import accuracies, needles
from uaftc_book.small_data import SEEDS
from uaftc_lib.experiments.registry import experiment, jobs_over

LENGTHS = (16, 64, 256, 1024)
STRENGTHS = tuple(2.0 * 1.4**k for k in range(11))  # 2 to 58
LEVEL = 0.75  # right on the test set: halfway from guessing to certainty
POOLINGS = ("attention", "mean pooling")


@experiment(jobs_over(seed=SEEDS, length=LENGTHS), rows=len(STRENGTHS))
def needle_strengths(length: int, seed: int) -> list[dict]:
    """Data III: accuracy on 400 further texts against the strength of the signal, trained on 200."""
    rows = []
    for strength in STRENGTHS:
        both = needles(length, strength, texts=600, seed=seed)
        train, test = (type(both)(*(of[part] for of in both)) for part in (slice(0, 200), slice(200, None)))
        rows.append({"strength": strength} | accuracies(train, test))
    return rows


def threshold(rows: pd.DataFrame, pooling: str) -> float:
    """The strength from which on one seed and length stays at :data:`LEVEL` or above, between two in logarithms."""
    rows = rows.sort_values("strength")
    strengths, right = np.log(rows["strength"].to_numpy()), rows[pooling].to_numpy()
    below = np.flatnonzero(right < LEVEL)
    if not len(below):
        return float(np.exp(strengths[0]))
    i = below[-1]
    if i + 1 == len(right):
        return float("nan")
    part = (LEVEL - right[i]) / (right[i + 1] - right[i])
    return float(np.exp(strengths[i] + part * (strengths[i + 1] - strengths[i])))


def thresholds(rows: pd.DataFrame) -> pd.DataFrame:
    """length, seed, pooling, threshold."""
    return pd.DataFrame(
        {"length": length, "seed": seed, "pooling": name, "threshold": threshold(own, name)}
        for (length, seed), own in rows.groupby(["length", "seed"])
        for name in POOLINGS
    )


def exponent(of_seed: pd.DataFrame) -> float:
    """The power of L with which the threshold of one seed and pooling grows."""
    return float(np.polyfit(np.log(of_seed["length"]), np.log(of_seed["threshold"]), 1)[0])


def logarithm_over_power(of_seed: pd.DataFrame) -> float:
    """By how much a + b log L misses the logarithms of thresholds less than c L^p does, in mean square."""
    log_length, threshold = np.log(of_seed["length"].to_numpy()), of_seed["threshold"].to_numpy()
    by_log = np.polyval(np.polyfit(log_length, threshold, 1), log_length)
    by_power = np.polyval(np.polyfit(log_length, np.log(threshold), 1), log_length)
    missed = [np.mean((np.log(threshold) - told) ** 2) for told in (by_power, np.log(np.maximum(by_log, 1e-9)))]
    return float(missed[0] - missed[1])
