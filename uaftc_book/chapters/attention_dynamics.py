"""Chapter 04_attention_dynamics: Equations 21 to 27, the ledger of SST, and what Section 4.2 says of D, E and F."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch

from uaftc_book.cases import SMALL, Part, Tables, exceeds
from uaftc_book.claims import reading, reads
from uaftc_book.equations import Equality, equation
from uaftc_book.paths import embedding_gradient, product_rule, stepped
from uaftc_book.random_models import Case
from uaftc_book.readings import (
    HUNDRED,
    SHORT_HUNDRED,
    VERY_LARGE,
    both,
    cells,
    column,
    neutral_small,
    several,
    sides_along_VW,
    size,
    size_of_polar,
)
from uaftc_book.small_data import RANGES, SEEDS, WHOLE_EPOCHS, initial_model, small_config
from uaftc_lib import dynamics
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.dynamics.ledger import Ledger, fit_with_ledger
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types, dot_product, examined_types
from uaftc_lib.training import TrainingConfig


@equation(21, "product rule for the attention score", "exact")
def _(case: Case):
    return product_rule(case, "attention", "V")


@equation(22, "two causes of an attention score's change", "exact")
def _(case: Case):
    # As Eq 12, with Eq 23; a longer step, lest a small change of a drown in rounding.
    view = case.view()
    by_V = -(view.push[:, None] * view.e_j).sum(0) / (view.m * view.lam)
    causes = -(embedding_gradient(view) @ view.V + view.E @ by_V) / view.lam
    return Equality(causes, stepped(case, "attention", "V", rate=case.lam))


@equation(23, "gradient of V", "exact")
def _(case: Case):
    view = case.view()
    return Equality(-(view.push[:, None] * view.e_j).sum(0) / (view.m * view.lam), view.grad["V"])


@equation(24, "first cause: the embedding moves (E and D)", "exact")
def _(case: Case):
    view = case.view()
    E = (view.V @ view.V) * view.per_type(view.push) / (view.m * view.lam**2)
    D = view.per_type(view.pull * (view.W @ view.V)) / (view.m * view.lam)
    return Equality(E + D, -view.grad["embedding"] @ view.V / view.lam)


@equation(25, "second cause: V moves (F)", "exact")
def _(case: Case):
    view = case.view()
    F = view.E @ (view.push[:, None] * view.e_j).sum(0) / (view.m * view.lam**2)
    return Equality(F, -view.E @ view.grad["V"] / view.lam)


@equation(26, "F, split by the class of the instances", "exact")
def _(case: Case):
    view = case.view()
    lead = (view.alpha * view.beta[view.t] * (view.s_j - view.s[view.t]))[:, None] * (view.e_j @ view.E.T)
    split = lead[view.y[view.t] > 0].sum(0) + (-lead[view.y[view.t] < 0]).sum(0)
    return Equality(split / (view.m * view.lam**2), -view.E @ view.grad["V"] / view.lam)


@equation(27, "the update of an attention score: D + E + F", "exact")
def _(case: Case):
    view = case.view()
    D = (view.V @ view.W) * view.lam * view.pi
    E = (view.V @ view.V) * view.rho
    F = view.E @ (view.push[:, None] * view.e_j).sum(0)
    return Equality((D + E + F) / (view.m * view.lam**2), view.a_rate)


def sst_config(optimizer: str, seed: int, epochs: int = 4) -> TrainingConfig:
    """Adagrad as in the paper but without dropout, or plain SGD for twice as many epochs."""
    common = {"batch_size": 100, "seed": seed}
    if optimizer == "SGD":
        return TrainingConfig(optimizer="sgd", learning_rate=10.0, epochs=2 * epochs, **common)
    return TrainingConfig(learning_rate=0.02, learning_rate_decay=0.001, epochs=epochs, **common)


def sst_run(
    dataset: Dataset,
    optimizer: str,
    lam: float,
    seed: int,
    side: int,
    dimension: int = 100,
    epochs: int = 4,
    weight_range: float = 0.1,
) -> tuple[AttentionClassifier, dict, list[Ledger]]:
    """A run from W (side 1) or −W (side −1) without a dev split: the model, how V·W moved, and the ledgers."""
    options = {"weight_range": weight_range, "seed": seed, "dtype": torch.float64}
    model = AttentionClassifier(len(dataset.vocabulary), dimension=dimension, lam=lam, **options)
    with torch.no_grad():
        model.W *= side
    initial_product, V0 = dot_product(model), model.V.detach().clone()

    def follow(_, m):
        """V·W, and how far V has moved along W."""
        return {"V·W": dot_product(m), "W·ΔV": float(((m.V - V0) @ m.W).detach())}

    only = replace(dataset, dev=None, test=None)
    run, ledgers = fit_with_ledger(model, only, sst_config(optimizer, seed, epochs), follow)
    path = run.history[["V·W", "W·ΔV"]]
    kept_sign = bool((path["V·W"] * initial_product > 0).all())
    return model, {"V₀·W₀": initial_product} | path.iloc[-1].to_dict() | {"one sign": kept_sign}, ledgers


def given(ledger: Ledger, types: Types) -> Iterator[dict]:
    """A row for D, E, F, the remainders and the score: its mean over the words of each kind, and of all others."""
    others = torch.ones(len(ledger.D), dtype=torch.bool)
    others[torch.cat([*types.values()])] = False
    groups = types | {"not examined": others.nonzero().squeeze(1)}
    entries = {name: getattr(ledger, name) for name in "DEF"}
    entries |= {"rest": ledger.attention_remainder, "score": ledger.attention_end}
    for name, values in entries.items():
        yield {"entry": name} | {kind: float(values[ids].mean()) for kind, ids in groups.items()}


MIRRORED = jobs_over(optimizer=("Adagrad", "SGD"), lam=(10.0, 100.0), seed=range(20))


@experiment(jobs=MIRRORED, rows=10)
def sst_ledgers(optimizer: str, lam: float, seed: int, weight_range: float = 0.1) -> list[dict]:
    """SST from W and from −W: what D, E and F have added to the attention scores of each kind of words."""
    dataset, rows = load_dataset("sst"), []
    types = examined_types(dataset)
    for side in (1, -1):
        _, moves, ledgers = sst_run(dataset, optimizer, lam, seed, side, weight_range=weight_range)
        rows += [{"side": side} | moves | entry for entry in given(ledgers[-1], types)]
    return rows


@experiment(jobs=MIRRORED, rows=10)
def sst_ledgers_wide(optimizer: str, lam: float, seed: int) -> list[dict]:
    """As :func:`sst_ledgers`, with W within ±1."""
    return sst_ledgers(optimizer, lam, seed, weight_range=1.0)


@experiment(jobs_over(weight_range=(1.0, 0.1), seed=SEEDS), rows=1)
def adagrad_ledgers(weight_range: float, seed: int) -> list[dict]:
    """Data I by Adagrad, λ = 10: what D, E and F have given to the mean neutral word, and where it ended ("attention").

    "sum of E": over all words, in units of the sum of their sizes; shares: "words that E lowers", of the neutral ones,
    "epochs with ρ < 0", after which the mean ρ of neutral words was below zero.
    """
    dataset = load_dataset("synthetic-1")
    neutral = examined_types(dataset)["neutral"]
    model = initial_model(dataset, weight_range=weight_range, seed=seed, dtype=torch.float64)
    config = small_config("adagrad", epochs=WHOLE_EPOCHS * RANGES[weight_range], seed=seed)
    below = []

    def watch(epoch: int, m: AttentionClassifier) -> dict:
        if epoch:
            below.append(float(dynamics.token_sums(m, dataset.train).rho[neutral].mean() < 0))
        return {}

    _, ledgers = fit_with_ledger(model, dataset, config, watch)
    ledger = ledgers[-1]
    given_to = {name: float(getattr(ledger, name)[neutral].mean()) for name in "DEF"}
    lowered = float((ledger.E[neutral] < 0).double().mean())
    return [
        given_to
        | {"attention": float(ledger.attention_end[neutral].mean())}
        | {"sum of E": float(ledger.E.sum() / ledger.E.abs().sum())}
        | {"words that E lowers": lowered, "epochs with ρ < 0": sum(below) / len(below)}
    ]


reads("rho_of_neutral", cells(), neutral_small("ρ"))
reads("D_takes_sides", cells(), lambda rows: sides_along_VW(rows, "D"))
reads("D_of_neutral", cells(), neutral_small("D"))
reads("E_of_polar", cells(), lambda rows: both(rows, "E"))
reads("E_of_neutral", cells(), neutral_small("E"))


@reading
def F_of_neutral(tables: Tables) -> Iterator[Part]:
    for name, rows in cells()(tables):
        yield exceeds(name, neutral_small("F")(rows))
        yield exceeds(f"{name}, beside E", SMALL - column(rows, "|F| neutral") / size_of_polar(rows, "E"))


reads(
    "D_at_large_lam", several(cells(HUNDRED, SHORT_HUNDRED), VERY_LARGE), lambda rows: size(rows, "D") - size(rows, "E")
)
