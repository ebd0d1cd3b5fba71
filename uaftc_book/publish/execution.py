"""Execute the notebooks whose key has changed, note what they used, keep them in book/."""

from __future__ import annotations

import functools
import os
import platform
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch
from uuid import uuid4

import nbformat
from nbformat import NotebookNode

from uaftc_book import record
from uaftc_book.publish.address import repository
from uaftc_book.publish.keys import ABSENT, FOLDERS, every_file, is_edited, is_stale, key, recorded_files
from uaftc_book.publish.sources import (
    CHECKOUT,
    assemble,
    chapters,
    digest_of_outputs,
    read_published,
    read_source,
    write,
)
from uaftc_book.same_sums import SAME_SUMS
from uaftc_lib import __version__, files

LIMIT, USUAL = 1800, 30.0  # seconds that a cell may take, and that a chapter of unknown length probably takes
LONGEST_NAME = 90  # characters, of a connection file; that of a socket may have 103


@contextmanager
def recording(folder: Path, checkout: Path) -> Iterator[Path]:
    """Where the processes that are started meanwhile note the files that they open."""
    log = folder / "opened"
    files.write(log, "")
    watched = [str(checkout / name) for name in FOLDERS]
    text = Path(record.__file__).read_text(encoding="utf-8")
    files.write(folder / "sitecustomize.py", f"{text}\n\nstart_recording({watched!r}, {str(log)!r})\n")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    with patch.dict(os.environ, PYTHONPATH=path):
        yield log


def kernel_options() -> dict[str, object]:
    """What papermill tells the kernel: to encrypt where it can, and to say nothing of being interrupted.

    Every shutdown begins with an interrupt, that of Ctrl-C too; what goes wrong in a cell comes by another way. The
    environment, which the kernel inherits, is told that sums shall come out the same. Kernels talk over Unix sockets
    where there are such, and their names are not too long: a port that one kernel has chosen, another may take. Each is
    named after the connection file, which is therefore named here: else two kernels would choose the same names.
    """
    from traitlets.config import Config

    os.environ.update(SAME_SUMS)
    file = os.path.join(tempfile.gettempdir(), f"kernel-{uuid4().hex}.json")
    manager = {"transport_encryption": "auto"}
    if os.name == "posix" and len(file) < LONGEST_NAME:
        manager |= {"transport": "ipc", "connection_file": file}
    return {"config": Config(KernelManager=manager), "extra_arguments": ["--IPKernelApp.log_level=50"]}


def run_to_its_end(path: Path, folder: Path) -> NotebookNode:
    """A notebook, executed by papermill in a folder; by a second kernel if the first did not start, or died."""
    import papermill

    options = {"cwd": folder, "kernel_name": "python3", "progress_bar": False, "execution_timeout": LIMIT}
    try:
        return papermill.execute_notebook(path, None, **options, **kernel_options())
    except RuntimeError:
        return papermill.execute_notebook(path, None, **options, **kernel_options())


def execute(name: str, checkout: Path = CHECKOUT) -> tuple[float, str, str]:
    """Run a text notebook with its default parameters and put the executed copy into book/.

    Returns
    -------
    (float, str, str)
        Seconds, and name and text of the error that stopped it: empty if none did, and only then the copy
        in book/ is replaced.
    """
    import papermill

    started = time.perf_counter()
    source, before = read_source(name, checkout), every_file(checkout)
    steady = patch.dict(os.environ, SOURCE_DATE_EPOCH="0", TQDM_DISABLE="1")  # same outputs always: no dates, no bars
    with steady, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.ipynb"
        files.write(path, nbformat.writes(source))
        try:
            with recording(Path(folder), checkout) as log:
                executed = run_to_its_end(path, checkout / "book")
        except papermill.PapermillExecutionError as error:
            where = f"notebooks/{name}.md, cell [{error.exec_count}]"
            return time.perf_counter() - started, error.ename, f"{where}: {error.ename}: {error.evalue}"
        except (RuntimeError, OSError, KeyError) as error:  # the kernel died, took too long, is not there
            kind, words = type(error).__name__, str(error).strip().partition("\n")[0]
            return time.perf_counter() - started, kind, f"notebooks/{name}.md: {kind}: {words}"
        opened = recorded_files(log, checkout)
    provenance = {
        # Of the files as they were before the run: what was edited meanwhile makes stale.
        "key": key(source, {file: before.get(file, ABSENT) for file in opened}, checkout),
        "versions": {
            "Python": platform.python_version(),
            "uaftc_lib": __version__,
            "torch": metadata.version("torch"),
            "numpy": metadata.version("numpy"),
        },
        "files": opened,
    }
    seconds = time.perf_counter() - started
    # Roughly: another run takes about as long, and its copy is the same.
    known = seconds_of(name, checkout)
    provenance["seconds"] = known if known / 3 < seconds < 3 * known else float(f"{seconds:.0e}")
    finished = assemble(source, executed, provenance, repository(checkout))
    finished.metadata.uaftc.outputs = digest_of_outputs(finished)
    write(finished, checkout / "book" / f"{name}.ipynb")
    return seconds, "", ""


