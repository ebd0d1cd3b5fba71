"""The explanation algebra against brute force: every removal, every permutation, every vertex."""

from itertools import combinations, permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.special import logit as log_odds

from uaftc_lib import AttentionClassifier, Corpus, explain

MODELS = [(2, "auto"), (2, "softmax"), (3, "auto"), (5, "auto")]


def random_case(seed, classes=2, loss="auto", longest=6, lam=1.0, types=9, dtype=torch.float64, instances=8):
    """Short instances with repeated words, the first of one word, and a model with large scores."""
    random = np.random.default_rng(seed)
    lengths = [1, *random.integers(1, longest + 1, instances - 1)]
    corpus = Corpus.from_lists(
        [random.integers(0, types, n).tolist() for n in lengths],
        random.integers(0, classes, instances).tolist(),
        class_count=classes,
    )
    model = AttentionClassifier(
        types, 4, lam, classes=classes, loss=loss, embedding_range=2.0, weight_range=2.0, seed=seed, dtype=dtype
    )
    return model, corpus


def by_instance(model, corpus):
    """Scores, weights, polarity scores and logit of each instance, as numpy."""
    out = model(corpus)
    for t, (begin, end) in enumerate(zip(corpus.offsets[:-1], corpus.offsets[1:])):
        parts = (out.scores[begin:end], out.weights[begin:end], out.token_polarity[begin:end], out.polarity[t])
        yield tuple(part.detach().double().numpy() for part in parts)


def attended(scores, polarity):
    """The logit of a few positions alone."""
    weights = np.exp(scores - scores.max())
    return (weights / weights.sum()) @ polarity


def class_of(logit):
    return int(logit > 0) if np.ndim(logit) == 0 else int(np.argmax(logit))


def class_probabilities(logit):
    logits = np.stack([np.zeros_like(logit), logit]) if np.ndim(logit) == 0 else logit
    exponentials = np.exp(logits - logits.max())
    return exponentials / exponentials.sum()


@pytest.mark.parametrize("classes, loss", MODELS)
def test_contributions_are_weights_times_votes_and_sum_to_the_logit(classes, loss):
    model, corpus = random_case(0, classes, loss)
    c = explain.contributions(model, corpus)
    out = model(corpus)
    assert c.shape == out.token_polarity.shape and not c.requires_grad
    totals = torch.zeros_like(out.polarity).index_add(0, corpus.instance_of, c)
    torch.testing.assert_close(totals, out.polarity, rtol=1e-12, atol=1e-12)
    expected = np.concatenate([(alpha * s.T).T for _, alpha, s, _ in by_instance(model, corpus)])
    np.testing.assert_allclose(c, expected, rtol=1e-12)


@pytest.mark.parametrize("classes, loss", MODELS)
@pytest.mark.parametrize(
    "lam, dtype, rtol, atol",
    [
        (0.01, torch.float64, 1e-9, 1e-12),
        (1.0, torch.float64, 1e-9, 1e-12),
        (100.0, torch.float64, 1e-9, 1e-12),
        (1e-4, torch.float64, 1e-10, 1e-10),  # hard attention
        (1e-4, torch.float32, 1e-5, 1e-5),
    ],
)
def test_leave_one_out_is_the_logit_without_the_position(classes, loss, lam, dtype, rtol, atol):
    model, corpus = random_case(1, classes, loss, lam=lam, dtype=dtype)
    expected = []
    for a, _, s, _ in by_instance(model, corpus):
        for j in range(len(a)):
            rest, whole = np.delete(np.arange(len(a)), j), attended(a, s)
            expected.append(whole - attended(a[rest], s[rest]) if len(rest) else 0 * whole)
    left_out = explain.leave_one_out(model, corpus)
    torch.testing.assert_close(left_out.double(), torch.tensor(np.array(expected)), rtol=rtol, atol=atol)
    assert (left_out[:1] == 0).all(), "the first instance has one word"
    assert left_out.abs().max() > 0.1 or lam > 1, "the attended word must matter"


@pytest.mark.parametrize("classes, loss", MODELS)
def test_permutation_test_is_the_mean_over_all_permutations(classes, loss):
    model, corpus = random_case(3, classes, loss, longest=5)
    test = explain.permutation_test(model, corpus)
    for t, (_, alpha, s, _) in enumerate(by_instance(model, corpus)):
        logits = np.array([alpha[list(order)] @ s for order in permutations(range(len(alpha)))])
        np.testing.assert_allclose(test.mean[t].numpy(), logits.mean(0), rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(test.variance[t].numpy(), logits.var(0), rtol=1e-10, atol=1e-13)


def fewest_removals(a, s, logit):
    """By trying every removal that leaves a word."""
    for size in range(1, len(a)):
        for removed in combinations(range(len(a)), size):
            rest = np.delete(np.arange(len(a)), removed)
            if class_of(attended(a[rest], s[rest])) != class_of(logit):
                return size
    return None


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), model=st.sampled_from(MODELS), lam=st.sampled_from([0.05, 1.0, 10.0]))
def test_flip_sets_flip_and_are_the_smallest(seed, model, lam):
    model, corpus = random_case(seed, *model, lam=lam)
    sets = explain.minimal_flip_sets(model, corpus)
    assert len(sets) == len(corpus)
    for found, (a, _, s, logit) in zip(sets, by_instance(model, corpus)):
        fewest = fewest_removals(a, s, logit)
        assert (found is None) == (fewest is None)
        if found is not None:
            assert len(found) == fewest == len(set(found.tolist()))
            rest = np.delete(np.arange(len(a)), found.numpy())
            assert class_of(attended(a[rest], s[rest])) != class_of(logit)


