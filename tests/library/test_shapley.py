"""Exact Shapley values against all subsets, against closed forms for long texts, and against their own axioms."""

from math import comb

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_explain import MODELS, by_instance, hand_made, random_case

from uaftc_lib import explain
from uaftc_lib.models import StructuredClassifier


def by_subsets(a, s):
    """The definition, for scores "n" and polarity scores "n classes"."""
    n = len(a)
    kept = (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1
    scores = np.where(kept, a, -np.inf)
    weights = np.exp(scores - scores.max(1, initial=-1e300, keepdims=True))
    value = weights @ s / weights.sum(1, keepdims=True).clip(1e-300)
    values = []
    for i in range(n):
        without = np.nonzero(~kept[:, i])[0]
        share = [1 / n / comb(n - 1, size) for size in kept[without].sum(1)]
        values.append(share @ (value[without + 2**i] - value[without]))
    return np.array(values)


def one_text(a, s):
    """The values in a model whose words have just these scores."""
    return explain.shapley(*hand_made(a, s)).numpy()


@pytest.mark.parametrize("classes, loss", MODELS)
@pytest.mark.parametrize("lam", [0.001, 0.1, 10.0])
def test_shapley_is_the_mean_over_all_subsets(classes, loss, lam):
    model, corpus = random_case(7, classes, loss, longest=9, lam=lam)
    values = explain.shapley(model, corpus)
    assert values.shape == model(corpus).token_polarity.shape and not values.requires_grad
    expected = [by_subsets(a, s.reshape(len(a), -1)) for a, _, s, _ in by_instance(model, corpus)]
    torch.testing.assert_close(
        values.reshape(len(values), -1), torch.tensor(np.concatenate(expected)), rtol=0, atol=1e-11
    )
    assert values[0].tolist() == model(corpus).polarity[0].tolist(), "the first instance has one word"


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0.0, 0.1, 3.0, 30.0, 350.0]), st.booleans())
def test_shapley_in_random_games(seed, n, size, ties):
    random = np.random.default_rng(seed)
    a, s = size * random.uniform(-1, 1, n), random.normal(0, 3, n)
    if ties:
        a = random.choice(a, n)
    np.testing.assert_allclose(one_text(a, s), by_subsets(a, s[:, None])[:, 0], rtol=0, atol=1e-11)


@pytest.mark.parametrize("n", [2, 69, 70, 2000])
def test_shapley_of_long_texts(n):
    """Equal weights: v(S) is a mean. Weights in a steep order: v(S) is its first word. They differ by rank alone."""
    s = np.random.default_rng(n).normal(1, 3, n)
    rank, others = np.arange(1, n + 1), (s.sum() - s) / (n - 1)
    alike = (s + ((1 / rank).sum() - 1) * (s - others)) / n
    np.testing.assert_allclose(one_text(np.zeros(n), s), alike, rtol=0, atol=1e-13)
    taken = np.append(s[1:] / (rank[1:] * rank[:-1]), 0)
    steep = s / rank - taken[::-1].cumsum()[::-1]
    np.testing.assert_allclose(one_text(-1000.0 * rank, s), steep, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [0.1, 1.0, 10.0, 350.0])
def test_shapley_sums_to_the_logit(size):
    random = np.random.default_rng(3)
    a, s = size * random.uniform(-1, 1, 2000), random.normal(1, 3, 2000)
    weights = np.exp(a - a.max())
    assert abs(one_text(a, s).sum() - weights @ s / weights.sum()) < 1e-11


def test_shapley_of_hops_adds_up():
    _, corpus = random_case(8, classes=3)
    model = StructuredClassifier(9, 4, hops=2, classes=3, seed=0, dtype=torch.float64)
    values, out = explain.shapley(model, corpus), model(corpus)
    totals = torch.zeros_like(out.polarity).index_add(0, corpus.instance_of, values)
    torch.testing.assert_close(totals, out.polarity, rtol=0, atol=1e-12)
    a, s = (part[: corpus.offsets[2]][1:].detach().numpy() for part in (out.scores, out.token_polarity))
    expected = sum(by_subsets(a[:, hop], s[:, hop]) for hop in range(2))
    np.testing.assert_allclose(values[1 : corpus.offsets[2]].numpy(), expected, rtol=0, atol=1e-11)
