"""Grids of training runs: parallel, resumable, each finished cell written at once.

A cell is one run with its whole configuration. Results are lines of a CSV file that is only ever appended to;
a cell whose line is there is not run again. Lines are written under a file lock, each by a single write; a
line torn by a crash lacks its end, is recognised by that, and is cut off before the next one is written.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

import joblib
import pandas as pd
import torch
from filelock import Timeout

from uaftc_lib import checks
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.locations import PAPER_NAMES, published
from uaftc_lib.progress import progress_bar
from uaftc_lib.provenance import provenance
from uaftc_lib.sweep.cells import Cell, cells_of, load_grid
from uaftc_lib.sweep.rows import COLUMNS, append, complete_lines, decode_errors, encode_errors, finished, guard, results
from uaftc_lib.training import fit

__all__ = [
    "COLUMNS",
    "Cell",
    "cells_of",
    "check_request",
    "decode_errors",
    "estimate",
    "load_grid",
    "results",
    "run_cell",
    "sweep",
    "winners",
]

# Seconds per million training tokens and epoch on one core, about; used until there are finished cells.
RATES = {"DP": 0.4, "DP-A": 0.6, "AD": 4.0, "DP-L": 15.0, "GRU": 12.0}
TRIES = 3  # pools of processes that may break one after the other without a finished cell


@lru_cache(maxsize=4)
def loaded(name: str, data_home: str | None, options: str) -> Dataset:
    """A data set, kept by the process that trains on it."""
    given = json.loads(options).items()
    return load_dataset(name, data_home, **{key: tuple(v) if isinstance(v, list) else v for key, v in given})


@contextmanager
def one_thread() -> Iterator[None]:
    """Small models are faster so, and parallelism belongs to the processes."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


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
    """Train one cell; its line of the results, by column."""
    checks.device(device)
    dataset = loaded(cell.dataset, data_home, cell.options)
    dataset = Dataset(
        dataset.name, dataset.vocabulary, dataset.classes, **{n: c.to(device) for n, c in dataset.splits.items()}
    )
    forget_peak_memory(device)
    with one_thread():
        model = cell.classifier(dataset, device)
        begin = time.perf_counter()
        run = fit(model, dataset, cell.training())
        seconds = time.perf_counter() - begin
        errors = ""
        if dataset.test:
            errors = encode_errors((model.predict(dataset.test) != dataset.test.labels).cpu().numpy())
    return (
        asdict(cell)
        | provenance()
        | {
            "dev_accuracy": run.dev_accuracy,
            "test_accuracy": run.test_accuracy,
            "best_epoch": run.best_epoch,
            "seconds": round(seconds, 3),
            "peak_memory": peak_memory(device),
            "device": device,
            "test_errors": errors,
        }
    )


def check_request(out: str | os.PathLike, workers: int = 1, dask: str | None = None, device: str = "cpu") -> None:
    """Whether a sweep could begin; the arguments are those of :func:`sweep`.

    Raises
    ------
    ValueError
        If ``out`` holds something else, or an argument is wrong.
    """
    checks.whole("workers", workers, 1)
    if dask is None:
        checks.device(device)
    elif not dask.strip():
        raise ValueError("dask needs the address of a scheduler, such as tcp://127.0.0.1:8786, got ''")
    complete_lines(Path(out))


def sweep(
    cells: Sequence[Cell],
    out: str | os.PathLike,
    workers: int = 1,
    dask: str | None = None,
    device: str = "cpu",
    data_home: str | os.PathLike | None = None,
) -> pd.DataFrame:
    """Run the cells that are not in ``out`` yet, and return the table of ``out``.

    A process that the system kills (mostly for memory) costs the cells in work, which are begun again.

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
    out = Path(out)
    check_request(out, workers, dask, device)
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        out.open("ab").close()
    except OSError as error:
        raise OSError(f"results cannot be written to {out} ({error.strerror}): name another file") from None
    home = None if data_home is None else str(data_home)
    done = finished(out)
    todo = [cell for cell in dict.fromkeys(cells) if cell.key not in done]
    alone = guard(out, "running")
    try:
        alone.acquire(blocking=False)
    except Timeout:  # another sweep fills this file: go another way through the cells
        random.Random(os.getpid()).shuffle(todo)
    bar = progress_bar(total=len(todo), desc=out.name, unit="cell", dynamic_ncols=True)

    def unfinished() -> Iterator:
        for cell in todo:
            if cell.key not in finished(out):
                yield joblib.delayed(run_cell)(cell, device, home)

    def written() -> int:
        there = finished(out)
        return sum(cell.key in there for cell in todo)

    def run() -> None:
        # One cell at a time to each worker, so that little is lost and nothing run twice.
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        for row in parallel(unfinished()):
            append(out, row)
            bar.update(written() - bar.n)

    with alone if alone.is_locked else nullcontext(), bar, cluster(dask, workers) as backend:
        with joblib.parallel_config(**backend):
            failures, before = 0, 0
            while True:
                try:
                    run()
                    break
                except BrokenProcessPool:
                    now = written()
                    failures, before = (failures + 1 if now == before else 1), now
                    if failures == TRIES:
                        raise OSError(
                            f"a worker process was killed {TRIES} times, and nothing finished in between: perhaps "
                            f"memory ran out, try fewer workers than {workers}. {now} cells are kept, and the "
                            "same command goes on from there"
                        ) from None
                    bar.write("a worker process was killed, perhaps for memory: its cell is begun again", sys.stderr)
    return results(out)


@contextmanager
def cluster(dask: str | None, workers: int) -> Iterator[dict]:
    """What joblib shall run on: processes here, or a dask cluster for as long as the sweep lasts."""
    if dask is None:
        yield {"backend": "loky", "n_jobs": workers, "inner_max_num_threads": 1}
        return
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("a dask cluster needs the package distributed: pip install distributed") from None
    with Client(dask, timeout=30):
        yield {"backend": "dask", "n_jobs": -1}


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
    out = Path(out)
    done, known = finished(out), results(out)
    known = known[(known["device"] == device) & (known["epochs"] > 0)]
    pace = (known["seconds"] / known["epochs"]).groupby([known["dataset"], known["model"]]).median().to_dict()
    rows = []
    for (dataset, model), group in itertools.groupby(
        sorted(cells, key=lambda cell: (cell.dataset, cell.model)), lambda cell: (cell.dataset, cell.model)
    ):
        group = list(group)
        open_ = [cell for cell in group if cell.key not in done]
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


SEARCHED = ("weight_decay", "learning_rate", "hidden")


def winners(search: pd.DataFrame) -> pd.DataFrame:
    """The searched settings of each data set and model: those of the best mean dev accuracy over seeds.

    Equal ones are decided for the smaller L2, then for the learning rate nearest to 0.02, then for the smaller
    LSTM. Columns: dataset, model, :data:`SEARCHED`, dev_accuracy, runs.
    """
    groups = search.groupby(["dataset", "model", *SEARCHED])["dev_accuracy"]
    means = groups.agg(dev_accuracy="mean", runs="size").reset_index()
    means["dev_accuracy"] = means["dev_accuracy"].round(9)  # equal up to rounding is equal
    means["detour"] = (means["learning_rate"] - 0.02).abs()
    order = ["dev_accuracy", "weight_decay", "detour", "hidden"]
    ranked = means.sort_values(order, ascending=[False, True, True, True], kind="stable")
    return ranked.groupby(["dataset", "model"]).head(1).drop(columns="detour").reset_index(drop=True)
