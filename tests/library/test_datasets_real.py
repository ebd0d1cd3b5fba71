"""The real corpora: Table 1, Table S1, and the cache of prepared corpora."""

import io
import multiprocessing
import os
import pickle
import random
import tarfile
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from uaftc_book.transformers.masked_language_model import NAME as MODEL
from uaftc_book.transformers.masked_language_model import own_transformer
from uaftc_lib import datasets, load_dataset, published, token_types
from uaftc_lib.datasets import cache, imdb, twenty_news
from uaftc_lib.datasets.cache import from_texts, prepared, tokenizer
from uaftc_lib.datasets.download import DataUnavailable, unpack
from uaftc_lib.locations import PAPER_NAMES, data_home
from uaftc_lib.vectors import unused_reviews


@pytest.mark.data("name")
@pytest.mark.parametrize("name", PAPER_NAMES)
def test_class_counts_are_those_of_table_1(name):
    corpora = load_dataset(name)
    table = published("table1").query("dataset == @PAPER_NAMES[@name]")
    assert set(table.split) == {"train", "dev", "test"}
    for split, rows in table.groupby("split"):
        expected = dict(zip(rows["class"], rows["count"]))
        counts = corpora.splits[split].labels.bincount().tolist()
        assert dict(zip(corpora.classes, counts)) == expected


# Of 20News II neither split nor posts are known exactly; IMDB's published vocabulary has 4 types more.
@pytest.mark.data("name")
@pytest.mark.parametrize(
    "name, average, vocabulary",
    [("sst", 17.51, 16174), ("imdb", 183.12, 63307), ("20news-1", 185.31, 17584), ("20news-2", 185.90, 29116)],
)
def test_lengths_and_vocabularies(name, average, vocabulary):
    corpora = load_dataset(name)
    lengths = torch.cat([corpus.lengths for corpus in corpora.splits.values()]).double()
    assert float(lengths.mean()) == pytest.approx(average, abs=0.005)
    assert len(corpora.vocabulary) == vocabulary


@pytest.mark.data("name")
@pytest.mark.parametrize(
    "name, expected",
    [
        ("sst", {"positive": 412, "negative": 265, "neutral": 1384}),
        ("imdb", {"positive": 2163, "negative": 1900, "neutral": 5969}),  # published: 5968 neutral
        ("20news-1", {"positive": 957, "negative": 557, "neutral": 1011}),
    ],
)
def test_token_types_are_those_of_table_s1(name, expected):
    corpora = load_dataset(name)
    found = token_types(corpora.train, corpora.vocabulary)
    assert {kind: len(ids) for kind, ids in found.items()} == expected


@pytest.mark.data("20news-2")
def test_token_types_of_three_classes_come_near_table_s1():
    corpora = load_dataset("20news-2")
    found = token_types(corpora.train, corpora.vocabulary)
    assert list(found) == [*corpora.classes, "neutral"]
    table = published("token_types").query("dataset == '20News II'").set_index("token_type")["count"]
    for kind, ids in found.items():
        assert 2 / 3 < len(ids) / table[kind] < 3 / 2


@pytest.mark.data("20news-2")
def test_20news_2_can_be_split_otherwise():
    usual = load_dataset("20news-2")
    other = load_dataset("20news-2", split_seed=1)
    for split, corpus in other.splits.items():
        assert corpus.labels.bincount().tolist() == usual.splits[split].labels.bincount().tolist()
    longest = [sorted(part.test.lengths.tolist())[-5:] for part in (usual, other)]
    assert longest[0] != longest[1], "other posts are in the test set"
    everything = [torch.cat([corpus.lengths for corpus in part.splits.values()]) for part in (usual, other)]
    assert torch.equal(*(lengths.sort().values for lengths in everything)), "and the posts are the same"
    with pytest.raises(ValueError, match="split_seed"):
        load_dataset("20news-2", split_seed=-1)


@pytest.mark.data("imdb")
def test_imdb_begins_with_the_reviews_known_from_keras():
    if not (data_home() / "aclImdb").exists():
        pytest.skip("IMDB is there prepared, its reviews are not")
    texts = [imdb.words(review) for review, _ in imdb.reviews(data_home(), "train")]
    lengths = np.array([sum(map(bool, text)) for text in texts])
    # Keras shuffles with this seed and puts a start token before each review.
    order = np.random.RandomState(113).permutation(len(lengths))
    assert (lengths[order[:5]] + 1).tolist() == [218, 189, 141, 550, 147]


