"""Many-seed studies of the affine and the additive model and of three classes: small runs on Data I.

Jobs and rows are as in :mod:`uaftc_lib.studies`, which keeps the tables.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from torch import Tensor

from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.datasets.synthetic import distinct_integers
from uaftc_lib.exact_studies import SEEDS, ends, small_config, small_data, start_model
from uaftc_lib.measures import Types, examined_types, seen_vectors
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.streams import generator, stream_seed
from uaftc_lib.training import Run, TrainingConfig, batches_of, fit

VARIANTS = {"DP": {}, "DP-A": {"encoder": "affine"}, "AD": {"attention": "additive"}}
RATES = {"DP": 2.0, "DP-A": 2.0, "AD": 1.0}
RUNS = (("DP", 0.0), ("DP-A", 0.0), ("DP-A", 1e-3), ("AD", 0.0))  # variant and penalty
LOSS = 0.02  # to which runs are brought that are to be compared at equal training


def three_classes(seed: int = 0, instances: int = 400, polarity_types: int = 30) -> tuple[Dataset, Types]:
    """Data I with three classes (Appendix F): 2 words of the class and 10 neutral ones in each instance.

    The classes have ``instances`` instances each; types are called "0", "1", "2" and "3" (neutral), as in
    Figs S11 and S12.
    """
    rng = np.random.default_rng(stream_seed(seed, "data"))
    labels = np.repeat(np.arange(3), instances)
    own = distinct_integers(rng, len(labels), 2, polarity_types) + polarity_types * labels[:, None]
    neutral = distinct_integers(rng, len(labels), 10, 100) + 3 * polarity_types
    corpus = Corpus.from_lists(np.hstack([own, neutral]).tolist(), labels.tolist(), class_count=3)
    bounds = [0, *(polarity_types * k for k in (1, 2, 3)), 3 * polarity_types + 100]
    types = {str(k): torch.arange(bounds[k], bounds[k + 1]) for k in range(4)}
    vocabulary = Vocabulary([f"{k}-{i}" for k, ids in types.items() for i in range(len(ids))])
    return Dataset(name="synthetic-3", vocabulary=vocabulary, classes=corpus.classes, train=corpus), types


def variant_model(dataset: Dataset, variant: str, lam: float = 10.0, dimension: int = 50, seed: int = 0):
    """DP, DP-A or AD with W from ±0.1; with one seed all have the same embeddings, V and W."""
    return start_model(dataset, lam, dimension, weight_range=0.1, seed=seed, **VARIANTS[variant])


def train_variant(
    dataset: Dataset,
    variant: str,
    lam: float = 10.0,
    dimension: int = 50,
    penalty: float = 0.0,
    epochs: int = 75,
    seed: int = 0,
    record=None,
) -> tuple[AttentionClassifier, Run]:
    """DP, DP-A or AD on small data by SGD."""
    model = variant_model(dataset, variant, lam, dimension, seed)
    config = small_config(learning_rate=RATES[variant], penalty=penalty, epochs=epochs, seed=seed)
    return model, fit(model, dataset, config, record=record)


def variants(variant: str, penalty: float, seed: int) -> list[dict]:
    """The type means of the three models."""
    dataset = small_data()
    model, run = train_variant(dataset, variant, penalty=penalty, seed=seed)
    return [ends(model, examined_types(dataset)) | {"loss": run.history["loss"].iloc[-1]}]


class TermTrainer:
    """SGD that books what each term of da/dτ did to the attention scores; it steps as :func:`fit` does.

    ``books``: "D", "E", "F", "M_pi", "M_rho" (those that the model has), each the sum over steps of η times the term of
    :func:`uaftc_lib.dynamics.attention_update`, "types"; "second order", what the step on the loss did beyond
    them; and "penalty", what the step on the penalty did. Together they are the change of the scores.

    Raises
    ------
    ValueError
        For another optimizer, dropout, weight decay or several learning rates.
    """

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig):
        odd = config.dropout or config.weight_decay or config.learning_rate_decay or config.learning_rates
        if config.optimizer != "sgd" or odd:
            raise ValueError(f"terms are booked for SGD at one learning rate, without dropout or decay, got {config}")
        self.model, self.corpus, self.config = model, corpus, config
        self.books: dict[str, Tensor] = {}

    def book(self, name: str, moved: Tensor) -> None:
        """Add to a sum."""
        self.books[name] = self.books.get(name, 0) + moved.double()

    def move(self, slopes: dict[str, Tensor], rate: float) -> Tensor:
        """A step down the slopes; the change of the attention scores."""
        before = self.model.token_scores().attention
        with torch.no_grad():
            for name, slope in slopes.items():
                self.model.get_parameter(name).sub_(rate * slope)
        return self.model.token_scores().attention - before

    def epoch(self, batches: list[Tensor]) -> float:
        """One pass over the batches of instance indices; the mean of the instances' losses."""
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
                    self.book(name, rate * term)
            self.book("second order", moved - rate * terms.total)
            if held:
                self.book("penalty", self.move(held, rate))
        return total / len(self.corpus)


def train_to_loss(trainer: TermTrainer, loss: float, most: int = 1000) -> tuple[int, float]:
    """Epochs in the order of :func:`fit`, until the mean loss of one is no more than ``loss``; their number, and it.

    Raises
    ------
    RuntimeError
        If ``most`` epochs do not do.
    """
    order, config = generator(trainer.config.seed, "order"), trainer.config
    for epoch in range(1, most + 1):
        reached = trainer.epoch(batches_of(len(trainer.corpus), config.batch_size, order))
        if reached <= loss:
            return epoch, reached
    raise RuntimeError(f"{most} epochs end at a loss of {reached:.3g}, above {loss}: more epochs or a higher rate")


def seen_cosine(model: AttentionClassifier) -> float:
    """The cosine of :func:`seen_vectors`."""
    return float(torch.cosine_similarity(*seen_vectors(model), dim=0))


def variants_terms(variant: str, penalty: float, lam: float, seed: int) -> list[dict]:
    """Models trained to one loss: the type means, and what each term did to the attention of each kind."""
    dataset = small_data()
    types = examined_types(dataset)
    model = variant_model(dataset, variant, lam, seed=seed)
    config = small_config(learning_rate=RATES[variant], penalty=penalty, seed=seed)
    trainer = TermTrainer(model, dataset.train, config)
    epochs, loss = train_to_loss(trainer, LOSS)
    books = {
        f"{name} {kind}": float(sums[ids].mean()) for name, sums in trainer.books.items() for kind, ids in types.items()
    }
    return [ends(model, types) | {"cosine": seen_cosine(model), "loss": loss, "epochs": epochs} | books]


VARIANT_STUDIES = {
    "variants": (
        variants,
        [{"variant": v, "penalty": p, "seed": s} for (v, p), s in product((*RUNS[1:], RUNS[0]), SEEDS)],
    ),
    "variants_terms": (
        variants_terms,
        [{"variant": v, "penalty": p, "lam": x, "seed": s} for s, (v, p), x in product(SEEDS, RUNS, (10.0, 100.0))],
    ),
}
