"""Chapter 09_staying_true: what objectives that keep states close to their words buy, and what they cost."""

from __future__ import annotations

from uaftc_book.neighbours.jain_wallace import JainWallaceClassifier
from uaftc_book.neighbours.measured import after_epochs
from uaftc_book.neighbours.settings import BY_EPOCH, WORD_LEVEL
from uaftc_book.neighbours.word_level import initial
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment

# ---
# The classifiers of every objective, their seeds and strengths, and what is measured of them after each epoch.


WORDS = "words"  # pooled themselves, without an LSTM


def jobs() -> list[dict]:
    """Every model, the first seeds first, in the order of the settings."""
    return [
        {"dataset": run["dataset"], "kind": kind, "strength": strength, "seed": seed}
        for run in WORD_LEVEL.runs
        for seed in range(run["seeds"])
        for kind, strengths in run["kinds"].items()
        for strength in strengths
    ]


@experiment(jobs=jobs(), rows=len(BY_EPOCH.epochs))
def remedies(dataset: str, kind: str, strength: float, seed: int) -> list[dict]:
    """What a word-level objective does to accuracy and to what attention agrees with, after some epochs."""
    data = load_dataset(dataset)
    if kind == WORDS:
        return after_epochs(JainWallaceClassifier(len(data.vocabulary), "words", "tanh", seed=seed), data, seed)
    model, objective = initial(data, kind, strength, seed)
    return after_epochs(model, data, seed, objective)
