"""Prepared corpora on disk: made once, memory-mapped afterwards.

A prepared data set is a folder of plain arrays (``.npy``, read without pickle) and two JSON files, so that
loading it can execute nothing. It is written beside its final place and renamed, so that it is there whole
or not at all. about.json holds the sha256 of every file, and each is checked when the data set is loaded.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path

import numpy as np
from filelock import FileLock

import uaftc_lib
from uaftc_lib import files
from uaftc_lib.datasets.download import DataUnavailable
from uaftc_lib.extras import needs

ARRAYS = ("tokens", "offsets", "labels")
SIGNS = re.compile(r"[^\w\s] [^\w\s]")
Texts = dict[str, tuple[Sequence[Sequence[str]], Sequence[int]]]


def from_texts(name: str, texts: Texts, classes: tuple[str, ...], provenance: dict) -> uaftc_lib.Dataset:
    """A data set from tokenised texts and labels by split; the vocabulary is of all splits together."""
    import torch  # whoever asks for the options of a data set need not wait for it

    vocabulary = uaftc_lib.Vocabulary.from_texts(text for split, _ in texts.values() for text in split)
    ids = {word: i for i, word in enumerate(vocabulary.words)}

    def corpus(words: Sequence[Sequence[str]], labels: Sequence[int]) -> uaftc_lib.Corpus:
        offsets = np.cumsum([0, *map(len, words)])
        tokens = np.fromiter(map(ids.__getitem__, chain.from_iterable(words)), np.int64, offsets[-1])
        return uaftc_lib.Corpus(*map(torch.from_numpy, (tokens, offsets, np.array(labels))), len(classes), classes)

    corpora = {split: corpus(*part) for split, part in texts.items()}
    return uaftc_lib.Dataset(name, vocabulary, classes, **corpora, provenance=provenance)


def tokenizer() -> Callable[[str], list[str]]:
    """What cuts a text into lower-cased tokens as spaCy's blank English tokenizer does, which the paper's corpora need.

    spaCy cuts what stands between spaces piece by piece, so we cut each piece once and remember its tokens. As a whole
    it cuts a text that has other white space than single spaces, or a sign on either side of a space: special cases,
    such as :-), can reach over the space.

    Raises
    ------
    DataUnavailable
        If spaCy is not installed.
    """
    with needs("preparing this data set", error=DataUnavailable):
        from spacy.lang.en import English  # imports slowly, and only preparation needs it
    spacy = English().tokenizer
    cases = set(spacy.rules)

    def whole(text: str) -> list[str]:
        return [token.lower_ for token in spacy(text)]

    @cache
    def cut(piece: str) -> list[str] | None:
        if not piece or any(map(str.isspace, piece)):
            return None
        if piece.isalpha() and piece not in cases:  # no sign stands in it at which spaCy cuts
            return [piece.lower()]
        return whole(piece)

    def tokens(text: str) -> list[str]:
        pieces = [None] if SIGNS.search(text) else list(map(cut, text.split(" ")))
        return whole(text) if None in pieces else list(chain.from_iterable(pieces))

    return tokens


def prepared_folder(data_home: Path, name: str, rules: int) -> Path:
    """Where a prepared data set belongs; without spaCy, where the only one lies that was prepared before.

    Raises
    ------
    DataUnavailable
        If spaCy is not installed, and not exactly one version of it has prepared the data set here.
    """
    folder, stem = Path(data_home) / "prepared", f"{name}-rules{rules}-spacy"
    with needs(f"preparing {name}", error=DataUnavailable):
        try:
            return folder / f"{stem}{version('spacy')}"
        except PackageNotFoundError:
            found = [each for each in folder.glob(f"{stem}*") if each.is_dir()]
            if len(found) != 1:
                raise
            return found[0]


def prepared(data_home: Path, name: str, rules: int, prepare: Callable[[], uaftc_lib.Dataset]) -> uaftc_lib.Dataset:
    """The data set ``name`` from the data home; ``prepare()`` makes it if it has not been prepared before.

    The folder is ``prepared/NAME-rulesRULES-spacyVERSION``: other rules or another tokenizer never meet. An
    archive that changes goes unnoticed: what is read again each time needs no cache (:func:`from_texts`).
    Processes that want the same data set at once wait for the first. Where the data home cannot be written,
    the data set is prepared anew each time, and a warning says so.

    Raises
    ------
    ValueError
        If what was stored is damaged; the message names the folder to delete.
    DataUnavailable
        If it has not been prepared before, and spaCy is not installed.
    """
    folder = prepared_folder(data_home, name, rules)
    if folder.exists():
        return read_prepared(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(folder.with_name(folder.name + ".lock")).acquire()
    except OSError as error:
        warnings.warn(f"{name} is prepared anew each time: {folder.parent} cannot be written ({error})", stacklevel=2)
        return prepare()
    with held:
        if not folder.exists():
            write_prepared(prepare(), folder)
    return read_prepared(folder)


def sha256(content: bytes) -> str:
    """The digest of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def read_about(folder: Path) -> dict:
    """What about.json says of a folder that :func:`made_whole` made, all of whose files are as they were written.

    Raises
    ------
    ValueError
        If a file is missing or altered.
    """
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        digests = about.pop("sha256")
        known = {name: sha256((folder / name).read_bytes()) for name in digests}
        known["about.json"] = sha256(json.dumps(about).encode())
        if altered := [name for name in digests if digests[name] != known[name]]:
            raise ValueError(f"{', '.join(altered)} is not as it was written")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{folder} is damaged ({error}): delete this folder, and it will be made again") from error
    return about


@contextmanager
def made_whole(folder: Path, about: dict) -> Iterator[Path]:
    """A place whose files are in ``folder`` once all are written, with ``about`` as about.json: all there, or none."""
    with files.whole_folder(folder) as place:
        yield place
        digests = {file.name: sha256(file.read_bytes()) for file in sorted(place.iterdir())}
        digests["about.json"] = sha256(json.dumps(about).encode())
        files.write(place / "about.json", json.dumps(about | {"sha256": digests}, indent=1))


def write_prepared(dataset: uaftc_lib.Dataset, folder: Path) -> None:
    """Write a prepared data set; ``folder`` appears complete, or not at all."""
    about = {name: getattr(dataset, name) for name in ("name", "classes", "provenance")}
    with made_whole(folder, about | {"splits": list(dataset.splits)}) as place:
        for split, corpus in dataset.splits.items():
            for array in ARRAYS:
                content = io.BytesIO()
                np.save(content, getattr(corpus, array).numpy(), allow_pickle=False)
                files.write(place / f"{split}.{array}.npy", content.getvalue())
        files.write(place / "words.json", json.dumps(dataset.vocabulary.words))


def read_prepared(folder: Path) -> uaftc_lib.Dataset:
    """A stored data set. Its arrays are memory-mapped: copies on write, the files never change.

    Raises
    ------
    ValueError
        If a file is missing or damaged.
    """
    import torch  # as above

    about = read_about(folder)
    classes = tuple(about["classes"])

    def corpus(split: str) -> uaftc_lib.Corpus:
        arrays = {
            name: torch.from_numpy(np.load(folder / f"{split}.{name}.npy", mmap_mode="c", allow_pickle=False))
            for name in ARRAYS
        }
        return uaftc_lib.Corpus(**arrays, class_count=len(classes), classes=classes)

    corpora = {split: corpus(split) for split in about["splits"]}
    vocabulary = uaftc_lib.Vocabulary(json.loads((folder / "words.json").read_text(encoding="utf-8")))
    return uaftc_lib.Dataset(about["name"], vocabulary, classes, **corpora, provenance=about["provenance"])
