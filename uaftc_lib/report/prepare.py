"""Prepare: from a table to what is trained on. Copies, words, a vocabulary, a corpus, and what no split parts."""

from __future__ import annotations

import difflib
from array import array
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int, Int32, UInt32, UInt64
from scipy.sparse import coo_array, csr_array, vstack
from scipy.sparse.csgraph import connected_components

from uaftc_lib.corpus import Corpus, Vocabulary
from uaftc_lib.report.read import Table
from uaftc_lib.report.request import FEWEST_OF_CLASS, FEWEST_ROWS, MOST_CLASSES, Refused
from uaftc_lib.report.words import HAS_UNSPACED, Cutter
from uaftc_lib.vectors.word_vectors import StartingVectors, WordVectors

FEWEST_TESTED = 10
SHORT, NEARLY_ALL, DIFFERENT = 3, 0.9, 0.5  # words of a short text; share of such texts; share of different ones
MOST_KNOWN, LONGEST_KNOWN = 2**20, 40  # pieces of text whose words are remembered, and their length
CLEAR = "different texts of one label"
COPIED = "texts that are no near-copies of one another"
LARGE_GROUP = 0.2  # share of the texts that one group holds, above which it is said
LATEST = 0.2  # share of the texts that is tested under --time
# What the column of --split can hold.
TRAINED = ("train", "training", "dev", "val", "valid", "validation", "development")
TESTED = ("test", "testing", "eval", "evaluation", "holdout", "held-out")
MAJORITY = 2 / 3  # share of the rows of the same words that settles their label, if it is larger
LOUD = 0.05  # share of rows from which what is wrong with them must be seen
ALIKE = 0.5  # Jaccard index of two texts' pairs of words from which they are near-copies
COMMON, FEWEST_COMMON = 0.05, 20  # share of the texts that hold a common pair of words, and their least number
OWN, RUN, ALIKE_OWN = 8, 5, 1 / 3  # pairs that make a text one of its own, in runs that long; Jaccard index of these
SAMPLED, MOST_LED = 20_000, 20_000_000  # texts in which pairs are counted; pairs of texts compared to undo chains
MANY, MIXED = 20, 0.8  # texts of a class, or of near-copies; the largest share of these that one label may have
BANDS, ROWS = 16, 2  # of MinHash: texts are compared if both hashes of a band agree
FEWEST_OF_PAIR, WORDS_A_PAIR = 5, 400_000  # places of a pair, and one more for each so many words of a large file
POSITIONS, AT_ONCE = 2**18, 200_000  # words, and pairs of texts, that are looked at together


@dataclass(frozen=True)
class Prepared:
    """All rows that are left, as they are trained on.

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
        Texts of one cluster (copies, near-copies, and what --group joins) stay on one side of every split.
    unit : Int[np.ndarray, "texts"]
        What counts once in tests: the texts of a cluster and class. −1, in no test: a text whose label is not that of
        more than two thirds of the texts of the same words.
    test : Bool[np.ndarray, "texts"] or None
        What alone is tested, where --split or --time says it.
    rare_words : int
    copies : dict
        near: texts that have a copy or near-copy; clusters: into how many clusters these fall.
    short : bool
        See :func:`mostly_short_copies`: then each text stands for itself, and no model is trained.
    table : Table, optional
        What was left out, and what must be said of it.
    cutter : Cutter, optional
        How the texts were cut into words.
    start : StartingVectors, optional
        The word vectors of a file from which the embeddings start.
    """

    whole: Corpus
    vocabulary: Vocabulary
    classes: tuple[str, ...]
    texts: list[str]
    rows: Int[np.ndarray, "texts"]
    cluster: Int[np.ndarray, "texts"]
    unit: Int[np.ndarray, "texts"]
    test: Bool[np.ndarray, "texts"] | None
    rare_words: int
    copies: dict[str, int]
    short: bool
    table: Table | None = None
    cutter: Cutter | None = None
    start: StartingVectors | None = None


