"""Word vectors from a file: read, aligned with a vocabulary, and refused in words."""

import gzip
import itertools
import json
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from cases import uaftc

from uaftc_lib import AttentionClassifier, Corpus, Dataset, TrainingConfig, Vocabulary, fit
from uaftc_lib.datasets import cache, imdb
from uaftc_lib.report import train
from uaftc_lib.vectors import unused_reviews as own
from uaftc_lib.vectors.file_format import format_of
from uaftc_lib.vectors.word_vectors import StartingVectors, WordVectors, read_vectors

WORDS = ["good", "bad", "naïve", "film"]
MATRIX = (np.arange(12).reshape(4, 3) / 8 - 0.5).astype(np.float32)
VOCABULARY = Vocabulary(["film", "unheard", "good"])
CORPUS = Corpus.from_lists([[0, 0, 1], [2, 0]], [0, 1])
needs_gensim = pytest.mark.skipif(not find_spec("gensim"), reason="gensim is not installed, which reads vectors")


def lines(words=WORDS, matrix=MATRIX):
    return [" ".join([word, *(f"{x:g}" for x in row)]) for word, row in zip(words, matrix)]


def text(*rows, encoding="utf-8"):
    return ("\n".join(rows) + "\n").encode(encoding)


def binary(words=WORDS, matrix=MATRIX, count=None):
    rows = [word.encode() + b" " + row.astype("<f4").tobytes() for word, row in zip(words, matrix)]
    return f"{count or len(words)} {matrix.shape[1]}\n".encode() + b"\n".join(rows)


WAYS = {
    "glove.txt": text(*lines()),
    "word2vec.txt": text("4 3", *lines()),
    "trailing.vec": text("4 3", *(f"{line} " for line in lines())),  # as word2vec's own program writes
    "word2vec.bin": binary(),
    "glove.txt.gz": gzip.compress(text(*lines())),
    "word2vec.bin.gz": gzip.compress(binary()),
}


@needs_gensim
@pytest.mark.parametrize("name", WAYS)
def test_a_file_is_read_as_it_was_written(tmp_path, name):
    (tmp_path / name).write_bytes(WAYS[name])
    read = read_vectors(tmp_path / name)
    assert (list(read.words), read.source, read.repeated) == (WORDS, name, 0)
    assert np.array_equal(read.matrix, MATRIX)


ROWS = lines()
BAD = {
    "empty": (b"", "file is empty: no vectors are in it"),
    "blank": (b"\n\n", "file, line 1, is empty"),
    "a picture": (b"\x89PNG\r\n\x1a\n\x00\x00", "file holds no word vectors: line 1 is .*PNG.*expected a file in"),
    "a table": (b"text,label\ngood,1\n", "file holds no word vectors: line 1 is 'text,label'"),
    "prose": (b"It was a good film.\nIt was.\n", "file holds no word vectors: line 1 is 'It was a good film.'"),
    "numbers": (b"1 2 3\n4 5 6\n", "file holds no word vectors: line 1 is '1 2 3'"),
    "header only": (b"4 3\n", "file holds no vectors: it begins with '4 3', and ends there"),
    "ragged": (text(*ROWS[:2], ROWS[2] + " 0.5"), "file, line 3 has 4 numbers after .* space, the others have 3"),
    "one number": (text(*ROWS[:2], "and 1"), "file, line 3 has 1 numbers"),
    "ragged after a header": (text("4 3", *ROWS[:3], "film 1 2"), "file, line 5 has 2 numbers"),
    "two words": (text(*ROWS, "at home 1 2 3"), "file, line 5 has 4 numbers after the first space"),
    "no number": (text(*ROWS[:3], "film 1 2 x"), "file, line 4: 'x' is no number"),
    "blank line": (text(*ROWS[:2], "", *ROWS[2:]), "file, line 3 has 0 numbers"),
    "latin": (text(*ROWS, encoding="latin-1"), "file, line 3 is not encoded in utf-8 .*: convert it, or"),
    "short of its header": (text("5 3", *ROWS), "its header counts 5 words, but there are 4"),
    "more than its header": (text("3 3", *ROWS), "its header counts 3 words, but there are 4"),
    "binary, cut": (binary()[:-5], "file is damaged, or no file of word vectors"),
    "not finite": (text(*ROWS[:3], "film 1 nan 2"), "the vector of 'film' holds a number that is not finite"),
}  # fmt: skip


@needs_gensim
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_refused_in_words(tmp_path, kind):
    content, message = BAD[kind]
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_vectors(tmp_path / "file")


