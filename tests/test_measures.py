"""Scores and weights of the examined tokens, and the tables of many seeds."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import roc_auc_score

from uaftc_lib import AttentionClassifier, Corpus, Dataset, Vocabulary, load_dataset, measures, studies


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
    assert measures.separation(frame, "y", "a", "b") == pytest.approx(roc_auc_score(two.type == "a", two.y))
    assert measures.separation(frame, "y", "b", "a") == pytest.approx(1 - measures.separation(frame, "y", "a", "b"))


def test_scores_belong_to_their_words(world):
    data, model = world
    frame = measures.score_frame(model, data, measures.examined_types(data)).set_index("word")
    for word, row in frame.iterrows():
        e = model.embedding[data.vocabulary.id(word)].detach()
        assert row["attention"] == pytest.approx(float(e @ model.V.detach()) / 2)
        assert row["polarity"] == pytest.approx(float(e @ model.W.detach()))
        assert word.startswith(row["type"])
        assert row["rank"] == data.vocabulary.id(word) + 1


def test_weights_are_averaged_over_occurrences(world):
    data, model = world
    frame = measures.weight_frame(model, data, measures.examined_types(data), "train").set_index("word")
    alpha = model(data.train).weights.tolist()  # positions: n p | n b b | p
    assert frame.loc["neutral-0", "weight"] == pytest.approx((alpha[0] + alpha[2]) / 2)
    assert frame.loc["negative-0", "weight"] == pytest.approx((alpha[3] + alpha[4]) / 2)
    assert frame.loc["positive-0", "weight"] == pytest.approx((alpha[1] + 1) / 2)
    assert frame["expected"].to_dict() == pytest.approx(
        {"neutral-0": (1 / 2 + 1 / 3) / 2, "negative-0": 1 / 3, "positive-0": (1 / 2 + 1) / 2}
    )
    assert frame["occurrences"].to_dict() == {"neutral-0": 2, "negative-0": 2, "positive-0": 2}


def test_a_perpendicular_start_changes_v_alone(world):
    _, model = world
    W, along = model.W.detach().clone(), measures.dot_product(model)
    assert abs(along) > 1e-3
    measures.start_perpendicular(model)
    assert abs(measures.dot_product(model)) < 1e-12 and torch.equal(model.W.detach(), W)


def test_synthetic_kinds_are_complete():
    types = measures.examined_types(load_dataset("synthetic-1", class_sizes=(5, 5)))
    assert {name: len(ids) for name, ids in types.items()} == {"positive": 50, "negative": 50, "neutral": 1000}
    assert sorted(torch.cat(list(types.values())).tolist()) == list(range(1100))


def toy(lam: float, seed: int) -> list[dict]:
    toy.calls += 1
    return [{"value": lam + seed}]


def test_a_study_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("UAFTC_RESULTS", str(tmp_path))
    jobs = [{"lam": 1.0, "seed": s} for s in range(3)]
    monkeypatch.setitem(studies.STUDIES, "toy", (toy, jobs[:2]))
    toy.calls = 0
    with pytest.raises(FileNotFoundError, match="uaftc_lib.studies toy"):
        studies.results("toy")
    studies.make("toy")
    monkeypatch.setitem(studies.STUDIES, "toy", (toy, jobs))
    table = studies.make("toy")
    assert toy.calls == 3 and table["value"].tolist() == [1, 2, 3]
    assert {"seconds", "version", "machine"} <= set(studies.results("toy"))
    assert studies.same_as_stored("toy", lam=1.0, seed=2)
    with pytest.raises(ValueError, match="no row"):
        studies.same_as_stored("toy", lam=2.0, seed=2)


def test_a_wrong_stored_row_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setenv("UAFTC_RESULTS", str(tmp_path))
    monkeypatch.setitem(studies.STUDIES, "toy", (toy, [{"lam": 1.0, "seed": 0}]))
    toy.calls = 0
    studies.make("toy").assign(value=1.05).to_csv(tmp_path / "toy.csv", index=False)
    assert not studies.same_as_stored("toy", lam=1.0, seed=0)


def test_unknown_studies_are_refused():
    with pytest.raises(ValueError, match="there are synthetic_gap"):
        studies.make("gap")
