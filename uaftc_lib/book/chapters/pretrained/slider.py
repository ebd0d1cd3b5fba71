"""Chapter 16: the slider over λ: the scores of words that were never read."""

from __future__ import annotations

import json
import math

import pandas as pd

from uaftc_lib.book.chapters.pretrained.unseen_words import path_of_unseen
from uaftc_lib.experiments.registry import stored
from uaftc_lib.lab import Frame, Slider, Stop, svg
from uaftc_lib.lab.frames import draw_scores, legend
from uaftc_lib.locations import results_folder

FIRST = 10.0  # the λ that is shown first


def unseen_scores(dataset: str) -> dict[float, pd.DataFrame]:
    """λ -> a row for each unseen word of the lists: word, kind, its scores by vector and by a model that read it."""
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


def draw_agreement(words: pd.DataFrame) -> str:
    """Polarity by vector against that of a model that read the word: a dot a word."""
    told, read = words["polarity unseen"], words["polarity read"]
    x, y = svg.plane(svg.padded([*told, 0]), svg.padded([*read, 0]))
    parts = [svg.axes(x, y, "polarity by its vector", "polarity of a model that read it")]
    for kind, rows in words.groupby("kind"):
        parts.append(svg.dots(map(x, rows["polarity unseen"]), map(y, rows["polarity read"]), kind))
    return svg.picture("".join(parts), "Polarity of unseen words by their vectors, and by a model that read them")


def unseen_slider(dataset: str) -> Slider:
    """A slider over the stored λ, with what each shows in numbers."""
    frames = unseen_scores(dataset)
    told = stored("unseen_frames", dataset=dataset).set_index("lam")
    drawn = {lam: frame_of_unseen(lam, words) for lam, words in frames.items()}
    stops = [
        Stop(
            lam,
            draw_scores(drawn[lam]) + draw_agreement(words),
            f"λ = {svg.axis_number(lam)}: {len(words)} words that no training text held. A positive one has more "
            f"polarity than a negative one in {told['unseen: positive over negative'][lam]:.0%} of the pairs, "
            f"a polar one more attention than a neutral one in {told['unseen: polar over neutral'][lam]:.0%}; "
            f"rank correlation with a model that read them, of what was gained: polarity "
            f"{svg.axis_number(told['polarity'][lam])}, attention {svg.axis_number(told['attention'][lam])}.",
        )
        for lam, words in frames.items()
    ]
    return Slider("scaling factor", "λ", stops, list(frames).index(FIRST), legend=legend(drawn[FIRST]))
