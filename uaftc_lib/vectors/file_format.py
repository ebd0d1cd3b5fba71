"""What a file of word vectors says of itself: asked before anything heavy is imported."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

LONGEST = 1_000_000  # bytes of a line that can be one of a word and its vector
KINDS = "a file in word2vec's format (text or binary) or in that of GloVe (text), as it is or as .gz"


@dataclass(frozen=True)
class FileFormat:
    """How a file is written.

    header: whether it begins with the count of its words and their dimension, as word2vec's do and GloVe's do not;
    binary: whether numbers are 4 bytes each; words: as its header counts them, else 0; dimension: numbers of a vector.
    """

    header: bool
    binary: bool
    words: int
    dimension: int


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where its name ends in .gz; ValueError in words where it cannot be unpacked."""
    if not path.is_file():
        raise ValueError(f"{path} is {'a folder' if path.is_dir() else 'not there'}: give the path of a file")
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{path} cannot be unpacked ({error}): it is cut short, or no .gz file") from None


def is_numeral(text: str | bytes) -> bool:
    """Whether a number is written here."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def format_of(path: Path) -> FileFormat:
    """How a file is written, from its first two lines.

    Raises
    ------
    ValueError
        If it is not there, is empty, or does not begin as vectors do; the message names it.
    """
    with opened(path) as file:
        first, second = file.readline(LONGEST), file.readline(LONGEST)
    fields = first.rstrip().split(b" ")
    if not first.strip():
        raise ValueError(f"{path}{', line 1,' if first else ''} is empty: no vectors are in it")
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        words, dimension = map(int, fields)
        if not (words and dimension and second):
            raise ValueError(f"{path} holds no vectors: it begins with {first.decode().strip()!r}, and ends there")
        numbers = second.rstrip().split(b" ")[1:]
        return FileFormat(True, not (numbers and all(map(is_numeral, numbers))), words, dimension)
    if len(fields) < 3 or is_numeral(first.replace(b" ", b"")) or not all(map(is_numeral, fields[1:])):
        shown = first[:40].decode("ascii", "backslashreplace").strip()
        raise ValueError(f"{path} holds no word vectors: line 1 is {shown!r}, expected {KINDS}")
    return FileFormat(False, False, 0, len(fields) - 1)


def count_vectors(path: Path, found: FileFormat, encoding: str) -> int:
    """The lines of a file in text, each of which has been looked at.

    Raises
    ------
    ValueError
        At the first line that is no word with as many numbers as the file promises, and where the header counts other
        than there are; file and line are named.
    """
    words = 0
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if number == 1 and found.header:
                continue
            words += 1
            check_line(f"{path}, line {number}", line.rstrip(), found.dimension, encoding)
    if found.header and words != found.words:
        raise ValueError(
            f"{path}: its header counts {found.words:,} words, but there are {words:,}: it is cut or mixed"
        )
    return words


def check_line(where: str, line: bytes, dimension: int, encoding: str) -> None:
    """ValueError unless a line is a word and so many numbers."""
    word, *numbers = line.split(b" ")
    try:
        word.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where} is not encoded in {encoding} ({error.reason}): convert it, or give read_vectors its encoding"
        ) from None
    except LookupError:
        raise ValueError(f"the encoding {encoding!r} is not known: give one of Python's, such as cp1252") from None
    if len(numbers) != dimension:
        raise ValueError(f"{where} has {len(numbers)} numbers after the first space, the others have {dimension}")
    if wrong := next((text for text in numbers if not is_numeral(text)), None):
        raise ValueError(f"{where}: {wrong[:40].decode('ascii', 'backslashreplace')!r} is no number")
