"""Are heavily weighted words adjectives and adverbs? By the lists of WordNet, beside words of the same frequency."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from uaftc_book.cases import Part, Tables, exceeds
from uaftc_book.chapters.words_and_classes.held_out import LEAST_COUNT
from uaftc_book.claims import reading
from uaftc_book.panels import mean_weights
from uaftc_book.small_data import SEEDS
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import train_real
from uaftc_lib.experiments.registry import experiment, jobs_over

WORDNET = "UAFTC_WORDNET"  # environment variable: the folder of WordNet's files, if not Debian's
FOLDER = "/usr/share/wordnet"
MOST, BESIDE = 100, 5  # words of most weight, and how many others of nearest frequency each is held against
DESCRIBING, OTHER, BOTH, UNLISTED = CLASSES = ("adjective or adverb", "noun or verb", "ambiguous", "unlisted")
ENDINGS = {  # of inflected forms, and of their base: the rules of WordNet's own look-up
    "noun": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("ies", "y"),
             ("men", "man")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip


def word_lists(folder: Path | None = None) -> dict[str, tuple[set[str], set[str]]]:
    """Of "noun", "verb", "adj" and "adv": the words of WordNet, and the irregular forms of some.

    Raises
    ------
    FileNotFoundError
        If WordNet's files are not there.
    """
    folder = folder or Path(os.environ.get(WORDNET, FOLDER))
    if not (folder / "index.adj").is_file():
        raise FileNotFoundError(
            f"no WordNet in {folder}: install Debian's wordnet-base, or set {WORDNET} to the folder of index.adj"
        )

    def first(name: str) -> set[str]:
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        return {line.split(" ")[0] for line in lines if line[:1].strip()}

    return {name: (first(f"index.{name}"), first(f"{name}.exc")) for name in ENDINGS}


def word_class(word: str, lists: Mapping[str, tuple[set[str], set[str]]]) -> str:
    """One of :data:`CLASSES`; ambiguous: WordNet has it, or its base form, on both sides."""

    def listed(name: str) -> bool:
        words, irregular = lists[name]
        bases = (word[: -len(end)] + base for end, base in ENDINGS[name] if word.endswith(end) and len(word) > len(end))
        return word in words or word in irregular or any(base in words for base in bases)

    describes, other = listed("adj") or listed("adv"), listed("noun") or listed("verb")
    return (BOTH if other else DESCRIBING) if describes else OTHER if other else UNLISTED


def of_same_frequency(top: Iterable[int], counts: np.ndarray, most: int = BESIDE) -> list[list[int]]:
    """For each of some words the others of nearest count, of those that are not among them."""
    top = list(top)
    others = np.setdiff1d(np.arange(len(counts)), top)
    logs = np.log(counts)
    return [others[np.argsort(abs(logs[others] - logs[i]), kind="stable")[:most]].tolist() for i in top]


def class_shares(ranked_by: np.ndarray, counts: np.ndarray, classes: list[str]) -> list[dict]:
    """A row a class: how many of the :data:`MOST` first words are of it, and how many of words of their frequency."""
    top = np.argsort(-ranked_by, kind="stable")[:MOST]
    own = Counter(classes[i] for i in top)
    matched = Counter(classes[j] for near in of_same_frequency(top, counts) for j in near)
    return [{"class": name, "words": own[name], "matched": matched[name] / BESIDE} for name in CLASSES]


@experiment(jobs_over(seed=SEEDS), rows=2 * len(CLASSES))
def parts_of_speech(seed: int) -> list[dict]:
    """SST, DP, λ = 10: of the words of most weight in the test set, or of the highest scores, how many of which class.

    "matched": of five words of the nearest frequency for each. Words that occur six times in training, and in the test
    set. Needs WordNet's files (:data:`WORDNET`).
    """
    lists, data = word_lists(), load_dataset("sst")
    model, _ = train_real(data, seed=seed)
    counts = torch.bincount(data.train.tokens, minlength=len(model.embedding))
    weights, tested = mean_weights(model, data.test)
    known = ((counts >= LEAST_COUNT) & (tested > 0)).nonzero().squeeze(1)
    known = known[known < data.vocabulary.word_count]
    classes = [word_class(data.vocabulary.word(i), lists) for i in known.tolist()]
    ranked = {"weight": weights, "score": model.token_scores().attention.detach()}
    return [
        {"by": by} | row
        for by, values in ranked.items()
        for row in class_shares(values[known].double().numpy(), counts[known].double().numpy(), classes)
    ]


def describing(rows: pd.DataFrame, counted: tuple[str, ...] = (DESCRIBING,)) -> pd.Series:
    """The share of adjectives and adverbs among listed words, less that among words of the same frequency; by seed.

    Ambiguous words count on neither side, unless they are among ``counted``.
    """

    def share(name: str) -> pd.Series:
        by_class = rows.pivot(index="seed", columns="class", values=name).reindex(columns=CLASSES, fill_value=0)
        ours = by_class[[*counted]].sum(axis=1)
        return ours / (ours + by_class[OTHER])

    return share("words") - share("matched") if len(rows) else pd.Series(dtype=float)


@reading
def heavy_words_describe(tables: Tables) -> Iterator[Part]:
    for by, name in (("weight", "mean weight"), ("score", "attention score")):
        rows = tables("parts_of_speech", by=by)
        yield exceeds(f"SST, {name}", describing(rows))
        yield exceeds(f"SST, {name}, ambiguous words counted as adjectives", describing(rows, (DESCRIBING, BOTH)))
