"""Training as Jain & Wallace (2019) did: batches of near-equal length, AMSGrad, the best epoch by AUC."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from math import inf

import torch
from jaxtyping import Int
from sklearn.metrics import f1_score, roc_auc_score
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from uaftc_book.neighbours.encoders import JainWallaceClassifier
from uaftc_book.neighbours.settings import JAIN_WALLACE
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import AttentionClassifier, Output
from uaftc_lib.progress import progress_bar
from uaftc_lib.streams import generator
from uaftc_lib.threads import one_thread

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
    """Share that is right, F1 of the positive class, area under the ROC curve of the logits."""
    labels, logit = corpus.labels.numpy(), model(corpus).polarity.numpy()
    return {
        "accuracy": float(((logit > 0) == labels).mean()),
        "F1": float(f1_score(labels, logit > 0, zero_division=0.0)),
        "AUC": float(roc_auc_score(labels, logit)),
    }


def area_under_curve(model: AttentionClassifier, corpus: Corpus) -> float:
    """By it their best epoch is chosen, on dev."""
    return classifier_quality(model, corpus)["AUC"]


def lowest(objective: Objective) -> Callable[[AttentionClassifier, Corpus], float]:
    """By it the best epoch is that of the lowest objective on dev."""

    @torch.no_grad()
    def best(model: AttentionClassifier, corpus: Corpus) -> float:
        return -float(objective(model, corpus, model(corpus)))

    return best


@one_thread()
def train_model(
    model: AttentionClassifier,
    dataset: Dataset,
    seed: int = 0,
    epochs: int = JAIN_WALLACE.epochs,
    objective: Objective | None = None,
    best: Callable[[AttentionClassifier, Corpus], float] = area_under_curve,
    patience: int = JAIN_WALLACE.patience,
    earliest: int = 1,
) -> int:
    """Train a model of two classes in place; the epoch, from 1, at which it is left.

    That is the first of the highest ``best(model, dev)`` from ``earliest`` on; without a dev split the last. Training
    ends after ``epochs``, or after as many in a row as ``patience`` says that did not reach further on dev.
    """
    trainer = JainWallaceTrainer(model, dataset.train, seed, objective)
    best_epoch, highest, kept = epochs, -inf, None
    for epoch in progress_bar(range(1, epochs + 1), desc="epochs", delay=3, leave=False):
        trainer.epoch()
        if dataset.dev is None or epoch < earliest:
            continue
        if (reached := best(model, dataset.dev)) > highest:
            best_epoch, highest, kept = epoch, reached, deepcopy(model.state_dict())
        if epoch - best_epoch == patience:
            break
    if kept is not None:
        model.load_state_dict(kept)
    return best_epoch


def train_classifier(
    dataset: Dataset,
    reads: str,
    keys: str,
    lam: float | None = None,
    seed: int = 0,
    epochs: int = JAIN_WALLACE.epochs,
    earliest: int = 1,
    **initial: float,
) -> tuple[JainWallaceClassifier, int]:
    """A classifier of theirs, trained on a data set of two classes and left at the epoch of the best AUC on dev.

    ``initial``: the range of its embeddings, if not the usual one. Their code keeps no epoch before the second.

    Raises
    ------
    ValueError
        For an unknown choice or an impossible number, or a data set of other than two classes.
    """
    model = JainWallaceClassifier(len(dataset.vocabulary), reads, keys, lam, seed, **initial)
    model.check(dataset.train)
    return model, train_model(model, dataset, seed, epochs, earliest=earliest)
