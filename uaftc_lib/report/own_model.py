"""The reader's own model: any classifier of texts that has scikit-learn's ``fit``, explained on the same page.

A linear pipeline is explained exactly. Its words are those that its vectorizer counts, and a word pushes a class by
x β: its feature times the coefficient of the class (less the mean over more than two classes). Any other model is asked
again about changed texts. A word's push is then its Shapley value in the logits (log P less its mean over the classes;
two classes: the log-odds), from two orders of the words of each text, a random one and its reverse (Štrumbelj &
Kononenko 2010); the fall of P is what leaving the word out takes away.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.words import word_instance_pairs
from uaftc_lib.progress import progress_bar
from uaftc_lib.report import explain_table
from uaftc_lib.report.prepare import Prepared
from uaftc_lib.report.read import Table, missing, remarks, sample, tidy
from uaftc_lib.report.request import FEWEST_ROWS, Columns, check_folder
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.train import MOST_AGAIN, Fold, Trained, push_columns, sums_of_pairs, train
from uaftc_lib.report.words import Cutter

MOST_ASKED = 60_000  # changed texts that one model is asked about
FEWEST_AGAIN = 50  # texts that it reads again at least, however long they are
BATCH = 5000  # changed texts at once
CHECKED = 100  # texts on which a pipeline is seen to add up coefficients
WAYS = ("predict_proba", "decision_function")  # in which a model answers
LEAST = 1e-3  # probability: what is less counts as so much, as a forest may say 0

Columned = Float[np.ndarray, "texts classes"]
PairValues = tuple[Int[np.ndarray, "pairs"], Int[np.ndarray, "pairs"], Columned, Float[np.ndarray, "pairs columns"]]


def explain_model(
    estimator: BaseEstimator,
    texts: Iterable[str],
    labels: Iterable,
    out: str | os.PathLike,
    *,
    groups: Iterable | None = None,
    compare: Iterable | None = None,
    name: str = "texts",
    seed: int = 0,
    all_words: bool = False,
    no_texts: bool = False,
    progress: bool = True,
) -> dict:
    """Which words drive which class in a model of your own: report.html, words.csv, predictions.csv and report.json.

    Five copies of the estimator are fitted, each without a fifth of the texts, and asked about that fifth. A model that
    is trained already and has not seen these texts is asked as it is inside ``sklearn.frozen.FrozenEstimator``.

    Parameters
    ----------
    estimator : estimator
        A classifier or Pipeline that takes a list of texts and has ``predict_proba`` or ``decision_function``. It is
        not changed.
    texts, labels : sequence
        At least 100 texts (str), and their classes, as the estimator takes them.
    out : path
        A folder; it is made when all is done.
    groups, compare : sequence, optional
        Texts of one group are never on both sides of a split; which words drive a class in some of these groups
        more than in others, as ``uaftc explain --compare``.
    name : str
        What the page calls the texts.
    seed : int
        Of the fifths and of the orders of words; the estimator keeps its own random_state.
    all_words, no_texts, progress
        See :func:`uaftc_lib.report.explain_file`.

    Returns
    -------
    dict
        What report.json holds; its "model" says how words were measured: "coefficients" or "changed texts".

    Raises
    ------
    Refused
        If the texts cannot be explained, or nothing can be written.
    ValueError
        If the sequences differ in length, or the estimator cannot be used.
    """
    if isinstance(estimator, type) or not any(hasattr(estimator, way) for way in WAYS):
        raise ValueError(f"{estimator!r} is no model that can be explained: it needs {' or '.join(WAYS)}")
    check_folder(Path(out))
    columns = {"text": texts, "label": labels, "group": groups, "compare": compare}
    columns = {role: one_column(role, column) for role, column in columns.items() if column is not None}
    lengths = [len(column) for column in columns.values()]
    if len(set(lengths)) > 1:
        raise ValueError(f"{', '.join(columns)} must be equally long, got {', '.join(map(str, lengths))}")
    roles = Columns(**{role: role for role in columns})
    rows = pd.DataFrame({"row": np.arange(1, 1 + lengths[0])} | columns, dtype=object)
    table = tidy(Table(rows, len(rows)), roles)
    table = sample(table.add(*remarks(table.rows)), seed=seed)
    own_labels = {label: columns["label"][row - 1] for label, row in zip(table.rows["label"], table.rows["row"])}
    own_rows = table.rows.assign(label=table.rows["label"].map(own_labels))
    vectorizer, enough = plain_vectorizer(estimator), len(own_labels) > 1 and len(table.rows) >= FEWEST_ROWS
    linear = vectorizer is not None and enough and is_linear(estimator, own_rows)
    cutter, kind = (VectorizerCutter(vectorizer), LinearReader) if linear else (Cutter(), AskedReader)

    def fitted(prepared: Prepared, settings: Settings, bar: Callable) -> Trained:
        trained = train(prepared, settings, bar, partial(readers, estimator, kind, own_labels), rounds=(1, 1))
        kept = {key: trained.settings[key] for key in ("encoder", "seed", "folds", "rounds")}
        again = {} if linear else {"read_again": trained.readers[0].again["test"]}
        return replace(trained, settings=kept | {"ngrams": cutter.ngrams} | again)

    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    about = {
        "name": " → ".join(" ".join(repr(step).split()) for step in steps),
        "measured": "coefficients" if linear else "changed texts",
        "probabilities": next(way for way in WAYS if hasattr(estimator, way)),
        "fitted": not isinstance(estimator, FrozenEstimator),
    }
    settings, kept = Settings(seed=seed), {"all_words": all_words, "no_texts": no_texts, "model": about}
    with progress_bar(total=3, disable=not progress, bar_format="{desc:9} step {n} of {total} {elapsed}") as stages:
        bar = partial(progress_bar, leave=False, disable=not progress)
        return explain_table(table, name, roles, out, settings, cutter, fitted, stages, bar, **kept)


def one_column(role: str, column: Iterable) -> list:
    """A column as a list.

    Raises
    ------
    ValueError
        If it is a table, or holds what is no text and should.
    """
    if isinstance(column, (str, dict)) or getattr(column, "ndim", 1) > 1:
        raise ValueError(f"{role} must be one column (a list, an array or a Series), got {type(column).__name__}")
    column = list(column)
    if role == "text" and any(not isinstance(cell, str) and not missing(cell) for cell in column):
        raise ValueError("texts must be strings; some are not")
    return column


def plain_vectorizer(estimator: BaseEstimator) -> CountVectorizer | None:
    """The first step of a pipeline, if it counts words, or words and pairs, as they stand."""
    first = estimator.steps[0][1] if isinstance(estimator, Pipeline) else None
    if not isinstance(first, CountVectorizer) or (first.analyzer, first.input) != ("word", "content"):
        return None
    own = any(each is not None for each in (first.tokenizer, first.preprocessor, first.strip_accents))
    return None if own or tuple(first.ngram_range) not in ((1, 1), (1, 2)) else first


def is_linear(estimator: Pipeline, rows: pd.DataFrame) -> bool:
    """Whether the pipeline, once fitted, adds up coefficients of its vectorizer's words."""
    texts = list(rows["text"])
    fitted = clone(estimator).fit(texts, list(rows["label"]))
    first, last = fitted.steps[0][1], fitted.steps[-1][1]
    if not (isinstance(getattr(last, "coef_", None), np.ndarray) and hasattr(last, "decision_function")):
        return False
    try:
        names = fitted[:-1].get_feature_names_out()
    except (AttributeError, ValueError):
        return False
    coef = last.coef_.reshape(-1, last.coef_.shape[-1])
    if not set(names) <= first.vocabulary_.keys() or len(names) != coef.shape[1]:
        return False
    some = texts[:CHECKED]
    decision, added = fitted.decision_function(some), fitted[:-1].transform(some) @ coef.T + last.intercept_
    if added.size != decision.size or not np.allclose(added, decision.reshape(added.shape)):
        return False
    P = class_probability(of_each_class(decision))
    return not hasattr(fitted, "predict_proba") or np.allclose(P, fitted.predict_proba(some))


