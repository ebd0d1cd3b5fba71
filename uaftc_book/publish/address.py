"""Where the book lives: its repository, as _config.yml has it, and its pages."""

from __future__ import annotations

import os
from pathlib import Path

SITE = "UAFTC_SITE"  # the variable by which whoever publishes the pages says where


def configured(checkout: Path, part: str, name: str) -> str:
    """An address in _config.yml; empty if it is not there."""
    import yaml

    path = checkout / "_config.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8")).get(part, {}).get(name, "") if path.exists() else ""


def repository(checkout: Path) -> str:
    """The repository's address; empty if it has none yet."""
    return configured(checkout, "repository", "url")


def site(checkout: Path) -> str:
    """Where the pages are published, with a slash at the end: what the environment says, else what is configured.

    Raises
    ------
    SystemExit
        If that is no address.
    """
    address = os.environ.get(SITE) or configured(checkout, "html", "baseurl")
    if address and not address.startswith(("https://", "http://")):
        raise SystemExit(f"${SITE} or html: baseurl in _config.yml must say https://..., got {address!r}")
    return address and address.rstrip("/") + "/"
