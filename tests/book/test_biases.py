"""In short: a factor more, normalised steps, entropies, what length does."""

import numpy as np
import pandas as pd
import pytest
import torch
from test_neighbours_trained import TYPES, texts

from uaftc_book.chapters import since_2020
from uaftc_book.neighbours import dispersion, selection
from uaftc_book.random_models import Case
from uaftc_book.small_data import initial_model, small_data
from uaftc_lib import AttentionClassifier, Corpus

CASE = Case(dimension=20, lam=1.0, types=40, instances=10, seed=0)


def test_the_logarithm_of_the_loss_is_that_of_the_model_and_goes_on_where_it_is_none():
    model, corpus = CASE.model(), CASE.corpus()
    texts = selection.texts_of(model, corpus)
    V, W = model.V.detach().numpy(), model.W.detach().numpy()
    assert since_2020.log_loss(texts, V, W) == pytest.approx(float(model.loss(corpus).detach().log()), rel=1e-12)
    best = np.linalg.lstsq(texts.E[texts.type[selection.chosen_by(texts, 50 * V)]], texts.y, rcond=None)[0]
    far = [since_2020.log_loss(texts, 50 * V, size * best) for size in (2000.0, 4000.0)]
    assert far[1] == pytest.approx(2 * far[0], rel=0.01) and far[1] < -1000


def test_steps_of_descent_are_those_of_the_gradient():
    model, corpus = CASE.model(), CASE.corpus()
    texts = selection.texts_of(model, corpus)
    start = np.concatenate([model.V.detach().numpy(), model.W.detach().numpy()])
    model.loss(corpus).backward()
    slopes = -torch.cat([model.V.grad, model.W.grad]).numpy()
    path = since_2020.descend(texts, start, alone=False, normalised=False, steps=1)[0]
    assert path[0] - start == pytest.approx(slopes, rel=1e-9, abs=1e-12)
    path = since_2020.descend(texts, start, alone=True, normalised=True, steps=1)[0]
    moved = path[0] - start
    assert moved[:20] == pytest.approx(0.1 * slopes[:20] / np.linalg.norm(slopes[:20]), rel=1e-9)
    assert not moved[20:].any()


def test_entropies_are_in_units_of_the_even_weights_and_texts_of_one_word_have_none():
    text, alpha = np.array([0, 0, 1, 2, 2, 2]), np.array([0.5, 0.5, 1.0, 1.0, 0.0, 0.0])
    assert since_2020.entropies(alpha, text, np.array([2, 1, 3])).tolist() == [1.0, 0.0]


def test_a_factor_of_one_that_is_held_changes_nothing_and_a_learned_one_does():
    model, corpus = CASE.model(), CASE.corpus()
    E, V, W = (x.detach().double() for x in (model.embedding, model.V, model.W))
    rows = pd.DataFrame(since_2020.factor_more(0))
    assert rows.groupby("model").size().tolist() == [len(since_2020.LOSSES)] * 2
    plain = since_2020.keys_and_votes(corpus, E, {"V": since_2020.EPSILON**2 * V, "W": since_2020.EPSILON**2 * W})[-1]
    sizes = np.linalg.svd(plain, compute_uv=False)
    last = rows[rows.loss == since_2020.LOSSES[-1]].set_index("model")
    assert last["ratio"]["DP"] == pytest.approx(sizes[1] / sizes[0], rel=1e-6)
    assert last["ratio"]["DP-A"] < last["ratio"]["DP"] - 0.02


def test_the_race_begins_even_and_with_the_loss_of_a_guess():
    data = small_data(0)
    share, loss = since_2020.followed(data, initial_model(data, lam=10.0, seed=0), 10.0, np.array([0.0, 1.0, 1000.0]))
    assert share[0] == pytest.approx(1 / 6, abs=0.01) and share[2] > 2 * share[0]
    assert loss[0] == pytest.approx(np.log(2), abs=0.01) and loss[2] < 0.1


# --- the largest weight of a text against its bound and its length, and best words that exclude each other


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_no_weight_is_above_its_bound(scale):
    model, corpus = AttentionClassifier(TYPES, lam=1.0, seed=0, dtype=torch.float64), texts(30, 3)
    with torch.no_grad():
        model.V.mul_(scale)
    scores, span = dispersion.attention_scores(model, corpus)
    found = dispersion.largest(scores, corpus)
    weights = model(corpus).weights.detach().numpy()
    assert found == pytest.approx([own.max() for own in np.split(weights, corpus.offsets[1:-1].numpy())])
    assert (found <= dispersion.most(corpus.lengths.numpy(), span) + 1e-12).all()


def test_the_bound_is_reached_by_one_word_above_others_that_are_alike():
    corpus = Corpus.from_lists([[0, 1, 1, 1], [0]], [0, 1])
    found = dispersion.largest(np.array([2.0, 0.5]), corpus)
    assert found == pytest.approx(dispersion.most(np.array([4, 1]), 1.5)) and found[1] == 1


def test_equal_scores_fall_as_one_over_the_length_and_a_sharp_one_does_not():
    lengths = np.array([1, 2, 5, 10, 40])
    assert dispersion.power_of_length(lengths, 1 / lengths) == pytest.approx(-1)
    assert dispersion.power_of_length(lengths, dispersion.most(lengths, 50.0)) == pytest.approx(0, abs=1e-9)


def test_an_encoder_has_no_score_for_a_word_type():
    with pytest.raises(ValueError, match="without encoder"):
        dispersion.attention_scores(AttentionClassifier(TYPES, encoder="affine"), texts(3, 3))


def test_best_words_that_contradict_each_other_cannot_be_chosen(monkeypatch):
    model = AttentionClassifier(4, dimension=3, lam=1.0, weight_range=1.0, embedding_range=1.0, seed=0)
    corpus = Corpus.from_lists([[0, 1], [2, 3], [0, 1], [2, 3]], [1, 1, 0, 1])
    monkeypatch.setattr(since_2020, "problem", lambda *_: (model, corpus))
    monkeypatch.setattr(since_2020, "PARTS", (1, 4))
    first, last = since_2020.best_words(0)
    assert first == {"texts": 1, "possible": 1.0, "contradicted": 0.0}
    assert last == {"texts": 4, "possible": 0.0, "contradicted": 0.5}
