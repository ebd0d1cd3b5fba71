"""The fused training loop of DP and DP-A, at the level of arrays.

A step needs two numbers a position and one pass over the embeddings of the types that occur in the batch, because
an embedding acts, and moves, only along the heads: the vectors V̂, Ŵ_1, ... Ŵ_K whose products with it are its
attention score (times λ) and its polarity scores. For DP the heads are V and W, for DP-A MᵀV and MᵀW (Eq 57, 58).
With dropout the pass visits every occurrence under its own mask, but reads and writes memory no more often,
because it goes through the batch type by type.

Rows have `stride` numbers, d rounded up to a multiple of `LANES`, the rest zeros. A parameter and Adagrad's sum of
its squared gradients lie side by side. Of the heads, 0 is attention and 1, ... K are the classes (two: K = 1).
Inside, rows are places in flat arrays: a view of a row would be counted as a reference, at the price of the row.

Compiled code is cached with this file: touch it after a change of masks.py or lanes.py.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from uaftc_lib.lanes import LANES, adagrad_step, add, keep, load, multiply_add, prefetch, spread, store, total
from uaftc_lib.masks import EMBEDDINGS, POOLED, batch_key, keep_word

AHEAD = 4  # rows between the one that is fetched and the one that is used
EPSILON = 1e-10  # Adagrad's, as in torch
options = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
compiled = njit(**options)
inlined = njit(forceinline=True, **options)


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


def stride_of(dimension):
    """d rounded up to a multiple of `LANES`."""
    return -(-dimension // LANES) * LANES


def workspace(parameters, rule, positions, instances):
    """Scratch space for batches of at most so many positions and instances."""
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
    )


@inlined
def dot(x, at, y, other, stride):
    """x[at : at + stride] · y[other : other + stride]"""
    result = spread(x.dtype.type(0))
    for j in range(0, stride, LANES):
        result = multiply_add(load(x, at + j), load(y, other + j), result)
    return total(result)


@inlined
def kept(words, at, j):
    """The mask bits of elements j to j + LANES − 1 of the row whose words start at `at`."""
    return words[at + (j >> 6)] >> np.uint64(j & 63)


@inlined
def move(parameter, at, squares, gradient, rate, adagrad):
    """One step of Adagrad or SGD for the `LANES` elements at `at`, their sums at `squares`."""
    if adagrad:
        s = multiply_add(gradient, gradient, load(parameter, squares))
        store(parameter, squares, s)
        epsilon = spread(parameter.dtype.type(EPSILON))
        store(parameter, at, add(load(parameter, at), adagrad_step(gradient, s, spread(-rate), epsilon)))
    else:
        store(parameter, at, multiply_add(spread(-rate), gradient, load(parameter, at)))


@inlined
def fetch(flat, types, k, count, stride):
    """Ask for the row that will be needed some rows later."""
    if k + AHEAD < count:
        row = types[k + AHEAD] * 2 * stride
        for j in range(0, 2 * stride, LANES):
            prefetch(flat, row + j)


@compiled
def sort_by_type(batches, first, last, dropout, work):
    """Find the types of a batch and give every position its slot; the numbers of types and of slots."""
    tokens, offsets, order = batches.tokens, batches.offsets, batches.order
    present, cursor, types, end = work.present, work.cursor, work.types, work.end
    slot, occurrence = work.slot, work.occurrence
    for t in range(first, last):
        for p in range(offsets[order[t]], offsets[order[t] + 1]):
            present[tokens[p]] = 1
            if dropout:
                cursor[tokens[p]] += 1
    count = begin = 0
    by_eight = present.view(np.uint64)
    for eight in range(len(by_eight)):
        if by_eight[eight]:
            for w in range(8 * eight, 8 * eight + 8):
                if present[w]:
                    types[count] = w
                    end[count] = begin + cursor[w]
                    cursor[w] = begin if dropout else count
                    begin = end[count]
                    count += 1
            by_eight[eight] = 0
    position = 0
    for t in range(first, last):
        for p in range(offsets[order[t]], offsets[order[t] + 1]):
            place = cursor[tokens[p]]
            slot[position] = position if dropout else place
            if dropout:
                cursor[tokens[p]] = place + 1
                occurrence[place, 0] = position
                occurrence[place, 1] = t - first
            position += 1
    for k in range(count):
        cursor[types[k]] = 0
    return count, position if dropout else count


@compiled
def draw_pooled(pooled, key, rule):
    """The mask bits of the pooled vectors."""
    for t in range(pooled.shape[0]):
        for i in range(pooled.shape[1]):
            index = t * pooled.shape[1] + i
            pooled[t, i] = keep_word(key, index, rule.keep_numerator, rule.keep_digits)


@compiled
def score_types(table, heads, classes, factors, count, work):
    """a_e and s_e of the types of the batch (Eq 6, 7)."""
    types, scores = work.types, work.scores
    stride = table.shape[2]
    flat, heads = table.reshape(-1), heads.reshape(-1)
    for k in range(count):
        fetch(flat, types, k, count, stride)
        e = types[k] * 2 * stride
        for c in range(len(classes) + 1):
            scores[k, c] = factors[c] * dot(heads, c * stride, flat, e, stride)


@compiled
def score_occurrences(table, heads, Q, classes, factors, count, key, rule, work):
    """a_j and s_j of the positions of the batch, each under its masks."""
    types, end, scores, occurrence = work.types, work.end, work.scores, work.occurrence
    words, pooled = work.words.reshape(-1), work.pooled.reshape(-1)
    width = work.words.shape[1]
    stride = table.shape[2]
    flat, heads = table.reshape(-1), heads.reshape(-1)
    affine, Q = len(Q) > 0, Q.reshape(-1)
    o = 0
    for k in range(count):
        fetch(flat, types, k, count, stride)
        e = types[k] * 2 * stride
        while o < end[k]:
            position, t = occurrence[o, 0], occurrence[o, 1]
            for i in range(width):
                words[o * width + i] = keep_word(
                    key, position * width + i, rule.keep_numerator, rule.keep_digits
                )
            for c in range(len(classes) + 1):
                result = spread(flat.dtype.type(0))
                if c == 0 or not affine:
                    for j in range(0, stride, LANES):
                        bits = kept(words, o * width, j)
                        if c:
                            bits &= kept(pooled, t * width, j)
                        result = multiply_add(load(heads, c * stride + j), keep(load(flat, e + j), bits), result)
                else:
                    head = (t * len(classes) + c - 1) * stride
                    for j in range(0, stride, LANES):
                        e_j = keep(load(flat, e + j), kept(words, o * width, j))
                        result = multiply_add(load(Q, head + j), e_j, result)
                scores[position, c] = factors[c] * total(result)
            o += 1


@inlined
def residual(s, label, delta, classes):
    """δ = −∂ℓ/∂s of one instance, into `delta`: yβ (Eq 10), or 1[label] − softmax; the loss (Eq 5, 74)."""
    one = s.dtype.type(1)
    if len(classes) == 1:
        y = one if label else -one
        delta[0] = y / (one + np.exp(y * s[0]))
        return np.log1p(np.exp(-abs(s[0]))) + max(-y * s[0], s.dtype.type(0))
    largest = s.max()
    z = s.dtype.type(0)
    for k in range(len(classes)):
        delta[k] = np.exp(s[k] - largest)
        z += delta[k]
    for k in range(len(classes)):
        delta[k] = -delta[k] / z
    delta[label] += one
    return np.log(z) + largest - s[label]


@inlined
def exponentials(begin, end, shift, scores, slot, exponential):
    """exp(a_j − shift) of some positions, and their sum."""
    z = scores.dtype.type(0)
    for p in range(begin, end):
        exponential[slot[p]] = np.exp(scores[slot[p], 0] - shift)
        z += exponential[slot[p]]
    return z


@compiled
def attend(batches, first, last, slots, classes, work):
    """π and ρ of every slot (Eq 16, 20) from the scores; the sum of the losses."""
    scores, sums, exponential, slot = work.scores, work.sums, work.exponential, work.slot
    offsets, labels, order = batches.offsets, batches.labels, batches.order
    T = scores.dtype.type
    delta = np.empty(len(classes), scores.dtype)
    s = np.empty(len(classes), scores.dtype)
    highest = scores[0, 0]
    for k in range(slots):
        highest = max(highest, scores[k, 0])
    for k in range(slots):
        exponential[k] = np.exp(scores[k, 0] - highest)
        for c in range(len(classes) + 1):
            sums[k, c] = 0
    loss = 0.0
    end = 0
    for t in range(first, last):
        begin, end = end, end + offsets[order[t] + 1] - offsets[order[t]]
        z = T(0)
        for p in range(begin, end):
            z += exponential[slot[p]]
        far = z < T(1e-20)  # of exponentials near 0 too few digits are left
        if far:
            own = scores[slot[begin], 0]
            for p in range(begin, end):
                own = max(own, scores[slot[p], 0])
            z = exponentials(begin, end, own, scores, slot, exponential)
        for k in range(len(classes)):
            s[k] = 0
            for p in range(begin, end):
                s[k] += exponential[slot[p]] * scores[slot[p], k + 1]
            s[k] /= z
        loss += residual(s, labels[order[t]], delta, classes)
        for p in range(begin, end):
            alpha = exponential[slot[p]] / z
            for k in range(len(classes)):
                pi = delta[k] * alpha
                sums[slot[p], 0] += pi * (scores[slot[p], k + 1] - s[k])
                sums[slot[p], k + 1] += pi
        if far:
            exponentials(begin, end, highest, scores, slot, exponential)
    return loss


@compiled
def update_types(table, heads, classes, factors, count, rate, adagrad, head_gradients, work):
    """Move the embeddings of the batch (Eq 14); on the way gather the gradients by the heads."""
    types, sums = work.types, work.sums
    stride = table.shape[2]
    flat, heads = table.reshape(-1), heads.reshape(-1)
    head_gradients = head_gradients.reshape(-1)
    for k in range(count):
        fetch(flat, types, k, count, stride)
        e = types[k] * 2 * stride
        for j in range(0, stride, LANES):
            e_j, gradient = load(flat, e + j), spread(flat.dtype.type(0))
            for c in range(len(classes) + 1):
                side, at = spread(factors[c] * sums[k, c]), c * stride + j
                gradient = multiply_add(side, load(heads, at), gradient)
                store(head_gradients, at, multiply_add(side, e_j, load(head_gradients, at)))
            move(flat, e + j, e + stride + j, gradient, rate, adagrad)


@compiled
def update_occurrences(
    table, heads, Q, classes, factors, count, rate, adagrad, head_gradients, Q_gradients, work
):
    """The same under masks; on the way gather also the gradients by Q.

    Row c of `sides` is the sum of the coefficients of head c over the occurrences of a type, each under its
    masks; one more row is what the gradients of the occurrences take of Q.
    """
    types, end, sums, occurrence = work.types, work.end, work.sums, work.occurrence
    words, pooled = work.words.reshape(-1), work.pooled.reshape(-1)
    width = work.words.shape[1]
    stride = table.shape[2]
    flat, heads = table.reshape(-1), heads.reshape(-1)
    head_gradients, Q_gradients = head_gradients.reshape(-1), Q_gradients.reshape(-1)
    affine, Q, last = len(Q) > 0, Q.reshape(-1), (len(classes) + 1) * stride
    zero = spread(flat.dtype.type(0))
    sides = np.zeros(last + stride, flat.dtype)
    o = 0
    for k in range(count):
        fetch(flat, types, k, count, stride)
        e = types[k] * 2 * stride
        for j in range(0, last + stride, LANES):
            store(sides, j, zero)
        while o < end[k]:
            position, t = occurrence[o, 0], occurrence[o, 1]
            for c in range(len(classes) + 1):
                coefficient = spread(factors[c] * sums[position, c])
                if c == 0 or not affine:
                    for j in range(0, stride, LANES):
                        bits = kept(words, o * width, j)
                        if c:
                            bits &= kept(pooled, t * width, j)
                        at = c * stride + j
                        store(sides, at, add(load(sides, at), keep(coefficient, bits)))
                else:
                    head = (t * len(classes) + c - 1) * stride
                    for j in range(0, stride, LANES):
                        bits = kept(words, o * width, j)
                        take = multiply_add(coefficient, keep(load(Q, head + j), bits), load(sides, last + j))
                        store(sides, last + j, take)
                        give = keep(load(flat, e + j), bits)
                        give = multiply_add(coefficient, give, load(Q_gradients, head + j))
                        store(Q_gradients, head + j, give)
            o += 1
        for j in range(0, stride, LANES):
            e_j, gradient = load(flat, e + j), load(sides, last + j)
            for c in range(len(classes) + 1):
                at = c * stride + j
                gradient = multiply_add(load(sides, at), load(heads, at), gradient)
                store(head_gradients, at, multiply_add(load(sides, at), e_j, load(head_gradients, at)))
            move(flat, e + j, e + stride + j, gradient, rate, adagrad)


@compiled
def add_penalty(heads, penalty, head_gradients):
    """The gradient of penalty · Σ_k |V̂·Ŵ_k|."""
    for c in range(1, len(heads)):
        slope = penalty * np.sign(np.sum(heads[0] * heads[c]))
        head_gradients[0] += slope * heads[c]
        head_gradients[c] += slope * heads[0]


@compiled
def affine_heads(U, M):
    """MᵀV, MᵀW_1, ... MᵀW_K"""
    heads = np.zeros_like(U)
    for c in range(len(U)):
        for i in range(len(M)):
            for j in range(U.shape[1]):
                heads[c, j] += U[c, i] * M[i, j]
    return heads


@compiled
def affine_gradients(U, M, head_gradients):
    """From the gradients by the heads those by U and M."""
    stride = U.shape[1]
    U_gradient, M_gradient = np.zeros_like(U), np.zeros_like(M)
    for c in range(len(U)):
        for i in range(len(M)):
            U_gradient[c, i] = dot(M.reshape(-1), i * stride, head_gradients[c], 0, stride)
            for j in range(stride):
                M_gradient[i, j] += U[c, i] * head_gradients[c, j]
    return U_gradient, M_gradient


@inlined
def is_kept(words, i):
    return words[i >> 6] >> np.uint64(i & 63) & np.uint64(1)


@compiled
def product(left, right):
    """left @ right, four rows at a time; right is as wide as a row. Small, and never on more than one thread."""
    rows, inner = left.shape
    stride = right.shape[1]
    result = np.empty((-(-rows // 4) * 4, stride), right.dtype)
    x, y, z = left.reshape(-1), right.reshape(-1), result.reshape(-1)
    for row in range(0, len(result), 4):
        first, second = row * inner, min(row + 1, rows - 1) * inner
        third, fourth = min(row + 2, rows - 1) * inner, min(row + 3, rows - 1) * inner
        for j in range(0, stride, LANES):
            a = b = c = d = spread(right.dtype.type(0))
            for i in range(inner):
                lanes = load(y, i * stride + j)
                a = multiply_add(spread(x[first + i]), lanes, a)
                b = multiply_add(spread(x[second + i]), lanes, b)
                c = multiply_add(spread(x[third + i]), lanes, c)
                d = multiply_add(spread(x[fourth + i]), lanes, d)
            store(z, row * stride + j, a)
            store(z, (row + 1) * stride + j, b)
            store(z, (row + 2) * stride + j, c)
            store(z, (row + 3) * stride + j, d)
    return result[:rows]


@compiled
def pooled_heads(U, M, classes, instances, pooled):
    """Mᵀ(mask ∘ W_k) of every instance: the polarity scores of its positions are products with these rows."""
    T = U.dtype.type
    masked_W = np.empty((instances * len(classes), len(M)), U.dtype)
    for row in range(len(masked_W)):
        for i in range(len(M)):
            masked_W[row, i] = U[1 + row % len(classes), i] * T(is_kept(pooled[row // len(classes)], i))
    return product(masked_W, M)


@compiled
def pooled_gradients(U, M, Q_gradients, classes, pooled, U_gradient, M_gradient):
    """From the gradients by Q those by W and M."""
    stride = U.shape[1]
    for k in range(len(classes)):
        masks = np.zeros((len(M), len(Q_gradients)), U.dtype)
        for row in range(k, len(Q_gradients), len(classes)):
            for i in range(len(M)):
                masks[i, row] = is_kept(pooled[row // len(classes)], i)
        kept_sums = product(masks, Q_gradients)
        for i in range(len(M)):
            U_gradient[1 + k, i] += dot(M.reshape(-1), i * stride, kept_sums.reshape(-1), i * stride, stride)
            for j in range(stride):
                M_gradient[i, j] += U[1 + k, i] * kept_sums[i, j]


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
def train_epoch(parameters, batches, rule, step, work):
    """One pass over the batches, numbered from `step`; the sum of the losses of all instances."""
    table, M, classes = parameters.table, parameters.M, rule.classes
    T = table.dtype.type
    dropout, affine = rule.keep_digits > 0, len(M) > 0
    factor = T(2.0**rule.keep_digits / rule.keep_numerator)
    up = np.full(len(classes) + 1, factor * factor)
    up[0] = factor / T(rule.lam)
    Q = np.zeros((0, table.shape[2]), table.dtype)
    Q_gradients = Q
    loss = 0.0
    for b in range(len(batches.bounds) - 1):
        first, last = batches.bounds[b], batches.bounds[b + 1]
        instances = last - first
        down = -up / T(instances)
        decay = 1 + (step + b) * rule.decay
        rate = T(rule.table_rate / decay)
        U, values = parameters.U[:, 0].copy(), M[:, 0].copy()
        heads = affine_heads(U, values) if affine else U
        head_gradients = np.zeros_like(heads)
        count, slots = sort_by_type(batches, first, last, dropout, work)
        if dropout:
            draw_pooled(work.pooled[:instances], batch_key(rule.seed, POOLED, step + b), rule)
            if affine:
                Q = pooled_heads(U, values, classes, instances, work.pooled)
                Q_gradients = np.zeros_like(Q)
            key = batch_key(rule.seed, EMBEDDINGS, step + b)
            score_occurrences(table, heads, Q, classes, up, count, key, rule, work)
            loss += attend(batches, first, last, slots, classes, work)
            update_occurrences(
                table, heads, Q, classes, down, count, rate, rule.adagrad, head_gradients, Q_gradients, work
            )
        else:
            score_types(table, heads, classes, up, count, work)
            loss += attend(batches, first, last, slots, classes, work)
            update_types(table, heads, classes, down, count, rate, rule.adagrad, head_gradients, work)
        if rule.penalty:
            add_penalty(heads, T(rule.penalty), head_gradients)
        U_gradient = head_gradients
        if affine:
            U_gradient, M_gradient = affine_gradients(U, values, head_gradients)
            if dropout:
                pooled_gradients(U, values, Q_gradients, classes, work.pooled, U_gradient, M_gradient)
            M_gradient += T(rule.weight_decay) * values
            move_rows(M, M_gradient, T(rule.M_rate / decay), rule.adagrad)
        move_rows(parameters.U[:1], U_gradient[:1], T(rule.V_rate / decay), rule.adagrad)
        move_rows(parameters.U[1:], U_gradient[1:], T(rule.W_rate / decay), rule.adagrad)
    return loss
