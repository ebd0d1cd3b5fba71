"""The worlds of the null controls, and how a claim is held against them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_book import cards, claims, controls, nulls
from uaftc_book.cases import Tables
from uaftc_book.chapters import real_words
from uaftc_book.chapters.real_words import Watch, vote_for_own_class
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import examined_types
from uaftc_lib.token_lists import class_frequencies
from uaftc_lib.training import TrainingConfig, fit


@pytest.fixture(scope="module")
def small() -> Dataset:
    return load_dataset("synthetic-1", class_sizes=(90, 110), neutral_types=40, polarity_types=8)


def same_texts(first, second) -> bool:
    return torch.equal(first.tokens, second.tokens) and torch.equal(first.offsets, second.offsets)


def test_permuted_labels_are_those_of_training_dealt_out_anew(small):
    dataset = replace(small, dev=small.train, test=small.train)
    dealt = controls.with_permuted_labels(dataset, 0)
    assert same_texts(dealt.train, dataset.train)
    assert torch.equal(dealt.train.labels.sort().values, dataset.train.labels.sort().values)
    assert not torch.equal(dealt.train.labels, dataset.train.labels)
    assert dealt.dev is dataset.dev and dealt.test is dataset.test
    assert torch.equal(controls.with_permuted_labels(dataset, 0).train.labels, dealt.train.labels)
    assert not torch.equal(controls.with_permuted_labels(dataset, 1).train.labels, dealt.train.labels)


def test_halves_share_no_text_and_leave_none_out(small):
    first, second = controls.halves(small, 3)
    assert len(first.train) == len(second) == 100
    tokens = torch.cat([first.train.tokens, second.tokens]).sort().values
    assert torch.equal(tokens, small.train.tokens.sort().values)


def test_joined_corpora_keep_their_texts_and_labels(small):
    both = controls.joined(small.train[:3], small.train[5:7])
    assert both.labels.tolist() == [*small.train.labels[:3].tolist(), *small.train.labels[5:7].tolist()]
    assert torch.equal(both[4].tokens, small.train[6].tokens)


def test_held_out_lists_are_made_from_other_texts_of_words_that_training_has(small):
    half, other = controls.halves(small, 0)
    met = half.train.tokens.unique()
    found = controls.held_out_types(replace(half, dev=other[:60], test=other[60:]))
    assert set(found) == {"positive", "negative", "neutral"} and len(found["positive"])
    assert all(torch.isin(ids, met).all() for ids in found.values())


def test_matched_words_have_a_partner_of_about_their_frequency(small):
    types = examined_types(small)
    size = len(small.vocabulary)
    matched = controls.matched_types(types, small.train, size)
    counts = torch.bincount(small.train.tokens, minlength=size).double()
    polar = torch.cat([matched["positive"], matched["negative"]])
    assert 0 < len(polar) == len(matched["neutral"]) < 16
    assert all(set(ids.tolist()) <= set(types[name].tolist()) for name, ids in matched.items())
    ratios = counts[polar].sort().values / counts[matched["neutral"]].sort().values
    assert ratios.max() <= controls.RATIO and ratios.min() >= 1 / controls.RATIO


def test_equal_classes_take_the_same_number_of_each(small):
    assert real_words.equal_classes(small, 0).train.labels.bincount().tolist() == [90, 90]


def test_without_types_leaves_out_words_and_texts_that_have_no_other(small):
    gone = torch.arange(40)
    left = real_words.without_types(replace(small, test=small.train[:5]), gone)
    assert not torch.isin(left.train.tokens, gone).any() and (left.train.lengths == 2).all()
    assert len(left.test) == 5
    with pytest.raises(ValueError, match="with instances"):
        real_words.without_types(small, torch.arange(len(small.vocabulary)))


@pytest.mark.parametrize("by_class", [False, True])
def test_words_that_are_dealt_out_stay_as_frequent_at_the_places_where_they_stood(small, by_class):
    some, size = torch.arange(0, len(small.vocabulary), 2), len(small.vocabulary)
    dealt = real_words.with_types_dealt_out(small, some, 0, by_class)
    before, after = small.train.tokens, dealt.train.tokens
    among = torch.isin(before, some)
    assert torch.equal(among, torch.isin(after, some)) and torch.equal(before[~among], after[~among])
    assert not torch.equal(before, after)
    assert torch.equal(before.bincount(minlength=size), after.bincount(minlength=size))
    counts = [class_frequencies(corpus, small.vocabulary) for corpus in (small.train, dealt.train)]
    assert torch.equal(*counts) == by_class


def runs(labels: str, values: list[float], moment: str = "loss 0.2") -> pd.DataFrame:
    """Rows of null_controls in which attention of polar words leads by some value."""
    rows = [{"seed": seed, "attention positive": v, "attention negative": v} for seed, v in enumerate(values)]
    same = {"dataset": "sst", "model": "DP", "lam": 10.0, "lists": "training", "attention neutral": 0.0}
    return pd.DataFrame(rows).assign(labels=labels, moment=moment, **same)


PERMUTED = [k / 40 for k in range(40)]


@pytest.mark.parametrize("real, verdict", [(1.2, "more"), (0.5, "as much"), (-0.3, "less"), (0.98, "more")])
def test_a_claim_is_held_against_the_central_permutations(real, verdict):
    rows = pd.concat([runs("real", [real - 0.01, real + 0.01]), runs("permuted", PERMUTED)])
    null = nulls.against_null(rows, lambda rows: rows.set_index("seed")["attention positive"])
    assert (null.verdict, null.seeds, null.permutations) == (verdict, 2, 40)
    assert null.mean == pytest.approx(real) and (null.low, null.high) == pytest.approx((0.024375, 0.950625))
    assert f"real {verdict}" in null.told


def test_runs_are_compared_at_the_lowest_loss_that_all_of_them_reach():
    later = [runs("real", [1.0, 1.0], "loss 0.3"), runs("permuted", [0.0, 0.0], "loss 0.3")]
    rows = pd.concat([runs("real", [1.0, 1.0]), runs("permuted", [0.0]), *later])
    assert nulls.equal_loss(rows) == "loss 0.3"
    alone = rows[rows["labels"] == "real"]
    assert nulls.equal_loss(alone) == ""
    assert nulls.against_null(alone, lambda rows: rows["seed"]) is None


def panel(labels: str, values: list[float]) -> pd.DataFrame:
    """Rows of panel_controls in which the weakest list leads by some value, another by one more."""
    lists = {"a": 0.0, "b": 1.0, "neutral": None}
    rows = [{"seed": seed, "type": kind, "attention": 5.0 if more is None else 5.0 + v + more}
            for seed, v in enumerate(values) for kind, more in lists.items()]  # fmt: skip
    same = {"dataset": "sst", "model": "DP-A", "lam": 20.0, "lists": "training", "moment": "loss 0.2"}
    return pd.DataFrame(rows).assign(labels=labels, **same)


def test_a_panel_is_held_against_permuted_labels_by_its_weakest_list():
    tables = Tables({"panel_controls": pd.concat([panel("real", [0.9, 1.1]), panel("permuted", PERMUTED)])})
    where = ("sst", "DP-A", 20.0)
    null = nulls.panel_null(tables, where, "attention", nulls.lead_of)
    assert (null.verdict, null.mean) == ("more", pytest.approx(1.0))
    assert nulls.panel_null(tables, where, "attention", nulls.least_of).mean == pytest.approx(6.0)
    assert nulls.panel_null(tables, where, "attention", nulls.polar_of).mean == pytest.approx(1.5)
    assert nulls.panel_null(tables, ("imdb", "AD", 10.0), "attention", nulls.lead_of) is None


def test_controls_of_a_panel_have_the_form_of_the_others():
    rows = panel("permuted", [0.9]).assign(epoch=7)
    rows["own polarity"] = [2.0, 3.0, None]
    rows["type"] = ["positive", "negative", "neutral"]
    tables = Tables({"panel_controls": rows, "null_controls": rows[:0]})
    (row,) = nulls.control_rows(tables, ("sst", "DP-A", 20.0)).to_dict("records")
    assert (row["labels"], row["seed"], row["moment"], row["epoch"]) == ("permuted", 0, "loss 0.2", 7)
    assert row["attention positive"] - row["attention neutral"] == pytest.approx(0.9)
    assert (row["polarity positive"], row["polarity negative"]) == (2.0, -3.0)
    null = pd.concat([runs("real", [0.4] * 10), runs("permuted", PERMUTED)])
    assert nulls.control_rows(Tables({"null_controls": null}), ("sst", "DP", 10.0)).equals(null.sort_values("seed"))


def test_own_polarity_is_that_for_the_class_of_a_list_less_the_largest_other():
    two = pd.DataFrame({"polarity": [2.0, 4.0]})
    assert (vote_for_own_class(two, "positive", ()), vote_for_own_class(two, "negative", ())) == (3.0, -3.0)
    three = pd.DataFrame({"polarity x": [3.0, 5.0], "polarity y": [1.0, 2.0], "polarity z": [-1.0, 0.0]})
    votes = [vote_for_own_class(three, name, ("x", "y", "z")) for name in ("x", "z", "neutral")]
    assert votes[:2] == [2.5, -4.5] and pd.isna(votes[2])


def test_a_watched_run_keeps_each_moment_once(small):
    """Kept are the first epochs whose loss lies below each level, and the last one; scores of real labels."""
    lists = {"training": examined_types(small)}
    watch = Watch(small, lists, last=30)
    model = AttentionClassifier(len(small.vocabulary), dimension=10, seed=0)
    config = TrainingConfig(epochs=30, learning_rate=0.2, seed=0)
    run = fit(model, small, config, record=watch.look, trainer=watch)
    losses = run.history["loss"].to_numpy()
    for level in (0.5, 0.2):
        (epoch,) = {row["epoch"] for row in watch.rows[f"loss {level:g}"]}
        assert losses[epoch] <= level < losses[1:epoch].min(initial=np.inf)
    assert {row["epoch"] for row in watch.rows["last"]} == {30} and len(watch.rows["last"]) == 3
    again = fit(AttentionClassifier(len(small.vocabulary), dimension=10, seed=0), small, config)
    assert again.history["loss"].tolist() == run.history["loss"].tolist()[1:]


def test_the_line_of_a_claim_says_whether_it_beats_its_control():
    seeds = [{"seed": s, "lam": 10.0, "penalty": 0.0, **{f"attention {k}": v for k, v in
              (("positive", 0.3), ("negative", 0.5), ("neutral", -0.1))}} for s in range(10)]  # fmt: skip
    null = pd.concat([runs("real", [0.4] * 10), runs("permuted", PERMUTED)])
    tables = Tables({"sst_scores": pd.DataFrame(seeds), "null_controls": null})
    judged = claims.judge(claims.CLAIMS["figure_2_attention"], tables)
    assert [part.null.verdict for part in judged.parts if part.null] == ["as much"]
    assert "Shuffled labels: as much in 1 of 1.</span>" in cards.card(judged)
    judged = claims.judge(claims.CLAIMS["figure_2_attention"], Tables({"sst_scores": pd.DataFrame(seeds)}))
    assert "Shuffled" not in cards.card(judged)
