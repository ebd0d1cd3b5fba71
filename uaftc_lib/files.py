"""How the project writes a file: whole, or it stays as it was.

No other module opens a file to write into it. A draft is written beside the file, reaches the disk and takes its place.
What a process that died has left is removed by the next that writes there.
"""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from secrets import token_hex

UNFINISHED = "draft", "former"  # how the names of drafts end, and those of files to be put back


@contextmanager
def named(what: str) -> Iterator[None]:
    """An OSError says what was done to which file, then what the system says: "x.csv cannot be written: ..."."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # it is in words already
            raise
        raise OSError(f"{what}: {error.strerror}") from error


def write(path: str | os.PathLike, content: str | bytes) -> None:
    """Write a file whole; a pipe or a device takes the content as it is.

    Raises
    ------
    OSError
        If it cannot be written; the message names it, and the file is as it was.
    """
    path = Path(path)
    content = content.encode("utf-8", "replace") if isinstance(content, str) else content
    with named(f"{path} cannot be written"):
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        path = path.resolve()  # a link stays one
        draft = unfinished(path, "draft")
        try:
            put_on_disk(draft, content, path)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        keep_names(path.parent)


def write_together(contents: Mapping[Path, str | bytes]) -> list[Path]:
    """Write files of one folder, which is made, all of them or none; return those that were replaced.

    Where a process is killed while one file after the other takes its place, the next call puts the former ones back
    before it begins.

    Raises
    ------
    OSError
        If one cannot be written; the message names it, and all are as they were.
    """
    first = next(iter(contents))
    folder = first.parent
    made = [place for place in (folder, *folder.absolute().parents) if not place.exists()]
    draft, former = (unfinished(first, end) for end in UNFINISHED)
    try:
        with named(f"{folder} cannot be written"):
            folder.mkdir(parents=True, exist_ok=True)
            (draft / "former").mkdir(parents=True)
        replaced = [path for path in contents if path.exists()]
        for path, content in contents.items():
            with named(f"{path} cannot be written"):
                content = content.encode("utf-8", "replace") if isinstance(content, str) else content
                put_on_disk(draft / path.name, content, path)
                if path in replaced:
                    shutil.copy2(path, draft / "former")
                else:
                    (draft / "former" / f"no {path.name}").touch()
        exchange(draft, former, contents)
        return replaced
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        for place in made:  # of a folder that was made in vain nothing stays
            with suppress(OSError):
                place.rmdir()


def exchange(draft: Path, former: Path, paths: Mapping[Path, object]) -> None:
    """Put drafts in the places of their files, or all former ones back; ``former`` exists as long as this lasts."""
    with named(f"{former.parent} cannot be written"):
        (draft / "former").replace(former)
    try:
        for path in paths:
            with named(f"{path} cannot be written"):
                (draft / path.name).replace(path)
        keep_names(former.parent)
        with suppress(OSError):  # the new files stand, whatever is left
            former.replace(draft / "former")
    except BaseException:
        with suppress(OSError):  # of a disk that takes nothing any more: the next call does it
            put_back(former)
        raise


def put_back(former: Path) -> None:
    """What a folder of former files holds goes back to its places; as often as is needed."""
    for file in former.iterdir():
        if file.name.startswith("no "):
            (former.parent / file.name[3:]).unlink(missing_ok=True)
            file.unlink()
        else:
            file.replace(former.parent / file.name)
    former.rmdir()


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """An empty folder, which becomes ``folder`` once all is written into it; else nothing stays.

    Raises
    ------
    OSError
        If something cannot be written; the message names ``folder``.
    """
    with named(f"{folder} cannot be written"):
        draft = unfinished(folder, "draft")
        try:
            draft.mkdir(parents=True)
            yield draft
            keep_all([file for file in draft.rglob("*") if file.is_file()])
            draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        keep_names(folder.parent)


def unfinished(path: Path, end: str) -> Path:
    """A hidden name beside a file, of this process; what dead ones have left under such a name is cleared away."""
    node = platform.node()
    for left in path.parent.glob(f".{escape(path.name)}.{escape(node)}-*-*"):
        *_, process, token = left.name.split("-")
        kind = token.partition(".")[2]
        if kind in UNFINISHED and process.isdecimal() and not lives(int(process)):
            if kind == "former":
                put_back(left)
            elif left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
    return path.with_name(f".{path.name}.{node}-{os.getpid()}-{token_hex(3)}.{end}")


def lives(process: int) -> bool:
    """Whether a process of this machine lives; where to ask would end it (Windows), it is taken to live."""
    if os.name == "posix" and process != os.getpid():
        with suppress(PermissionError):  # it lives, and is another user's
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                return False
    return True


def put_on_disk(draft: Path, content: bytes, path: Path) -> None:
    """Write a draft such that no crash leaves it half; it has the mode of the file whose place it will take."""
    draft.write_bytes(content)
    keep(draft)
    if path.exists():
        shutil.copymode(path, draft)


def keep(file: Path) -> None:
    """What a file holds is on the disk."""
    with file.open("rb+") as written:
        os.fsync(written.fileno())


def keep_all(files: Sequence[Path]) -> None:
    """What files hold is on the disk."""
    if len(files) > 100 and hasattr(os, "sync"):  # fifty thousand reviews, one by one, would take minutes
        os.sync()
        return
    for file in files:
        keep(file)


def keep_names(folder: Path) -> None:
    """The names in a folder are on the disk, where the system can say so."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def check_writable(path: Path) -> None:
    """OSError, in words, unless a file could be written there."""
    with named(f"{path} cannot be written"):
        tempfile.TemporaryFile(dir=path.resolve().parent).close()
