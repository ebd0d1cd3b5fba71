"""Initialisations of E far from zero: they are what they say, and what is said of their runs follows from them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_book.chapters import pretrained
from uaftc_book.chapters.pretrained import (
    GROUP,
    INITIALISATIONS,
    carried_shares,
    changes,
    dealt_among_like,
    far_pairs,
    far_scores,
    far_terms,
    gap_law,
    initial_vectors,
    random_directions,
    with_shares,
)
from uaftc_book.small_data import small_data
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import KINDS, examined_types
from uaftc_lib.streams import generator
from uaftc_lib.training import TrainingConfig, fit
from uaftc_lib.vectors.word_vectors import WordVectors

DIMENSION = 100  # of the cells of Table 2
DATA = small_data()
WORDS = [word for i, word in enumerate(DATA.vocabulary.words) if i % 10]  # each tenth has no vector
NUMBERS = np.random.default_rng(0)
VECTORS = WordVectors(WORDS, NUMBERS.uniform(0.5, 2, (len(WORDS), 1)) * NUMBERS.normal(size=(len(WORDS), DIMENSION)))


def model_from(initialisation: str, seed: int = 0) -> AttentionClassifier:
    vectors = initial_vectors(initialisation, VECTORS, DATA, seed)
    return AttentionClassifier(
        len(DATA.vocabulary), DIMENSION, vectors=vectors, seed=seed, weight_range=1.0, dtype=torch.float64
    )


@pytest.fixture
def small_world(monkeypatch):
    """The experiments, on small data and its vectors."""
    world = replace(DATA, dev=DATA.train, test=DATA.train)
    monkeypatch.setattr(pretrained, "load_dataset", lambda name: world)
    monkeypatch.setattr(pretrained, "book_vectors", lambda: VECTORS)


def test_random_directions_keep_every_length_and_no_direction():
    matrix = initial_vectors("vectors", VECTORS, DATA, 0)
    turned_rows = initial_vectors("long random", VECTORS, DATA, 0)
    there = ~matrix.isnan().any(1)
    assert there.sum() == len(WORDS)
    assert torch.equal(turned_rows.isnan().all(1), ~there)
    torch.testing.assert_close(turned_rows[there].norm(dim=1), matrix[there].norm(dim=1))
    cosines = torch.cosine_similarity(turned_rows[there], matrix[there])
    assert cosines.abs().max() < 0.5 and abs(cosines.mean()) < 4 / (DIMENSION * len(WORDS)) ** 0.5
    again = random_directions(matrix, generator(1, "data"))
    assert not torch.equal(again[there], turned_rows[there])


def test_vectors_are_dealt_out_among_words_of_like_count_alone():
    matrix = torch.arange(3.0 * GROUP).unsqueeze(1).repeat(1, 2)
    matrix[7] = torch.nan
    counts = torch.arange(3 * GROUP).flip(0)  # the first word is the most frequent
    dealt = dealt_among_like(matrix, counts, generator(0, "data"))
    there = [i for i in range(3 * GROUP) if i != 7]
    assert dealt[7].isnan().all()
    for group in (there[:GROUP], there[GROUP : 2 * GROUP], there[2 * GROUP :]):
        assert sorted(dealt[group, 0].tolist()) == matrix[group, 0].tolist()
        assert (dealt[group] != matrix[group]).any(1).float().mean() > 0.8
    shuffled = dealt_among_like(
        matrix, counts[torch.randperm(3 * GROUP, generator=generator(0, "order"))], torch.Generator()
    )
    assert sorted(shuffled[there[:GROUP], 0].tolist()) != matrix[there[:GROUP], 0].tolist()


def test_initialisations_differ_in_the_embeddings_that_have_a_vector_and_in_nothing_else():
    models = {initialisation: model_from(initialisation, seed=3) for initialisation in INITIALISATIONS}
    usual, has = models["random"], torch.tensor([word in WORDS for word in DATA.vocabulary.words])
    for initialisation, model in models.items():
        assert torch.equal(model.V, usual.V) and torch.equal(model.W, usual.W)
        same = (model.embedding == usual.embedding).all(1)[: len(has)]
        assert torch.equal(same, ~has | (initialisation == "random"))
    lengths = {
        initialisation: float(model.embedding.detach()[: len(has)][has].square().mean().sqrt())
        for initialisation, model in models.items()
    }
    assert lengths["short vectors"] == pytest.approx(0.1 / 3**0.5)
    assert lengths["long random"] == pytest.approx(lengths["vectors"]) == pytest.approx(lengths["dealt out"])
    assert lengths["vectors"] > 10 * lengths["random"]
    rows, centred = (models[name].embedding.detach()[: len(has)][has] for name in ("vectors", "centred"))
    torch.testing.assert_close(rows - centred, rows.mean(0).expand_as(rows))
    with pytest.raises(ValueError, match="initialisation must be .*dealt out"):
        initial_vectors("long", VECTORS, DATA, 0)


@pytest.mark.parametrize(("frozen", "share"), [(("embedding",), 1.0), (("V", "W"), 0.0), ((), None)])
def test_a_change_is_what_moved_and_what_was_carried(frozen, share):
    first, last = model_from("vectors"), model_from("vectors")
    config = TrainingConfig(epochs=2, batch_size=100, learning_rates=dict.fromkeys(frozen, 0.0))
    fit(last, DATA, config, progress=False)
    before, after = first.token_scores(), last.token_scores()
    for name, (moved, carried) in changes(first, last).items():
        torch.testing.assert_close(moved + carried, getattr(after, name) - getattr(before, name))
    shares = carried_shares(first, last, examined_types(DATA))
    found = [shares[f"{score} carried {kind}"] for score in ("polarity", "attention") for kind in ("polar", "neutral")]
    if share is None:
        assert all(0.01 < value for value in found[:1]) and found[0] < 0.99
    else:
        assert found == pytest.approx([share] * 4)


def test_the_books_of_an_initialisation_close(small_world):
    (row,) = far_terms("sst", "vectors", "Adagrad", 10.0, 0)
    types = examined_types(DATA)
    scores = AttentionClassifier(
        len(DATA.vocabulary), vectors=initial_vectors("vectors", VECTORS, DATA, 0), dtype=torch.float64
    ).token_scores()
    for kind, ids in types.items():
        for score, terms in (("polarity", ("A", "B", "C", "rest of s")), ("attention", ("D", "E", "F", "rest of a"))):
            added = sum(row[f"{term} {kind}"] for term in terms)
            assert row[f"{score} {kind}"] == pytest.approx(float(getattr(scores, score)[ids].mean()) + added)
    assert row["|π| neutral"] < row["|π| positive"]


def test_mirrored_initialisations_have_mirrored_products(small_world):
    drawn, of_V, of_W, of_both = far_pairs("sst", "vectors", "Adagrad", 10.0, 1)
    assert [row["mirror"] for row in (drawn, of_V, of_W, of_both)] == ["as drawn", "−V", "−W", "−V −W"]
    for name in ("V₀·W₀", "V₀·growing", "initial gap"):
        assert drawn[name] and drawn[name] == pytest.approx(-of_V[name])
    assert of_both["V₀·W₀"] == pytest.approx(drawn["V₀·W₀"]) == pytest.approx(-of_W["V₀·W₀"])
    pulled = (drawn["V₀·growing"] + of_W["V₀·growing"]) / 2  # what E brings to the W that grows
    assert drawn["V₀·growing"] == pytest.approx(drawn["V₀·W₀"] + pulled)


def test_the_random_initialisation_is_that_of_table_2(small_world):
    rows = {name: far_scores("20news-1", name, 10.0, 0.0, 0)[0] for name in ("random", "vectors")}
    cell = pretrained.table2_cell("20news-1", lam=10.0)
    model = cell.classifier(DATA, "cpu")
    fit(model, replace(DATA, dev=DATA.train, test=DATA.train), cell.training(), progress=False)
    assert rows["random"]["V·W"] == pytest.approx(float(model.V.detach() @ model.W.detach()))
    assert rows["random"]["V·W"] != pytest.approx(rows["vectors"]["V·W"])
    assert 0 < rows["vectors"]["lower end"] < rows["vectors"]["upper end"]


def runs(law: float, seeds: int = 10) -> pd.DataFrame:
    """Rows of "far_pairs" in which the gap is V₀·growing times ``law``, and noise."""
    draws = np.random.default_rng(1)
    rows = []
    for seed in range(seeds):
        growing = draws.normal()
        for mirror, sign in (("as drawn", 1), ("−V", -1)):
            gap = law * sign * growing + 0.01 * draws.normal()
            rows.append({"seed": seed, "mirror": mirror, "V₀·growing": sign * growing, "V·W": -gap, "gap": gap})
    where = {"dataset": "sst", "optimizer": "SGD", "lam": 10.0, "initialisation": "random", "initial gap": 0.0}
    return pd.DataFrame(rows).assign(**where)


@pytest.mark.parametrize("law", [1.0, -1.0, 0.0])
def test_the_law_of_the_gap_is_found_where_it_is(law):
    found = gap_law(runs(law)).set_index("measure")
    assert found.loc["V·W tells", "mean"] == 0
    told, along = found.loc["told"], found.loc["along"]
    if law:
        assert round(told["mean"]) == (law > 0) and np.sign(along["mean"]) == law
        assert along["low"] > 0 or along["high"] < 0
    else:
        assert told["low"] < 0.5 < told["high"] and along["low"] < 0 < along["high"]


def test_seeds_are_what_intervals_are_of():
    rows = runs(1.0)
    once, twice = (gap_law(some).set_index("measure").loc["along"] for some in (rows, pd.concat([rows, rows])))
    assert once["n"] == 10 and once["low"] == twice["low"]  # the same runs again make no interval narrower


def test_shares_of_terms_stand_against_each_other():
    row = {f"|{name}| {kind}": size for name, size in zip("ABCDEF", (1, 2, 6, 1, 4, 12)) for kind in KINDS}
    shares = with_shares(pd.DataFrame([row])).iloc[0]
    assert shares[["A / B", "C / (B + C)", "D / E", "F / (E + F)"]].tolist() == [0.5, 0.75, 0.25, 0.75]
