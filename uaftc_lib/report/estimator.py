"""An attention classifier of texts as an estimator of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Shaped
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.words import class_polarity
from uaftc_lib.report.prepare import Words, count_words, vocabulary_of, with_pairs
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.train import OF_DEV, Fold, parts, train_reader
from uaftc_lib.threads import one_thread


class AttentionTextClassifier(ClassifierMixin, BaseEstimator):
    """Texts → classes by attention: one model as :func:`uaftc_lib.report.explain_file` trains five.

    An eighth of the texts chooses the epoch. A word that stands in one text only, or in none, is read as ``<unk>``, and
    so is a text without words.

    Parameters
    ----------
    lam : float
        λ, which divides the attention scores.
    dimension, encoder, epochs, learning_rate, dropout, words, ngrams
        See :class:`uaftc_lib.report.settings.Settings`.
    random_state : int, RandomState or None
        Of the initial values, the order of the texts and the choice of the eighth. None: another one each time.

    Attributes
    ----------
    classes_ : array
    vocabulary_ : Vocabulary
    best_epoch_ : int
    """

    def __init__(
        self,
        lam: float = 10.0,
        *,
        dimension: int = 100,
        encoder: str = "none",
        epochs: int = 500,
        learning_rate: float = 0.01,
        dropout: float = 0.5,
        words: str = "rule",
        ngrams: int = 1,
        random_state: int | np.random.RandomState | None = 0,
    ):
        self.lam = lam
        self.dimension = dimension
        self.encoder = encoder
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.dropout = dropout
        self.words = words
        self.ngrams = ngrams
        self.random_state = random_state

    def fit(self, X: Iterable[str], y: Shaped[np.ndarray, "texts"] | Iterable) -> AttentionTextClassifier:
        """Train on texts and their classes.

        Raises
        ------
        ValueError
            If a parameter is impossible, X holds anything but texts, y has one class alone, or no word stands in two
            texts.
        """
        parameters = self.get_params()
        if not isinstance(seed := parameters.pop("random_state"), int):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        self._settings = settings = Settings(seed=seed, **parameters)
        words, y = cut(X, settings), column_or_1d(y, warn=True)
        check_consistent_length(words.lengths, y)
        if pd.isna(y).any():
            raise ValueError("y holds missing labels")
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one class alone, {self.classes_[0]!r}: a classifier needs two or more")
        self.vocabulary_, _ = vocabulary_of(*words)
        corpus, rows = self._corpus(words, labels), np.arange(len(labels))
        dev = np.zeros(len(labels), bool)
        if np.bincount(labels).max() >= OF_DEV:
            dev = parts(labels, rows, OF_DEV, settings.seed) == 0
        fold = Fold(rows[~dev], rows[dev] if dev.any() else rows, rows[:0], rows[:0])
        with one_thread():
            self._reader = train_reader(corpus, self.vocabulary_, fold, settings, settings.seed)
        self.best_epoch_ = self._reader.best_epoch
        return self

    def predict_proba(self, X: Iterable[str]) -> Float[np.ndarray, "texts classes"]:
        """The probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        words = cut(X, self._settings)
        corpus = self._corpus(words, np.zeros(len(words.lengths), np.int64))
        return self._reader.probability(corpus, np.arange(len(corpus)))

    def predict(self, X: Iterable[str]) -> Shaped[np.ndarray, "texts"]:
        """The class of highest probability."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(1)]

    def word_scores(self) -> pd.DataFrame:
        """The attention score a = h·V/λ of each word, and its polarity score s = h·W for each class.

        Two classes: the first has −s. Of a recurrent encoder these are the scores of the word as a text of its own.
        """
        check_is_fitted(self)
        scores = self._reader.model.token_scores()
        ids = self._reader.ids[: self.vocabulary_.word_count]
        polarity = class_polarity(scores.polarity)[ids].numpy()
        columns = {"word": self.vocabulary_.words, "attention": scores.attention[ids].numpy()}
        return pd.DataFrame(columns | {f"polarity {name}": polarity[:, k] for k, name in enumerate(self.classes_)})

    def _corpus(self, words: Words, labels: np.ndarray) -> Corpus:
        ids = np.array(self.vocabulary_.encode(words.spellings))[words.tokens]
        offsets = torch.from_numpy(np.concatenate([[0], words.lengths.cumsum()]))
        classes = tuple(map(str, self.classes_))
        return Corpus(torch.from_numpy(ids), offsets, torch.from_numpy(labels), len(classes), classes)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def cut(X: Iterable[str], settings: Settings) -> Words:
    """The words of texts; a text without words has one, "".

    Raises
    ------
    ValueError
        If X holds anything but texts.
    """
    table = isinstance(X, dict) or getattr(X, "ndim", 1) > 1
    texts = None if table or isinstance(X, (str, bytes)) else list(X)
    if not texts or not all(isinstance(text, str) for text in texts):
        what = "is a table" if table else "is one text" if texts is None else "is empty" if not texts else ""
        what = what or "holds what is no text"
        raise ValueError(f"X {what}: give a sequence of texts (str), one for each instance")
    spellings, tokens, lengths = count_words(texts, settings.cutter())
    places = (lengths.cumsum() - lengths)[lengths == 0]
    words = Words([*spellings, ""], np.insert(tokens, places, len(spellings)), lengths.clip(1))
    return with_pairs(words, least=1) if settings.ngrams == 2 else words