class Words(NamedTuple):
    """Spellings in order of appearance, the texts as indices into them end to end, and the texts' lengths."""

    spellings: list[str]
    tokens: Int[np.ndarray, "positions"]
    lengths: Int[np.ndarray, "texts"]

    def at(self, places: Int[np.ndarray, "some"]) -> Words:
        """Those of some of the texts, in their old order."""
        texts = np.isin(np.arange(len(self.lengths)), places)
        return Words(self.spellings, self.tokens[np.repeat(texts, self.lengths)], self.lengths[places])


def prepare(table: Table, cutter: Cutter, progress: Callable = iter, vectors: WordVectors | None = None) -> Prepared:
    """Words, vocabulary and clusters of a table, without the rows that cannot serve.

    Parameters
    ----------
    table : Table
    cutter : Cutter
    progress : callable
        Wraps the texts.
    vectors : WordVectors, optional
        What the embeddings start from.

    Raises
    ------
    Refused
        If what is left has fewer than 2 or more than 50 classes, fewer than 100 rows, or no word in two of them, or if
        the column of --split or --time does not say what is tested.
    """
    table, words, test = with_words(table, cutter, progress)
    same = np.unique(words_hash(words.tokens, words.lengths), return_inverse=True)[1]
    short = mostly_short_copies(words.lengths, same)
    if short:
        near, cluster, settled, test = same, np.arange(len(same)), np.ones(len(same), bool), None
        table = without_small_classes(table, cluster)
        check_size(table)
    else:
        settled = settled_labels(table.rows["label"], same)
        table = without_small_classes(table, np.where(settled, same, -1), test, CLEAR)
        check_size(table)
        if "time" in table.rows:
            late, note = latest(table.rows["time"])
            table, test = table.add(notes=[note]), np.isin(np.arange(len(same)), table.rows.index[late])
        table, near, cluster = clustered(table, words, same, settled, test)
        check_size(table, same, test)
    rows, places = table.rows, table.rows.index.to_numpy()
    spellings, tokens, lengths = with_pairs(words.at(places)) if cutter.ngrams == 2 else words.at(places)
    vocabulary, ids = vocabulary_of(spellings, tokens, lengths)
    classes = tuple(sorted(rows["label"].unique()))
    whole = Corpus(
        tokens=torch.from_numpy(ids[tokens]),
        offsets=torch.from_numpy(np.concatenate([[0], lengths.cumsum()])),
        labels=torch.from_numpy(pd.Categorical(rows["label"], categories=classes).codes.astype(np.int64)),
        class_count=len(classes),
        classes=classes,
    )
    start = vectors and vectors.aligned(vocabulary, whole)
    near, cluster, settled = near[places], np.unique(cluster[places], return_inverse=True)[1], settled[places]
    unit = np.full(len(places), -1)
    unit[settled] = np.unique((cluster * len(classes) + whole.labels.numpy())[settled], return_inverse=True)[1]
    sizes = np.bincount(near)
    return Prepared(
        whole,
        vocabulary,
        classes,
        list(rows["text"]),
        rows["row"].to_numpy(),
        cluster,
        unit,
        None if test is None else test[places],
        len(np.unique(tokens)) - vocabulary.word_count,
        {"near": int(sizes[sizes > 1].sum()), "clusters": int((sizes > 1).sum())},
        short,
        table.add(loud=[*losses(table), *unsettled(settled)], notes=[start.told] if start else []),
        cutter,
        start,
    )


def with_words(
    table: Table, cutter: Cutter, progress: Callable
) -> tuple[Table, Words, Bool[np.ndarray, "texts"] | None]:
    """The rows whose text has a word, numbered anew, their words, and which of them are tested."""
    rows = table.rows.reset_index(drop=True)
    test = side_of(rows)
    check_swapped(rows)
    words = count_words(progress(rows["text"]), cutter)
    table = replace(table, rows=rows).add(notes=unspaced(rows["text"], cutter))
    table = table.add(*left_out(rows["text"], cutter, words.spellings)).keep(words.lengths > 0, "no word in the text")
    places = table.rows.index.to_numpy()
    table = replace(table, rows=table.rows.reset_index(drop=True))
    return table, words.at(places), None if test is None else test[places]


