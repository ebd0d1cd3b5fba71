"""Copies of texts: with contradicting labels, with other names and numbers, in groups, on both sides of a split."""

from itertools import combinations

import made_files
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint
from test_explain_lists import explained

from uaftc_lib import load_dataset
from uaftc_lib.report.prepare import (
    ALIKE,
    FEWEST_OF_CLASS,
    clusters,
    count_words,
    near_copies,
    prepare,
    spread_copies,
    words_hash,
)
from uaftc_lib.report.read import Table, read_table
from uaftc_lib.report.request import Columns, Refused, check_roles
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.words import Cutter
from uaftc_lib.report.write import terminal_lines

MONTHS = "January February March April May June July August September October November December".split()


def table_of(texts, labels, **more):
    """A table as it is read from a file of these texts and labels."""
    frame = pd.DataFrame({"text": texts, "label": labels} | more, dtype=object)
    return Table(frame.assign(row=np.arange(1, len(frame) + 1)), len(frame))


def sentences(count, random, types=3000, shortest=5, longest=20):
    """Texts of words that are as frequent as those of a language are, spelt with letters alone."""
    spelt = np.array(["w" + "".join(chr(97 + int(digit)) for digit in str(i)) for i in range(types)], dtype=object)
    heights = (1 / (np.arange(types) + 2.7)).cumsum()
    lengths = random.integers(shortest, longest + 1, count)
    return [" ".join(spelt[np.searchsorted(heights, random.random(n) * heights[-1])]) for n in lengths]


def letters(count, copies, random):
    """Form letters, each ``copies`` times with other names, numbers and dates; and which letter each is."""
    names = [f"Mr{a}{b}" for a in ("Ka", "Lo", "Mi", "Ro", "Tu") for b in ("ber", "dan", "les", "mar", "sen", "vik")]
    texts = []
    for form in sentences(count, random, shortest=12, longest=30):
        words = form.split()
        for _ in range(copies):
            begin, end = words[: len(words) // 2], words[len(words) // 2 :]
            date = f"{random.integers(1, 29)} {random.choice(MONTHS)} {random.integers(2015, 2026)}"
            number = f"TX-{random.integers(10_000, 99_999)}"
            texts.append(" ".join(["Dear", random.choice(names), *begin, number, *end, "on", date]))
    return texts, np.repeat(np.arange(count), copies)


def joined(texts):
    """The cluster of each text."""
    spellings, tokens, lengths = count_words(texts, Cutter())
    return near_copies(tokens, lengths, spellings)


def partition(cluster):
    return {frozenset(np.nonzero(cluster == k)[0].tolist()) for k in np.unique(cluster)}


def test_a_footer_makes_no_copies_and_form_letters_with_one_stay_copies():
    random = np.random.default_rng(0)
    (footer,) = sentences(1, random, shortest=60, longest=60)
    tickets = sentences(600, random, shortest=14)
    for some in (1, 2):
        texts = [f"{text} {footer}" if i % some == 0 else text for i, text in enumerate(tickets)]
        assert len(partition(joined(texts))) > 0.99 * len(texts), "only a few tickets are alike"
    for count, copies in ((40, 25), (80, 12), (150, 8), (3, 300), (20, 50)):
        texts, form = letters(count, copies, random)
        assert partition(joined(texts)) == partition(form)
        if count > 20:  # the words of few forms are as common as the footer is
            assert partition(joined([f"{text} {footer}" for text in texts])) == partition(form)


def test_texts_of_one_pattern_are_no_chain():
    random = np.random.default_rng(0)
    words = np.array("love adore enjoy like hate dislike detest avoid".split())
    things = np.array("phone camera laptop book film chair lamp bottle watch radio".split())
    texts = [
        f"I really {random.choice(words)} the {random.choice(things)} and the {random.choice(things)} that came in a "
        f"{random.choice(things)}"
        for _ in range(1000)
    ]
    assert len(partition(joined(texts))) > 25
    prepared = prepare(table_of(texts, ["ab"[text.split()[2] in words[:4]] for text in texts]), Cutter())
    assert prepared.classes == ("a", "b")


def test_pairs_of_copies_are_found():
    texts, form = letters(400, 2, np.random.default_rng(1))
    cluster = joined(texts)
    assert (cluster[::2] == cluster[1::2]).mean() > 0.97
    assert len(partition(cluster)) >= 400, "no letter is joined with another one"


def test_long_copies_are_found():
    one, other, third = sentences(3, np.random.default_rng(0), shortest=600, longest=600)
    cluster = joined([one, f"{one} and a remark", other, third, third.replace(" wa ", " wax ")])
    assert partition(cluster) == {frozenset({0, 1}), frozenset({2}), frozenset({3, 4})}


def test_different_sentences_are_not_joined():
    texts = sentences(5000, np.random.default_rng(0))
    assert np.bincount(joined(texts)).max() <= 3 and len(partition(joined(texts))) > 4975


@pytest.mark.data("sst")
def test_natural_sentences_are_not_joined(untyped):
    sst = load_dataset("sst")
    texts = [" ".join(sst.text(name, t)) for name, corpus in sst.splits.items() for t in range(len(corpus))]
    table = table_of(texts, [str(k) for corpus in sst.splits.values() for k in corpus.labels.tolist()])
    prepared = prepare(table, Cutter())
    assert len(prepared.texts) > 0.99 * len(texts)
    assert prepared.copies["near"] < 0.01 * len(texts) and np.bincount(prepared.cluster).max() <= 6


@pytest.mark.parametrize("spell", ["w{}", "{}"])
def test_words_that_are_written_with_digits_are_words(spell):
    random = np.random.default_rng(0)
    texts = [" ".join(map(spell.format, random.integers(0, 500, 12))) for _ in range(500)]
    assert len(partition(joined(texts))) == 500


def test_texts_that_hold_nothing_to_compare_stay_apart():
    assert len(partition(joined(["one", "two", "", "12 13", "14 15", "a note", "one two three four", "£ 5 7"]))) == 8
    assert len(partition(joined(["order 12", "order 13"]))) == 1
    assert len(joined([])) == 0 and joined(["?"]).tolist() == [0]


WORDS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=7)


