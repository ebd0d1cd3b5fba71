"""How far three measures of a word's influence agree where an LSTM reads (Table 2's DP-L), and where none does (DP).

Contribution α_j s_j, with the state that has read the whole text; leave-one-out, the fall of the logit when the text is
read again without the word (Li et al. 2016); integrated gradients of the logit along the embeddings (Sundararajan et
al. 2017). All have a sign. With more than two classes the logit of a class is its own less the mean of all, so each
class is looked at as if it stood against the rest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy.stats import spearmanr
from torch import nn

from uaftc_book.neighbours.again import left_out
from uaftc_book.neighbours.measured import looked_at
from uaftc_book.neighbours.yardsticks import agreement, gap, integrated_gradients
from uaftc_lib.corpus import Corpus
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import train_real
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.explain.contributions import contributions
from uaftc_lib.models import AttentionClassifier

Positions = Float[np.ndarray, "positions"]


@dataclass(frozen=True)
class Asked:
    """What is measured of which models."""

    datasets: tuple[str, ...] = ("sst", "20news-2")
    models: tuple[str, ...] = ("DP", "DP-L")  # without the LSTM and with it
    lam: float = 10.0
    seeds: int = 10
    steps: int = 16  # of the rule by which gradients are integrated
    positions: int = 40_000  # of texts, drawn, on which they are: SST's test set is smaller
    least_texts: int = 5  # that must hold a word, at positions where all three are known
    leading: int = 20  # words of a class
    shuffles: int = 20  # of one measure within each text: what agreement comes from the texts alone


ASKED = Asked()
MEASURES = ("contribution", "leave-one-out", "integrated")


def against_rest(model: AttentionClassifier, k: int) -> AttentionClassifier:
    """A copy of two classes whose logit is that of class k less the mean of all; of two classes: the model itself."""
    if model.binary:
        return model
    one = deepcopy(model)
    one.W = nn.Parameter((model.W[:, k] - model.W.mean(1)).detach())
    one.classes, one.binary = 2, True
    return one


def one_against_rest(corpus: Corpus, k: int) -> Corpus:
    """The same texts; positive are those of class k."""
    return replace(corpus, labels=(corpus.labels == k).long(), class_count=2, classes=())


def influences(model: AttentionClassifier, corpus: Corpus, seed: int = 0, asked: Asked = ASKED) -> dict[str, Positions]:
    """The three measures of every position, by name; nan where a text was not read again, or not integrated."""
    return {
        "contribution": contributions(model, corpus).double().numpy(),
        "leave-one-out": left_out(model, corpus, seed=seed).whole,
        "integrated": integrated_gradients(model, corpus, asked.steps, asked.positions, seed),
    }


def dealt_anew(
    values: Positions, known: Bool[np.ndarray, "positions"], text: Int[np.ndarray, "positions"], seed: int
) -> Positions:
    """The known values of each text, dealt out anew among the positions at which they stood."""
    where = np.flatnonzero(known)
    order = np.lexsort((np.random.default_rng(seed).random(len(where)), text[where]))
    mixed = values.copy()
    mixed[where] = values[where[order]]
    return mixed


def by_word(
    values: Positions, known: Bool[np.ndarray, "positions"], corpus: Corpus, types: int, least: int
) -> Float[np.ndarray, "types"]:
    """The mean of each word over its known positions; nan for words that too few texts hold there."""
    tokens, text = corpus.tokens.numpy()[known], corpus.instance_of.numpy()[known]
    texts = np.bincount(np.unique(text * types + tokens) % types, minlength=types)
    means = np.bincount(tokens, values[known], types) / np.bincount(tokens, minlength=types).clip(1)
    return np.where(texts >= least, means, np.nan)


def common(one: Float[np.ndarray, "types"], other: Float[np.ndarray, "types"], leading: int) -> float:
    """The share that the leading words by two measures have in common."""
    first, second = (set(pd.Series(values).nlargest(leading).index) for values in (one, other))
    return len(first & second) / leading


def of_words(
    x: Positions,
    y: Positions,
    known: Bool[np.ndarray, "positions"],
    corpus: Corpus,
    types: int,
    both: bool,
    asked: Asked,
) -> dict[str, float]:
    """Spearman's correlation of two measures over words, and what their leading words share; ``both``: at both ends."""
    one, other = (by_word(values, known, corpus, types, asked.least_texts) for values in (x, y))
    ends = [common(sign * one, sign * other, asked.leading) for sign in ((1, -1) if both else (1,))]
    there = np.isfinite(one) & np.isfinite(other)
    return {"rho": spearmanr(one[there], other[there]).statistic, "leading": float(np.mean(ends))}


