"""Initialisations of E far from zero and near it, with a geometry that means something and without; what they led to.

Word vectors differ from the paper's initialisation in two ways: embeddings are long, and like words are near each
other. :data:`INITIALISATIONS` has both, either and neither. Nearly all vectors of a file also share a direction, which
words without a vector lack: one initialisation is without it. V and W start as ever, the same in all of one seed.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_lib import checks
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets.cache import prepared_folder
from uaftc_lib.locations import data_home as find_data_home
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types
from uaftc_lib.streams import generator
from uaftc_lib.vectors.unused_reviews import NAME, RULES, own_vectors
from uaftc_lib.vectors.word_vectors import WordVectors, read_vectors

INITIALISATIONS = {
    "random": "within ±0.1, as in the paper: near zero, without meaning",
    "short vectors": "the vectors, all multiplied by the number that makes them as long as random ones",
    "long random": "random directions, each as long as the word's vector: far from zero, without meaning",
    "dealt out": "the vectors, permuted among words of like frequency: far from zero, a geometry, no meaning",
    "vectors": "the book's own vectors: far from zero, with meaning",
    "centred": "the vectors less their mean, so that having a vector is no common direction",
}
GROUP = 50  # words of like frequency, among which vectors are dealt out


def random_directions(vectors: Float[Tensor, "types d"], draws: torch.Generator) -> Float[Tensor, "types d"]:
    """For each vector another of its length, in a random direction; what is nan stays."""
    drawn = torch.randn(vectors.shape, generator=draws, dtype=vectors.dtype)
    return drawn * (vectors.norm(dim=1) / drawn.norm(dim=1)).unsqueeze(1)


def dealt_among_like(
    vectors: Float[Tensor, "types d"], counts: Int[Tensor, "types"], draws: torch.Generator
) -> Float[Tensor, "types d"]:
    """The vectors, permuted within groups of :data:`GROUP` words that follow one another by count; nan stays."""
    there = (~vectors.isnan().any(1)).nonzero().squeeze(1)
    by_count, dealt = there[counts[there].argsort(descending=True, stable=True)], vectors.clone()
    for ids in by_count.split(GROUP):
        dealt[ids] = vectors[ids[torch.randperm(len(ids), generator=draws)]]
    return dealt


def initial_vectors(name: str, vectors: WordVectors, dataset: Dataset, seed: int) -> Float[Tensor, "types d"] | None:
    """What E starts from: the argument ``vectors`` of a model. Words without a vector start as ever in all of them.

    Raises
    ------
    ValueError
        If ``name`` is none of :data:`INITIALISATIONS`.
    """
    checks.one_of("initialisation", name, INITIALISATIONS)
    if name == "random":
        return None
    scale = 0.1 if name == "short vectors" else None
    matrix, draws = vectors.aligned(dataset.vocabulary, dataset.train, scale).matrix, generator(seed, "data")
    if name == "centred":
        return matrix - matrix.nanmean(0)
    if name == "long random":
        return random_directions(matrix, draws)
    if name == "dealt out":
        return dealt_among_like(matrix, torch.bincount(dataset.train.tokens, minlength=len(matrix)), draws)
    return matrix


def vectors_are_there() -> bool:
    """Whether the book's own vectors have been made on this machine: if not, that takes minutes."""
    return prepared_folder(find_data_home(), NAME, RULES).exists()


@cache
def book_vectors() -> WordVectors:
    """The book's own vectors, read once."""
    return read_vectors(own_vectors())


def from_book(name: str, dataset: Dataset, seed: int = 0) -> Float[Tensor, "types d"] | None:
    """:func:`initial_vectors` of the book's own vectors."""
    return initial_vectors(name, book_vectors(), dataset, seed)


class Change(NamedTuple):
    """The change of a score by its two causes, "types" or "types classes"; see :func:`changes`."""

    moved: Float[Tensor, "types ..."]
    carried: Float[Tensor, "types ..."]


@torch.no_grad()
def changes(first: AttentionClassifier, last: AttentionClassifier) -> dict[str, Change]:
    """What became of the scores of every type between two states of a DP, exactly.

    s − s₀ = (e − e₀)·W + e₀·(W − W₀): ``moved`` is what the embedding's own movement did, ``carried`` what a word
    would have got had its embedding stayed where it began. Likewise a, with V/λ.
    """
    e0, e = first.embedding.double(), last.embedding.double()
    heads = {
        "polarity": (first.W.double(), last.W.double()),
        "attention": (first.V.double() / first.lam, last.V.double() / last.lam),
    }
    return {name: Change((e - e0) @ now, e0 @ (now - before)) for name, (before, now) in heads.items()}


def carried_shares(first: AttentionClassifier, last: AttentionClassifier, types: Types) -> dict[str, float]:
    """Which share of the change of scores was carried (:func:`changes`), of polar words and of neutral ones.

    Σ sign(Δs)·carried / Σ|Δs|: together with that of what moved, one. And the mean sizes of both over polar words.
    """
    groups = {
        "polar": torch.cat([ids for name, ids in types.items() if name != "neutral"]),
        "neutral": types["neutral"],
    }
    found = {}
    for score, (moved, carried) in changes(first, last).items():
        total = moved + carried
        for name, ids in groups.items():
            share = (total[ids].sign() * carried[ids]).sum() / total[ids].abs().sum()
            found[f"{score} carried {name}"] = float(share)
        for name, part in (("moved", moved), ("carried", carried)):
            found[f"|{score} {name}|"] = float(part[groups["polar"]].abs().mean())
    return found
