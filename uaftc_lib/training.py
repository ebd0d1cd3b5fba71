"""Training under the paper's protocol (Section 5), by autograd or by the exact fast path."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import torch

from uaftc_lib import checks
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.fast import fast_trainer, masks, obstacle
from uaftc_lib.models import AttentionClassifier, Dropout
from uaftc_lib.progress import progress_bar
from uaftc_lib.settings import OPTIMIZERS, TrainingConfig, check_method
from uaftc_lib.streams import generator, stream_seed
from uaftc_lib.threads import exact_on, one_thread

STEPS = dict(zip(OPTIMIZERS, (torch.optim.Adagrad, torch.optim.SGD, torch.optim.Adam)))
LEAST_GAIN = 1e-3  # on dev, of accuracy or nats: less is no progress to a training that waits for it


@dataclass(frozen=True)
class Run:
    """What a training run gave; accuracies are fractions, nan where there is no such split.

    history: a row for each epoch, counted from 1 (``record`` adds epoch 0), with the mean training loss of
    the epoch's batches and the dev accuracy after it.
    """

    dev_accuracy: float
    test_accuracy: float
    best_epoch: int
    history: pd.DataFrame
    config: TrainingConfig


def draw_dropout(model: AttentionClassifier, batch: Corpus, config: TrainingConfig, step: int) -> Dropout:
    """The masks of one training step, the same whatever the method."""
    seed, kept = stream_seed(config.seed, "masks"), masks.keep_probability(config.dropout)

    def scaled(stream: int, rows: int, dimension: int) -> torch.Tensor:
        keep = masks.draw_masks(seed, stream, step, 0, rows, dimension, config.dropout)
        return keep.to(model.embedding) / kept

    return Dropout(
        embedding=scaled(masks.EMBEDDINGS, len(batch.tokens), model.embedding.shape[1]),
        pooled=scaled(masks.POOLED, len(batch), len(model.W)),
    )


class AutogradTrainer:
    """The reference: torch's own optimizers on torch's own gradients."""

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig):
        self.model, self.corpus, self.config = model, corpus, config
        self.step = 0
        # Adam moves every row at every step; the others leave untouched rows alone, so sparse is exact.
        self.sparse = config.optimizer != "adam"
        decayed = [name for name, _ in model.named_parameters() if name not in ("embedding", "V", "W")]
        groups = [
            {
                "params": [parameter],
                "lr": config.learning_rates.get(name, config.learning_rate),
                "weight_decay": config.weight_decay if name in decayed else 0.0,
            }
            for name, parameter in model.named_parameters()
        ]
        self.optimizer = STEPS[config.optimizer](groups)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda done: 1 / (1 + done * config.learning_rate_decay)
        )

    @torch.enable_grad()
    def epoch(self, batches: list[torch.Tensor]) -> float:
        """One pass over the batches of instance indices; the mean of the instances' losses."""
        total = 0.0
        for indices in batches:
            batch = self.corpus[indices]
            dropout = None
            if self.config.dropout:
                dropout = draw_dropout(self.model, batch, self.config, self.step)
            loss = self.model.loss(batch, dropout, self.sparse)
            objective = loss + self.config.penalty * self.model.penalty(batch) if self.config.penalty else loss
            self.optimizer.zero_grad(set_to_none=True)
            objective.backward()
            with torch.sparse.check_sparse_tensor_invariants(enable=False):  # else Adagrad warns
                self.optimizer.step()
            self.schedule.step()
            self.step += 1
            total += float(loss.detach()) * len(batch)
        return total / len(self.corpus)


def choose_trainer(model: AttentionClassifier, config: TrainingConfig):
    """The trainer that ``config.method`` asks for.

    Raises
    ------
    ValueError
        If the fast path is asked for but would not be exact.
    """
    reason = obstacle(model, config)
    check_method(config.method, reason)
    if config.method != "autograd" and not reason:
        return fast_trainer(model)
    return AutogradTrainer


