"""Equations carry the paper's numbers: the label ``eq-13`` is shown as (13), and referred to as Eq (13).

Equations of our own have other labels and are numbered within their page: (1.a), (1.b), ..., (A1.a), ...
"""

import re
from string import ascii_lowercase

from sphinx.domains.math import MathDomain
from sphinx.errors import ExtensionError

PAPER = re.compile(r"eq-(\d+[a-z]?)")


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
            page = re.match(r"0*(A?\d+)", docname)
            number = f"{page[1] if page else 0}.{ascii_lowercase[len(own)]}"
        self.equations[labelid] = (docname, number)


def setup(app):
    app.add_domain(PaperMathDomain, override=True)
    return {"version": "1", "parallel_read_safe": True}
