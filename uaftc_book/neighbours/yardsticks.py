"""What is said to show how much a word matters to a decision: quantities of every position, and how they agree.

Two classes. Positions that were not read are nan. ŷ = σ(s) is the probability of the positive class.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from scipy.special import expit
from torch import Tensor
from torch.nn import functional

from uaftc_book.neighbours.again import LeftOut, at_places, drawn_texts, left_out, whole_output
from uaftc_book.neighbours.kendall import kendall
from uaftc_book.neighbours.settings import MEASURES
from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier, softmax_by_instance, sum_by_instance
from uaftc_lib.models.encoders import consecutive_parts

PART = 2**14  # positions whose gradients are held together

Positions = Float[np.ndarray, "positions"]


def yardsticks(model: AttentionClassifier, corpus: Corpus, seed: int = 0) -> tuple[dict[str, Positions], LeftOut]:
    """All of them, by name, and the parts of leave-one-out. What has a sign has that of the logit.

    - attention α_j, contribution α_j s_j;
    - gradient |e_j·∂ŷ/∂e_j| with α held fixed, as Jain & Wallace have it; "gradient through": α follows;
    - "input × gradient" e_j·∂s/∂e_j, α following, and integrated gradients of the logit;
    - "state fall": of the logit without the word, the states of the others held fixed; "fall": the others read again;
    - "state leave-one-out" and "leave-one-out": how far these two move ŷ, |Δŷ|.
    """
    found, left = without_integration(model, corpus, seed)
    return found | {"integrated": integrated_gradients(model, corpus, seed=seed)}, left


def without_integration(
    model: AttentionClassifier, corpus: Corpus, seed: int = 0
) -> tuple[dict[str, Positions], LeftOut]:
    """All of :func:`yardsticks` but the dearest, integrated gradients."""
    with torch.no_grad():
        out = whole_output(model, corpus)
    held, through = gradients_times_embeddings(model, corpus)
    left = left_out(model, corpus, seed=seed)
    logit = out.polarity.cpu().numpy()[corpus.instance_of.cpu().numpy()]
    slope = expit(logit) * expit(-logit)
    return {
        "attention": out.weights.cpu().numpy(),
        "contribution": (out.weights * out.token_polarity).cpu().numpy(),
        "gradient": slope * abs(held),
        "gradient through": slope * abs(through),
        "input × gradient": through,
        "state fall": left.own,
        "fall": left.whole,
        "state leave-one-out": change(logit, left.own),
        "leave-one-out": change(logit, left.whole),
    }, left


def change(logit: Float[np.ndarray, "rows"], fall: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "rows"]:
    """|σ(s − fall) − σ(s)|, which does not vanish where ŷ is near 1: σ(a) − σ(b) = σ(a) σ(−b) (1 − e^(b−a))."""
    low, high = np.minimum(logit, logit - fall), np.maximum(logit, logit - fall)
    return -expit(high) * expit(-low) * np.expm1(-abs(fall))


def fixed(model: AttentionClassifier) -> AttentionClassifier:
    """A copy whose parameters take no gradients, in float64 where no states are read one after the other."""
    model = deepcopy(model).requires_grad_(False)
    return model.double() if model.recurrent is None else model


def parts_of_equal_length(corpus: Corpus) -> Iterator[Int[Tensor, "some"]]:
    """Instances of near-equal length, about as many as hold :data:`PART` positions, or one that is longer."""
    order = corpus.lengths.argsort(stable=True)
    return (order[part] for part in consecutive_parts(corpus.lengths[order], PART))


def gradients_times_embeddings(model: AttentionClassifier, corpus: Corpus) -> tuple[Positions, Positions]:
    """e_j·∂s/∂e_j of every position: with the weights α held fixed, as Jain & Wallace did, and following."""
    model, found = fixed(model), np.empty((2, len(corpus.tokens)))
    for part in parts_of_equal_length(corpus):
        found[:, at_places(corpus)[part].tokens.cpu().numpy()] = slopes_at_scales(model, corpus[part])
    return found[0], found[1]


HOLD = (True, False)  # the weights α: held fixed, and following


@torch.enable_grad()
def slopes_at_scales(
    model: AttentionClassifier, corpus: Corpus, scale: float = 1.0, hold: tuple[bool, ...] = HOLD
) -> Float[np.ndarray, "holds positions"]:
    """x_j·∂s/∂x_j at embeddings x = e times a scale."""
    alone = model.recurrent is None  # then a_j and s_j depend on the word alone
    rows, place = corpus.tokens, ...
    if alone:
        rows, place = torch.unique(rows, return_inverse=True)
    x = (scale * functional.embedding(rows, model.embedding.detach())).requires_grad_()
    a, s, _ = model.score(x, None if alone else corpus.offsets)

    def along(total: Tensor) -> Tensor:
        return (x.detach() * torch.autograd.grad(total, x, retain_graph=True)[0]).sum(1)[place]

    weights = softmax_by_instance(a[place], corpus.instance_of, len(corpus))
    if not alone:
        found = [along(((weights.detach() if held else weights) * s).sum()) for held in hold]
    else:
        logit = sum_by_instance(weights * s[place], corpus.instance_of, len(corpus))[corpus.instance_of]
        by_value, by_weight = along(s.sum()), (s[place] - logit) * along(a.sum())
        found = [weights * (by_value if held else by_value + by_weight) for held in hold]
    return torch.stack(found).detach().double().cpu().numpy()


def integrated_gradients(
    model: AttentionClassifier,
    corpus: Corpus,
    steps: int = MEASURES.integrated_steps,
    most: int = MEASURES.integrated_positions,
    seed: int = 0,
) -> Positions:
    """e_j·∫₀¹ ∂s(u e)/∂e_j du by Gauss and Legendre's rule: their sum is s(e) − s(0).

    Where states know their neighbours, of texts, drawn, that hold so many positions together.
    """
    model = fixed(model)
    nodes, shares = np.polynomial.legendre.leggauss(steps)
    found = np.full(len(corpus.tokens), np.nan)
    texts = torch.arange(len(corpus)) if model.recurrent is None else drawn_texts(corpus, most, seed)
    for part in parts_of_equal_length(corpus[texts]):
        batch, places = corpus[texts[part]], at_places(corpus)[texts[part]].tokens.cpu().numpy()
        found[places] = 0
        for node, share in zip((1 + nodes) / 2, shares / 2):
            found[places] += share / node * slopes_at_scales(model, batch, node, (False,))[0]
    return found


def gap(model: AttentionClassifier, integrated: Positions, corpus: Corpus) -> float:
    """How far Σ_j of integrated gradients is from s(e) − s(0), as a share of it: the median over texts."""
    known = np.flatnonzero(np.isfinite(integrated[corpus.offsets[:-1].cpu().numpy()]))
    corpus, integrated = corpus[known], integrated[at_places(corpus)[known].tokens.cpu().numpy()]
    nothing = fixed(model)
    nothing.embedding.zero_()
    with torch.no_grad():
        whole = (whole_output(model, corpus).polarity - whole_output(nothing, corpus).polarity).cpu().numpy()
    return float(np.median(abs(np.bincount(corpus.instance_of.cpu().numpy(), integrated) / whole - 1)))


def agreement(x: Positions, y: Positions, corpus: Corpus) -> pd.DataFrame:
    """Kendall's τ-b of two quantities over the positions of each text where both are known, and its p.

    nan where fewer than two are, or all of one quantity are equal.
    """
    tau, p = kendall(rounded(x), rounded(y), corpus.offsets.cpu().numpy())
    return pd.DataFrame({"tau": tau, "p": p})


def rounded(values: Positions) -> Positions:
    """To 30 bits: the same word twice in a text is a tie, whatever the order in which its sums were added."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(mantissa, 30)), exponent - 30)


