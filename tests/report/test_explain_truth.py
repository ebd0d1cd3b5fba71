"""Made-up files whose truth is known, from the file to the report: what is listed, told and left out."""

import threading

import made_files
import numpy as np
import pandas as pd
import pytest
from test_explain_lists import explained, listed

from uaftc_lib import Corpus
from uaftc_lib.report import train
from uaftc_lib.report.prepare import prepare
from uaftc_lib.report.read import Table
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.train import LinearBaseline, folds
from uaftc_lib.report.words import Cutter

pytestmark = pytest.mark.usefixtures("untyped")  # whole computations, whose parts have tests of their own


@pytest.mark.long
def test_of_alike_classes_a_word_is_listed_under_those_that_it_raises(tmp_path):
    """Each cause raises five neighbours of eight; from the other three it pushes away."""
    rows, truth = made_files.alike_classes(0)
    _, words = explained(rows, tmp_path, Settings(epochs=10))
    true = {(word, name) for name, words in truth["causes"].items() for word in words}
    found = listed(words)
    assert len(found & true) > 40 and len(found & true) >= 0.85 * len(found)
    assert {word for word, _ in found - true}.isdisjoint(word for word, _ in true), "no cause on a wrong side"
    rows = words[words["listed"]]
    assert (rows["influence"] > 0).all() and (rows["probability"] > 0).all()
    share = rows["class"].map(lambda name: (pd.read_csv(tmp_path / "rows.csv")["label"] == name).mean())
    assert (rows["texts_of_class"] / rows["texts"] > share).all()


def test_beside_a_model_that_learnt_too_little_stand_the_linear_models_words(tmp_path):
    rows, truth = made_files.known_causes(0, rows=2000)
    report, _ = explained(rows, tmp_path, Settings(epochs=2))
    assert report["quality"]["linear_is_better"] and report["quality"]["margin"]["low"] > 0
    for name, causes in truth["causes"].items():
        assert len({*report["linear_words"][name]} & {*causes}) >= 7
        assert "The linear model, which is better, leans most on" in (tmp_path / "out" / "report.html").read_text()
    report, _ = explained(rows, tmp_path)
    assert report["quality"]["verdict"] == "sure" and report["linear_words"] == {}
    assert all(2 < best < report["settings"]["epochs"] for best in report["settings"]["best_epochs"])


def test_words_of_every_kind_and_script_are_found_whole(tmp_path):
    telling = {"a": ["c++", "3.5", "שלום", "😀", "at&t"], "b": ["c", "e-mail", "https://a.org/x?y=1", "مرحبا", "<3"]}
    draws = np.random.default_rng(0)
    rows = [
        (" ".join(draws.permutation([*draws.choice(list("uvwxyz"), 6), draws.choice(telling[kind])])), kind)
        for kind in list(telling) * 400
    ]
    report, words = explained(pd.DataFrame(rows, columns=["text", "label"]), tmp_path, Settings(epochs=10))
    assert listed(words) == {(word, kind) for kind, five in telling.items() for word in five}
    assert "C++" in report["cut"]


def test_contradicting_copies_are_settled_and_told(tmp_path):
    """Of 1,200 texts 300 come back, three times under their own label and once, or as often, under the other."""
    rows, truth = made_files.known_causes(0, rows=1200)
    other = rows["label"].map({"class A": "class B", "class B": "class A"})
    again = [rows[:150]] * 2 + [rows.assign(label=other)[:150], rows.assign(label=other)[150:300]]
    report, _ = explained(pd.concat([rows, *again]), tmp_path)
    assert report["rows"]["used"] == 1800 and not report["rows"]["dropped"]
    assert any(line.startswith("450 of 1,800 rows contradict others of the same words") for line in report["loud"])
    assert report["quality"]["independent"] == 1200 - 150, "a text of as many labels counts in no test"


def test_the_linear_baseline_learns_from_many_rare_words():
    """Each word's mean gradient is tiny then, which must not pass for convergence."""
    types, instances = 2000, 20_000
    telling = [i % types for i in range(instances)]
    corpus = Corpus.from_lists([[word, types] for word in telling], [word % 2 for word in telling], 2)
    baseline = LinearBaseline(corpus, corpus, types + 1)
    assert (baseline.probabilities(corpus).argmax(1) == corpus.labels.numpy()).mean() > 0.99


def test_models_are_the_same_however_many_are_trained_at_once_and_are_given_up(monkeypatch):
    rows, _ = made_files.known_causes(0, rows=300)
    prepared = prepare(Table(rows.assign(row=np.arange(len(rows))), len(rows)), Cutter())
    chosen = list(folds(prepared.whole.labels.numpy(), prepared.cluster))
    asked = prepared.whole, prepared.vocabulary, chosen, Settings(epochs=3)
    found = []
    for processors in (1, 4):
        monkeypatch.setattr(train.joblib, "cpu_count", lambda: processors)  # noqa: B023
        found.append([reader.model.V.tolist() for reader in train.readers(*asked)])
    assert found[0] == found[1] and len(found[0]) == 5
    before, given_up = threading.active_count(), []

    def stopped():
        if threading.current_thread().name.endswith("_0"):
            raise KeyboardInterrupt
        given_up.append(1)

    with pytest.raises(KeyboardInterrupt):
        list(train.readers(*asked[:3], Settings(epochs=100_000), 0, stopped))
    assert threading.active_count() == before and len(given_up) < 1000


def test_signal_that_never_makes_a_majority_is_no_lack_of_conclusion(tmp_path):
    """The rare class is never the likeliest answer: accuracy cannot tell that anything was learnt."""
    effects = {word: np.array([0.0, 2.0]) for word in made_files.spelling("ca", 3)}
    draws, bias = np.random.default_rng(0), np.array([0.0, -3.2])
    rows, _ = made_files.file_of(draws, 3000, effects, {}, (), bias, shares=(0.08, 0.12))
    report, words = explained(rows, tmp_path)
    quality = report["quality"]
    assert rows["label"].eq("class B").mean() < 0.15 and quality["auc"]["low"] > 0.5
    assert quality["verdict"] == "sure" and listed(words) == {(word, "class B") for word in effects}
