"""When a difference counts: the rules of all verdicts, fixed before the results they judge.

*Unit.* A cell is a data set, a model and a λ, trained with several seeds. All cells share their seeds, so
that two cells are compared pairwise: same initial values, same order, same masks.

*Interval.* Of a mean accuracy, and of a mean difference, over seeds: Student's, 95 %, unless the name says 90 %.

*A difference counts* when it exceeds both of its noises. Over seeds: two-sided paired t-test. Over test
instances: McNemar's exact test, where an instance counts as right when more than half of the seeds have it
right (an even split counts as half right, and is left out). Each p-value is corrected by Holm within
its family, and both must lie below ``SIGNIFICANCE``. A family is one column of Table 2, one data set and one
model: all pairs of its λ.

*Two cells are equivalent* when two one-sided paired t-tests over seeds, each at ``SIGNIFICANCE``, place the mean
difference within ± ``EQUIVALENCE_MARGIN``: the 90 % interval lies inside the margin. "All λ ≥ 10 are
equivalent" needs every pair, and so no correction.

*"The optimal λ"* of a column is the one of the best mean dev accuracy. It is real when it counts, on the test
data, against every other λ ≥ 10; an illusion when it is equivalent to all of them; undecided otherwise.

*A cell misses the published number* when its mean test accuracy differs from it by more than
``PUBLISHED_MARGIN``, at λ ≤ ``SMALL_LAM`` by more than ``PUBLISHED_MARGIN_SMALL_LAM``: there one run of the authors
may lie far from the mean of many.

*A claim of the form "X exceeds Y"*, measured once a seed with at least ``LEAST_SEEDS`` seeds, is supported when
the interval of the mean of X − Y lies above zero, contradicted when it lies below, undecided otherwise. Where
it holds in some seeds and fails in others, the share in which it holds is told with it (Wilson's interval).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

SIGNIFICANCE = 0.05
CONFIDENCE = 0.95
EQUIVALENCE_MARGIN = 0.01  # one point of accuracy
PUBLISHED_MARGIN = 0.02
PUBLISHED_MARGIN_SMALL_LAM = 0.04
SMALL_LAM = 1.0
LEAST_SEEDS = 10
VERDICTS = ("supported", "contradicted", "undecided")


class Interval(NamedTuple):
    """A mean and its interval; n values."""

    mean: float
    low: float
    high: float
    n: int


def interval(values: Float[np.ndarray, "seeds"], confidence: float = CONFIDENCE) -> Interval:
    """The mean and Student's interval; without end for a single value.

    Raises
    ------
    ValueError
        If there are no values, or one is not finite.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all():
        raise ValueError(f"an interval needs at least one finite value, got {values}")
    mean, n = float(values.mean()), len(values)
    if n == 1:
        return Interval(mean, -np.inf, np.inf, 1)
    half = float(stats.t.ppf((1 + confidence) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half, n)


def share(held: Bool[np.ndarray, "cases"]) -> Interval:
    """The share of cases in which something held, and Wilson's interval.

    Raises
    ------
    ValueError
        If there are no cases.
    """
    held = np.asarray(held, dtype=bool).ravel()
    if not len(held):
        raise ValueError("a share needs at least one case")
    low, high = proportion_confint(int(held.sum()), len(held), 1 - CONFIDENCE, method="wilson")
    return Interval(float(held.mean()), float(low), float(high), len(held))


def paired_p(one: Float[np.ndarray, "seeds"], other: Float[np.ndarray, "seeds"]) -> float:
    """Two-sided p-value of the paired t-test over seeds; 1 where all pairs are equal."""
    difference = np.asarray(one, dtype=float) - np.asarray(other, dtype=float)
    if len(difference) < 2 or not difference.any():
        return 1.0
    if not difference.std():
        return 0.0
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


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


def holm(p_values: Sequence[float] | Float[np.ndarray, "tests"]) -> Float[np.ndarray, "tests"]:
    """The p-values of one family, corrected by Holm (1979)."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]))
    return corrected


def equivalent(
    one: Float[np.ndarray, "seeds"], other: Float[np.ndarray, "seeds"], margin: float = EQUIVALENCE_MARGIN
) -> bool:
    """Do two one-sided paired tests place the mean difference within ± ``margin``?"""
    found = interval(np.asarray(one, float) - np.asarray(other, float), 1 - 2 * SIGNIFICANCE)
    return -margin < found.low and found.high < margin


def misses_published(lam: float, accuracy: float, published: float) -> bool:
    """Is a mean test accuracy farther from the published one than the rules allow? Both are fractions."""
    margin = PUBLISHED_MARGIN_SMALL_LAM if lam <= SMALL_LAM else PUBLISHED_MARGIN
    return bool(abs(accuracy - published) > margin)


def exceeds(differences: Float[np.ndarray, "seeds"]) -> str:
    """The verdict on "X exceeds Y" from X − Y of each seed.

    Raises
    ------
    ValueError
        If there are fewer than ``LEAST_SEEDS`` seeds.
    """
    found = interval(differences)
    if found.n < LEAST_SEEDS:
        raise ValueError(f"a verdict needs at least {LEAST_SEEDS} seeds, got {found.n}")
    return "supported" if found.low > 0 else "contradicted" if found.high < 0 else "undecided"
