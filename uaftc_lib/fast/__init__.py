"""The engine room: exact training without positions × d numbers. Its door is :func:`fast_trainer`.

trainers  what ``method="fast"`` trains with, and why it may decline
compiled  numba's cache, which mends itself
masks     dropout masks, bit by bit the same in every method
kernels   the fused loops
"""

from uaftc_lib.fast.trainers import FusedTrainer, TypeSums, TypewiseTrainer, fast_trainer, obstacle

__all__ = ["FusedTrainer", "TypeSums", "TypewiseTrainer", "fast_trainer", "obstacle"]
