"""The experiments, each a function from a job to its rows; the reader of every stored table; comparison with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from inspect import signature
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd

from uaftc_lib.experiments import sweep
from uaftc_lib.experiments.cells import GRIDS
from uaftc_lib.experiments.store import ABOUT, StoredTable
from uaftc_lib.locations import results_folder

TOLERANCE = 0.02  # of the largest number of a column
NOT_COMPARED = ("seconds", "seconds a sentence", "integrated gap", "peak_memory", "device", "test_errors", *ABOUT)
NOT_COMPARED += ("error",)  # of rounding, each processor's own: bounded in tests/book/test_first_step.py


class Experiment(NamedTuple):
    """A function from a job to its rows, its jobs, and how many rows each has, where all have as many."""

    function: Callable[..., list[dict]]
    jobs: list[dict]
    rows: int | None = None


EXPERIMENTS: dict[str, Experiment] = {}


def jobs_over(**values: Iterable | float) -> list[dict]:
    """A job for each combination of values or single ones, the last name's changing first; a job ends with its seed."""
    names = sorted(values, key="seed".__eq__)
    each = [[of] if isinstance(of, str | float | int) else of for of in values.values()]
    combinations = (dict(zip(values, chosen)) for chosen in product(*each))
    return [{name: job[name] for name in names} for job in combinations]


def experiment(jobs: Sequence[dict], rows: int | None = None) -> Callable:
    """Decorator: registers a function as the maker of the stored table of its name.

    The function takes the values of a job by name, and gives its rows without them. One that takes ``folder`` too is
    told where its table is made, and may write files beside it.

    Parameters
    ----------
    jobs : sequence of dict
        The values of the columns that tell the rows of the table apart, for each call.
    rows : int, optional
        How many rows each job gives, where all give as many: a stored job with fewer is then lacking.

    Raises
    ------
    ValueError
        If there is no job, if jobs have other columns than the first, or if the name is taken.
    """
    if not jobs or any([*job] != [*jobs[0]] for job in jobs):
        raise ValueError(f"an experiment needs jobs, all with the same columns, got {[*jobs][:3]} ...")

    def register(function: Callable) -> Callable:
        if function.__name__ in EXPERIMENTS:
            raise ValueError(f"the experiment {function.__name__} is registered twice")
        EXPERIMENTS[function.__name__] = Experiment(function, [*jobs], rows)
        return function

    return register


def rows_from(made: Experiment, job: dict, folder: Path) -> list[dict]:
    """The rows of a job, run now; ValueError if they are none, or not as many as was said."""
    beside = {"folder": folder} if "folder" in signature(made.function).parameters else {}
    rows = made.function(**job, **beside)
    if not rows or len(rows) != (made.rows or len(rows)):
        raise ValueError(f"{made.function.__name__} gave {len(rows)} rows for {job}, not {made.rows or 'any'}")
    return rows


def registered(name: str) -> Experiment:
    """An experiment by name; ValueError if no module that was imported registers one."""
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment {name!r}; there are {', '.join(EXPERIMENTS)}: import the module it stands in")
    return EXPERIMENTS[name]


def experiment_task(name: str, folder: str | os.PathLike | None = None) -> tuple[StoredTable, list[tuple]]:
    """The table of an experiment in a folder, by default that of the results, and its jobs; both as the store has them.

    Raises
    ------
    ValueError
        If there is no such experiment.
    """
    made, folder = registered(name), results_folder(folder)
    table = StoredTable(folder / f"{name}.csv", tuple(made.jobs[0]), rows=made.rows)
    return table, [(job, partial(rows_from, made, job, folder)) for job in made.jobs]


def stored(name: str, folder: str | os.PathLike | None = None, **where) -> pd.DataFrame:
    """A stored table: that of an experiment, a grid or a benchmark. Its name is ``attrs["table"]``.

    Parameters
    ----------
    folder : path, optional
        Default: that of the results.
    where
        Values of columns; only the rows that have them are given.

    Raises
    ------
    FileNotFoundError
        If it has not been made; the message says how to.
    NotADirectoryError
        If the folder is not there.
    ValueError
        As :meth:`uaftc_lib.experiments.store.StoredTable.frame`.
    """
    path = results_folder(folder, existing=True) / f"{name}.csv"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: make it with uaftc tables {name} --make")
    if (GRIDS / f"{name}.toml").is_file() or StoredTable(path, ()).lines()[0] == [*sweep.COLUMNS]:
        rows = sweep.sweep_table(path).frame().dropna(subset="best_epoch")  # without runs that diverged
    else:
        rows = (experiment_task(name, folder)[0] if name in EXPERIMENTS else StoredTable(path, ())).frame()
    for column, value in where.items():
        rows = rows[rows[column] == value]
    rows = rows.reset_index(drop=True) if where else rows
    rows.attrs["table"] = name  # pandas hands it on to what is taken and computed from the rows
    return rows


def rows_of_job(stored: pd.DataFrame, job: dict) -> pd.DataFrame:
    """The rows of a job."""
    if not len(stored):
        return stored
    return stored[(stored[list(job)] == pd.Series(job)).all(axis=1)].reset_index(drop=True)


def computed(name: str, job: dict) -> pd.DataFrame:
    """The rows of a job, run now; files that it writes beside its table are not kept."""
    with TemporaryDirectory() as folder:
        return pd.DataFrame([job | row for row in rows_from(registered(name), job, Path(folder))])


def same_rows(now: pd.DataFrame, stored: pd.DataFrame, tolerance: float = TOLERANCE) -> bool:
    """Whether rows are the stored ones: the same columns, equal words, numbers within ``tolerance`` of the largest.

    In float32 another processor may round its way to another best epoch, but not to another beginning: then, of the
    numbers, the loss of the first epochs alone is compared.
    """
    now, stored = (
        rows.drop(columns=[*NOT_COMPARED], errors="ignore").dropna(axis="columns", how="all") for rows in (now, stored)
    )
    if now.shape != stored.shape or set(now) != set(stored):
        return False
    numbers = now.select_dtypes("number")
    words = now.columns.difference(numbers.columns)
    if "early loss" in now and (now["best_epoch"] != stored["best_epoch"]).any():
        numbers = numbers[["early loss"]]
    near = (
        np.isclose(numbers[c], stored[c], rtol=0, atol=tolerance * stored[c].abs().max(), equal_nan=True).all()
        for c in numbers
    )
    return bool((now[words].astype(str) == stored[words].astype(str)).all(axis=None)) and all(near)


def same_as_stored(name: str, tolerance: float = TOLERANCE, **job) -> bool:
    """Whether a job of an experiment, run now, gives its stored rows (:func:`same_rows`).

    Raises
    ------
    ValueError
        If the table holds no such job.
    """
    there = rows_of_job(stored(name), job)
    if not len(there):
        raise ValueError(f"the table {name} has no row with {job}: make it with uaftc tables {name} --make")
    return same_rows(computed(name, job), there, tolerance)
