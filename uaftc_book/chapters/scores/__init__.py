"""Chapter 10_scores: the scores of SST, many seeds, and what Section 5 says of scores. (Of every panel: ``atlas``.)"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch
from scipy.stats import spearmanr

from uaftc_book.cases import SMALL, Part, Tables, alike, contrast, exceeds
from uaftc_book.chapters.lam import columns_of
from uaftc_book.chapters.lam.contrasts import AT_STAKE, accuracy_difference, cost_of_small, harmlessness
from uaftc_book.chapters.scores import panel_nulls, penalised, tilt  # noqa: F401  (registers their experiments)
from uaftc_book.chapters.scores.null_controls import aucs_of_types
from uaftc_book.claims import Cases, reading, reads
from uaftc_book.nulls import against_null, control_rows, lead_of, null_of, panel_null
from uaftc_book.readings import (
    HUNDRED,
    NOISY,
    OTHER_MODELS,
    SHORT_HUNDRED,
    SHORT_TEN,
    TEN,
    VERY_LARGE,
    both,
    cells,
    column,
    difference,
    lead,
    least,
    not_made,
    on_both_sides,
    opposed,
    rows_of,
    several,
    size,
    sst,
    wide,
)
from uaftc_book.small_data import SEEDS
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.datasets.sst import LEAF, trees
from uaftc_lib.experiments.paper_models import train_real
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.locations import data_home as find_data_home
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import examined_types, follow, score_frame
from uaftc_lib.token_lists import association
from uaftc_lib.training import Run


def word_ratings(data_home: Path) -> pd.DataFrame:
    """What people said of single words of SST: columns word (lower case), rating (0 to 4, mean), trees (count)."""
    rated = [
        (word.lower(), int(rating))
        for lines in trees(data_home).values()
        for line in lines
        for rating, word in LEAF.findall(line)
    ]
    return (
        pd.DataFrame(rated, columns=["word", "rating"])
        .groupby("word")["rating"]
        .agg(rating="mean", trees="size")
        .reset_index()
    )


def rated_words(dataset: Dataset) -> pd.DataFrame:
    """The words of SST that occur in training and that people rated by themselves.

    Columns: word, rank, gamma (Eq 28), count (in training), rating (0 to 4, 2 is neutral, a mean).
    """
    gamma = association(dataset.train, dataset.vocabulary)
    counts = torch.bincount(dataset.train.tokens, minlength=len(dataset.vocabulary))
    words = pd.DataFrame(
        {
            "word": dataset.vocabulary.words,
            "rank": range(1, dataset.vocabulary.word_count + 1),
            "gamma": gamma[: dataset.vocabulary.word_count].numpy(),
            "count": counts[: dataset.vocabulary.word_count].numpy(),
        }
    )
    ratings = word_ratings(find_data_home())
    return words[words["count"] > 0].merge(ratings, on="word")


def human_agreement(model: AttentionClassifier, dataset: Dataset, minimum_count: int = 6) -> dict[str, float]:
    """Rank correlations with the human ratings of words: polarity with rating, attention with strength.

    Strength is |rating − 2|. Only words that occur at least ``minimum_count`` times in training count.
    """
    words = rated_words(dataset).query("count >= @minimum_count")
    scores, ids = model.token_scores(), torch.as_tensor(words["rank"].to_numpy() - 1)
    return {
        "polarity and rating": spearmanr(scores.polarity[ids].cpu(), words["rating"]).statistic,
        "attention and strength": spearmanr(scores.attention[ids].cpu(), (words["rating"] - 2).abs()).statistic,
    }


def sst_scores_run(**settings) -> tuple[dict, pd.DataFrame]:
    """DP on SST, trained by :func:`train_real`: what is stored of it, and the scores of the examined tokens."""
    dataset = load_dataset("sst")
    types = examined_types(dataset)
    model, run = train_real(dataset, **settings)
    scores = score_frame(model, dataset, types)
    return score_row(model, run, scores, types) | human_agreement(model, dataset), scores


SST_RUNS = jobs_over(lam=(10.0, 100.0), penalty=(0.0, 1e-4), seed=SEEDS)


@experiment(jobs=SST_RUNS, rows=1)
def sst_scores(lam: float, penalty: float, seed: int) -> list[dict]:
    """SST: means and AUC of the examined tokens' scores, agreement with human ratings, accuracies."""
    return [sst_scores_run(lam=lam, penalty=penalty, seed=seed)[0]]


@experiment(jobs=SST_RUNS, rows=1)
def sst_mirrored(lam: float, penalty: float, seed: int) -> list[dict]:
    """The scores of SST from −W₀ instead of W₀; and the largest size of an attention score."""
    row, scores = sst_scores_run(lam=lam, penalty=penalty, seed=seed, mirrored=True)
    return [row | {"largest attention": scores["attention"].abs().max()}]


def score_row(model: AttentionClassifier, run: Run, scores: pd.DataFrame, types: dict) -> dict[str, float]:
    """Type means, V·W, AUC of types, mean training loss of the first five epochs and accuracies."""
    return (
        follow(model, types)
        | aucs_of_types(scores)
        | {"early loss": run.history["loss"].iloc[:5].mean()}
        | {"dev_accuracy": run.dev_accuracy, "test_accuracy": run.test_accuracy, "best_epoch": run.best_epoch}
    )


def ten_and_hundred(tables: Tables, name: str) -> tuple[pd.Series, pd.Series]:
    """The mean size of polar words' scores on SST at λ = 10 and at λ = 100."""
    return tuple(size(tables("sst_scores", lam=lam, penalty=0), name) for lam in (10, 100))


