"""Chapter 14: how free attention is when it is trained to be something else, and models that know nothing; on SST."""

from __future__ import annotations

from collections.abc import Sequence

from uaftc_book.chapters.is_it_explanation.quarrel import jobs_of, trained_by_protocol, usual_lam
from uaftc_book.neighbours import adversary, controls, deception, guided, variation
from uaftc_book.neighbours.encoders import JainWallaceClassifier
from uaftc_book.neighbours.measured import looked_at
from uaftc_book.neighbours.protocol import classifier_quality
from uaftc_book.neighbours.settings import ADVERSARY, CONTROLS, DECEPTION, GUIDED, VARIATION
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier

ELSEWHERE = 100  # added to a seed where a second model must start from another


@experiment(jobs=jobs_of(ADVERSARY.models), rows=len(ADVERSARY.strengths) + len(ADVERSARY.tolerances))
def trained_adversary(model: str, seed: int) -> list[dict]:
    """How far other weights get: of a second model that is trained to, by its strength; and exactly, text by text."""
    data = load_dataset("sst")
    return both_adversaries(trained_by_protocol(data, model, usual_lam(model), seed)[0], data, seed)


def both_adversaries(
    model: AttentionClassifier, data: Dataset, seed: int, strengths: Sequence[float] = ADVERSARY.strengths
) -> list[dict]:
    """Rows of second models, from another seed than the first, and of what is exact."""
    second = adversary.curve(model, data, seed + ELSEWHERE, strengths)
    exact = adversary.ceiling(model, data.test)
    return [{"kind": kind} | row for kind, rows in (("trained", second), ("exact", exact)) for row in rows]


@experiment(jobs_over(seed=range(GUIDED.seeds)), rows=5)
def given_weights(seed: int) -> list[dict]:
    """A token MLP that pools by its own weights and by others'; the LSTM with its own, and with uniform ones."""
    data = load_dataset("sst")
    lstm, _ = trained_by_protocol(data, "bilstm+tanh", usual_lam("bilstm+tanh"), seed)
    guides = {"uniform": guided.uniform_weights, "its own": None, "the LSTM's": guided.weights_of(lstm)}
    found = guided.guided_rows(data, guides, seed=seed)
    found += guided.guided_rows(data, {"uniform": guided.uniform_weights}, "bilstm", seed)
    return found + [{"reads": "bilstm", "weights": "its own"} | classifier_quality(lstm, data.test)]


@experiment(jobs=jobs_of(DECEPTION.models), rows=len(DECEPTION.strengths))
def hidden_attention(model: str, seed: int) -> list[dict]:
    """Training that hides attention from the words that tell the class most, and what still shows them."""
    data = load_dataset("sst")
    initial = JainWallaceClassifier(len(data.vocabulary), *model.split("+"))
    return deception.deception_rows(initial, data, deception.impermissible_words(data), seed)


@experiment(jobs_over(model=VARIATION.models))
def trained_again(model: str) -> list[dict]:
    """How far the weights of other seeds are from those of the first, by its largest weight."""
    data = load_dataset("sst")
    corpus, lam = looked_at(data), usual_lam(model)
    first, *others = (
        trained_by_protocol(data, model, lam, seed)[0](corpus).weights.detach() for seed in range(VARIATION.seeds)
    )
    return variation.variation_rows(first, others, corpus)


@experiment(jobs=jobs_of(CONTROLS.models), rows=8)
def models_that_know_nothing(model: str, seed: int) -> list[dict]:
    """What explanations say of models that were not trained for the task, or not on some words, beside the trained."""
    data = load_dataset("sst")
    base, _ = trained_by_protocol(data, model, usual_lam(model), seed)
    words = controls.drawn_words(data, CONTROLS.held_out, seed)
    return controls.rows_of_controls(base, data, looked_at(data), words, seed + ELSEWHERE)
