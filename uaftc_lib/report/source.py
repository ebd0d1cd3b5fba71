"""Source: the bytes of a reader's file, of which kind they are, and how their text is encoded."""

from __future__ import annotations

import codecs
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TypeVar

FORMATS = {
    "CSV": (".csv", ".txt"),
    "TSV": (".tsv", ".tab"),
    "JSON lines": (".jsonl", ".ndjson"),
    "JSON": (".json",),
    "Parquet": (".parquet",),
    "Excel": (".xlsx", ".xlsm"),
}
BINARY = ("Parquet", "Excel")
PACKED = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}  # suffix -> module that unpacks
MARKS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "lzma"}  # first bytes -> the same
SIGNATURES = {  # first bytes -> what they open
    rb"PK\x03\x04": "an Excel workbook (.xlsx) or another zip archive",
    rb"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls): save it as .xlsx or CSV",
    rb"PAR1\x15": "Parquet (.parquet)",
    rb"\x1f\x8b|BZh91AY|\xfd7zXZ|\x28\xb5\x2f\xfd": "a packed file (.gz, .bz2, .xz, .zst)",
    rb"%PDF-|\{\\rtf|SQLite format 3": "what another program keeps (PDF, RTF or SQLite): save the table as CSV",
    rb"(?i:\s*<(?:!doctype|html|table|\?xml))": "a web page or XML: save the table as CSV",
}
DAMAGED = 0.001  # share of the bytes that may be no UTF-8 in a file that otherwise is
Result = TypeVar("Result")


class Refused(ValueError):
    """The file cannot be explained; the message says why and what to do."""


@dataclass(frozen=True)
class Source:
    """A file to be read.

    Attributes
    ----------
    path : Path
    name : str
        For messages.
    kind : str
        One of FORMATS.
    encoding : str
    held : bytes, optional
        All of a pipe, which can be read only once.
    errors : str
        What is done with bytes that cannot be decoded: "strict" or "replace".
    notes : tuple of str
    """

    path: Path
    name: str
    kind: str
    encoding: str
    held: bytes | None = None
    errors: str = "strict"
    notes: tuple[str, ...] = ()

    def binary(self) -> io.BufferedIOBase:
        """Its bytes, unpacked."""
        if self.held is not None:
            return io.BytesIO(self.held)
        module = PACKED.get(self.path.suffix.lower())
        return import_module(module).open(self.path) if module else self.path.open("rb")

    def text(self, newline: str | None = "") -> io.TextIOWrapper:
        """Its text; UTF-8 may begin with a byte order mark, as spreadsheets write it."""
        encoding = "utf-8-sig" if is_utf8(self.encoding) else self.encoding
        return io.TextIOWrapper(self.binary(), encoding, self.errors, newline)

    def head(self) -> bytes:
        """Its first bytes."""
        with self.binary() as file:
            return file.read(2**14)


def known_kinds() -> str:
    """The kinds of files that can be read, and how their names end."""
    known = ", ".join(f"{name} ({', '.join(endings)})" for name, endings in FORMATS.items())
    return f"{known}, also packed ({', '.join(PACKED)})"


