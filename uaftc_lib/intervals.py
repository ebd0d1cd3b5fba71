"""How sure a number is: the interval of Student's, and that of samples drawn with replacement."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

CONFIDENCE = 0.95


def half_width(error, freedom, confidence: float = CONFIDENCE):
    """Half of Student's interval of a mean: from its standard error and degrees of freedom, numbers or arrays."""
    return stats.t.ppf((1 + confidence) / 2, freedom) * error


def resampled(statistic: Callable, rows: int, draws: int):
    """Between what the middle 95 % of a statistic of row numbers lie, over samples drawn with replacement."""
    asked = {"n_resamples": draws, "vectorized": False, "method": "percentile", "rng": 0}
    return stats.bootstrap((np.arange(rows),), statistic, **asked).confidence_interval
