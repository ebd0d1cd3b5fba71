"""What is said to show how much a word matters to a decision: quantities of every position, and how they agree.

Two classes. Positions that were not read are nan. ŷ = σ(s) is the probability of the positive class.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from scipy.special import expit
from torch import Tensor
from torch.nn import functional

from uaftc_book.neighbours.settings import MEASURES
from uaftc_lib.corpus import Corpus
from uaftc_lib.explain.contributions import leave_group_out
from uaftc_lib.fast.compiled import compiled_once
from uaftc_lib.models import AttentionClassifier, Output, softmax_by_instance, sum_by_instance
from uaftc_lib.models.encoders import consecutive_parts

# ---
# Texts with some of their words left out, read again, and what that does beside holding states fixed.


REREAD_TOGETHER = 2**20  # positions that are read again together


class Reread(NamedTuple):
    """Logits of texts without some words, Σ α_j s_j over the rest; nan where none is left.

    ``fixed``: α from the scores of the whole text, and s_j of the whole text; ``values``: α from them, s_j as the rest
    is read again; ``weights``: the other way round; ``again``: both read again, which is what the model says of it.
    """

    fixed: Float[np.ndarray, "copies"]
    values: Float[np.ndarray, "copies"]
    weights: Float[np.ndarray, "copies"]
    again: Float[np.ndarray, "copies"]


@torch.no_grad()
def reread(
    model: AttentionClassifier,
    corpus: Corpus,
    key: Int[np.ndarray, "positions"],
    instance: Int[np.ndarray, "copies"],
    cut: Int[np.ndarray, "copies"],
) -> Reread:
    """Copies of instances, each without the positions whose key is ``cut``.

    All four are the same where states do not know their neighbours, and nothing is read again.
    """
    key, instance, cut = (torch.from_numpy(one).to(corpus.tokens) for one in (key, instance, cut))
    before, places = model(corpus), at_places(corpus)
    found = np.full((4, len(instance)), np.nan)
    for copy in consecutive_parts(corpus.lengths[instance], REREAD_TOGETHER):
        copies = places[instance[copy]]
        dropped = key[copies.tokens] == cut[copy][copies.instance_of]
        rest = copies.without(dropped)
        stays = torch.bincount(copies.instance_of[~dropped], minlength=len(copies)) > 0
        old = after = in_float64(before.scores[rest.tokens], before.token_polarity[rest.tokens], rest)
        if model.recurrent is not None:
            out = model(rest._with(tokens=corpus.tokens[rest.tokens]))
            after = in_float64(out.scores, out.token_polarity, rest)
        for row, weights, values in zip(found, (old, old, after, after), (old, after, old, after)):
            logit = sum_by_instance(weights.weights * values.token_polarity, rest.instance_of, len(rest))
            row[copy][stays.cpu().numpy()] = logit.cpu().numpy()
    return Reread(*found)


class LeftOut(NamedTuple):
    """Falls of the logit without one word: ``whole`` = ``own`` + ``values`` + ``weights``; nan: not read again.

    ``own``: with the states of the others held fixed. What reading them again adds comes by the others' s_j
    (``values``) and by their weights; each is averaged over which of the two changes first.
    """

    own: Float[np.ndarray, "positions"]
    values: Float[np.ndarray, "positions"]
    weights: Float[np.ndarray, "positions"]
    whole: Float[np.ndarray, "positions"]


@torch.no_grad()
def left_out(model: AttentionClassifier, corpus: Corpus, most: int = MEASURES.read_again, seed: int = 0) -> LeftOut:
    """s(x) − s(x₋ⱼ) and its parts, for so many positions of a text, drawn.

    For all of them where states do not know their neighbours: then the word's own part is everything.
    """
    out, instance = whole_output(model, corpus), corpus.instance_of.cpu().numpy()
    own = leave_group_out(out, corpus, at_places(corpus).tokens, corpus.instance_of).cpu().numpy()
    if model.recurrent is None:
        return LeftOut(own, np.zeros_like(own), np.zeros_like(own), own)
    read, place = drawn_positions(corpus, most, seed), place_in_text(corpus)
    without = reread(model, corpus, place, instance[read], place[read])
    values, weights, whole = np.full((3, len(own)), np.nan)
    values[read] = (without.fixed - without.values + without.weights - without.again) / 2
    weights[read] = (without.fixed - without.weights + without.values - without.again) / 2
    whole[read] = out.polarity.cpu().numpy()[instance[read]] - without.again
    return LeftOut(own, values, weights, whole)


def part_shares(left: LeftOut) -> dict[str, float]:
    """Σ part·whole / Σ whole² for each part, which sum to 1."""
    own, values, weights, whole = (one[np.isfinite(left.whole)] for one in left)
    names = ("own state", "others' values", "others' weights")
    return {f"share of {name}": (one @ whole) / (whole @ whole) for name, one in zip(names, (own, values, weights))}


def whole_output(model: AttentionClassifier, corpus: Corpus) -> Output:
    """What the model says, in float64 from the scores on: at small λ float32 loses the order of the weights."""
    out = model(corpus)
    return in_float64(out.scores, out.token_polarity, corpus)


def in_float64(scores: Float[Tensor, "positions"], polarity: Float[Tensor, "positions"], corpus: Corpus) -> Output:
    """The weights and logits that follow from the scores of positions."""
    scores, polarity = scores.double(), polarity.double()
    weights = softmax_by_instance(scores, corpus.instance_of, len(corpus))
    return Output(sum_by_instance(weights * polarity, corpus.instance_of, len(corpus)), scores, weights, polarity)


def at_places(corpus: Corpus) -> Corpus:
    """A corpus with, instead of each token, its position."""
    return corpus._with(tokens=torch.arange(len(corpus.tokens)).to(corpus.tokens))


def place_in_text(corpus: Corpus) -> Int[np.ndarray, "positions"]:
    """0, 1, ... from the first word of each instance."""
    begins = corpus.offsets[:-1].cpu().numpy()
    return np.arange(len(corpus.tokens)) - begins[corpus.instance_of.cpu().numpy()]


def drawn_positions(corpus: Corpus, most: int, seed: int) -> Int[np.ndarray, "some"]:
    """At most so many positions of each instance, drawn."""
    instance_of = corpus.instance_of.cpu().numpy()
    order = np.lexsort((np.random.default_rng(seed).random(len(instance_of)), instance_of))
    return np.sort(order[place_in_text(corpus) < most])


def drawn_texts(corpus: Corpus, most: int, seed: int) -> Int[Tensor, "some"]:
    """Instances, drawn, for as long as they hold at most so many positions together; one too many is passed over."""
    chosen, lengths = [], corpus.lengths.tolist()
    for t in np.random.default_rng(seed).permutation(len(corpus)).tolist():
        if lengths[t] <= most:
            chosen.append(t)
            most -= lengths[t]
    return torch.tensor(sorted(chosen)).to(corpus.tokens)


# ---
# Kendall's τ-b within each text, as scipy.stats.kendalltau has it, a hundred times as fast.


def kendall(
    x: Float[np.ndarray, "positions"], y: Float[np.ndarray, "positions"], offsets: Int[np.ndarray, "boundaries"]
) -> Float[np.ndarray, "texts"]:
    """τ-b over the positions of each text where both are finite.

    nan where fewer than two are, or all values of one quantity are equal.
    """
    n, excess, x_ties, y_ties = _counted(x, y, np.isfinite(x) & np.isfinite(y), offsets)
    pairs = n * (n - 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return excess / np.sqrt((pairs - x_ties / 2) * (pairs - y_ties / 2))


@compiled_once()
def _counted(x, y, known, offsets):
    """Of each text: values, pairs alike less pairs turned, and Σ t(t−1) over ties t of either quantity."""
    n, excess, x_ties, y_ties = np.zeros((4, len(offsets) - 1))
    for t in range(len(offsets) - 1):
        mine = np.nonzero(known[offsets[t] : offsets[t + 1]])[0] + offsets[t]
        n[t] = len(mine)
        for i in mine:
            for j in mine:
                if i < j:
                    excess[t] += np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])
                if i != j:
                    x_ties[t] += x[i] == x[j]
                    y_ties[t] += y[i] == y[j]
    return n, excess, x_ties, y_ties


GRADIENTS_TOGETHER = 2**14  # positions whose gradients are held together

Positions = Float[np.ndarray, "positions"]


def yardsticks(model: AttentionClassifier, corpus: Corpus, seed: int = 0) -> tuple[dict[str, Positions], LeftOut]:
    """All of them, by name, and the parts of leave-one-out.

    - attention α_j;
    - gradient |e_j·∂ŷ/∂e_j| with α held fixed, as Jain & Wallace have it;
    - "state leave-one-out" and "leave-one-out": how far ŷ moves without the word, |Δŷ|, with the states of the others
      held fixed, and with the others read again.
    """
    with torch.no_grad():
        out = whole_output(model, corpus)
    held = gradients_times_embeddings(model, corpus)
    left = left_out(model, corpus, seed=seed)
    logit = out.polarity.cpu().numpy()[corpus.instance_of.cpu().numpy()]
    slope = expit(logit) * expit(-logit)
    return {
        "attention": out.weights.cpu().numpy(),
        "gradient": slope * abs(held),
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
    """Instances of near-equal length, about :data:`GRADIENTS_TOGETHER` positions of them, or one that is longer."""
    order = corpus.lengths.argsort(stable=True)
    return (order[part] for part in consecutive_parts(corpus.lengths[order], GRADIENTS_TOGETHER))


def gradients_times_embeddings(model: AttentionClassifier, corpus: Corpus) -> Positions:
    """e_j·∂s/∂e_j of every position, with the weights α held fixed, as Jain & Wallace did."""
    model, found = fixed(model), np.empty(len(corpus.tokens))
    for part in parts_of_equal_length(corpus):
        found[at_places(corpus)[part].tokens.cpu().numpy()] = slopes_at_scale(model, corpus[part], held=True)
    return found


@torch.enable_grad()
def slopes_at_scale(model: AttentionClassifier, corpus: Corpus, held: bool, scale: float = 1.0) -> Positions:
    """x_j·∂s/∂x_j at embeddings x = e times a scale; the weights α are held fixed, or follow."""
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
        found = along(((weights.detach() if held else weights) * s).sum())
    else:
        found = along(s.sum())
        if not held:
            logit = sum_by_instance(weights * s[place], corpus.instance_of, len(corpus))[corpus.instance_of]
            found = found + (s[place] - logit) * along(a.sum())
        found = weights * found
    return found.detach().double().cpu().numpy()


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
            found[places] += share / node * slopes_at_scale(model, batch, held=False, scale=node)
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


def agreement(x: Positions, y: Positions, corpus: Corpus) -> pd.Series:
    """Kendall's τ-b of two quantities over the positions of each text where both are known.

    nan where fewer than two are, or all of one quantity are equal.
    """
    return pd.Series(kendall(rounded(x), rounded(y), corpus.offsets.cpu().numpy()))


def rounded(values: Positions) -> Positions:
    """To 30 bits: the same word twice in a text is a tie, whatever the order in which its sums were added."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(mantissa, 30)), exponent - 30)


