"""What a site has beside its pages: a map, a word to robots, a feed of changes. The first and last need its address."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markdown_it import MarkdownIt

from uaftc_book.publish.head import changed_on


def template(checkout: Path, name: str):
    """A template of the book."""
    return Environment(loader=FileSystemLoader(checkout / "book" / "_templates")).get_template(name)


def versions(changelog: str) -> dict[str, str]:
    """Heading of each version -> what changed, as HTML."""
    parts = re.split(r"^## (.+)$", changelog, flags=re.MULTILINE)[1:]
    return {heading: MarkdownIt().render(told) for heading, told in zip(parts[::2], parts[1::2])}


def day_of(heading: str, otherwise: str) -> str:
    """The day that a heading of the changelog names, as YYYY-MM-DD."""
    found = re.search(r"\d{4}-\d\d-\d\d", heading)
    return found[0] if found else otherwise


def add_files(pages: Path, checkout: Path, book: dict[str, str], site: str, names: list[str]) -> None:
    """Write robots.txt, and where the site's address is known sitemap.xml and feed.xml."""
    robots = "User-agent: *\nAllow: /\n" + (f"Sitemap: {site}sitemap.xml\n" if site else "")
    (pages / "robots.txt").write_text(robots)
    if not site:
        return
    changed = {
        name: changed_on(f"notebooks/{name}.md", checkout) or changed_on(f"book/{name}.md", checkout) for name in names
    }
    told = versions((checkout / "CHANGELOG.md").read_text(encoding="utf-8"))
    latest = changed_on("CHANGELOG.md", checkout) or date.today().isoformat()  # a feed needs a day
    entries = [(heading, day_of(heading, latest), text) for heading, text in told.items()]
    values = {"site": site, "book": book, "pages": changed, "entries": entries, "latest": latest}
    for name in ("sitemap.xml", "feed.xml"):
        (pages / name).write_text(template(checkout, name).render(values), encoding="utf-8")
