"""Where truth is simulated: intervals hold it, lists find causes and nothing else, verdicts are earned."""

import interval_coverage
import made_files
import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_lib import AttentionClassifier, Corpus
from uaftc_lib.explain.contributions import probabilities
from uaftc_lib.explain.words import word_instance_pairs
from uaftc_lib.report import explain_file
from uaftc_lib.report.judge import Units, attended_without_effect, by_chance, quality
from uaftc_lib.report.request import Refused
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.train import folds, word_values

pytestmark = pytest.mark.usefixtures("untyped")  # whole computations, whose parts have tests of their own


def explained(rows, folder, settings=None, **options):
    """The report of made-up rows, and its table of words."""
    rows.to_csv(folder / "rows.csv", index=False)
    report = explain_file(folder / "rows.csv", "text", "label", folder / "out", settings, progress=False, **options)
    return report, pd.read_csv(folder / "out" / "words.csv", keep_default_na=False)


def listed(words):
    return set(zip(*words.loc[words["listed"], ["word", "class"]].to_numpy().T)) if words["listed"].any() else set()


def coverage(files):
    """By support and effect, the share of intervals that hold the truth, and that leave zero out."""
    return interval_coverage.coverage(files).groupby(["texts", "effect"])[["held", "off"]].mean()


def test_intervals_hold_what_other_texts_and_another_training_give():
    found = coverage(4)
    assert found["held"].mean() >= 0.92 and (found["held"] >= 0.85).all(), found
    assert found.xs(0.0, level="effect")["off"].mean() <= 0.05, found


@pytest.mark.long
def test_intervals_hold_it_at_every_support():
    found = coverage(40)
    assert (found["held"] >= 0.92).all(), found
    assert (found.xs(0.0, level="effect")["off"] <= 0.05).all(), found


@pytest.mark.parametrize("classes", [2, 3])
def test_known_causes_are_listed_and_what_keeps_them_company_is_not(tmp_path, classes):
    right, said, true, companions = 0, 0, 0, 0
    for seed in range(3):
        rows, truth = made_files.known_causes(seed, classes=classes)
        report, words = explained(rows, tmp_path)
        causes = {(word, name) for name, words in truth["causes"].items() for word in words}
        found = listed(words)
        right, said, true = right + len(found & causes), said + len(found), true + len(causes)
        companions += len({word for word, _ in found} & {*truth["confounds"]})
        assert report["quality"]["verdict"] == "sound"
        for name, rows in report["top_words"].items():
            assert all((row["word"], name) in found for row in rows)
            assert [row["total"] for row in rows] == sorted((row["total"] for row in rows), reverse=True)
    assert right >= 0.9 * said and right >= 0.9 * true, (right, said, true)
    assert companions <= 1


def test_words_that_say_the_same_are_listed_all_the_same(tmp_path):
    """Five of a class's twenty words in each of its texts: none of them adds anything to the other four."""
    draws, letters = np.random.default_rng(0), "abcdefghijklmnopqrst"
    kinds = draws.integers(0, 3, 600)
    own = [" ".join(f"own{'xyz'[k]}{letters[i]}" for i in draws.choice(20, 5, replace=False)) for k in kinds]
    common = [" ".join(f"common{letters[i]}" for i in draws.integers(0, 20, 6)) for _ in kinds]
    rows = pd.DataFrame({"text": [f"{x} {y}" for x, y in zip(own, common)], "label": [f"kind {k}" for k in kinds]})
    _, words = explained(rows, tmp_path)
    true = {(f"own{'xyz'[k]}{i}", f"kind {k}") for k in range(3) for i in letters}
    assert listed(words) <= true and len(listed(words)) >= 0.9 * len(true)
    assert not ((words["q"] <= 0.05) & (words["q_beyond"] <= 0.05)).any()


