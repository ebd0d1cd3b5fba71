"""The score ledger: where the final polarity and attention score of every token type came from.

A step moves e by Δe and W by ΔW, so s = e·W moves by exactly Δe·W + e·ΔW + Δe·ΔW. The gradient of e has a
part along W (from π) and a part along V (from ρ), hence, summed over all steps of a run,

    s_end − s_start = ΣA + ΣB + ΣC + Σ remainder,        a_end − a_start = ΣD + ΣE + ΣF + Σ remainder,

with the terms of Eq 19 and 27 times the learning rate, and remainders of second order in it. A preconditioned
optimizer (Adagrad) multiplies Δe, ΔV and ΔW element by element; the sum stays exact, and A is then what the
part of Δe along the old V did to s, and so on.

A batch moves V and W, and with them the scores of every type, but the embeddings of its own types only.
Between two visits of a type its C and F are therefore the change of its scores, and are recorded at the next
visit: a step costs O(tokens + types of the batch·d).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.fast import TypewiseTrainer, obstacle
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


class LedgerTrainer(TypewiseTrainer):
    """Training by types that keeps a ledger; a ``trainer`` for :func:`fit`. Its steps are those of the fast path.

    Raises
    ------
    ValueError
        For models other than DP (three factors make the remainder of third order), for Adam (it moves every
        row), and for dropout or a penalty (each would add terms of its own).
    """

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig):
        if dynamics.kind(model) != "DP":
            raise ValueError(f"the ledger is kept for DP, this model is {dynamics.kind(model)}")
        for name in ("dropout", "penalty"):
            if getattr(config, name):
                raise ValueError(f"the ledger records A to F alone: {name} must be 0, got {getattr(config, name)}")
        if reason := obstacle(model, config):
            raise ValueError(f"the ledger is kept on the fast path only: {reason}")
        super().__init__(model, corpus, config)
        self.start = self.scores()
        self.seen = self.start.clone()  # the scores when they were last recorded
        # By what moved them: the embedding along V, along some W, a head, two things at once.
        self.along_V, self.along_W, self.by_heads, self.remainder = (torch.zeros_like(self.start) for _ in range(4))

    def scores(self) -> Float[Tensor, "types heads"]:
        """The attention score of every type, then its polarity scores."""
        a, s = self.model.token_scores()
        return torch.cat([a[:, None], s.reshape(len(a), -1)], 1).double()

    def heads(self) -> Float[Tensor, "d heads"]:
        """V/λ and W: their products with an embedding are its scores."""
        return torch.cat([self.model.V[:, None] / self.model.lam, self.model.W.reshape(len(self.model.V), -1)], 1)

    @torch.no_grad()
    def epoch(self, batches: list[Tensor]) -> float:
        """One pass over the batches of instance indices; the mean of the instances' losses."""
        total = self.model.V.new_zeros(())
        for indices in batches:
            batch = self.corpus[indices.to(self.corpus.tokens.device)]
            found, U = self.sums(batch), self.heads()
            types, sides = found.types, torch.cat([found.rho[:, None], found.pi], 1)
            self.by_heads[types] += torch.cat([found.a[:, None], found.s], 1) - self.seen[types]
            pull = sides @ U.T
            size = self.move("embedding", types, -pull)
            along_V = (size * torch.outer(sides[:, 0], U[:, 0])) @ U
            self.along_V[types] += along_V
            self.along_W[types] += (size * pull) @ U - along_V
            self.seen[types] = (self.model.embedding[types] @ U).double()
            by_head = -found.E.T @ sides
            self.move("V", slice(None), by_head[:, 0] / self.model.lam)
            self.move("W", slice(None), by_head[:, 1:].reshape(self.model.W.shape))
            # From here on seen holds new embeddings under old heads: the next visit finds C and the remainder.
            remainder = (size * pull) @ (self.heads() - U)
            self.remainder[types] += remainder
            self.by_heads[types] -= remainder
            self.step += 1
            total += found.loss * len(batch)
        return float(total) / sum(map(len, batches))

    def ledger(self) -> Ledger:
        """The sums as they stand, every type brought up to date: O(types·d)."""
        now = self.scores()
        self.by_heads += now - self.seen
        self.seen = now
        columns = (self.along_V, self.along_W, self.by_heads, self.remainder, self.start, now)
        names = (*POLARITY, "polarity_start", "polarity_end")
        entries = {name: column[:, 1] if self.model.binary else column[:, 1:] for name, column in zip(names, columns)}
        names = ("E", "D", "F", "attention_remainder", "attention_start", "attention_end")
        entries |= {name: column[:, 0] for name, column in zip(names, columns)}
        return Ledger(**{name: entry.clone() for name, entry in entries.items()})


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
