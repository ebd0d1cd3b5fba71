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

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.fast import FusedTrainer, kernels, obstacle
from uaftc_lib.fast.bookkeeping import Books, book_epoch
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


class LedgerTrainer(FusedTrainer):
    """The fast path with books; a ``trainer`` for :func:`fit`. It takes the same steps up to rounding.

    Raises
    ------
    ValueError
        For models other than DP (three factors make the remainder of third order), for Adam (it moves every
        row), for dropout or a penalty (each would add terms of its own), and off the CPU.
    """

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig):
        if dynamics.kind(model) != "DP":
            raise ValueError(f"the ledger is kept for DP, this model is {dynamics.kind(model)}")
        for name in ("dropout", "penalty"):
            if getattr(config, name):
                raise ValueError(f"the ledger books A to F alone: {name} must be 0, got {getattr(config, name)}")
        if reason := obstacle(model, config):
            raise ValueError(f"the ledger is kept on the fast path only: {reason}")
        if model.embedding.device.type != "cpu":
            raise ValueError(f"the ledger is kept on the CPU, the model is on {model.embedding.device}")
        super().__init__(model, corpus, config)
        self.start = self._scores()
        self.books = Books(*(np.zeros_like(self.start) for _ in range(4)), seen=self.start.copy())
        self.delta = np.empty((len(self.work.types), self.parameters.table.shape[2]), self.parameters.table.dtype)

    def _scores(self) -> np.ndarray:
        a, s = self.model.token_scores()
        return torch.cat([a[:, None], s.reshape(len(a), -1)], 1).double().numpy()

    @torch.no_grad()
    def epoch(self, batches: list[Tensor]) -> float:
        """One pass over the batches of instance indices; the mean of the instances' losses."""
        bounds = np.cumsum([0, *map(len, batches)])
        plan = kernels.Batches(*self.corpus, torch.cat(batches).numpy(), bounds)
        loss = book_epoch(self.parameters, plan, self.rule, self.step, self.work, self.delta, self.books)
        self.step += len(batches)
        for mine, theirs in self.pairs():
            theirs.copy_(mine)
        return loss / bounds[-1]

    def ledger(self) -> Ledger:
        """The books as they stand, every type brought up to date: O(types·d)."""
        now, books = self._scores(), self.books
        books.heads[:] += now - books.seen
        books.seen[:] = now
        columns = (books.along_V, books.along_W, books.heads, books.remainder, self.start, now)
        names = (*POLARITY, "polarity_start", "polarity_end")
        entries = {name: column[:, 1] if self.model.binary else column[:, 1:] for name, column in zip(names, columns)}
        names = ("E", "D", "F", "attention_remainder", "attention_start", "attention_end")
        entries |= {name: column[:, 0] for name, column in zip(names, columns)}
        return Ledger(**{name: torch.from_numpy(entry.copy()) for name, entry in entries.items()})


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
