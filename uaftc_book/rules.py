"""When a difference counts, and what verdict cases make: the rules.

*Unit.* A cell is a data set, a model and a λ, trained with several seeds. All cells share their seeds, so
that two cells are compared pairwise: same initial values, same order, same masks.

*Interval.* Of a mean, and of a mean difference, over seeds: Student's, 95 %, unless the name says 90 %.

*A claim of the form "X exceeds Y"*, measured once a seed, is supported in a case when the interval of the mean of X − Y
lies above zero, contradicted when it lies below, undecided (too wide) otherwise; with fewer than ``LEAST_SEEDS`` seeds
it is open, whatever the interval says (:func:`decided`). Where some seeds alone agree, their share has Wilson's
interval.

*Accuracies.* A planned contrast of the λ of a column (:mod:`uaftc_book.accuracies`) is a number for
each seed and each test text; its mean has an interval over both (:func:`crossed`), and is judged like X − Y.
*Equivalent* means: less than a fifth of the effect at stake, which is what λ = 1 costs in the same column.

*A cell differs from the published number* when this lies outside the 95 % prediction interval for one further run
(:func:`further_run`). One cell in twenty does so by chance, so that a column of seven differs when two do (4 %).

*The verdict on a claim*, from the cases that count (:func:`graded`). A case is a condition of the world: data, model,
λ. Settings that the paper leaves open (:data:`uaftc_book.claims.UNNAMED`) and second measures are shown and not
counted, and a verdict that one of them turns is marked. Cases that measure one quantity in one unit are also
:func:`pooled`, which turns no verdict.

*Registered first*, before the sweeps of Table 2, and still shown: a difference of two λ counts when it exceeds both of
its noises, over seeds (paired t-test) and over test instances (McNemar's exact test on the majority of the seeds; an
even split is left out), each p-value corrected by Holm within the column; two λ are equivalent when two one-sided
paired t-tests place the mean difference within ± ``EQUIVALENCE_MARGIN``. *"The optimal λ"* of a column is the one of
the best mean dev accuracy. It is real when it counts, on the test data, against every other λ ≥ 10; an illusion when it
is equivalent to all of them; undecided otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects
from statsmodels.stats.proportion import proportion_confint

from uaftc_lib.intervals import CONFIDENCE, half_width

SIGNIFICANCE = 0.05
EQUIVALENCE_MARGIN = 0.01  # one point of accuracy
LEAST_SEEDS = 5  # fewer decide nothing, for a claim or against it
VERDICTS = ("supported", "contradicted", "undecided")  # on a case
OPEN = "open"  # of too few seeds
NEARLY_ALL, MOST = 0.9, 2 / 3  # of the cases of a claim
OfSeeds = Float[np.ndarray, "seeds"] | pd.Series


class Interval(NamedTuple):
    """A mean and its interval; n values."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def half(self) -> float:
        """Half of its width."""
        return (self.high - self.low) / 2

    def __neg__(self) -> Interval:
        """With the other sign."""
        return Interval(-self.mean, -self.high, -self.low, self.n)


def around(mean: float, half: float, n: int) -> Interval:
    """An interval so wide to either side of its mean."""
    return Interval(float(mean), float(mean - half), float(mean + half), n)


def widened(found: Interval, by: float) -> Interval:
    """An interval made wider by another source's half width: the root of the sum of squares."""
    return around(found.mean, np.hypot(found.half, by), found.n)


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
    n = len(values)
    half = half_width(values.std(ddof=1), n - 1, confidence) / np.sqrt(n) if n > 1 else np.inf
    return around(values.mean(), half, n)


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


