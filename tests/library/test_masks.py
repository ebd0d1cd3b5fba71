"""Dropout masks: the same from every caller, and random enough."""

import numpy as np
import pytest
import torch

from uaftc_lib.fast.masks import EMBEDDINGS, POOLED, draw_masks, keep_digits, keep_probability

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15


def mix(word):
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % WORD
    return word ^ (word >> 31)


def keep_bit(seed, stream, step, row, dimension, element, dropout):
    """The definition, one bit at a time in Python's integers."""
    key = mix((seed + GOLDEN) % WORD)
    key = mix(key ^ ((stream + GOLDEN) % WORD))
    key = mix(key ^ ((step + GOLDEN) % WORD))
    numerator, digits = keep_digits(dropout)
    word = row * ((dimension + 63) // 64) + element // 64
    bit = 0
    for digit in range(digits):
        draw = mix((key + GOLDEN * (word * digits + digit + 1)) % WORD) >> (element % 64) & 1
        bit = bit | draw if numerator >> digit & 1 else bit & draw
    return bool(bit)


def test_splitmix64_reference_outputs():
    """The first outputs of splitmix64 from state 1234567, as its authors' program prints them."""
    outputs = [mix((1234567 + GOLDEN * (n + 1)) % WORD) for n in range(3)]
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("dropout", [0.5, 0.25, 0.3, 1e-9, 1 - 1e-9])
@pytest.mark.parametrize("dimension", [1, 64, 100])
def test_masks_follow_the_definition(dropout, dimension):
    masks = draw_masks(3, POOLED, 41, 7, 4, dimension, dropout)
    expected = [
        [keep_bit(3, POOLED, 41, row, dimension, element, dropout) for element in range(dimension)]
        for row in range(7, 11)
    ]
    assert masks.tolist() == expected


def test_rows_do_not_depend_on_the_slice():
    whole = draw_masks(0, EMBEDDINGS, 5, 0, 50, 100, 0.3)
    assert torch.equal(draw_masks(0, EMBEDDINGS, 5, 20, 10, 100, 0.3), whole[20:30])


@pytest.mark.parametrize("dropout", [0.5, 0.3])
def test_no_correlation_between_neighbours(dropout):
    """Neighbouring dimensions, rows, steps, streams and seeds are uncorrelated: |r| < 5/√n."""
    base = draw_masks(0, EMBEDDINGS, 0, 0, 2000, 100, dropout).numpy()
    pairs = [(base[:, 1:], base[:, :-1]), (base[1:], base[:-1]), (base[:, 64:], base[:, :36])]
    for seed, stream, step in [(1, 0, 0), (0, 1, 0), (0, 0, 1)]:
        pairs.append((base, draw_masks(seed, stream, step, 0, 2000, 100, dropout).numpy()))
    for left, right in pairs:
        assert abs(np.corrcoef(left.ravel(), right.ravel())[0, 1]) < 5 / left.size**0.5


def test_no_dropout_keeps_all():
    assert draw_masks(0, EMBEDDINGS, 0, 0, 3, 5, 0.0).all() and keep_probability(0.0) == 1


def test_keep_probability_is_near():
    for dropout in np.linspace(0.001, 0.999, 500):
        assert abs(keep_probability(dropout) - (1 - dropout)) <= 2**-17


@pytest.mark.parametrize(
    "step, dropout, message",
    [*((0, dropout, r"must lie in \[0, 1\)") for dropout in (-0.1, 1.0, float("nan"))), (-1, 0.5, "step is -1")],
)
def test_what_cannot_be_is_refused(step, dropout, message):
    with pytest.raises(ValueError, match=message):
        draw_masks(0, EMBEDDINGS, step, 0, 1, 1, dropout)
