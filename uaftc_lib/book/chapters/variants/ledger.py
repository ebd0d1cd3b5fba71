"""What each term of da/dτ does to attention while a model learns."""

from __future__ import annotations

import torch
from torch import Tensor

from uaftc_lib import dynamics
from uaftc_lib.book.chapters.variants.models import LOSS, M_OF_LIBRARY, RATES, variant_model
from uaftc_lib.book.small_data import ends, small_config
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import examined_types, seen_vectors
from uaftc_lib.streams import generator
from uaftc_lib.training import TrainingConfig, batches_of

CHECKED = 6  # batches between two looks at the loss: an epoch of small Data I


class TermTrainer:
    """SGD that records what each term of da/dτ did to the attention scores; it steps as :func:`fit` does.

    ``ledger``: "D", "E", "F", "M_pi", "M_rho" (those that the model has), each the sum over steps of η times the term
    of :func:`uaftc_lib.dynamics.attention_update`, "types"; "second order", what the step on the loss did beyond
    them; and "penalty", what the step on the penalty did. Together they are the change of the scores.

    It stands beside :class:`uaftc_lib.dynamics.ledger.LedgerTrainer`, which is for DP without a penalty alone. For DP
    the two agree in D, E and F; this one reads the scores of all types at each step, and an epoch of SST takes three
    times as long.

    Raises
    ------
    ValueError
        For another optimizer, dropout, weight decay or several learning rates.
    """

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig):
        odd = config.dropout or config.weight_decay or config.learning_rate_decay or config.learning_rates
        if config.optimizer != "sgd" or odd:
            raise ValueError(f"terms are recorded for SGD at one learning rate, without dropout or decay, got {config}")
        self.model, self.corpus, self.config = model, corpus, config
        self.ledger: dict[str, Tensor] = {}

    def record(self, name: str, moved: Tensor) -> None:
        """Add to a sum."""
        self.ledger[name] = self.ledger.get(name, 0) + moved.double()

    def move(self, slopes: dict[str, Tensor], rate: float) -> Tensor:
        """A step down the slopes; the change of the attention scores."""
        before = self.model.token_scores().attention
        with torch.no_grad():
            for name, slope in slopes.items():
                self.model.get_parameter(name).sub_(rate * slope)
        return self.model.token_scores().attention - before

    def epoch(self, batches: list[Tensor]) -> float:
        """Steps on the batches of instance indices; the mean of the instances' losses."""
        model, rate, total = self.model, self.config.learning_rate, 0.0
        for indices in batches:
            batch = self.corpus[indices]
            total += float(model.loss(batch).detach()) * len(batch)
            terms, slopes = dynamics.attention_update(model, batch), dynamics.gradients(model, batch)
            held = {}
            if self.config.penalty:
                names = [name for name, _ in model.named_parameters() if name != "embedding"]
                pulls = torch.autograd.grad(model.penalty(batch), [model.get_parameter(name) for name in names])
                held = {name: self.config.penalty * pull for name, pull in zip(names, pulls)}
            moved = self.move(slopes, rate)
            for name, term in terms._asdict().items():
                if term is not None:
                    self.record(name, rate * term)
            self.record("second order", moved - rate * terms.total)
            if held:
                self.record("penalty", self.move(held, rate))
        return total / sum(map(len, batches))


def train_to_loss(trainer: TermTrainer, loss: float, most: int = 1000) -> tuple[int, float]:
    """Batches in the order of :func:`fit`, until the mean loss of :data:`CHECKED` of them is no more than ``loss``.

    Returns how often it was looked at, which on small Data I is the number of epochs, and what it was at last.

    Raises
    ------
    RuntimeError
        If ``most`` epochs do not do.
    """
    order, config, looks = generator(trainer.config.seed, "order"), trainer.config, 0
    for _ in range(most):
        batches = batches_of(len(trainer.corpus), config.batch_size, order)
        for begin in range(0, len(batches), CHECKED):
            reached, looks = trainer.epoch(batches[begin : begin + CHECKED]), looks + 1
            if reached <= loss:
                return looks, reached
    raise RuntimeError(f"{most} epochs end at a loss of {reached:.3g}, above {loss}: more epochs or a higher rate")


def seen_cosine(model: AttentionClassifier) -> float:
    """The cosine of :func:`seen_vectors`."""
    return float(torch.cosine_similarity(*seen_vectors(model), dim=0))


def run_with_ledger(
    dataset: Dataset, variant: str, penalty: float, lam: float, seed: int, M: str = M_OF_LIBRARY
) -> dict[str, float]:
    """A model trained to :data:`LOSS`: the type means, and what each term did to the attention of each kind."""
    types = examined_types(dataset)
    model = variant_model(dataset, variant, lam, seed=seed, M=M)
    trainer = TermTrainer(model, dataset.train, small_config(learning_rate=RATES[variant], penalty=penalty, seed=seed))
    epochs, loss = train_to_loss(trainer, LOSS)
    recorded = {
        f"{name} {kind}": float(sums[ids].mean())
        for name, sums in trainer.ledger.items()
        for kind, ids in types.items()
    }
    return ends(model, types) | {"cosine": seen_cosine(model), "loss": loss, "epochs": epochs} | recorded