def crossed(differences: Float[np.ndarray, "seeds instances"]) -> Interval:
    """The mean over seeds and test instances, with an interval for other seeds *and* other instances.

    Both are random: the variance of the mean is (MS of seeds + MS of instances − MS of the rest) / (seeds · instances),
    at least that of the larger one alone, with Satterthwaite's degrees of freedom.

    Raises
    ------
    ValueError
        With fewer than two seeds or instances.
    """
    values = np.asarray(differences, dtype=float)
    if values.ndim != 2 or min(values.shape) < 2:
        raise ValueError(f"an interval over seeds and instances needs two of each, got {values.shape}")
    seeds, instances = values.shape
    mean, of_seeds, of_instances = values.mean(), values.mean(1), values.mean(0)
    rest = values - of_seeds[:, None] - of_instances + mean
    squares = instances * of_seeds.var(ddof=1), seeds * of_instances.var(ddof=1)
    noise = (rest**2).sum() / ((seeds - 1) * (instances - 1))
    summed = max(sum(squares) - noise, *squares)
    parts = zip((*squares, noise), (seeds - 1, instances - 1, (seeds - 1) * (instances - 1)))
    spread = sum(square**2 / free for square, free in parts)
    half = half_width(np.sqrt(summed / values.size), summed**2 / spread) if summed else 0.0
    return around(mean, half, seeds)


def further_run(values: Float[np.ndarray, "seeds"]) -> Interval:
    """The mean, and the prediction interval for one further run."""
    found = interval(values)
    return around(found.mean, found.half * np.sqrt(found.n + 1), found.n)


def graded(supported: int, contradicted: int, cases: int) -> str:
    """The verdict on a claim from its cases: so many support it, so many contradict it, the others decide nothing.

    Raises
    ------
    ValueError
        If there are no cases, or fewer than decide.
    """
    if not 0 < cases >= supported + contradicted:
        raise ValueError(f"{supported} and {contradicted} of {cases} cases cannot be")
    if 2 * (supported + contradicted) < cases:
        return "undecided"
    for for_, against, words in (
        (supported, contradicted, ("holds", "mostly holds")),
        (contradicted, supported, ("does not hold", "mostly not")),
    ):
        if for_ >= NEARLY_ALL * cases and not against:
            return words[0]
        if for_ >= MOST * cases:
            return words[1]
    return "mixed"


def decided(measured: Interval) -> str:
    """The verdict on "X exceeds Y" from the interval of X − Y over seeds."""
    if measured.n < LEAST_SEEDS:
        return OPEN
    return "supported" if measured.low > 0 else "contradicted" if measured.high < 0 else "undecided"


def pooled(cases: Sequence[Interval]) -> Interval:
    """The mean over cases that may truly differ: random effects (Paule and Mandel; Hartung and Knapp's interval).

    n is the number of cases. It takes them for independent.
    """
    means, halves = np.array([(case.mean, case.half) for case in cases]).T
    errors = halves / stats.norm.ppf((1 + CONFIDENCE) / 2)
    with np.errstate(divide="ignore"):  # of an index of cases that are all alike
        effects = combine_effects(means, errors**2)
    low, high = max(effects.conf_int(1 - CONFIDENCE, use_t=True)[1::2], key=np.ptp)  # theirs may be the narrower one
    return Interval(float(effects.mean_effect_re), float(low), float(high), len(cases))


def correlation(one: OfSeeds, other: OfSeeds) -> Interval:
    """Pearson's correlation, and Fisher's interval."""
    found = stats.pearsonr(one, other)
    return Interval(float(found.statistic), *map(float, found.confidence_interval(CONFIDENCE)), len(one))


def slope_on(one: OfSeeds, other: OfSeeds) -> Interval:
    """The slope of the other on the one, and its interval."""
    line = stats.linregress(one, other)
    return around(line.slope, half_width(line.stderr, len(one) - 2), len(one))


def resampled(statistic: Callable, rows: int, draws: int) -> tuple:
    """Between what the middle 95 % of a statistic of row numbers lie, over samples drawn with replacement."""
    asked = {"n_resamples": draws, "vectorized": False, "method": "percentile", "rng": 0}
    return stats.bootstrap((np.arange(rows),), statistic, **asked).confidence_interval
