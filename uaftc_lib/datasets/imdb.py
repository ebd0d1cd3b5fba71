"""The Large Movie Review Dataset (Maas et al., 2011): the labelled reviews of fewer than 400 words."""

from __future__ import annotations

import string
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import uaftc_lib
from uaftc_lib.datasets import register
from uaftc_lib.datasets.cache import from_texts, prepared, tokenizer
from uaftc_lib.datasets.download import fetch, unpack

ARCHIVE = "aclImdb_v1.tar.gz"
URL = f"https://ai.stanford.edu/~amaas/data/sentiment/{ARCHIVE}"
SHA256 = "c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe"
CLASSES = ("negative", "positive")
REVIEWS = 12_500  # of each class, in each of the two parts
LONGEST = 399
SEED = 1378
RULES = 1

# Keras's filter: all of ASCII's punctuation but the apostrophe, tab and newline become spaces.
_FILTERED = string.punctuation.replace("'", "") + "\t\n"
_TABLE = bytes.maketrans(
    (string.ascii_uppercase + _FILTERED).encode(), (string.ascii_lowercase + " " * len(_FILTERED)).encode()
)


def reviews_folder(data_home: Path) -> Path:
    """The unpacked reviews; the official archive is fetched and unpacked if they are not there."""
    folder = Path(data_home) / "aclImdb"
    if not folder.exists():
        unpack(fetch(URL, data_home, SHA256), folder, lambda name: "/pos/" in name or "/neg/" in name)
    return folder


def reviews(data_home: Path, part: str) -> Iterator[tuple[bytes, int]]:
    """Reviews and labels of "train" or "test", as they are: positive first, file names sorted as strings.

    Raises
    ------
    ValueError
        If there are not 12,500 reviews of each class.
    """
    for label, name in ((1, "pos"), (0, "neg")):
        folder = reviews_folder(data_home) / part / name
        files = sorted(folder.glob("*.txt"), key=lambda file: file.name)
        if len(files) != REVIEWS:
            raise ValueError(
                f"{folder} holds {len(files)} reviews, not {REVIEWS}: delete {folder.parents[1]}, "
                f"and {ARCHIVE} will be unpacked again"
            )
        for file in files:
            yield file.read_bytes(), label


def words(review: bytes) -> list[bytes]:
    """Lower-cased words, as Keras's tokenizer makes them for its copy of this corpus."""
    return review.translate(_TABLE).split(b" ")


def prepare_imdb(data_home: Path) -> uaftc_lib.Dataset:
    """The paper's splits, from Keras's words (those of the training part alone) and spaCy's tokens."""
    tokenize = tokenizer()
    known: set[bytes] = set()

    def part(name: str, share: float) -> Iterator[tuple[list[bytes], list[int]]]:
        """A share of the reviews, and the rest, as scikit-learn's train_test_split draws them."""
        texts, labels = [], []
        for review, label in reviews(data_home, name):
            kept = [word for word in words(review) if word]
            if name == "train":
                known.update(kept)
            else:
                kept = [word for word in kept if word in known]
            if len(kept) <= LONGEST:
                texts.append(b" ".join(kept))
                labels.append(label)
        order = np.random.RandomState(SEED).permutation(len(texts)).tolist()
        rest = len(order) - int(share * len(order))
        for chosen in (order[rest:], order[:rest]):
            yield [texts[i] for i in chosen], [labels[i] for i in chosen]

    def tokens(texts: list[bytes]) -> list[list[str]]:
        return [tokenize(text.decode("utf-8")) for text in texts]

    (train, train_labels), (dev, dev_labels) = part("train", 0.8)
    (test, test_labels), _ = part("test", 0.2)
    texts = {
        "train": (tokens(train), train_labels),
        "dev": (tokens(dev), dev_labels),
        "test": (tokens(test), test_labels),
    }
    return from_texts("imdb", texts, CLASSES, {"source": URL, "rules": RULES, "split_seed": SEED})


@register("imdb")
def load_imdb(data_home: Path) -> uaftc_lib.Dataset:
    """IMDB: reviews of fewer than 400 words; 17,212 for training, 4,304 for dev, 4,363 for the test."""
    return prepared(data_home, "imdb", RULES, lambda: prepare_imdb(data_home))
