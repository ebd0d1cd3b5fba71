"""Wiegreffe & Pinter (2019): an adversary that is trained, weights that are given, and how much seeds differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_book.neighbours.jain_wallace import (
    JainWallaceClassifier,
    Objective,
    classifier_quality,
    fresh,
    lowest,
    train_model,
)
from uaftc_book.neighbours.settings import ADVERSARY, JAIN_WALLACE
from uaftc_book.neighbours.yardsticks import largest_by_instance
from uaftc_lib import checks
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.explain import adversarial_attention, jensen_shannon
from uaftc_lib.models import AttentionClassifier, Dropout, Output, sum_by_instance

ELSEWHERE = 100  # added to a seed where a second model must start from another


# ---
# The adversary of Wiegreffe & Pinter (2019): a second model with the predictions of the first and other weights.
#
# It is trained from a seed of its own on the sum over texts of TVD − strength · KL(its weights ‖ those of the base
# model). TVD is the paper's, ½Σ_c |p_c − q_c| = |p − q| for two classes; their code adds up one of the two classes
# only and halves, and so prints half of it. Weights are compared by their logarithms and there is no padding, so that
# KL cannot become 0·log 0, as it does in their code on today's torch.
#
# The exact adversary (:func:`uaftc_lib.explain.adversarial_attention`) holds the base's states fixed, and is then the
# most that can be had in each text. An adversary that is trained changes its states as well: nothing forbids it to go
# farther, and whether it does is measured here.


ROUNDING = 1e-4  # nats by which a divergence must exceed its bound
OUTSIDE = 1e-5  # added to a tolerance that was reached, as the search stays a little inside


def log_sum_by_instance(scores: Float[Tensor, "positions"], corpus: Corpus) -> Float[Tensor, "instances"]:
    """log Σ_j exp(a_j) of each instance, which needs one finite score."""
    largest = largest_by_instance(scores.detach(), corpus)
    shifted = (scores - largest[corpus.instance_of]).exp()
    return largest + sum_by_instance(shifted, corpus.instance_of, len(corpus)).log()


def log_weights(scores: Float[Tensor, "positions"], corpus: Corpus) -> Float[Tensor, "positions"]:
    """log α_j from scores, finite where α_j underflows."""
    return scores - log_sum_by_instance(scores, corpus)[corpus.instance_of]


def distance(out: Output, base: Output) -> Float[Tensor, "instances"]:
    """The total variation distance of two models' predictions of two classes."""
    return (out.polarity.sigmoid() - base.polarity.sigmoid()).abs()


def divergence(out: Output, base: Output, corpus: Corpus) -> Float[Tensor, "instances"]:
    """KL(weights ‖ weights of the base model), in nats."""
    terms = out.weights * (log_weights(out.scores, corpus) - log_weights(base.scores, corpus))
    return sum_by_instance(terms, corpus.instance_of, len(corpus))


def adversary_loss(base: AttentionClassifier, strength: float) -> Objective:
    """What the adversary of a base model minimises."""

    def loss(_model: AttentionClassifier, batch: Corpus, out: Output) -> Tensor:
        with torch.no_grad():
            told = base(batch)
        return (distance(out, told) - strength * divergence(out, told, batch)).sum()

    return loss


def train_adversary(
    base: AttentionClassifier, dataset: Dataset, strength: float, seed: int, epochs: int = ADVERSARY.epochs
) -> AttentionClassifier:
    """A model of the base's kind, left at the epoch of the lowest objective on dev; labels play no part.

    Theirs is left at the epoch of the best AUC on the *test* set.

    Raises
    ------
    ValueError
        If the seed is the base's own, or the strength is no number from 0 on.
    """
    checks.real_number("strength", strength)
    if seed == base.seed:
        raise ValueError(f"the adversary would start where the base model did, from seed {seed}: give another")
    model, objective = fresh(base, seed).to(base.V.device), adversary_loss(base, strength)
    train_model(model, dataset, seed, epochs, objective, lowest(objective), ADVERSARY.patience)
    return model


@torch.no_grad()
def bound(
    base: AttentionClassifier, corpus: Corpus, tolerances: Float[Tensor, "instances"]
) -> Float[Tensor, "instances"]:
    """The largest JSD that other weights over the base's own states can have, each text with a tolerance of its own."""
    return adversarial_attention(base, corpus, (tolerances.double() + OUTSIDE).clamp(max=1 - 1e-6)).divergence


