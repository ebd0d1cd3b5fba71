"""Progress bars: tqdm's, on terminals and in notebooks only; TQDM_DISABLE=1 silences both."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from tqdm import std
from tqdm.auto import tqdm


def progress_bar(iterable: Iterable | None = None, *, disable: bool = False, **options) -> std.tqdm:
    """A bar of ``tqdm.auto``; the options are tqdm's. Into a file or a pipe nothing is written.

    The bar of notebooks does not look at ``TQDM_DISABLE``, so this does: a bar that shows or does not show with
    the speed of the machine would make two runs of a notebook differ.
    """
    silent = os.environ.get("TQDM_DISABLE", "").lower() not in ("", "0", "false")
    return tqdm(iterable, disable=disable or silent or not can_show(), **options)


def can_show() -> bool:
    """Whether there is a notebook, or a terminal that can move its cursor."""
    if any(kind.__module__ == "tqdm.notebook" for kind in tqdm.__mro__):
        return True
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
