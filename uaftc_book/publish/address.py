"""Where the book lives: the repository's address, and that of its pages, which follows from it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote

# The variables by which a host that builds for itself, a fork's among them, says where it is, and if need be its pages.
VARIABLE, OF_PAGES = "UAFTC_REPOSITORY", "UAFTC_PAGES"
PAGES = {"github.com": "github.io", "gitlab.com": "gitlab.io"}
ADDRESS = re.compile(r"https://([\w.-]+(?::\d+)?)((?:/[\w-][\w.-]*){2,})")


def configured(checkout: Path) -> str:
    """The repository's address as the checkout has it in _config.yml; empty if it has none."""
    import yaml

    path = checkout / "_config.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))["repository"]["url"] if path.exists() else ""


def repository(configured: str = "") -> str:
    """The repository's address: what the environment says, else what is configured; empty if there is none."""
    return (os.environ.get(VARIABLE) or configured or "").rstrip("/").removesuffix(".git")


def pages_address(address: str) -> str:
    """Where the host of a repository shows its pages, with a slash at the end: what the environment says goes first.

    Raises
    ------
    ValueError
        If the address is none of a repository, or of a host whose pages are not known.
    """
    parts, told = ADDRESS.fullmatch(address), os.environ.get(OF_PAGES, "")
    if not parts or told and not re.fullmatch(r"https://[\w.:/-]+", told):
        raise ValueError(
            f"${VARIABLE} or _config.yml must say https://HOST/OWNER/NAME, got {address!r} {told}".rstrip()
        )
    if told:
        return told.rstrip("/") + "/"
    host, (owner, *names) = parts[1], parts[2].strip("/").split("/")
    if host not in PAGES or host == "github.com" and len(names) > 1:
        raise ValueError(f"where does {host} show the pages of {'/'.join([owner, *names])}? Say it by ${OF_PAGES}")
    site = f"{owner.lower()}.{PAGES[host]}"
    return f"https://{site}/" if names[0].lower() == site else f"https://{site}/{'/'.join(names)}/"


def provider(address: str) -> str:
    """Which host's buttons fit an address: a host of one's own is GitLab if its name says so."""
    return "gitlab" if "gitlab" in address.partition("//")[2].partition("/")[0] else "github"


def binder(address: str) -> str:
    """How Binder calls a repository: what is no name of GitHub's is quoted whole, its slashes too."""
    host, _, name = address.partition("//")[2].partition("/")
    called = {"github.com": f"gh/{name}", "gitlab.com": f"gl/{quote(name, safe='')}"}
    return called.get(host, f"git/{quote(address, safe='')}")
