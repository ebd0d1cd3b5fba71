"""Frames of what no page should train, made once and kept in book/results.

``uaftc tables frames`` is about them; to make them takes about two minutes on one core. Their settings are those of
the grid ``table2`` (what the paper's authors released, and what the search found), but for the epochs; frames.csv,
beside them, holds for each frame its whole configuration, and with what it was made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from uaftc_book.lab import Frame, LambdaSlider, train_frame
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.cells import Cell, cells_of, load_grid
from uaftc_lib.experiments.registry import experiment
from uaftc_lib.locations import replaced, results_folder
from uaftc_lib.models import model_arguments

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


def stored_slider(dataset: str, model: str, start: float | None = None) -> LambdaSlider:
    """The λ slider over the stored frames; in a live kernel too it switches them, and trains nothing.

    Raises
    ------
    ValueError
        If none is stored for this data set and model.
    """
    slider_cells(dataset, model)
    return LambdaSlider(kept_frames(path_of(dataset, model)), start=start)


def keep_frames(frames: Iterable[Frame], path: Path) -> None:
    """Keep frames as JSON, so that a page can be drawn again without training."""
    rows = (json.dumps(asdict(frame), ensure_ascii=False) for frame in frames)
    path.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


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
    with replaced(path) as part:
        keep_frames(made, part)
    return [{"file": path.name} | asdict(cell) for cell in runs]