@torch.no_grad()
def adversary_measures(base: AttentionClassifier, model: AttentionClassifier, corpus: Corpus) -> dict[str, float]:
    """Distance, divergences and quality of an adversary, and the bound that holds while the base's states do.

    TVD, JSD, KL: means over texts. JSD bound: the mean of what :func:`bound` allows each text at its own TVD; above:
    the share of texts that exceed it, as only other states can.
    """
    out, told = model(corpus), base(corpus)
    apart = distance(out, told)
    jsd = jensen_shannon(out.weights.double(), told.weights.double(), corpus)
    most = bound(base, corpus, apart)
    decided = out.polarity > 0
    return {
        "TVD": float(apart.mean()),
        "JSD": float(jsd.mean()),
        "KL": float(divergence(out, told, corpus).mean()),
        "JSD bound": float(most.mean()),
        "above": float((jsd > most + ROUNDING).double().mean()),
        "agreement": float((decided == (told.polarity > 0)).double().mean()),
        **classifier_quality(model, corpus),
    }


def curve(
    base: AttentionClassifier,
    dataset: Dataset,
    seed: int,
    strengths: Sequence[float] = ADVERSARY.strengths,
    epochs: int = ADVERSARY.epochs,
) -> list[dict]:
    """A row for each strength: what :func:`adversary_measures` says of a trained adversary on the test set."""
    rows = []
    for strength in strengths:
        model = train_adversary(base, dataset, strength, seed, epochs)
        rows.append({"strength": strength} | adversary_measures(base, model, dataset.test))
    return rows


@torch.no_grad()
def ceiling(
    base: AttentionClassifier, corpus: Corpus, tolerances: Sequence[float] = ADVERSARY.tolerances
) -> list[dict]:
    """A row for each tolerance: mean TVD and JSD of the exact adversary, the base's states held fixed.

    Each text may move by the whole tolerance, and none by more. Where a trained adversary spreads the same mean TVD
    unevenly, :func:`bound` at each text's own TVD is the bound that holds, not this curve.
    """
    out, rows = base(corpus), []
    for tolerance in tolerances:
        found = adversarial_attention(base, corpus, tolerance)
        logits = sum_by_instance(found.weights * out.token_polarity, corpus.instance_of, len(corpus))
        apart = distance(out._replace(polarity=logits), out)
        rows.append({"tolerance": tolerance, "TVD": float(apart.mean()), "JSD": float(found.divergence.mean())})
    return rows


def both_adversaries(
    model: AttentionClassifier, data: Dataset, seed: int, strengths: Sequence[float] = ADVERSARY.strengths
) -> list[dict]:
    """Rows of second models, from another seed than the first, and of what is exact."""
    second = curve(model, data, seed + ELSEWHERE, strengths)
    exact = ceiling(model, data.test)
    return [{"kind": kind} | row for kind, rows in (("trained", second), ("exact", exact)) for row in rows]


# ---
# Models whose weights are given (Wiegreffe & Pinter 2019).
#
# Their diagnostic is a token MLP, tanh(P e_j + b), which knows no neighbours, pooled by weights that are uniform, its
# own, or another model's: if the weights of an LSTM help it, they tell something about words. Their frozen uniform
# attention is the LSTM itself with weights 1/n.


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


# ---
# How much weights differ between trainings that differ in their seed alone (Wiegreffe & Pinter 2019, Section 3.2).


EDGES = (0.25, 0.5, 0.75)  # of the base's largest weight, in their figure as in Jain & Wallace's


def median_divergence(
    base: Float[Tensor, "positions"], others: Sequence[Float[Tensor, "positions"]], corpus: Corpus
) -> Float[Tensor, "instances"]:
    """The median over trainings of the JSD between their weights and the base's; of an even number, between the two."""
    apart = torch.stack([jensen_shannon(base.double(), other.double(), corpus) for other in others])
    return apart.quantile(0.5, dim=0)


def variation_rows(
    base: Float[Tensor, "positions"], others: Sequence[Float[Tensor, "positions"]], corpus: Corpus
) -> list[dict]:
    """A row for each quarter of the base's largest weight that has texts: how many, and quartiles of their median."""
    apart = median_divergence(base, others, corpus)
    quarter = torch.bucketize(largest_by_instance(base.double(), corpus), torch.tensor(EDGES, dtype=torch.float64))
    found = []
    for k in quarter.unique().tolist():
        of_quarter = apart[quarter == k]
        low, middle, high = of_quarter.quantile(torch.tensor([0.25, 0.5, 0.75], dtype=of_quarter.dtype)).tolist()
        row = {"largest weight from": k / 4, "texts": len(of_quarter), "JSD": float(of_quarter.mean())}
        found.append(row | {"p25": low, "median": middle, "p75": high})
    return found
