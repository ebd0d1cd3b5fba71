"""What can be said of a reader's file by its name and its first lines: asked before anything heavy is imported."""

from __future__ import annotations

import csv
import difflib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from uaftc_lib.extras import needs

FORMATS = {"CSV": (".csv",), "TSV": (".tsv", ".tab"), "JSON lines": (".jsonl", ".ndjson"), "Parquet": (".parquet",)}
MOST_ROWS, FEWEST_ROWS, FEWEST_OF_CLASS, MOST_CLASSES = 1_000_000, 100, 5, 50
FILES = ("words.csv", "report.json", "report.html")  # of a report
DELIMITERS = {".csv": ",;\t|", ".tsv": "\t", ".tab": "\t"}


class Refused(ValueError):
    """The file cannot be explained; the message says why and what to do."""


@dataclass(frozen=True)
class Columns:
    """Which columns of a file hold what: texts and their classes; and, if asked for, what lies in one group (a writer,
    a thread), the split that is given, and the time."""

    text: str
    label: str
    group: str | None = None
    split: str | None = None
    time: str | None = None

    @property
    def asked(self) -> dict[str, str]:
        """Role → column, of the columns that are asked for."""
        return {role: name for role, name in vars(self).items() if name is not None}


def known_kinds() -> str:
    """The kinds of files that can be read, and how their names end."""
    return ", ".join(f"{name} ({', '.join(endings)})" for name, endings in FORMATS.items())


def limits() -> str:
    """What a file must be."""
    return (
        f"FILE is one of {known_kinds()}. It needs at least {FEWEST_ROWS} rows and 2 to {MOST_CLASSES} classes of "
        f"{FEWEST_OF_CLASS} texts or more (smaller ones are left out). Of more than {MOST_ROWS:,} rows, that many are "
        "drawn at random."
    )


def check_request(path: Path, columns: Columns, encoding: str = "utf-8") -> None:
    """Refuse a file that is not there, of an unknown kind or without these columns, and an unknown encoding."""
    try:
        "".encode(encoding)
    except LookupError:
        raise Refused(f"the encoding {encoding!r} is not known: give one of Python's, such as cp1252") from None
    if not path.is_file():
        raise Refused(f"{path} is {'a folder' if path.is_dir() else 'not there'}: give the path of a file")
    check_roles(columns)
    kind = next((kind for kind, endings in FORMATS.items() if path.suffix.lower() in endings), None)
    if kind is None:
        raise Refused(f"{path.name}: files that end in {path.suffix!r} are not known; there are {known_kinds()}")
    with in_words(path, encoding):
        if kind == "Parquet":
            with parquet_file(path) as file:
                check_columns(path, columns, file.schema_arrow.names)
        elif kind == "JSON lines":
            check_objects(path, columns, encoding)
        else:
            header_of(path, columns, encoding)


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


def check_folder(out: Path) -> None:
    """Refuse a place where no report could be written, before the work is done."""
    nearest = next(place for place in (out, *out.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise Refused(f"{nearest} is a file: --out names a folder")
    if not os.access(nearest, os.W_OK):
        raise Refused(f"nothing can be written into {nearest}: choose another folder for --out")
    for path in (out / name for name in FILES):
        if path.is_dir():
            raise Refused(f"{path} is a folder, and a file is to stand there: move it, or choose another --out")


def check_columns(path: Path, columns: Columns, names: list[str]) -> None:
    """Refuse a table that lacks a wanted column, or has it twice."""
    for name in columns.asked.values():
        if names.count(name) > 1:
            raise Refused(f"{path.name} has {names.count(name)} columns called {name!r}: rename all but one")
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            known = ", ".join(map(repr, names[:30])) + (" ..." if len(names) > 30 else "")
            first = " (by its first line)" if path.suffix.lower() in DELIMITERS else ""
            raise Refused(f"{path.name} has no column {name!r}; its columns are{first} {known}.{meant}")


def header_of(path: Path, columns: Columns, encoding: str) -> tuple[list[str], str]:
    """The columns of CSV or TSV and their delimiter: comma, semicolon, tab or bar, recognised by the first line."""
    with path.open(encoding=with_mark(encoding), newline="") as file:
        first = file.readline()
    if not first:
        raise Refused(f"{path.name} is empty")
    if not first.strip():
        raise Refused(f"{path.name} begins with a blank line: its first line must name the columns")
    if "\0" in first:
        raise Refused(f"{path.name} holds zero bytes: it is no text, or is encoded in utf-16 (--encoding)")
    headers = {d: next(csv.reader([first], delimiter=d), []) for d in DELIMITERS[path.suffix.lower()]}
    wanted = set(columns.asked.values())
    delimiter = max(headers, key=lambda d: (len(wanted & set(headers[d])), len(headers[d])))
    check_columns(path, columns, headers[delimiter])
    return headers[delimiter], delimiter


def json_objects(path: Path, encoding: str, progress: Callable = iter) -> Iterator[dict]:
    """The objects of JSON lines; blank lines are skipped."""
    with path.open(encoding=with_mark(encoding)) as file:
        for number, line in enumerate(progress(file), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                why = getattr(error, "msg", error)
                raise Refused(f"{path.name}, line {number} cannot be read as JSON: {why}") from None
            if not isinstance(row, dict):
                raise Refused(f"{path.name}, line {number} is no JSON object but {type(row).__name__}")
            yield row


def check_objects(path: Path, columns: Columns, encoding: str) -> None:
    """Refuse JSON lines none of which has a column; they are read until all have been seen, mostly in the first."""
    known = None
    for row in json_objects(path, encoding):
        known = (known or {}) | dict.fromkeys(row)
        if known.keys() >= set(columns.asked.values()):
            return
    if known is not None:
        check_columns(path, columns, list(known))


@contextmanager
def parquet_file(path: Path) -> Iterator:
    """A Parquet file as pyarrow opens it."""
    with needs("reading Parquet", "pyarrow", Refused):
        from pyarrow import ArrowException, parquet  # large
    try:
        yield parquet.ParquetFile(path)
    except ArrowException as error:
        raise Refused(f"{path.name} is no readable Parquet file: {str(error).splitlines()[0]}") from None


def with_mark(encoding: str) -> str:
    """utf-8 may begin with a byte order mark, as spreadsheets write it."""
    return "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding


@contextmanager
def in_words(path: Path, encoding: str) -> Iterator[None]:
    """A file that cannot be opened or decoded is refused."""
    try:
        yield
    except UnicodeError as error:
        raise Refused(wrong_encoding(path, encoding, error)) from None
    except OSError as error:
        raise Refused(f"{path.name} cannot be read: {error.strerror or error}") from None


def wrong_encoding(path: Path, encoding: str, error: UnicodeError) -> str:
    """What is wrong with the bytes, and which encoding to try."""
    with path.open("rb") as file:
        guess = "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else "cp1252"
    byte = f"byte 0x{error.object[error.start]:02x} cannot be read" if isinstance(error, UnicodeDecodeError) else error
    return (
        f"{path.name} is not encoded in {encoding}: {byte}. If it comes from a spreadsheet, try --encoding {guess}, or "
        "save it as UTF-8"
    )
