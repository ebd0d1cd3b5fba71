"""Chapter 20, in short: a factor more, normalised steps, and whether weights polarise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from scipy.special import xlogy

from uaftc_book.chapters.since_2020.selected import RANDOM, TRAINED, initial_V, problem
from uaftc_book.mean_field import MeanField
from uaftc_book.neighbours import joint_selection, selection
from uaftc_book.small_data import SEEDS, WHOLE_STEPS, initial_model, small_data
from uaftc_lib.corpus import Corpus
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import softmax_by_instance, sum_by_instance
from uaftc_lib.scores import examined_types

TWENTY = range(20)
SMALL = 0.5  # ε of the initialisation: M₀ = εI, V₀ and W₀ times ε
LOSSES = (1e-1, 1e-2, 1e-4, 1e-6)
STEPS, FIRST = 10_000, 100  # of descent, and from where exponents are read off
SOON = 3_000  # steps of a model with a factor more, and of the one beside it
RULES = ("plain", "normalised")
WHO = ("V alone", "V and W")
LAMS = (1.0, 10.0, 100.0)
LATE = 1e5  # τ of the mean field
BELOW = 0.1  # of log n: entropy of a weight that has chosen


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
        "DP": {"V": SMALL**2 * V, "W": SMALL**2 * W},
        "DP-A": {"V": SMALL * V, "W": SMALL * W, "M": SMALL * torch.eye(len(V), dtype=torch.float64)},
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
            move = joint_selection.forces(texts, state, -log_size).force
        move = move / max(np.linalg.norm(move), 1e-300) if normalised else move * np.exp(log_size)
        state = state + 0.1 * move if normalised else state + move
        path[step] = state
    return path, losses


def growth_power(values: Float[np.ndarray, "steps"]) -> float:
    """With which power of the step, from :data:`FIRST` on, something grows: a slope in logarithms."""
    steps = np.unique(np.geomspace(FIRST, STEPS, 50).astype(int)) - 1
    return float(np.polyfit(np.log(steps + 1), np.log(np.maximum(values[steps], 1e-16)), 1)[0])


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
    right = float(np.isfinite(joint_selection.support_machine(texts, chosen)[0]).all())
    row = {"right": right, "log loss": float(losses[-1]), "off": float(off[-1]), "off at first": float(off[FIRST - 1])}
    row |= {"power of the direction": growth_power(off), "power of −log L": growth_power(np.maximum(-losses, 1e-16))}
    return [row]


def entropies(alpha: np.ndarray, text: np.ndarray, counts: np.ndarray) -> Float[np.ndarray, "texts"]:
    """Entropy of each text's weights over log n, of texts of several words; ``text``: of each weight."""
    H = -np.bincount(text, xlogy(alpha, alpha), len(counts))
    return H[counts > 1] / np.log(counts[counts > 1])


def entropy_summary(values: np.ndarray, shares: np.ndarray, when: str) -> dict[str, float]:
    """The mean entropy of texts and the share with one below :data:`BELOW`."""
    return {f"entropy {when}": float(values @ shares), f"chosen {when}": float((values < BELOW) @ shares)}


def of_flow(who: str, seed: int) -> dict[str, float]:
    """Random problems, E held: entropies before training, at log τ = 10 and at 1,000."""
    model, corpus = problem(RANDOM, 10, seed)
    texts = selection.texts_of(model, corpus)
    V, W = initial_V(model), model.W.detach().double().numpy()
    path = selection.gradient_flow(texts, V) if who == WHO[0] else joint_selection.joint_flow(texts, V, W, 1e3)
    counts = np.diff(np.append(texts.first, len(texts.text)))
    row = {}
    for when, time in (("at first", -5.0), ("when trained", TRAINED), ("late", np.inf)):
        V = path.V[min(int(np.searchsorted(path.log_times, time)), len(path.V) - 1)]
        a = (texts.E @ V)[texts.type] + texts.log_count
        found = entropies(np.exp(a - np.logaddexp.reduceat(a, texts.first)[texts.text]), texts.text, counts)
        row |= entropy_summary(found, np.full(len(found), 1 / len(found)), when)
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
        row |= entropy_summary(H, field.shares, when)
    return row


@experiment(jobs_over(what=WHO, lam=1.0, seed=TWENTY) + jobs_over(what="everything", lam=LAMS, seed=SEEDS), rows=1)
def polarised(what: str, lam: float, seed: int) -> list[dict]:
    """Entropy of the weights of a text, of log n, along gradient flow: of random problems, and of small Data I."""
    return [of_everything(lam, seed) if what == "everything" else of_flow(what, seed)]
