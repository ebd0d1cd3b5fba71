"""Chapter A_synthetic: Appendix C's invented world, and what it says of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pandas as pd

from uaftc_book.cases import OPEN, SMALL, Part, Tables, alike, exceeds
from uaftc_book.claims import reading, reads
from uaftc_book.readings import (
    MODERATE,
    NOISY,
    ONE,
    SHORT_TEN,
    TEN,
    cells,
    column,
    difference,
    lead,
    neutral_small,
    opposed,
    several,
    size,
    sst,
    sure_votes,
)
from uaftc_book.small_data import RANGES, SEEDS, train_synthetic
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import auc_of, examined_types, score_frame

RATIOS = {  # positive:negative -> numbers of negative and of positive instances
    "1:1": (6000, 6000),
    "1:2": (8000, 4000),
    "1:5": (10000, 2000),
    "2:1": (4000, 8000),
    "5:1": (2000, 10000),
}


@experiment(jobs_over(penalty=(0.0, 1e-3), seed=SEEDS), rows=31)
def synthetic_gap(penalty: float, seed: int) -> list[dict]:
    """Data I with and without a penalty on V·W: a row an epoch (Fig S5)."""
    _, run = train_synthetic(load_dataset("synthetic-1"), penalty=penalty, seed=seed)
    return run.history.drop(columns="dev_accuracy").to_dict("records")


SKEWED = jobs_over(perpendicular=(False, True), ratio=RATIOS, seed=SEEDS)


@experiment(jobs=SKEWED, rows=1)
def synthetic_ratio(ratio: str, perpendicular: bool, seed: int, weight_range: float = 1.0) -> list[dict]:
    """V·W after training on 12,000 instances of Data I with positive:negative = ratio (Fig S7)."""
    dataset = load_dataset("synthetic-1", class_sizes=RATIOS[ratio], seed=seed)
    options = {"weight_range": weight_range, "epochs": 30 * RANGES[weight_range]}
    _, run = train_synthetic(dataset, perpendicular=perpendicular, seed=seed, **options)
    first, last = run.history.iloc[0], run.history.iloc[-1]
    initial = round(first["V·W"], 5)  # of perpendicular V and W there is only rounding, other on another processor
    return [{"V₀·W₀": initial, "V·W": last["V·W"], "loss": last["loss"]}]


@experiment(jobs=SKEWED, rows=1)
def synthetic_ratio_short(ratio: str, perpendicular: bool, seed: int) -> list[dict]:
    """As :func:`synthetic_ratio`, with W from ±0.1 and three times as long."""
    return synthetic_ratio(ratio, perpendicular, seed, weight_range=0.1)


SIZES = {  # other settings, of which Fig S7 tells none
    "as here": {},
    "ten times as long": {"epochs": 300},
    "λ = 100": {"lam": 100.0},
    "W from ±0.1": {"weight_range": 0.1},
    "W from ±0.1, three times as long": {"weight_range": 0.1, "epochs": 90},
    "the same at λ = 5": {"weight_range": 0.1, "epochs": 90, "lam": 5.0},
}


@experiment(jobs_over(setting=SIZES, seed=SEEDS), rows=1)
def synthetic_sizes(setting: str, seed: int) -> list[dict]:
    """V·W at 5:1 from V ⟂ W in other settings: at the end, and the largest of any epoch."""
    dataset = load_dataset("synthetic-1", class_sizes=RATIOS["5:1"], seed=seed)
    _, run = train_synthetic(dataset, perpendicular=True, seed=seed, **SIZES[setting])
    moved = run.history["V·W"]
    return [{"V·W": moved.iloc[-1], "largest": moved.max(), "loss": run.history["loss"].iloc[-1]}]


@experiment(jobs=[{"learning_rate": 7.5 / n, "epochs": n, "seed": 0} for n in (30, 60, 150, 500)], rows=1)
def synthetic_steps(learning_rate: float, epochs: int, seed: int) -> list[dict]:
    """Data I: small steps for long against large steps for short, the same learning rate × epochs."""
    _, run = train_synthetic(load_dataset("synthetic-1"), learning_rate=learning_rate, epochs=epochs, seed=seed)
    return run.history.tail(1).drop(columns=["epoch", "dev_accuracy"]).to_dict("records")


@experiment(jobs_over(seed=SEEDS, weight_range=(0.01, 0.1, 0.5, 1.0, 2.0)), rows=31)
def synthetic_start(weight_range: float, seed: int) -> list[dict]:
    """Data I from other starting ranges of W: a row an epoch."""
    _, run = train_synthetic(load_dataset("synthetic-1"), weight_range=weight_range, seed=seed)
    return run.history.drop(columns="dev_accuracy").to_dict("records")


@experiment(jobs_over(weight_range=RANGES, noise=(0.0, 0.05, 0.1), seed=SEEDS), rows=1)
def synthetic_scores(noise: float, weight_range: float, seed: int) -> list[dict]:
    """Data I and II: how well scores separate the kinds, their means and spreads, and the spread of initial embeddings.

    Spreads are from the 5 % to the 95 % quantile. "of initial embeddings": of those before training, read by V/λ or W
    after it, of neutral words.
    """
    dataset = load_dataset("synthetic-2", noise=noise) if noise else load_dataset("synthetic-1")
    types = examined_types(dataset)
    options = {"weight_range": weight_range, "seed": seed}
    model, _ = train_synthetic(dataset, epochs=30 * RANGES[weight_range], **options)
    initial = AttentionClassifier(len(dataset.vocabulary), dimension=100, **options).embedding.detach()
    frame, row = score_frame(model, dataset, types), {}
    readers = {"attention": model.V.detach() / model.lam, "polarity": model.W.detach()}

    def spread(values: pd.Series) -> float:
        return float(values.quantile(0.95) - values.quantile(0.05))

    for what, reader in readers.items():
        for kind, rows in frame.groupby("type")[what]:
            row |= {f"{what} {kind}": rows.mean(), f"{what} spread {kind}": spread(rows)}
        of_initial = pd.Series((initial @ reader)[types["neutral"]].double().numpy())
        row[f"{what} spread of initial embeddings"] = spread(of_initial)
        pairs = (("positive", "neutral"), ("negative", "neutral") if what == "attention" else ("neutral", "negative"))
        row |= {f"{what} {high} over {low}": auc_of(frame, what, high, low) for high, low in pairs}
    return [row]


def last(tables: Tables, penalty: float) -> pd.DataFrame:
    """The last epoch of "synthetic_gap"."""
    rows = tables("synthetic_gap", penalty=penalty)
    return rows[rows.epoch == rows.epoch.max()] if len(rows) else rows


def by_ratio(tables: Tables) -> Iterator[tuple[str, float, pd.Series, pd.Series]]:
    """Case, the sign of the larger class, V·W of a skewed class ratio and that of 1:1 from the same seeds."""
    initialisations = ((False, "as drawn"), (True, "V₀ ⊥ W₀"))
    ranges = (("synthetic_ratio", ""), ("synthetic_ratio_short", ", W₀ within ±0.1"))
    for (table, reach), (perpendicular, initialisation) in product(ranges, initialisations):
        of = {
            ratio: column(tables(table, ratio=ratio, perpendicular=perpendicular), "V·W")
            for ratio in ("1:1", "1:2", "2:1", "1:5", "5:1")
        }
        even = of.pop("1:1")
        for ratio, skewed in of.items():
            yield f"Data I, {ratio}, {initialisation}{reach}", 1.0 if ratio[0] > ratio[2] else -1.0, skewed, even


reads("polarity_parts", several(cells(*MODERATE), sst(10)), sure_votes, null=True)
reads("polarity_of_neutral", cells(*MODERATE), neutral_small("polarity"))
reads("polar_lead", several(cells(ONE, TEN, SHORT_TEN, NOISY), sst(10)), lead, null=True)


@reading
def trials_are_similar(tables: Tables) -> Iterator[Part]:
    rows = last(tables, 0.0)
    yield exceeds("Data I, lead of the weaker polar kind", alike(lead(rows)))
    yield exceeds("Data I, positive minus negative words", alike(difference(rows)))


@reading
def noise_is_harmless(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(NOISY)(tables):
        yield exceeds(f"attention, {name}", lead(rows))
        yield exceeds(f"polarity, {name}", opposed(rows, "polarity"))


reads(
    "neutral_around_zero",
    cells(TEN, NOISY),
    lambda rows: SMALL - column(rows, "polarity neutral").abs() / size(rows, "polarity"),
)
reads(
    "apparent_gap",
    lambda tables: [("Data I", last(tables, 0.0))],
    lambda rows: difference(rows).abs() / size(rows, "attention") - SMALL,
)


@reading
def penalty_closes_the_gap(tables: Tables) -> Iterator[Part]:
    cases = {"Data I, λ = 10": [last(tables, p) for p in (0.0, 1e-3)]}
    for name, noise in (("Data I", 0.0), ("Data II", 0.1)):
        cases[f"{name}, λ = 100"] = [
            tables("interventions_whole", noise=noise, intervention=kind) for kind in ("none", "penalty")
        ]
    for name, pair in cases.items():
        free, held = (difference(rows).abs() for rows in pair)
        yield exceeds(name, SMALL - held / free.mean())


@reading
def ratio_moves_VW(tables: Tables) -> Iterator[Part]:
    for case, towards, skewed, even in by_ratio(tables):
        yield exceeds(case, towards * (skewed - even))


@reading
def VW_and_ratio(tables: Tables) -> Iterator[Part]:
    for case, _, skewed, even in by_ratio(tables):
        yield exceeds(case, skewed.abs() - even.abs())
        if "as drawn" in case:  # the paper has means of four seeds; of ours no ten of them share no seed
            fours = np.array([*combinations(range(min(len(even), len(skewed))), 4)], dtype=int).reshape(-1, 4)
            less = abs(even.to_numpy()[fours].mean(1)) < abs(skewed.to_numpy()[fours].mean(1))
            told = f"1:1 is the smaller one in {less.sum()} of {len(less)} means of four seeds" if len(less) else ""
            yield Part(f"{case}, means of four", OPEN, f"{told}, which share seeds", len(even))
