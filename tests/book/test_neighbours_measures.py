"""The wing's measures against brute force, one text and one word after the other, and against Captum."""

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import special
from scipy.stats import kendalltau

from uaftc_book.neighbours import erasure, jain_wallace, measured, people, yardsticks
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
        tau, p = yardsticks.kendall(x, y, offsets)
        for t, (begin, end) in enumerate(zip(offsets[:-1], offsets[1:])):
            known = begin + np.flatnonzero(np.isfinite(y[begin:end]))
            if len(known) < 2 or len(set(y[known])) == 1:
                assert np.isnan(tau[t]) and np.isnan(p[t])
            else:
                np.testing.assert_allclose((tau[t], p[t]), kendalltau(x[known], y[known]), rtol=1e-10)


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
    model, order = model_of(kind), erasure.ranks(np.random.default_rng(1).random(len(CORPUS.tokens)), CORPUS)
    instance = np.array([0, 5, 5, 3, 11, 11, 2, 2])
    cut = np.array([1, 2, 99, 3, 0, 2, 4, 1])
    for drop, stays in ((torch.lt, np.greater_equal), (torch.ge, np.less), (torch.eq, np.not_equal)):
        found = yardsticks.reread(model, CORPUS, order, instance, cut, drop)
        for copy, (t, k) in enumerate(zip(instance, cut)):
            tokens, mine = texts(CORPUS)[t], order[CORPUS.offsets[t] : CORPUS.offsets[t + 1]]
            rest = np.flatnonzero(stays(mine, k))
            if not len(rest):
                assert all(np.isnan(one[copy]) for one in found)
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
        for held, values in zip((True, False), found):
            x = model.embedding[tokens].detach()[None].requires_grad_()
            of_embeddings(model, tokens, held)(x).sum().backward()
            expected = (x * x.grad)[0].sum(1).detach()
            np.testing.assert_allclose(values[begin : begin + len(tokens)], expected, rtol=1e-8, atol=1e-11)
        begin += len(tokens)
    assert abs(found[0] - found[1]).max() > 1e-3, "the weights must matter"
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
    np.testing.assert_allclose(found.tau, [1, -1, np.nan])
    assert yardsticks.agreement(x, y + 1e-3 * np.arange(8), corpus).tau[0] < 1


def test_agreements_are_means_over_texts_and_decisions():
    model = model_of("bilstm, tanh")
    found, _ = yardsticks.yardsticks(model, CORPUS)
    side = np.where(model(CORPUS).polarity.detach().numpy() > 0, 1, -1)
    assert set(side) == {-1, 1}
    row = yardsticks.yardstick_agreements(found, side, CORPUS)
    begins = CORPUS.offsets.numpy()
    each = np.array(
        [kendalltau(found["attention"][b:e], found["gradient"][b:e]) for b, e in zip(begins[:-1], begins[1:])]
    )
    name = "tau attention, gradient"
    assert row[name] == pytest.approx(each[:, 0].mean())
    assert row[f"{name} sd"] == pytest.approx(each[:, 0].std(ddof=1))
    assert row[f"{name} significant"] == (each[:, 1] <= 0.05).mean()
    assert row[f"{name} negative"] == pytest.approx(each[side < 0, 0].mean())
    signed = kendalltau(found["contribution"][: begins[1]], found["fall"][: begins[1]])[0]
    of_first = yardsticks.yardstick_agreements(
        {key: value[: begins[1]] for key, value in found.items()}, side[:1], CORPUS[0]
    )
    assert of_first["tau signed contribution, signed fall"] == pytest.approx(signed)


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
        y, mine = 1 / (1 + np.exp(-logits)), 1 / (1 + np.exp(-found.logit[t]))
        # A few words have few permutations, whose median is a step wide.
        assert (abs(y - mine) < found.moved[t] - 1e-9).mean() < 0.55 and (
            abs(y - mine) < found.moved[t] + 1e-9
        ).mean() > 0.45
        assert found.turned[t] == pytest.approx(((logits > 0) != (found.logit[t] > 0)).mean(), abs=0.06)
        assert found.largest[t] == alpha.max()


