"""What single words do not say: pairs, case, punctuation, hosts, sets of one form; and what only keeps company."""

import json
from types import SimpleNamespace

import made_files
import numpy as np
import pandas as pd
import pytest
from test_explain_lists import explained, listed

from uaftc_lib import Corpus
from uaftc_lib.report.beyond import answered_without_words
from uaftc_lib.report.judge import Units, accompanies, balanced_accuracy
from uaftc_lib.report.leaks import form_of
from uaftc_lib.report.prepare import Words, prepare, with_pairs
from uaftc_lib.report.read import Table
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.train import Answers, folds
from uaftc_lib.report.words import Cutter

pytestmark = pytest.mark.usefixtures("untyped")  # whole computations, whose parts have tests of their own

SAID = {  # the two classes' texts, which hold the same words
    "Pairs": ({0: ("not good", "very bad"), 1: ("very good", "not bad")}, "--ngrams 2"),
    "Upper": ({0: ("we met will there",), 1: ("we met Will there",)}, "count as one"),
    "Punctuation": ({0: ("fine ...", "fine?!"), 1: ("fine.", "fine, fine")}, "--words spaces"),
    "The hosts": ({0: ("at https://a.org/1", "x@a.org"), 1: ("at www.b.net/1", "x@b.net")}, "whole address"),
}


def rows_of(said, shuffled=False):
    """160 texts of either class; addresses and fillers stand in one text each."""
    draws = np.random.default_rng(0)
    fillers = made_files.spelling("wo", 30)
    rows = []
    for i in range(320):
        text = said[i % 2][draws.integers(len(said[i % 2]))].replace("/1", f"/{i}").replace("x@", f"x{i}@")
        rows.append((f"{' '.join(draws.choice(fillers, 5))} {text} {' '.join(draws.choice(fillers, 5))}", "ab"[i % 2]))
    table = pd.DataFrame(rows, columns=["text", "label"])
    return table.assign(label=draws.permutation(table["label"])) if shuffled else table


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("name", SAID)
def test_what_is_no_single_word_is_named_and_nothing_of_shuffled_labels(name, shuffled):
    said, hint = SAID[name]
    rows = rows_of(said, shuffled)
    prepared = prepare(Table(rows.assign(row=np.arange(len(rows))), len(rows)), Cutter())
    labels, half = prepared.whole.labels.numpy(), np.full((len(rows), 2), 0.5)
    trained = SimpleNamespace(
        folds=list(folds(labels, prepared.cluster)), tested=np.arange(len(rows)), linear=Answers(half, half, half)
    )
    lines = answered_without_words(prepared, trained, 0.02, balanced_accuracy)
    named = [line for line in lines if line.startswith(name)]
    assert not named if shuffled else any(hint in line and "100% of the unseen" in line for line in named)


def test_where_pairs_decide_the_report_says_so_and_lists_them_when_asked(tmp_path):
    rows = rows_of(SAID["Pairs"][0])
    report, words = explained(rows, tmp_path, Settings(epochs=1))
    assert any(line.startswith("Pairs of neighbouring words") for line in report["loud"]) and not listed(words)
    report, words = explained(rows, tmp_path, Settings(epochs=60, ngrams=2))
    assert listed(words) == {(pair, "ab"[k]) for k, pairs in SAID["Pairs"][0].items() for pair in pairs}
    assert "Pairs of neighbouring words count" in report["cut"] and not report["loud"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('id="numbers">')[2].partition("</script>")[0])
    for *_, words, pairs in data["texts"]["texts"][:20]:
        strongest = sorted(zip(words[4::5], words[2::5]))[-2:]
        named = {data["rows"][place][0] for _, place in strongest}
        assert named <= {"not", "very", "good", "bad"}, "both words of the pair"
        assert data["rows"][max(zip(pairs[1::2], pairs[::2]))[1]][0].split()[0] in {"not", "very"}


def test_pairs_stand_behind_the_words_of_their_text():
    pairs = with_pairs(Words(["a", "b", "c"], np.array([0, 1, 2, 0, 0, 1], np.int32), np.array([3, 1, 2])), 2)
    assert [pairs.spellings[i] for i in pairs.tokens] == ["a", "b", "c", "a b", "", "a", "a", "b", "a b"]
    assert pairs.lengths.tolist() == [5, 1, 3]
    with pytest.raises(ValueError, match="ngrams is 3"):
        Settings(ngrams=3)
    with pytest.raises(ValueError, match="needs encoder none"):
        Settings(ngrams=2, encoder="lstm")


