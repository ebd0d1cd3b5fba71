"""What every chapter begins and ends with: its parameters are checked, its statements held against what came out.

An *identity* is proved: it is true whatever is chosen, and is a line with the error by which its sides differ. What was
*measured* is a number with a tick in a sentence or a cell (:mod:`uaftc_book.numbers`); with other parameters the page
says whether it holds there too, and repeats the published number. The foot of the page counts both. What only keeps
the page in order is *housekeeping*: it raises, and is not shown.
"""

from __future__ import annotations

from uaftc_book import same_sums  # noqa: F401 (numpy and torch come later)

# isort: split
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from uaftc_book import choices, contents, equations
from uaftc_book.numbers import MARK, ROUNDING, Number, largest, number
from uaftc_book.paragraphs import paragraph
from uaftc_book.parameters import check_parameters, default_parameters
from uaftc_book.wording import Line, Lines, error_in_words
from uaftc_lib import plots
from uaftc_lib.intervals import CONFIDENCE

CHECKOUT = Path(__file__).resolve().parents[1]
PARAMETERS = re.compile(r"^```\{code-cell\}.*\n:tags: \[.*\bparameters\b.*\]\n((?s:.*?))^```", re.MULTILINE)
OPEN = re.compile("not above|its interval holds")  # conditions that a wide interval fulfils
NUMBER = re.compile(r"[−+]?\d[\d.,]*(?:e[−-]?\d+)?")
BEFORE = 80  # characters of a sentence by which a number that fails is named
ROW = re.compile(r"<tr><td>([^<]*)</td><td>([^<]*)\s[✓✗]</td>")  # of a table of checked numbers


def published_parameters(name: str, cells: Collection[str]) -> dict[str, object]:
    """The parameters of a chapter as its source has them; outside a checkout as the cells that have run had them."""
    source = CHECKOUT / "notebooks" / f"{name}.md"
    if source.exists():
        cells = PARAMETERS.findall(source.read_text(encoding="utf-8"))
    return default_parameters(cells)


def published_numbers(name: str) -> dict[str, list[str]]:
    """The checked numbers of an executed chapter, by its paragraphs without their numbers and by the rows of tables."""
    copy, numbers = CHECKOUT / "book" / f"{name}.ipynb", defaultdict(list)
    cells = json.loads(copy.read_text(encoding="utf-8"))["cells"] if copy.exists() else []
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    for text in ("".join(output.get("data", {}).get("text/markdown", "")) for output in outputs):
        numbers[unnumbered(text)] += [number for kind, _, number, _ in MARK.findall(text) if kind == "checked"]
    for row in (row for output in outputs for row in ROW.findall("".join(output.get("data", {}).get("text/html", "")))):
        name, number = (unescape(cell).replace("\N{NO-BREAK SPACE}", " ") for cell in row)
        numbers[name].append(number)
    return numbers