def test_permutations_are_counted_by_largest_weight_and_decision():
    logit = np.array([1.0, 1, -1, 1])
    found = jain_wallace.Permutations(
        logit, largest=np.array([0.1, 0.2, 0.3, 0.9]), mean=np.array([1.0, -1, -1, 2]), deviation=np.ones(4),
        drawn=special.logit(special.expit(logit) + [[0.1, -0.3, 0.2, -0.5], [0.1, -0.3, 0.2, 0.1]]),
    )  # fmt: skip
    np.testing.assert_allclose(found.moved, [0.1, 0.3, 0.2, 0.3])
    np.testing.assert_equal(found.turned, [0, 1, 0, 0.5])
    row = jain_wallace.permutation_row(found)
    assert row["permuted 0 to 0.25 positive"] == pytest.approx(0.2) and row["permuted 0 to 0.25 positive texts"] == 2
    np.testing.assert_allclose([row["permuted 0.25 to 0.5 negative"], row["permuted 0.75 to 1 positive"]], [0.2, 0.3])
    assert np.isnan(row["permuted 0.5 to 0.75 negative"])
    assert row["uniform kept"] == 0.75 and row["permuted distance"] == 0.5 and row["permuted turned"] == 0.375


@pytest.mark.parametrize("kind", ["dot", "projection", "bilstm, tanh"])
def test_erasing_reads_what_is_left(kind):
    model = model_of(kind)
    order = erasure.ranks(np.random.default_rng(3).random(len(CORPUS.tokens)), CORPUS)
    logit = yardsticks.whole_output(model, CORPUS).polarity.detach().numpy()
    side, lengths = np.where(logit > 0, 1, -1), CORPUS.lengths.numpy()
    curve = erasure.erased(model, CORPUS, order)
    needed = erasure.until_turned(curve, side)
    complete = erasure.comprehensiveness(curve, logit, lengths)
    enough = erasure.sufficiency(model, CORPUS, order, logit)
    for t, tokens in enumerate(texts(CORPUS)):
        mine = order[CORPUS.offsets[t] : CORPUS.offsets[t + 1]]

        def without(first, last, mine=mine, tokens=tokens):
            return logit_of(model, [word for word, rank in zip(tokens, mine) if not first <= rank < last])

        n, P = len(tokens), lambda value, t=t: 1 / (1 + np.exp(-side[t] * value))
        counts = curve.removed[curve.instance == t].tolist()
        assert counts == sorted(set(counts)) and set(counts) <= set(range(1, n))
        turned = [k for k in counts if (without(0, k) > 0) != (logit[t] > 0)]
        assert needed[t] == turned[0] if turned else np.isnan(needed[t])
        ks = [max(1, int(np.ceil(n * share))) for share in (0.01, 0.05, 0.1, 0.2, 0.5)]
        assert complete[t] == pytest.approx(np.mean([P(logit[t]) - P(without(0, k)) for k in ks]))
        assert enough[t] == pytest.approx(np.mean([P(logit[t]) - P(without(k, n)) for k in ks]))


def test_counts_of_removed_words():
    instance, removed = erasure.steps(np.array([3, 100, 17]), every=False)
    assert removed[instance == 0].tolist() == [1, 2]
    assert removed[instance == 2].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 14, 16]
    assert removed[instance == 1].tolist() == [1, 2, 3, 5, 8, 10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert erasure.steps(np.array([4]), every=True)[1].tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["dot", "projection"])
def test_no_order_is_faster_than_contributions_where_states_stay(kind):
    model = model_of(kind)
    found, _ = yardsticks.yardsticks(model, CORPUS)
    out = yardsticks.whole_output(model, CORPUS)
    logit, polarity = out.polarity.detach().numpy(), out.token_polarity.detach().numpy()
    ordered = erasure.orders(found, polarity, np.where(logit > 0, 1, -1), CORPUS, seed=0)
    row = erasure.erasure_row(model, CORPUS, ordered, logit)
    least = row["smallest set mean share"]
    assert row["removed by contribution mean share"] == pytest.approx(least)
    assert all(row[f"removed by {name} mean share"] >= least - 1e-12 for name in ordered)
    assert row["removed by random mean share"] > least + 0.05
    assert row["smallest set turns when read again"] == 1


