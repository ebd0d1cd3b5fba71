"""Read: from a file to the table of its rows, with an account of every row that is dropped."""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, time
from decimal import Decimal
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd

from uaftc_lib.report.request import (
    MOST_ROWS,
    Columns,
    Refused,
    check_request,
    header_of,
    in_words,
    json_objects,
    parquet_file,
    with_mark,
)

TORN_ROWS = 0.01  # share of rows with a wrong number of fields that is borne
TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
HALF = re.compile("[\ud800-\udfff]")  # what JSON can hold, and no file
MOST_LINES = 200  # of one row, where quotation marks are stray


@dataclass(frozen=True)
class Table:
    """The rows of a file, and what was dropped: reason → number of rows. Every step returns a new one.

    Attributes
    ----------
    rows : DataFrame
        row (number of the row in the file, from 1, the header not counted), text and label (strings), and group,
        split and time where they are asked for.
    rows_read : int
    dropped : dict
    notes : tuple of str
        What is read as it stands, and may not be meant so.
    loud : tuple of str
        What must be seen before anything else.
    """

    rows: pd.DataFrame
    rows_read: int
    dropped: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    loud: tuple[str, ...] = ()

    def keep(self, mask: Iterable, reason: str) -> Table:
        """Without the rows where ``mask`` is false; they are counted under the reason."""
        mask = np.asarray(mask, bool)
        lost = int((~mask).sum())
        if not lost:
            return self
        dropped = self.dropped | {reason: self.dropped.get(reason, 0) + lost}
        return replace(self, rows=self.rows[mask], dropped=dropped)

    def add(self, notes: Iterable[str] = (), loud: Iterable[str] = ()) -> Table:
        """With further remarks."""
        return replace(self, notes=(*self.notes, *notes), loud=(*self.loud, *loud))


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
    table = tidy(table)
    return table.add(*remarks(table.rows))


def tidy(table: Table) -> Table:
    """Cells as strings, without the rows that lack what is needed."""
    rows = table.rows
    numbers = {role: sum(map(is_number, rows[role])) for role in ("text", "label")}
    notes = [f"{n:,} {role}s were numbers and were read as they are printed" for role, n in numbers.items() if n]
    strings = {
        role: pd.Series([tidy_text(cell) if role == "text" else tidy_cell(cell) for cell in rows[role]], dtype=object)
        for role in rows.columns.intersection(["text", "label", "group", "split"])
    }
    rows = rows.assign(**strings)
    if "group" in rows and (alone := int((rows["group"] == "").sum())):
        notes.append(f"{alone:,} rows have no value in the column of --group: each of them stands alone")
    table = replace(table, rows=rows).add(notes)
    for role, reason in (("text", "no text"), ("label", "no label"), ("split", "no value in the column of --split")):
        if role in rows:
            table = table.keep(table.rows[role] != "", reason)
    table = table.keep(table.rows["text"].notna(), "text is no text")
    table = table.keep(table.rows["label"].notna(), "label is neither text nor number")
    table = table.keep([not HALF.search(label) for label in table.rows["label"]], "label holds half a character")
    if "time" in rows:
        cells = table.rows["time"]
        read = times(cells)
        table = replace(table, rows=table.rows.assign(time=read)).add(ambiguous_dates(cells, read))
        table = table.keep(read.notna(), "no time, or none that can be read")
    return replace(table, rows=table.rows.reset_index(drop=True))


def is_number(cell: object) -> bool:
    """Whether a cell is a number, or true or false."""
    return not isinstance(cell, str) and isinstance(cell, (int, float)) and not missing(cell)


def missing(cell: object) -> bool:
    """Nothing there: None, not a number, an empty cell or blanks alone."""
    return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell)) or not str(cell).strip()


def tidy_cell(cell: object) -> str | None:
    """A cell as a string; "" where nothing is there, None for lists and the like.

    1.0 is 1 and True is true, so that mixed columns agree with themselves.
    """
    if isinstance(cell, str):
        return cell.strip()
    if missing(cell):
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell) if isinstance(cell, (int, float, Decimal, date, time)) else None


