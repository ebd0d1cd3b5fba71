"""How hard each word pushes towards each class: over unseen texts, and how sure that is.

Each of the five models of a report was trained without a fifth of the texts. A word's push on a class is what it adds
to the score of the class, averaged over the texts that hold it, each read by a model that has not seen it. How far that
may be from what other texts and another training would give, the models tell among themselves: model k is what training
without the k-th fifth gives, so the grouped jackknife applies (Efron & Stein 1981, The Annals of Statistics 9). With
θ₍₋ₖ₎ the mean push by model k over the texts outside that fifth,

    variance = (K − 1)/K Σ_k (θ₍₋ₖ₎ − θ̄)²,  interval = push ± t(K − 1) √variance.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy import stats
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.contributions import beside, probabilities
from uaftc_lib.explain.words import Pairs, class_polarity, pair_values, word_instance_pairs
from uaftc_lib.intervals import half_width
from uaftc_lib.models import AttentionClassifier, Output
from uaftc_lib.report.again import push_columns, read_again
from uaftc_lib.report.folds import Fold
from uaftc_lib.report.training import PART, Reader

ByClass = Float[np.ndarray, "types classes"]
MOST_AGAIN = {"test": 1000, "rest": 500}  # texts of a fold that a recurrent encoder reads again without each word


class Pushes:
    """What each word does, filled fold by fold.

    ``weights``: how much a text counts in :meth:`beyond`: copies together count as one text.
    """

    def __init__(self, whole: Corpus, types: int, weights: Float[np.ndarray, "texts"]):
        self.whole, self.types, self.weights = whole, types, weights
        self.sums = np.zeros((types, 2 + 4 * whole.class_count))
        self.others = []  # θ₍₋ₖ₎; nan where no text holds the word

    def add(self, reader: Reader, fold: Fold, seed: int) -> None:
        """Take up what a fold's model says of the texts it has not seen, and of the others."""
        for part in chunks(fold.test, reader, MOST_AGAIN["test"], seed):
            self.sums += self.unseen(reader, part)
        rest = sum(self.seen(reader, part) for part in chunks(fold.rest, reader, MOST_AGAIN["rest"], seed))
        with np.errstate(invalid="ignore"):
            self.others.append(rest[:, 1:] / rest[:, :1])

    @torch.no_grad()
    def unseen(self, reader: Reader, rows: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "types columns"]:
        """Sums over texts for each word: 1, attention, and for each class push, fall of P, y − P₋ and P₋(1 − P₋).

        P₋ is the class's probability without the word. A word that the model does not know pushes as <unk> does.
        """
        corpus = self.whole[torch.from_numpy(rows)]
        classes, pushes = corpus.class_count, push_columns(corpus.class_count)
        word, instance, pair_of = word_instance_pairs(corpus, self.types)
        out, found = word_values(reader.model, reader.translated(corpus), pair_of, instance)
        push, fall = found[:, pushes], found[:, pushes.stop :]
        without = probabilities(out.polarity)[instance].numpy() - fall
        of_class = np.eye(classes)[corpus.labels[instance].numpy()]
        weight = self.weights[rows][instance.numpy()][:, None]
        beyond = weight * np.hstack([of_class - without, without * (1 - without)])
        pairs = Pairs(word.numpy(), instance.numpy(), self.types, len(corpus))
        return pairs.sums(np.hstack([found[:, :2], push, fall, beyond]))

    @torch.no_grad()
    def seen(self, reader: Reader, rows: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "types columns"]:
        """Sums over texts for each word: 1, and its push on each class."""
        corpus = self.whole[torch.from_numpy(rows)]
        seen = reader.translated(corpus)
        word, instance, pair_of = word_instance_pairs(corpus, self.types)
        if reader.model.recurrent is not None:
            _, found = word_values(reader.model, seen, pair_of, instance)
            pairs = Pairs(word.numpy(), instance.numpy(), self.types, len(corpus))
            return pairs.sums(np.hstack([found[:, :1], found[:, push_columns(corpus.class_count)]]))
        out = reader.model(seen)  # pushes alone are wanted here, and these need no words left out
        push = class_polarity(beside(out.weights, out.token_polarity) * out.token_polarity).double()
        of_word = torch.zeros(self.types, push.shape[1], dtype=push.dtype).index_add_(0, corpus.tokens, push)
        return np.hstack([torch.bincount(word, minlength=self.types).numpy()[:, None], of_word.numpy()])

    def means(self) -> tuple[Float[np.ndarray, "types"], ByClass, ByClass, ByClass]:
        """Over the unseen texts of each word: attention, push, half width of its interval, and fall of P."""
        K, classes = len(self.others), self.whole.class_count
        with np.errstate(invalid="ignore"):
            found = self.sums[:, 1 : 2 + 2 * classes] / self.sums[:, :1]
        among = np.stack(self.others)
        variance = (K - 1) / K * ((among - among.mean(0)) ** 2).sum(0)
        reach = half_width(np.sqrt(variance), K - 1)
        return found[:, 0], found[:, 1 : 1 + classes], reach, found[:, 1 + classes :]

    def beyond(self) -> ByClass:
        """p of each word and class: is the class commoner among the word's texts than their other words foretell?

        The score test of a word beside the others: Σ (y − P₋) / √Σ P₋(1 − P₋) over its unseen texts, one-sided.
        """
        excess, variance = np.split(self.sums[:, 2 + 2 * self.whole.class_count :], 2, axis=1)
        return stats.norm.sf(excess / np.sqrt(variance.clip(1e-12)))


@torch.no_grad()
def word_values(
    model: AttentionClassifier, corpus: Corpus, pair_of: Int[Tensor, "positions"], instance: Int[Tensor, "pairs"]
) -> tuple[Output, Float[np.ndarray, "pairs columns"]]:
    """The model's answers, and :func:`~uaftc_lib.explain.words.pair_values` of the words by what suits its encoder."""
    out = model(corpus)
    if model.recurrent is None:
        return out, pair_values(out, corpus, pair_of, instance)
    return out, read_again(model, out, corpus, pair_of, instance)


def chunks(rows: Int[np.ndarray, "rows"], reader: Reader, most: int, seed: int) -> Iterator[Int[np.ndarray, "some"]]:
    """The texts in parts that fit into memory; where each is to be read often, a sample of at most so many."""
    size = PART
    if reader.model.recurrent is not None:
        size = 100
        if len(rows) > most:
            rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
    return (rows[start : start + size] for start in range(0, len(rows), size))
