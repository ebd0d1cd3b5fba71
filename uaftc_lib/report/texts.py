"""From a table to what is trained on: a vocabulary, a corpus, and which texts stay on one side of every split."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Int

from uaftc_lib.corpus import Corpus, Vocabulary
from uaftc_lib.report.copies import clusters, near_copies, same_words, words_hash
from uaftc_lib.report.request import Refused
from uaftc_lib.report.tables import Table
from uaftc_lib.report.words import HAS_UNSPACED, Cutter

MOST_CLASSES, FEWEST_ROWS, FEWEST_OF_CLASS, FEWEST_TESTED = 50, 100, 5, 10
LATEST = 0.2  # share of the texts that is tested under --time
TRAINED = ("train", "training", "dev", "val", "valid", "validation", "development")
TESTED = ("test", "testing", "eval", "evaluation", "holdout", "held-out")


@dataclass(frozen=True)
class Prepared:
    """All rows that are kept, as they are trained on.

    Attributes
    ----------
    whole : Corpus
        Words that are in one row only are ``<unk>``.
    vocabulary : Vocabulary
    classes : tuple of str
    texts : list of str
        As they stand in the file.
    rows : Int[np.ndarray, "texts"]
        The numbers of their rows there.
    cluster : Int[np.ndarray, "texts"]
        Texts of one cluster (near-copies, and what --group joins) stay on one side of every split.
    test : Bool[np.ndarray, "texts"] or None
        What alone is tested, where --split or --time says it.
    rare_words : int
    copies : dict
        near: texts that have a near-copy; clusters: into how many clusters they fall.
    """

    whole: Corpus
    vocabulary: Vocabulary
    classes: tuple[str, ...]
    texts: list[str]
    rows: Int[np.ndarray, "texts"]
    cluster: Int[np.ndarray, "texts"]
    test: Bool[np.ndarray, "texts"] | None
    rare_words: int
    copies: dict[str, int]


def prepare(table: Table, cutter: Cutter, progress: Callable = iter) -> Prepared:
    """Words, vocabulary and clusters of a table; rows that cannot serve are dropped and counted in it.

    Raises
    ------
    Refused
        If what is left has fewer than 2 or more than 50 classes, fewer than 100 rows, or no word in two of them, or if
        the column of --split or --time does not say what is tested.
    """
    table.rows = table.rows.reset_index(drop=True)
    test = side_of(table)
    spellings, tokens, lengths = count_words(progress(table.rows["text"]), cutter)
    table.notes += unspaced(table, cutter)
    words = words_hash(tokens, lengths)
    table.drop("no word in the text", lengths > 0)
    kept = table.rows.index
    same_words(table, words[kept], order_of(table, test)[kept])
    tokens, lengths = (
        tokens[np.repeat(np.isin(np.arange(len(lengths)), table.rows.index), lengths)],
        lengths[table.rows.index],
    )
    test = latest(table) if "time" in table.rows else None if test is None else test[table.rows.index]
    table.rows = table.rows.reset_index(drop=True)

    near = near_copies(tokens, lengths, spellings)
    cluster = clusters(near, table.rows.get("group"))
    kept = keep_rows(table, cluster, test)
    check_size(table, test[kept] if test is not None else None)
    tokens, lengths = tokens[np.repeat(kept, lengths)], lengths[kept]
    near, cluster, test = (
        near[kept],
        np.unique(cluster[kept], return_inverse=True)[1],
        None if test is None else test[kept],
    )

    classes = tuple(sorted(table.rows["label"].unique()))
    vocabulary, ids = vocabulary_of(spellings, tokens, lengths)
    whole = Corpus(
        tokens=torch.from_numpy(ids[tokens]),
        offsets=torch.from_numpy(np.concatenate([[0], lengths.cumsum()])),
        labels=torch.from_numpy(pd.Categorical(table.rows["label"], categories=classes).codes.astype(np.int64)),
        class_count=len(classes),
        classes=classes,
    )
    sizes = np.bincount(near)
    return Prepared(
        whole,
        vocabulary,
        classes,
        list(table.rows["text"]),
        table.rows["row"].to_numpy(),
        cluster,
        test,
        len(np.unique(tokens)) - vocabulary.word_count,
        {"near": int(sizes[sizes > 1].sum()), "clusters": int((sizes > 1).sum())},
    )


class Numbers(dict):
    """A number for each word, in the order in which they are asked for."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


def count_words(
    texts: Iterable[str], cutter: Cutter
) -> tuple[list[str], Int[np.ndarray, "positions"], Int[np.ndarray, "texts"]]:
    """Spellings in order of appearance, the texts as indices into them end to end, and the texts' lengths."""
    ids = Numbers()
    tokens, lengths = array("i"), array("i")
    for text in texts:
        before = len(tokens)
        tokens.extend(map(ids.__getitem__, cutter.words(text)))
        lengths.append(len(tokens) - before)
    return list(ids), np.array(tokens, np.int64), np.array(lengths, np.int64)


