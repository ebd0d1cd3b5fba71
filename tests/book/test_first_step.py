"""One step of the embeddings and then V alone."""

import numpy as np
import pytest
import torch

from uaftc_book.chapters import since_2020
from uaftc_book.neighbours import one_step, selection
from uaftc_book.random_models import Case
from uaftc_lib import AttentionClassifier, Corpus
from uaftc_lib.experiments.registry import computed, rows_of_job, same_rows, stored


def even_model(scale=1e-9):
    """A random model with V = 0 and a W so short that every β is one half, and its corpus."""
    case = Case(dimension=6, lam=1.0, seed=3)
    model = case.model()
    with torch.no_grad():
        model.V.zero_()
        model.W.mul_(scale)
    return model, case.corpus()


def test_a_step_moves_the_embeddings_along_W_by_the_signed_frequency():
    model, corpus = even_model()
    E, V, W = (of.detach().clone() for of in (model.embedding, model.V, model.W))
    rate = one_step.step_embeddings(model, corpus, 2.0)
    frequency = one_step.signed_frequency(corpus, len(E))
    moved = (model.embedding.detach() - E).numpy()
    assert moved == pytest.approx(rate / 2 * np.outer(frequency, W), rel=1e-6, abs=1e-9)
    met = np.bincount(corpus.tokens, minlength=len(E)) > 0
    assert np.linalg.norm(moved[met]) == pytest.approx(2 * np.linalg.norm(E[met]))
    assert torch.equal(model.V, V) and torch.equal(model.W, W)
    with pytest.raises(ValueError, match="above 0"):
        one_step.step_embeddings(model, corpus, 0.0)
    with torch.no_grad():
        model.W.zero_()
    with pytest.raises(ValueError, match="no slope"):
        one_step.step_embeddings(model, corpus, 1.0)


def test_what_two_texts_want_the_other_way_round_ends_in_a_balance():
    """Two words in texts of both classes come to rest, two others run away: then rounding, times τ, ends the flow."""
    model = AttentionClassifier(4, dimension=2, lam=1.0, dtype=torch.float64)
    with torch.no_grad():
        model.embedding.copy_(torch.tensor([[-0.3, 0.1], [1.1, 0.2], [0.0, 0.0], [0.37, 1.3]]))
        model.W.copy_(torch.tensor([2.0, 1.0]))
    texts = selection.texts_of(model, Corpus.from_lists([[0, 1], [0, 1], [0, 1], [2, 3]], [1, 1, 0, 1]))
    path = since_2020.flow_of(texts, np.zeros(2))
    weights = selection.largest_weight(texts, path.V[-1])
    assert path.log_times[-1] == pytest.approx(since_2020.BALANCED)
    assert (weights[:3] < 0.99).all() and weights[3] > 0.999
    assert since_2020.in_balance(texts, path)
    free = selection.texts_of(model, Corpus.from_lists([[0, 1], [2, 3]], [1, 1]))
    assert since_2020.flow_of(free, np.zeros(2)).log_times[-1] == pytest.approx(since_2020.END)
    assert not since_2020.in_balance(free, selection.gradient_flow(free, np.zeros(2), since_2020.BALANCED))


@pytest.mark.data("sst")
def test_labels_are_dealt_out_and_the_texts_of_V_keep_theirs():
    model, every, own = since_2020.before_the_step(since_2020.SST, 20, 3)
    dealt = since_2020.with_labels_of(every, "permuted", 3)
    assert not torch.equal(dealt.labels, every.labels) and torch.equal(dealt.labels.sort()[0], every.labels.sort()[0])
    assert torch.equal(since_2020.with_labels_of(every, "real", 3).labels, every.labels)
    assert (
        len(own) == 20
        and not model.V.any()
        and since_2020.before_the_step(since_2020.SST, 20, 3, drawn=True).model.V.any()
    )


@pytest.mark.parametrize("labels", since_2020.LABELS)
def test_stored_flows_come_out_again(labels):
    job = {"data": since_2020.RANDOM, "texts": 10, "labels": labels, "length": since_2020.STEP, "variant": "V = 0"}
    now = computed("selected_after_a_step", job | {"seed": 4})
    assert same_rows(now, rows_of_job(stored("selected_after_a_step"), job | {"seed": 4})) and now["error"].max() < 1e-8


@pytest.mark.parametrize("name", ["selected_after_a_step", "words_selected"])
def test_stored_margins_are_met_but_for_rounding(name):
    assert 0 <= stored(name)["error"].min() <= stored(name)["error"].max() < 1e-8
