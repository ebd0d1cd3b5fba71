"""Chapter 04_which_lambda: the upper end of λ, the live phase diagram, and small λ."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_book.cases import SMALL
from uaftc_book.claims import reads
from uaftc_book.equations import relative_error
from uaftc_book.flat_flow import FlatFlow, flat_leads
from uaftc_book.inner_products import growing_vector
from uaftc_book.lab.module import part, read, style
from uaftc_book.mean_field import MeanField
from uaftc_book.readings import VERY_LARGE, column
from uaftc_book.small_data import (
    RANGES,
    SEEDS,
    WHOLE_EPOCHS,
    WHOLE_STEPS,
    ends,
    flat_flow,
    initial_model,
    mean_field_end,
    range_data,
    set_cosine,
    small_config,
)
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.dynamics.ledger import fit_with_ledger
from uaftc_lib.experiments.registry import experiment, jobs_over, stored
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import KINDS, examined_types
from uaftc_lib.training import fit

# ---
# A phase diagram that is solved in the reader's browser: a point is dragged through λ and cos(V₀, W₀).


STEPS_PER_TIME, KEPT = 2, 120  # steps for each unit of τ; moments that are drawn
FIRST = {"lam": 10.0, "cosine": 0.25}
LENGTHS = [WHOLE_STEPS * tenths // 100 for tenths in (10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)]
PARTS = ("address", "draw", "flow", "plane", "phase")
MISSING = (
    "Live figure: drag a point through λ and cos(V₀, W₀), and the mean field is solved in your browser. "
    "It needs JavaScript."
)


@cache
def source() -> str:
    """The text of the module, which defines the element <uaftc-phase>; a page needs no remarks and no margins in it."""
    return re.sub(r"^ *(//.*\n)?", "", "".join(part(name) for name in PARTS), flags=re.MULTILINE)


@dataclass(frozen=True)
class PhasePlane:
    """A live figure. The last expression of a cell shows it.

    Attributes
    ----------
    field : dict
        "types", "patterns", "signs", "shares" of a mean field of three kinds: positive, negative, neutral words.
    lams, cosines : list of float
        The grid of the stored runs, both rising.
    ranges : list of dict
        Of each range of W₀: "reach"; "time", that of a run; "initialisations", of each seed that is shown what
        :func:`perpendicular` gives and "ends", ``scale`` λ times the end scores of its runs, kind by kind; "outcomes",
        of each seed a letter for each run: w both kinds end above neutral words, p positive words end below them, n
        negative ones, b both. Runs are ordered by λ, then cosine.
    scale : int
    """

    field: dict
    lams: list[float]
    cosines: list[float]
    ranges: list[dict]
    scale: int

    def data(self) -> dict:
        """What the element is given."""
        return vars(self) | {"first": FIRST, "lengths": LENGTHS, "flow": {"rate": STEPS_PER_TIME, "kept": KEPT}}

    def _repr_html_(self) -> str:
        written = json.dumps(self.data(), separators=(",", ":")).replace("<", "\\u003c")
        return (
            f"{style()}<style>{read('phase.css')}</style><uaftc-phase><p>{MISSING}</p>"
            f'<script type="application/json">{written}</script></uaftc-phase>'
            f'<script type="module">\n{source()}</script>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        return {"text/plain": MISSING, "text/html": self._repr_html_()}


# ---
# The phase diagram that is solved in the page: what it needs, and the same solver in Python.


SHOWN = 3  # seeds of each range
SCALE = 10  # a stored score is kept as a whole number, of λ times the score
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
    kinds, every = len(field.types), math.ceil(STEPS_PER_TIME * time / KEPT)
    steps, size = every * KEPT, time / (every * KEPT)
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
def perpendicular(dataset: Dataset, field: MeanField, weight_range: float, seed: int) -> dict[str, list[float] | float]:
    """Of vectors with V ⟂ W the inner products (upper triangle), those of V, W, g₀ with g₀, and ν and q (FlatFlow)."""
    begin = set_cosine(initial_model(dataset, weight_range=weight_range, seed=seed), 0.0)
    types = examined_types(dataset)
    gram, flow = field.start(begin, list(types.values())), FlatFlow.from_model(begin, dataset.train, types)
    products = [vector @ flow.g for vector in (flow.V, flow.W, flow.g)]
    numbers = {"gram": gram[np.triu_indices(len(gram))], "g": products, "nu": [flow.nu], "share": [flow.share]}
    short = {name: [float(f"{value:.8g}") for value in values] for name, values in numbers.items()}
    return short | {name: short[name][0] for name in ("nu", "share")}


def live_phase(dataset: Dataset, field: MeanField, runs: pd.DataFrame) -> PhasePlane:
    """The live figure over stored runs.

    Parameters
    ----------
    runs : DataFrame
        ``exact_phase``.

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
                initialisations.append(initial | {"ends": ends.ravel().tolist()})
        ranges.append(
            {"reach": reach, "time": WHOLE_STEPS * longer, "initialisations": initialisations, "outcomes": outcomes}
        )
    of_field = {name: getattr(field, name).tolist() for name in ("types", "patterns", "signs", "shares")}
    return PhasePlane(of_field, lams, cosines, ranges, SCALE)


