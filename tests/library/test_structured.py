"""Structured attention against its definition, and against the models it contains."""

import copy

import numpy as np
import pytest
import torch

from uaftc_lib import AttentionClassifier, Corpus, Dataset, TrainingConfig, Vocabulary, explain, fit
from uaftc_lib.models.structured import StructuredClassifier, overlap

CASES = [
    (encoder, classes, projections)
    for encoder in ("none", "lstm")
    for classes in (2, 3)
    for projections in (False, True)
]


def build(encoder="none", classes=2, projections=False, hops=3, **options):
    options = {"embedding_range": 1.5, "weight_range": 1.5, "dtype": torch.float64, "hidden": 2} | options
    return StructuredClassifier(
        9, 4, 0.7, encoder=encoder, hops=hops, projections=projections, classes=classes, **options
    )


def corpus_of(classes=2):
    instances = [[1], [2, 3, 2], [0, 1, 2, 3, 4], [5, 5], [6, 7, 8, 1]]
    return Corpus.from_lists(instances, [0, 1, 0, 1, classes - 1], classes)


def dataset_of(corpus):
    return Dataset("small", Vocabulary([*"abcdef"]), ("0", "1"), corpus, test=corpus)


@pytest.mark.parametrize("encoder, classes, projections", CASES)
def test_the_definition(encoder, classes, projections):
    model, corpus = build(encoder, classes, projections), corpus_of(classes)
    assert isinstance(model, AttentionClassifier)
    out = model(corpus)
    W = model.W.reshape(3, 4, -1)
    for t, (begin, end) in enumerate(zip(corpus.offsets[:-1], corpus.offsets[1:])):
        one = corpus[t]
        h = model.embedding[one.tokens]
        if encoder == "lstm":
            h = model.recurrent(h, one.offsets)
        keys = h @ model.M.T if projections else torch.tanh(h @ model.M.T)
        values = h @ model.N.T if projections else h
        A = (keys @ model.V / 0.7).softmax(0)
        logits = torch.einsum("jr,jd,rdk->k", A, values, W)
        torch.testing.assert_close(out.weights[begin:end], A)
        torch.testing.assert_close(out.polarity[t].reshape(-1), logits)
        expected = ((A.T @ A - torch.eye(3)) ** 2).sum()
        torch.testing.assert_close(overlap(out.weights, corpus)[t], expected)
    torch.testing.assert_close(model.penalty(corpus), overlap(out.weights, corpus).mean())


@pytest.mark.parametrize("encoder, classes, projections", CASES)
def test_contributions_of_hops_and_words_sum_to_the_logits(encoder, classes, projections):
    model, corpus = build(encoder, classes, projections), corpus_of(classes)
    c, out = explain.contributions(model, corpus), model(corpus)
    assert c.shape[:2] == (len(corpus.tokens), 3)
    totals = torch.zeros_like(out.polarity).index_add(0, corpus.instance_of, c.sum(1))
    torch.testing.assert_close(totals, out.polarity)


def test_one_hop_is_additive_attention():
    structured, additive = build(hops=1), AttentionClassifier(9, 4, 0.7, attention="additive", dtype=torch.float64)
    with torch.no_grad():
        for name in ("embedding", "M", "W"):
            getattr(additive, name).copy_(getattr(structured, name))
        additive.V.copy_(structured.V[:, 0])
    torch.testing.assert_close(structured(corpus_of()).polarity, additive(corpus_of()).polarity)
    for function in (explain.leave_one_out, lambda *given: explain.permutation_test(*given).variance):
        torch.testing.assert_close(function(structured, corpus_of()), function(additive, corpus_of()))


def test_overlap_is_zero_for_hops_apart_and_largest_for_hops_together():
    corpus = Corpus.from_lists([[0, 1, 2], [0, 1, 2]], [0, 1])
    weights = torch.cat([torch.eye(3), torch.tensor([[1.0, 1, 1], [0, 0, 0], [0, 0, 0]])])
    assert overlap(weights, corpus).tolist() == [0, 6]


def test_leave_one_out_renormalises_every_hop():
    model, corpus = build(), corpus_of()
    out, left_out = model(corpus), explain.leave_one_out(model, corpus)
    for t in range(len(corpus)):
        begin, end = corpus.offsets[t : t + 2].tolist()
        for j in range(begin, end):
            rest = [i for i in range(begin, end) if i != j]
            if rest:
                logit = (out.scores[rest].softmax(0) * out.token_polarity[rest]).sum()
                torch.testing.assert_close(left_out[j], (out.polarity[t] - logit).detach())


def test_the_penalty_pulls_the_hops_apart():
    random = np.random.default_rng(0)
    sentences = [random.integers(0, 9, 6).tolist() for _ in range(60)]
    labels = [int(3 in sentence) for sentence in sentences]
    corpus = Corpus.from_lists(sentences, labels)
    dataset = dataset_of(corpus)
    measured = {}
    for penalty in (0.0, 1.0):
        model = build(seed=1, embedding_range=0.5)
        fit(model, dataset, TrainingConfig(penalty=penalty, epochs=15, batch_size=10, learning_rate=0.05, dropout=0.2))
        measured[penalty] = float(model.penalty(corpus).detach())
    assert measured[1.0] < 0.6 * measured[0.0]


def test_words_and_copies():
    model, corpus = build(), corpus_of()
    again = copy.deepcopy(model)
    torch.testing.assert_close(again(corpus).polarity, model(corpus).polarity)
    dataset = dataset_of(corpus)
    table = explain.word_class_influence(model, dataset)
    totals = table[table["class"] == "1"].eval("influence * support").sum()
    assert totals == pytest.approx(float(model(corpus).polarity.detach().sum()))
    assert table["association"].sum() == pytest.approx(5)
    local = model.token_scores(corpus)
    torch.testing.assert_close(local.attention[1], model.token_scores().attention[1])


@pytest.mark.parametrize(
    "call, message",
    [
        (explain.minimal_flip_sets, "this model has 3 hops"),
        (explain.adversarial_attention, "this model has 3 hops"),
        (lambda model, corpus: build(hops=0), "hops"),
        (lambda model, corpus: build(encoder="affine"), "both own M"),
        (lambda model, corpus: model.penalty(), r"penalty\(corpus\)"),
        (
            lambda model, corpus: fit(model, dataset_of(corpus), TrainingConfig(method="fast")),
            "StructuredClassifier may compute something else",
        ),
    ],
)
def test_what_is_not_exact_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(build(), corpus_of())
