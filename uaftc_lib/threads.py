"""How torch computes: with how many threads, and on a card in which order and precision."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it, or within a function that it decorates, torch computes with one thread on the CPU.

    Models as small as these are faster so, and sums, which depend on their order, come out the same on machines
    with other numbers of cores. Parallelism belongs to processes.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def denormals_are_zero() -> Iterator[None]:
    """Within it numbers too small for all their digits count as zero: they take a processor ten times as long.

    Moments and rows of rare words end there, since they only decay.
    """
    before = sys.float_info.min / 2 == 0.0  # torch can set this, but not report it
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


@contextmanager
def exact_on(device: torch.device) -> Iterator[None]:
    """Within it a CUDA device keeps float32 in recurrent networks, and adds in the same order in every run.

    By default cuDNN rounds float32 to the 10 bits of TF32, and sums by index come in another order each time. Where
    torch knows no fixed order for an operation, it warns and names the operation. Other devices are left alone.
    """
    if device.type != "cuda":
        yield
        return
    cudnn, fixed = torch.backends.cudnn, torch.are_deterministic_algorithms_enabled()
    # Since torch 2.9 each operation has a flag of its own, and reading the older one may raise.
    owner, name, exact = (
        (cudnn.rnn, "fp32_precision", "ieee") if hasattr(cudnn, "rnn") else (cudnn, "allow_tf32", False)
    )
    before = getattr(owner, name)
    setattr(owner, name, exact)
    if not fixed:
        torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        setattr(owner, name, before)
        if not fixed:
            torch.use_deterministic_algorithms(False)
