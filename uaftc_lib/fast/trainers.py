"""Exact training without positions × d numbers: the trainers behind ``method="fast"``.

Where a token's representation depends on its type alone, scores are computed once for each type, and gradients
come back as two numbers a position (π and ρ, Eq 16 and 20; K + 1 numbers for K classes). Both trainers give what
:class:`uaftc_lib.training.AutogradTrainer` gives, from the same batches and masks, up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.dynamics.terms import TokenSums, closed_form_parts, gradients_of, sums_and_polarity
from uaftc_lib.fast import kernels, masks
from uaftc_lib.fast.kernels import EPSILON
from uaftc_lib.models import AttentionClassifier, departure
from uaftc_lib.settings import slow
from uaftc_lib.streams import stream_seed
from uaftc_lib.threads import denormals_are_zero

FEW = 0.5  # share of the types that occur, below which the others cost nothing


def obstacle(model: AttentionClassifier, config) -> str | None:
    """Why the fast path would not be exact for this model and configuration; None if it is."""
    if reason := departure(model, AttentionClassifier) or slow(model.encoder, config.optimizer):
        return reason
    if config.dropout and model.embedding.device.type != "cpu":
        return f"dropout is fused on the CPU only, the model is on {model.embedding.device}"
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    if frozen:
        return f"{', '.join(frozen)} does not require a gradient"
    if any(parameter._backward_hooks or parameter._post_accumulate_grad_hooks for parameter in model.parameters()):
        return "a hook on a parameter may change its gradient"
    return None


class FusedTrainer:
    """DP, DP-A and AD on a CPU, with or without dropout: the loops of :mod:`uaftc_lib.fast.kernels`."""

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config):
        self.model, self.step = model, 0
        (types, d), tokens = model.embedding.shape, corpus.tokens
        self.moving = slice(None)  # types that can move
        if (occurring := tokens.unique()).numel() < FEW * types:
            self.moving, tokens, types = occurring, torch.searchsorted(occurring, tokens), len(occurring)
        self.corpus = [array.contiguous().numpy() for array in (tokens, corpus.offsets, corpus.labels)]
        heads = 1 + (1 if model.binary else model.classes)
        stride = kernels.stride_of(d)
        additive = model.attention == "additive"
        self.loop = kernels.train_additive_epoch if additive else kernels.train_epoch
        dtype = np.float32 if model.embedding.dtype == torch.float32 else np.float64
        self.parameters = kernels.Parameters(
            table=np.zeros((types, 2, stride), dtype),
            U=np.zeros((heads, 2, stride), dtype),
            M=np.zeros((d if model.M is not None else 0, 2, stride), dtype),
        )
        with torch.no_grad():
            self.table[:] = model.embedding[self.moving]
            for mine, theirs in self.pairs():
                mine.copy_(theirs)
        rate = {name: config.learning_rates.get(name, config.learning_rate) for name in ("embedding", *"VWM")}
        numerator, digits = masks.keep_digits(config.dropout)
        self.rule = kernels.Rule(
            classes=tuple(range(heads - 1)),
            lam=model.lam,
            penalty=float(config.penalty),
            weight_decay=float(config.weight_decay),
            adagrad=config.optimizer == "adagrad",
            table_rate=float(rate["embedding"]),
            V_rate=float(rate["V"]),
            W_rate=float(rate["W"]),
            M_rate=float(rate["M"]),
            decay=float(config.learning_rate_decay),
            seed=stream_seed(config.seed, "masks"),
            keep_numerator=numerator,
            keep_digits=digits,
        )
        instances = min(config.batch_size or len(corpus), len(corpus))
        positions = int(corpus.lengths.topk(instances).values.sum())
        self.work = kernels.workspace(self.parameters, self.rule, positions, instances, additive)

    def pairs(self) -> list[tuple[Tensor, Tensor]]:
        """Views of the kernel's parameters beside the model's, but for the embeddings."""
        d = self.model.embedding.shape[1]
        U, M = (torch.from_numpy(array) for array in self.parameters[1:])
        W = self.model.W if self.model.binary else self.model.W.T
        pairs = [(U[0, 0, :d], self.model.V), (U[1, 0, :d] if self.model.binary else U[1:, 0, :d], W)]
        return pairs + [(M[:, 0, :d], self.model.M)] if len(M) else pairs

    @property
    def table(self) -> Tensor:
        """A view of the kernel's embeddings: those of ``moving``."""
        return torch.from_numpy(self.parameters.table)[:, 0, : self.model.embedding.shape[1]]

    @torch.no_grad()
    def epoch(self, batches: list[Tensor]) -> float:
        """One pass over the batches of instance indices; the mean of the instances' losses."""
        bounds = np.cumsum([0, *map(len, batches)])
        plan = kernels.Batches(*self.corpus, torch.cat(batches).numpy(), bounds)
        with denormals_are_zero():
            loss = self.loop(self.parameters, plan, self.rule, self.step, self.work)
        self.step += len(batches)
        self.model.embedding[self.moving] = self.table
        for mine, theirs in self.pairs():
            theirs.copy_(mine)
        return loss / bounds[-1]