def agreed(
    found: dict[str, Positions], corpus: Corpus, types: int, both: bool, seed: int = 0, asked: Asked = ASKED
) -> dict[str, float]:
    """How far the measures of one logit agree, pair by pair, where all three are known.

    - tau: Kendall's, within texts, the mean; of the signed values and "tau of sizes" of the absolute ones;
    - rho: Spearman's, over words of their mean signed influence; leading: the share that their leading words have in
      common, at both ends where ``both`` classes are read off one logit;
    - "rho shuffled" and "leading shuffled": the same where the second measure is dealt out anew within each text, so
      that words keep their texts and lose what is their own; the mean over shuffles.
    """
    known = np.logical_and.reduce([np.isfinite(values) for values in found.values()])
    row = {"words": float(np.isfinite(by_word(found[MEASURES[0]], known, corpus, types, asked.least_texts)).sum())}
    masked = {name: np.where(known, values, np.nan) for name, values in found.items()}
    text = corpus.instance_of.numpy()
    for pair in combinations(MEASURES, 2):
        name, (x, y) = ", ".join(pair), (masked[one] for one in pair)
        row[f"tau {name}"] = agreement(x, y, corpus).tau.mean()
        row[f"tau of sizes {name}"] = agreement(abs(x), abs(y), corpus).tau.mean()
        row |= {f"{what} {name}": v for what, v in of_words(x, y, known, corpus, types, both, asked).items()}
        chance = pd.DataFrame(
            of_words(x, dealt_anew(y, known, text, seed + k), known, corpus, types, both, asked)
            for k in range(asked.shuffles)
        ).mean()
        row |= {f"{what} shuffled {name}": float(value) for what, value in chance.items()}
    return row


def leaders(
    values: Positions, corpus: Corpus, words: Sequence[str], asked: Asked = ASKED
) -> tuple[list[str], list[str]]:
    """The words of the largest mean influence, and those of the least, of those that stand in enough texts."""
    known = np.isfinite(values)
    means = pd.Series(by_word(values, known, corpus, len(words), asked.least_texts), list(words)).dropna()
    return means.nlargest(asked.leading).index.tolist(), means.nsmallest(asked.leading).index.tolist()


def over_classes(
    model: AttentionClassifier, corpus: Corpus, words: Sequence[str], asked: Asked = ASKED
) -> dict[str, float | str]:
    """:func:`agreed` and the gap of the integration; with more than two classes the mean over classes.

    "words, ..." are the leading words of each class by each measure, at the same positions, as JSON; ``words`` names
    every type.
    """
    rows, lists = [], {name: {} for name in MEASURES}
    for k in range(1 if model.binary else model.classes):
        one = against_rest(model, k)
        texts = corpus if model.binary else one_against_rest(corpus, k)
        found = influences(one, texts, asked=asked)
        row = agreed(found, texts, len(model.embedding), model.binary, asked=asked)
        rows.append(row | {"integrated gap": gap(one, found["integrated"], texts)})
        known = np.logical_and.reduce([np.isfinite(values) for values in found.values()])
        for name, values in found.items():
            most, least = leaders(np.where(known, values, np.nan), texts, words, asked)
            lists[name] |= (
                {corpus.classes[1]: most, corpus.classes[0]: least} if model.binary else {corpus.classes[k]: most}
            )
    told = {f"words, {name}": json.dumps(of_classes) for name, of_classes in lists.items()}
    return pd.DataFrame(rows).mean().to_dict() | told


@experiment(jobs_over(seed=range(ASKED.seeds), dataset=ASKED.datasets, model=ASKED.models), rows=1)
def recurrent_influence(dataset: str, model: str, seed: int) -> list[dict]:
    """Table 2's models at λ = 10, the test set: how far contribution, leave-one-out and integrated gradients agree."""
    data = load_dataset(dataset)
    trained, run = train_real(data, model=model, lam=ASKED.lam, seed=seed)
    corpus, words = looked_at(data), [data.vocabulary.word(i) for i in range(len(data.vocabulary))]
    told = {"best_epoch": run.best_epoch, "early loss": run.history["loss"].iloc[:5].mean()}
    told |= {"test_accuracy": run.test_accuracy, "texts": len(corpus)}
    return [told | over_classes(trained, corpus, words)]
