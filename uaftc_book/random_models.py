"""A small random corpus and models on it, seen occurrence by occurrence, as the paper writes its sums.

Nothing here uses the closed forms of :mod:`uaftc_lib.dynamics`: derivatives come from autograd, sums over
occurrences are taken literally. A check that compares both is a proof by machine of the closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier, model_arguments
from uaftc_lib.streams import generator


def random_corpus(types: int, instances: int, classes: int = 2, longest: int = 7, seed: int = 0) -> Corpus:
    """Random lengths; the first instance has one word, the second a word three times; every class occurs."""
    draws = generator(seed, "data")
    lengths = torch.randint(1, longest + 1, (instances,), generator=draws)
    lists = [torch.randint(types, (int(n),), generator=draws).tolist() for n in lengths]
    lists[0] = lists[0][:1]
    if instances > 1:
        lists[1] = lists[1][:1] * 3 + lists[1]
    labels = [(t + int(torch.randint(classes, (1,), generator=draws))) % classes for t in range(instances)]
    labels[:classes] = range(classes)
    return Corpus.from_lists(lists, labels[:instances], class_count=classes)


@dataclass(frozen=True)
class Case:
    """A setting on which equations are checked.

    Parameters
    ----------
    dimension, lam, types, instances, classes, seed
        d, λ, the number of token types and of instances, K of the model with several classes.
    scale : float
        Range of the initial embeddings and W: 1, so that no term is small.
    """

    dimension: int = 6
    lam: float = 2.0
    types: int = 12
    instances: int = 20
    classes: int = 3
    seed: int = 0
    scale: float = 1.0

    def __post_init__(self):
        for name, least in (("dimension", 2), ("types", 4), ("instances", 4), ("classes", 3)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if not self.lam >= 1:
            raise ValueError(f"the checks are relative to 1e-12 for lam ≥ 1, got {self.lam}")

    def with_(self, **changes) -> Case:
        """The same case with some settings changed."""
        return replace(self, **changes)

    def corpus(self, classes: int = 2) -> Corpus:
        """The corpus of this case."""
        return random_corpus(self.types, self.instances, classes, seed=self.seed)

    def model(self, name: str = "DP", classes: int = 2, **options) -> AttentionClassifier:
        """A float64 model: "DP", "DP-A" or "AD"."""
        settings = {
            "dimension": self.dimension,
            "lam": self.lam,
            "embedding_range": self.scale,
            "weight_range": self.scale,
            "seed": self.seed,
        }
        settings |= model_arguments(name) | options
        return AttentionClassifier(self.types, classes=classes, dtype=torch.float64, **settings)

    def view(self, name: str = "DP", **options) -> View:
        """The binary model and corpus of this case, occurrence by occurrence."""
        return View(self.model(name, **options), self.corpus())

    def multiclass(self) -> View:
        """The same with K classes and the softmax loss."""
        return View(self.model("DP", self.classes), self.corpus(self.classes))

    def tokens(self, positions: int = 5) -> tuple[Tensor, Tensor, Tensor]:
        """One instance with representations of its own: h_j "positions d", V and W; each needs a gradient."""
        draws = generator(self.seed, "masks")

        def normal(*shape):
            return torch.randn(*shape, generator=draws, dtype=torch.float64).requires_grad_()

        return normal(positions, self.dimension), normal(self.dimension), normal(self.dimension)


class View:
    """Everything the paper names, for one model on one corpus; K classes: vectors instead of numbers.

    a, alpha, s_j: "positions" (s_j K classes: "positions K"); s, y, beta, r = yβ: "instances" (K: r = −p̂);
    e_j, h_j: "positions d"; h: "instances d"; E, H: "types d", V, W, M; grad: autograd's ∂ℓ by name.
    """

    def __init__(self, model: AttentionClassifier, corpus: Corpus):
        self.model, self.corpus = model, corpus
        self.tokens, self.t, self.m, self.lam = corpus.tokens, corpus.instance_of, len(corpus), model.lam
        self.P = {name: p.detach().clone() for name, p in model.named_parameters()}
        self.E, self.V, self.W, self.M = (self.P.get(name) for name in ("embedding", "V", "W", "M"))
        self.a_e, self.s_e, self.H = self.scores(self.P)
        self.e_j, self.h_j = self.E[self.tokens], self.H[self.tokens]
        self.a, self.s_j = self.a_e[self.tokens], self.s_e[self.tokens]
        parts = [(self.t == t).nonzero().squeeze(1) for t in range(self.m)]
        self.alpha = torch.cat([self.a[part].exp() / self.a[part].exp().sum() for part in parts])
        self.h = torch.stack([self.alpha[part] @ self.h_j[part] for part in parts])
        self.s = self.h @ self.W
        if model.binary:
            self.y = torch.where(corpus.labels == 1, 1.0, -1.0).double()
            self.beta = 1 - torch.sigmoid(self.y * self.s)
            self.r = self.y * self.beta
        else:
            self.p_hat = self.s.softmax(1) - torch.eye(model.classes, dtype=torch.float64)[corpus.labels]
            self.r = -self.p_hat
        self.parts = parts

    def scores(self, P: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """a_e, s_e and h_e of all types from given parameters, as Eq 1, 7, 57, 58, 65 define them."""
        H = P["embedding"] @ P["M"].T if self.model.encoder == "affine" else P["embedding"]
        keys = torch.tanh(P["embedding"] @ P["M"].T) if self.model.attention == "additive" else H
        return keys @ P["V"] / self.lam, H @ P["W"], H

    @cached_property
    def grad(self) -> dict[str, Tensor]:
        """∂ℓ by autograd."""
        parameters = dict(self.model.named_parameters())
        return dict(zip(parameters, torch.autograd.grad(self.model.loss(self.corpus), parameters.values())))

    def rate(self, quantity: Callable[[dict[str, Tensor]], Tensor]) -> Tensor:
        """d/dτ of a function of the parameters under gradient flow, by forward differentiation."""
        return torch.func.jvp(quantity, (self.P,), ({k: -g for k, g in self.grad.items()},))[1]

    @cached_property
    def s_rate(self) -> Tensor:
        """ds_e/dτ of all types."""
        return self.rate(lambda P: self.scores(P)[1])

    @cached_property
    def a_rate(self) -> Tensor:
        """da_e/dτ of all types."""
        return self.rate(lambda P: self.scores(P)[0])

    def per_type(self, values: Float[Tensor, "positions ..."]) -> Float[Tensor, "types ..."]:
        """Σ over (t, j) with e_j^(t) ≡ e, for every e."""
        return torch.stack([values[self.tokens == e].sum(0) for e in range(len(self.E))])

    @cached_property
    def pull(self) -> Tensor:
        """yβα of each occurrence (K classes: −p̂α)."""
        return self.alpha * self.r[self.t] if self.model.binary else self.alpha[:, None] * self.r[self.t]

    @cached_property
    def push(self) -> Tensor:
        """yβα (s_j − s) of each occurrence (K classes: −α p̂·(s_j − s))."""
        product = self.pull * (self.s_j - self.s[self.t])
        return product if self.model.binary else product.sum(1)

    @cached_property
    def pi(self) -> Tensor:
        return self.per_type(self.pull)

    @cached_property
    def rho(self) -> Tensor:
        return self.per_type(self.push)
