"""The Stanford Sentiment Treebank: the real one offline, refusals of anything else, downloads."""

import hashlib
import http.server
import shutil
import socket
import threading
import zipfile
from functools import partial

import pytest
import torch

from uaftc_book.real_scores import word_ratings
from uaftc_lib import load_dataset
from uaftc_lib.datasets import sst
from uaftc_lib.datasets.download import DataUnavailable
from uaftc_lib.locations import data_home

TREES = {
    "train": "(3 (2 A) (4 (3 -LRB-) (4 Good)))\n(2 (2 Plain) (2 film))\n(1 (2 Not) (3 good))\n",
    "dev": "(4 (2 It) (2 's))\n",
    "test": "(0 (0 Bad) (2 -RRB-))\n",
}


@pytest.fixture
def real():
    return load_dataset("sst")


@pytest.mark.data("sst")
def test_ids_by_falling_frequency_over_all_splits(real):
    tokens = torch.cat([corpus.tokens for corpus in real.splits.values()])
    counts = torch.bincount(tokens, minlength=len(real.vocabulary))
    assert (counts.diff() <= 0).all()
    assert counts[-3:].tolist() == [0, 0, 0]
    assert counts[-4] > 0


@pytest.mark.data("sst")
def test_people_rated_single_words(real):
    ratings = word_ratings(data_home()).set_index("word")
    assert ratings["rating"].between(0, 4).all()
    assert ratings.loc["good", "rating"] > 2.5 > 1.5 > ratings.loc["bad", "rating"]
    assert len(set(ratings.index) & set(real.vocabulary.words)) > 15_000


def files(folder):
    """The files that a refusal may leave behind are the locks of other processes, no more."""
    return [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]


def no_network(*_):
    raise AssertionError("the network was asked")


@pytest.mark.data("sst")
def test_archive_that_is_there_needs_no_network(real, tmp_path, monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", no_network)
    shutil.copy(data_home() / sst.ARCHIVE, tmp_path)
    fresh = load_dataset("sst", data_home=tmp_path)
    assert torch.equal(fresh.train.tokens, real.train.tokens)
    assert fresh.vocabulary.words == real.vocabulary.words


@pytest.mark.data("sst")
@pytest.mark.parametrize("damage", ["truncated", "altered", "empty"])
def test_damaged_archive_is_refused_and_named(real, tmp_path, monkeypatch, damage):
    monkeypatch.setattr(socket.socket, "connect", no_network)
    path = tmp_path / sst.ARCHIVE
    shutil.copy(data_home() / sst.ARCHIVE, path)
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes({"truncated": content[:-1000], "altered": content, "empty": b""}[damage])
    with pytest.raises(ValueError, match=f"{path} is truncated or altered.*Delete it"):
        load_dataset("sst", data_home=tmp_path)
    assert files(tmp_path) == [path]


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a file, or the first bytes of it."""

    most = None

    def copyfile(self, source, outputfile):
        outputfile.write(source.read()[: self.most])

    def log_message(self, *_):
        pass


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A small archive of the treebank's form, served at the address that the library asks."""
    file = tmp_path / "served" / sst.ARCHIVE
    file.parent.mkdir()
    with zipfile.ZipFile(file, "w") as archive:
        for split, lines in TREES.items():
            archive.writestr(f"trees/{split}.txt", lines)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=file.parent)) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(sst, "URL", f"http://127.0.0.1:{server.server_port}/{sst.ARCHIVE}")
        monkeypatch.setattr(sst, "SHA256", hashlib.sha256(file.read_bytes()).hexdigest())
        yield file
        server.shutdown()


def test_downloads_once_and_prepares(served, tmp_path):
    home = tmp_path / "new" / "home"
    dataset = load_dataset("sst", data_home=home)
    assert sorted(path.name for path in home.iterdir()) == ["prepared", sst.ARCHIVE]
    assert [dataset.text("train", t) for t in (0, 1)] == [["a", "good"], ["not", "good"]]
    assert dataset.train.labels.tolist() == [1, 0]
    assert dataset.text("dev", 0) == ["it", "s"]
    assert dataset.text("test", 0) == ["bad"]
    assert dataset.test.labels.tolist() == [0]
    assert dataset.vocabulary.words == ("good", "a", "not", "it", "s", "bad")
    served.unlink()
    load_dataset("sst", data_home=home)


@pytest.mark.parametrize(
    "fault, error, words",
    [
        ("truncated", DataUnavailable, "could not be downloaded from http://127.*UAFTC_DATA"),
        ("missing", DataUnavailable, "could not be downloaded.*404"),
        ("altered", ValueError, sst.ARCHIVE),
    ],
)
def test_bad_download_is_named_and_leaves_nothing(served, tmp_path, monkeypatch, fault, error, words):
    whole, home = served.read_bytes(), tmp_path / "home"
    with monkeypatch.context() as patch:
        if fault == "missing":
            served.unlink()
        elif fault == "altered":
            served.write_bytes(whole[:-1] + b"?")
        else:
            patch.setattr(Handler, "most", len(whole) // 2)
        with pytest.raises(error, match=words):
            load_dataset("sst", data_home=home)
    assert files(home) == []
    served.write_bytes(whole)
    assert len(load_dataset("sst", data_home=home).train) == 2


def test_unreachable_address(tmp_path, monkeypatch):
    monkeypatch.setattr(sst, "URL", f"http://127.0.0.1:9/{sst.ARCHIVE}")
    with pytest.raises(DataUnavailable, match=f"{tmp_path / sst.ARCHIVE} is not there"):
        load_dataset("sst", data_home=tmp_path)
