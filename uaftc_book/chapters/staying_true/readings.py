"""Chapter 15: what the claims of the papers that proposed the objectives are held against."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log

import pandas as pd

from uaftc_book.cases import Part, Tables, exceeds
from uaftc_book.chapters.staying_true import objectives
from uaftc_book.claims import reading
from uaftc_lib.locations import PAPER_NAMES

KEEP = ("[h; e]", "h + e", "tied", "masked words")  # Tutek & Šnajder's; the others are Mohankumar et al.'s
VARY = ("diverse", "orthogonal")


def parts_by_objective(
    tables: Tables,
    names: tuple[str, ...],
    above: Callable[[pd.DataFrame, pd.DataFrame], pd.Series],
    beside: str = "",
    datasets: Iterable[str] = tuple(objectives.WORD_LEVEL.usual),
) -> list[Part]:
    """A case for each data set and objective: ``above`` of the seeds without it and with it."""
    found = []
    for dataset in datasets:
        for name in objectives.variants(dataset):
            if name.partition(",")[0] in names:
                pair = (objectives.BASE, name)
                base, held = (objectives.seeds_of_variant(one, dataset, tables=tables) for one in pair)
                case = f"{PAPER_NAMES[dataset]}, {name}{beside}"
                found.append(exceeds(case, above(base, held) if len(base) and len(held) else []))
    return found


def change_by_seed(column: str, sign: float = 1.0) -> Callable[[pd.DataFrame, pd.DataFrame], pd.Series]:
    """What an objective adds to a number, seed by seed."""
    return lambda base, held: sign * (held[column] - base[column])


@reading
def states_tell_more(tables: Tables) -> list[Part]:
    return parts_by_objective(tables, KEEP, change_by_seed("told"))


@reading
def other_weights_harder(tables: Tables) -> list[Part]:
    return parts_by_objective(tables, KEEP, change_by_seed("exact JSD at 0.01", -1 / log(2)))


@reading
def attention_made_truer(tables: Tables) -> list[Part]:
    def beyond(_base: pd.DataFrame, held: pd.DataFrame) -> pd.Series:
        return objectives.beyond_spread(held, tables)

    at_the_same = parts_by_objective(tables, KEEP, beyond, ", same spread", ["sst"])
    return parts_by_objective(tables, KEEP, change_by_seed(objectives.LOO)) + at_the_same


@reading
def diverse_states_and_gradients(tables: Tables) -> list[Part]:
    return parts_by_objective(tables, VARY, change_by_seed("tau attention, gradient"))
