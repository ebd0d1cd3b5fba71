"""Chapter A_geometry: Equations 43 to 55, inner products in training, and what Appendix B says of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from uaftc_book.cases import SMALL, Part, Tables, exceeds
from uaftc_book.claims import reading, reads
from uaftc_book.equations import Equality, Inequality, Order, equation, relative_error
from uaftc_book.paths import embedding_gradient
from uaftc_book.random_models import Case, View
from uaftc_book.readings import (
    CELLS,
    MODERATE,
    NOISY,
    SHORT_TEN,
    SIGNS_AT,
    TEN,
    TOO_SMALL,
    both,
    cells,
    column,
    least,
    rows_of,
    several,
    signs_case,
    size,
)
from uaftc_book.small_data import RANGES, SEEDS, WHOLE_EPOCHS, initial_model, pair_means, small_config, velocities
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import KINDS, Types, examined_types
from uaftc_lib.streams import generator
from uaftc_lib.training import fit

# ---
# Equations 48 to 55: which words attract and which repel, each under its condition.
#
# They are corollaries of Eq 44: with the half A + B, "half > B > 0" says "A > 0 and B > 0". A check that compares a
# statement with its condition therefore tests Eq 44 once more, and the writing of the condition, but nothing else.


ROUNDED = 1e-9  # mirror error of what is its mirror image but for rounding
NEARLY = 0.1  # and of what is counted as nearly one


class State(NamedTuple):
    """What Eq 48 to 55 speak of, by the names of a :class:`View`: of any model, without a list of occurrences."""

    E: Tensor
    a_e: Tensor
    s_e: Tensor
    pi: Tensor
    rho: Tensor
    m: int
    grad: dict[str, Tensor]

    @classmethod
    def of(cls, model: AttentionClassifier, corpus: Corpus) -> State:
        sums, scores = dynamics.token_sums(model, corpus), model.token_scores()
        (slope,) = torch.autograd.grad(model.loss(corpus), [model.embedding])
        E, a_e, s_e = (values.detach() for values in (model.embedding, scores.attention, scores.polarity))
        return cls(E, a_e, s_e, sums.pi, sums.rho, len(corpus), {"embedding": slope})


def first_half(view: View | State) -> Tensor:
    """What the movement of e_i alone does to the product e_i·e_k (Eq 44)."""
    return -view.grad["embedding"] @ view.E.T


def pi_s(view: View | State) -> Tensor:
    """π(e_i) s_k, m times B_ik."""
    return torch.outer(view.pi, view.s_e)


def _all_pairs(case: Case) -> View:
    """A random model in which both signs of a, s, π and ρ are common, whatever the λ of the case."""
    view = case.with_(types=20, instances=40, scale=1.0).view()
    with torch.no_grad():
        view.model.V *= case.lam
    return View(view.model, view.corpus)


PAIRS, NEUTRAL = 3, 4


def mirrored(case: Case, attention: float = 1.0, polarity: float = -1.0) -> View:
    """Words in pairs e_+, e_-: types 0 to 2 and their partners 3 to 5; the rest is neutral.

    Every positive instance has a negative partner with the partner words. a and s of e_+ are random numbers
    of either sign; e_- has ``attention`` times that a and ``polarity`` times that s, neutral words a = s = 0;
    V ⟂ W. With (1, −1) exchanging the classes changes nothing: π(e_-) = −π(e_+) and ρ(e_-) = ρ(e_+).
    """
    draws = generator(case.seed, "data")
    lists, labels = [], []
    for _ in range(max(case.instances, 10)):
        few, many = (int(torch.randint(1, most, (1,), generator=draws)) for most in (4, 5))
        neutral = (2 * PAIRS + torch.randint(NEUTRAL, (many,), generator=draws)).tolist()
        polar = torch.randint(PAIRS, (few,), generator=draws)
        lists += [polar.tolist() + neutral, (polar + PAIRS).tolist() + neutral]
        labels += [1, 0]
    model = AttentionClassifier(2 * PAIRS + NEUTRAL, case.dimension, case.lam, seed=case.seed, dtype=torch.float64)
    signs = 2 * torch.randint(2, (2, PAIRS), generator=draws) - 1
    signs[:, 0] = 1  # one word at least is as the paper has it
    a, s = signs * (0.5 + torch.rand(2, PAIRS, generator=draws, dtype=torch.float64))
    with torch.no_grad():
        model.V.zero_()[0] = 1
        model.W.zero_()[1] = 1
        model.embedding[:, :2] = 0
        model.embedding[: 2 * PAIRS, 0] = case.lam * torch.cat([a, attention * a])
        model.embedding[: 2 * PAIRS, 1] = torch.cat([s, polarity * s])
    return View(model, Corpus.from_lists(lists, labels))


class _Part(NamedTuple):
    """−(∂ℓ/∂e_i)ᵀe_k by autograd, and A_ik and B_ik of Eq 44, for some pairs (i, k)."""

    half: Tensor
    A: Tensor
    B: Tensor

    def plus(self, other: _Part) -> _Part:
        return _Part(*(one + two for one, two in zip(self, other)))


def _part(view: View | State, i: Tensor, k: Tensor) -> _Part:
    A, B = torch.outer(view.rho, view.a_e) / view.m, pi_s(view) / view.m
    return _Part(*(table[i][:, k] for table in (first_half(view), A, B)))


def _three(view: View | State, i: Tensor, k: Tensor) -> list[_Part]:
    """What the movement of e_i adds to Ω_ik, what that of e_k adds, and both together."""
    one, other = _part(view, i, k), _Part(*(table.T for table in _part(view, k, i)))
    return [one, other, one.plus(other)]


def _margin(*margins: Tensor) -> Tensor:
    """The smallest of several margins: all of them have to be positive."""
    return torch.stack(torch.broadcast_tensors(*margins)).amin(0)


def _attracts(part: _Part) -> tuple[Tensor, Tensor]:
    """half > B > 0, and the condition for it."""
    return _margin(part.half - part.B, part.B), _margin(part.A, part.B)


def _repels(part: _Part) -> tuple[Tensor, Tensor]:
    """0 > half > B, and the condition for it."""
    return _margin(-part.half, part.half - part.B), _margin(part.A, -part.B - part.A)


def _mirror_error(like: _Part, unlike: _Part) -> Tensor:
    """How far the two B are from opposite, in units of the larger: zero for mirror images."""
    return (like.B + unlike.B).abs() / torch.maximum(like.B.abs(), unlike.B.abs())


def _outweighs(like: _Part, unlike: _Part, tolerance: float = ROUNDED) -> tuple[Tensor, Tensor]:
    """rate to like > B = −B to unlike > −rate to unlike, and the condition for it."""
    # An equality inside a chain: no limit where it holds, a negative margin where it fails.
    same = torch.where(_mirror_error(like, unlike) <= tolerance, torch.inf, -(like.B + unlike.B).abs())
    return _margin(like.half - like.B, same, unlike.half - unlike.B), _margin(like.A, same, unlike.A)


def _claims(number: int, case: Case) -> list[tuple[Tensor, Tensor]]:
    """For pairs of words, in some states: the margin of a statement and that of its condition."""
    found = []
    if number < 54:
        view = _all_pairs(case)
        every = torch.arange(len(view.E))
        found.append((_attracts if number < 51 else _repels)(_three(view, every, every)[(number - 48) % 3]))
        return found
    for attention, polarity in ((1.0, -1.0), (-1.0, -1.0), (1.0, -2.0)):
        view = mirrored(case, attention, polarity)
        plus, minus = torch.arange(PAIRS), torch.arange(PAIRS, 2 * PAIRS)
        star, like, unlike = (plus, plus, minus) if number == 54 else (minus, minus, plus)
        found.append(_outweighs(*(_three(view, star, others)[2] for others in (like, unlike))))
    return found


def _choices(view: View | State, star: Tensor, other: Tensor) -> tuple[_Part, _Part]:
    """For all different e∗ and e₊ of one kind and all e₋ of the other: the like pair and the unlike one."""
    i, k = (star[:, None] != star).nonzero().T
    like, unlike = (_three(view, star, each)[2] for each in (star, other))
    return _Part(*(table[i, k, None] for table in like)), _Part(*(table[i] for table in unlike))


def census(
    view: View | State, good: Tensor, bad: Tensor, tolerance: float = ROUNDED
) -> dict[int, tuple[Tensor, Tensor, Tensor]]:
    """Eq 48 to 55 for all different positive words e∗, e₊ and negative words e₋ of a model; in Eq 55 e∗ is negative.

    Three margins of each pair (54, 55: of each e∗, e₊, e₋): of the condition; of the statement; and of its
    conclusion, that words attract (48 to 50), that they repel (51 to 53), that attraction outweighs repulsion.
    ``tolerance``: the mirror error up to which the equality in Eq 54 and 55 is taken as met.
    """
    found = {}
    for first, others in ((48, good), (51, bad)):
        different = good[:, None] != others
        for number, part in enumerate(_three(view, good, others), first):
            statement, condition = (_attracts if first == 48 else _repels)(part)
            conclusion = part.half if first == 48 else -part.half
            found[number] = condition[different], statement[different], conclusion[different]
    for number, star, other in ((54, good, bad), (55, bad, good)):
        like, unlike = _choices(view, star, other)
        statement, condition = _outweighs(like, unlike, tolerance)
        found[number] = condition, statement, like.half + unlike.half
    return found


def margins_of(number: int, case: Case) -> tuple[Tensor, Tensor]:
    """Margins of Eq 48 to 55 for the pairs that meet the condition, and for those that do not.

    A pair within rounding of the border belongs to neither.
    """
    margins, conditions = (torch.cat([part.flatten() for part in parts]) for parts in zip(*_claims(number, case)))
    return margins[conditions > 1e-9], margins[conditions < -1e-9]


CONDITIONS = {
    48: "if and only if ρ(e∗)a₊ > 0 and π(e∗)s₊ > 0",
    49: "if and only if ρ(e₊)a∗ > 0 and π(e₊)s∗ > 0",
    50: "if and only if ρ(e∗)a₊ + ρ(e₊)a∗ > 0 and π(e∗)s₊ + π(e₊)s∗ > 0",
    51: "if and only if 0 < ρ(e∗)a₋ < −π(e∗)s₋, that is |A| < |B|",
    52: "if and only if 0 < ρ(e₋)a∗ < −π(e₋)s∗, that is |A| < |B|",
    53: "if and only if 0 < ρ(e∗)a₋ + ρ(e₋)a∗ < −π(e∗)s₋ − π(e₋)s∗",
    54: "if and only if the A of both kinds of pairs are positive in sum and the B opposite: so if e₊ and e₋ have "
    "equal a, opposite s and opposite π (the text before it says opposite attention scores)",
    55: "if and only if the A of both kinds of pairs are positive in sum and the B opposite, now for a negative e∗",
}


def _inequality(number: int, title: str):
    """Registers a statement of B.2: where its condition holds; and where it does not, the pair that comes nearest."""

    @equation(
        number,
        title,
        "conditional",
        printed=lambda case: Inequality(margins_of(number, case)[1].max(), "greatest margin"),
        correction=CONDITIONS[number],
        standing="derived",
    )
    def _(case: Case):
        return Inequality(margins_of(number, case)[0])


_inequality(48, "two positive tokens attract: e∗'s part")


_inequality(49, "two positive tokens attract: e₊'s part")


_inequality(50, "two positive tokens attract")


_inequality(51, "a positive and a negative token repel: e∗'s part")


_inequality(52, "a positive and a negative token repel: e₋'s part")


_inequality(53, "a positive and a negative token repel")


_inequality(54, "attraction outweighs repulsion, positive e∗")


_inequality(55, "attraction outweighs repulsion, negative e∗")


# ---
# A* and B* of Appendix B.2 while Data I is learnt, the pairs of Fig S1 at first, and what is said of both.


SIGNS = {"positive": "+", "negative": "−"}


def pair_terms(model: AttentionClassifier, corpus: Corpus, types: Types) -> dict[str, float]:
    """A_ik and B_ik of Eq 44, means over all pairs of two kinds; "A +−": of a positive e_i and a negative e_k."""
    sums, (a, s) = dynamics.token_sums(model, corpus), (values.detach() for values in model.token_scores())
    mean = {
        name: {kind: float(values[types[kind]].mean()) for kind in SIGNS}
        for name, values in {"a": a, "s": s, "π": sums.pi, "ρ": sums.rho}.items()
    }
    return {
        f"{name} {SIGNS[i]}{SIGNS[k]}": mean[own][i] * mean[other][k] / len(corpus)
        for name, own, other in (("A", "ρ", "a"), ("B", "π", "s"))
        for i, k in product(SIGNS, SIGNS)
    }


@experiment(jobs_over(weight_range=RANGES, lam=(10.0, 100.0), seed=SEEDS), rows=1)
def attraction(weight_range: float, lam: float, seed: int) -> list[dict]:
    """Data I: A and B of pairs of words (:func:`pair_terms`), means over looks after every epoch."""
    dataset, looks = load_dataset("synthetic-1"), []
    types = examined_types(dataset)
    model = initial_model(dataset, lam, weight_range=weight_range, seed=seed, dtype=torch.float64)

    def look(epoch: int, now: AttentionClassifier) -> dict:
        if epoch:
            looks.append(pair_terms(now, dataset.train, types))
        return {}

    config = small_config(epochs=WHOLE_EPOCHS * RANGES[weight_range], seed=seed)
    fit(model, dataset, config, record=look, progress=False)
    return [pd.DataFrame(looks).mean().to_dict()]


@experiment(jobs_over(embedding_range=(0.1, 1.0), weight_range=(0.1, 1.0), seed=SEEDS), rows=1)
def first_epoch(embedding_range: float, weight_range: float, seed: int) -> list[dict]:
    """Data I, λ = 10: of the pairs of two positive and of two negative words the share whose product falls at first."""
    dataset = load_dataset("synthetic-1")
    types = examined_types(dataset)
    ranges = {"embedding_range": embedding_range, "weight_range": weight_range}
    model = initial_model(dataset, seed=seed, **ranges)

    def products() -> dict[str, torch.Tensor]:
        of_kind = {kind: model.embedding.detach()[types[kind]].double() for kind in SIGNS}
        return {kind: upper(e @ e.T) for kind, e in of_kind.items()}

    before = products()
    fit(model, dataset, small_config(epochs=1, seed=seed), progress=False)
    return [{f"falling {kind}": float((after < before[kind]).double().mean()) for kind, after in products().items()}]


def upper(square: torch.Tensor) -> torch.Tensor:
    """The entries above the diagonal."""
    i, k = torch.triu_indices(*square.shape, 1)
    return square[i, k]


RUNS = {(1.0, 10.0): "Data I, λ = 10", (1.0, 100.0): "Data I, λ = 100",
        (0.1, 10.0): "Data I, λ = 10, W₀ within ±0.1", (0.1, 100.0): "Data I, λ = 100, W₀ within ±0.1"}  # fmt: skip
LEARNING = several(*(rows_of(case, "attraction", weight_range=w, lam=lam) for (w, lam), case in RUNS.items()))
RANGES_OF_CASE = {f"Data I, E ±{e:g}, W ±{w:g}": (e, w) for w, e in product((0.1, 1.0), (0.1, 1.0))}


def of_pairs(rows: pd.DataFrame, name: str, *pairs: str) -> list[pd.Series]:
    """A or B of some pairs of kinds, by seed."""
    return [column(rows, f"{name} {pair}") for pair in pairs]


reads("A_star_is_positive", LEARNING, lambda rows: least(*of_pairs(rows, "A", "++", "+−", "−+", "−−")))
reads(
    "A_star_is_less_than_B",
    LEARNING,
    lambda rows: least(*(-a - b for a, b in zip(*(of_pairs(rows, name, "+−", "−+") for name in "AB")))),
)


reads(
    "pairs_have_opposite_votes",
    cells(*MODERATE),
    lambda rows: (
        SMALL - (column(rows, "polarity positive") + column(rows, "polarity negative")).abs() / size(rows, "polarity")
    ),
)


@reading
def first_updates(tables: Tables) -> Iterator[Part]:
    for case, (embedding_range, weight_range) in RANGES_OF_CASE.items():
        rows = tables("start_terms", embedding_range=embedding_range, weight_range=weight_range)
        B_and_C = [column(rows, f"B {kind}") + column(rows, f"C {kind}") for kind in SIGNS]
        yield exceeds(f"polar words, {case}", least(B_and_C[0], -B_and_C[1]))
        still = column(rows, "|B| neutral") + column(rows, "|C| neutral")
        yield exceeds(f"neutral words, {case}", SMALL - still / (size(rows, "|B|") + size(rows, "|C|")))


@reading
def less_C_from_small_embeddings(tables: Tables) -> Iterator[Part]:
    for weight in (0.1, 1.0):
        large, small = (tables("start_terms", embedding_range=e, weight_range=weight) for e in (1.0, 0.1))
        part = [size(rows, "|C|") / size(rows, "|B|") for rows in (large, small)]
        yield exceeds(f"Data I, |C| / |B|, W ±{weight:g}", part[0] - part[1])
        yield exceeds(
            f"Data I, words that move as B says, W ±{weight:g}", column(small, "as B") - column(large, "as B")
        )


@reading
def negative_pairs_struggle(tables: Tables) -> Iterator[Part]:
    for weight in (0.1, 1.0):
        large, small = (tables("first_epoch", embedding_range=e, weight_range=weight) for e in (1.0, 0.1))
        falling = [column(rows, "falling negative") for rows in (large, small)]
        yield exceeds(f"Data I, more than from E ±0.1, W ±{weight:g}", falling[0] - falling[1])
        yield exceeds(
            f"Data I, more than positive pairs, W ±{weight:g}", falling[0] - column(large, "falling positive")
        )


FACTORS = (1e2, 1e4, 1e6)  # λ of the approximations, in units of the case's


@equation(43, "how an inner product of two embeddings moves", "exact")
def _(case: Case):
    # The sums of Eq 13 against a finite step of autograd's gradient, less the product of both movements.
    view, rate = case.view(), case.lam
    half, g = -embedding_gradient(view) @ view.E.T, view.grad["embedding"]
    moved = (view.E - rate * g) @ (view.E - rate * g).T - view.E @ view.E.T
    return Equality(half + half.T, moved / rate - rate * g @ g.T)


def _half(view: View, A: Tensor) -> Equality:
    B = torch.outer(view.pi, view.s_e) / view.m
    return Equality(A + B, -view.grad["embedding"] @ view.E.T)


def _printed_44(case: Case) -> Equality:
    # At λ = 1 the superfluous factor cannot be seen.
    view = case.with_(lam=case.lam + 1).view()
    return _half(view, torch.outer(view.rho, view.a_e) / (view.m * view.lam))


@equation(
    44,
    "the part that one embedding's movement contributes: Aᵢₖ + Bᵢₖ",
    "misprinted",
    printed=_printed_44,
    correction="Aᵢₖ = ρ(eᵢ) aₖ / m: the printed 1/λ is superfluous, aₖ holds it already",
)
def _(case: Case):
    view = case.view()
    return _half(view, torch.outer(view.rho, view.a_e) / view.m)


def _large_lambda(case: Case, approximation, exact) -> Order:
    """Relative error of an approximation as λ grows; neglecting a term in 1/λ leaves order −1."""
    views = [case.with_(lam=case.lam * factor).view() for factor in FACTORS]
    errors = [relative_error(approximation(view), exact(view)) for view in views]
    return Order([view.lam for view in views], errors, expected=-1)


def _omega_rate(view: View) -> Tensor:
    return view.rate(lambda P: P["embedding"] @ P["embedding"].T)


@equation(
    45,
    "the same for large λ",
    "misprinted",
    printed=lambda case: _large_lambda(case, pi_s, first_half),
    correction="1/m is missing: π(eᵢ) sₖ / m; then the error falls as 1/λ",
)
def _(case: Case):
    return _large_lambda(case, lambda view: pi_s(view) / view.m, first_half)


@equation(
    46,
    "the movement of an inner product for large λ",
    "misprinted",
    printed=lambda case: _large_lambda(case, lambda view: pi_s(view) + pi_s(view).T, _omega_rate),
    correction="1/m is missing; exactly it is RZᵀ + ZRᵀ with Z = [λa, s], R = [ρ/λ, π]/m",
)
def _(case: Case):
    return _large_lambda(case, lambda view: (pi_s(view) + pi_s(view).T) / view.m, _omega_rate)


@equation(
    47, "the update of a polarity score without A", "approximate", correction="neglects A: the error falls as 1/λ"
)
def _(case: Case):
    def without_A(view: View) -> Tensor:
        return (view.W @ view.W) * view.pi / view.m + view.E @ (view.E.T @ view.pi) / view.m

    return _large_lambda(case, without_A, lambda view: view.s_rate)


def wanted_signs(vectors: torch.Tensor, types: Types) -> float:
    """The share of pairs of polar words with the product that B.1 wants: positive of like, negative of unlike ones."""
    ids = torch.cat([types["positive"], types["negative"]])
    sides = torch.ones(len(ids), dtype=vectors.dtype)
    sides[len(types["positive"]) :] = -1
    wanted = (vectors[ids] @ vectors[ids].T) * torch.outer(sides, sides) > 0
    pairs = len(ids) * (len(ids) - 1)
    return float((wanted.sum() - wanted.diagonal().sum()) / pairs)


@experiment(jobs_over(embedding_range=(0.1, 1.0), weight_range=(0.1, 1.0), seed=SEEDS), rows=13)
def embedding_start(embedding_range: float, weight_range: float, seed: int) -> list[dict]:
    """Inner products of embeddings by epoch on Data I, from starting ranges of embeddings and W (Fig S1)."""
    dataset = load_dataset("synthetic-1")
    types = examined_types(dataset)
    model = initial_model(dataset, embedding_range=embedding_range, weight_range=weight_range, seed=seed)

    def follow(_, model: AttentionClassifier) -> dict[str, float]:
        vectors = model.embedding.detach().double()
        return pair_means(vectors, types) | {"wanted signs": wanted_signs(vectors, types)}

    run = fit(model, dataset, small_config(epochs=12, seed=seed), record=follow)
    return run.history.drop(columns="dev_accuracy").to_dict("records")


@experiment(jobs_over(embedding_range=(0.1, 1.0), weight_range=(0.1, 1.0), seed=SEEDS), rows=1)
def start_terms(embedding_range: float, weight_range: float, seed: int) -> list[dict]:
    """The terms of Eq 19 and 27 before the first step on Data I, λ = 10, from starting ranges of embeddings and W.

    "as B": for which share of the polar words B + C has the sign of B.
    """
    dataset = load_dataset("synthetic-1")
    types = examined_types(dataset)
    ranges = {"embedding_range": embedding_range, "weight_range": weight_range}
    model = initial_model(dataset, seed=seed, dtype=torch.float64, **ranges)
    update, polar = dynamics.polarity_update(model, dataset.train), torch.cat([types["positive"], types["negative"]])
    as_B = ((update.B + update.C) * update.B > 0)[polar]
    return [velocities(model, dataset, types) | {"as B": float(as_B.double().mean())}]


@experiment(jobs_over(lam=(10.0, 100.0), weight_range=(1.0, 0.1), seed=SEEDS), rows=5)
def conditions_met(lam: float, weight_range: float, seed: int) -> list[dict]:
    """How often polar words meet the conditions of Eq 48 to 55 on Data I, at five moments of a run.

    "met 48", "concluded 48": the shares of pairs (54, 55: of choices of three words) that meet the condition, and that
    do as the equation concludes; in Eq 54 and 55 a mirror error of ``NEARLY`` is let pass.
    "a > 0": the share of polar words.
    """
    dataset, rows = load_dataset("synthetic-1"), []
    types = examined_types(dataset)
    good, bad = types["positive"], types["negative"]
    slower = RANGES[weight_range]

    def observe(epoch: int, model: AttentionClassifier) -> dict[str, float]:
        if epoch not in [part * slower for part in (0, 1, 2, 4, WHOLE_EPOCHS)]:
            return {}
        state = State.of(model, dataset.train)
        found = {"epoch": epoch, "a > 0": state.a_e[torch.cat([good, bad])] > 0}
        for number, (condition, _, conclusion) in census(state, good, bad, NEARLY).items():
            found |= {f"met {number}": condition > 0, f"concluded {number}": conclusion > 0}
        rows.append({name: float(torch.as_tensor(value).double().mean()) for name, value in found.items()})
        return {}

    model = initial_model(dataset, lam, weight_range=weight_range, seed=seed, dtype=torch.float64)
    fit(model, dataset, small_config(epochs=WHOLE_EPOCHS * slower, seed=seed), record=observe, progress=False)
    return rows


def products_by_epoch(tables: Tables, embedding_range: float, weight_range: float) -> pd.DataFrame:
    """Inner products of embeddings by epoch from one seed: seed, epoch, like, unlike (means), signs (a share)."""
    rows = tables("embedding_start", embedding_range=embedding_range, weight_range=weight_range)
    if not len(rows):
        return pd.DataFrame(columns=["seed", "epoch", "like", "unlike", "signs"])
    like = (rows["positive–positive"] + rows["negative–negative"]) / 2
    rows = rows.assign(like=like, unlike=rows["positive–negative"], signs=rows["wanted signs"])
    return rows.sort_values(["seed", "epoch"])


def growth(rows: pd.DataFrame, name: str) -> pd.Series:
    """Last minus first value of a quantity, by seed."""
    return rows.groupby("seed")[name].agg(lambda values: values.iloc[-1] - values.iloc[0]).astype(float)


def arrival(rows: pd.DataFrame) -> pd.Series:
    """The epoch at which the mean product of like words has grown by one half, by seed."""
    by_seed = {
        seed: np.interp(0.5, (one.like - one.like.iloc[0]).cummax(), one.epoch) for seed, one in rows.groupby("seed")
    }
    return pd.Series(by_seed, dtype=float)


def first_F(rows: pd.DataFrame) -> pd.Series:
    """The mean size of F before the first step, in units of the run's largest: of the kind for which it is most."""
    shares = [column(rows, f"first |F| {k}") / column(rows, f"largest |F| {k}") for k in KINDS]
    return pd.concat(shares, axis=1).max(axis=1)