def settled_labels(labels: pd.Series, same: Int[np.ndarray, "texts"]) -> Bool[np.ndarray, "texts"]:
    """Whether more than two thirds of the rows of the same words bear this label. ``same``: a number for the words."""
    rows = pd.DataFrame({"same": same, "label": labels.to_numpy()})
    alike = rows.groupby(["same", "label"])["label"].transform("size") / rows.groupby("same")["label"].transform("size")
    return (alike > MAJORITY).to_numpy()


def unsettled(settled: Bool[np.ndarray, "texts"]) -> list[str]:
    """A loud line where many rows contradict others of the same words."""
    if (lost := int((~settled).sum())) < LOUD * len(settled) or not lost:
        return []
    return [
        f"{lost:,} of {len(settled):,} rows contradict others of the same words (their label is not that of more than "
        "two thirds of these): they count in the numbers that are shown, not in the verdict, nor in the tests of words"
    ]


def mostly_short_copies(lengths: Int[np.ndarray, "texts"], same: Int[np.ndarray, "texts"]) -> bool:
    """Whether nearly all texts are of one to three words and most are copies, or too few differ to train on."""
    different = len(np.unique(same))
    few = different < max(FEWEST_ROWS, DIFFERENT * len(same))
    return bool(few and len(same) and np.mean(lengths <= SHORT) >= NEARLY_ALL)


def clustered(
    table: Table,
    words: Words,
    same: Int[np.ndarray, "texts"],
    settled: Bool[np.ndarray, "texts"],
    test: Bool[np.ndarray, "texts"] | None,
) -> tuple[Table, Int[np.ndarray, "all_texts"], Int[np.ndarray, "all_texts"]]:
    """The table without texts that cannot be tested or learnt from, and of each row before that the number of its
    near-copies and that of its cluster.

    Near-copies are looked for among one row each of the same words, if there is one with a settled label: one that is
    learnt from.
    """
    rows = pd.DataFrame({"same": same, "test": False if test is None else test})
    first = rows.loc[table.rows.index][settled[table.rows.index]].sort_values("test", kind="stable")
    places = np.sort(first.drop_duplicates("same").index.to_numpy())
    labels, tested = table.rows.loc[places, "label"], None if test is None else test[places]
    spellings, tokens, lengths = words.at(places)
    of_one, loud = spread_copies(labels, near_copies(tokens, lengths, spellings), tested, FEWEST_OF_CLASS)
    near = len(rows) + same
    known = np.full(len(rows), -1)
    known[same[places]] = of_one
    near = np.unique(np.where(known[same] >= 0, known[same], near), return_inverse=True)[1]
    cluster = clusters(near, table.rows["group"].reindex(rows.index) if "group" in table.rows else None)
    table = table.add(loud=[*large_group(table.rows), *loud, *contradicting(labels, of_one)])
    return without_copies(table, cluster, settled, test), near, cluster


class Pieces(dict):
    """The words of each piece of text, as numbers in the order in which the words were met first.

    Most pieces were met before: to look one up is several times quicker than to cut it again.
    """

    def __init__(self, cutter: Cutter):
        self.cutter, self.numbers = cutter, {}

    def __missing__(self, piece: str) -> list[int]:
        words = [self.numbers.setdefault(word, len(self.numbers)) for word in self.cutter.cut(piece)]
        if len(piece) <= LONGEST_KNOWN:
            if len(self) >= MOST_KNOWN:
                self.clear()
            self[piece] = words
        return words


def count_words(texts: Iterable[str], cutter: Cutter) -> Words:
    """Cut every text into its words."""
    known = Pieces(cutter)
    tokens, lengths = array("i"), array("i")
    for text in texts:
        before = len(tokens)
        tokens.extend(chain.from_iterable(map(known.__getitem__, cutter.pieces(text))))
        lengths.append(len(tokens) - before)
    return Words(list(known.numbers), np.array(tokens, np.int32), np.array(lengths, np.int64))


