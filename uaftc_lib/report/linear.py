"""The yardstick of a report: a linear model on the same words, folds and texts; no attention, no order."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from uaftc_lib.corpus import Corpus

STRENGTHS = (1.0, 10.0)  # 1 / regularisation


def word_counts(corpus: Corpus, types: int) -> sparse.csr_matrix:
    """How often each word occurs in each instance: "instances types"."""
    ones = np.ones(len(corpus.tokens), np.float32)
    counts = sparse.csr_matrix((ones, corpus.tokens.cpu().numpy(), corpus.offsets.cpu().numpy()), (len(corpus), types))
    counts.sum_duplicates()
    return counts


def fitted_from(
    first: LogisticRegression | None, features: sparse.csr_matrix, labels: Int[np.ndarray, "instances"], C: float
) -> LogisticRegression:
    """A logistic regression whose first guess are the weights of another one."""
    # The tolerance is one of the mean gradient: of many words that are rare each, it is small from the start.
    model = LogisticRegression(C=C, max_iter=1000, tol=1e-6, warm_start=True)
    if first:
        model.coef_, model.intercept_ = first.coef_, first.intercept_
    return model.fit(features, labels)


class LinearBaseline:
    """tf-idf and logistic regression, of two strengths that which is best on ``dev``.

    ``before``: one that was fitted to nearly the same texts: its strength is taken, its weights are the first guess.
    ``without``: words (ids) that it does not see.
    """

    def __init__(
        self,
        train: Corpus,
        dev: Corpus,
        types: int,
        before: LinearBaseline | None = None,
        without: Int[np.ndarray, "words"] | tuple = (),
    ):
        self.seen = np.ones(types, np.float32)
        self.seen[list(without)] = 0
        self.tfidf = TfidfTransformer(sublinear_tf=True).fit(self.counts(train))
        features, labels = self.features(train), train.labels.cpu().numpy()
        if before:
            self.model = fitted_from(before.model, features, labels, before.model.C)
        else:
            weak, strong = sorted(STRENGTHS)
            first = fitted_from(None, features, labels, weak)
            both = (first, fitted_from(first, features, labels, strong))
            chosen, truth = self.features(dev), dev.labels.cpu().numpy()
            self.model = max(both, key=lambda model: model.score(chosen, truth))

    def counts(self, corpus: Corpus) -> sparse.csr_matrix:
        """How often each word that it sees occurs in each instance."""
        counts = word_counts(corpus, len(self.seen))
        return counts if self.seen.all() else counts @ sparse.diags_array(self.seen, dtype=np.float32)

    def features(self, corpus: Corpus) -> sparse.csr_matrix:
        return self.tfidf.transform(self.counts(corpus))

    def probabilities(self, corpus: Corpus) -> Float[np.ndarray, "instances classes"]:
        """Class probabilities; every class must occur in the training split."""
        return self.model.predict_proba(self.features(corpus))

    def coefficients(self) -> Float[np.ndarray, "types classes"]:
        """The weight of each word for each class; two classes: −β and β."""
        beta = self.model.coef_.T
        return np.hstack([-beta, beta]) if beta.shape[1] == 1 else beta
