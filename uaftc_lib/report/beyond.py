"""Beyond single words: what pairs of words, case, punctuation or hosts of addresses answer, where single words do not.

Each is a logistic regression on counts, trained and tested on the same fifths as the other models. Only what it answers
is shown: where to look, not which words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from uaftc_lib.report.prepare import Prepared
from uaftc_lib.report.train import Answers, Trained, auc, by_unit, verdict_of
from uaftc_lib.report.words import Cutter

MOST_TEXTS = 20_000  # that are looked at
HOST = re.compile(r"(?:https?://|www\.|@)((?:[\w-]+\.)+[a-z]{2,})", re.IGNORECASE)
SPACES = re.compile(r"\s+")


def pairs(text: str, cutter: Cutter) -> Iterator[str]:
    """Each word with the next one."""
    return map(" ".join, pairwise(cutter.words(text)))


def case(text: str, cutter: Cutter) -> Iterator[str]:
    """Words that hold upper case, as they are spelt, and whether all of the word is in upper case."""
    for begin, end in cutter.spans(text):
        word = text[begin:end]
        if word != word.lower():
            yield word
            yield "all" if word.isupper() else "some"


def punctuation(text: str, cutter: Cutter) -> Iterator[str]:
    """What stands between words: each sign, and signs that stand together."""
    ends = [0, *(place for span in cutter.spans(text) for place in span), len(text)]
    for begin, end in zip(ends[::2], ends[1::2]):
        for signs in SPACES.split(text[begin:end]):
            yield from {signs, *signs} - {""}


def hosts(text: str, _: Cutter) -> Iterator[str]:
    """Hosts of web and e-mail addresses."""
    return (match[1].lower() for match in HOST.finditer(text))


FEATURES = {
    "Pairs of neighbouring words": (pairs, "--ngrams 2 lists pairs"),
    "Upper and lower case": (case, "they count as one here"),
    "Punctuation": (punctuation, "--words spaces keeps it"),
    "The hosts of web and e-mail addresses": (hosts, "a whole address counts as one word here"),
}


def answered_without_words(prepared: Prepared, trained: Trained, clearly: float, right_of: Callable) -> list[str]:
    """A line for each of FEATURES that answers unseen texts clearly better than a linear model on single words.

    Parameters
    ----------
    prepared : Prepared
    trained : Trained
    clearly : float
        By how much its measure must be higher.
    right_of : callable
        The measure, of class probabilities and labels.
    """
    labels = prepared.whole.labels.numpy()
    some = np.sort(np.random.default_rng(0).permutation(len(labels))[:MOST_TEXTS])
    tested = trained.tested[np.isin(trained.tested, some)]
    words = right_of(trained.linear.probability[np.isin(trained.tested, tested)], labels[tested])
    lines = []
    for name, (features, hint) in FEATURES.items():
        if features is pairs and prepared.cutter.ngrams == 2:
            continue  # the linear model has seen them
        answers = answers_of(features, prepared, trained, some)
        if answers is None:
            continue
        answers = answers.at(tested)
        area = auc(*by_unit(answers.rank, labels[tested], prepared.unit[tested]))
        right = right_of(answers.probability, labels[tested])
        if verdict_of(area) == "sure" and right - words >= clearly:
            lines.append(
                f"{name}: a linear model on them alone answers {right:.0%} of the unseen texts right, one on single "
                f"words {words:.0%} (mean over the classes); {hint}"
            )
    return lines


def answers_of(features: Callable, prepared: Prepared, trained: Trained, some: np.ndarray) -> Answers | None:
    """What a logistic regression on the logarithms of counts answers of some texts; None where there is too little to
    count."""
    labels, classes = prepared.whole.labels.numpy(), prepared.whole.class_count
    known = CountVectorizer(analyzer=lambda text: [*features(text, prepared.cutter)], min_df=2)
    try:
        counts = known.fit_transform([prepared.texts[i] for i in some]).astype(float).log1p()
    except ValueError:  # nothing stands in two texts
        return None
    asked = []
    for fold in trained.folds:
        rest, test = np.isin(some, fold.rest), np.isin(some, fold.test)
        model = LogisticRegression(C=10.0, max_iter=1000).fit(counts[rest], labels[some[rest]])
        probability = np.zeros((test.sum(), classes))
        probability[:, model.classes_] = model.predict_proba(counts[test])
        asked.append((some[test], probability))
    return Answers.mean(asked, prepared.unit)
