"""Chapter 23: whether attention is learnt where single words say nothing of the class."""

from __future__ import annotations

import numpy as np
import torch

from uaftc_book.chapters.learnt_first.polarity_first import LAMS, OTHER, UNIFORM, tau
from uaftc_book.mean_field import MeanField, crossing
from uaftc_book.neighbours.pairs import SIGNALS, kinds_of, told_by
from uaftc_book.small_data import SEEDS, initial_model, small_config
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.training import fit

TIMES = np.concatenate([[0.0], np.geomspace(1.0, 1e5, 151)])
LEARNT = 0.6  # a loss below it, where guessing costs log 2 = 0.69


def trained(dataset: Dataset, lam: float, seed: int) -> AttentionClassifier:
    """After 75 epochs of gradient descent, as on small Data I."""
    model = initial_model(dataset, lam=lam, seed=seed)
    fit(model, dataset, small_config(seed=seed), progress=False)
    return model


def shares(model: AttentionClassifier, corpus: Corpus, telling: torch.Tensor) -> float:
    """How much of a text's attention telling words have, a mean over texts."""
    with torch.no_grad():
        return float(model(corpus).weights[torch.isin(corpus.tokens, telling)].sum() / len(corpus))


def when_learnt(dataset: Dataset, lam: float, seed: int) -> float:
    """τ at which the loss of the mean field falls below :data:`LEARNT`; nan if not by the last of :data:`TIMES`."""
    kinds = [*kinds_of().values()]
    field = MeanField.from_corpus(dataset.train, kinds)
    path = field.flow(field.start(initial_model(dataset, lam=lam, seed=seed), kinds), lam, TIMES)
    a, s = path[:, : len(kinds), -2] / lam, path[:, : len(kinds), -1]
    weight = field.patterns * np.exp(a - a.max(1, keepdims=True))[:, None]
    said = ((weight / weight.sum(2, keepdims=True)) * s[:, None]).sum(2)
    return crossing(TIMES, -(np.logaddexp(0, -field.signs * said) @ field.shares), -LEARNT)


@experiment(jobs_over(signal=SIGNALS, seed=SEEDS, lam=LAMS), rows=1)
def signal_in_pairs(signal: str, lam: float, seed: int) -> list[dict]:
    """Data IV: right answers, attention of the words of which the class is made, and its tie to |s| learnt without."""
    data = told_by(signal, seed=seed)
    kinds = kinds_of()
    telling = torch.cat([kinds[name] for name in (("A0", "A1", "B0", "B1") if signal == "pairs" else ("A0", "A1"))])
    first, model = initial_model(data, lam=lam, seed=seed), trained(data, lam, seed)
    a, s = (x.double().numpy() for x in model.token_scores())
    alone = trained(data, UNIFORM, seed + OTHER).token_scores().polarity.double().numpy()
    means = {name: float(a[ids].mean()) for name, ids in kinds.items()}
    row = {
        "right": model.accuracy(data.test),
        "right in training": model.accuracy(data.train),
        "share": shares(model, data.test, telling),
        "share at first": shares(first, data.test, telling),
        "lead of the first kind": max(means[name] for name in kinds if name != "neutral") - means["neutral"],
        "|s| of telling words": float(abs(s[telling]).mean()),
        "|s| of neutral words": float(abs(s[kinds["neutral"]]).mean()),
        "τ a, |s| alone": tau(a, abs(alone)),
        "learnt at": when_learnt(data, lam, seed),
    }
    return [row]
