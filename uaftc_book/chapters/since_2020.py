"""Chapter A_since_2020: theorems of the years after the paper, on its words: what is chosen, what is learnt first."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from scipy.special import xlogy

from uaftc_book.controls import shuffled, with_permuted_labels
from uaftc_book.mean_field import MeanField, crossing
from uaftc_book.neighbours import dispersion, one_step, selection
from uaftc_book.neighbours.pairs import SIGNALS, kinds_of, told_by
from uaftc_book.random_models import Case
from uaftc_book.small_data import SEEDS, WHOLE_STEPS, initial_model, small_config, small_data, sst_config
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier, softmax_by_instance, sum_by_instance
from uaftc_lib.plots import Figure
from uaftc_lib.plots.figure import render
from uaftc_lib.plots.summaries import number
from uaftc_lib.plots.theme import DASHED, GREEN, INK, PANEL
from uaftc_lib.scores import examined_types, type_means
from uaftc_lib.streams import generator
from uaftc_lib.training import TrainingConfig, batches_of, choose_trainer, fit

DATASETS, LAMS = ("sst", "20news-1", "imdb"), (1.0, 10.0, 100.0)


# ---
# With E and W held, which words V comes to choose, held against the quadratic programme of its choice.


PROBLEMS = 50  # random ones
SST_TEXTS = (20, 50, 100)
END = 1e3  # log τ of all flows
TRAINED_TIME = 10.0  # log τ: 22,000 units of time, longer than any run of the book
UNSHARED = 0.999  # a weight below it leaves a text's attention shared at the end
RANDOM, DATA_I, SST = "random", "small Data I", "SST"


def problem(data: str, texts: int, seed: int) -> tuple[AttentionClassifier, Corpus]:
    """A model whose E and W are to be held, and the texts that V then learns; Data I and SST: after training."""
    if data == RANDOM:
        case = Case(dimension=20, lam=1.0, types=40, instances=texts, seed=seed)
        return case.model(), case.corpus()
    if data == DATA_I:
        dataset = small_data(seed)
        model = initial_model(dataset, seed=seed)
        fit(model, dataset, small_config(seed=seed), progress=False)
        return model, dataset.train[torch.arange(texts)]
    dataset, drawn = load_dataset("sst"), texts + seed  # a model and a draw of each number of texts
    model = AttentionClassifier(len(dataset.vocabulary), seed=drawn)
    fit(model, dataset, TrainingConfig(epochs=10, seed=drawn), progress=False)
    among = torch.from_numpy(np.random.default_rng(drawn).permutation(len(dataset.train))[:texts])
    return model, dataset.train[among.sort().values]


class Selected(NamedTuple):
    """A flow of V with E and W held, the words that it comes to choose, and their programme."""

    texts: selection.Texts
    path: selection.Path
    chosen: Int[np.ndarray, "texts"]
    margin: selection.Margin


def initial_V(model: AttentionClassifier) -> Float[np.ndarray, "d"]:
    """V/λ: where V begins when λ is taken to be 1."""
    return model.V.detach().double().numpy() / model.lam


def select(model: AttentionClassifier, corpus: Corpus, end: float = END) -> Selected:
    """Let V flow alone from where it is, to log τ = ``end``."""
    texts = selection.texts_of(model, corpus)
    path = selection.gradient_flow(texts, initial_V(model), end)
    chosen = selection.chosen_by(texts, path.V[-1])
    return Selected(texts, path, chosen, selection.max_margin(texts, chosen))


def choice_measures(found: Selected) -> dict[str, float]:
    """Direction against programme, its conditions, and how often the chosen word is the best one."""
    texts, path, chosen, margin = found
    initial, end = path.V[0], path.V[-1]
    several = np.diff(np.append(texts.first, len(texts.text))) > 1  # texts with something to choose
    best = texts.best(texts.gamma)
    better = selection.tight_and_better(texts, chosen, margin)
    wrong = np.logical_or.reduceat(better, texts.first)
    rest = selection.max_margin(texts, chosen, better) if wrong.any() else margin
    size = np.linalg.norm(margin.V)
    soon = path.V[min(int(np.searchsorted(path.log_times, TRAINED_TIME)), len(path.V) - 1)]
    return {
        "cosine": selection.cosine(end, margin.V),
        "initial cosine": selection.cosine(initial, margin.V),
        "cosine of the first slope": selection.cosine(selection.slope(texts, initial)[0], margin.V),
        "cosine at training's time": selection.cosine(soon, margin.V),
        "margin reached": selection.margin_reached(texts, chosen, margin, end),
        "condition": float(not wrong.any()),
        "texts not locally optimal": int(wrong.sum()),
        "cosine without their constraints": selection.cosine(rest.V, margin.V),
        "error": margin.error,
        "shared": int((selection.largest_weight(texts, end) < UNSHARED).sum()),
        "choice since": float(path.log_times[last_change(texts, path)]),
        "log time": float(path.log_times[-1]),
        "rests": float(path.rests),
        "|V|/|V of the programme|": float(np.linalg.norm(end) / size),
        "|V of the programme|": float(size),
        "best": agreeing_share(chosen == best, several),
        "any word": float((1 / np.diff(np.append(texts.first, len(texts.text))))[several].mean()),
        "best is possible": float(selection.max_margin(texts, best).feasible),
        "best contradicted": contradicted(texts, best),
    }


def last_change(texts: selection.Texts, path: selection.Path) -> int:
    """The first step from which on the choice is that of the end."""
    choices = np.array([selection.chosen_by(texts, V) for V in path.V])
    return int(np.flatnonzero((choices != choices[-1]).any(1)).max(initial=-1) + 1)


def agreeing_share(same: np.ndarray, among: np.ndarray) -> float:
    """The share of some texts in which two choices are the same."""
    return float(np.asarray(same)[among].mean())


def contradicted(texts: selection.Texts, chosen: Int[np.ndarray, "texts"]) -> float:
    """The share of texts whose chosen word must lead a word that, chosen in another text, must lead it: no V can."""
    own = texts.type[chosen][texts.text]
    leads = {(a, b) for a, b in zip(own.tolist(), texts.type.tolist()) if a != b}
    against = np.array([(b, a) in leads for a, b in zip(own.tolist(), texts.type.tolist())])
    return float(np.logical_or.reduceat(against, texts.first).mean())


@experiment(
    jobs_over(data=RANDOM, texts=10, seed=range(PROBLEMS))
    + jobs_over(data=DATA_I, texts=1200, seed=SEEDS)
    + jobs_over(data=SST, texts=SST_TEXTS, seed=SEEDS),
    rows=1,
)
def words_selected(data: str, texts: int, seed: int) -> list[dict]:
    """V alone by gradient flow, E and W held: its direction beside the programme of the words that it chooses."""
    return [choice_measures(select(*problem(data, texts, seed)))]


STARTS, NEAR = 14, 0.1  # beginnings of V for a problem; how far a beginning in a cone is from its axis


@experiment(
    jobs_over(data=RANDOM, texts=10, seed=SEEDS) + jobs_over(data=SST, texts=SST_TEXTS[0], seed=SEEDS), rows=STARTS
)
def choices_by_start(data: str, texts: int, seed: int) -> list[dict]:
    """V alone from zero, from the model's V/λ and from random directions of its length: choices, numbered as they come.

    Each choice is then tried from a beginning near the direction of its programme, ten times as long: does it stay?
    """
    model, corpus = problem(data, texts, seed)
    held, first = selection.texts_of(model, corpus), initial_V(model)
    several = np.diff(np.append(held.first, len(held.text))) > 1
    draws = np.random.default_rng([STARTS, seed])
    choices, rows = {}, []
    for start in range(STARTS):
        V = (np.zeros_like(first), first)[start] if start < 2 else directed(draws, len(first)) * np.linalg.norm(first)
        chosen = selection.chosen_by(held, flow_of(held, V).V[-1])
        margin = selection.max_margin(held, chosen)
        axis, across = margin.V / np.linalg.norm(margin.V), directed(draws, len(first))
        near = 10 * np.linalg.norm(margin.V) * (axis + NEAR * (across - (across @ axis) * axis))
        again = selection.chosen_by(held, flow_of(held, near).V[-1])
        row = {"start": start, "choice": choices.setdefault(tuple(chosen), len(choices))}
        row |= {
            "best": agreeing_share(chosen == held.best(held.gamma), several),
            "stays": float((again == chosen).all()),
        }
        rows.append(row | {"condition": float(not selection.tight_and_better(held, chosen, margin).any())})
    return rows


def directed(draws: np.random.Generator, d: int) -> Float[np.ndarray, "d"]:
    """A random direction."""
    V = draws.normal(size=d)
    return V / np.linalg.norm(V)


# ---
# The same where it can be seen: few words in the plane, with W = (0, 1), so that the higher word votes more.


TOY = [(0.0, 0.0), (1.0, 1.0), (1.0, -1.0), (0.5, 1.0)]  # the authors' first example
STAYS = [(1.0, 0.0), (0.5, -0.25), (-0.75, 2.0)]  # one text: its first word can be kept, its last is the best
LEAVES = [(1.0, 0.0), (0.5, -0.25), (-0.6, 2.0)]  # the best word a little nearer: the first cannot be kept
ARROWS = (-5.0, 3.0, 10.0, 100.0, 1000.0)  # log τ


def in_plane(words: Sequence[tuple[float, float]], degrees: float | None = None) -> tuple[AttentionClassifier, Corpus]:
    """Words of the plane: the authors' three texts with V = 0, or one positive text of all words and a V of length 5 at
    an angle to the first axis."""
    texts, labels = ([[0, 1], [0, 2], [0, 3]], [1, 0, 1]) if degrees is None else ([[*range(len(words))]], [1])
    model = AttentionClassifier(len(words), dimension=2, lam=1.0, dtype=torch.float64)
    turn = np.radians(degrees or 0)
    with torch.no_grad():
        model.embedding.copy_(torch.tensor(words))
        model.W.copy_(torch.tensor([0.0, 1.0]))
        model.V.copy_((degrees is not None) * 5 * torch.tensor([np.cos(turn), np.sin(turn)]))
    return model, Corpus.from_lists(texts, labels)


def draw_plane(found: Selected, title: str) -> Figure:
    """Words, filled if a text chooses them in the end; V at :data:`ARROWS`, pale to dark; the programme, dashed."""
    texts, path, chosen, margin = found
    among = set(texts.type[chosen].tolist())
    data = pd.DataFrame(texts.E, columns=["x", "y"]).assign(word=list("abcd"[: len(texts.E)]))
    data["chosen"] = [word in among for word in range(len(data))]

    def draw(axes: Axes) -> list:
        axes.set(xlim=(-1.4, 1.5), ylim=(-1.4, 2.3), aspect="equal")
        for x, y, word, filled in data.itertuples(index=False):
            axes.plot(x, y, "o", color=INK, markerfacecolor=INK if filled else "none", markersize=6)
            axes.annotate(word, (x, y), (6, -11), textcoords="offset points")
        axes.plot(*np.transpose([(0, 0), 1.4 * margin.V / np.linalg.norm(margin.V)]), color=INK, linestyle=DASHED)
        for time, alpha in zip(ARROWS, np.linspace(0.25, 1, len(ARROWS))):
            V = path.V[min(np.searchsorted(path.log_times, time), len(path.V) - 1)]
            if V.any():
                style = {"arrowstyle": "->", "color": GREEN, "alpha": alpha, "linewidth": 1.8}
                axes.annotate("", V / np.linalg.norm(V), (0, 0), arrowprops=style | {"shrinkA": 0, "shrinkB": 0})
        return [Line2D([], [], color=GREEN, label="V"), Line2D([], [], color=INK, linestyle=DASHED, label="programme")]

    end = ", ".join(number(x) for x in path.V[-1] / np.linalg.norm(path.V[-1]))
    alt = f"{title}: words of the plane; chosen in the end: {', '.join(data.word[data.chosen])}; V ends along ({end})."
    return render(draw, data, title, alt, (PANEL[0], 3.3), title=title)


def course(found: Selected) -> pd.DataFrame:
    """Along log τ, from 1 on, the cosine of V with the programme of the words that it chooses just then."""
    texts, path, *_ = found
    choices = [tuple(selection.chosen_by(texts, V)) for V in path.V]
    programmes = {choice: selection.max_margin(texts, np.array(choice)).V for choice in set(choices)}
    cosines = [selection.cosine(V, programmes[choice]) for V, choice in zip(path.V, choices)]
    return pd.DataFrame({"log τ": path.log_times, "cosine": cosines}).query("`log τ` >= 1")


# ---
# λ as a clock of V, and what is left of it where E and W move.


LAMS_OF_CLOCK = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
TIMES_OF_CLOCK = np.concatenate([[0.0], np.geomspace(1e-2, 1e6, 801)])
INITIALISATIONS = ("V₀ of each λ alike", "V₀/λ of each λ alike")
HELD_LAM = 10.0  # the λ from which V₀/λ is taken where that is held


def frozen_path(
    model: AttentionClassifier, corpus: Corpus, steps: int, rate: float, lam: float
) -> Float[np.ndarray, "steps d"]:
    """V/λ along gradient descent with E and W held, at a λ, from the model's V/λ, with the rate times λ²."""
    moving = deepcopy(model)
    moving.lam = lam
    with torch.no_grad():
        moving.V *= lam / model.lam
        path = []
        for _ in range(steps):
            moving.V -= rate * lam**2 * dynamics.gradients(moving, corpus)["V"]
            path.append(moving.V / lam)
    return torch.stack(path).numpy()


