"""Word vectors as they are read from a file, and as a vocabulary's."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_lib import checks
from uaftc_lib.corpus import Corpus, Vocabulary
from uaftc_lib.extras import needs
from uaftc_lib.vectors.file_format import count_vectors, format_of


@dataclass(frozen=True, eq=False)
class StartingVectors:
    """What the embeddings of a vocabulary start from: the argument ``vectors`` of a model is their ``matrix``.

    matrix: a row for each token type, nan where the file has no vector; words, occurrences: which share of the
    vocabulary's words, and of the positions of a corpus, has one.
    """

    matrix: Float[Tensor, "types d"]
    words: float
    occurrences: float
    source: str
    repeated: int = 0

    @property
    def record(self) -> dict[str, str | float]:
        """All but the matrix."""
        return {name: getattr(self, name) for name in ("source", "words", "occurrences", "repeated")}

    @property
    def told(self) -> str:
        """The same in a sentence."""
        stand = "1 word stands" if self.repeated == 1 else f"{self.repeated:,} words stand"
        again = f"; {stand} there again, and the first vector of each was taken"
        return (
            f"{self.source} has vectors of {self.matrix.shape[1]} numbers for {100 * self.words:.1f} % of the words, "
            f"{100 * self.occurrences:.1f} % of their occurrences; the others start at random"
            f"{again if self.repeated else ''}"
        )


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors.

    Attributes
    ----------
    words : sequence of str
        Each once, as the file spells it: Good is not good.
    matrix : Float[np.ndarray, "words d"]
        In the file's own scale.
    source : str
        The name of the file.
    repeated : int
        How many words stood there again; the first vector of each was taken.
    """

    words: Sequence[str]
    matrix: Float[np.ndarray, "words d"]
    source: str = "the vectors"
    repeated: int = 0
    ids: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "ids", {word: i for i, word in enumerate(self.words)})

    def aligned(self, vocabulary: Vocabulary, corpus: Corpus, embedding_range: float | None = None) -> StartingVectors:
        """The vectors of a vocabulary's words, and how many occurrences in a corpus have one.

        The scale is the file's own: lengths of vectors say something too, and a = e·V/λ (Eq 1) can be brought to any
        range by λ. ``embedding_range`` multiplies all vectors by one number, which leaves every angle and every
        proportion as it is, so that their root mean square is that of values drawn uniformly from ± this range, as
        those of words without a vector are. Specials have no vector, whatever the file calls so.

        Raises
        ------
        ValueError
            If no word of the vocabulary has a vector, or the vectors of those that have are all 0 and cannot be scaled.
        """
        matrix = torch.full((len(vocabulary), self.matrix.shape[1]), torch.nan, dtype=torch.float64)
        pairs = [(i, self.ids[word]) for i, word in enumerate(vocabulary.words) if word in self.ids]
        if not pairs:
            raise ValueError(
                f"{self.source} has a vector for none of the {vocabulary.word_count:,} words; the words of the file "
                f"are {', '.join(map(repr, self.words[:3]))}, those of the vocabulary "
                f"{', '.join(map(repr, vocabulary.words[:3]))}: is it of another language, or spelt in capitals?"
            )
        rows, places = (list(each) for each in zip(*pairs))
        matrix[rows] = torch.from_numpy(self.matrix[places].astype(np.float64))
        if embedding_range is not None:
            usual = checks.real_number("embedding_range", embedding_range, positive=True) / 3**0.5
            length = matrix[rows].square().mean().sqrt()
            if not length:
                raise ValueError(f"the vectors of {self.source} are all 0, and cannot be brought to another scale")
            matrix *= usual / length
        covered = matrix[:, 0].isfinite()[corpus.tokens].double().mean()
        share = len(pairs) / vocabulary.word_count
        return StartingVectors(matrix, share, float(covered), self.source, self.repeated)

    def nearest(self, word: str, count: int = 10) -> list[tuple[str, float]]:
        """The words of the largest cosine with a word's vector, and it.

        Raises
        ------
        ValueError
            If the word has no vector.
        """
        if word not in self.ids:
            raise ValueError(f"{self.source} has no vector for {word!r}")
        lengths = np.linalg.norm(self.matrix, axis=1).clip(np.finfo(np.float32).tiny)
        cosines = self.matrix @ self.matrix[self.ids[word]] / (lengths * lengths[self.ids[word]])
        order = [i for i in np.argsort(-cosines, kind="stable")[: count + 1].tolist() if i != self.ids[word]]
        return [(self.words[i], float(cosines[i])) for i in order[:count]]


def read_vectors(path: str | os.PathLike, dimension: int | None = None, encoding: str = "utf-8") -> WordVectors:
    """Word vectors from a file: word2vec's format, text or binary, or GloVe's text, as it is or as .gz.

    gensim's KeyedVectors reads it. What a file is, it says itself: word2vec's begin with two numbers.

    Parameters
    ----------
    path : path
    dimension : int, optional
        How many numbers a vector must have; whatever the file has where it is not given.
    encoding : str
        Of the words.

    Raises
    ------
    ValueError
        If the file is not there, is empty or none of these, has vectors of another dimension, a line with another
        count of numbers or with what is none, another encoding, or fewer words than it says. File and, in text, line
        are named. A word that stands there twice is no mistake: GloVe's own files have such; the first vector counts.
    ImportError
        If gensim is not installed.
    """
    path = Path(path)
    found = format_of(path)
    if dimension not in (None, found.dimension):
        raise ValueError(f"{path} has vectors of {found.dimension} numbers, asked for were {dimension}")
    with needs("reading word vectors", ".[vectors]"):
        from gensim.models import KeyedVectors
    count = found.words if found.binary else count_vectors(path, found, encoding)
    try:
        read = KeyedVectors.load_word2vec_format(
            str(path), binary=found.binary, no_header=not found.header, encoding=encoding
        )
    except (ValueError, EOFError, OSError, MemoryError) as error:
        raise ValueError(f"{path} is damaged, or no file of word vectors ({error})") from None
    # gensim keeps a place for each word of the file: those of repeated words stay empty, at the end.
    words = [word for word in read.index_to_key if word is not None]
    matrix = read.vectors[: len(words)]
    if wrong := [word for word, good in zip(words, np.isfinite(matrix).all(1)) if not good]:
        raise ValueError(f"{path}: the vector of {wrong[0]!r} holds a number that is not finite")
    return WordVectors(words, matrix, path.name, count - len(words))
