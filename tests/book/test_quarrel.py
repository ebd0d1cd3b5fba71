"""What is trained how, what is held beside print, what a spread foretells."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import kendalltau
from test_neighbours_trained import told_by_words

from uaftc_book.chapters import is_it_explanation
from uaftc_book.neighbours import measured
from uaftc_book.neighbours.measured import LOO
from uaftc_book.neighbours.yardsticks import spread
from uaftc_lib import AttentionClassifier, Corpus, Dataset, Vocabulary
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.vectors.word_vectors import WordVectors


@pytest.mark.parametrize("kappa", [-0.6, 0.0, 0.6])
@pytest.mark.parametrize("ratio", [0.2, 1.0, 4.0])
def test_spreads_foretell_the_agreement_of_normal_logarithms(ratio, kappa):
    random, texts, words = np.random.default_rng(0), 300, 40
    logs = random.multivariate_normal([0, 0], [[ratio**2, kappa * ratio], [kappa * ratio, 1]], (texts, words))
    alpha, per_attention = np.exp(logs - 5).reshape(-1, 2).T
    corpus = Corpus.from_lists([[0] * words] * texts, [0] * texts)
    signs = random.choice([-1, 1], texts * words)
    said = spread(alpha, signs * alpha * per_attention, corpus)
    measured = [kendalltau(x, x * y)[0] for x, y in zip(*(one.reshape(texts, words) for one in (alpha, per_attention)))]
    assert said.tau == pytest.approx(np.mean(measured), abs=0.015)
    assert said.attention == pytest.approx(ratio, rel=0.05) and said.per_attention == pytest.approx(1, rel=0.05)
    assert said.correlation == pytest.approx(kappa, abs=0.05)
    if not kappa:
        assert said.tau == pytest.approx(2 / np.pi * np.arctan(ratio), abs=0.015)


def test_words_without_effect_unread_ones_and_short_texts_have_no_say():
    corpus = Corpus.from_lists([[0] * 5, [0] * 3], [0, 1])
    alpha = np.array([0.1, 0.2, 0.3, 0.2, 0.2, 0.5, 0.3, 0.2])
    effect = np.array([1.0, 4.0, 2.0, 0.0, np.nan, 1.0, np.nan, 2.0])
    assert spread(alpha, effect, corpus) == spread(alpha[:3], effect[:3], Corpus.from_lists([[0] * 3], [0]))


def test_each_is_trained_by_its_own_protocol(monkeypatch):
    """One of Table 2 as the paper's authors did, one of Jain & Wallace's as these did; λ is 10, or √H."""
    asked, model = [], AttentionClassifier(4, 2)
    data = Dataset("small", Vocabulary(["a"]), ("no", "yes"), Corpus.from_lists([[0], [0]], [0, 1]))
    monkeypatch.setattr(
        is_it_explanation, "train_classifier", lambda *given, **named: asked.append((given[1:], named)) or (model, 2)
    )
    assert is_it_explanation.trained_by_protocol(data, "bilstm+dot", 16.0, 3) == (model, {"best_epoch": 2})
    assert asked == [(("bilstm", "dot"), {"lam": 16.0, "seed": 3})]
    run = type("Run", (), {"best_epoch": 4, "history": pd.DataFrame({"loss": [3.0, 1.0]})})
    monkeypatch.setattr(is_it_explanation, "train_real", lambda _, **named: asked.append(named) or (model, run))
    assert is_it_explanation.trained_by_protocol(data, "DP", 10.0, 1) == (model, {"best_epoch": 4, "early loss": 2.0})
    assert asked[1] == {"model": "DP", "lam": 10.0, "seed": 1}
    assert [is_it_explanation.usual_lam(m) for m in ("DP", "bilstm+tanh", "bilstm+dot")] == [10, 1, 16]
    assert is_it_explanation.usual_lam("projection+dot") == pytest.approx(128**0.5)


def test_print_is_that_of_the_same_model():
    assert is_it_explanation.printed("tau attention, gradient", "bilstm+dot") == 0.073
    assert is_it_explanation.printed("tau attention, leave-one-out", "projection+tanh") == 0.623
    assert is_it_explanation.printed("accuracy", "bilstm+tanh", "IMDB") == 0.898
    assert np.isnan(is_it_explanation.printed("accuracy", "DP"))


def test_what_texts_leave_open_widens_an_interval():
    rows = pd.DataFrame({"tau": [0.1, 0.2, 0.3], "tau sd": [0.4, 0.4, 0.4], "texts": 100})
    found = is_it_explanation.over_texts(rows, "tau")
    seeds, texts = 4.302653 * 0.1 / 3**0.5, 1.959964 * 0.04
    assert found.high - found.mean == pytest.approx(np.hypot(seeds, texts)) and found.n == 3


def test_what_a_spread_explains_of_agreement():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"model": ["DP", "bilstm+dot"] * 200, measured.SPREAD: np.exp(random.normal(size=400))})
    frame[measured.LOO] = np.log(frame[measured.SPREAD]) ** 2
    assert is_it_explanation.explained_by_spread(frame) == pytest.approx(1)
    frame[measured.LOO] = random.normal(size=400)
    assert is_it_explanation.explained_by_spread(frame) < 0.05
    frame["other"] = np.log(frame[measured.SPREAD])
    assert is_it_explanation.explained_by_spread(frame, "other") == pytest.approx(1)


def moments_table(late=0.0, start=0.0):
    """Runs whose τ is published − 0.2 at every moment; more at the last epoch, and from a larger start."""
    rows = []
    for dataset, model in product(("sst", "20news-1"), ("bilstm+tanh", "bilstm+dot", "projection+tanh")):
        lam = is_it_explanation.usual_lam(model)
        published = is_it_explanation.printed(LOO, model, PAPER_NAMES[dataset])
        for begin, epoch, seed in product(is_it_explanation.SIZES, (1, 2, 8), range(3)):
            tau = published - 0.2 + late * (epoch == 8) + start * (begin == "±1")
            row = {"dataset": dataset, "model": model, "lam": lam, "start": begin, "seed": seed, "epoch": epoch}
            rows.append(row | {LOO: tau, "AUC on dev": 1 / epoch})
    return pd.DataFrame(rows)


def test_a_moment_explains_what_it_explains_of_models_it_was_not_chosen_on():
    table = is_it_explanation.published_and_own(moments_table(late=0.2))
    assert len(table) == 6 and (table["published"] - table[is_it_explanation.USUAL]).to_numpy() == pytest.approx(0.2)
    assert is_it_explanation.nearest_moment(table) == ("±0.1", 8)
    assert is_it_explanation.explained_elsewhere(table) == pytest.approx(1.0)
    table = is_it_explanation.published_and_own(moments_table(late=0.05, start=0.05))
    assert is_it_explanation.nearest_moment(table) == ("±1", 8)
    assert is_it_explanation.explained_elsewhere(table) == pytest.approx(0.75)
    nothing = is_it_explanation.published_and_own(moments_table())
    assert is_it_explanation.explained_elsewhere(nothing) == pytest.approx(0.0)


def test_only_models_at_the_published_lambda_are_compared():
    rows = moments_table()
    elsewhere = rows.assign(lam=rows["lam"] * 10, **{LOO: 9.0})
    table = is_it_explanation.published_and_own(pd.concat([rows, elsewhere]))
    assert len(table) == 6 and table[is_it_explanation.USUAL].max() < 1


def test_starts_differ_in_size_alone_or_in_everything(monkeypatch):
    data = told_by_words()
    words = data.vocabulary.words[:3]
    vectors = WordVectors(list(words), np.eye(3, 5, dtype=np.float32) * [[2.0], [3.0], [4.0]], "made up")
    monkeypatch.setattr(is_it_explanation, "own_vectors", lambda: "made up")
    monkeypatch.setattr(is_it_explanation, "read_vectors", lambda _: vectors)

    def table(start, seed=1):
        return is_it_explanation.started(data, "words+tanh", 1.0, start, seed).embedding.detach()

    torch.testing.assert_close(table("±1"), 10 * table("±0.1"))
    assert float(table("normal").std()) == pytest.approx(1, abs=0.1)
    turned = table("skip-gram")
    torch.testing.assert_close(turned[:3] @ turned[:3].T, torch.diag(torch.tensor([4.0, 9.0, 16.0])), atol=1e-5, rtol=0)
    assert torch.equal(turned[3:], table("±0.1")[3:]) and not torch.equal(turned, table("skip-gram", 2))


def test_the_headline_turns_with_spread_and_epoch():
    random = np.random.default_rng(0)

    def runs(words_of_lstms):
        size = np.exp(random.normal(size=400))
        model = np.array(["DP", "bilstm+dot"] * 200)
        tau, noise = np.log(size), random.normal(size=400)
        columns = {LOO: np.where(model == "DP", tau, words_of_lstms * tau + noise), measured.STATE: tau}
        return pd.DataFrame({"model": model, measured.SPREAD: size} | columns)

    def plain(**late):
        return pd.DataFrame(
            {"dataset": dataset, "seed": seed, "epoch": epoch, LOO: 0.1 + change * (epoch == 8) + seed / 1000}
            for dataset, change in late.items()
            for epoch, seed in product((1, 8), range(5))
        )

    def moments(late):
        rows = plain(sst=late).assign(model="bilstm+tanh", lam=1.0)
        return pd.concat([rows.assign(start="±1"), rows.assign(start="±0.1", **{LOO: 9.0})])

    grown, none = plain(sst=0.2), np.array([0.1, -0.1, 0.05, -0.05, 0.0])
    assert is_it_explanation.answer(runs(0), grown, moments(0.2)) == (
        "Where its scores spread far, attention orders what is pooled: words, or over an LSTM only states. When one "
        "looks matters, too: from small embeddings an LSTM's agreement with leaving words out grows on SST (τ = 0.10, "
        "then 0.30), from epoch 1 to epoch 8."
    )
    assert is_it_explanation.answer(runs(20), grown, moments(0.2)).startswith("How far its scores spread does not")
    assert "falls on SST (τ = 0.10, then −0.10)" in is_it_explanation.answer(runs(0), plain(sst=-0.2), moments(0.2))
    flat = plain(sst=0.0)
    flat.loc[flat["epoch"] == 8, LOO] += none
    assert "does not surely change" in is_it_explanation.answer(runs(0), flat, moments(0.2))
    waiting = "From larger ones it is on SST 0.10 to 0.10 from the first epoch, and does not surely grow."
    assert is_it_explanation.answer(runs(0), grown, moments(-0.1)).endswith(waiting)


def test_the_first_epoch_is_never_kept():
    rows = pd.DataFrame({"model": "a", "seed": 0, "epoch": [1, 2, 3], "AUC on dev": [0.9, 0.7, 0.8]})
    assert measured.at_kept_epoch(rows, "model")["epoch"].tolist() == [3]


def test_growth_compares_the_first_and_the_last_epoch_of_each_seed():
    rows = pd.DataFrame({"seed": [0, 0, 0, 1, 1], "epoch": [1, 2, 8, 1, 8], "x": [0.1, 9.0, 0.4, 0.2, 0.1]})
    assert measured.growth(rows, "x").tolist() == pytest.approx([0.3, -0.1])
