"""A column of Table 2 (one data set and model): every pair of λ, compared by the rules."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from uaftc_lib.claims import rules
from uaftc_lib.sweep.rows import decode_errors

LARGE = 10.0  # "λ ≥ 10": neither small nor degenerate


@dataclass(frozen=True)
class Column:
    """The λ that is best on dev, and a row a pair of λ: lam < against, points, p-values, counts, equivalent.

    ``seeds``: those that all λ share; only they are compared.
    """

    best: float
    pairs: pd.DataFrame
    seeds: int

    @property
    def optimum(self) -> str:
        """Whether the best λ is "real", an "illusion" or "undecided" (rules)."""
        large = self.pairs[self.pairs.lam >= LARGE]
        rivals = large[(large.lam == self.best) | (large.against == self.best)]
        return "real" if rivals.counts.all() else "illusion" if rivals.equivalent.all() else "undecided"


def compare(runs: pd.DataFrame) -> Column:
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
    bits = 6 * len(runs.test_errors.iloc[0])  # those after the last instance are right in every run, and do not count
    right = {v: np.array([~decode_errors(text, bits) for text in group.test_errors]) for v, group in by_lam.items()}
    pairs = list(combinations(sorted(accuracy), 2))
    over_seeds = rules.holm([rules.paired_p(accuracy[one], accuracy[other]) for one, other in pairs])
    over_instances = rules.holm([rules.mcnemar_p(right[one], right[other]) for one, other in pairs])
    best = max((value for value in accuracy if value >= LARGE), key=lambda value: by_lam[value].dev_accuracy.mean())
    table = pd.DataFrame(
        {
            "lam": [one for one, _ in pairs],
            "against": [other for _, other in pairs],
            "points": [100 * (accuracy[other] - accuracy[one]).mean() for one, other in pairs],
            "p, seeds": over_seeds,
            "p, sentences": over_instances,
            "counts": (over_seeds < rules.SIGNIFICANCE) & (over_instances < rules.SIGNIFICANCE),
            "equivalent": [rules.equivalent(accuracy[one], accuracy[other]) for one, other in pairs],
        }
    )
    return Column(best, table, len(shared))