def vocabulary_of(
    spellings: list[str], tokens: Int[np.ndarray, "positions"], lengths: Int[np.ndarray, "texts"]
) -> tuple[Vocabulary, Int[np.ndarray, "spellings"]]:
    """The words that are in two rows or more, by falling frequency, and the id of every spelling."""
    text = np.repeat(np.arange(len(lengths)), lengths)
    first, last = np.zeros(len(spellings), np.int64), np.zeros(len(spellings), np.int64)
    last[tokens] = text  # the last one assigned stays
    first[tokens[::-1]] = text[::-1]
    counts = np.where(first != last, np.bincount(tokens, minlength=len(spellings)), 0)
    frequent = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    if not len(frequent):
        raise Refused("no word occurs in two texts: nothing can be learnt about any of them")
    vocabulary = Vocabulary([spellings[i] for i in frequent])
    ids = np.full(len(spellings), vocabulary.unk)
    ids[frequent] = np.arange(len(frequent))
    return vocabulary, ids


def unspaced(table: Table, cutter: Cutter) -> list[str]:
    """How much text is in scripts without spaces, where these are cut into characters."""
    texts = table.rows["text"]
    found = sum(not text.isascii() and bool(HAS_UNSPACED.search(text)) for text in texts)
    if cutter.how != "rule" or not found:
        return []
    return [
        f"{found:,} texts hold text in a script without spaces, such as Chinese, Japanese or Thai: each of its "
        "characters counts as a word. To see words, put spaces between them and give --words spaces, or give --words "
        "spacy:LANGUAGE, such as spacy:ja"
    ]


def side_of(table: Table) -> Bool[np.ndarray, "texts"] | None:
    """Which rows the column of --split gives to the test."""
    if "split" not in table.rows:
        return None
    side = table.rows["split"].str.casefold()
    if len(strange := table.rows["split"][~side.isin(TRAINED + TESTED)].unique()):
        named = ", ".join(map(repr, strange[:5])) + (" ..." if len(strange) > 5 else "")
        raise Refused(
            f"the column of --split holds {named}; it can hold {', '.join(TESTED)} (tested) and {', '.join(TRAINED)} "
            "(learnt from)"
        )
    test = side.isin(TESTED).to_numpy()
    if test.all() or not test.any():
        lacking = "learnt from" if test.all() else "tested"
        raise Refused(
            f"by the column of --split no row is {lacking}: its values are {', '.join(map(repr, table.rows['split'].unique()))}"
        )
    return test


def order_of(table: Table, test: np.ndarray | None) -> np.ndarray:
    """Which of several copies is kept: one that is learnt from, the earliest, the first in the file."""
    count = table.rows.index.max() + 1 if len(table.rows) else 0
    if "time" in table.rows:
        rank = np.zeros(count)
        rank[table.rows.index] = table.rows["time"].rank(method="dense")
        return rank
    return np.zeros(count) if test is None else test


def latest(table: Table) -> Bool[np.ndarray, "texts"]:
    """The latest fifth of the rows, or what comes nearest to it: rows of one time stay together."""
    times = table.rows["time"]
    share = times.value_counts().sort_index(ascending=False).cumsum() / max(1, len(times))
    share = share[share < 1]
    if not len(share):
        raise Refused("the column of --time holds one time only: nothing in it is later than the rest")
    begin = (share - LATEST).abs().idxmin()
    table.notes.append(f"Times run from {times.min()} to {times.max()}; the texts from {begin} on are tested")
    return (times >= begin).to_numpy()


def keep_rows(
    table: Table, cluster: Int[np.ndarray, "texts"], test: Bool[np.ndarray, "texts"] | None
) -> Bool[np.ndarray, "texts"]:
    """Drop and count tested texts that have a copy among those learnt from, and classes that are too small."""
    if test is not None:
        trained = np.isin(cluster, cluster[~test])
        group = ", or of one group with them" if "group" in table.rows else ""
        table.drop(f"tested texts that are near-copies of texts learnt from{group}", ~(test & trained))
    index = table.rows.index
    learnt = table.rows["label"] if test is None else table.rows["label"][~test[index]]
    sizes = pd.Series(cluster[learnt.index], learnt.index).groupby(learnt).nunique()
    enough = table.rows["label"].map(sizes) >= FEWEST_OF_CLASS
    table.drop(f"class of fewer than {FEWEST_OF_CLASS} texts that are no copies of one another", enough)
    kept = np.zeros(len(cluster), bool)
    kept[table.rows.index] = True
    return kept


def check_size(table: Table, test: np.ndarray | None) -> None:
    """Refuse tables that are too small, or whose labels are no classes."""
    lost = "".join(f"; {rows:,} dropped: {reason}" for reason, rows in table.dropped.items())
    account = f"({table.rows_read:,} rows read{lost})"
    found = sorted(table.rows["label"].unique())
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
    if len(table.rows) < FEWEST_ROWS:
        raise Refused(f"{len(table.rows)} rows are left, at least {FEWEST_ROWS} are needed {account}")
    if test is not None and test.sum() < FEWEST_TESTED:
        raise Refused(f"{test.sum()} rows are left to be tested, at least {FEWEST_TESTED} are needed {account}")
