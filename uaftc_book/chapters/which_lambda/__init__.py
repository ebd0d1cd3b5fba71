"""Chapter 21_which_lambda: the phase diagram, and both ends of λ."""

from __future__ import annotations

import torch
from torch import Tensor

from uaftc_book.cases import SMALL
from uaftc_book.chapters.exact_dynamics import growing_vector
from uaftc_book.claims import reads
from uaftc_book.readings import VERY_LARGE, column
from uaftc_book.small_data import (
    RANGES,
    SEEDS,
    WHOLE_EPOCHS,
    WHOLE_STEPS,
    ends,
    initial_model,
    mean_field_end,
    set_cosine,
    small_config,
)
from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.datasets import load_dataset
from uaftc_lib.dynamics.ledger import fit_with_ledger
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import examined_types
from uaftc_lib.training import fit

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
