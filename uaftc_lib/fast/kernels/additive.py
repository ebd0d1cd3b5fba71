"""The stages of a training step that additive attention does in its own way: score, and move the embeddings.

Its keys tanh(M e) cost d² a slot, and with dropout every occurrence has its own. Slots are taken type by type and
some at a time: their embeddings, masked, fill the rows of a small matrix, and the three products with M of a step
(Eq 65, 66 and 68: the keys, and the gradients by e and by M) are products of such matrices.
"""

import numpy as np

from uaftc_lib.fast.kernels.lanes import LANES, add, load, multiply_add, pick, splat, store, tanh, total
from uaftc_lib.fast.kernels.rows import add_product, compiled, fetch_ahead, inlined, mask_bits, move
from uaftc_lib.fast.masks import keep_word

BLOCK = 64  # slots at a time
ALL = np.uint64(2**64 - 1)


@inlined
def mask(words, at, j, dropout):
    return mask_bits(words, at, j) if dropout else ALL


@inlined
def mask_row(x, row, flat, e, words, at, factor, dropout, stride):
    """The embedding at e under its mask, as a row of x."""
    zero = splat(flat.dtype.type(0))
    for j in range(0, stride, LANES):
        e_j = pick(load(flat, e + j), mask(words, at, j, dropout))
        store(x, row + j, multiply_add(splat(factor), e_j, zero))


@compiled
def score_additive(table, U, M, classes, lam, factor, count, slots, key, rule, work):
    """a_j and s_j (Eq 65, 7) of the types of the batch, with dropout of its positions, each under its masks."""
    types, end, scores, occurrence = work.types, work.end, work.scores, work.occurrence
    words, pooled, keys = work.words.reshape(-1), work.pooled.reshape(-1), work.keys.reshape(-1)
    width, stride, dropout = work.words.shape[1], table.shape[2], rule.keep_digits > 0
    flat, heads = table.reshape(-1), U.reshape(-1)
    transposed = np.zeros_like(M)
    transposed[:, : len(M)] = M[:, : len(M)].T
    x = np.empty(BLOCK * stride, table.dtype)
    zero = splat(flat.dtype.type(0))
    k = 0
    for begin in range(0, slots, BLOCK):
        size = min(BLOCK, slots - begin)
        for o in range(begin, begin + size):
            while o >= end[k]:
                k += 1
            fetch_ahead(flat, types, k, count, stride)
            position, t = (occurrence[o, 0], occurrence[o, 1]) if dropout else (o, 0)
            if dropout:
                for i in range(width):
                    index = position * width + i
                    words[o * width + i] = keep_word(key, index, rule.keep_numerator, rule.keep_digits)
            row = (o - begin) * stride
            mask_row(x, row, flat, types[k] * 2 * stride, words, o * width, factor, dropout, stride)
            for c in range(1, len(classes) + 1):
                result = zero
                for j in range(0, stride, LANES):
                    W_j = pick(load(heads, c * stride + j), mask(pooled, t * width, j, dropout))
                    result = multiply_add(load(x, row + j), W_j, result)
                scores[position, c] = factor * total(result)
        block = keys[begin * stride :]
        block[: (size + 3) * stride] = 0
        add_product(x, stride, 1, size, len(M), transposed.reshape(-1), block, stride)
        for o in range(begin, begin + size):
            result = zero
            for j in range(0, stride, LANES):
                lanes = tanh(load(keys, o * stride + j))
                store(keys, o * stride + j, lanes)
                result = multiply_add(lanes, load(heads, j), result)
            scores[occurrence[o, 0] if dropout else o, 0] = total(result) / lam


@compiled
def update_additive(table, U, M, classes, lam, factor, count, slots, rate, share, rule, U_gradient, work):
    """Move the embeddings of the batch (Eq 66); on the way gather the gradients by V and W, and return that by M."""
    types, end, sums, occurrence = work.types, work.end, work.sums, work.occurrence
    words, pooled, keys = work.words.reshape(-1), work.pooled.reshape(-1), work.keys.reshape(-1)
    width, stride, dropout = work.words.shape[1], table.shape[2], rule.keep_digits > 0
    flat, heads, head_gradients = table.reshape(-1), U.reshape(-1), U_gradient.reshape(-1)
    M_gradient = np.zeros((-(-len(M) // 4) * 4, stride), table.dtype)
    x, inner = np.empty(BLOCK * stride, table.dtype), np.empty(BLOCK * stride, table.dtype)
    back = np.empty(BLOCK * stride, table.dtype)
    zero, down = splat(flat.dtype.type(0)), splat(-factor * factor * share)
    sides = np.zeros((len(classes) + 1) * stride, flat.dtype)  # row 0: by way of the keys
    fill = k = 0
    for begin in range(0, slots, BLOCK):
        size = min(BLOCK, slots - begin)
        for o in range(begin, begin + size):
            while o >= end[fill]:
                fill += 1
            row = (o - begin) * stride
            mask_row(x, row, flat, types[fill] * 2 * stride, words, o * width, factor, dropout, stride)
            rho = sums[occurrence[o, 0] if dropout else o, 0] * share / lam
            side, minus = splat(-rho), splat(rho)
            for j in range(0, stride, LANES):
                key = load(keys, o * stride + j)
                store(head_gradients, j, multiply_add(side, key, load(head_gradients, j)))
                slope = multiply_add(multiply_add(minus, key, zero), key, side)
                store(inner, row + j, multiply_add(slope, load(heads, j), zero))
        back[:] = 0
        add_product(inner, stride, 1, size, len(M), M.reshape(-1), back, stride)
        add_product(inner, 1, stride, len(M), size, x, M_gradient.reshape(-1), stride)
        for o in range(begin, begin + size):
            position, t = (occurrence[o, 0], occurrence[o, 1]) if dropout else (o, 0)
            for j in range(0, stride, LANES):
                bits = mask(words, o * width, j, dropout)
                store(sides, j, add(load(sides, j), pick(load(back, (o - begin) * stride + j), bits)))
                for c in range(1, len(classes) + 1):
                    coefficient, at = splat(sums[position, c]), c * stride + j
                    both = bits & mask(pooled, t * width, j, dropout)
                    store(sides, at, add(load(sides, at), pick(coefficient, both)))
            if o + 1 == end[k]:
                e = types[k] * 2 * stride
                for j in range(0, stride, LANES):
                    e_j, gradient = load(flat, e + j), multiply_add(splat(factor), load(sides, j), zero)
                    store(sides, j, zero)
                    for c in range(1, len(classes) + 1):
                        at = c * stride + j
                        side = multiply_add(down, load(sides, at), zero)
                        gradient = multiply_add(side, load(heads, at), gradient)
                        store(head_gradients, at, multiply_add(side, e_j, load(head_gradients, at)))
                        store(sides, at, zero)
                    move(flat, e + j, e + stride + j, gradient, rate, rule.adagrad)
                k += 1
    return M_gradient[: len(M)]