def tidy_text(cell: object) -> str | None:
    """A text as it stands, in Unicode's composed form; half a character becomes the one for what cannot be read."""
    if not isinstance(cell, str):
        return tidy_cell(cell)
    if not cell.isascii():
        cell = unicodedata.normalize("NFC", HALF.sub("\ufffd", cell))
    return "" if cell.isspace() else cell


def times(cells: pd.Series) -> pd.Series:
    """Numbers or dates, whichever reads more of the cells (by a thousand of them); what cannot be read is missing.

    Raises
    ------
    Refused
        If fewer than half can be read.
    """

    def read(cells: pd.Series, how: dict | None) -> pd.Series:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # where no format can be guessed, cells are read one by one
            if how is None:
                return pd.to_numeric(cells.mask(cells.map(lambda cell: isinstance(cell, date))), errors="coerce")
            return pd.to_datetime(cells, errors="coerce", utc=True, **how).dt.tz_localize(None)

    some = cells.iloc[:: max(1, len(cells) // 1000)]
    formats = (None, {"format": "ISO8601"}, {}, {"dayfirst": True})
    result = read(cells, max(formats, key=lambda how: read(some, how).notna().sum()))
    if result.notna().sum() < len(cells) / 2:
        strange = str(cells[result.isna()].iloc[0])[:40]
        raise Refused(f"the column of --time holds {strange!r}, neither a number nor a date: write dates as 2024-12-31")
    return result


def ambiguous_dates(cells: pd.Series, read: pd.Series) -> list[str]:
    """Which reading was taken, where day and month could be either in all dates."""
    cells = cells.astype(str).str.strip()
    parts = cells[read.notna()].str.extract(r"^(\d{1,2})[./-](\d{1,2})[./-]\d{2,4}\b").dropna().astype(int)
    either = parts[parts[0] != parts[1]]
    if not len(either) or 2 * len(parts) < len(cells) or parts.max(axis=None) > 12:
        return []
    row = either.index[0]
    return [
        f"Dates can be read with the day or the month first: {cells[row]!r} was read as {read[row]:%d %B %Y}. If that "
        "is wrong, write dates as 2024-12-31"
    ]


def remarks(rows: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Notes and loud lines on what is read as it stands, and may not be meant so."""
    spellings: dict[str, list[str]] = {}
    for label in sorted(rows["label"].unique()):
        spellings.setdefault(" ".join(label.casefold().split()), []).append(label)
    marked = sum("<" in text and bool(TAG.search(text)) for text in rows["text"])
    notes = [f"{marked:,} texts hold markup such as <br>: the names of its tags count as words"] if marked else []
    alike = next((several for several in spellings.values() if len(several) > 1), None)
    if alike is None:
        return notes, []
    named = " and ".join(map(repr, alike[:2]))
    return notes, [f"Classes are taken as they are spelt: {named} are two classes; rename one if they are the same"]


def frame(numbers: Iterable[int], cells: Iterable[Iterable], columns: Columns) -> pd.DataFrame:
    """The numbers of the rows and the cells of each column; strings stay Python's, which can be looked through fast."""
    by_role = {role: pd.Series(list(column), dtype=object) for role, column in zip(columns.asked, cells)}
    return pd.DataFrame({"row": np.fromiter(numbers, np.int64)} | by_role)


def read_delimited(path: Path, columns: Columns, encoding: str, progress: Callable) -> Table:
    """CSV and TSV with a header, by Python's csv.

    pandas does not do here: its fast engine fills up rows that have too few fields, counts rows for lines, reads
    ``"Great" film`` without its marks, and a mark that opens a cell and was not meant to swallows, without a word,
    all rows up to the next one.
    """
    header, delimiter = header_of(path, columns, encoding)

    def read(mend: bool):
        with unlimited_cells(), path.open(encoding=with_mark(encoding), newline="") as file:
            lines, stray = mended(file.read(), delimiter, len(header)) if mend else (iter(progress(file)), [])
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
    return Table(frame(cells, zip(*cells.values()), columns), count, dropped, tuple(notes))


def read_rows(
    lines: Iterable[str], header: list[str], delimiter: str, columns: Columns
) -> tuple[dict[int, tuple], list[tuple[int, int]], int]:
    """Row number → wanted cells, for each row after the header; line and number of fields of torn rows; the number of
    lines that are not blank.

    Raises
    ------
    csv.Error
        If a quoted cell is followed by anything but a delimiter, or is never closed.
    """
    wanted = itemgetter(*(header.index(name) for name in columns.asked.values()))
    width, cells, torn, row, blank = len(header), {}, [], 0, 0
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    next(rows)
    for fields in rows:
        row += bool(fields)
        if len(fields) == width:
            cells[row] = wanted(fields)
        elif fields:
            torn.append((rows.line_num, len(fields)))
        else:
            blank += 1
    return cells, torn, rows.line_num - 1 - blank


def mended(text: str, delimiter: str, width: int) -> tuple[list[str], list[int]]:
    """The lines of a text with stray quotation marks, as csv can read them; and the numbers of those that were mended.

    A row that cannot be read with quoting within MOST_LINES lines ends with its first one, and its quotation marks
    are characters. Programs that write tabs mostly do not quote at all, so there no row goes over the end of its line.
    """
    d, most = re.escape(delimiter), 0 if delimiter == "\t" else MOST_LINES
    in_line = r'(?>[^"\n]*(?:""[^"\n]*)*)'
    cell = rf'(?:"(?:{in_line}\n){{,{most}}}+{in_line}"|(?>[^"{d}\r\n][^{d}\r\n]*)|)'
    whole_row = re.compile(rf"{cell}(?:{d}{cell})*(?:\r?\n|\r|\Z)")
    readable, stray, at, end = [], [], 1, 0
    while end < len(text):
        if row := whole_row.match(text, end):
            end = row.end()
            lines = list(io.StringIO(row[0], newline=""))
            at += len(lines)
            readable += lines
            continue
        line = re.compile(r"[^\r\n]*(?:\r?\n|\r|\Z)").match(text, end)
        stray.append(at)
        at, end = at + 1, line.end()
        # The second reading is for a delimiter within quotation marks.
        ways = (csv.QUOTE_NONE, csv.QUOTE_MINIMAL)
        readings = [next(csv.reader([line[0]], delimiter=delimiter, quoting=way)) for way in ways]
        fields = next((fields for fields in readings if len(fields) == width), readings[0])
        readable.append(delimiter.join('"' + field.replace('"', '""') + '"' for field in fields) + "\n")
    return readable, stray


@contextmanager
def unlimited_cells():
    """Cells of any length are read; the limit is the module's own."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def read_json_lines(path: Path, columns: Columns, encoding: str, progress: Callable) -> Table:
    """One JSON object a line. A column that one line lacks is a missing cell there.

    Not by pandas, which does not say in which line a file is broken and makes floats of whole numbers.
    """
    rows = [tuple(map(row.get, columns.asked.values())) for row in json_objects(path, encoding, progress)]
    return Table(frame(range(1, len(rows) + 1), zip(*rows), columns), len(rows))


def read_parquet(path: Path, columns: Columns, encoding: str, progress: Callable) -> Table:
    """The wanted columns of a Parquet file; nothing else of it is read."""
    names = columns.asked.values()
    with parquet_file(path) as file:
        columns_read = file.read(columns=list(dict.fromkeys(names)))
    cells = (columns_read[name].to_pylist() for name in names)
    return Table(frame(range(1, len(columns_read) + 1), cells, columns), len(columns_read))


def sample(table: Table, most: int = MOST_ROWS, seed: int = 0) -> Table:
    """A random sample of very large tables."""
    if len(table.rows) <= most:
        return table
    chosen = np.zeros(len(table.rows), bool)
    chosen[np.random.default_rng(seed).choice(len(chosen), most, replace=False)] = True
    return table.keep(chosen, f"beyond {most:,} rows (chosen at random)")
