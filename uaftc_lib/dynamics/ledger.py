"""The score ledger: where the final polarity and attention score of every token type came from.

A step moves e, V, W and M, each by a part that π and a part that ρ made (and, where there is one, a part of the
penalty). To first order each part moves the scores by a term of Eq 19 and 27 (DP-A: Eq 63 and 64, AD: Eq 69 and
70) times the learning rate. What moves together moves them further, and through tanh also what moves alone: the
remainder, of second order. A penalty's (a decay's) entry is what its part did after that of the loss. In all,

    s_end − s_start = ΣA + ΣB + ΣC + ΣM_π + ΣM_ρ + Σ penalty + Σ remainder,    a_end − a_start = ΣD + ΣE + ΣF + … .

A preconditioned optimizer (Adagrad) multiplies every move element by element; the sum stays exact, and A is then
what the part of Δe along the old V did to s, and so on.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd import forward_ad

from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.dynamics.terms import TokenSums, closed_form_parts, gradients_by_cause
from uaftc_lib.fast import TypeSums, TypewiseTrainer, obstacle
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.training import Run, TrainingConfig, fit

# The two terms of each cause: e by ρ, e by π, the heads V and W, M by π, M by ρ, the penalty, two at once.
POLARITY = ("A", "B", "C", "polarity_M_pi", "polarity_M_rho", "polarity_penalty", "polarity_remainder")
ATTENTION = ("E", "D", "F", "attention_M_pi", "attention_M_rho", "attention_penalty", "attention_remainder")


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """Sums over a run, in units of the scores; float64 whatever the model. What a run has not is None."""

    A: Float[Tensor, "types ..."]
    B: Float[Tensor, "types ..."]
    C: Float[Tensor, "types ..."]
    polarity_M_pi: Float[Tensor, "types ..."] | None = None
    polarity_M_rho: Float[Tensor, "types ..."] | None = None
    polarity_penalty: Float[Tensor, "types ..."] | None = None
    polarity_remainder: Float[Tensor, "types ..."]
    D: Float[Tensor, "types"]
    E: Float[Tensor, "types"]
    F: Float[Tensor, "types"]
    attention_M_pi: Float[Tensor, "types"] | None = None
    attention_M_rho: Float[Tensor, "types"] | None = None
    attention_penalty: Float[Tensor, "types"] | None = None
    attention_remainder: Float[Tensor, "types"]
    polarity_start: Float[Tensor, "types ..."]
    polarity_end: Float[Tensor, "types ..."]
    attention_start: Float[Tensor, "types"]
    attention_end: Float[Tensor, "types"]

    def terms(self, names: tuple[str, ...]) -> dict[str, Tensor]:
        """Those of :data:`POLARITY` or :data:`ATTENTION` that this model has."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def closure(self) -> dict[str, float]:
        """Largest difference between what the scores did and the sum of their terms."""
        left = {}
        for side, names in (("polarity", POLARITY), ("attention", ATTENTION)):
            moved = getattr(self, f"{side}_end") - getattr(self, f"{side}_start")
            left[side] = float((moved - sum(self.terms(names).values())).abs().max())
        return left


