"""Where data and results live."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

import platformdirs


def data_home(path: str | os.PathLike | None = None) -> Path:
    """The folder for downloaded corpora: the argument, else $UAFTC_DATA, else the platform's cache folder."""
    chosen = path or os.environ.get("UAFTC_DATA") or platformdirs.user_cache_dir("uaftc")
    return Path(chosen).expanduser()


def results_folder(path: str | os.PathLike | None = None, existing: bool = False) -> Path:
    """The folder of measured results: the argument, else $UAFTC_RESULTS, else book/results of the checkout.

    Raises
    ------
    FileNotFoundError
        If no folder was named and the library was not installed from a checkout of the book.
    NotADirectoryError
        If it shall be ``existing``, to be read, and is not there.
    """
    chosen = path or os.environ.get("UAFTC_RESULTS")
    if chosen:
        folder = Path(chosen).expanduser()
        if existing and not folder.is_dir():
            raise NotADirectoryError(f"the results folder {folder} is not there")
        return folder
    checkout = Path(__file__).resolve().parents[1]
    if not (checkout / "_toc.yml").exists():
        raise FileNotFoundError(
            "the library runs outside a checkout of the book: name a results folder, or set UAFTC_RESULTS"
        )
    return checkout / "book" / "results"


PAPER_NAMES = {"sst": "SST", "imdb": "IMDB", "20news-1": "20News I", "20news-2": "20News II"}


def published(table: str) -> pandas.DataFrame:
    """A table of values published by Sun & Lu (2020), for example ``published("table2")``.

    Raises
    ------
    ValueError
        If there is no such table; the message lists those there are.
    """
    import pandas  # whoever asks for a folder need not wait for it

    folder = resources.files("uaftc_lib") / "published"
    tables = sorted(file.name[:-4] for file in folder.iterdir() if file.name.endswith(".csv"))
    if table not in tables:
        raise ValueError(f"no published table {table!r}; there are {', '.join(tables)}")
    with (folder / f"{table}.csv").open(encoding="utf-8") as file:
        return pandas.read_csv(file)
