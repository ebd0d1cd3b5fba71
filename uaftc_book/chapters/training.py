"""Chapter 02_training: the terms of a run on Data I, the ledger of SST, and what Sections 4.1 and 4.2 say of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd
import torch

from uaftc_book.cases import SMALL, Part, Tables, exceeds
from uaftc_book.claims import reading, reads
from uaftc_book.readings import (
    HUNDRED,
    MODERATE,
    NOISY,
    SHORT_HUNDRED,
    SHORT_TEN,
    TEN,
    TOO_SMALL,
    VERY_LARGE,
    along_VW,
    both,
    cells,
    column,
    least,
    neutral_small,
    opposed,
    several,
    sides_along_VW,
    size,
    size_of_polar,
)
from uaftc_book.small_data import (
    MANY_SEEDS,
    RANGES,
    SEEDS,
    WHOLE_EPOCHS,
    by_kind,
    ends,
    grouped,
    initial_model,
    pair_means,
    small_config,
    sst_config,
    velocities,
)
from uaftc_lib import dynamics
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.dynamics.ledger import Ledger, fit_with_ledger
from uaftc_lib.experiments.paper_models import train_real
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types, auc_of, dot_product, examined_types, score_frame

# ---
# The terms of a run, and what Section 4.1 says of them.


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
        | words_of_large_A(ledgers[-1], types)
    ]


def words_of_large_A(ledger: Ledger, types: Types) -> dict[str, float]:
    """The share of polar words to which A has added more than a fifth of what B has, and their part of all of B."""
    polar = torch.cat((types["positive"], types["negative"]))
    A, B = ledger.A[polar].abs(), ledger.B[polar].abs()
    over = A > B / 5
    return {"words with A > B/5": float(over.double().mean()), "their part of B": float(B[over].sum() / B.sum())}


@experiment(jobs_over(lam=(10.0, 100.0), seed=MANY_SEEDS), rows=1)
def short_terms(lam: float, seed: int) -> list[dict]:
    """The terms A, B, C on Data I with W from ±0.1, in three times the passes: so long it takes W to grow."""
    return terms(0.0, lam, seed, weight_range=0.1)


@experiment(jobs_over(lam=(0.01, 0.1, 1.0, 3.0, 30.0, 10000.0), seed=MANY_SEEDS), rows=1)
def short_terms_lams(lam: float, seed: int) -> list[dict]:
    """As :func:`short_terms`, at the other λ of :func:`terms`."""
    return short_terms(lam, seed)


def against_moderate(tables: Tables) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Each case with a λ that is too small: its rows, and those at λ = 10 of the same seeds."""
    moderate = dict(cells(TEN, SHORT_TEN)(tables))
    for name, rows in cells(*TOO_SMALL)(tables):
        yield name, rows, moderate[SHORT_TEN if name.endswith("W₀ within ±0.1") else TEN]
    for lam in (1.0, 0.1):
        yield f"SST, λ = {lam:g}", *(tables("small_lam_on_sst", lam=value) for value in (lam, 10.0))


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
    for name, rows, moderate in against_moderate(tables):
        yield exceeds(f"on average, {name}", size_of_polar(rows, "A") / size_of_polar(rows, "B") - SMALL)
        yield exceeds(f"share of words, {name}", column(rows, share) - column(moderate, share))


@reading
def small_lam_spoils_polarity(tables: Tables) -> Iterator[Part]:
    for name, rows, moderate in against_moderate(tables):
        measures = {"": lambda some: SMALL - neutral_small("polarity")(some)}
        if name.startswith("SST"):
            measures[", overlap"] = lambda some: 2 * (1 - column(some, "AUC polarity"))
        for measure, value in measures.items():
            yield exceeds(f"{name}{measure}", value(rows) - SMALL)
            yield exceeds(f"{name}{measure}, against λ = 10", value(rows) - value(moderate))


# ---
# The ledger of SST, and what Section 4.2 says of D, E and F.


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


@experiment(jobs_over(lam=(0.1, 1.0, 10.0), seed=SEEDS), rows=1)
def small_lam_on_sst(lam: float, seed: int) -> list[dict]:
    """SST: what A and B have added in a run of :func:`sst_run`; the polarity scores of Table 2's model, kept epoch."""
    dataset = load_dataset("sst")
    types = examined_types(dataset)
    ledger = sst_run(dataset, "Adagrad", lam, seed, side=1)[-1][-1]
    model, _ = train_real(dataset, lam=lam, seed=seed)
    return [
        by_kind({"A": ledger.A, "B": ledger.B, "polarity": model.token_scores().polarity.detach()}, types)
        | words_of_large_A(ledger, types)
        | {"AUC polarity": auc_of(score_frame(model, dataset, types), "polarity", "positive", "negative")}
    ]


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