class TypeSums(NamedTuple):
    """Of the types of a batch: embeddings, scores, and π/m and ρ/m; s and π with a column for each class."""

    loss: Tensor
    types: Tensor
    E: Tensor
    a: Tensor
    s: Tensor
    pi: Tensor
    rho: Tensor


class TypewiseTrainer:
    """DP, DP-A and AD without dropout, on any device: the closed forms in plain torch."""

    def __init__(self, model: AttentionClassifier, corpus: Corpus, config):
        self.model, self.corpus, self.config = model, corpus.to(model.embedding.device), config
        self.step = 0
        self.squares = {name: torch.zeros_like(parameter) for name, parameter in model.named_parameters()}

    @torch.no_grad()
    def epoch(self, batches: list[Tensor]) -> float:
        """One pass over the batches of instance indices; the mean of the instances' losses."""
        total = self.model.V.new_zeros(())
        for indices in batches:
            batch = self.corpus[indices.to(self.corpus.tokens.device)]
            found = self.sums(batch)
            total += found.loss * len(batch)
            self.take_step(batch, found)
            self.step += 1
        return float(total) / sum(map(len, batches))

    def take_step(self, batch: Corpus, found: TypeSums) -> None:
        """Move every parameter by its gradient."""
        for name, gradient in self.gradients(batch, found).items():
            self.move(name, found.types if name == "embedding" else slice(None), gradient)

    def sums(self, batch: Corpus) -> TypeSums:
        """Mean loss, types of the batch, and what acts on each of them (Eq 16, 20)."""
        model, m = self.model, len(batch)
        types, where = torch.unique(batch.tokens, return_inverse=True)
        E = model.embedding[types]
        a, _, h = model.score(E)
        s = h @ model.W.reshape(len(model.V), -1)
        (pi, rho), polarity = sums_and_polarity(a, s, batch._with(tokens=where))
        loss = model.loss_of(polarity.squeeze(1) if model.binary else polarity, batch)
        return TypeSums(loss, types, E, a, s, pi / m, rho / m)

    def gradients(self, batch: Corpus, found: TypeSums) -> dict[str, Tensor]:
        """Of E the rows of the types of the batch (Eq 13, 59, 66 and 78), with penalty and weight decay."""
        gradients = gradients_of(closed_form_parts(self.model, found.E, TokenSums(found.pi, found.rho), m=1))
        gradients["W"] = gradients["W"].reshape(self.model.W.shape)
        if self.config.penalty:
            names = [name for name in gradients if name != "embedding"]
            with torch.enable_grad():
                penalty = self.config.penalty * self.model.penalty(batch)
            pulls = torch.autograd.grad(penalty, [*map(self.model.get_parameter, names)], allow_unused=True)
            gradients |= {name: gradients[name] + pull for name, pull in zip(names, pulls) if pull is not None}
        if "M" in gradients:
            gradients["M"] += self.config.weight_decay * self.model.M
        return gradients

    def move(self, name: str, rows, gradient: Tensor) -> Tensor | float:
        """One step of SGD or Adagrad for some rows of a parameter; its size, element by element with Adagrad."""
        parameter, squares = self.model.get_parameter(name), self.squares[name]
        size = self.config.learning_rates.get(name, self.config.learning_rate)
        size /= 1 + self.step * self.config.learning_rate_decay
        if self.config.optimizer == "adagrad":
            squares[rows] += gradient * gradient
            size = size / (squares[rows].sqrt() + EPSILON)
        parameter[rows] -= size * gradient
        return size


def fast_trainer(model: AttentionClassifier) -> type:
    """The fast trainer of a model: fused on a CPU, elsewhere in plain torch."""
    return FusedTrainer if model.embedding.device.type == "cpu" else TypewiseTrainer
