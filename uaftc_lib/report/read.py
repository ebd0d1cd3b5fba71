"""Read: from a file to the table of its rows, with an account of every row that is dropped."""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date, time
from decimal import Decimal
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from uaftc_lib.report.cells import HALF, NOTHING, SEVERAL, clean, plain_labels, without_residues
from uaftc_lib.report.request import (
    MOST_LINES,
    MOST_ROWS,
    Columns,
    Header,
    check_roles,
    excel_rows,
    header_of,
    json_objects,
    keys_of,
    parquet_file,
    resolved,
)
from uaftc_lib.report.source import Refused, Source, decoded, source_of
from uaftc_lib.report.words import LOOK_ALIKE, visible

TORN_ROWS = 0.01  # share of rows with a wrong number of fields that is borne


@dataclass(frozen=True)
class Table:
    """The rows of a file, and what was dropped: reason → number of rows. Every step returns a new one.

    Attributes
    ----------
    rows : DataFrame
        row (number of the row in the file, from 1, the header not counted), text and label (strings), and group,
        split, time and compare where they are asked for.
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

    Texts and labels are strings, texts in Unicode's composed form (NFC) and without the residues of exports that can
    surely be undone, labels in one normal form. Rows without text or label, and cells that are neither text nor
    number, are dropped and counted.

    Raises
    ------
    Refused
        If the file cannot be read, is in another encoding, is malformed (the message gives the line) or
        lacks a column (the message names those it has).
    """
    source = source_of(Path(path), encoding)
    check_roles(columns)
    readers = {"Parquet": read_parquet, "Excel": read_excel, "JSON": read_json, "JSON lines": read_json}
    reader = readers.get(source.kind, read_delimited)
    table = decoded(source, lambda source: reader(source, columns, progress).add(source.notes))
    if not table.rows_read:
        raise Refused(f"{source.name} holds no rows")
    table = tidy(table, columns)
    return table.add(*remarks(table.rows))


def tidy(table: Table, columns: Columns) -> Table:
    """Cells as strings, without the rows that lack what is needed."""
    rows = table.rows if "label" in table.rows else table.rows.assign(label="new")  # texts to be asked about
    numbers = {role: sum(map(is_number, rows[role])) for role in ("text", "label")}
    notes = [f"{n:,} {role}s were numbers and were read as they are printed" for role, n in numbers.items() if n]
    if lists := sum(isinstance(cell, (list, tuple)) and len(cell) == 1 for cell in rows["label"]):
        notes.append(f"{lists:,} labels were lists of one and were read as its element")
    ways = {"text": tidy_text, "label": tidy_label}
    strings = {
        role: pd.Series(list(map(ways.get(role, tidy_cell), rows[role])), dtype=object)
        for role in rows.columns.intersection(["text", "label", "group", "split", "compare"])
    }
    strings["label"], label_notes, loud = plain_labels(strings["label"], columns.label_sep, columns.against_rest)
    rows = rows.assign(**strings)
    for role in rows.columns.intersection(["group", "split", "compare"]):
        plain = {cell: seen for cell in strings[role].dropna().unique() if (seen := visible(cell)) != cell}
        hidden = rows[role].isin(list(plain))
        if plain:
            notes.append(f"{hidden.sum():,} values of --{role} hold what is hardly seen, which was passed over")
        rows[role] = rows[role].mask(hidden, rows[role].map(plain))
    if "group" in rows and (alone := int((rows["group"] == "").sum())):
        notes.append(f"{alone:,} rows have no value in the column of --group: each of them stands alone")
    table = replace(table, rows=rows).add([*notes, *label_notes], loud)
    table = table.keep(table.rows["text"].notna(), "text is no text")
    texts, notes, loud = without_residues(table.rows["text"])
    table = replace(table, rows=table.rows.assign(text=texts)).add(notes, loud)
    for role, reason in (("text", "no text"), ("label", "no label"), ("split", "no value in the column of --split")):
        if role in rows:
            table = table.keep(table.rows[role] != "", reason)
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


def tidy_label(cell: object) -> str | None:
    """The same, but strings as they stand; of a list its element, or several that SEVERAL parts."""
    if not isinstance(cell, (list, tuple)):
        return cell.replace(SEVERAL, "") if isinstance(cell, str) else tidy_cell(cell)
    parts = list(map(tidy_cell, cell))
    return None if None in parts else SEVERAL.join(parts)