class VectorizerCutter(Cutter):
    """Cuts texts as a vectorizer of scikit-learn does (:func:`plain_vectorizer`)."""

    def __init__(self, vectorizer: CountVectorizer):
        super().__init__(ngrams=vectorizer.ngram_range[1])
        self.how, self._by_spaces = type(vectorizer).__name__, False
        self._pattern, self._lower = re.compile(vectorizer.token_pattern), vectorizer.lowercase
        self._stop = frozenset(vectorizer.get_stop_words() or ())
        self.description = f"Words are what the model's {self.how} counts: {vectorizer.token_pattern}."

    def spans(self, text: str) -> list[tuple[int, int]]:
        plain, group = self._plain(text), self._pattern.groups
        spans = [match.span(group) for match in self._pattern.finditer(plain)]
        return [span for span in spans if plain[slice(*span)] not in self._stop]

    def cut(self, piece: str) -> list[str]:
        plain = self._plain(piece)
        return [plain[begin:end] for begin, end in self.spans(piece)]

    def _plain(self, text: str) -> str:
        """In lower case, of the same length: a few letters become two in it."""
        lower = text.lower() if self._lower else text
        return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def readers(
    estimator: BaseEstimator,
    kind: type,
    own_labels: dict[str, object],
    prepared: Prepared,
    chosen: list[Fold],
    settings: Settings,
    seed: int,
    done: Callable,
) -> Iterator[OwnReader]:
    """A fitted copy of the estimator for each fold. ``done()`` after each.

    ``own_labels``: each class → how the estimator calls it.
    """
    names, labels = [own_labels[name] for name in prepared.classes], prepared.whole.labels.tolist()
    for fold in chosen:
        rows = fold.rest.tolist()
        model = clone(estimator).fit([prepared.texts[i] for i in rows], [names[labels[i]] for i in rows])
        known = list(model.classes_)
        if len(known) != len(names) or not all(name in known for name in names):
            raise ValueError(
                f"the model answers {known[:5]}, the labels are {names[:5]}: they must be the same classes"
            )
        yield kind(model, prepared, [known.index(name) for name in names], seed)
        done()


