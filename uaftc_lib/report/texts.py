"""From a table to what is trained on: a vocabulary, a corpus, and which texts stay on one side of every split."""

from __future__ import annotations

import difflib
from array import array
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Int, Integer, Shaped

from uaftc_lib.corpus import Corpus, Vocabulary
from uaftc_lib.report.copies import LOUD, clusters, clusters_told, contradicting, near_copies, same_words, words_hash
from uaftc_lib.report.request import Refused
from uaftc_lib.report.tables import TextTable
from uaftc_lib.report.words import HAS_UNSPACED, Cutter

MOST_CLASSES, FEWEST_ROWS, FEWEST_OF_CLASS, FEWEST_TESTED = 50, 100, 5, 10
MOST_KNOWN, LONGEST_KNOWN = 2**20, 40  # pieces of text whose words are remembered, and their length
COPIED = "texts that are no near-copies of one another"
LARGE_GROUP = 0.2  # share of the texts that one group holds, above which it is said
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


def prepare(table: TextTable, cutter: Cutter, progress: Callable = iter) -> Prepared:
    """Words, vocabulary and clusters of a table; rows that cannot serve are dropped and counted in it.

    Raises
    ------
    Refused
        If what is left has fewer than 2 or more than 50 classes, fewer than 100 rows, or no word in two of them, or if
        the column of --split or --time does not say what is tested.
    """
    table.rows = table.rows.reset_index(drop=True)
    test = side_of(table)
    order = order_of(table, test)
    swapped(table)
    spellings, tokens, lengths = count_words(progress(table.rows["text"]), cutter)
    table.notes += unspaced(table.rows["text"], cutter)
    tell_left_out(table, cutter, spellings)
    words = words_hash(tokens, lengths)
    table.drop("no word in the text", lengths > 0)
    same_words(table, words, order)
    drop_small_classes(table, words, test)
    check_size(table)
    kept = table.rows.index.to_numpy()
    tokens, lengths = chosen(tokens, lengths, kept)
    table.rows = table.rows.reset_index(drop=True)
    test = latest(table) if "time" in table.rows else None if test is None else test[kept]

    near = near_copies(tokens, lengths, spellings)
    large_group(table)
    near = clusters_told(table, near, test, FEWEST_OF_CLASS)
    cluster = clusters(near, table.rows.get("group"))
    contradicting(table, near)
    drop_copies(table, cluster, test)
    check_size(table, test)
    losses(table)
    kept = table.rows.index.to_numpy()
    tokens, lengths = chosen(tokens, lengths, kept)
    vocabulary, ids = vocabulary_of(spellings, tokens, lengths)
    classes = tuple(sorted(table.rows["label"].unique()))
    whole = Corpus(
        tokens=torch.from_numpy(ids[tokens]),
        offsets=torch.from_numpy(np.concatenate([[0], lengths.cumsum()])),
        labels=torch.from_numpy(pd.Categorical(table.rows["label"], categories=classes).codes.astype(np.int64)),
        class_count=len(classes),
        classes=classes,
    )
    sizes = np.bincount(near[kept])
    return Prepared(
        whole,
        vocabulary,
        classes,
        list(table.rows["text"]),
        table.rows["row"].to_numpy(),
        np.unique(cluster[kept], return_inverse=True)[1],
        None if test is None else test[kept],
        len(np.unique(tokens)) - vocabulary.word_count,
        {"near": int(sizes[sizes > 1].sum()), "clusters": int((sizes > 1).sum())},
    )


def chosen(
    tokens: Int[np.ndarray, "positions"], lengths: Int[np.ndarray, "texts"], kept: Int[np.ndarray, "kept"]
) -> tuple[Int[np.ndarray, "kept_positions"], Int[np.ndarray, "kept"]]:
    """Words and lengths of some of the texts, in their old order."""
    return tokens[np.repeat(np.isin(np.arange(len(lengths)), kept), lengths)], lengths[kept]


class Pieces(dict):
    """The words of each piece of text, as numbers in the order in which the words were met first.

    Most pieces were met before: to look one up is several times quicker than to cut it again.
    """

    def __init__(self, cutter: Cutter):
        self.cutter, self.numbers = cutter, {}

    def __missing__(self, piece: str) -> list[int]:
        found = [self.numbers.setdefault(word, len(self.numbers)) for word in self.cutter.cut(piece)]
        if len(piece) <= LONGEST_KNOWN:
            if len(self) >= MOST_KNOWN:
                self.clear()
            self[piece] = found
        return found


