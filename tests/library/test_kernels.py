"""The building blocks of the fused loops, each against NumPy."""

import numpy as np
import pytest
import torch
from numba import njit

from uaftc_lib import AttentionClassifier, Corpus, TrainingConfig
from uaftc_lib.fast import FusedTrainer
from uaftc_lib.fast.kernels import Batches, lanes
from uaftc_lib.fast.kernels.batch import sort_by_type
from uaftc_lib.fast.kernels.rows import add_product


@njit
def tanh_of(x):
    result = np.empty_like(x)
    for at in range(0, len(x), lanes.LANES):
        lanes.store(result, at, lanes.tanh(lanes.load(x, at)))
    return result


@njit
def multiplied(x, row_step, inner_step, rows, inner, y, z):
    add_product(x, row_step, inner_step, rows, inner, y.reshape(-1), z.reshape(-1), y.shape[1])


@njit
def sorted_by_type(batches, first, last, dropout, work):
    return sort_by_type(batches, first, last, dropout, work)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tanh_is_right_to_the_last_digits(dtype):
    small = np.geomspace(1e-30, 0.3, 1600)
    x = np.concatenate([small, -small, np.linspace(-30, 30, 9600), [0, np.inf, -np.inf, np.nan] * 4]).astype(dtype)
    expected = np.tanh(x.astype(np.longdouble))
    error = np.abs(tanh_of(x) - expected)[:-16] / np.maximum(np.abs(expected[:-16]), np.finfo(dtype).tiny)
    assert error.max() < 5 * np.finfo(dtype).eps
    np.testing.assert_array_equal(tanh_of(x)[-16:], [0, 1, -1, np.nan] * 4)


@pytest.mark.parametrize("rows, inner", [(1, 1), (4, 7), (6, 20), (11, 3)])
@pytest.mark.parametrize("transposed", [False, True])
def test_product_adds_to_what_is_there(rows, inner, transposed):
    draws = np.random.default_rng(0)
    x, y = draws.normal(size=(rows, inner)), draws.normal(size=(inner, 32))
    z = np.ones((-(-rows // 4) * 4, 32))
    flat, steps = (x.T.ravel(), (1, rows)) if transposed else (x.ravel(), (inner, 1))
    multiplied(flat, *steps, rows, inner, y, z)
    np.testing.assert_allclose(z[:rows], 1 + x @ y, rtol=1e-13)


def trainer(dropout, **options):
    corpus = Corpus.from_lists([[5, 3, 5], [1], [3, 5, 9]], [0, 1, 0])
    model = AttentionClassifier(12, dimension=20, dtype=torch.float64, **options)
    return FusedTrainer(model, corpus, TrainingConfig(batch_size=2, dropout=dropout)), corpus


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_batch_is_sorted_by_type(dropout):
    running, corpus = trainer(dropout)
    batches = Batches(*running.corpus, np.array([2, 0, 1]), np.array([0, 2, 3]))
    count, slots = sorted_by_type(batches, 0, 2, dropout > 0, running.work)
    work = running.work
    assert work.types[:count].tolist() == [3, 5, 9]
    read = corpus[torch.tensor([2, 0])].tokens.numpy()
    if dropout:
        assert slots == 6 and work.slot[:6].tolist() == [0, 1, 2, 3, 4, 5]
        assert work.end[:3].tolist() == [2, 5, 6]
        positions, instances = work.occurrence[:6].T
        assert read[positions].tolist() == [3, 3, 5, 5, 5, 9]
        assert instances.tolist() == [position // 3 for position in positions]
    else:
        assert slots == 3 and work.end[:3].tolist() == [1, 2, 3]
        assert work.types[work.slot[:6]].tolist() == read.tolist()
    assert not work.present.any() and not work.cursor.any()


@pytest.mark.parametrize("options", [{}, {"encoder": "affine"}, {"attention": "additive"}])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_rows_keep_their_padding_and_absent_types_their_values(options, dropout):
    running, _ = trainer(dropout, **options)
    start = running.model.embedding.detach().clone()
    running.epoch([torch.tensor([2, 0]), torch.tensor([1])])
    for parameter in running.parameters:
        assert not parameter[..., 20:].any()
    moved = (running.model.embedding != start).any(1)
    assert moved.nonzero().squeeze(1).tolist() == [1, 3, 5, 9]
