"""Chapter 07_variants: the affine and the additive model and three classes, and what Appendices D to F say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import pandas as pd
import torch

from uaftc_book.cases import SMALL, SURE, Part, Tables, exceeds
from uaftc_book.chapters.variants import velocities  # noqa: F401  (registers its experiments and readings)
from uaftc_book.chapters.variants.ledger import run_with_ledger
from uaftc_book.chapters.variants.models import (
    M_OF_LIBRARY,
    NO_M,
    RANGES_OF_M,
    RUNS,
    ranges,
    three_classes,
    train_variant,
)
from uaftc_book.claims import Cases, reading, reads
from uaftc_book.readings import (
    OTHER_MODELS,
    both,
    column,
    lead,
    least,
    on_both_sides,
    rows_of,
    several,
    size,
    sure_votes,
    wide,
)
from uaftc_book.small_data import (
    MANY_SEEDS,
    PAPER_NEUTRAL,
    RANGES,
    SEEDS,
    SMALL_NEUTRAL,
    WHOLE_EPOCHS,
    ends,
    grouped,
    initial_model,
    pair_means,
    small_config,
    small_data,
)
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.datasets.synthetic import synthetic
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types, examined_types
from uaftc_lib.training import fit

*_, LAST = LOOKED_AT = (4, 6, WHOLE_EPOCHS, 10, 15, 30)
# Variant, penalty and range of M of the runs on the whole of Data I.
RUNS_ON_DATA_I = (("DP", 0.0, NO_M), *((v, p, M) for M, (v, p) in product(RANGES_OF_M, RUNS[1:])))


@experiment(
    jobs=[
        {"variant": v, "penalty": p, "M": M, "seed": s}
        for v, p, M in RUNS_ON_DATA_I
        for s in (MANY_SEEDS if M in (NO_M, M_OF_LIBRARY) else SEEDS)
    ],
    rows=len(LOOKED_AT),
)
def variants_whole(variant: str, penalty: float, M: str, seed: int) -> list[dict]:
    """The models on the whole of Data I, λ = 10, by the range of M: a row at each of some epochs.

    Type means, and mean inner products of embeddings and of what is behind an affine layer.
    """
    return followed_run(load_dataset("synthetic-1"), variant, penalty, M, seed, LOOKED_AT)


@experiment(jobs=[{"variant": v, "penalty": p, "seed": s} for (v, p), s in product(RUNS, SEEDS)], rows=1)
def variants_wide(variant: str, penalty: float, seed: int) -> list[dict]:
    """The models on the whole of Data I with W from ±1, M from the range of this library, at the end."""
    return followed_run(load_dataset("synthetic-1"), variant, penalty, M_OF_LIBRARY, seed, [LAST], weight_range=1.0)


@experiment(jobs=[{"variant": v, "penalty": p, "seed": s} for (v, p), s in product(RUNS, SEEDS)], rows=len(LOOKED_AT))
def variants_copy(variant: str, penalty: float, seed: int) -> list[dict]:
    """The models on small Data I, after as many steps as on the whole."""
    return followed_run(small_data(), variant, penalty, M_OF_LIBRARY, seed, [10 * epoch for epoch in LOOKED_AT])


@experiment(jobs_over(class_size=(600, 6000), neutral_types=(SMALL_NEUTRAL, PAPER_NEUTRAL), seed=SEEDS), rows=1)
def additive_size(class_size: int, neutral_types: int, seed: int) -> list[dict]:
    """Additive attention at the end: is it the texts or the neutral words that a copy has too few of?"""
    dataset = synthetic("synthetic-1", class_sizes=(class_size, class_size), neutral_types=neutral_types)
    return followed_run(dataset, "AD", 0.0, M_OF_LIBRARY, seed, [LAST * 6000 // class_size])


def followed_run(
    dataset: Dataset, variant: str, penalty: float, M: str, seed: int, epochs: Sequence[int], weight_range: float = 0.1
) -> list[dict[str, float]]:
    """A run that is looked at after these epochs."""
    types, rows = examined_types(dataset), []

    def look(epoch: int, model: AttentionClassifier) -> dict:
        if epoch in epochs:
            products = products_of(model, types) if variant == "DP-A" else {}
            rows.append({"epoch": epoch} | ends(model, types) | products)
        return {}

    M = M if variant != "DP" else NO_M
    given = {"seed": seed, "M": M, "weight_range": weight_range}
    _, run = train_variant(dataset, variant, penalty=penalty, epochs=epochs[-1], record=look, **given)
    losses = run.history.set_index("epoch")["loss"]
    return [row | {"loss": losses[row["epoch"]]} for row in rows]


@experiment(
    jobs=[{"variant": v, "penalty": p, "lam": x, "seed": s} for s, (v, p), x in product(SEEDS, RUNS, (10.0, 100.0))],
    rows=1,
)
def variants_terms(variant: str, penalty: float, lam: float, seed: int) -> list[dict]:
    """Models trained to one loss: the type means, and what each term did to the attention of each kind."""
    return [run_with_ledger(small_data(), variant, penalty, lam, seed)]


@experiment(
    jobs=[
        {"variant": v, "penalty": p, "M": M, "lam": x, "seed": s}
        for x, (v, p, M), s in product((10.0, 100.0), RUNS_ON_DATA_I, SEEDS)
        if x == 10 or M in (NO_M, M_OF_LIBRARY)
    ],
    rows=1,
)
def variants_terms_whole(variant: str, penalty: float, M: str, lam: float, seed: int) -> list[dict]:
    """Models trained to one loss on the whole of Data I, by the range of M; epochs are counted in 1,200 texts."""
    return [run_with_ledger(load_dataset("synthetic-1"), variant, penalty, lam, seed, M)]


def of_classes(dataset: Dataset, types: Types, epochs: int, seed: int, weight_range: float = 1.0) -> dict[str, float]:
    """A model of three classes, trained: scores by kind, inner products of words, and of columns of W."""
    model = initial_model(dataset, classes=3, seed=seed, weight_range=weight_range)
    initial = model.token_scores().attention.detach().double()
    fit(model, dataset, small_config(epochs=epochs, seed=seed))
    a, s = (values.double() for values in model.token_scores())
    attention = {f"attention {k}": float(a[ids].mean()) for k, ids in types.items()}
    own = [float((s[types[k]][:, int(k)] - s[types[k]].sum(1).sub(s[types[k]][:, int(k)]) / 2).mean()) for k in "012"]
    products = pair_means(model.embedding.detach().double(), types)
    W = model.W.detach().double()
    norms, others = (W.T @ W).diag(), (W.T @ W).fill_diagonal_(-torch.inf)
    return (
        attention
        | {f"initial attention {k}": float(initial[ids].mean()) for k, ids in types.items()}
        | {f"own polarity {k}": value for k, value in enumerate(own)}
        | {
            "within": min(products[f"{k}–{k}"] for k in "012"),
            "across": max(products[pair] for pair in ("0–1", "0–2", "1–2")),
            "largest W·W'": float(others.max()),
            "smallest ‖W‖²": float(norms.min()),
        }
    )


@experiment(jobs_over(seed=SEEDS), rows=1)
def class_terms(seed: int) -> list[dict]:
    """Three classes of words (Appendix F): scores by kind, inner products of words, and of columns of W."""
    return [of_classes(*three_classes(seed), 75, seed)]


@experiment(jobs_over(seed=SEEDS), rows=1)
def class_terms_whole(seed: int) -> list[dict]:
    """Three classes of words on 12,000 texts with 1,000 neutral words."""
    return [of_classes(*three_classes(seed, 4000, neutral_types=PAPER_NEUTRAL), WHOLE_EPOCHS, seed)]


@experiment(jobs_over(seed=SEEDS), rows=1)
def class_terms_short(seed: int) -> list[dict]:
    """Three classes of words with W from ±0.1, three times as long."""
    three = three_classes(seed, 4000, neutral_types=PAPER_NEUTRAL)
    return [of_classes(*three, WHOLE_EPOCHS * RANGES[0.1], seed, weight_range=0.1)]


def products_of(model: AttentionClassifier, types: Types) -> dict[str, float]:
    """Mean inner products of embeddings e and of representations h = Me of the affine model."""
    e = model.embedding.detach().double()
    return {
        f"{which} {name}": value
        for which, v in {"e": e, "h": e @ model.M.detach().double().T}.items()
        for name, value in grouped(pair_means(v, types)).items()
    }


def large(rows: pd.DataFrame) -> pd.Series:
    """The least of: attention of either polar kind, and its lead over neutral words."""
    return least(both(rows), lead(rows))


def by_range_of_M(table: str, where: str, ranges_of_M: Iterable[str] = RANGES_OF_M, **job: object) -> Cases:
    """The runs on Data I of a model with a matrix M, by the range from which M is drawn."""
    return several(*(rows_of(f"Data I, {where}{ranges(M)}", table, M=M, **job) for M in ranges_of_M))


def variant(name: str, penalty: float = 0.0, where: str = "") -> Cases:
    """One of the models on Data I at λ = 10."""
    return by_range_of_M("variants_whole", where, variant=name, penalty=penalty, epoch=LAST)


def recorded_terms(name: str, lam: float) -> Cases:
    """One of the models on Data I, with what each term did to attention."""
    Ms = RANGES_OF_M if lam == 10 else [M_OF_LIBRARY]
    return by_range_of_M("variants_terms_whole", f"{name}, λ = {lam:g}, ", Ms, variant=name, penalty=0.0, lam=lam)


def of_figures(scores: str, *models: tuple[str, str]) -> Cases:
    """Ten seeds of models on real data at λ = 10."""
    return lambda tables: [
        (f"{PAPER_NAMES[key]}, {model}", wide(tables, key, model, scores=scores)) for key, model in models
    ]


def set_aside(rows: pd.DataFrame) -> pd.Series:
    """Positive where F and Mρ together are small beside E, on average over both polar kinds."""
    together = [column(rows, f"F {kind}") + column(rows, f"M_rho {kind}") for kind in ("positive", "negative")]
    return SMALL - (together[0].abs() + together[1].abs()) / 2 / size(rows, "E")


def dominates(rows: pd.DataFrame) -> pd.Series:
    """Positive where E outweighs D, F and Mρ together, on average over both polar kinds; in units of E."""
    others = [sum(column(rows, f"{name} {kind}") for name in ("D", "F", "M_rho")) for kind in ("positive", "negative")]
    return 1 - (others[0].abs() + others[1].abs()) / 2 / size(rows, "E")


PENALISED = variant("DP-A", 1e-3, "with penalty, ")
BOTH_AFFINE = several(variant("DP-A", 0.0, "without penalty, "), PENALISED)
ON_REAL_DATA = (("sst", "AD"), ("imdb", "AD"))
RECORDED = {name: several(*(recorded_terms(name, lam) for lam in (10.0, 100.0))) for name in ("DP-A", "AD")}
THREE = several(
    rows_of("12,000 texts of three classes", "class_terms_whole"),
    rows_of("12,000 texts of three classes, W₀ within ±0.1", "class_terms_short"),
)


@reading
def variants_behave_alike(tables: Tables) -> Iterator[Part]:
    for name in ("DP-A", "AD"):
        for case, rows in variant(name, 0.0, f"{name}, ")(tables):
            yield exceeds(case, lead(rows))
    for key, model, lam in (where for where in OTHER_MODELS if where[1] != "DP-L"):
        yield exceeds(f"{PAPER_NAMES[key]}, {model}, λ = {lam:g}", lead(wide(tables, key, model, lam)))
    for case, rows in THREE(tables):
        yield exceeds(case, class_lead(rows))


reads("affine_polarity", BOTH_AFFINE, sure_votes)
reads("affine_attention", PENALISED, large)
reads("additive_attention", several(variant("AD"), of_figures("attention", *ON_REAL_DATA)), large, null=True)
reads("additive_polarity", several(variant("AD"), of_figures("polarity", *ON_REAL_DATA)), sure_votes, null=True)
reads("affine_sides", RECORDED["DP-A"], lambda rows: least(on_both_sides(rows, "D"), on_both_sides(rows, "M_pi")))
reads("affine_E_of_polar", RECORDED["DP-A"], lambda rows: both(rows, "E"))
reads("affine_E_of_neutral", RECORDED["DP-A"], lambda rows: SMALL - column(rows, "E neutral").abs() / size(rows, "E"))
reads("additive_E_of_polar", RECORDED["AD"], lambda rows: both(rows, "E"))
reads("additive_sides", RECORDED["AD"], lambda rows: on_both_sides(rows, "D"))
reads("additive_E_dominates", RECORDED["AD"], dominates)
reads("terms_set_aside", several(*RECORDED.values()), set_aside)
reads("heads_apart", THREE, lambda rows: SMALL - column(rows, "largest W·W'") / column(rows, "smallest ‖W‖²"))
reads("own_class", THREE, lambda rows: least(*(column(rows, f"own polarity {k}") for k in "012")) - SURE)
reads("classes_attract", THREE, lambda rows: column(rows, "within") - column(rows, "across"))
reads(
    "class_attention_grows",
    THREE,
    lambda rows: least(*(column(rows, f"attention {k}") - column(rows, f"initial attention {k}") for k in "012")),
)


def class_attention(rows: pd.DataFrame) -> pd.Series:
    """Attention of the words of the class where it is least."""
    return least(*(column(rows, f"attention {k}") for k in "012"))


def class_lead(rows: pd.DataFrame) -> pd.Series:
    """By how much it is above that of neutral words."""
    return class_attention(rows) - column(rows, "attention 3")


reads("class_attention_is_positive", THREE, lambda rows: least(class_attention(rows), class_lead(rows)))


@reading
def affine_products(tables: Tables) -> Iterator[Part]:
    for case, rows in PENALISED(tables):
        for which, vectors in (("e", "embeddings"), ("h", "representations")):
            yield exceeds(f"{case}, {vectors}", least(column(rows, f"{which} like"), -column(rows, f"{which} unlike")))