AGREED_WITH = ("gradient", "state leave-one-out", "leave-one-out")


def yardstick_agreements(found: dict[str, Positions], corpus: Corpus) -> dict[str, float]:
    """Mean and deviation over texts of τ of attention with each of :data:`AGREED_WITH`."""
    row = {}
    for other in AGREED_WITH:
        tau, name = agreement(found["attention"], abs(found[other]), corpus).dropna(), f"tau attention, {other}"
        row |= {name: tau.mean(), f"{name} sd": tau.std()}
    return row


# ---
# Why attention agrees with an effect: how far it spreads within a text, beside what else makes the effect.
#
# The effect of a word is its attention times an effect per attention: log effect_j = log α_j + log c_j. If within a
# text the two logarithms are about normal, with deviations sd_α, sd_c and correlation κ, then Kendall's τ of attention
# and effect is
#
#     τ = (2/π) arcsin r,   r = (sd_α + κ sd_c) / √(sd_α² + 2κ sd_α sd_c + sd_c²),
#
# (2/π) arctan(sd_α/sd_c) if κ = 0. As log α_j is a_j less a constant, sd_α is the spread of scores, which λ divides.


class Spread(NamedTuple):
    """Within a text, as a median over texts: deviations of log α and of log effect/α, their correlation, τ foretold."""

    attention: float
    per_attention: float
    correlation: float
    tau: float


