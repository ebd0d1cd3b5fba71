"""Kinds of files that people really have: encodings, dialects, names, labels and residues, each by several members."""

import bz2
import gzip
import io
import json
import lzma
import os
import threading
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from uaftc_lib.report.read import read_table
from uaftc_lib.report.request import Columns, Refused, check_request
from uaftc_lib.report.words import Cutter

COLUMNS = Columns("text", "label")
FRENCH = "text,label\n" + "".join(f"été déçu café {i},pos\n" for i in range(200))
RECORDS = [{"text": "a b", "label": "pos"}, {"text": "c", "label": "neg"}]


def read(folder, name, content, columns=COLUMNS, encoding="utf-8"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, columns, encoding)


def labels_of(table):
    return dict(Counter(table.rows["label"]))


@pytest.mark.parametrize(
    "content",
    [
        'id,"a\nb",text,label\n1,x,"a, b",pos\n',
        '"sep=|"\r\ntext|label\r\na, b|pos\r\n',
        'sep=\t\ntext\tlabel\n"a, b"\tpos\n',
        "text, label\n" + '"a, b", pos\n' * 3,
        'text,label\n"a, \\"b\\"",pos\n"a, ""b""",pos\n',
        'text,label\n"a, b",pos,\n"a, b",pos,\n',
        'text,label,\n"a, b",pos\n"a, b",pos\n',
        'text,label\n1,"a, b",pos\n2,"a, b",pos\n',
        'text,label\n"7","a, b",pos\n"3","a, b",pos\n',
        '\ufeff\ufefftext,label\n"a, b",pos\n',
        '"text\u200b",label\u00a0\n"a, b",pos\n',
        'tехt,lаbel\n"a, b",pos\n',
    ],
)
def test_dialects_are_read(tmp_path, content):
    table = read(tmp_path, "a.csv", content)
    assert {text.replace('"', "") for text in table.rows["text"]} == {"a, b"} and not table.dropped
    assert set(labels_of(table)) == {"pos"} and table.rows_read == len(table.rows)


@pytest.mark.parametrize(
    "name, content, encoding, message",
    [
        ("a.csv", "# a title\ntext,label\nx,1\n", "utf-8", "by its first line. '# a title'"),
        ("a.csv", "text,label\n1,yes, it is,neg\n2,no, it is,pos\n", "utf-8", "line 2 has 4 fields"),
        ("a.csv", "text,label\nr1,x,neg\nr2,y,pos\n", "utf-8", "has 3 fields, .*row names whose column has no name"),
        ("a.csv", "Text,label\nx,1\n", "utf-8", "Did you mean 'Text'"),
        ("a.csv", "text\u200b,text ,label\nx,y,1\n", "utf-8", "no column 'text'"),
        ("a.csv", json.dumps(RECORDS), "utf-8", "holds no CSV but JSON: .*end in .json"),
        ("a.csv", "<!DOCTYPE html><table>", "utf-8", "by its first bytes, a web page"),
        ("a.tsv", gzip.compress(b"text\tlabel\n", mtime=0), "utf-8", "by its first bytes, a packed file"),
        ("a.xls", b"\xd0\xcf\x11\xe0", "utf-8", "old Excel workbook .* save it as .xlsx"),
        ("a.xlsx", "text,label\n", "utf-8", "no readable Excel workbook"),
        ("a.csv.gz", "text,label\n", "utf-8", "Not a gzipped file"),
        ("a.json", '{"text": "x", "label": 1}', "utf-8", "holds no list of JSON objects"),
        ("a.csv", FRENCH.encode("cp1252"), "utf-8", "byte 0xe9 cannot be read .line 2.*--encoding cp1252"),
        ("a.csv", FRENCH.encode("mac_roman"), "utf-8", "byte 0x8e .*--encoding NAME"),
        ("a.csv", "text,label\nочень плохо,1\n".encode("cp1251"), "utf-8", "--encoding NAME"),
        ("a.csv", "text,label\nx,1\n".encode("utf-16-be"), "utf-8", "encoded in utf-16-be"),
        ("a.csv", FRENCH.encode() + FRENCH.encode("cp1252"), "utf-8", "line 203.*another encoding would spoil: repair"),
        ("a.csv", FRENCH, "latin-1", "the file is UTF-8, with letters .*leave --encoding out"),
        ("a.csv", FRENCH.encode("cp1252"), "ascii", "not encoded in ascii: byte 0xe9"),
    ],
)
def test_what_is_not_sure_is_named(tmp_path, name, content, encoding, message):
    with pytest.raises(Refused, match=f"(?s){message}") as refusal:
        read(tmp_path, name, content, encoding=encoding)
    assert ("cp1252" in str(refusal.value)) == ("cp1252" in message), "no advice that ruins a file"


