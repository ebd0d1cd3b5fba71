"""The small studies of the exact dynamics, and the lines under equations."""

from dataclasses import replace

import pytest
import torch

from uaftc_lib.equations import REGISTRY, prove
from uaftc_lib.exact_studies import (
    CURES,
    EXACT_STUDIES,
    ends,
    mean_field_end,
    pair_means,
    set_cosine,
    small_config,
    small_data,
    start_model,
    train_with_cure,
    wanted_signs,
)
from uaftc_lib.measures import dot_product, examined_types
from uaftc_lib.studies import STUDIES, results, same_as_stored
from uaftc_lib.term_studies import TERM_STUDIES, by_kind, terms
from uaftc_lib.training import fit
from uaftc_lib.variant_studies import VARIANT_STUDIES, three_classes


def test_set_cosine_turns_w_and_keeps_its_length():
    dataset = small_data()
    for cosine in (-0.9, 0.0, 0.3):
        model = start_model(dataset, dimension=12, seed=4, dtype=torch.float64)
        length, V = model.W.detach().norm(), model.V.detach().clone()
        set_cosine(model, cosine)
        W = model.W.detach()
        assert torch.equal(model.V.detach(), V)
        assert torch.isclose(W.norm(), length) and abs(V @ W / (V.norm() * W.norm()) - cosine) < 1e-12


def test_three_classes_hold_their_own_words_and_neutral_ones():
    dataset, types = three_classes(seed=3, instances=20)
    assert len(dataset.train) == 60 and len(dataset.vocabulary.words) == 190
    for t in range(0, 60, 7):
        label = int(dataset.train.labels[t])
        tokens = dataset.train.tokens[dataset.train.offsets[t] : dataset.train.offsets[t + 1]]
        own = torch.isin(tokens, types[str(label)]).sum()
        neutral = torch.isin(tokens, types["3"]).sum()
        assert (len(tokens), int(own), int(neutral)) == (12, 2, 10)
        assert len(tokens.unique()) == 12


def test_wanted_signs_are_those_of_pairs_of_polar_words():
    """Good words at 1 and 2, a bad one at ``x``, a neutral one that does not count."""
    types = {"positive": torch.tensor([0, 1]), "negative": torch.tensor([2]), "neutral": torch.tensor([3])}
    for x, share in ((-1.0, 1.0), (1.0, 1 / 3)):
        assert wanted_signs(torch.tensor([[1.0], [2.0], [x], [-5.0]]), types) == pytest.approx(share)
    assert wanted_signs(torch.tensor([[1.0], [-2.0], [1.0], [9.0]]), types) == pytest.approx(1 / 3)


def test_means_of_sizes_do_not_cancel():
    types = {"neutral": torch.tensor([0, 1]), "positive": torch.tensor([2])}
    found = by_kind({"π": torch.tensor([-3.0, 1.0, 2.0])}, types)
    assert found == {"π neutral": -1.0, "π positive": 2.0, "|π| neutral": 2.0, "|π| positive": 2.0}


def test_a_row_of_the_terms_is_no_smaller_in_size_than_in_the_mean():
    (row,) = terms(0.0, 100, 10.0, 3)
    sizes = [name for name in row if "|" in name]
    assert len(sizes) == 42  # six terms, polarity, π, ρ, four first ones and the largest F, of three kinds
    means = {name: row[name.replace("|", "").replace("largest", "first")] for name in sizes}
    assert all(row[name] >= abs(mean) * (1 - 1e-12) for name, mean in means.items())
    assert all(row[f"largest |F| {kind}"] >= row[f"first |F| {kind}"] for kind in ("positive", "negative", "neutral"))
    assert row["weaker like"] <= row["like"]


def test_pair_means_leave_out_the_diagonal():
    vectors = torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    found = pair_means(vectors, {"x": torch.tensor([0, 1]), "y": torch.tensor([2])})
    assert found["x–x"] == 2.0 and found["x–y"] == 1.5


def test_the_mean_field_foretells_the_gap():
    dataset = small_data()
    types = examined_types(dataset)
    for cosine in (-0.3, 0.3):
        model = set_cosine(start_model(dataset, 20.0, dimension=20, seed=1), cosine)
        gap, lead = mean_field_end(model, dataset, types, 6 * 40.0)
        fit(model, dataset, small_config(epochs=40, seed=1))
        found = ends(model, types)
        assert abs(found["gap"] / gap - 1) < 0.15 and abs(found["lead"] - lead) < 0.15 * abs(gap)
        assert found["gap"] * cosine > 0


def test_cures_start_as_they_should():
    dataset = small_data()
    with pytest.raises(ValueError, match="no cure 'prayer'"):
        train_with_cure(dataset, "prayer")
    held, _ = train_with_cure(dataset, "penalty", dimension=20)
    assert abs(dot_product(held)) < 0.5


@pytest.mark.parametrize("name", [*EXACT_STUDIES, *VARIANT_STUDIES, *TERM_STUDIES, "side_scores"])
def test_stored_tables_are_complete(name):
    table, (_, jobs) = results(name), STUDIES[name]
    found = set(map(tuple, table[list(jobs[0])].itertuples(index=False)))
    assert found == {tuple(job.values()) for job in jobs}


@pytest.mark.parametrize("study", ["exact_cures", "sst_cures"])
def test_all_cures_were_tried_equally_often(study):
    assert results(study).groupby("cure").seed.nunique().to_dict() == dict.fromkeys(CURES, 30)


def test_a_row_of_the_cures_on_real_sentences_comes_out_again(dataset):
    dataset("sst")
    assert same_as_stored("sst_cures", cure="penalty", seed=1)


def test_a_changed_row_is_noticed(monkeypatch):
    job = {"optimizer": "adam", "lam": 100.0, "seed": 0}
    assert same_as_stored("exact_optimizers", **job)
    wrong = results("exact_optimizers").assign(gap=lambda table: table["gap"] * 1.05)
    monkeypatch.setattr("uaftc_lib.studies.results", lambda name: wrong)
    assert not same_as_stored("exact_optimizers", **job)


def test_prove_says_what_holds_and_raises_when_the_registry_is_wrong(capsys, monkeypatch):
    prove(43, 44)
    assert capsys.readouterr().out.splitlines() == [
        "Eq 43: ok (relative error < 1e-12)",
        "Eq 44 corrected: ok (relative error < 1e-12)",
        "Eq 44 as printed: fails (relative error < 1e-12)",
    ]
    # A form that is said to fail but holds, and one that is said to hold but fails.
    entry = REGISTRY[44]
    for wrong in (replace(entry, printed=entry.check), replace(entry, check=entry.printed)):
        monkeypatch.setitem(REGISTRY, 44, wrong)
        with pytest.raises(AssertionError, match="Eq 44"):
            prove(44)
