"""Texts that are copies of one another, or nearly so."""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Int
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from uaftc_lib.report.tables import Table

MAJORITY = 2 / 3  # share of the copies of a text that decides its label, if it is larger
LOUD = 0.05  # share of rows with contradicting labels that must be seen
ALIKE = 0.5  # Jaccard index of two texts' pairs of words from which they are near-copies
BANDS, ROWS = 16, 2  # of MinHash: texts are compared if all hashes of a band agree
AT_ONCE = 200_000  # pairs of texts


def words_hash(tokens: Int[np.ndarray, "positions"], lengths: Int[np.ndarray, "texts"]) -> np.ndarray:
    """A number for each text, the same where its words are (64 bits; texts without words: 0)."""
    begins = lengths.cumsum() - lengths
    place = np.arange(len(tokens)) - np.repeat(begins, lengths)
    return sums(mixed(mixed(tokens.astype(np.uint64)) + place.astype(np.uint64)), begins, lengths)


def sums(values: np.ndarray, begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The sum of the values of each text."""
    found = np.zeros(len(lengths), values.dtype)
    found[lengths > 0] = np.add.reduceat(values, begins[lengths > 0]) if len(values) else 0
    return found


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Numbers of 64 bits, well mixed (the last step of SplitMix64)."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def same_words(table: Table, words: np.ndarray, order: np.ndarray) -> None:
    """Of texts with the same words keep one, and none where their labels contradict one another.

    A label that more than two thirds of the copies bear is taken for theirs. ``words``: the same number for the same
    words; ``order``: of copies the one with the smallest number is kept. Both go by the index of the rows.
    """
    index = table.rows.index
    rows = pd.DataFrame({"words": words[index], "label": table.rows["label"], "order": order[index]})
    copies = rows.groupby("words", sort=False)["label"].transform("size")
    share = rows.groupby(["words", "label"], sort=False)["label"].transform("size") / copies
    clear = (share > MAJORITY).groupby(rows["words"], sort=False).transform("any")
    before, count = sum(table.dropped.values()), len(rows)
    table.drop("the same words under different labels", clear)
    most = share > MAJORITY
    table.drop("the same words under another label than most of their copies", most[clear])
    lost = sum(table.dropped.values()) - before
    if lost > LOUD * count:
        table.loud.append(
            f"{lost:,} of {count:,} rows were dropped because the same words stand under different labels"
        )
    kept = rows.loc[table.rows.index].sort_values("order", kind="stable")
    table.drop("the same words and label again", ~kept.duplicated("words").loc[table.rows.index])


def near_copies(
    tokens: Int[np.ndarray, "positions"], lengths: Int[np.ndarray, "texts"], spellings: list[str]
) -> Int[np.ndarray, "texts"]:
    """The cluster of each text: near-copies of one another have the same number.

    Texts are near-copies if at least half of the pairs of neighbouring words that one of them holds are in both;
    a word with a digit counts as a number, and all numbers are alike. Found by MinHash: of texts whose hashes agree
    in a band, each is compared with the first and with the one before it.
    """
    shingles = pairs_of_words(tokens, lengths, spellings)
    sizes = np.diff(shingles.indptr)
    texts = np.nonzero(sizes)[0]
    begins = shingles.indptr[texts]
    keys = mixed(shingles.indices.astype(np.uint64))
    odd = np.random.default_rng(0).integers(2**63, size=(BANDS, ROWS), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    cluster = np.arange(len(lengths))
    for band in odd if len(texts) else ():
        bucket = np.zeros(len(texts), np.uint64)
        for factor in band:
            hashes = ((keys * factor) >> np.uint64(32)).astype(np.uint32)
            bucket = mixed(bucket + np.minimum.reduceat(hashes, begins))
        by_bucket = np.argsort(bucket, kind="stable")
        new = np.diff(bucket[by_bucket], prepend=bucket[by_bucket[0]] + np.uint64(1)) != 0
        first = by_bucket[np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))]
        before = np.roll(by_bucket, 1)
        one = texts[np.concatenate([by_bucket[~new], by_bucket[~new]])]
        other = texts[np.concatenate([first[~new], before[~new]])]
        apart = cluster[one] != cluster[other]
        one, other = one[apart], other[apart]
        alike = jaccard(shingles, one, other) >= ALIKE
        cluster = joined(cluster, one[alike], other[alike])
    return cluster


def pairs_of_words(
    tokens: Int[np.ndarray, "positions"], lengths: Int[np.ndarray, "texts"], spellings: list[str]
) -> csr_array:
    """Texts × pairs of neighbouring words: 1 where a text holds a pair. Numbers are alike; a pair of them is none."""
    number = np.array([not word.isalpha() and any(map(str.isdigit, word)) for word in spellings], bool)
    if 2 * number[tokens].sum() > len(tokens):  # here the words themselves are written with digits
        number[:] = False
    types = len(spellings) + 1
    words = np.where(number, types - 1, np.arange(types - 1))[tokens]
    text = np.repeat(np.arange(len(lengths)), lengths)
    pair = (text[:-1] == text[1:]) & ((words[:-1] < types - 1) | (words[1:] < types - 1))
    columns = (words[:-1] * types + words[1:])[pair]
    begins = np.concatenate([[0], np.bincount(text[:-1][pair], minlength=len(lengths)).cumsum()])
    found = csr_array((np.ones(len(columns), np.int8), columns, begins), shape=(len(lengths), types**2))
    found.sum_duplicates()
    found.data[:] = 1
    return found


def jaccard(shingles: csr_array, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """What two texts share of what either holds, for each pair of texts."""
    sizes = np.diff(shingles.indptr)
    both = [
        shingles[one[i : i + AT_ONCE]].multiply(shingles[other[i : i + AT_ONCE]]).sum(1)
        for i in range(0, len(one), AT_ONCE)
    ]
    both = np.concatenate(both or [np.zeros(0)])
    return both / (sizes[one] + sizes[other] - both)


def joined(cluster: np.ndarray, one: np.ndarray, other: np.ndarray) -> Int[np.ndarray, "texts"]:
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
    return joined(near, known, first)
