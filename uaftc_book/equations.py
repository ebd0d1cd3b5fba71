"""The registry: what each numbered equation says, where it is shown, and the check that decides about it."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from textwrap import dedent

import numpy as np
import pandas as pd
import torch

from uaftc_book import contents
from uaftc_book.contents import chapter_of
from uaftc_book.random_models import Case
from uaftc_book.wording import Line, Lines, error_in_words

STATUSES = ("definition", "exact", "approximate", "conditional", "misprinted", "not legible in our copy")
STANDINGS = {
    "tested": "its check sets it against a computation that does not use it",
    "derived": "algebra: follows from a tested one, or is a product rule, which holds on any smooth path",
    "defined": "says what a symbol stands for",
}
TOLERANCE = 1e-12  # relative, float64, λ ≥ 1


@dataclass(frozen=True)
class Equality:
    """Two sides that should be equal; pairs of tensors or numbers."""

    left: object
    right: object


@dataclass(frozen=True)
class Order:
    """Relative errors that should scale like a power of ``scales``, the least below ``ceiling``; numbers, or rows."""

    scales: object
    errors: object
    expected: float
    tolerance: float = 0.1
    ceiling: float = 1e-5


@dataclass(frozen=True)
class Inequality:
    """A margin, one number a case, that should be positive everywhere."""

    margin: object
    measure: str = "smallest margin"


@dataclass(frozen=True)
class CheckResult:
    """One computed check: what was measured, against which bound, and whether it holds."""

    number: int
    name: str
    measure: str
    value: float
    bound: str
    passed: bool

    @property
    def kind(self) -> str:
        """What it shows: that its equation is proved, or derived from others; or fails."""
        derived = REGISTRY[self.number].standing == "derived"
        return "fails" if not self.passed else "derived" if derived else "proved"

    def __str__(self) -> str:
        verdict = "holds" if self.passed else "fails"
        name = f" {self.name}" if self.name else ""
        return f"Eq {self.number}{name}: {self.measure} {self.value:.3g} ({self.bound}) {verdict}"


@dataclass(frozen=True)
class Equation:
    """A numbered equation. ``printed`` is the check of a form that must fail: the misprint, or the statement
    outside its condition. ``correction`` says in words what differs, or what the condition is; ``standing`` what its
    check is worth (:data:`STANDINGS`)."""

    number: int
    title: str
    status: str
    page: str
    check: Callable[[Case], object]
    printed: Callable[[Case], object] | None = None
    correction: str = ""
    standing: str = "tested"


REGISTRY: dict[int, Equation] = {}
PROVED: set[int] = set()  # the equations that :func:`prove` has shown


def equation(number: int, title: str, status: str, printed=None, correction: str = "", standing: str = ""):
    """Decorator: registers the check of an equation; its page is the chapter whose module the check stands in."""
    if status not in STATUSES:
        raise ValueError(f"status must be one of {', '.join(STATUSES)}, got {status!r}")
    standing = standing or ("defined" if status == "definition" else "tested")
    if standing not in STANDINGS:
        raise ValueError(f"standing must be one of {', '.join(STANDINGS)}, got {standing!r}")

    def register(check):
        if number in REGISTRY:
            raise ValueError(f"equation {number} is registered already")
        page = chapter_of(check.__module__)
        REGISTRY[number] = Equation(number, title, status, page, check, printed, correction, standing)
        return check

    return register


def _flat(value) -> torch.Tensor:
    parts = value if isinstance(value, (tuple, list)) else [value]
    return torch.cat([torch.as_tensor(part, dtype=torch.float64).detach().reshape(-1) for part in parts])


def relative_error(left, right) -> float:
    """max|left − right| / max|right|; nan counts as infinitely wrong."""
    left, right = _flat(left), _flat(right)
    if left.shape != right.shape:
        return np.inf
    error = float((left - right).abs().max() / right.abs().max().clamp(min=1e-300))
    return np.inf if np.isnan(error) else error


def slopes(scales, errors) -> np.ndarray:
    """Slopes of log error over log scale, by least squares, one for each column of errors."""
    logs = np.log(_flat(errors).numpy()).reshape(len(scales), -1)
    return np.polyfit(np.log(np.asarray(scales, dtype=float)), logs, 1)[0]


def measure(number: int, name: str, found) -> CheckResult:
    """Turn what a check returned into a result."""
    if isinstance(found, Equality):
        error = relative_error(found.left, found.right)
        return CheckResult(number, name, "relative error", error, f"< {TOLERANCE:g}", error < TOLERANCE)
    if isinstance(found, Order):
        order = float(max(slopes(found.scales, found.errors), key=lambda each: abs(each - found.expected)))
        least = float(_flat(found.errors).reshape(len(found.scales), -1).amax(1).min())
        passed = abs(order - found.expected) <= found.tolerance and least < found.ceiling
        bound = f"{found.expected:g} ± {found.tolerance:g}, least error {least:.1g}, ceiling {found.ceiling:g}"
        return CheckResult(number, name, "measured order", order, bound, passed)
    if isinstance(found, Inequality):
        margin = float(_flat(found.margin).min())
        return CheckResult(number, name, found.measure, margin, "> 0", margin > 0)
    raise TypeError(f"a check returns Equality, Order or Inequality, got {type(found).__name__}")


def check(number: int, case: Case | None = None) -> CheckResult:
    """The check of one equation, in its correct form or under its condition.

    Raises
    ------
    ValueError
        If there is no such equation.
    """
    found = lookup(number)
    name = "corrected" if found.status == "misprinted" else ""
    return measure(number, name, found.check(case or Case()))


def check_printed(number: int, case: Case | None = None) -> CheckResult:
    """The check that must fail: of the form as printed, or outside the condition.

    Raises
    ------
    ValueError
        If there is no such equation, or nothing of it is known to fail.
    """
    found = lookup(number)
    if found.printed is None:
        raise ValueError(f"no form of equation {number} is known to fail; its status is {found.status!r}")
    name = "as printed" if found.status == "misprinted" else "outside its condition"
    return measure(number, name, found.printed(case or Case()))


def lookup(number: int) -> Equation:
    """The entry of an equation.

    Raises
    ------
    ValueError
        If there is no such equation.
    """
    if number not in REGISTRY:
        contents.load_chapters()
    if number not in REGISTRY:
        raise ValueError(f"equations run from 1 to {max(REGISTRY)}, got {number}")
    return REGISTRY[number]


def errata_table(case: Case | None = None) -> pd.DataFrame:
    """All equations with status, page, correction and what was measured, made from the registry.

    Columns: equation, title, status, standing, page, correction; measure, value, bound, holds (:class:`CheckResult`);
    failing_value, fails: of the form that must fail, where there is one.
    """
    contents.load_chapters()
    case = case or Case()
    rows = []
    for number in sorted(REGISTRY):
        entry, good = REGISTRY[number], check(number, case)
        bad = check_printed(number, case) if entry.printed else None
        told = {name: getattr(entry, name) for name in ("title", "status", "standing", "page", "correction")}
        told |= {"measure": good.measure, "value": good.value, "bound": good.bound, "holds": good.passed}
        fails = {"failing_value": bad and bad.value, "fails": bad and not bad.passed}
        rows.append({"equation": number} | told | fails)
    return pd.DataFrame(rows)


def prove(*numbers: int, case: Case | None = None) -> None:
    """Show a line for each equation and each form of it that must fail; on a page it opens to the code of its check.

    Raises
    ------
    AssertionError
        If a check does not come out as the registry says.
    ValueError
        If there is no such equation.
    """
    lines, shown, results, unexpected = [], [], [], []
    for number in numbers:
        entry = lookup(number)
        found = [(check(number, case), entry.check, True)]
        if entry.printed is not None:
            found.append((check_printed(number, case), entry.printed, False))
        for result, computed, expected in found:
            value = f"{result.value:.1g}" if result.value < TOLERANCE else f"{result.value:.3g}"
            value += "".join(result.bound.partition(", ")[1:])  # an order has a least error, too
            text = f"{' '.join(filter(None, (f'Eq {number}', result.name)))}, {result.measure} {value}"
            lines.append(Line(result.kind, text, source=source_of_check(result, computed, shown)))
            results.append(result)
            if result.passed != expected:
                unexpected.append(str(result))
    from IPython.display import display  # of the extra "book"

    display(Lines(lines, summary(results)))
    PROVED.update(numbers)
    if unexpected:
        raise AssertionError("; ".join(unexpected))


def summary(results: list[CheckResult]) -> str:
    """What came of a proof: which equations hold, how nearly, and where they do not."""
    groups = {}
    for one in results:
        groups.setdefault(one.kind if one.passed else f"fails {one.name}", []).append(one)
    parts = []
    for kind, group in groups.items():
        parts.append(f"{kind}: Eq {', '.join(str(one.number) for one in group)}")
        if group[0].passed:
            errors = [one.value for one in group if one.measure == "relative error"]
            by_measure = groupby(group, key=lambda one: one.measure)
            measures = ", ".join(f"{name} {', '.join(f'{one.value:.3g}' for one in same)}" for name, same in by_measure)
            parts[-1] += f" ({error_in_words(errors) if errors else measures})"
    text = "; ".join(parts).replace("e-", "e−").replace(" -", " −")
    return f"✓ {text[0].upper()}{text[1:]}"


def source_of_check(result: CheckResult, computed: Callable[[Case], object], shown: list[Callable]) -> str:
    """The code of a check, under what was measured, and of what it calls of its module or :mod:`.paths`.

    What is in ``shown`` already is not repeated; the others are added to it.
    """
    homes, called, parts = (computed.__module__, "uaftc_book.paths"), [computed], []
    for one in called:  # which grows
        parts.append(re.sub(r"\A@\w+\(.*?\)\n(?=def )", "", dedent(inspect.getsource(one)).strip(), flags=re.DOTALL))
        known = map(vars(sys.modules[one.__module__]).get, re.findall(r"\w{2,}", parts[-1]))
        own = (each for each in known if callable(each) and each.__module__ in homes)
        called += [each for each in dict.fromkeys(own) if each not in called + shown]
    shown += called
    code = "\n\n\n".join(parts).replace("def _(", f"def equation_{result.number}(")
    return f"# {result.measure} {result.value:.1g}, allowed: {result.bound}\n{code}"
