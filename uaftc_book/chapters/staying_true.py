"""Chapter 09_staying_true: what objectives that keep states close to their words buy, and what they cost."""

from __future__ import annotations

import pandas as pd

from uaftc_book import rules
from uaftc_book.neighbours.jain_wallace import JainWallaceClassifier
from uaftc_book.neighbours.measured import LOO, after_epochs, at_kept_epoch
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


# ---
# What a remedy is, what it costs, and what the answer is at each epoch.


LABELS = {
    "base": "plain LSTM",
    WORDS: "words, no LSTM",
    "concatenation": "[h; e]",
    "residual": "h + e",
    "tied": "tied, squared, δ =",
    "tied by norm": "tied, norm, δ =",
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

# What the papers claim of an objective: the column that says so, the sign of its change, and what may be lost.
CLAIMS = {
    "accuracy is kept, to one point": ("accuracy", 1, LITTLE),
    "attention agrees better with leaving words out": (LOO, 1, 0.0),
    "attention agrees better with gradients": ("tau attention, gradient", 1, 0.0),
    "permuted weights flip more decisions": ("permuted turned", 1, 0.0),
    "other weights with the same answer lie nearer": ("exact adversary", -1, 0.0),
    "more of a word's effect passes through its own state": ("share of own state", 1, 0.0),
}


def label(kind: str, strength: float) -> str:
    """A model, as figures and tables call it."""
    return f"{LABELS[kind]} {strength:g}" if strength else LABELS[kind]


def labelled(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of :func:`remedies` with the label of each model."""
    return rows.assign(model=[label(*pair) for pair in zip(rows["kind"], rows["strength"])])


def kept(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each run the epoch of the highest AUC on dev, as Jain and Wallace keep it."""
    return at_kept_epoch(rows, "dataset", "model")


def by_seed(rows: pd.DataFrame, model: str, column: str) -> pd.Series:
    """A number of each run of a model, on one data set and at one epoch."""
    return rows[rows["model"] == model].set_index("seed")[column]


def change(rows: pd.DataFrame, model: str, column: str, other: str = BASE) -> pd.Series:
    """What a number is above that of the same seed of another model, on one data set and at one epoch."""
    return (by_seed(rows, model, column) - by_seed(rows, other, column)).dropna()


def beyond_training(rows: pd.DataFrame, model: str) -> pd.Series:
    """How far τ at the kept epoch lies above the plain LSTM's at the epoch where its mean is largest; one data set."""
    plain = rows[rows["model"] == BASE]
    latest = plain.groupby("epoch")[LOO].mean().idxmax()
    return (by_seed(kept(rows), model, LOO) - by_seed(plain[plain["epoch"] == latest], BASE, LOO)).dropna()


def that_help(rows: pd.DataFrame) -> list[str]:
    """The objectives that raise τ beyond what training the plain LSTM longer does, the best first; one data set."""
    excess = {name: beyond_training(rows, name) for name in rows["model"].unique() if name not in (BASE, POOLED_WORDS)}
    helpful = [name for name, values in excess.items() if rules.interval(values.to_numpy()).low > 0]
    return sorted(helpful, key=lambda name: -excess[name].mean())


def is_dominated(rows: pd.DataFrame, model: str) -> bool:
    """Whether pooled words agree better and are more often right, by their intervals, at kept epochs; one data set."""
    final = kept(rows)
    return all(
        rules.interval(change(final, POOLED_WORDS, column, model).to_numpy()).low > 0 for column in (LOO, "accuracy")
    )


def answer(rows: pd.DataFrame) -> str:
    """The headline: where an objective helps, what it costs, and what leaving the LSTM out does instead."""
    parts, helpful = [], {}
    for dataset, of_data in rows.groupby("dataset", sort=False):
        final, name = kept(of_data), DATASETS[dataset]
        helpful[dataset] = that_help(of_data)
        tau, points = (final.groupby("model")[column].mean() for column in (LOO, "accuracy"))
        cost = {model: f"{100 * (points[model] - points[BASE]):+.1f} points" for model in points.index}
        if helpful[dataset]:
            best = helpful[dataset][0]
            parts.append(f"On {name}, {best} raises τ to {tau[best]:.2f} (accuracy {cost[best]})")
        else:
            parts.append(f"On {name} no objective does more than training the plain LSTM longer")
        parts[-1] += f"; pooling words without the LSTM gives {tau[POOLED_WORDS]:.2f} ({cost[POOLED_WORDS]})."
    best = {dataset: names[0] for dataset, names in helpful.items() if names}
    worse = [is_dominated(rows[rows["dataset"] == dataset], name) for dataset, name in best.items()]
    first = "No: none of the objectives helps." if not best else "Yes, by an objective that is strong enough."
    if best and all(worse):
        first = "Yes, but leaving the LSTM out does more and costs less."
    return " ".join([first, *parts])


def outcomes(rows: pd.DataFrame, model: str, claim: str) -> str:
    """Of each epoch a sign: + where a claim holds by its interval, − where its reverse does, ○ where neither does."""
    column, sign, allowed = CLAIMS[claim]
    signs = ""
    for _, of_epoch in rows.groupby("epoch"):
        interval = rules.interval(sign * change(of_epoch, model, column).to_numpy() + allowed)
        signs += "+" if interval.low > 0 else "−" if interval.high < 0 else "○"
    return signs
