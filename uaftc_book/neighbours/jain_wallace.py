"""Jain & Wallace (2019): their classifiers, how they are trained, and the test that permutes weights."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from math import inf
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from uaftc_book.neighbours.settings import JAIN_WALLACE, MEASURES
from uaftc_lib import checks
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.explain.contributions import permuted
from uaftc_lib.models import AttentionClassifier, Output
from uaftc_lib.progress import progress_bar
from uaftc_lib.streams import generator
from uaftc_lib.threads import denormals_are_zero, one_thread

# ---
# The classifiers of Jain & Wallace (2019), and of Wiegreffe & Pinter (2019), who took them over.
#
# What is pooled is a word's embedding, a projection of it, or the state of a bidirectional LSTM. The logit is Σ_j α_j
# s_j with s_j = W·h_j in all of them, so that ``explain`` is exact for states. Their output bias is left out: as Σ_j
# α_j = 1 it would only shift all s_j.


READS = tuple(JAIN_WALLACE.states)  # words, projection, bilstm, bigru
KEYS = ("tanh", "dot")


class JainWallaceClassifier(AttentionClassifier):
    """Two classes, one logit; all weights but the LSTM's start as torch's linear layers do, in ±1/√(inputs).

    Parameters
    ----------
    vocabulary_size : int
    reads : {"words", "projection", "bilstm", "bigru"}
        h_j = e_j, tanh(P e_j + b) (theirs is called "average"), or the states of a bidirectional LSTM or GRU.
    keys : {"tanh", "dot"}
        a_j = V·tanh(M h_j + c)/λ, with half as many elements, or V·h_j/λ.
    lam : float, optional
        The scaling factor λ; theirs, and the default: 1 with "tanh", the square root of the size of a state with "dot".
    seed : int
    embedding_range : float
        Embeddings begin uniform in ± this; theirs were fastText's.
    states, pooled : int, optional
        Elements of a projection or an LSTM's state, and of what is pooled; by default theirs, and as many.

    Raises
    ------
    ValueError
        For an unknown choice or an impossible number.
    """

    def __init__(
        self,
        vocabulary_size: int,
        reads: str = "bilstm",
        keys: str = "tanh",
        lam: float | None = None,
        seed: int = 0,
        embedding_range: float = JAIN_WALLACE.embedding_range,
        states: int | None = None,
        pooled: int | None = None,
    ):
        checks.one_of("reads", reads, READS)
        checks.one_of("keys", keys, KEYS)
        states = states or JAIN_WALLACE.states[reads]
        pooled = pooled or states
        super().__init__(
            vocabulary_size,
            JAIN_WALLACE.dimension,
            lam=lam_of(keys, pooled) if lam is None else lam,
            encoder={"bilstm": "lstm", "bigru": "gru"}.get(reads, "none"),
            hidden=states // 2,
            embedding_range=embedding_range,
            seed=seed,
        )
        self.reads, self.keys = reads, keys
        draws = generator(seed, "projections")

        def linear(inputs: int, *shape: int) -> nn.Parameter:
            values = (2 * torch.rand(*shape, generator=draws, dtype=torch.float64) - 1) / inputs**0.5
            return nn.Parameter(values.float())

        if reads == "projection":
            self.P, self.b = linear(JAIN_WALLACE.dimension, states, JAIN_WALLACE.dimension), linear(states, states)
        compared = pooled // 2 if keys == "tanh" else pooled
        self.V, self.W = linear(compared, compared), linear(pooled, pooled)
        if keys == "tanh":
            self.M, self.c = linear(pooled, compared, pooled), linear(pooled, compared)

    def encode(
        self, embeddings: Float[Tensor, "tokens d"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> Float[Tensor, "tokens h"]:
        """Representations h of tokens, as :meth:`AttentionClassifier.encode`."""
        if self.reads == "projection":
            return torch.tanh(embeddings @ self.P.T + self.b)
        return super().encode(embeddings, offsets)

    def score(
        self, embeddings: Float[Tensor, "tokens d"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> tuple[Float[Tensor, "tokens"], Float[Tensor, "tokens"], Float[Tensor, "tokens h"]]:
        """Attention scores, polarity scores and representations h of tokens."""
        h = self.encode(embeddings, offsets)
        keys = torch.tanh(h @ self.M.T + self.c) if self.keys == "tanh" else h
        return keys @ self.V / self.lam, h @ self.W, h

    def type_rows(self, corpus: Corpus, sparse: bool) -> tuple[Float[Tensor, "types d"], Int[Tensor, "positions"]]:
        """As :meth:`AttentionClassifier.type_rows`; AMSGrad needs a whole gradient, yet not all types to be read."""
        types, where = torch.unique(corpus.tokens, return_inverse=True)
        return self.embedding[types], where

    @property
    def attention_parameters(self) -> list[nn.Parameter]:
        """Those that only weights depend on."""
        return [self.V, self.M, self.c] if self.keys == "tanh" else [self.V]


def default_lam(reads: str, keys: str) -> float:
    """The λ that Jain & Wallace's attention amounts to: 1, or √H of scaled dot products."""
    return lam_of(keys, JAIN_WALLACE.states[reads])


