"""Classifiers whose states stay close to their words, on made-up texts."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from test_neighbours_trained import TYPES, texts, told_by_words

from uaftc_book.neighbours import jain_wallace, word_level
from uaftc_book.neighbours.jain_wallace import JainWallaceClassifier, train_model
from uaftc_book.neighbours.word_level import POOLED, WordLevelClassifier
from uaftc_book.neighbours.yardsticks import yardsticks
from uaftc_lib import Corpus, explain


@pytest.fixture(scope="module")
def told():
    return told_by_words()


def embeddings_and_states(model, corpus):
    embeddings = model.embedding[corpus.tokens]
    return embeddings, model.states(embeddings, corpus.offsets)


@pytest.mark.parametrize("pools", POOLED)
def test_what_is_pooled_is_the_state_the_word_or_both(pools):
    model, corpus = WordLevelClassifier(TYPES, pools, seed=2), texts(6, 1)
    e, h = embeddings_and_states(model, corpus)
    expected = {"state": h, "concatenation": torch.cat([h, e], 1), "residual": h + e}[pools]
    assert torch.equal(model.encode(e, corpus.offsets), expected) and e.shape == h.shape
    total = torch.zeros(6).index_add(0, corpus.instance_of, explain.contributions(model, corpus))
    torch.testing.assert_close(total, model(corpus).polarity.detach(), rtol=1e-5, atol=1e-6)


def test_without_a_component_to_take_away_it_is_the_lstm():
    network = torch.nn.LSTM(5, 4)
    padded = torch.randn(1, 3, 5, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(word_level.Orthogonal(network)(padded)[0], network(padded)[0])


def test_states_are_orthogonal_to_the_sum_of_those_before():
    model = WordLevelClassifier(TYPES, orthogonal=True, seed=3)
    plain = WordLevelClassifier(TYPES, seed=3)
    corpus = Corpus.from_lists([[0, 5, 6, 1, 7, 0]], [1])
    onward = [embeddings_and_states(one, corpus)[1][:, :150].detach() for one in (model, plain)]
    along = [[abs(float(h[j] @ h[:j].sum(0))) for j in range(1, 6)] for h in onward]
    assert max(along[0]) < 1e-7 and min(along[1]) > 1e-5
    torch.testing.assert_close(onward[0][0], onward[1][0])  # the first has none before it


def test_conicity_is_the_mean_cosine_with_the_mean():
    h = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    corpus = Corpus.from_lists([[0, 1, 2], [3, 4]], [0, 1])

    def by_hand(some):
        mean = some.mean(0)
        return np.mean([float(one @ mean / one.norm() / mean.norm()) for one in some])

    found = word_level.conicity(h, corpus)
    assert found.tolist() == pytest.approx([by_hand(h[:3]), by_hand(h[3:])], abs=1e-6)
    assert word_level.conicity(torch.ones(5, 3), corpus).tolist() == pytest.approx([1, 1])


def test_each_objective_brings_about_what_it_asks_for(told):
    """Tied states come near their words, diverse ones point apart, masked words are told beyond their shares."""

    def trained(objective=None):
        model = WordLevelClassifier(TYPES, seed=1)
        train_model(model, replace(told, dev=None), seed=1, epochs=6, objective=objective)
        return model

    def distance(model):
        e, h = embeddings_and_states(model, told.test)
        return ((h - e) ** 2).sum(1).mean().item()

    def cone(model):
        return word_level.conicity(embeddings_and_states(model, told.test)[1], told.test).mean().item()

    plain = trained()
    for power in (1, 2):
        assert distance(trained(word_level.tied(told.train, 1.0, power))) < distance(plain) / 5
    assert cone(trained(word_level.diverse(told.train, 3.0))) < cone(plain) - 0.2

    def surprise(model):
        """The part of :func:`masked` that the masked words add, for one draw of them."""
        objective = word_level.masked(told.test, 1.0, seed=5)
        out = model(told.test)
        usual = jain_wallace.class_balanced(told.test)(model, told.test, out)
        return float((objective(model, told.test, out) - usual).detach()) / len(told.test)

    shares = torch.bincount(told.train.tokens).double() / len(told.train.tokens)
    blind = -float((shares * shares.clamp(min=1e-9).log()).sum())
    assert surprise(trained(word_level.masked(told.train, 1.0, seed=1))) < blind < surprise(plain)


def test_scores_alone_are_those_in_texts_where_nothing_is_read_beside(told):
    model = JainWallaceClassifier(TYPES, "projection", seed=1)
    assert word_level.alone_and_in_texts(model, told.test) == pytest.approx(
        {"attention alone and in its text": 1.0, "polarity alone and in its text": 1.0}, abs=1e-5
    )
    recurrent = word_level.alone_and_in_texts(WordLevelClassifier(TYPES, seed=1), told.test)
    assert max(recurrent.values()) < 0.99


def test_all_yardsticks_take_every_kind(told):
    corpus = told.test[:5]
    for kind in ({"pools": "concatenation"}, {"pools": "residual"}, {"orthogonal": True}, {"one_direction": True}):
        found, left = yardsticks(WordLevelClassifier(TYPES, **kind), corpus)
        assert np.isfinite(found["leave-one-out"]).all() and abs(left.whole - left.own).max() > 1e-7


def test_tying_weighs_distances_or_their_squares(told):
    model = WordLevelClassifier(TYPES, seed=1)
    out = model(told.test)
    e, h = embeddings_and_states(model, told.test)
    usual = jain_wallace.class_balanced(told.test)(model, told.test, out)
    for power in (1, 2):
        by_hand = sum(
            ((h - e)[begin:end].norm(dim=1) ** power).mean() for begin, end in pairwise(told.test.offsets.tolist())
        )
        added = word_level.tied(told.test, 3.0, power)(model, told.test, out) - usual
        assert float(added) == pytest.approx(3 * float(by_hand), rel=1e-4)


def test_one_direction_does_not_know_what_follows():
    long, short = (Corpus.from_lists([words], [1]) for words in ([0, 5, 6, 1, 7], [0, 5, 6]))
    for orthogonal in (False, True):
        model = WordLevelClassifier(TYPES, one_direction=True, orthogonal=orthogonal, seed=1)
        whole, begin = (embeddings_and_states(model, one)[1] for one in (long, short))
        assert whole.shape == (5, 256)
        torch.testing.assert_close(whole[:3], begin)
    both = WordLevelClassifier(TYPES, seed=1)
    whole, begin = (embeddings_and_states(both, one)[1] for one in (long, short))
    assert not torch.allclose(whole[:3], begin)


@pytest.mark.parametrize("kind", word_level.KINDS)
def test_every_kind_learns_four_words(kind, told):
    strength = {"tied": 0.01, "tied by norm": 0.01, "masked": 0.1}.get(kind, 0.1 if "diverse" in kind else 0.0)
    model, objective = word_level.initial(told, kind, strength, seed=1)
    train_model(model, told, 1, 5, objective)
    assert model.accuracy(told.test) > 0.9
    assert (model.pools, model.orthogonal) == (kind if kind in POOLED else "state", "orthogonal" in kind)


@pytest.mark.parametrize(("kind", "strength"), [("tied", 0.0), ("base", 1.0), ("glued", 0.0)])
def test_a_kind_without_its_strength_is_refused(kind, strength, told):
    with pytest.raises(ValueError):
        word_level.initial(told, kind, strength)


@pytest.mark.parametrize("wrong", [{"pools": "words"}, {"keys": "cosine"}])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError):
        WordLevelClassifier(TYPES, **wrong)
