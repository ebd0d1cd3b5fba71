"""The fused loop over the batches of an epoch."""

import zlib
from pathlib import Path

import numpy as np

from uaftc_lib.fast import masks
from uaftc_lib.fast.compiled import compiled_once
from uaftc_lib.fast.kernels.additive import score_additive, update_additive
from uaftc_lib.fast.kernels.batch import (
    attend,
    draw_pooled,
    score_occurrences,
    score_types,
    sort_by_type,
    update_occurrences,
    update_types,
)
from uaftc_lib.fast.kernels.heads import add_penalty, affine_gradients, affine_heads, pooled_gradients, pooled_heads
from uaftc_lib.fast.kernels.rows import OPTIONS, move_rows
from uaftc_lib.fast.masks import EMBEDDINGS, POOLED, batch_key


def source_checksum():
    """A number that changes with the code of the loop and of all that it calls."""
    files = sorted(Path(__file__).parent.glob("*.py")) + [Path(masks.__file__)]
    return zlib.crc32(b"".join(file.read_bytes() for file in files))


def compile_epochs(checksum):
    """The loops, cached for this checksum: a compiler's cache looks at one file alone, but at enclosed values."""

    @compiled_once(**OPTIONS)
    def train_epoch(parameters, batches, rule, step, work):
        """One pass over the batches, numbered from `step`; the sum of the losses of all instances."""
        _ = checksum
        table, M, classes = parameters.table, parameters.M, rule.classes
        T = table.dtype.type
        dropout, affine = rule.keep_digits > 0, len(M) > 0
        factor = T(2.0**rule.keep_digits / rule.keep_numerator)
        up = np.full(len(classes) + 1, factor * factor)
        up[0] = factor / T(rule.lam)  # 1/λ, of scores; of gradients by `down`
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

    @compiled_once(**OPTIONS)
    def train_additive_epoch(parameters, batches, rule, step, work):
        """The same for additive attention."""
        _ = checksum
        table, M, classes = parameters.table, parameters.M, rule.classes
        T = table.dtype.type
        lam, factor = T(rule.lam), T(2.0**rule.keep_digits / rule.keep_numerator)
        dropout = rule.keep_digits > 0
        loss = 0.0
        for b in range(len(batches.bounds) - 1):
            first, last = batches.bounds[b], batches.bounds[b + 1]
            share = T(1 / (last - first))
            decay = 1 + (step + b) * rule.decay
            rate = T(rule.table_rate / decay)
            U, values = parameters.U[:, 0].copy(), M[:, 0].copy()
            U_gradient = np.zeros_like(U)
            count, slots = sort_by_type(batches, first, last, dropout, work)
            if dropout:
                draw_pooled(work.pooled[: last - first], batch_key(rule.seed, POOLED, step + b), rule)
            key = batch_key(rule.seed, EMBEDDINGS, step + b)
            score_additive(table, U, values, classes, lam, factor, count, slots, key, rule, work)
            loss += attend(batches, first, last, slots, classes, work)
            M_gradient = update_additive(
                table, U, values, classes, lam, factor, count, slots, rate, share, rule, U_gradient, work
            )
            if rule.penalty:
                add_penalty(U, T(rule.penalty), U_gradient)
            M_gradient += T(rule.weight_decay) * values
            move_rows(M, M_gradient, T(rule.M_rate / decay), rule.adagrad)
            move_rows(parameters.U[:1], U_gradient[:1], T(rule.V_rate / decay), rule.adagrad)
            move_rows(parameters.U[1:], U_gradient[1:], T(rule.W_rate / decay), rule.adagrad)
        return loss

    return train_epoch, train_additive_epoch


train_epoch, train_additive_epoch = compile_epochs(source_checksum())
