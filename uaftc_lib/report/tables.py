"""Reading a reader's own file, with an account of every row that is left out."""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
import warnings
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
class TextTable:
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


def read_table(path: Path, columns: Columns, encoding: str = "utf-8", progress: Callable = iter) -> TextTable:
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
    remark(table)
    return table


def tidy(table: TextTable) -> None:
    """Cells as strings; rows that lack what is needed are dropped."""
    rows = table.rows
    for role in rows.columns.intersection(["text", "label", "group", "split"]):
        if role in ("text", "label") and (numbers := sum(map(is_number, rows[role]))):
            table.notes.append(f"{numbers:,} {role}s were numbers and were read as they are printed")
        as_string = tidy_text if role == "text" else tidy_cell
        rows[role] = pd.Series([as_string(cell) for cell in rows[role]], dtype=object)
    for role, reason in (("text", "no text"), ("label", "no label"), ("split", "no value in the column of --split")):
        if role in rows:
            table.drop(reason, table.rows[role] != "")
    if "group" in rows and (alone := int((rows["group"] == "").sum())):
        table.notes.append(f"{alone:,} rows have no value in the column of --group: each of them stands alone")
    table.drop("text is no text", table.rows["text"].notna())
    table.drop("label is neither text nor number", table.rows["label"].notna())
    table.drop("label holds half a character", [not HALF.search(label) for label in table.rows["label"]])
    if "time" in rows:
        cells = table.rows["time"]
        table.rows = table.rows.assign(time=times(cells))
        table.notes += ambiguous_dates(cells, table.rows["time"])
        table.drop("no time, or none that can be read", table.rows["time"].notna())
    table.rows = table.rows.reset_index(drop=True)


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
    found = read(cells, max(formats, key=lambda how: read(some, how).notna().sum()))
    if found.notna().sum() < len(cells) / 2:
        strange = str(cells[found.isna()].iloc[0])[:40]
        raise Refused(f"the column of --time holds {strange!r}, neither a number nor a date: write dates as 2024-12-31")
    return found


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


def remark(table: TextTable) -> None:
    """Say what is read as it stands, and may not be meant so."""
    spellings: dict[str, list[str]] = {}
    for label in sorted(table.rows["label"].unique()):
        spellings.setdefault(" ".join(label.casefold().split()), []).append(label)
    if alike := next((several for several in spellings.values() if len(several) > 1), None):
        named = " and ".join(map(repr, alike[:2]))
        table.loud.append(
            f"Classes are taken as they are spelt: {named} are two classes; rename one if they are the same"
        )
    if marked := sum("<" in text and bool(TAG.search(text)) for text in table.rows["text"]):
        table.notes.append(f"{marked:,} texts hold markup such as <br>: the names of its tags count as words")


def frame(numbers: Iterable[int], cells: Iterable[Iterable], columns: Columns) -> pd.DataFrame:
    """The numbers of the rows and the cells of each column; strings stay Python's, which can be looked through fast."""
    found = {role: pd.Series(list(of_role), dtype=object) for role, of_role in zip(columns.asked, cells)}
    return pd.DataFrame({"row": np.fromiter(numbers, np.int64)} | found)


def read_delimited(path: Path, columns: Columns, encoding: str, progress: Callable) -> TextTable:
    """CSV and TSV with a header, by Python's csv.

    pandas does not do here: its fast engine fills up rows that have too few fields, counts rows for lines, reads
    ``"Great" film`` without its marks, and a mark that opens a cell and was not meant to swallows, without a word,
    all rows up to the next one.
    """
    header, delimiter = header_of(path, columns, encoding)

    def read(mend: bool):
        with unlimited_cells(), path.open(encoding=with_mark(encoding), newline="") as file:
            stray: list[int] = []
            lines = iter(progress(file))
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
    return TextTable(frame(cells, zip(*cells.values()), columns), count, dropped, notes)


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


def mended(text: str, delimiter: str, width: int, stray: list[int]) -> Iterator[str]:
    """The lines of a text with stray quotation marks, as csv can read them; ``stray`` gets the lines that were mended.

    A row that cannot be read with quoting within MOST_LINES lines ends with its first one, and its quotation marks
    are characters. Programs that write tabs mostly do not quote at all, so there no row goes over the end of its line.
    """
    d, most = re.escape(delimiter), 0 if delimiter == "\t" else MOST_LINES
    in_line = r'(?>[^"\n]*(?:""[^"\n]*)*)'
    cell = rf'(?:"(?:{in_line}\n){{,{most}}}+{in_line}"|(?>[^"{d}\r\n][^{d}\r\n]*)|)'
    whole_row = re.compile(rf"{cell}(?:{d}{cell})*(?:\r?\n|\r|\Z)")
    at, end = 1, 0
    while end < len(text):
        if row := whole_row.match(text, end):
            end = row.end()
            lines = list(io.StringIO(row[0], newline=""))
            at += len(lines)
            yield from lines
            continue
        line = re.compile(r"[^\r\n]*(?:\r?\n|\r|\Z)").match(text, end)
        stray.append(at)
        at, end = at + 1, line.end()
        # The second reading is for a delimiter within quotation marks.
        ways = (csv.QUOTE_NONE, csv.QUOTE_MINIMAL)
        readings = [next(csv.reader([line[0]], delimiter=delimiter, quoting=way)) for way in ways]
        fields = next((fields for fields in readings if len(fields) == width), readings[0])
        yield delimiter.join('"' + field.replace('"', '""') + '"' for field in fields) + "\n"


@contextmanager
def unlimited_cells():
    """Cells of any length are read; the limit is the module's own."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def read_json_lines(path: Path, columns: Columns, encoding: str, progress: Callable) -> TextTable:
    """One JSON object a line. A column that one line lacks is a missing cell there.

    Not by pandas, which does not say in which line a file is broken and makes floats of whole numbers.
    """
    rows = [tuple(map(row.get, columns.asked.values())) for row in json_objects(path, encoding, progress)]
    return TextTable(frame(range(1, len(rows) + 1), zip(*rows), columns), len(rows))


def read_parquet(path: Path, columns: Columns, encoding: str, progress: Callable) -> TextTable:
    """The wanted columns of a Parquet file; nothing else of it is read."""
    names = columns.asked.values()
    with parquet_file(path) as file:
        found = file.read(columns=list(dict.fromkeys(names)))
    cells = (found[name].to_pylist() for name in names)
    return TextTable(frame(range(1, len(found) + 1), cells, columns), len(found))


def sample(table: TextTable, most: int = MOST_ROWS, seed: int = 0) -> TextTable:
    """A random sample of very large tables."""
    if len(table.rows) > most:
        chosen = np.zeros(len(table.rows), bool)
        chosen[np.random.default_rng(seed).choice(len(chosen), most, replace=False)] = True
        table.drop(f"beyond {most:,} rows (chosen at random)", chosen)
    return table
