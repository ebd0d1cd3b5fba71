"""The line under an equation on a page: which check it has passed, and which form of it fails."""

from __future__ import annotations

from uaftc_lib.equations.case import Case
from uaftc_lib.equations.registry import CheckResult, check, check_printed, lookup


def prove(*numbers: int, case: Case | None = None) -> None:
    """Print a line for each equation and each form of it that must fail.

    The lines say what was compared and with which bound, not the measured rounding error: they are the same
    on every machine.

    Raises
    ------
    AssertionError
        If a check does not come out as the registry says.
    ValueError
        If there is no such equation.
    """
    lines, unexpected = [], []
    for number in numbers:
        found = [(check(number, case), True)]
        if lookup(number).printed is not None:
            found.append((check_printed(number, case), False))
        for result, expected in found:
            lines.append(line(result))
            if result.passed != expected:
                unexpected.append(str(result))
    print("\n".join(lines))  # at once: one block on the page
    if unexpected:
        raise AssertionError("; ".join(unexpected))


def line(result: CheckResult) -> str:
    """What a check found, without numbers that depend on the machine."""
    verdict = "ok" if result.passed else "fails"
    name = f" {result.name}" if result.name else ""
    return f"Eq {result.number}{name}: {verdict} ({result.measure} {result.bound})"