def test_what_stands_is_kaplan_and_meiers():
    needed, last = np.array([1.0, np.nan, 2, 3, np.nan]), np.array([5.0, 1, 5, 5, 9])
    found = erasure.standing(needed, last)
    # 4 of 5 after one word; then one is followed no further, and 2/3 and 1/2 of the rest stand.
    np.testing.assert_allclose(erasure.still_there(found, (0, 1, 2, 3, 8)), [1, 0.8, 0.8 * 2 / 3, 0.8 / 3, 0.8 / 3])


def test_the_largest_weight_against_another():
    model = model_of("bilstm, tanh")
    found, _ = yardsticks.yardsticks(model, CORPUS)
    logit = yardsticks.whole_output(model, CORPUS).polarity.detach().numpy()
    row = erasure.zeroed_row(found, logit, CORPUS, seed=0)
    turned, moved = [], []
    for t, tokens in enumerate(texts(CORPUS)):
        a, s = scores_of(model, tokens)
        rest = np.delete(np.arange(len(a)), a.argmax())
        after = pool(a[rest], s[rest])
        turned.append((after > 0) != (logit[t] > 0))
        p, q = (np.array([1 / (1 + np.exp(x)), 1 / (1 + np.exp(-x))]) for x in (logit[t], after))
        m = (p + q) / 2
        moved.append((p * np.log(p / m) + q * np.log(q / m)).sum() / 2)
    assert row["zeroed: largest turns"] == np.mean(turned)
    assert row["zeroed: largest moves"] == pytest.approx(np.mean(moved))
    assert row["zeroed: largest moves"] > row["zeroed: other moves"] > 0


@pytest.mark.parametrize("kind", ["dot", "additive", "affine", "gru", "words", "projection", "bilstm, dot"])
def test_one_row_of_everything(kind):
    model = model_of(kind).float()
    row = measured.all_measures(model, CORPUS)
    assert {name for name, value in row.items() if np.isnan(value)} <= {
        name for name in row if " to " in name or name.startswith("removed") or "tau" in name
    }
    assert list(row) == list(measured.all_measures(model_of("dot"), CORPUS[:6]))
    again_ = measured.all_measures(model, CORPUS)
    assert all(row[name] == again_[name] or np.isnan(row[name]) for name in row)
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


def test_a_model_that_feels_as_people_do_agrees_with_them(rated):
    corpus, phrases = rated
    rating = np.nan_to_num(people.ratings_of_types(phrases, corpus))
    model = AttentionClassifier(11, 1, lam=1.0).double()
    with torch.no_grad():
        model.embedding.zero_()
        model.embedding[:8, 0] = torch.tensor([0.01, 2, 1, 0.02, -0.01, 0.01, 0.01, -2])
        model.W.fill_(1.0)
        model.V.fill_(0.0)
    found, _ = yardsticks.yardsticks(model, corpus)
    found["attention"] = abs(rating)
    row = people.people_row(model, corpus, found, phrases, np.arange(11))
    assert row["people's side, contribution"] == 1 and row["people's strength, attention"] == pytest.approx(1)
    assert row["most attended is strongest"] == 1 and row["any word is strongest"] == pytest.approx((1 / 8 + 1 / 4) / 2)
    sums, felt = ([3, 3.02, 3.03, -1.98, -1.99, 0.02], [2, 1, 0, -1, 1, 0])  # of the first sentence
    assert row["phrases' side, contribution"] == pytest.approx(kendalltau(sums, felt)[0]) and row["phrases"] == 8
    means = [1.5, 3.02 / 3, 3.03 / 4, -1.98 / 3, -1.99 / 4, 0.01]  # what each says alone, under equal weights
    assert row["phrases' side, read alone"] == pytest.approx(kendalltau(means, felt)[0])
    assert row["words rated"] == 10 / 12 and row["words rated with a side"] == 3 / 12
