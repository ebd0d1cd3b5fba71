"""AttentionTextClassifier is an estimator of scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

from uaftc_lib import AttentionTextClassifier

TEXTS = [f"{word} day {i % 5}" for i in range(30) for word in ("fine", "bad")]
LABELS = np.array(["yes", "no"] * 30)
QUICK = {"dimension": 8, "epochs": 10, "learning_rate": 0.1}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")  # it takes texts, not tables of numbers
def test_the_checks_of_scikit_learn_that_need_no_numbers_pass():
    """Those of fit and predict make tables of numbers; below are theirs that apply to texts."""
    estimator = AttentionTextClassifier()
    estimator_checks.check_estimator(estimator)
    for check in (
        "parameters_default_constructible",
        "get_params_invariance",
        "set_params",
        "no_attributes_set_in_init",
    ):
        getattr(estimator_checks, f"check_{check}")("AttentionTextClassifier", estimator)
    tags = estimator.__sklearn_tags__()
    assert tags.input_tags.string and not tags.input_tags.two_d_array and tags.classifier_tags is not None
    assert "lam=3" in repr(AttentionTextClassifier(lam=3)) and "lam" in AttentionTextClassifier(lam=3)._repr_html_()


def test_it_learns_and_answers_in_order_of_its_classes():
    model = AttentionTextClassifier(**QUICK).fit(TEXTS, LABELS)
    P = model.predict_proba(["a fine day", "BAD", "", "never seen"])
    assert model.classes_.tolist() == ["no", "yes"] and model.predict(["a fine day", "BAD"]).tolist() == ["yes", "no"]
    assert P.shape == (4, 2) and np.allclose(P.sum(1), 1) and model.score(TEXTS, LABELS) == 1
    scores = model.word_scores().set_index("word")
    assert scores.loc["fine", "polarity yes"] > 1 > -1 > scores.loc["bad", "polarity yes"]
    assert np.allclose(scores["polarity no"], -scores["polarity yes"])
    P, parameters = model.predict_proba(TEXTS), model.get_params()
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(TEXTS), P)
    assert np.array_equal(model.fit(pd.Series(TEXTS), LABELS.tolist()).predict_proba(TEXTS), P), "fitted again"
    assert model.get_params() == parameters and model.predict(TEXTS[:1]) == model.predict(TEXTS)[:1]
    drawn = [AttentionTextClassifier(**QUICK, random_state=None).fit(TEXTS, LABELS).predict_proba(TEXTS) for _ in "ab"]
    assert not np.array_equal(*drawn)


def test_it_stands_in_a_pipeline_and_a_grid_over_lam():
    upper = FunctionTransformer(lambda texts: [text.upper() for text in texts])
    grid = {"attentiontextclassifier__lam": [1.0, 10.0]}
    search = GridSearchCV(make_pipeline(upper, AttentionTextClassifier(**QUICK)), grid, cv=2, error_score="raise")
    assert search.fit(TEXTS, LABELS).best_score_ == 1


def test_pairs_tell_what_single_words_cannot():
    texts = [f"{some} thing {i % 7}" for i in range(30) for some in ("not good", "very bad", "very good", "not bad")]
    labels = [0, 0, 1, 1] * 30
    alone, both = (AttentionTextClassifier(**QUICK, ngrams=n).fit(texts, labels).score(texts, labels) for n in (1, 2))
    assert alone < 0.8 and both == 1


@pytest.mark.usefixtures("untyped")  # as readers meet it
@pytest.mark.parametrize(
    "X, y, message",
    [
        ("one text", ["a"], "X is one text"),
        ([], [], "X is empty"),
        (pd.DataFrame({"text": ["a b", "a c"]}), ["a", "b"], "X is a table"),
        (["a b", "a c"], ["a", None], "missing labels"),
        ([1, 2], ["a", "b"], "holds what is no text"),
        (["a b", "a c"], ["a", "a"], "one class alone"),
        (["a b", "a c"], ["a"], "inconsistent numbers of samples"),
        (["a b", "c d"], ["a", "b"], "no word occurs in two texts"),
        (["a b", "a c"], [0.5, 0.7], "Unknown label type"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        AttentionTextClassifier().fit(X, y)


def test_impossible_parameters_are_refused_when_it_is_fitted():
    for name, value in {"lam": 0, "dimension": 0, "encoder": "x", "dropout": 1.0, "ngrams": 3, "words": "x"}.items():
        with pytest.raises(ValueError, match=name if name != "words" else "texts can be cut"):
            AttentionTextClassifier(**{name: value}).fit(TEXTS, LABELS)
    with pytest.raises(NotFittedError):
        AttentionTextClassifier().predict(TEXTS)
