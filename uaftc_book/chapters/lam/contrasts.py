"""Planned contrasts of a column of Table 2: what small and huge λ cost, for each seed and test text.

They replace the 21 pairs of a column wherever a sentence of the paper is judged: few questions need no correction. The
scorecard says when they were fixed, and what was known then.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from uaftc_book.cases import SMALL
from uaftc_book.chapters.lam.columns import LARGE, Column
from uaftc_book.readings import HUGE

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
