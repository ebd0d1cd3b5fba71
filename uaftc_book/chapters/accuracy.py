"""Chapter 06_accuracy: what λ does to accuracy (Table 2), and what Section 5 says of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

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
from uaftc_book.lab import Frame, Slider, train_frame
from uaftc_book.numbers import number
from uaftc_book.readings import HUGE, not_made
from uaftc_book.wording import short, with_interval
from uaftc_lib import files, plots
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.cells import Cell, cells_of, load_grid
from uaftc_lib.experiments.registry import experiment
from uaftc_lib.locations import PAPER_NAMES, published, results_folder
from uaftc_lib.models import model_arguments
from uaftc_lib.plots.figure import render
from uaftc_lib.plots.theme import INK, series_style
from uaftc_lib.settings import PAPER_MODELS

# ---
# Frames of what no page should train, made once and kept in book/results.
#
# ``uaftc tables frames`` is about them; to make them takes about two minutes on one core. Their settings are those of
# the grid ``table2`` (what the paper's authors released, and what the search found), but for the epochs; frames.csv,
# beside them, holds for each frame its whole configuration, and with what it was made.


# (data set, model) -> epochs: fewer than Table 2 takes, enough for the scores to take their places.
STORED = {("sst", "DP-L"): 6, ("imdb", "DP"): 4}
LAMS = [0.1, 1, 10, 30, 100, 1000]


def slider_cells(dataset: str, model: str) -> list[Cell]:
    """The runs behind a stored slider: those of Table 2, seed 0, with fewer epochs.

    Raises
    ------
    ValueError
        If none is stored for this data set and model.
    """
    if (dataset, model) not in STORED:
        known = ", ".join(f"{model} on {dataset}" for dataset, model in STORED)
        raise ValueError(f"no frames are stored for {model} on {dataset}; there are {known}")
    grid = load_grid("table2")
    return cells_of(grid, dataset=dataset, model=model, lam=LAMS, seeds=1, epochs=STORED[dataset, model])


def frame_of(cell: Cell) -> Frame:
    """Train one cell and keep its scores."""
    sizes = {name: getattr(cell, name) for name in ("dimension", "hidden", "seed", "embedding_range", "weight_range")}
    return train_frame(load_dataset(cell.dataset), cell.lam, cell.training(), **sizes, **model_arguments(cell.model))


def stored_slider(dataset: str, model: str, start: float = 10) -> Slider:
    """The λ slider over the stored frames; in a live kernel too it switches them, and trains nothing.

    Raises
    ------
    ValueError
        If none is stored for this data set and model.
    """
    slider_cells(dataset, model)
    return Slider.over(kept_frames(path_of(dataset, model)), start)


def keep_frames(frames: Iterable[Frame], path: Path) -> None:
    """Keep frames as JSON, so that a page can be drawn again without training."""
    rows = (json.dumps(asdict(frame), ensure_ascii=False) for frame in frames)
    files.write(path, "[\n" + ",\n".join(rows) + "\n]\n")


def kept_frames(path: Path) -> list[Frame]:
    """What :func:`keep_frames` kept."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    return [Frame(**one | {"means": {kind: tuple(of) for kind, of in one["means"].items()}}) for one in stored]


def path_of(dataset: str, model: str):
    """Where the frames are kept."""
    return results_folder() / f"frames_{dataset}_{model}.json"


@experiment(jobs=[{"dataset": dataset, "model": model} for dataset, model in STORED], rows=len(LAMS))
def frames(dataset: str, model: str, folder: Path) -> list[dict]:
    """What the λ sliders over stored frames show, in a file beside the table: two models that no page should train."""
    path, runs = folder / path_of(dataset, model).name, slider_cells(dataset, model)
    made = [frame_of(cell) for cell in runs]
    keep_frames(made, path)
    return [{"file": path.name} | asdict(cell) for cell in runs]


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