def unnumbered(text: str) -> str:
    """A paragraph without its numbers."""
    return NUMBER.sub("", MARK.sub("", text))


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
        self.kinds, self.broken, self.by_interval = Counter(), [], 0
        self.usual = published_parameters(name, namespace.get("In", []))
        self.changed = {key: namespace[key] for key, value in self.usual.items() if namespace.get(key) != value}
        self.published = published_numbers(name) if self.changed else {}
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
        self.kinds["proved"] += 1
        display(Lines([Line("proved", f"{name} ({error_in_words([largest(error, bound, name)])})")]))

    def housekeeping(self, name: str, holds: object) -> None:
        """Check what keeps the page in order and says nothing of its subject: it is not shown.

        Raises
        ------
        AssertionError
            If it does not hold.
        """
        if not holds:
            raise AssertionError(f"{name}: fails")

    def number(self, value: object, n: int = 1, of: str = "runs", table: str = "", form: str = "") -> Number:
        """A number that knows from how much it is (:func:`uaftc_book.numbers.number`).

        Where other parameters leave nothing to measure, a function given for ``value`` may fail.
        """
        try:
            return number(value() if callable(value) else value, n, of, table, form)
        except Exception:
            if not self.changed:
                raise
            return number(np.nan, 0, of, table, form)

    def take(self, shown: str, where: str = "") -> str:
        """Count the ticks and crosses of what is shown; return it as plain text."""
        for one in MARK.finditer(shown):
            kind, condition, number, sign = one.groups()
            if kind == "checked":
                kind = "measured" if not self.changed else "holds here too" if sign == "✓" else "does not hold here"
            self.kinds[kind] += 1
            self.by_interval += kind == "measured" and "[" in number and not OPEN.match(condition)
            if sign == "✗":
                before = where or MARK.sub(r"\3", shown[: one.start()])[-BEFORE:]
                self.broken.append(f"{before}{number} ({condition})")
        return MARK.sub("\\3\N{NO-BREAK SPACE}\\4", shown)

    def say(self, text: str) -> None:
        """Show a paragraph. With other parameters checked numbers are followed by the published ones that differ."""
        text = paragraph(text)
        self.take(text)
        twins = self.published.get(unnumbered(text), [])

        def with_published(one: re.Match) -> str:
            twin = twins.pop(0) if twins and one[1] == "checked" else one[3]
            return one[0] if twin == one[3] else f"{one[0]} (published: {twin})"

        display(Markdown(MARK.sub(with_published, text)))

    def table(self, frame: pd.DataFrame, **options: object) -> None:
        """Show a table; cells may be numbers."""
        shown = frame.copy()
        for place, column in enumerate(frame):
            cells = zip(frame.iloc[:, 0], frame.iloc[:, place])
            written = [
                self.take(str(cell), f"{first}, {column}: ") if isinstance(cell, (str, Number)) else cell
                for first, cell in cells
            ]
            shown.isetitem(place, written)
        display(plots.table(shown, **options))

    def results(self, rows: dict[str, Number]) -> None:
        """Show checked numbers as a table, each with its condition; with other parameters the published ones, too."""
        columns = {"what": [*rows], "measured": [*rows.values()]}
        columns |= {"checked": [one.checked for one in rows.values()]}
        if self.changed:
            columns |= {"published": [*("".join(self.published.get(name, [])[:1]) for name in rows)]}
        self.table(pd.DataFrame(columns))

    def exercise(self, answer: object, check: Callable[[object], bool], right: object, tempting: object) -> None:
        """Say whether the reader's answer passes a check; ``...`` stands for none yet.

        Raises
        ------
        AssertionError
            If the check refuses the right answer, or accepts the tempting one.
        """
        self.housekeeping("the check accepts the right answer alone", check(right) and not check(tempting))
        if answer is not ...:
            print("Right." if check(answer) else "Not yet.")

    def show(self) -> None:
        """Show how many statements there were of each kind, and which do not hold.

        Raises
        ------
        AssertionError
            If one does not hold with the published parameters.
        """
        if total := self.kinds.total():
            line = f"{total} statements checked: {', '.join(f'{n} {kind}' for kind, n in self.kinds.items())}"
            if self.by_interval:  # of a false statement the interval ends beyond the bound in no more runs than these
                lucky = round(self.by_interval * (1 - CONFIDENCE) / 2)
                lucky = f"at most about {lucky}" if lucky else "fewer than one"
                line += f"; if all {self.by_interval} with a {CONFIDENCE:.0%} interval were false, "
                line += f"{lucky} would pass by chance"
            line += f"; {len(equations.PROVED)} equations checked above" * bool(equations.PROVED)
            line += f"; these do not hold: {'; '.join(self.broken)}" * bool(self.broken)
            display(Lines([], line))
        if self.broken and not self.changed:
            raise AssertionError(f"with the published parameters: {'; '.join(self.broken)}")
        self.kinds, self.broken, self.by_interval = Counter(), [], 0
        equations.PROVED.clear()
