"""V and W that learn together, their programmes, and data whose class is in two words together."""

import numpy as np
import pytest
import torch

from uaftc_book.chapters import since_2020
from uaftc_book.neighbours import pairs, selection
from uaftc_book.random_models import Case
from uaftc_lib import AttentionClassifier, Corpus


def of_case(seed=0):
    case = Case(dimension=20, lam=1.0, types=40, instances=10, seed=seed)
    model, corpus = case.model(), case.corpus()
    return model, corpus, selection.texts_of(model, corpus)


def initial(model):
    return np.concatenate([model.V.detach().numpy(), model.W.detach().numpy()])


def test_the_slopes_are_those_of_autograd_and_their_derivative_that_of_differences():
    model, corpus, texts = of_case()
    state, log_time = initial(model), 0.7
    found = selection.forces(texts, state, log_time, derivative=True)
    model.loss(corpus).backward()
    of_loss = -np.exp(log_time) * torch.cat([model.V.grad, model.W.grad]).numpy()
    assert found.force == pytest.approx(of_loss, rel=1e-10, abs=1e-13)

    def force(x):
        return selection.forces(texts, x, log_time).force

    numeric = np.array([(force(state + 1e-6 * e) - force(state - 1e-6 * e)) / 2e-6 for e in np.eye(len(state))]).T
    assert found.derivative == pytest.approx(numeric, abs=1e-6 * abs(numeric).max())


def test_the_slopes_do_not_vanish_where_the_loss_has():
    model, _, texts = of_case()
    path = selection.joint_flow(texts, *np.split(initial(model), 2), 2000.0)
    state = np.concatenate([path.V[-1], path.W[-1]])
    with torch.no_grad():
        model.V.copy_(torch.from_numpy(path.V[-1]))
        model.W.copy_(torch.from_numpy(path.W[-1]))
    model.loss(of_case()[1]).backward()
    assert float(model.W.grad.norm()) == 0
    assert 0.1 < np.linalg.norm(selection.forces(texts, state, path.log_times[-1]).force) < 10


def test_both_turn_to_their_programmes():
    model, _, texts = of_case()
    path = selection.joint_flow(texts, *np.split(initial(model), 2), 1e4)
    chosen = selection.chosen_by(texts, path.V[-1])
    W, supporting = selection.support_machine(texts, chosen)
    V = selection.relaxed_margin(texts, chosen, supporting)
    assert selection.cosine(path.W[-1], W) > 0.9999 and selection.cosine(path.V[-1], V) > 0.97
    assert selection.cosine(path.V[0], V) < 0.8 and not supporting.all()
    assert selection.cosine(path.V[-1], selection.max_margin(texts, chosen).V) < 0.95


def test_a_flow_that_cannot_get_all_texts_right_ends_early(untyped):
    model = of_case()[0]
    texts = selection.texts_of(model, Corpus.from_lists([[1, 2], [1, 2], [3, 4]], [0, 1, 1]))
    path = selection.joint_flow(texts, *np.split(initial(model), 2), 1e4)
    assert path.log_times[-1] < 30
    assert not np.isfinite(selection.support_machine(texts, np.array([0, 2, 4]))[0]).all()


def test_a_text_that_supports_nothing_asks_for_no_lead():
    E = torch.tensor([[1.0, 0.0], [0.0, 1.0], [5.0, 3.0], [5.0, 2.0]], dtype=torch.float64)
    model = AttentionClassifier(4, dimension=2, lam=1.0, dtype=torch.float64)
    with torch.no_grad():
        model.embedding.copy_(E)
    texts = selection.texts_of(model, Corpus.from_lists([[0, 1], [2, 3]], [1, 1]))
    chosen = np.array([0, 2])
    W, supporting = selection.support_machine(texts, chosen)
    assert pytest.approx([1, 0]) == W and supporting.tolist() == [True, False]
    V = selection.relaxed_margin(texts, chosen, supporting)
    assert pytest.approx([1, 0], abs=1e-9) == V  # (1, −1)·V ≥ 1 and (0, 1)·V ≥ 0
    assert selection.max_margin(texts, chosen).V == pytest.approx([2, 1])
    half = selection.relaxed_margin(texts, chosen, supporting, np.array([False, True, False, False]))
    assert pytest.approx([0.5, 0], abs=1e-9) == half
    tied, better = selection.against(texts, chosen, np.array([1.0, 1.0]), supporting)
    assert tied.tolist() == [False, True, False, False] and not better.any()
    tied, better = selection.against(texts, chosen, np.array([1.0, 2.0]), supporting)
    assert better.tolist() == [False, True, False, False] and not tied.any()


@pytest.mark.parametrize("signal", pairs.SIGNALS)
def test_data_four_tells_the_class_by_pairs_or_by_words(signal):
    data, kinds = pairs.told_by(signal, texts=400, seed=1), pairs.kinds_of()
    for corpus in (data.train, data.test):
        positive = (corpus.labels == 1)[corpus.instance_of]
        for name, ids in kinds.items():
            among = torch.isin(corpus.tokens, ids)
            share = float(positive[among].double().mean())
            telling = signal == "words" and name[0] == "A"
            assert share == pytest.approx({"A0": 0, "A1": 1}.get(name, 0.5) if telling else 0.5, abs=0)
            assert int(among.sum()) == (4000 if name == "neutral" else 200)
    assert not torch.equal(data.train.tokens, data.test.tokens)
    assert torch.equal(data.train.tokens, pairs.told_by("words", texts=400, seed=1).train.tokens)


@pytest.mark.parametrize(("signal", "options"), [("letters", {}), ("pairs", {"texts": 10}), ("pairs", {"types": 0})])
def test_data_four_refuses_what_cannot_be(signal, options):
    with pytest.raises(ValueError):
        pairs.told_by(signal, **options)


def test_words_that_tell_are_learnt_long_before_pairs():
    words, both = (since_2020.when_learnt(pairs.told_by(of, texts=400), 10.0, 0) for of in ("words", "pairs"))
    assert 10 < words < 200 and (np.isnan(both) or both > 20 * words)
