"""Chapter 16: the slider over λ: the scores of words that were never seen in training."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import pandas as pd

from uaftc_book.chapters.pretrained.initialisations import vectors_are_there
from uaftc_book.chapters.pretrained.unseen_words import path_of_unseen, shown_at
from uaftc_book.lab import Frame, Slider, Stop
from uaftc_book.lab.frames import counts, draw_scores
from uaftc_lib.experiments.registry import stored
from uaftc_lib.locations import results_folder
from uaftc_lib.plots import Figure, scatter
from uaftc_lib.plots.summaries import number

FIRST = 10.0  # the λ that is shown first


def unseen_scores(dataset: str) -> dict[float, pd.DataFrame]:
    """λ -> a row for each unseen word of the lists: word, kind, its scores by vector and by a model that saw it."""
    kept = json.loads(path_of_unseen(results_folder(), dataset).read_text(encoding="utf-8"))
    return {frame["lam"]: pd.DataFrame(frame["words"]) for frame in kept}


def frame_of_unseen(lam: float, words: pd.DataFrame) -> Frame:
    """The scores by vector as a picture of the lab."""
    of_kind = {kind: rows for kind, rows in words.groupby("kind")}
    scores = [
        {kind: rows[f"{name} unseen"].tolist() for kind, rows in of_kind.items()} for name in ("polarity", "attention")
    ]
    means = {
        kind: (rows["polarity unseen"].mean(), rows["attention unseen"].mean(), len(rows))
        for kind, rows in of_kind.items()
    }
    return Frame(lam, math.nan, math.nan, 0, *scores, means)


def draw_agreement(words: pd.DataFrame, says: str) -> Figure:
    """Polarity by vector against that of a model that saw the word: a dot a word."""
    return scatter(
        words, "polarity unseen", "polarity read", "kind", says, x_label="polarity by its vector",
        y_label="of a model that saw it", raster=False,
    )  # fmt: skip


def stop_of(lam: float, words: pd.DataFrame, told: Mapping[str, object]) -> Stop:
    """Both pictures at a λ, and what they show in numbers."""
    says = (
        f"λ = {number(lam)}: {len(words)} words that stand in no training text. A positive one has more polarity "
        f"than a negative one in {told['unseen: positive over negative']:.0%} of the pairs, a polar one more "
        f"attention than a neutral one in {told['unseen: polar over neutral']:.0%}; rank correlation with a "
        f"model that saw them, of what was gained: polarity {number(told['polarity'])}, attention "
        f"{number(told['attention'])}."
    )
    pictures = draw_scores(frame_of_unseen(lam, words)), draw_agreement(words, says)
    return Stop(lam, "".join(picture.drawings() for picture in pictures), says)


def unseen_slider(dataset: str) -> Slider:
    """A slider over the stored λ; a live kernel trains both models at any other, once the vectors are there."""
    frames, told = unseen_scores(dataset), stored("unseen_frames", dataset=dataset).set_index("lam")
    stops = [stop_of(lam, words, told.loc[lam].to_dict()) for lam, words in frames.items()]

    def trained(lam: float) -> str:
        words, row = shown_at(dataset, lam)
        return stop_of(lam, pd.DataFrame(words), row).html()

    shown, redraw = list(frames).index(FIRST), trained if vectors_are_there() else None
    return Slider("scaling factor", "λ", stops, shown, redraw, counts(frame_of_unseen(FIRST, frames[FIRST])))