@experiment(
    jobs_over(
        weight_range=RANGES,
        seed=SEEDS,
        lam=(1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0),
        cosine=(-0.95, -0.7, -0.45, -0.25, -0.1, -0.03, 0.0, 0.03, 0.1, 0.25, 0.45, 0.7, 0.95),
    ),
    rows=1,
)
def exact_phase(weight_range: float, lam: float, cosine: float, seed: int) -> list[dict]:
    """Which words win attention on Data I, from an initialisation with a given λ and angle of V and W."""
    dataset, longer = load_dataset("synthetic-1"), RANGES[weight_range]
    types = examined_types(dataset)
    model = set_cosine(initial_model(dataset, lam, weight_range=weight_range, seed=seed), cosine)
    sizes = {"‖V‖": float(model.V.detach().norm()), "‖W‖": float(model.W.detach().norm())}
    gap, lead = mean_field_end(model, dataset, types, WHOLE_STEPS * longer)
    fit(model, dataset, small_config(epochs=WHOLE_EPOCHS * longer, seed=seed), progress=False)
    return [sizes | {"predicted gap": gap, "predicted lead": lead} | ends(model, types)]


FLAT_JOBS = jobs_over(  # the shortest runs first; of each seed all λ in turn
    steps=(480, 1440, 4800), weight_range=RANGES, dimension=(10, 50, 200), seed=SEEDS, lam=(10.0, 30.0, 100.0, 1000.0)
)


@experiment(FLAT_JOBS, rows=1)
def flat_predictions(steps: int, weight_range: float, dimension: int, lam: float, seed: int) -> list[dict]:
    """Attention of polar words on Data I by the initial vectors alone, to first and ("next ...") to the next order."""
    flow = flat_flow(weight_range, dimension, seed)
    first, later, g = flow.end(steps, lam), flow.end(steps, lam, turning=True), flow.grown(steps)
    predicted = {"margin": first["margin"]} | {name: first[name] for name in ("gap", "lead")}
    predicted |= {f"next {name}": later[name] for name in ("gap", "lead")}
    cosine = float(flow.V @ g / np.linalg.norm(flow.V) / np.linalg.norm(g))
    return [{"cosine": cosine} | predicted | {"middle": float(flow.middle(g))}]


