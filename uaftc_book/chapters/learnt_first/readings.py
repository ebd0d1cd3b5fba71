"""Chapter 23: what sentences on what is learnt first, and on the length of texts, are held against."""

from __future__ import annotations

from itertools import product

import numpy as np

from uaftc_book.cases import SMALL, Part, Tables, exceeds
from uaftc_book.chapters.learnt_first import detection, full_batches, lengths, polarity_first
from uaftc_book.chapters.learnt_first.full_batches import ARMS, PERMUTED
from uaftc_book.claims import reading, reads
from uaftc_book.readings import column, least, minus, rows_of, several
from uaftc_lib.locations import PAPER_NAMES

HALF = 0.5  # of a rank correlation: above it there is an order
NEARLY = 0.9  # of the power one of 1/n
TRAINED = several(
    *(
        rows_of(f"{PAPER_NAMES[data]}, λ = {lam:g}", "polarity_first", dataset=data, lam=lam)
        for data in polarity_first.DATASETS
        for lam in polarity_first.LAMS
    )
)
FORETOLD = several(
    TRAINED,
    *(
        rows_of(f"{PAPER_NAMES[polarity_first.OF_CLASSES]}, λ = {lam:g}", "polarity_first_of_classes", lam=lam)
        for lam in polarity_first.LAMS
    ),
)
BY_LENGTH = several(
    *(
        rows_of(f"{PAPER_NAMES[data]}, λ = {lam:g}", "weights_by_length", dataset=data, lam=lam)
        for data in polarity_first.DATASETS
        for lam in polarity_first.LAMS
    )
)

reads(
    "order_of_signed_frequency",
    TRAINED,
    minus("end: s, signed frequency", "end: s, signed frequency of permuted labels"),
)
reads(
    "polarity_foretells_attention",
    FORETOLD,
    minus("τ a, |s| alone", "τ a, |s| alone of permuted labels", "τ a, frequency"),
)
reads(
    "attention_foretells_no_polarity",
    FORETOLD,
    minus("τ a at the end, |s| of the first epoch", "τ |s| at the end, a of the first epoch"),
)
reads(
    "score_over_association_is_a_u",
    several(
        *(
            rows_of(f"{PAPER_NAMES[data]}, λ = {lam:g}{how}", table, dataset=data, lam=lam)
            for table, sets, how in (
                ("u_of_full_batches", full_batches.RATES, ", full batches"),
                ("u_of_permuted_labels", polarity_first.DATASETS, ""),
            )
            for data, lam in product(sets, polarity_first.LAMS)
        )
    ),
    lambda rows: least(*(sign * (column(rows, arm) - column(rows, PERMUTED + arm)) for arm, sign in ARMS.items())),
)
reads("one_step_tells_importance", TRAINED, lambda rows: column(rows, "first slope: s, signed frequency") - HALF)
reads("weights_disperse", BY_LENGTH, lambda rows: -NEARLY - column(rows, "power"))


@reading
def attention_needs_less_strength(tables: Tables) -> list[Part]:
    rows = tables("needle_strengths")
    if not len(rows):
        return [exceeds("Data III", [])]
    found = detection.thresholds(rows).dropna()
    power = {name: of.groupby("seed").apply(detection.exponent) for name, of in found.groupby("pooling")}
    attention, pooled = (power[name] for name in detection.POOLINGS)
    return [exceeds("Data III", np.asarray(pooled - attention))]


@reading
def no_attention_without_telling_words(tables: Tables) -> list[Part]:
    parts = []
    for lam in polarity_first.LAMS:
        gains = {}
        for signal in ("words", "pairs"):
            rows = tables("signal_in_pairs", signal=signal, lam=lam)
            gains[signal] = (
                column(rows, "share") / column(rows, "share at first") - 1 if len(rows) else column(rows, "")
            )
        parts.append(exceeds(f"Data IV, λ = {lam:g}", SMALL * gains["words"] - gains["pairs"]))
    return parts


@reading
def strength_grows_with_the_logarithm(tables: Tables) -> list[Part]:
    rows = tables("needle_strengths")
    if not len(rows):
        return [exceeds("Data III", [])]
    found = detection.thresholds(rows).dropna()
    better = {
        name: np.array([detection.logarithm_over_power(own) for _, own in of.groupby("seed") if len(own) > 2])
        for name, of in found.groupby("pooling")
    }
    return [exceeds("Data III", better[detection.POOLINGS[0]])]


def gains(tables: Tables, name: str, rule: str) -> list[Part]:
    """What a λ that falls with the length changes of a column, beside another rule."""
    parts = []
    for data, lam in product(lengths.DATASETS, lengths.AWARE_LAMS):
        own, other = (tables("length_aware", dataset=data, lam=lam, rule=one) for one in ("length", rule))
        parts.append(exceeds(f"{PAPER_NAMES[data]}, λ = {lam:g}", column(own, name) - column(other, name)))
    return parts


@reading
def sharper_for_longer_texts(tables: Tables) -> list[Part]:
    return gains(tables, "test", "fixed")


@reading
def temperature_sharpens(tables: Tables) -> list[Part]:
    return gains(tables, "power", "dealt")
