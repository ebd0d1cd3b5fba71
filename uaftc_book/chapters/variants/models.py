"""The models that are compared, each from the same vectors, on Data I and its small copy; three classes of words."""

from __future__ import annotations

import numpy as np
import torch

from uaftc_book.small_data import SMALL_NEUTRAL, initial_model, small_config
from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.datasets.synthetic import distinct_integers
from uaftc_lib.models import AttentionClassifier, model_arguments
from uaftc_lib.scores import Types
from uaftc_lib.streams import stream_seed
from uaftc_lib.training import Run, fit

RATES = {"DP": 2.0, "DP-A": 2.0, "AD": 1.0}
RUNS = (("DP", 0.0), ("DP-A", 0.0), ("DP-A", 1e-3), ("AD", 0.0))  # variant and penalty
LOSS = 0.02  # to which runs are brought that are to be compared at equal training
M_OF_LIBRARY = "±1/√d"
RANGES_OF_M = {M_OF_LIBRARY: lambda d: d**-0.5, "±0.1": lambda d: 0.1, "±3/√d": lambda d: 3 * d**-0.5}
NO_M = "no M"


def ranges(M: str) -> str:
    """From which ranges W and M are drawn, as the names of cases tell it."""
    return f"W from ±0.1, M {M}"


def three_classes(
    seed: int = 0, instances: int = 400, polarity_types: int = 30, neutral_types: int = SMALL_NEUTRAL
) -> tuple[Dataset, Types]:
    """Data I with three classes (Appendix F): 2 words of the class and 10 neutral ones in each instance.

    The classes have ``instances`` instances each; types are called "0", "1", "2" and "3" (neutral), as in
    Figs S11 and S12.
    """
    rng = np.random.default_rng(stream_seed(seed, "data"))
    labels = np.repeat(np.arange(3), instances)
    own = distinct_integers(rng, len(labels), 2, polarity_types) + polarity_types * labels[:, None]
    neutral = distinct_integers(rng, len(labels), 10, neutral_types) + 3 * polarity_types
    corpus = Corpus.from_lists(np.hstack([own, neutral]).tolist(), labels.tolist(), class_count=3)
    bounds = [0, *(polarity_types * k for k in (1, 2, 3)), 3 * polarity_types + neutral_types]
    types = {str(k): torch.arange(bounds[k], bounds[k + 1]) for k in range(4)}
    vocabulary = Vocabulary([f"{k}-{i}" for k, ids in types.items() for i in range(len(ids))])
    return Dataset(name="synthetic-3", vocabulary=vocabulary, classes=corpus.classes, train=corpus), types


def variant_model(
    dataset: Dataset,
    variant: str,
    lam: float = 10.0,
    dimension: int = 50,
    seed: int = 0,
    M: str = M_OF_LIBRARY,
    weight_range: float = 0.1,
) -> AttentionClassifier:
    """DP, DP-A or AD; with one seed all have the same embeddings, V, and W and M but for their ranges."""
    model = initial_model(dataset, lam, dimension, weight_range=weight_range, seed=seed, **model_arguments(variant))
    if M not in (M_OF_LIBRARY, NO_M):
        with torch.no_grad():
            model.M *= RANGES_OF_M[M](dimension) / RANGES_OF_M[M_OF_LIBRARY](dimension)
    return model


def train_variant(
    dataset: Dataset,
    variant: str,
    lam: float = 10.0,
    dimension: int = 50,
    penalty: float = 0.0,
    epochs: int = 75,
    seed: int = 0,
    record=None,
    M: str = M_OF_LIBRARY,
    weight_range: float = 0.1,
) -> tuple[AttentionClassifier, Run]:
    """DP, DP-A or AD by SGD; 75 epochs of the small data are as many steps as 7.5 of the whole."""
    model = variant_model(dataset, variant, lam, dimension, seed, M, weight_range)
    config = small_config(learning_rate=RATES[variant], penalty=penalty, epochs=epochs, seed=seed)
    return model, fit(model, dataset, config, record=record)
