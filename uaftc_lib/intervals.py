"""Student's interval."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

CONFIDENCE = 0.95
Values = int | float | np.ndarray | pd.Series


def half_width(error: Values, freedom: Values, confidence: float = CONFIDENCE) -> Values:
    """Half of Student's interval of a mean: from its standard error and degrees of freedom, numbers or arrays."""
    return stats.t.ppf((1 + confidence) / 2, freedom) * error
