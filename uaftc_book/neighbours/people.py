"""What people said of the words and phrases of SST, beside what a model does with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from uaftc_book.neighbours.yardsticks import agreement
from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.datasets import sst

NEUTRAL = 2  # of the ratings 0 to 4


class Node(NamedTuple):
    """A phrase of a tree: its rating, and which characters of the sentence without blanks it holds."""

    rating: int
    begin: int
    end: int


class Phrases(NamedTuple):
    """Phrases of a corpus: their instance, first word and the word after the last, and rating less 2."""

    instance: Int[np.ndarray, "phrases"]
    begin: Int[np.ndarray, "phrases"]
    end: Int[np.ndarray, "phrases"]
    rating: Int[np.ndarray, "phrases"]


def phrases_of_tree(tree: str) -> list[Node]:
    """All phrases of a bracketed tree, the smallest first, over the sentence as
    :func:`uaftc_lib.datasets.sst.cleaned_sentence` cleans it."""
    found, open_, place = [], [], 0
    for rating, word, close in re.findall(r"\((\d) (?:([^() ]+)\))?|(\))", tree):
        if close:
            found.append(Node(*open_.pop(), place))
        elif word:
            letters = re.sub(r"\W", "", re.sub("-[LR]RB-", "", word))
            found.append(Node(int(rating), place, place + len(letters)))
            place += len(letters)
        else:
            open_.append((int(rating), place))
    return [node for node in found if node.end > node.begin]


def rated(corpus: Corpus, vocabulary: Vocabulary, data_home: Path) -> Phrases:
    """The rated words and phrases of SST's sentences that begin and end with words of the corpus, each once."""
    trees = {
        re.sub(r"\s", "", sst.cleaned_sentence(tree)).lower(): tree
        for split in sst.trees(data_home).values()
        for tree in split
    }
    found, tokens = {}, corpus.tokens.tolist()
    for t, (begin, end) in enumerate(zip(corpus.offsets[:-1].tolist(), corpus.offsets[1:].tolist())):
        words = [vocabulary.word(i) for i in tokens[begin:end]]
        ends = np.cumsum([0, *map(len, words)]).tolist()
        word_at = {place: i for i, place in enumerate(ends)}
        for node in phrases_of_tree(trees.get("".join(words), "")):
            if node.begin in word_at and node.end in word_at:
                found.setdefault((t, word_at[node.begin], word_at[node.end]), node.rating - NEUTRAL)
    columns = np.array([(*place, rating) for place, rating in found.items()], dtype=np.int64).reshape(-1, 4)
    return Phrases(*columns[np.lexsort(columns.T[2::-1])].T)


def ratings_of_types(phrases: Phrases, corpus: Corpus) -> Float[np.ndarray, "positions"]:
    """The rating of each word less 2; nan where nobody rated it alone."""
    found, single = np.full(len(corpus.tokens), np.nan), phrases.end == phrases.begin + 1
    begins = corpus.offsets[:-1].cpu().numpy()
    found[begins[phrases.instance[single]] + phrases.begin[single]] = phrases.rating[single]
    return found


def asked(data: Dataset, corpus: Corpus, data_home: Path) -> tuple[Phrases, Int[np.ndarray, "types"]] | None:
    """What :func:`people_row` asks about texts of SST: rated phrases, and how often words occur in training."""
    if data.name != "sst":
        return None
    counts = data.train.tokens.bincount(minlength=len(data.vocabulary)).numpy()
    return rated(corpus, data.vocabulary, data_home), counts


def people_row(
    weights: Float[np.ndarray, "positions"], corpus: Corpus, phrases: Phrases, counts: Int[np.ndarray, "types"]
) -> dict[str, float]:
    """Mean τ over the words of each sentence of how strongly they are rated, |rating − 2|, with attention weights.

    The control is rarity: fewer occurrences in ``counts``.
    """
    strength = abs(ratings_of_types(phrases, corpus))
    rarity = -counts[corpus.tokens.cpu().numpy()].astype(float)
    sizes = {"attention": weights, "rarity": rarity}
    return {f"people's strength, {name}": agreement(size, strength, corpus).mean() for name, size in sizes.items()}
