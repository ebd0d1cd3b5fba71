"""The data sets of the book. A new one joins with one file in this folder."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
from collections.abc import Callable
from pathlib import Path

from uaftc_lib.checks import one_of
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
    """The names that :func:`load_dataset` knows.

    Raises
    ------
    ValueError
        If a file of this folder is broken; the message names it.
    """
    for module in pkgutil.iter_modules(__path__):
        try:
            importlib.import_module(f"{__name__}.{module.name}")
        except Exception as error:
            file = Path(module.module_finder.path) / f"{module.name}.py"
            raise ValueError(
                f"{file} cannot be imported ({type(error).__name__}: {error}): mend it or move it away"
            ) from error
    return sorted(LOADERS)


def dataset_options(name: str) -> dict[str, object]:
    """The options of a data set and their defaults.

    Raises
    ------
    ValueError
        If there is no such data set; the message lists those there are.
    """
    one_of("data set", name, dataset_names())
    parameters = inspect.signature(LOADERS[name]).parameters.values()
    return {each.name: each.default for each in parameters if each.name != "data_home"}


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
        If there is no such data set or option, or if its archive is not the one that was meant.
    DataUnavailable
        If its archive is neither there nor can be downloaded; an OSError.
    """
    known = dataset_options(name)
    unknown = [option for option in options if option not in known]
    if unknown:
        raise ValueError(f"data set {name} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    return LOADERS[name](data_home=find_data_home(data_home), **options)