@given(st.lists(WORDS, min_size=2, max_size=12))
def test_clusters_are_made_of_texts_that_are_alike(texts):
    shingles = [set(zip(text, text[1:])) for text in texts]
    alike = [len(one & other) / len(one | other) if one and other else 0 for one, other in combinations(shingles, 2)]
    pairs = np.array(list(combinations(range(len(texts)), 2))).reshape(-1, 2)
    cluster = joined([" ".join(text) for text in texts])
    same = cluster[pairs[:, 0]] == cluster[pairs[:, 1]]
    assert same[np.array(alike) == 1].all(), "texts with the same pairs of words are always joined"
    for members in partition(cluster):
        for one in members if len(members) > 1 else ():
            nearest = max(a for a, pair in zip(alike, pairs.tolist()) if one in pair and set(pair) <= members)
            assert nearest >= ALIKE


@given(st.lists(WORDS, max_size=12))
def test_the_same_words_have_the_same_number(texts):
    spellings, tokens, lengths = count_words([" ".join(text) for text in texts], Cutter())
    assert partition(words_hash(tokens, lengths)) == partition(np.array(list(map(" ".join, texts)), dtype=object))


def base(rows=200, seed=0, **more):
    """Texts and labels to which a test adds its own."""
    texts = sentences(rows, np.random.default_rng(seed))
    return texts, ["ab"[i % 2] for i in range(rows)]


def test_a_clear_majority_of_the_copies_counts_once_in_tests_and_the_others_in_none():
    texts, labels = base()
    texts += (
        ["clearly isn't so", "Clearly,  ISN’T so!!"] * 3
        + ["clearly isn't so"]
        + ["Even Here!"] * 3
        + ["even, HERE?"] * 3
        + ["two of three"] * 3
    )
    labels += [*"aaaaaab", *"aaabbb", *"aab"]
    prepared = prepare(table_of(texts, labels), Cutter())
    assert not prepared.table.dropped and len(prepared.texts) == 216
    unit = prepared.unit
    assert len(set(unit[:200])) == 200 and set(unit[200:206]) == {unit[200]} and unit[200] not in unit[:200]
    assert (unit[206:] == -1).all() and (unit[:206] >= 0).all()
    assert len(set(prepared.cluster[200:207])) == 1 and len(set(prepared.cluster)) == 203
    assert prepared.table.loud == (), "10 of 216 rows are few"


def test_what_a_group_holds_stays_together():
    texts, labels = base(300)
    group = [f"writer {i % 60}" if i < 290 else "" for i in range(300)]
    cluster = prepare(table_of(texts, labels, group=group), Cutter()).cluster
    assert len(partition(cluster)) == 60 + 10, "who has no group stands alone"
    assert len(set(cluster[:290:60])) == 1 and cluster[0] != cluster[1]
    near = np.array([0, 1, 1, 2, 3])
    assert partition(clusters(near, pd.Series(["x", "x", "y", "y", None]))) == {frozenset({0, 1, 2, 3}), frozenset({4})}