def test_a_few_damaged_bytes_are_borne(tmp_path):
    content = FRENCH.encode().replace("é 7,".encode(), b"\xc3 7,")
    table = read(tmp_path, "a.csv", content)
    assert table.rows["text"][7] == "été déçu caf\ufffd 7" and not table.loud
    assert "in 1 places; the first is 0xc3 in line 9" in table.notes[0]


@pytest.mark.parametrize(
    "text", ["dÃ©Ã§u", "itâ€™s", "Ð¿Ñ€Ð¸", "isn\x92t", "caf\ufffd", "Å¡koda", "ðŸ˜€", "√©t√©", "it‚Äôs"]
)
def test_garbled_texts_are_loud(tmp_path, text):
    assert "2 of 3 texts hold letters" in read(tmp_path, "a.csv", f"text,label\n{text},1\n{text},2\nété,1\n").loud[0]


@pytest.mark.parametrize("text", ["SÃO PAULO", "“ÉTÉ”, öß", "Ökö ÄÖÜ", "Việt Nam ượt", "中文 很好", "été"])
def test_foreign_letters_are_not_garbled(tmp_path, text):
    assert not read(tmp_path, "a.csv", f'text,label\n"{text}",1\n"{text}",2\n').loud


@pytest.mark.parametrize(
    "content, labels",
    [
        ("a,1.1\nb,1.10\nc,1.0\nd,1\n", {"1.1": 1, "1.10": 1, "1": 2}),
        ("a,['x' 'y']\nb,x\nc,y\n", {"['x' 'y']": 1, "x": 1, "y": 1}),
        ("a,pos\nb,ne\0g\n", {"pos": 1, "neg": 1}),
        ("""a,'"neg"'\nb,neg\n""", {"neg": 2}),
        (f"a,({'-'.join('1' * 20_000)}\nb,neg\n", {f"({'-'.join('1' * 20_000)}": 1, "neg": 1}),
    ],
)
def test_labels_that_differ_stay_apart(tmp_path, content, labels):
    assert labels_of(read(tmp_path, "a.csv", f"text,label\n{content}")) == labels


@pytest.mark.parametrize("content", ["10,000 people,pos\n20,000 people,neg\n", "1,5 Sterne,neg\n5,5 Sterne,pos\n"])
def test_numbers_of_a_text_are_no_row_names(tmp_path, content):
    with pytest.raises(Refused, match="line 2 has 3 fields"):
        read(tmp_path, "a.csv", f"text,label\n{content}")


@pytest.mark.parametrize("encoding", ["cp850", "cp437"])
def test_no_encoding_is_advised_that_would_spoil_the_letters(tmp_path, encoding):
    with pytest.raises(Refused, match="such as cp1250"):
        read(tmp_path, "a.csv", ("text,label\n" + "schön größer für,pos\n" * 200).encode(encoding))


