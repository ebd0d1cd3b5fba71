"""Checks of arguments that several rooms share; each says what was given and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from numbers import Integral, Real

import torch
from jaxtyping import Int
from torch import Tensor


def whole(name: str, value: object, least: int = 0) -> int:
    """``value`` as an int, or ValueError if it is no whole number or smaller than ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")
    return int(value)


def number(name: str, value: object, positive: bool = False) -> float:
    """``value`` as a float, or ValueError if it is not finite, negative, or (``positive``) zero."""
    is_number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or value < 0 or (positive and value == 0):
        allowed = "above 0" if positive else "at least 0"
        raise ValueError(f"{name} must be a finite number {allowed}, got {value!r}")
    return float(value)


def share(name: str, value: object, whole_allowed: bool = True) -> float:
    """``value`` as a float, or ValueError if it lies outside [0, 1], or is 1 where that is not allowed."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not (0 <= value < 1 or (whole_allowed and value == 1)):
        raise ValueError(f"{name} must lie in [0, 1{']' if whole_allowed else ')'}, got {value!r}")
    return float(value)


def one_of(name: str, value: object, allowed: Collection) -> None:
    """ValueError if ``value`` is none of those allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def check_integers(name: str, values: object) -> None:
    """ValueError unless the values are a vector of whole numbers."""
    is_tensor = isinstance(values, Tensor)
    if not is_tensor or values.dim() != 1 or values.dtype not in (torch.int64, torch.int32):
        found = f"{values.dtype} of shape {tuple(values.shape)}" if is_tensor else type(values).__name__
        raise ValueError(f"{name} must be a one-dimensional tensor of int64 or int32, got {found}")


def integers(name: str, values: Sequence[int]) -> Int[Tensor, "values"]:
    """The values as a vector of int64, or ValueError if that would change or reject any of them."""
    try:
        vector = torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} must be whole numbers ({error})") from None
    if len(vector) and (vector.is_floating_point() or vector.is_complex() or vector.dtype == torch.bool):
        raise ValueError(f"{name} must be whole numbers, got {vector.dtype}: {vector[:5].tolist()} ...")
    return vector.long()


def device(value: str | torch.device) -> torch.device:
    """A device of this machine, or ValueError."""
    try:
        found = torch.device(value)
        torch.empty(0, device=found).cpu()  # a device that holds no values cannot give them
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ValueError(f"device {value!r} cannot be used here ({str(error).splitlines()[0]})") from None
    return found
