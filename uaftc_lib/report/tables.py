"""Reading a reader's own file: two columns of it, with an account of every row that is left out."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd

from uaftc_lib.report.request import Refused, check_request, header_of, in_words, json_objects, parquet_file, with_mark

MOST_ROWS = 1_000_000
TORN_ROWS = 0.01  # share of rows with a wrong number of fields that is borne
TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
HALF = re.compile("[\ud800-\udfff]")  # what JSON can hold, and no file
MOST_LINES = 200  # of one row, where quotation marks are stray


@dataclass
class Table:
    """Texts and labels (strings once they are read), and what was dropped: reason → number of rows."""

    texts: list
    labels: list
    rows_read: int
    dropped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def drop(self, reason: str, keep: Iterable) -> None:
        """Leave out the rows that are not to be kept, and count them under the reason."""
        kept = [(text, label) for text, label, kept in zip(self.texts, self.labels, keep) if kept]
        lost = len(self.texts) - len(kept)
        if lost:
            self.dropped[reason] = self.dropped.get(reason, 0) + lost
            self.texts, self.labels = [text for text, _ in kept], [label for _, label in kept]


def read_table(path: Path, text: str, label: str, encoding: str = "utf-8", progress: Callable = iter) -> Table:
    """The two columns of a file, every cell a string. ``progress`` wraps the lines of a file of text.

    Rows without text or label, and cells that are neither text nor number, are dropped and counted.

    Raises
    ------
    Refused
        If the file cannot be read, is in another encoding, is malformed (the message gives the line) or
        lacks a column (the message names those it has).
    """
    path = Path(path)
    check_request(path, text, label, encoding)
    readers = {".jsonl": read_json_lines, ".ndjson": read_json_lines, ".parquet": read_parquet}
    reader = readers.get(path.suffix.lower(), read_delimited)
    with in_words(path, encoding):
        table = reader(path, text, label, encoding, progress)
    if not table.rows_read:
        raise Refused(f"{path.name} holds no rows")
    table.labels = [str(cell) if isinstance(cell, (Decimal, date, time)) else cell for cell in table.labels]
    for name in ("texts", "labels"):
        cells = getattr(table, name)
        if numbers := sum(isinstance(cell, (int, float)) and not missing(cell) for cell in cells):
            table.notes.append(f"{numbers:,} {name} were numbers and were read as they are printed")
    table.drop("no text", [not missing(cell) for cell in table.texts])
    table.drop("no label", [not missing(cell) for cell in table.labels])
    table.drop("text is no text", [isinstance(cell, (str, int, float)) for cell in table.texts])
    table.drop("label is neither text nor number", [isinstance(cell, (str, int, float)) for cell in table.labels])
    table.texts = [printed(cell) for cell in table.texts]
    table.labels = [printed(cell).strip() for cell in table.labels]
    table.drop("label holds half a character", [not HALF.search(cell) for cell in table.labels])
    table.notes += remarks(table)
    return table


def remarks(table: Table) -> list[str]:
    """What is read as it stands, and may not be meant so."""
    found = []
    spellings: dict[str, list[str]] = {}
    for label in sorted(set(table.labels)):
        spellings.setdefault(" ".join(label.casefold().split()), []).append(label)
    if alike := next((several for several in spellings.values() if len(several) > 1), None):
        named = " and ".join(map(repr, alike[:2]))
        found.append(f"Classes are taken as they are spelt: {named} are two classes; rename one if they are the same")
    if marked := sum(bool(TAG.search(text)) for text in table.texts):
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


def read_delimited(path: Path, text: str, label: str, encoding: str, progress: Callable) -> Table:
    """CSV and TSV with a header."""
    header, delimiter = header_of(path, text, label, encoding)
    places = [header.index(text), header.index(label)]

    def read(most: int | None = None):
        with unlimited_cells(), path.open(encoding=with_mark(encoding), newline="") as file:
            return read_rows(iter(progress(file)), places, len(header), delimiter, most)

    try:
        cells, wrong, stray, lines = read()
    except csv.Error:
        # Programs that write tabs mostly do not quote at all, so there no row goes on over the end of its line.
        cells, wrong, stray, lines = read(1 if delimiter == "\t" else MOST_LINES)
    notes = []
    if stray:
        notes.append(
            f"A quotation mark that encloses no whole cell was read as a character in {len(stray):,} rows (first in "
            f"line {stray[0]})"
        )
    if spread := lines - len(cells) - len(wrong):
        notes.append(f"Quoted cells were read over line breaks: {spread:,} lines continue the row before them")
    if len(wrong) > TORN_ROWS * (len(cells) + len(wrong)):
        line, fields = wrong[0]
        raise Refused(
            f"{path.name}, line {line} has {fields} fields, the header {len(header)}, and so it is in "
            f"{len(wrong):,} rows: a stray quote or delimiter?"
        )
    table = Table([text for text, _ in cells], [label for _, label in cells], len(cells) + len(wrong), notes=notes)
    if wrong:
        table.dropped[f"not as many fields as the header (first in line {wrong[0][0]})"] = len(wrong)
    return table


def read_rows(
    source: Iterator[str], places: list[int], width: int, delimiter: str, most: int | None
) -> tuple[list[list[str]], list[tuple[int, int]], list[int], int]:
    """The wanted cells of each row after the header; line and number of fields of torn rows; lines with stray quotation
    marks; the number of lines that are not blank.

    With ``most``, a row that cannot be read with quoting within so many lines ends with its first one, and its
    quotation marks are characters.

    Raises
    ------
    csv.Error
        Without ``most``: if a quoted cell is followed by anything but a delimiter, or is never closed.
    """
    cells, wrong, stray, blank, at = [], [], [], 0, 1
    of_row, again = [], []  # the lines of the row that is being read; lines to be read once more, the next one last
    next(source)

    def lines():
        while (most is None or len(of_row) < most) and (again or (line := next(source, None)) is not None):
            of_row.append(again.pop() if again else line)
            yield of_row[-1]

    rows = csv.reader(lines(), delimiter=delimiter, strict=True)
    while True:
        of_row.clear()
        try:
            row = next(rows)
        except StopIteration:
            return cells, wrong, stray, at - 1 - blank
        except csv.Error:
            if most is None:
                raise
            # The second reading is for a delimiter within quotation marks.
            ways = (csv.QUOTE_NONE, csv.QUOTE_MINIMAL)
            readings = [next(csv.reader(of_row[:1], delimiter=delimiter, quoting=way)) for way in ways]
            row = next((row for row in readings if len(row) == width), readings[0])
            again += of_row[:0:-1]
            del of_row[1:]
            stray.append(at + 1)
            rows = csv.reader(lines(), delimiter=delimiter, strict=True)
        at += len(of_row)
        if len(row) == width:
            cells.append([row[place] for place in places])
        elif row:
            wrong.append((at, len(row)))
        else:
            blank += 1


@contextmanager
def unlimited_cells():
    """Cells of any length are read; the limit is the module's own."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def read_json_lines(path: Path, text: str, label: str, encoding: str, progress: Callable) -> Table:
    """One JSON object a line. A column that one line lacks is a missing cell there."""
    cells = [(row.get(text), row.get(label)) for row in json_objects(path, encoding, progress)]
    return Table([text for text, _ in cells], [label for _, label in cells], len(cells))


def read_parquet(path: Path, text: str, label: str, encoding: str, progress: Callable) -> Table:
    """Two columns of a Parquet file; nothing else of it is read."""
    with parquet_file(path) as file:
        frame = file.read(columns=[text, label])
    return Table(frame[text].to_pylist(), frame[label].to_pylist(), len(frame))


def sample(table: Table, most: int = MOST_ROWS, seed: int = 0) -> Table:
    """A random sample of very large tables."""
    if len(table.texts) > most:
        chosen = np.zeros(len(table.texts), bool)
        chosen[np.random.default_rng(seed).choice(len(chosen), most, replace=False)] = True
        table.drop(f"beyond {most:,} rows (chosen at random)", chosen)
    return table
