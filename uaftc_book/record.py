"""Which files a notebook uses: every process of a run writes down what it opens below the checkout.

The text of this file, with a call of :func:`start_recording` below it, is the ``sitecustomize`` of the kernel and of
all its child processes: it imports nothing of the library, for that would be recorded too.
"""

import os
import sys


def start_recording(folders: list[str], log: str) -> None:
    """From now on, write the path of every file below the folders that this process opens to the end of ``log``."""
    writes, PathLike = os.O_CREAT | os.O_TRUNC, os.PathLike
    fsdecode, realpath, write = os.fsdecode, os.path.realpath, os.write
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    below = tuple(os.path.join(realpath(folder), "") for folder in folders)
    seen = set()

    # Its names are local: the hook outlives this module's own when the interpreter ends.
    def hook(event: str, arguments: tuple) -> None:
        if event != "open" or not isinstance(arguments[0], (str, bytes, PathLike)) or arguments[2] & writes:
            return
        path = realpath(fsdecode(arguments[0]))
        if path.startswith(below) and path not in seen:
            seen.add(path)
            write(descriptor, f"{path}\n".encode(errors="surrogateescape"))

    sys.addaudithook(hook)