def spread(alpha: Float[np.ndarray, "positions"], effect: Float[np.ndarray, "positions"], corpus: Corpus) -> Spread:
    """Of attention and the size of an effect; words without either, and unread ones (nan), are passed over.

    τ is foretold of each text of three such words or more, and averaged.
    """
    text = corpus.instance_of.numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = pd.DataFrame({"alpha": np.log(alpha), "rest": np.log(abs(effect)) - np.log(alpha)})
    logs = logs[np.isfinite(logs).all(axis=1)]
    grouped = logs.groupby(text[logs.index])
    centred = logs - grouped.transform("mean")
    centred = centred.assign(product=centred.alpha * centred.rest, alpha=centred.alpha**2, rest=centred.rest**2)
    sums = centred.groupby(text[logs.index]).sum()[grouped.size() > 2]
    size = grouped.size()[grouped.size() > 2]
    of_alpha, of_rest = (np.sqrt(sums[name] / (size - 1)) for name in ("alpha", "rest"))
    both = np.sqrt(sums.alpha + 2 * sums["product"] + sums.rest)
    rho = (sums.alpha + sums["product"]) / (np.sqrt(sums.alpha) * both)
    correlation = sums["product"] / np.sqrt(sums.alpha * sums.rest)
    medians = (float(one.median()) for one in (of_alpha, of_rest, correlation))
    return Spread(*medians, float((2 / np.pi * np.arcsin(rho.clip(-1, 1))).mean()))
