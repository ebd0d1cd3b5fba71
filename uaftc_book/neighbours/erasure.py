"""Words taken away, the most important first: how many decisions still stand."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from statsmodels.duration.survfunc import SurvfuncRight

AFTER = (1, 2, 3, 5, 8)  # words removed


def standing(needed: Float[np.ndarray, "instances"], last: Float[np.ndarray, "instances"]) -> SurvfuncRight:
    """Kaplan and Meier's estimate of the decisions that stand; one that never turned was followed up to ``last``."""
    return SurvfuncRight(np.where(np.isnan(needed), last, needed), ~np.isnan(needed))


def still_there(found: SurvfuncRight, after: tuple[float, ...]) -> Float[np.ndarray, "after"]:
    """The share of the decisions that stand after so much was removed."""
    return np.append(1.0, found.surv_prob)[np.searchsorted(found.surv_times, after, side="right")]
