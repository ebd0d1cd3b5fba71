"""Equations carry the paper's numbers: the label ``eq-13`` is shown as (13), and referred to as Eq (13).

Equations of our own have other labels and are numbered within their page: (1.a), (1.b), ..., (A1.a), ..., where A1 is
the first appendix. What is referred to in brackets, has none of its own: (Eq 13).

A formula within a line is a box to a browser, which may break the line on either side of it: what stands at it without
a blank, a comma or a bracket, is joined to it.
"""

import re
from pathlib import Path
from string import ascii_lowercase

from docutils import nodes
from sphinx.domains.math import MathDomain
from sphinx.errors import ExtensionError

PAPER = re.compile(r"eq-(\d+[a-z]?)")
CONTENTS = Path(__file__).parents[2] / "_toc.yml"


def place(page: str) -> str:
    """The number of a chapter, or that of an appendix in the contents: "02_training" -> "2", "A_gradients" -> "A1"."""
    if page.startswith("A_"):
        return re.search(rf'file: {page}\n +title: "(A\d+)', CONTENTS.read_text(encoding="utf-8"))[1]
    return re.match(r"0*(\d*)", page)[1] or "0"


class PaperMathDomain(MathDomain):
    """Numbers taken from labels."""

    def note_equation(self, docname, labelid, location=None):
        if labelid in self.equations and self.equations[labelid][0] != docname:
            elsewhere = self.equations[labelid][0]
            raise ExtensionError(f"equation {labelid} stands on {elsewhere} and on {docname}")
        numbered = PAPER.fullmatch(labelid)
        if numbered:
            number = numbered[1]
        else:
            own = [label for label, (doc, _) in self.equations.items() if doc == docname and label != labelid]
            own = [label for label in own if not PAPER.fullmatch(label)]
            number = f"{place(docname)}.{ascii_lowercase[len(own)]}"
        self.equations[labelid] = (docname, number)

    def resolve_xref(self, env, fromdocname, builder, typ, target, node, contnode):
        link = super().resolve_xref(env, fromdocname, builder, typ, target, node, contnode)
        before = [text for one in node.parent[: node.parent.index(node)] for text in one.findall(nodes.Text)]
        said = "".join(text for text in before if not isinstance(text.parent, nodes.math))
        if link and said.count("(") > said.count(")"):
            link[0] = nodes.Text(f"Eq\N{NO-BREAK SPACE}{link.astext()[1:-1]}")
        return link


def join(app, doctree):
    """Keep a formula and what stands at it on one line."""
    for math in list(doctree.findall(nodes.math)):
        at, parent = math.parent.index(math), math.parent
        sides = [parent[i] if 0 <= i < len(parent) else "" for i in (at - 1, at + 1)]
        before, after = (str(one) if isinstance(one, nodes.Text) else "" for one in sides)
        start, end = re.search(r"\S*$", before)[0], re.match(r"\S*", after)[0]
        if not start + end:
            continue
        joined = nodes.inline(classes=["joined"])
        whole = [nodes.Text(before.removesuffix(start)), joined, nodes.Text(after.removeprefix(end))]
        parent[at - bool(before) : at + 1 + bool(after)] = [one for one in whole if one is joined or str(one)]
        joined += [nodes.Text(start), math, nodes.Text(end)]


def setup(app):
    app.add_domain(PaperMathDomain, override=True)
    app.connect("doctree-read", join)
    return {"version": "1", "parallel_read_safe": True}
