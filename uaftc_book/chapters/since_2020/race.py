"""Chapter 20: λ as a clock of V, and what is left of it where E and W move."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import torch
from jaxtyping import Float

from uaftc_book.mean_field import MeanField, crossing
from uaftc_book.small_data import SEEDS, initial_model, small_data
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import examined_types

LAMS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
TIMES = np.concatenate([[0.0], np.geomspace(1e-2, 1e6, 801)])
INITIALISATIONS = ("V₀ of each λ alike", "V₀/λ of each λ alike")
PLAIN = 10.0  # the λ from which V₀/λ is taken where that is held


def frozen_path(
    model: AttentionClassifier, corpus: Corpus, steps: int, rate: float, lam: float
) -> Float[np.ndarray, "steps d"]:
    """V/λ along gradient descent with E and W held, at a λ, from the model's V/λ, with the rate times λ²."""
    moving = deepcopy(model)
    moving.lam = lam
    with torch.no_grad():
        moving.V *= lam / model.lam
        path = []
        for _ in range(steps):
            moving.V -= rate * lam**2 * dynamics.gradients(moving, corpus)["V"]
            path.append(moving.V / lam)
    return torch.stack(path).numpy()


def followed(
    dataset: Dataset, model: AttentionClassifier, lam: float, times: Float[np.ndarray, "times"] = TIMES
) -> tuple[Float[np.ndarray, "times"], Float[np.ndarray, "times"]]:
    """The share of a text's attention that polar words have, and the loss, by the mean field while all moves."""
    names, kinds = zip(*examined_types(dataset).items())
    polar = [i for i, name in enumerate(names) if name != "neutral"]
    field = MeanField.from_corpus(dataset.train, list(kinds))
    path = field.flow(field.start(model, list(kinds)), lam, times)
    a, s = path[:, : len(kinds), -2] / lam, path[:, : len(kinds), -1]
    weight = field.patterns * np.exp(a - a.max(1, keepdims=True))[:, None]
    alpha = weight / weight.sum(2, keepdims=True)
    right = field.signs * (alpha * s[:, None]).sum(2)
    return alpha[:, :, polar].sum(2) @ field.shares, np.logaddexp(0, -right) @ field.shares


@experiment(jobs_over(initialisation=INITIALISATIONS, seed=SEEDS, lam=LAMS), rows=1)
def race(initialisation: str, lam: float, seed: int) -> list[dict]:
    """When polarity is learnt and when attention, on small Data I by its mean field, while everything moves."""
    dataset = small_data(seed)
    model = initial_model(dataset, lam=lam, seed=seed)
    if initialisation == INITIALISATIONS[1]:
        with torch.no_grad():
            model.V *= lam / PLAIN
    share, loss = followed(dataset, model, lam)
    polarity, attention = crossing(TIMES, -loss, -loss[0] / 2), crossing(TIMES, share, 0.5)
    at_polarity = float(np.interp(polarity, TIMES, share))
    return [
        {"polarity": polarity, "attention": attention, "share then": at_polarity, "share at first": float(share[0])}
    ]
