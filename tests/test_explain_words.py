"""Words → classes against loops over sentences, and the intervals against what they promise."""

import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_lib import AttentionClassifier, Corpus, Dataset, Vocabulary, explain
from uaftc_lib.explain.words import Pairs, bootstrap, summarise

WORDS = ["dull", "bright", "the", "a", "of", "very"]


def task(classes=2, instances=40, seed=0, lam=1.0, sentences=None):
    random = np.random.default_rng(seed)
    vocabulary = Vocabulary(WORDS)
    names = tuple(f"class {k}" for k in range(classes))
    if sentences is None:
        sentences = [random.integers(0, len(WORDS) - 1, random.integers(1, 6)).tolist() for _ in range(instances)]
    corpus = Corpus.from_lists(sentences, random.integers(0, classes, len(sentences)).tolist(), classes, names)
    dataset = Dataset("small", vocabulary, names, corpus, test=corpus)
    model = AttentionClassifier(
        len(vocabulary),
        3,
        lam,
        classes=classes,
        embedding_range=2,
        weight_range=2,
        seed=seed,
        dtype=torch.float64,
    )
    return model, dataset


def by_hand(model, dataset):
    """The table by loops over sentences and words."""
    classes, corpus = len(dataset.classes), dataset.test
    rows = {}
    for t in range(len(corpus)):
        one = corpus[t]
        out = model(one)
        P = explain.probabilities(out.polarity)[0].detach().numpy()
        for word in set(one.tokens.tolist()):
            mine = (one.tokens == word).numpy()
            A = out.weights.detach().numpy()[mine].sum()
            s = out.token_polarity.detach().numpy()
            s = np.stack([-s, s], 1) if classes == 2 else s
            c = (out.weights.detach().numpy()[:, None] * s)[mine].sum(0)
            rest = one.tokens[~torch.tensor(mine)]
            without = P
            if len(rest):
                alone = Corpus.from_lists([rest.tolist()], [0], classes)
                without = explain.probabilities(model(alone).polarity)[0].detach().numpy()
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
    table = explain.word_class_influence(model, dataset)
    found = together[together.sum(1) > 0].flatten().detach().numpy()
    np.testing.assert_allclose(table["association"], found)
    assert table["association"].sum() == pytest.approx(40), "all of it is the number of sentences"


def test_negative_class_mirrors_the_positive_one():
    model, dataset = task()
    table = explain.word_class_influence(model, dataset)
    for column in ("influence", "leave_one_out", "polarity_score"):
        negative, positive = table[column].to_numpy().reshape(-1, 2).T
        np.testing.assert_allclose(negative, -positive, atol=1e-15)


def intervals_of_drawn_words(random, draw, n, words=600):
    """Intervals of made-up words, each held by n texts of its own in which its contributions are drawn."""
    pairs = Pairs(np.repeat(np.arange(words), n), np.arange(words * n), words, words * n)
    one = np.ones(words * n)
    drawn = draw(random, words * n)
    values = np.stack([one, one / 2, one / 4, one / 4, -drawn, drawn, -drawn, drawn], 1)
    estimates = summarise(pairs.sums(values), 2)
    return bootstrap(pairs, values, estimates, replicates=200, seed=1, level=0.95)


@pytest.mark.parametrize("n", [10, 20, 50])
@pytest.mark.parametrize("shape", ["even", "skewed"])
def test_intervals_hold_the_truth_about_as_often_as_they_say(n, shape):
    """Percentiles alone: 0.91 and 0.85 of the words of 10 texts."""
    draw = {
        "even": lambda random, size: random.normal(1, 1, size),
        "skewed": lambda random, size: random.exponential(1, size),
    }[shape]
    bounds = intervals_of_drawn_words(np.random.default_rng(n), draw, n, words=2000)
    for name in ("influence", "leave_one_out"):
        low, high = bounds[f"{name}_low"][:, 1], bounds[f"{name}_high"][:, 1]
        inside = np.mean((low <= 1) & (1 <= high))
        least = 0.93 if shape == "even" else 0.90
        assert least <= inside <= 0.98, f"a 95 % interval held the truth in {inside:.1%}"
        mirrored = bounds[f"{name}_low"][:, 0], bounds[f"{name}_high"][:, 0]
        np.testing.assert_allclose(mirrored, (-high, -low))


