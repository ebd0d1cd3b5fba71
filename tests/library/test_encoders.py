"""Recurrent encoders: the states of torch's packed sequences, by another way."""

import pytest
import torch
from cases import random_corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from uaftc_lib import AttentionClassifier, Corpus, Dataset, TrainingConfig, Vocabulary, fit
from uaftc_lib.models import encoders
from uaftc_lib.models.encoders import NETWORKS, Recurrent, buckets, consecutive_parts

TYPES = 30


def packed(encoder: Recurrent, kind: str, embeddings, lengths):
    """The textbook: torch's own bidirectional network over packed sequences, with the same weights."""
    rows, hidden = encoder.onward.weight_hh_l0.shape
    network = NETWORKS[kind](embeddings.shape[1], hidden, bidirectional=True, dtype=embeddings.dtype)
    for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
        # The very parameters, so that their gradients can be compared too.
        setattr(network, name, getattr(encoder.onward, name))
        setattr(network, f"{name}_reverse", getattr(encoder.backward_, name))
    sequences = nn.utils.rnn.pack_sequence(embeddings.split(lengths), enforce_sorted=False)
    padded, _ = nn.utils.rnn.pad_packed_sequence(network(sequences)[0], batch_first=True)
    return torch.cat([states[:length] for states, length in zip(padded, lengths)])


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("lengths", [[1], [5, 1, 9, 9, 2, 30, 3, 1], [40] * 3 + list(range(1, 40))])
def test_states_and_gradients_are_those_of_packed_sequences(kind, lengths, monkeypatch):
    monkeypatch.setattr(encoders, "BUDGET", 64)  # many buckets
    draws = torch.Generator().manual_seed(1)
    encoder = Recurrent(kind, 7, 5, draws, torch.float64, "cpu")
    for parameter in encoder.parameters():  # biases that matter
        parameter.data += 0.3 * torch.randn(parameter.shape, generator=draws, dtype=torch.float64)
    embeddings = torch.randn(sum(lengths), 7, generator=draws, dtype=torch.float64, requires_grad=True)
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    weights = torch.randn(sum(lengths), 10, generator=draws, dtype=torch.float64)
    leaves = [embeddings, *encoder.parameters()]

    ours, reference = encoder(embeddings, offsets), packed(encoder, kind, embeddings, lengths)
    assert ours.shape == (sum(lengths), 10)
    torch.testing.assert_close(ours, reference, rtol=0, atol=1e-10)
    for mine, theirs in zip(
        torch.autograd.grad((ours * weights).sum(), leaves), torch.autograd.grad((reference * weights).sum(), leaves)
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-10)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=60), st.integers(1, 400))
@settings(max_examples=200, deadline=None)
def test_buckets_hold_each_instance_once_and_keep_to_the_budget(lengths, budget):
    lengths = torch.tensor(lengths)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "BUDGET", budget)
        found = buckets(lengths)
    assert sorted(torch.cat(found).tolist()) == list(range(len(lengths)))
    for bucket in found:
        longest, shortest = int(lengths[bucket].max()), int(lengths[bucket].min())
        assert len(bucket) == 1 or len(bucket) * longest <= budget
        assert shortest >= encoders.FULLNESS * longest


@pytest.mark.parametrize("attention", ["dot", "additive"])
@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_model_attends_over_the_states(kind, attention, classes):
    corpus = random_corpus([4, 1, 7], TYPES, classes=classes)
    model = AttentionClassifier(
        TYPES, 6, lam=2.0, encoder=kind, attention=attention, classes=classes, hidden=4, dtype=torch.float64
    )
    assert model.V.shape == (8,) and len(model.W) == 8
    with torch.no_grad():
        out = model(corpus)
        for t, length in enumerate(corpus.lengths.tolist()):
            begin, end = corpus.offsets[t : t + 2].tolist()
            h = packed(model.recurrent, kind, model.embedding[corpus.tokens[begin:end]], [length])
            keys = torch.tanh(h @ model.M.T) if attention == "additive" else h
            alpha = torch.softmax(keys @ model.V / 2.0, 0)
            torch.testing.assert_close(out.weights[begin:end], alpha, rtol=0, atol=1e-12)
            torch.testing.assert_close(out.polarity[t], alpha @ h @ model.W, rtol=0, atol=1e-12)


