"""Chapter 09_staying_true: what remedies that keep states close to their words buy, and what they cost."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from uaftc_book import rules
from uaftc_book.neighbours.jain_wallace import JainWallaceClassifier
from uaftc_book.neighbours.measured import LOO, after_epochs
from uaftc_book.neighbours.settings import BY_EPOCH, WORD_LEVEL
from uaftc_book.neighbours.word_level import initial
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment

# ---
# The classifiers of every remedy, their seeds and strengths, and what is measured of them after each epoch.


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
    """What a remedy does to accuracy and to what attention agrees with, after some epochs."""
    data = load_dataset(dataset)
    if kind == WORDS:
        return after_epochs(JainWallaceClassifier(len(data.vocabulary), "words", "tanh", seed=seed), data, seed)
    model, objective = initial(data, kind, strength, seed)
    return after_epochs(model, data, seed, objective)


# ---
# What a remedy is, what it costs, and what the answer is at each epoch.


LABELS = {
    "base": "plain LSTM",
    WORDS: "words, no LSTM",
    "concatenation": "[h; e]",
    "residual": "h + e",
    "tied": "tied, δ =",
    "tied by norm": "tied by norm, δ =",
    "masked": "masked words, η =",
    "diverse": "diverse, γ =",
    "orthogonal": "orthogonal",
    "one direction": "one direction",
    "one direction, diverse": "one direction, diverse, γ =",
    "one direction, orthogonal": "one direction, orthogonal",
}
BASE, POOLED_WORDS = LABELS["base"], LABELS[WORDS]
DATASETS = {"sst": "SST", "20news-1": "20 Newsgroups I"}
LITTLE = 0.01  # of accuracy: what keeps it, in the first paper's claim
LEARNT = 0.6  # of the texts right, of two classes: below it a model is near guessing


class Claim(NamedTuple):
    """A sentence on a remedy, whose it is, the column that decides it, the sign of the change, what may be lost."""

    says: str
    by: str
    column: str
    sign: int = 1
    allowed: float = 0.0


TUTEK, MOHANKUMAR, OURS = "Tutek & Šnajder", "Mohankumar et al.", "our question"
CLAIMS = (
    Claim("accuracy is kept, to one point", f"{TUTEK}; {MOHANKUMAR}", "accuracy", 1, LITTLE),
    Claim("shuffled weights flip more decisions", f"{TUTEK}; {MOHANKUMAR}", "permuted turned"),
    Claim("other weights with the same answer lie nearer", TUTEK, "exact adversary", -1),
    Claim("attention agrees better with gradients", MOHANKUMAR, "tau attention, gradient"),
    Claim("more of a word's effect passes through its own state", OURS, "share of own state"),
    Claim("attention agrees better with leaving words out", OURS, LOO),
)


def label(kind: str, strength: float) -> str:
    """A model, as figures and tables call it."""
    return f"{LABELS[kind]} {strength:g}" if strength else LABELS[kind]


# The models that every figure shows; the other runs are other strengths and forms of the same remedies.
MAIN = [label(kind, strength) for kind, strengths in WORD_LEVEL.runs[0]["kinds"].items() for strength in strengths]


def labelled(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of :func:`remedies` with the label of each model."""
    return rows.assign(model=[label(*pair) for pair in zip(rows["kind"], rows["strength"])])


def by_seed(rows: pd.DataFrame, model: str, column: str) -> pd.Series:
    """A number of each run of a model, on one data set and at one epoch."""
    return rows[rows["model"] == model].set_index("seed")[column]


def change(rows: pd.DataFrame, model: str, column: str, other: str = BASE) -> pd.Series:
    """What a number is above that of the same seed of another model, on one data set and at one epoch."""
    return (by_seed(rows, model, column) - by_seed(rows, other, column)).dropna()


def at_best(rows: pd.DataFrame, model: str, column: str) -> pd.DataFrame:
    """The runs of a model at the epoch at which the mean of a column is largest; one data set."""
    own = rows[rows["model"] == model]
    return own[own["epoch"] == own.groupby("epoch")[column].mean().idxmax()]


def beyond_training(rows: pd.DataFrame, model: str) -> pd.Series:
    """How far the largest τ of a model lies above the plain LSTM's largest, each at its best epoch; one data set."""
    own, plain = (at_best(rows, name, LOO).set_index("seed")[LOO] for name in (model, BASE))
    return (own - plain).dropna()


def that_help(rows: pd.DataFrame) -> list[str]:
    """The remedies that raise τ beyond what training the plain LSTM longer does, the best first; one data set."""
    excess = {name: beyond_training(rows, name) for name in rows["model"].unique() if name not in (BASE, POOLED_WORDS)}
    helpful = [name for name, values in excess.items() if rules.interval(values.to_numpy()).low > 0]
    return sorted(helpful, key=lambda name: -excess[name].mean())


def turned(rows: pd.DataFrame, models: list[str]) -> list[str]:
    """The models whose τ lies above the plain LSTM's at one epoch and below it at another, each by its interval."""
    signs = {model: outcomes(rows, model, Claim("", "", LOO)) for model in models}
    return [model for model, one in signs.items() if {"+", "−"} <= set(one)]


def is_dominated(rows: pd.DataFrame, model: str) -> bool:
    """Whether pooled words, at their most accurate epoch, agree better and are more often right than a model.

    The model is taken at the epoch at which it agrees best; by intervals over seeds, on one data set.
    """
    own, words = (at_best(rows, *one).set_index("seed") for one in ((model, LOO), (POOLED_WORDS, "accuracy")))
    changes = ((words[column] - own[column]).dropna() for column in (LOO, "accuracy"))
    return all(rules.interval(values.to_numpy()).low > 0 for values in changes)


def answer(rows: pd.DataFrame) -> str:
    """The headline: where a remedy helps, what it costs, and what leaving the LSTM out does instead."""
    parts, dominated = [], []
    for dataset, own in rows.groupby("dataset", sort=False):
        names, plain, words = that_help(own), at_best(own, BASE, LOO), at_best(own, POOLED_WORDS, "accuracy")
        if names:
            best = at_best(own, names[0], LOO)
            dominated.append(is_dominated(own, names[0]))
            part = f"{names[0]} raises τ to {best[LOO].mean():.2f} at best, {best['accuracy'].mean():.0%} right"
            part += f" (plain LSTM: {plain[LOO].mean():.2f}, {plain['accuracy'].mean():.0%})"
        else:
            part = "no remedy does more than training the plain LSTM longer"
        parts.append(f"On {DATASETS[dataset]} {part}; words pooled without the LSTM reach {words[LOO].mean():.2f}")
        parts[-1] += f", {words['accuracy'].mean():.0%} right, at their most accurate epoch."
    first = "No: none of the remedies helps." if not dominated else "Yes, by a remedy that is strong enough."
    if dominated and all(dominated):
        first = "Yes, but leaving the LSTM out does more and costs less."
    return " ".join([first, *parts])


def outcomes(rows: pd.DataFrame, model: str, claim: Claim) -> str:
    """A sign for each epoch: + where a claim holds by its interval, − where its reverse does, ○ where neither does.

    A dot stands where the model has not learnt the task: fewer than :data:`LEARNT` of the texts are right.
    """
    signs = ""
    for _, of_epoch in rows.groupby("epoch"):
        interval = rules.interval(claim.sign * change(of_epoch, model, claim.column).to_numpy() + claim.allowed)
        learnt = by_seed(of_epoch, model, "accuracy").mean() >= LEARNT
        signs += "·" if not learnt else "+" if interval.low > 0 else "−" if interval.high < 0 else "○"
    return signs