@needs_gensim
@pytest.mark.parametrize(
    "name, options, message",
    [
        ("plain.gz", {}, "plain.gz cannot be unpacked .*cut short, or no .gz file"),
        ("cut.gz", {}, "cut.gz cannot be unpacked"),
        ("x", {"dimension": 100}, "x has vectors of 3 numbers, asked for were 100"),
        ("x", {"encoding": "nosuch"}, "the encoding 'nosuch' is not known"),
        ("nosuch", {}, "nosuch is not there: give the path of a file"),
        ("", {}, "is a folder: give the path"),
    ],
)
def test_a_broken_gz_another_dimension_and_no_file_are_refused(tmp_path, name, options, message):
    for file, content in {"x": text(*ROWS), "plain.gz": text(*ROWS), "cut.gz": WAYS["glove.txt.gz"][:-12]}.items():
        (tmp_path / file).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_vectors(tmp_path / name, **options)


@needs_gensim
def test_an_encoding_can_be_given(tmp_path):
    (tmp_path / "x").write_bytes(text(*ROWS, encoding="latin-1"))
    assert list(read_vectors(tmp_path / "x", encoding="latin-1").words) == WORDS


@needs_gensim
def test_of_a_word_that_stands_there_twice_the_first_counts_and_it_is_told(tmp_path):
    twice = [*WORDS, "good"], np.concatenate([MATRIX, MATRIX[1:2]])
    for name, content in {"t": text(*lines(*twice)), "h": text("5 3", *lines(*twice)), "b": binary(*twice)}.items():
        (tmp_path / name).write_bytes(content)
        read = read_vectors(tmp_path / name)
        assert read.repeated == 1 and list(read.words) == WORDS and np.array_equal(read.matrix, MATRIX)
        assert "1 word stands there again" in read.aligned(VOCABULARY, CORPUS).told


def test_without_gensim_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    (tmp_path / "x").write_bytes(text(*ROWS))
    words = r"reading word vectors needs gensim\S*, .*: pip install '\.\[vectors\]' in a clone of the book"
    words += "$" if sys.version_info < (3, 14) else " on Python 3.13 or earlier$"
    with pytest.raises(ImportError, match=words):
        read_vectors(tmp_path / "x")
    done = uaftc("train", "--dataset", "synthetic-1", "--vectors", tmp_path / "x")
    assert done.exit_code == 2 and ".[vectors]" in done.stderr and len(done.stderr.splitlines()) == 1


def start(**options) -> StartingVectors:
    return WordVectors(WORDS, MATRIX, "some.txt").aligned(VOCABULARY, CORPUS, **options)


def test_the_covered_shares_are_of_words_and_of_their_occurrences():
    found = start()
    assert (found.words, found.occurrences) == (2 / 3, 4 / 5)
    assert found.told == (
        "some.txt has vectors of 3 numbers for 66.7 % of the words, 80.0 % of their occurrences; "
        "the others start at random"
    )
    assert torch.equal(found.matrix[[0, 2]], torch.from_numpy(MATRIX[[3, 0]]).double())
    assert found.matrix[[1, 3, 4, 5]].isnan().all()


def test_no_word_in_common_is_refused():
    with pytest.raises(
        ValueError, match="for none of the 3 words; the words of the file are 'good', .*'FILM'.*capitals"
    ):
        WordVectors(WORDS, MATRIX).aligned(Vocabulary(["FILM", "Good", "<unk>"]), CORPUS)


def test_words_without_a_vector_keep_the_start_they_always_had():
    plain = AttentionClassifier(len(VOCABULARY), dimension=3, seed=4, encoder="affine")
    given = AttentionClassifier(len(VOCABULARY), dimension=3, seed=4, encoder="affine", vectors=start().matrix)
    assert torch.equal(given.embedding[[0, 2]], torch.from_numpy(MATRIX[[3, 0]]))
    assert torch.equal(given.embedding[[1, 3, 4, 5]], plain.embedding[[1, 3, 4, 5]])
    assert all(torch.equal(getattr(given, name), getattr(plain, name)) for name in ("V", "W", "M"))


def test_a_model_refuses_vectors_of_another_shape_and_half_rows(untyped):
    matrix = start().matrix
    with pytest.raises(ValueError, match="types × dimension, 6 × 100, got 6 × 3: give dimension=3"):
        AttentionClassifier(len(VOCABULARY), vectors=matrix)
    with pytest.raises(ValueError, match="types × dimension, 7 × 3, got 6 × 3"):
        AttentionClassifier(7, dimension=3, vectors=matrix)
    matrix[1, 1] = 0
    with pytest.raises(ValueError, match="not finite"):
        AttentionClassifier(len(VOCABULARY), dimension=3, vectors=matrix)


