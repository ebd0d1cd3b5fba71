"""Files of known truth hold what they say; lists are held against it; each method finds a plain cause."""

from importlib.util import find_spec

import made_files
import numpy as np
import pandas as pd
import peers
import pytest
import rankings

from uaftc_book.publish import CHECKOUT


def holding(rows, words):
    """Which texts hold which of some words."""
    texts = [set(text.split()) for text in rows["text"]]
    return pd.DataFrame({word: [word in text for text in texts] for word in words})


@pytest.mark.parametrize("make", peers.MADE.values(), ids=list(peers.MADE))
def test_the_seed_decides_what_is_made(make):
    rows, truth = make(0)
    pd.testing.assert_frame_equal(rows, make(0)[0])
    assert not rows.equals(make(1)[0]) and not rows["text"].duplicated().any()
    assert set(truth) == {"causes", "confounds", "nulls", "best accuracy"}
    assert list(truth["causes"]) == sorted(set(rows["label"]))


@pytest.mark.parametrize("classes", [2, 3])
def test_causes_raise_their_class_and_confounds_and_nulls_raise_none(classes):
    rows, truth = made_files.known_causes(0, rows=30_000, classes=classes)
    words = [word for causes in truth["causes"].values() for word in causes]
    held = holding(rows, [*words, *truth["confounds"], *truth["nulls"]])
    for name, causes in truth["causes"].items():
        of_class = rows["label"] == name
        for word, size in causes.items():
            assert of_class[held[word]].mean() > of_class[~held[word]].mean() + 0.1 * size
    confounds = list(truth["confounds"])
    for word, cause in truth["confounds"].items():
        (name,) = [name for name, causes in truth["causes"].items() if cause in causes]
        of_class = rows["label"] == name
        assert of_class[held[word]].mean() > of_class.mean() + 0.1, "by itself it looks like a cause"
        assert held[cause][held[word]].mean() == pytest.approx(0.5, abs=0.06)
        alone = held[word] & ~held[words].any(axis=1)
        assert of_class[alone].mean() == pytest.approx(1 / classes, abs=4 * 0.5 / np.sqrt(alone.sum()))
    for word in truth["nulls"]:
        of_class = rows["label"] == rows["label"].iloc[0]
        assert of_class[held[word]].mean() == pytest.approx(of_class.mean(), abs=4 * 0.5 / np.sqrt(held[word].sum()))
    assert len(confounds) == 5 * classes


def file_with(causes, confounds=(), nulls=()):
    truth = {"causes": causes, "confounds": dict.fromkeys(confounds), "nulls": [*nulls], "best accuracy": 0.8}
    return rankings.File(pd.DataFrame({"text": [], "label": []}), truth)


def test_a_list_is_held_against_the_truth():
    file = file_with({"a": {"x": 1.0, "y": 1.0}, "b": {"z": 1.0}}, confounds=["c"], nulls=["m", "n"])
    score = np.array([[3.0, -3], [-1, 1], [-2, 2], [2, -2], [1, -1], [0, 0]])
    found = rankings.ranking(["x", "y", "z", "c", "n", "m"], ["a", "b"], score)
    told = peers.against_truth(file, found)  # listed: x, c, n under a; z, y under b
    assert told["listed"] == 5 and told["precision"] == 2 / 5 and told["recall"] == 2 / 3
    assert told["confounds"] == 1 and told["nulls"] == 1 / 2 and told["wrong_side"] == 1 / 5
    assert told["precision_at_truth"] == 2 / 3, "x and c under a, z under b"
    nothing = peers.against_truth(file, found.assign(listed=False))
    assert nothing["recall"] == 0 and np.isnan(nothing["precision"]) and nothing["precision_at_truth"] == 2 / 3
    by_chance = peers.against_truth(file_with({"a": {}, "b": {}}, nulls=["m", "n"]), found)
    assert by_chance["listed"] == 5 and by_chance["nulls"] == 1 / 2 and "precision" not in by_chance


def test_without_a_threshold_the_first_words_that_speak_for_a_class_are_listed():
    scores = np.arange(-10.0, 40)
    found = rankings.ranking(map(str, range(50)), ["a", "b"], rankings.by_class(scores))
    assert found[found["listed"]].groupby("class").size().to_dict() == {"a": 10, "b": 20}
    assert found[found["listed"] & (found["class"] == "b")]["score"].min() == 20


@pytest.fixture(scope="module")
def plain():
    """One strong cause for each class, in a quarter of the texts."""
    draws, effects = np.random.default_rng(0), {"left": np.array([4.0, 0.0]), "right": np.array([0.0, 4.0])}
    return rankings.File(*made_files.file_of(draws, 600, effects, {}, shares=(0.24, 0.26)))


@pytest.mark.parametrize("method", rankings.METHODS)
def test_each_method_puts_a_plain_cause_first(method, plain, monkeypatch):
    call, package = rankings.METHODS[method]
    if package and not find_spec(package):
        pytest.skip(f"{package} is not installed: its peer is not tested")
    monkeypatch.setattr(rankings, "EXPLAINED", 30)
    found, told = call(plain, 0)
    assert {"word", "class", "score", "order", "listed"} == set(found)
    best = peers.first(found, {"class A": 1, "class B": 1})
    assert best == {("left", "class A"), ("right", "class B")}
    if told:
        assert 0.6 < told["accuracy"] < 0.9


def test_log_odds_are_those_of_monroe_and_others():
    rows = pd.DataFrame({"text": ["aa aa bb", "aa bb", "bb bb cc"], "label": ["x", "x", "y"]})
    found, _ = rankings.log_odds(rankings.File(rows, {}), 0)
    counts, prior = {"x": (3, 2, 0), "y": (0, 2, 1)}, np.array([3, 4, 1])

    def odds(name):
        smooth = np.array(counts[name]) + prior
        return np.log(smooth / (sum(counts[name]) + 8 - smooth)), 1 / smooth

    (x, of_x), (y, of_y) = odds("x"), odds("y")
    np.testing.assert_allclose(found[found["class"] == "x"]["score"], (x - y) / np.sqrt(of_x + of_y))


def test_the_readme_shows_what_is_stored_and_where_the_tool_loses_most():
    table = pd.read_csv(CHECKOUT / "book/results/peers.csv")
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    runs = table[table["file"].isin({file for file, _ in peers.SHORT})].groupby(["file", "method"])["seed"].nunique()
    assert peers.short_table(table) in text and (runs.min(), runs.max()) == (3, 10) and "three to ten files" in text
    for measure in ("recall", "overlap"):
        means = table.pivot_table(measure, "file", "method")
        lost = means.max(axis=1) - means["uaftc explain"]
        assert (lost.idxmax(), measure) in peers.SHORT