def count_words(
    texts: Iterable[str], cutter: Cutter
) -> tuple[list[str], Int[np.ndarray, "positions"], Int[np.ndarray, "texts"]]:
    """Spellings in order of appearance, the texts as indices into them end to end, and the texts' lengths."""
    known = Pieces(cutter)
    tokens, lengths = array("i"), array("i")
    for text in texts:
        before = len(tokens)
        tokens.extend(chain.from_iterable(map(known.__getitem__, cutter.pieces(text))))
        lengths.append(len(tokens) - before)
    return list(known.numbers), np.array(tokens, np.int32), np.array(lengths, np.int64)


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


def unspaced(texts: Collection[str], cutter: Cutter) -> list[str]:
    """How much text is in scripts without spaces, where these are cut into characters."""
    found = sum(not text.isascii() and bool(HAS_UNSPACED.search(text)) for text in texts)
    if cutter.how != "rule" or not found:
        return []
    return [
        f"{found:,} of {len(texts):,} texts hold text in a script without spaces, such as Chinese, Japanese or Thai: "
        "each of its characters counts as a word. To see words, put spaces between them and give --words spaces, or "
        "give --words spacy:LANGUAGE, such as spacy:ja"
    ]


def side_of(table: TextTable) -> Bool[np.ndarray, "texts"] | None:
    """Which rows the column of --split gives to the test."""
    if "split" not in table.rows:
        return None
    values = table.rows["split"]
    side = values.str.casefold()
    if len(strange := values[~side.isin(TRAINED + TESTED)].unique()):
        named = ", ".join(map(repr, strange[:5])) + (" ..." if len(strange) > 5 else "")
        raise Refused(
            f"the column of --split holds {named}; it can hold {', '.join(TESTED)} (tested) and {', '.join(TRAINED)} "
            "(learnt from)"
        )
    test = side.isin(TESTED).to_numpy()
    if test.all() or not test.any():
        named = ", ".join(map(repr, values.unique()[:5]))
        raise Refused(
            f"by the column of --split no row is {'learnt from' if test.all() else 'tested'}: it holds {named} only"
        )
    return test


def order_of(table: TextTable, test: Bool[np.ndarray, "texts"] | None) -> Shaped[np.ndarray, "texts"]:
    """Which of several copies comes first: the earliest, or one that is learnt from."""
    if "time" in table.rows:
        return table.rows["time"].rank(method="dense").to_numpy()
    return np.zeros(len(table.rows)) if test is None else test


def latest(table: TextTable) -> Bool[np.ndarray, "texts"]:
    """The latest fifth of the rows, or what comes nearest to it: rows of one time stay together."""
    times = table.rows["time"]
    share = times.value_counts().sort_index(ascending=False).cumsum() / max(1, len(times))
    share = share[share < 1]
    if not len(share):
        raise Refused("the column of --time holds one time only: nothing in it is later than the rest")
    begin = (share - LATEST).abs().idxmin()
    told = [str(time).removesuffix(" 00:00:00").removesuffix(".0") for time in (times.min(), times.max(), begin)]
    table.notes.append("Times run from {} to {}; the texts from {} on are tested".format(*told))
    return (times >= begin).to_numpy()


def drop_small_classes(
    table: TextTable, cluster: Integer[np.ndarray, "texts"], test: Bool[np.ndarray, "texts"] | None, what: str = "texts"
) -> None:
    """Drop classes of which too few clusters can be learnt from."""
    rows = table.rows if test is None else table.rows[~test[table.rows.index]]
    sizes = pd.Series(cluster[rows.index]).groupby(rows["label"].to_numpy()).nunique()
    table.drop(
        f"class of fewer than {FEWEST_OF_CLASS} {what}{'' if test is None else ' to learn from'}",
        table.rows["label"].map(sizes) >= FEWEST_OF_CLASS,
    )


