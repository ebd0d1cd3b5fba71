"""Chapter 20: V and W learn together, E held: both directions against the programmes of the words that are chosen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from uaftc_book.chapters.since_2020.selected import DATA_I, PROBLEMS, RANDOM, initial_V, last_change, problem
from uaftc_book.neighbours import joint_selection, selection
from uaftc_book.small_data import SEEDS
from uaftc_lib.corpus import Corpus
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier

MOMENTS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)  # log τ
SLOW = (1e3, 1e6)  # log τ between which the growth of V is measured


def mean_vectors(texts: selection.Texts) -> Float[np.ndarray, "texts d"]:
    """The mean embedding of each text: what W would see with even attention."""
    counts = np.exp(texts.log_count)
    total = np.add.reduceat(counts[:, None] * texts.E[texts.type], texts.first)
    return total / np.add.reduceat(counts, texts.first)[:, None]


class Together(NamedTuple):
    """V and W at the end of a flow of both, the programme of V, and which texts support W."""

    V: Float[np.ndarray, "d"]
    W: Float[np.ndarray, "d"]
    programme: Float[np.ndarray, "d"]
    supporting: Bool[np.ndarray, "texts"]


def on_toy(model: AttentionClassifier, corpus: Corpus) -> Together:
    """Gradient flow of V and W, both from zero, to the last of :data:`MOMENTS`, E held."""
    held, zero = selection.texts_of(model, corpus), np.zeros(model.embedding.shape[1])
    path = joint_selection.joint_flow(held, zero, zero, MOMENTS[-1])
    chosen = selection.chosen_by(held, path.V[-1])
    supporting = joint_selection.support_machine(held, chosen)[1]
    return Together(path.V[-1], path.W[-1], joint_selection.relaxed_margin(held, chosen, supporting), supporting)


@experiment(
    jobs_over(data=RANDOM, texts=10, seed=range(PROBLEMS)) + jobs_over(data=DATA_I, texts=1200, seed=SEEDS), rows=1
)
def learned_together(data: str, texts: int, seed: int) -> list[dict]:
    """Cosines of W and V with the programmes of the choice at the end, at several moments; empty if hopeless."""
    model, corpus = problem(data, texts, seed)
    held = selection.texts_of(model, corpus)
    path = joint_selection.joint_flow(held, initial_V(model), model.W.detach().double().numpy(), MOMENTS[-1])
    chosen = selection.chosen_by(held, path.V[-1])
    W, supporting = joint_selection.support_machine(held, chosen)
    V = joint_selection.relaxed_margin(held, chosen, supporting)
    tied, better = joint_selection.against(held, chosen, W, supporting)
    strict = selection.max_margin(held, chosen)
    by_mean = selection.least_distance(held.y[:, None] * mean_vectors(held))[0]
    first = np.split(joint_selection.forces(held, np.concatenate([path.V[0], path.W[0]]), 0.0).force, 2)
    at = [min(int(np.searchsorted(path.log_times, time)), len(path.V) - 1) for time in MOMENTS]
    gamma = held.y[held.text] * (held.E @ path.W[-1])[held.type]
    several = np.diff(np.append(held.first, len(held.text))) > 1
    constrained = supporting[held.text] & np.isfinite(strict.slack) & ~tied & ~better

    def lead(V: np.ndarray) -> float:
        """The least lead of a chosen word in a supporting text over those that vote less."""
        scores = (held.E @ V)[held.type]
        return float((scores[chosen[held.text]] - scores)[constrained].min(initial=np.inf))

    early, late = (lead(path.V[at[MOMENTS.index(time)]]) for time in SLOW)
    weights = selection.largest_weight(held, path.V[-1])
    row = {"log time": float(path.log_times[-1]), "right": float(np.isfinite(W).all())}
    row |= {f"W at {time:g}": selection.cosine(path.W[i], W) for time, i in zip(MOMENTS, at)}
    row |= {f"V at {time:g}": selection.cosine(path.V[i], V) for time, i in zip(MOMENTS, at)}
    row |= {
        "V, half for ties": selection.cosine(
            path.V[-1], joint_selection.relaxed_margin(held, chosen, supporting, tied)
        ),
        "texts with ties": float(len(np.unique(held.text[tied]))),
        "texts with better words": float(len(np.unique(held.text[better]))),
        "V, programme of all texts": selection.cosine(path.V[-1], strict.V),
        "W, first slope": selection.cosine(first[1], W),
        "V, first slope": selection.cosine(first[0], V),
        "W, machine of the means": selection.cosine(by_mean, W),
        "means can be told apart": float(np.isfinite(by_mean).all()),
        "supporting": float(supporting.mean()),
        "growth of the lead": (late - early) / float(np.log(SLOW[1] / SLOW[0])),
        "|V|": float(np.linalg.norm(path.V[-1])),
        "|W| / log τ": float(np.linalg.norm(path.W[-1]) / path.log_times[-1]),
        "choice since": float(path.log_times[last_change(held, selection.Path(path.V, path.log_times, False))]),
        "best": float((chosen == held.best(gamma))[several].mean()),
        "least weight, supporting": float(weights[supporting].min(initial=1.0)),
        "least weight, others": float(weights[~supporting].min(initial=1.0)),
    }
    return [row]