def tidy_text(cell: object) -> str | None:
    """A text as it stands, in Unicode's composed form; half a character becomes the one for what cannot be read."""
    return clean(cell) if isinstance(cell, str) else tidy_cell(cell)


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
    """Notes and loud lines on classes that may not be meant so."""
    counts = rows["label"].value_counts()
    usual = "which many programs write for a missing value: it is a class like any other. Delete these rows if nothing"
    lost = [label for label in sorted(counts.index) if label.casefold() in NOTHING]
    notes = [f"{counts[label]:,} rows have the label {label!r}, {usual} was meant" for label in lost]
    spellings: dict[str, list[str]] = {}
    for label in sorted(counts.index):
        alike = re.sub(r"^0+(?=\d)", "", label.translate(LOOK_ALIKE)).casefold()
        spellings.setdefault(alike, []).append(label)
    alike = next((several for several in spellings.values() if len(several) > 1), None)
    if alike is None:
        return notes, []
    named = " and ".join(map(repr, alike[:2]))
    return notes, [f"Classes are taken as they are spelt: {named} are two classes; rename one if they are the same"]


def frame(numbers: Iterable[int], cells: Iterable[Iterable], columns: Columns) -> pd.DataFrame:
    """The numbers of the rows and the cells of each column; strings stay Python's, which can be looked through fast."""
    by_role = {role: pd.Series(list(column), dtype=object) for role, column in zip(columns.asked, cells)}
    return pd.DataFrame({"row": np.fromiter(numbers, np.int64)} | by_role)


def read_delimited(source: Source, columns: Columns, progress: Callable) -> Table:
    """CSV and TSV with a header, by Python's csv.

    pandas does not do here: its fast engine fills up rows that have too few fields, counts rows for lines, reads
    ``"Great" film`` without its marks, and a mark that opens a cell and was not meant to swallows, without a word,
    all rows up to the next one.

    Raises
    ------
    Refused
        If more than TORN_ROWS of the rows have another number of fields than the header, in every dialect.
    """
    head = header_of(source, columns)
    plain = Dialect(head.names, "")

    def read(dialect: Dialect = plain, mend: bool = False):
        with unlimited_cells(), source.text() as file:
            lines = islice(progress(file), head.skipped, None)
            lines, stray = mended("".join(lines), head.delimiter, len(head.names)) if mend else (lines, [])
            lines = map(dialect.change, lines) if dialect.change else lines
            cells, torn, count = read_rows(lines, dialect.names, head.delimiter, head.columns, **dialect.options)
        return cells, [(line + head.skipped, n) for line, n in torn], count, [line + head.skipped for line in stray]

    result, notes = None, list(head.notes)
    with suppress(csv.Error):
        result = read()
    for dialect in dialects(head, failed=result is None) if is_torn(result) else ():
        with suppress(csv.Error):
            if not is_torn(other := read(dialect)):
                result = other
                notes.append(dialect.note)
                break
    cells, torn, lines, stray = result or read(mend=True)
    count = len(cells) + len(torn)
    if stray:
        notes.append(
            f"A quotation mark that encloses no whole cell was read as a character in {len(stray):,} rows (first in "
            f"line {stray[0]})"
        )
    if spread := lines - count:
        notes.append(f"Quoted cells were read over line breaks: {spread:,} lines continue the row before them")
    if len(torn) > TORN_ROWS * count:
        line, fields = torn[0]
        more = not cells and all(n == len(head.names) + 1 for _, n in torn)
        hint = "row names whose column has no name in the header, or " if more else ""
        raise Refused(
            f"{source.name}, line {line} has {fields} fields, the header {len(head.names)}, and so it is in "
            f"{len(torn):,} rows: {hint}a stray quote or delimiter?"
        )
    dropped = {f"not as many fields as the header (first in line {torn[0][0]})": len(torn)} if torn else {}
    return Table(frame(cells, zip(*cells.values()), columns), count, dropped, tuple(notes))


def is_torn(result: tuple | None) -> bool:
    """Whether rows could not be read, or too many of them have another number of fields than the header."""
    return result is None or len(result[1]) > TORN_ROWS * (len(result[0]) + len(result[1]))


class Dialect(NamedTuple):
    """A way to read CSV: the names of all fields, a note, options of csv.reader, what is done to each line."""

    names: list[str]
    note: str
    options: dict = {}
    change: Callable[[str], str] | None = None