def test_bootstrap_interval_is_around_the_estimate_and_narrows():
    model, _ = task()
    random = np.random.default_rng(1)
    population = [random.integers(0, 5, random.integers(1, 5)).tolist() for _ in range(4000)]
    truth = explain.word_class_influence(*task(sentences=population)).set_index(["word", "class"])
    inside, widths = [], {}
    for sample in range(15):
        for size in (50, 200):
            chosen = random.choice(len(population), size)
            dataset = task(sentences=[population[i] for i in chosen])[1]
            table = explain.word_class_influence(model, dataset, replicates=200, seed=sample)
            table = table.set_index(["word", "class"])
            widths.setdefault(size, []).append((table["influence_high"] - table["influence_low"]).mean())
            for name in ("influence", "leave_one_out", "lift"):
                low, high = table[f"{name}_low"], table[f"{name}_high"]
                assert ((low <= table[name]) & (table[name] <= high)).all()
                expected = truth[name].loc[table.index]
                inside += list((low <= expected) & (expected <= high))
    assert 0.9 <= np.mean(inside) <= 0.99, f"95 % intervals held the truth in {np.mean(inside):.0%}"
    ratio = np.mean(widths[50]) / np.mean(widths[200])
    assert 1.7 < ratio < 2.5, f"four times the sentences must halve the width, got {ratio:.2f}"


def test_bootstrap_does_not_depend_on_the_block():
    model, dataset = task(3)
    first = explain.word_class_influence(model, dataset, replicates=50)
    block, explain.words.BLOCK = explain.words.BLOCK, 1
    try:
        second = explain.word_class_influence(model, dataset, replicates=50)
    finally:
        explain.words.BLOCK = block
    pd.testing.assert_frame_equal(first, second)
    assert first["lift_low"].notna().any()


def test_rare_words_get_no_interval():
    sentences = [[0, 2]] * 9 + [[1, 2]] * 10 + [[2]]
    model, dataset = task(sentences=sentences)
    table = explain.word_class_influence(model, dataset, replicates=20).set_index("word")
    assert table["influence_low"].loc["dull"].isna().all(), "nine sentences are too few"
    assert table["influence_low"].loc["bright"].notna().all()


def test_seeds_are_averaged_and_bounded():
    models = [task(seed=seed)[0] for seed in range(4)]
    dataset = task()[1]
    together = explain.word_class_influence(models, dataset)
    each = np.stack([explain.word_class_influence(model, dataset)["influence"] for model in models])
    np.testing.assert_allclose(together["influence"], each.mean(0))
    reach = 3.182446 * each.std(0, ddof=1) / 2  # Student's t, three degrees of freedom
    np.testing.assert_allclose(together["influence_seed_high"], each.mean(0) + reach, rtol=1e-6)
    np.testing.assert_allclose(together["influence_seed_low"], each.mean(0) - reach, rtol=1e-6)
    np.testing.assert_allclose(together["agreement"], (np.sign(each) == np.sign(each.mean(0))).mean(0))
    assert 0 < together["agreement"].min() < 1, "some words must divide the models, or this shows nothing"
    assert "influence_seed_low" not in explain.word_class_influence(models[:1], dataset)


def test_wrong_arguments_are_named():
    model, dataset = task()
    with pytest.raises(ValueError, match="no split 'dev'; it has train, test"):
        explain.word_class_influence(model, dataset, split="dev")
    with pytest.raises(ValueError, match="at least one model"):
        explain.word_class_influence([], dataset)
    for options in ({"replicates": -1}, {"level": 1.0}):
        with pytest.raises(ValueError, match="replicates ≥ 0 and 0 < level < 1"):
            explain.word_class_influence(model, dataset, **options)
