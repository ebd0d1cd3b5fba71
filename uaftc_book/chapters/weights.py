"""Chapter 11_weights: the weights of SST, and what Section 5 says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from uaftc_book.cases import Part, Tables, exceeds
from uaftc_book.chapters.scores.null_controls import PAIRS, at_loss, world
from uaftc_book.claims import reading, reads
from uaftc_book.controls import held_out_types
from uaftc_book.nulls import null_of
from uaftc_book.panels import weight_frame
from uaftc_book.readings import column, difference, lead, rows_of
from uaftc_book.small_data import SEEDS
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import train_real
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types, auc_of, examined_types

QUANTITIES = {  # of a word, and the column of weight_frame
    "equal share (length alone)": "expected",
    "weight": "weight",
    "weight / equal share": "times equal share",
    "attention score": "score",
}
RUNS = {"real": 10, "half": 10, "permuted": 40}


@experiment(jobs_over(lam=10.0, seed=SEEDS), rows=3)
def sst_weights(lam: float, seed: int) -> list[dict]:
    """SST: quartiles of the mean attention weight of each type on the test set, a row a type (Fig 5)."""
    dataset = load_dataset("sst")
    model, _ = train_real(dataset, lam=lam, seed=seed)
    frame = weight_frame(model, dataset, examined_types(dataset))
    quartiles = {"least": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "greatest": 1.0}
    return [
        {"type": name, "words": len(rows), **{key: rows["weight"].quantile(q) for key, q in quartiles.items()}}
        for name, rows in frame.groupby("type")
    ]


def quantities_told_apart(
    model: AttentionClassifier, dataset: Dataset, types: Types, split: str = "test"
) -> dict[str, dict[str, float]]:
    """How well each of :data:`QUANTITIES` tells two lists apart, among words that occur in a split."""
    words = weight_frame(model, dataset, types, split)
    ids = [dataset.vocabulary.id(word) for word in words["word"]]
    words["score"] = model.token_scores().attention[ids].double().numpy()
    words["times equal share"] = words["weight"] / words["expected"]
    return {
        name: {f"{high} over {low}": auc_of(words, column, high, low) for high, low in PAIRS}
        for name, column in QUANTITIES.items()
    }


@experiment(jobs=[{"labels": labels, "seed": s} for labels, n in RUNS.items() for s in range(n)])
def lists_by_weight(labels: str, seed: int) -> list[dict]:
    """SST at λ = 10, real, half and permuted labels, at equal loss: what tells lists apart, those of other texts too.

    Those of permuted labels are the lists of dev and test, whose labels stay as they are.
    """
    whole = load_dataset("sst")
    data, lists = world(whole, labels, seed)
    lists = {"training": lists["training"], "held out": lists.get("held out") or held_out_types(whole)}
    epoch, loss, seen = at_loss(
        data, labels, seed, lambda now: {n: quantities_told_apart(now, data, of) for n, of in lists.items()}
    )
    return [
        {"lists": name, "told by": quantity, "epoch": epoch, "loss": loss} | row
        for name, by in seen.items()
        for quantity, row in by.items()
    ]


def medians(tables: Tables) -> pd.DataFrame:
    """Median mean weight of each kind by seed: "weight positive", ..."""
    rows = tables("sst_weights", lam=10)
    return (
        rows.pivot(index="seed", columns="type", values="median").add_prefix("weight ").reset_index()
        if len(rows)
        else rows
    )


reads("figure_5_polar", lambda tables: [("SST", medians(tables))], lambda rows: lead(rows, "weight"), null=True)


@reading
def figure_5_order(tables: Tables) -> Iterator[Part]:
    for case, name, rows in (
        ("SST, median weight", "weight", medians(tables)),
        ("SST, attention score", "attention", tables("sst_scores", lam=10, penalty=0)),
    ):
        part = exceeds(case, -difference(rows, name))
        yield replace(part, null=null_of("SST", tables, lambda rows, name=name: -difference(rows, name)))


reads(
    "figure_5_outliers",
    rows_of("SST", "sst_weights", lam=10, type="neutral"),
    lambda rows: column(rows, "greatest") - 2.5 * column(rows, "q3") + 1.5 * column(rows, "q1"),
)


PROGRESS = rows_of("SST", "held_out_words", labels="real", moment="kept")
reads("progress_is_negative", PROGRESS, lambda rows: -pd.concat(scores_of_progress(rows), axis=1).max(axis=1))
reads(
    "progress_leads",
    PROGRESS,
    lambda rows: scores_of_progress(rows)[-1] - pd.concat(scores_of_progress(rows)[:-1], axis=1).max(axis=1),
)


def scores_of_progress(rows: pd.DataFrame) -> list[pd.Series]:
    """The attention scores of the text "is this progress", by seed."""
    return [column(rows, f"attention {word}") for word in ("is", "this", "progress")]