def test_rescaled_vectors_keep_their_directions_and_have_the_usual_size():
    own_scale, scaled = start().matrix[[0, 2]], start(embedding_range=0.1).matrix[[0, 2]]
    assert float(scaled.square().mean().sqrt()) == pytest.approx(0.1 / 3**0.5)
    factor = scaled[0, 0] / own_scale[0, 0]
    assert torch.allclose(scaled, factor * own_scale)
    with pytest.raises(ValueError, match="all 0"):
        WordVectors(WORDS, 0 * MATRIX).aligned(VOCABULARY, CORPUS, embedding_range=0.1)


@pytest.mark.parametrize("method", ["fast", "autograd"])
def test_vectors_train_or_are_frozen(method):
    for rate, moves in ((0.1, True), (0.0, False)):
        model = AttentionClassifier(len(VOCABULARY), dimension=3, vectors=start().matrix)
        before = model.embedding.detach().clone()
        config = TrainingConfig(epochs=2, learning_rates={"embedding": rate}, method=method)
        fit(model, Dataset("two", VOCABULARY, ("no", "yes"), CORPUS), config)
        assert torch.equal(model.embedding[[0, 2]], before[[0, 2]]) != moves


def test_nearest_are_those_of_the_largest_cosine():
    vectors = WordVectors(["a", "b", "c"], np.array([[1.0, 0], [0, 1], [5, 1]], dtype=np.float32))
    assert [word for word, _ in vectors.nearest("a")] == ["c", "b"]
    assert vectors.nearest("a", 1)[0][1] == pytest.approx(5 / 26**0.5)
    with pytest.raises(ValueError, match="no vector for 'd'"):
        vectors.nearest("d")


@needs_gensim
def test_train_takes_dimension_and_start_from_the_file_and_says_what_is_covered(tmp_path):
    from uaftc_lib import load_dataset

    words = load_dataset("synthetic-1").vocabulary.words
    matrix = np.full((len(words), 3), 0.25, dtype=np.float32)
    (tmp_path / "x.txt").write_bytes(text(*lines(words, matrix)))
    asked = ["train", "--dataset", "synthetic-1", "--epochs", "0", "--vectors", str(tmp_path / "x.txt")]
    done = uaftc(*asked, "--out", tmp_path / "x.pt")
    assert done.exit_code == 0, done.output
    assert "x.txt has vectors of 3 numbers for 100.0 % of the words, 100.0 % of their occurrences" in done.stderr
    kept = torch.load(tmp_path / "x.pt")
    assert (kept["parameters"]["embedding"][: len(words)] == 0.25).all()
    assert kept["record"]["dimension"] == 3
    assert kept["record"]["vectors"] == {"source": "x.txt", "words": 1.0, "occurrences": 1.0, "repeated": 0}
    done = uaftc(*asked, "--dimension", "100")
    assert done.exit_code == 2 and "x.txt has vectors of 3 numbers, --dimension says 100" in done.stderr
    done = uaftc(*asked[:-1], tmp_path / "nosuch")
    assert done.exit_code == 2 and "nosuch is not there" in done.stderr


