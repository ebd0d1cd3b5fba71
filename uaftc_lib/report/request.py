"""What can be said of a reader's file by its name and its first lines: asked before anything heavy is imported."""

from __future__ import annotations

import csv
import difflib
import json
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from uaftc_lib.extras import needs
from uaftc_lib.report.source import Refused, Source, decoded, is_pipe, known_kinds, source_of
from uaftc_lib.report.words import LOOK_ALIKE, visible

MOST_ROWS, FEWEST_ROWS, FEWEST_OF_CLASS, MOST_CLASSES = 1_000_000, 100, 5, 50
FILES = ("words.csv", "predictions.csv", "report.json", "report.html")  # of a report
SAVED = ("model.safetensors", "model.json")  # of a saved model
DELIMITERS = {"CSV": ",;\t|", "TSV": "\t"}
MOST_LINES = 200  # of one row, where quotation marks are stray; and that are looked at for header and dialect


@dataclass(frozen=True)
class Columns:
    """Which columns of a file hold what: texts and their classes; and, if asked for, what lies in one group (a writer,
    a thread), the split that is given, the time, and what is compared. And how labels become classes: what parts
    several labels in one cell, and the label that is one class against all others."""

    text: str
    label: str | None
    group: str | None = None
    split: str | None = None
    time: str | None = None
    compare: str | None = None
    label_sep: str | None = None
    against_rest: str | None = None

    @property
    def asked(self) -> dict[str, str]:
        """Role → column, of the columns that are asked for."""
        roles = ("text", "label", "group", "split", "time", "compare")
        return {role: getattr(self, role) for role in roles if getattr(self, role) is not None}


def limits() -> str:
    """What a file must be."""
    return (
        f"FILE is one of {known_kinds()}, or - for standard input. It needs at least {FEWEST_ROWS} rows and 2 to "
        f"{MOST_CLASSES} classes of {FEWEST_OF_CLASS} texts or more (smaller ones are left out). Of more than "
        f"{MOST_ROWS:,} rows, that many are drawn at random."
    )


def check_request(path: Path, columns: Columns, encoding: str = "utf-8") -> None:
    """Refuse a file that is not there, of an unknown kind or without these columns, and an unknown encoding. A pipe
    is left alone, since it can be read only once."""
    source = None if is_pipe(path) else source_of(path, encoding)
    check_roles(columns)
    if source:
        decoded(source, lambda source: look(source, columns))


def look(source: Source, columns: Columns) -> object:
    """What a reader needs to know of a file before it reads the rows.

    Raises
    ------
    Refused
        If a column is not there.
    """
    if source.kind == "Parquet":
        with parquet_file(source) as file:
            return resolved(source.name, columns, file.schema_arrow.names)
    if source.kind == "Excel":
        with excel_rows(source) as (rows, _):
            return resolved(source.name, columns, next(rows, []))
    return (header_of if source.kind in DELIMITERS else keys_of)(source, columns)


def check_roles(columns: Columns) -> None:
    """Refuse columns that cannot be asked for together."""
    if columns.text == columns.label:
        raise Refused(f"--text and --label are both {columns.text!r}: the text and its class are two columns")
    for role, name in columns.asked.items():
        other = next((other for other in ("text", "label") if getattr(columns, other) == name), role)
        if other != role:
            raise Refused(f"--{role} and --{other} are both {name!r}: give another column, or leave --{role} out")
    if columns.split is not None and columns.time is not None:
        raise Refused("--split and --time both say which texts are tested: give one of them")
    if columns.label_sep == "":
        raise Refused("--label-sep is empty: give the character that parts labels, such as '|'")


