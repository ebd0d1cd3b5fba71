"""Chapter 15: what the claims of the papers that proposed the objectives are held against."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

import pandas as pd

from uaftc_lib.book.cases import Part, Tables, exceeds
from uaftc_lib.book.chapters.staying_true import objectives
from uaftc_lib.book.claims import reading
from uaftc_lib.locations import PAPER_NAMES

KEEP = ("concatenation", "residual", "tied", "masked")  # Tutek & Šnajder's; the others are Mohankumar et al.'s
VARY = ("diverse", "orthogonal")


def cases(tables: Tables, kinds: tuple[str, ...]) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """A case for each data set and objective that was run: its name, the seeds without, and with the objective."""
    for dataset, wanted in objectives.WORD_LEVEL.usual.items():
        for kind in kinds:
            if kind in wanted:
                pair = (objectives.rows_of(one, dataset, tables=tables) for one in ("base", kind))
                yield f"{PAPER_NAMES[dataset]}, {objectives.NAMES[kind]}", *pair


@reading
def states_tell_more(tables: Tables) -> list[Part]:
    return [exceeds(case, with_["told"] - base["told"]) for case, base, with_ in cases(tables, KEEP)]


@reading
def other_weights_harder(tables: Tables) -> list[Part]:
    far = "exact JSD at 0.01"
    return [exceeds(case, (base[far] - with_[far]) / log(2)) for case, base, with_ in cases(tables, KEEP)]


@reading
def attention_made_truer(tables: Tables) -> list[Part]:
    rows, loo = [*cases(tables, KEEP)], objectives.LOO
    found = [exceeds(case, with_[loo] - base[loo]) for case, base, with_ in rows]
    return found + [
        exceeds(f"{case}, same spread", objectives.beyond_spread(with_, tables))
        for case, _, with_ in rows
        if case.startswith("SST")
    ]


@reading
def diverse_states_and_gradients(tables: Tables) -> list[Part]:
    said = "tau attention, gradient"
    return [exceeds(case, with_[said] - base[said]) for case, base, with_ in cases(tables, VARY)]
