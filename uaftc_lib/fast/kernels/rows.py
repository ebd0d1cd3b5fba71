"""Operations on rows: places in flat arrays, `stride` numbers long."""

import numpy as np
from numba import njit

from uaftc_lib.fast.kernels.lanes import LANES, adagrad_step, add, load, multiply_add, prefetch, splat, store, total

AHEAD = 4  # rows between the one that is fetched and the one that is used
EPSILON = 1e-10  # Adagrad's, as in torch
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
# Without an entry from Python these compile faster. Only the whole loop is cached (epoch.py).
INNER = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
compiled = njit(**INNER)
inlined = njit(forceinline=True, **INNER)


@inlined
def dot(x, at, y, other, stride):
    """x[at : at + stride] · y[other : other + stride]"""
    result = splat(x.dtype.type(0))
    for j in range(0, stride, LANES):
        result = multiply_add(load(x, at + j), load(y, other + j), result)
    return total(result)


@inlined
def mask_bits(words, at, j):
    """The mask bits of elements j to j + LANES − 1 of the row whose words start at `at`."""
    return words[at + (j >> 6)] >> np.uint64(j & 63)


@inlined
def move(parameter, at, squares, gradient, rate, adagrad):
    """One step of Adagrad or SGD for the `LANES` elements at `at`, their sums at `squares`."""
    if adagrad:
        s = multiply_add(gradient, gradient, load(parameter, squares))
        store(parameter, squares, s)
        epsilon = splat(parameter.dtype.type(EPSILON))
        store(parameter, at, add(load(parameter, at), adagrad_step(gradient, s, splat(-rate), epsilon)))
    else:
        store(parameter, at, multiply_add(splat(-rate), gradient, load(parameter, at)))


@inlined
def fetch_ahead(flat, types, k, count, stride):
    """Ask for the row that will be needed some rows later."""
    if k + AHEAD < count:
        row = types[k + AHEAD] * 2 * stride
        for j in range(0, 2 * stride, LANES):
            prefetch(flat, row + j)


@inlined
def is_kept(words, i):
    return words[i >> 6] >> np.uint64(i & 63) & np.uint64(1)


@compiled
def move_rows(parameter, gradient, rate, adagrad):
    """One step for a parameter [rows, 2, stride]."""
    rows, _, stride = parameter.shape
    values, flat_gradient = parameter.reshape(-1), gradient.reshape(-1)
    for i in range(rows):
        for j in range(0, stride, LANES):
            g = load(flat_gradient, i * stride + j)
            move(values, 2 * i * stride + j, (2 * i + 1) * stride + j, g, rate, adagrad)


@compiled
def add_product(x, row_step, inner_step, rows, inner, y, z, stride):
    """z += x @ y, four rows at a time. Small, and never on more than one thread.

    x is any array, its rows and columns so many places apart; y has `inner` rows, z `rows` rounded up to 4.
    """
    for j in range(0, stride, LANES):
        for row in range(0, rows, 4):
            first, second = row * row_step, min(row + 1, rows - 1) * row_step
            third, fourth = min(row + 2, rows - 1) * row_step, min(row + 3, rows - 1) * row_step
            at = row * stride + j
            a, b = load(z, at), load(z, at + stride)
            c, d = load(z, at + 2 * stride), load(z, at + 3 * stride)
            for i in range(inner):
                lanes, column = load(y, i * stride + j), i * inner_step
                a = multiply_add(splat(x[first + column]), lanes, a)
                b = multiply_add(splat(x[second + column]), lanes, b)
                c = multiply_add(splat(x[third + column]), lanes, c)
                d = multiply_add(splat(x[fourth + column]), lanes, d)
            store(z, at, a)
            store(z, at + stride, b)
            store(z, at + 2 * stride, c)
            store(z, at + 3 * stride, d)
