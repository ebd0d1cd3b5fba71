"""The terms of Eq 63 (affine layer), 82 and 83 (several classes) while a model learns, and what is said of them."""

from __future__ import annotations

import pandas as pd
import torch

from uaftc_book.cases import SMALL
from uaftc_book.chapters.variants.models import M_OF_LIBRARY, RANGES_OF_M, ranges, three_classes, train_variant
from uaftc_book.claims import reads
from uaftc_book.readings import column, least, opposed, rows_of, several, size
from uaftc_book.small_data import PAPER_NEUTRAL, SEEDS, WHOLE_EPOCHS, by_kind, initial_model, small_config
from uaftc_lib import dynamics
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import examined_types
from uaftc_lib.training import fit

EPOCHS = 30  # of the affine model, as in the runs that stand beside it
KINDS = ("0", "1", "2")
AFFINE = (*((M, 10.0) for M in RANGES_OF_M), (M_OF_LIBRARY, 100.0))


@experiment(jobs=[{"M": M, "lam": lam, "seed": s} for M, lam in AFFINE for s in SEEDS], rows=1)
def affine_velocities(M: str, lam: float, seed: int) -> list[dict]:
    """Data I behind an affine layer: the terms of ds/dτ (Eq 63) by kind of word, the mean over looks after every epoch.

    "own" is the sum of the first three terms, B, C and M_pi, "rest" that of the last two, A and M_rho.
    """
    dataset, looks = load_dataset("synthetic-1"), []
    types = examined_types(dataset)

    def look(_epoch: int, model: AttentionClassifier) -> dict:
        terms = dynamics.polarity_update(model, dataset.train)
        sums = {"own": terms.B + terms.C + terms.M_pi, "rest": terms.A + terms.M_rho}
        looks.append(by_kind(terms._asdict() | sums, types))
        return {}

    train_variant(dataset, "DP-A", lam, epochs=EPOCHS, seed=seed, record=look, M=M)
    return [pd.DataFrame(looks).mean().to_dict()]


@experiment(jobs_over(lam=(10.0, 100.0), seed=SEEDS), rows=1)
def class_velocities(lam: float, seed: int) -> list[dict]:
    """12,000 texts of three classes: the terms of Eq 82 for a word's own class and of Eq 83, by the class of the word.

    The mean over looks after every epoch; "3" are neutral words, of which A, B and C are for the first class.
    """
    dataset, types = three_classes(seed, 4000, neutral_types=PAPER_NEUTRAL)
    model, looks = initial_model(dataset, lam, classes=3, seed=seed), []

    def look(_epoch: int, now: AttentionClassifier) -> dict:
        polarity, attention = (f(now, dataset.train) for f in (dynamics.polarity_update, dynamics.attention_update))
        own = torch.zeros(len(now.embedding), dtype=torch.long)
        for k in KINDS:
            own[types[k]] = int(k)
        terms = {name: getattr(polarity, name).gather(1, own[:, None]).squeeze(1) for name in "ABC"}
        looks.append(by_kind(terms | {name: getattr(attention, name) for name in "DEF"}, types))
        return {}

    fit(model, dataset, small_config(epochs=WHOLE_EPOCHS, seed=seed), record=look, progress=False)
    return [pd.DataFrame(looks).mean().to_dict()]


def mean_size(rows: pd.DataFrame, name: str) -> pd.Series:
    """The mean over the words of all classes of the size of a term."""
    return sum(column(rows, f"|{name}| {k}") for k in KINDS) / len(KINDS)


AFFINE_RUNS = several(
    *(rows_of(f"Data I, λ = {lam:g}, {ranges(M)}", "affine_velocities", M=M, lam=lam) for M, lam in AFFINE)
)
CLASS_RUNS = several(*(rows_of(f"three classes, λ = {lam:g}", "class_velocities", lam=lam) for lam in (10.0, 100.0)))

reads("affine_polarity_terms", AFFINE_RUNS, lambda rows: least(*(opposed(rows, name) for name in ("B", "C", "M_pi"))))
reads("affine_polarity_rest", AFFINE_RUNS, lambda rows: SMALL - size(rows, "|rest|") / size(rows, "|own|"))
reads(
    "class_A_is_small",
    CLASS_RUNS,
    lambda rows: SMALL - mean_size(rows, "A") / (mean_size(rows, "B") + mean_size(rows, "C")),
)
reads("class_own_terms", CLASS_RUNS, lambda rows: least(*(column(rows, f"{name} {k}") for name in "BC" for k in KINDS)))
reads("class_F_is_small", CLASS_RUNS, lambda rows: SMALL - mean_size(rows, "F") / mean_size(rows, "E"))
reads("class_E_of_polar", CLASS_RUNS, lambda rows: least(*(column(rows, f"E {k}") for k in KINDS)))


def apart(rows: pd.DataFrame) -> pd.Series:
    """How far above zero D is for one class at least and below it for another, the nearer; negative: on one side."""
    of_class = pd.concat([column(rows, f"D {k}") for k in KINDS], axis=1)
    return pd.concat([of_class.max(axis=1), -of_class.min(axis=1)], axis=1).min(axis=1)


reads("class_D_takes_sides", CLASS_RUNS, apart)
