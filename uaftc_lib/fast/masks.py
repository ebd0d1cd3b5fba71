"""Dropout masks as a pure function of where they are used.

A mask bit depends on (seed, stream, step, row, dimension) alone, so the autograd path, which wants whole
arrays, and the fused loop, which wants one row at a time, see the same masks, and neither keeps a generator.

Word n of a batch is the n-th output of splitmix64 (Steele, Lea & Flood 2014) started at a key hashed from
(seed, stream, step). A word serves 64 dimensions of one row. A bit that is 1 with probability k/2^b takes b
words, one a binary digit of the probability; trailing zeros are free, so dropout 0.5 costs one random bit an
element.
"""

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from uaftc_lib.fast.compiled import compiled_once

EMBEDDINGS = 0  # stream of the token occurrences: row = position within the batch
POOLED = 1  # stream of the pooled vectors: row = instance within the batch

DIGITS = 16  # probabilities are rounded to multiples of 2^-16

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


def keep_digits(dropout: float) -> tuple[int, int]:
    """Numerator k and digits b of the keep probability k/2^b, the multiple of 2^-16 nearest to 1 − dropout.

    It lies strictly between 0 and 1 unless `dropout` is 0, which gives (1, 0). The rounding error is at most
    2^-17 (2^-16 for a dropout next to 0 or 1).

    Raises
    ------
    ValueError
        When `dropout` is not in [0, 1).
    """
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout is {dropout}; it must lie in [0, 1), where 0 switches it off.")
    if dropout == 0:
        return 1, 0
    numerator = min(max(round((1 - dropout) * 2**DIGITS), 1), 2**DIGITS - 1)
    digits = DIGITS
    while numerator % 2 == 0:
        numerator, digits = numerator // 2, digits - 1
    return numerator, digits


def keep_probability(dropout: float) -> float:
    """The probability used for 1 − dropout. Survivors are divided by it, so that masking keeps the mean."""
    numerator, digits = keep_digits(dropout)
    return numerator / 2**digits


@compiled_once()
def _mix(word):
    word = (word ^ (word >> _S30)) * _FIRST
    word = (word ^ (word >> _S27)) * _SECOND
    return word ^ (word >> _S31)


@compiled_once()
def batch_key(seed, stream, step):
    """The key (uint64) of all masks of one stream in one batch."""
    key = _mix(np.uint64(seed) + _GOLDEN)
    key = _mix(key ^ (np.uint64(stream) + _GOLDEN))
    return _mix(key ^ (np.uint64(step) + _GOLDEN))


@compiled_once()
def keep_word(key, index, numerator, digits):
    """64 keep bits: bit i of word `index` = row · ⌈dimension/64⌉ + j belongs to dimension 64·j + i."""
    counter = np.uint64(key) + _GOLDEN * (np.uint64(index) * np.uint64(digits) + _ONE)
    bits = _mix(counter)  # the last digit is always 1: k is odd
    for digit in range(1, digits):
        counter += _GOLDEN
        if (numerator >> digit) & 1:
            bits |= _mix(counter)
        else:
            bits &= _mix(counter)
    return bits


@compiled_once()
def _fill(keep, seed, stream, step, first_row, numerator, digits):
    key = batch_key(seed, stream, step)
    rows, dimension = keep.shape
    words = (dimension + 63) // 64
    for row in range(rows):
        for j in range(words):
            bits = keep_word(key, (first_row + row) * words + j, numerator, digits)
            for i in range(64 * j, min(64 * j + 64, dimension)):
                keep[row, i] = bits & _ONE != _ZERO
                bits >>= _ONE


def draw_masks(
    seed: int, stream: int, step: int, first_row: int, rows: int, dimension: int, dropout: float
) -> Bool[Tensor, "rows dimension"]:
    """Keep masks (True: the element survives) of rows first_row … first_row + rows − 1 of one batch.

    Rows are its positions (``stream`` `EMBEDDINGS`) or its instances (`POOLED`), ``step`` is its number, counted over
    the whole run, and ``dropout`` the probability that an element is dropped, rounded as `keep_digits` says.

    Raises
    ------
    ValueError
        When `dropout` is not in [0, 1) or a counter is negative.
    """
    counters = {"seed": seed, "stream": stream, "step": step, "first_row": first_row}
    for name, value in counters.items():
        if value < 0:
            raise ValueError(f"{name} is {value}; it counts something and must be 0 or more.")
    numerator, digits = keep_digits(dropout)
    keep = np.ones((rows, dimension), dtype=np.bool_)
    if digits:
        _fill(keep, seed, stream, step, first_row, numerator, digits)
    return torch.from_numpy(keep)
