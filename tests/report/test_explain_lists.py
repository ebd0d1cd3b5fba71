"""Where truth is simulated: intervals hold it, lists find causes and nothing else, verdicts are earned."""

import json
from itertools import cycle, islice
from unittest import mock

import interval_coverage
import jsonschema
import made_files
import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_lib import AttentionClassifier, Corpus
from uaftc_lib.explain.contributions import probabilities
from uaftc_lib.explain.words import word_instance_pairs
from uaftc_lib.report import explain_file, train
from uaftc_lib.report.judge import Units, attended_without_effect, by_chance, quality
from uaftc_lib.report.request import Refused
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.train import SPREAD, Answers, folds, ranks_of_units, word_values
from uaftc_lib.report.write import SCHEMA

pytestmark = pytest.mark.usefixtures("untyped")  # whole computations, whose parts have tests of their own


ALL = train.MOST_ROUNDS


def explained(rows, folder, settings=None, most=1, **options):
    """The report of made-up rows, and its table of words.

    ``most``: cross-validations of a small file. The command makes up to ``ALL`` where the verdict is in doubt; the
    words come from the first.
    """
    rows.to_csv(folder / "rows.csv", index=False)
    with mock.patch.multiple(train, ROUNDS=min(train.ROUNDS, most), MOST_ROUNDS=most):
        report = explain_file(folder / "rows.csv", "text", "label", folder / "out", settings, progress=False, **options)
    jsonschema.validate(json.loads((folder / "out" / "report.json").read_text(encoding="utf-8")), SCHEMA)
    return report, pd.read_csv(folder / "out" / "words.csv", keep_default_na=False, na_values=[""])


def listed(words):
    return set(zip(*words.loc[words["listed"], ["word", "class"]].to_numpy().T)) if words["listed"].any() else set()


@pytest.mark.parametrize("files, least, most", [(4, 0.85, 1), pytest.param(40, 0.92, 0.05, marks=pytest.mark.long)])
def test_intervals_hold_what_other_texts_and_another_training_give(files, least, most):
    """On average, and at each support and effect; most of those of words without an effect hold zero."""
    found = interval_coverage.coverage(files).groupby(["texts", "effect"])[["held", "off"]].mean()
    assert found["held"].mean() >= 0.92 and found["held"].min() >= least, found
    off = found.xs(0.0, level="effect")["off"]
    assert off.mean() <= 0.05 and off.max() <= most, found


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
        assert report["quality"]["verdict"] == "sure"
    assert right >= 0.9 * said and right >= 0.9 * true, (right, said, true)
    assert companions <= 1