class OwnReader:
    """A copy of the estimator, asked as :class:`uaftc_lib.report.train.Reader` is."""

    best_epoch = None
    again: dict[str, int] | None = None

    def __init__(self, model: BaseEstimator, prepared: Prepared, order: list[int], seed: int):
        self.model, self.prepared, self.order, self.seed = model, prepared, order, seed
        self.types, self.classes = len(prepared.vocabulary), prepared.whole.class_count

    def __len__(self) -> int:
        return self.types

    def read(self, whole: Corpus, rows: Int[np.ndarray, "rows"]) -> Corpus:
        """Some texts."""
        return whole[torch.from_numpy(rows)]

    def probability(self, whole: Corpus, rows: Int[np.ndarray, "rows"]) -> Columned:
        """Class probabilities of some texts."""
        return self.answers([self.prepared.texts[i] for i in rows.tolist()])

    def answers(self, texts: list[str]) -> Columned:
        """Class probabilities by ``predict_proba``, else :func:`class_probability` of ``decision_function``."""
        parts = [texts[begin : begin + BATCH] for begin in range(0, len(texts), BATCH)]
        if hasattr(self.model, "predict_proba"):
            said = [self.model.predict_proba(part) for part in parts]
        else:
            said = [class_probability(of_each_class(self.model.decision_function(part))) for part in parts]
        if said and said[0].shape[1] != self.classes:
            raise ValueError(
                f"the model has {said[0].shape[1]} columns for {self.classes} classes: give it predict_proba"
            )
        return np.concatenate([np.zeros((0, self.classes)), *said])[:, self.order]

    def push_sums(self, whole: Corpus, rows: Int[np.ndarray, "rows"]) -> tuple[np.ndarray, np.ndarray]:
        """In how many of some texts each word stands, and the sum of its pushes on each class."""
        return sums_of_pairs(self.pair_values(whole, rows), self.types, self.classes)

    def position_values(self, whole: Corpus, rows: Int[np.ndarray, "rows"]) -> tuple[np.ndarray, np.ndarray]:
        """Attention of every position of some texts, which is not known and 0; and push on each class, in equal parts
        where a word stands there several times."""
        *_, pair_of = word_instance_pairs(self.read(whole, rows), self.types)
        *_, values = self.pair_values(whole, rows)
        push = values[:, push_columns(self.classes)] / np.bincount(pair_of)[:, None]
        return np.zeros(len(pair_of)), push[pair_of]

    def pair_values(self, whole: Corpus, rows: Int[np.ndarray, "rows"]) -> PairValues:
        """See :meth:`uaftc_lib.report.train.Reader.pair_values`; attention is nan."""
        corpus = self.read(whole, rows)
        word, instance, _ = (each.numpy().copy() for each in word_instance_pairs(corpus, self.types))
        P, push, fall = self.pushes(corpus, rows, word, instance)
        nan = np.full_like(push, np.nan)
        return word, instance, P, np.hstack([np.ones((len(word), 1)), nan[:, :1], nan, push, fall])

    def pushes(
        self, corpus: Corpus, rows: np.ndarray, word: np.ndarray, instance: np.ndarray
    ) -> tuple[Columned, Float[np.ndarray, "pairs classes"], Float[np.ndarray, "pairs classes"]]:
        """P of each text; push of each pair on each class, and the fall of P without it."""
        raise NotImplementedError


