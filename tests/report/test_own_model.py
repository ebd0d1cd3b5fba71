"""A classifier of the reader's own on the same page: exactly where it is linear, else by changed texts."""

import json
from itertools import permutations
from types import SimpleNamespace

import made_files
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, LinearSVC

from uaftc_lib import explain_model
from uaftc_lib.report.own_model import AskedReader, LinearReader, VectorizerCutter, is_linear, plain_vectorizer
from uaftc_lib.report.prepare import prepare
from uaftc_lib.report.read import Table
from uaftc_lib.report.train import push_columns
from uaftc_lib.report.words import Cutter

pytestmark = pytest.mark.usefixtures("untyped")  # whole computations, whose parts have tests of their own


def rows_and_truth(classes=2, seed=0):
    return made_files.known_causes(seed, classes=classes)


@pytest.mark.parametrize(
    "pipeline, linear",
    [
        (make_pipeline(TfidfVectorizer(), LogisticRegression()), True),
        (
            make_pipeline(TfidfVectorizer(ngram_range=(1, 2), stop_words="english"), SelectKBest(k=30), LinearSVC()),
            True,
        ),
        (make_pipeline(CountVectorizer(), MaxAbsScaler(), LogisticRegression()), True),
        (make_pipeline(CountVectorizer(analyzer="char"), LogisticRegression()), False),
        (make_pipeline(HashingVectorizer(), LogisticRegression()), False),
        (make_pipeline(TfidfVectorizer(), SVC(kernel="linear")), False),
        (make_pipeline(TfidfVectorizer(), CalibratedClassifierCV(LinearSVC())), False),
        (make_pipeline(CountVectorizer(), MultinomialNB()), False),
        (make_pipeline(CountVectorizer(), SGDClassifier(loss="modified_huber")), False),  # other probabilities
        (LogisticRegression(), False),
    ],
)
def test_only_pipelines_that_add_up_coefficients_are_linear(pipeline, linear):
    rows, _ = rows_and_truth()
    assert linear == (plain_vectorizer(pipeline) is not None and is_linear(pipeline, rows[:300]))


def pushes_of(kind, model, prepared, order=None):
    """Pushes and falls of all words of all texts."""
    reader = kind(model, prepared, order or list(range(prepared.whole.class_count))[::-1], seed=0)
    rows = np.arange(len(prepared.texts))
    word, instance, P, values = reader.pair_values(prepared.whole, rows)
    pushes = push_columns(prepared.whole.class_count)
    return reader, P, instance, values[:, pushes], values[:, pushes.stop :]


@pytest.mark.parametrize("classes", [2, 3])
def test_changed_texts_say_what_coefficients_say_where_counts_add_up(classes):
    rows, _ = rows_and_truth(classes)
    rows = rows[:400]
    last = LogisticRegression(C=0.1) if classes == 2 else LinearSVC(C=0.01)  # whose coefficients do not sum to zero
    model = make_pipeline(CountVectorizer(token_pattern=r"[^\W_]+"), last)
    table = Table(rows.assign(row=np.arange(len(rows))), len(rows))
    prepared = prepare(table, VectorizerCutter(model[0]))
    model.fit(prepared.texts, classes - 1 - prepared.whole.labels.numpy())  # in another order
    exact, P, instance, push, fall = pushes_of(LinearReader, model, prepared)
    _, asked_P, _, asked, asked_fall = pushes_of(AskedReader, model, prepared)
    logits = np.atleast_2d(model.decision_function(prepared.texts).T).T
    assert np.array_equal(P.argmax(1), classes - 1 - model.predict(prepared.texts)) and np.allclose(P, asked_P)
    assert np.allclose(push, asked, atol=1e-6) and np.allclose(fall, asked_fall, atol=1e-6)
    sums = np.stack([np.bincount(instance, column) for column in push.T], 1)
    logits = logits - model[-1].intercept_
    logits = logits[:, ::-1] - logits.mean(1, keepdims=True) if classes > 2 else logits
    assert np.allclose(sums if classes > 2 else sums[:, :1], logits), "the pushes of a text add up"
    _, push = exact.position_values(prepared.whole, np.arange(3))
    assert np.allclose(push.sum(0), sums[:3].sum(0))


