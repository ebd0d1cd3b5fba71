"""Word vectors on the command line: from a file into a model, and the book's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from uaftc_lib import checks
from uaftc_lib.cli.options import FOLDER, PATH
from uaftc_lib.vectors.file_format import format_of

if TYPE_CHECKING:
    from uaftc_lib.vectors.word_vectors import WordVectors


def of_its_dimension(vectors: str | Path | None, given: dict) -> dict:
    """The options of a command whose model takes its dimension from a file of vectors, where one is given.

    Raises
    ------
    ValueError
        If that is no such file, or --dimension asks for another dimension.
    """
    if vectors is None:
        return given
    found = format_of(Path(vectors)).dimension
    typed = click.get_current_context().get_parameter_source("dimension") is not ParameterSource.DEFAULT
    if typed and given["dimension"] != found:
        raise ValueError(f"{vectors} has vectors of {found} numbers, --dimension says {given['dimension']}")
    return given | {"dimension": found}


def read_file(path: Path) -> WordVectors:
    """Word vectors, by what is imported only where they are asked for."""
    from uaftc_lib.vectors.word_vectors import read_vectors

    return read_vectors(path)


@click.command("vectors")
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option("--file", type=PATH, help="A file of word vectors; default: the book's own.")
@click.option("--count", default=10, help="Neighbours of each word.")
@click.option("--data-home", type=FOLDER, help="As of `uaftc data`.")
def word_vectors(words: tuple[str, ...], file: Path | None, count: int, data_home: Path | None) -> None:
    """Train the book's own word vectors, once, or say where they are; list the nearest neighbours of words.

    They come from those IMDB reviews that no split of the book holds.
    """
    checks.whole("count", count, 1)
    if file is None:
        from uaftc_lib.vectors.unused_reviews import own_vectors

        file = own_vectors(data_home)
    found = format_of(file)
    click.echo(f"{file}: vectors of {found.dimension} numbers")
    if not words:
        return
    read = read_file(file)
    for word in words:
        click.echo(f"{word:12} " + ", ".join(f"{other} {cosine:.2f}" for other, cosine in read.nearest(word, count)))
