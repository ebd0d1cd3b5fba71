"""The phase diagram that chapter 21 solves in the page: what it needs, and the same solver in Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float

from uaftc_book.chapters.exact_dynamics import growing_vector
from uaftc_book.chapters.which_lambda.phase_plane import KEPT, STEPS_PER_TIME, PhasePlane
from uaftc_book.mean_field import MeanField
from uaftc_book.small_data import RANGES, WHOLE_STEPS, initial_model, set_cosine
from uaftc_lib.corpus import Dataset
from uaftc_lib.scores import KINDS, examined_types

SHOWN = 3  # seeds of each range, those of the figure above
SCALE = 100  # a stored score is kept as a whole number, of λ times the score
OUTCOMES = {(True, True): "w", (False, True): "p", (True, False): "n", (False, False): "b"}  # who ends above


def turned(gram: Float[np.ndarray, "rows rows"], cosine: float) -> Float[np.ndarray, "rows rows"]:
    """Inner products of [means; V; W] after W, perpendicular to V before, is turned to this cosine, its length kept."""
    turn = np.eye(len(gram))
    turn[-1, -2:] = cosine * np.sqrt(gram[-1, -1] / gram[-2, -2]), np.sqrt(1 - cosine**2)
    return turn @ gram @ turn.T


def in_equal_steps(
    field: MeanField, start: Float[np.ndarray, "rows rows"], lam: float, time: float
) -> Float[np.ndarray, "moments rows rows"]:
    """:meth:`MeanField.flow` by Runge and Kutta's classical method, as the page has it (lab/js/flow.js)."""
    kinds, steps = len(field.types), round(STEPS_PER_TIME * time)
    size, every = time / steps, steps // KEPT
    S = np.zeros_like(start)

    def derivative(G):
        pi, rho = field.sums(G[:kinds, -2] / lam, G[:kinds, -1])
        S[:kinds, -2], S[:kinds, -1] = rho / lam, pi
        S[-2, :kinds], S[-1, :kinds] = field.types * rho / lam, field.types * pi
        SG = S @ G
        return SG + SG.T

    G, kept = start, [start]
    for step in range(1, steps + 1):
        a = derivative(G)
        b = derivative(G + size / 2 * a)
        c = derivative(G + size / 2 * b)
        G = G + size / 6 * (a + 2 * b + 2 * c + derivative(G + size * c))
        if step % every == 0:
            kept.append(G)
    return np.array(kept)


@torch.no_grad()
def perpendicular(dataset: Dataset, field: MeanField, weight_range: float, seed: int) -> dict[str, list[float]]:
    """Of vectors with V ⟂ W the inner products (upper triangle), and those of V, W and p₀ with p₀, by which W grows."""
    begin = set_cosine(initial_model(dataset, weight_range=weight_range, seed=seed), 0.0)
    p = growing_vector(begin, dataset.train) - begin.W
    gram = field.start(begin, list(examined_types(dataset).values()))
    products = [float(one.double() @ p.double()) for one in (begin.V, begin.W, p)]
    return {"gram": gram[np.triu_indices(len(gram))].tolist(), "p": products}


def live_phase(dataset: Dataset, field: MeanField, runs: pd.DataFrame) -> PhasePlane:
    """The live figure over stored runs.

    Parameters
    ----------
    runs : DataFrame
        ``exact_phase``, and "middle": that of each seed's band by the grown W.

    Raises
    ------
    ValueError
        If the runs of some seed are not on one grid of λ and cosine.
    """
    lams, cosines = (sorted(runs[name].unique().tolist()) for name in ("lam", "cosine"))
    places = pd.MultiIndex.from_product([lams, cosines])
    ranges = []
    for reach, longer in RANGES.items():
        initialisations, outcomes = [], []
        for seed, rows in runs[runs["weight_range"] == reach].groupby("seed"):
            rows = rows.set_index(["lam", "cosine"])
            if len(rows) != len(places) or not places.isin(rows.index).all():
                raise ValueError(f"W₀ within ±{reach:g}, seed {seed}: the runs are not one for each λ and cosine")
            a = rows.loc[places, [f"attention {kind}" for kind in KINDS]].to_numpy()
            outcomes.append("".join(OUTCOMES[tuple(above)] for above in (a[:, :2] > a[:, 2:]).tolist()))
            if seed < SHOWN:
                ends = np.rint(SCALE * a * places.get_level_values(0).to_numpy()[:, None]).astype(int)
                initial = perpendicular(dataset, field, reach, int(seed))
                initialisations.append(
                    initial | {"middle": float(rows["middle"].iloc[0]), "ends": ends.ravel().tolist()}
                )
        ranges.append(
            {"reach": reach, "time": WHOLE_STEPS * longer, "initialisations": initialisations, "outcomes": outcomes}
        )
    of_field = {name: getattr(field, name).tolist() for name in ("types", "patterns", "signs", "shares")}
    return PhasePlane(of_field, lams, cosines, ranges, SCALE)
