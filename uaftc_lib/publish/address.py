"""Where the book lives: the repository's address, and that of its pages, which follows from it."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

# The variable by which a host that builds for itself, a fork's among them, says where it is.
VARIABLE = "UAFTC_REPOSITORY"
PAGES = {"github.com": "github.io", "gitlab.com": "gitlab.io"}


def configured(checkout: Path) -> str:
    """The repository's address as the checkout has it in _config.yml; empty if it has none."""
    import yaml

    path = checkout / "_config.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))["repository"]["url"] if path.exists() else ""


def repository(configured: str = "") -> str:
    """The repository's address: what the environment says, else what is configured; empty if there is none."""
    return (os.environ.get(VARIABLE) or configured or "").rstrip("/")


def pages_address(address: str) -> str:
    """Where the host of a repository shows its pages, with a slash at the end.

    Raises
    ------
    ValueError
        If the address is none of a repository, or of a host whose pages are not known.
    """
    parts = urlsplit(address)
    owner, _, name = parts.path.strip("/").partition("/")
    if parts.scheme != "https" or parts.netloc not in PAGES or not name or "/" in name:
        allowed = " or ".join(f"https://{host}/OWNER/NAME" for host in PAGES)
        raise ValueError(f"the repository's address must be {allowed}, got {address!r}: see _config.yml or ${VARIABLE}")
    site = f"{owner.lower()}.{PAGES[parts.netloc]}"
    return f"https://{site}/" if name.lower() == site else f"https://{site}/{name}/"
