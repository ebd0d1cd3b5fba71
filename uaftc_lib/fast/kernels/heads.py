"""What concerns the heads alone: the penalty, and for DP-A the way from V, W and M to the heads and back."""

import numpy as np

from uaftc_lib.fast.kernels.rows import add_product, compiled, dot, is_kept


@compiled
def add_penalty(heads, penalty, head_gradients):
    """The gradient of penalty · Σ_k |V̂·Ŵ_k|."""
    stride = heads.shape[1]
    flat = heads.reshape(-1)
    for c in range(1, len(heads)):
        slope = penalty * np.sign(dot(flat, 0, flat, c * stride, stride))
        for j in range(stride):
            head_gradients[0, j] += slope * heads[c, j]
            head_gradients[c, j] += slope * heads[0, j]


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


@compiled
def product(left, right):
    """left @ right"""
    rows, inner = left.shape
    stride = right.shape[1]
    result = np.zeros((-(-rows // 4) * 4, stride), right.dtype)
    add_product(left.reshape(-1), inner, 1, rows, inner, right.reshape(-1), result.reshape(-1), stride)
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
