"""Chapter 05_embedding_geometry: Equations 43 to 55, inner products in training, and what Appendix B says of them.

Equations 48 to 55 stand with their conditions in :mod:`.conditions`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from uaftc_book.cases import SMALL, Part, Tables, exceeds
from uaftc_book.chapters.embedding_geometry.attraction import RANGES_OF_CASE  # registers experiments and readings, too
from uaftc_book.chapters.embedding_geometry.conditions import NEARLY, State, census, first_half, mirror_errors, pi_s
from uaftc_book.claims import reading, reads
from uaftc_book.equations import Equality, Order, equation, relative_error
from uaftc_book.paths import embedding_gradient
from uaftc_book.random_models import Case, View
from uaftc_book.readings import CELLS, MODERATE, NOISY, SHORT_TEN, TEN, TOO_SMALL, both, cells, column, least, size
from uaftc_book.small_data import (
    RANGES,
    SEEDS,
    WHOLE_EPOCHS,
    by_kind,
    initial_model,
    pair_means,
    small_config,
    velocities,
)
from uaftc_lib import dynamics
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import KINDS, Types, examined_types
from uaftc_lib.training import fit

FACTORS = (30.0, 100.0, 300.0, 1000.0)  # λ of the approximations, in units of the case's


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

    "own C": the part of C that the word itself makes, ‖e‖² π(e)/m, with the sign of B; "other C": what the other words
    make; "with B": for which share of the polar words that has the sign of B; "as B": for which B + C has.
    """
    dataset = load_dataset("synthetic-1")
    types = examined_types(dataset)
    ranges = {"embedding_range": embedding_range, "weight_range": weight_range}
    model = initial_model(dataset, seed=seed, dtype=torch.float64, **ranges)
    update, pi = dynamics.polarity_update(model, dataset.train), dynamics.token_sums(model, dataset.train).pi
    own = model.embedding.detach().square().sum(1) * pi / len(dataset.train)
    other, polar = update.C - own, torch.cat([types["positive"], types["negative"]])
    signs = {"with B": other * update.B > 0, "as B": (update.B + update.C) * update.B > 0}
    shares = {name: float(right[polar].double().mean()) for name, right in signs.items()}
    return [velocities(model, dataset, types) | by_kind({"own C": own, "other C": other}, types) | shares]


@experiment(jobs_over(lam=(10.0, 100.0), weight_range=(1.0, 0.1), seed=SEEDS), rows=5)
def conditions_met(lam: float, weight_range: float, seed: int) -> list[dict]:
    """How often polar words meet the conditions of Eq 48 to 55 on Data I, at five moments of a run.

    "met 48", "concluded 48": the shares of pairs (54, 55: of choices of three words) that meet the condition, and that
    do as the equation concludes; in Eq 54 and 55 a mirror error of ``NEARLY`` is let pass. "least mirror error",
    "median mirror error": of all such choices. "a > 0", "ρ > 0": shares of polar words.
    """
    dataset, rows = load_dataset("synthetic-1"), []
    types = examined_types(dataset)
    good, bad = types["positive"], types["negative"]
    slower = RANGES[weight_range]

    def observe(epoch: int, model: AttentionClassifier) -> dict[str, float]:
        if epoch not in [part * slower for part in (0, 1, 2, 4, WHOLE_EPOCHS)]:
            return {}
        state, polar = State.of(model, dataset.train), torch.cat([good, bad])
        found, mirror = {"epoch": epoch}, mirror_errors(state, good, bad)
        for number, (condition, _, conclusion) in census(state, good, bad, NEARLY).items():
            found |= {f"met {number}": condition > 0, f"concluded {number}": conclusion > 0}
        found |= {"a > 0": state.a_e[polar] > 0, "ρ > 0": state.rho[polar] > 0}
        found |= {"least mirror error": mirror.min(), "median mirror error": mirror.median()}
        rows.append({name: float(torch.as_tensor(value).double().mean()) for name, value in found.items()})
        return {}

    model = initial_model(dataset, lam, weight_range=weight_range, seed=seed, dtype=torch.float64)
    fit(model, dataset, small_config(epochs=WHOLE_EPOCHS * slower, seed=seed), record=observe, progress=False)
    return rows


SIGNS_AT = (2, 6, 12)  # epochs


def signs_case(epoch: int, weight: float) -> str:
    """The name of a case of :func:`smaller_is_quicker`."""
    return f"Data I, signs of pairs, epoch {epoch}, W ±{weight:g}"


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
