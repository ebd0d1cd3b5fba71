"""What a site has besides its pages: a word to robots, and where its address is known a map."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from uaftc_book.publish.head import changed_on


def template(checkout: Path, name: str):
    """A template of the book."""
    return Environment(loader=FileSystemLoader(checkout / "book" / "_templates")).get_template(name)


def add_files(pages: Path, checkout: Path, site: str, names: list[str]) -> None:
    """Write robots.txt, and where the site's address is known sitemap.xml."""
    robots = "User-agent: *\nAllow: /\n" + (f"Sitemap: {site}sitemap.xml\n" if site else "")
    (pages / "robots.txt").write_text(robots)
    if site:
        changed = {
            name: changed_on(f"notebooks/{name}.md", checkout) or changed_on(f"book/{name}.md", checkout)
            for name in names
        }
        text = template(checkout, "sitemap.xml").render(site=site, pages=changed)
        (pages / "sitemap.xml").write_text(text, encoding="utf-8")
