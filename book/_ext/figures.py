"""Figures carry a number within their page, and the first sentence of a caption, what was found, stands out.

``{fig}`below` `` is a link to the next figure of the page, by its number, ``{fig}`below+1` `` to the next but one,
``{fig}`above` `` to the one before and ``{fig}`2` `` to the second. Code puts ``[the figure below](#figure-below)``.
What a slider switches has no number.
"""

import html
import re
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote

from docutils import nodes
from sphinx.errors import ExtensionError

from uaftc_book.publish.sources import with_drawings
from uaftc_lib import files

LINK = re.compile(r"#figure-(above|below|)([+-]?\d+)?")
FIGURE = re.compile(r'<figure class="uaftc"(.*?<figcaption[^>]*>)([^<]*)', re.DOTALL)
SENTENCE = re.compile(r"(?<=[.?!])(?<!Fig\.)\s+")
NUMBERS = re.compile(r'href="data:text/csv;charset=utf-8,([^"]{10000,})"')  # of a figure with many points
SWITCHED = 'class="uaftc-frames"'


def numbered(text, count):
    """The HTML with its figures numbered from ``count`` + 1 on, and the number of the last."""

    def caption(match):
        nonlocal count
        count += 1
        first, *rest = SENTENCE.split(match[2], maxsplit=1)
        told = f'<strong>Figure {count}.</strong> <span class="finding">{first}</span> {"".join(rest)}'
        return f'<figure class="uaftc" id="figure-{count}"{match[1]}{told}'

    return (text, count) if SWITCHED in text else (FIGURE.sub(caption, text), count)


def with_numbers_apart(text, folder):
    """The HTML with a file in the folder for each figure that has many numbers."""

    def stored(match):
        numbers = unquote(html.unescape(match[1])).encode()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{sha256(numbers).hexdigest()[:16]}.csv"
        files.write(path, numbers)
        return f'href="{folder.name}/{path.name}"'

    return NUMBERS.sub(stored, text)


def keep_numbers_apart(app, doctree):
    for node in doctree.findall(nodes.raw):
        if "html" in node["format"]:
            node.children[:] = [nodes.Text(with_numbers_apart(node.astext(), Path(app.outdir, "_numbers")))]


def number_figures(app, doctree):
    count, links = 0, []
    for node in doctree.findall(lambda one: isinstance(one, (nodes.raw, nodes.reference))):
        if isinstance(node, nodes.reference):
            if link := LINK.fullmatch(node.get("refuri", "")):
                begins = {"above": count, "below": count + 1, "": 0}
                links.append((node, begins[link[1]] + int(link[2] or 0)))
        elif "html" in node["format"]:
            text, count = numbered(with_drawings(node.astext()), count)
            node.children[:] = [nodes.Text(text)]
    for node, number in links:
        if not 0 < number <= count:
            raise ExtensionError(f"{app.env.docname} has {count} figures, and refers to Figure {number}")
        node[:], node["refuri"] = [nodes.Text(f"Figure {number}")], f"#figure-{number}"
        node["classes"] = ["figure-number"]


def role(name, rawtext, text, lineno, inliner, options=None, content=()):
    if not LINK.fullmatch(f"#figure-{text}"):
        return [], [inliner.reporter.error(f"{rawtext} names no figure", line=lineno)]
    return [nodes.reference("", f"Figure {text}", refuri=f"#figure-{text}")], []


def setup(app):
    app.add_role("fig", role)
    app.connect("doctree-read", keep_numbers_apart)
    app.connect("doctree-read", number_figures)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
