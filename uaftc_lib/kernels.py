"""The fused training loop of DP and DP-A, at the level of arrays.

A step needs two numbers a position and one pass over the embeddings of the types that occur in the batch, because
an embedding acts, and moves, only along the heads: the vectors V̂, Ŵ_1, ... Ŵ_K whose products with it are its
attention score (times λ) and its polarity scores. For DP the heads are V and W, for DP-A MᵀV and MᵀW (Eq 57, 58).
With dropout the pass visits every occurrence under its own mask, but reads and writes memory no more often,
because it goes through the batch type by type.

Rows have `stride` numbers, d rounded up to a multiple of `LANES`, the rest zeros. A parameter and Adagrad's sum of
its squared gradients lie side by side. Along "heads" 0 is attention and 1, ... K are the classes.

Compiled code is cached with this file: touch it after a change of masks.py or lanes.py.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from uaftc_lib.lanes import LANES, adagrad_step, add, keep, load, multiply_add, prefetch, spread, store, total
from uaftc_lib.masks import EMBEDDINGS, POOLED, batch_key, keep_word

AHEAD = 4  # rows between the one that is fetched and the one that is used
EPSILON = 1e-10  # Adagrad's, as in torch
compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})


class Parameters(NamedTuple):
    """Parameters and, beside each, Adagrad's sums; all float32 or all float64."""

    table: np.ndarray  # [types, 2, stride]
    U: np.ndarray  # [heads, 2, stride]: V, W_1, ... W_K
    M: np.ndarray  # [2, d, stride]; [2, 0, stride] for DP


class Batches(NamedTuple):
    """A corpus, and the instances of each batch of an epoch: order[bounds[b] : bounds[b + 1]]."""

    tokens: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    order: np.ndarray
    bounds: np.ndarray


class Rule(NamedTuple):
    """What is minimised, and how."""

    binary: bool  # logistic loss, else softmax
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
    cursor: np.ndarray  # [types], int32: how often; then its slot, or where its next occurrence goes
    types: np.ndarray  # [positions], int64: the types of the batch, ascending
    end: np.ndarray  # [positions], int32: one past the last occurrence of each of these types
    slot: np.ndarray  # [positions], int32: the slot of each position
    occurrence: np.ndarray  # [positions, 2], int32: position and instance, type by type (dropout)
    words: np.ndarray  # [positions, words], uint64: mask bits, type by type (dropout)
    pooled: np.ndarray  # [instances, words], uint64: mask bits of the pooled vectors (dropout)
    scores: np.ndarray  # [positions, heads]: a and s of each slot
    sums: np.ndarray  # [positions, heads]: ρ and π of each slot (Eq 16, 20)
    exponential: np.ndarray  # [positions]: exp(a − largest a) of each slot
    masked_W: np.ndarray  # [instances · K, d]: W under the masks of the pooled vectors (DP-A with dropout)


def stride_of(dimension):
    """d rounded up to a multiple of `LANES`."""
    return -(-dimension // LANES) * LANES


def workspace(parameters, rule, positions, instances):
    """Scratch space for batches of at most so many positions and instances."""
    types, _, stride = parameters.table.shape
    heads, dtype = len(parameters.U), parameters.table.dtype
    dropout, affine = rule.keep_digits > 0, parameters.M.shape[1] > 0
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
        masked_W=np.empty(
            (instances * (heads - 1) if dropout and affine else 0, parameters.M.shape[1]), dtype
        ),
    )


@compiled
def dot(x, y):
    result = spread(x.dtype.type(0))
    for j in range(0, len(x), LANES):
        result = multiply_add(load(x, j), load(y, j), result)
    return total(result)


@compiled
def add_multiple(x, factor, y):
    """x += factor · y"""
    for j in range(0, len(x), LANES):
        store(x, j, multiply_add(spread(factor), load(y, j), load(x, j)))


@compiled
def kept(bits, j):
    """The mask bits of elements j to j + LANES − 1."""
    return bits[j >> 6] >> np.uint64(j & 63)


@compiled
def move(value, squares, gradient, rate, adagrad):
    """One step of Adagrad or SGD for one row."""
    epsilon = spread(value.dtype.type(EPSILON))
    rate = spread(-rate)
    for j in range(0, len(value), LANES):
        g = load(gradient, j)
        if adagrad:
            s = multiply_add(g, g, load(squares, j))
            store(squares, j, s)
            store(value, j, add(load(value, j), adagrad_step(g, s, rate, epsilon)))
        else:
            store(value, j, multiply_add(rate, g, load(value, j)))