def is_utf8(encoding: str) -> bool:
    """Whether this is a name of UTF-8."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def is_pipe(path: Path) -> bool:
    """Whether a path is "-" (standard input) or a pipe, which can be read only once."""
    if re.fullmatch(r"-|/dev/(stdin|fd/\d+)|/proc/\w+/fd/\d+", str(path)):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def name_of(path: Path) -> str:
    """What a file is called in messages and reports."""
    return "standard input" if is_pipe(path) else path.name


def source_of(path: Path, encoding: str = "utf-8") -> Source:
    """The file at a path; a pipe is read.

    Raises
    ------
    Refused
        If it is not there, of an unknown kind or of another one than its name says, or if the encoding is not known
        or another one than UTF-8, which the bytes are.
    """
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise Refused(f"the encoding {encoding!r} is not known: give one of Python's, such as cp1252") from None
    if is_pipe(path):
        source = Source(path, name_of(path), "", encoding)
        with in_words(source):
            held = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
            packed = next((name for mark, name in MARKS.items() if held.startswith(mark)), "")
            held = import_module(packed).decompress(held) if packed else held
        source = replace(source, kind=kind_of(held[: 2**14], encoding), held=held)
    elif not path.is_file():
        raise Refused(f"{path} is {'a folder' if path.is_dir() else 'not there'}: give the path of a file")
    else:
        packed = path.suffix.lower() in PACKED
        suffix = Path(path.stem).suffix if packed else path.suffix
        kind = next((kind for kind, endings in FORMATS.items() if suffix.lower() in endings), "")
        source = Source(path, path.name, kind, encoding)
    with in_words(source):
        check_kind(source)
        if source.kind not in BINARY and not is_utf8(encoding):
            check_encoding(source)
    return source


def kind_of(head: bytes, encoding: str = "utf-8") -> str:
    """The kind that the first bytes show: Parquet, Excel, JSON (which may be JSON lines), or else CSV."""
    if head.startswith((b"PK\x03\x04", b"PAR1\x15")):
        return "Excel" if head.startswith(b"PK") else "Parquet"
    text = head.decode(encoding, "ignore").lstrip("\ufeff \t\r\n")
    return "JSON" if re.match(r"\[\s*[{\[\]]|\{\s*[\"}]", text) else "CSV"


def check_kind(source: Source) -> None:
    """Refuse an unknown kind, and a file of text whose first bytes are those of something else."""
    head = source.head() if source.kind not in BINARY else b""
    what = next((what for mark, what in SIGNATURES.items() if re.match(mark, head.removeprefix(codecs.BOM_UTF8))), "")
    if not source.kind:
        known = known_kinds() + (f". This one holds {what}" if what else "")
        raise Refused(f"{source.name}: files that end in {source.path.suffix!r} are not known; there are {known}")
    if what:
        raise Refused(f"{source.name} holds no {source.kind} but, by its first bytes, {what}")
    if source.kind in ("CSV", "TSV") and (kind := kind_of(head, source.encoding)) != "CSV":
        raise Refused(f"{source.name} holds no {source.kind} but {kind}: let its name end in {FORMATS[kind][0]}")


def check_encoding(source: Source) -> None:
    """Refuse another encoding than UTF-8 where the bytes are UTF-8 with letters beyond ASCII."""
    with source.binary() as file, suppress(UnicodeDecodeError):
        text = file.read().decode("utf-8")
        if not text.isascii() and "\0" not in text:
            letter = re.search(r"[^\0-\x7f]", text)[0]
            advice = f"the file is UTF-8, with letters such as {letter!r}: leave --encoding out"
            raise Refused(f"{source.name} is not encoded in {source.encoding}: {advice}")


@contextmanager
def in_words(source: Source) -> Iterator[None]:
    """A file that cannot be opened or unpacked is refused."""
    try:
        yield
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise Refused(f"{source.name} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def decoded(source: Source, read: Callable[[Source], Result]) -> Result:
    """What ``read`` returns of a file, by :func:`mended_source` where some of its bytes cannot be decoded."""
    with in_words(source):
        try:
            return read(source)
        except UnicodeError as error:
            return read(mended_source(source, error))


def mended_source(source: Source, error: UnicodeError) -> Source:
    """The same file with U+FFFD for the bytes that cannot be decoded, if it is UTF-8 but for a few of them.

    They are few if they are at most DAMAGED of all bytes. It is UTF-8 if more sequences of bytes are valid, or if it
    is not cp1252 either.

    Raises
    ------
    Refused
        Otherwise; an encoding is advised only where its letters would be plausible.
    """
    with source.binary() as file:
        data = file.read()
    where = f"byte 0x{error.object[error.start]:02x} cannot be read" if hasattr(error, "start") else str(error)
    where, first = f"{source.name} is not encoded in {source.encoding}: {where}", first_damage(data)
    if not is_utf8(source.encoding):
        utf8 = "the file is UTF-8: leave --encoding out"
        raise Refused(f"{where}; {utf8 if first == len(data) else 'which program wrote it? Save it as UTF-8'}")
    guess = "utf-32" if data[2:4] == b"\0\0" else "utf-16"
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text, line = data.decode("utf-8", "replace"), len(re.findall(rb"\r\n?|\n", data[:first])) + 1
        damaged = text.count("\ufffd") - data.count("\ufffd".encode())
        valid = len(text) - len(text.encode("ascii", "ignore")) - text.count("\ufffd")
        western = is_western(data)
        if damaged <= DAMAGED * len(data) and (valid > damaged or not western):
            byte = f"0x{data[first]:02x} in line {line}"
            note = f"Bytes that are not UTF-8 were read as \ufffd in {damaged:,} places; the first is {byte}"
            return replace(source, errors="replace", notes=(note,))
        where += f" (line {line})"
        if valid > damaged or (western and 10 * valid >= damaged):
            spoilt = f"{valid:,} other letters are valid UTF-8, which another encoding would spoil"
            raise Refused(f"{where}. {spoilt}: repair or delete the {damaged:,} places that are not")
        if western:
            begin = max(data.rfind(b"\n", 0, first) + 1, first - 20)
            sample = data[begin : first + 20].decode("cp1252", "replace").splitlines()[0]
            raise Refused(f"{where}. If {sample!r} is right, give --encoding cp1252; else save it as UTF-8")
        guess = "NAME (such as cp1250, cp1251, mac_roman, shift_jis, gb18030)"
    raise Refused(f"{where}. If it comes from a spreadsheet, try --encoding {guess}, or save it as UTF-8")


def first_damage(data: bytes) -> int:
    """Where the first byte stands that is no UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return len(data)


def is_western(data: bytes) -> bool:
    """Whether bytes could be cp1252: those beyond ASCII mostly stand alone, and mostly are letters or quotes there; and
    between letters no quotes but apostrophes."""
    high, runs = len(re.findall(rb"[\x80-\xff]", data)), sum(map(len, re.findall(rb"[\x80-\xff]{3,}", data)))
    usual = re.findall(rb"[\x80\x85\x91-\x97\x99\x9c\xa0\xa3\xa7\xa9\xab\xae\xb0\xb4\xb7\xbb\xbf-\xff]", data)
    within = re.findall(rb"(?i)(?<=[a-z])[\x80-\x8b\x91\x93-\x9b](?=[a-z])", data)
    return runs <= 0.3 * high and len(usual) >= 0.8 * high and len(within) <= 0.1 * high
