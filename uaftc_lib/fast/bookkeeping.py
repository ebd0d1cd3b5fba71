"""The fused training loop that keeps books: what a step did to the scores, by cause.

Written like :mod:`uaftc_lib.fast.kernels`, from its parts.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from uaftc_lib.fast.kernels.batch import attend, score_types, sort_by_type
from uaftc_lib.fast.kernels.epoch import source_checksum
from uaftc_lib.fast.kernels.lanes import LANES, adagrad_step, add, load, multiply_add, spread, store
from uaftc_lib.fast.kernels.rows import EPSILON, OPTIONS, dot, fetch, move_rows


class Books(NamedTuple):
    """Sums over the run, [types, heads]: column 0 for the attention score, column c for s_c."""

    along_V: np.ndarray  # E; A_c: the embedding moved along V
    along_W: np.ndarray  # D; B_c: the embedding moved along some W
    heads: np.ndarray  # F; C_c: V or W_c moved
    remainder: np.ndarray
    seen: np.ndarray  # the scores when they were last booked


def compile_book_epoch(checksum):
    """The loop, cached for this checksum of the parts that it calls (kernels/epoch.py)."""

    @njit(cache=True, **OPTIONS)
    def book_epoch(parameters, batches, rule, step, work, delta, books):
        """One pass over the batches like :func:`uaftc_lib.fast.kernels.train_epoch` (DP, no dropout), with books."""
        _ = checksum
        table, classes, T = parameters.table, rule.classes, parameters.table.dtype.type
        heads, _, stride = parameters.U.shape
        up = np.ones(heads, table.dtype)
        up[0] = T(1) / T(rule.lam)
        zero, one, epsilon = spread(T(0)), spread(T(1)), spread(T(EPSILON))
        flat, changes = table.reshape(-1), delta.reshape(-1)
        sizes, coefficient = np.zeros(stride, table.dtype), np.zeros_like(up)
        loss = 0.0
        for b in range(len(batches.bounds) - 1):
            first, last = batches.bounds[b], batches.bounds[b + 1]
            decay = 1 + (step + b) * rule.decay
            rate = T(rule.table_rate / decay)
            U = parameters.U[:, 0].copy()
            products = np.empty((heads, heads, stride), table.dtype)
            for c in range(heads):
                for t in range(heads):
                    products[c, t] = U[c] * U[t]
            flat_U, flat_products = U.reshape(-1), products.reshape(-1)
            count, slots = sort_by_type(batches, first, last, False, work)
            score_types(table, U, classes, up, count, work)
            for k in range(count):
                for t in range(heads):
                    books.heads[work.types[k], t] += work.scores[k, t] - books.seen[work.types[k], t]
            loss += attend(batches, first, last, slots, classes, work)
            gradients = np.zeros(heads * stride, table.dtype)
            sizes[:] = rate
            for k in range(count):
                fetch(flat, work.types, k, count, stride)
                w = work.types[k]
                e, squares = 2 * w * stride, (2 * w + 1) * stride
                for c in range(heads):
                    coefficient[c] = up[c] * work.sums[k, c] / T(last - first)
                for j in range(0, stride, LANES):
                    old, down, size = load(flat, e + j), zero, spread(rate)
                    for c in range(heads):
                        i = c * stride + j
                        down = multiply_add(spread(coefficient[c]), load(flat_U, i), down)
                        store(gradients, i, multiply_add(spread(-coefficient[c]), old, load(gradients, i)))
                    if rule.adagrad:
                        square = multiply_add(down, down, load(flat, squares + j))
                        store(flat, squares + j, square)
                        size = adagrad_step(one, square, spread(rate), epsilon)
                        store(sizes, j, size)
                    change = multiply_add(size, down, zero)
                    store(changes, k * stride + j, change)
                    store(flat, e + j, add(old, change))
                for t in range(heads):
                    for c in range(heads):
                        share = up[t] * coefficient[c] * dot(sizes, 0, flat_products, (c * heads + t) * stride, stride)
                        if c:
                            books.along_W[w, t] += share
                        else:
                            books.along_V[w, t] += share
                    books.seen[w, t] = up[t] * dot(flat_U, t * stride, flat, e, stride)
            by_head = gradients.reshape(heads, stride)
            move_rows(parameters.U[:1], by_head[:1], T(rule.V_rate / decay), rule.adagrad)
            move_rows(parameters.U[1:], by_head[1:], T(rule.W_rate / decay), rule.adagrad)
            # From here on seen holds new embeddings under old heads: the next visit finds C and the remainder.
            moved = (parameters.U[:, 0] - U).reshape(-1)
            for k in range(count):
                for t in range(heads):
                    remainder = up[t] * dot(changes, k * stride, moved, t * stride, stride)
                    books.remainder[work.types[k], t] += remainder
                    books.heads[work.types[k], t] -= remainder
        return loss

    return book_epoch


book_epoch = compile_book_epoch(source_checksum())