def check_folder(out: Path, option: str = "--out", names: tuple[str, ...] = FILES) -> None:
    """Refuse a place where no report, or no model, could be written, before the work is done."""
    nearest = next(place for place in (out, *out.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise Refused(f"{nearest} is a file: {option} names a folder")
    if not os.access(nearest, os.W_OK):
        raise Refused(f"nothing can be written into {nearest}: choose another folder for {option}")
    for path in (out / name for name in names):
        if path.is_dir():
            raise Refused(f"{path} is a folder, and a file is to stand there: move it, or choose another {option}")


def plain_name(name: str) -> str:
    """The name of a column without what is hardly seen, and letters that look Latin as Latin ones."""
    return visible(name).translate(LOOK_ALIKE)


def resolved(file: str, columns: Columns, names: list[str], first: str = "") -> tuple[Columns, list[str]]:
    """The columns by the names that stand in the file, and notes on those that are not spelt as asked for. See
    :func:`plain_name`.

    Raises
    ------
    Refused
        If a table lacks a wanted column, or has it twice.
    """
    spelt, notes = {}, []
    for role, name in columns.asked.items():
        if names.count(name) > 1:
            raise Refused(f"{file} has {names.count(name)} columns called {name!r}: rename all but one")
        alike = [name] if name in names else [other for other in names if plain_name(other) == plain_name(name)]
        if len(alike) != 1:
            folded = {other.casefold(): other for other in names}
            near = difflib.get_close_matches(name.casefold(), folded, 1)
            meant = f" Did you mean {folded[near[0]]!r}?" if near else ""
            known = ", ".join(map(repr, names[:30])) + (" ..." if len(names) > 30 else "")
            raise Refused(f"{file} has no column {name!r}; its columns are{first} {known}.{meant}")
        spelt[role] = alike[0]
        if alike[0] != name:
            notes.append(f"The column {name!r} is spelt {alike[0]!a} in the file")
    columns = replace(columns, **spelt)
    check_roles(columns)
    return columns, notes


@dataclass(frozen=True)
class Header:
    """The first record of CSV or TSV: the names of its columns and their delimiter; the wanted columns as they are
    spelt there; the number of lines before it; the first lines after these; and notes."""

    names: list[str]
    delimiter: str
    columns: Columns
    skipped: int
    lines: list[str]
    notes: list[str]


def header_of(source: Source, columns: Columns) -> Header:
    """The header of CSV or TSV, delimited by comma, semicolon, tab or bar, or by what a first line ``sep=`` names."""
    with source.text() as file:
        lines = list(islice(file, MOST_LINES))
    if lines and "\0" in lines[0]:
        head = source.head()  # of two bytes a character the higher one is mostly zero
        wide = "utf-16-be" if head[::2].count(0) > head[1::2].count(0) else "utf-16-le"
        raise Refused(f"{source.name} holds zero bytes: it is no text, or is encoded in {wide} (--encoding)")
    named = re.fullmatch(r'"?sep=(.)"?[,;\t]*\s*', lines[0], re.IGNORECASE) if lines else None
    lines = lines[bool(named) :]
    if not lines:
        raise Refused(f"{source.name} is empty")
    if not lines[0].strip():
        raise Refused(f"{source.name} begins with a blank line: its first line must name the columns")
    wanted = set(map(plain_name, columns.asked.values()))
    records = {d: first_record(lines, d) for d in (named[1] if named else DELIMITERS[source.kind])}
    held = {d: len(wanted.intersection(map(plain_name, names))) for d, names in records.items()}
    delimiter = max(records, key=lambda d: (held[d], len(records[d])))
    names = records[delimiter]
    columns, notes = resolved(source.name, columns, names, " (by its first line)")
    return Header(names, delimiter, columns, int(bool(named)), lines, notes)


def first_record(lines: list[str], delimiter: str) -> list[str]:
    """The fields of the first record; where its quotation marks are stray, of the first line."""
    try:
        return next(csv.reader(lines, delimiter=delimiter, strict=True), [])
    except csv.Error:
        return next(csv.reader(lines[:1], delimiter=delimiter), [])


def json_objects(source: Source, progress: Callable = iter) -> Iterator[dict]:
    """The objects of JSON lines (blank lines are skipped), or of one JSON document."""
    if source.kind == "JSON":
        try:
            with source.text() as file:
                whole = json.load(file)
            yield from progress(records_of(source.name, whole))
            return
        except (json.JSONDecodeError, RecursionError) as error:
            where, why = f", line {getattr(error, 'lineno', 1)}", getattr(error, "msg", error)
            if why != "Extra data":  # as where a line is an object, and lines follow
                raise Refused(f"{source.name}{where} cannot be read as JSON: {why}") from None
    with source.text(None) as file:
        for number, line in enumerate(progress(file), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                why = getattr(error, "msg", error)
                raise Refused(f"{source.name}, line {number} cannot be read as JSON: {why}") from None
            if not isinstance(row, dict):
                hint = ": if the file is one JSON array, let its name end in .json" if isinstance(row, list) else ""
                raise Refused(f"{source.name}, line {number} is no JSON object but {type(row).__name__}{hint}")
            yield row


def records_of(file: str, whole: object) -> list[dict]:
    """The records of a JSON document: a list of objects, alone or as the only list in an object."""
    lists = [value for value in whole.values() if isinstance(value, list)] if isinstance(whole, dict) else []
    whole = lists[0] if len(lists) == 1 else whole
    if not isinstance(whole, list) or not all(isinstance(row, dict) for row in whole):
        raise Refused(f"{file} holds no list of JSON objects, one for each text: write it as one, or as JSON lines")
    return whole


def keys_of(source: Source, columns: Columns) -> tuple[Columns, list[str]]:
    """The columns by the keys of JSON objects, which are read until all have been seen, mostly in the first."""
    known: dict[str, None] = {}
    for row in json_objects(source):
        known |= dict.fromkeys(row)
        if known.keys() >= set(columns.asked.values()):
            break
    return resolved(source.name, columns, list(known)) if known else (columns, [])


@contextmanager
def parquet_file(source: Source) -> Iterator:
    """A Parquet file as pyarrow opens it."""
    with needs("reading Parquet", "pyarrow", Refused):
        from pyarrow import ArrowException, BufferReader, parquet  # large
    try:
        with source.binary() as file:
            plain = source.held is None and source.path.suffix.lower() == ".parquet"
            yield parquet.ParquetFile(source.path if plain else BufferReader(file.read()))
    except ArrowException as error:
        raise Refused(f"{source.name} is no readable Parquet file: {str(error).splitlines()[0]}") from None


@contextmanager
def excel_rows(source: Source) -> Iterator[tuple[Iterator[list], list[str]]]:
    """The rows of the first sheet of an Excel workbook, its first one as strings; and the names of all sheets."""
    with needs("reading Excel", "openpyxl", Refused):
        import openpyxl
    try:
        with source.binary() as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what openpyxl leaves out: styles, extensions
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # which some programs write wrongly
            rows = sheet.iter_rows(values_only=True)
            header = ["" if cell is None else str(cell) for cell in next(rows, ())]
            yield chain([header], rows), book.sheetnames
            book.close()
    except (zipfile.BadZipFile, KeyError, IndexError, AttributeError) as error:
        raise Refused(f"{source.name} is no readable Excel workbook: {error}") from None