def of_unlike_lengths(files):
    """Kind, times, file and truth: causes drawn first, labels drawn first, and these where words come back."""
    ratios = cycle([(1, 2), (2, 1), (1, 4), (4, 1), (1, 2, 4), (4, 1, 2)])
    for seed, times in zip(range(files // 3), ratios):
        yield "causes first", times, *made_files.known_causes(seed, classes=len(times), times=times)
        yield "labels first", times, *made_files.label_first(seed, times=times)
        yield "bursts", times, *made_files.label_first(seed, times=times, again=0.3)


def true_of_listed(folder, files, **options):
    """For each file how many words are true, listed, and both; as many by counts alone, with the same test."""
    rows = []
    for kind, times, frame, truth in files:
        _, words = explained(frame, folder, **options)
        causes = {(word, name) for name, words in truth["causes"].items() for word in words}
        base = words["class"].map(frame["label"].value_counts(normalize=True))
        counted = words.assign(listed=(words["q"] <= 0.05) & (words["texts_of_class"] > base * words["texts"]))
        found, counted = listed(words), listed(counted)
        rows.append((kind, max(times), len(causes), len(found), len(found & causes), len(counted & causes)))
    return pd.DataFrame(rows, columns=["kind", "ratio", "true", "listed", "right", "counted"])


def test_a_class_of_longer_texts_does_not_fill_its_list(tmp_path):
    found = true_of_listed(tmp_path, islice(of_unlike_lengths(12), 0, None, 2))  # each kind, each ratio
    assert found["listed"].sum() >= 60 and found["right"].sum() >= 0.95 * found["listed"].sum(), found


@pytest.mark.long
def test_of_texts_of_unlike_lengths_most_listed_words_are_true_and_some_true_ones_are_listed(tmp_path):
    found = true_of_listed(tmp_path, of_unlike_lengths(54), most=ALL)
    for kind, rows in found.groupby("kind"):
        assert rows["right"].sum() >= 0.9 * rows["listed"].sum(), kind
    assert found["listed"].sum() >= 150 and found["right"].sum() >= 0.95 * found["listed"].sum()
    twice = found[found["ratio"] == 2]
    recall, counted = (twice[name] / twice["true"] for name in ("right", "counted"))
    assert recall.mean() >= 0.3 and recall.mean() >= counted.mean() - 0.15


def test_the_number_of_words_alone_is_named_where_it_answers(tmp_path):
    report, _ = explained(made_files.random_labels(0, 600)[0], tmp_path)
    assert not report["quality"]["length_tells"]
    report, _ = explained(made_files.label_first(0, 600, (1, 2))[0], tmp_path)
    length = report["quality"]["length"]["accuracy"]
    assert length > 0.7 and f"The number of words alone answers {length:.0%}" in report["loud"][-1]


def test_a_share_is_that_of_a_word_that_stands_at_every_place_as_often():
    """One text of a single word, two of three words: at rate f, 1 − exp(−f) and 2 − 2 exp(−3f) texts hold it."""
    corpus = Corpus.from_lists([[0], [1, 2, 3], [4, 5, 6]], [0, 1, 1])
    units = Units(corpus, np.arange(3), 7)
    for f in (0.1, 0.5, 2.0):
        short, long = -np.expm1(-f), -2 * np.expm1(-3 * f)
        assert units.share(np.array(short + long), 0) == pytest.approx(short / (short + long), rel=1e-3)
    alike = Units(Corpus.from_lists([[0, 1]] * 4, [0, 0, 0, 1]), np.arange(4), 2)
    assert alike.share(np.array([1, 3]), 0) == pytest.approx(0.75)


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


@pytest.mark.parametrize(
    "files, rows, least, most", [(6, 600, 5, 1), pytest.param(100, 1500, 90, ALL, marks=pytest.mark.long)]
)
def test_random_labels_give_empty_lists(tmp_path, files, rows, least, most):
    empty = 0
    for seed in range(files):
        report, words = explained(made_files.random_labels(seed, rows)[0], tmp_path, Settings(epochs=8), most)
        assert report["quality"]["verdict"] != "nothing" or not words["listed"].any(), "under it nothing is listed"
        empty += not words["listed"].any()
    assert empty >= least


FAINT = [(rows, share, seed) for rows in (200, 400, 800) for share in (0.3, 0.5, 0.7) for seed in (1, 2, 3)][:24]


def verdicts(folder, files, seeds):
    """What is said of each file: by seed, which moves folds and initial values, and by order of its rows."""
    said = []
    for rows, share, file in files:
        frame = made_files.faint(file, rows, share)
        said.append(set())
        for seed in seeds:
            report, _ = explained(frame.sample(frac=1, random_state=seed), folder, Settings(seed=seed), ALL)
            quality = report["quality"]
            assert quality["verdict"] != "nothing" or quality["auc"]["low"] <= 0.5
            said[-1].add(quality["verdict"])
    return said


def sure_of_nothing(folder, numbers, most):
    """Of how many files with permuted labels the verdict is "sure"."""
    sure = 0
    for number in numbers:
        rows, share, _ = FAINT[number % 24]
        frame = made_files.faint(1000 + number, rows, share)
        frame["label"] = np.random.default_rng(number).permutation(frame["label"])
        sure += explained(frame, folder, most=most)[0]["quality"]["verdict"] == "sure"
    return sure


def test_the_verdict_does_not_flip_with_the_seed_or_the_order_of_the_rows(tmp_path):
    assert verdicts(tmp_path, [FAINT[15]], range(4)) == [{"sure"}]
    assert sure_of_nothing(tmp_path, range(3), most=train.ROUNDS) == 0


IN_DOUBT = {1, 4, 9}  # files that two neighbouring verdicts share; at most four may be here


@pytest.mark.long
@pytest.mark.timeout(1800)  # twenty reports: of a file in doubt each cross-validates up to a hundred times
@pytest.mark.parametrize("file", range(len(FAINT)))
def test_the_verdict_does_not_flip_on_twenty_four_files(tmp_path, file):
    (each,) = verdicts(tmp_path, [FAINT[file]], range(20))
    assert not {"sure", "nothing"} <= each and (len(each) == 1 or file in IN_DOUBT), each


@pytest.mark.long
@pytest.mark.parametrize("part", range(3))
def test_of_two_hundred_files_with_permuted_labels_hardly_one_is_sure(tmp_path, part):
    assert sure_of_nothing(tmp_path, range(part, 200, 3), ALL) <= 1


def test_plain_signal_in_a_rare_class_is_no_lack_of_conclusion(tmp_path):
    rows, truth = made_files.imbalanced(0)
    rows["text"] += " the"
    report, words = explained(rows, tmp_path)
    assert not any("the" in one["word"].split(",") for one in report["deciding"]), "it is in every text"
    quality = report["quality"]
    assert quality["verdict"] == "sure" and quality["auc"]["low"] > 0.5
    rare = rows["label"].value_counts().idxmin()
    assert {word for word, name in listed(words) if name == rare} == {*truth["causes"][rare]}
    (of_rare,) = [each for each in report["classes"] if each["name"] == rare]
    assert of_rare["recall"] == of_rare["right"] / of_rare["tested"] > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_form_letters_with_random_labels_are_not_learnt_by_heart(tmp_path, seed):
    rows, _ = made_files.form_letters(seed)
    report, words = explained(rows, tmp_path)
    assert report["quality"]["attention"]["accuracy"] < 0.75 and not words["listed"].any()
    assert report["quality"]["verdict"] != "sure", "forty letters are no thousand"
    assert "are copies of others" in report["loud"][0]


@pytest.mark.parametrize(
    "added, share, left_out",
    [
        ("ticketteam", 0.8, {"without": "ticketteam"}),
        ("routed finance", 0.8, {"without": "routed,finance"}),
        ("sent by the finance desk", 1.0, {"ignore": "sent by .* desk"}),
    ],
)
def test_words_that_decide_a_class_are_named_with_what_is_left_without_them(tmp_path, added, share, left_out):
    """A word, a tag of two and a signature: each is one leak, until it is left out."""
    rows, _ = made_files.known_causes(0, rows=1500)
    held = (rows["label"] == "class B") & (np.arange(len(rows)) % 5 >= 5 * (1 - share))
    rows.loc[held, "text"] += f" {added}"
    report, _ = explained(rows, tmp_path)
    (one,) = report["deciding"]
    assert {*one["word"].split(",")} == {*added.split()} and one["class"] == "class B"
    assert one["covered"] == pytest.approx(share, abs=0.03)
    assert one["recall"] > 0.75 and one["recall_without"] < one["recall"] - 0.1
    report, words = explained(rows, tmp_path, Settings(**left_out))
    assert not report["deciding"] and {*added.split()}.isdisjoint(words["word"])
    assert all(note.endswith(f"is in {held.sum():,} of {len(rows):,} texts") for note in report["notes"]), report[
        "notes"
    ]


def test_a_class_that_no_model_could_learn_is_refused_in_words(tmp_path):
    rows, _ = made_files.known_causes(0, rows=400)
    rows["side"] = np.where(rows["label"].eq("class A") & (np.arange(400) % 4 == 0), "test", "train")
    with pytest.raises(Refused, match="of the class 'class B' too few texts .* are left to test"):
        explained(rows, tmp_path, split="side")


def test_every_class_of_groups_is_spread():
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
    assert not words["listed"].any() and grouped["quality"]["verdict"] != "sure"


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
    p = by_chance(np.array([[0, 5]]), np.array([[0.5, 0.5]]))
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
    labels = ["a" if i % 2 else "b" for i in range(240)]
    texts = [" ".join([*draws.choice(list("uvwxyz"), 4), draws.choice(telling[label])]) for label in labels]
    report, words = explained(
        pd.DataFrame({"text": texts, "label": labels}), tmp_path, Settings(encoder="gru", epochs=4)
    )
    assert report["quality"]["verdict"] == "sure"
    assert listed(words) == {(word, name) for name, both in telling.items() for word in both}


def judged(ours, linear, texts=4000):
    """Of answers that are right in such shares of texts, always to 99.9 %; and of lengths that say nothing."""
    draws, unit = np.random.default_rng(0), np.arange(texts)
    labels = unit % 2

    def answers(share):
        chosen = np.where(draws.random(texts) < share, labels, 1 - labels)
        return Answers.mean([(unit, np.where(np.arange(2) == chosen[:, None], 0.999, 0.001))], unit)

    return quality(*map(answers, (ours, linear, 0.5, 0.5)), labels, unit)


@pytest.mark.parametrize(
    "ours, linear, verdict, better",
    [(0.8, 0.8, "sure", False), (0.8, 0.81, "sure", False), (0.7, 0.9, "sure", True), (0.5, 0.9, "nothing", True)],
)
def test_only_a_material_margin_makes_the_linear_model_better(ours, linear, verdict, better):
    result = judged(ours, linear)
    assert (result["verdict"], result["linear_is_better"]) == (verdict, better) and not result["length_tells"]


def test_who_is_too_sure_knows_something_all_the_same():
    """Right in 70 of 100 texts and always sure: the log-loss is above that of the shares, the verdict is by ranks."""
    result = judged(0.7, 0.7)
    assert result["log_loss"]["model"] > np.log(2) and result["verdict"] == "sure"


def test_copies_count_once_in_the_verdict():
    """Ten texts, nine of them right, are sure of nothing, however often each is copied.

    Of four that are said to be of class 1, X are: hypergeometric, of variance 2/3; the AUC is 1/2 + (X − 2)/5.
    """
    labels, right = np.arange(10) % 2, np.arange(10) != 3
    said = np.where(np.arange(2) == np.where(right, labels, 1 - labels)[:, None], 0.9, 0.1)
    for copies in (1, 50):
        rows = np.repeat(np.arange(10), copies)
        answers = Answers.mean([(np.arange(len(rows)), said[rows])], rows)
        result = quality(answers, answers, answers, answers, labels[rows], rows)
        assert result["verdict"] == "open" and result["auc"]["z"] == pytest.approx(0.4 / (np.sqrt(2 / 3) / 5) / SPREAD)
        assert result["tested"] == len(rows) and result["independent"] == 10


def test_a_model_ranks_units():
    """Two texts of one unit have the rank of their mean; a text in no unit has none and moves no other."""
    said = np.array([0.9, 0.2, 0.5, 0.1, 0.6])[:, None]
    assert ranks_of_units(said, np.array([7, 7, -1, 2, 4])).ravel().tolist() == pytest.approx(
        [1 / 2, 1 / 2, np.nan, 1 / 6, 5 / 6], nan_ok=True
    )


def test_what_is_looked_at_without_effect_is_looked_at_most_and_listed_nowhere():
    names = [f"w{i}" for i in range(40)]  # w0 is looked at most
    words = pd.DataFrame({"word": np.repeat(names, 2), "class": ["a", "b"] * 40, "texts": 10, "listed": False})
    words["attention"] = np.repeat(np.linspace(0.9, 0.1, 40), 2)
    words["influence"] = np.where(words["class"] == "a", 1, -1) * np.where(words["word"] == "w3", 2.0, 0.01)
    words.loc[(words["word"] == "w1") & (words["class"] == "b"), "listed"] = True
    found = {row["word"] for row in attended_without_effect(words)}
    assert found == {"w0", "w2", *names[4:10]}, "of the ten first w3 pushes and w1 is listed"
