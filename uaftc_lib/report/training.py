"""The models of a report: one for each fold, and what each of them says of texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import joblib
import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.explain.contributions import probabilities
from uaftc_lib.explain.words import word_instance_pairs
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.report.folds import Fold
from uaftc_lib.report.settings import Settings
from uaftc_lib.threads import one_thread
from uaftc_lib.training import fit

PART = 20_000  # texts that are looked at together
AT_ONCE = 2_000_000  # texts of all models that are trained at once: of a million texts two models
KNOWN = 2  # training texts that a word needs, or nothing can be learnt about it


class Reader:
    """A fold's model with the words it knows: those of at least two of its training texts, all others are <unk>.

    With more than two classes what all logits have in common is taken out of them (W less its mean over the classes):
    no probability changes, because only differences of logits matter, and pushes can be compared between classes.
    """

    def __init__(
        self,
        whole: Corpus,
        vocabulary: Vocabulary,
        fold: Fold,
        settings: Settings,
        seed: int,
        done: Callable,
        vectors: Float[Tensor, "types d"] | None = None,
    ):
        train = whole[torch.from_numpy(fold.train)]
        word, *_ = word_instance_pairs(train, len(vocabulary))
        known = torch.bincount(word, minlength=len(vocabulary)) >= KNOWN
        self.ids = torch.where(known, torch.arange(len(vocabulary)), vocabulary.unk)
        splits = {"train": self.translated(train), "dev": self.read(whole, fold.dev)}
        self.model = AttentionClassifier(
            len(vocabulary),
            settings.dimension,
            settings.lam,
            encoder=settings.encoder,
            classes=whole.class_count,
            vectors=vectors,
            seed=seed,
        )

        def record(epoch: int, model: AttentionClassifier) -> dict:
            done(epoch > 0)
            return {}

        config = settings.training(len(fold.train), seed)
        dataset = Dataset("file", vocabulary, whole.classes, **splits)
        run = fit(self.model, dataset, config, record, best="loss", progress=False)
        self.unfinished = run.best_epoch == config.epochs
        if not self.model.binary:
            with torch.no_grad():
                self.model.W -= self.model.W.mean(1, keepdim=True)

    def read(self, whole: Corpus, rows: Int[np.ndarray, "rows"]) -> Corpus:
        """Some texts as this model sees them."""
        return self.translated(whole[torch.from_numpy(rows)])

    def translated(self, corpus: Corpus) -> Corpus:
        """Texts with what the model does not know as <unk>."""
        return Corpus(self.ids[corpus.tokens], corpus.offsets, corpus.labels, corpus.class_count, corpus.classes)

    @torch.no_grad()
    def probability(self, whole: Corpus, rows: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "rows classes"]:
        """Class probabilities of some texts."""
        parts = (rows[start : start + PART] for start in range(0, len(rows), PART))
        return np.concatenate([probabilities(self.model(self.read(whole, part)).polarity).double() for part in parts])


def readers(
    whole: Corpus,
    vocabulary: Vocabulary,
    folds: list[Fold],
    settings: Settings,
    done: Callable,
    vectors: Float[Tensor, "types d"] | None = None,
) -> Iterator[Reader]:
    """A model for each fold, in their order. As many as there are processors are trained at once, fewer of large files.

    ``done()`` after each epoch. When this is closed, models that are not done are given up after their epoch.
    """
    closed = Event()

    def one(k: int) -> Reader:
        return Reader(whole, vocabulary, folds[k], settings, settings.seed + k, counted, vectors)

    def counted(epochs: int) -> None:
        if closed.is_set():
            raise InterruptedError
        done(epochs)

    most = max(1, min(len(folds), joblib.cpu_count(), AT_ONCE // len(whole)))
    with one_thread(), ThreadPoolExecutor(most) as pool:
        try:
            yield from pool.map(one, range(len(folds)))
        finally:
            closed.set()
