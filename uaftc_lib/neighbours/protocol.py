"""Training as Jain & Wallace (2019) did: batches of near-equal length, AMSGrad, the best epoch by AUC."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Int
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import AttentionClassifier, Output
from uaftc_lib.neighbours.encoders import JainWallaceClassifier
from uaftc_lib.neighbours.settings import JAIN_WALLACE
from uaftc_lib.settings import TrainingConfig
from uaftc_lib.streams import generator
from uaftc_lib.training import Run, fit

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
    """Takes the steps for :func:`uaftc_lib.fit`, in batches of its own, on :func:`class_balanced` or another objective.

    What only the attention depends on (``model.attention_parameters``; V of the paper's own model) does not decay.
    """

    def __init__(
        self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig, objective: Objective | None = None
    ):
        self.model, self.corpus, self.batch_size = model, corpus, config.batch_size
        self.objective = objective or class_balanced(corpus)
        self.draws = generator(config.seed, "masks")
        undecayed = getattr(model, "attention_parameters", [model.V])
        attention = {id(one) for one in undecayed}
        others = [one for one in model.parameters() if id(one) not in attention]
        groups = [{"params": others, "weight_decay": JAIN_WALLACE.weight_decay}, {"params": undecayed}]
        self.optimizer = torch.optim.Adam(groups, lr=config.learning_rate, amsgrad=True, fused=True)

    def epoch(self, _batches: list[Tensor] | None = None) -> float:
        """One pass; the mean of the instances' losses."""
        total = 0.0
        for indices in by_length(self.corpus, self.batch_size, self.draws):
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
def area_under_curve(model: AttentionClassifier, corpus: Corpus) -> float:
    """The area under the ROC curve of the logits: by it their best epoch is chosen, on dev."""
    return float(roc_auc_score(corpus.labels.numpy(), model(corpus).polarity.numpy()))


def lowest(objective: Objective) -> Callable[[AttentionClassifier, Corpus], float]:
    """By it the best epoch is that of the lowest objective on dev."""

    @torch.no_grad()
    def best(model: AttentionClassifier, corpus: Corpus) -> float:
        return -float(objective(model, corpus, model(corpus)))

    return best


def configuration(seed: int, epochs: int = JAIN_WALLACE.epochs) -> TrainingConfig:
    """How they train."""
    return TrainingConfig(
        optimizer="adam",
        learning_rate=JAIN_WALLACE.learning_rate,
        batch_size=JAIN_WALLACE.batch_size,
        epochs=epochs,
        seed=seed,
    )


def train_model(
    model: AttentionClassifier,
    dataset: Dataset,
    seed: int = 0,
    epochs: int = JAIN_WALLACE.epochs,
    trainer: Callable = JainWallaceTrainer,
    best: Callable[[AttentionClassifier, Corpus], float] = area_under_curve,
    progress: bool = False,
) -> Run:
    """Train a model of two classes in place, leaving it at the epoch of the best AUC on dev, or of another ``best``."""
    return fit(model, dataset, configuration(seed, epochs), trainer=trainer, best=best, progress=progress)


def train(
    dataset: Dataset,
    reads: str,
    keys: str,
    lam: float | None = None,
    seed: int = 0,
    epochs: int = JAIN_WALLACE.epochs,
    trainer: Callable = JainWallaceTrainer,
    progress: bool = False,
) -> tuple[JainWallaceClassifier, Run]:
    """A classifier of theirs, trained on a data set of two classes and left at the epoch of the best AUC on dev.

    Raises
    ------
    ValueError
        For an unknown choice or an impossible number, or a data set of other than two classes.
    """
    model = JainWallaceClassifier(len(dataset.vocabulary), reads, keys, lam, seed)
    return model, train_model(model, dataset, seed, epochs, trainer, progress=progress)
