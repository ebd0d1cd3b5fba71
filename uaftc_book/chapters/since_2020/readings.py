"""Chapter 20: what sentences on the word that attention chooses are held against."""

from __future__ import annotations

import pandas as pd

from uaftc_book.cases import Part, Tables, exceeds
from uaftc_book.chapters.since_2020 import biases, first_step, selected
from uaftc_book.claims import reading, reads
from uaftc_book.readings import column, minus, rows_of, several

SETTLED = 0.999  # a cosine above it is that of one direction
HALF = 0.5  # of log n: below it entropy counts as low
FIFTY = rows_of("random problems", "words_selected", data=selected.RANDOM)
ON_WORDS = several(
    *(rows_of(f"SST, {n} texts", "words_selected", data=selected.SST, texts=n) for n in selected.SST_TEXTS)
)

JOINT = several(
    rows_of("random problems", "learned_together", data=selected.RANDOM),
    rows_of("small Data I", "learned_together", data=selected.DATA_I),
)
POLARISED = several(
    *(rows_of(f"random problems, {who}", "polarised", what=who) for who in biases.WHO),
    *(rows_of(f"small Data I, λ = {lam:g}", "polarised", what="everything", lam=lam) for lam in biases.LAMS),
)


def settled(rows: pd.DataFrame) -> pd.Series:
    """By how much the cosine with the programme exceeds :data:`SETTLED`."""
    return column(rows, "cosine") - SETTLED


reads(
    "direction_of_greatest_margin",
    several(FIFTY, rows_of("small Data I", "words_selected", data=selected.DATA_I), ON_WORDS),
    settled,
)
reads("votes_are_a_support_machine", JOINT, lambda rows: column(rows, "W at 1e+06") - SETTLED)
reads("supporting_texts_shape_attention", JOINT, minus("V at 1e+06", "V, programme of all texts"))
reads("weights_polarise", POLARISED, lambda rows: HALF - column(rows, "entropy late"))


@reading
def predictive_words_selected(tables: Tables) -> list[Part]:
    """From embeddings of ten epochs the best word; from those of one step, the theorem's, that of signed frequency."""
    best = minus("best", "any word")
    parts = [exceeds(case, best(rows)) for case, rows in several(FIFTY, ON_WORDS)(tables)]
    for n in first_step.SST_TEXTS:
        after = {"data": selected.SST, "texts": n, "length": first_step.STEP, "variant": first_step.PLAIN}
        real, dealt = (tables("selected_after_a_step", labels=labels, **after) for labels in first_step.LABELS)
        by_chance = pd.concat([column(real, "any word"), column(dealt, "most frequent")], axis=1).max(axis=1)
        parts.append(exceeds(f"SST, {n} texts, after one step", column(real, "most frequent") - by_chance))
    return parts


@reading
def normalised_steps_are_faster(tables: Tables) -> list[Part]:
    parts = []
    for who in biases.WHO:
        plain, even = (biases.to_be_had(tables("rates", who=who, rule=rule)) for rule in biases.RULES)
        parts.append(exceeds(f"random problems, {who}", (column(plain, "off") - column(even, "off")).dropna()))
    return parts


@reading
def a_factor_flattens(tables: Tables) -> list[Part]:
    plain, more = (tables("factor_more", loss=biases.LOSSES[-1], model=name) for name in ("DP", "DP-A"))
    flatter, less = (column(plain, name) - column(more, name) for name in ("ratio", "nuclear"))
    return [
        exceeds("random problems, nuclear norm", less / column(plain, "nuclear")),
        exceeds("random problems, second singular value", flatter),
    ]
