"""Synthetic Data I and II, and the registry of data sets."""

import numpy as np
import pytest
import torch

from uaftc_lib import load_dataset, token_types
from uaftc_lib.datasets.synthetic import distinct_integers

NEUTRAL, POSITIVE, NEGATIVE = range(1000), range(1000, 1050), range(1050, 1100)


def table(dataset):
    """Token ids, one row for each instance."""
    return dataset.train.tokens.reshape(len(dataset.train), -1).numpy()


def exchanged(dataset):
    """For each instance, whether its polarity tokens are the other class's; mixed ones fail."""
    tokens, positive = table(dataset), dataset.train.labels.numpy() == 1
    positive_tokens = ((tokens >= 1000) & (tokens < 1050)).sum(1)
    negative_tokens = (tokens >= 1050).sum(1)
    assert set(zip(positive_tokens.tolist(), negative_tokens.tolist())) <= {(2, 0), (0, 2)}
    return (positive_tokens == 2) != positive


@pytest.mark.parametrize("name", ["synthetic-1", "synthetic-2"])
def test_defaults_of_appendix_c(name):
    dataset = load_dataset(name)
    assert torch.bincount(dataset.train.labels).tolist() == [6000, 6000]
    assert dataset.train.lengths.unique().tolist() == [12]
    assert dataset.dev is None and dataset.test is None
    assert dataset.classes == dataset.train.classes == ("negative", "positive")
    tokens = np.sort(table(dataset), axis=1)
    assert (np.diff(tokens, axis=1) > 0).all()
    assert ((tokens < 1000).sum(1) == 10).all()
    assert set(tokens.flat) == set(range(1100))


@pytest.mark.parametrize("name, in_each_class", [("synthetic-1", 0), ("synthetic-2", 600)])
def test_exchange_is_exactly_ten_percent_of_each_class(name, in_each_class):
    dataset = load_dataset(name, seed=3)
    wrong = exchanged(dataset)
    for label in (0, 1):
        assert wrong[dataset.train.labels.numpy() == label].sum() == in_each_class


def test_vocabulary_by_kind():
    vocabulary = load_dataset("synthetic-1").vocabulary
    assert (len(vocabulary), vocabulary.word_count) == (1103, 1100)
    for kind, ids in (("neutral", NEUTRAL), ("positive", POSITIVE), ("negative", NEGATIVE)):
        assert [vocabulary.word(i) for i in ids] == [f"{kind}-{k}" for k in range(len(ids))]


def test_kinds_are_found_again_by_eq_28():
    dataset = load_dataset("synthetic-2")
    types = token_types(dataset.train, dataset.vocabulary)
    assert types["positive"].tolist() == list(POSITIVE)
    assert types["negative"].tolist() == list(NEGATIVE)


def test_options():
    dataset = load_dataset(
        "synthetic-1",
        noise=0.25,
        class_sizes=(8, 40),
        neutral_types=5,
        neutral_tokens=3,
        polarity_types=4,
        polarity_tokens=4,
    )
    assert torch.bincount(dataset.train.labels).tolist() == [8, 40]
    assert len(dataset.vocabulary) == 5 + 4 + 4 + 3
    tokens, positive = np.sort(table(dataset), axis=1), dataset.train.labels.numpy() == 1
    looks_positive = (tokens[:, 3:] == [5, 6, 7, 8]).all(1)
    assert (looks_positive | (tokens[:, 3:] == [9, 10, 11, 12]).all(1)).all()
    assert (looks_positive != positive)[positive].sum() == 10
    assert (looks_positive != positive)[~positive].sum() == 2
    assert dataset.provenance["class_sizes"] == (8, 40)


def test_instances_and_tokens_are_shuffled():
    dataset = load_dataset("synthetic-1")
    assert 2500 < int(dataset.train.labels[:6000].sum()) < 3500
    where = (table(dataset) >= 1000).mean(0)
    assert np.abs(where - 2 / 12).max() < 5 * np.sqrt(2 / 12 * 10 / 12 / 12000)


@pytest.mark.usefixtures("global_generators_untouched")
def test_seeds():
    first, again, other = (load_dataset("synthetic-2", seed=seed).train for seed in (5, 5, 6))
    assert torch.equal(first.tokens, again.tokens) and torch.equal(first.labels, again.labels)
    assert not torch.equal(first.tokens, other.tokens)


def test_distinct_integers_are_uniform_and_may_be_all_there_are():
    rng = np.random.default_rng(0)
    rows = distinct_integers(rng, 40_000, 2, 4)
    sets, counts = np.unique(np.sort(rows, axis=1), axis=0, return_counts=True)
    assert len(sets) == 6
    assert np.abs(counts / 40_000 - 1 / 6).max() < 5 * np.sqrt(1 / 6 * 5 / 6 / 40_000)
    assert (np.sort(distinct_integers(rng, 5, 60, 60), axis=1) == np.arange(60)).all()
    assert distinct_integers(rng, 5, 0, 0).shape == (5, 0)


@pytest.mark.parametrize(
    "name, options, words",
    [
        ("nosuch", {}, "data set must be one of .*sst.*synthetic-1.*got 'nosuch'"),
        (None, {}, "data set must be one of"),
        ("synthetic-1", {"nosie": 0.1}, "no option 'nosie'; it has seed, noise, class_sizes"),
        ("sst", {"noise": 0.1}, "data set sst has no option 'noise'; it has none"),
        ("synthetic-1", {"noise": -0.1}, r"noise must lie in \[0, 1\], got -0.1"),
        ("synthetic-1", {"noise": float("nan")}, r"noise must lie in \[0, 1\], got nan"),
        ("synthetic-1", {"noise": "a lot"}, "noise must lie in"),
        ("synthetic-1", {"class_sizes": 6000}, "numbers of negative and positive instances, got 6000"),
        ("synthetic-1", {"class_sizes": (10, -1)}, "at least 0, got -1"),
        ("synthetic-1", {"class_sizes": (10.0, 1)}, "whole number, at least 0, got 10.0"),
        ("synthetic-1", {"class_sizes": (0, 0)}, "class_sizes are 0 and 0: each class needs an instance"),
        ("synthetic-1", {"class_sizes": (0, 3)}, "class_sizes are 0 and 3: each class needs an instance"),
        ("synthetic-1", {"polarity_tokens": 51}, "51 distinct polarity tokens cannot be drawn from 50"),
        ("synthetic-1", {"neutral_types": 3.5}, "neutral_types must be a whole number"),
        ("synthetic-1", {"neutral_tokens": 0, "polarity_tokens": 0}, "at least one token"),
        ("synthetic-1", {"seed": -1}, "seed must be a whole number, at least 0, got -1"),
        ("synthetic-1", {"seed": 0.5}, "seed must be a whole number"),
    ],
)
def test_impossible_options_are_refused(untyped, name, options, words):
    with pytest.raises(ValueError, match=words):
        load_dataset(name, **options)