def test_the_split_of_the_file_is_kept_and_cleaned_of_copies():
    texts, labels = base(300)
    split = ["Test" if i % 3 == 0 else "validation" if i % 3 == 1 else "train" for i in range(300)]
    texts += [texts[1], texts[0], texts[2] + " 17", texts[5] + " 18"]
    labels += [labels[1], labels[0], labels[2], labels[5]]
    split += ["test", "train", "test", "train"]
    prepared = prepare(table_of(texts, labels, split=split), Cutter())
    tested = set(prepared.rows[prepared.test].tolist())
    assert prepared.table.dropped == {"tested, but a copy of a text that is learnt from, or nearly": 3}
    assert tested == {row for row in range(1, 301) if row % 3 == 1} - {1}, "a copy that is learnt from stays so"
    assert {302, 304} <= {*prepared.rows} and not {301, 303} & {*prepared.rows}
    assert not set(prepared.cluster[prepared.test]) & set(prepared.cluster[~prepared.test])


@pytest.mark.parametrize(
    "column, cells, message",
    [
        ("split", ["train", "fold 1", "fold 2"], "holds 'fold 1', 'fold 2'; it can hold test, .* and train"),
        ("split", ["train", "dev"], "no row is tested: it holds 'train', 'dev' only"),
        ("split", ["test"], "no row is learnt from: it holds 'test' only"),
        ("split", ["test"] + ["train"] * 39, "5 rows are left to be tested, at least 10"),
        ("time", [3.0], "holds one time only"),
    ],
)
def test_a_split_or_a_time_that_says_nothing_is_refused(column, cells, message):
    texts, labels = base()
    with pytest.raises(Refused, match=message):
        prepare(table_of(texts, labels, **{column: (cells * 200)[:200]}), Cutter())


TIMES = {
    "years": ("{0:%Y}", "2001", "2020"),
    "ISO": ("{0:%Y-%m-%d}", "2001-01-02", "2020-12-02"),
    "ISO with zone": ("{0:%Y-%m-%dT%H:%M:%SZ}", "2001-01-02", "2020-12-02"),
    "day first": ("{0:%d.%m.%Y}", "2001-01-02", "2020-12-02"),
    "month first": ("{0:%m/%d/%Y}", "2001-01-02", "2020-12-02"),
    "in words": ("{0:%d %b %Y}", "2001-01-02", "2020-12-02"),
}


@pytest.mark.parametrize("form, first, last", TIMES.values(), ids=[*TIMES])
def test_the_latest_fifth_is_tested(tmp_path, form, first, last):
    texts, labels = base(400)
    days = pd.date_range("2001-01-02", "2020-12-02", periods=400)[np.arange(400) * 37 % 400]
    cells = [form.format(day) for day in days]
    cells[5], cells[6] = "", "yesterday"
    pd.DataFrame({"t": texts, "l": labels, "when": cells}).to_csv(tmp_path / "a.csv", index=False)
    table = read_table(tmp_path / "a.csv", Columns("t", "l", time="when"))
    prepared = prepare(table, Cutter())
    assert table.dropped["no time, or none that can be read"] == 2
    assert any(note.startswith(f"Times run from {first} to {last}; the texts from") for note in prepared.table.notes)
    ranks = np.array([days[row - 1].year if form == "{0:%Y}" else days[row - 1].toordinal() for row in prepared.rows])
    assert ranks[~prepared.test].max() < ranks[prepared.test].min() and 0.15 < prepared.test.mean() < 0.25


def test_a_late_copy_of_an_early_text_is_not_tested():
    texts, labels = base(200)
    time = [*range(1000, 1200), 5]
    prepared = prepare(table_of([*texts, texts[199]], [*labels, labels[199]], time=time), Cutter())
    assert 201 in prepared.rows and 200 not in prepared.rows


