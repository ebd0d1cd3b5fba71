"""The models of Table 2, one cell at a time; their settings are the grid ``grids/table2.toml``, its runs table2.csv."""

from __future__ import annotations

from dataclasses import replace

import torch

from uaftc_lib.corpus import Dataset
from uaftc_lib.experiments.cells import Cell, cells_of, load_grid
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.training import Run, fit


def table2_cell(dataset: str, model: str = "DP", lam: float = 10.0, seed: int = 0, **settings) -> Cell:
    """The cell of Table 2 that trains this model on this data set (DP: as the authors released it).

    ``settings`` are those of :class:`uaftc_lib.experiments.cells.Cell`; they win over the table's.

    Raises
    ------
    ValueError
        For an unknown model or setting, or one that cannot be.
    """
    (cell,) = cells_of(load_grid("table2"), dataset=dataset, model=model, lam=lam, seeds=1, **settings)
    return replace(cell, seed=seed)


def train_real(dataset: Dataset, mirrored: bool = False, **settings) -> tuple[AttentionClassifier, Run]:
    """The model of a :func:`table2_cell` of this data set, trained; ``mirrored``: from −W instead of W."""
    cell = table2_cell(dataset.name, **settings)
    model = cell.classifier(dataset, "cpu")
    if mirrored:
        with torch.no_grad():
            model.W.neg_()
    return model, fit(model, dataset, cell.training())
