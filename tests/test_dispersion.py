"""Chapter 20: the largest weight of a text against its bound and its length, and best words that exclude each other."""

import numpy as np
import pytest
import torch
from test_neighbours_trained import TYPES, texts

from uaftc_lib import AttentionClassifier, Corpus
from uaftc_lib.book.chapters.since_2020 import together
from uaftc_lib.neighbours import dispersion


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_no_weight_is_above_its_bound(scale):
    model, corpus = AttentionClassifier(TYPES, lam=1.0, seed=0, dtype=torch.float64), texts(30, 3)
    with torch.no_grad():
        model.V.mul_(scale)
    scores, span = dispersion.attention_scores(model, corpus)
    found = dispersion.largest(scores, corpus)
    weights = model(corpus).weights.detach().numpy()
    assert found == pytest.approx([own.max() for own in np.split(weights, corpus.offsets[1:-1].numpy())])
    assert (found <= dispersion.most(corpus.lengths.numpy(), span) + 1e-12).all()


def test_the_bound_is_reached_by_one_word_above_others_that_are_alike():
    corpus = Corpus.from_lists([[0, 1, 1, 1], [0]], [0, 1])
    found = dispersion.largest(np.array([2.0, 0.5]), corpus)
    assert found == pytest.approx(dispersion.most(np.array([4, 1]), 1.5)) and found[1] == 1


def test_equal_scores_fall_as_one_over_the_length_and_a_sharp_one_does_not():
    lengths = np.array([1, 2, 5, 10, 40])
    assert dispersion.power_of_length(lengths, 1 / lengths) == pytest.approx(-1)
    assert dispersion.power_of_length(lengths, dispersion.most(lengths, 50.0)) == pytest.approx(0, abs=1e-9)


def test_an_encoder_has_no_score_for_a_word_type():
    with pytest.raises(ValueError, match="without encoder"):
        dispersion.attention_scores(AttentionClassifier(TYPES, encoder="affine"), texts(3, 3))


def test_best_words_that_contradict_each_other_cannot_be_chosen(monkeypatch):
    model = AttentionClassifier(4, dimension=3, lam=1.0, weight_range=1.0, embedding_range=1.0, seed=0)
    corpus = Corpus.from_lists([[0, 1], [2, 3], [0, 1], [2, 3]], [1, 1, 0, 1])
    monkeypatch.setattr(together, "problem", lambda *_: (model, corpus))
    monkeypatch.setattr(together, "PARTS", (1, 4))
    first, last = together.best_words(0)
    assert first == {"texts": 1, "possible": 1.0, "contradicted": 0.0}
    assert last == {"texts": 4, "possible": 0.0, "contradicted": 0.5}
