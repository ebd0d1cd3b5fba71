"""The search shows first the page that is about what was typed.

What people type to find a page is in search.toml. The paper's figures and tables are found by their numbers where the
title of a page in _toc.yml names them in brackets, and its equations where they stand.
"""

import re
import tomllib
from pathlib import Path

from docutils import nodes
from equations import PAPER
from sphinx.addnodes import index

LISTED = re.compile(r"(Fig|Table)s? (S?\d+(?:(?:–|, )S?\d+)*)")
RANGE = re.compile(r"(S?)(\d+)(?:–S?(\d+))?")
SPELLINGS = {"Fig": ("Fig", "Fig.", "Figure"), "Table": ("Table",), "Eq": ("Eq", "Eq.", "Equation")}


def numbered(title):
    """The figures and tables in the brackets of a title: "... (§5, Figs 2–4)" names Fig 2, Fig 3 and Fig 4."""
    for kind, listed in LISTED.findall(title.partition("(")[2]):
        for supplement, first, last in RANGE.findall(listed):
            yield from ((kind, f"{supplement}{n}", "") for n in range(int(first), int(last or first) + 1))


def add_entries(app, doctree):
    """Add index entries that the search alone reads: the index of the book has taken its own before this event."""
    page = app.env.docname
    words = tomllib.loads(Path(app.srcdir, "search.toml").read_text(encoding="utf-8"))
    labels = [PAPER.fullmatch(one.get("label") or "") for one in doctree.findall(nodes.math_block)]
    numbers = [*numbered(app.env.external_site_map[page].title or "")]
    numbers += [("Eq", label[1], f"equation-{label[0]}") for label in labels if label]
    entries = [(word, "") for word in words.get(page, [])]
    entries += [(f"{name} {number}", place) for kind, number, place in numbers for name in SPELLINGS[kind]]
    doctree.append(index(entries=[("single", entry, place, "main", None) for entry, place in entries]))


def setup(app):
    app.config.html_search_scorer = str(Path(__file__).with_name("search.js"))
    app.connect("doctree-read", add_entries)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
