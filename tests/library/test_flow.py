"""Gradient flow, its reductions, and the score ledger."""

import copy
import itertools
import time

import numpy as np
import pytest
import torch
from cases import KINDS, cases, few, model_and_corpus
from hypothesis import given
from hypothesis import strategies as st
from test_dynamics import dataset_of, sgd_step

from uaftc_book.chapters.attention_order import gram_flow
from uaftc_book.inner_products import gram, saddle_direction
from uaftc_book.mean_field import MeanField
from uaftc_book.random_models import Case
from uaftc_lib import AttentionClassifier, Corpus, TrainingConfig, dynamics, fit, load_dataset
from uaftc_lib.dynamics import flow
from uaftc_lib.dynamics.ledger import ATTENTION, POLARITY, LedgerTrainer, fit_with_ledger
from uaftc_lib.settings import BY_TYPE

TIMES = np.linspace(0, 20, 5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("several", [False, True], ids=["binary", "several"])
@given(case=cases())
@few
def test_conserved_along_the_flow(kind, several, case):
    model, corpus = model_and_corpus(case, kind, several)
    path = flow.integrate(model, corpus, TIMES, rtol=1e-10, atol=1e-10)
    for name, drift in path.drift().items():
        assert drift.max() < 1e-8, name
    losses = [float(point.loss(corpus).detach()) for point in path]
    assert (np.diff(losses) < 0).all()


@pytest.mark.parametrize("several", [False, True], ids=["binary", "several"])
@given(case=cases())
@few
def test_gram_matrix_closes(several, case):
    model, corpus = model_and_corpus(case, "DP", several)
    full = gram(flow.integrate(model, corpus, TIMES)[-1]).numpy()
    alone = gram_flow(model, corpus, TIMES)[-1]
    assert np.abs(full - alone).max() < 1e-7 * max(1, np.abs(full).max())


def exchangeable():
    """Every pair of polarity types with every neutral type: kinds are exchangeable exactly."""
    positive, negative, neutral = [0, 1, 2], [3, 4, 5], [6, 7, 8, 9]
    lists, labels = [], []
    for label, polar in ((1, positive), (0, negative)):
        for pair in itertools.combinations(polar, 2):
            for word in neutral:
                lists.append([*pair, word])
                labels.append(label)
    return Corpus.from_lists(lists, labels), [torch.tensor(ids) for ids in (positive, negative, neutral)]


def test_mean_field_is_exact_where_nothing_is_neglected():
    corpus, kinds = exchangeable()
    model = Case(types=10, scale=0.5).model("DP")
    with torch.no_grad():
        for ids in kinds:
            model.embedding[ids] = model.embedding[ids].mean(0)
    field = MeanField.from_corpus(corpus, kinds)
    assert field.patterns.tolist() == [[0, 2, 1], [2, 0, 1]] and field.signs.tolist() == [-1, 1]
    path = field.flow(field.start(model, kinds), model.lam, TIMES, rtol=1e-11, atol=1e-12)
    for i, point in enumerate(flow.integrate(model, corpus, TIMES)):
        assert np.abs(path[i] - field.start(point, kinds)).max() < 1e-7
    assert abs(path[-1, 0, -1] - path[0, 0, -1]) > 0.5


def test_mean_field_follows_data_one():
    """Data I, full size: the reduced equations against gradient descent on all 1,100 embeddings."""
    data = load_dataset("synthetic-1")
    kinds = [torch.arange(1000, 1050), torch.arange(1050, 1100), torch.arange(1000)]
    model = Case(dimension=100, lam=10.0, types=1103, scale=0.1).model("DP")
    field = MeanField.from_corpus(data.train, kinds)
    path = field.flow(field.start(model, kinds), 10.0, [0, 300, 600])
    begin = time.process_time()
    field.flow(field.start(model, kinds), 10.0, np.linspace(0, 450, 31))
    assert time.process_time() - begin < 0.1
    for _ in range(120):
        model = sgd_step(model, data.train, 5.0)
    a, s = model.token_scores()
    reached = [[float(scores[ids].mean()) for ids in kinds] for scores in (a, s)]
    assert np.allclose(path[-1, :3, -2] / 10, reached[0], atol=0.05)
    assert np.allclose(path[-1, :3, -1], reached[1], rtol=0.03, atol=0.1)


def test_first_push_is_pi_where_nothing_is_learned():
    data = load_dataset("synthetic-1", class_sizes=(1000, 1000), neutral_types=100)
    flat = Case(dimension=50, lam=10.0, types=203).model("DP")
    with torch.no_grad():
        flat.embedding.zero_()
    assert torch.allclose(dynamics.token_sums(flat, data.train).pi, saddle_direction(data.train, 203))


@given(
    case=cases(largest_lam=20),
    kind=st.sampled_from([*BY_TYPE]),
    optimizer=st.sampled_from(["sgd", "adagrad"]),
    several=st.booleans(),
    batch_size=st.sampled_from([None, 4]),
    penalty=st.sampled_from([0.0, 0.01]),
)
@few
def test_ledger_closes_on_the_run_of_the_reference(case, kind, optimizer, several, batch_size, penalty):
    """Of DP the remainder is computed for itself; of the others it is what the terms leave."""
    model, corpus = model_and_corpus(case, kind, several)
    reference, data = copy.deepcopy(model), dataset_of(corpus, case.types)
    config = TrainingConfig(
        optimizer=optimizer,
        learning_rate=0.1,
        learning_rate_decay=0.01,
        learning_rates={"V": 0.05},
        batch_size=batch_size,
        penalty=penalty,
        weight_decay=0.0 if kind == "DP" else penalty,
        epochs=3,
        method="autograd",
    )
    run, ledgers = fit_with_ledger(model, data, config)
    expected = fit(reference, data, config)
    for one, other in zip(model.parameters(), reference.parameters()):
        assert torch.allclose(one, other, rtol=1e-9, atol=1e-11)
    assert np.allclose(run.history.loss.dropna(), expected.history.loss)
    assert len(ledgers) == 3
    assert max(ledgers[-1].closure().values()) < 1e-12
    assert torch.equal(ledgers[-1].polarity_end, model.token_scores().polarity)


@pytest.mark.parametrize("kind", BY_TYPE)
@pytest.mark.parametrize("several", [False, True], ids=["binary", "several"])
@given(case=cases(largest_lam=20), rate=st.floats(0.01, 1))
@few
def test_ledger_holds_the_terms_of_every_step(several, kind, case, rate):
    """Full batch SGD: each entry is the learning rate times the sum of the closed-form term."""
    model, corpus = model_and_corpus(case, kind, several)
    stepped, recorded = copy.deepcopy(model), {}
    config = TrainingConfig(optimizer="sgd", learning_rate=rate, batch_size=None, epochs=4)
    for _ in range(4):
        for side, update in (("polarity", dynamics.polarity_update), ("attention", dynamics.attention_update)):
            for name, term in update(stepped, corpus)._asdict().items():
                if term is not None:
                    name = f"{side}_{name}" if name.startswith("M") else name
                    recorded[name] = recorded.get(name, 0) + rate * term
        stepped = sgd_step(stepped, corpus, rate)
    _, ledgers = fit_with_ledger(model, dataset_of(corpus, case.types), config)
    for name, expected in recorded.items():
        assert torch.allclose(getattr(ledgers[-1], name), expected, rtol=1e-9, atol=1e-12), name
    assert set(recorded) <= {*POLARITY, *ATTENTION}
    assert ("attention_M_pi" in recorded, "attention_M_rho" in recorded) == (kind == "DP-A", kind != "DP")


@pytest.mark.parametrize("kind", BY_TYPE)
def test_the_penalty_has_an_entry_of_its_own(kind):
    """After one step: the scores, less those that the same step without a penalty leaves."""
    model, corpus = model_and_corpus(Case(), kind, False)
    free, config = copy.deepcopy(model), {"optimizer": "sgd", "learning_rate": 0.5, "batch_size": None, "epochs": 1}
    fit(free, dataset_of(corpus, len(model.embedding)), TrainingConfig(**config))
    _, ledgers = fit_with_ledger(
        model, dataset_of(corpus, len(model.embedding)), TrainingConfig(penalty=0.1, weight_decay=0.1, **config)
    )
    for side, with_penalty, without in zip(("attention", "polarity"), model.token_scores(), free.token_scores()):
        entry = getattr(ledgers[-1], f"{side}_penalty")
        assert torch.allclose(entry, with_penalty - without, atol=1e-12) and entry.abs().max() > 1e-4


def test_ledger_of_mini_batches_books_what_other_batches_did():
    """A type outside a batch moves by C and F alone."""
    corpus = Corpus.from_lists([[0, 1], [2, 3]], [1, 0])
    model = Case(types=6).model("DP")
    trainer = LedgerTrainer(model, corpus, TrainingConfig(optimizer="sgd", learning_rate=0.5, batch_size=1))
    before = model.token_scores().polarity
    trainer.epoch([torch.tensor([0])])
    ledger = trainer.ledger()
    moved = model.token_scores().polarity - before
    for name in ("A", "B", "polarity_remainder"):
        assert not getattr(ledger, name)[2:].any()
    assert torch.allclose(ledger.C[2:], moved[2:]) and moved[2:].abs().min() > 1e-6
    assert ledger.B[:2].abs().min() > 1e-6


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda model, corpus: LedgerTrainer(model, corpus, TrainingConfig(optimizer="adam")), "adam"),
        (lambda model, corpus: LedgerTrainer(model, corpus, TrainingConfig(dropout=0.5)), "dropout"),
        (lambda _, corpus: LedgerTrainer(AttentionClassifier(6, encoder="lstm"), corpus, TrainingConfig()), "lstm"),
        (lambda model, corpus: flow.integrate(model, corpus, [0, 1, 1]), "rising"),
        (lambda model, corpus: flow.integrate(model.float(), corpus, [0, 1]), "float64"),
        (lambda *_: gram(Case().model("AD")), "DP alone"),
        (lambda _, corpus: MeanField.from_corpus(corpus, [torch.arange(2)]), "belongs to none"),
    ],
)
def test_what_cannot_be_entered_or_solved_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(*model_and_corpus(Case(), "DP", False))
