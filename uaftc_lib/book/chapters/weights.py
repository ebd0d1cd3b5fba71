"""Chapter 11_weights: the weights of SST, and what Section 5 says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from uaftc_lib.book.cases import Part, Tables, exceeds
from uaftc_lib.book.claims import reading, reads
from uaftc_lib.book.nulls import null_of
from uaftc_lib.book.panels import weight_frame
from uaftc_lib.book.readings import column, difference, lead, rows_of
from uaftc_lib.book.small_data import SEEDS
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment
from uaftc_lib.experiments.table2 import train_real
from uaftc_lib.scores import examined_types


@experiment(jobs=[{"lam": 10.0, "seed": s} for s in SEEDS], rows=3)
def sst_weights(lam: float, seed: int) -> list[dict]:
    """SST: quartiles of the mean attention weight of each type on the test set, a row a type (Fig 5)."""
    dataset = load_dataset("sst")
    model, _ = train_real(dataset, lam=lam, seed=seed)
    frame = weight_frame(model, dataset, examined_types(dataset))
    quartiles = {"least": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "greatest": 1.0}
    return [
        {
            "type": name,
            "words": len(rows),
            **{key: rows["weight"].quantile(q) for key, q in quartiles.items()},
        }
        for name, rows in frame.groupby("type")
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
