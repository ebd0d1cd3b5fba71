"""The many-seed tables behind the figures: where they are kept, and ``python -m uaftc_lib.studies NAME``.

A study is a function from one job (the columns that tell rows apart) to its rows. Its table,
``results/NAME.csv``, holds job, measurements, seconds and provenance. Finished jobs are written at once and
never computed again, so an interrupted study goes on where it stopped; with ``--out FOLDER`` it is made anew in
another folder, and compared. Pages read the tables and recompute one job live.
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from uaftc_lib.exact_studies import EXACT_STUDIES
from uaftc_lib.locations import results_folder
from uaftc_lib.provenance import provenance
from uaftc_lib.score_studies import SCORE_STUDIES
from uaftc_lib.term_studies import TERM_STUDIES
from uaftc_lib.variant_studies import VARIANT_STUDIES

STUDIES = {**SCORE_STUDIES, **EXACT_STUDIES, **TERM_STUDIES, **VARIANT_STUDIES}
TOLERANCE = 0.02  # of the largest number of a column
NOT_MEASURED = ("seconds", *provenance())


def unknown(names: Sequence[str]) -> str:
    """What to say if one of these is no study; else nothing."""
    wrong = [name for name in names if name not in STUDIES]
    return f"no study {wrong[0]!r}; there are {', '.join(STUDIES)}" if wrong else ""


def rows_of(table: pd.DataFrame, job: dict) -> pd.DataFrame:
    """The rows of a job."""
    return table[(table[list(job)] == pd.Series(job)).all(axis=1)].reset_index(drop=True) if len(table) else table


def computed(name: str, job: dict) -> pd.DataFrame:
    """The rows of a job, run now."""
    study, _ = STUDIES[name]
    return pd.DataFrame([{**job, **row} for row in study(**job)])


def kept(name: str, folder: str | os.PathLike | None = None) -> tuple[Path, pd.DataFrame, list[dict]]:
    """The file of a study's table, what it holds by now, and the jobs that it lacks.

    Raises
    ------
    ValueError
        If there is no such study, or if the file holds something else.
    """
    if told := unknown([name]):
        raise ValueError(told)
    _, jobs = STUDIES[name]
    path, table = results_folder(folder) / f"{name}.csv", pd.DataFrame()
    if path.exists():
        try:
            table = pd.read_csv(path)
        except ValueError:  # empty, binary or torn
            pass
        if not {*jobs[0], *NOT_MEASURED} <= set(table):
            raise ValueError(f"{path} holds something else than the table {name}: move it, or name another folder")
    return path, table, [job for job in jobs if not len(rows_of(table, job))]


def make(name: str, folder: str | os.PathLike | None = None) -> pd.DataFrame:
    """Compute what is missing of a study's table in a folder, by default that of the results; the whole table.

    Raises
    ------
    ValueError
        If there is no such study, or if its file in the folder holds something else.
    """
    return completed(name, *kept(name, folder))


def completed(name: str, path: Path, table: pd.DataFrame, lacking: Sequence[dict]) -> pd.DataFrame:
    """The table with the rows of these jobs too; after each it is written."""
    torch.set_num_threads(1)
    for job in lacking:
        started = time.perf_counter()
        rows = computed(name, job)
        rows = rows.assign(seconds=round(time.perf_counter() - started, 2), **provenance())
        table = pd.concat([table, rows], ignore_index=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
    return table


def results(name: str) -> pd.DataFrame:
    """The stored table of a study.

    Raises
    ------
    FileNotFoundError
        If it has not been made; the message says how to.
    """
    path = results_folder() / f"{name}.csv"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: make it with python -m uaftc_lib.studies {name}")
    return pd.read_csv(path)


def same_rows(now: pd.DataFrame, stored: pd.DataFrame, tolerance: float = TOLERANCE) -> bool:
    """Whether rows are the stored ones: the same columns, equal words, numbers within ``tolerance`` of the largest.

    In float32 another processor may round its way to another best epoch, but not to another beginning: then, of the
    numbers, the loss of the first epochs alone is compared.
    """
    stored = stored.drop(columns=[*NOT_MEASURED], errors="ignore").dropna(axis="columns", how="all")
    now = now.dropna(axis="columns", how="all")
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
    """Whether a job of a study, run now, gives its stored rows (:func:`same_rows`).

    Raises
    ------
    ValueError
        If the table holds no such job.
    """
    stored = rows_of(results(name), job)
    if not len(stored):
        raise ValueError(f"the table {name} has no row with {job}: make it with python -m uaftc_lib.studies {name}")
    return same_rows(computed(name, job), stored, tolerance)


def folder_beside(folder: Path) -> Path:
    """A folder where tables can be made anew, made if need be.

    Raises
    ------
    ValueError
        If it is that of the stored results.
    OSError
        If it cannot be made or written to.
    """
    if folder.resolve() == results_folder().resolve():
        raise ValueError(f"--out needs another folder than {folder}, that of the stored results")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"--out needs a folder, and {folder} is none and cannot be made ({error.strerror})") from None
    if not os.access(folder, os.W_OK):
        raise OSError(f"--out needs a folder that can be written to, which {folder} cannot")
    return folder


def made(name: str, folder: Path | None = None) -> str:
    """Make a study's table (:func:`make`); what to say of it, in another folder also how much came out as stored."""
    path, table, missing = kept(name, folder)
    table, (_, jobs) = completed(name, path, table, missing), STUDIES[name]
    told = f"{name}: {len(missing)} of {len(jobs)} jobs computed, {len(table)} rows in {path}"
    if not folder:
        return told if missing else f"{told}; --out FOLDER makes it anew, and compares"
    _, stored, lacking = kept(name)
    same = sum(same_rows(rows_of(table, job).drop(columns=[*NOT_MEASURED]), rows_of(stored, job)) for job in jobs)
    told += f"; {same} of {len(jobs)} jobs as stored, within {100 * TOLERANCE:g} %"
    return f"{told} ({len(lacking)} not stored)" if lacking else told


def main(words: Sequence[str] | None = None) -> None:
    """The command. What cannot be is said in a line, with exit code 2."""
    listed = (
        f"  {name:17} {len(jobs):3} jobs  {study.__doc__.splitlines()[0]}" for name, (study, jobs) in STUDIES.items()
    )
    parser = ArgumentParser(
        prog="python -m uaftc_lib.studies",
        description="Make the tables of many starts behind the figures. What a table holds is not computed again.",
        epilog="\n".join(["studies:", *listed]),
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="studies, listed below; default: all")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="make them anew in this folder, and compare")
    given = parser.parse_args(words)
    if told := unknown(given.names):
        parser.error(told)
    try:
        folder = given.out and folder_beside(given.out)
        for name in dict.fromkeys(given.names or STUDIES):
            print(made(name, folder), flush=True)
    except (ValueError, OSError) as error:
        parser.error(" ".join(str(error).split()))


if __name__ == "__main__":
    main()