def test_two_orders_are_all_orders_of_two_words():
    """The Shapley value by definition, of a model for which the words do not add up."""
    said = {"": 0.5, "not": 0.4, "good": 0.9, "not good": 0.1}
    model = SimpleNamespace(
        classes_=np.arange(2),
        predict_proba=lambda texts: np.array([[1 - said[t.strip()], said[t.strip()]] for t in texts]),
    )
    rows = pd.DataFrame({"row": range(200), "text": "not good", "label": ["a", "b"] * 100})
    whole = prepare(Table(rows.assign(text=[f"not good {i % 9}" for i in range(200)]), 200), Cutter()).whole
    prepared = SimpleNamespace(texts=["not good"], whole=whole, vocabulary=range(9), cutter=Cutter())
    one = type(whole).from_lists([[0, 1]], [1], 2)
    prepared.whole = one
    _, _, _, push, fall = pushes_of(AskedReader, model, prepared, [0, 1])
    logit = {text: np.log(p / (1 - p)) for text, p in said.items()}
    shares = dict.fromkeys(("not", "good"), 0.0)
    for order in permutations(("not", "good")):
        before = set()
        for word in order:
            kept = [" ".join(w for w in ("not", "good") if w in some) for some in (before | {word}, before)]
            shares[word] += (logit[kept[0]] - logit[kept[1]]) / 2
            before.add(word)
    assert np.allclose(push[:, 1], [*shares.values()]) and np.allclose(push[:, 0], -push[:, 1])
    assert np.allclose(fall[:, 1], [said["not good"] - said["good"], said["not good"] - said["not"]])


MODELS = {
    "coefficients": make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)),
    "changed texts": make_pipeline(CountVectorizer(), MultinomialNB()),
}


@pytest.mark.parametrize("measured", MODELS)
def test_the_page_lists_the_causes_and_says_how_they_were_measured(tmp_path, measured):
    rows, truth = rows_and_truth()
    report = explain_model(MODELS[measured], rows["text"], rows["label"], tmp_path / "out", progress=False)
    assert report["model"]["measured"] == measured and report["quality"]["verdict"] == "sure"
    words = pd.read_csv(tmp_path / "out" / "words.csv")
    listed = words[words["listed"]]
    true = {(word, name) for name, some in truth["causes"].items() for word in some}
    pairs = {*zip(listed["word"], listed["class"])}
    assert len(pairs & true) >= 0.95 * len(pairs) and len(pairs & true) >= 0.6 * len(true)
    assert listed["influence_low"].notna().all() and words["attention"].isna().all()
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert ("so this is exact" in page) == (measured == "coefficients") != ("Shapley value in the log-odds" in page)
    assert type(MODELS[measured][-1]).__name__ in page and 'data-key="attention"' not in page
    assert json.loads((tmp_path / "out" / "report.json").read_bytes())["settings"]["folds"] == 5


def test_of_shuffled_labels_nothing_is_listed(tmp_path):
    rows, _ = rows_and_truth()
    labels = np.random.default_rng(0).permutation(rows["label"])[:800]
    report = explain_model(MODELS["coefficients"], rows["text"][:800], labels, tmp_path / "out", progress=False)
    assert not any(report["top_words"].values())


@pytest.mark.parametrize("names", [("yes", "no"), (9, 10), (True, False)])
def test_a_frozen_model_is_asked_as_it_is_by_its_own_names_of_the_classes(tmp_path, names):
    """9 and 10 as strings have another order."""
    rows, _ = rows_and_truth()
    labels = rows["label"].map(dict(zip(sorted(set(rows["label"])), names))).tolist()
    model = make_pipeline(CountVectorizer(), MultinomialNB()).fit(rows["text"][:600], labels[:600])
    texts, labels = rows["text"][600:1200], labels[600:1200]
    report = explain_model(FrozenEstimator(model), texts, labels, tmp_path / "out", progress=False)
    assert report["quality"]["attention"]["accuracy"] == pytest.approx(model.score(texts, labels), abs=0.01)
    assert "Your model was asked as it is" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert not report["model"]["fitted"] and report["settings"]["rounds"] == 1
    with pytest.raises(ValueError, match="must be the same classes"):
        explain_model(FrozenEstimator(model), texts, ["a", "b"] * 300, tmp_path, progress=False)


def test_margins_become_probabilities_and_the_page_says_so(tmp_path):
    rows, _ = rows_and_truth()
    pipeline = make_pipeline(TfidfVectorizer(), LinearSVC())
    explain_model(pipeline, rows["text"][:300], rows["label"][:300], tmp_path / "out", progress=False)
    assert "Your model gives no probabilities" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "estimator, texts, labels, message",
    [
        (CountVectorizer(), ["a"], ["b"], "needs predict_proba or decision_function"),
        (LogisticRegression, ["a"], ["b"], "no model that can be explained"),
        (MODELS["coefficients"], ["a", "b"], ["b"], "equally long, got 2, 1"),
        (MODELS["coefficients"], ["a b"] * 20, ["x", "y"] * 10, "100"),
        (MODELS["coefficients"], [f"a {i % 9}" for i in range(200)], ["x"] * 200, "only the class"),
        (MODELS["changed texts"], pd.DataFrame({"t": ["a"]}), ["x"], "text must be one column"),
        (MODELS["changed texts"], range(200), ["x", "y"] * 100, "texts must be strings"),
    ],
)
def test_what_cannot_be_explained_is_refused(tmp_path, estimator, texts, labels, message):
    with pytest.raises(ValueError, match=message):
        explain_model(estimator, texts, labels, tmp_path, progress=False)
