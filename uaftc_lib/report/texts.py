"""From texts to a Dataset: words of any script, a vocabulary of the training part, three splits."""

from __future__ import annotations

import re
import sys
import unicodedata
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Int

from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.report.tables import Refused, Table
from uaftc_lib.streams import stream_seed

MOST_CLASSES, FEWEST_ROWS, FEWEST_OF_CLASS = 50, 100, 5
HELD_OUT = 0.1  # share of each class for dev, and again for test
# Scripts written without spaces: each character is a word.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
PICTOGRAPHS = "\u2600-\u27bf\U0001f000-\U0001faff"


@cache
def word_pattern() -> re.Pattern:
    """Runs of letters, digits and their marks, with apostrophes inside; characters of unspaced scripts and
    pictographs one by one."""
    marks = "".join(c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c)[0] == "M")
    base = rf"[^\W_{UNSPACED}]"
    run = rf"{base}(?:{base}|[{marks}])*"
    return re.compile(rf"{run}(?:'{run})*|[{UNSPACED}{PICTOGRAPHS}]")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case; a typographic apostrophe is an apostrophe."""
    text = text.lower().replace("’", "'")
    return word_pattern().findall(text if text.isascii() else unicodedata.normalize("NFC", text))


@dataclass(frozen=True)
class Prepared:
    """A data set from a file, all of it in one corpus, and for each split the texts of its instances."""

    dataset: Dataset
    whole: Corpus
    texts: dict[str, list[str]]
    rare_words: int


def prepare(table: Table, name: str, seed: int = 0, progress: Callable = iter) -> Prepared:
    """Words, vocabulary and splits of a cleaned table; rows that cannot serve are dropped and counted in it.

    The vocabulary holds the words that occur at least twice in the training part; all others are ``<unk>``.
    Every class is split 80:10:10 at random.

    Raises
    ------
    Refused
        If what is left has fewer than 2 or more than 50 classes, fewer than 100 rows, or no word twice.
    """
    spellings, tokens, lengths = count_words(progress(table.texts))
    kept = keep_rows(table, tokens, lengths)
    check_size(table)
    tokens, lengths = tokens[np.repeat(kept, lengths)], lengths[kept]

    classes = tuple(sorted(set(table.labels)))
    codes = pd.Categorical(table.labels, categories=classes).codes.astype(np.int64)
    rows = split_rows(codes, np.random.default_rng(stream_seed(seed, "data")))
    training = np.repeat(np.isin(np.arange(len(codes)), rows["train"]), lengths)
    counts = np.bincount(tokens[training], minlength=len(spellings))
    by_frequency = np.argsort(-counts, kind="stable")
    frequent = by_frequency[: int((counts >= 2).sum())]
    if not len(frequent):
        raise Refused("no word occurs twice in the training texts: nothing can be learnt about any of them")
    vocabulary = Vocabulary([spellings[i] for i in frequent])
    ids = np.full(len(spellings), vocabulary.unk)
    ids[frequent] = np.arange(len(frequent))
    whole = Corpus(
        tokens=torch.from_numpy(ids[tokens]),
        offsets=torch.from_numpy(np.concatenate([[0], lengths.cumsum()])),
        labels=torch.from_numpy(codes),
        class_count=len(classes),
        classes=classes,
    )
    splits = {split: whole[torch.from_numpy(chosen)] for split, chosen in rows.items()}
    texts = {split: [table.texts[i] for i in chosen] for split, chosen in rows.items()}
    return Prepared(Dataset(name, vocabulary, classes, **splits), whole, texts, len(spellings) - len(frequent))


def keep_rows(
    table: Table, tokens: Int[np.ndarray, "positions"], lengths: Int[np.ndarray, "texts"]
) -> Bool[np.ndarray, "texts"]:
    """Drop, count and mark what cannot serve or would mislead.

    Texts are the same if their words are. A text that occurs again with the same label is kept once, or the test
    would hold what was learnt by heart; one that occurs with different labels is dropped altogether.
    """
    ends = lengths.cumsum().tolist()
    same = [tokens[end - length : end].tobytes() for end, length in zip(ends, lengths.tolist())]
    rows = pd.DataFrame({"words": pd.factorize(np.array(same, dtype=object))[0], "label": table.labels})
    kept = np.ones(len(rows), bool)

    def drop(reason: str, keep: pd.Series) -> None:
        table.drop(reason, keep)
        kept[keep.index[~keep]] = False

    drop("no word in the text", pd.Series(lengths > 0))
    several = rows[kept].groupby("words", sort=False)["label"].transform("nunique") > 1
    drop("the same words under different labels", ~several)
    drop("the same words and label again", ~rows[kept].duplicated("words"))
    sizes = rows[kept].groupby("label")["words"].transform("size")
    drop(f"class of fewer than {FEWEST_OF_CLASS} rows", sizes >= FEWEST_OF_CLASS)
    return kept


def count_words(texts: Iterable[str]) -> tuple[list[str], Int[np.ndarray, "positions"], Int[np.ndarray, "texts"]]:
    """Spellings in order of appearance, the texts as indices into them end to end, and the texts' lengths."""
    ids: dict[str, int] = {}
    tokens, lengths = array("i"), array("i")
    for text in texts:
        before = len(tokens)
        tokens.extend([ids.setdefault(word, len(ids)) for word in words_of(text)])
        lengths.append(len(tokens) - before)
    return list(ids), np.array(tokens, np.int32), np.array(lengths, np.int64)


def split_rows(codes: Int[np.ndarray, "rows"], random: np.random.Generator) -> dict[str, Int[np.ndarray, "chosen"]]:
    """Rows of the three splits in their old order; every class is split alike and has a row in each."""
    order = random.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    parts = {split: [] for split in ("train", "dev", "test")}
    for members in np.split(order, np.bincount(codes).cumsum()[:-1]):
        held_out = max(1, round(HELD_OUT * len(members)))
        parts["dev"].append(members[:held_out])
        parts["test"].append(members[held_out : 2 * held_out])
        parts["train"].append(members[2 * held_out :])
    return {split: np.sort(np.concatenate(rows)) for split, rows in parts.items()}


def check_size(table: Table) -> None:
    """Refuse tables that are too small, or whose labels are no classes."""
    lost = "".join(f"; {rows:,} dropped: {reason}" for reason, rows in table.dropped.items())
    account = f"({table.rows_read:,} rows read{lost})"
    found = sorted(set(table.labels))
    if len(found) < 2:
        seen = f"only the class {found[0]!r}" if found else "no class"
        small = any("class" in reason for reason in table.dropped)
        hint = "; is the label column the right one?" if small else ""
        raise Refused(f"there is {seen} {account}; to tell classes apart takes at least two{hint}")
    if len(found) > MOST_CLASSES:
        raise Refused(
            f"the label column has {len(found):,} classes, at most {MOST_CLASSES} can be explained {account}; "
            f"is it the right column? Its first values: {', '.join(map(repr, found[:5]))}"
        )
    if len(table.texts) < FEWEST_ROWS:
        raise Refused(f"{len(table.texts)} rows are left, at least {FEWEST_ROWS} are needed {account}")