def test_copies_count_in_what_is_shown_and_once_in_tests(tmp_path, untyped):
    """Two hundred texts of one sentence are a majority that is shown, and no evidence about its words."""
    texts, labels = base(300)
    texts, labels = texts + ["a slogan that is said by all"] * 200, labels + ["b"] * 200
    report, words = explained(pd.DataFrame({"text": texts, "label": labels}), tmp_path, Settings(epochs=1))
    assert report["rows"]["used"] == 500 and report["shares"] == {"a": 0.3, "b": 0.7}
    assert report["classes"][1]["texts"] == 350 == report["classes"][1]["tested"]
    assert report["quality"]["tested"] == 500 and report["quality"]["independent"] == 301
    assert report["loud"][-1].startswith("200 of the 500 texts are copies of others")
    (slogan,) = words[(words["word"] == "slogan") & (words["class"] == "b")].to_dict("records")
    assert (slogan["texts"], slogan["texts_of_class"], slogan["listed"]) == (200, 200, False)
    assert np.isfinite(slogan["influence"]) and np.isnan([slogan["influence_low"], slogan["q"]]).all()
    shown = words[words["share_low"].notna()]
    assert shown["share_low"].le(shown["texts_of_class"] / shown["texts"] + 1e-4).all()
    assert report["quality"]["majority"]["accuracy"] == 0.7, "the commonest class of the rows, in whatever fold it is"
    listed = words[words["listed"]]
    of_all = listed["class"].map(report["shares"]).astype(float)
    assert (listed["texts_of_class"] > of_all * listed["texts"]).all(), "what is shown agrees with what is listed"


def rare_answers():
    """150 rows of one or two words, 80 of them different, of which none is in five rows."""
    return [f"answer{i % 70}" for i in range(140)] + [f"other{i} thing{i}" for i in range(10)]


def rare_cues():
    """Forty words a class, each in few texts."""
    draws, cues = np.random.default_rng(0), made_files.spelling("cue", 40)
    return [f"{' '.join(draws.choice([*'uvwxyz'], 6))} {'ab'[i % 2]}{cues[i % 40]}" for i in range(200)]