def drop_copies(table: TextTable, cluster: Int[np.ndarray, "texts"], test: Bool[np.ndarray, "texts"] | None) -> None:
    """Drop tested texts that share a cluster with one that is learnt from, and classes of too few clusters."""
    grouped = "group" in table.rows
    if test is not None:
        table.drop(
            f"tested, but a near-copy of a text that is learnt from{', or of one group with it' if grouped else ''}",
            ~(test & np.isin(cluster, cluster[~test])),
        )
    drop_small_classes(table, cluster, test, f"{COPIED}, nor of one group" if grouped else COPIED)


def swapped(table: TextTable) -> None:
    """Refuse a table whose texts are few and whose labels are many."""
    texts, labels = table.rows["text"].nunique(), table.rows["label"].nunique()
    if texts <= MOST_CLASSES < labels:
        raise Refused(
            f"the column of --text holds {texts:,} different values, that of --label {labels:,}: are they swapped?"
        )


def tell_left_out(table: TextTable, cutter: Cutter, spellings: list[str]) -> None:
    """Tell in how many texts something is left out by --without and --ignore; aloud, where in none."""
    texts = table.rows["text"]
    for word, count in cutter.count_without(texts).items():
        near = difflib.get_close_matches(word, spellings, 3) if not count else ()
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        told = (
            f"{word!r}, a word of --without, is in {f'{count:,} of {len(texts):,} texts' if count else 'no text'}{hint}"
        )
        (table.notes if count else table.loud).append(told)
    if cutter.ignore:
        count = sum(bool(cutter.ignore.search(text)) for text in texts)
        told = f"{count:,} of {len(texts):,} texts" if count else "no text"
        (table.notes if count else table.loud).append(f"What --ignore names, {cutter.ignore.pattern}, is in {told}")


def losses(table: TextTable) -> None:
    """Say it where many rows are dropped for one reason, other than that they are the same as others."""
    for reason, rows in table.dropped.items():
        if rows > LOUD * table.rows_read and not reason.startswith("the same words"):
            table.loud.append(f"{rows:,} of {table.rows_read:,} rows were dropped: {reason}")


def large_group(table: TextTable) -> None:
    """Say it where one group holds many of the texts."""
    if "group" in table.rows:
        groups = table.rows["group"][table.rows["group"] != ""].value_counts()
        if len(groups) and groups.iloc[0] > LARGE_GROUP * len(table.rows):
            table.loud.append(
                f"The group {groups.index[0]!r} holds {groups.iloc[0]:,} of {len(table.rows):,} texts, and all of them "
                "stay together: is it a placeholder? An empty cell joins nothing"
            )


def check_size(table: TextTable, test: Bool[np.ndarray, "texts"] | None = None) -> None:
    """Refuse tables that are too small, or whose labels are no classes."""
    lost = "".join(f"; {rows:,} dropped: {reason}" for reason, rows in table.dropped.items())
    account = f"({table.rows_read:,} rows read{lost})"
    found = sorted(table.rows["label"].unique())
    if len(found) < 2:
        seen = f"only the class {found[0]!r}" if found else "no class"
        most = max(table.dropped, key=table.dropped.get, default="")
        hints = {
            "no word": "most texts hold no word: does --ignore match too much, or --text name the wrong column?",
            "the same words under": "the same texts stand under different labels: are --text and --label the right "
            "columns?",
            COPIED: "texts that are all alike leave nothing to test on: are they form letters? A text that most of "
            "them share, such as a footer, can be left out by --ignore",
            "class of fewer": "is the label column the right one?",
        }
        hint = next((f"; {hint}" for cause, hint in hints.items() if cause in most), "")
        raise Refused(f"there is {seen} {account}; to tell classes apart takes at least two{hint}")
    if len(found) > MOST_CLASSES:
        raise Refused(
            f"the label column has {len(found):,} classes, at most {MOST_CLASSES} can be explained {account}; "
            f"is it the right column? Its first values: {', '.join(map(repr, found[:5]))}"
        )
    if len(table.rows) < FEWEST_ROWS:
        raise Refused(f"{len(table.rows)} rows are left, at least {FEWEST_ROWS} are needed {account}")
    if test is not None and (tested := test[table.rows.index].sum()) < FEWEST_TESTED:
        raise Refused(f"{tested} rows are left to be tested, at least {FEWEST_TESTED} are needed {account}")
