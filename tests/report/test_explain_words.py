"""Words → classes against loops over sentences, and the intervals against what they promise."""

import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_lib import AttentionClassifier, Corpus, Dataset, Vocabulary, explain

WORDS = ["dull", "bright", "the", "a", "of", "very"]


def task(classes=2, lam=1.0):
    random = np.random.default_rng(0)
    vocabulary = Vocabulary(WORDS)
    names = tuple(f"class {k}" for k in range(classes))
    sentences = [random.integers(0, len(WORDS) - 1, random.integers(1, 6)).tolist() for _ in range(40)]
    corpus = Corpus.from_lists(sentences, random.integers(0, classes, 40).tolist(), classes, names)
    dataset = Dataset("small", vocabulary, names, corpus, test=corpus)
    model = AttentionClassifier(
        len(vocabulary), 3, lam, classes=classes, embedding_range=2, weight_range=2, seed=0, dtype=torch.float64
    )
    return model, dataset


@torch.no_grad()
def by_hand(model, dataset):
    """The table by loops over sentences and words."""
    classes, rows = len(dataset.classes), {}
    for one in map(dataset.test.__getitem__, range(len(dataset.test))):
        out = model(one)
        P, s = explain.probabilities(out.polarity)[0].numpy(), out.token_polarity.numpy()
        s = np.stack([-s, s], 1) if classes == 2 else s
        for word in set(one.tokens.tolist()):
            mine = (one.tokens == word).numpy()
            A = out.weights.numpy()[mine].sum()
            c = (out.weights.numpy()[:, None] * s)[mine].sum(0)
            rest, without = one.tokens.numpy()[~mine].tolist(), P
            if rest:
                without = explain.probabilities(model(Corpus.from_lists([rest], [0], classes)).polarity)[0].numpy()
            rows.setdefault(word, []).append((A, A * P, c, P - without))
    total = sum(row[1] for found in rows.values() for row in found)
    table = []
    for word in sorted(rows):
        A, AP, c, fall = (np.array([row[i] for row in rows[word]]) for i in range(4))
        for k, name in enumerate(dataset.classes):
            expected = A.sum() * total[k] / total.sum()
            table.append(
                {
                    "word": WORDS[word],
                    "class": name,
                    "association": AP[:, k].sum(),
                    "lift": AP[:, k].sum() / expected,
                    "attention": A.mean(),
                    "influence": c[:, k].mean(),
                    "leave_one_out": fall[:, k].mean(),
                    "support": len(A),
                }
            )
    return pd.DataFrame(table)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("lam", [0.05, 1.0, 100.0])
def test_influence_is_what_loops_say(classes, lam):
    model, dataset = task(classes, lam=lam)
    table, expected = explain.word_class_influence(model, dataset), by_hand(model, dataset)
    pd.testing.assert_frame_equal(table[expected.columns], expected, rtol=1e-9, check_dtype=False)
    assert "very" not in set(table["word"]), "a word that does not occur has no influence"


def test_matrices_have_their_marginals():
    model, dataset = task(3)
    A, P = explain.attention_matrix(model, dataset.test), explain.class_matrix(model, dataset.test)
    assert A.is_sparse and A.shape == (len(dataset.vocabulary), 40) and P.shape == (3, 40)
    together = explain.association_matrix(A, P)
    ones = torch.ones(40, dtype=torch.float64)
    for actual, expected in (
        (A.to_dense().sum(0), ones),
        (P.sum(0), ones),
        (together.sum(1), A.to_dense().sum(1)),
        (together.sum(0), P.sum(1)),
        (together, A.to_dense() @ P.T),
    ):
        torch.testing.assert_close(actual, expected)


def test_negative_class_mirrors_the_positive_one():
    model, dataset = task()
    table = explain.word_class_influence(model, dataset)
    for column in ("influence", "leave_one_out", "polarity_score"):
        negative, positive = table[column].to_numpy().reshape(-1, 2).T
        np.testing.assert_allclose(negative, -positive, atol=1e-15)


def test_wrong_arguments_are_named():
    model, dataset = task()
    with pytest.raises(ValueError, match="no split 'dev'; it has train, test"):
        explain.word_class_influence(model, dataset, split="dev")
