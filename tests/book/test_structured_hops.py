"""What hops of structured attention have in common, what they specialise in, and the grid of them."""

import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_book.chapters import words_and_classes
from uaftc_lib import Corpus, Dataset, Vocabulary
from uaftc_lib.datasets.synthetic import synthetic
from uaftc_lib.experiments.registry import stored
from uaftc_lib.models import softmax_by_instance

WORDS = 12


def texts(count=60, seed=0, length=10, classes=2):
    """Texts of twelve words; the label is whether word 0 occurs, of several classes which word comes first."""
    draws = np.random.default_rng(seed)
    rows = draws.integers(0, WORDS, (count, length))
    labels = (rows == 0).any(1).astype(int) if classes == 2 else rows[:, 0] % classes
    return Corpus.from_lists(rows.tolist(), labels.tolist(), classes)


def weights_of(scores, corpus):
    return softmax_by_instance(scores.double(), corpus.instance_of, len(corpus))


def noise(corpus, hops, scale=1.0, seed=0):
    draws = torch.Generator().manual_seed(seed)
    return scale * torch.randn(len(corpus.tokens), hops, generator=draws, dtype=torch.float64)


@pytest.fixture
def small():
    data = synthetic("synthetic-1", class_sizes=(90, 90), neutral_types=20)
    parts = {name: data.train[k::3] for k, name in enumerate(("train", "dev", "test"))}
    return Dataset("small", data.vocabulary, data.classes, **parts)


# ---- how alike hops are


@pytest.mark.parametrize("scale", [0.01, 3.0])
def test_hops_of_their_own_do_not_correlate_and_equal_ones_do_however_diffuse(scale):
    corpus = texts(400)
    own, equal = noise(corpus, 4, scale), noise(corpus, 1, scale).expand(-1, 3)
    for values in (own, weights_of(own, corpus)):
        assert abs(words_and_classes.correlations(values, corpus).nanmean()) < 0.03
    for values in (equal, weights_of(equal, corpus)):
        assert words_and_classes.correlations(values, corpus).nanmean() == pytest.approx(1)


def test_correlations_are_numpys_within_each_text():
    corpus = Corpus.from_lists([[0, 1, 2], [3, 4, 5, 6]], [0, 1])
    values = noise(corpus, 3)
    found = words_and_classes.correlations(values, corpus)
    for row, part in zip(found, (slice(0, 3), slice(3, 7))):
        expected = np.corrcoef(values[part].T)[np.triu_indices(3, 1)]
        np.testing.assert_allclose(row, expected)


def test_even_hops_and_texts_of_one_word_have_no_correlation():
    corpus = Corpus.from_lists([[0, 1, 2], [3], [4, 5, 6]], [0, 1, 0])
    weights = weights_of(torch.zeros(7, 2), corpus).float()  # single precision: nearly even
    weights[4:, 0] = torch.tensor([0.5, 0.3, 0.2])
    weights[4:, 1] = torch.tensor([0.5, 0.3, 0.2])
    assert words_and_classes.correlations(weights, corpus)[:, 0].isnan().tolist() == [True, True, False]


# ---- what hops specialise in


def test_information_is_that_of_the_joint_distribution():
    assert words_and_classes.mutual_information(torch.eye(2).double()) == pytest.approx(1)
    assert words_and_classes.mutual_information(torch.full((3, 2), 1 / 3).double()) == pytest.approx(0)
    table = torch.tensor([[0.7, 0.1], [0.3, 0.9]], dtype=torch.float64)
    joint = table.numpy() / 2
    expected = joint * np.log2(joint / np.outer(joint.sum(1), joint.sum(0)))
    assert words_and_classes.mutual_information(table) == pytest.approx(expected.sum())


def test_a_planted_preference_is_told_and_equal_hops_tell_nothing():
    corpus = texts(300)
    scores, group = noise(corpus, 3, 3.0), (corpus.tokens < 4).long()
    plain = words_and_classes.told_by_hop(weights_of(scores, corpus), group, corpus)
    scores[:, 1] += 2.0 * group
    assert words_and_classes.told_by_hop(weights_of(scores, corpus), group, corpus) > 3 * plain > 0
    equal = weights_of(noise(corpus, 1).expand(-1, 3), corpus)
    assert words_and_classes.told_by_hop(equal, corpus.tokens, corpus) == pytest.approx(0, abs=1e-9)


