"""Prepared corpora on disk: made once, memory-mapped afterwards.

A prepared data set is a folder of plain arrays (``.npy``, read without pickle) and two JSON files, so that
loading it can execute nothing. It is written beside its final place and renamed, so that it is there whole
or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import torch
from filelock import FileLock

from uaftc_lib.corpus import Corpus, Dataset, Vocabulary

ARRAYS = ("tokens", "offsets", "labels")
Texts = dict[str, tuple[Sequence[Sequence[str]], Sequence[int]]]


def from_texts(name: str, texts: Texts, classes: tuple[str, ...], provenance: dict) -> Dataset:
    """A data set from tokenised texts and labels by split; the vocabulary is of all splits together."""
    vocabulary = Vocabulary.from_texts(text for split, _ in texts.values() for text in split)
    corpora = {
        split: Corpus.from_lists([vocabulary.encode(text) for text in split_texts], labels, len(classes), classes)
        for split, (split_texts, labels) in texts.items()
    }
    return Dataset(name, vocabulary, classes, **corpora, provenance=provenance)


def prepared(data_home: Path, name: str, rules: int, prepare: Callable[[], Dataset]) -> Dataset:
    """The data set ``name`` from the data home; ``prepare()`` makes it if it has not been prepared before.

    The folder is ``prepared/NAME-rulesRULES-spacyVERSION``: other rules or another tokenizer never meet. An
    archive that changes goes unnoticed: what is read again each time needs no cache (:func:`from_texts`).
    Processes that want the same data set at once wait for the first. Where the data home cannot be written,
    the data set is prepared anew each time, and a warning says so.

    Raises
    ------
    ValueError
        If what was stored is damaged; the message names the folder to delete.
    """
    folder = Path(data_home) / "prepared" / f"{name}-rules{rules}-spacy{version('spacy')}"
    if folder.exists():
        return load(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.with_name(folder.name + ".lock"))
        lock.acquire()
    except OSError as error:
        warnings.warn(f"{name} is prepared anew each time: {folder.parent} cannot be written ({error})", stacklevel=2)
        return prepare()
    with lock:
        if not folder.exists():
            store(prepare(), folder)
    return load(folder)


def store(dataset: Dataset, folder: Path) -> None:
    """Write a prepared data set; ``folder`` appears complete, or not at all."""
    for left_over in folder.parent.glob(f".{folder.name}.*"):
        shutil.rmtree(left_over, ignore_errors=True)
    temporary = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for split, corpus in dataset.splits.items():
            for array in ARRAYS:
                np.save(temporary / f"{split}.{array}.npy", getattr(corpus, array).numpy(), allow_pickle=False)
        about = {
            "name": dataset.name,
            "splits": list(dataset.splits),
            "classes": dataset.classes,
            "provenance": dataset.provenance,
        }
        (temporary / "about.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
        (temporary / "words.json").write_text(json.dumps(dataset.vocabulary.words), encoding="utf-8")
        for file in temporary.iterdir():  # on the disk before its name is, so that no crash leaves it half
            with file.open("rb+") as written:
                os.fsync(written.fileno())
        temporary.chmod(0o755)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load(folder: Path) -> Dataset:
    """A stored data set. Its arrays are memory-mapped: copies on write, the files never change.

    Raises
    ------
    ValueError
        If a file is missing or damaged.
    """
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
        classes = tuple(about["classes"])

        def corpus(split: str) -> Corpus:
            arrays = {
                name: torch.from_numpy(np.load(folder / f"{split}.{name}.npy", mmap_mode="c", allow_pickle=False))
                for name in ARRAYS
            }
            return Corpus(**arrays, class_count=len(classes), classes=classes)

        corpora = {split: corpus(split) for split in about["splits"]}
        return Dataset(about["name"], Vocabulary(words), classes, **corpora, provenance=about["provenance"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError) as error:
        raise ValueError(f"the prepared corpus {folder} is damaged ({error}): delete this folder") from error