def lam_of(keys: str, pooled: int) -> float:
    """The same where so many elements are pooled."""
    return pooled**0.5 if keys == "dot" else 1.0


# ---
# Training as Jain & Wallace (2019) did: batches of near-equal length, AMSGrad, the best epoch by AUC.


Objective = Callable[[AttentionClassifier, Corpus, Output], Tensor]  # (model, batch, output) -> its instances' sum


def class_balanced(corpus: Corpus) -> Objective:
    """Their loss, in which the classes of a corpus weigh alike: the positive instances' counts N/Σy − 1 times."""
    weight = 1 / corpus.labels.double().mean() - 1

    def loss(_model: AttentionClassifier, batch: Corpus, out: Output) -> Tensor:
        return binary_cross_entropy_with_logits(
            out.polarity, batch.labels.to(out.polarity), pos_weight=weight.to(out.polarity), reduction="sum"
        )

    return loss


class JainWallaceTrainer:
    """Takes their steps on :func:`class_balanced` or another objective.

    What only the attention depends on (``model.attention_parameters``; V of the paper's own model) does not decay.
    """

    def __init__(self, model: AttentionClassifier, corpus: Corpus, seed: int, objective: Objective | None = None):
        self.model, self.corpus = model, corpus
        self.objective = objective or class_balanced(corpus)
        self.draws = generator(seed, "masks")
        undecayed = getattr(model, "attention_parameters", [model.V])
        attention = {id(one) for one in undecayed}
        others = [one for one in model.parameters() if id(one) not in attention]
        groups = [{"params": others, "weight_decay": JAIN_WALLACE.weight_decay}, {"params": undecayed}]
        self.optimizer = torch.optim.Adam(groups, lr=JAIN_WALLACE.learning_rate, amsgrad=True, fused=True)

    @denormals_are_zero()
    def epoch(self) -> float:
        """One pass; the mean of the instances' losses."""
        total = 0.0
        for indices in by_length(self.corpus, JAIN_WALLACE.batch_size, self.draws):
            batch = self.corpus[indices]
            loss = self.objective(self.model, batch, self.model(batch))
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            total += float(loss.detach())
        return total / len(self.corpus)


def by_length(corpus: Corpus, batch_size: int, draws: torch.Generator) -> list[Int[Tensor, "some"]]:
    """Batches of instances of near-equal length, shuffled: lengths are taken times 1 ± the protocol's noise."""
    noise = 2 * torch.rand(len(corpus), generator=draws, dtype=torch.float64) - 1
    batches = (corpus.lengths * (1 + JAIN_WALLACE.length_noise * noise)).argsort().split(batch_size)
    return [batches[i] for i in torch.randperm(len(batches), generator=draws)]


