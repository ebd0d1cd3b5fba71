"""Cells, and the grids that are made of them."""

from __future__ import annotations

import itertools
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib import resources
from pathlib import Path

from uaftc_lib import checks
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import dataset_names
from uaftc_lib.models import AttentionClassifier, model_arguments
from uaftc_lib.training import TrainingConfig

GRIDS = resources.files("uaftc_lib.sweep") / "grids"
AXES = ("dataset", "model", "lam")


@dataclass(frozen=True)
class Cell:
    """One run: what it trains, on what, how. All of it goes into the results file.

    ``options`` (of the data set) and ``learning_rates`` (by parameter) are JSON; ``batch_size`` 0 is a
    full batch. The rest is that of :class:`AttentionClassifier` and :class:`TrainingConfig`.
    """

    dataset: str
    model: str
    lam: float
    seed: int
    epochs: int = 20
    dimension: int = 100
    hidden: int = 50
    embedding_range: float = 0.1
    weight_range: float = 0.1
    optimizer: str = "adagrad"
    learning_rate: float = 0.02
    learning_rate_decay: float = 0.0
    learning_rates: str = "{}"
    batch_size: int = 100
    dropout: float = 0.0
    penalty: float = 0.0
    weight_decay: float = 0.0
    method: str = "auto"
    options: str = "{}"

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "float":
                object.__setattr__(self, field.name, checks.number(field.name, value))
            elif field.type == "int":
                checks.whole(field.name, value)
        checks.one_of("dataset", self.dataset, dataset_names())
        checks.number("the scaling factor lam", self.lam, positive=True)
        model_arguments(self.model)
        self.training()

    def training(self) -> TrainingConfig:
        """The configuration of :func:`uaftc_lib.fit`."""
        names = {field.name for field in fields(TrainingConfig)} - {"learning_rates", "batch_size"}
        return TrainingConfig(
            **{name: value for name, value in asdict(self).items() if name in names},
            learning_rates=json.loads(self.learning_rates),
            batch_size=self.batch_size or None,
        )

    def classifier(self, dataset: Dataset, device: str) -> AttentionClassifier:
        """The model at its start."""
        names = ("dimension", "lam", "hidden", "embedding_range", "weight_range", "seed")
        return AttentionClassifier(
            len(dataset.vocabulary),
            **{name: getattr(self, name) for name in names},
            **model_arguments(self.model),
            classes=len(dataset.classes),
            device=device,
        )

    @property
    def key(self) -> tuple[str, ...]:
        """The configuration as it stands in a results file."""
        return tuple(str(value) for value in asdict(self).values())


KEY = tuple(field.name for field in fields(Cell))


def load_grid(name: str | os.PathLike) -> dict:
    """A grid: the name of one that comes with the library, or a TOML file.

    Its keys: ``dataset``, ``model``, ``lam`` (one or a list), ``seeds`` (how many), ``[settings]`` of all
    cells, ``[vary]`` with a list of values for each setting that is searched, and ``[[column]]`` tables
    whose settings and ``vary`` hold where their ``dataset`` and ``model`` (one, a list, or any where it is
    left out) fit; later ones win.

    Raises
    ------
    ValueError
        If there is no such grid, or it is not TOML.
    """
    path = GRIDS / f"{name}.toml"
    if not path.is_file():
        path = Path(name)
    if not path.is_file():
        known = ", ".join(sorted(file.name[:-5] for file in GRIDS.iterdir() if file.name.endswith(".toml")))
        raise ValueError(f"no grid {str(name)!r}; there are {known}, or name a .toml file")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def listed(values: object) -> list:
    return list(values) if isinstance(values, Sequence) and not isinstance(values, str) else [values]


def cells_of(grid: Mapping, **overrides) -> list[Cell]:
    """The cells of a grid, seed by seed: a sweep that is broken off is a whole one with fewer seeds.

    Parameters
    ----------
    overrides
        ``dataset``, ``model``, ``lam``, ``seeds`` or any setting; they win over the grid.

    Raises
    ------
    ValueError
        For an unknown key, or a setting that cannot be.
    """
    axes = {name: listed(overrides.get(name, grid.get(name, []))) for name in AXES}
    for name, values in axes.items():
        if not values:
            raise ValueError(f"the grid names no {name}")
    chosen = {name: value for name, value in overrides.items() if name not in AXES}
    known = {*AXES, "seeds", "settings", "vary", "column"}
    allowed = {"seeds", *KEY} - {*AXES, "seed"}
    columns = grid.get("column", [])
    unknown = (set(grid) - known) | (set(chosen) - allowed)
    for column in columns:
        unknown |= set(column) - allowed - {"dataset", "model", "vary"}
    for settings in (grid.get("settings", {}), *(part.get("vary", {}) for part in (grid, *columns))):
        unknown |= set(settings) - allowed
    if unknown:
        raise ValueError(f"unknown in a grid: {', '.join(sorted(unknown))}; settings are {', '.join(sorted(allowed))}")
    cells = []
    for dataset, model in itertools.product(axes["dataset"], axes["model"]):
        settings = {"seeds": grid.get("seeds", 1)} | grid.get("settings", {})
        varied = dict(grid.get("vary", {}))
        for column in columns:
            if dataset in listed(column.get("dataset", dataset)) and model in listed(column.get("model", model)):
                settings |= {name: value for name, value in column.items() if name not in ("dataset", "model", "vary")}
                varied |= column.get("vary", {})
        settings |= chosen
        varied = {name: values for name, values in varied.items() if name not in chosen}
        for values in itertools.product(*varied.values()):
            these = settings | dict(zip(varied, values))
            for name in ("learning_rates", "options"):
                if not isinstance(these.get(name, ""), str):
                    these[name] = json.dumps(these[name], sort_keys=True)
            for seed in range(checks.whole("seeds", these.pop("seeds"), 1)):
                cells += [Cell(dataset, model, lam, seed, **these) for lam in axes["lam"]]
    return sorted(cells, key=lambda cell: cell.seed)