def test_kinds_follow_the_lists():
    spoken = ["good"] * 9 + ["the", "!", "film", "bad"]
    words = sorted({*spoken})
    good = [[words.index("good"), words.index("the"), words.index("!")]] * 9
    bad = [[words.index("bad"), words.index("the"), words.index("film")]] * 9
    data = Dataset("tiny", Vocabulary(words), ("no", "yes"), Corpus.from_lists(good + bad, [1] * 9 + [0] * 9))
    names, kind = words_and_classes.kinds(data)
    by_word = {word: names[kind[i]] for i, word in enumerate(words)}
    assert by_word == {"good": "yes", "bad": "no", "film": "no", "!": "yes", "the": "function word"}


# ---- the grid


def grid_of(means, spread=0.01):
    """Stored rows of one data set with these mean dev accuracies; the spread of its three seeds."""
    rows = [(h, p, s, m + spread * (s - 1)) for (h, p), m in means.items() for s in range(3)]
    frame = pd.DataFrame(rows, columns=["hops", "penalty", "seed", "dev_accuracy"])
    return frame.assign(dataset="sst", projections=False)


def simplest_by_rule(rows):
    """Hops and penalty of each data set; all its cells share one standard error: three seeds tell little of a cell's.

    One hop, which has nothing to divide, stands beside and is not chosen.
    """
    rows, chosen = rows[~rows["projections"].astype(bool) & (rows["seed"] < words_and_classes.GRID.seeds)], {}
    for dataset, own in rows.groupby("dataset", sort=False):
        cells = own.groupby(["hops", "penalty"])["dev_accuracy"].agg(["mean", "var", "size"])
        error = np.sqrt(cells["var"].mean() / cells["size"].min())
        several = cells[cells.index.get_level_values("hops") > 1].sort_index()
        hops, penalty = several.index[several["mean"] >= several["mean"].max() - error][0]
        chosen[dataset] = {"hops": int(hops), "penalty": float(penalty)}
    return chosen


def test_the_rule_takes_the_simplest_within_one_standard_error():
    means = {(1, 0.0): 0.9, (3, 0.0): 0.78, (3, 0.03): 0.796, (10, 0.0): 0.799, (30, 1.0): 0.8}
    within = {"sst": {"hops": 3, "penalty": 0.03}}  # 0.01/√3 below the best
    assert simplest_by_rule(grid_of(means)) == within
    assert simplest_by_rule(grid_of(means, 0.001)) == {"sst": {"hops": 30, "penalty": 1.0}}
    further = grid_of(means).assign(projections=True, dev_accuracy=1.0)
    assert simplest_by_rule(pd.concat([grid_of(means), further]))["sst"]["hops"] == 3


def test_what_was_chosen_is_what_the_rule_gives():
    assert set(words_and_classes.CHOSEN) == set(words_and_classes.GRID.datasets)
    assert simplest_by_rule(stored("structured")) == words_and_classes.CHOSEN


def test_a_small_run_has_every_column(small, monkeypatch):
    monkeypatch.setattr(words_and_classes, "GRID", words_and_classes.Grid(dimension=8, hidden=4))
    model, run = words_and_classes.trained_model(small, 3, 0.03, True, seed=1, epochs=1)
    assert model.hops == 3 and model.projections and len(run.history) == 1
    assert all(np.isfinite(value) for value in words_and_classes.looked_into(model, small).values())
    one, _ = words_and_classes.trained_model(small, 1, 0.0, False, seed=1, epochs=1)
    assert np.isnan((row := words_and_classes.looked_into(one, small))["correlation of weights"])
    assert row["kind, bits"] == pytest.approx(0)


def test_tfidf_tells_made_up_classes_apart(small):
    found = words_and_classes.linear(small)
    assert found["test_accuracy"] > 0.7 and found["C"] in words_and_classes.STRENGTHS
    counts = words_and_classes.counts_of_words(Corpus.from_lists([[1, 1, 0], [2]], [0, 1]), 4)
    assert counts.toarray().tolist() == [[1, 2, 0, 0], [0, 0, 1, 0]]