def hand_made(scores, polarity):
    """One instance of a binary model in which word j has just these two scores."""
    model = AttentionClassifier(len(scores), 2, 1.0, dtype=torch.float64)
    with torch.no_grad():
        model.embedding.copy_(torch.tensor([scores, polarity], dtype=torch.float64).T)
        model.V.copy_(torch.tensor([1.0, 0.0]))
        model.W.copy_(torch.tensor([0.0, 1.0]))
    return model, Corpus.from_lists([list(range(len(scores)))], [1])


@pytest.mark.parametrize(
    "scores, polarity, expected",
    [
        ([0, 0, 0], [3, 2, -1], [0, 1]),  # 3 + 2 − 1 > 0; without the first 2 − 1 > 0; without both −1
        ([0, 0], [1, 1], None),  # nobody votes the other way
        ([0, 0], [1, 0], [0]),  # what is left is a tie, which counts as negative
        ([0, 0], [-1, 0], None),  # ... and so a tie does not overturn a negative
        ([0, 0], [-1, 1], [0]),
        ([0, 0, 0], [2, 1, -1], [0]),
        ([0, 0, 0], [-2, -1, 1], [0, 1]),
        ([0, -1000, -2000], [1, 1, -1], [0, 1]),  # weights far below the smallest float
        ([0, -1000, -2000], [1, -1, 1], [0]),
        ([0], [1], None),
    ],
)
def test_flip_sets_by_hand(scores, polarity, expected):
    (found,) = explain.minimal_flip_sets(*hand_made(scores, polarity))
    assert (None if found is None else found.tolist()) == expected


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.2, 0.9])
@pytest.mark.parametrize("loss", ["auto", "softmax"])
def test_the_adversary_is_allowed_and_the_best_of_all_vertices(loss, tolerance):
    """All vertices of the polytope, found from its inequalities by solving every square subsystem."""
    model, corpus = random_case(5, 2, loss, longest=5)
    adversary = explain.adversarial_attention(model, corpus, tolerance)
    for t, (_, alpha, s, logit) in enumerate(by_instance(model, corpus)):
        begin, end = corpus.offsets[t : t + 2].tolist()
        weights, found = adversary.weights[begin:end].numpy(), float(adversary.divergence[t])
        before = class_probabilities(logit)
        assert abs(class_probabilities(weights @ s) - before).max() <= tolerance + 1e-13
        assert weights.min() >= 0 and abs(weights.sum() - 1) < 1e-12
        assert (weights > 0).sum() <= 2 or np.allclose(weights, alpha)
        assert abs(jensenshannon(alpha, weights) ** 2 - found) < 1e-12

        n, odds = len(alpha), s if s.ndim == 1 else s[:, 1] - s[:, 0]
        rows, limits = [*-np.eye(n)], [0.0] * n
        for side, share in ((odds, before[1] + tolerance), (-odds, before[0] + tolerance)):
            if share < 1:
                rows.append(side)
                limits.append(log_odds(share))
        rows, limits, best = np.array(rows), np.array(limits), 0.0
        for active in combinations(range(len(rows)), n - 1):
            system = np.vstack([np.ones(n), rows[list(active)]])
            if abs(np.linalg.det(system)) < 1e-9:
                continue
            vertex = np.linalg.solve(system, np.append(1.0, limits[list(active)]))
            if (rows @ vertex <= limits + 1e-10).all():
                best = max(best, jensenshannon(alpha, vertex.clip(0)) ** 2)
        assert abs(best - found) < 1e-8


def test_adversary_refuses_in_words():
    model, corpus = random_case(0, 5)
    with pytest.raises(ValueError, match="two classes, the model has 5"):
        explain.adversarial_attention(model, corpus)
    model, corpus = random_case(0)
    for tolerance in (-0.1, 1.0, float("nan")):
        with pytest.raises(ValueError, match="tolerance"):
            explain.adversarial_attention(model, corpus, tolerance)


def test_jensen_shannon_is_between_zero_and_log_two():
    corpus = Corpus.from_lists([[0, 1], [0, 1]], [0, 1])
    p, q = torch.tensor([1.0, 0.0, 0.5, 0.5]), torch.tensor([0.0, 1.0, 0.5, 0.5])
    assert explain.jensen_shannon(p, q, corpus).tolist() == pytest.approx([np.log(2), 0.0])


def test_everything_keeps_the_dtype_of_the_model():
    for dtype in (torch.float32, torch.float64):
        model, corpus = random_case(0, dtype=dtype)
        results = [
            explain.contributions(model, corpus),
            explain.leave_one_out(model, corpus),
            explain.shapley(model, corpus),
            *explain.permutation_test(model, corpus),
            *explain.adversarial_attention(model, corpus),
        ]
        assert {result.dtype for result in results} == {dtype}
