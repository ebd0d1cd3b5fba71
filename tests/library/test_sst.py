"""The Stanford Sentiment Treebank: the real one offline, refusals of anything else, downloads."""

import hashlib
import http.server
import io
import shutil
import socket
import threading
import zipfile

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


class Server:
    """A server of one file on this machine, which can fail in several ways."""

    def __init__(self, content):
        self.content, self.fault, self.requests = content, None, 0
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.requests += 1
                body = server.content
                if server.fault == "missing":
                    self.send_error(404)
                    return
                if server.fault == "altered":
                    body = body[:-1] + b"?"
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if server.fault == "truncated" else body)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/{sst.ARCHIVE}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server(monkeypatch):
    """Serves a small archive of the treebank's form, at the address that the library asks."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for split, lines in TREES.items():
            file.writestr(f"trees/{split}.txt", lines)
    server = Server(archive.getvalue())
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(sst, "URL", server.url)
    monkeypatch.setattr(sst, "SHA256", hashlib.sha256(server.content).hexdigest())
    yield server
    server.http.shutdown()
    server.http.server_close()


def test_downloads_once_and_prepares(server, tmp_path):
    home = tmp_path / "new" / "home"
    dataset = load_dataset("sst", data_home=home)
    assert sorted(path.name for path in home.iterdir()) == ["prepared", sst.ARCHIVE]
    assert [dataset.text("train", t) for t in (0, 1)] == [["a", "good"], ["not", "good"]]
    assert dataset.train.labels.tolist() == [1, 0]
    assert dataset.text("dev", 0) == ["it", "s"]
    assert dataset.text("test", 0) == ["bad"]
    assert dataset.test.labels.tolist() == [0]
    assert dataset.vocabulary.words == ("good", "a", "not", "it", "s", "bad")
    load_dataset("sst", data_home=home)
    assert server.requests == 1


@pytest.mark.parametrize(
    "fault, error, words",
    [
        ("truncated", DataUnavailable, "could not be downloaded from http://127.*UAFTC_DATA"),
        ("missing", DataUnavailable, "could not be downloaded.*404"),
        ("altered", ValueError, sst.ARCHIVE),
    ],
)
def test_bad_download_is_named_and_leaves_nothing(server, tmp_path, fault, error, words):
    server.fault = fault
    with pytest.raises(error, match=words):
        load_dataset("sst", data_home=tmp_path)
    assert files(tmp_path) == []
    server.fault = None
    assert len(load_dataset("sst", data_home=tmp_path).train) == 2


def test_unreachable_address(server, tmp_path):
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(DataUnavailable, match=f"{tmp_path / sst.ARCHIVE} is not there"):
        load_dataset("sst", data_home=tmp_path)
