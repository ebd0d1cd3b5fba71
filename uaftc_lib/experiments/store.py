"""How a stored table is kept, and how what it lacks is run.

A table is a CSV file. A *job*, a dict of the columns that tell rows apart, has one row or several; they are written
together, when the job is finished. Each write makes the whole file anew beside the old one and puts it in its place,
under a lock, so that neither a kill nor a full disk nor a second maker loses or tears a row. What is there keeps its
text, and is never computed again.
"""

from __future__ import annotations

import csv
import ctypes
import io
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from uaftc_lib.experiments.cells import check_file, check_workers
from uaftc_lib.experiments.provenance import provenance
from uaftc_lib.extras import needs
from uaftc_lib.locations import replaced
from uaftc_lib.progress import progress_bar
from uaftc_lib.threads import one_thread

ABOUT = tuple(provenance())  # the columns that every table has
MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # of glibc's mallopt
DIVERGED = "diverged"  # stands in a row where its numbers would, of a training whose results are not finite
TRIES = 3  # pools of processes that may break one after the other without a finished job


def guard(path: Path, name: str = "lock") -> FileLock:
    """The lock of a file, for all processes that write it."""
    path = path.resolve()
    return FileLock(path.with_name(f".{path.name}.{name}"), thread_local=False)


def canonical(value: object) -> float | str:
    """A value of a job as it is compared: 10, 10.0 and "10" are one, and so are True and "True"."""
    text = str(value)
    try:
        number = float(text)
    except ValueError:
        return text
    return number if number == number else text


