"""The settings that the chapters on real text train with."""

import json

import pytest

from uaftc_lib.studies import table2_cell


def test_a_chapter_trains_dp_as_released():
    cell = table2_cell("sst", lam=100, seed=3)
    assert (cell.dataset, cell.model, cell.lam, cell.seed) == ("sst", "DP", 100.0, 3)
    assert (cell.epochs, cell.learning_rate, cell.learning_rate_decay, cell.dropout) == (40, 0.02, 0.001, 0.5)
    assert (cell.dimension, cell.batch_size, cell.penalty, json.loads(cell.options)) == (100, 100, 0.0, {})


def test_a_given_setting_wins_and_the_rest_is_the_tables():
    cell = table2_cell("imdb", "DP-A", epochs=3, penalty=1e-4)
    assert (cell.epochs, cell.penalty) == (3, 1e-4)
    assert (cell.learning_rate, cell.weight_decay) == (0.01, 0.001)


@pytest.mark.parametrize("wrong", [{"model": "BERT"}, {"warmth": 3}, {"epochs": -1}])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError):
        table2_cell("sst", **wrong)
