"""Chapter 03_polarity_dynamics: Equations 15 to 20, the terms of a run, and what Section 4.1 says of them."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import torch

from uaftc_book.cases import SMALL, Part, Tables, exceeds
from uaftc_book.claims import reading, reads
from uaftc_book.equations import Equality, equation
from uaftc_book.random_models import Case
from uaftc_book.readings import (
    MODERATE,
    NOISY,
    SHORT_TEN,
    TEN,
    TOO_SMALL,
    along_VW,
    both,
    cells,
    column,
    least,
    neutral_small,
    opposed,
    size,
    size_of_polar,
)
from uaftc_book.small_data import (
    MANY_SEEDS,
    RANGES,
    WHOLE_EPOCHS,
    by_kind,
    ends,
    grouped,
    initial_model,
    pair_means,
    small_config,
    velocities,
)
from uaftc_lib.datasets import load_dataset
from uaftc_lib.dynamics.ledger import fit_with_ledger
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import dot_product, examined_types


@equation(15, "first cause: the embedding moves (A and B)", "exact")
def _(case: Case):
    view = case.view()
    A = view.per_type(view.push) / view.lam * (view.V @ view.W) / view.m
    B = (view.W @ view.W) * view.per_type(view.pull) / view.m
    return Equality(A + B, -view.grad["embedding"] @ view.W)


@equation(16, "π, the signed attention of a token", "definition")
def _(case: Case):
    # π(e) is what the loss feels of s_e alone.
    view = case.view()
    s_e = view.s_e.clone().requires_grad_()
    parts = [view.alpha[part] @ s_e[view.tokens[part]] for part in view.parts]
    loss = torch.nn.functional.softplus(-view.y * torch.stack(parts)).mean()
    return Equality(view.pi, -view.m * torch.autograd.grad(loss, s_e)[0])


@equation(17, "second cause: W moves (C)", "exact")
def _(case: Case):
    view = case.view()
    by_instance = view.E @ (view.r[:, None] * view.h).sum(0) / view.m
    by_position = view.E @ (view.pull[:, None] * view.e_j).sum(0) / view.m
    moved = -view.E @ view.grad["W"]
    return Equality([by_instance, by_position], [moved, moved])


@equation(18, "C, split by the class of the instances", "exact")
def _(case: Case):
    view = case.view()
    products = (view.alpha * view.beta[view.t])[:, None] * (view.e_j @ view.E.T)
    positive = products[view.y[view.t] > 0].sum(0)
    negative = (-products[view.y[view.t] < 0]).sum(0)
    return Equality((positive + negative) / view.m, -view.E @ view.grad["W"])


@equation(19, "the update of a polarity score: A + B + C", "exact")
def _(case: Case):
    view = case.view()
    A = (view.V @ view.W / view.lam) * view.rho / view.m
    B = (view.W @ view.W) * view.pi / view.m
    C = view.E @ (view.pull[:, None] * view.e_j).sum(0) / view.m
    return Equality(A + B + C, view.s_rate)


@equation(20, "ρ, the signed attention times the margin of a token", "definition")
def _(case: Case):
    # ρ(e) is what the loss feels of a_e alone.
    view = case.view()
    a_e = view.a_e.clone().requires_grad_()
    parts = [a_e[view.tokens[part]].softmax(0) @ view.s_j[part] for part in view.parts]
    loss = torch.nn.functional.softplus(-view.y * torch.stack(parts)).mean()
    return Equality(view.rho, -view.m * torch.autograd.grad(loss, a_e)[0])


@experiment(
    jobs_over(noise=0.0, lam=(0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 10000.0), seed=MANY_SEEDS)
    + jobs_over(noise=0.1, lam=10.0, seed=MANY_SEEDS),
    rows=1,
)
def terms(noise: float, lam: float, seed: int, weight_range: float = 1.0) -> list[dict]:
    """A run on Data I (``noise``: Data II): terms summed over the run, where it began, how it ends.

    "A positive": what A has added to the scores of positive words (the ledger), "|A| positive" the mean of its
    sizes. "π positive": the mean over the run, seen after every epoch. "first F positive": before the first step
    (B, C and E too); "largest |F| positive": the largest at any of these times. "like", "unlike", "with
    neutral": mean inner products of embeddings at the end, "weaker like" the lesser of the two kinds, "initial like"
    at first. "farthest weight": the largest |nα − 1| of any word of any text of n words. "words with A > B/5": of the
    polar words, by what A and B have added to each; "their part of B": of the sum of |B| over all polar words.
    """
    dataset = load_dataset("synthetic-1", noise=noise)
    types = examined_types(dataset)
    model = initial_model(dataset, lam, weight_range=weight_range, seed=seed, dtype=torch.float64)
    initial_product, watched, products = dot_product(model), [], []

    def watch(_epoch: int, m: AttentionClassifier) -> dict:
        watched.append(velocities(m, dataset, types))
        products.append(grouped(pair_means(m.embedding.detach(), types)))
        return {}

    config = small_config(epochs=WHOLE_EPOCHS * RANGES[weight_range], seed=seed)
    _, ledgers = fit_with_ledger(model, dataset, config, watch)
    of, s = pd.DataFrame(watched), model.token_scores().polarity.detach()
    polar = torch.cat((types["positive"], types["negative"]))
    A, B = ledgers[-1].A[polar].abs(), ledgers[-1].B[polar].abs()
    over = A > B / 5
    out = model(dataset.train)
    lengths = dataset.train.lengths[dataset.train.instance_of]
    return [
        {"V₀·W₀": initial_product}
        | ends(model, types)
        | by_kind({name: getattr(ledgers[-1], name) for name in "ABCDEF"}, types)
        | {name: value for name, value in by_kind({"polarity": s}, types).items() if "|" in name}
        | {name: of[name].mean() for name in of if name.strip("|")[0] in "πρ"}
        | {f"first {name}": of[name].iloc[0] for name in of if name.strip("|")[0] in "BCEF" and "from" not in name}
        | {f"largest {name}": of[name].abs().max() for name in of if name[0] == "C" or name.startswith("|F|")}
        | products[-1]
        | {f"initial {name}": value for name, value in products[0].items()}
        | {"farthest weight": float((lengths * out.weights.detach() - 1).abs().max())}
        | {"words with A > B/5": float(over.double().mean()), "their part of B": float(B[over].sum() / B.sum())}
    ]


@experiment(jobs_over(lam=(10.0, 100.0), seed=MANY_SEEDS), rows=1)
def short_terms(lam: float, seed: int) -> list[dict]:
    """The terms A, B, C on Data I with W from ±0.1, in three times the passes: so long it takes W to grow."""
    return terms(0.0, lam, seed, weight_range=0.1)


@experiment(jobs_over(lam=(0.01, 0.1, 1.0, 3.0, 30.0, 10000.0), seed=MANY_SEEDS), rows=1)
def short_terms_lams(lam: float, seed: int) -> list[dict]:
    """As :func:`short_terms`, at the other λ of :func:`terms`."""
    return short_terms(lam, seed)


def beside_moderate(tables: Tables) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Each case with a λ that is too small: its rows, and those at λ = 10 of the same seeds."""
    moderate = dict(cells(TEN, SHORT_TEN)(tables))
    for name, rows in cells(*TOO_SMALL)(tables):
        yield name, rows, moderate[SHORT_TEN if name.endswith("W₀ within ±0.1") else TEN]


