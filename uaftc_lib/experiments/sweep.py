"""Grids of training runs: a cell is one run with its whole configuration, and a row of the results."""

from __future__ import annotations

import base64
import itertools
import json
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool

from uaftc_lib import checks
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments import store
from uaftc_lib.experiments.cells import AXES, KEY, Cell, cells_of, check_workers, load_grid
from uaftc_lib.experiments.provenance import provenance
from uaftc_lib.locations import PAPER_NAMES, published, results_folder
from uaftc_lib.models import usable_device
from uaftc_lib.threads import one_thread
from uaftc_lib.training import fit

MEASURED = ("dev_accuracy", "test_accuracy", "best_epoch")
COST = ("seconds", "peak_memory", "device")
SETTING = ("python", "torch", "numpy", "cores", "date")
# test_errors: which test instances were classified wrongly, a bit each (:func:`decode_errors`).
COLUMNS = tuple(
    dict.fromkeys((*AXES, "seed", *MEASURED, "epochs", *COST, "machine", "version", *KEY, *SETTING, "test_errors"))
)
# Seconds per million training tokens and epoch on one core, about; used until there are finished cells.
RATES = {"DP": 0.4, "DP-A": 0.6, "AD": 4.0, "DP-L": 15.0, "GRU": 12.0}


def encode_errors(wrong: Bool[np.ndarray, "instances"]) -> str:
    """One bit for each instance, as base64."""
    return base64.b64encode(np.packbits(wrong)).decode()


def decode_errors(text: str, instances: int) -> Bool[np.ndarray, "instances"]:
    """Which of the test instances a run classified wrongly, from the column ``test_errors``."""
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8))
    return bits[:instances].astype(bool)


def sweep_table(out: str | os.PathLike) -> store.StoredTable:
    """The table of a sweep."""
    return store.StoredTable(Path(out), KEY, COLUMNS, rows=1, gaps=MEASURED)


def work(cells: Iterable[Cell], device: str = "cpu", data_home: str | os.PathLike | None = None) -> list[tuple]:
    """Cells as jobs of :func:`uaftc_lib.experiments.store.fill`."""
    home = None if data_home is None else str(data_home)
    return [(asdict(cell), partial(run_cell, cell, device, home)) for cell in cells]


def grid_task(grid: str, folder: str | os.PathLike | None = None) -> tuple[store.StoredTable, list[tuple]]:
    """The table of a grid in a folder, by default that of the results, and its jobs."""
    return sweep_table(results_folder(folder) / f"{grid}.csv"), work(cells_of(load_grid(grid)))


@lru_cache(maxsize=4)
def loaded(name: str, data_home: str | None, options: str) -> Dataset:
    """A data set, kept by the process that trains on it."""
    given = json.loads(options).items()
    return load_dataset(name, data_home, **{key: tuple(v) if isinstance(v, list) else v for key, v in given})


def forget_peak_memory(device: str = "cpu") -> None:
    """Start a new measurement, where the system can (Linux; torch on a GPU)."""
    if torch.device(device).type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def peak_memory(device: str) -> int:
    """The most memory the process (or on a GPU torch) has held, in bytes."""
    if torch.device(device).type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        import resource  # not on Windows

        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run_cell(cell: Cell, device: str = "cpu", data_home: str | None = None) -> dict:
    """Train one cell; its line of the results, by column. A run that diverged says so where numbers would stand."""
    usable_device(device)
    dataset = loaded(cell.dataset, data_home, cell.options)
    dataset = Dataset(
        dataset.name, dataset.vocabulary, dataset.classes, **{n: c.to(device) for n, c in dataset.splits.items()}
    )
    forget_peak_memory(device)
    measured, errors = dict.fromkeys(MEASURED, store.DIVERGED), ""
    with one_thread():
        model = cell.classifier(dataset, device)
        begin = time.perf_counter()
        with suppress(checks.NotFinite):
            run = fit(model, dataset, cell.training())
            measured = {name: getattr(run, name) for name in MEASURED}
        seconds = time.perf_counter() - begin
        if dataset.test and store.DIVERGED not in measured.values():
            errors = encode_errors((model.predict(dataset.test) != dataset.test.labels).cpu().numpy())
    cost = {"seconds": round(seconds, 3), "peak_memory": peak_memory(device), "device": device}
    return asdict(cell) | provenance() | measured | cost | {"test_errors": errors}


def check_sweep(out: str | os.PathLike, workers: int = 1, dask: str | None = None, device: str = "cpu") -> None:
    """Whether a sweep could begin; the arguments are those of :func:`sweep`.

    Raises
    ------
    ValueError
        If ``out`` holds something else, or an argument is wrong.
    """
    check_workers(workers, dask)
    if dask is None:
        usable_device(device)
    sweep_table(out).whole_rows()


def sweep(
    cells: Sequence[Cell],
    out: str | os.PathLike,
    workers: int = 1,
    dask: str | None = None,
    device: str = "cpu",
    data_home: str | os.PathLike | None = None,
) -> pd.DataFrame:
    """Run the cells that are not in ``out`` yet (:func:`uaftc_lib.experiments.store.fill`); the table of ``out``.

    Parameters
    ----------
    workers : int
        Processes on this machine.
    dask : str, optional
        Address of the scheduler of a dask.distributed cluster, which runs the cells instead.
    device : str
        Of torch, for the workers.

    Raises
    ------
    ValueError
        If ``out`` holds something else, or an argument is wrong.
    OSError
        If ``out`` cannot be written, or the processes are killed again and again.
    """
    check_sweep(out, workers, dask, device)
    store.fill(sweep_table(out), work(cells, device, data_home), workers, dask)
    return sweep_table(out).frame()


def training_tokens(dataset: str) -> float:
    """About how many tokens a data set trains on (Table 1), without loading it."""
    table = published("table1")
    rows = table[(table["dataset"] == PAPER_NAMES.get(dataset)) & (table["split"] == "train")]
    return float((rows["average_length"] * rows["count"]).sum()) or 144_000.0  # synthetic data


def estimate(cells: Iterable[Cell], out: str | os.PathLike, device: str = "cpu") -> pd.DataFrame:
    """What a sweep would do, by data set and model: cells, of them finished, and hours on one worker.

    Seconds an epoch are the median of the finished cells of that data set and model on that device, else of
    a rough table.
    """
    stored = sweep_table(out)
    done, known = stored.done(), stored.whole_frame()
    known = known[(known["device"] == device) & (known["epochs"] > 0)]
    pace = (known["seconds"] / known["epochs"]).groupby([known["dataset"], known["model"]]).median().to_dict()
    rows = []
    for (dataset, model), group in itertools.groupby(
        sorted(cells, key=lambda cell: (cell.dataset, cell.model)), lambda cell: (cell.dataset, cell.model)
    ):
        group = list(group)
        open_ = [cell for cell in group if stored.job(asdict(cell)) not in done]
        rate = pace.get((dataset, model), RATES.get(model, max(RATES.values())) * training_tokens(dataset) / 1e6)
        rows.append(
            {
                "dataset": dataset,
                "model": model,
                "cells": len({(cell.lam) for cell in group}),
                "runs": len(group),
                "finished": len(group) - len(open_),
                "hours": sum(rate * cell.epochs for cell in open_) / 3600,
            }
        )
    return pd.DataFrame(rows)
