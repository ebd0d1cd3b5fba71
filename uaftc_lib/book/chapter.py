"""What every chapter begins and ends with: its parameters are checked, its statements held against what came out.

An *identity* is true whatever is chosen: it raises where it fails. A *finding* is what was measured with the published
parameters: there it raises, too; with other ones the page says whether it held, and shows a number beside the
published one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection
from pathlib import Path

from IPython.display import Markdown, display

from uaftc_lib.book import contents
from uaftc_lib.book.parameters import check_parameters, default_parameters

CHECKOUT = Path(__file__).resolve().parents[2]
PARAMETERS = re.compile(r"^```\{code-cell\}.*\n:tags: \[.*\bparameters\b.*\]\n((?s:.*?))^```", re.MULTILINE)
FINDINGS: dict[str, float] = {}  # the numbers of this run, which its executed copy keeps for later ones


def published_parameters(name: str, cells: Collection[str]) -> dict[str, object]:
    """The parameters of a chapter as its source has them; outside a checkout as the cells that have run had them."""
    source = CHECKOUT / "notebooks" / f"{name}.md"
    if source.exists():
        cells = PARAMETERS.findall(source.read_text(encoding="utf-8"))
    return default_parameters(cells)


def published_findings(name: str) -> dict[str, float]:
    """The numbers that the executed copy of a chapter keeps; none without one."""
    copy = CHECKOUT / "book" / f"{name}.ipynb"
    if not copy.exists():
        return {}
    return json.loads(copy.read_text(encoding="utf-8"))["metadata"].get("uaftc", {}).get("findings", {})


class Chapter:
    """The statements of a chapter, each checked where its numbers are.

    Parameters
    ----------
    name : str
        Of the notebook: "03_polarity_dynamics".
    namespace : dict
        ``globals()`` of the notebook, in the cell after its annotated parameters.
    **allowed
        As for :func:`uaftc_lib.book.parameters.check_parameters`.

    Raises
    ------
    ValueError
        If the notebook was given a parameter that it does not have, or a value that cannot be.
    """

    def __init__(self, name: str, namespace: dict[str, object], **allowed: Collection):
        check_parameters(namespace, **allowed)
        contents.load({name} & contents.MODULES.keys())  # its equations, experiments and claims
        self.name, self.lines, self.broken = name, [], []
        published = published_parameters(name, namespace.get("In", []))
        self.changed = {key: namespace[key] for key, value in published.items() if namespace.get(key) != value}
        if self.changed:
            told = ", ".join(f"`{key}` = {new!r} instead of {published[key]!r}" for key, new in self.changed.items())
            display(Markdown(f"*Run with {told}. Tables and figures show this run; the words were written about the "
                             "published parameters, and the checks below say which of them still hold.*"))  # fmt: skip

    def identity(self, name: str, holds: object) -> None:
        """State what is true whatever the parameters.

        Raises
        ------
        AssertionError
            If it is not.
        """
        if not holds:
            raise AssertionError(f"{name}: fails")
        self.lines.append(f"ok: {name}")

    def finding(self, name: str, holds: object | Callable[[], object], value: float | None = None) -> None:
        """State what was found with the published parameters; ``value``: the number that was compared.

        A function is called for the answer: where other parameters leave nothing to ask, the finding does not hold.
        """
        try:
            held = bool(holds() if callable(holds) else holds)
        except Exception:
            if not self.changed:
                raise
            held = False
        line = f"{'held' if held else 'not held'}: {name}"
        if value is not None and math.isfinite(value):
            FINDINGS[name] = float(f"{value:.6g}")  # as many digits as processors agree on
            if self.changed:
                published = published_findings(self.name).get(name)
                beside = "" if published is None else f", published {published:.3g}"
                line += f" (yours {float(value):.3g}{beside})"
        self.lines.append(line)
        if not held:
            self.broken.append(name)

    def show(self) -> None:
        """Print how every statement so far came out, a line each.

        Raises
        ------
        AssertionError
            If a finding does not hold with the published parameters.
        """
        print("\n".join(self.lines))  # at once: one block on the page
        if self.broken and not self.changed:
            raise AssertionError(f"with the published parameters: {'; '.join(self.broken)}")
        self.lines, self.broken = [], []