class LedgerTrainer(TypewiseTrainer):
    """Training by types that keeps a ledger; a ``trainer`` for :func:`fit`. Its steps are those of the fast path.

    Raises
    ------
    ValueError
        For models other than DP, DP-A and AD, for Adam (it moves every row), and for dropout (a cause of its own).
    """

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig):
        if config.dropout:
            raise ValueError(f"the ledger has no entry for dropout: it must be 0, got {config.dropout}")
        if reason := obstacle(model, config):
            raise ValueError(f"the ledger is kept on the fast path only: {reason}")
        super().__init__(model, corpus, config)
        self.kind = dynamics.kind(model)
        self.start = self.scores(model.embedding, {}).detach().double()
        self.totals = defaultdict(lambda: torch.zeros_like(self.start))  # by cause, named by its polarity term

    def scores(self, rows: Tensor, heads: dict[str, Tensor]) -> Float[Tensor, "rows heads"]:
        """The attention and the polarity scores of rows of the table, under other V, W and M."""
        model = copy.copy(self.model)  # a shallow copy: what is not in its place is the model's
        model._parameters = model._parameters | heads
        a, s, _ = model.score(rows)
        return torch.cat([a[:, None], s.reshape(len(a), -1)], 1)

    def first_order(self, rows: Tensor, heads: dict[str, Tensor], move: dict[str, Tensor]) -> Tensor:
        """What a move of "rows", V, W or M does to the scores of rows, to first order: the directional derivative.

        Scores are products of e, M, and V or W: the move in the place of what it moves. Through tanh they are not.
        """
        if self.kind in ("DP", "DP-A") or set(move) <= {"V", "W"}:
            return self.scores(move.get("rows", rows), heads | move)
        point = {"rows": rows} | heads
        with forward_ad.dual_level():
            point |= {name: forward_ad.make_dual(point[name], change) for name, change in move.items()}
            return forward_ad.unpack_dual(self.scores(point.pop("rows"), point)).tangent

    def causes(self, found: TypeSums) -> tuple[dict[str, dict[str, Tensor]], dict[str, Tensor]]:
        """The gradients of the loss by their cause: those of V, W and M, and those of the types' embeddings."""
        parts = closed_form_parts(self.model, found.E, TokenSums(found.pi, found.rho), m=1)
        by_pi, by_rho = gradients_by_cause(parts)
        of_heads = {"C": {"V": by_rho["V"], "W": by_pi["W"].reshape(self.model.W.shape)}}
        for name, by in (("polarity_M_pi", by_pi), ("polarity_M_rho", by_rho)):
            if "M" in by:
                of_heads[name] = {"M": by["M"]}
        return of_heads, {"A": by_rho["embedding"], "B": by_pi["embedding"]}

    def take_step(self, batch: Corpus, found: TypeSums) -> None:
        """Move every parameter, and book what each cause did to the scores of all types, or to those of the batch."""
        table, types, whole = self.model.embedding, found.types, self.gradients(batch, found)
        of_heads, of_rows = self.causes(found)
        old = {name: self.model.get_parameter(name).clone() for name in whole if name != "embedding"}
        before = None if self.kind == "DP" else self.scores(table, {})
        size = {name: self.move(name, slice(None), whole[name]) for name in old}
        moves = {c: {name: -size[name] * slope for name, slope in slopes.items()} for c, slopes in of_heads.items()}
        everywhere = {cause: self.first_order(table, old, move) for cause, move in moves.items()}
        # Where the loss alone brings V, W and M.
        new = {name: x + sum(move[name] for move in moves.values() if name in move) for name, x in old.items()}
        step = self.move("embedding", types, whole["embedding"])
        here = {cause: self.first_order(found.E, old, {"rows": -step * x}) for cause, x in of_rows.items()}
        if self.kind == "DP":  # a product of two: the move of e under the new heads, less the same under the old
            later = self.first_order(found.E, new, {"rows": -step * whole["embedding"]})
            here["polarity_remainder"] = later - sum(here.values())
        else:
            everywhere["polarity_remainder"] = self.scores(table, new) - before - sum(everywhere.values())
            everywhere["polarity_remainder"][types] -= sum(here.values())
        if self.config.penalty or (self.config.weight_decay and "M" in old):
            everywhere["polarity_penalty"] = self.scores(table, {}) - self.scores(table, new)
        for place, changes in ((slice(None), everywhere), (types, here)):
            for cause, change in changes.items():
                self.totals[cause][place] += change

    def ledger(self) -> Ledger:
        """The sums as they stand."""
        now = self.scores(self.model.embedding, {}).detach().double()
        columns = {name: self.totals[name] for name in ("A", "B", "C", "polarity_remainder")} | self.totals
        columns |= {"polarity_start": self.start, "polarity_end": now}
        twins = dict(zip(POLARITY, ATTENTION)) | {"polarity_start": "attention_start", "polarity_end": "attention_end"}
        polarity = {name: column[:, 1 if self.model.binary else slice(1, None)] for name, column in columns.items()}
        attention = {twins[name]: column[:, 0] for name, column in columns.items()}
        return Ledger(**{name: entry.clone() for name, entry in (polarity | attention).items()})


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
    ledgers, trainers = [], []

    def trainer(*arguments) -> LedgerTrainer:
        trainers.append(LedgerTrainer(*arguments))
        return trainers[0]

    def keep(epoch: int, model: AttentionClassifier) -> dict:
        if epoch:
            ledgers.append(trainers[0].ledger())
        return record(epoch, model) if record else {}

    return fit(model, dataset, config, record=keep, trainer=trainer), ledgers
