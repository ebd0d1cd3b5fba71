"""What of the fused loops is not seen where test_fast.py holds them against autograd."""

import numpy as np
import pytest
import torch
from numba import njit

from uaftc_lib import AttentionClassifier, Corpus, TrainingConfig
from uaftc_lib.fast import FusedTrainer
from uaftc_lib.fast.kernels import lanes


@njit
def tanh_of(x):
    result = np.empty_like(x)
    for at in range(0, len(x), lanes.LANES):
        lanes.store(result, at, lanes.tanh(lanes.load(x, at)))
    return result


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tanh_is_right_to_the_last_digits(dtype):
    small = np.geomspace(1e-30, 0.3, 1600)
    x = np.concatenate([small, -small, np.linspace(-30, 30, 9600), [0, np.inf, -np.inf, np.nan] * 4]).astype(dtype)
    expected = np.tanh(x.astype(np.longdouble))
    error = np.abs(tanh_of(x) - expected)[:-16] / np.maximum(np.abs(expected[:-16]), np.finfo(dtype).tiny)
    assert error.max() < 5 * np.finfo(dtype).eps
    np.testing.assert_array_equal(tanh_of(x)[-16:], [0, 1, -1, np.nan] * 4)


@pytest.mark.parametrize("options", [{}, {"encoder": "affine"}, {"attention": "additive"}])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_rows_keep_their_padding_and_absent_types_their_values(options, dropout):
    corpus = Corpus.from_lists([[5, 3, 5], [1], [3, 5, 9]], [0, 1, 0])
    model = AttentionClassifier(12, dimension=20, dtype=torch.float64, **options)
    running = FusedTrainer(model, corpus, TrainingConfig(batch_size=2, dropout=dropout))
    start = running.model.embedding.detach().clone()
    running.epoch([torch.tensor([2, 0]), torch.tensor([1])])
    for parameter in running.parameters:
        assert not parameter[..., 20:].any()
    moved = (running.model.embedding != start).any(1)
    assert moved.nonzero().squeeze(1).tolist() == [1, 3, 5, 9]