@pytest.mark.parametrize("of", [("q{}", "z{}x"), ("order-{}", "@user{}"), ("https://a.org/{}", "7{}-2")])
def test_identifiers_of_one_class_each_are_one_set(tmp_path, of):
    """Each is in few texts; together all texts of a class hold one."""
    draws, fillers = np.random.default_rng(0), made_files.spelling("wo", 60)
    rows = [
        (f"{' '.join(draws.choice(fillers, 8))} {of[i % 2].format(draws.integers(10, 20))}", "ab"[i % 2])
        for i in range(240)
    ]
    report, _ = explained(pd.DataFrame(rows, columns=["text", "label"]), tmp_path, Settings(epochs=10))
    assert {one["class"] for one in report["deciding"]} == {"a", "b"}
    for one in report["deciding"]:
        assert len(one["word"].split(",")) == 10 and one["form"] and one["covered"] == 1
        assert one["recall"] > one["recall_without"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "(10 words of one form)" in page and "--ignore PATTERN" in page


@pytest.mark.parametrize("signs", [("order-{}", "signed"), ("footer", "signed")])
def test_one_leak_does_not_hide_another(tmp_path, signs):
    """All texts of a class hold both: without either the other answers as well as both."""
    draws, fillers = np.random.default_rng(0), made_files.spelling("wo", 60)
    ends = [signs[0].format(draws.integers(10, 20)) + " wo " + signs[1] * (draws.random() > 0.1) for _ in range(240)]
    rows = [(" ".join(draws.choice(fillers, 8)) + f" {ends[i]}" * (i % 2), "ab"[i % 2]) for i in range(240)]
    report, _ = explained(pd.DataFrame(rows, columns=["text", "label"]), tmp_path, Settings(epochs=10))
    named = {word for one in report["deciding"] for word in one["word"].split(",")}
    assert "signed" in named and any(word.startswith(signs[0][:5]) for word in named)
    assert all(one["recall"] > one["recall_without"] + 0.2 for one in report["deciding"])


@pytest.mark.parametrize(
    "word, form",
    [
        ("don't", ""),
        ("well-known", ""),
        ("order 4711", ""),
        ("straße", ""),
        ("ab15", "a0"),
        ("4-711", "0-0"),
        ("@anna", "@a"),
        ("3.5", "0.0"),
    ],
)
def test_words_have_a_form(word, form):
    assert form_of(word) == form and form_of(word.replace("5", "77")) == form


def test_a_word_is_not_listed_for_what_a_stronger_one_does():
    """Words 0 and 1 each raise the class; 2 stands with 0 and alone as in all texts; 3 stands alone once."""
    texts, labels = [], []
    for words, inside, outside in (((0,), 30, 3), ((1,), 30, 6), ((0, 2), 30, 3), ((2,), 6, 20), ((0, 3), 30, 3)):
        texts += [[*words, 4]] * (inside + outside)
        labels += [1] * inside + [0] * outside
    texts, labels = [*texts, [3], *[[4]] * 300], [*labels, 0, *[1] * 60, *[0] * 240]
    texts = [(words + 3 * [4])[:3] for words in texts]
    units = Units(Corpus.from_lists(texts, labels, 2), np.arange(len(texts)), 5)
    counts, push = units.counts()[:4], np.array([2.0, 1.5, 1.0, 0.5])
    usual = counts[:, 1] / counts.sum(1)
    assert accompanies(units, np.arange(4), usual, push, 1).tolist() == [False, False, True, False]
    assert not accompanies(units, np.arange(4), usual, -push, 1)[2], "only a stronger word can be what it accompanies"


@pytest.mark.parametrize("seed, options, least", [(3, {"rare": 5.0}, 0.35), (2, {"rows": 20_000}, 0.95)])
def test_what_accompanies_a_cause_is_not_listed_where_evidence_is_uneven(tmp_path, seed, options, least):
    """Where nothing is asked of the texts without the cause, one and two such words are listed in these files."""
    rows, truth = made_files.mixed_causes(seed, **options)
    _, words = explained(rows, tmp_path)
    pairs, true = listed(words), {(word, name) for name, words in truth["causes"].items() for word in words}
    assert {word for word, _ in pairs}.isdisjoint(truth["confounds"])
    assert len(pairs & true) >= 0.95 * len(pairs) and len(pairs & true) >= least * len(true)