@pytest.mark.parametrize("make", [rare_answers, rare_cues])
def test_what_leaves_little_to_say_is_said(tmp_path, make):
    texts = make()
    rows = pd.DataFrame({"text": texts, "label": [*"ab"] * (len(texts) // 2)})
    report, _ = explained(rows, tmp_path, Settings(epochs=3))
    assert set(report["top_words"]) == {"a", "b"} and report["deciding"] == []


def test_tests_under_both_labels_are_refused(tmp_path):
    texts, labels = base(300)
    split = ["test"] * 20 + ["train"] * 280 + ["test"] * 20
    rows = pd.DataFrame({"text": texts + texts[:20], "label": labels + labels[1:21], "split": split})
    with pytest.raises(Refused, match="nothing can be tested"):
        explained(rows, tmp_path, split="split")


@pytest.mark.parametrize("answers", [1, 3])
def test_short_answers_are_counted(tmp_path, answers):
    """One to three words: each of ten is of its class in nine of ten rows, and ten are of neither."""
    draws, letters = np.random.default_rng(0), "vwxyz"
    labels = draws.integers(0, 2, 600)
    sides = ["ab"[k ^ (draws.random() < 0.1)] if draws.random() < 0.6 else "n" for k in labels.tolist()]
    texts = [f"{side}word{draws.choice([*letters])}" + " so" * draws.integers(answers) for side in sides]
    rows = pd.DataFrame({"text": texts, "label": np.where(labels, "b", "a"), "who": range(600)})
    report, words = explained(rows, tmp_path)
    chosen = words[words["listed"]]
    true = {(f"{side}word{i}", side) for side in "ab" for i in letters}
    assert true <= {*zip(chosen["word"], chosen["class"])} and len(chosen) <= len(true) + 1, "one by chance at most"
    for row in words.sample(10, random_state=0).to_dict("records"):
        held = rows[[row["word"] in text.split() for text in texts]]
        of_class = (held["label"] == row["class"]).sum()
        assert (row["texts"], row["texts_of_class"]) == (len(held), of_class)
        ends = proportion_confint(of_class, len(held), method="wilson")
        assert (row["share_low"], row["share_high"]) == pytest.approx(ends, abs=1e-4)
    assert words["influence"].isna().all() and report["quality"] is None and report["rows"]["used"] == 600
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "The words are counted; no model is trained." in page and "<script" not in page
    said = "\n".join(terminal_lines(report, tmp_path))
    assert "no model is trained" in said and "awordv" in said and "attention" not in said
    report, _ = explained(rows, tmp_path, group="who")
    assert report["loud"] == ["--group: not considered, every row counts by itself"]


def test_times_that_cannot_be_read_are_refused(tmp_path):
    pd.DataFrame({"t": ["a"] * 9, "l": ["b"] * 9, "when": ["17th of Frimaire"] * 9}).to_csv(tmp_path / "a.csv")
    with pytest.raises(Refused, match="holds '17th of Frimaire', neither a number nor a date: write dates as"):
        read_table(tmp_path / "a.csv", Columns("t", "l", time="when"))


def test_classes_of_copies_are_dropped():
    random = np.random.default_rng(0)
    texts, labels = base()
    letter, _ = letters(4, 10, random)
    prepared = prepare(table_of(texts + letter, labels + ["letters"] * 40), Cutter())
    assert prepared.classes == ("a", "b")
    assert prepared.table.dropped == {"class of fewer than 5 texts that are no near-copies of one another": 40}
    with pytest.raises(Refused, match="leave nothing to test on: are they form letters"):
        texts, form = letters(6, 30, random)
        table = table_of(texts, ["ab"[k % 2] for k in form])
        prepare(table, Cutter())
    _, loud = spread_copies(table.rows["label"], joined(texts), None, FEWEST_OF_CLASS)
    assert loud == [
        "The 180 texts of the classes 'a', 'b' are near-copies of fewer than 5 texts (names, numbers and dates apart), "
        "too few to learn from and test"
    ]


@pytest.mark.parametrize(
    "columns, message",
    [
        (Columns("x", "y", group="x"), "--group and --text are both 'x'"),
        (Columns("x", "y", time="y"), "--time and --label are both 'y'"),
        (Columns("x", "y", split="z", time="w"), "both say which texts are tested"),
    ],
)
def test_columns_that_cannot_be_asked_for_together_are_refused(columns, message):
    with pytest.raises(Refused, match=message):
        check_roles(columns)


def test_columns_asked_for_are_read_from_every_format(tmp_path):
    frame = pd.DataFrame({"t": ["a b", "c", "d"], "l": [1, 2, 1], "g": ["x", None, 3], "s": ["train", "Test", ""]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    for name in ("a.csv", "a.jsonl"):
        table = read_table(tmp_path / name, Columns("t", "l", "g", "s"))
        assert table.rows.drop(columns="text").to_numpy().tolist() == [[1, "1", "x", "train"], [2, "2", "", "Test"]]
        assert table.dropped == {"no value in the column of --split": 1}
        assert "1 rows have no value in the column of --group: each of them stands alone" in table.notes
    with pytest.raises(Refused, match="no column 'group'"):
        read_table(tmp_path / "a.jsonl", Columns("t", "l", "group"))


# --- what is told of copies, groups and dates before a file is explained


def test_copies_that_say_nothing_of_their_labels_are_spread_and_told():
    texts, form = letters(3, 100, np.random.default_rng(0))
    labels = np.random.default_rng(1).choice(["a", "b"], 300)
    prepared = prepare(table_of(texts, labels), Cutter())
    assert len(partition(prepared.cluster)) == 300
    assert prepared.table.loud[0].startswith(
        "The texts of 'a', 'b' are so alike that near-copies cannot be kept apart: 300"
    )


@pytest.mark.parametrize(
    "ending, again, told",
    [
        ("", ["b", "a"] * 10, "40 of 220 rows contradict others of the same words"),
        (" thanks", ["a", "a"] * 20, "40 of 240 texts have a near-copy under another label"),
        (" thanks", ["a", "b"] * 20, None),
    ],
)
def test_copies_and_near_copies_under_other_labels_are_told(ending, again, told):
    texts, labels = base()
    copies = [text + ending for text in texts[: len(again)]]
    table = prepare(table_of(texts + copies, labels + again), Cutter()).table
    assert (
        not table.dropped
        and len(table.loud) == (told is not None)
        and all(line.startswith(told) for line in table.loud)
    )


def test_a_group_that_holds_many_texts_is_told():
    texts, labels = base(300)
    table = table_of(texts, labels, group=["guest" if i % 3 == 0 else f"writer {i}" for i in range(300)])
    assert prepare(table, Cutter()).table.loud == (
        "The group 'guest' holds 100 of 300 texts, and all of them stay together: is it a placeholder? An empty cell "
        "joins nothing",
    )


@pytest.mark.parametrize(
    "cells, told",
    [
        (["03/04/2024", "05/05/2024"], "'03/04/2024' was read as 04 March 2024"),
        (["03/04/2024", "25/05/2024"], None),
        (["2024-03-04"], None),
        (["03/03/2024"], None),
    ],
)
def test_dates_that_can_be_read_in_two_ways_are_told(tmp_path, cells, told):
    rows = [f"text {i},{i % 2},{cell}" for i, cell in enumerate(cells * 10)]
    (tmp_path / "a.csv").write_text("\n".join(["t,l,when", *rows]))
    notes = read_table(tmp_path / "a.csv", Columns("t", "l", time="when")).notes
    assert (told in notes[0]) if told else not notes