def seconds_of(name: str, checkout: Path = CHECKOUT) -> float:
    """How long a notebook roughly takes; 0 where that is not known."""
    executed = read_published(name, checkout)
    return executed.metadata.get("uaftc", {}).get("seconds", 0.0) if executed else 0.0


def unedited(checkout: Path = CHECKOUT) -> list[str]:
    """The chapters, if nobody has edited the copy of one alone.

    Raises
    ------
    ValueError
        If somebody has changed the text of a copy, but not that of its source; the message names the copy.
    """
    names = chapters(checkout)
    if edited := [name for name in names if is_edited(name, checkout)]:
        copies = " ".join(f"book/{name}.ipynb" for name in edited)
        raise ValueError(
            f"Edited in the executed copy, not in the text: {copies}. To drop the edit, remove the copy. To keep it, "
            f"if the text has not changed too: touch {copies} && jupytext --sync {copies}"
        )
    return names


def touch(names: Iterable[str], checkout: Path = CHECKOUT) -> None:
    """Make texts newer than their copies: JupyterLab opens no pair of which the text is older."""
    for name in names:
        os.utime(checkout / "notebooks" / f"{name}.md")


def refresh(checkout: Path = CHECKOUT) -> tuple[list[str], list[str]]:
    """Bring book/ up to date with notebooks/.

    Returns
    -------
    (list of str, list of str)
        The notebooks whose older copy stays because their data cannot be had, and those that failed.

    Raises
    ------
    ValueError
        As :func:`unedited`.
    """
    names = unedited(checkout)
    stale = [name for name in names if is_stale(name, checkout)]
    for name in names:
        if name not in stale:
            executed = read_published(name, checkout)
            fresh = assemble(read_source(name, checkout), executed, executed.metadata.uaftc, repository(checkout))
            write(fresh, checkout / "book" / f"{name}.ipynb")
    texts = [*(checkout / "book").glob("*.ipynb"), *(checkout / "notebooks").glob("*.md")]
    if others := sorted(str(path.relative_to(checkout)) for path in texts if path.stem not in names):
        print(
            f"Left out of the book, and left as they are: {', '.join(others)} "
            "(a chapter has a text in notebooks/ and a line in _toc.yml)"
        )
    print(f"{len(names) - len(stale)} of {len(names)} notebooks are up to date", flush=True)
    workers = os.cpu_count()
    if stale:
        known = [seconds_of(name, checkout) or USUAL for name in stale]
        minutes = max(1, round(max(*known, sum(known) / min(workers, len(stale))) / 60))
        print(f"{len(stale)} to execute, {workers} at a time: about {minutes} min", flush=True)
    kept, failed = [], []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        results = pool.map(functools.partial(execute, checkout=checkout), stale)
        for name, (seconds, error, message) in zip(stale, results):
            print(f"  {name}: {message or f'executed in {seconds:.1f} s'}", flush=True)
            if error == "DataUnavailable" and read_published(name, checkout) is not None:
                kept.append(name)
            elif error:
                failed.append(name)
    touch(names, checkout)
    return kept, failed
