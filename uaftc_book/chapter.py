"""What every chapter begins and ends with: its parameters are checked, its statements held against what came out.

An *identity* is proved: it is true whatever is chosen, and is shown with the error by which its sides differ. A
*finding* is what was measured with the published parameters, shown with its number, how many runs that is from, and an
interval; with other parameters the page says whether it holds there too, with the published number beside. What only
keeps the page in order is *housekeeping*: it raises, and is not shown.
"""

from __future__ import annotations

from uaftc_book import same_sums  # noqa: F401 (numpy and torch come later)

# isort: split
import json
import math
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np
import torch
from IPython.display import Markdown, display
from jaxtyping import Float

from uaftc_book import choices, contents, rules
from uaftc_book.parameters import check_parameters, default_parameters
from uaftc_book.wording import Lines, short, with_interval

CHECKOUT = Path(__file__).resolve().parents[1]
PARAMETERS = re.compile(r"^```\{code-cell\}.*\n:tags: \[.*\bparameters\b.*\]\n((?s:.*?))^```", re.MULTILINE)
ROUNDING = 1e-9  # what two sides computed in float64 may differ by, unless an identity says otherwise
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


def measured(value: object, n: int) -> rules.Interval:
    """A number from n runs, without an interval; or the mean and the interval of one value for each run."""
    if isinstance(value, rules.Interval):
        return value
    values = np.asarray(value, dtype=float)
    return rules.interval(values) if values.ndim else rules.Interval(float(values), -math.inf, math.inf, n)


def number_in_words(found: rules.Interval, of: str) -> str:
    """The number, its interval if it has one, and from how many runs it is."""
    number = f"one {of.removesuffix('s')}" if found.n == 1 else f"{found.n:,} {of}"
    return f"{with_interval(*found[:3])} ({number})"


class Chapter:
    """The statements of a chapter, each checked where its numbers are.

    Parameters
    ----------
    name : str
        Of the notebook: "02_training".
    namespace : dict
        ``globals()`` of the notebook, in the cell after its annotated parameters. What they may be:
        :mod:`uaftc_book.choices`.

    Raises
    ------
    ValueError
        If the notebook was given a parameter that it does not have, or a value that cannot be.
    """

    def __init__(self, name: str, namespace: dict[str, object]):
        check_parameters(namespace, **choices.allowed(name))
        choices.check_together(name, namespace)
        contents.load_chapters({name} & contents.MODULES.keys())  # its equations, experiments and claims
        self.name, self.lines, self.broken = name, [], []
        self.usual = published_parameters(name, namespace.get("In", []))
        self.changed = {key: namespace[key] for key, value in self.usual.items() if namespace.get(key) != value}
        if self.changed:
            told = ", ".join(f"`{key}` = {new!r} instead of {self.usual[key]!r}" for key, new in self.changed.items())
            display(Markdown(f"*Run with {told}. Tables and figures show this run; the words were written about the "
                             "published parameters, and the checks below say which of them still hold.*"))  # fmt: skip

    def identity(self, name: str, error: object, bound: float = ROUNDING) -> None:
        """State what is true whatever the parameters; ``error``: the greatest relative difference, or violation.

        Raises
        ------
        AssertionError
            If the error is not below the bound.
        """
        worst = float(np.max(np.asarray(torch.as_tensor(error, dtype=torch.float64))))
        if not worst < bound:
            raise AssertionError(f"{name}: error {worst:.3g}, of which less than {bound:g} is allowed")
        self.lines.append(f"proved: {name} (error {max(worst, 0):.1g})")

    def housekeeping(self, name: str, holds: object) -> None:
        """Check what keeps the page in order and says nothing of its subject: it is not shown.

        Raises
        ------
        AssertionError
            If it does not hold.
        """
        if not holds:
            raise AssertionError(f"{name}: fails")

    def finding(
        self,
        name: str,
        holds: object | Callable[[], object],
        value: float | rules.Interval | Sequence[float] | Float[np.ndarray, "runs"] | Callable[[], object],
        n: int = 1,
        of: str = "runs",
    ) -> None:
        """State what was found with the published parameters.

        Where other parameters leave nothing to ask, a function given for ``holds`` or ``value`` may fail: the finding
        then does not hold.

        Parameters
        ----------
        name : str
            What was found, in a sentence.
        holds : object or function
            Whether it was.
        value : float, Interval, values or function
            The number that was compared; of one value for each run, their mean and its interval are shown.
        n : int
            From how many runs a single number is.
        of : str
            What was counted, if not runs.
        """
        line = name
        try:
            held = bool(holds() if callable(holds) else holds)
            found = measured(value() if callable(value) else value, n)
        except Exception as error:
            if not self.changed:
                raise
            held, found = False, rules.Interval(math.nan, math.nan, math.nan, 0)
            line += f" ({type(error).__name__})"
        usual = published_findings(self.name).get(self.usual_name(name)) if self.changed else None
        if math.isfinite(found.mean):
            FINDINGS[name] = number = float(f"{found.mean:.6g}")  # as many digits as processors agree on
            line += f": {number_in_words(found, of)}"
            if number == usual:
                line, usual = f"{line}, as with the published parameters", None
        if usual is not None:
            line += f"; with the published parameters {short(usual)}"
        kind = "measured" if not self.changed else "holds here too" if held else "does not hold here"
        self.lines.append(f"{kind}: {line}")
        if not held:
            self.broken.append(name)

    def usual_name(self, name: str) -> str:
        """The name of a finding with the published parameters: numbers in it may be those that were changed."""
        for key, new in self.changed.items():
            if isinstance(new, int | float) and isinstance(old := self.usual[key], int | float):
                name = re.sub(rf"(?<![\w.]){re.escape(f'{new:g}')}(?![\w.])", f"{old:g}", name)
        return name

    def show(self) -> None:
        """Show how every statement so far came out, a line each.

        Raises
        ------
        AssertionError
            If a finding does not hold with the published parameters.
        """
        if self.lines:
            display(Lines(self.lines))
        if self.broken and not self.changed:
            raise AssertionError(f"with the published parameters: {'; '.join(self.broken)}")
        self.lines, self.broken = [], []