def small_dataset():
    texts = {
        "train": ([["a", "good", "film"], ["a", "bad", "film"]], [1, 0]),
        "dev": ([["good"]], [1]),
        "test": ([["bad", "\u2028", "line"]], [0]),
    }
    return from_texts("small", texts, ("negative", "positive"), {"source": "test"})


def same(one, other):
    assert one.name == other.name and one.classes == other.classes and one.provenance == other.provenance
    assert one.vocabulary.words == other.vocabulary.words
    assert list(one.splits) == list(other.splits)
    for split, corpus in one.splits.items():
        for array in cache.ARRAYS:
            assert torch.equal(getattr(corpus, array), getattr(other.splits[split], array))


def test_a_prepared_corpus_is_prepared_once_and_comes_back_the_same(tmp_path):
    calls = []

    def prepare():
        calls.append(1)
        return small_dataset()

    first, second = (prepared(tmp_path, "small", 1, prepare) for _ in range(2))
    assert len(calls) == 1
    same(first, small_dataset())
    same(second, small_dataset())
    prepared(tmp_path, "small", 2, prepare)
    assert len(calls) == 2, "other rules must not read the old corpus"


def test_a_loaded_corpus_cannot_change_the_stored_one(tmp_path):
    prepared(tmp_path, "small", 1, small_dataset).train.tokens[:] = 0
    same(prepared(tmp_path, "small", 1, small_dataset), small_dataset())


def test_a_failed_preparation_leaves_nothing_behind(tmp_path, monkeypatch):
    """Nor a lock: the same process may try again."""
    monkeypatch.setattr(cache.json, "dumps", lambda *args, **options: 1 / 0)
    kept = []  # as a notebook keeps the last exception, and with it what was open
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as failure:
            prepared(tmp_path, "small", 1, small_dataset)
        kept.append(failure.value)
    assert [path.suffix for path in (tmp_path / "prepared").iterdir()] in ([], [".lock"])
    monkeypatch.undo()
    same(prepared(tmp_path, "small", 1, small_dataset), small_dataset())


HARM = [Path.unlink, *(partial(Path.write_bytes, data=content) for content in (b"", b"3", b"[]", b"{}"))]


@pytest.mark.parametrize("name", ["train.tokens.npy", "about.json", "words.json"])
@pytest.mark.parametrize("harm", HARM)
def test_damage_is_noticed_and_named(tmp_path, name, harm):
    prepared(tmp_path, "small", 1, small_dataset)
    (file,) = (tmp_path / "prepared").glob(f"*/{name}")
    harm(file)
    with pytest.raises(ValueError, match="small-rules1.*damaged.*delete"):
        prepared(tmp_path, "small", 1, small_dataset)


def test_every_flipped_bit_is_noticed(tmp_path):
    prepared(tmp_path, "small", 1, small_dataset)
    (folder,) = (path for path in (tmp_path / "prepared").iterdir() if path.is_dir())
    draws = random.Random(0)
    for file in sorted(folder.iterdir()):
        whole = file.read_bytes()
        for _ in range(40):
            bits = bytearray(whole)
            bits[draws.randrange(len(bits))] ^= 1 << draws.randrange(8)
            file.write_bytes(bits)
            with pytest.raises(ValueError, match="damaged.*delete"):
                cache.read_prepared(folder)
        file.write_bytes(whole)
    same(cache.read_prepared(folder), small_dataset())


def test_what_else_is_prepared_is_checked_too(tmp_path):
    """The book's own vectors and its transformer, for which nothing is computed here."""
    for name, load in ((unused_reviews.NAME, unused_reviews.own_vectors), (MODEL, own_transformer)):
        folder = cache.prepared_folder(tmp_path, name, 1)
        folder.parent.mkdir(exist_ok=True)
        with cache.made_whole(folder, {"words": 2}) as place:
            (place / "vectors.bin").write_bytes(b"numbers")
        assert load(tmp_path).exists()
        (folder / "vectors.bin").write_bytes(b"nvmbers")
        with pytest.raises(ValueError, match=f"{name}.*damaged .vectors.bin is not as it was written"):
            load(tmp_path)


