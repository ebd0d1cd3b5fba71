"""How near quantities come to a yardstick: rank correlation with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import rankdata


def rank_agreement(
    data: pd.DataFrame,
    quantities: Sequence[str],
    yardstick: str,
    replicates: int = 500,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Spearman's correlation of each quantity with the yardstick over the rows, with bootstrap intervals.

    The same samples of rows serve all quantities, so that they can be compared in pairs: quantities measured on the
    same rows may differ for sure though their own intervals overlap. Rows that lack a number are left out.

    Returns
    -------
    DataFrame
        quantity, correlation, low, high; behind, behind_low, behind_high: how far it is behind the best; rows. The
        best first.

    Raises
    ------
    ValueError
        If fewer than three rows are complete.
    """
    numbers = data[[*quantities, yardstick]].dropna().astype(float)
    if len(numbers) < 3:
        raise ValueError(f"rank correlation needs three complete rows, got {len(numbers)}")
    random = np.random.default_rng(seed)
    samples = [random.integers(0, len(numbers), len(numbers)) for _ in range(replicates)]
    resampled = np.array([spearman(numbers.iloc[sample].to_numpy()) for sample in samples])
    correlation = spearman(numbers.to_numpy())
    best = correlation.argmax()
    found = {"quantity": list(quantities)}
    for name, value, sampled in (
        ("", correlation, resampled),
        ("behind", correlation[best] - correlation, resampled[:, [best]] - resampled),
    ):
        low, high = np.quantile(sampled, [(1 - level) / 2, (1 + level) / 2], axis=0)
        found |= {name or "correlation": value, f"{name}_low".strip("_"): low, f"{name}_high".strip("_"): high}
    table = pd.DataFrame(found).assign(rows=len(numbers))
    return table.sort_values("correlation", ascending=False, ignore_index=True)


def spearman(numbers: np.ndarray) -> np.ndarray:
    """Rank correlation of each column but the last with the last."""
    ranks = rankdata(numbers, axis=0)
    ranks = ranks - ranks.mean(0)
    return ranks[:, :-1].T @ ranks[:, -1] / np.sqrt((ranks[:, :-1] ** 2).sum(0) * (ranks[:, -1] ** 2).sum())
