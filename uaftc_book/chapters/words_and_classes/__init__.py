"""Chapter 13_words_and_classes: a small model of several hops, and how near quantities come to a yardstick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from scipy.stats import rankdata, spearmanr

from uaftc_book.chapters.scores import rated_words
from uaftc_book.chapters.scores.null_controls import at_loss
from uaftc_book.chapters.weights import RUNS
from uaftc_book.chapters.words_and_classes import (  # noqa: F401  (register experiments)
    emotions,
    held_out,
    parts_of_speech,
    recurrent_influence,
    structured,
    tfidf,
)
from uaftc_book.controls import with_permuted_labels
from uaftc_book.rules import resampled
from uaftc_book.small_data import SEEDS
from uaftc_lib import explain
from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import train_real
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier, StructuredClassifier, sum_by_instance
from uaftc_lib.training import TrainingConfig, fit

TOKENS = {"none": 15_000, "lstm": 11_000}  # that a model of several hops is trained on, about


def thinned(data: Dataset, most: int = 130_000) -> tuple[Dataset, int]:
    """One text in so many that this many tokens are left to train on, under a vocabulary of their own; in how many.

    Most of the time of a short run goes into the rows of its vocabulary, also of words that no text holds any more.
    """
    every = -(-len(data.train.tokens) // most)
    if every == 1:
        return data, every
    parts, words = {name: split[::every] for name, split in data.splits.items()}, data.vocabulary.word_count
    left = torch.cat([part.tokens for part in parts.values()]).unique()
    left = left[left < words]
    vocabulary = Vocabulary([data.vocabulary.word(i) for i in left.tolist()])
    ids = torch.arange(len(data.vocabulary)) - words + vocabulary.word_count  # right for the specials, which come last
    ids[left] = torch.arange(len(left))
    parts = {name: replace(part, tokens=ids[part.tokens]) for name, part in parts.items()}
    return Dataset(data.name, vocabulary, data.classes, **parts), every


def hop_model(data: Dataset, encoder: str, projections: bool) -> StructuredClassifier:
    """A small model of three hops that has read a part of the texts, for seconds: what is exact can be seen on it."""
    step = max(1, len(data.train.tokens) // TOKENS[encoder])  # not the first ones: the file may be sorted
    part = Dataset(data.name, data.vocabulary, data.classes, data.train[::step])
    options = {"hops": 3, "projections": projections, "hidden": 15, "classes": len(data.classes)}
    model = StructuredClassifier(len(data.vocabulary), 30, 1.0, encoder, **options)
    fit(model, part, TrainingConfig(epochs=3, penalty=0.03, learning_rate=0.05, batch_size=25), progress=False)
    return model


TELLS = {  # what is correlated with what
    "attention with |influence|": ("attention", "size"),
    "lift with influence": ("lift", "influence"),
    "attention score with attention": ("attention_score", "attention"),
    "attention score with influence": ("attention_score", "influence"),
}


def two_scores(data: Dataset, lam: float, seed: int, mirrored: bool = False) -> dict[str, float]:
    """Table 2's DP: test accuracy, and rank correlations over the words of five test texts or more.

    Attention and influence are those on the last class. ``mirrored``: from −W instead of W.
    """
    model, run = train_real(data, mirrored, lam=lam, seed=seed)
    words = explain.word_class_influence(model, data)
    words = words[(words["support"] >= 5) & (words["class"] == data.classes[-1])]
    words = words.assign(size=words["influence"].abs())
    tells = {name: spearmanr(words[x], words[y], nan_policy="omit").statistic for name, (x, y) in TELLS.items()}
    return {"epochs": run.best_epoch, "test accuracy": run.test_accuracy} | tells


@experiment(
    jobs_over(seed=SEEDS, dataset=("sst", "20news-1"), lam=(0.01, 1.0, 10.0, 100.0), mirrored=(False, True)), rows=1
)
def parting(dataset: str, lam: float, seed: int, mirrored: bool) -> list[dict]:
    """Table 2's DP at four λ: what both scores of a word tell of its attention and influence; from W₀ and from −W₀."""
    return [two_scores(load_dataset(dataset), lam, seed, mirrored)]