def test_a_word_in_the_company_of_two_causes_is_not_listed(tmp_path):
    """No single cause accounts for all of its texts; the two together do."""
    draws, telling = np.random.default_rng(0), {"billing": ["invoice", "refund"], "delivery": ["parcel", "courier"]}
    rows = []
    for number in range(600):
        kind = list(telling)[number % 2]
        words = [*draws.choice(list("uvwxyz"), 6), draws.choice(telling[kind])]
        rows.append((" ".join(words + ["sorry"] * (kind == "delivery" and draws.random() < 0.5)), kind))
    _, words = explained(pd.DataFrame(rows, columns=["text", "label"]), tmp_path)
    assert listed(words) == {(word, kind) for kind, both in telling.items() for word in both}


def empty_lists(folder, seeds, rows):
    found = []
    for seed in seeds:
        report, words = explained(made_files.random_labels(seed, rows)[0], folder, Settings(epochs=8))
        assert report["quality"]["verdict"] != "useless" or not words["listed"].any(), "under it nothing is listed"
        found.append(not words["listed"].any())
    return sum(found)


def test_random_labels_give_empty_lists(tmp_path):
    assert empty_lists(tmp_path, range(6), 600) >= 5


@pytest.mark.long
def test_random_labels_give_empty_lists_in_most_of_a_hundred_files(tmp_path):
    assert empty_lists(tmp_path, range(100), 1500) >= 90


def test_plain_signal_in_a_rare_class_is_no_lack_of_conclusion(tmp_path):
    rows, truth = made_files.imbalanced(0)
    report, words = explained(rows, tmp_path)
    quality = report["quality"]
    assert quality["verdict"] == "sound" and quality["log_loss"]["low"] > 0 and quality["auc"]["low"] > 0.5
    rare = rows["label"].value_counts().idxmin()
    assert {word for word, name in listed(words) if name == rare} == {*truth["causes"][rare]}
    (of_rare,) = [each for each in report["classes"] if each["name"] == rare]
    assert of_rare["recall"] == of_rare["right"] / of_rare["tested"] > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_form_letters_with_random_labels_are_not_learnt_by_heart(tmp_path, seed):
    rows, _ = made_files.form_letters(seed)
    report, words = explained(rows, tmp_path)
    assert report["quality"]["attention"]["accuracy"] < 0.75 and not words["listed"].any()
    assert report["quality"]["verdict"] in ("useless", "few"), "forty letters are no thousand"
    assert "near-copies" in report["loud"][0]


def test_a_word_that_decides_a_class_is_named_with_what_is_left_without_it(tmp_path):
    rows, _ = made_files.known_causes(0, rows=1500)
    leak = rows["label"] == "class B"
    rows.loc[leak & (np.arange(len(rows)) % 5 > 0), "text"] += " ticketteam"
    report, _ = explained(rows, tmp_path)
    (one,) = report["deciding"]
    assert (one["word"], one["class"]) == ("ticketteam", "class B") and one["covered"] == pytest.approx(0.8, abs=0.03)
    assert one["recall"] > 0.75 and one["recall_without"] < one["recall"] - 0.1
    report, words = explained(rows, tmp_path, Settings(without="ticketteam"))
    assert not report["deciding"] and "ticketteam" not in set(words["word"])


def test_a_tag_of_two_words_is_one_leak(tmp_path):
    rows, _ = made_files.known_causes(0, rows=1500)
    tagged = (rows["label"] == "class B") & (np.arange(len(rows)) % 5 > 0)
    rows.loc[tagged, "text"] += " routed finance"
    report, _ = explained(rows, tmp_path)
    (one,) = report["deciding"]
    assert set(one["word"].split(",")) == {"routed", "finance"} and one["recall_without"] < one["recall"] - 0.1


def test_the_commonest_class_is_decided_by_no_common_word(tmp_path):
    rows, _ = made_files.imbalanced(1)
    rows["text"] += " the"
    report, _ = explained(rows, tmp_path)
    assert not any("the" in one["word"].split(",") for one in report["deciding"])