def F_beside_E(rows: pd.DataFrame) -> pd.Series:
    """The smaller of F of positive and of negative words, in units of E: both are added to the same score (Eq 27)."""
    return both(rows, "F") / size(rows, "E")


reads("F_of_polar", cells(), F_beside_E)


reads("F_at_first", cells(*(CELLS | TOO_SMALL)), lambda rows: SMALL - first_F(rows))


reads("products_part", cells(*MODERATE), lambda rows: least(column(rows, "like"), -column(rows, "unlike")))


reads(
    "products_of_neutral",
    cells(*MODERATE),
    lambda rows: SMALL - column(rows, "with neutral") / column(rows, "like").abs(),
)


reads(
    "products_move",
    lambda tables: ((name, products_by_epoch(tables, *ranges)) for name, ranges in RANGES_OF_CASE.items()),
    lambda rows: least(growth(rows, "like"), -growth(rows, "unlike")),
)


@reading
def smaller_is_quicker(tables: Tables) -> Iterator[Part]:
    for weight in (0.1, 1.0):
        large, small = (products_by_epoch(tables, value, weight) for value in (1.0, 0.1))
        for epoch in SIGNS_AT:
            shares = [column(rows[rows.epoch == epoch], "signs") for rows in (small, large)]
            yield exceeds(signs_case(epoch, weight), shares[0] - shares[1])
        yield exceeds(f"Data I, mean of like words, W ±{weight:g}", arrival(large) - arrival(small))


reads(
    "E_dominates_first",
    cells(TEN, SHORT_TEN, NOISY),
    lambda rows: SMALL - size(rows, "first |F|") / size(rows, "first |E|"),
)


reads(
    "B_decides_first",
    lambda tables: [
        (name, tables("start_terms", embedding_range=e, weight_range=w)) for name, (e, w) in RANGES_OF_CASE.items()
    ],
    lambda rows: SMALL - size(rows, "|C|") / size(rows, "|B|"),
)


reads("like_outweighs", cells(*MODERATE), lambda rows: column(rows, "weaker like") + column(rows, "unlike"))


@reading
def F_is_positive(tables: Tables) -> Iterator[Part]:
    for name, rows in cells()(tables):
        yield exceeds(name, F_beside_E(rows))
        yield exceeds(f"{name}, more than small beside E", F_beside_E(rows) - SMALL)
