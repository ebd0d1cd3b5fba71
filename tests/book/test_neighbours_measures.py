"""The wing's measures against brute force, one text and one word after the other, and against Captum."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from uaftc_book.neighbours import jain_wallace, measured, people, yardsticks
from uaftc_book.neighbours.jain_wallace import JainWallaceClassifier
from uaftc_lib import AttentionClassifier, Corpus, Dataset, Vocabulary, explain
from uaftc_lib.datasets import sst

TYPES = 12
CORPUS = Corpus.from_lists(
    [np.random.default_rng(t).integers(0, TYPES, 4 + t % 5).tolist() for t in range(12)], [t % 2 for t in range(12)]
)
ALONE = ["dot", "additive", "affine", "words", "projection"]
TOGETHER = ["lstm", "gru", "bilstm, tanh", "bilstm, dot"]


def model_of(kind, seed=0):
    """A float64 model whose answers differ from text to text."""
    if kind in ("dot", "additive", "affine", "lstm", "gru"):
        encoder = kind if kind in ("affine", "lstm", "gru") else "none"
        attention = "additive" if kind == "additive" else "dot"
        sizes = {"dimension": 5, "hidden": 4, "embedding_range": 2.0, "weight_range": 2.0}
        return AttentionClassifier(TYPES, lam=1.5, encoder=encoder, attention=attention, seed=seed, **sizes).double()
    reads, _, keys = kind.partition(", ")
    model = JainWallaceClassifier(TYPES, reads, keys or "tanh", seed=seed).double()
    with torch.no_grad():
        model.embedding.mul_(10)
        model.W.mul_(10)
        model.V.mul_(10)
    return model


def texts(corpus):
    """Token ids of each text."""
    return [one.tokens.tolist() for one in corpus]


@torch.no_grad()
def logit_of(model, tokens):
    return float(model(Corpus.from_lists([tokens], [0])).polarity)


@torch.no_grad()
def scores_of(model, tokens):
    out = model(Corpus.from_lists([tokens], [0]))
    return out.scores.numpy(), out.token_polarity.numpy()


def pool(scores, polarity):
    weights = np.exp(scores - scores.max())
    return float(weights / weights.sum() @ polarity)


def test_kendall_is_scipys():
    random = np.random.default_rng(0)
    lengths = np.array([0, 1, 2, 2, 3, *range(4, 44), 120])
    offsets = np.append(0, lengths.cumsum())
    one, other = random.standard_normal((2, offsets[-1]))
    both = np.round(one + other)
    for x, y in ((one, other), (one, both), (np.round(one), both), (one, one), (one, -one)):
        y = np.where(random.random(len(x)) < 0.1, np.nan, y)
        tau = yardsticks.kendall(x, y, offsets)
        for t, (begin, end) in enumerate(zip(offsets[:-1], offsets[1:])):
            known = begin + np.flatnonzero(np.isfinite(y[begin:end]))
            if len(known) < 2 or len(set(y[known])) == 1:
                assert np.isnan(tau[t])
            else:
                np.testing.assert_allclose(tau[t], kendalltau(x[known], y[known])[0], rtol=1e-10)


@pytest.mark.parametrize("kind", ALONE + TOGETHER)
def test_left_out_is_the_text_without_the_word(kind):
    model = model_of(kind)
    left, place = yardsticks.left_out(model, CORPUS, most=100), 0
    fixed = explain.leave_one_out(model, CORPUS).numpy()
    for tokens in texts(CORPUS):
        for j in range(len(tokens)):
            fall = logit_of(model, tokens) - logit_of(model, tokens[:j] + tokens[j + 1 :])
            np.testing.assert_allclose(left.whole[place], fall, rtol=1e-9, atol=1e-12)
            place += 1
    np.testing.assert_allclose(left.own, fixed, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(left.own + left.values + left.weights, left.whole, rtol=1e-9, atol=1e-12)
    found = yardsticks.part_shares(left)
    assert sum(value for name, value in found.items() if name.startswith("share")) == pytest.approx(1)
    assert (abs(left.values).max() > 0.01) == (abs(left.weights).max() > 0.001) == (kind in TOGETHER)


@pytest.mark.parametrize("kind", ["projection", "lstm", "bilstm, tanh"])
def test_what_is_read_again_is_told_apart(kind, monkeypatch):
    monkeypatch.setattr(yardsticks, "REREAD_TOGETHER", 20)  # several parts
    model, key = model_of(kind), np.random.default_rng(1).integers(0, 3, len(CORPUS.tokens))
    key[CORPUS.offsets[11] : CORPUS.offsets[12]] = 1  # of the last text nothing is left
    instance = np.array([0, 5, 5, 3, 11, 11, 2, 2])
    cut = np.array([1, 2, 99, 0, 1, 2, 0, 1])
    found = yardsticks.reread(model, CORPUS, key, instance, cut)
    for copy, (t, k) in enumerate(zip(instance, cut)):
        tokens, mine = texts(CORPUS)[t], key[CORPUS.offsets[t] : CORPUS.offsets[t + 1]]
        rest = np.flatnonzero(mine != k)
        if not len(rest):
            assert all(np.isnan(one[copy]) for one in found) and (t, k) == (11, 1)
            continue
        a, s = (one[rest] for one in scores_of(model, tokens))
        new_a, new_s = scores_of(model, [tokens[j] for j in rest])
        expected = pool(a, s), pool(a, new_s), pool(new_a, s), pool(new_a, new_s)
        np.testing.assert_allclose([one[copy] for one in found], expected, rtol=1e-9, atol=1e-12)


def test_so_many_words_of_a_text_are_read_again():
    left = yardsticks.left_out(model_of("lstm"), CORPUS, most=3)
    read = np.isfinite(left.whole)
    assert (np.bincount(CORPUS.instance_of.numpy(), read) == 3).all()
    assert (read == np.isfinite(yardsticks.left_out(model_of("lstm", seed=1), CORPUS, most=3).whole)).all()
    assert (read != np.isfinite(yardsticks.left_out(model_of("lstm"), CORPUS, most=3, seed=1).whole)).any()


def of_embeddings(model, tokens, held):
    """The logit of a text as a function of "batch positions d"; ``held``: with the weights of the text itself."""
    offsets = torch.tensor([0, len(tokens)])
    alpha = model.score(model.embedding[tokens], offsets)[0].softmax(0).detach()

    def logit(batch):
        def one(x):
            a, s, _ = model.score(x, offsets)
            return (alpha if held else a.softmax(0)) @ s

        return torch.stack([one(x) for x in batch])

    return logit


@pytest.mark.parametrize("kind", ALONE + TOGETHER)
def test_gradients_are_those_of_one_text(kind, monkeypatch):
    monkeypatch.setattr(yardsticks, "GRADIENTS_TOGETHER", 20)
    model = model_of(kind)
    found, begin = yardsticks.gradients_times_embeddings(model, CORPUS), 0
    for tokens in texts(CORPUS):
        x = model.embedding[tokens].detach()[None].requires_grad_()
        of_embeddings(model, tokens, held=True)(x).sum().backward()
        expected = (x * x.grad)[0].sum(1).detach()
        np.testing.assert_allclose(found[begin : begin + len(tokens)], expected, rtol=1e-8, atol=1e-11)
        begin += len(tokens)
    following = yardsticks.slopes_at_scale(yardsticks.fixed(model), CORPUS, held=False)
    assert abs(found - following).max() > 1e-3, "the weights must matter"
    assert all(one.requires_grad for one in model.parameters())


@pytest.mark.parametrize("kind", ["dot", "projection", "lstm", "bilstm, tanh"])
def test_integrated_gradients_are_captums_and_complete(kind):
    model = model_of(kind)
    found, begin = yardsticks.integrated_gradients(model, CORPUS, steps=32), 0
    assert yardsticks.gap(model, found, CORPUS) < 1e-4
    coarse = yardsticks.integrated_gradients(model, CORPUS, steps=1)
    assert yardsticks.gap(model, coarse, CORPUS) > 1e-3
    captum = pytest.importorskip("captum.attr", reason="captum is not installed: the cross-check is skipped")
    for tokens in texts(CORPUS)[:4]:
        theirs = captum.IntegratedGradients(of_embeddings(model, tokens, held=False))
        x = model.embedding[tokens].detach()[None]
        expected = theirs.attribute(x, n_steps=32, method="gausslegendre")[0].sum(1)
        np.testing.assert_allclose(found[begin : begin + len(tokens)], expected, rtol=1e-6, atol=1e-9)
        begin += len(tokens)


def test_integrated_gradients_take_some_texts_of_a_recurrent_model():
    found = yardsticks.integrated_gradients(model_of("gru"), CORPUS, steps=2, most=30)
    known = np.isfinite(found)
    each = np.bincount(CORPUS.instance_of.numpy(), known)
    assert 20 < known.sum() <= 30 and set(each / CORPUS.lengths.numpy()) == {0, 1}


def test_a_small_change_of_a_sure_answer_is_not_lost():
    logit, fall = np.array([0.3, -2.0, 50.0, 800.0]), np.array([1.0, -0.5, 1e-3, -5.0])
    found = yardsticks.change(logit, fall)
    np.testing.assert_allclose(found[:2], abs(1 / (1 + np.exp(fall - logit)) - 1 / (1 + np.exp(-logit)))[:2])
    assert found[2] == pytest.approx(np.exp(-50) * np.expm1(1e-3)) and np.isfinite(found[3])


def test_agreement_counts_equal_words_as_ties():
    corpus = Corpus.from_lists([[0, 1, 2, 0], [1, 2], [3, 3]], [0, 1, 0])
    x = np.array([1.0, 2, 3, 1, 1, 2, 5, 5])
    y = np.array([0.1, 0.2, 0.3, 0.1 + 1e-16, 2, 1, 1, 2])
    found = yardsticks.agreement(x, y, corpus)
    np.testing.assert_allclose(found, [1, -1, np.nan])
    assert yardsticks.agreement(x, y + 1e-3 * np.arange(8), corpus)[0] < 1


def test_agreements_are_means_over_texts():
    found, _ = yardsticks.yardsticks(model_of("bilstm, tanh"), CORPUS)
    row = yardsticks.yardstick_agreements(found, CORPUS)
    begins = CORPUS.offsets.numpy()
    each = [kendalltau(found["attention"][b:e], found["gradient"][b:e])[0] for b, e in zip(begins[:-1], begins[1:])]
    assert row["tau attention, gradient"] == pytest.approx(np.mean(each))
    assert row["tau attention, gradient sd"] == pytest.approx(np.std(each, ddof=1))
    assert len(row) == 2 * len(yardsticks.AGREED_WITH)


def test_permutations_approach_the_closed_form():
    model = model_of("dot")
    with torch.no_grad():
        out = yardsticks.whole_output(model, CORPUS)
    found = jain_wallace.permutations(out, CORPUS, count=2000)
    test = explain.permutation_test(model, CORPUS)
    np.testing.assert_allclose(found.mean, test.mean, rtol=1e-9)
    np.testing.assert_allclose(found.deviation, test.variance.sqrt(), rtol=1e-9)
    random = np.random.default_rng(1)
    for t, (begin, end) in enumerate(zip(CORPUS.offsets[:-1], CORPUS.offsets[1:])):
        alpha, s = out.weights[begin:end].numpy(), out.token_polarity[begin:end].numpy()
        logits = np.array([random.permutation(alpha) @ s for _ in range(2000)])
        assert found.turned[t] == pytest.approx(((logits > 0) != (found.logit[t] > 0)).mean(), abs=0.06)
        assert found.largest[t] == alpha.max()


@pytest.mark.parametrize("kind", ["dot", "additive", "affine", "gru", "words", "projection", "bilstm, dot"])
def test_one_row_of_everything(kind):
    model = model_of(kind).float()
    row = measured.all_measures(model, CORPUS)
    assert not any(map(np.isnan, row.values()))
    assert list(row) == list(measured.all_measures(model_of("dot"), CORPUS[:6]))
    again_ = measured.all_measures(model, CORPUS)
    assert row == again_
    assert 0 < row["exact adversary"] <= 1 and all(one.dtype == torch.float32 for one in model.parameters())


def test_the_texts_that_are_looked_at():
    lists = [[0] * 3, [1] * 4, [2] * 1000, [3] * 1001, [4] * 7]
    corpus = Corpus.from_lists(lists, [0, 1, 0, 1, 0])
    data = Dataset("imdb", Vocabulary([str(i) for i in range(9)]), ("a", "b"), corpus, corpus, corpus)
    assert [one.tokens[0].item() for one in measured.looked_at(data)] == [1, 2, 4]


TREE = "(4 (2 (2 A) (3 (4 (4 very) (3 good)) (2 film))) (2 (2 ,) (3 (2 is) (1 (2 n't) (2 bad)))))"


@pytest.fixture
def rated(monkeypatch):
    vocabulary = Vocabulary(["a", "very", "good", "film", "is", "n", "t", "bad"])
    corpus = Corpus.from_lists([list(range(8)), [0, 3, 4, 7]], [1, 0])
    trees = {"train": [], "dev": [], "test": [TREE, "(0 (2 A) (1 (2 film) (1 (2 is) (0 bad))))"]}
    monkeypatch.setattr(sst, "trees", lambda data_home: trees)
    return corpus, people.rated(corpus, vocabulary, Path("nowhere"))


def test_phrases_of_trees_find_their_words(rated):
    corpus, phrases = rated
    assert all(node.end > node.begin for node in people.phrases_of_tree(TREE)), "punctuation is gone"
    first = {(begin, end): rating for t, begin, end, rating in zip(*(one.tolist() for one in phrases)) if t == 0}
    assert first[1, 3] == 2 and first[1, 4] == 1 and first[5, 8] == -1 and first[0, 8] == 2 and first[4, 8] == 1
    assert (5, 6) not in first, "no leaf is half of n't"
    expected = [0, 2, 1, 0, 0, np.nan, np.nan, 0, 0, 0, 0, -2]
    np.testing.assert_array_equal(people.ratings_of_types(phrases, corpus), expected)


def test_weights_that_are_people_s_ratings_agree_with_them(rated):
    corpus, phrases = rated
    rating = people.ratings_of_types(phrases, corpus)
    row = people.people_row(abs(np.nan_to_num(rating)), corpus, phrases, np.arange(11))
    assert row["people's strength, attention"] == pytest.approx(1)
    by_text = [np.flatnonzero(np.isfinite(rating) & (corpus.instance_of.numpy() == t)) for t in range(2)]
    rarity = [kendalltau(-corpus.tokens.numpy()[words], abs(rating[words]))[0] for words in by_text]
    assert row["people's strength, rarity"] == pytest.approx(np.mean(rarity))
