"""Chapter 16: which words lift a word that was never read: the shared part of its scores, by who moved V and W.

Under gradient descent ΔW = (η/m) Σ over steps and words v of π(v) e_v (Eq 17), and ΔV likewise of ρ(v) e_v/λ (Eq 23).
So the shared part e_w·ΔW is a sum over words v, each with its inner product with w: it can be said who gave how much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from uaftc_book.chapters.pretrained.initialisations import from_book
from uaftc_book.chapters.pretrained.unseen_words import DATASETS, LEAST, SEEDS, training_counts, words_cut_out
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.settings import TrainingConfig
from uaftc_lib.token_lists import token_types
from uaftc_lib.training import choose_trainer, fit

RATES = {"sst": 0.5, "20news-1": 4.0}  # with which the test set is told about as well as by Adagrad
EPOCHS = 20
NEAREST = (1, 10, 30, 100, 300, 1000, 3000)  # of the words that are read, by the cosine of the vectors


class Givers:
    """A trainer that also adds up what each type moved W and V by: "types d" each."""

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig):
        self.model, self.corpus, self.rate = model, corpus, config.learning_rate
        self.inner = choose_trainer(model, config)(model, corpus, config)
        self.of_W, self.of_V = (torch.zeros_like(model.embedding.detach()) for _ in range(2))

    def epoch(self, batches: list[Int[Tensor, "batch"]]) -> float:
        """One pass, as the inner trainer makes it, batch by batch."""
        total = 0.0
        for indices in batches:
            texts, E = self.corpus[indices], self.model.embedding.detach()
            pi, rho = dynamics.token_sums(self.model, texts)
            step = self.rate / len(texts)
            self.of_W += step * pi.unsqueeze(1) * E
            self.of_V += step / self.model.lam * rho.unsqueeze(1) * E
            total += self.inner.epoch([indices]) * len(indices)
        return total / len(self.corpus)


def with_givers(model: AttentionClassifier, data: Dataset, config: TrainingConfig) -> Givers:
    """Train the model in place, to the last epoch; what each type gave."""
    kept: list[Givers] = []

    def trainer(*given: object) -> Givers:
        kept.append(Givers(*given))
        return kept[0]

    fit(model, replace(data, dev=None), config, trainer=trainer, progress=False)
    return kept[0]


def given_by(
    gifts: Float[Tensor, "asked types"], cosines: Float[Tensor, "asked types"], givers: Bool[Tensor, "types"]
) -> Callable[[int], Float[Tensor, "asked"]]:
    """What a word's so many most similar givers gave it, of all their gifts."""
    order = cosines.masked_fill(~givers, -torch.inf).argsort(1, descending=True)[:, : int(givers.sum())]
    sums = gifts.gather(1, order).cumsum(1)
    return lambda count: sums[:, min(count, sums.shape[1]) - 1]


def lifted_jobs() -> list[dict]:
    """All at λ = 10; vectors trained along at the others, too."""
    at_ten = {"lam": 10.0, "kind": ("vectors", "dealt out"), "learning": ("trained", "frozen")}
    elsewhere = {"lam": (1.0, 100.0), "kind": "vectors", "learning": "trained"}
    return [job for of in (at_ten, elsewhere) for job in jobs_over(**of, dataset=DATASETS, seed=SEEDS)]


@experiment(jobs=lifted_jobs(), rows=len(NEAREST) + 1)
def lifted_by(lam: float, kind: str, learning: str, dataset: str, seed: int) -> list[dict]:
    """Unread words of the lists: how much of their vote and attention came by the words most similar to each.

    Votes towards a word's class; means over the words. The last row has all givers, ``shared`` whatever gave it.
    """
    data = load_dataset(dataset)
    matrix = from_book(kind, data, seed)
    counts, out = training_counts(data), words_cut_out(matrix, seed)
    without = replace(data, train=data.train.without(out[data.train.tokens]))
    lists = token_types(data.train, data.vocabulary)
    kinds = {name: ids[(out & (counts >= LEAST))[ids]] for name, ids in lists.items()}
    asked = torch.cat([kinds["positive"], kinds["negative"]])
    sides = torch.ones(len(asked)).index_fill(0, torch.arange(len(kinds["positive"]), len(asked)), -1.0).unsqueeze(1)
    model = AttentionClassifier(len(data.vocabulary), matrix.shape[1], vectors=matrix, lam=lam, seed=seed)
    first = model.embedding.detach()[asked].clone()
    held = {"embedding": 0.0} if learning == "frozen" else {}
    config = TrainingConfig("sgd", RATES[dataset], batch_size=100, epochs=EPOCHS, learning_rates=held, seed=seed)
    gave = with_givers(model, without, config)
    unit = normalize(matrix.nan_to_num())
    readable = ~matrix.isnan().any(1) & ~out & (counts > 0)
    vote, attention = sides * (first @ gave.of_W.T), first @ gave.of_V.T / lam
    of = {
        name: given_by(gifts, unit[asked] @ unit.T, readable)
        for name, gifts in (("vote", vote), ("attention", attention))
    }
    about = {"shared vote": float(vote.sum(1).mean()), "shared attention": float(attention.sum(1).mean())}
    about |= {"givers": int(readable.sum()), "words": len(asked), "right": model.accuracy(data.test)}
    return [
        {"nearest": count} | {name: float(by(count).mean()) for name, by in of.items()} | about
        for count in (*NEAREST, int(readable.sum()))
    ]
