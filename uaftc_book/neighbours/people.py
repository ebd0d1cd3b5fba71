"""What people said of the words and phrases of SST, beside what a model does with them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int

from uaftc_book.neighbours.yardsticks import agreement, at_places, place_in_text, whole_output
from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.datasets import sst
from uaftc_lib.models import AttentionClassifier, Output

NEUTRAL = 2  # of the ratings 0 to 4
STRENGTH = ("attention", "gradient", "leave-one-out", "integrated", "contribution", "rarity", "random")
SIDE = ("contribution", "polarity", "input × gradient", "integrated", "fall", "random")


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
    model: AttentionClassifier,
    corpus: Corpus,
    found: dict[str, Float[np.ndarray, "positions"]],
    phrases: Phrases,
    counts: Int[np.ndarray, "types"],
    seed: int = 0,
) -> dict[str, float]:
    """Mean τ of yardsticks with people's ratings, over the words of each sentence, and over its longer phrases.

    Strength is |rating − 2|, with which sizes are compared; the side is rating − 2 of the words where it is not 0.
    "rarity" (fewer in ``counts``) and "random" are controls. Phrases of two words or more: sums of contributions,
    with the phrase's length beside them, and the logit of the phrase read alone.
    """
    rating, random = ratings_of_types(phrases, corpus), np.random.default_rng(seed)
    with torch.no_grad():
        out = whole_output(model, corpus)
    found = found | {
        "polarity": out.token_polarity.cpu().numpy(),
        "rarity": -counts[corpus.tokens.cpu().numpy()].astype(float),
        "random": random.random(len(rating)),
    }
    sizes = {name: found[name] if name == "rarity" else abs(found[name]) for name in STRENGTH if name in found}
    row = {
        f"people's strength, {name}": agreement(size, abs(rating), corpus).tau.mean() for name, size in sizes.items()
    }
    sided = np.where(rating == 0, np.nan, rating)
    row |= {
        f"people's side, {name}": agreement(found[name], sided, corpus).tau.mean() for name in SIDE if name in found
    }
    row |= {"words rated": float(np.isfinite(rating).mean()), "words rated with a side": float((sided == sided).mean())}
    return row | strongest_row(found["attention"], rating, corpus) | phrase_row(model, corpus, phrases, out)


def strongest_row(
    weights: Float[np.ndarray, "positions"], rating: Float[np.ndarray, "positions"], corpus: Corpus
) -> dict[str, float]:
    """How often the most attended word is (one of) the most strongly rated of its sentence, and a word drawn is."""
    begins, text_of = corpus.offsets[:-1].cpu().numpy(), corpus.instance_of.cpu().numpy()
    strength = np.nan_to_num(abs(rating))
    most = np.maximum.reduceat(strength, begins)
    strongest = (strength == most[text_of]) & (most[text_of] > 0)
    first = np.lexsort((-weights, text_of))[begins]
    by_chance = np.add.reduceat(strongest.astype(float), begins) / corpus.lengths.cpu().numpy()
    return {
        "most attended is strongest": float(strongest[first][most > 0].mean()),
        "any word is strongest": float(by_chance[most > 0].mean()),
    }


def phrase_row(model: AttentionClassifier, corpus: Corpus, phrases: Phrases, out: Output) -> dict[str, float]:
    """Mean τ over the phrases of each sentence that are longer than a word and shorter than the sentence."""
    lengths = phrases.end - phrases.begin
    longer = (lengths > 1) & (lengths < corpus.lengths.cpu().numpy()[phrases.instance])
    instance, begin, end, rating = (one[longer] for one in phrases)
    places = at_places(corpus)[torch.from_numpy(instance).to(corpus.tokens)]
    place, copy_of = place_in_text(places), places.instance_of.cpu().numpy()
    inside = (place >= begin[copy_of]) & (place < end[copy_of])
    own = places.without(torch.from_numpy(~inside).to(places.tokens.device))
    with torch.no_grad():
        alone = whole_output(model, own._with(tokens=corpus.tokens[own.tokens])).polarity.cpu().numpy()
    phrase_of, mine = own.instance_of.cpu().numpy(), own.tokens.cpu().numpy()
    weights, polarity = out.weights.cpu().numpy()[mine], out.token_polarity.cpu().numpy()[mine]
    pushed, watched = (np.bincount(phrase_of, one) for one in (weights * polarity, weights))
    # A corpus whose texts are sentences and whose tokens are their phrases, so that agreement can be asked.
    held = np.bincount(instance, minlength=len(corpus))
    grouped = corpus._with(
        tokens=torch.arange(len(instance)), offsets=torch.from_numpy(np.append(0, held.cumsum())), labels=corpus.labels
    )
    side, length = rating.astype(float), (end - begin).astype(float)
    pairs = {
        "side, contribution": (pushed, side),
        "side, read alone": (alone, side),
        "strength, attention": (watched, abs(side)),
        "strength, attention per word": (watched / length, abs(side)),
        "strength, length": (length, abs(side)),
    }
    row = {f"phrases' {name}": agreement(x, y, grouped).tau.mean() for name, (x, y) in pairs.items()}
    return row | {"phrases": len(instance)}
