"""How a stored table is kept, and how what it lacks is run.

A table is a CSV file. A *job*, a dict of the columns that tell rows apart, has one row or several. A finished job is
one small file in a folder beside the table; when all are finished, or the run ends before, the table is gathered from
them and written whole. What the table holds keeps its text, and is never computed again.

There are two readers. Who resumes asks which jobs are whole, and what is not is made again (:meth:`StoredTable.done`);
who reports gets every row, or an error with the file and the line (:meth:`StoredTable.frame`).
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from uaftc_lib import files
from uaftc_lib.experiments.cells import check_file, check_workers
from uaftc_lib.experiments.provenance import provenance
from uaftc_lib.extras import needs
from uaftc_lib.progress import progress_bar
from uaftc_lib.threads import one_thread

ABOUT = tuple(provenance())  # the columns that every table has
DIVERGED = "diverged"  # stands in a row where its numbers would, of a training whose results are not finite
TRIES = 3  # pools of processes that may break one after the other without a finished job


def canonical(value: object) -> float | str:
    """A value of a job as it is compared: 10, 10.0 and "10" are one, and so are True, "True" and "TRUE"."""
    text = str(value)
    try:
        number = float(text)
    except ValueError:
        return text.capitalize() if text.lower() in ("true", "false") else text
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

    def lines(self) -> tuple[list[str], list[tuple[int, list[str]]]]:
        """The header, and each line of cells with its number in the file; a line that has no end lacks its last cell.

        Raises
        ------
        ValueError
            If the file holds something else.
        """
        check_file(self.path)
        content = self.path.read_bytes() if self.path.exists() else b""
        try:
            reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
            lines = [(reader.line_num, cells) for cells in reader if cells]
        except (ValueError, csv.Error):  # no text
            lines = [(1, [])]
        if lines and not content.endswith((b"\n", b"\r")):
            del lines[-1][1][-1:]
        header = lines[0][1] if lines else []
        known = header == list(self.columns) if self.columns else {*self.key, *(ABOUT if self.key else ())} <= {*header}
        if lines and not (header and known):
            begin = content.partition(b"\n")[0][:60].decode("utf-8", "replace")
            raise ValueError(
                f"{self.path} holds something else than the table {self.path.stem}, it has other columns "
                f"({begin!r} ...): move it, or name another file or folder"
            )
        return header, lines[1:]

    def faults(self, header: list[str], lines: list[tuple[int, list[str]]]) -> Iterator[tuple[int, str, set]]:
        """What is wrong with lines: the number of each, what, and the jobs that may not be whole."""
        value, places = cache(canonical), [header.index(name) for name in self.key if lines]
        jobs = [
            tuple(value(cells[place]) for place in places) if len(cells) == len(header) else None for _, cells in lines
        ]
        begins, count, seen = {}, Counter(jobs), set()
        for place, ((number, cells), job) in enumerate(zip(lines, jobs)):
            begin = begins.setdefault(job, number)
            if job is None:
                around = {*jobs[max(place - 1, 0) : place + 2]}
                yield number, f"has {len(cells)} whole cells for {len(header)} columns", around
            elif tuple(cells) in seen or (self.key and number != begin and jobs[place - 1] not in (job, None)):
                yield number, "stands there twice", {job}
            seen.add(tuple(cells))
        for job in count if self.key and self.rows else ():
            if job is not None and count[job] != self.rows:
                yield begins[job], f"begins a job of {count[job]} rows, not {self.rows}", {job}

    def whole_rows(self) -> tuple[list[str], list[dict[str, str]]]:
        """For who resumes: the header and, as text, the rows of the jobs that are whole, or finished since.

        Raises
        ------
        ValueError
            If the file holds something else.
        """
        header, lines = self.lines()
        doubtful = set().union(*(jobs for *_, jobs in self.faults(header, lines)))
        rows = [dict(zip(header, cells)) for _, cells in lines if len(cells) == len(header)]
        rows = [row for row in rows if self.job(row) not in doubtful]
        whole = {self.job(row) for row in rows} if (finished := self.finished_rows()) else set()
        return header, rows + [row for row in finished if self.job(row) not in whole]

    def finished_rows(self) -> list[dict[str, str]]:
        """The rows of the jobs that are finished and not in the table yet, as text."""
        rows = []
        for path in sorted(self.finished.glob("[!.]*.json")):
            with suppress(FileNotFoundError):  # its maker has just gathered it
                rows += json.loads(path.read_text(encoding="utf-8"))
        return rows

    def done(self) -> set[tuple[float | str, ...]]:
        """For who resumes: the jobs that are whole."""
        return {self.job(row) for row in self.whole_rows()[1]}

    def frame(self) -> pd.DataFrame:
        """For who reports: the table, numbers as numbers; what is empty is nan, but for text where columns are fixed.

        It is empty if the file is not there.

        Raises
        ------
        ValueError
            If the file holds something else or no row, if a line or a job is not whole or stands there twice, or if
            text stands among numbers; the message names the file and the line.
        """
        if not self.path.exists():
            return pd.DataFrame(columns=list(self.columns))
        header, lines = self.lines()
        for number, what, _ in self.faults(header, lines):
            raise ValueError(f"{self.path}, line {number} {what}: restore the file, or make the table anew")
        if not lines:
            raise ValueError(f"{self.path} holds no rows: restore the file, or make the table anew")
        frame = self.typed(self.path.read_text(encoding="utf-8-sig"))
        for name in frame.columns.difference([*self.key]):
            if pd.api.types.is_numeric_dtype(frame[name]):
                continue
            texts = frame[name].dropna().astype(str).str.lower().replace({"true": "1", "false": "0", "": None}).dropna()
            odd = pd.to_numeric(texts, errors="coerce").isna()
            if odd.any() and odd.mean() <= 0.25:
                line, cell = lines[odd.idxmax()][0], frame[name][odd.idxmax()]
                raise ValueError(f"{self.path}, line {line}: {cell!r} stands among the numbers of {name}")
        return frame

    def typed(self, text: str) -> pd.DataFrame:
        """The text of a file as a table, numbers as numbers."""
        if not self.columns:
            return pd.read_csv(io.StringIO(text))
        values = dict.fromkeys(self.gaps, ["", DIVERGED])
        return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=values)

    def whole_frame(self) -> pd.DataFrame:
        """For who resumes: the rows of the jobs that are whole, or finished since, numbers as numbers."""
        header, rows = self.whole_rows()
        return self.typed(as_text(header or self.columns, rows))

    def text(self, name: str, value: object) -> str:
        """A value as it is written."""
        if value is None or value != value:
            return ""
        if self.columns or not isinstance(value, float | np.floating):
            return str(value)
        short = f"{value:.6g}"
        return short if name not in self.key or float(short) == value else str(value)

    def put(self, rows: Sequence[Mapping]) -> None:
        """Write the table with these rows instead of those of their jobs; all others keep their text.

        Raises
        ------
        ValueError
            If the file holds something else, or a row has other columns than those that are fixed.
        OSError
            If it cannot be written; it is then as it was.
        """
        header, before = self.whole_rows()
        jobs = {self.job(row) for row in rows}
        header = list(self.columns or dict.fromkeys([*header, *(name for row in rows for name in row)]))
        lines = [row for row in before if self.job(row) not in jobs]
        lines += [{name: self.text(name, value) for name, value in row.items()} for row in rows]
        ranks = {value: rank for rank, value in enumerate(self.order)}
        lines.sort(key=lambda line: ranks.get(line[self.key[0]], len(ranks)))
        with files.named(f"{self.path} cannot be written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        files.write(self.path, as_text(header, lines))

    @property
    def finished(self) -> Path:
        """The folder of the jobs that are finished and not in the table yet."""
        return self.path.with_name(f".{self.path.name}.jobs")

    def file_of(self, job: tuple) -> Path:
        """The file of a job that is finished and not in the table yet."""
        return self.finished / f"{sha256(repr(job).encode()).hexdigest()[:16]}.json"

    def gather(self, jobs: Iterable[tuple]) -> None:
        """Put the rows of all finished jobs into the table, those of ``jobs`` in their order, then any others."""
        ranks = {job: rank for rank, job in enumerate(jobs)}
        if rows := self.finished_rows():
            self.put(sorted(rows, key=lambda row: ranks.get(self.job(row), len(ranks))))
        shutil.rmtree(self.finished, ignore_errors=True)

    @contextmanager
    def only_maker(self) -> Iterator[None]:
        """For as long as this lasts no other process makes the table; OSError, in words, if one does already."""
        with files.named(f"{self.path} cannot be written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            files.check_writable(self.path)
            lock = FileLock(self.path.with_name(f".{self.path.name}.lock"), blocking=False)
            try:
                lock.acquire()
            except Timeout:
                raise OSError(f"another process makes {self.path}: wait for it, or give one more --workers") from None
        try:
            yield
        finally:
            lock.release()


def as_text(header: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    """Rows as CSV; ValueError if one has a column that the header lacks."""
    text = io.StringIO()
    writer = csv.DictWriter(text, header, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def run_job(job: dict, call: Callable[[], dict | list[dict]]) -> list[dict]:
    """The rows of a job, run now, with their seconds and provenance, where they do not have their own."""
    begin = time.perf_counter()
    with one_thread():
        result = call()
    about = {"seconds": round(time.perf_counter() - begin, 2), **provenance()}
    rows = [result] if isinstance(result, dict) else result
    return [job | row | {name: value for name, value in about.items() if name not in row} for row in rows]


def fill(table: StoredTable, work: Iterable[tuple[dict, Callable]], workers: int = 1, dask: str | None = None) -> int:
    """Run the jobs that a table lacks; how many were lacking.

    However the run ends, the table then holds what is finished; if the process itself is killed, it does so when the
    next run begins. A process of ``workers`` that the system kills (mostly for memory) costs the jobs in work, which
    are begun again.

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
        If the file cannot be written, another process makes it, or the processes are killed again and again.
    """
    check_workers(workers, dask)
    work = {table.job(job): (job, call) for job, call in work}
    if work.keys() <= table.done() and not table.finished.exists():
        return 0
    with table.only_maker():
        table.gather(work)
        done = table.done()
        todo = {job: pair for job, pair in work.items() if job not in done}
        try:
            with cluster(dask, workers) as backend, joblib.parallel_config(**backend):
                run(table, todo, workers)
        finally:
            table.gather(work)
    return len(todo)


def run(table: StoredTable, todo: Mapping[tuple, tuple[dict, Callable]], workers: int) -> None:
    """Run jobs in joblib's processes; each that is finished has its file."""
    paths = {job: table.file_of(job) for job in todo}
    table.finished.mkdir(exist_ok=True)

    def finished() -> int:
        return sum(path.exists() for path in paths.values())

    def go_on() -> None:
        # One job at a time to each worker, so that little is lost.
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
        for rows in parallel(joblib.delayed(run_job)(*todo[job]) for job in todo if not paths[job].exists()):
            texts = [{name: table.text(name, value) for name, value in row.items()} for row in rows]
            files.write(table.file_of(table.job(rows[0])), json.dumps(texts))
            bar.update()

    failures, before = 0, 0
    with progress_bar(total=len(todo), desc=table.path.name, unit="job", dynamic_ncols=True) as bar:
        while finished() < len(todo):
            try:
                go_on()
            except BrokenProcessPool:
                now = finished()
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