def followed(
    dataset: Dataset, model: AttentionClassifier, lam: float, times: Float[np.ndarray, "times"] = TIMES_OF_CLOCK
) -> tuple[Float[np.ndarray, "times"], Float[np.ndarray, "times"]]:
    """The share of a text's attention that polar words have, and the loss, by the mean field while all moves."""
    names, kinds = zip(*examined_types(dataset).items())
    polar = [i for i, name in enumerate(names) if name != "neutral"]
    field = MeanField.from_corpus(dataset.train, list(kinds))
    path = field.flow(field.start(model, list(kinds)), lam, times)
    a, s = path[:, : len(kinds), -2] / lam, path[:, : len(kinds), -1]
    weight = field.patterns * np.exp(a - a.max(1, keepdims=True))[:, None]
    alpha = weight / weight.sum(2, keepdims=True)
    right = field.signs * (alpha * s[:, None]).sum(2)
    return alpha[:, :, polar].sum(2) @ field.shares, np.logaddexp(0, -right) @ field.shares


@experiment(jobs_over(initialisation=INITIALISATIONS, seed=SEEDS, lam=LAMS_OF_CLOCK), rows=1)
def race(initialisation: str, lam: float, seed: int) -> list[dict]:
    """When polarity is learnt and when attention, on small Data I by its mean field, while everything moves."""
    dataset = small_data(seed)
    model = initial_model(dataset, lam=lam, seed=seed)
    if initialisation == INITIALISATIONS[1]:
        with torch.no_grad():
            model.V *= lam / HELD_LAM
    share, loss = followed(dataset, model, lam)
    polarity, attention = crossing(TIMES_OF_CLOCK, -loss, -loss[0] / 2), crossing(TIMES_OF_CLOCK, share, 0.5)
    at_polarity = float(np.interp(polarity, TIMES_OF_CLOCK, share))
    return [
        {"polarity": polarity, "attention": attention, "share then": at_polarity, "share at first": float(share[0])}
    ]