reads("pi_takes_sides", cells(), lambda rows: opposed(rows, "π"))
reads("pi_of_neutral", cells(), neutral_small("π"))
reads(
    "neutral_part_of_C",
    cells(*MODERATE),
    lambda rows: SMALL - size(rows, "largest C from neutral") / size(rows, "largest C"),
)
reads("signs_of_B_and_C", cells(*MODERATE), lambda rows: least(opposed(rows, "B"), opposed(rows, "C")))
reads("B_and_C_of_neutral", cells(*MODERATE), lambda rows: least(neutral_small("B")(rows), neutral_small("C")(rows)))
reads("rho_of_polar", cells(), lambda rows: both(rows, "ρ"))
reads("A_is_small", cells(*MODERATE), lambda rows: SMALL - size_of_polar(rows, "A") / size_of_polar(rows, "B"))


@reading
def A_tips_the_balance(tables: Tables) -> Iterator[Part]:
    for name, rows in cells(*TOO_SMALL, TEN, SHORT_TEN, NOISY)(tables):  # V·W/λ is not small
        yield exceeds(name, along_VW(rows, column(rows, "polarity positive") + column(rows, "polarity negative")))
    for name, rows in cells()(tables):
        yield exceeds(f"A's part, {name}", along_VW(rows, column(rows, "A positive") + column(rows, "A negative")))


@reading
def small_lam_makes_A_large(tables: Tables) -> Iterator[Part]:
    share = "words with A > B/5"
    for name, rows, moderate in beside_moderate(tables):
        yield exceeds(f"on average, {name}", size_of_polar(rows, "A") / size_of_polar(rows, "B") - SMALL)
        yield exceeds(f"share of words, {name}", column(rows, share) - column(moderate, share))


@reading
def small_lam_spoils_polarity(tables: Tables) -> Iterator[Part]:
    for name, rows, moderate in beside_moderate(tables):
        yield exceeds(name, -neutral_small("polarity")(rows))
        yield exceeds(f"{name}, against λ = 10", neutral_small("polarity")(moderate) - neutral_small("polarity")(rows))
