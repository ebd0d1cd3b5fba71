"""The fused training loops of DP, DP-A and AD, at the level of arrays.

A step needs two numbers a position and one pass over the embeddings of the types that occur in the batch, because
an embedding acts, and moves, only along the heads: the vectors V̂, Ŵ_1, ... Ŵ_K whose products with it are its
attention score (times λ) and its polarity scores. For DP the heads are V and W, for DP-A MᵀV and MᵀW (Eq 57, 58).
With dropout the pass visits every occurrence under its own mask, but reads and writes memory no more often,
because it goes through the batch type by type. For AD the keys tanh(M e) take the place of the attention head, at
the price of d² operations a type, or an occurrence.

Rows have `stride` numbers, d rounded up to a multiple of `LANES`, the rest zeros. A parameter and Adagrad's sum of
its squared gradients lie side by side. Of the heads, 0 is attention and 1, ... K are the classes (two: K = 1).
Inside, rows are places in flat arrays: a view of a row would be counted as a reference, at the price of the row.
"""

from uaftc_lib.fast.kernels.arrays import Batches, Parameters, Rule, Workspace, stride_of, workspace
from uaftc_lib.fast.kernels.epoch import train_additive_epoch, train_epoch
from uaftc_lib.fast.kernels.rows import EPSILON

__all__ = [
    "EPSILON",
    "Batches",
    "Parameters",
    "Rule",
    "Workspace",
    "stride_of",
    "train_additive_epoch",
    "train_epoch",
    "workspace",
]
