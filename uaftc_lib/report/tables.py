"""Reading a reader's own file by pandas, with an account of every row that is left out."""

from __future__ import annotations

import csv
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd

from uaftc_lib.report.request import (
    Columns,
    Refused,
    check_request,
    header_of,
    in_words,
    json_objects,
    parquet_file,
    with_mark,
)

MOST_ROWS = 1_000_000
TORN_ROWS = 0.01  # share of rows with a wrong number of fields that is borne
TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
HALF = re.compile("[\ud800-\udfff]")  # what JSON can hold, and no file
MOST_LINES = 200  # of one row, where quotation marks are stray


@dataclass
class Table:
    """The rows of a file, and what was dropped: reason → number of rows.

    Attributes
    ----------
    rows : DataFrame
        row (number of the row in the file, from 1, the header not counted), text and label (strings), and group,
        split and time where they are asked for.
    rows_read : int
    dropped : dict
    notes : list of str
        What is read as it stands, and may not be meant so.
    loud : list of str
        What must be seen before anything else.
    """

    rows: pd.DataFrame
    rows_read: int
    dropped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    loud: list[str] = field(default_factory=list)

    def drop(self, reason: str, keep: Iterable) -> None:
        """Leave out the rows that are not to be kept, and count them under the reason."""
        keep = np.asarray(keep, bool)
        if lost := int((~keep).sum()):
            self.dropped[reason] = self.dropped.get(reason, 0) + lost
            self.rows = self.rows[keep]


def read_table(path: Path, columns: Columns, encoding: str = "utf-8", progress: Callable = iter) -> Table:
    """The columns of a file that are asked for. ``progress`` wraps the lines of a file of text.

    Texts and labels are strings, texts in Unicode's composed form (NFC). Rows without text or label, and cells that
    are neither text nor number, are dropped and counted.

    Raises
    ------
    Refused
        If the file cannot be read, is in another encoding, is malformed (the message gives the line) or
        lacks a column (the message names those it has).
    """
    path = Path(path)
    check_request(path, columns, encoding)
    readers = {".jsonl": read_json_lines, ".ndjson": read_json_lines, ".parquet": read_parquet}
    reader = readers.get(path.suffix.lower(), read_delimited)
    with in_words(path, encoding):
        table = reader(path, columns, encoding, progress)
    if not table.rows_read:
        raise Refused(f"{path.name} holds no rows")
    tidy(table)
    table.notes += remarks(table)
    return table


def tidy(table: Table) -> None:
    """Cells as strings; rows that lack what is needed are dropped."""
    rows = table.rows
    for role in ("label", "group", "split"):
        if role in rows:
            rows[role] = [str(cell) if isinstance(cell, (Decimal, date, time)) else cell for cell in rows[role]]
    for role in ("text", "label"):
        if numbers := sum(isinstance(cell, (int, float)) and not missing(cell) for cell in rows[role]):
            table.notes.append(f"{numbers:,} {role}s were numbers and were read as they are printed")
    for role, reason in (("text", "no text"), ("label", "no label"), ("split", "no value in the column of --split")):
        if role in rows:
            table.drop(reason, [not missing(cell) for cell in table.rows[role]])
    table.drop("text is no text", [isinstance(cell, (str, int, float)) for cell in table.rows["text"]])
    table.drop(
        "label is neither text nor number", [isinstance(cell, (str, int, float)) for cell in table.rows["label"]]
    )
    rows = table.rows = table.rows.copy()
    rows["text"] = [composed(printed(cell)) for cell in rows["text"]]
    for role in {"label", "split"} & set(rows):
        rows[role] = [printed(cell).strip() for cell in rows[role]]
    if "group" in rows:
        rows["group"] = [None if missing(cell) else printed(cell).strip() for cell in rows["group"]]
    table.drop("label holds half a character", [not HALF.search(cell) for cell in table.rows["label"]])
    if "time" in rows:
        table.rows["time"] = times(table.rows["time"])
        table.drop("no time, or none that can be read", table.rows["time"].notna())
    table.rows = table.rows.reset_index(drop=True)


def times(cells: pd.Series) -> pd.Series:
    """Numbers where most cells are numbers; else dates, in the format that reads most of them."""
    readings = [
        pd.to_numeric(cells, errors="coerce"),
        *(
            pd.to_datetime(cells, errors="coerce", utc=True, **how)
            for how in ({"format": "ISO8601"}, {}, {"dayfirst": True}, {"format": "mixed"})
        ),
    ]
    return max(readings, key=lambda reading: reading.notna().sum())


def remarks(table: Table) -> list[str]:
    """What is read as it stands, and may not be meant so."""
    found = []
    spellings: dict[str, list[str]] = {}
    for label in sorted(table.rows["label"].unique()):
        spellings.setdefault(" ".join(label.casefold().split()), []).append(label)
    if alike := next((several for several in spellings.values() if len(several) > 1), None):
        named = " and ".join(map(repr, alike[:2]))
        found.append(f"Classes are taken as they are spelt: {named} are two classes; rename one if they are the same")
    if marked := sum(bool(TAG.search(text)) for text in table.rows["text"]):
        found.append(f"{marked:,} texts hold markup such as <br>: the names of its tags count as words")
    return found


def missing(cell: object) -> bool:
    """Nothing there: None, not a number, an empty cell or blanks alone."""
    return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell)) or not str(cell).strip()


def printed(cell: object) -> str:
    """A cell as a string; 1.0 is 1 and True is true, so that mixed columns agree with themselves."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def composed(text: str) -> str:
    """A text in Unicode's composed form; half a character is the character for what cannot be read."""
    return text if text.isascii() else unicodedata.normalize("NFC", HALF.sub("\ufffd", text))


