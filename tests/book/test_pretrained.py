"""Words that are not read, words like them, and readers of whole texts."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_book.chapters import pretrained
from uaftc_book.chapters.pretrained import (
    Gained,
    asked_words,
    beyond_controls,
    nearest_words,
    stand_ins,
    unseen_row,
    words_cut_out,
)
from uaftc_book.small_data import small_data
from uaftc_lib import AttentionClassifier, TrainingConfig
from uaftc_lib.experiments.registry import stored

KINDS = {"positive": range(5), "negative": range(5, 10), "neutral": range(10, 40)}
LISTS = {kind: torch.tensor([*ids]) for kind, ids in KINDS.items()}


@cache
def vectors(types=60, d=6):
    """Some of whose rows have none."""
    matrix = torch.randn(types, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    matrix[torch.tensor([3, 50])] = torch.nan
    return matrix


def test_words_without_a_vector_are_not_drawn():
    drawn = torch.stack([words_cut_out(vectors(), seed) for seed in range(200)])
    assert not drawn[:, [3, 50]].any() and drawn[:, [0, 10]].any(0).all()
    assert abs(float(drawn.double().mean()) - pretrained.HELD_OUT * 58 / 60) < 0.01


def planted(polarity, attention):
    """A run whose scores, and gains, are these."""
    scores = {"polarity": polarity, "attention": attention}
    return Gained(scores, scores, 0.5)


def test_unseen_words_are_compared_by_rank_and_by_their_lists():
    asked = torch.ones(60, dtype=torch.bool)
    side = torch.zeros(60)
    side[:5], side[5:10] = 1, -1
    noise = torch.rand(60, generator=torch.Generator().manual_seed(1))
    found = unseen_row(
        planted(side + noise / 9, side.abs()), planted((side + noise / 9) ** 3, -side.abs()), asked, LISTS
    )
    assert found["polarity"] == pytest.approx(1) and found["attention"] == pytest.approx(-1)
    assert found["unseen: positive over negative"] == found["unseen: polar over neutral"] == 1
    assert found["read: polar over neutral"] == 0 and found["positive words"] == 5
    asked[:2] = False
    assert unseen_row(planted(side, side), planted(side, side), asked, LISTS)["positive words"] == 3


def test_nearest_words_are_others_that_can_be_used():
    usable = torch.ones(60, dtype=torch.bool)
    usable[20] = False
    cosines = torch.zeros(2, 60)
    cosines[0, [0, 20, 21]], cosines[1, [7, 0, 22]] = 1.0, 1.0
    near = nearest_words(cosines, torch.tensor([0, 7]), usable)
    assert {21, 22} <= set(near.tolist()) and not {0, 7, 20} & set(near.tolist())


def test_words_that_are_asked_for_are_of_both_classes():
    lists = {kind: torch.tensor([*range(start, start + 30)]) for kind, start in (("positive", 0), ("negative", 30))}
    usable = torch.ones(60, dtype=torch.bool)
    usable[:10] = False
    asked = asked_words(lists, usable, 0)
    assert len(asked.unique()) == pretrained.ASKED and asked.min() >= 10
    assert (asked[:10] < 30).all() and (asked[10:] >= 30).all()


def test_stand_ins_are_as_frequent_and_as_associated_and_differ():
    gamma, counts = torch.linspace(-1, 1, 60), torch.full((60,), 7)
    near = torch.tensor([10, 11, 30])
    found = stand_ins(near, torch.tensor([9, 12, 29, 50]), gamma, counts)
    assert found.tolist() == [9, 12, 29]
    counts[29] = 10_000
    assert stand_ins(near, torch.tensor([9, 12, 29, 50]), gamma, counts).tolist()[2] == 50


def toy_run(rate=0.5):
    data = small_data(class_sizes=(60, 60))
    model = AttentionClassifier(len(data.vocabulary), 8, lam=2.0, dtype=torch.float64)
    first = {name: value.detach().clone() for name, value in model.named_parameters()}
    config = TrainingConfig("sgd", rate, batch_size=30, epochs=3)
    return first, model, pretrained.with_givers(model, data, config)


def test_what_words_gave_is_what_V_and_W_gained(monkeypatch):
    first, model, gave = toy_run()
    for name, sums in (("W", gave.of_W), ("V", gave.of_V)):
        moved = getattr(model, name).detach() - first[name]
        assert torch.allclose(sums.sum(0), moved, rtol=1e-9) and moved.abs().max() > 1e-6
    monkeypatch.setattr(pretrained.dynamics, "token_sums", lambda *_: (torch.zeros(1), torch.zeros(1)))
    assert not toy_run()[2].of_W.any()  # the sums are those of π and ρ, and of nothing else


def test_gifts_are_added_from_the_nearest_on():
    gifts = torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    by = pretrained.given_by(gifts, torch.tensor([[0.1, 0.9, 0.5, 1.0]]), torch.tensor([True, True, True, False]))
    assert [float(by(count)) for count in (1, 2, 3, 99)] == [2, 6, 7, 7]


@pytest.fixture
def toy(monkeypatch):
    """Synthetic data in place of real ones, whose words of a kind have vectors alike."""
    data = replace(small_data(class_sizes=(150, 150)), name="sst")
    data = replace(data, dev=data.train, test=data.train)
    draws = torch.Generator().manual_seed(0)
    matrix = torch.randn(len(data.vocabulary), 6, generator=draws, dtype=torch.float64)
    for k, kind in enumerate(("positive", "negative")):
        ids = [i for i, word in enumerate(data.vocabulary.words) if word.startswith(kind)]
        matrix[ids] += 3 * torch.eye(6, dtype=torch.float64)[k]

    def initialised_from(name, dataset, seed=0):
        dealt = matrix[torch.randperm(len(matrix), generator=draws)]
        return {"random": None, "dealt out": dealt}.get(name, matrix)

    lists = {
        kind: torch.tensor([i for i, word in enumerate(data.vocabulary.words) if word.startswith(kind)])
        for kind in ("positive", "negative", "neutral")
    }
    monkeypatch.setattr(pretrained, "load_dataset", lambda _: data)
    monkeypatch.setattr(pretrained, "from_book", initialised_from)
    monkeypatch.setattr(pretrained, "token_types", lambda *_: lists)
    learning = {"frozen": pretrained.LEARNING["frozen"] | {"epochs": 20}, "trained": {"epochs": 3}}
    monkeypatch.setattr(pretrained, "LEARNING", learning)
    monkeypatch.setattr(pretrained, "ASKED", 8)
    monkeypatch.setattr(pretrained, "NEAREST", 3)
    monkeypatch.setattr(pretrained, "HELD_OUT", 0.4)
    return data


def test_where_vectors_mean_something_unseen_words_take_their_side(toy):
    rows = pd.DataFrame(pretrained.unseen_words("sst", 10.0, 0)).query("learning == 'frozen'").set_index("kind")
    assert rows.loc["vectors", "unseen: positive over negative"] > 0.9
    assert rows.loc["vectors", "polarity"] > rows.loc["dealt out", "polarity"]


def test_frames_hold_the_unseen_words_of_the_lists(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(pretrained, "SHOWN_LAMS", (1.0, 10.0))
    rows = pretrained.unseen_frames("sst", tmp_path)
    monkeypatch.setattr(pretrained, "results_folder", lambda: tmp_path)
    frames = pretrained.unseen_scores("sst")
    assert [row["lam"] for row in rows] == [*frames] == [1, 10]
    assert len(frames[1]) == rows[0]["words"] and {*frames[1].kind} == {"positive", "negative", "neutral"}


def test_what_similar_words_give_is_told_of_every_initialisation(toy):
    rows = pd.DataFrame(pretrained.similar_words(10.0, "sst", 0)).assign(seed=0)
    assert list(rows.initialisation) == list(pretrained.INITIALISATIONS_OF_WORDS)
    given = [f"{name} without {these}" for name in ("vote", "lead") for these in ("others", "like")]
    assert np.isfinite(rows[given].to_numpy()).all()


def test_what_beats_one_control_alone_is_not_beyond_both():
    rows = pd.DataFrame({"kind": ["vectors", "dealt out", "permuted labels"], "seed": 0, "polarity": [0.5, 0.1, 0.7]})
    assert beyond_controls(rows, "polarity").tolist() == pytest.approx([-0.2])


def test_the_slider_shows_what_is_stored():
    shown, told = pretrained.unseen_slider("sst"), stored("unseen_frames")
    assert [stop.value for stop in shown.stops] == [*told.lam] and shown.stops[shown.first].value == pretrained.FIRST
    for stop, part in zip(shown.stops, told["unseen: positive over negative"]):
        assert f"{part:.0%} of the pairs" in stop.says
    assert len(shown._repr_html_()) < 200_000
