"""Cells, and the grids that are made of them."""

from __future__ import annotations

import itertools
import json
import os
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from importlib import resources
from pathlib import Path

import uaftc_lib
from uaftc_lib import checks
from uaftc_lib.datasets import dataset_names, dataset_options
from uaftc_lib.settings import (
    FULL,
    MODELS,
    RECURRENT,
    ModelSettings,
    TrainingConfig,
    batch_size_of,
    check_fields,
    check_method,
    model_arguments,
    reworded,
    setting,
    slow,
    whole_or,
)

GRIDS = resources.files("uaftc_lib.experiments") / "grids"
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
    given = model_arguments(model)
    if given["encoder"] not in RECURRENT:  # these are few, and torch need not be there to name them
        return ["embedding", "V", "W"] + ["M"] * (given != MODELS["DP"])
    smallest = uaftc_lib.AttentionClassifier(1, dimension=1, hidden=1, **given)
    return [name for name, _ in smallest.named_parameters()]


@dataclass(frozen=True)
class Subject:
    """What is trained on what."""

    dataset: str = setting("sst", "Data set; `uaftc data` lists them.")
    model: str = setting("DP", "From the paper.", choices=MODELS)


@dataclass(frozen=True)
class Cell(TrainingConfig, ModelSettings, Subject):
    """One run: what it trains, on what, how. All of it goes into the results file.

    The settings are those of :class:`TrainingConfig` and :class:`AttentionClassifier`, in the words of a table:
    ``options`` (of the data set) and ``learning_rates`` (by parameter) are JSON, a full batch is "full".
    """

    learning_rates: str = reworded(TrainingConfig, "learning_rates", "{}")
    batch_size: int | str = reworded(
        TrainingConfig, "batch_size", TrainingConfig.batch_size, partial(whole_or, FULL, f"or {FULL}")
    )
    options: str = setting("{}", "Of the data set, e.g. noise=0.2. Repeatable.")

    def __post_init__(self):
        check_fields(self)
        checks.one_of("dataset", self.dataset, dataset_names())
        if self.options != "{}":  # to look for the names of none, torch need not be there
            known("options", self.table("options"), dataset_options(self.dataset))
        if self.learning_rates != "{}":
            known("learning_rates", self.table("learning_rates"), parameter_names(self.model))
        self.training()
        check_method(self.method, slow(model_arguments(self.model)["encoder"], self.optimizer))

    def table(self, name: str) -> object:
        """``options`` or ``learning_rates`` as they were before they became JSON."""
        try:
            return json.loads(getattr(self, name))
        except (TypeError, ValueError):
            return getattr(self, name)

    def training(self) -> TrainingConfig:
        """The configuration of :func:`uaftc_lib.fit`."""
        given = {field.name: getattr(self, field.name) for field in fields(TrainingConfig)}
        given |= {"learning_rates": self.table("learning_rates"), "batch_size": batch_size_of(self.batch_size)}
        return TrainingConfig(**given)

    def classifier(self, dataset: uaftc_lib.Dataset, device: str, **initial) -> uaftc_lib.AttentionClassifier:
        """The model before training; ``initial``: what no column of a table can hold, such as ``vectors``."""
        return uaftc_lib.AttentionClassifier(
            len(dataset.vocabulary),
            **{field.name: getattr(self, field.name) for field in fields(ModelSettings)},
            **model_arguments(self.model),
            seed=self.seed,
            classes=len(dataset.classes),
            device=device,
            **initial,
        )


MOST = 100_000  # cells of a grid: it is a mistake to ask for more
ADDRESS = re.compile(r"(\w+://)?(\[\S+\]|[^:/\s]+):\d+")
KEY = tuple(field.name for field in fields(Cell))
SETTINGS = {"seeds", *KEY} - {*AXES, "seed"}


def check_workers(workers: int = 1, dask: str | None = None) -> None:
    """ValueError unless jobs could be run by so many processes, or by the workers of this scheduler."""
    checks.whole("workers", workers, 1)
    if dask is not None and not ADDRESS.fullmatch(dask):
        raise ValueError(
            f"dask needs the address of a scheduler with its port, such as tcp://127.0.0.1:8786, got {dask!r}"
        )


def check_file(path: Path) -> None:
    """ValueError if a file of results is a folder."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file in it")


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
    except (ValueError, RecursionError) as error:
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
            if len(cells) + seeds * len(lams) > MOST:
                raise ValueError(f"the grid has more than {MOST:,} cells: take fewer seeds or values")
            cells += [Cell(dataset, model, lam, seed=seed, **these) for seed in range(seeds) for lam in lams]
    return sorted(dict.fromkeys(cells), key=lambda cell: cell.seed)
