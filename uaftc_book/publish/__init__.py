"""From text notebook to page: execute what has changed, scrub, keep in book/, build the pages.

A notebook is executed again when its key has changed: its code cells (parameters among them), the lock, or a file
that its last run used, whether module, measured result, grid, published table, script or style. A changed sentence
alone is carried into the executed copy without running anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from uaftc_book.publish.execution import execute, kernel_options, refresh
from uaftc_book.publish.keys import drop_keys, is_stale, key
from uaftc_book.publish.pages import banner, build, edition, footer, is_ready, rerun_command
from uaftc_book.publish.sources import (
    CHECKOUT,
    WIDGET,
    assemble,
    chapters,
    code_cells,
    parameters_of,
    read_published,
    read_source,
    scrub,
    write,
)
from uaftc_lib import checks

__all__ = [
    "CHECKOUT",
    "WIDGET",
    "alone",
    "assemble",
    "banner",
    "build",
    "chapters",
    "code_cells",
    "drop_keys",
    "edition",
    "execute",
    "footer",
    "is_ready",
    "is_stale",
    "kernel_options",
    "key",
    "parameters_of",
    "publish",
    "read_published",
    "read_source",
    "refresh",
    "rerun_command",
    "scrub",
    "write",
]


@contextmanager
def alone(checkout: Path = CHECKOUT) -> Iterator[None]:
    """Meanwhile nobody else makes this book; whoever wants to waits, and is told so."""
    (checkout / "_build").mkdir(exist_ok=True)
    lock = FileLock(checkout / "_build" / "book.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print("The book is being made by another process: waiting until that is done.", flush=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def publish(forget: bool = False, strict: bool = False, again: Collection[str] = ()) -> None:
    """Bring the executed notebooks up to date, build the pages, say where to look.

    Parameters
    ----------
    forget : bool
        Whether to execute every notebook, stale or not.
    strict : bool
        Whether to build all pages anew, and to fail if one shows an older run.
    again : collection of str
        Chapters to execute, stale or not; their new outputs are kept.

    Raises
    ------
    ValueError
        If ``again`` names no chapter.
    SystemExit
        If a notebook fails, or Jupyter Book, or if a page shows an older run and ``strict`` forbids it.
    """
    names, kept = chapters(), []
    for name in again:
        checks.one_of("chapter", name, names)
    with alone():
        if forget or again or strict or not is_ready():
            drop_keys(names if forget else again)
            kept, failed = refresh()
            if failed:
                raise SystemExit(f"These notebooks failed: {', '.join(failed)}")
            build(whole=strict)
    print("The book is ready: open _build/book/_build/html/index.html in a browser.")
    if kept:
        print(f"Older runs, under a banner, because their data could not be had: {', '.join(kept)}")
    if kept and strict:
        raise SystemExit("--strict forbids older runs.")
