"""Chapter 04_which_lambda: the phase diagram, and both ends of λ."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator
from torch import Tensor

from uaftc_book.cases import SMALL
from uaftc_book.claims import reads
from uaftc_book.flat_flow import FlatFlow
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
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.plots.figure import Figure, render, require
from uaftc_lib.plots.summaries import titled
from uaftc_lib.plots.theme import INK, OTHERS, WIDE, series_style
from uaftc_lib.scores import KINDS, examined_types
from uaftc_lib.training import fit

# ---
# A phase diagram: where in a plane of two settings which outcome was predicted, and which was measured.


BAND = OTHERS[0]


def phase_diagram(
    data: pd.DataFrame,
    x: str,
    y: str,
    group: str,
    band: pd.DataFrame,
    caption: str,
    *,
    outcomes: list[str] | None = None,
    ticks: tuple[float, ...] = (),
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    band_label: str = "predicted",
) -> Figure:
    """Outcomes as markers over the predicted band; x logarithmic, y logarithmic to both sides of a linear middle.

    Parameters
    ----------
    data : DataFrame
        A row for each run: the settings ``x`` and ``y``, the outcome ``group``, and "seed": runs of equal settings
        stand side by side.
    band : DataFrame
        Columns ``y``, "low", "high" and "seed": the two ends of each run's band, drawn as lines; between their
        geometric means it is shaded.
    outcomes : list of str, optional
        All of them in order, the wanted one first; by default by appearance.
    """
    require(data, x, y, group, "seed")
    require(band, y, "low", "high", "seed")
    names = outcomes or list(dict.fromkeys(data[group]))
    looks = {name: series_style(name, names) for name in names}
    runs = sorted(data["seed"].unique())
    steps = np.diff(np.log10(np.sort(data[x].unique())))
    aside = {r: 10 ** (0.55 * steps.min() * (i - (len(runs) - 1) / 2) / len(runs)) for i, r in enumerate(runs)}
    left, right = data[x].min() / 1.5, data[x].max() * 1.5

    def draw(axes: Axes) -> list:
        middle = np.exp(np.log(band[["low", "high"]]).assign(at=band[y]).groupby("at").mean())
        axes.fill_betweenx(
            middle.index, middle["low"], middle["high"].clip(upper=right), color=BAND, alpha=0.13, linewidth=0
        )
        for _, own in band.groupby("seed"):
            for end, dashes in (("low", (0, (4, 2))), ("high", "-")):
                axes.plot(
                    own[end].clip(upper=2 * right), own[y], color=BAND, linewidth=0.9, linestyle=dashes, alpha=0.8
                )
        for name, (color, marker, _) in looks.items():
            rows = data[data[group] == name]
            axes.scatter(
                rows[x] * rows["seed"].map(aside), rows[y], s=15, marker=marker, color=color,
                linewidths=0, alpha=0.95,
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=0.03, linscale=0.6)
        axes.set(xlim=(left, right), ylim=(-1.15, 1.15), xlabel=x_label or x, ylabel=y_label or y, title=title)
        if ticks:
            axes.yaxis.set_major_locator(FixedLocator(ticks))
            axes.set_yticks(ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])
            axes.yaxis.set_minor_locator(NullLocator())
        decades = [value for value in 10.0 ** np.arange(-3, 6) if left <= value <= right]
        axes.set_xticks(decades, [f"{value:g}" for value in decades])
        axes.grid(False)
        axes.axhline(0, color=INK, linewidth=0.5, alpha=0.5)
        marks = [
            Line2D([], [], linestyle="", marker=marker, color=color, label=name)
            for name, (color, marker, _) in looks.items()
        ]
        ends = [
            Line2D([], [], color=BAND, linewidth=0.9, linestyle=(0, (4, 2)), label="lower end"),
            Line2D([], [], color=BAND, linewidth=0.9, label="upper end"),
        ]
        return [*marks, Patch(facecolor=BAND, alpha=0.2, label=band_label), *ends]

    counts = "; ".join(f"{name}: {(data[group] == name).sum()} runs" for name in names)
    axes_names = f"{x_label or x} and {y_label or y}"
    alt = f"Phase diagram{titled(title)}: outcomes by {axes_names} over the band that was predicted. {counts}."
    return render(draw, data[[x, y, group, "seed"]], caption, alt, (WIDE[0], 4.2))


# ---
# A phase diagram that is solved in the reader's browser: a point is dragged through λ and cos(V₀, W₀).


STEPS_PER_TIME, KEPT = 2, 120  # steps for each unit of τ; moments that are drawn
FIRST = {"lam": 10.0, "cosine": 0.25}
PARTS = ("draw", "flow", "plane", "phase")
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
        Of each range of W₀: "reach"; "time", that of a run; "initialisations", of each seed that is shown "gram", the
        fifteen inner products with V ⟂ W, "p", the products of p₀ with V, W and itself, "middle" of its band and
        "ends", ``scale`` λ times the end scores of its runs, kind by kind; "outcomes", of each seed a letter for
        each run: w as wanted, p positive words sink, n negative ones, b both. Runs are ordered by λ, then cosine.
    scale : int
    """

    field: dict
    lams: list[float]
    cosines: list[float]
    ranges: list[dict]
    scale: int

    def data(self) -> dict:
        """What the element is given."""
        steps = [round(STEPS_PER_TIME * one["time"]) for one in self.ranges]
        ranges = [one | {"steps": n, "every": n // KEPT} for one, n in zip(self.ranges, steps)]
        told = {"field": self.field, "lams": self.lams, "cosines": self.cosines, "ranges": ranges, "scale": self.scale}
        return told | {"first": FIRST}

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


BANDS_AT = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 8.0, 16.0)  # λ, in units of the median word's upper end
TURNED = 0.25  # the cosine of V₀ with the W that grows


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


@cache
def flat_flow_of(steps: int, weight_range: float, dimension: int, seed: int) -> tuple[FlatFlow, dict[str, float]]:
    """Initial vectors on Data I, and the upper end of λ after so many steps of SGD at a learning rate of one."""
    dataset = range_data("Data I")
    model = initial_model(dataset, dimension=dimension, weight_range=weight_range, seed=seed)
    flow = FlatFlow.from_model(model, dataset.train, examined_types(dataset))
    ends = {"upper end": flow.upper_end(steps), "next upper end": flow.upper_end(steps, turning=True)}
    return flow, ends | {"middle": flow.middle(steps)}


@experiment(FLAT_JOBS, rows=1)
def flat_predictions(steps: int, weight_range: float, dimension: int, lam: float, seed: int) -> list[dict]:
    """Attention of polar words on Data I by the initial vectors alone, to first and ("next ...") to the next order."""
    flow, upper_ends = flat_flow_of(steps, weight_range, dimension, seed)
    first, later = (flow.end(steps, lam, turning) for turning in (False, True))
    names = ("margin", "gap", "lead positive", "lead negative", "lead")
    predicted = {name: first[name] for name in names} | {f"next {name}": later[name] for name in ("x", *names)}
    _, g = flow.rotated(first["θ"])
    cosine = float(flow.V @ g / np.linalg.norm(flow.V) / np.linalg.norm(g))
    return [{"‖V‖": float(np.linalg.norm(flow.V)), "cosine": cosine} | predicted | upper_ends]


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


@torch.no_grad()
def turn_growing(model: AttentionClassifier, corpus: Corpus, cosine: float) -> AttentionClassifier:
    """Change W₀ so that the W that grows, :func:`growing_vector`, keeps its length and has this cosine with V."""
    grown = growing_vector(model, corpus) - model.W
    model.W += grown
    set_cosine(model, cosine)
    model.W -= grown
    return model


@experiment(jobs_over(weight_range=RANGES, seed=SEEDS), rows=len(BANDS_AT))
def word_bands(weight_range: float, seed: int) -> list[dict]:
    """The upper end of each word's band on Data I, from one run with V ⟂ W; and who is lost at several λ.

    Δ of a word and the length of W are added up over that run at a λ that keeps attention flat. Then W is turned to
    the cosine :data:`TURNED`, which costs negative words their attention, and the model learns at each λ.
    """
    dataset, longer = load_dataset("synthetic-1"), RANGES[weight_range]
    types, corpus = examined_types(dataset), dataset.train
    losers, polar = types["negative"], torch.cat([types["positive"], types["negative"]])

    def turned(lam: float, cosine: float) -> AttentionClassifier:
        return turn_growing(initial_model(dataset, lam, weight_range=weight_range, seed=seed), corpus, cosine)

    even, totals = turned(1000.0, 0.0), {"pi": 0.0, "rho": 0.0, "length": 0.0, "weight": 0.0}
    length_of_V = float(even.V.detach().norm())

    def add_up(_, model: AttentionClassifier) -> dict:
        sums = dynamics.token_sums(model, corpus)
        weight = float(sums.pi[polar].abs().sum())
        new = sums._asdict() | {"length": weight * float(model.W.detach().norm()), "weight": weight}
        totals.update({name: totals[name] + values for name, values in new.items()})
        return {}

    small_steps = small_config(learning_rate=0.25, epochs=4 * WHOLE_EPOCHS * longer, seed=seed)
    fit(even, dataset, small_steps, add_up, progress=False)
    upper = length_of_V * totals["weight"] / totals["length"] * (totals["rho"] / totals["pi"]).abs() / TURNED
    ends_of = {
        f"upper end {name}, {q:g}": float(upper[ids].double().quantile(q))
        for name, ids in (("polar", polar), ("neutral", types["neutral"])) for q in (0.25, 0.75)
    }  # fmt: skip
    rows, middle = [], float(upper[losers].median())
    for factor in BANDS_AT:
        model = turned(factor * middle, TURNED)
        _, ledgers = fit_with_ledger(model, dataset, small_config(epochs=WHOLE_EPOCHS * longer, seed=seed))
        side_effect = (ledgers[-1].A / ledgers[-1].B).abs()[polar]
        attention = model.token_scores().attention.detach()
        kept, told = attention[losers] > attention[types["neutral"]].mean(), upper[losers] > model.lam
        shares = {"kept": float(kept.double().mean()), "foretold": float(told.double().mean())}
        with_end = float(torch.corrcoef(torch.stack([side_effect, upper[polar]]).double())[0, 1])
        rows.append({"factor": factor, "lam": model.lam} | shares | {"A/B with the end": with_end} | ends_of)
    return rows


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
