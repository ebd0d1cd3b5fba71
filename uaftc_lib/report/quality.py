"""Is the model worth explaining? Accuracy, calibration and a linear baseline on the same words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from uaftc_lib.corpus import Corpus, Dataset

BINS = 10
VERDICTS = {  # what may be concluded, and why
    "useless": (
        "No conclusion may be drawn.",
        "On texts it had not seen, the model is not clearly better than one that always names the largest class. "
        "Whatever words it leans on, they do not tell the classes apart.",
    ),
    "worse than linear": (
        "Conclusions may be drawn about this model, but not about what matters in these texts.",
        "A linear model that only counts the same words gets more of the unseen texts right: there is more to "
        "learn from these texts than this model has learnt.",
    ),
    "few": (
        "Conclusions may be drawn about this model; how good it is remains open.",
        "It beats always naming the largest class, but only {test_instances} unseen texts were there to test it.",
    ),
    "sound": (
        "Conclusions may be drawn about this model, and the model is worth asking.",
        "On texts it had not seen, it beats always naming the largest class, and a linear model on the same words "
        "is not clearly better.",
    ),
}


def word_counts(corpus: Corpus, types: int) -> sparse.csr_matrix:
    """How often each word occurs in each instance: "instances types"."""
    ones = np.ones(len(corpus.tokens), np.float32)
    counts = sparse.csr_matrix((ones, corpus.tokens.cpu().numpy(), corpus.offsets.cpu().numpy()), (len(corpus), types))
    counts.sum_duplicates()
    return counts


class LinearBaseline:
    """tf-idf and logistic regression, its regularisation chosen on the dev split; no attention, no order."""

    def __init__(
        self,
        dataset: Dataset,
        strengths: tuple[float, ...] = (1.0, 10.0),
        progress: Callable = iter,
    ):
        self.types = len(dataset.vocabulary)
        self.tfidf = TfidfTransformer(sublinear_tf=True).fit(word_counts(dataset.train, self.types))
        train, labels = self.features(dataset.train), dataset.train.labels.cpu().numpy()
        # The tolerance is one of the mean gradient: of many words that are rare each, it is small from the start.
        fitted = [LogisticRegression(C=C, max_iter=1000, tol=1e-6).fit(train, labels) for C in progress(strengths)]
        if dataset.dev is not None:
            dev, truth = self.features(dataset.dev), dataset.dev.labels.cpu().numpy()
            fitted.sort(key=lambda model: model.score(dev, truth), reverse=True)
        self.model = fitted[0]

    def features(self, corpus: Corpus) -> sparse.csr_matrix:
        return self.tfidf.transform(word_counts(corpus, self.types))

    def probabilities(self, corpus: Corpus) -> Float[np.ndarray, "instances classes"]:
        """Class probabilities; every class must occur in the training split."""
        return self.model.predict_proba(self.features(corpus))

    def coefficients(self) -> Float[np.ndarray, "types classes"]:
        """The weight of each word for each class; two classes: −β and β."""
        beta = self.model.coef_.T
        return np.hstack([-beta, beta]) if beta.shape[1] == 1 else beta


def calibration(
    probability: Float[np.ndarray, "instances classes"], labels: Int[np.ndarray, "instances"]
) -> pd.DataFrame:
    """Confidence of the predicted class against how often it was right, in ten bins of equal width."""
    confidence, right = probability.max(1), probability.argmax(1) == labels
    index = np.minimum((confidence * BINS).astype(int), BINS - 1)
    n = np.bincount(index, minlength=BINS)
    with np.errstate(invalid="ignore"):
        table = pd.DataFrame(
            {
                "low": np.arange(BINS) / BINS,
                "high": (np.arange(BINS) + 1) / BINS,
                "instances": n,
                "confidence": np.bincount(index, confidence, BINS) / n,
                "accuracy": np.bincount(index, right, BINS) / n,
            }
        )
    return table[table["instances"] > 0].reset_index(drop=True)


def calibration_error(bins: pd.DataFrame) -> float:
    """Expected calibration error: the mean gap of confidence and accuracy, weighted by instances."""
    gap = (bins["confidence"] - bins["accuracy"]).abs()
    return float((gap * bins["instances"]).sum() / bins["instances"].sum())


def accuracy(right: Bool[np.ndarray, "instances"]) -> dict[str, float]:
    """The share of right answers with its 95 % interval (Wilson)."""
    low, high = proportion_confint(int(right.sum()), len(right), method="wilson")
    return {"accuracy": float(right.mean()), "low": float(low), "high": float(high)}


def quality(
    by_seed: list[Float[np.ndarray, "instances classes"]],
    baseline: Float[np.ndarray, "instances classes"],
    train_labels: torch.Tensor,
    labels: Int[np.ndarray, "instances"],
) -> dict:
    """Everything that the report says of the model's worth, and its verdict.

    The verdict is "useless" if the interval of the accuracy reaches down to that of always naming the
    largest class, "worse than linear" if the linear baseline gets more right (McNemar's test, 5 %), "few"
    if there are fewer than 200 test instances, else "sound".
    """
    mean = np.mean(by_seed, 0)
    right, linear_right = mean.argmax(1) == labels, baseline.argmax(1) == labels
    largest = int(torch.bincount(train_labels).argmax())
    ours, majority = accuracy(right), accuracy(labels == largest)
    table = np.array(
        [
            [(right & linear_right).sum(), (right & ~linear_right).sum()],
            [(~right & linear_right).sum(), (~right & ~linear_right).sum()],
        ]
    )
    worse = linear_right.mean() > right.mean() and mcnemar(table, exact=True).pvalue < 0.05
    if ours["low"] <= majority["accuracy"]:
        verdict = "useless"
    elif worse:
        verdict = "worse than linear"
    else:
        verdict = "few" if len(labels) < 200 else "sound"
    result = {"verdict": verdict, "test_instances": len(labels), "largest_class": largest}
    for name, probability in (("attention", mean), ("linear", baseline)):
        bins = calibration(probability, labels)
        result[name] = accuracy(probability.argmax(1) == labels) | {
            "calibration_error": calibration_error(bins),
            "confidence": float(probability.max(1).mean()),
            "calibration": bins.to_dict("records"),
        }
    result["majority"] = majority
    result["accuracy_by_seed"] = [float((each.argmax(1) == labels).mean()) for each in by_seed]
    return result
