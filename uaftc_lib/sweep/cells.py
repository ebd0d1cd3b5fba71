"""Cells, and the grids that are made of them."""

from __future__ import annotations

import itertools
import json
import os
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib import resources
from pathlib import Path

from uaftc_lib import checks
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import dataset_names, dataset_options
from uaftc_lib.models import MODELS, AttentionClassifier, model_arguments
from uaftc_lib.training import TrainingConfig

GRIDS = resources.files("uaftc_lib.sweep") / "grids"
AXES = ("dataset", "model", "lam")
TABLES = ("learning_rates", "options")


def known(what: str, table: object, names: Collection[str]) -> dict:
    """A table all of whose names are known, or ValueError."""
    if not isinstance(table, Mapping):
        raise ValueError(f"{what} must be a table of names and values, got {table!r}")
    if unknown := set(table) - set(names):
        allowed = ", ".join(sorted(names)) or "none"
        raise ValueError(f"{what}: unknown {', '.join(sorted(map(str, unknown)))}; allowed are {allowed}")
    return dict(table)


@cache
def parameter_names(model: str) -> list[str]:
    """The parameters of a model of ``MODELS``."""
    smallest = AttentionClassifier(1, dimension=1, hidden=1, **model_arguments(model))
    return [name for name, _ in smallest.named_parameters()]


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
                object.__setattr__(self, field.name, checks.number(field.name, value, positive=field.name == "lam"))
            elif field.type == "int":
                checks.whole(field.name, value, least=1 if field.name in ("dimension", "hidden") else 0)
        checks.one_of("dataset", self.dataset, dataset_names())
        model_arguments(self.model)
        known("options", self.table("options"), dataset_options(self.dataset))
        known("learning_rates", self.table("learning_rates"), parameter_names(self.model))
        self.training()

    def table(self, name: str) -> object:
        """``options`` or ``learning_rates`` as they were before they became JSON."""
        try:
            return json.loads(getattr(self, name))
        except (TypeError, ValueError):
            return getattr(self, name)

    def training(self) -> TrainingConfig:
        """The configuration of :func:`uaftc_lib.fit`."""
        names = {field.name for field in fields(TrainingConfig)} - {"learning_rates", "batch_size"}
        return TrainingConfig(
            **{name: value for name, value in asdict(self).items() if name in names},
            learning_rates=self.table("learning_rates"),
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
        """The configuration as it stands in a results file.

        The device is no part of it: it changes how long a run takes and the last digits, not what was asked.
        To compare devices, write to two files.
        """
        return tuple(str(value) for value in asdict(self).values())


KEY = tuple(field.name for field in fields(Cell))
SETTINGS = {"seeds", *KEY} - {*AXES, "seed"}


def load_grid(name: str | os.PathLike) -> dict:
    """A grid: the name of one that comes with the library, or a TOML file.

    Its keys: ``dataset``, ``model``, ``lam`` (one or a list), ``seeds`` (how many), ``[settings]`` of all
    cells, ``[vary]`` with a list of values for each setting that is searched, and ``[[column]]`` tables
    whose settings, ``lam`` and ``vary`` hold where their ``dataset`` and ``model`` (one, a list, or any where
    it is left out) fit; later ones win.

    Raises
    ------
    ValueError
        If there is no such grid, or it is not TOML.
    """
    path = GRIDS / f"{name}.toml"
    if not path.is_file():
        path = Path(name)
    if not path.is_file():
        there = ", ".join(sorted(file.name[:-5] for file in GRIDS.iterdir() if file.name.endswith(".toml")))
        raise ValueError(f"no grid {str(name)!r}; there are {there}, or name a .toml file")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"the grid {path} is not TOML: {error}") from None


def listed(values: object) -> list:
    return list(values) if isinstance(values, Sequence) and not isinstance(values, str) else [values]


def check_shape(grid: Mapping) -> None:
    """ValueError unless a grid is made as :func:`load_grid` tells."""
    known("the grid", grid, {*AXES, "seeds", "settings", "vary", "column"})
    known("settings", grid.get("settings", {}), SETTINGS)
    columns = grid.get("column", [])
    if not isinstance(columns, list):
        raise ValueError(f"columns are [[column]] tables, got column = {columns!r}")
    for column in columns:
        known("a [[column]]", column, {*AXES, *SETTINGS, "vary"})
        for name, there in (("dataset", dataset_names()), ("model", MODELS)):
            for value in listed(column.get(name, [])):
                checks.one_of(f"the {name} of a [[column]]", value, there)
    for part in (grid, *columns):
        for name, values in known("vary", part.get("vary", {}), SETTINGS).items():
            if not (isinstance(values, list) and values):
                raise ValueError(f"vary needs a list of values for {name}, got {values!r}")


def as_json(name: str, value: object) -> str:
    """A table as a cell keeps it; what is text already stays."""
    try:
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    except TypeError as error:
        raise ValueError(f"{name} cannot be kept as JSON ({error}), got {value!r}") from None


def cells_of(grid: Mapping, /, **overrides) -> list[Cell]:
    """The cells of a grid, each once, seed by seed: a sweep that is broken off is a whole one with fewer seeds.

    Parameters
    ----------
    overrides
        ``dataset``, ``model``, ``lam``, ``seeds`` or any setting; they win over the grid.

    Raises
    ------
    ValueError
        For a grid of another shape, an unknown name, or a setting that cannot be.
    """
    check_shape(grid)
    chosen = known("the sweep", overrides, {*AXES, *SETTINGS})
    axes = {name: listed(chosen.pop(name, grid.get(name, []))) for name in AXES}
    for name, values in axes.items():
        if not values:
            raise ValueError(f"the grid names no {name}")
    if "lam" in overrides:
        chosen["lam"] = axes["lam"]
    cells = []
    for dataset, model in itertools.product(axes["dataset"], axes["model"]):
        settings = {"lam": axes["lam"], "seeds": grid.get("seeds", 1)} | grid.get("settings", {})
        varied = dict(grid.get("vary", {}))
        for column in grid.get("column", []):
            if dataset in listed(column.get("dataset", dataset)) and model in listed(column.get("model", model)):
                settings |= {name: value for name, value in column.items() if name not in ("dataset", "model", "vary")}
                varied |= column.get("vary", {})
        settings |= chosen
        varied = {name: values for name, values in varied.items() if name not in chosen}
        for values in itertools.product(*varied.values()):
            these = settings | dict(zip(varied, values))
            these |= {name: as_json(name, these[name]) for name in TABLES if name in these}
            seeds, lams = checks.whole("seeds", these.pop("seeds"), 1), listed(these.pop("lam"))
            cells += [Cell(dataset, model, lam, seed, **these) for seed in range(seeds) for lam in lams]
    return sorted(dict.fromkeys(cells), key=lambda cell: cell.seed)
