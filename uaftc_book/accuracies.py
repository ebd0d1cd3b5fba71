"""The columns of Table 2: every pair of λ compared by the rules, planned contrasts, and the cells in print."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from uaftc_book import rules
from uaftc_book.cases import SMALL, Tables
from uaftc_book.readings import HUGE
from uaftc_lib.experiments.registry import stored
from uaftc_lib.experiments.sweep import decode_errors
from uaftc_lib.intervals import half_width
from uaftc_lib.locations import PAPER_NAMES, published
from uaftc_lib.settings import PAPER_MODELS

LAMS_OF_COLUMN = 7  # of a whole column
ALLOWED_OUTSIDE = 2  # so many of seven lie outside 95 % prediction intervals by chance in 4 % of the columns


def is_complete(rows: pd.DataFrame) -> bool:
    """Whether a column of Table 2 has every λ, with at least two seeds each."""
    made = rows.groupby("lam").seed.nunique() if len(rows) else ()
    return len(made) == LAMS_OF_COLUMN and bool(made.min() > 1)


def columns_of(
    tables: Tables, model: str, datasets: Iterable[str] = tuple(PAPER_NAMES)
) -> Iterator[tuple[str, Column | None]]:
    """The columns of Table 2 of a model with their names; None where one is not complete yet."""
    known = tables.compared
    runs = tables("table2")
    for key in datasets:
        title = PAPER_NAMES[key]
        if (key, model) not in known:
            rows = runs[(runs.dataset == key) & (runs.model == model)] if len(runs) else runs
            known[key, model] = compare_lams(rows) if is_complete(rows) else None
        yield f"{title}, {model}", known[key, model]


def splits_compared(tables: Tables) -> pd.DataFrame:
    """λ = 10,000 against the others from 10 on, over the splits of 20News II that are stored: a row each.

    Columns: lam, points, low, high (:func:`over_splits`), "p" (Holm), equivalent, splits. Empty without enough.
    """
    runs = tables("splits", dataset="20news-2", model="DP")
    by_lam = runs.pivot(index="options", columns="lam", values="test_accuracy").dropna() if len(runs) else runs
    if len(by_lam) < rules.LEAST_SEEDS or HUGE not in by_lam:
        return pd.DataFrame()
    counts = tables("data_counts", dataset="20news-2", table="1").set_index("what").ours
    train, test = (counts[counts.index.str.startswith(split)].sum() for split in ("train", "test"))
    rows, p_values = [], []
    for value in (value for value in by_lam if LARGE <= value < HUGE):
        points = 100 * (by_lam[HUGE] - by_lam[value]).to_numpy()
        mean, low, high, n = over_splits(points, test / train)
        inner = over_splits(points, test / train, 1 - 2 * rules.SIGNIFICANCE)  # two one-sided tests
        equal = max(-inner.low, inner.high) < 100 * rules.EQUIVALENCE_MARGIN
        rows.append({"lam": value, "points": mean, "low": low, "high": high, "equivalent": equal, "splits": n})
        p_values.append(p_over_splits(points, test / train))
    return pd.DataFrame(rows).assign(p=holm(p_values))


LARGE = 10.0  # "λ ≥ 10": neither small nor degenerate


@dataclass(frozen=True)
class Column:
    """The λ that is best on dev, and a row a pair of λ: lam < against, points, low, high, p-values, counts, equivalent.

    ``seeds``: those that all λ share; only they are compared. ``instances``: of the test set. ``right``: which of them
    each seed has right, by λ. ``moderate_best``: the best on dev but for the largest λ.
    """

    best: float
    pairs: pd.DataFrame
    seeds: int
    instances: int
    right: dict[float, Bool[np.ndarray, "seeds instances"]]
    moderate_best: float

    @property
    def optimum(self) -> str:
        """Whether the best λ is "real", an "illusion" or "undecided" (rules)."""
        large = self.pairs[self.pairs.lam >= LARGE]
        rivals = large[(large.lam == self.best) | (large.against == self.best)]
        return "real" if rivals.counts.all() else "illusion" if rivals.equivalent.all() else "undecided"


def over_splits(
    differences: Float[np.ndarray, "splits"], test_share: float, confidence: float = rules.CONFIDENCE
) -> rules.Interval:
    """The mean of a difference over random splits of the same texts, with an interval that knows that they overlap.

    The variance of the mean is multiplied by 1 + splits · ``test_share``, the size of the test set in units of the
    training set (Nadeau and Bengio 2003): over independent splits it would be 1.
    """
    found = rules.interval(differences, confidence)
    return rules.around(found.mean, found.half * np.sqrt(1 + found.n * test_share), found.n)


def p_over_splits(differences: Float[np.ndarray, "splits"], test_share: float) -> float:
    """The two-sided p-value that belongs to :func:`over_splits`."""
    mean, low, _, n = over_splits(differences, test_share)
    if low == mean:
        return float(not mean)
    t = abs(mean) / (mean - low) * half_width(1.0, n - 1)
    return float(2 * stats.t.sf(t, n - 1))


def paired_p(one: rules.OfSeeds, other: rules.OfSeeds) -> float:
    """Two-sided p-value of the paired t-test over seeds; 1 where all pairs are equal."""
    difference = one - other
    if len(difference) < 2 or not difference.any():
        return 1.0
    return float(stats.ttest_1samp(difference, 0.0).pvalue) if difference.std() else 0.0


def holm(p_values: Sequence[float]) -> Float[np.ndarray, "tests"]:
    """The p-values of one family, corrected by Holm (1979)."""
    gc.freeze()  # the library collects garbage at each call, which costs more than the verdict if much is alive
    try:
        return multipletests(p_values, method="holm")[1]
    finally:
        gc.unfreeze()


def equivalent(one: rules.OfSeeds, other: rules.OfSeeds) -> bool:
    """Do two one-sided paired tests place the mean difference within ± ``EQUIVALENCE_MARGIN``?"""
    # As ttost_paired of statsmodels, which divides by zero where every pair differs by as much.
    found = rules.interval(one - other, 1 - 2 * rules.SIGNIFICANCE)
    return -rules.EQUIVALENCE_MARGIN < found.low and found.high < rules.EQUIVALENCE_MARGIN


def mcnemar_p(one: Bool[np.ndarray, "seeds instances"], other: Bool[np.ndarray, "seeds instances"]) -> float:
    """McNemar's exact p-value over test instances, each judged by the majority of the seeds' runs.

    Parameters
    ----------
    one, other : Bool[np.ndarray, "seeds instances"]
        Whether each run classified each instance rightly.
    """
    right, theirs = np.mean(one, axis=0), np.mean(other, axis=0)
    decided = (right != 0.5) & (theirs != 0.5)
    right, theirs = right[decided] > 0.5, theirs[decided] > 0.5
    table = [[np.sum(right & theirs), np.sum(right & ~theirs)], [np.sum(~right & theirs), np.sum(~right & ~theirs)]]
    return float(mcnemar(table, exact=True).pvalue)


def compare_lams(runs: pd.DataFrame) -> Column:
    """Compare all λ of a column, over the seeds they share.

    Parameters
    ----------
    runs : DataFrame
        Rows of one data set and model: lam, seed, dev_accuracy, test_accuracy, test_errors.
    """
    shared = set.intersection(*(set(group.seed) for _, group in runs.groupby("lam")))
    runs = runs[runs.seed.isin(shared)].sort_values("seed")
    by_lam = dict(list(runs.groupby("lam")))
    accuracy = {value: group.test_accuracy.to_numpy() for value, group in by_lam.items()}
    errors = np.array([decode_errors(text, 8 * len(text)) for text in runs.test_errors])
    instances = round(errors.sum() / (1 - runs.test_accuracy).sum())
    right = {value: ~errors[(runs.lam == value).to_numpy(), :instances] for value in by_lam}
    pairs = list(combinations(sorted(accuracy), 2))
    over_seeds = holm([paired_p(accuracy[one], accuracy[other]) for one, other in pairs])
    over_instances = holm([mcnemar_p(right[one], right[other]) for one, other in pairs])
    ranked = sorted((v for v in accuracy if v >= LARGE), key=lambda v: by_lam[v].dev_accuracy.mean(), reverse=True)
    best, moderate_best = ranked[0], next(value for value in ranked if value < HUGE)
    apart = [rules.interval(100 * (accuracy[other] - accuracy[one])) for one, other in pairs]
    table = pd.DataFrame(
        {
            "lam": [one for one, _ in pairs],
            "against": [other for _, other in pairs],
            "points": [one.mean for one in apart],
            "low": [one.low for one in apart],
            "high": [one.high for one in apart],
            "p, seeds": over_seeds,
            "p, sentences": over_instances,
            "counts": (over_seeds < rules.SIGNIFICANCE) & (over_instances < rules.SIGNIFICANCE),
            "equivalent": [equivalent(accuracy[one], accuracy[other]) for one, other in pairs],
        }
    )
    return Column(best, table, len(shared), instances, right, moderate_best)


SMALL_LAMS = (0.001, 1.0)  # those of Table 2
AT_STAKE = 1.0  # the λ whose cost is the unit of "no significant impact"

Differences = Float[np.ndarray, "seeds instances"]


def cost_of_small(column: Column, lam: float) -> Differences:
    """What a small λ costs against the mean of all from ten on, in shares of texts."""
    return np.mean([right for value, right in column.right.items() if value >= LARGE], axis=0) - column.right[lam]


def accuracy_difference(column: Column, lam: float, against: float) -> Differences:
    """What one λ has right more than another."""
    return column.right[lam].astype(float) - column.right[against]


def cost_of_huge(column: Column) -> Differences:
    """What λ = 10,000 costs against the moderate λ that is best on dev data."""
    return accuracy_difference(column, column.moderate_best, HUGE)


def harmlessness(cost: Differences, column: Column) -> Differences:
    """By how much a cost stays below a fifth of what λ = 1 costs in the same column."""
    return SMALL * cost_of_small(column, AT_STAKE) - cost


def stored_runs(name: str) -> pd.DataFrame:
    """The runs of a stored sweep, by λ (they stand there as they were finished); accuracy is that on the test data."""
    runs = stored(name).rename(columns={"test_accuracy": "accuracy"})
    return runs.sort_values("lam", kind="stable", ignore_index=True)


def printed_accuracies() -> pd.DataFrame:
    """The published Table 2: dataset and model (under our names), lam, accuracy (a fraction)."""
    printed = published("table2").rename(columns={"scaling_factor": "lam"})
    printed["accuracy"] = printed.pop("test_accuracy_percent") / 100
    printed["dataset"] = printed["dataset"].map({name: key for key, name in PAPER_NAMES.items()})
    return printed


def complete_columns(runs: pd.DataFrame) -> dict[str, list[str]]:
    """Data set -> its models of which every λ has been made."""
    complete = {key for key, rows in runs.groupby(["dataset", "model"]) if is_complete(rows)}
    blocks = {key: [name for name in PAPER_MODELS if (key, name) in complete] for key in PAPER_NAMES}
    return {key: models for key, models in blocks.items() if models}


def beside_print(runs: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """A row a cell, in per cent: mean, low, high (the interval of the mean), seeds, published, difference, missed.

    ``least``, ``most``: ours − print, for one further run of ours (95 %); ``missed``: zero lies outside.
    """
    said = printed.set_index(["dataset", "model", "lam"]).accuracy
    rows = []
    for (key, name, value), group in runs.groupby(["dataset", "model", "lam"]):
        mean, low, high, n = rules.interval(group.accuracy.to_numpy())
        target = said[key, name, value]
        further = rules.further_run(group.accuracy.to_numpy())
        rows.append({
            "dataset": key, "model": name, "lam": value, "mean": 100 * mean, "low": 100 * low, "high": 100 * high,
            "seeds": n, "published": 100 * target, "difference": 100 * (mean - target),
            "least": 100 * (further.low - target), "most": 100 * (further.high - target),
            "missed": not further.low <= target <= further.high,
        })  # fmt: skip
    return pd.DataFrame(rows)