@dataclass(frozen=True)
class StoredTable:
    """A stored table.

    Parameters
    ----------
    path : Path
        Its file.
    key : tuple of str
        The columns of a job.
    columns : tuple of str
        All columns, where they are fixed; numbers then keep all their digits, else six. Where they are not, a new
        column is added behind the others.
    rows : int, optional
        How many rows a job has, where all have as many.
    gaps : tuple of str
        Where the columns are fixed: those in which an empty cell, or "diverged", is a number that is missing; elsewhere
        it is text.
    order : tuple of str
        Values of the first column of the key, in the order of the rows; else the last written stand last.
    """

    path: Path
    key: tuple[str, ...]
    columns: tuple[str, ...] = ()
    rows: int | None = None
    gaps: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

    def job(self, row: Mapping) -> tuple[float | str, ...]:
        """The job of a row, such that equal jobs are equal."""
        return tuple(canonical(row[name]) for name in self.key)

    def read(self) -> tuple[list[str], list[dict[str, str]]]:
        """The header and the rows, as text, without what a cut has left incomplete.

        A file that something else has cut lacks the end of its last line. That line is dropped, and with it the job
        before it, which may be the same: both are lacking then. Where the number of rows is known, every job that has
        fewer is dropped, and no other; where it is not, a cut exactly between two rows of a job goes unseen.

        Raises
        ------
        ValueError
            If the file holds something else.
        """
        check_file(self.path)
        content = self.path.read_bytes() if self.path.exists() else b""
        whole, _, torn = content.rpartition(b"\n")
        try:
            header, *lines = filter(None, csv.reader(io.StringIO(whole.decode("utf-8"), newline="")))
        except (ValueError, csv.Error):  # no line that is whole, or no text
            header, lines = [], []
        begin = ",".join(self.columns or self.key).encode()
        if header:
            known = header == list(self.columns) if self.columns else {*self.key, *ABOUT} <= {*header} or not self.key
        else:
            known = not whole and (begin.startswith(torn) or torn.startswith(begin + b",") and not self.columns)
        if not known:
            found = content.partition(b"\n")[0][:60].decode("utf-8", "replace")
            raise ValueError(
                f"{self.path} holds something else than the table {self.path.stem}, it has other columns "
                f"({found!r} ...): move it, or name another file or folder"
            )
        rows, doubtful = [], set()
        for line in [*lines, []] if torn and header else lines:
            row = dict(zip(header, line))
            if len(line) == len(header) and row.get("date", "whole"):
                rows.append(row)
            elif rows:
                doubtful.add(self.job(rows[-1]))
        if self.rows:  # a job of one row is there or not
            there = Counter(map(self.job, rows)) if self.rows > 1 else {}
            doubtful = {job for job, count in there.items() if count < self.rows}
        return header, [row for row in rows if self.job(row) not in doubtful] if doubtful and self.key else rows

    def done(self) -> set[tuple[float | str, ...]]:
        """The jobs that are there."""
        return {self.job(row) for row in self.read()[1]}

    def frame(self) -> pd.DataFrame:
        """The table, numbers as numbers; what is empty is nan, but for text where the columns are fixed."""
        header, rows = self.read()
        if not header:
            return pd.DataFrame(columns=list(self.columns))
        text = io.StringIO()
        csv.writer(text).writerows([header, *(row.values() for row in rows)])
        text.seek(0)
        if not self.columns:
            return pd.read_csv(text)
        return pd.read_csv(text, keep_default_na=False, na_values=dict.fromkeys(self.gaps, ["", DIVERGED]))

    def text(self, name: str, value: object) -> str:
        """A value as it is written."""
        if value is None or value != value:
            return ""
        if self.columns or not isinstance(value, float | np.floating):
            return str(value)
        short = f"{value:.6g}"
        return short if name not in self.key or float(short) == value else str(value)

    def add(self, rows: Sequence[Mapping], anew: bool = False) -> bool:
        """Write the rows of a job; False if another maker has written them meanwhile. ``anew``: instead of those there.

        Raises
        ------
        ValueError
            If the file holds something else, or a row has other columns than those that are fixed.
        OSError
            If it cannot be written; it is then as it was.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with guard(self.path).acquire(timeout=60):  # others hold it for milliseconds
            header, there = self.read()
            jobs = {self.job(row) for row in rows}
            others = [row for row in there if self.job(row) not in jobs]
            if len(others) < len(there) and not anew:
                return False
            header = list(self.columns or dict.fromkeys([*header, *(name for row in rows for name in row)]))
            lines = others + [{name: self.text(name, value) for name, value in row.items()} for row in rows]
            ranks = {value: rank for rank, value in enumerate(self.order)}
            lines.sort(key=lambda line: ranks.get(line[self.key[0]], len(ranks)))
            with replaced(self.path) as part, part.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, header, restval="", lineterminator="\n")
                writer.writeheader()
                writer.writerows(lines)
        return True

    def check_writable(self) -> None:
        """OSError, in words, unless the table can be written."""
        with suppress(OSError):  # said below
            self.path.parent.mkdir(parents=True, exist_ok=True)
        check_writable(self.path)


def check_writable(path: Path) -> None:
    """OSError, in words, unless a file could be written there."""
    try:
        tempfile.TemporaryFile(dir=path.resolve().parent).close()
    except OSError as error:
        raise OSError(f"{path} cannot be written ({error.strerror}): name another file or folder") from None


def run_job(job: dict, call: Callable[[], dict | list[dict]]) -> list[dict]:
    """The rows of a job, run now, with their seconds and provenance, where they do not tell their own."""
    keep_freed_memory()
    begin = time.perf_counter()
    with one_thread():
        found = call()
    about = {"seconds": round(time.perf_counter() - begin, 2), **provenance()}
    rows = [found] if isinstance(found, dict) else found
    return [job | row | {name: value for name, value in about.items() if name not in row} for row in rows]


def keep_freed_memory() -> None:
    """Have glibc keep what large arrays leave for those that follow, which else need new pages, and zeros, each time.

    The gradient of all embeddings, at every step, takes half of the time of a training step on IMDB without it.
    """
    with suppress(OSError, AttributeError, TypeError):  # of systems with another allocator
        for setting in (MMAP_THRESHOLD, TRIM_THRESHOLD):
            ctypes.CDLL(None).mallopt(setting, 2**31 - 1)


def fill(table: StoredTable, work: Iterable[tuple[dict, Callable]], workers: int = 1, dask: str | None = None) -> int:
    """Run the jobs that a table lacks, each written when it is finished; how many were lacking.

    A process that the system kills (mostly for memory) costs the jobs in work, which are begun again.

    Parameters
    ----------
    work : pairs
        A job, and what gives its rows when it is called (in another process, if there are several).
    workers : int
        Processes on this machine.
    dask : str, optional
        Address of the scheduler of a dask.distributed cluster, which runs the jobs instead.

    Raises
    ------
    ValueError
        If the file holds something else, or an argument is wrong.
    OSError
        If the file cannot be written, or the processes are killed again and again.
    """
    check_workers(workers, dask)
    done = table.done()
    todo = {table.job(job): (job, call) for job, call in work if table.job(job) not in done}
    if not todo:
        return 0
    table.check_writable()
    alone, turns = guard(table.path, "running"), list(todo)
    try:
        alone.acquire(blocking=False)
    except Timeout:  # another maker fills this table: go another way through the jobs
        random.Random(os.getpid()).shuffle(turns)
    bar = progress_bar(total=len(todo), desc=table.path.name, unit="job", dynamic_ncols=True)

    def unfinished() -> Iterator:
        for turn in turns:
            if turn not in table.done():
                yield joblib.delayed(run_job)(*todo[turn])

    def written() -> int:
        return len(table.done() & todo.keys())

    def go_on() -> None:
        # One job at a time to each worker, so that little is lost and nothing run twice.
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        for rows in parallel(unfinished()):
            table.add(rows)
            bar.update(written() - bar.n)

    with alone if alone.is_locked else nullcontext(), bar, cluster(dask, workers) as backend:
        with joblib.parallel_config(**backend):
            failures, before = 0, 0
            while True:
                try:
                    go_on()
                    return len(todo)
                except BrokenProcessPool:
                    now = written()
                    failures, before = (failures + 1 if now == before else 1), now
                    if failures == TRIES:
                        raise OSError(
                            f"a worker process was killed {TRIES} times, and nothing finished in between: perhaps "
                            f"memory ran out, try fewer workers than {workers}. {now} jobs are kept, and the "
                            "same command goes on from there"
                        ) from None
                    bar.write("a worker process was killed, perhaps for memory: its job is begun again", sys.stderr)


@contextmanager
def cluster(dask: str | None, workers: int) -> Iterator[dict]:
    """What joblib shall run on: processes here, or a dask cluster for as long as the jobs last."""
    if dask is None:
        yield {"backend": "loky", "n_jobs": workers, "inner_max_num_threads": 1}
        return
    with needs("a dask cluster", "distributed", ValueError):
        from distributed import Client
    with Client(dask, timeout=30):
        yield {"backend": "dask", "n_jobs": -1}