def test_global_scores_feed_each_type_alone_and_local_ones_average():
    corpus = random_corpus([4, 1, 7, 12, 3], TYPES)
    model = AttentionClassifier(TYPES, 6, encoder="lstm", hidden=4, dtype=torch.float64)
    alone = model(Corpus.from_lists([[e] for e in range(TYPES)], [0] * TYPES))
    scores = model.token_scores()
    torch.testing.assert_close(scores.attention, alone.scores.detach(), rtol=0, atol=1e-12)
    torch.testing.assert_close(scores.polarity, alone.token_polarity.detach(), rtol=0, atol=1e-12)

    local, out = model.token_scores(corpus), model(corpus)
    for e in range(TYPES):
        here = corpus.tokens == e
        expected = out.scores[here].mean().detach()
        torch.testing.assert_close(local.attention[e], expected, rtol=0, atol=1e-12, equal_nan=True)
    occurring = corpus.tokens.unique()
    assert (local.attention[occurring] - scores.attention[occurring]).abs().max() > 1e-3


def test_a_corpus_evaluated_in_parts_gives_the_same(monkeypatch):
    corpus = random_corpus([3, 50, 2, 2, 9, 1, 30] * 4, TYPES)
    model = AttentionClassifier(TYPES, 6, encoder="gru", hidden=4, dtype=torch.float64)
    whole = model(corpus)
    monkeypatch.setattr(encoders, "PART", 40)
    assert len(consecutive_parts(corpus.lengths)) > 5
    with torch.no_grad():
        for part, complete in zip(model(corpus), whole):
            torch.testing.assert_close(part, complete.detach(), rtol=0, atol=1e-12)


def test_the_start_is_orthogonal_reproducible_and_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    model, again = (AttentionClassifier(TYPES, 6, encoder="lstm", hidden=4, seed=3) for _ in range(2))
    other = AttentionClassifier(TYPES, 6, encoder="lstm", hidden=4, seed=4)
    assert torch.equal(before, torch.get_rng_state())
    for name, parameter in model.recurrent.named_parameters():
        assert torch.equal(parameter, again.recurrent.get_parameter(name))
        if parameter.dim() == 1:
            assert not parameter.any()
        else:
            assert not torch.equal(parameter, other.recurrent.get_parameter(name))
            identity = torch.eye(parameter.shape[1])
            torch.testing.assert_close(parameter.detach().T @ parameter.detach(), identity)
    assert not torch.equal(model.recurrent.onward.weight_hh_l0, model.recurrent.backward_.weight_hh_l0)


def who_comes_first(instances, seed):
    """Label: does token 0 stand before token 1? No bag of words can tell."""
    draws = torch.Generator().manual_seed(seed)
    texts, labels = [], []
    for t in range(instances):
        length = int(torch.randint(4, 12, (), generator=draws))
        text = torch.randint(2, TYPES, (length,), generator=draws)
        first, second = torch.randperm(length, generator=draws)[:2].sort().values.tolist()
        text[first], text[second] = (0, 1) if t % 2 else (1, 0)
        texts.append(text.tolist())
        labels.append(t % 2)
    return Corpus.from_lists(texts, labels)


@pytest.mark.parametrize("encoder", ["none", *NETWORKS])
def test_fit_learns_word_order_with_a_recurrent_encoder_alone(encoder):
    words = Vocabulary([f"word {i}" for i in range(TYPES - 3)])
    dataset = Dataset("order", words, ("no", "yes"), *(who_comes_first(n, n) for n in (600, 200, 300)))
    config = TrainingConfig(learning_rate=0.1, epochs=3, dropout=0.1, batch_size=30, seed=1)
    run = fit(AttentionClassifier(TYPES, 20, encoder=encoder, hidden=10, seed=1), dataset, config)
    if encoder == "none":
        assert run.test_accuracy < 0.65
    else:
        assert run.test_accuracy > 0.95


def test_weight_decay_pulls_at_the_recurrent_weights_alone():
    corpus = random_corpus([4, 6, 2], TYPES)
    words = Vocabulary([f"word {i}" for i in range(TYPES - 3)])

    def trained(decay):
        model = AttentionClassifier(TYPES, 6, encoder="lstm", hidden=4, dtype=torch.float64)
        config = TrainingConfig(optimizer="sgd", learning_rate=0.5, epochs=1, weight_decay=decay)
        fit(model, Dataset("one step", words, ("a", "b"), corpus), config)
        return dict(model.named_parameters())

    start = dict(AttentionClassifier(TYPES, 6, encoder="lstm", hidden=4, dtype=torch.float64).named_parameters())
    plain, decayed = trained(0.0), trained(0.1)
    for name, value in start.items():
        expected = 0.5 * 0.1 * value if name.startswith("recurrent") else torch.zeros_like(value)
        torch.testing.assert_close(plain[name] - decayed[name], expected, rtol=0, atol=1e-12)