def packed_of():
    """Name -> bytes of the same two records."""
    csv, lines = b"text,label\na b,pos\nc,neg\n", "\n".join(map(json.dumps, RECORDS)).encode()
    frame, sheets, parquet = pd.DataFrame(RECORDS), io.BytesIO(), io.BytesIO()
    with pd.ExcelWriter(sheets) as book:
        for name in ("first", "second"):
            frame.to_excel(book, sheet_name=name, index=False)
    frame.to_parquet(parquet)
    files = {"a.csv.gz": gzip.compress(csv), "a.csv.bz2": bz2.compress(csv), "a.txt.xz": lzma.compress(csv)}
    files |= {"A.CSV": csv.replace(b"\n", b"\r\n"), "a.tsv": csv.replace(b",", b"\t")}
    files |= {"a.jsonl": b"\xef\xbb\xbf" + lines}
    files |= {"a.jsonl.gz": gzip.compress(lines), "a.json": lines, "b.json": json.dumps(RECORDS, indent=1).encode()}
    files |= {"c.json": json.dumps({"n": 2, "data": RECORDS}).encode()}
    return files | {"a.xlsx": sheets.getvalue(), "a.parquet.gz": gzip.compress(parquet.getvalue())}


@pytest.mark.parametrize("name", [*packed_of()])
def test_every_kind_is_read(tmp_path, name):
    table = read(tmp_path, name, packed_of()[name])
    assert list(table.rows["text"]) == ["a b", "c"] and labels_of(table) == {"pos": 1, "neg": 1}
    assert table.notes == (("The first sheet, 'first', was read; there are 1 more",) if name == "a.xlsx" else ())


@pytest.mark.parametrize("name", ["a.csv.gz", "a.json", "b.json", "a.xlsx"])
def test_a_pipe_is_read_once_by_its_content(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(packed_of()[name],))
    writer.start()
    check_request(tmp_path / "pipe", COLUMNS)
    assert list(read_table(tmp_path / "pipe", COLUMNS).rows["text"]) == ["a b", "c"]
    writer.join()


