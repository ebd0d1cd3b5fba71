"""How many threads torch uses, chosen where the work is."""

from __future__ import annotations

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