class LinearReader(OwnReader):
    """A linear pipeline: a word's push is x β, exactly."""

    def __init__(self, model: Pipeline, prepared: Prepared, order: list[int], seed: int):
        super().__init__(model, prepared, order, seed)
        beta = model.steps[-1][1].coef_.reshape(-1, len(names := model[:-1].get_feature_names_out())).T
        beta = np.hstack([-beta, beta]) if beta.shape[1] == 1 else beta - beta.mean(1, keepdims=True)
        self.beta = beta[:, order]
        ids, features = prepared.vocabulary.encode(list(names)), np.arange(len(names))
        self.into = sparse.csr_array((np.ones(len(ids)), (features, ids)), (len(ids), self.types))

    def pushes(self, corpus, rows, word, instance):
        texts = [self.prepared.texts[i] for i in rows.tolist()]
        X = sparse.csr_array(self.model[:-1].transform(texts))
        logits = of_each_class(self.model.steps[-1][1].decision_function(X))[:, self.order]
        push = np.stack([(X.multiply(b[None, :]).tocsr() @ self.into)[instance, word] for b in self.beta.T], 1)
        P = class_probability(logits)
        return P, push, P[instance] - class_probability(logits[instance] - push)


class AskedReader(OwnReader):
    """Any model: it is asked again about texts without some of their words."""

    def __init__(self, model: BaseEstimator, prepared: Prepared, order: list[int], seed: int):
        super().__init__(model, prepared, order, seed)
        length = len(word_instance_pairs(prepared.whole, self.types)[0]) / len(prepared.texts)
        most = max(FEWEST_AGAIN, int(MOST_ASKED / (3 * length)))
        self.again = {which: min(most, least) for which, least in MOST_AGAIN.items()}
        self.known: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def pushes(self, corpus, rows, word, instance):
        new = [place for place, row in enumerate(rows.tolist()) if row not in self.known]
        self.ask(corpus, rows, new)
        P, push, fall = zip(*(self.known[row] for row in rows.tolist()))
        return np.stack(P), np.concatenate(push), np.concatenate(fall)

    def ask(self, corpus: Corpus, rows: Int[np.ndarray, "rows"], places: list[int]) -> None:
        """Shapley values and what leaving out does, of all words of some texts."""
        tokens, offsets = corpus.tokens.numpy(), corpus.offsets.tolist()
        changed, sizes, orders = [], [], []
        for place in places:
            row = int(rows[place])
            words, place_of = np.unique(tokens[offsets[place] : offsets[place + 1]], return_inverse=True)
            order = np.random.default_rng((self.seed, row)).permutation(len(words))
            rank = np.argsort(order)
            kept = [rank[None, :] < np.arange(len(words) + 1)[:, None]]  # the first k words of the order
            kept += [~kept[0][-2:0:-1], ~np.eye(len(words), dtype=bool)]  # those of its reverse; all but one
            changed += self.with_words(row, np.concatenate(kept)[:, place_of])
            sizes.append(len(words))
            orders.append(order)
        said = self.answers(changed)
        at = 0
        for place, n, order in zip(places, sizes, orders):
            first, back, single = np.split(said[at : at + 3 * n], [n + 1, 2 * n])
            at += 3 * n
            back = np.concatenate([first[:1], back, first[-1:]])
            push = np.empty((n, self.classes))
            push[order] = (np.diff(logits_of(first), axis=0) + np.diff(logits_of(back), axis=0)[::-1]) / 2
            self.known[int(rows[place])] = first[-1], push, first[-1] - single

    def with_words(self, row: int, kept: Bool[np.ndarray, "texts positions"]) -> Iterator[str]:
        """A text with some of its words, and all that stands between words."""
        text, spans = self.prepared.texts[row], self.prepared.cutter.spans(self.prepared.texts[row])
        ends = [0, *(end for _, end in spans)]
        between = [text[end:begin] for end, (begin, _) in zip(ends, spans)]
        words, last = [text[begin:end] for begin, end in spans], text[ends[-1] :]
        for some in kept.tolist():
            yield "".join(gap + word if keep else gap for gap, word, keep in zip(between, words, some)) + last


def of_each_class(decision: Float[np.ndarray, "texts ..."]) -> Columned:
    """Logits of all classes; −s and s of two."""
    return np.stack([-decision, decision], 1) if decision.ndim == 1 else decision


def class_probability(logits: Columned) -> Columned:
    """Softmax; of two classes, whose logits are −s and s, the logistic function of s."""
    return softmax(logits / 2 if logits.shape[1] == 2 else logits, axis=1)


def logits_of(P: Columned) -> Columned:
    """The inverse of :func:`class_probability`, where none is below LEAST."""
    logs = np.log(P.clip(LEAST))
    return logs - logs[:, ::-1] if P.shape[1] == 2 else logs - logs.mean(1, keepdims=True)
