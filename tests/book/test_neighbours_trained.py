"""Other papers' classifiers, trained on made-up texts of a few words, and how far their weights vary."""

from dataclasses import replace

import pytest
import torch

from uaftc_book.neighbours import jain_wallace
from uaftc_book.neighbours.jain_wallace import JainWallaceClassifier
from uaftc_lib import AttentionClassifier, Corpus, Dataset, Vocabulary

TYPES = 12  # words 0 and 1 tell the class "yes", 2 and 3 "no"; the others say nothing


def texts(instances, seed):
    draws = torch.Generator().manual_seed(seed)
    made, labels = [], torch.arange(instances) % 2
    for label in labels.tolist():
        length = int(torch.randint(3, 9, (), generator=draws))
        text = torch.randint(4, TYPES - 3, (length,), generator=draws)
        told = torch.randperm(length, generator=draws)[:2]
        text[told] = torch.randint(2, (2,), generator=draws) + 2 * (1 - label)
        made.append(text.tolist())
    return Corpus.from_lists(made, labels.tolist())


def told_by_words():
    """A data set whose labels four words tell."""
    words = Vocabulary([f"word {i}" for i in range(TYPES - 3)])
    return Dataset("told", words, ("no", "yes"), *(texts(n, n) for n in (320, 80, 120)))


@pytest.fixture(scope="module")
def told():
    return told_by_words()


def test_a_classifier_of_plain_embeddings_learns_it(told):
    model, best_epoch = jain_wallace.train_classifier(told, "words", "tanh", seed=1, epochs=12)
    assert model.accuracy(told.test) == 1 and 1 <= best_epoch <= 12


def test_fused_steps_are_the_plain_ones(told, monkeypatch):
    plain = torch.optim.Adam

    def trained():
        return list(jain_wallace.train_classifier(told, "bilstm", "tanh", epochs=1)[0].parameters())

    fused = trained()
    monkeypatch.setattr(torch.optim, "Adam", lambda groups, fused, **told: plain(groups, fused=False, **told))
    for one, other in zip(fused, trained()):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_an_objective_takes_the_place_of_the_loss(told):
    """Every model keeps its initialisation under an objective that is always 0, but for the decay of what decays."""
    for model in (JainWallaceClassifier(TYPES, "words", seed=2), AttentionClassifier(TYPES, 5, seed=2)):
        start = {name: value.clone() for name, value in model.named_parameters()}
        nothing = jain_wallace.JainWallaceTrainer(
            model, told.train, 0, lambda model, batch, out: 0 * out.polarity.sum()
        )
        assert nothing.epoch() == 0
        moved = {name for name, value in model.named_parameters() if not torch.equal(value, start[name])}
        assert moved == {"embedding", "W"}


def test_quality_is_accuracy_and_area_under_the_curve():
    model, corpus = AttentionClassifier(4, 1), Corpus.from_lists([[0], [1], [2], [3]], [1, 0, 0, 1])
    with torch.no_grad():
        model.embedding.copy_(torch.tensor([[1.0], [-1.0], [2.0], [0.5]]))
        model.W.fill_(1.0)
    assert jain_wallace.classifier_quality(model, corpus) == {"accuracy": 0.75, "AUC": 0.5}


def test_training_stops_where_dev_is_reached_no_better(told, monkeypatch):
    """It is left at the first of the best epochs; without dev at the last."""
    reached, model = iter([1.0, 3.0, 3.0, 2.0, 9.0]), JainWallaceClassifier(TYPES, "words")
    steps = []

    def epoch(self):
        steps.append(0)
        self.model.W.data.fill_(len(steps))

    monkeypatch.setattr(jain_wallace.JainWallaceTrainer, "epoch", epoch)
    monkeypatch.setattr(jain_wallace, "area_under_curve", lambda *_: next(reached))
    monkeypatch.setattr(jain_wallace.JAIN_WALLACE, "patience", 2)
    assert jain_wallace.train_model(model, told, epochs=5) == 2
    assert len(steps) == 4 and set(model.W.tolist()) == {2.0}
    assert jain_wallace.train_model(model, replace(told, dev=None), epochs=5) == 5 and len(steps) == 9
