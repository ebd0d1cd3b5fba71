"""With what, where and when a result was made."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

import numpy
import torch

import uaftc_lib


def processor() -> str:
    """The processor's name as its maker gives it, else the kind of machine."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    """The number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def provenance() -> dict[str, str | int]:
    """Versions (library, Python, torch, numpy), the machine and its cores, and the day (UTC)."""
    return {
        "version": uaftc_lib.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "machine": processor(),
        "cores": cores(),
        "date": datetime.now(UTC).date().isoformat(),
    }