def vocabulary_of(
    spellings: list[str], tokens: Int[np.ndarray, "positions"], lengths: Int[np.ndarray, "texts"]
) -> tuple[Vocabulary, Int[np.ndarray, "spellings"]]:
    """The words that are in two rows or more, by falling frequency, and the id of every spelling."""
    text = np.repeat(np.arange(len(lengths)), lengths)
    first, last = np.zeros(len(spellings), np.int64), np.zeros(len(spellings), np.int64)
    last[tokens] = text  # the last one assigned stays
    first[tokens[::-1]] = text[::-1]
    known = np.fromiter(map(bool, spellings), bool, len(spellings)) & (first != last)
    counts = np.where(known, np.bincount(tokens, minlength=len(spellings)), 0)
    frequent = np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
    if not len(frequent):
        raise Refused("no word occurs in two texts: nothing can be learnt about any of them")
    vocabulary = Vocabulary([spellings[i] for i in frequent])
    ids = np.full(len(spellings), vocabulary.unk)
    ids[frequent] = np.arange(len(frequent))
    return vocabulary, ids


def with_pairs(words: Words, least: int | None = None) -> Words:
    """Behind the words of each text its pairs of neighbouring words, as "not good".

    A pair that stands in fewer than ``least`` places is no word of the vocabulary: its spelling is empty. By default
    five, or more in a large file, where most pairs are rare, say little and cost most of the time.
    """
    spellings, tokens, lengths = words
    least = max(FEWEST_OF_PAIR, len(tokens) // WORDS_A_PAIR) if least is None else least
    last = lengths.cumsum() - 1
    first = np.setdiff1d(np.arange(len(tokens)), last)  # of each pair
    codes = tokens[first].astype(np.int64) * len(spellings) + tokens[first + 1]
    known, pair, count = np.unique(codes, return_inverse=True, return_counts=True)
    spelt = [
        f"{spellings[code // len(spellings)]} {spellings[code % len(spellings)]}" if n >= least else ""
        for code, n in zip(known.tolist(), count.tolist())
    ]
    text = np.repeat(np.arange(len(lengths)), lengths)
    place = np.argsort(np.concatenate([text, text[first]]), kind="stable")
    both = np.concatenate([tokens, (len(spellings) + pair).astype(np.int32)])[place]
    return Words([*spellings, *spelt], both, 2 * lengths - 1)


def unspaced(texts: Collection[str], cutter: Cutter) -> list[str]:
    """How much text is in scripts without spaces, where these are cut into characters."""
    count = sum(not text.isascii() and bool(HAS_UNSPACED.search(text)) for text in texts)
    if cutter.how != "rule" or not count:
        return []
    return [
        f"{count:,} of {len(texts):,} texts hold text in a script without spaces, such as Chinese, Japanese or Thai: "
        "each of its characters counts as a word. To see words, put spaces between them and give --words spaces, or "
        "give --words spacy:LANGUAGE, such as spacy:ja"
    ]


def left_out(texts: pd.Series, cutter: Cutter, spellings: list[str]) -> tuple[list[str], list[str]]:
    """Notes that say from how many texts --without and --ignore take something; loud lines, where from none."""
    notes, loud = [], []
    for word, count in cutter.count_without(texts).items():
        near = difflib.get_close_matches(word, spellings, 3) if not count else ()
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        share = f"{count:,} of {len(texts):,} texts" if count else "no text"
        (notes if count else loud).append(f"{word!r}, a word of --without, is in {share}{hint}")
    if cutter.ignore:
        count = sum(bool(cutter.ignore.search(text)) for text in texts)
        share = f"{count:,} of {len(texts):,} texts" if count else "no text"
        (notes if count else loud).append(f"What --ignore names, {cutter.ignore.pattern}, is in {share}")
    return notes, loud


def side_of(rows: pd.DataFrame) -> Bool[np.ndarray, "texts"] | None:
    """Which rows the column of --split gives to the test."""
    if "split" not in rows:
        return None
    values = rows["split"]
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


def latest(times: pd.Series) -> tuple[Bool[np.ndarray, "texts"], str]:
    """The latest fifth of the rows, or what comes nearest to it, and a note: rows of one time stay together."""
    share = times.value_counts().sort_index(ascending=False).cumsum() / max(1, len(times))
    share = share[share < 1]
    if not len(share):
        raise Refused("the column of --time holds one time only: nothing in it is later than the rest")
    begin = (share - LATEST).abs().idxmin()
    ends = [str(time).removesuffix(" 00:00:00").removesuffix(".0") for time in (times.min(), times.max(), begin)]
    return (times >= begin).to_numpy(), "Times run from {} to {}; the texts from {} on are tested".format(*ends)


def without_small_classes(
    table: Table, cluster: Int[np.ndarray, "texts"], test: Bool[np.ndarray, "texts"] | None = None, what: str = "texts"
) -> Table:
    """The rows of classes of which enough clusters can be learnt from; −1 is none."""
    rows = table.rows[(cluster >= 0 if test is None else (cluster >= 0) & ~test)[table.rows.index]]
    sizes = pd.Series(cluster[rows.index]).groupby(rows["label"].to_numpy()).nunique()
    return table.keep(
        table.rows["label"].map(sizes) >= FEWEST_OF_CLASS,
        f"class of fewer than {FEWEST_OF_CLASS} {what}{'' if test is None else ' to learn from'}",
    )


def without_copies(
    table: Table,
    cluster: Int[np.ndarray, "texts"],
    settled: Bool[np.ndarray, "texts"],
    test: Bool[np.ndarray, "texts"] | None,
) -> Table:
    """No tested text that shares a cluster with one that is learnt from, and no class of too few clusters."""
    grouped = "group" in table.rows
    if test is not None:
        table = table.keep(
            ~(test & np.isin(cluster, cluster[~test])),
            f"tested, but a copy of a text that is learnt from, or nearly{', or of its group' if grouped else ''}",
        )
    return without_small_classes(
        table, np.where(settled, cluster, -1), test, f"{COPIED}, nor of one group" if grouped else COPIED
    )


def check_swapped(rows: pd.DataFrame) -> None:
    """Refuse a table whose texts are few and whose labels are many."""
    texts, labels = rows["text"].nunique(), rows["label"].nunique()
    if texts <= MOST_CLASSES < labels:
        raise Refused(
            f"the column of --text holds {texts:,} different values, that of --label {labels:,}: are they swapped?"
        )


def losses(table: Table) -> list[str]:
    """Loud lines where many rows are dropped for one reason."""
    return [
        f"{rows:,} of {table.rows_read:,} rows were dropped: {reason}"
        for reason, rows in table.dropped.items()
        if rows >= LOUD * table.rows_read
    ]


def large_group(rows: pd.DataFrame) -> list[str]:
    """A loud line where one group holds many of the texts."""
    groups = rows["group"][rows["group"] != ""].value_counts() if "group" in rows else ()
    if not len(groups) or groups.iloc[0] <= LARGE_GROUP * len(rows):
        return []
    return [
        f"The group {groups.index[0]!r} holds {groups.iloc[0]:,} of {len(rows):,} texts, and all of them "
        "stay together: is it a placeholder? An empty cell joins nothing"
    ]


def check_size(
    table: Table, same: Int[np.ndarray, "texts"] | None = None, test: Bool[np.ndarray, "texts"] | None = None
) -> None:
    """Refuse tables that are too small, or whose labels are no classes. ``same``: texts of the same words are one."""
    lost = "".join(f"; {rows:,} dropped: {reason}" for reason, rows in table.dropped.items())
    account = f"({table.rows_read:,} rows read{lost})"
    classes = sorted(table.rows["label"].unique())
    if len(classes) < 2:
        seen = f"only the class {classes[0]!r}" if classes else "no class"
        most = max(table.dropped, key=table.dropped.get, default="")
        hints = {
            "no word": "most texts hold no word: does --ignore match too much, or --text name the wrong column?",
            "nor of one group": "do copies stand in several groups? They join these",
            COPIED: "texts that are all alike leave nothing to test on: are they form letters? A text that most of "
            "them share, such as a footer, can be left out by --ignore",
            "class of fewer": "is the label column the right one, and do texts of the same words bear one label?",
        }
        hint = next((f"; {hint}" for cause, hint in hints.items() if cause in most), "")
        raise Refused(f"there is {seen} {account}; to tell classes apart takes at least two{hint}")
    if len(classes) > MOST_CLASSES:
        raise Refused(
            f"the label column has {len(classes):,} classes, at most {MOST_CLASSES} can be explained {account}; "
            f"is it the right column? Its first values: {', '.join(map(repr, classes[:5]))}"
            + "".join(f". {line}" for line in table.loud if "--against-rest" in line)
        )
    left, what = len(table.rows), "rows"
    if same is not None and (different := len(np.unique(same[table.rows.index]))) < left:
        left, what = different, "different texts"
    if left < FEWEST_ROWS:
        raise Refused(f"{left} {what} are left, at least {FEWEST_ROWS} are needed {account}")
    if test is not None and (tested := test[table.rows.index].sum()) < FEWEST_TESTED:
        raise Refused(f"{tested} rows are left to be tested, at least {FEWEST_TESTED} are needed {account}")


def words_hash(tokens: Int[np.ndarray, "positions"], lengths: Int[np.ndarray, "texts"]) -> UInt64[np.ndarray, "texts"]:
    """A number for each text, the same where its words are (texts without words: 0)."""
    begins = lengths.cumsum() - lengths
    place = np.arange(len(tokens)) - np.repeat(begins, lengths)
    values = mixed(mixed(tokens.astype(np.uint64)) + place.astype(np.uint64))
    result = np.zeros(len(lengths), np.uint64)
    if len(tokens):
        result[lengths > 0] = np.add.reduceat(values, begins[lengths > 0])
    return result


def mixed(numbers: UInt64[np.ndarray, "numbers"]) -> UInt64[np.ndarray, "numbers"]:
    """Numbers of 64 bits, well mixed (the last step of SplitMix64)."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def near_copies(
    tokens: Int[np.ndarray, "positions"], lengths: Int[np.ndarray, "texts"], spellings: list[str]
) -> Int[np.ndarray, "texts"]:
    """The cluster of each text: near-copies of one another have the same number.

    Texts are near-copies if at least half of the pairs of neighbouring words that one of them holds are in both;
    a word with a digit counts as a number, and all numbers are alike. Of texts that say something of their own beside
    what many say (a footer, a disclaimer), a third of their own pairs must be in both, too. Found by MinHash: of texts
    whose hashes agree in a band, each is compared with the first and with the one before it. Of many texts that are
    joined in this way, only those stay together that are near-copies of one of them, not of one another in a chain.
    """
    cluster = np.arange(len(lengths))
    if not len(tokens):
        return cluster
    number = np.array([not word.isalpha() and any(map(str.isdigit, word)) for word in spellings])
    if 2 * number[tokens].sum() > len(tokens):  # here the words themselves are written with digits
        number[:] = False
    words = np.where(number, len(spellings), np.arange(len(spellings)))
    common = common_pairs(words[tokens], lengths, len(spellings))
    ends = lengths.cumsum()
    cuts = np.unique([0, *np.searchsorted(ends, range(POSITIONS, ends[-1], POSITIONS)), len(lengths)])
    parts = []
    for first, last in pairwise(cuts):
        begin = ends[first] - lengths[first]
        parts.append(sketches(words[tokens[begin : ends[last - 1]]], lengths[first:last], len(spellings), common))
    whole, own = (vstack([part[i] for part in parts], format="csr") for i in (0, 1))

    def alike(one: Int[np.ndarray, "pairs"], other: Int[np.ndarray, "pairs"]) -> Bool[np.ndarray, "pairs"]:
        return (jaccard(whole, one, other) >= ALIKE) & (jaccard(own, one, other) >= ALIKE_OWN)

    texts = np.nonzero(np.diff(own.indptr))[0]
    for bucket in np.concatenate([hashes for _, _, hashes in parts]).view(np.uint64).T if len(texts) else ():
        by_bucket = np.argsort(bucket, kind="stable")
        new = np.diff(bucket[by_bucket], prepend=bucket[by_bucket[0]] + np.uint64(1)) != 0
        first = by_bucket[np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))]
        before = np.roll(by_bucket, 1)
        one = texts[np.concatenate([by_bucket[~new], by_bucket[~new]])]
        other = texts[np.concatenate([first[~new], before[~new]])]
        apart = cluster[one] != cluster[other]
        one, other = one[apart], other[apart]
        both = alike(one, other)
        cluster = merged_clusters(cluster, one[both], other[both])
    return unchained(cluster, alike)


def unchained(cluster: Int[np.ndarray, "texts"], alike: Callable) -> Int[np.ndarray, "texts"]:
    """Clusters of many of the texts taken apart, each into the near-copies of its first text, of the first that is
    none of these, and so on; what is left when this takes too long stands alone."""
    sizes = np.bincount(cluster)
    left = np.flatnonzero(sizes[cluster] >= max(FEWEST_COMMON, COMMON * len(cluster)))
    cluster, compared = cluster.copy(), 0
    while len(left) and compared < MOST_LED:
        compared += len(left)
        _, first, own = np.unique(cluster[left], return_index=True, return_inverse=True)
        left = left[~alike(left, left[first[own]])]
        cluster[left] = cluster.max() + 1 + np.unique(cluster[left], return_inverse=True)[1]
    cluster[left] = cluster.max() + 1 + np.arange(len(left))
    return np.unique(cluster, return_inverse=True)[1]


def adjacent_pairs(
    words: Int[np.ndarray, "positions"], lengths: Int[np.ndarray, "texts"], number: int
) -> tuple[Int[np.ndarray, "positions_but_one"], Bool[np.ndarray, "positions_but_one"], Int32[np.ndarray, "pairs"]]:
    """For each position but the last: its text, and whether a pair begins there; and the numbers of the pairs.

    A pair is numbered by 30 bits of its hash; two numbers beside one another are no pair.
    """
    text = np.repeat(np.arange(len(lengths)), lengths)
    pair = (text[:-1] == text[1:]) & ((words[:-1] != number) | (words[1:] != number))
    columns = (words[:-1] * (number + 1) + words[1:])[pair].astype(np.uint64)
    return text[:-1], pair, (mixed(columns) >> np.uint64(34)).astype(np.int32)


def common_pairs(
    words: Int[np.ndarray, "positions"], lengths: Int[np.ndarray, "texts"], number: int
) -> Int32[np.ndarray, "common"]:
    """The pairs of words that many texts hold, in order."""
    sampled = np.arange(len(lengths)) % -(-len(lengths) // SAMPLED) == 0
    text, pair, columns = adjacent_pairs(words[np.repeat(sampled, lengths)], lengths[sampled], number)
    held = np.unique(text[pair] * 2**30 + columns) % 2**30
    pairs, counts = np.unique(held, return_counts=True)
    return pairs[counts >= max(FEWEST_COMMON, COMMON * sampled.sum())].astype(np.int32)


def sketches(
    words: Int[np.ndarray, "positions"],
    lengths: Int[np.ndarray, "texts"],
    number: int,
    common: Int32[np.ndarray, "common"],
) -> tuple[csr_array, csr_array, UInt32[np.ndarray, "texts_with_pairs hashes"]]:
    """Texts × pairs of neighbouring words, 1 where a text holds a pair: all, and without common ones where a text has
    enough of its own; and the least of each hash over the pairs of the latter.

    What a form letter has of its own (names, dates) stands in short runs between common pairs.
    """
    text, pair, columns = adjacent_pairs(words, lengths, number)
    shared = np.isin(columns, common)
    rare = pair.copy()
    rare[pair] = ~shared
    run = np.cumsum(np.diff(rare, prepend=False))
    long = rare & (np.bincount(run)[run] >= RUN) if len(run) else rare
    own = (np.bincount(text[long], minlength=len(lengths)) >= OWN)[text[pair]]

    def holds(some: Bool[np.ndarray, "pairs"]) -> csr_array:
        begins = np.concatenate([[0], np.bincount(text[pair][some], minlength=len(lengths)).cumsum()])
        result = csr_array((np.ones(some.sum(), np.int8), columns[some], begins), shape=(len(lengths), 2**30))
        result.sum_duplicates()
        result.data[:] = 1
        return result

    whole, without_common = holds(np.ones(len(columns), bool)), holds(~(shared & own))
    begins = without_common.indptr[:-1][np.diff(without_common.indptr) > 0]
    keys = mixed(without_common.indices.astype(np.uint64))
    odd = np.random.default_rng(0).integers(2**63, size=BANDS * ROWS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    least = np.empty((len(begins), len(odd)), np.uint32)
    for i, factor in enumerate(odd if len(begins) else ()):
        least[:, i] = np.minimum.reduceat(keys * factor >> np.uint64(32), begins)
    return whole, without_common, least


def jaccard(
    shingles: csr_array, one: Int[np.ndarray, "pairs"], other: Int[np.ndarray, "pairs"]
) -> Float[np.ndarray, "pairs"]:
    """What two texts share of what either holds, for each pair of texts."""
    sizes = np.diff(shingles.indptr)
    both = [
        shingles[one[i : i + AT_ONCE]].multiply(shingles[other[i : i + AT_ONCE]]).sum(1)
        for i in range(0, len(one), AT_ONCE)
    ]
    both = np.concatenate(both or [np.zeros(0)])
    return both / (sizes[one] + sizes[other] - both)


def merged_clusters(
    cluster: Int[np.ndarray, "texts"], one: Int[np.ndarray, "pairs"], other: Int[np.ndarray, "pairs"]
) -> Int[np.ndarray, "texts"]:
    """Clusters numbered from 0, those of the texts ``one`` and ``other`` made one."""
    edges = coo_array((np.ones(len(one), bool), (cluster[one], cluster[other])), shape=(cluster.max() + 1,) * 2)
    return connected_components(edges, directed=False)[1][cluster].astype(np.int64)


def clusters(near: Int[np.ndarray, "texts"], group: pd.Series | None) -> Int[np.ndarray, "texts"]:
    """Texts that are joined by near-copies or by their group, also by way of others; a missing group joins nothing."""
    if group is None:
        return near
    codes = pd.factorize(group.where(group != ""))[0]
    known = np.nonzero(codes >= 0)[0]
    first = pd.Series(known).groupby(codes[known]).transform("first").to_numpy()
    return merged_clusters(near, known, first)


def spread_copies(
    labels: pd.Series, near: Int[np.ndarray, "texts"], test: Bool[np.ndarray, "texts"] | None, fewest: int
) -> tuple[Int[np.ndarray, "texts"], list[str]]:
    """The clusters of near-copies, and where a class of many texts falls into too few of them, each text by itself
    where its cluster says little of its label: what could be learnt by heart of such copies does not tell it. And a
    loud line on that."""
    label = labels.to_numpy()
    learnt = np.ones(len(near), bool) if test is None else ~test
    counts = pd.DataFrame({"near": near, "label": label})[learnt].groupby("label")["near"].agg(["size", "nunique"])
    few = counts.index[(counts["size"] >= MANY) & (counts["nunique"] < fewest)]
    if not len(few):
        return near, []
    named = ", ".join(map(repr, few[:5])) + (" ..." if len(few) > 5 else "")
    own = pd.Series(near).groupby([near, label]).transform("size").groupby(near).max() / np.bincount(near)
    apart = (own <= max(MIXED, counts["size"].max() / learnt.sum())).to_numpy()[near] & (
        np.bincount(near)[near] >= MANY
    )
    if not (apart & np.isin(label, few)).any():
        line = (
            f"The {counts['size'][few].sum():,} texts of {'class' if len(few) == 1 else 'the classes'} {named} are "
            f"near-copies of fewer than {fewest} texts (names, numbers and dates apart), too few to learn from and test"
        )
        return near, [line]
    line = (
        f"The texts of {named} are so alike that near-copies cannot be kept apart: {apart.sum():,} texts that are "
        "near-copies of one another under different labels are spread over what is learnt from and what is tested. "
        "What is right may be learnt by heart: it says nothing of texts of another pattern"
    )
    return np.unique(np.where(apart, len(near) + np.arange(len(near)), near), return_inverse=True)[1], [line]


def contradicting(labels: pd.Series, near: Int[np.ndarray, "texts"]) -> list[str]:
    """A loud line where many texts have a near-copy under another label."""
    texts = int((labels.groupby(near).transform("nunique") > 1).sum())
    if texts < LOUD * len(near):
        return []
    return [
        f"{texts:,} of {len(near):,} texts have a near-copy under another label: are they labelled alike, or does "
        "one word decide?"
    ]