def test_a_class_that_no_model_could_learn_is_refused_in_words(tmp_path):
    rows, _ = made_files.known_causes(0, rows=400)
    rows["side"] = np.where(rows["label"].eq("class A") & (np.arange(400) % 4 == 0), "test", "train")
    with pytest.raises(Refused, match="of the class 'class B' too few texts .* are left to test"):
        explained(rows, tmp_path, split="side")


def test_classes_of_groups_are_spread_by_their_texts():
    """A class that is the commonest of no group is in every training part all the same."""
    draws = np.random.default_rng(0)
    cluster = np.repeat(np.arange(100), 10)
    labels = draws.integers(0, 5, 1000)
    labels[cluster % 10 == 0] = np.where(np.arange((cluster % 10 == 0).sum()) % 10 < 3, 5, labels[cluster % 10 == 0])
    for seed in range(20):
        for fold in folds(labels, cluster, seed=seed):
            assert len(set(labels[fold.train])) == 6


def test_groups_stay_on_one_side(tmp_path):
    """Authors have their words and their label: what is learnt of one says nothing of another."""
    draws = np.random.default_rng(0)
    author = np.repeat(np.arange(40), 15)
    label = np.where(draws.random(40) < 0.5, "a", "b")[author]
    own = [" ".join(f"author{a}word{i}" for i in draws.integers(0, 12, 6)) for a in author]
    common = [" ".join(f"common{i}" for i in draws.integers(0, 300, 8)) for _ in author]
    rows = pd.DataFrame({"text": [f"{x} {y}" for x, y in zip(own, common)], "label": label, "author": author})
    alone, _ = explained(rows, tmp_path, Settings(epochs=10))
    grouped, words = explained(rows, tmp_path, Settings(epochs=10), group="author")
    assert alone["quality"]["attention"]["accuracy"] > 0.9 > 0.75 > grouped["quality"]["attention"]["accuracy"]
    assert not words["listed"].any() and grouped["quality"]["verdict"] in ("useless", "few")


def test_given_test_texts_alone_are_tested(tmp_path):
    rows, truth = made_files.known_causes(1)
    rows["part"] = np.where(np.arange(len(rows)) % 4, "train", "test")
    rows["day"] = np.arange(len(rows))
    report, words = explained(rows, tmp_path, split="part")
    assert report["tested"] == "split" and report["quality"]["tested"] == (rows["part"] == "test").sum()
    causes = {(word, name) for name, words in truth["causes"].items() for word in words}
    assert len(listed(words) & causes) >= 0.5 * len(causes)
    report, _ = explained(rows, tmp_path, Settings(epochs=2), time="day")
    assert report["tested"] == "time" and report["quality"]["tested"] == len(rows) // 5


def test_every_text_is_tested_once_and_clusters_are_whole():
    draws = np.random.default_rng(0)
    labels, cluster = draws.integers(0, 3, 500), draws.integers(0, 200, 500)
    chosen = list(folds(labels, cluster, seed=1))
    assert np.array_equal(np.sort(np.concatenate([fold.test for fold in chosen])), np.arange(500))
    for fold in chosen:
        assert np.array_equal(np.sort(np.concatenate([fold.test, fold.rest])), np.arange(500))
        for one, other in ((fold.test, fold.rest), (fold.train, fold.dev)):
            assert not set(cluster[one]) & set(cluster[other])
        assert set(labels[fold.train]) == {0, 1, 2} and 0.05 < len(fold.dev) / 500 < 0.18
    given = np.arange(500) % 7 == 0
    for fold in folds(labels, np.arange(500), given, seed=1):
        assert np.array_equal(fold.test, np.flatnonzero(given)) and not given[fold.rest].any()


def test_copies_count_once():
    corpus = Corpus.from_lists([[0, 0], [0], [0], [1], [1, 0]], [0, 0, 1, 1, 1])
    units = Units(corpus, np.array([0, 0, 1, 2, 2]), 2)
    assert units.counts().tolist() == [[1, 2], [0, 1]] and units.sizes.tolist() == [1, 2]
    p = by_chance(np.array([[0, 5]]), np.array([50.0, 50.0]))
    assert p[0] == pytest.approx([1, 0.5**5])