@compiled
def fetch(table, flat, types, k, count):
    if k + AHEAD < count:
        row = types[k + AHEAD] * 2 * table.shape[2]
        for j in range(0, 2 * table.shape[2], 64 // table.itemsize):
            prefetch(flat, row + j)


@compiled
def sort_by_type(batches, first, last, dropout, work):
    """Find the types of a batch and give every position its slot; the number of types, of slots."""
    count = 0
    for i in batches.order[first:last]:
        for p in range(batches.offsets[i], batches.offsets[i + 1]):
            work.present[batches.tokens[p]] = 1
            work.cursor[batches.tokens[p]] += 1
    by_eight = work.present.view(np.uint64)
    begin = 0
    for eight in range(len(by_eight)):
        if by_eight[eight]:
            for w in range(8 * eight, 8 * eight + 8):
                if work.present[w]:
                    work.types[count] = w
                    work.end[count] = begin + work.cursor[w]
                    work.cursor[w] = begin if dropout else count
                    begin = work.end[count]
                    count += 1
            by_eight[eight] = 0
    position = 0
    for t in range(last - first):
        i = batches.order[first + t]
        for p in range(batches.offsets[i], batches.offsets[i + 1]):
            place = work.cursor[batches.tokens[p]]
            if dropout:
                work.cursor[batches.tokens[p]] = place + 1
                work.occurrence[place, 0] = position
                work.occurrence[place, 1] = t
                work.slot[position] = position
            else:
                work.slot[position] = place
            position += 1
    for k in range(count):
        work.cursor[work.types[k]] = 0
    return count, position if dropout else count


@compiled
def score_types(table, heads, factors, count, work):
    """a_e and s_e of the types of the batch (Eq 6, 7)."""
    flat = table.reshape(-1)
    for k in range(count):
        fetch(table, flat, work.types, k, count)
        e = table[work.types[k], 0]
        for c in range(len(heads)):
            work.scores[k, c] = factors[c] * dot(heads[c], e)


@compiled
def score_occurrences(table, heads, Q, factors, count, key, rule, work):
    """a_j and s_j of the positions of the batch, each under its masks."""
    flat = table.reshape(-1)
    affine = len(Q) > 0
    o = 0
    for k in range(count):
        fetch(table, flat, work.types, k, count)
        e = table[work.types[k], 0]
        while o < work.end[k]:
            position, t = work.occurrence[o]
            words = work.words[o]
            for i in range(len(words)):
                words[i] = keep_word(key, position * len(words) + i, rule.keep_numerator, rule.keep_digits)
            for c in range(len(heads)):
                head = Q[t * (len(heads) - 1) + c - 1] if affine and c else heads[c]
                result = spread(e.dtype.type(0))
                for j in range(0, len(e), LANES):
                    bits = kept(words, j)
                    if c and not affine:
                        bits &= kept(work.pooled[t], j)
                    result = multiply_add(load(head, j), keep(load(e, j), bits), result)
                work.scores[position, c] = factors[c] * total(result)
            o += 1


@compiled
def residual(s, label, binary, delta):
    """δ = −∂ℓ/∂s of one instance, into `delta`: yβ (Eq 10), or 1[label] − softmax; the loss (Eq 5, 74)."""
    one = s.dtype.type(1)
    if binary:
        y = one if label else -one
        delta[0] = y / (one + np.exp(y * s[0]))
        return np.log1p(np.exp(-abs(s[0]))) + max(-y * s[0], s.dtype.type(0))
    largest = s.max()
    z = s.dtype.type(0)
    for k in range(len(s)):
        delta[k] = np.exp(s[k] - largest)
        z += delta[k]
    for k in range(len(s)):
        delta[k] = -delta[k] / z
    delta[label] += one
    return np.log(z) + largest - s[label]


@compiled
def exponentials(begin, end, shift, work):
    """exp(a_j − shift) of some positions, and their sum."""
    z = work.scores.dtype.type(0)
    for p in range(begin, end):
        work.exponential[work.slot[p]] = np.exp(work.scores[work.slot[p], 0] - shift)
        z += work.exponential[work.slot[p]]
    return z


@compiled
def attend(batches, first, last, slots, binary, work):
    """π and ρ of every slot (Eq 16, 20) from the scores; the sum of the losses."""
    T = work.scores.dtype.type
    scores, sums, exponential, slot = work.scores, work.sums, work.exponential, work.slot
    classes = scores.shape[1] - 1
    delta = np.empty(classes, scores.dtype)
    s = np.empty(classes, scores.dtype)
    highest = scores[:slots, 0].max()
    for k in range(slots):
        exponential[k] = np.exp(scores[k, 0] - highest)
        sums[k] = 0
    loss = 0.0
    end = 0
    for i in batches.order[first:last]:
        begin, end = end, end + batches.offsets[i + 1] - batches.offsets[i]
        z = T(0)
        for p in range(begin, end):
            z += exponential[slot[p]]
        far = z < T(1e-20)  # of exponentials near 0 too few digits are left
        if far:
            own = scores[slot[begin], 0]
            for p in range(begin, end):
                own = max(own, scores[slot[p], 0])
            z = exponentials(begin, end, own, work)
        s[:] = 0
        for p in range(begin, end):
            for k in range(classes):
                s[k] += exponential[slot[p]] * scores[slot[p], k + 1]
        for k in range(classes):
            s[k] /= z
        loss += residual(s, batches.labels[i], binary, delta)
        for p in range(begin, end):
            alpha = exponential[slot[p]] / z
            for k in range(classes):
                pi = delta[k] * alpha
                sums[slot[p], 0] += pi * (scores[slot[p], k + 1] - s[k])
                sums[slot[p], k + 1] += pi
        if far:
            exponentials(begin, end, highest, work)
    return loss


@compiled
def update_table(
    table, heads, Q, factors, count, rate, dropout, adagrad, head_gradients, pooled_gradients, work
):
    """Move the embeddings of the batch; gather the gradients by the heads, or with Q by Q's rows, on the way.

    `sides` holds, for each head, what the embedding's gradient takes of it, elementwise (Eq 14): the same number in
    all dimensions, or with dropout a sum over the occurrences of their coefficients under their masks.
    """
    flat = table.reshape(-1)
    affine = len(Q) > 0
    zero = spread(table.dtype.type(0))
    sides = np.zeros_like(heads)
    gradient = np.zeros_like(heads[0])
    o = 0
    for k in range(count):
        fetch(table, flat, work.types, k, count)
        e, squares = table[work.types[k], 0], table[work.types[k], 1]
        for c in range(len(heads)):
            side = spread(table.dtype.type(0) if dropout else factors[c] * work.sums[k, c])
            for j in range(0, len(e), LANES):
                store(sides[c], j, side)
        for j in range(0, len(e), LANES):
            store(gradient, j, zero)
        while dropout and o < work.end[k]:
            position, t = work.occurrence[o]
            for c in range(len(heads)):
                coefficient = spread(factors[c] * work.sums[position, c])
                row = t * (len(heads) - 1) + c - 1
                for j in range(0, len(e), LANES):
                    bits = kept(work.words[o], j)
                    if c == 0:
                        store(sides[0], j, add(load(sides[0], j), keep(coefficient, bits)))
                    elif affine:
                        store(
                            gradient,
                            j,
                            multiply_add(coefficient, keep(load(Q[row], j), bits), load(gradient, j)),
                        )
                        pooled = load(pooled_gradients[row], j)
                        store(
                            pooled_gradients[row],
                            j,
                            multiply_add(coefficient, keep(load(e, j), bits), pooled),
                        )
                    else:
                        bits &= kept(work.pooled[t], j)
                        store(sides[c], j, add(load(sides[c], j), keep(coefficient, bits)))
            o += 1
        for c in range(len(heads)):
            for j in range(0, len(e), LANES):
                side = load(sides[c], j)
                store(gradient, j, multiply_add(side, load(heads[c], j), load(gradient, j)))
                store(head_gradients[c], j, multiply_add(side, load(e, j), load(head_gradients[c], j)))
        move(e, squares, gradient, rate, adagrad)


@compiled
def add_penalty(heads, penalty, head_gradients):
    """The gradient of penalty · Σ_k |V̂·Ŵ_k|."""
    zero = heads.dtype.type(0)
    for c in range(1, len(heads)):
        product = dot(heads[0], heads[c])
        slope = penalty if product > zero else (-penalty if product < zero else zero)
        add_multiple(head_gradients[0], slope, heads[c])
        add_multiple(head_gradients[c], slope, heads[0])


@compiled
def affine_heads(U, M):
    """MᵀV, MᵀW_1, ... MᵀW_K"""
    heads = np.zeros_like(U)
    for c in range(len(U)):
        for i in range(len(M)):
            add_multiple(heads[c], U[c, i], M[i])
    return heads


@compiled
def affine_gradients(U, M, head_gradients):
    """From the gradients by the heads those by U and M."""
    U_gradient, M_gradient = np.zeros_like(U), np.zeros_like(M)
    for c in range(len(U)):
        for i in range(len(M)):
            U_gradient[c, i] = dot(M[i], head_gradients[c])
            add_multiple(M_gradient[i], U[c, i], head_gradients[c])
    return U_gradient, M_gradient


@compiled
def mask_W(U, instances, key, rule, work):
    """W_1, ... W_K under the mask of each pooled vector."""
    d, classes = work.masked_W.shape[1], len(U) - 1
    for row in range(instances * classes):
        words = work.pooled[row // classes]
        for i in range(d):
            bit = words[i >> 6] >> np.uint64(i & 63) & np.uint64(1)
            work.masked_W[row, i] = U[1 + row % classes, i] if bit else 0
    return work.masked_W[: instances * classes]


@compiled
def train_epoch(parameters, batches, rule, step, work):
    """One pass over the batches, numbered from `step`; the sum of the losses of all instances."""
    table, M = parameters.table, parameters.M
    T = table.dtype.type
    heads_count, _, stride = parameters.U.shape
    dropout, affine = rule.keep_digits > 0, M.shape[1] > 0
    factor = T(2.0**rule.keep_digits / rule.keep_numerator)
    up = np.full(heads_count, factor * factor)
    up[0] = factor / T(rule.lam)
    nothing = np.zeros((0, stride), table.dtype)
    loss = 0.0
    for b in range(len(batches.bounds) - 1):
        first, last = batches.bounds[b], batches.bounds[b + 1]
        instances = last - first
        decay = 1 + (step + b) * rule.decay
        U = parameters.U[:, 0].copy()
        heads = affine_heads(U, M[0]) if affine else U
        masked_W, Q, pooled_gradients = nothing, nothing, nothing
        count, slots = sort_by_type(batches, first, last, dropout, work)
        if dropout:
            key = batch_key(rule.seed, POOLED, step + b)
            for t in range(instances):
                for i in range(work.pooled.shape[1]):
                    index = t * work.pooled.shape[1] + i
                    work.pooled[t, i] = keep_word(key, index, rule.keep_numerator, rule.keep_digits)
            if affine:
                masked_W = mask_W(U, instances, key, rule, work)
                Q = np.dot(masked_W, M[0])
                pooled_gradients = np.zeros_like(Q)
            score_occurrences(
                table, heads, Q, up, count, batch_key(rule.seed, EMBEDDINGS, step + b), rule, work
            )
        else:
            score_types(table, heads, up, count, work)
        loss += attend(batches, first, last, slots, rule.binary, work)
        head_gradients = np.zeros_like(heads)
        down = -up / T(instances)
        update_table(
            table,
            heads,
            Q,
            down,
            count,
            T(rule.table_rate / decay),
            dropout,
            rule.adagrad,
            head_gradients,
            pooled_gradients,
            work,
        )
        add_penalty(heads, T(rule.penalty), head_gradients)
        if affine:
            U_gradient, M_gradient = affine_gradients(U, M[0], head_gradients)
            if dropout:
                M_gradient += np.dot(masked_W.T, pooled_gradients)
                pooled = np.dot(pooled_gradients, M[0].T)
                for row in range(len(pooled)):
                    for i in range(pooled.shape[1]):
                        bit = work.pooled[row // (heads_count - 1), i >> 6] >> np.uint64(i & 63) & np.uint64(
                            1
                        )
                        if bit:
                            U_gradient[1 + row % (heads_count - 1), i] += pooled[row, i]
            for i in range(M.shape[1]):
                add_multiple(M_gradient[i], T(rule.weight_decay), M[0, i])
                move(M[0, i], M[1, i], M_gradient[i], T(rule.M_rate / decay), rule.adagrad)
        else:
            U_gradient = head_gradients
        for c in range(heads_count):
            rate = T((rule.W_rate if c else rule.V_rate) / decay)
            move(parameters.U[c, 0], parameters.U[c, 1], U_gradient[c], rate, rule.adagrad)
    return loss
