"""Scores and weights of the examined tokens, and the tables of many seeds."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import roc_auc_score

from uaftc_book.panels import weight_frame
from uaftc_lib import AttentionClassifier, Corpus, Dataset, Vocabulary, scores


@pytest.fixture
def world():
    """Three words, three instances, and a model in float64."""
    vocabulary = Vocabulary(["neutral-0", "positive-0", "negative-0"])
    train = Corpus.from_lists([[0, 1], [0, 2, 2], [1]], [1, 0, 1], classes=("negative", "positive"))
    data = Dataset("synthetic-1", vocabulary, ("negative", "positive"), train)
    return data, AttentionClassifier(len(vocabulary), dimension=4, lam=2.0, dtype=torch.float64)


def test_separation_is_the_area_under_the_curve():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.integers(0, 9, 300).astype(float), "type": rng.choice(["a", "b", "c"], 300)})
    two = frame[frame.type != "c"]
    assert scores.auc_of(frame, "y", "a", "b") == pytest.approx(roc_auc_score(two.type == "a", two.y))
    assert scores.auc_of(frame, "y", "b", "a") == pytest.approx(1 - scores.auc_of(frame, "y", "a", "b"))


def test_scores_belong_to_their_words(world):
    data, model = world
    frame = scores.score_frame(model, data, scores.examined_types(data)).set_index("word")
    for word, row in frame.iterrows():
        e = model.embedding[data.vocabulary.id(word)].detach()
        assert row["attention"] == pytest.approx(float(e @ model.V.detach()) / 2)
        assert row["polarity"] == pytest.approx(float(e @ model.W.detach()))
        assert word.startswith(row["type"])
        assert row["rank"] == data.vocabulary.id(word) + 1


def test_weights_are_averaged_over_occurrences(world):
    data, model = world
    frame = weight_frame(model, data, scores.examined_types(data), "train").set_index("word")
    alpha = model(data.train).weights.tolist()  # positions: n p | n b b | p
    assert frame.loc["neutral-0", "weight"] == pytest.approx((alpha[0] + alpha[2]) / 2)
    assert frame.loc["negative-0", "weight"] == pytest.approx((alpha[3] + alpha[4]) / 2)
    assert frame.loc["positive-0", "weight"] == pytest.approx((alpha[1] + 1) / 2)
    assert frame["expected"].to_dict() == pytest.approx(
        {"neutral-0": (1 / 2 + 1 / 3) / 2, "negative-0": 1 / 3, "positive-0": (1 / 2 + 1) / 2}
    )
    assert frame["occurrences"].to_dict() == {"neutral-0": 2, "negative-0": 2, "positive-0": 2}


def test_making_them_perpendicular_changes_v_alone(world):
    _, model = world
    W, along = model.W.detach().clone(), scores.dot_product(model)
    assert abs(along) > 1e-3
    scores.make_perpendicular(model)
    assert abs(scores.dot_product(model)) < 1e-12 and torch.equal(model.W.detach(), W)
