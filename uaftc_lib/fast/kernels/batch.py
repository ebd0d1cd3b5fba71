"""The stages of one training step: find the types, score, attend, move the embeddings."""

import numpy as np

from uaftc_lib.fast.kernels.lanes import LANES, add, load, multiply_add, pick, splat, store, total
from uaftc_lib.fast.kernels.rows import compiled, dot, fetch_ahead, inlined, mask_bits, move
from uaftc_lib.fast.masks import keep_word


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
                    end[count] = begin + (cursor[w] if dropout else 1)
                    cursor[w] = begin
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
    """a_e (Eq 1; ``factors[0]`` holds 1/λ) and s_e (Eq 7) of the types of the batch."""
    types, scores = work.types, work.scores
    stride = table.shape[2]
    flat, heads = table.reshape(-1), heads.reshape(-1)
    for k in range(count):
        fetch_ahead(flat, types, k, count, stride)
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
        fetch_ahead(flat, types, k, count, stride)
        e = types[k] * 2 * stride
        while o < end[k]:
            position, t = occurrence[o, 0], occurrence[o, 1]
            for i in range(width):
                words[o * width + i] = keep_word(key, position * width + i, rule.keep_numerator, rule.keep_digits)
            for c in range(len(classes) + 1):
                result = splat(flat.dtype.type(0))
                if c == 0 or not affine:
                    for j in range(0, stride, LANES):
                        bits = mask_bits(words, o * width, j)
                        if c:
                            bits &= mask_bits(pooled, t * width, j)
                        result = multiply_add(load(heads, c * stride + j), pick(load(flat, e + j), bits), result)
                else:
                    head = (t * len(classes) + c - 1) * stride
                    for j in range(0, stride, LANES):
                        e_j = pick(load(flat, e + j), mask_bits(words, o * width, j))
                        result = multiply_add(load(Q, head + j), e_j, result)
                scores[position, c] = factors[c] * total(result)
            o += 1


@inlined
def delta_of(s, label, delta, classes):
    """δ = −∂ℓ/∂s of one instance, into `delta`: yβ, or 1[label] − softmax; the loss (Eq 5, 74)."""
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
        loss += delta_of(s, labels[order[t]], delta, classes)
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
    """Move the embeddings of the batch (Eq 13); on the way gather the gradients by the heads."""
    types, sums = work.types, work.sums
    stride = table.shape[2]
    flat, heads = table.reshape(-1), heads.reshape(-1)
    head_gradients = head_gradients.reshape(-1)
    for k in range(count):
        fetch_ahead(flat, types, k, count, stride)
        e = types[k] * 2 * stride
        for j in range(0, stride, LANES):
            e_j, gradient = load(flat, e + j), splat(flat.dtype.type(0))
            for c in range(len(classes) + 1):
                side, at = splat(factors[c] * sums[k, c]), c * stride + j
                gradient = multiply_add(side, load(heads, at), gradient)
                store(head_gradients, at, multiply_add(side, e_j, load(head_gradients, at)))
            move(flat, e + j, e + stride + j, gradient, rate, adagrad)


@compiled
def update_occurrences(table, heads, Q, classes, factors, count, rate, adagrad, head_gradients, Q_gradients, work):
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
    zero = splat(flat.dtype.type(0))
    sides = np.zeros(last + stride, flat.dtype)
    o = 0
    for k in range(count):
        fetch_ahead(flat, types, k, count, stride)
        e = types[k] * 2 * stride
        for j in range(0, last + stride, LANES):
            store(sides, j, zero)
        while o < end[k]:
            position, t = occurrence[o, 0], occurrence[o, 1]
            for c in range(len(classes) + 1):
                coefficient = splat(factors[c] * sums[position, c])
                if c == 0 or not affine:
                    for j in range(0, stride, LANES):
                        bits = mask_bits(words, o * width, j)
                        if c:
                            bits &= mask_bits(pooled, t * width, j)
                        at = c * stride + j
                        store(sides, at, add(load(sides, at), pick(coefficient, bits)))
                else:
                    head = (t * len(classes) + c - 1) * stride
                    for j in range(0, stride, LANES):
                        bits = mask_bits(words, o * width, j)
                        take = multiply_add(coefficient, pick(load(Q, head + j), bits), load(sides, last + j))
                        store(sides, last + j, take)
                        give = pick(load(flat, e + j), bits)
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