@experiment(FLAT_JOBS, rows=1)
def flat_runs(steps: int, weight_range: float, dimension: int, lam: float, seed: int) -> list[dict]:
    """The same after training: attention of the kinds of words on Data I, the mean margin, V·W."""
    dataset = range_data("Data I")
    types, corpus = examined_types(dataset), dataset.train
    model = initial_model(dataset, lam, dimension, weight_range=weight_range, seed=seed)
    fit(model, dataset, small_config(epochs=WHOLE_EPOCHS * steps // WHOLE_STEPS, seed=seed), progress=False)
    with torch.no_grad():
        margin = float((corpus.signs * model(corpus).polarity).mean())
    end = ends(model, types)
    leads = {f"lead {kind}": end[f"attention {kind}"] - end["attention neutral"] for kind in ("positive", "negative")}
    return [end | leads | {"margin": margin}]


UNEQUAL = {"Data II": (6000, 6000), "1 : 2": (4000, 8000), "1 : 5": (2000, 10000)}  # negative, positive texts


@cache
def other_data(name: str) -> Dataset:
    """Data II, or Data I with classes of unequal size."""
    return load_dataset("synthetic-2" if name == "Data II" else "synthetic-1", class_sizes=UNEQUAL[name])


@experiment(jobs_over(data=UNEQUAL, steps=(480, 1440, 4800), lam=(30.0, 100.0), seed=SEEDS), rows=1)
def flat_others(data: str, steps: int, lam: float, seed: int) -> list[dict]:
    """The lead of each class on Data II, or with unequal classes, by the mean field at flat attention; and measured."""
    dataset = other_data(data)
    types, kinds = examined_types(dataset), [*examined_types(dataset).values()]
    model, field = initial_model(dataset, lam, seed=seed), MeanField.from_corpus(dataset.train, kinds)
    c, L = flat_leads(field, field.start(model, kinds), float(steps))
    fit(model, dataset, small_config(epochs=WHOLE_EPOCHS * steps // WHOLE_STEPS, seed=seed), progress=False)
    end = ends(model, types)
    leads = {}
    for k, kind in enumerate(("positive", "negative")):
        leads[f"predicted {kind}"] = float(c[k] + L[k] / lam) / lam
        leads[f"lead {kind}"] = end[f"attention {kind}"] - end["attention neutral"]
    return [leads]


FLAT_KEYS = ["steps", "weight_range", "dimension", "seed", "lam"]


def flat_rows() -> pd.DataFrame:
    """Predictions and runs of flat attention side by side; columns of the runs end in "measured"."""
    runs = stored("flat_runs")[[*FLAT_KEYS, "gap", "lead"]]
    rows = stored("flat_predictions").merge(runs, on=FLAT_KEYS, suffixes=("", " measured"))
    half = rows["gap measured"].abs() / 2  # the gap goes as 1/λ, the lift as 1/λ²
    return rows.assign(**{"middle measured": (rows["lead measured"] / half + 1) * rows["lam"] * rows["cosine"].abs()})


def middles(weight_range: float, dimension: int, time: float) -> pd.DataFrame:
    """The middle by the formula at times up to the given one, for each seed."""
    rows = []
    for seed in SEEDS:
        flow = flat_flow(weight_range, dimension, seed)
        path = flow.path(time, np.inf, moments=60)
        rows.append(pd.DataFrame({"seed": seed, "τ": path["τ"], "middle": flow.middle(flow.rotated(path["θ"])[1])}))
    return pd.concat(rows, ignore_index=True)


def upper_ends(dataset: Dataset, runs: pd.DataFrame) -> pd.Series:
    """The upper end of λ before each of the stored runs ``exact_phase``."""
    types, known = examined_types(dataset), {}
    settings = ["weight_range", "seed", "cosine"]
    for weight_range, seed, cosine in runs[settings].drop_duplicates().itertuples(index=False):
        model = set_cosine(initial_model(dataset, weight_range=weight_range, seed=int(seed)), cosine)
        flow = FlatFlow.from_model(model, dataset.train, types)
        known[weight_range, seed, cosine] = flow.upper_end(WHOLE_STEPS * RANGES[weight_range])
    return runs[settings].apply(lambda row: known[tuple(row)], axis=1)


def flat_steps(model: AttentionClassifier, dataset: Dataset, time: float) -> dict[str, float]:
    """The relative error of each step of the closed form, by its letter, from the means of a model's kinds of words.

    By gradients at flat attention (a, c, e), by the mean field at so large a λ that attention stays flat (b, d, f), and
    by the mean field at λ = 10 from a V perpendicular to W and g (g, h).
    """
    corpus, types, very_large = dataset.train, examined_types(dataset), 1e6
    positive, negative, neutral = types.values()
    with torch.no_grad():
        half = (model.embedding[positive].mean(0) - model.embedding[negative].mean(0)) / 2
        for ids, sign in ((positive, 1), (negative, -1), (neutral, 0)):
            model.embedding[ids] = sign * half
    flow = FlatFlow.from_model(model, corpus, types, exchangeable=True)
    field, kinds = MeanField.from_corpus(corpus, list(types.values())), list(types.values())

    def by_field(lam: float) -> Float[np.ndarray, "rows rows"]:
        return field.flow(field.start(model, kinds), lam, [0.0, time], rtol=1e-11, atol=1e-13)[-1]

    G, end, up = by_field(very_large), flow.end(time, very_large), flow.upper_end(time, within=(0.0, np.inf))
    W, (c, L) = flow.rotated(end["θ"])[0], flat_leads(field, field.start(model, kinds), time)
    with torch.no_grad():
        basis = torch.linalg.qr(torch.stack([model.W, half], 1)).Q
        model.V -= basis @ (basis.T @ model.V)
        flat, turned_flow = by_field(10.0), FlatFlow.from_model(model, corpus, types, exchangeable=True)
        model.V.zero_()
        margin = float((corpus.signs * model(corpus).polarity).mean())
    u, product = flow.unit, flow.product(0.0)
    speed = 2 * flow.nu / (1 + np.exp(2 * flow.nu * product))  # dθ/dτ
    slopes, rho = dynamics.gradients(model, corpus), dynamics.token_sums(model, corpus).rho / len(corpus)
    direction = torch.zeros(len(model.embedding), dtype=torch.float64)
    direction[positive], direction[negative] = u, -u
    wanted = (1 - flow.share) * u**2 * product * speed
    pairs = {
        "a": [(-slopes["W"], speed * flow.g), (-slopes["embedding"].T @ direction, speed * flow.W)],
        "b": [(G[-1, -1], W @ W)],
        "c": [(margin, 2 * flow.nu * product)],
        "d": [((G[0, -2] - G[1, -2]) / very_large, end["gap"])],
        "e": [(rho[positive].mean() + rho[negative].mean(), 2 * wanted)]
        + [(rho[neutral].mean(), -wanted * flow.polar / flow.neutral)],
        "f": [(up, -L[c.argmin()] / c.min())],
        "g, h": [((flat[0, -2] - flat[2, -2]) / 10, turned_flow.end(time, 10.0, turning=True)["lead"])],
    }
    return {
        letter: max(relative_error(torch.as_tensor(one), torch.as_tensor(other)) for one, other in found)
        for letter, found in pairs.items()
    }


@torch.no_grad()
def turn_growing(model: AttentionClassifier, corpus: Corpus, cosine: float) -> AttentionClassifier:
    """Change W₀ so that the W that grows, :func:`growing_vector`, keeps its length and has this cosine with V."""
    grown = growing_vector(model, corpus) - model.W
    model.W += grown
    set_cosine(model, cosine)
    model.W -= grown
    return model


TURNS = {  # how the vectors as drawn are changed: by W₀, its length kept or that of the W that grows
    "as drawn": lambda model, _: model,
    "W₀ along V₀": lambda model, _: set_cosine(model, 0.95),
    "W₀ against V₀": lambda model, _: set_cosine(model, -0.95),
    "grown W along V₀": lambda model, corpus: turn_growing(model, corpus, 0.95),
    "grown W against V₀": lambda model, corpus: turn_growing(model, corpus, -0.95),
    "grown W ⟂ V₀": lambda model, corpus: turn_growing(model, corpus, 0.0),
}


@experiment(
    jobs_over(weight_range=RANGES, seed=SEEDS, lam=(0.01, 0.1, 0.3, 1.0, 2.0, 100.0, 10000.0), turn=TURNS), rows=1
)
def turned_vectors(weight_range: float, lam: float, turn: str, seed: int) -> list[dict]:
    """The ledger of polar words on Data I, and |nα − 1| of a text of n words at most, from W₀ turned against V₀."""
    dataset = load_dataset("synthetic-1")
    types = examined_types(dataset)
    polar = torch.cat([types["positive"], types["negative"]])
    drawn = initial_model(dataset, lam, weight_range=weight_range, seed=seed, dtype=torch.float64)
    model = TURNS[turn](drawn, dataset.train)
    _, ledgers = fit_with_ledger(model, dataset, small_config(epochs=WHOLE_EPOCHS * RANGES[weight_range], seed=seed))
    lengths = dataset.train.lengths[dataset.train.instance_of]
    farthest = float((lengths * model(dataset.train).weights.detach() - 1).abs().max())
    entries = {name: float(getattr(ledgers[-1], name)[polar].abs().mean()) for name in "ABC"}
    return [entries | {"farthest weight": farthest} | ends(model, types)]


def heaviest(model: AttentionClassifier, corpus: Corpus) -> tuple[Tensor, Tensor]:
    """Of each instance of equal length the weight of its heaviest word, and the place of that word."""
    with torch.no_grad():
        return model(corpus).weights.reshape(len(corpus), -1).max(1)


@experiment(jobs_over(weight_range=RANGES, lam=(0.001, 0.01, 0.1, 1.0, 10.0), seed=SEEDS), rows=1)
def hard_attention(weight_range: float, lam: float, seed: int) -> list[dict]:
    """What training does to the heaviest word of a text, and what is otherwise after a nudge in the twelfth digit."""
    dataset, epochs = load_dataset("synthetic-1"), WHOLE_EPOCHS * RANGES[weight_range]
    texts = dataset.train
    models = [initial_model(dataset, lam, weight_range=weight_range, seed=seed, dtype=torch.float64) for _ in range(2)]
    with torch.no_grad():
        models[1].embedding *= 1 + 1e-12
    first = heaviest(models[0], texts)
    (_, ledgers), _ = (fit_with_ledger(model, dataset, small_config(epochs=epochs, seed=seed)) for model in models)
    last, nudged = (heaviest(model, texts) for model in models)
    moved = {name: float(getattr(ledgers[-1], name).abs().sum()) for name in "DEF"}
    return [
        {
            "initial weight": float(first[0].median()),
            "final weight": float(last[0].median()),
            "changed": float((first[1] != last[1]).double().mean()),
            "changed by the nudge": float((nudged[1] != last[1]).double().mean()),
            "share of E": moved["E"] / sum(moved.values()),
            "accuracy": models[0].accuracy(texts),
        }
    ]


reads("mean_pooling", VERY_LARGE, lambda rows: SMALL - column(rows, "farthest weight"))
