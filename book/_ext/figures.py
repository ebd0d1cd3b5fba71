"""Figures carry a number within their page, and the first sentence of a caption, what was found, stands out.

``{fig}`2` `` is a link to the second figure of the page. What a slider switches is not numbered.
"""

import re

from docutils import nodes
from sphinx.errors import ExtensionError

FIGURE = re.compile(r'<figure class="uaftc"(.*?<figcaption[^>]*>)([^<]*)', re.DOTALL)
SENTENCE = re.compile(r"(?<=[.?!])(?<!Fig\.)\s+")
SWITCHED = 'class="uaftc-frames"'


def numbered(html, count):
    """The HTML with its figures numbered from ``count`` + 1 on, and the number of the last."""

    def caption(match):
        nonlocal count
        count += 1
        first, *rest = SENTENCE.split(match[2], maxsplit=1)
        told = f'<strong>Figure {count}.</strong> <span class="finding">{first}</span> {"".join(rest)}'
        return f'<figure class="uaftc" id="figure-{count}"{match[1]}{told}'

    return (html, count) if SWITCHED in html else (FIGURE.sub(caption, html), count)


def number_figures(app, doctree):
    count = 0
    for raw in doctree.findall(nodes.raw):
        if "html" in raw["format"] and "<figure" in raw.astext():
            html, count = numbered(raw.astext(), count)
            raw.children[:] = [nodes.Text(html)]
    for link in doctree.findall(nodes.reference):
        if "figure-number" in link["classes"] and not 0 < int(link["refuri"].rpartition("-")[2]) <= count:
            raise ExtensionError(f"{app.env.docname} has {count} figures, and refers to {link.astext()}")


def role(name, rawtext, text, lineno, inliner, options=None, content=()):
    if not text.isdecimal():
        return [], [inliner.reporter.error(f"{rawtext} names no figure by its number", line=lineno)]
    return [nodes.reference("", f"Figure {text}", refuri=f"#figure-{text}", classes=["figure-number"])], []


def setup(app):
    app.add_role("fig", role)
    app.connect("doctree-read", number_figures)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