DATA_I_AND_II = (("Data I", 0.0), ("Data II", 0.1))
PENALISED = several(
    sst(100, 1e-4),
    *(
        rows_of(f"{name}, λ = 100", "interventions_whole", noise=noise, intervention="penalty")
        for name, noise in DATA_I_AND_II
    ),
)


reads("opposite_signs", several(cells(HUNDRED, SHORT_HUNDRED), VERY_LARGE, sst(100)), on_both_sides, null=True)
reads(
    "figure_3b",
    sst(100),
    lambda rows: least(-difference(rows), column(rows, "attention neutral") - column(rows, "attention positive")),
    null=True,
)


@reading
def attention_shrinks(tables: Tables) -> Iterator[Part]:
    ten, hundred = ten_and_hundred(tables, "attention")
    yield exceeds("SST, polar words", SMALL - hundred / ten)
    ten, hundred = (column(tables("sst_scores", lam=lam, penalty=0), "attention neutral").abs() for lam in (10, 100))
    yield exceeds("SST, neutral words", SMALL - hundred / ten)


@reading
def polarity_grows(tables: Tables) -> Iterator[Part]:
    ten, hundred = ten_and_hundred(tables, "polarity")
    yield exceeds("SST, kept epochs", hundred - ten)
    for moment in ("epoch 10", "epoch 40", "loss 0.2"):  # λ = 100 keeps a later epoch, and scores grow
        same = {"dataset": "sst", "model": "DP", "labels": "real", "lists": "training", "moment": moment}
        ten, hundred = (size(tables("null_controls", lam=lam, **same), "polarity") for lam in (10, 100))
        yield exceeds(f"SST, {moment}", hundred - ten)
    ten, hundred = (size(tables("terms", noise=0.0, lam=lam), "polarity") for lam in (10.0, 100.0))
    yield exceeds("Data I", hundred - ten)


@reading
def large_lam_still_works(tables: Tables) -> Iterator[Part]:
    ((_, found),) = columns_of(tables, "DP", ["sst"])
    if found is None:
        yield not_made("SST")
        return
    lost = accuracy_difference(found, 10.0, 100.0)
    yield contrast("SST", cost_of_small(found, AT_STAKE) / 2 - lost)
    yield contrast("SST, less than a fifth", harmlessness(lost, found))


reads("penalty_at_large_lam", PENALISED, lambda rows: least(both(rows), lead(rows)))


def polar_lead(rows: pd.DataFrame) -> pd.Series:
    """Mean attention of the two lists of polar words, less that of neutral ones."""
    return (column(rows, "attention positive") + column(rows, "attention negative")) / 2 - column(
        rows, "attention neutral"
    )


def as_alike(values: pd.Series) -> pd.Series:
    """:func:`uaftc_book.cases.alike` in units of the mean: models have scores of very different size."""
    return alike(values) / abs(values.mean())


LEADS = {"polar minus neutral words": polar_lead, "positive minus negative words": difference}
MODELS_OF_SEEDS = {
    f"{PAPER_NAMES[key]}, {model}" + (f", λ = {lam:g}" if lam != 10 else ""): (key, model, lam)
    for key, model, lam in OTHER_MODELS
}
MODELS_OF_SEEDS = {"SST, λ = 10": ("sst", "DP", 10.0)} | MODELS_OF_SEEDS


@reading
def patterns_are_similar(tables: Tables) -> Iterator[Part]:
    for name, where in MODELS_OF_SEEDS.items():
        rows = tables("sst_scores", lam=10.0, penalty=0) if where[1] == "DP" else wide(tables, *where)
        controls = control_rows(tables, where)
        for what, value in LEADS.items():
            part = exceeds(f"{name}: {what}", as_alike(value(rows)))
            null = against_null(controls, lambda some, value=value: as_alike(value(some))) if len(controls) else None
            yield replace(part, null=null)


def first_three(scores: str) -> Cases:
    """The data sets of Fig 2 at λ = 10."""
    others = {"IMDB": "imdb", "20News I": "20news-1"}
    return several(
        sst(10, case="SST"), lambda tables: [(name, wide(tables, key, scores=scores)) for name, key in others.items()]
    )


reads("figure_2_polarity", first_three("polarity"), lambda rows: opposed(rows, "polarity"), null=True)


@reading
def figure_2_neutral(tables: Tables) -> Iterator[Part]:
    for key in ("sst", "imdb", "20news-1"):
        values = ("p25", "mean", "p75")
        of = {value: wide(tables, key, scores="polarity", value=value) for value in values}
        neutral = {value: column(rows, "polarity neutral").abs() for value, rows in of.items()}
        polar = size(of["mean"], "polarity") if len(of["mean"]) else 1
        yield exceeds(PAPER_NAMES[key], SMALL - (neutral["p25"] + neutral["p75"]) / 2 / polar)
        yield exceeds(f"{PAPER_NAMES[key]}, mean of all", SMALL - neutral["mean"] / polar)


reads("figure_2_attention", first_three("attention"), lead, null=True)


reads("polar_attention_is_positive", several(cells(TEN, SHORT_TEN, NOISY), first_three("attention")), both, null=True)


@reading
def figure_3c(tables: Tables) -> Iterator[Part]:
    rows = wide(tables, "20news-2")
    classes = [column(rows, f"attention {name}") for name in ("rec.motorcycles", "sci.med", "talk.politics.guns")]
    null = panel_null(tables, ("20news-2", "DP", 10.0), "attention", lead_of)
    yield replace(exceeds("20News II", least(*classes) - column(rows, "attention neutral")), null=null)


@reading
def figure_4(tables: Tables) -> Iterator[Part]:
    for what, value in (("attention", lead), ("polarity", lambda rows: opposed(rows, "polarity"))):
        part = exceeds(f"SST, {what}", value(wide(tables, "sst", "AD", scores=what)))
        yield replace(part, null=null_of("SST, AD", tables, value))
