"""Training that hides attention from chosen words (Pruthi et al. 2020), and what still shows them.

To the loss of a text comes −strength · log(1 − Σ_{i∈I} α_i), I its impermissible positions. A text of impermissible
words only has no other place for its weight: it bears no penalty, and no share of mass is read from it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from uaftc_book.neighbours.erasure import ranks
from uaftc_book.neighbours.jain_wallace import Objective, class_balanced, classifier_quality, fresh, lowest, train_model
from uaftc_book.neighbours.settings import DECEPTION, JAIN_WALLACE
from uaftc_book.neighbours.wiegreffe_pinter import log_sum_by_instance
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.explain import contributions, leave_one_out
from uaftc_lib.models import AttentionClassifier, Output, sum_by_instance
from uaftc_lib.token_lists import token_types


def impermissible_words(dataset: Dataset) -> Int[Tensor, "ids"]:
    """The words that tell the class most, by the paper's own rule (Eq 28): its positive and its negative tokens."""
    found = token_types(dataset.train, dataset.vocabulary)
    return torch.cat([found["positive"], found["negative"]])


def hidden(corpus: Corpus, words: Int[Tensor, "ids"]) -> Bool[Tensor, "positions"]:
    """The positions of some words, but in texts that hold no other."""
    chosen = torch.isin(corpus.tokens, words.to(corpus.tokens))
    others = corpus.instance_of[~chosen].bincount(minlength=len(corpus))
    return chosen & (others > 0)[corpus.instance_of]


def penalised(corpus: Corpus, words: Int[Tensor, "ids"], strength: float) -> Objective:
    """Their loss with the penalty, 1 − Σα taken as the others' sum: it cannot cancel."""
    usual = class_balanced(corpus)

    def loss(model: AttentionClassifier, batch: Corpus, out: Output) -> Tensor:
        permitted = out.scores.masked_fill(hidden(batch, words), -torch.inf)
        left = log_sum_by_instance(permitted, batch) - log_sum_by_instance(out.scores, batch)
        return usual(model, batch, out) - strength * left.sum()

    return loss


def train_hiding(
    model: AttentionClassifier,
    dataset: Dataset,
    words: Int[Tensor, "ids"],
    strength: float,
    seed: int = 0,
    epochs: int = JAIN_WALLACE.epochs,
) -> int:
    """Train a model in place as Jain & Wallace did, with the penalty.

    It is left at the epoch of the lowest penalised loss on dev: the AUC there can be at its best before much is hidden.
    """
    objective = penalised(dataset.train, words, strength)
    return train_model(model, dataset, seed, epochs, objective, lowest(objective))


def holding(corpus: Corpus, words: Int[Tensor, "ids"]) -> tuple[Corpus, Bool[Tensor, "positions"]]:
    """The texts that hold some words beside others, and the words' positions in them."""
    chosen = hidden(corpus, words)
    some = corpus.instance_of[chosen].bincount(minlength=len(corpus)) > 0
    return corpus[some], chosen[some[corpus.instance_of]]


@torch.no_grad()
def shown(model: AttentionClassifier, corpus: Corpus, words: Int[Tensor, "ids"]) -> dict[str, float]:
    """What of some words shows, over the texts that hold them beside others.

    tokens, attention, contributions, leave-one-out: the words' share of the positions, of the weights, of |α_j s_j|
    and of |s − s₋ⱼ| (states held fixed), the mean over texts. kept without states, without words: the share of
    decisions that stay where their positions leave the pooling, or where they leave the text and it is read again.
    """
    corpus, chosen = holding(corpus, words)
    out = model(corpus)

    def summed(values: Float[Tensor, "positions"]) -> Float[Tensor, "instances"]:
        return sum_by_instance(values, corpus.instance_of, len(corpus))

    def share(values: Float[Tensor, "positions"]) -> float:
        values = values.abs().double()
        return float((summed(values * chosen) / summed(values)).nanmean())

    # Only signs are asked for, so that the others' weights need not be renormalised.
    largest = log_sum_by_instance(out.scores.masked_fill(chosen, -torch.inf), corpus)[corpus.instance_of]
    rest = summed((out.scores - largest).exp().masked_fill(chosen, 0.0) * out.token_polarity)
    decided = out.polarity > 0
    return {
        "texts": len(corpus),
        "tokens": share(torch.ones_like(out.weights)),
        "attention": share(out.weights),
        "contributions": share(contributions(model, corpus)),
        "leave-one-out": share(leave_one_out(model, corpus)),
        "kept without states": float(((rest > 0) == decided).double().mean()),
        "kept without words": float(((model(corpus.without(chosen)).polarity > 0) == decided).double().mean()),
    }


@torch.no_grad()
def kept_without_others(model: AttentionClassifier, corpus: Corpus, words: Int[Tensor, "ids"], seed: int = 0) -> float:
    """The control of "kept without words": as many others of each text, drawn, are taken out (all, if it has fewer)."""
    corpus, chosen = holding(corpus, words)
    counts = corpus.instance_of[chosen].bincount(minlength=len(corpus))
    keys = np.random.default_rng(seed).random(len(chosen)) + chosen.numpy()  # the chosen come last
    others = ~chosen & (torch.from_numpy(ranks(keys, corpus)) < counts[corpus.instance_of])
    left = corpus.without(others)
    return float(((model(left).polarity > 0) == (model(corpus).polarity > 0)).double().mean())


def deception_rows(
    base: AttentionClassifier,
    dataset: Dataset,
    words: Int[Tensor, "ids"],
    seed: int = 0,
    strengths: Sequence[float] = DECEPTION.strengths,
    epochs: int = JAIN_WALLACE.epochs,
) -> list[dict]:
    """A row for each strength (0: honest): a model of the base's kind, trained, and what it shows on the test set."""
    found = []
    for strength in strengths:
        model = fresh(base, seed)
        best_epoch = train_hiding(model, dataset, words, strength, seed, epochs)
        measured = classifier_quality(model, dataset.test) | shown(model, dataset.test, words)
        control = {"kept without others": kept_without_others(model, dataset.test, words, seed)}
        found.append({"strength": strength, "best epoch": best_epoch} | measured | control)
    return found
