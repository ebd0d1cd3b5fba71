"""The data sets of the book. A new one joins with one file in this folder."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable

from uaftc_lib.corpus import Dataset
from uaftc_lib.locations import data_home as find_data_home

LOADERS: dict[str, Callable[..., Dataset]] = {}


def register(name: str) -> Callable:
    """Decorator: makes ``loader(data_home, **options) -> Dataset`` known as ``load_dataset(name)``."""

    def remember(loader: Callable[..., Dataset]) -> Callable[..., Dataset]:
        LOADERS[name] = loader
        return loader

    return remember


def dataset_names() -> list[str]:
    """The names that :func:`load_dataset` knows."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return sorted(LOADERS)


def load_dataset(name: str, data_home: str | os.PathLike | None = None, **options) -> Dataset:
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
        If there is no such data set or option.
    """
    names = dataset_names()
    if name not in names:
        raise ValueError(f"no data set {name!r}; there are {', '.join(names)}")
    try:
        return LOADERS[name](find_data_home(data_home), **options)
    except TypeError as error:
        if "unexpected keyword argument" in str(error):
            raise ValueError(f"data set {name}: {error}") from None
        raise
