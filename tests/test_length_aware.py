"""Chapter 20: a scaling factor for each text, by autograd and by its own loop."""

import pytest
import torch
from test_neighbours_trained import TYPES, texts

from uaftc_lib import AttentionClassifier, Corpus, Dataset, TrainingConfig, Vocabulary, fit
from uaftc_lib.neighbours.length_aware import LengthAwareClassifier, LengthAwareTrainer


def data():
    return Dataset("small", Vocabulary([f"word {i}" for i in range(TYPES - 3)]), ("negative", "positive"), texts(40, 3))


def of(rule, corpus, **options):
    return LengthAwareClassifier(
        TYPES, corpus.lengths, rule, **{"lam": 2.0, "dtype": torch.float64, "seed": 0} | options
    )


@pytest.mark.parametrize("rule", ["fixed", "length", "dealt"])
def test_its_loop_trains_as_autograd_does(rule):
    dataset = data()
    config = TrainingConfig(epochs=3, batch_size=7, dropout=0.5, seed=1)
    one, other = of(rule, dataset.train), of(rule, dataset.train)
    fit(one, dataset, config, progress=False)
    fit(other, dataset, config, trainer=LengthAwareTrainer, progress=False)
    for mine, theirs in zip(one.parameters(), other.parameters()):
        torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-12)


def test_fixed_is_the_paper_s_model():
    dataset = data()
    config = TrainingConfig(epochs=3, batch_size=7, dropout=0.5, seed=1)
    plain = AttentionClassifier(TYPES, lam=2.0, dtype=torch.float64, seed=0)
    other = of("fixed", dataset.train)
    fit(plain, dataset, config, progress=False)
    fit(other, dataset, config, trainer=LengthAwareTrainer, progress=False)
    torch.testing.assert_close(plain.V, other.V, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(plain(dataset.train).polarity, other(dataset.train).polarity, rtol=1e-10, atol=1e-12)


def test_sharpness_goes_with_the_logarithm_of_the_length():
    corpus = Corpus.from_lists([[1, 2], [1, 2, 3, 4], [1], [2] * 16], [0, 1, 0, 1])
    model = of("length", corpus)
    c = model.sharpness(corpus)
    assert float(c.mean()) == pytest.approx(1) and c[1] == pytest.approx(2 * float(c[0])) and c[2] == 0
    scores = model(corpus).scores
    plain = model.token_scores().attention[corpus.tokens]
    torch.testing.assert_close(scores, plain * c[corpus.instance_of])


def test_dealt_has_the_same_lengths_in_another_order_and_whatever_the_batch():
    corpus = texts(200, 3)
    model = of("dealt", corpus)
    dealt, own = model.sharpness(corpus), of("length", corpus).sharpness(corpus)
    assert set(dealt.tolist()) <= set(own.tolist()) and float(dealt.std()) == pytest.approx(float(own.std()), rel=0.3)
    assert abs(float(torch.corrcoef(torch.stack([dealt, own]))[0, 1])) < 0.3
    assert torch.equal(model.sharpness(corpus[torch.tensor([7, 3])]), dealt[[7, 3]])


def test_what_it_cannot_do_is_said():
    corpus = texts(5, 3)
    with pytest.raises(ValueError, match="fixed, length, dealt"):
        of("long", corpus)
    with pytest.raises(ValueError, match="binary model DP"):
        of("length", corpus, encoder="affine")
    with pytest.raises(ValueError, match="needs dropout"):
        fit(of("length", corpus), data(), TrainingConfig(epochs=1, dropout=0.0), trainer=LengthAwareTrainer)