@needs_gensim
def test_explain_starts_from_the_file_and_says_what_is_covered(tmp_path, monkeypatch):
    starts = []

    class Noted(AttentionClassifier):
        def __init__(self, *sizes, **options):
            super().__init__(*sizes, **options)
            starts.append(self.embedding.detach().clone())

    monkeypatch.setattr(train, "AttentionClassifier", Noted)
    monkeypatch.setattr(train, "ROUNDS", 2)
    monkeypatch.setattr(train, "MOST_ROUNDS", 2)
    fill = "apple river stone cloud table green quick seven paper light".split()
    pairs = list(itertools.permutations(fill, 3))[::4]
    rows = [f"{' '.join(pair)} {'good' if i % 2 else 'bad'} film,{i % 2}" for i, pair in enumerate(pairs)]
    (tmp_path / "x.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    (tmp_path / "x.txt").write_bytes(text(*lines()))
    asked = ["explain", str(tmp_path / "x.csv"), "--text", "text", "--label", "label", "--epochs", "1"]
    asked += ["--out", str(tmp_path / "out"), "--vectors", str(tmp_path / "x.txt")]
    done = uaftc(*asked)
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert (report["settings"]["vectors"], report["settings"]["dimension"]) == ("x.txt", 3)
    # A model for each fold, of which every word of the file has its vector.
    assert len(starts) == train.FOLDS * report["settings"]["rounds"] == 2 * train.FOLDS
    assert all((each == torch.from_numpy(row)).all(1).any() for each in starts for row in MATRIX[[0, 1, 3]])
    told = next(note for note in report["notes"] if "x.txt has vectors" in note)
    assert "23.1 % of the words" in told and " ".join(told.split()[:4]) in done.stdout
    done = uaftc(*asked, "--dimension", "7")
    assert done.exit_code == 2 and "--dimension says 7" in done.stderr


LONG = b"a long \xc2\x85 review " * 140  # spaCy makes "\x85 " a token
SHORT = b"a short and quite good review"


@pytest.fixture
def small_imdb(tmp_path, monkeypatch):
    """Reviews on disk: of each class and part one that is short, one too long for a split, and a copy of either."""
    texts = {"0_1.txt": SHORT, "1_1.txt": LONG, "2_1.txt": LONG.replace(b" ", b", "), "3_1.txt": b"Short: " + SHORT}
    for part in ("train", "test"):
        for kind in ("pos", "neg"):
            folder = tmp_path / "aclImdb" / part / kind
            folder.mkdir(parents=True)
            for name, content in texts.items():
                (folder / name).write_bytes(content + (f" {part} {kind}".encode() if name != "3_1.txt" else b""))
    monkeypatch.setattr(imdb, "REVIEWS", len(texts))
    vocabulary = Vocabulary(["a", "short", "and", "quite", "good", "review", "train", "pos", "neg"])
    held = [SHORT.decode().split() + each for each in (["train", "pos"], ["train", "neg"], ["pos"])]
    corpus = Corpus.from_lists([vocabulary.encode(words) for words in held], [1, 0, 1])
    return Dataset("imdb", vocabulary, imdb.CLASSES, corpus, test=corpus[[2]])


def test_no_review_of_a_split_and_no_copy_is_among_the_unused(small_imdb, tmp_path):
    count = own.Count()
    found = list(own.unused_reviews(tmp_path, small_imdb, count))
    # Of the test part "test" is no known word, and is not compared; of the copies the first is kept.
    long = [f"{LONG.decode().strip()} {part} {kind}" for part in ("train", "test") for kind in ("pos", "neg")]
    left = f"{SHORT.decode()} test neg"
    assert found == [long[0], "short a short and quite good review", *long[1:3], left, long[3]]
    assert vars(count) == {"all": 16, "in_a_split": 3, "copies": 7, "unused": 6}


@needs_gensim
def test_own_vectors_are_trained_once_and_come_out_the_same_again(small_imdb, tmp_path, monkeypatch):
    monkeypatch.setattr(own, "load_dataset", lambda *_: small_imdb)
    file = own.own_vectors(tmp_path)
    first, written = file.read_bytes(), file.stat().st_mtime_ns
    assert file.parent.parent == tmp_path / "prepared" and format_of(file).dimension == 100
    about = json.loads((file.parent / "about.json").read_text())
    assert about["reviews"]["unused"] == 6 and about["words"] == len(read_vectors(file).words) == 3
    assert own.own_vectors(tmp_path) == file and file.stat().st_mtime_ns == written
    file.unlink(), (file.parent / "about.json").unlink(), file.parent.rmdir()
    assert own.own_vectors(tmp_path).read_bytes() == first
    done = uaftc("vectors", "long", "--count", "2", "--data-home", tmp_path)
    assert done.exit_code == 0 and str(file) in done.stdout and "vectors of 100 numbers" in done.stdout
    assert len(done.stdout.splitlines()[1].split(", ")) == 2


@pytest.mark.data("imdb")
def test_the_unused_reviews_of_imdb_hold_no_text_of_a_split(untyped):
    from uaftc_lib import load_dataset
    from uaftc_lib.locations import data_home

    splits, count = load_dataset("imdb"), own.Count()
    found = {own.letters(text.lower()) for text in own.unused_reviews(data_home(), splits, count)}
    assert count.all == 50_000 == count.in_a_split + count.copies + count.unused
    for split in ("train", "dev"):  # of the test reviews words are dropped
        corpus = splits.splits[split]
        some = {own.letters("".join(splits.text(split, i))) for i in range(0, len(corpus), 50)}
        assert some and not found & some
    assert count.in_a_split >= sum(map(len, splits.splits.values()))
    assert cache.prepared_folder(data_home(), own.NAME, own.RULES).name.startswith("vectors-imdb-rules1-spacy")
