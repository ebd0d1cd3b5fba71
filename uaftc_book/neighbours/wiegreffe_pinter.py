"""Wiegreffe & Pinter (2019), Section 3.2: how much weights differ between trainings that differ in their seed alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_book.neighbours.yardsticks import largest_by_instance
from uaftc_lib.corpus import Corpus
from uaftc_lib.explain import jensen_shannon

EDGES = (0.25, 0.5, 0.75)  # of the base's largest weight, in their figure as in Jain & Wallace's


def median_divergence(
    base: Float[Tensor, "positions"], others: Sequence[Float[Tensor, "positions"]], corpus: Corpus
) -> Float[Tensor, "instances"]:
    """The median over trainings of the JSD between their weights and the base's; of an even number, between the two."""
    apart = torch.stack([jensen_shannon(base.double(), other.double(), corpus) for other in others])
    return apart.quantile(0.5, dim=0)


def variation_rows(
    base: Float[Tensor, "positions"], others: Sequence[Float[Tensor, "positions"]], corpus: Corpus
) -> list[dict]:
    """A row for each quarter of the base's largest weight that has texts: how many, and quartiles of their median."""
    apart = median_divergence(base, others, corpus)
    quarter = torch.bucketize(largest_by_instance(base.double(), corpus), torch.tensor(EDGES, dtype=torch.float64))
    found = []
    for k in quarter.unique().tolist():
        of_quarter = apart[quarter == k]
        low, middle, high = of_quarter.quantile(torch.tensor([0.25, 0.5, 0.75], dtype=of_quarter.dtype)).tolist()
        row = {"largest weight from": k / 4, "texts": len(of_quarter), "JSD": float(of_quarter.mean())}
        found.append(row | {"p25": low, "median": middle, "p75": high})
    return found
