"""Small runs on Data I, the experiments that are made of them, and the lines under equations."""

import re
from dataclasses import replace

import pytest
import torch

from uaftc_book import contents
from uaftc_book.chapters.geometry import wanted_signs
from uaftc_book.chapters.interventions import Descent, Way, train_with_intervention
from uaftc_book.chapters.training import terms
from uaftc_book.chapters.variants import three_classes
from uaftc_book.equations import REGISTRY, prove
from uaftc_book.small_data import (
    by_kind,
    ends,
    initial_model,
    mean_field_end,
    pair_means,
    set_cosine,
    small_config,
    small_data,
)
from uaftc_lib.experiments.registry import EXPERIMENTS, same_as_stored, stored
from uaftc_lib.scores import KINDS, dot_product, examined_types
from uaftc_lib.training import fit

contents.load_chapters()  # registers the experiments


def test_set_cosine_turns_w_and_keeps_its_length():
    dataset = small_data()
    for cosine in (-0.9, 0.0, 0.3):
        model = initial_model(dataset, dimension=12, seed=4, dtype=torch.float64)
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
    (row,) = terms(0.0, 10.0, 3)
    sizes = [name for name in row if "|" in name]
    assert len(sizes) == 42  # six terms, polarity, π, ρ, four first ones and the largest F, of three kinds
    means = {name: row[name.replace("|", "").replace("largest", "first")] for name in sizes}
    assert all(row[name] >= abs(mean) * (1 - 1e-12) for name, mean in means.items())
    assert all(row[f"largest |F| {kind}"] >= row[f"first |F| {kind}"] for kind in KINDS)
    assert row["weaker like"] <= row["like"]


def test_pair_means_leave_out_the_diagonal():
    vectors = torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    found = pair_means(vectors, {"x": torch.tensor([0, 1]), "y": torch.tensor([2])})
    assert found["x–x"] == 2.0 and found["x–y"] == 1.5


def test_the_mean_field_foretells_the_gap():
    dataset = small_data()
    types = examined_types(dataset)
    for cosine in (-0.3, 0.3):
        model = set_cosine(initial_model(dataset, 20.0, dimension=20, seed=1), cosine)
        gap, lead = mean_field_end(model, dataset, types, 6 * 40.0)
        fit(model, dataset, small_config(epochs=40, seed=1))
        found = ends(model, types)
        assert abs(found["gap"] / gap - 1) < 0.15 and abs(found["lead"] - lead) < 0.15 * abs(gap)
        assert found["gap"] * cosine > 0


def test_interventions_change_the_model_as_they_should():
    dataset = small_data()
    with pytest.raises(ValueError, match="no intervention 'prayer'"):
        train_with_intervention(dataset, "prayer")
    held, _ = train_with_intervention(dataset, "penalty", dimension=20)
    assert abs(dot_product(held)) < 0.5


def test_descent_is_the_reference_with_momentum_and_a_decay_of_each_parameter():
    """On one batch: a decay takes ηκ of what was drawn, momentum repeats 0.9 of the first step with the second."""
    dataset = small_data(class_sizes=(100, 100))

    def after(epochs, trainer=None):
        model = initial_model(dataset, dimension=6, dtype=torch.float64)
        fit(model, dataset, small_config(epochs=epochs, method="autograd"), trainer=trainer)
        return {name: parameter.detach() for name, parameter in model.named_parameters()}

    def descent(way, decay_of_V=1.0):
        return lambda *given: Descent(*given, way, decay_of_V)

    start = {k: v.detach() for k, v in initial_model(dataset, dimension=6, dtype=torch.float64).named_parameters()}
    one, two = after(1), after(2)
    plain, quick = after(2, descent(Way())), after(2, descent(Way(momentum=0.9)))
    decayed = after(1, descent(Way(decay=0.01), decay_of_V=3.0))
    for name in start:
        assert torch.allclose(plain[name], two[name], rtol=0, atol=1e-14)
        assert torch.allclose(quick[name] - two[name], 0.9 * (one[name] - start[name]), rtol=0, atol=1e-14)
        assert torch.allclose(
            one[name] - decayed[name], (0.03 if name == "V" else 0.01) * start[name], rtol=0, atol=1e-14
        )


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_stored_tables_are_complete(name):
    table, jobs = stored(name), EXPERIMENTS[name].jobs
    found = set(map(tuple, table[list(jobs[0])].itertuples(index=False)))
    assert found == {tuple(job.values()) for job in jobs}


@pytest.mark.data("sst")
def test_a_row_of_the_interventions_on_real_sentences_comes_out_again():
    assert same_as_stored("sst_interventions", intervention="penalty", seed=1)


def test_a_changed_row_is_noticed(monkeypatch):
    job = {"intervention": "separate tables", "seed": 0}
    assert same_as_stored("exact_interventions", **job)
    wrong = stored("exact_interventions").assign(gap=lambda table: table["gap"] * 1.05)
    monkeypatch.setattr("uaftc_lib.experiments.registry.stored", lambda name: wrong)
    assert not same_as_stored("exact_interventions", **job)


def test_prove_says_what_holds_and_raises_when_the_registry_is_wrong(capsys, monkeypatch):
    prove(43, 44)
    first, second, third = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"proved: Eq 43, relative error (0|\de-1[3-9])", first)
    assert re.fullmatch(r"proved: Eq 44 corrected, relative error (0|\de-1[3-9])", second)
    assert re.fullmatch(r"fails: Eq 44 as printed, relative error 0[.]\d+", third)
    prove(48)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("derived: Eq 48, ") and second.startswith("fails: Eq 48 outside its condition, ")
    # A form that is said to fail but holds, and one that is said to hold but fails.
    entry = REGISTRY[44]
    for wrong in (replace(entry, printed=entry.check), replace(entry, check=entry.printed)):
        monkeypatch.setitem(REGISTRY, 44, wrong)
        with pytest.raises(AssertionError, match="Eq 44"):
            prove(44)
