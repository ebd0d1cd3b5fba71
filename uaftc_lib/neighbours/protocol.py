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


class JainWallaceTrainer:
    """Takes the steps for :func:`uaftc_lib.fit`, in batches of its own.

    The classes weigh alike: the loss of the positive instances counts N/Σy − 1 times. ``added(model, batch, output)``,
    if given, is added to the loss of a batch.
    """

    def __init__(
        self,
        model: JainWallaceClassifier,
        corpus: Corpus,
        config: TrainingConfig,
        added: Callable[[JainWallaceClassifier, Corpus, Output], Tensor] | None = None,
    ):
        self.model, self.corpus, self.batch_size, self.added = model, corpus, config.batch_size, added
        self.weight = 1 / corpus.labels.double().mean() - 1
        self.draws = generator(config.seed, "masks")
        attention = {id(one) for one in model.attention_parameters}
        others = [one for one in model.parameters() if id(one) not in attention]
        groups = [
            {"params": others, "weight_decay": JAIN_WALLACE.weight_decay},
            {"params": model.attention_parameters},
        ]
        self.optimizer = torch.optim.Adam(groups, lr=config.learning_rate, amsgrad=True, fused=True)

    def epoch(self, _batches: list[Tensor]) -> float:
        """One pass; the mean of the instances' losses."""
        total = 0.0
        for indices in by_length(self.corpus, self.batch_size, self.draws):
            batch = self.corpus[indices]
            out = self.model(batch)
            loss = binary_cross_entropy_with_logits(
                out.polarity, batch.labels.to(out.polarity), pos_weight=self.weight.to(out.polarity), reduction="sum"
            )
            if self.added is not None:
                loss = loss + self.added(self.model, batch, out)
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
    config = TrainingConfig(
        optimizer="adam",
        learning_rate=JAIN_WALLACE.learning_rate,
        batch_size=JAIN_WALLACE.batch_size,
        epochs=epochs,
        seed=seed,
    )
    return model, fit(model, dataset, config, trainer=trainer, best=area_under_curve, progress=progress)
