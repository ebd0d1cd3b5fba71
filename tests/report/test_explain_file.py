"""A file of the reader's own: formats, refusals, what is dropped, and what the words of any script are."""

import json
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from test_explain_copies import table_of

from uaftc_lib.report import explain_file
from uaftc_lib.report.prepare import prepare
from uaftc_lib.report.read import read_table, sample
from uaftc_lib.report.request import Columns, Refused
from uaftc_lib.report.words import Cutter

COLUMNS = Columns("review", "stars")
TEXTS = ["good “quoted”, text", "línea: ß 好", "a\nline break", 'with "quotes"']
LABELS = ["yes", "no", "yes", "no"]


def texts_of(table):
    return list(table.rows["text"])


def labels_of(table):
    return list(table.rows["label"])


def written(path, rows=None, encoding="utf-8"):
    """A file of the two columns "review" and "stars" and one more."""
    frame = pd.DataFrame(rows or {"review": TEXTS, "stars": LABELS}).assign(other="x")
    frame.to_csv(path, index=False, encoding=encoding)
    return path


def test_decimals_and_dates_are_labels(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: Parquet is not tested")
    for labels in ([Decimal("1.5"), Decimal("2.0")], [date(2020, 1, 1), date(2020, 1, 2)]):
        pd.DataFrame({"review": ["x", "y"], "stars": labels}).to_parquet(tmp_path / "a.parquet")
        table = read_table(tmp_path / "a.parquet", COLUMNS)
        assert labels_of(table) == [str(label) for label in labels] and not table.dropped


def file_of(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def read(tmp_path, content, name="a.csv"):
    return read_table(file_of(tmp_path, name, content), COLUMNS)


def test_a_stray_quote_is_a_character_in_tsv(tmp_path):
    table = read(tmp_path, b'review\tstars\n"Great" film\t1\n"open\t2\nthe "end"\t1\n"a\t1\nb"\t2\n', "a.tsv")
    assert texts_of(table) == ['"Great" film', '"open', 'the "end"', '"a', 'b"'] and labels_of(table) == list("12112")
    assert table.notes == (
        "A quotation mark that encloses no whole cell was read as a character in 3 rows (first in line 2)",
    )


def test_a_stray_quote_is_a_character_in_csv(tmp_path):
    content = '''review,stars
"Great" film,1
"open,2
"over, two
lines",3
plain,4
"Great, really" dull,5
"closed ""here""",6
"last,7
'''
    table = read(tmp_path, content.encode())
    texts = ['"Great" film', '"open', "over, two\nlines", "plain", "Great, really dull", 'closed "here"', '"last']
    assert texts_of(table) == texts and labels_of(table) == list("1234567") and not table.dropped
    assert "in 4 rows (first in line 2)" in table.notes[0] and "1 lines continue" in table.notes[1]


@pytest.mark.parametrize("torn, place", [("x,1,2", 0), ('"torn, too,1', 300)])
def test_a_torn_row_is_counted_with_its_line(tmp_path, torn, place):
    rows = [f"text {i},{i % 2}" for i in range(600)]
    table = read(tmp_path, "\n".join(["review,stars", *rows[:place], torn, *rows[place:]]).encode())
    assert texts_of(table) == [f"text {i}" for i in range(600)] and table.rows_read == 601
    assert table.dropped == {f"not as many fields as the header (first in line {place + 2})": 1}


def test_cells_over_several_lines_are_told(tmp_path):
    table = read(tmp_path, b'review,stars\n"a\nb\nc",1\n\nd,2\n')
    assert texts_of(table) == ["a\nb\nc", "d"]
    assert table.notes == ("Quoted cells were read over line breaks: 2 lines continue the row before them",)


def test_other_encodings_are_refused_until_named(tmp_path):
    path = written(tmp_path / "a.csv", {"review": ["süß", "è"], "stars": ["1", "2"]}, encoding="cp1252")
    with pytest.raises(Refused, match="not encoded in utf-8: byte 0xfc cannot be read.*--encoding cp1252"):
        read_table(path, COLUMNS)
    assert texts_of(read_table(path, COLUMNS, "cp1252")) == ["süß", "è"]
    path = written(tmp_path / "b.csv", encoding="utf-16")
    with pytest.raises(Refused, match="--encoding utf-16"):
        read_table(path, COLUMNS)
    with pytest.raises(Refused, match="c.csv is not encoded in utf-16: "):
        read_table(file_of(tmp_path, "c.csv", b"review,stars\nx,1\n"), COLUMNS, "utf-16")
    assert texts_of(read_table(path, COLUMNS, "utf-16")) == TEXTS


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b"review,stars\n", "holds no rows"),
        ("a.csv", b"\nreview,stars\n", "begins with a blank line"),
        ("a.csv", b"text,stars\nx,1\n", r"no column 'review'; its columns are .by its first line. 'text', 'stars'"),
        ("a.csv", b"reviews,stars\nx,1\n", "Did you mean 'reviews'"),
        ("a.csv", b"review,stars,review\nx,1,y\n", "2 columns called 'review'"),
        ("a.csv", b"review,stars\nx,1\ny,2,3\n", "line 3 has 3 fields, the header 2"),
        ("a.csv", b'review,stars\n"x,1,2\n', "line 2 has 3 fields, the header 2"),
        ("a.csv", b"r\0eview,stars\n", "zero bytes"),
        ("a.jsonl", b'{"review": "x", "stars": 1}\n{"review"\n', "line 2 cannot be read as JSON: Expecting"),
        ("a.jsonl", b"[" * 200_000, "line 1 cannot be read as JSON: "),
        ("a.jsonl", b'{"review": "x", "stars": ' + b"9" * 5000 + b"}", "line 1 cannot be read as JSON: Exceeds"),
        ("a.jsonl", b"[1, 2]\n", "line 1 is no JSON object but list"),
        ("a.jsonl", b'{"review": "x"}\n', "no column 'stars'"),
        ("a.jsonl", b"\n", "holds no rows"),
        ("a.parquet", b"no parquet", "no readable Parquet file"),
        ("a.docx", b"x", "'.docx' are not known; there are CSV"),
    ],
)
def test_files_that_cannot_be_read_are_refused_in_words(tmp_path, name, content, message):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises(Refused, match=message):
        explain_file(file_of(tmp_path, name, content), "review", "stars", tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists(), "a refusal leaves nothing"


def test_wrong_paths_and_columns_are_refused(tmp_path):
    path, none = written(tmp_path / "a.csv"), tmp_path / "none.csv"
    for given, out in ((none, path / "out"), (path, path)):
        with pytest.raises(Refused, match="is a file: --out names a folder"):
            explain_file(given, "review", "stars", out, progress=False)
    for asked, message in (
        ((none, COLUMNS), "is not there"),
        ((tmp_path, COLUMNS), "is a folder"),
        ((path, Columns("review", "review")), "two columns"),
        ((path, COLUMNS, "utf-9"), "the encoding 'utf-9' is not known"),
    ):
        with pytest.raises(Refused, match=message):
            read_table(*asked)


def test_mixed_types_agree_with_themselves(tmp_path):
    rows = [("a b", 1), ("c d", "1"), (5, 1.0), ("e", True), ("f", [1, 2]), ({"x": 1}, 1), (None, 1), ("g", None)]
    lines = [json.dumps({"review": text, "stars": label}) for text, label in rows]
    table = read(tmp_path, "\n".join(lines).encode(), "a.jsonl")
    assert texts_of(table) == ["a b", "c d", "5", "e"] and labels_of(table) == ["1", "1", "1", "true"]
    assert table.dropped == {"no text": 1, "no label": 1, "text is no text": 1, "label is neither text nor number": 1}
    assert any("1 texts were numbers" in note for note in table.notes)


def test_half_a_character_is_no_label(tmp_path):
    content = b'{"review": "x \\ud83d", "stars": "a"}\n{"review": "y", "stars": "\\ud83d"}\n'
    table = read(tmp_path, content, "a.jsonl")
    assert labels_of(table) == ["a"] and table.dropped == {"label holds half a character": 1}


def test_spellings_of_classes_and_markup_are_told(tmp_path):
    table = read(tmp_path, b"review,stars\na <br/> b,Good\nc < d > e,good\nx,bad\n")
    assert labels_of(table) == ["Good", "good", "bad"] and len(table.notes) == 1
    assert "'Good' and 'good' are two classes" in table.loud[0] and table.notes[0].startswith("1 texts hold markup")
    assert read(tmp_path, b"review,stars\na,good\nb,bad\n").notes == ()


def test_words_that_look_like_missing_values_are_words(tmp_path):
    table = read(tmp_path, b"review,stars\nNA,null\nnone,nan\n,1\nx,\n  ,2\n")
    assert texts_of(table) == ["NA", "none"] and labels_of(table) == ["null", "nan"]
    assert table.dropped == {"no text": 2, "no label": 1}


def reviews(rows=300, seed=0, classes=("bad", "good")):
    """Texts in which one word a class tells, among words that do not."""
    random = np.random.default_rng(seed)
    labels = [classes[i % len(classes)] for i in range(rows)]
    fillers = [f"filler{i}" for i in range(30)]
    texts = [
        " ".join([*random.choice(fillers, 6), f"mark{classes.index(label)}", f"row{i}"])
        for i, label in enumerate(labels)
    ]
    return texts, labels


def test_nothing_is_lost_silently():
    texts, labels = reviews(200)
    texts += ["?!…", "isn't twice", "ISN’T  twice!!", "Torn", "torn.", "few", "x" * 100_000]
    labels += ["good", "good", "good", "good", "bad", "rare class", "good"]
    prepared = prepare(table_of(texts, labels), Cutter())
    table = prepared.table
    assert table.dropped == {"no word in the text": 1, "class of fewer than 5 different texts of one label": 1}
    assert table.rows_read == 207 == len(prepared.texts) + sum(table.dropped.values())
    assert prepared.rows.tolist() == [*range(1, 201), 202, 203, 204, 205, 207]


@pytest.mark.parametrize(
    "rows, message",
    [
        (([f"text {i}" for i in range(200)], ["one"] * 200), "only the class 'one' .200 rows read"),
        ((["so it is said"] * 200, ["a", "b"] * 100), "no class .*200 dropped.*bear one label"),
        (reviews(60), "60 rows are left, at least 100"),
        (reviews(600, classes=tuple(f"class {i:02}" for i in range(51))), "51 classes, at most 50.*'class 00'"),
        (([f"text {i}" for i in range(200)], list(range(200))), "is the label column the right one"),
        ((["!", "?"] * 100, list("ab") * 100), "no class"),
        (([f"{i}" for i in range(200)], list("ab") * 100), "no word occurs in two texts"),
        ((["all is alike"] * 300, ["a"] * 300), "only the class 'a' .300 rows read"),
        ((LABELS * 50, [f"text {i}" for i in range(200)]), "2 different.* 200: are they swap"),
    ],
)
def test_tables_that_cannot_be_explained_are_refused_in_words(rows, message):
    with pytest.raises(Refused, match=message):
        prepare(table_of(*rows), Cutter())


def test_very_large_tables_are_sampled_and_say_so():
    rows = ([f"text {i}" for i in range(50)], ["a"] * 50)
    table = sample(table_of(*rows), most=20)
    assert len(table.rows) == 20 and table.dropped == {"beyond 20 rows (chosen at random)": 30}
    assert texts_of(table) == texts_of(sample(table_of(*rows), most=20))
    assert all(f"text {row - 1}" == text for row, text in zip(table.rows["row"], table.rows["text"]))


def test_large_losses_are_loud():
    texts, labels = reviews(300)
    texts += ["?"] * 20 + ["! "]
    labels += ["good"] * 21
    table = prepare(table_of(texts, labels), Cutter()).table
    assert table.loud == ("21 of 321 rows were dropped: no word in the text",)
    assert prepare(table_of(texts[:310], labels[:310]), Cutter()).table.loud == (), "10 of 310 are few"


def test_a_step_leaves_the_table_that_it_takes_as_it_was():
    texts, labels = reviews(300)
    texts[:40] = ["?"] * 20 + ["the same words again"] * 20
    table = table_of(texts, labels)
    before = table.rows.copy()
    after = prepare(table, Cutter(without=["filer3"])).table
    assert table.rows.equals(before) and (table.dropped, table.notes, table.loud) == ({}, (), ())
    assert after.dropped == {"no word in the text": 20} and len(after.loud) == 3


def test_what_is_left_out_is_counted():
    table = prepare(table_of(*reviews(300)), Cutter(without=["mark1", "filer3", "MARK0"], ignore=r"row\d+")).table
    assert table.notes[:2] == (
        "'mark0', a word of --without, is in 150 of 300 texts",
        "'mark1', a word of --without, is in 150 of 300 texts",
    )
    assert table.notes[2] == r"What --ignore names, row\d+, is in 300 of 300 texts"
    assert table.loud[0].startswith("'filer3', a word of --without, is in no text; did you mean 'filler3' or")
    table = prepare(table_of(*reviews(300)), Cutter(ignore="nothing like it")).table
    assert table.loud == ("What --ignore names, nothing like it, is in no text",) and not table.notes
    with pytest.raises(Refused, match="no class .*; most texts hold no word: does --ignore match too much"):
        prepare(table_of(*reviews(300)), Cutter(ignore=".+"))


def test_what_is_prepared_is_what_stands_in_the_file():
    texts, labels = reviews(300, classes=("a", "b", "c"))
    texts[0] += " twice twice elsewhere"
    texts[1] += " elsewhere"
    prepared = prepare(table_of(texts, labels), Cutter())
    words, whole = set(prepared.vocabulary.words), prepared.whole
    assert prepared.texts == texts and prepared.rows.tolist() == list(range(1, 301))
    assert [prepared.classes[k] for k in whole.labels.tolist()] == labels
    for t in (0, 7, 299):
        assert [prepared.vocabulary.word(i) for i in whole[t].tokens.tolist()] == [
            word if word in words else "<unk>" for word in Cutter().words(prepared.texts[t])
        ]
    assert not any(word.startswith("row") for word in words), "words of one row only are not learnt"
    assert "elsewhere" in words and "twice" not in words, "a word needs two rows"
    assert prepared.rare_words == 301 and prepared.test is None
