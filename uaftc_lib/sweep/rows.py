"""The results file: a line for each finished cell, only ever appended to."""

from __future__ import annotations

import base64
import csv
import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from filelock import FileLock
from jaxtyping import Bool

from uaftc_lib.sweep.cells import AXES, KEY

MEASURED = ("dev_accuracy", "test_accuracy", "best_epoch")
COST = ("seconds", "peak_memory", "device")
SETTING = ("python", "torch", "numpy", "cores", "date")
# test_errors: which test instances were classified wrongly, a bit each (:func:`decode_errors`).
COLUMNS = tuple(
    dict.fromkeys((*AXES, "seed", *MEASURED, "epochs", *COST, "machine", "version", *KEY, *SETTING, "test_errors"))
)


def encode_errors(wrong: Bool[np.ndarray, "instances"]) -> str:
    """One bit for each instance, as base64."""
    return base64.b64encode(np.packbits(wrong)).decode()


def decode_errors(text: str, instances: int) -> Bool[np.ndarray, "instances"]:
    """Which of the test instances a run classified wrongly, from the column ``test_errors``."""
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8))
    return bits[:instances].astype(bool)


def guard(out: Path, name: str = "lock") -> FileLock:
    return FileLock(out.with_name(f".{out.name}.{name}"), thread_local=False)


def complete_lines(out: Path) -> str:
    """The text of a results file without a line that lacks its end.

    Raises
    ------
    ValueError
        If it is a folder, or none of ours: its first line, or the part of it that is there, is another.
    """
    if out.is_dir():
        raise ValueError(f"{out} is a folder: name a file in it, such as {out / 'sweep.csv'}")
    content = out.read_bytes() if out.exists() else b""
    first, end, _ = content.partition(b"\n")
    header = ",".join(COLUMNS).encode()
    if first.rstrip(b"\r") != header and (end or not header.startswith(first)):
        found = first[:60].decode("utf-8", "replace")
        raise ValueError(f"{out} has other columns than results of this version ({found!r} ...): name another file")
    return content[: content.rfind(b"\n") + 1].decode("utf-8")


def results(out: str | os.PathLike) -> pd.DataFrame:
    """The finished cells of a results file, as a table.

    Raises
    ------
    ValueError
        If the file has other columns.
    """
    text = complete_lines(Path(out))
    if not text:
        return pd.DataFrame(columns=list(COLUMNS))
    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values={name: [""] for name in MEASURED})


def finished(out: Path) -> set[tuple[str, ...]]:
    """The keys of the finished cells."""
    return {tuple(line[name] for name in KEY) for line in csv.DictReader(io.StringIO(complete_lines(out)))}


def append(out: Path, row: Mapping) -> bool:
    """Write one line; False if another sweep has written that cell meanwhile."""

    def line(values: Iterable) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(values)
        return text.getvalue()

    with guard(out).acquire(timeout=60):  # others hold it for milliseconds
        whole = complete_lines(out)
        if tuple(str(row[name]) for name in KEY) in finished(out):
            return False
        values = [row[name] for name in COLUMNS]
        text = ("" if whole else line(COLUMNS)) + line("" if value != value else value for value in values)
        file = os.open(out, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.ftruncate(file, len(whole.encode("utf-8")))  # cuts off a torn line, if there is one
            os.write(file, text.encode("utf-8"))
        finally:
            os.close(file)
    return True
