"""Chapter 20, in short: a factor more, normalised steps, entropy of weights; which law thresholds follow."""

import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_lib.book.chapters.learnt_first import detection
from uaftc_lib.book.chapters.since_2020 import biases, race
from uaftc_lib.book.random_models import Case
from uaftc_lib.book.small_data import small_data, start_model
from uaftc_lib.neighbours import selection

CASE = Case(dimension=20, lam=1.0, types=40, instances=10, seed=0)


def test_the_logarithm_of_the_loss_is_that_of_the_model_and_goes_on_where_it_is_none():
    model, corpus = CASE.model(), CASE.corpus()
    texts = selection.texts_of(model, corpus)
    V, W = model.V.detach().numpy(), model.W.detach().numpy()
    assert biases.log_loss(texts, V, W) == pytest.approx(float(model.loss(corpus).detach().log()), rel=1e-12)
    best = np.linalg.lstsq(texts.E[texts.type[selection.chosen_by(texts, 50 * V)]], texts.y, rcond=None)[0]
    far = [biases.log_loss(texts, 50 * V, size * best) for size in (2000.0, 4000.0)]
    assert far[1] == pytest.approx(2 * far[0], rel=0.01) and far[1] < -1000


def test_steps_of_descent_are_those_of_the_gradient():
    model, corpus = CASE.model(), CASE.corpus()
    texts = selection.texts_of(model, corpus)
    start = np.concatenate([model.V.detach().numpy(), model.W.detach().numpy()])
    model.loss(corpus).backward()
    slopes = -torch.cat([model.V.grad, model.W.grad]).numpy()
    path = biases.descend(texts, start, alone=False, normalised=False, steps=1)[0]
    assert path[0] - start == pytest.approx(slopes, rel=1e-9, abs=1e-12)
    path = biases.descend(texts, start, alone=True, normalised=True, steps=1)[0]
    moved = path[0] - start
    assert moved[:20] == pytest.approx(0.1 * slopes[:20] / np.linalg.norm(slopes[:20]), rel=1e-9)
    assert not moved[20:].any()


def test_a_power_is_read_off():
    steps = np.arange(1, biases.STEPS + 1)
    assert biases.growth_power(3 * steps**-0.75) == pytest.approx(-0.75)


def test_entropies_are_in_units_of_the_even_weights_and_texts_of_one_word_have_none():
    text, alpha = np.array([0, 0, 1, 2, 2, 2]), np.array([0.5, 0.5, 1.0, 1.0, 0.0, 0.0])
    assert biases.entropies(alpha, text, np.array([2, 1, 3])).tolist() == [1.0, 0.0]


def test_a_factor_of_one_that_is_held_changes_nothing_and_a_learned_one_does():
    model, corpus = CASE.model(), CASE.corpus()
    E, V, W = (x.detach().double() for x in (model.embedding, model.V, model.W))
    rows = pd.DataFrame(biases.factor_more(0))
    assert rows.groupby("model").size().tolist() == [len(biases.LOSSES)] * 2
    plain = biases.keys_and_votes(corpus, E, {"V": biases.SMALL**2 * V, "W": biases.SMALL**2 * W})[-1]
    sizes = np.linalg.svd(plain, compute_uv=False)
    last = rows[rows.loss == biases.LOSSES[-1]].set_index("model")
    assert last["ratio"]["DP"] == pytest.approx(sizes[1] / sizes[0], rel=1e-6)
    assert last["ratio"]["DP-A"] < last["ratio"]["DP"] - 0.02


def test_the_race_begins_even_and_with_the_loss_of_a_guess():
    data = small_data(0)
    share, loss = race.followed(data, start_model(data, lam=10.0, seed=0), 10.0, np.array([0.0, 1.0, 1000.0]))
    assert share[0] == pytest.approx(1 / 6, abs=0.01) and share[2] > 2 * share[0]
    assert loss[0] == pytest.approx(np.log(2), abs=0.01) and loss[2] < 0.1


def test_thresholds_along_a_logarithm_and_along_a_power_are_told_apart():
    lengths = np.array([16, 64, 256, 1024])
    by_log = pd.DataFrame({"length": lengths, "threshold": 1.0 + 2.0 * np.log(lengths)})
    by_power = pd.DataFrame({"length": lengths, "threshold": lengths**0.5})
    assert detection.logarithm_over_power(by_log) > 1e-4 > 0 > detection.logarithm_over_power(by_power)
