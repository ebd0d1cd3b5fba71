"""Chapter 20: at λ = 1 one step of gradient descent for the embeddings, then V alone, as the theorem has it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from uaftc_book.chapters.since_2020.selected import (
    END,
    PROBLEMS,
    RANDOM,
    SST,
    SST_TEXTS,
    UNSHARED,
    agreeing_share,
    contradicted,
    initial_V,
    last_change,
)
from uaftc_book.controls import shuffled
from uaftc_book.neighbours import one_step, selection
from uaftc_book.random_models import Case
from uaftc_book.small_data import SEEDS
from uaftc_lib.corpus import Corpus
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier

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
    favourable = np.add.reduceat((favour > 0).astype(float), held.first) / sizes
    alike = np.corrcoef(held.s[frequency != 0], frequency[frequency != 0])[0, 1]
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
        "most frequent": agreeing_share(
            chosen == held.best(favour), several
        ),  # the largest signed frequency for the text
        "in favour": float((favour[chosen] > 0)[several].mean()),
        "in favour at random": float(favourable[several].mean()),
        "any word": float((1 / sizes)[several].mean()),
        "best is possible": float(selection.max_margin(held, best).feasible),
        "best contradicted": contradicted(held, best),
        "s, signed frequency": float(alike),
        "along W": one_step.along(model, stepped),
        "learning rate": rate,
    }
    return [row]
