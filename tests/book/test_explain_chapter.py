"""What the chapters on explanations and on words measure, against brute force on short sentences and against scipy."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import spearmanr

from uaftc_book.chapters import is_it_explanation, words_and_classes
from uaftc_book.chapters.words_and_classes import rank_agreement, thinned
from uaftc_book.neighbours import erasure
from uaftc_lib import AttentionClassifier, Corpus, explain, load_dataset


@pytest.fixture(scope="module", params=[1.0, 0.05])
def read(request) -> is_it_explanation.Reading:
    """Twenty sentences of three to eight words, and a model with large scores."""
    random = np.random.default_rng(4)
    texts = [random.integers(0, 30, n).tolist() for n in random.integers(1, 9, 25)]
    corpus = is_it_explanation.usable(Corpus.from_lists(texts, random.integers(0, 2, 25).tolist(), class_count=2))
    assert corpus.lengths.min() == is_it_explanation.SHORTEST and len(corpus) < 25
    return is_it_explanation.Reading.of(
        AttentionClassifier(30, 4, request.param, embedding_range=2.0, weight_range=2.0), corpus
    )


def sentences(read):
    """The positions of each sentence."""
    return [np.arange(a, b) for a, b in zip(read.corpus.offsets[:-1].tolist(), read.corpus.offsets[1:].tolist())]


def decided(read, left):
    """The logit of some positions alone is above zero."""
    weights = torch.softmax(read.out.scores[left], 0)
    return bool(weights @ read.out.token_polarity[left] > 0)


def test_leaders_are_the_largest(read):
    for t, own in enumerate(sentences(read)):
        assert read.watched[t] == own[read.alpha[own].argmax()]
        assert read.decisive[t] == own[(read.left_out[own] * read.side[t]).argmax()]
        assert read.contributor[t] == own[(read.contribution[own] * read.side[t]).argmax()]


def test_words_are_removed_until_the_decision_turns(read):
    needed = is_it_explanation.removals(read, 0)
    for t, own in enumerate(sentences(read)):
        order = own[np.argsort(-read.out.scores[own].numpy(), kind="stable")]
        turned = [k for k in range(1, len(own)) if decided(read, order[k:]) != (read.logit[t] > 0)]
        assert needed["by attention"][t] == turned[0] if turned else np.isnan(needed["by attention"][t])
    np.testing.assert_equal(needed["by contribution"], needed["smallest set"])
    assert not (needed["at random"] < needed["smallest set"]).any()


def test_a_sentence_that_ran_out_of_words_is_followed_no_further():
    nan = np.nan
    lengths = np.array([9, 9, 9, 3, 9])
    stands = erasure.standing(np.array([1.0, 3.0, 3.0, nan, nan]), lengths - 1.0)
    # Five are followed to the first removal, three to the third: the short one has only two words to lose.
    shares = erasure.still_there(stands, (1, 2, 3, 8))
    np.testing.assert_allclose(shares, [4 / 5, 4 / 5, 4 / 5 * 1 / 3, 4 / 5 * 1 / 3])
    assert stands.quantile(0.5) == 3
    never = erasure.standing(np.array([nan, nan]), np.array([2.0, 4.0]))
    assert erasure.still_there(never, (1, 8)).tolist() == [1, 1] and np.isnan(never.quantile(0.5))


def test_searches_stay_below_the_exact_bound_and_bound_weights_find_no_more(read):
    exact = explain.adversarial_attention(read.model, read.corpus, 0.05).divergence.numpy()
    found = is_it_explanation.searches(read, 0, tolerance=0.05, steps=200)
    for one in found.values():
        assert (one.divergence <= exact + 1e-9).all()
        assert (one.divergence[~one.within] == 0).all()
    each, by_word, by_vector = (one.divergence.mean() for one in found.values())
    assert exact.mean() > each > by_word > by_vector > 0
    begun = is_it_explanation.searches(read, 0, tolerance=0.05, steps=1)
    assert all(begun[name].divergence.mean() < found[name].divergence.mean() for name in found)


def test_words_of_one_type_have_one_score_in_all_sentences(read):
    seen = []

    def scores_of(parameter):
        seen.append(parameter.detach().clone())
        return parameter[read.corpus.tokens]

    start = read.model.token_scores().attention
    found = is_it_explanation.search(start, scores_of, read, 0.05, steps=1)
    assert torch.equal(seen[0], start) and found.within.all()
    np.testing.assert_allclose(found.divergence, 0, atol=1e-12)


def test_a_thinned_data_set_holds_every_so_manyth_text_under_its_own_words():
    data = load_dataset("synthetic-1", class_sizes=(40, 40), neutral_types=500)
    thin, every = thinned(data, most=len(data.train.tokens) // 4)
    assert every == 4 and len(thin.train) == 20
    assert [thin.text("train", i) for i in range(20)] == [data.text("train", 4 * i) for i in range(20)]
    assert set(thin.vocabulary.words) == {word for i in range(20) for word in thin.text("train", i)}
    assert thinned(data, most=len(data.train.tokens)) == (data, 1)


def test_methods_are_compared_by_pairs_of_the_same_file_and_seed():
    harder = np.array([0.0, 0.1, 0.2, 0.3])  # seeds differ more than methods
    numbers = {
        words_and_classes.OURS: 0.6 - harder,
        "near": 0.59 - harder,
        "far": 0.9 - harder,
        "alone": [0.5, np.nan, np.nan, np.nan],
    }
    rows = pd.DataFrame(
        [
            {"file": "one", "seed": seed, "method": name, "precision": values[seed], "confounds": values[seed]}
            for name, values in numbers.items()
            for seed in range(4)
        ]
    )
    for measure, sign in (("precision", 1), ("confounds", -1)):  # of companions less is better
        near, far = (words_and_classes.ahead(rows, "one", name, measure) for name in ("near", "far"))
        assert (near.low > 0, far.high < 0) == (sign > 0,) * 2 and (near.high < 0, far.low > 0) == (sign < 0,) * 2
    assert words_and_classes.ahead(rows, "one", "near", "precision").mean == pytest.approx(0.01)
    assert words_and_classes.ahead(rows, "one", "alone", "precision") is None


# --- rank agreement of many rows


def test_rank_agreement_is_spearmans_with_an_interval():
    random = np.random.default_rng(0)
    truth = random.normal(size=300).round(1)  # with ties
    data = pd.DataFrame({"near": truth + random.normal(size=300), "far": random.normal(size=300), "truth": truth})
    data.loc[0, "near"] = np.nan
    table = rank_agreement(data, ["far", "near"], "truth").set_index("quantity")
    complete = data.dropna()
    assert list(table.index) == ["near", "far"] and (table["rows"] == 299).all()
    for name in table.index:
        assert table.loc[name, "correlation"] == pytest.approx(spearmanr(complete[name], complete["truth"])[0])
    assert table.loc["near", "low"] > 0.5 and table.loc["far", "low"] < 0 < table.loc["far", "high"]
    width = table.loc["far", "high"] - table.loc["far", "low"]
    assert width == pytest.approx(2 * 1.96 / np.sqrt(299), rel=0.25)


def test_quantities_are_compared_in_pairs():
    """Two that share most of their noise: their intervals overlap, their difference is sure."""
    random = np.random.default_rng(1)
    truth, noise = random.normal(size=(2, 400))
    data = pd.DataFrame({"near": truth + noise, "further": truth + 1.3 * noise, "truth": truth})
    data["as near"] = truth + random.permutation(noise)
    table = rank_agreement(data, ["further", "near", "as near"], "truth").set_index("quantity")
    best = table.index[0]
    assert best in ("near", "as near") and (table.loc[best, ["behind", "behind_low", "behind_high"]] == 0).all()
    assert table.loc["further", "high"] > table.loc["near", "low"], "they overlap"
    pair = rank_agreement(data, ["further", "near"], "truth").set_index("quantity")
    assert 0 < pair.loc["further", "behind_low"] < pair.loc["further", "behind"] < pair.loc["further", "behind_high"]
    expected = pair.loc["near", "correlation"] - pair.loc["further", "correlation"]
    assert pair.loc["further", "behind"] == pytest.approx(expected)
    equal = rank_agreement(data, ["as near", "near"], "truth").iloc[-1]
    assert equal["behind_low"] < 0 < equal["behind_high"]


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="three complete rows, got 2"):
        rank_agreement(pd.DataFrame({"a": [1, 2, np.nan], "b": [1, 2, 3]}), ["a"], "b")
