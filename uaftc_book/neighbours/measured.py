"""Everything that is measured of a trained classifier, as one row."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int

from uaftc_book.neighbours.jain_wallace import (
    JainWallaceTrainer,
    Objective,
    area_under_curve,
    classifier_quality,
    permutations,
)
from uaftc_book.neighbours.people import Phrases, asked, people_row
from uaftc_book.neighbours.settings import BY_EPOCH, MEASURES
from uaftc_book.neighbours.yardsticks import part_shares, spread, whole_output, yardstick_agreements, yardsticks
from uaftc_lib import explain
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.locations import data_home
from uaftc_lib.models import AttentionClassifier

LOO, SPREAD = "tau attention, leave-one-out", "spread attention of leave-one-out"
STATE = "tau attention, state leave-one-out"
REST = "spread per attention of leave-one-out"


TOLERANCE = 0.01  # largest change of a probability that counts as none


def looked_at(dataset: Dataset, seed: int = 0, most: Mapping[str, int] = MEASURES.texts) -> Corpus:
    """The test texts that are measured: neither too short nor too long, and at most so many, drawn."""
    corpus = dataset.test
    usable = torch.nonzero((corpus.lengths >= MEASURES.shortest) & (corpus.lengths <= MEASURES.longest)).squeeze(1)
    order = np.random.default_rng(seed).permutation(len(usable))[: most.get(dataset.name, len(usable))]
    return corpus[usable[np.sort(order)]]


def all_measures(
    model: AttentionClassifier,
    corpus: Corpus,
    seed: int = 0,
    people: tuple[Phrases, Int[np.ndarray, "types"]] | None = None,
) -> dict[str, float]:
    """Every number of the wing's measures on a corpus of two classes; ``seed``: of what is drawn.

    ``people``: the phrases of SST that people rated, and how often each word occurs in its training texts.
    """
    found, left = yardsticks(model, corpus, seed)
    with torch.no_grad():
        out = whole_output(model, corpus)
    shuffled = permutations(out, corpus, seed=seed)
    said = spread(found["attention"], found["leave-one-out"], corpus)._asdict()
    adversary = explain.adversarial_attention(model, corpus, TOLERANCE)
    return {
        "texts": len(corpus),
        **yardstick_agreements(found, corpus),
        **{f"spread {name} of leave-one-out".replace("_", " "): value for name, value in said.items()},
        **part_shares(left),
        "permuted turned": float(shuffled.turned.mean()),
        "largest weight": float(np.median(shuffled.largest)),
        "exact adversary": float(adversary.divergence.double().mean()) / log(2),
        **(people_row(found["attention"], corpus, *people) if people else {}),
    }


STRENGTH, RARITY = "people's strength, attention", "people's strength, rarity"
OF_AN_EPOCH = (
    LOO,
    f"{LOO} sd",
    "tau attention, gradient",
    STATE,
    SPREAD,
    "largest weight",
    "share of own state",
    "permuted turned",
    "exact adversary",
    STRENGTH,
    RARITY,
)


def after_epochs(
    model: AttentionClassifier, data: Dataset, seed: int = 0, objective: Objective | None = None
) -> list[dict[str, float]]:
    """Train by Jain & Wallace's protocol; after some epochs, accuracy and what attention agrees with.

    All models are measured after the same epochs, as agreement grows with training, on a draw of the test texts.
    """
    trainer = JainWallaceTrainer(model, data.train, seed, objective)
    corpus = looked_at(data, most=BY_EPOCH.texts)
    people, rows = asked(data, corpus, data_home()), []
    for epoch in range(1, BY_EPOCH.epochs[-1] + 1):
        trainer.epoch()
        if epoch in BY_EPOCH.epochs:
            measures = all_measures(model, corpus, people=people)
            row = {"epoch": epoch, "texts": len(corpus), "AUC on dev": area_under_curve(model, data.dev)}
            row |= {"accuracy": classifier_quality(model, data.test)["accuracy"]}
            rows.append(row | {name: measures[name] for name in OF_AN_EPOCH if name in measures})
    return rows


def at_kept_epoch(rows: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Of each run, told apart by ``keys``, the epoch that Jain and Wallace keep: the highest AUC on dev, not the first.

    Among the epochs that were measured.
    """
    later = rows[rows["epoch"] > 1]
    return later.loc[later.groupby([*keys, "seed"], sort=False)["AUC on dev"].idxmax()]


def growth(rows: pd.DataFrame, column: str = LOO) -> pd.Series:
    """By seed, how far a number after the last epoch lies above that after the first; one model, one data set."""
    values = rows.pivot(index="seed", columns="epoch", values=column)
    return (values[BY_EPOCH.epochs[-1]] - values[BY_EPOCH.epochs[0]]).dropna()
