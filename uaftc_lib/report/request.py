"""What can be said of a reader's file by its name and its first lines: asked before anything heavy is imported."""

from __future__ import annotations

import csv
import difflib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from uaftc_lib.extras import needs

FORMATS = {"CSV": (".csv",), "TSV": (".tsv", ".tab"), "JSON lines": (".jsonl", ".ndjson"), "Parquet": (".parquet",)}
DELIMITERS = {".csv": ",;\t|", ".tsv": "\t", ".tab": "\t"}


class Refused(ValueError):
    """The file cannot be explained; the message says why and what to do."""


def check_request(path: Path, text: str, label: str, encoding: str = "utf-8") -> None:
    """Refuse a file that is not there, of an unknown kind or without these columns, and an unknown encoding."""
    try:
        "".encode(encoding)
    except LookupError:
        raise Refused(f"the encoding {encoding!r} is not known: give one of Python's, such as cp1252") from None
    if not path.is_file():
        raise Refused(f"{path} is {'a folder' if path.is_dir() else 'not there'}: give the path of a file")
    if text == label:
        raise Refused(f"--text and --label are both {text!r}: the text and its class are two columns")
    kind = next((kind for kind, endings in FORMATS.items() if path.suffix.lower() in endings), None)
    if kind is None:
        known = ", ".join(f"{name} ({', '.join(endings)})" for name, endings in FORMATS.items())
        raise Refused(f"{path.name}: files that end in {path.suffix!r} are not known; there are {known}")
    with in_words(path, encoding):
        if kind == "Parquet":
            with parquet_file(path) as file:
                check_columns(path, (text, label), file.schema_arrow.names)
        elif kind == "JSON lines":
            check_objects(path, text, label, encoding)
        else:
            header_of(path, text, label, encoding)


def check_folder(out: Path) -> None:
    """Refuse a place where no report could be written, before the work is done."""
    nearest = next(place for place in (out, *out.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise Refused(f"{nearest} is a file: --out names a folder")
    if not os.access(nearest, os.W_OK):
        raise Refused(f"nothing can be written into {nearest}: choose another folder for --out")


def check_columns(path: Path, wanted: Iterable[str], found: list[str]) -> None:
    """Refuse a table that lacks a wanted column, or has it twice."""
    for name in wanted:
        if found.count(name) > 1:
            raise Refused(f"{path.name} has {found.count(name)} columns called {name!r}: rename all but one")
        if name not in found:
            near = difflib.get_close_matches(name, found, 1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            known = ", ".join(map(repr, found[:30])) + (" ..." if len(found) > 30 else "")
            first = " (by its first line)" if path.suffix.lower() in DELIMITERS else ""
            raise Refused(f"{path.name} has no column {name!r}; its columns are{first} {known}.{meant}")


def header_of(path: Path, text: str, label: str, encoding: str) -> tuple[list[str], str]:
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
    delimiter = next((d for d, found in headers.items() if {text, label} <= set(found)), None)
    if delimiter is None:
        delimiter = max(headers, key=lambda d: len(headers[d]))
    check_columns(path, (text, label), headers[delimiter])
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


def check_objects(path: Path, text: str, label: str, encoding: str) -> None:
    """Refuse JSON lines none of which has a column; they are read until both have been seen, mostly in the first."""
    known = None
    for row in json_objects(path, encoding):
        known = (known or {}) | dict.fromkeys(row)
        if text in known and label in known:
            return
    if known is not None:
        check_columns(path, (text, label), list(known))


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