def test_standard_input_is_a_dash(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"text\tlabel\na, b\tpos\n")))
    assert list(read_table(Path("-"), COLUMNS).rows["text"]) == ["a, b"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x;label\na;pos\n")))
    with pytest.raises(Refused, match="standard input has no column 'text'"):
        read_table(Path("-"), COLUMNS)


@pytest.mark.parametrize(
    "label",
    "neg\u00ad|\u202aneg\u202c|neg\ufeff|n\u2060eg|\u00a0neg|“neg”|«neg»|'neg'|ｎｅｇ|['neg']|b'neg'|neg\u200d".split(
        "|"
    ),
)
def test_what_is_hardly_seen_parts_no_labels(tmp_path, label):
    table = read(tmp_path, "a.csv", f"text,label\na,neg\nb,{label}\nc,{label}\nd,pos\n")
    assert labels_of(table) == {"neg": 3, "pos": 1}
    assert table.loud[0].startswith("2 labels hold") and "(2 rows)" in table.loud[0]


@pytest.mark.parametrize("role", ["group", "split"])
def test_what_is_hardly_seen_parts_no_groups_nor_splits(tmp_path, role):
    columns = Columns("text", "label", **{role: "who"})
    table = read(tmp_path, "a.csv", "text,label,who\na,x,ann\nb,x,ann\u200b\nc,y,“ann”\nd,y, Ann\n", columns)
    assert list(table.rows[role]) == ["ann", "ann", "ann", "Ann"]
    assert table.notes == (f"2 values of --{role} hold what is hardly seen, which was passed over",)


def test_what_is_seen_parts_labels_and_is_said(tmp_path):
    table = read(tmp_path, "a.csv", "text,label\na,5\nb,05\nc,5.00\nd,1.50\ne,N/A\nf,роs\ng,pos\nh,e\u0301\n")
    assert labels_of(table) == {"5": 2, "05": 1, "1.50": 1, "N/A": 1, "роs": 1, "pos": 1, "é": 1}
    assert "'05' and '5' are two classes" in table.loud[1]
    assert "1 rows have the label 'N/A', which many programs" in table.notes[0] and len(table.loud) == 2


@pytest.mark.parametrize("separator", ["|", ";", ", "])
def test_lists_of_labels_are_named_and_one_is_set_against_the_rest(tmp_path, separator):
    rows = [["neg"], ["neg", "slow"], ["slow", "pos"], ["pos"], ["pos", "neg"]]
    lines = [json.dumps({"text": f"t{i}", "label": separator.join(row)}) for i, row in enumerate(rows)]
    as_lists = [json.dumps({"text": f"t{i}", "label": row}) for i, row in enumerate(rows)]
    table = read(tmp_path, "a.jsonl", "\n".join(lines))
    assert f"3 labels look like lists of labels, such as 'neg{separator}slow'" in table.loud[0]
    assert f"--label-sep {separator.strip()!r} with --against-rest NAME" in table.loud[0]
    asked = Columns("text", "label", label_sep=separator, against_rest="neg")
    for content in (lines, as_lists):
        table = read(tmp_path, "a.jsonl", "\n".join(content), asked)
        assert labels_of(table) == {"neg": 3, "not neg": 2} and not table.loud
    with pytest.raises(Refused, match=r"needs --against-rest NAME.*'neg' \(3 rows\)"):
        read(tmp_path, "a.jsonl", "\n".join(lines), Columns("text", "label", label_sep=separator))
    if separator in "|;":
        table = read(tmp_path, "a.jsonl", "\n".join(lines), Columns("text", "label", against_rest="neg"))
        assert "3 labels look like lists of labels" in table.loud[0], "only one row is neg alone"
    with pytest.raises(Refused, match="'@', which stands in no label"):
        read(tmp_path, "a.jsonl", "\n".join(lines), Columns("text", "label", label_sep="@", against_rest="neg"))
    with pytest.raises(Refused, match="there is no label 'nog'; the labels are 'neg'"):
        read(tmp_path, "a.jsonl", "\n".join(lines), Columns("text", "label", label_sep=separator, against_rest="nog"))


@pytest.mark.parametrize(
    "text, plain, note",
    [
        ("R&amp;amp;amp;D &amp; &eacute;t&#xe9;", "R&D & été", "1 texts held entities"),
        ("b'caf\\xc3\\xa9'", "café", "1 texts held b'...'"),
        ("a_x000D_b", "a\rb", "1 texts held _x000D_"),
        ("caf\\u00e9 \\ud83d\\ude00", "café 😀", "1 texts held"),
        ("good\\nbad", None, "1 texts hold \\n"),
        ("so=20it", None, "quoted-printable"),
        ("NaN", None, "1 texts are 'NaN'"),
        ("AT&T; b'day, x=20, 100%20, C:\\dir, <3", None, ""),
    ],
)
def test_residues_of_exports_are_counted(tmp_path, text, plain, note):
    table = read(tmp_path, "a.jsonl", json.dumps({"text": text, "label": "x"}) + '\n{"text": "y", "label": "z"}')
    assert table.rows["text"][0] == (plain or text)
    assert note in table.notes[0] if note else not table.notes


@pytest.mark.parametrize(
    "text, words",
    [
        ("don´t don`t donʼt don‘t don′t don＇t DON’T", ["don't"] * 7),
        ("do n't ca n’t", ["do", "n't", "ca", "n't"]),
        ("`code` ``word'' rock ´n´ roll", ["code", "word", "rock", "n", "roll"]),
        ("ＧＯＯＤ 𝗴𝗼𝗼𝗱 go\u200bod go\u200d\u2060od go\u00ad\u00adod \ufeffgood", ["good"] * 6),
        ("ﬁne eﬀect ｶﾞ", ["fine", "effect", "ガ"]),
        ("m² می‌خواهم ❤️‍🔥", ["m²", "می‌خواهم", "❤‍🔥"]),
    ],
)
def test_one_word_has_one_spelling(text, words):
    assert Cutter().words(text) == words
    assert len(Cutter().spans(text)) == len(words)
