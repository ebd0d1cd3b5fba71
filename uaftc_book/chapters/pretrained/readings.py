"""Chapter 16: what the paper's open questions are answered by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pandas as pd

from uaftc_book.cases import Part, Tables, exceeds
from uaftc_book.chapters.pretrained import unseen_words
from uaftc_book.chapters.pretrained.similar_words import INITIALISATIONS
from uaftc_book.claims import reading
from uaftc_book.readings import column, least
from uaftc_lib.locations import PAPER_NAMES


def beyond_controls(rows: pd.DataFrame, name: str) -> pd.Series:
    """A number of runs from word vectors, minus the larger of those of both controls, seed by seed."""
    of = {kind: column(rows[rows.kind == kind], name) for kind in unseen_words.KINDS}
    return of["vectors"] - np.maximum(of["dealt out"], of["permuted labels"])


def boost(rows: pd.DataFrame, name: str, initialisation: str) -> pd.Series:
    """What words like it give a word: its score without others as telling, minus that without those like it."""
    own = rows[rows.initialisation == initialisation]
    return column(own, f"{name} without others") - column(own, f"{name} without like")


def over_unseen(name: str) -> Callable[[Tables], Iterator[Part]]:
    """Cases of one score of words that were never read; frozen vectors stand beside."""

    def parts(tables: Tables) -> Iterator[Part]:
        for data, lam, learning in product(unseen_words.DATASETS, unseen_words.LAMS, ("trained", "frozen")):
            rows = tables("unseen_words", dataset=data, lam=lam, learning=learning)
            case = f"{PAPER_NAMES[data]}, λ = {lam:g}" + ", frozen" * (learning == "frozen")
            yield exceeds(case, beyond_controls(rows, name) if len(rows) else [])

    return parts


def over_read(name: str) -> Callable[[Tables], Iterator[Part]]:
    """Cases of one score of words that are read; other initialisations, and words that are not, stand beside."""

    def parts(tables: Tables) -> Iterator[Part]:
        for data, lam, initialisation in product(unseen_words.DATASETS, unseen_words.LAMS, INITIALISATIONS):
            rows = tables("similar_words", dataset=data, lam=lam)
            case = f"{PAPER_NAMES[data]}, λ = {lam:g}" + f", {initialisation}" * (initialisation != "vectors")
            yield exceeds(case, boost(rows, name, initialisation) if len(rows) else [])

    return parts


reading(over_unseen("polarity"), "unread_words_vote")
reading(over_unseen("attention"), "unread_words_get_attention")
reading(over_read("vote"), "similar_words_lift_votes")
reading(over_read("lead"), "similar_words_lift_attention")


def of_reader(tables: Tables, data: str, reader: str) -> pd.DataFrame:
    """The rows of one reader at λ = 10."""
    return tables("contextual_readers", dataset=data, reader=reader, lam=10.0)


def over_transformers(value: Callable[[pd.DataFrame, pd.DataFrame], pd.Series], other: str) -> Callable:
    """Cases of both data sets, held and fine-tuned: a number of a transformer's rows and those of another reader."""

    def parts(tables: Tables) -> Iterator[Part]:
        for data, reader in product(unseen_words.DATASETS, ("frozen", "fine-tuned")):
            rows, others = of_reader(tables, data, reader), of_reader(tables, data, other)
            yield exceeds(f"{PAPER_NAMES[data]}, {reader}", value(rows, others) if len(rows) and len(others) else [])

    return parts


def lesser_lead(rows: pd.DataFrame) -> pd.Series:
    """The probability that a polar word has more attention, alone, than a neutral one: the lesser of both kinds."""
    return least(column(rows, "AUC positive over neutral"), column(rows, "AUC negative over neutral"))


def minus_other(name: str) -> Callable[[pd.DataFrame, pd.DataFrame], pd.Series]:
    """A number of the rows, minus that of the others."""
    return lambda rows, others: column(rows, name) - column(others, name)


reading(
    over_transformers(lambda rows, others: lesser_lead(rows) - np.maximum(lesser_lead(others), 0.5), "permuted labels"),
    "context_keeps_the_lead",
)
reading(over_transformers(lambda rows, _: column(rows, "AUC polarity") - 0.9, "words"), "context_keeps_the_votes")
reading(over_transformers(minus_other("τ attention, again"), "words"), "context_keeps_attention_true")
reading(
    over_transformers(minus_other("attention alone and in its text"), "permuted labels"), "context_keeps_scores_global"
)
