"""Equations carry the paper's numbers: the label ``eq-13`` is shown as (13), and referred to as Eq (13).

Equations of our own have other labels and are numbered within their page: (1.a), (1.b), ...
"""

import re
from string import ascii_lowercase

from sphinx.domains.math import MathDomain
from sphinx.errors import ExtensionError


class PaperMathDomain(MathDomain):
    """Numbers taken from labels."""

    def note_equation(self, docname, labelid, location=None):
        if labelid in self.equations and self.equations[labelid][0] != docname:
            elsewhere = self.equations[labelid][0]
            raise ExtensionError(f"equation {labelid} stands on {elsewhere} and on {docname}")
        numbered = re.fullmatch(r"eq-(\d+[a-z]?)", labelid)
        if numbered:
            number = numbered[1]
        else:
            own = [label for label, (doc, _) in self.equations.items() if doc == docname]
            own = [label for label in own if not label.startswith("eq-") and label != labelid]
            page = re.match(r"\d+", docname)
            number = f"{int(page[0]) if page else 0}.{ascii_lowercase[len(own)]}"
        self.equations[labelid] = (docname, number)


def setup(app):
    app.add_domain(PaperMathDomain, override=True)
    return {"version": "1", "parallel_read_safe": True}
