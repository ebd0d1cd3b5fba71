"""Progress bars: tqdm's, which TQDM_DISABLE=1 silences in notebooks too."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tqdm import std
from tqdm.auto import tqdm


def progress_bar(iterable: Iterable | None = None, *, disable: bool = False, **options) -> std.tqdm:
    """A bar of ``tqdm.auto``; the options are tqdm's.

    The bar of notebooks does not look at ``TQDM_DISABLE``, so this does: a bar that shows or does not show with
    the speed of the machine would make two runs of a notebook differ.
    """
    silent = os.environ.get("TQDM_DISABLE", "").lower() not in ("", "0", "false")
    return tqdm(iterable, disable=disable or silent, **options)
