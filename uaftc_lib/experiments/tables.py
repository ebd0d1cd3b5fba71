"""What ``uaftc tables`` does: list the stored tables, complete them, make them anew and compare.

The experiments are those that are registered: whoever asks imports the modules first in which they stand.
"""

from __future__ import annotations

import ast
import math
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

GRIDS = Path(__file__).with_name("grids")
PACKAGE = Path(__file__).parents[1]
BENCHMARKS = {"benchmarks": "make bench"} | {
    name: f"python benchmarks/{name}.py"
    for name in ("explain_scale", "five_minutes", "interval_coverage", "label_errors", "peers")
}


class Listed(NamedTuple):
    """A stored table: ``done`` of its ``jobs`` (a benchmark has none), its rows, how long they took, and what it is."""

    name: str
    kind: str  # experiment, grid or benchmark
    done: int
    jobs: int
    rows: int
    seconds: float  # of one process; 0 where they are not stored
    about: str
    maker: str  # the file that makes it, or the command


def grid_names() -> list[str]:
    """The names of the grids that come with the library."""
    return sorted(path.stem for path in GRIDS.glob("*.toml"))


def table_names(*places: str | os.PathLike) -> list[str]:
    """The names of all tables, without importing what makes them.

    Parameters
    ----------
    places
        Python files, or folders of such, in which experiments stand.
    """
    names = []
    for place in map(Path, places):
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                for call in getattr(node, "decorator_list", []):
                    if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] == "experiment":
                        names.append(node.name)
    return [*names, *grid_names(), *BENCHMARKS]


def task(name: str, folder: str | os.PathLike | None = None) -> tuple:
    """The table of an experiment or a grid in a folder, and its jobs."""
    from uaftc_lib.experiments import registry, sweep

    task_of = sweep.grid_task if name in grid_names() else registry.experiment_task
    return task_of(name, folder)


def about() -> dict[str, tuple[str, str, str]]:
    """Of every experiment and grid: which of the two it is, what, in words, and the file that makes it."""
    from uaftc_lib.experiments.registry import EXPERIMENTS

    descriptions = {
        name: ("experiment", one.function.__doc__.splitlines()[0], file_of(one.function))
        for name, one in EXPERIMENTS.items()
    }
    here = f"{PACKAGE.name}/experiments"
    for name in grid_names():
        lines = (GRIDS / f"{name}.toml").read_text(encoding="utf-8").splitlines()
        comment = " ".join(line[2:] for line in takewhile(lambda line: line.startswith("#"), lines))
        descriptions[name] = "grid", comment, f"{here}/grids/{name}.toml (run_cell in {here}/sweep.py)"
    return descriptions


def file_of(function: Callable) -> str:
    """The file of a function, from the folder in which the library lies; of one outside the name of its module."""
    path, here = Path(sys.modules[function.__module__].__file__), PACKAGE.parent
    return path.relative_to(here).as_posix() if here in path.parents else function.__module__


def listing(names: Collection[str] = (), folder: str | os.PathLike | None = None) -> list[Listed]:
    """Every stored table of a folder, by default that of the results; or those named."""
    from uaftc_lib.experiments.store import StoredTable
    from uaftc_lib.locations import results_folder

    listed = []
    for name, (kind, description, maker) in about().items():
        if names and name not in names:
            continue
        table, work = task(name, folder)
        rows = table.whole_rows()[1]
        took = seconds_of(table, rows)
        done = sum(table.job(job) in took for job, _ in work)
        listed.append(Listed(name, kind, done, len(work), len(rows), known_sum(took.values()), description, maker))
    for name, command in BENCHMARKS.items():
        if names and name not in names:
            continue
        rows = StoredTable(results_folder(folder) / f"{name}.csv", ()).whole_rows()[1]
        listed.append(Listed(name, "benchmark", 0, 0, len(rows), 0.0, "", command))
    return listed


def chosen_tables(names: Sequence[str]) -> list[str]:
    """These tables, each once; none named: all experiments, and all grids that the book stores.

    Raises
    ------
    ValueError
        If there is no such table, or if it is a benchmark's.
    """
    from uaftc_lib.experiments.registry import EXPERIMENTS
    from uaftc_lib.locations import results_folder

    makers = [*EXPERIMENTS, *grid_names()]
    check_made_here(names)
    for name in names:
        if name not in makers:
            raise ValueError(f"no table {name!r}; there are {', '.join([*makers, *BENCHMARKS])}")
    begun = [name for name in makers if name in EXPERIMENTS or (results_folder() / f"{name}.csv").exists()]
    return list(dict.fromkeys(names or begun))


def check_made_here(names: Sequence[str]) -> None:
    """ValueError if one of these tables is a benchmark's."""
    for name in names:
        if name in BENCHMARKS:
            raise ValueError(f"the table {name} is made by {BENCHMARKS[name]}")