def frame(cells: list, columns: Columns) -> pd.DataFrame:
    """Cells beside the number of their row."""
    return pd.DataFrame(cells, columns=["row", *columns.asked], dtype=object).astype({"row": np.int64})


def read_delimited(path: Path, columns: Columns, encoding: str, progress: Callable) -> Table:
    """CSV and TSV with a header, by Python's csv.

    pandas does not do here: its fast engine fills up rows that have too few fields, counts rows for lines, reads
    ``"Great" film`` without its marks, and a mark that opens a cell and was not meant to swallows, without a word,
    all rows up to the next one.
    """
    header, delimiter = header_of(path, columns, encoding)

    def read(mend: bool):
        with unlimited_cells(), path.open(encoding=with_mark(encoding), newline="") as file:
            stray: list[int] = []
            lines = progress(file)
            if mend:
                lines = mended(file.read(), delimiter, len(header), stray)
            return *read_rows(lines, header, delimiter, columns), stray

    try:
        cells, torn, lines, stray = read(mend=False)
    except csv.Error:
        cells, torn, lines, stray = read(mend=True)
    count = len(cells) + len(torn)
    notes = []
    if stray:
        notes.append(
            f"A quotation mark that encloses no whole cell was read as a character in {len(stray):,} rows (first in "
            f"line {stray[0]})"
        )
    if spread := lines - count:
        notes.append(f"Quoted cells were read over line breaks: {spread:,} lines continue the row before them")
    if len(torn) > TORN_ROWS * count:
        line, fields = torn[0]
        raise Refused(
            f"{path.name}, line {line} has {fields} fields, the header {len(header)}, and so it is in "
            f"{len(torn):,} rows: a stray quote or delimiter?"
        )
    dropped = {f"not as many fields as the header (first in line {torn[0][0]})": len(torn)} if torn else {}
    return Table(frame(cells, columns), count, dropped, notes)


def read_rows(
    lines: Iterable[str], header: list[str], delimiter: str, columns: Columns
) -> tuple[list[tuple], list[tuple[int, int]], int]:
    """Number and wanted cells of each row after the header; line and number of fields of torn rows; the number of lines
    that are not blank.

    Raises
    ------
    csv.Error
        If a quoted cell is followed by anything but a delimiter, or is never closed.
    """
    wanted = itemgetter(*(header.index(name) for name in columns.asked.values()))
    cells, torn, row, blank, last = [], [], 0, 0, 0

    def counted() -> Iterator[str]:
        nonlocal last
        for line in lines:
            last += line.count("\n") or 1
            yield line

    rows = csv.reader(counted(), delimiter=delimiter, strict=True)
    next(rows)
    for fields in rows:
        if len(fields) == len(header):
            row += 1
            cells.append((row, *wanted(fields)))
        elif fields:
            row += 1
            torn.append((last, len(fields)))
        else:
            blank += 1
    return cells, torn, last - 1 - blank


def mended(text: str, delimiter: str, width: int, stray: list[int]) -> Iterator[str]:
    """The rows of a text in which quotation marks are stray, one by one, each as csv reads it; ``stray`` gets the lines
    that had to be mended.

    A row that cannot be read with quoting within MOST_LINES lines ends with its first one, and its quotation marks
    are characters. Programs that write tabs mostly do not quote at all, so there no row goes over the end of its line.
    """
    most = 0 if delimiter == "\t" else MOST_LINES
    in_line = r'[^"\n]*(?:""[^"\n]*)*'
    d = re.escape(delimiter)
    cell = rf'(?>"(?:{in_line}\n){{,{most}}}{in_line}"|[^"{d}\r\n][^{d}\r\n]*|)'
    rows = re.compile(rf"({cell}(?:{d}{cell})*(?:\r?\n|\r|\Z))|([^\n]*(?:\n|\Z))")
    at, end = 1, 0
    while end < len(text):
        match = rows.match(text, end)
        end = match.end()
        row = match[0]
        if match[2] is not None:
            stray.append(at)
            # The second reading is for a delimiter within quotation marks.
            ways = (csv.QUOTE_NONE, csv.QUOTE_MINIMAL)
            readings = [next(csv.reader([row], delimiter=delimiter, quoting=way)) for way in ways]
            fields = next((fields for fields in readings if len(fields) == width), readings[0])
            row = delimiter.join('"' + field.replace('"', '""') + '"' for field in fields) + "\n"
        at += match[0].count("\n")
        yield row


@contextmanager
def unlimited_cells():
    """Cells of any length are read; the limit is the module's own."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def read_json_lines(path: Path, columns: Columns, encoding: str, progress: Callable) -> Table:
    """One JSON object a line. A column that one line lacks is a missing cell there."""
    names = columns.asked.values()
    cells = [(number, *map(row.get, names)) for number, row in enumerate(json_objects(path, encoding, progress), 1)]
    return Table(frame(cells, columns), len(cells))


def read_parquet(path: Path, columns: Columns, encoding: str, progress: Callable) -> Table:
    """The wanted columns of a Parquet file; nothing else of it is read."""
    with parquet_file(path) as file:
        found = file.read(columns=list(dict.fromkeys(columns.asked.values())))
    cells = zip(range(1, len(found) + 1), *(found[name].to_pylist() for name in columns.asked.values()))
    return Table(frame(list(cells), columns), len(found))


def sample(table: Table, most: int = MOST_ROWS, seed: int = 0) -> Table:
    """A random sample of very large tables."""
    if len(table.rows) > most:
        chosen = np.zeros(len(table.rows), bool)
        chosen[np.random.default_rng(seed).choice(len(chosen), most, replace=False)] = True
        table.drop(f"beyond {most:,} rows (chosen at random)", chosen)
    return table
