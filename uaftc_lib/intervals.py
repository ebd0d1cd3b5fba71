"""Student's interval."""

from __future__ import annotations

import numpy as np
from scipy import stats

CONFIDENCE = 0.95


def half_width(error: float | np.ndarray, freedom: float | np.ndarray, confidence: float = CONFIDENCE):
    """Half of Student's interval of a mean: from its standard error and degrees of freedom, numbers or arrays."""
    return stats.t.ppf((1 + confidence) / 2, freedom) * error