def dialects(head: Header, failed: bool) -> Iterator[Dialect]:
    """The dialects in which the first lines of a file seem to be written; ``failed``: a quotation mark is misplaced."""
    names, text, d = head.names, "".join(head.lines), re.escape(head.delimiter)
    rows = [row for row in csv.reader(head.lines, delimiter=head.delimiter) if row][1:]
    rows = rows[:-1] if len(head.lines) == MOST_LINES else rows  # the last one may be cut
    more = {len(row) - len(names) for row in rows}
    if re.search(rf'{d} +"', text):
        note = "Blanks after delimiters were passed over, and quotation marks after them enclose cells"
        yield Dialect(names, note, {"skipinitialspace": True})
    if more == {1} and not any(row[-1].strip() for row in rows):
        yield Dialect([*names, ""], "Every row ends in a delimiter that the header lacks: it was passed over")
    elif more == {-1} and not names[-1].strip():
        yield Dialect(names[:-1], "The header ends in a delimiter that the rows lack: it was passed over")
    elif more == {1} and all(row[0].isdecimal() for row in rows):
        note = "Every row has one field more than the header: the first ones, whole numbers, were read as row names"
        first, quoted = int(rows[0][0]), re.findall(rf'(?m)^"\d+"{d}', text)
        if len(quoted) == len(rows) or (first < 2 and [int(row[0]) - first for row in rows] == list(range(len(rows)))):
            yield Dialect(["", *names], note)
    if failed or '\\"' in text:
        escaped = re.compile(r'(?<!\\)((?:\\\\)*)\\"')
        note = 'Quotation marks within cells are escaped by a backslash: \\" was read as "'
        yield Dialect(names, note, {}, lambda line: escaped.sub(r'\1""', line))


def read_rows(
    lines: Iterable[str], header: list[str], delimiter: str, columns: Columns, **options: object
) -> tuple[dict[int, tuple], list[tuple[int, int]], int]:
    """Row number → wanted cells, for each row after the header; line and number of fields of torn rows; the number of
    lines that are not blank.

    Raises
    ------
    csv.Error
        If a quoted cell is followed by anything but a delimiter, or is never closed.
    """
    first, *more = (header.index(name) for name in columns.asked.values())
    wanted = itemgetter(first, *more) if more else lambda fields: (fields[first],)
    width, cells, torn, row, blank = len(header), {}, [], 0, 0
    rows = csv.reader(lines, delimiter=delimiter, strict=True, **options)
    next(rows)
    begin = rows.line_num
    for fields in rows:
        row += bool(fields)
        if len(fields) == width:
            cells[row] = wanted(fields)
        elif fields:
            torn.append((rows.line_num, len(fields)))
        else:
            blank += 1
    return cells, torn, rows.line_num - begin - blank


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


def read_json(source: Source, columns: Columns, progress: Callable) -> Table:
    """JSON objects, one a line or in an array. A column that one of them lacks is a missing cell there.

    Not by pandas, which does not say in which line a file is broken and makes floats of whole numbers.
    """
    columns, notes = keys_of(source, columns)
    rows = [tuple(map(row.get, columns.asked.values())) for row in json_objects(source, progress)]
    return Table(frame(range(1, len(rows) + 1), zip(*rows), columns), len(rows), notes=tuple(notes))


def read_parquet(source: Source, columns: Columns, progress: Callable) -> Table:
    """The wanted columns of a Parquet file; nothing else of it is read."""
    with parquet_file(source) as file:
        columns, notes = resolved(source.name, columns, file.schema_arrow.names)
        names = columns.asked.values()
        columns_read = file.read(columns=list(dict.fromkeys(names)))
    cells = (columns_read[name].to_pylist() for name in names)
    return Table(frame(range(1, len(columns_read) + 1), cells, columns), len(columns_read), notes=tuple(notes))


def read_excel(source: Source, columns: Columns, progress: Callable) -> Table:
    """The first sheet of an Excel workbook, its columns named in its first row. Empty rows are passed over."""
    with excel_rows(source) as (rows, sheets):
        names = next(rows)
        columns, notes = resolved(source.name, columns, names)
        places = [names.index(name) for name in columns.asked.values()]
        filled = (row for row in progress(rows) if any(cell is not None for cell in row))
        cells = [tuple(row[place] if place < len(row) else None for place in places) for row in filled]
    if len(sheets) > 1:
        notes.append(f"The first sheet, {sheets[0]!r}, was read; there are {len(sheets) - 1:,} more")
    return Table(frame(range(1, len(cells) + 1), zip(*cells), columns), len(cells), notes=tuple(notes))


def sample(table: Table, most: int = MOST_ROWS, seed: int = 0) -> Table:
    """A random sample of very large tables."""
    if len(table.rows) <= most:
        return table
    chosen = np.zeros(len(table.rows), bool)
    chosen[np.random.default_rng(seed).choice(len(chosen), most, replace=False)] = True
    return table.keep(chosen, f"beyond {most:,} rows (chosen at random)")