def rank_agreement(
    data: pd.DataFrame, quantities: Sequence[str], yardstick: str, replicates: int = 500
) -> pd.DataFrame:
    """Spearman's correlation of each quantity with the yardstick over the rows, with bootstrap intervals of 95 %.

    The same samples of rows serve all quantities, so that they can be compared in pairs: quantities measured on the
    same rows may differ for sure though their own intervals overlap. Rows that lack a number are left out.

    Returns
    -------
    DataFrame
        quantity, correlation, low, high; behind, behind_low, behind_high: how far it is behind the best; rows. The
        best first.

    Raises
    ------
    ValueError
        If fewer than three rows are complete.
    """
    numbers = data[[*quantities, yardstick]].dropna().astype(float)
    if len(numbers) < 3:
        raise ValueError(f"rank correlation needs three complete rows, got {len(numbers)}")
    rows, numbers = np.arange(len(numbers)), numbers.to_numpy()

    def correlations(rows: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "quantities"]:
        return np.corrcoef(rankdata(numbers[rows], axis=0).T)[-1, :-1]  # spearmanr, of two columns too

    def behind(rows: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "quantities"]:
        now = correlations(rows)
        return now[best] - now

    best = correlations(rows).argmax()
    told = {"quantity": list(quantities), "correlation": correlations(rows)}
    told["low"], told["high"] = resampled(correlations, len(rows), replicates)
    told["behind"] = behind(rows)
    told["behind_low"], told["behind_high"] = resampled(behind, len(rows), replicates)
    told["rows"] = len(rows)
    return pd.DataFrame(told).sort_values("correlation", ascending=False, ignore_index=True)


def felt(model: AttentionClassifier, corpus: Corpus, rated: pd.DataFrame) -> dict[str, float]:
    """Rank correlations with people's ratings, over the rated words of five texts or more: with strength and with side.

    Strength is |rating − 2|, with which signed quantities are compared by their size; the side is its sign, where it
    has one. Attention weights and influence are means over the corpus, as in :mod:`uaftc_lib.explain`.
    """
    out, types = model(corpus), len(model.embedding)
    texts = torch.unique(corpus.instance_of * types + corpus.tokens) % types
    held_by = torch.bincount(texts, minlength=types)
    ids = torch.as_tensor(rated["rank"].to_numpy() - 1)
    words = rated[(held_by[ids] >= 5).numpy()]
    ids = torch.as_tensor(words["rank"].to_numpy() - 1)
    alone = model.token_scores()
    of_texts = {"weight": out.weights, "influence": out.weights * out.token_polarity}
    quantities = {name: sum_by_instance(values, corpus.tokens, types) / held_by for name, values in of_texts.items()}
    quantities |= {"attention score": alone.attention, "polarity score": alone.polarity}
    found, rating = {"words": len(words)}, words["rating"] - 2
    for name, values in quantities.items():
        mine = pd.Series(values[ids].double().numpy(), index=words.index)
        size = mine.abs() if name in ("influence", "polarity score") else mine
        found[f"{name}, strength"] = spearmanr(size, rating.abs()).statistic
        found[f"{name}, side"] = spearmanr(mine[rating != 0], np.sign(rating[rating != 0])).statistic
    return found


@experiment(
    jobs=[{"labels": labels, "seed": s} for labels in ("real", "permuted") for s in range(RUNS[labels])], rows=1
)
def ratings_felt(labels: str, seed: int) -> list[dict]:
    """SST at λ = 10, real and permuted labels, at equal loss: how near each quantity comes to people's ratings."""
    data = whole = load_dataset("sst")
    if labels == "permuted":
        data = with_permuted_labels(data, seed)
    rated = rated_words(whole)

    @torch.no_grad()
    def look(now: AttentionClassifier) -> dict:
        return felt(now, whole.test, rated)

    epoch, loss, found = at_loss(data, labels, seed, look)
    return [{"epoch": epoch, "loss": loss} | found]
