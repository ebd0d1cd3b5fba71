"""Loops that numba compiles once and keeps on disk, in a cache that mends itself."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress

import numba
from numba.core.caching import FunctionCache


class MendedCache(FunctionCache):
    """numba's cache of a function. numba stops for good at a file that a crash has cut; here it is made anew."""

    def load_overload(self, sig: object, target_context: object) -> object:
        """The compiled function, or None where it is not there or cannot be read: it is then compiled again."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a cut or altered pickle raises anything
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Keep a compiled function where that is possible: on a full disk it is compiled again next time."""
        with suppress(OSError, EOFError, pickle.PickleError):
            super().save_overload(sig, data)


def compiled_once(**options: object) -> Callable:
    """Decorator: ``numba.njit`` with these options, without the global lock, and kept on disk where that can be had."""

    def compile_(function: Callable) -> Callable:
        dispatcher = numba.njit(**({"nogil": True} | options))(function)
        with suppress(RuntimeError):  # no folder can be written: each process compiles for itself
            dispatcher._cache = MendedCache(function)
        return dispatcher

    return compile_
