"""What each term of da/dτ does to attention while a model learns."""

from __future__ import annotations

import torch

from uaftc_book.chapters.variants.models import LOSS, M_OF_LIBRARY, RATES, variant_model
from uaftc_book.small_data import ends, small_config
from uaftc_lib.corpus import Dataset
from uaftc_lib.dynamics.ledger import ATTENTION, LedgerTrainer
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import examined_types
from uaftc_lib.streams import generator
from uaftc_lib.training import batches_of

CHECKED = 6  # batches between two looks at the loss: an epoch of small Data I
CALLED = {  # in the stored tables
    "attention_M_pi": "M_pi",
    "attention_M_rho": "M_rho",
    "attention_penalty": "penalty",
    "attention_remainder": "second order",
}


def train_to_loss(trainer: LedgerTrainer, loss: float, most: int = 1000) -> tuple[int, float]:
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


@torch.no_grad()
def seen_cosine(model: AttentionClassifier) -> float:
    """The cosine of :meth:`~uaftc_lib.models.AttentionClassifier.seen_vectors`."""
    return float(torch.cosine_similarity(*model.seen_vectors(), dim=0))


def run_with_ledger(
    dataset: Dataset, variant: str, penalty: float, lam: float, seed: int, M: str = M_OF_LIBRARY
) -> dict[str, float]:
    """A model trained to :data:`LOSS`: the type means, and what each term did to the attention of each kind."""
    types = examined_types(dataset)
    model = variant_model(dataset, variant, lam, seed=seed, M=M)
    trainer = LedgerTrainer(
        model, dataset.train, small_config(learning_rate=RATES[variant], penalty=penalty, seed=seed)
    )
    epochs, loss = train_to_loss(trainer, LOSS)
    recorded = {
        f"{CALLED.get(name, name)} {kind}": float(sums[ids].mean())
        for name, sums in trainer.ledger().terms(ATTENTION).items()
        for kind, ids in types.items()
    }
    return ends(model, types) | {"cosine": seen_cosine(model), "loss": loss, "epochs": epochs} | recorded
