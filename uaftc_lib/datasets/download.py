"""Archives: used where they are, downloaded where they are not, refused where they are not the right ones."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pooch

from uaftc_lib import files
from uaftc_lib.progress import progress_bar


class DataUnavailable(OSError):
    """A data set cannot be had here: no archive and no download, or no tokenizer to prepare it."""


def fetch(url: str, data_home: Path, sha256: str) -> Path:
    """The archive of ``url`` in the data home; downloaded with a progress bar if it is not there.

    Raises
    ------
    ValueError
        If the file that is there, or the one that was downloaded, is not the archive that was meant; the
        message names the file. A bad download is not kept.
    DataUnavailable
        If the file is not there and cannot be downloaded.
    """
    path = Path(data_home) / url.rsplit("/", 1)[-1]
    if path.exists():
        found = pooch.file_hash(path)
        if found != sha256:
            raise ValueError(
                f"{path} is truncated or altered: its sha256 is {found}, expected {sha256}. "
                "Delete it, and it will be downloaded again."
            )
        return path
    try:
        # pooch sets the total, but only of a bar that has one
        bar = progress_bar(desc=path.name, total=1, unit="B", unit_scale=True, delay=1, leave=False)
        with bar, files.named(f"{path} cannot be written"):
            return Path(pooch.retrieve(url, f"sha256:{sha256}", fname=path.name, path=data_home, progressbar=bar))
    except OSError as error:
        raise DataUnavailable(
            f"{path} is not there and could not be downloaded from {url} ({error}). "
            "Put the archive there yourself, or set UAFTC_DATA to a folder that holds it."
        ) from error


def unpack(archive: Path, folder: Path, wanted: Callable[[str], bool] = lambda name: True) -> None:
    """Unpack the wanted files of a tar archive whose members all lie in one folder.

    ``folder`` (its name is that of the folder in the archive) appears complete, or not at all.

    Raises
    ------
    ValueError
        If the archive holds anything but plain files and folders inside that folder: a path that leads out
        of it, a link, a device. Nothing is left behind.
    """
    try:
        with tarfile.open(archive) as tar, files.whole_folder(folder) as place:
            tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Pythons before 3.11.4 have none
            for member in progress_bar(tar, desc=f"unpacking {archive.name}", unit=" files", delay=3, leave=False):
                path = PurePosixPath(member.name)
                if path.parts[:1] != (folder.name,) or ".." in path.parts:
                    raise ValueError(f"{archive} is refused: {member.name!r} leads out of {folder.name}/")
                if not (member.isfile() or member.isdir()):
                    raise ValueError(f"{archive} is refused: {member.name!r} is neither a file nor a folder")
                if member.isfile() and wanted(member.name):
                    member.name = path.relative_to(folder.name).as_posix()
                    tar.extract(member, place)
    except OSError:
        if not folder.exists():  # else another process was quicker, with the same files
            raise
