"""Archives: used where they are, downloaded where they are not, refused where they are not the right ones."""

from __future__ import annotations

from pathlib import Path

import pooch


class DataUnavailable(OSError):
    """An archive is not in the data home and cannot be downloaded."""


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
        return Path(
            pooch.retrieve(url, f"sha256:{sha256}", fname=path.name, path=data_home, progressbar=True)
        )
    except OSError as error:
        raise DataUnavailable(
            f"{path} is not there and could not be downloaded from {url} ({error}). "
            "Put the archive there yourself, or set UAFTC_DATA to a folder that holds it."
        ) from error
    return path
