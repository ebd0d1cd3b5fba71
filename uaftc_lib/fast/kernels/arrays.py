"""What the fused loop works on."""

from typing import NamedTuple

import numpy as np

from uaftc_lib.fast.kernels.lanes import LANES


class Parameters(NamedTuple):
    """Parameters and, beside each, Adagrad's sums; all float32 or all float64."""

    table: np.ndarray  # [types, 2, stride]
    U: np.ndarray  # [heads, 2, stride]: V, W_1, ... W_K
    M: np.ndarray  # [d, 2, stride]; [0, 2, stride] for DP


class Batches(NamedTuple):
    """A corpus, and the instances of each batch of an epoch: order[bounds[b] : bounds[b + 1]]."""

    tokens: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    order: np.ndarray
    bounds: np.ndarray


class Rule(NamedTuple):
    """What is minimised, and how."""

    classes: tuple  # (0, ... K − 1): a tuple, so that the compiler knows K; one class: logistic loss, else softmax
    lam: float
    penalty: float
    weight_decay: float  # on M
    adagrad: bool  # else SGD
    table_rate: float
    V_rate: float
    W_rate: float
    M_rate: float
    decay: float  # of the rates
    seed: int
    keep_numerator: int  # an element is kept with probability keep_numerator / 2^keep_digits
    keep_digits: int  # 0: no dropout


class Workspace(NamedTuple):
    """Scratch space; between batches the first two arrays hold zeros. A slot is a type, with dropout a position."""

    present: np.ndarray  # [types, rounded up to 8], uint8: does the type occur?
    cursor: np.ndarray  # [types], int32: how often; then where its next occurrence goes
    types: np.ndarray  # [positions], int64: the types of the batch, ascending
    end: np.ndarray  # [positions], int32: one past the last slot of each of these types, sorted by type
    slot: np.ndarray  # [positions], int32: the slot of each position
    occurrence: np.ndarray  # [positions, 2], int32: position and instance, type by type (dropout)
    words: np.ndarray  # [positions, words], uint64: mask bits, type by type (dropout)
    pooled: np.ndarray  # [instances, words], uint64: mask bits of the pooled vectors (dropout)
    scores: np.ndarray  # [positions, heads]: a and s of each slot
    sums: np.ndarray  # [positions, heads]: ρ and π of each slot (Eq 16, 20)
    exponential: np.ndarray  # [positions]: exp(a − largest a) of each slot
    keys: np.ndarray  # [positions + 3, stride]: tanh(M e), type by type (AD)


def stride_of(dimension):
    """d rounded up to a multiple of `LANES`."""
    return -(-dimension // LANES) * LANES


def workspace(parameters, rule, positions, instances, keys=False):
    """Scratch space for batches of at most so many positions and instances, with keys for AD."""
    types, _, stride = parameters.table.shape
    heads, dtype = len(parameters.U), parameters.table.dtype
    dropout = rule.keep_digits > 0
    most_types = min(types, positions)
    slots = positions if dropout else most_types
    words = -(-stride // 64)
    occurrences = positions if dropout else 0
    return Workspace(
        present=np.zeros(-(-types // 8) * 8, np.uint8),
        cursor=np.zeros(types, np.int32),
        types=np.empty(most_types, np.int64),
        end=np.empty(most_types, np.int32),
        slot=np.empty(positions, np.int32),
        occurrence=np.empty((occurrences, 2), np.int32),
        words=np.empty((occurrences, words), np.uint64),
        pooled=np.empty((instances if dropout else 0, words), np.uint64),
        scores=np.empty((slots, heads), dtype),
        sums=np.empty((slots, heads), dtype),
        exponential=np.empty(slots, dtype),
        keys=np.empty((slots + 3 if keys else 0, stride), dtype),
    )