@torch.no_grad()
def classifier_quality(model: AttentionClassifier, corpus: Corpus) -> dict[str, float]:
    """Share that is right, area under the ROC curve of the logits."""
    labels, logit = corpus.labels.numpy(), model(corpus).polarity.numpy()
    return {"accuracy": float(((logit > 0) == labels).mean()), "AUC": float(roc_auc_score(labels, logit))}


def area_under_curve(model: AttentionClassifier, corpus: Corpus) -> float:
    """By it their best epoch is chosen, on dev."""
    return classifier_quality(model, corpus)["AUC"]


@one_thread()
def train_model(
    model: AttentionClassifier,
    dataset: Dataset,
    seed: int = 0,
    epochs: int = JAIN_WALLACE.epochs,
    objective: Objective | None = None,
) -> int:
    """Train a model of two classes in place; the epoch, from 1, at which it is left.

    That is the first of those with the highest AUC on dev; without a dev split the last. Training ends after
    ``epochs``, or after as many in a row as the protocol's patience without a higher AUC.
    """
    trainer = JainWallaceTrainer(model, dataset.train, seed, objective)
    best_epoch, highest, kept = epochs, -inf, None
    for epoch in progress_bar(range(1, epochs + 1), desc="epochs", delay=3, leave=False):
        trainer.epoch()
        if dataset.dev is None:
            continue
        if (reached := area_under_curve(model, dataset.dev)) > highest:
            best_epoch, highest, kept = epoch, reached, deepcopy(model.state_dict())
        if epoch - best_epoch == JAIN_WALLACE.patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch


def train_classifier(
    dataset: Dataset, reads: str, keys: str, lam: float | None = None, seed: int = 0, epochs: int = JAIN_WALLACE.epochs
) -> tuple[JainWallaceClassifier, int]:
    """A classifier of theirs, trained on a data set of two classes and left at the epoch of the best AUC on dev.

    Their code keeps no epoch before the second.

    Raises
    ------
    ValueError
        For an unknown choice or an impossible number, or a data set of other than two classes.
    """
    model = JainWallaceClassifier(len(dataset.vocabulary), reads, keys, lam, seed)
    model.check(dataset.train)
    return model, train_model(model, dataset, seed, epochs)


# ---
# Jain & Wallace's permutation test: the same weights for other words of the text.


class Permutations(NamedTuple):
    """Of each text: the logit, and over permutations of its weights.

    ``mean`` and ``deviation`` of the logit over all permutations, in closed form; ``drawn``: the logits of some.
    """

    logit: Float[np.ndarray, "instances"]
    largest: Float[np.ndarray, "instances"]
    mean: Float[np.ndarray, "instances"]
    deviation: Float[np.ndarray, "instances"]
    drawn: Float[np.ndarray, "permutations instances"]

    @property
    def turned(self) -> Float[np.ndarray, "instances"]:
        """The share of them with another decision."""
        return ((self.drawn > 0) != (self.logit > 0)).mean(0)


def permutations(out: Output, corpus: Corpus, count: int = MEASURES.permutations, seed: int = 0) -> Permutations:
    """The test on what a model says of a corpus, with so many permutations drawn."""
    closed, random = permuted(out, corpus), np.random.default_rng(seed)
    logit, weights, values = (one.cpu().numpy() for one in (out.polarity, out.weights, out.token_polarity))
    text_of = corpus.instance_of.cpu().numpy()
    logits = np.stack(
        [
            np.bincount(text_of, weights[np.lexsort((random.random(len(weights)), text_of))] * values)
            for _ in range(count)
        ]
    )
    return Permutations(
        logit,
        np.maximum.reduceat(weights, corpus.offsets[:-1].cpu().numpy()),
        closed.mean.cpu().numpy(),
        closed.variance.sqrt().cpu().numpy(),
        logits,
    )
