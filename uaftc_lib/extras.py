"""Packages that only a part of the library needs: where one is missing, words say what to install."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(what: str, install: str = ".[book]", error: type[Exception] = ImportError) -> Iterator[None]:
    """Imports in the body of ``with`` are what ``what`` needs, and ``pip install`` of ``install`` brings them.

    Extras of this library come from a clone: no index offers it.

    Raises
    ------
    error
        If a package is not installed; the message names it and says what to do.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        late = sys.version_info >= (3, 14) and missing.name.startswith("gensim")  # which has no wheel for these
        where = " in a clone of the book" * install.startswith(".") + " on Python 3.13 or earlier" * late
        raise error(
            f"{what} needs {missing.name}, which is not installed: pip install {shlex.quote(install)}{where}"
        ) from None
