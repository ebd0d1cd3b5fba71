"""Checks of arguments that several rooms share; each says what was given and what is allowed."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection
from numbers import Integral, Real

MOST = 2**63 - 1  # of what torch and numpy count


class NotFinite(ValueError):
    """A result is no finite number: training diverged, or a model's parameters hold nan."""


def whole(name: str, value: object, least: int = 0) -> int:
    """``value`` as an int, or ValueError if it is no whole number, smaller than ``least``, or of more than 63 bits."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= value <= MOST:
        limit = f" and at most {MOST}" if isinstance(value, Integral) and value > MOST else ""
        raise ValueError(f"{name} must be a whole number, at least {least}{limit}, got {reprlib.repr(value)}")
    return int(value)


def real_number(name: str, value: object, positive: bool = False) -> float:
    """``value`` as a float, or ValueError if it is not finite, negative, or (``positive``) zero."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    try:
        number = float(value) if is_number else math.nan
    except OverflowError:  # a whole number of more than 308 digits
        number = math.inf
    if not math.isfinite(number) or number < 0 or (positive and number == 0):
        allowed = "above 0" if positive else "at least 0"
        raise ValueError(f"{name} must be a finite number {allowed}, got {reprlib.repr(value)}")
    return number


def fraction(name: str, value: object, whole_allowed: bool = True) -> float:
    """``value`` as a float, or ValueError if it lies outside [0, 1], or is 1 where that is not allowed."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not (0 <= value < 1 or (whole_allowed and value == 1)):
        raise ValueError(f"{name} must lie in [0, 1{']' if whole_allowed else ')'}, got {value!r}")
    return float(value)


def one_of(name: str, value: object, allowed: Collection) -> str:
    """``value``, or ValueError if it is none of those allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    return value