@one_thread()
def fit(
    model: AttentionClassifier,
    dataset: Dataset,
    config: TrainingConfig | None = None,
    record: Callable[[int, AttentionClassifier], dict] | None = None,
    trainer: Callable | None = None,
    best: str = "accuracy",
    progress: bool = True,
    patience: int | None = None,
) -> Run:
    """Train the model in place; it is left at the best epoch on dev: the first of highest accuracy.

    Without a dev split it is left at the last epoch. An interrupted run leaves it at the best epoch so far.

    Parameters
    ----------
    model : AttentionClassifier
    dataset : Dataset
    config : TrainingConfig, optional
    record : callable, optional
        ``record(epoch, model)`` returns extra columns of ``run.history``; called for epoch 0 too.
    trainer : callable, optional
        ``trainer(model, corpus, config)`` takes the steps instead of the one that ``config.method`` chooses:
        an object with ``epoch(batches) -> mean loss`` (:class:`uaftc_lib.dynamics.ledger.LedgerTrainer`).
    best : {"accuracy", "loss"}
        The best epoch is the first of the highest dev accuracy, or that of the smallest dev loss. On small dev
        splits the accuracy picks very different epochs in runs that differ in their seed only, and where classes
        are easily told apart it is perfect long before anything but the signs of the scores is learnt.
    progress : bool
        Whether a bar appears when training takes long.
    patience : int, optional
        Training ends after so many epochs in a row that are no better on dev, by a thousandth, than those before.

    Raises
    ------
    ValueError
        If model, data and configuration do not fit together.
    NotFinite
        If training diverges, a ValueError: the loss of an epoch, or a parameter after it, is no finite number. The
        model is then left at the best epoch before it, where there is a dev split.
    """
    config = config or TrainingConfig()
    checks.one_of("best", best, ("accuracy", "loss"))
    if not isinstance(dataset, Dataset):
        raise ValueError(f"fit trains on a Dataset, got {dataset!r}: wrap it, Dataset(name, vocabulary, ...)")
    unknown = set(config.learning_rates) - {name for name, _ in model.named_parameters()}
    if unknown:
        known = ", ".join(name for name, _ in model.named_parameters())
        raise ValueError(f"learning_rates names {', '.join(sorted(unknown))}; the parameters are {known}")
    dataset = dataset.to(model.V.device)
    for corpus in dataset.splits.values():
        model.check(corpus)
    train, dev = dataset.train, dataset.dev
    trainer = (trainer or choose_trainer(model, config))(model, train, config)
    table = getattr(trainer, "moving", slice(None))  # of the embeddings those that can move
    order = generator(config.seed, "order")
    rows = [{"epoch": 0} | extra_columns(record, 0, model)] if record else []
    best_epoch, highest, best_state = 0, -math.inf, None
    last_gain, mark = 0, -math.inf
    was_training = model.training
    model.train()
    with exact_on(model.V.device):
        try:
            # The bar appears only when training takes long.
            epochs = range(1, config.epochs + 1)
            for epoch in progress_bar(epochs, desc="epochs", delay=3, leave=False, disable=not progress):
                loss = trainer.epoch(batches_of(len(train), config.batch_size, order))
                check_converging(model, epoch, loss, config, table)
                dev_accuracy = model.accuracy(dev) if dev is not None else math.nan
                reached = -dev_loss(model, dev) if best == "loss" and dev is not None else dev_accuracy
                if reached > highest:
                    best_epoch, highest = epoch, reached
                    best_state = state_of(model, table)
                rows.append({"epoch": epoch, "loss": loss, "dev_accuracy": dev_accuracy})
                if record:
                    rows[-1] |= extra_columns(record, epoch, model)
                if reached > mark + LEAST_GAIN:
                    last_gain, mark = epoch, reached
                if patience is not None and epoch - last_gain >= patience and dev is not None:
                    break
        finally:
            if best_state is not None:
                model.lam = best_state.pop("lam")  # where ``record`` has changed it
                for name, value in best_state.items():
                    model.get_parameter(name).data[table if name == "embedding" else ...] = value
            model.train(was_training)
        return Run(
            dev_accuracy=model.accuracy(dev) if dev is not None else math.nan,
            test_accuracy=model.accuracy(dataset.test) if dataset.test is not None else math.nan,
            best_epoch=best_epoch if dev is not None else config.epochs,
            history=pd.DataFrame(rows, columns=None if rows else ["epoch", "loss", "dev_accuracy"]),
            config=config,
        )


@torch.no_grad()
def state_of(model: AttentionClassifier, rows: torch.Tensor | slice) -> dict:
    """λ and copies of the parameters, of the embeddings of some rows."""
    parameters = dict(model.named_parameters())
    return {"lam": model.lam} | {
        name: value[rows if name == "embedding" else ...].detach().clone() for name, value in parameters.items()
    }


@torch.no_grad()
def check_converging(
    model: AttentionClassifier, epoch: int, loss: float, config: TrainingConfig, rows: torch.Tensor | slice
) -> None:
    """NotFinite if the loss of an epoch, or a parameter after it, of the embeddings one of some rows, is no finite
    number."""
    # A sum is finite only if every number is, and takes a fiftieth of the time of looking at each of them.
    sums = {name: (each[rows] if name == "embedding" else each).sum() for name, each in model.named_parameters()}
    lost = [name for name, total in sums.items() if not math.isfinite(total)]
    if lost or not math.isfinite(loss):
        what = f"its loss is {loss:g}" + (f", and {', '.join(lost)} hold numbers that are not finite" if lost else "")
        raise checks.NotFinite(
            f"training diverged in epoch {epoch}: {what}. Try a smaller learning rate (now {config.learning_rate:g}), "
            f"or a larger lam (now {model.lam:g})"
        )


@torch.no_grad()
def dev_loss(model: AttentionClassifier, dev: Corpus) -> float:
    """The mean loss without dropout."""
    return float(model.loss(dev))


def extra_columns(record: Callable, epoch: int, model: AttentionClassifier) -> dict:
    """What ``record`` gives, or ValueError if it is no dict or would overwrite a column."""
    extra = record(epoch, model)
    if not isinstance(extra, dict):
        raise ValueError(f"record must return a dict of columns, got {extra!r}")
    if taken := {"epoch", "loss", "dev_accuracy"} & set(extra):
        raise ValueError(f"record must not return the column {min(taken)!r}: the history has it already")
    return extra


def batches_of(instances: int, batch_size: int | None, order: torch.Generator) -> list[torch.Tensor]:
    """Instance indices of each batch of an epoch; shuffled, but for the full batch."""
    if batch_size is None:
        return [torch.arange(instances)]
    return list(torch.randperm(instances, generator=order).split(batch_size))
