"""Chapter 20: what sentences of the papers since 2020 are held against."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from uaftc_lib.book.cases import SMALL, Part, Tables, exceeds
from uaftc_lib.book.chapters.since_2020 import biases, detection, lengths, polarity_first, selected
from uaftc_lib.book.claims import reading, reads
from uaftc_lib.book.readings import column, least, rows_of, several
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


FORETOLD = several(
    TRAINED,
    *(
        rows_of(f"{PAPER_NAMES[polarity_first.OF_CLASSES]}, λ = {lam:g}", "polarity_first_of_classes", lam=lam)
        for lam in polarity_first.LAMS
    ),
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
    FORETOLD,
    minus("τ a, |s| alone", "τ a, |s| alone of permuted labels", "τ a, frequency"),
)
reads(
    "attention_foretells_no_polarity",
    FORETOLD,
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


JOINT = several(
    rows_of("random problems", "learned_together", data=selected.RANDOM),
    rows_of("small Data I", "learned_together", data=selected.DATA_I),
)
BY_LENGTH = several(
    *(
        rows_of(f"{PAPER_NAMES[data]}, λ = {lam:g}", "weights_by_length", dataset=data, lam=lam)
        for data in polarity_first.DATASETS
        for lam in polarity_first.LAMS
    )
)
POLARISED = several(
    *(rows_of(f"random problems, {who}", "polarised", what=who) for who in biases.WHO),
    *(rows_of(f"small Data I, λ = {lam:g}", "polarised", what="everything", lam=lam) for lam in biases.LAMS),
)
HALF = 0.5  # of a rank correlation that is called an order, and of log n, where entropy counts as low
NEARLY = 0.9  # of the power one of 1/n

reads("votes_are_a_support_machine", JOINT, lambda rows: column(rows, "W at 1e+06") - SETTLED)
reads("supporting_texts_shape_attention", JOINT, minus("V at 1e+06", "V, programme of all texts"))
reads(
    "score_over_association_is_a_u",
    TRAINED,
    lambda rows: least(column(rows, "end: a, γ above zero"), -column(rows, "end: a, γ below zero")),
)
reads("one_step_tells_importance", TRAINED, lambda rows: column(rows, "first slope: s, signed frequency") - HALF)
reads("weights_disperse", BY_LENGTH, lambda rows: -NEARLY - column(rows, "power"))
reads("weights_polarise", POLARISED, lambda rows: HALF - column(rows, "entropy late"))


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


@reading
def normalised_steps_are_faster(tables: Tables) -> list[Part]:
    parts = []
    for who in biases.WHO:
        plain, even = (column(tables("rates", who=who, rule=rule), "off") for rule in biases.RULES)
        parts.append(exceeds(f"random problems, {who}", plain - even))
    return parts


@reading
def a_factor_flattens(tables: Tables) -> list[Part]:
    rows = [tables("factor_more", loss=biases.LOSSES[-1], model=name) for name in ("DP", "DP-A")]
    plain, more = (column(of, "ratio") for of in rows)
    return [exceeds("random problems", plain - more)]


@reading
def sharper_for_longer_texts(tables: Tables) -> list[Part]:
    parts = []
    for data, lam in product(lengths.AWARE_DATASETS, lengths.AWARE_LAMS):
        rows = (tables("length_aware", dataset=data, lam=lam, rule=rule) for rule in ("length", "fixed"))
        own, fixed = (column(of, "test") for of in rows)
        parts.append(exceeds(f"{PAPER_NAMES[data]}, λ = {lam:g}", own - fixed))
    return parts