class Running:
    """A pickle of it runs a command when it is opened."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


def test_an_archive_of_20_newsgroups_is_opened_only_if_it_is_known(tmp_path, monkeypatch):
    def offline(*_, **__):
        raise OSError("no network")

    archive, mark = tmp_path / twenty_news.ARCHIVE, tmp_path / "ran"
    for content in (b"half of it", zlib.compress(pickle.dumps(Running(mark)))):
        archive.write_bytes(content)
        with pytest.raises(ValueError, match=f"{archive.name} is not opened: its sha256 is .*Delete it"):
            twenty_news.posts(tmp_path, twenty_news.SPORTS)
    assert not mark.exists()
    archive.unlink()
    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", offline)
    with pytest.raises(DataUnavailable, match="20 Newsgroups is not in"):
        twenty_news.posts(tmp_path, twenty_news.SPORTS)


def test_without_a_writable_home_it_is_prepared_each_time(tmp_path):
    (tmp_path / "file").touch()
    with pytest.warns(UserWarning, match="anew"):
        same(prepared(tmp_path / "file", "small", 1, small_dataset), small_dataset())


def count_preparations(home, start, made):
    def prepare():
        with made.get_lock():
            made.value += 1
        return small_dataset()

    start.wait()
    same(prepared(home, "small", 1, prepare), small_dataset())


def test_two_processes_at_once_prepare_it_once(tmp_path):
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["uaftc_lib.datasets"])
    start, made = processes.Barrier(2, timeout=60), processes.Value("i", 0)
    pair = [processes.Process(target=count_preparations, args=(tmp_path, start, made)) for _ in range(2)]
    for process in pair:
        process.start()
    for process in pair:
        process.join()
    assert [process.exitcode for process in pair] == [0, 0]
    assert made.value == 1


def test_a_broken_file_of_a_data_set_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "__path__", [*datasets.__path__, str(tmp_path)])
    (tmp_path / "broken.py").write_text("@register('x')\ndef load(): ...\n")
    with pytest.raises(ValueError, match="broken.py cannot be imported .NameError: name 'register'"):
        load_dataset("x")
    assert len(load_dataset("synthetic-1").train) == 12_000, "the others must not suffer"


def archive(path, *members):
    with tarfile.open(path, "w:gz") as tar:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.size = kind, len(content)
            member.linkname = "/etc/hostname" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            tar.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize(
    "name, kind",
    [
        ("corpus/../../outside.txt", tarfile.REGTYPE),
        ("/outside.txt", tarfile.REGTYPE),
        ("outside.txt", tarfile.REGTYPE),
        ("corpus/link", tarfile.SYMTYPE),
        ("corpus/link", tarfile.LNKTYPE),
        ("corpus/device", tarfile.CHRTYPE),
        ("corpus/pipe", tarfile.FIFOTYPE),
    ],
)
def test_an_archive_that_reaches_out_is_refused_whole(tmp_path, name, kind):
    home = tmp_path / "home"
    home.mkdir()
    bad = archive(tmp_path / "bad.tar.gz", ("corpus/a.txt", tarfile.REGTYPE, b"a"), (name, kind, b""))
    with pytest.raises(ValueError, match="refused"):
        unpack(bad, home / "corpus")
    assert list(home.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"home", "bad.tar.gz"}


def test_imdb_unpacks_the_labelled_reviews_and_nothing_else(tmp_path, monkeypatch):
    members = [
        (f"aclImdb/{part}/{kind}/{i}_7.txt", tarfile.REGTYPE, f"{part} {kind} {i}".encode())
        for part in ("train", "test")
        for kind in ("pos", "neg", "unsup")
        for i in range(2)
    ]
    made = archive(tmp_path / "aclImdb_v1.tar.gz", *members)
    monkeypatch.setattr(imdb, "fetch", lambda *args: made)
    monkeypatch.setattr(imdb, "REVIEWS", 2)
    assert [text for text, _ in imdb.reviews(tmp_path, "test")] == [
        b"test pos 0",
        b"test pos 1",
        b"test neg 0",
        b"test neg 1",
    ]
    assert not (tmp_path / "aclImdb" / "train" / "unsup").exists()
    (tmp_path / "aclImdb/test/neg/0_7.txt").unlink()
    with pytest.raises(ValueError, match="holds 1 reviews, not 2"):
        list(imdb.reviews(tmp_path, "test"))


@pytest.mark.parametrize(
    "text",
    [
        "he's he 's it can't cannot dont Don't o'clock a' b",
        "a pair'' ''their",
        "two  spaces",
        " before",
        "a\u00a0b c",
        "a\tb",
        "x : ) :-) i . e . u.s.a. 3km don't-stop rock'n'roll Straße ΑΣ",
        "",
    ],
)
def test_pieces_that_are_cut_once_give_the_tokens_that_spacy_gives(text):
    spacy = pytest.importorskip("spacy")
    tokens = [token.lower_ for token in spacy.blank("en").tokenizer(text)]
    assert tokenizer()(text) == tokens
    words = f"the film {text} was fine".split(" ")
    assert tokenizer()(" ".join(words)) == [token.lower_ for token in spacy.blank("en").tokenizer(" ".join(words))]