SST_LAMS, EVERY, ENDS = (1.0, 10.0, 100.0), 10, (70, 700)  # batches between two looks, and at the ends: of 100 texts


def looks(model: AttentionClassifier, dataset: Dataset, seed: int) -> list[tuple[float, float]]:
    """Votes of listed words for their class, and their lead in attention: first, and after every ten batches."""
    config, types = sst_config("Adagrad", seed, ENDS[-1] // ENDS[0]), examined_types(dataset)
    trainer, order = choose_trainer(model, config)(model, dataset.train, config), generator(seed, "order")

    def look() -> tuple[float, float]:
        means = type_means(model, types)
        attention = (means["attention positive"] + means["attention negative"]) / 2 - means["attention neutral"]
        return (means["polarity positive"] - means["polarity negative"]) / 2, attention

    seen = [look()]
    for _ in range(config.epochs):
        batches = batches_of(len(dataset.train), config.batch_size, order)
        for first in range(0, len(batches), EVERY):
            trainer.epoch(batches[first : first + EVERY])
            seen.append(look())
    return seen


def half_time(values: Float[np.ndarray, "looks"]) -> float:
    """Looks until half of what is gained by the last one, between two of them; nan if nothing is gained."""
    gained = (values - values[0]) / (values[-1] - values[0])
    if not values[-1] > values[0]:
        return float("nan")
    after = int(np.argmax(gained >= 0.5))
    return after - (gained[after] - 0.5) / (gained[after] - gained[after - 1])


@experiment(jobs_over(labels=("real", "permuted"), seed=SEEDS, lam=SST_LAMS), rows=len(ENDS))
def race_on_sst(labels: str, lam: float, seed: int) -> list[dict]:
    """Adagrad: batches until votes and attention of listed words reach half of what they gain by either end."""
    dataset = load_dataset("sst")
    dataset = dataset if labels == "real" else with_permuted_labels(dataset, seed)
    model = AttentionClassifier(len(dataset.vocabulary), lam=lam, seed=seed)
    votes, lead = np.array(looks(model, dataset, seed)).T
    rows = []
    for end in ENDS:
        part = slice(end // EVERY + 1)
        row = {"end": end, "votes": EVERY * half_time(votes[part]), "attention": EVERY * half_time(lead[part])}
        rows.append(row | {"vote gained": votes[part][-1] - votes[0], "lead gained": lead[part][-1] - lead[0]})
    return rows


# ---
# Whether the globally best words of all texts can be chosen together.


PARTS = (10, 20, 50, 100, 200, 500, 1000, 6920)  # numbers of texts; the last is all of SST's training set


@experiment(jobs_over(seed=SEEDS), rows=len(PARTS))
def best_words(seed: int) -> list[dict]:
    """SST, E and W of a trained model: is there a V that chooses the best word of every text? By number of texts."""
    model, corpus = problem(SST, PARTS[-1], seed)
    order, rows = np.random.default_rng(seed).permutation(len(corpus)), []
    for count in PARTS:
        texts = selection.texts_of(model, corpus[torch.from_numpy(np.sort(order[:count]))])
        best = texts.best(texts.gamma)
        against = contradicted(texts, best)
        possible = not against and selection.max_margin(texts, best).feasible
        rows.append({"texts": count, "possible": float(possible), "contradicted": against})
    return rows


# ---
# V and W learn together, E held: both directions against the programmes of the words that are chosen.


MOMENTS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)  # log τ
SLOW = (1e3, 1e6)  # log τ between which the growth of V is measured


@experiment(
    jobs_over(data=RANDOM, texts=10, seed=range(PROBLEMS)) + jobs_over(data=DATA_I, texts=1200, seed=SEEDS), rows=1
)
def learned_together(data: str, texts: int, seed: int) -> list[dict]:
    """Cosines of W and V with the programmes of the choice at the end, at several moments; empty if hopeless."""
    model, corpus = problem(data, texts, seed)
    held = selection.texts_of(model, corpus)
    path = selection.joint_flow(held, initial_V(model), model.W.detach().double().numpy(), MOMENTS[-1])
    chosen = selection.chosen_by(held, path.V[-1])
    W, supporting = selection.support_machine(held, chosen)
    V = selection.relaxed_margin(held, chosen, supporting)
    tied, better = selection.against(held, chosen, W, supporting)
    strict = selection.max_margin(held, chosen)
    first = np.split(selection.forces(held, np.concatenate([path.V[0], path.W[0]]), 0.0).force, 2)[1]
    at = [min(int(np.searchsorted(path.log_times, time)), len(path.V) - 1) for time in MOMENTS]
    gamma = held.y[held.text] * (held.E @ path.W[-1])[held.type]
    several = np.diff(np.append(held.first, len(held.text))) > 1
    constrained = supporting[held.text] & np.isfinite(strict.slack) & ~tied & ~better

    def lead(V: np.ndarray) -> float:
        """The least lead of a chosen word in a supporting text over those that vote less."""
        scores = (held.E @ V)[held.type]
        return float((scores[chosen[held.text]] - scores)[constrained].min(initial=np.inf))

    early, late = (lead(path.V[at[MOMENTS.index(time)]]) for time in SLOW)
    row = {"log time": float(path.log_times[-1]), "right": float(np.isfinite(W).all())}
    row |= {f"W at {time:g}": selection.cosine(path.W[i], W) for time, i in zip(MOMENTS, at)}
    row |= {f"V at {time:g}": selection.cosine(path.V[i], V) for time, i in zip(MOMENTS, at)}
    row |= {
        "V, half for ties": selection.cosine(path.V[-1], selection.relaxed_margin(held, chosen, supporting, tied)),
        "texts with ties": float(len(np.unique(held.text[tied]))),
        "texts with better words": float(len(np.unique(held.text[better]))),
        "V, programme of all texts": selection.cosine(path.V[-1], strict.V),
        "W, first slope": selection.cosine(first, W),
        "supporting": float(supporting.mean()),
        "growth of the lead": (late - early) / float(np.log(SLOW[1] / SLOW[0])),
        "choice since": float(path.log_times[last_change(held, selection.Path(path.V, path.log_times, False))]),
        "best": float((chosen == held.best(gamma))[several].mean()),
    }
    return [row]


# ---
# In short: a factor more, normalised steps, and whether weights polarise.


TWENTY = range(20)
EPSILON = 0.5  # ε of the initialisation: M₀ = εI, V₀ and W₀ times ε
LOSSES = (1e-1, 1e-2, 1e-4, 1e-6)
STEPS = 10_000  # of descent
SOON = 3_000  # steps of a model with a factor more, and of the one beside it
RULES = ("plain", "normalised")
WHO = ("V alone", "V and W")
LATE = 1e5  # τ of the mean field


def keys_and_votes(corpus: Corpus, E: torch.Tensor, initial: dict[str, torch.Tensor]) -> list[np.ndarray | None]:
    """u = [MᵀV, MᵀW], "d 2", when the loss first comes to each of :data:`LOSSES`, E held, λ = 1; None if it does not.

    Without M in ``initial`` it is the identity and held. Steps are divided by the loss, lest the end take for ever.
    """
    learned = {name: value.clone().requires_grad_() for name, value in initial.items()}
    found: list[np.ndarray | None] = []
    for _ in range(SOON):
        both = torch.stack([learned["V"], learned["W"]], 1)
        u = learned["M"].T @ both if "M" in learned else both
        a, s = (E @ u)[corpus.tokens].T
        alpha = softmax_by_instance(a, corpus.instance_of, len(corpus))
        said = sum_by_instance(alpha * s, corpus.instance_of, len(corpus))
        loss = torch.nn.functional.softplus(-corpus.signs.double() * said).mean()
        while len(found) < len(LOSSES) and loss <= LOSSES[len(found)]:
            found.append(u.detach().numpy())
        if len(found) == len(LOSSES):
            break
        slopes = torch.autograd.grad(loss, list(learned.values()))
        with torch.no_grad():
            for value, slope in zip(learned.values(), slopes):
                value -= 0.05 * slope / loss
    return found + [None] * (len(LOSSES) - len(found))


@experiment(jobs_over(seed=TWENTY), rows=2 * len(LOSSES))
def factor_more(seed: int) -> list[dict]:
    """DP and DP-A from one effective initialisation, E held: singular values of keys beside votes, at equal losses."""
    model, corpus = problem(RANDOM, 10, seed)
    E, V, W = (x.detach().double() for x in (model.embedding, model.V, model.W))
    initialisations = {
        "DP": {"V": EPSILON**2 * V, "W": EPSILON**2 * W},
        "DP-A": {"V": EPSILON * V, "W": EPSILON * W, "M": EPSILON * torch.eye(len(V), dtype=torch.float64)},
    }
    rows = []
    for name, initial in initialisations.items():
        for loss, u in zip(LOSSES, keys_and_votes(corpus, E, initial)):
            sizes = np.full(2, np.nan) if u is None else np.linalg.svd(u, compute_uv=False)
            along = np.nan if u is None else abs(selection.cosine(*u.T))
            rows.append({"model": name, "loss": loss, "ratio": sizes[1] / sizes[0], "nuclear": sizes.sum()})
            rows[-1] |= {"over Frobenius": sizes.sum() / np.hypot(*sizes), "cosine": along}
    return rows


def log_loss(texts: selection.Texts, V: np.ndarray, W: np.ndarray) -> float:
    """log L at λ = 1, also where L is no number any more."""
    a, s = (texts.E @ np.column_stack([V, W]))[texts.type].T
    a = a + texts.log_count
    alpha = np.exp(a - np.logaddexp.reduceat(a, texts.first)[texts.text])
    margins = texts.y * np.add.reduceat(alpha * s, texts.first)
    each = np.where(margins > 30, -margins, np.log(np.logaddexp(0, -np.minimum(margins, 30))))
    return float(np.logaddexp.reduce(each) - np.log(len(each)))


def descend(
    texts: selection.Texts, initial: np.ndarray, alone: bool, normalised: bool, steps: int = STEPS
) -> tuple[np.ndarray, np.ndarray]:
    """(V, W) and log L after 1, 2, ... steps; V alone: W stays. Normalised: each step has the same length."""
    state, d = initial.copy(), len(initial) // 2
    path, losses = np.empty((steps, 2 * d)), np.empty(steps)
    for step in range(steps):
        losses[step] = log_loss(texts, state[:d], state[d:])
        if alone:
            direction, log_size = selection.slope(texts._replace(s=texts.E @ state[d:]), state[:d])
            move = np.append(direction, np.zeros(d))
        else:
            log_size = losses[step]
            move = selection.forces(texts, state, -log_size).force
        move = move / max(np.linalg.norm(move), 1e-300) if normalised else move * np.exp(log_size)
        state = state + 0.1 * move if normalised else state + move
        path[step] = state
    return path, losses


def to_be_had(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of :func:`rates` in which W, if it learns, can get all texts right by the words that are chosen."""
    return rows if not len(rows) else rows[(rows["who"] == WHO[0]) | (rows["right"] == 1)]


@experiment(jobs_over(who=WHO, rule=RULES, seed=TWENTY), rows=1)
def rates(who: str, rule: str, seed: int) -> list[dict]:
    """Random problems, plain or normalised descent: how fast V turns to the programme of its choice, and the loss."""
    model, corpus = problem(RANDOM, 10, seed)
    texts = selection.texts_of(model, corpus)
    initial = np.concatenate([initial_V(model), model.W.detach().double().numpy()])
    path, losses = descend(texts, initial, who == WHO[0], rule == "normalised")
    d = len(initial) // 2
    chosen = selection.chosen_by(texts, path[-1, :d])
    margin = selection.max_margin(texts, chosen).V
    V = path[:, :d] / np.linalg.norm(path[:, :d], axis=1, keepdims=True)
    off = np.linalg.norm(V - margin / np.linalg.norm(margin), axis=1)
    right = float(np.isfinite(selection.support_machine(texts, chosen)[0]).all())
    return [{"right": right, "log loss": float(losses[-1]), "off": float(off[-1])}]


def entropies(alpha: np.ndarray, text: np.ndarray, counts: np.ndarray) -> Float[np.ndarray, "texts"]:
    """Entropy of each text's weights over log n, of texts of several words; ``text``: of each weight."""
    H = -np.bincount(text, xlogy(alpha, alpha), len(counts))
    return H[counts > 1] / np.log(counts[counts > 1])


def of_flow(who: str, seed: int) -> dict[str, float]:
    """Random problems, E held: entropies before training, at log τ = 10 and at 1,000."""
    model, corpus = problem(RANDOM, 10, seed)
    texts = selection.texts_of(model, corpus)
    V, W = initial_V(model), model.W.detach().double().numpy()
    path = selection.gradient_flow(texts, V) if who == WHO[0] else selection.joint_flow(texts, V, W, 1e3)
    counts = np.diff(np.append(texts.first, len(texts.text)))
    row = {}
    for when, time in (("at first", -5.0), ("when trained", TRAINED_TIME), ("late", np.inf)):
        V = path.V[min(int(np.searchsorted(path.log_times, time)), len(path.V) - 1)]
        a = (texts.E @ V)[texts.type] + texts.log_count
        found = entropies(np.exp(a - np.logaddexp.reduceat(a, texts.first)[texts.text]), texts.text, counts)
        row[f"entropy {when}"] = float(found.mean())
    return row


def of_everything(lam: float, seed: int) -> dict[str, float]:
    """Small Data I by its mean field, all learns: at τ = 0, when a run ends and at τ = :data:`LATE`."""
    dataset = small_data(seed)
    kinds = [*examined_types(dataset).values()]
    field = MeanField.from_corpus(dataset.train, kinds)
    path = field.flow(field.start(initial_model(dataset, lam=lam, seed=seed), kinds), lam, [0, WHOLE_STEPS, LATE])
    row = {}
    for when, G in zip(("at first", "when trained", "late"), path):
        a = G[: len(kinds), -2] / lam
        alpha = np.exp(a - a.max())
        alpha = alpha / (field.patterns @ alpha)[:, None]
        H = -(field.patterns * xlogy(alpha, alpha)).sum(1) / np.log(field.patterns.sum(1))
        row[f"entropy {when}"] = float(H @ field.shares)
    return row


@experiment(jobs_over(what=WHO, lam=1.0, seed=TWENTY) + jobs_over(what="everything", lam=LAMS, seed=SEEDS), rows=1)
def polarised(what: str, lam: float, seed: int) -> list[dict]:
    """Entropy of the weights of a text, of log n, along gradient flow: of random problems, and of small Data I."""
    return [of_everything(lam, seed) if what == "everything" else of_flow(what, seed)]


# ---
# At λ = 1 one step of gradient descent for the embeddings, then V alone, as the theorem has it.


STEP, OTHER_STEPS = 1.0, (0.1, 3.0)  # lengths of the step, of that of a new embedding: the usual one, and others
VARIED = 50  # texts of SST with which it is varied
LABELS = ("real", "permuted")  # of which the step learns; V learns of the real ones
PLAIN, DRAWN, OWN = "V = 0", "V drawn", "own texts"  # V at the step, which V then starts from; or: what it is taken on
BALANCED = 30.0  # log τ to which a flow is followed whose attention stays shared: later τ times rounding is not small
ROUNDED = 1e-10  # where V is in no balance it takes a thousandth of a unit or so


class Problem(NamedTuple):
    """A model at λ = 1 before any step, all texts of which the step learns, and those among them that V learns."""

    model: AttentionClassifier
    every: Corpus
    texts: Corpus


def before_the_step(data: str, texts: int, seed: int, drawn: bool = False) -> Problem:
    """E and W as drawn, V = 0 or ``drawn`` as well. Of SST the texts that V learns are those of `words_selected`."""
    if data == RANDOM:
        case = Case(dimension=20, lam=1.0, types=40, instances=texts, seed=seed)
        model, every = case.model(), case.corpus()
    else:
        dataset = load_dataset("sst")
        model = AttentionClassifier(len(dataset.vocabulary), lam=1.0, seed=seed, dtype=torch.float64)
        every = dataset.train
    if not drawn:
        with torch.no_grad():
            model.V.zero_()
    among = torch.arange(texts)
    if data == SST:
        among = torch.from_numpy(np.random.default_rng(seed).permutation(len(every))[:texts]).sort().values
    return Problem(model, every, every[among])


def with_labels_of(corpus: Corpus, labels: str, seed: int) -> Corpus:
    """The corpus, its labels as they are or dealt out anew."""
    return corpus if labels == "real" else replace(corpus, labels=corpus.labels[shuffled(len(corpus), seed)])


def in_balance(texts: selection.Texts, path: selection.Path) -> bool:
    """Whether a small push of V, at the end, is undone within a part :data:`ROUNDED` of a unit of log τ."""
    slopes, shift = selection.curvature(texts, path.V[-1])
    return bool(-np.linalg.eigvalsh(slopes)[0] * np.exp(shift + path.log_times[-1]) > 1 / ROUNDED)


def flow_of(texts: selection.Texts, V: np.ndarray) -> selection.Path:
    """V alone to log τ = :data:`END`; to :data:`BALANCED` where it is then in a balance, or rounding ends it later.

    Where two texts want the same two words the other way round V comes to a balance between these, of forces that
    cancel; times τ what rounding leaves of them is soon larger than what still moves V.
    """
    soon = selection.gradient_flow(texts, V, BALANCED)
    if in_balance(texts, soon):
        return soon
    try:
        return selection.gradient_flow(texts, V, END)
    except RuntimeError:
        return soon


@experiment(
    jobs_over(data=SST, texts=SST_TEXTS, labels=LABELS, length=STEP, variant=PLAIN, seed=SEEDS)
    + jobs_over(data=SST, texts=VARIED, labels="real", length=OTHER_STEPS, variant=PLAIN, seed=SEEDS)
    + jobs_over(data=RANDOM, texts=10, labels=LABELS, length=STEP, variant=PLAIN, seed=range(PROBLEMS))
    + jobs_over(data=SST, texts=VARIED, labels="real", length=STEP, variant=(OWN, DRAWN), seed=SEEDS),
    rows=1,
)
def selected_after_a_step(data: str, texts: int, labels: str, length: float, variant: str, seed: int) -> list[dict]:
    """λ = 1: a step of E, then V alone: its direction beside the programme of its words, and whether these tell."""
    model, every, own = before_the_step(data, texts, seed, variant == DRAWN)
    stepped = own if variant == OWN else every
    rate = one_step.step_embeddings(model, with_labels_of(stepped, labels, seed), length)
    held = selection.texts_of(model, own)
    path = flow_of(held, initial_V(model))
    end, sizes = path.V[-1], np.diff(np.append(held.first, len(held.text)))
    chosen, best, several = selection.chosen_by(held, end), held.best(held.gamma), sizes > 1
    margin = selection.max_margin(held, chosen)
    frequency = one_step.signed_frequency(stepped, len(held.s))
    favour = held.y[held.text] * frequency[held.type]
    row = {
        "cosine": selection.cosine(end, margin.V),
        "cosine of the first slope": selection.cosine(selection.slope(held, path.V[0])[0], margin.V),
        "margin reached": selection.margin_reached(held, chosen, margin, end),
        "condition": float(not selection.tight_and_better(held, chosen, margin).any()),
        "error": margin.error,
        "shared": int((selection.largest_weight(held, end) < UNSHARED).sum()),
        "choice since": float(path.log_times[last_change(held, path)]),
        "log time": float(path.log_times[-1]),
        "rests": float(path.rests),
        "best": agreeing_share(chosen == best, several),
        "most frequent": agreeing_share(chosen == held.best(favour), several),  # by signed frequency, for the text
        "in favour": float((favour[chosen] > 0)[several].mean()),
        "any word": float((1 / sizes)[several].mean()),
        "best is possible": float(selection.max_margin(held, best).feasible),
        "best contradicted": contradicted(held, best),
        "learning rate": rate,
    }
    return [row]


# ---
# Whether attention is learnt where single words say nothing of the class.


TIMES_OF_PAIRS = np.concatenate([[0.0], np.geomspace(1.0, 1e5, 151)])
LEARNT = 0.6  # a loss below it, where guessing costs log 2 = 0.69


def trained(dataset: Dataset, lam: float, seed: int) -> AttentionClassifier:
    """After 75 epochs of gradient descent, as on small Data I."""
    model = initial_model(dataset, lam=lam, seed=seed)
    fit(model, dataset, small_config(seed=seed), progress=False)
    return model


def shares(model: AttentionClassifier, corpus: Corpus, telling: torch.Tensor) -> float:
    """How much of a text's attention telling words have, a mean over texts."""
    with torch.no_grad():
        return float(model(corpus).weights[torch.isin(corpus.tokens, telling)].sum() / len(corpus))


def when_learnt(dataset: Dataset, lam: float, seed: int) -> float:
    """τ at which the loss of the mean field falls below :data:`LEARNT`; nan if not within :data:`TIMES_OF_PAIRS`."""
    kinds = [*kinds_of().values()]
    field = MeanField.from_corpus(dataset.train, kinds)
    path = field.flow(field.start(initial_model(dataset, lam=lam, seed=seed), kinds), lam, TIMES_OF_PAIRS)
    a, s = path[:, : len(kinds), -2] / lam, path[:, : len(kinds), -1]
    weight = field.patterns * np.exp(a - a.max(1, keepdims=True))[:, None]
    said = ((weight / weight.sum(2, keepdims=True)) * s[:, None]).sum(2)
    return crossing(TIMES_OF_PAIRS, -(np.logaddexp(0, -field.signs * said) @ field.shares), -LEARNT)


@experiment(jobs_over(signal=SIGNALS, seed=SEEDS, lam=LAMS), rows=1)
def signal_in_pairs(signal: str, lam: float, seed: int) -> list[dict]:
    """Data IV: right answers, attention and votes of the words of which the class is made, when the loss falls."""
    data = told_by(signal, seed=seed)
    kinds = kinds_of()
    telling = torch.cat([kinds[name] for name in (("A0", "A1", "B0", "B1") if signal == "pairs" else ("A0", "A1"))])
    first, model = initial_model(data, lam=lam, seed=seed), trained(data, lam, seed)
    s = model.token_scores().polarity.double().numpy()
    row = {
        "right": model.accuracy(data.test),
        "share": shares(model, data.test, telling),
        "share at first": shares(first, data.test, telling),
        "|s| of telling words": float(abs(s[telling]).mean()),
        "|s| of neutral words": float(abs(s[kinds["neutral"]]).mean()),
        "learnt at": when_learnt(data, lam, seed),
    }
    return [row]


# ---
# How much of a weight is the length of its text.


@experiment(jobs_over(dataset=DATASETS, seed=SEEDS, lam=LAMS), rows=1)
def weights_by_length(dataset: str, lam: float, seed: int) -> list[dict]:
    """Training texts: the largest weight of each against its bound and its length; beside scores dealt out anew."""
    data = load_dataset(dataset)
    model = AttentionClassifier(len(data.vocabulary), lam=lam, seed=seed)
    fit(model, data, TrainingConfig(epochs=10, seed=seed), progress=False)
    corpus = data.train
    lengths = corpus.lengths.numpy()
    scores, span = dispersion.attention_scores(model, corpus)
    weights, bound = dispersion.largest(scores, corpus), dispersion.most(lengths, span)
    dealt = np.random.default_rng(seed).permutation(scores)
    row = {
        "span": span,
        "over the bound": float((weights - bound).max()),
        "part of the bound": float(np.median(weights / bound)),
        "texts": len(corpus),
        "longest": int(lengths.max()),
        "power": dispersion.power_of_length(lengths, weights),
        "power of dealt scores": dispersion.power_of_length(lengths, dispersion.largest(dealt, corpus)),
        "power of the bound": dispersion.power_of_length(lengths, bound),
    }
    return [row]
