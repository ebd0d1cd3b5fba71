"""Texts that are copies of one another, or nearly so."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Int32, Integer, Shaped, UInt32, UInt64
from scipy.sparse import coo_array, csr_array, vstack
from scipy.sparse.csgraph import connected_components

from uaftc_lib.report.tables import TextTable

MAJORITY = 2 / 3  # share of the copies of a text that decides its label, if it is larger
LOUD = 0.05  # share of rows from which what is wrong with them must be seen
ALIKE = 0.5  # Jaccard index of two texts' pairs of words from which they are near-copies
COMMON, FEWEST_COMMON = 0.05, 20  # share of the texts that hold a common pair of words, and their least number
OWN, RUN, ALIKE_OWN = 8, 5, 1 / 3  # pairs that make a text one of its own, in runs that long; Jaccard index of these
SAMPLED, MOST_LED = 20_000, 20_000_000  # texts in which pairs are counted; pairs of texts compared to undo chains
MANY, MIXED = 20, 0.8  # texts of a class, or of near-copies; the largest share of these that one label may have
BANDS, ROWS = 16, 2  # of MinHash: texts are compared if both hashes of a band agree
POSITIONS, AT_ONCE = 2**18, 200_000  # words, and pairs of texts, that are looked at together


def words_hash(tokens: Int[np.ndarray, "positions"], lengths: Int[np.ndarray, "texts"]) -> UInt64[np.ndarray, "texts"]:
    """A number for each text, the same where its words are (texts without words: 0)."""
    begins = lengths.cumsum() - lengths
    place = np.arange(len(tokens)) - np.repeat(begins, lengths)
    values = mixed(mixed(tokens.astype(np.uint64)) + place.astype(np.uint64))
    found = np.zeros(len(lengths), np.uint64)
    if len(tokens):
        found[lengths > 0] = np.add.reduceat(values, begins[lengths > 0])
    return found


def mixed(numbers: UInt64[np.ndarray, "numbers"]) -> UInt64[np.ndarray, "numbers"]:
    """Numbers of 64 bits, well mixed (the last step of SplitMix64)."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def same_words(table: TextTable, words: Integer[np.ndarray, "texts"], order: Shaped[np.ndarray, "texts"]) -> None:
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
        found = alike(one, other)
        cluster = merged_clusters(cluster, one[found], other[found])
    return unchained(cluster, alike)


def unchained(cluster: Int[np.ndarray, "texts"], alike: Callable) -> Int[np.ndarray, "texts"]:
    """Clusters of many of the texts taken apart, each into the near-copies of its first text, of the first that is
    none of these, and so on; what is left when this takes too long stands alone."""
    sizes = np.bincount(cluster)
    left = np.flatnonzero(sizes[cluster] >= max(FEWEST_COMMON, COMMON * len(cluster)))
    cluster, compared = cluster.copy(), 0
    while len(left) and compared < MOST_LED:
        compared += len(left)
        _, first, of = np.unique(cluster[left], return_index=True, return_inverse=True)
        left = left[~alike(left, left[first[of]])]
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
    found, counts = np.unique(held, return_counts=True)
    return found[counts >= max(FEWEST_COMMON, COMMON * sampled.sum())].astype(np.int32)


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

    def table(kept: Bool[np.ndarray, "pairs"]) -> csr_array:
        begins = np.concatenate([[0], np.bincount(text[pair][kept], minlength=len(lengths)).cumsum()])
        found = csr_array((np.ones(kept.sum(), np.int8), columns[kept], begins), shape=(len(lengths), 2**30))
        found.sum_duplicates()
        found.data[:] = 1
        return found

    whole, found = table(np.ones(len(columns), bool)), table(~(shared & own))
    begins = found.indptr[:-1][np.diff(found.indptr) > 0]
    keys = mixed(found.indices.astype(np.uint64))
    odd = np.random.default_rng(0).integers(2**63, size=BANDS * ROWS, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    least = np.empty((len(begins), len(odd)), np.uint32)
    for i, factor in enumerate(odd if len(begins) else ()):
        least[:, i] = np.minimum.reduceat(keys * factor >> np.uint64(32), begins)
    return whole, found, least


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


def clusters_told(
    table: TextTable, near: Int[np.ndarray, "texts"], test: Bool[np.ndarray, "texts"] | None, fewest: int
) -> Int[np.ndarray, "texts"]:
    """The clusters of near-copies, and where a class of many texts falls into too few of them, each text by itself
    where its cluster says little of its label: what could be learnt by heart of such copies does not tell it."""
    label = table.rows["label"].to_numpy()
    learnt = np.ones(len(near), bool) if test is None else ~test
    counts = pd.DataFrame({"near": near, "label": label})[learnt].groupby("label")["near"].agg(["size", "nunique"])
    few = counts.index[(counts["size"] >= MANY) & (counts["nunique"] < fewest)]
    if not len(few):
        return near
    named = ", ".join(map(repr, few[:5])) + (" ..." if len(few) > 5 else "")
    own = pd.Series(near).groupby([near, label]).transform("size").groupby(near).max() / np.bincount(near)
    apart = (own <= max(MIXED, counts["size"].max() / learnt.sum())).to_numpy()[near] & (
        np.bincount(near)[near] >= MANY
    )
    if not (apart & np.isin(label, few)).any():
        table.loud.append(
            f"The {counts['size'][few].sum():,} texts of {'class' if len(few) == 1 else 'the classes'} {named} are "
            f"near-copies of fewer than {fewest} texts (names, numbers and dates apart), too few to learn from and test"
        )
        return near
    table.loud.append(
        f"The texts of {named} are so alike that near-copies cannot be kept apart: {apart.sum():,} texts that are "
        "near-copies of one another under different labels are spread over what is learnt from and what is tested. "
        "What is right may be learnt by heart: it says nothing of texts of another pattern"
    )
    return np.unique(np.where(apart, len(near) + np.arange(len(near)), near), return_inverse=True)[1]


def contradicting(table: TextTable, near: Int[np.ndarray, "texts"]) -> None:
    """Say it where many texts have a near-copy under another label."""
    labels = table.rows["label"].groupby(near).transform("nunique")
    if (texts := int((labels > 1).sum())) > LOUD * len(near):
        table.loud.append(
            f"{texts:,} of {len(near):,} texts have a near-copy under another label: are they labelled alike, or does "
            "one word decide?"
        )
