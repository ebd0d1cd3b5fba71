"""The book's own word vectors, trained on those IMDB reviews that no split of the book holds."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from zlib import crc32

from filelock import FileLock

import uaftc_lib
from uaftc_lib.datasets import load_dataset
from uaftc_lib.datasets.cache import made_whole, prepared_folder, read_about, tokenizer
from uaftc_lib.datasets.imdb import reviews, words
from uaftc_lib.extras import needs
from uaftc_lib.locations import data_home as find_data_home
from uaftc_lib.progress import progress_bar

NAME, RULES, FILE = "vectors-imdb", 1, "vectors.bin"
TRAINING = {"vector_size": 100, "sg": 1, "window": 5, "negative": 5, "min_count": 5, "epochs": 5, "seed": 0}


@dataclass
class Count:
    """Of all labelled reviews: those that stand in a split, copies of one that came before, and those left."""

    all: int = 0
    in_a_split: int = 0
    copies: int = 0
    unused: int = 0


def letters(text: str) -> str:
    """A text without what parts its words: two reviews that differ in nothing else are one."""
    return "".join(text.split())


def letters_of(splits: uaftc_lib.Dataset) -> set[str]:
    """Those of every text of every split."""
    spelt = [splits.vocabulary.word(i) for i in range(len(splits.vocabulary))]
    found = set()
    for corpus in splits.splits.values():
        tokens, ends = corpus.tokens.tolist(), corpus.offsets.tolist()
        found |= {letters("".join(spelt[i] for i in tokens[a:b])) for a, b in pairwise(ends)}
    return found


def unused_reviews(data_home: Path, splits: uaftc_lib.Dataset, count: Count) -> Iterator[str]:
    """The labelled reviews that no split of the book holds, each text once, as :func:`words` cuts them.

    What a split holds is asked of the split itself, whatever rule made it: a review whose letters are those of one of
    its texts is left out, wherever it comes from. A word that only the test part has is dropped before the comparison,
    as it was when the splits were made. ``count`` is filled while the reviews are read.
    """
    held, known, met = letters_of(splits), set(), set()
    for part in ("train", "test"):
        for review, _ in reviews(data_home, part):
            cut = [word for word in words(review) if word]
            if part == "train":
                known.update(cut)
            count.all += 1
            text = b" ".join(cut).decode("utf-8")
            if letters(b"".join(word for word in cut if word in known).decode("utf-8").lower()) in held:
                count.in_a_split += 1
            elif letters(text) in met:
                count.copies += 1
            else:
                count.unused += 1
                met.add(letters(text))
                yield text


def word_hash(word: str) -> int:
    """Python's own hash of a text differs from process to process."""
    return crc32(word.encode("utf-8"))


def cut_reviews(data_home: Path, splits: uaftc_lib.Dataset, count: Count) -> list[list[str]]:
    """The words of :func:`unused_reviews`, as spaCy cuts them, lower-cased; a token of white space alone is no word."""
    cut = tokenizer()
    bar = progress_bar(unused_reviews(data_home, splits, count), desc="reviews", unit="", delay=3, leave=False)
    return [[token for token in cut(text) if not token.isspace()] for text in bar]


def own_vectors(data_home: str | os.PathLike | None = None) -> Path:
    """The file of the book's own vectors (word2vec format, binary); trained when it is asked for the first time.

    Skip-gram (Mikolov et al., 2013) of 100 numbers on spaCy's tokens, words of at least five occurrences; one thread
    and a fixed seed, so that a machine makes the same vectors again. It lies in a folder of ``prepared``, and beside it
    ``about.json`` says from how many reviews it was made, and how.

    Raises
    ------
    ImportError
        If gensim is not installed, and the vectors are not there yet.
    DataUnavailable
        If IMDB is neither there nor can be downloaded, or spaCy is missing to cut it.
    """
    home = find_data_home(data_home)
    folder = prepared_folder(home, NAME, RULES)
    if folder.exists():
        read_about(folder)  # refuses a damaged one
        return folder / FILE
    with needs("training vectors", ".[vectors]"):
        from gensim.models import Word2Vec
    splits = load_dataset("imdb", home)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if folder.exists():  # another process was quicker
            return folder / FILE
        count, begin = Count(), time.perf_counter()
        texts = cut_reviews(home, splits, count)
        model = Word2Vec(texts, workers=1, hashfxn=word_hash, **TRAINING)
        about = {
            "reviews": vars(count),
            "tokens": sum(map(len, texts)),
            "words": len(model.wv),
            "training": TRAINING,
            "seconds": round(time.perf_counter() - begin, 1),
        }
        with made_whole(folder, about) as place:
            model.wv.save_word2vec_format(str(place / FILE), binary=True)
    return folder / FILE