def check_remade(out: str | os.PathLike) -> Path:
    """The folder where tables are made anew, made if need be; ValueError if it is that of the results."""
    from uaftc_lib.locations import results_folder

    folder = Path(out)
    if folder.resolve() == results_folder().resolve():
        raise ValueError(f"--out needs another folder than {folder}, that of the stored results")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"results cannot be written to {folder} ({error.strerror}): name another folder") from None
    return folder


def complete(names: Sequence[str] = (), workers: int = 1, dask: str | None = None) -> Iterator[str]:
    """Make what tables of the results lack (:func:`chosen_tables`, :func:`uaftc_lib.experiments.store.fill`).

    A line for each, when it is complete.

    Raises
    ------
    ValueError
        If there is no such table, if its file holds something else, or an argument is wrong.
    OSError
        If data cannot be had, or a file cannot be written.
    """
    return (completed(name, None, workers, dask)[0] for name in chosen_tables(names))


def completed(name: str, folder: Path | None, workers: int, dask: str | None, minutes: float | None = None) -> tuple:
    """Complete a table; a message, the table and its jobs: of them those that ``minutes`` hold."""
    from uaftc_lib.experiments.store import fill

    table, work = task(name, folder)
    work = work if minutes is None else jobs_of_least_time(name, work, minutes)
    lacking = fill(table, work, workers, dask)
    message = f"{name}: {lacking} of {len(work)} jobs computed, {len(table.whole_rows()[1])} rows in {table.path}"
    return message if lacking or folder else f"{message}; --out FOLDER makes it anew, and compares", table, work


def jobs_of_least_time(name: str, work: list[tuple], minutes: float) -> list[tuple]:
    """The quickest job of each variant of a stored table, then others: as many as these minutes hold, but one at least.

    Jobs are of one variant if their words and booleans (data set, model ...) are the same. A job whose time is not
    stored is taken only where no other is.
    """
    table, _ = task(name)
    stored = seconds_of(table, table.whole_rows()[1])
    took = {job: math.inf if math.isnan(seconds) else seconds for job, seconds in stored.items()}
    quickest = sorted((one for one in work if table.job(one[0]) in took), key=lambda one: took[table.job(one[0])])
    firsts = {tuple(value for value in job.values() if isinstance(value, str | bool)): job for job, _ in quickest[::-1]}
    chosen, left = [], 60 * minutes
    for one in sorted(quickest, key=lambda one: one[0] not in firsts.values()):
        if not chosen or took[table.job(one[0])] <= left:
            chosen.append(one)
            left -= took[table.job(one[0])]
    return chosen


def seconds_of(table, rows: list[dict]) -> dict[tuple, float]:
    """Seconds of each job of a table, of one process: each row has the whole job; nan where they are not stored."""
    return {table.job(row): float(row.get("seconds") or math.nan) for row in rows}


def duration(seconds: Collection[float]) -> str:
    """How long jobs took, in words; nan: it is not stored."""
    unknown = sum(map(math.isnan, seconds))
    if unknown == len(seconds) > 0:
        return "an unknown time (it is not stored)"
    return f"{'at least ' if unknown else ''}{known_sum(seconds) / 60:.1f} minutes of one process"


def known_sum(seconds: Collection[float]) -> float:
    """The sum without what is nan."""
    return sum(each for each in seconds if not math.isnan(each))


def remake(
    names: Sequence[str],
    out: str | os.PathLike,
    workers: int = 1,
    dask: str | None = None,
    minutes: float | None = None,
) -> Iterator[str]:
    """Make tables anew in the folder ``out``, and compare them with those of the results.

    Two lines for each: how long it took when it was stored, and what came of it. What ``out`` holds already is not
    computed again. ``minutes``: of each table only :func:`jobs_of_least_time`.

    Raises
    ------
    ValueError
        If ``out`` is the folder of the results, and as :func:`complete`.
    OSError
        As :func:`complete`.
    """

    names, folder = chosen_tables(names), check_remade(out)
    return (line for name in names for line in compared(name, folder, workers, dask, minutes))


def compared(name: str, folder: Path, workers: int, dask: str | None, minutes: float | None) -> Iterator[str]:
    """Make a table in another folder; messages: how long it took, and how much came out as stored."""
    from uaftc_lib.experiments.registry import TOLERANCE, rows_of_job, same_rows

    older, jobs = task(name)
    took = seconds_of(older, older.whole_rows()[1])
    before = f"{name}: {duration(took.values())} when its {len(took)} jobs were stored"
    if minutes is not None:
        some = [took[older.job(job)] for job, _ in jobs_of_least_time(name, jobs, minutes)]
        before += f"; of these {len(some)}, which took {duration(some)}"
    yield before
    message, table, work = completed(name, folder, workers, dask, minutes)
    now, stored = table.frame(), older.frame()
    pairs = [(rows_of_job(now, job), rows_of_job(stored, job)) for job, _ in work]
    same, lacking = sum(same_rows(*pair) for pair in pairs), sum(not len(before) for _, before in pairs)
    message += f"; {same} of {len(work)} jobs as stored, within {100 * TOLERANCE:g} %"
    yield f"{message} ({lacking} not stored)" if lacking else message
