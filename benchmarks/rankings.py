"""Which words speak for which class: what each of several methods says of a file, with its usual settings.

Each takes a file and a seed, and gives its ranking (:func:`ranking`) and, where it answers texts that it has not seen,
how often it is right.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline

from uaftc_lib import files
from uaftc_lib.cli import app

LISTED = 20  # words of a class that a method lists which knows no threshold
RESAMPLES = 100  # of the bootstrapped regression
EXPLAINED = 50  # texts that LIME explains
ORDER = "total"
PART = 1000  # texts that SHAP explains together


@dataclass(frozen=True)
class File:
    """What every method is given (columns text and label), and the truth, which none is."""

    rows: pd.DataFrame
    truth: dict

    @property
    def classes(self) -> list[str]:
        return sorted(set(self.rows["label"]))

    def halves(self, seed: int) -> list[File]:
        """Two halves at random, every class in equal shares."""
        parts = train_test_split(self.rows, test_size=0.5, stratify=self.rows["label"], random_state=seed)
        return [File(part.reset_index(drop=True), self.truth) for part in parts]


def ranking(
    words: Iterable[str],
    classes: Sequence[str],
    score: Float[np.ndarray, "words classes"],
    order: Float[np.ndarray, "words classes"] | None = None,
    listed: Bool[np.ndarray, "words classes"] | None = None,
) -> pd.DataFrame:
    """A row for each word and class: how much the word speaks for it, by what it is ordered, and whether it is listed.

    ``order`` None: by the score. ``listed`` None: the first :data:`LISTED` of each class.
    """
    order = score if order is None else order
    if listed is None:
        places = (-order).argsort(0, kind="stable").argsort(0)
        listed = (places < LISTED) & (order > 0)
    names = pd.MultiIndex.from_product([words, classes], names=["word", "class"])
    columns = {"score": score, "order": order, "listed": listed}
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, names).reset_index()


def by_class(values: Float[np.ndarray, "*words"]) -> Float[np.ndarray, "*words classes"]:
    """A column for each class, where one number speaks for the second of two."""
    return np.stack([-values, values], -1)


def regression(
    texts: Iterable[str], labels: Iterable[str]
) -> tuple[TfidfVectorizer, sparse.csr_matrix, LogisticRegression]:
    """Logistic regression on tf-idf, both as scikit-learn has them."""
    vectors = TfidfVectorizer()
    found = vectors.fit_transform(texts)
    return vectors, found, LogisticRegression(max_iter=1000).fit(found, labels)


def coefficients(model: LogisticRegression) -> Float[np.ndarray, "words classes"]:
    return by_class(model.coef_[0]) if len(model.coef_) == 1 else model.coef_.T


def ours(file: File, seed: int) -> tuple[pd.DataFrame, dict]:
    """``uaftc explain``, as its user calls it: what it lists, and then all else, in its order."""
    with tempfile.TemporaryDirectory() as scratch:
        path, out = Path(scratch) / "file.csv", Path(scratch) / "report"
        files.write(path, file.rows.to_csv(index=False))
        given = ["explain", str(path), "--text", "text", "--label", "label", "--out", str(out), "--seed", str(seed)]
        with contextlib.redirect_stdout(io.StringIO()):
            app(given, standalone_mode=False)
        words = pd.read_csv(out / "words.csv", keep_default_na=False, na_values=[""], dtype={"word": str, "class": str})
        judged = json.loads((out / "report.json").read_text(encoding="utf-8"))["quality"]
    order = words[ORDER].fillna(-np.inf)
    listed = words["listed"] if "listed" in words else order > 0
    order = order.where(listed, order - 1e6)
    found = words[["word", "class"]].assign(score=words["influence"], order=order, listed=listed)
    told = {name: judged["attention"].get(name) for name in ("accuracy", "balanced_accuracy")}
    return found, told | {"verdict": judged["verdict"]}


def linear(file: File, seed: int) -> tuple[pd.DataFrame, dict]:
    """The coefficients of logistic regression; its answers in five folds."""
    texts, labels = file.rows["text"], file.rows["label"]
    vectors, _, model = regression(texts, labels)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    answers = cross_val_predict(
        make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000)), texts, labels, cv=folds
    )
    told = {"accuracy": accuracy_score(labels, answers), "balanced_accuracy": balanced_accuracy_score(labels, answers)}
    return ranking(vectors.get_feature_names_out(), file.classes, coefficients(model)), told


def bootstrapped(file: File, seed: int) -> tuple[pd.DataFrame, dict]:
    """Logistic regression on resampled texts: lists the words whose 95 % interval is above zero, by its lower end."""
    labels, draws = file.rows["label"].to_numpy(), np.random.default_rng(seed)
    vectors, found, _ = regression(file.rows["text"], labels)
    resampled = []
    for _ in range(RESAMPLES):
        sample = draws.integers(0, len(labels), len(labels))
        resampled.append(coefficients(LogisticRegression(max_iter=1000).fit(found[sample], labels[sample])))
    low = np.quantile(resampled, 0.025, axis=0)
    names = vectors.get_feature_names_out()
    return ranking(names, file.classes, np.mean(resampled, 0), low, low > 0), {}


def shap_values(file: File, seed: int) -> tuple[pd.DataFrame, dict]:
    """SHAP of the same regression: ordered as in its summary, by the mean size over all texts.

    On the side of the class for which the word speaks in the texts that hold it.
    """
    import shap

    vectors, found, model = regression(file.rows["text"], file.rows["label"])
    explainer = shap.LinearExplainer(model, found)
    size = there = 0.0
    for begin in range(0, len(file.rows), PART):
        part = found[begin : begin + PART]
        values = np.asarray(explainer.shap_values(part))
        values = by_class(values) if values.ndim == 2 else values
        size = size + np.abs(values).sum(0)
        there = there + (values * (part.toarray() > 0)[:, :, None]).sum(0)
    there = there / np.asarray((found > 0).sum(0)).reshape(-1, 1)
    return ranking(vectors.get_feature_names_out(), file.classes, there, size * np.sign(there)), {}


def lime(file: File, seed: int) -> tuple[pd.DataFrame, dict]:
    """LIME of the same regression on some texts: ordered by the sum of the weights that a word got in them."""
    from lime.lime_text import LimeTextExplainer

    vectors, _, model = regression(file.rows["text"], file.rows["label"])
    pipeline, explainer = make_pipeline(vectors, model), LimeTextExplainer(class_names=file.classes, random_state=seed)
    rows = []
    for text in file.rows["text"].sample(EXPLAINED, random_state=seed):
        numbers = [1] if len(file.classes) == 2 else range(len(file.classes))
        told = explainer.explain_instance(text, pipeline.predict_proba, labels=numbers)
        rows += [(word.lower(), k, weight) for k in numbers for word, weight in told.as_list(label=k)]
    weights = pd.DataFrame(rows, columns=["word", "class", "weight"]).groupby(["word", "class"])["weight"]
    mean, total = (table.unstack(fill_value=0.0) for table in (weights.mean(), weights.sum()))
    if len(file.classes) == 2:
        return ranking(mean.index, file.classes, by_class(mean[1].to_numpy()), by_class(total[1].to_numpy())), {}
    return ranking(mean.index, file.classes, mean.to_numpy(), total.to_numpy()), {}


def log_odds(file: File, seed: int) -> tuple[pd.DataFrame, dict]:
    """Log-odds of a class against the others with an informative Dirichlet prior (Monroe et al., 2008): z above 1.96.

    The prior is the count in the whole file.
    """
    vectors = CountVectorizer()
    found, labels = vectors.fit_transform(file.rows["text"]), file.rows["label"].to_numpy()
    prior = np.asarray(found.sum(0)).ravel().astype(float)

    def log_odds_of(counts):
        with_prior = counts + prior
        return np.log(with_prior / (counts.sum() + prior.sum() - with_prior))

    z = []
    for name in file.classes:
        of_class = np.asarray(found[labels == name].sum(0)).ravel()
        others = prior - of_class
        z.append((log_odds_of(of_class) - log_odds_of(others)) / np.sqrt(1 / (of_class + prior) + 1 / (others + prior)))
    z = np.stack(z, 1)
    return ranking(vectors.get_feature_names_out(), file.classes, z, z, z > 1.96), {}


def scattertext(file: File, seed: int) -> tuple[pd.DataFrame, dict]:
    """The scaled F-score, of words that occur three times, as its explorer shows them."""
    import scattertext as st  # needs six, and does not ask for it

    corpus = st.CorpusFromPandas(file.rows, category_col="label", text_col="text", nlp=st.whitespace_nlp_with_sentences)
    corpus = corpus.build().get_unigram_corpus()
    often = corpus.get_term_freq_df().sum(axis=1).to_numpy() >= 3
    scores = np.stack([corpus.get_scaled_f_scores(name) for name in file.classes], 1)
    return ranking(np.array(corpus.get_terms())[often], file.classes, 2 * scores[often] - 1), {}


METHODS: dict[str, tuple[Callable[[File, int], tuple[pd.DataFrame, dict]], str]] = {  # and the package it needs
    "uaftc explain": (ours, ""),
    "logistic regression": (linear, ""),
    "logistic regression, bootstrapped": (bootstrapped, ""),
    "SHAP": (shap_values, "shap"),
    "LIME": (lime, "lime"),
    "log-odds": (log_odds, ""),
    "scattertext": (scattertext, "scattertext"),
}
