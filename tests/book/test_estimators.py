"""What is drawn comes near what is exact, and is what the library of its name draws."""

from importlib import import_module
from importlib.util import find_spec
from itertools import permutations

import numpy as np
import pytest
import torch
from test_explain import by_instance, random_case

from uaftc_book.chapters import is_it_explanation
from uaftc_book.neighbours.estimators import (
    Game,
    lime,
    lime_weights,
    over_permutations,
    permutations_for,
    sampled_shapley,
)
from uaftc_lib import Corpus, explain


def games(seed=6, lam=1.0):
    """Model, corpus, and for each text of three words or more the game and where it stands."""
    model, corpus = random_case(seed, lam=lam, longest=8)
    found = []
    for t, (a, _, s, _) in enumerate(by_instance(model, corpus)):
        if len(a) > 2:
            found.append((t, slice(*corpus.offsets[t : t + 2].tolist()), Game(a, s)))
    return model, corpus, found


def of_kept_words(model, corpus):
    """The model as a function of a mask over the positions of one instance: 1 keeps a word, 0 takes it out."""

    def logit(masks):
        kept = [corpus.tokens[mask > 0].tolist() for mask in masks]
        return model(Corpus.from_lists(kept, [0] * len(kept), model.classes)).polarity

    return logit


def test_the_game_is_the_model_without_the_words():
    model, corpus, found = games()
    for t, _, game in found:
        kept = np.random.default_rng(t).random((20, len(game.scores))) < 0.5
        kept = kept[kept.any(1)]
        asked = of_kept_words(model, corpus[t])(torch.from_numpy(kept).double()).detach()
        np.testing.assert_allclose(game.logit(kept), asked, atol=1e-12)
        assert game.logit(~np.ones((1, len(game.scores)), bool)) == 0


def test_sampled_values_come_near_the_exact_ones():
    model, corpus, found = games()
    exact = explain.shapley(model, corpus).numpy()
    for _, own, game in found:
        n = len(game.scores)
        assert permutations_for(1000, n) * n == pytest.approx(1000, abs=n) and permutations_for(1, n) == 1
        draws = np.array([sampled_shapley(game, 2000, seed) for seed in range(20)])
        np.testing.assert_allclose(draws.sum(1), exact[own].sum(), atol=1e-12)
        error = draws.std(0, ddof=1)
        assert (abs(draws.mean(0) - exact[own]) < 5 * error / 20**0.5).all() and (error > 0).all()
        finer = np.array([sampled_shapley(game, 20_000, seed) for seed in range(20)]).std(0, ddof=1)
        assert 2 < error.mean() / finer.mean() < 5, "ten times the evaluations, √10 of the noise"
    every = np.array([*permutations(range(len(game.scores)))])
    np.testing.assert_allclose(over_permutations(game, every), exact[own], atol=1e-12)


def test_lime_is_what_lime_fits():
    """The same subsets as the package lime draws, the same weights."""
    if not find_spec("lime"):
        pytest.skip("lime is not installed: the cross-check is skipped")
    text = import_module("lime.lime_text")
    _, _, found = games()
    for t, _, game in found:
        n, asked = len(game.scores), []

        def answer(texts, n=n, game=game, asked=asked):
            kept = np.array([[str(j) in one.split() for j in range(n)] for one in texts])
            asked.append((kept, game.logit(kept)))
            return np.stack([-asked[0][1], asked[0][1]], 1)

        explainer = text.LimeTextExplainer(random_state=t, feature_selection="none")
        told = explainer.explain_instance(" ".join(map(str, range(n))), answer, num_features=n, num_samples=2000)
        theirs = np.zeros(n)
        for name, weight in told.as_list():
            theirs[int(name)] = weight
        np.testing.assert_allclose(lime_weights(*asked[0]), theirs, rtol=1e-8, atol=1e-10)
        ours = np.array([lime(game, 2000, seed) for seed in range(10)])
        assert (abs(theirs - ours.mean(0)) < 5 * ours.std(0, ddof=1)).all(), "its subsets are drawn alike"


def test_lime_of_a_linear_game_is_its_coefficients():
    coefficients = np.array([3.0, -1.0, 0.0, 0.5])
    kept = np.random.default_rng(0).random((20_000, 4)) < 0.5
    found = lime_weights(kept, kept @ coefficients)
    np.testing.assert_allclose(found, coefficients, atol=0.005)  # the penalty draws them a little to zero
    game = Game(coefficients, coefficients)
    assert (lime(game, seed=1) == lime(game, seed=1)).all() and (lime(game, seed=1) != lime(game, seed=2)).any()


@pytest.mark.parametrize("n", [3, 20])
def test_lime_of_uniform_attention_is_the_gradient_times_a_factor(n):
    game = Game(np.zeros(n), np.random.default_rng(n).normal(0, 3, n))
    found = lime(game, 200_000)
    factor = {3: 1.858090, 20: 1.772356}[n]  # of LIME's kernel, by hand
    np.testing.assert_allclose(found - found.mean(), factor * game.gradient, atol=0.02)


def test_estimates_are_held_against_what_is_exact():
    exact = [np.array([1.0, -4.0, 2.0]), np.array([0.0, 1.0])]
    told = [np.array([2.0, -2.0, 2.0]), np.array([0.0, 1.0])]
    assert is_it_explanation.off_exact(told, exact) == pytest.approx(3 / 12 / 2)


def test_a_hundred_sentences_are_drawn():
    corpus = Corpus.from_lists([[0] * n for n in range(1, 9)] * 40, [0] * 320)
    drawn = is_it_explanation.sentences(corpus)
    assert len(drawn) == 100 and drawn.lengths.min() == 3 and len(drawn.lengths.unique()) == 6
    assert (drawn.tokens == is_it_explanation.sentences(corpus).tokens).all()
