"""The score ledger: where the final polarity and attention score of every token type came from.

A step moves e by Δe and W by ΔW, so s = e·W moves by exactly Δe·W + e·ΔW + Δe·ΔW. The gradient of e has a
part along W (from π) and a part along V (from ρ), hence, summed over all steps of a run,

    s_end − s_start = ΣA + ΣB + ΣC + Σ remainder,        a_end − a_start = ΣD + ΣE + ΣF + Σ remainder,

with the terms of Eq 19 and 27 times the learning rate, and remainders of second order in it. A preconditioned
optimizer (Adagrad) multiplies Δe, ΔV and ΔW element by element; the sum stays exact, and A is then what the
part of Δe along the old V did to s, and so on.

A batch moves V and W, and with them the scores of every type, but the embeddings of its own types only.
Between two visits of a type its C and F are therefore the change of its scores, and are booked at the next
visit: a step costs O(tokens + types of the batch·d).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.training import Run, TrainingConfig, fit

POLARITY = ("A", "B", "C", "polarity_remainder")
ATTENTION = ("D", "E", "F", "attention_remainder")


@dataclass(frozen=True)
class Ledger:
    """Sums over a run, in units of the scores; float64 whatever the model."""

    A: Float[Tensor, "types ..."]
    B: Float[Tensor, "types ..."]
    C: Float[Tensor, "types ..."]
    polarity_remainder: Float[Tensor, "types ..."]
    D: Float[Tensor, "types"]
    E: Float[Tensor, "types"]
    F: Float[Tensor, "types"]
    attention_remainder: Float[Tensor, "types"]
    polarity_start: Float[Tensor, "types ..."]
    polarity_end: Float[Tensor, "types ..."]
    attention_start: Float[Tensor, "types"]
    attention_end: Float[Tensor, "types"]

    def closure(self) -> dict[str, float]:
        """Largest difference between what the scores did and the sum of their terms."""
        polarity = sum(getattr(self, name) for name in POLARITY)
        attention = sum(getattr(self, name) for name in ATTENTION)
        return {
            "polarity": float((self.polarity_end - self.polarity_start - polarity).abs().max()),
            "attention": float((self.attention_end - self.attention_start - attention).abs().max()),
        }


class LedgerTrainer:
    """Takes the steps of SGD or Adagrad in closed form and books them; a ``trainer`` for :func:`fit`.

    The steps are those of the autograd reference: same batches, same numbers up to rounding.

    Raises
    ------
    ValueError
        For models other than DP (three factors make the remainder of third order), for Adam (it moves every
        row), and for dropout or a penalty (each would add terms of its own).
    """

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig):
        if dynamics.kind(model) != "DP":
            raise ValueError(f"the ledger is kept for DP, this model is {dynamics.kind(model)}")
        if config.optimizer not in ("sgd", "adagrad"):
            raise ValueError(f"the ledger is kept for sgd and adagrad, got {config.optimizer!r}")
        for name in ("dropout", "penalty"):
            if getattr(config, name):
                raise ValueError(
                    f"the ledger books A to F alone: {name} must be 0, got {getattr(config, name)}"
                )
        self.model, self.corpus, self.config, self.step = model, corpus, config, 0
        self.rates = {
            name: config.learning_rates.get(name, config.learning_rate) for name in ("embedding", "V", "W")
        }
        self.squares = {name: torch.zeros_like(p.data) for name, p in model.named_parameters()}
        a, s = self._scores()
        self.start, self.seen = (a, s), [a.clone(), s.clone()]
        self.books = {name: torch.zeros_like(s) for name in POLARITY}
        self.books |= {name: torch.zeros_like(a) for name in ATTENTION}

    def _scores(self) -> tuple[Tensor, Tensor]:
        a, s = self.model.token_scores()
        return a.double(), s.reshape(len(a), -1).double()

    def _precondition(self, name: str, gradient: Tensor, rows=slice(None)) -> Tensor | float:
        """What the gradient is multiplied by, learning rate included."""
        rate = self.rates[name] / (1 + self.step * self.config.learning_rate_decay)
        if self.config.optimizer == "sgd":
            return rate
        squares = self.squares[name]
        squares[rows] += gradient.square()
        return rate / (squares[rows].sqrt() + 1e-10)

    @torch.no_grad()
    def epoch(self, batches: list[Tensor]) -> float:
        """One pass over the batches of instance indices; the mean of the instances' losses."""
        return sum(self._take(self.corpus[indices]) for indices in batches) / len(self.corpus)

    def _take(self, batch: Corpus) -> float:
        """One step; the sum of the losses of the batch."""
        model, books, m, lam = self.model, self.books, len(batch), self.model.lam
        types, where = torch.unique(batch.tokens, return_inverse=True)
        E, V, W = model.embedding[types], model.V, model.W.reshape(len(model.V), -1)
        a, s = E @ V / lam, E @ W
        local = replace(batch, tokens=where)
        sums, polarity = dynamics.sums_and_polarity(a, s.squeeze(1) if model.binary else s, local)
        books["C"][types] += s - self.seen[1][types]
        books["F"][types] += a - self.seen[0][types]

        pi, rho = sums.pi.reshape(len(types), -1) / m, sums.rho.unsqueeze(1) / (m * lam)
        down_e, down_V, down_W = pi @ W.T + rho * V, (E.T @ rho).squeeze(1), E.T @ pi
        by_e = self._precondition("embedding", down_e, types)
        delta_e = by_e * down_e
        delta_V = self._precondition("V", down_V) * down_V
        delta_W = self._precondition("W", down_W.reshape(model.W.shape)) * down_W.reshape(model.W.shape)
        model.embedding[types] += delta_e
        delta_W = delta_W.reshape(W.shape)

        def along(products: Tensor) -> Tensor:
            """Products of two vectors, summed over dimensions with the weights of each type's step."""
            return by_e @ products if isinstance(by_e, Tensor) else (by_e * products.sum(0)).unsqueeze(0)

        VW, WW = along(V.unsqueeze(1) * W), along((W.unsqueeze(2) * W.unsqueeze(1)).flatten(1))
        K = W.shape[1]
        entries = {
            "A": rho * VW,
            "B": (pi.unsqueeze(2) * WW.reshape(-1, K, K)).sum(1),
            "C": E @ delta_W,
            "polarity_remainder": delta_e @ delta_W,
            "D": (pi * VW).sum(1) / lam,
            "E": (rho * along(V.square().unsqueeze(1))).squeeze(1) / lam,
            "F": E @ delta_V / lam,
            "attention_remainder": delta_e @ delta_V / lam,
        }
        for name, entry in entries.items():
            books[name].index_add_(0, types, entry.to(books[name].dtype))
        model.V += delta_V
        model.W += delta_W.reshape(model.W.shape)
        self.step += 1
        E = model.embedding[types]
        self.seen[0][types] = (E @ V / lam).double()
        self.seen[1][types] = (E @ model.W.reshape(len(V), -1)).double()
        if model.binary:
            losses = torch.nn.functional.softplus(-batch.signs.to(polarity) * polarity)
            return float(losses.sum())
        return float(torch.nn.functional.cross_entropy(polarity, batch.labels, reduction="sum"))

    def ledger(self) -> Ledger:
        """The books as they stand, every type brought up to date: O(types·d)."""
        a, s = self._scores()
        self.books["F"] += a - self.seen[0]
        self.books["C"] += s - self.seen[1]
        self.seen = [a.clone(), s.clone()]

        def shaped(polarity: Tensor) -> Tensor:
            return polarity.squeeze(1).clone() if self.model.binary else polarity.clone()

        return Ledger(
            **{name: shaped(self.books[name]) for name in POLARITY},
            **{name: self.books[name].clone() for name in ATTENTION},
            attention_start=self.start[0],
            polarity_start=shaped(self.start[1]),
            attention_end=a,
            polarity_end=shaped(s),
        )


def fit_with_ledger(
    model: AttentionClassifier, dataset: Dataset, config: TrainingConfig | None = None, record=None
) -> tuple[Run, list[Ledger]]:
    """:func:`fit`, and the ledger from the start to the end of each epoch.

    With a dev split the model is left at the best epoch: its ledger is ``ledgers[run.best_epoch - 1]``.

    Raises
    ------
    ValueError
        As :func:`fit` and :class:`LedgerTrainer`.
    """
    ledgers: list[Ledger] = []
    trainers: list[LedgerTrainer] = []

    def trainer(*arguments) -> LedgerTrainer:
        trainers.append(LedgerTrainer(*arguments))
        return trainers[0]

    def keep(epoch: int, model: AttentionClassifier) -> dict:
        if epoch:
            ledgers.append(trainers[0].ledger())
        return record(epoch, model) if record else {}

    run = fit(model, dataset, config, record=keep, trainer=trainer)
    return run, ledgers
