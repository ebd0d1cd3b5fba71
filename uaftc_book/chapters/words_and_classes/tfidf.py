"""The plain yardstick beside structured attention: tf-idf and logistic regression on the same words and splits."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from uaftc_book.chapters.words_and_classes.structured import GRID
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # C, 1 / regularisation; of equals on dev the smallest is taken


def counts_of_words(corpus: Corpus, types: int) -> sparse.csr_matrix:
    """How often each word occurs in each instance: "instances types"."""
    counts = sparse.csr_matrix((np.ones(len(corpus.tokens)), corpus.tokens, corpus.offsets), (len(corpus), types))
    counts.sum_duplicates()
    return counts


def linear(data: Dataset) -> dict[str, float]:
    """Accuracies of a logistic regression on tf-idf, of the strength that is best on dev."""
    weigh = TfidfTransformer(sublinear_tf=True).fit(counts_of_words(data.train, len(data.vocabulary)))
    features = {
        name: weigh.transform(counts_of_words(split, len(data.vocabulary))) for name, split in data.splits.items()
    }
    labels = {name: split.labels.numpy() for name, split in data.splits.items()}
    fitted = [LogisticRegression(C=C, max_iter=2000).fit(features["train"], labels["train"]) for C in STRENGTHS]
    best = max(fitted, key=lambda model: model.score(features["dev"], labels["dev"]))
    scores = {f"{name}_accuracy": best.score(features[name], labels[name]) for name in ("dev", "test")}
    return {"C": best.C} | {name: float(value) for name, value in scores.items()}


@experiment(jobs_over(dataset=GRID.datasets), rows=1)
def tfidf_baseline(dataset: str) -> list[dict]:
    """What tf-idf and logistic regression reach where structured attention is tried."""
    return [linear(load_dataset(dataset))]