@pytest.mark.parametrize("classes", [2, 3])
def test_reading_again_is_what_loops_say(classes):
    torch.manual_seed(0)
    texts = [[0, 1, 2, 1], [3], [2, 2], [4, 0, 3]]
    corpus = Corpus.from_lists(texts, [0, 1, 0, 1], classes)
    model = AttentionClassifier(8, 6, 1.0, encoder="gru", hidden=4, classes=classes, dtype=torch.float64)
    word, instance, pair_of = word_instance_pairs(corpus, 8)
    out, found = word_values(model, corpus, pair_of, instance)
    P = probabilities(out.polarity)
    for row, w, t in zip(found, word.tolist(), instance.tolist()):
        left = [i for i in texts[t] if i != w]
        alone = probabilities(model(Corpus.from_lists([left], [0], classes)).polarity)[0] if left else P[t]
        assert row[-classes:] == pytest.approx((P[t] - alone.detach()).numpy(), abs=1e-12)


def test_a_recurrent_encoder_lists_by_reading_again(tmp_path):
    draws, telling = np.random.default_rng(0), {"a": ["red", "rose"], "b": ["blue", "sea"]}
    labels = ["a" if i % 2 else "b" for i in range(400)]
    texts = [" ".join([*draws.choice(list("uvwxyz"), 4), draws.choice(telling[label])]) for label in labels]
    report, words = explained(
        pd.DataFrame({"text": texts, "label": labels}), tmp_path, Settings(encoder="gru", epochs=4)
    )
    assert report["quality"]["verdict"] == "sound"
    assert listed(words) == {(word, name) for name, both in telling.items() for word in both}


def probabilities_of(right, texts, sure=0.9):
    """Answers that are right where told."""
    labels = np.arange(texts) % 2
    chosen = np.where(right, labels, 1 - labels)
    return np.where(np.arange(2) == chosen[:, None], sure, 1 - sure), labels


@pytest.mark.parametrize(
    "ours, linear, verdict",
    [(0.8, 0.8, "sound"), (0.8, 0.81, "sound"), (0.7, 0.9, "worse than linear"), (0.5, 0.9, "useless")],
)
def test_only_a_material_margin_makes_it_worse_than_linear(ours, linear, verdict):
    draws, texts = np.random.default_rng(0), 4000
    one, labels = probabilities_of(draws.random(texts) < ours, texts)
    other, _ = probabilities_of(draws.random(texts) < linear, texts)
    found = quality(one, other, np.full((texts, 2), 0.5), labels, np.arange(texts) % 5, texts)
    assert found["verdict"] == verdict


def test_too_sure_is_not_useless():
    """Right in 70 of 100 texts and always sure to 99.9 %: its log-loss is above the prior's, and it knows a lot."""
    draws, texts = np.random.default_rng(0), 2000
    one, labels = probabilities_of(draws.random(texts) < 0.7, texts, 0.999)
    found = quality(one, one, np.full((texts, 2), 0.5), labels, np.arange(texts) % 5, texts)
    assert found["log_loss"]["model"] > found["log_loss"]["prior"] and found["log_loss"]["low"] > 0
    assert found["verdict"] == "sound"


def test_what_is_looked_at_without_effect_is_looked_at_most_and_listed_nowhere():
    names = [f"w{i}" for i in range(40)]  # w0 is looked at most
    words = pd.DataFrame({"word": np.repeat(names, 2), "class": ["a", "b"] * 40, "texts": 10, "listed": False})
    words["attention"] = np.repeat(np.linspace(0.9, 0.1, 40), 2)
    words["influence"] = np.where(words["class"] == "a", 1, -1) * np.where(words["word"] == "w3", 2.0, 0.01)
    words.loc[(words["word"] == "w1") & (words["class"] == "b"), "listed"] = True
    found = {row["word"] for row in attended_without_effect(words)}
    assert found == {"w0", "w2", *names[4:10]}, "of the ten first w3 pushes and w1 is listed"
