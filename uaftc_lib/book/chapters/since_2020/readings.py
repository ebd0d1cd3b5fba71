"""Chapter 20: what sentences of the papers since 2020 are held against."""

from __future__ import annotations

import numpy as np
import pandas as pd

from uaftc_lib.book.cases import Part, Tables, exceeds
from uaftc_lib.book.chapters.since_2020 import detection, polarity_first, selected
from uaftc_lib.book.claims import reading, reads
from uaftc_lib.book.readings import column, rows_of, several
from uaftc_lib.locations import PAPER_NAMES

SETTLED = 0.999  # a cosine above it is that of one direction
FIFTY = rows_of("random problems", "words_selected", data=selected.RANDOM)
ON_WORDS = several(
    *(rows_of(f"SST, {n} texts", "words_selected", data=selected.SST, texts=n) for n in selected.SST_TEXTS)
)
TRAINED = several(
    *(
        rows_of(f"{PAPER_NAMES[data]}, λ = {lam:g}", "polarity_first", dataset=data, lam=lam)
        for data in polarity_first.DATASETS
        for lam in polarity_first.LAMS
    )
)


def minus(one: str, *others: str) -> object:
    """A function of rows: a column minus the largest of others."""
    return lambda rows: column(rows, one) - pd.concat([column(rows, name) for name in others], axis=1).max(axis=1)


def settled(rows: pd.DataFrame) -> pd.Series:
    """By how much the cosine with the programme exceeds :data:`SETTLED`."""
    return column(rows, "cosine") - SETTLED


reads(
    "direction_of_greatest_margin",
    several(FIFTY, rows_of("small Data I", "words_selected", data=selected.DATA_I), ON_WORDS),
    settled,
)
reads("predictive_words_selected", several(FIFTY, ON_WORDS), minus("best", "any word"))
reads(
    "order_of_signed_frequency",
    TRAINED,
    minus("end: s, signed frequency", "end: s, signed frequency of permuted labels"),
)
reads(
    "polarity_foretells_attention",
    TRAINED,
    minus("τ a, |s| alone", "τ a, |s| alone of permuted labels", "τ a, frequency"),
)
reads(
    "attention_foretells_no_polarity",
    TRAINED,
    minus("τ a at the end, |s| of the first epoch", "τ |s| at the end, a of the first epoch"),
)


@reading
def attention_needs_less_strength(tables: Tables) -> list[Part]:
    rows = tables("needle_strengths")
    if not len(rows):
        return [exceeds("Data III", [])]
    found = detection.thresholds(rows).dropna()
    power = {name: of.groupby("seed").apply(detection.exponent) for name, of in found.groupby("pooling")}
    attention, pooled = (power[name] for name in detection.POOLINGS)
    return [exceeds("Data III", np.asarray(pooled - attention))]
