"""Models whose weights are given (Wiegreffe & Pinter 2019).

Their diagnostic is a token MLP, tanh(P e_j + b), which knows no neighbours, pooled by weights that are uniform, its
own, or another model's: if the weights of an LSTM help it, they tell something about words. Their frozen uniform
attention is the LSTM itself with weights 1/n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_book.neighbours.encoders import JainWallaceClassifier
from uaftc_book.neighbours.protocol import classifier_quality, train_model
from uaftc_book.neighbours.settings import JAIN_WALLACE
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import AttentionClassifier, Dropout, Output, sum_by_instance

Guide = Callable[[Corpus], Float[Tensor, "positions"]]


def uniform_weights(corpus: Corpus) -> Float[Tensor, "positions"]:
    """1/n at each of the n positions of a text."""
    return (1 / corpus.lengths.to(torch.get_default_dtype()))[corpus.instance_of]


def weights_of(model: AttentionClassifier) -> Guide:
    """The weights of a trained model."""

    @torch.no_grad()
    def guide(corpus: Corpus) -> Float[Tensor, "positions"]:
        return model(corpus).weights

    return guide


class GuidedClassifier(JainWallaceClassifier):
    """A classifier of theirs that pools by the weights of ``guide``; its own V, M and c are drawn and never used."""

    def __init__(self, vocabulary_size: int, guide: Guide, reads: str = "projection", seed: int = 0):
        super().__init__(vocabulary_size, reads, "tanh", seed=seed)
        self.guide = guide

    def attend(self, corpus: Corpus, dropout: Dropout | None = None, sparse: bool = False) -> Output:
        """As :meth:`AttentionClassifier.attend`; the scores are the logarithms of the given weights."""
        polarity = super().attend(corpus, dropout, sparse).token_polarity
        weights = self.guide(corpus).to(polarity)
        logits = sum_by_instance(weights * polarity, corpus.instance_of, len(corpus))
        return Output(logits, weights.log(), weights, polarity)


def guided_rows(
    dataset: Dataset,
    guides: Mapping[str, Guide | None],
    reads: str = "projection",
    seed: int = 0,
    epochs: int = JAIN_WALLACE.epochs,
) -> list[dict]:
    """A row for each guide: accuracy and F1 on the test set of a model trained with its weights (None: its own)."""
    found = []
    for name, guide in guides.items():
        types = len(dataset.vocabulary)
        own = guide is None
        model = JainWallaceClassifier(types, reads, seed=seed) if own else GuidedClassifier(types, guide, reads, seed)
        best_epoch = train_model(model, dataset, seed, epochs)
        found.append(
            {"reads": reads, "weights": name, "best epoch": best_epoch} | classifier_quality(model, dataset.test)
        )
    return found
