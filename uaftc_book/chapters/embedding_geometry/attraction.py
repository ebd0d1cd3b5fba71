"""A* and B* of Appendix B.2 while Data I is learnt, the pairs of Fig S1 at first, and what is said of both."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pandas as pd
import torch

from uaftc_book.cases import SMALL, Part, Tables, exceeds
from uaftc_book.claims import reading, reads
from uaftc_book.readings import MODERATE, cells, column, least, rows_of, several, size
from uaftc_book.small_data import RANGES, SEEDS, WHOLE_EPOCHS, initial_model, small_config
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types, examined_types
from uaftc_lib.training import fit

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
