"""Packages that only a part of the library needs: where one is missing, words say what to install."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(what: str, install: str = "uaftc-lib[book]", error: type[Exception] = ImportError) -> Iterator[None]:
    """Imports in the body of ``with`` are what ``what`` needs, and ``pip install`` of ``install`` brings them.

    Raises
    ------
    error
        If a package is not installed; the message names it and says what to do.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        raise error(
            f"{what} needs {missing.name}, which is not installed: pip install {shlex.quote(install)}"
        ) from None
