"""The data sets of the book. A new one joins with one file in this folder."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable

import uaftc_lib
from uaftc_lib.checks import one_of
from uaftc_lib.locations import data_home as find_data_home
from uaftc_lib.settings import registered_names

LOADERS: dict[str, Callable] = {}


def register(name: str) -> Callable:
    """Decorator: makes ``loader(data_home, **options) -> Dataset`` known as ``load_dataset(name)``."""

    def remember(loader: Callable) -> Callable:
        LOADERS[name] = loader
        return loader

    return remember


def dataset_names() -> list[str]:
    """The names that :func:`load_dataset` knows, read from the source of this folder's files: nothing is imported.

    Raises
    ------
    ValueError
        If a file of this folder is no Python; the message names it.
    """
    return sorted(registered_names(__path__, "register").keys() | LOADERS.keys())


def loader_of(name: str) -> Callable:
    """The loader of a data set. Of this folder's files, only the one in which the name stands is imported.

    Raises
    ------
    ValueError
        If there is no such data set (the message lists those there are), or if its file is broken.
    """
    if name not in LOADERS:
        files = registered_names(__path__, "register")
        file = files[one_of("data set", name, sorted(files.keys() | LOADERS.keys()))]
        try:
            importlib.import_module(f"{__name__}.{file.stem}")
        except Exception as error:
            raise ValueError(
                f"{file} cannot be imported ({type(error).__name__}: {error}): mend it or move it away"
            ) from error
    return LOADERS[name]


def dataset_options(name: str) -> dict[str, object]:
    """The options of a data set and their defaults.

    Raises
    ------
    ValueError
        If there is no such data set; the message lists those there are.
    """
    parameters = inspect.signature(loader_of(name)).parameters.values()
    return {each.name: each.default for each in parameters if each.name != "data_home"}


def load_dataset(name: str, data_home: str | os.PathLike | None = None, **options) -> uaftc_lib.Dataset:
    """Load a data set, downloading its archive into the data home if it is not there.

    Parameters
    ----------
    name : str
        "synthetic-1", "synthetic-2", "sst", ... (:func:`dataset_names`).
    data_home : path, optional
        Default: $UAFTC_DATA, else the platform's cache folder.
    **options
        Of the data set, for example ``seed``, ``noise`` and ``class_sizes`` of the synthetic ones.

    Raises
    ------
    ValueError
        If there is no such data set or option, or if its archive is not the one that was meant.
    DataUnavailable
        If its archive is neither there nor can be downloaded, or spaCy is missing to prepare it; an OSError.
    """
    known = dataset_options(name)
    unknown = [option for option in options if option not in known]
    if unknown:
        raise ValueError(f"data set {name} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    return loader_of(name)(data_home=find_data_home(data_home), **options)
