"""Chapter 04_which_lambda: the upper end of λ, the live phase diagram, and small λ."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator
from torch import Tensor

from uaftc_book.cases import SMALL
from uaftc_book.claims import reads
from uaftc_book.controls import with_permuted_labels
from uaftc_book.decay import DecayProgramme, descend, one_sided_factor
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
    small_data,
)
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.dynamics.ledger import fit_with_ledger
from uaftc_lib.experiments.registry import experiment, jobs_over, stored
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.plots.figure import Figure, render
from uaftc_lib.plots.summaries import itemised, number
from uaftc_lib.plots.theme import COLORS, DASHED, GREEN, GREY, INK, PANEL, VIOLET, WIDE, looks_of
from uaftc_lib.scores import KINDS, examined_types, type_means
from uaftc_lib.training import fit

# ---
# A phase diagram that is solved in the reader's browser: a point is dragged through λ and cos(V₀, W₀).


STEPS_PER_TIME, KEPT = 2, 120  # steps for each unit of τ; moments that are drawn
FIRST = {"lam": 10.0, "cosine": 0.25}
LENGTHS = [WHOLE_STEPS * tenths // 100 for tenths in (10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)]
PARTS = ("address", "draw", "band", "flow", "plane", "phase")
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


DOTS_AT = 100.0  # the λ of the models behind the dots
LINES = {1.0: {"linestyle": "-"}, 0.1: {"linestyle": DASHED}}
DOTS = {1.0: {"linestyle": "", "marker": "o", "markersize": 6}}
DOTS[0.1] = DOTS[1.0] | {"markerfacecolor": "none"}


def draw_ends(rows: pd.DataFrame, caption: str) -> Figure:
    """The upper end of λ at an angle of |cos| = 1/√d against the length of training.

    Parameters
    ----------
    rows : DataFrame
        :func:`flat_rows`.
    """
    settings = rows.drop_duplicates(["dimension", "weight_range"])[["dimension", "weight_range"]]
    lines = []
    for d, reach in settings.itertuples(index=False, name=None):
        path = middles(reach, d, float(rows["steps"].max())).query("τ >= 48")
        line = path.groupby("τ", as_index=False)["middle"].median()
        lines.append(line.assign(dimension=d, weight_range=reach, what="formula"))
    dots = rows[rows["lam"] == DOTS_AT].groupby(["dimension", "weight_range", "steps"], as_index=False)
    dots = dots["middle measured"].median().rename(columns={"steps": "τ", "middle measured": "middle"})
    data = pd.concat([*lines, dots.assign(what="trained")])
    data["upper end"] = data["middle"] * data["dimension"] ** 0.5

    def draw(axes: Axes) -> list:
        for (what, d, reach), own in data.groupby(["what", "dimension", "weight_range"]):
            look = LINES[reach] if what == "formula" else DOTS[reach]
            axes.plot(own["τ"], own["upper end"], color=GREEN, **look)
            if what == "formula" and reach == max(RANGES):
                axes.annotate(f"d = {d}", tuple(own[["τ", "upper end"]].iloc[-1]), (7, -4), textcoords="offset points")
        steps = sorted(rows["steps"].unique())
        axes.set(ylim=(1, 400), xlim=(42, 11000))
        axes.set_xticks([100, *steps], [f"{one:,}" for one in (100, *steps)])
        axes.xaxis.set_minor_locator(NullLocator())
        named = (("formula", LINES), ("trained", DOTS))
        return [
            Line2D([], [], color=GREEN, label=f"{what}, W₀ within ±{reach:g}", **looks[reach])
            for what, looks in named
            for reach in RANGES
        ]

    ends = data.groupby(["what", "dimension", "weight_range"]).last()["upper end"]
    alt = itemised(f"{what}, d = {d}, W₀ within ±{reach:g}: {number(end)}" for (what, d, reach), end in ends.items())
    labels = {"x_label": "training steps", "y_label": "upper end at |cos(V₀, g)| = 1/√d", "log_x": True, "log_y": True}
    shown = data[["what", "dimension", "weight_range", "τ", "upper end"]]
    return render(draw, shown, caption, f"The upper end of λ after {rows['steps'].max():,} steps.{alt}", WIDE, **labels)


def draw_gaps(rows: pd.DataFrame, caption: str) -> Figure:
    """Measured gaps against predicted ones, times λ; λ = 10 stands out."""
    data = rows[["lam", "steps"]].assign(
        predicted=rows["lam"] * rows["next gap"], measured=rows["lam"] * rows["gap measured"]
    )
    near = data["lam"] == 10

    def draw(axes: Axes) -> list:
        axes.axline((0, 0), slope=1, color=INK, linewidth=0.7, linestyle=DASHED)
        for own, color, size in ((data[~near], GREY, 16), (data[near], GREEN, 18)):
            axes.scatter(own["predicted"], own["measured"], s=size, color=color, alpha=0.8, linewidths=0)
        axes.annotate("λ = 10", (0.97, 0.7), xycoords="axes fraction", ha="right", color=GREEN)
        axes.annotate("λ = 30, 100 and 1,000", (0.56, 0.9), xycoords="axes fraction", ha="right")
        return []

    slopes = (
        f"λ = {lam:g}: correlation {number(own['predicted'].corr(own['measured']))}" for lam, own in data.groupby("lam")
    )
    labels = {"x_label": "λ times the predicted gap", "y_label": "λ times the measured gap"}
    return render(draw, data, caption, f"Measured against predicted gaps.{itemised(slopes)}", WIDE, **labels)


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
    _, first = heaviest(models[0], texts)
    for model in models:
        fit_with_ledger(model, dataset, small_config(epochs=epochs, seed=seed))  # as the stored runs: by autograd
    (weights, last), (_, nudged) = (heaviest(model, texts) for model in models)
    return [
        {
            "final weight": float(weights.median()),
            "changed": float((first != last).double().mean()),
            "changed by the nudge": float((nudged != last).double().mean()),
            "accuracy": models[0].accuracy(texts),
        }
    ]


# ---
# Weight decay on E, V and W: the phases of the optimum, and where full models end.


NINE = (1.0, 1.3, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0)  # of a decade
DECAY_LAMS = (0.3, 0.4, 0.5, 0.7, *NINE, *(10 * number for number in NINE), 100.0, 130.0, 160.0, 200.0)
DECAYS = (*(float(f"{number}e{power}") for power in (-5, -4, -3) for number in NINE), 1e-2, 1.3e-2, 1.6e-2, 2e-2)


@experiment(jobs_over(lam=DECAY_LAMS, mu=DECAYS), rows=1)
def decay_phases(lam: float, mu: float) -> list[dict]:
    """The phase of the optimum on Data I, with its objective and scores, without training a model."""
    programme = DecayProgramme(lam, mu)
    row = {"phase": programme.phase} | {name: one.objective for name, one in programme.optima.items()}
    best = programme.optima["flat" if programme.phase == "nothing" else programme.phase]
    for name in ("attention", "polarity"):
        row |= {f"{name} {kind}": float(score) for kind, score in zip(KINDS, getattr(best, name))}
    return [row]


@torch.no_grad()
def summary_at_end(model: AttentionClassifier, dataset: Dataset, mu: float) -> dict[str, float]:
    """The objective, cos(V, W), the correlation of a and s over the words of the texts, mean scores by kind.

    "relative slope" is the length of the objective's slope in units of the decay's part of it.
    """
    kept = dataset.train.tokens.unique()
    a, s = (scores[kept].double() for scores in model.token_scores())
    V, W = model.V.double(), model.W.double()
    slopes = dynamics.gradients(model, dataset.train)
    squares = sum(float((slope + mu * getattr(model, name)).square().sum()) for name, slope in slopes.items())
    size = sum(float(own.square().sum()) for own in model.parameters())
    row = {"objective": float(model.loss(dataset.train)) + mu / 2 * size}
    row["relative slope"] = math.sqrt(squares / size) / mu
    row["cosine"] = float(V @ W / (V.norm() * W.norm()))
    row["correlation"] = float(torch.corrcoef(torch.stack([a, s]))[0, 1])
    row |= {"spread of λa": float(model.lam * a.std()), "spread of s": float(s.std())}
    return row | type_means(model, examined_types(dataset)) | {"right": model.accuracy(dataset.train)}


DECAY_POINTS = (
    (1.0, 2e-3), (3.0, 7e-3), (3.0, 1e-3), (10.0, 7e-3), (10.0, 2e-3), (30.0, 1e-3), (30.0, 5e-4), (100.0, 1e-3)
)  # fmt: skip


def descend_long(model: AttentionClassifier, dataset: Dataset, mu: float, rate: float, time: float) -> dict[str, float]:
    """The summary at the end of a descent with momentum 0.9, for a time in units of 1/μ."""
    return summary_at_end(
        descend(model, dataset.train, mu, rate, round(0.1 * time / mu / rate), momentum=0.9), dataset, mu
    )


@experiment([{"lam": lam, "mu": mu, "seed": seed} for lam, mu in DECAY_POINTS for seed in SEEDS], rows=1)
def decay_runs(lam: float, mu: float, seed: int) -> list[dict]:
    """Where full models end on Data I by descent on all texts at once, with decay."""
    dataset = range_data("Data I")
    return [descend_long(initial_model(dataset, lam, seed=seed), dataset, mu, rate=10 if mu < 2e-3 else 5, time=80)]


@experiment([{"lam": lam, "mu": mu, "seed": seed} for lam, mu in DECAY_POINTS for seed in range(40)], rows=1)
def decay_starts(lam: float, mu: float, seed: int) -> list[dict]:
    """Where descent of one vector for each kind of word ends from a random start: objective, and its phase."""
    programme = DecayProgramme(lam, mu)
    objective = programme.from_start(seed).objective
    known = {"nothing": math.log(2)} | {name: one.objective for name, one in programme.optima.items()}
    nearest = min(known, key=lambda name: abs(known[name] - objective))
    return [{"objective": objective, "end": nearest if abs(known[nearest] - objective) < 1e-5 else "elsewhere"}]


def end_on_sst(model: AttentionClassifier, dataset: Dataset, mu: float) -> dict[str, float]:
    """What :func:`summary_at_end` says of the end of a descent: at a small λ steps must be shorter."""
    return descend_long(model, dataset, mu, rate=2.0 if model.lam > 3 else 1.0, time=20)


@experiment(jobs_over(labels=("real", "permuted"), lam=(1.0, 10.0, 100.0), mu=(1e-3, 5e-4), seed=range(5)), rows=1)
def decay_sst(labels: str, lam: float, mu: float, seed: int) -> list[dict]:
    """Where models of 20 dimensions end on SST, with real or permuted labels."""
    dataset = range_data("SST")
    dataset = dataset if labels == "real" else with_permuted_labels(dataset, seed)
    return [end_on_sst(initial_model(dataset, lam, dimension=20, seed=seed), dataset, mu)]


POSITIVE_TEXTS = {"all": 3610, "as many": 3310, "fewer": 3035}  # of SST, which has 3,310 negative ones
SHUFFLED = {f"{name}, shuffled": POSITIVE_TEXTS[name] for name in ("all", "as many")}  # the control: labels permuted
VERY_FLAT = 1e6  # a λ


@experiment(jobs_over(positive=POSITIVE_TEXTS | SHUFFLED, seed=range(5)), rows=1)
def decay_sides(positive: str, seed: int) -> list[dict]:
    """κ of a/s at λ = 100, μ = 0.001 on SST without some positive texts: predicted at flat attention; also from −V."""
    lam, mu, dataset = 100.0, 1e-3, range_data("SST")
    if positive in SHUFFLED:
        dataset = with_permuted_labels(dataset, seed)
    labels, draw = dataset.train.labels, torch.Generator().manual_seed(seed)
    ids = (labels == 1).nonzero().flatten()
    chosen = ids[torch.randperm(len(ids), generator=draw)[: (POSITIVE_TEXTS | SHUFFLED)[positive]]]
    both = torch.cat([(labels == 0).nonzero().flatten(), chosen]).sort().values
    dataset = replace(dataset, train=dataset.train[both])
    flat = initial_model(dataset, VERY_FLAT, dimension=20, seed=seed)
    end_on_sst(flat, dataset, mu)
    row = {"predicted factor": one_sided_factor(flat, dataset.train, lam, mu)}
    rho = dynamics.token_sums(flat, dataset.train).rho
    row |= {f"ρ {kind}": float(rho[ids].mean()) for kind, ids in examined_types(dataset).items()}
    model = initial_model(dataset, lam, dimension=20, seed=seed)
    for start in ("", " from −V"):
        model.V.data *= -1 if start else 1
        end = end_on_sst(model, dataset, mu)
        row |= {f"{name}{start}": end[name] for name in ("objective", "cosine")}
        V, W = model.V.detach(), model.W.detach()
        row[f"factor{start}"] = float(V @ W / W.square().sum())
    return [row]


SCORES = [f"{name} {kind}" for name in ("attention", "polarity") for kind in KINDS]


def phase_of(runs: pd.DataFrame) -> np.ndarray:
    """The phase in which a model has ended, by its vectors and the spreads of its scores."""
    rules = {
        "nothing": runs["spread of s"] < 0.01,
        "flat": runs["spread of λa"] < 0.02 * runs["spread of s"],
        "one-sided": runs["cosine"].abs() > 0.99,
        "two-sided": runs["cosine"].abs() < 0.05,
    }
    return np.select([*rules.values()], [*rules], "between")


def decay_ends() -> pd.DataFrame:
    """The runs ``decay_runs`` with their phase, the predicted one, and how far scores end from the predicted ones.

    "off" is the greatest distance of the six scores, attention and votes of the kinds of words, in units of the
    greatest predicted one of its sort. Where the classes are exchanged, so is the prediction.
    """
    predicted = stored("decay_phases")[["lam", "mu", "phase", *SCORES]]
    rows = stored("decay_runs").astype({"lam": float}).merge(predicted, on=["lam", "mu"], suffixes=("", " predicted"))
    a, s = (rows[[f"{name} {kind}" for kind in KINDS]].to_numpy() for name in ("attention", "polarity"))
    a_p, s_p = (rows[[f"{n} {kind} predicted" for kind in KINDS]].to_numpy() for n in ("attention", "polarity"))
    a_size, s_size = (np.maximum(abs(scores).max(1), 0.01) for scores in (a_p, s_p))
    mirrored = [[0, 1, 2], [1, 0, 2]]
    off = [
        np.maximum(abs(a - a_p[:, to]).max(1) / a_size, abs(s - sign * s_p[:, to]).max(1) / s_size)
        for to, sign in zip(mirrored, (1, -1))
    ]
    rows = rows.rename(columns={"phase": "predicted"})
    return rows.assign(phase=phase_of(rows), off=np.minimum(*off))


KIND_LABELS = {
    "positive": {"xytext": (6, 5), "ha": "left"},
    "negative": {"xytext": (-6, 5), "ha": "right"},
    "neutral": {"xytext": (-6, 8), "ha": "center"},
}


LABELS_BELOW = {("two-sided", "neutral"), ("one-sided", "negative"), ("one-sided", "positive")}  # clear of a line


def draw_kinds(run: pd.Series, phase: str) -> Figure:
    """Attention and votes of the kinds of words at the end of a run, and the line on which attention is the vote."""
    data = pd.DataFrame(
        {"kind": kind} | {name: run[f"{name} {kind}"] for name in ("polarity", "attention")} for kind in KINDS
    )

    def draw(axes: Axes) -> list:
        axes.axhline(0, color=INK, linewidth=0.7)
        axes.set(xlim=(-45, 45), ylim=(-1, 3.4))
        if phase == "one-sided":
            axes.axline((0, 0), tuple(data.loc[1, ["polarity", "attention"]]), color=VIOLET, linewidth=1.2)
        for kind, s, a in data.itertuples(index=False):
            axes.plot(s, a, looks_of(KINDS)[kind].marker, color=COLORS[kind], markersize=7)
            below = {"xytext": (8, -13), "ha": "left"} if (phase, kind) in LABELS_BELOW else {}
            axes.annotate(kind, (s, a), textcoords="offset points", **KIND_LABELS[kind] | below)
        return []

    alt = f"{phase}: " + itemised(
        f"{kind} words vote {number(s)}, attention {number(a)}" for kind, s, a in data.itertuples(index=False)
    )
    title = f"{phase}: λ = {run['lam']:g}, μ = {run['mu']:g}"
    return render(draw, data, "a panel", alt, PANEL, title=title, x_label="vote", y_label="attention")


def decay_steps(lam: float, seed: int) -> dict[str, float]:
    """The relative error of each step of the proof, by its letter: (i) after a descent on the small Data I."""
    draw, data = np.random.default_rng(seed), small_data(seed)
    model = descend(initial_model(data, 3.0, dimension=5, seed=seed), data.train, 5e-3, 5.0, 3000, momentum=0.9)
    E, V, W = (model.get_parameter(name).detach() for name in ("embedding", "V", "W"))
    gram, ends = E.T @ E, torch.outer(V, V) + torch.outer(W, W)
    U, sizes, Qt = np.linalg.svd(draw.normal(size=(20, 2)) * [lam, 1.0], full_matrices=False)  # scores of 20 words
    best, change = sizes.sum(), draw.normal(size=(2, 2))
    left, right = U * np.sqrt(sizes), np.sqrt(sizes)[:, None] * Qt
    balanced = (np.square(left).sum() + np.square(right).sum()) / 2
    others = (np.square(left @ change).sum() + np.square(np.linalg.inv(change) @ right).sum()) / 2
    mu = 0.5 * DecayProgramme(lam, 1e-3).critical
    programme = DecayProgramme(lam, mu)
    s, q, n, n0 = programme.optima["flat"].polarity[0], programme.share, programme.polar, programme.neutral
    votes, up = s * np.array([1, -1, 0]), np.array([n0, n0, -n]) / (n + n0)
    slope = (programme.objective(1e-6 * up, votes) - programme.objective(0 * up, votes)) / 1e-6
    wanted = mu * np.sqrt(n) * (lam * np.sqrt(n0 / (n + n0)) - (1 - q) * s)
    return {
        "i": float((gram - ends).norm() / gram.norm()),
        "j": max(0.0, 1 - others / best) + abs(balanced / best - 1),
        "k": abs(q / (1 + np.exp(q * s)) / (mu * np.sqrt(n)) - 1),
        "l": abs(slope / wanted - 1),
    }


PHASES = {"two-sided": GREEN, "one-sided": VIOLET, "flat": GREY}  # from the least decay up


def edges(grid: pd.DataFrame) -> pd.DataFrame:
    """The greatest decay of each phase at each λ of ``decay_phases``: lam, phase, edge; nan where it is not met.

    At the greatest decay of the grid nothing may be learnt. An edge lies where the objectives of two phases cross, or
    where one comes down to the other: there a line through the last two decays below is taken, in log μ.
    """
    rows = []
    for lam, own in grid.sort_values("mu").groupby("lam"):
        x, labels = np.log(own["mu"].to_numpy()), own["phase"].to_numpy()
        for phase in PHASES:
            if phase not in labels:
                rows.append({"lam": lam, "phase": phase, "edge": np.nan})
                continue
            i = np.flatnonzero(labels == phase)[-1]
            above = own[labels[i + 1]].to_numpy() if labels[i + 1] in PHASES else np.full(len(x), math.log(2))
            gain = above - own[phase].to_numpy()
            j = i + 1 if gain[i + 1] < -1e-9 else i - 1
            at = x[i] - gain[i] * (x[j] - x[i]) / (gain[j] - gain[i])
            rows.append({"lam": lam, "phase": phase, "edge": math.exp(min(max(at, x[i]), x[i + 1]))})
    return pd.DataFrame(rows)


NAMED = {"two-sided": (1.3, 1.6e-4), "one-sided": (16, 3e-5), "flat": (90, 2.2e-4), "nothing is learnt": (35, 1.1e-2)}


def draw_phases(grid: pd.DataFrame, ended: pd.DataFrame) -> Figure:
    """The phases over λ and μ, with the runs that ended in each.

    Parameters
    ----------
    grid : DataFrame
        ``decay_phases``.
    ended : DataFrame
        lam, mu, phase of each full model.
    """
    tops = edges(grid).pivot(index="lam", columns="phase", values="edge")[[*PHASES]]
    lowest = grid["mu"].min()
    tops = tops.fillna(lowest).cummax(axis=1)

    def draw(axes: Axes) -> list:
        bottom = np.full(len(tops), lowest)
        for phase, color in PHASES.items():
            axes.fill_between(tops.index, bottom, tops[phase], color=color, alpha=0.3, linewidth=0)
            bottom = tops[phase].to_numpy()
        lams = np.geomspace(tops.index.min(), tops.index.max(), 200)
        critical = [DecayProgramme(lam, 1.0).critical for lam in lams]
        axes.plot(lams, critical, color=INK, linestyle=DASHED, linewidth=1.2)
        for (lam, mu), phases in ended.groupby(["lam", "mu"])["phase"]:
            commonest = phases.mode()[0]
            axes.plot(lam, mu, "o", color=PHASES.get(commonest, INK), markersize=8, markeredgecolor=INK)
            if (same := (phases == commonest).sum()) < len(phases):
                axes.annotate(f"{same} of {len(phases)}", (lam, mu), (7, -3), textcoords="offset points")
        axes.set(ylim=(2e-5, grid["mu"].max()), xlim=(tops.index.min(), tops.index.max()))
        for name, place in NAMED.items():
            axes.annotate(name.replace("one-", "one-\n"), place, ha="center", weight="bold" if name in PHASES else None)
        return [Line2D([], [], color=INK, linestyle=DASHED, label="below it, two-sided beats flat")]

    shares = (f"{phase} at {n} of {len(grid)} points" for phase, n in grid["phase"].value_counts().items())
    alt = f"Regions of λ and decay: {itemised(shares)}."
    labels = {"x_label": "scaling factor λ", "y_label": "weight decay μ", "log_x": True, "log_y": True}
    return render(draw, ended, "a panel", alt, PANEL, title="the phase of the optimum", **labels)


reads("mean_pooling", VERY_LARGE, lambda rows: SMALL - column(rows, "farthest weight"))