AGREEMENTS = (  # sizes, and at the end what keeps its sign
    ("attention", "gradient"),
    ("attention", "gradient through"),
    ("attention", "integrated"),
    ("attention", "state leave-one-out"),
    ("attention", "leave-one-out"),
    ("gradient", "leave-one-out"),
    ("gradient through", "leave-one-out"),
    ("integrated", "leave-one-out"),
    ("contribution", "leave-one-out"),
    ("state leave-one-out", "leave-one-out"),
    ("gradient", "integrated"),
    ("signed contribution", "signed fall"),
    ("signed integrated", "signed fall"),
    ("signed state fall", "signed fall"),
)


def yardstick_agreements(
    found: dict[str, Positions], side: Int[np.ndarray, "instances"], corpus: Corpus
) -> dict[str, float]:
    """Of each of :data:`AGREEMENTS`: mean and deviation of τ over texts, share with p ≤ .05, means by decision.

    Those of what was not found are passed over.
    """
    row = {}
    for pair in AGREEMENTS:
        if not {one.removeprefix("signed ") for one in pair} <= {*found}:
            continue
        x, y = (found[one[7:]] if one.startswith("signed ") else abs(found[one]) for one in pair)
        each, name = agreement(x, y, corpus), f"tau {pair[0]}, {pair[1]}"
        known = each.dropna()
        row |= {name: known.tau.mean(), f"{name} sd": known.tau.std(), f"{name} significant": (known.p <= 0.05).mean()}
        row |= {f"{name} {of}": each.tau[side == one].mean() for of, one in (("negative", -1), ("positive", 1))}
    return row
