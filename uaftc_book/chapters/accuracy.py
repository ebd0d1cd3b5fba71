"""Chapter 06_accuracy: what λ does to accuracy (Table 2), and what Section 5 says of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from uaftc_book import rules
from uaftc_book.accuracies import (
    ALLOWED_OUTSIDE,
    LARGE,
    SMALL_LAMS,
    columns_of,
    cost_of_huge,
    cost_of_small,
    harmlessness,
    is_complete,
    splits_compared,
)
from uaftc_book.cases import OPEN, TOO_FEW, Part, Tables, contrast
from uaftc_book.claims import reading
from uaftc_book.numbers import number
from uaftc_book.readings import HUGE, not_made
from uaftc_book.wording import short, with_interval
from uaftc_lib import plots
from uaftc_lib.locations import PAPER_NAMES, published
from uaftc_lib.plots.figure import render
from uaftc_lib.plots.theme import INK, series_style
from uaftc_lib.settings import PAPER_MODELS


def by_vote(pairs: pd.DataFrame) -> str:
    """The test that was registered first, beside: in how many pairs the majority of the seeds differs beyond chance."""
    return f" (pairs that count by vote: {pairs.counts.sum()} of {len(pairs)})"


def small_lam_hurts(model: str):
    """Small λ against the mean of all λ ≥ 10: a case for each column and small λ."""

    def parts(tables: Tables) -> Iterator[Part]:
        for name, found in columns_of(tables, model):
            if found is None:
                yield not_made(name)
                continue
            for lam in SMALL_LAMS:
                pairs = found.pairs[(found.pairs.lam == lam) & (found.pairs.against >= LARGE)]
                yield contrast(f"{name}, λ = {lam:g}", cost_of_small(found, lam), by_vote(pairs))

    return parts


reading(small_lam_hurts("DP"), "small_lam_is_worse")
reading(small_lam_hurts("DP-A"), "lam_is_crucial_with_affine")
reading(small_lam_hurts("DP-L"), "lam_is_crucial_with_lstm")


def on_other_splits(tables: Tables) -> Part:
    """Contradicted if λ = 10,000 is the worse one of some pair, beyond chance for all pairs together."""
    case, found = "20News II, DP, other splits", splits_compared(tables)
    if not len(found):
        return not_made(case)
    worst = found.loc[(found.points / (found.high - found.low)).idxmin()]
    counts = (found.p < rules.SIGNIFICANCE) & (found.points < 0)
    verdict = "contradicted" if counts.any() else "supported" if found.equivalent.all() else "undecided"
    against = ((with_interval(row.points, row.low, row.high), row.lam) for row in found.itertuples())
    told = "; ".join(f"{points} points against {lam:g}" for points, lam in against)
    n = int(worst.splits)
    told = f"{told}; {counts.sum()} of {len(found)} count, {n} splits"
    return Part(case, verdict, told, n, number(rules.Interval(worst.points, worst.low, worst.high, n), of="splits"))


@reading
def proper_lam_is_best(tables: Tables) -> Iterator[Part]:
    for name, found in columns_of(tables, "DP"):
        if found is None:
            yield not_made(name)
            continue
        told = f"; best on dev: λ = {found.moderate_best:g}; as an optimum among all from 10 on: {found.optimum}"
        yield contrast(name, cost_of_huge(found), told)


@reading
def huge_lam_is_harmless(tables: Tables) -> Iterator[Part]:
    for name, found in columns_of(tables, "DP"):
        if found is None:
            yield not_made(name)
            continue
        pairs = found.pairs[(found.pairs.against == HUGE) & (found.pairs.lam >= LARGE)]
        cost = cost_of_huge(found)
        told = f"; it costs {with_interval(*rules.crossed(100 * cost)[:3])} points{by_vote(pairs)}"
        yield contrast(name, harmlessness(cost, found), told)
    yield on_other_splits(tables)


@reading
def table_2(tables: Tables) -> Iterator[Part]:
    printed = published("table2").set_index(["dataset", "model", "scaling_factor"]).sort_index()
    printed = printed.test_accuracy_percent / 100
    runs = tables("table2")
    for key, title in PAPER_NAMES.items():
        for model in PAPER_MODELS:
            rows = runs[(runs.dataset == key) & (runs.model == model)] if len(runs) else runs
            if not is_complete(rows):
                yield not_made(f"{title}, {model}")
                continue
            of = printed[title, model]
            further = {lam: rules.further_run(cell.test_accuracy.to_numpy()) for lam, cell in rows.groupby("lam")}
            outside = [lam for lam, run in further.items() if not run.low <= of[lam] <= run.high]
            found = f"{len(further) - len(outside)} of {len(further)} printed values are as one further run could be"
            if outside:
                apart = (f"{short(100 * (further[lam].mean - of[lam]))} at λ = {lam:g}" for lam in outside)
                found += f"; ours less print, in points: {', '.join(apart)}"
            n = min(run.n for run in further.values())
            verdict = "contradicted" if len(outside) >= ALLOWED_OUTSIDE else "supported"
            few = n < rules.LEAST_SEEDS
            yield Part(f"{title}, {model}", OPEN if few else verdict, f"{found}; {n} seeds{TOO_FEW * few}", n)


LINEAR = 2.0  # points
TICKS = (-40, -10, -2, -1, 0, 1, 2, 10, 40)


def ours_less_print(cells: pd.DataFrame, title: str) -> plots.Figure:
    """The cells of a data set (of ``beside_print``): ours − published in points, with prediction intervals, by λ.

    The scale is linear within ±:data:`LINEAR` points and logarithmic beyond: at the smallest λ runs differ by tens.
    """
    names, places = [name for name in PAPER_MODELS if name in set(cells.model)], sorted(cells.lam.unique())

    def draw(axes: Axes) -> list:
        axes.axhline(0, color=INK, linewidth=0.8)
        handles = []
        for i, name in enumerate(names):
            rows, (color, marker, _) = cells[cells.model == name], series_style(name, names)
            at = np.array([places.index(value) for value in rows.lam]) + 0.18 * (i - (len(names) - 1) / 2)
            off = [rows.difference - rows.least, rows.most - rows.difference]
            handles.append(
                axes.errorbar(at, rows.difference, off, fmt=marker, color=color, markersize=4,
                              elinewidth=1.2, label=name)
            )  # fmt: skip
        axes.set_yscale("symlog", linthresh=LINEAR)
        axes.set_yticks(TICKS, [f"{tick:+g}".replace("-", "−") if tick else "0" for tick in TICKS], minor=False)
        axes.set_xticks(range(len(places)), ["10⁴" if value == 1e4 else f"{value:g}" for value in places])
        return handles

    outside = int(cells.missed.sum())
    alt = f"{title}: {len(cells)} cells by λ and model; the interval of {outside} does not reach zero."
    labels = {"x_label": "scaling factor λ", "y_label": "ours − published, points", "title": title}
    return render(draw, cells, f"{title}: ours − published.", alt, **labels)
