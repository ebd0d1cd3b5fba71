"""Everything that is measured of a trained classifier, as one row."""

from __future__ import annotations

from math import log

import numpy as np
import torch
from jaxtyping import Int

from uaftc_book.neighbours.erasure import erasure_row, orders, zeroed_row
from uaftc_book.neighbours.jain_wallace import permutation_row, permutations
from uaftc_book.neighbours.people import Phrases, people_row
from uaftc_book.neighbours.settings import MEASURES
from uaftc_book.neighbours.yardsticks import (
    gap,
    part_shares,
    spread,
    whole_output,
    without_integration,
    yardstick_agreements,
    yardsticks,
)
from uaftc_lib import explain
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import AttentionClassifier

LOO, SPREAD = "tau attention, leave-one-out", "spread attention of leave-one-out"
REST = "spread per attention of leave-one-out"


TOLERANCE = 0.01  # largest change of a probability that counts as none
IGNORED = 0.01  # a weight below this counts as none


def looked_at(dataset: Dataset, seed: int = 0) -> Corpus:
    """The test texts that are measured: neither too short nor too long, and at most so many, drawn."""
    corpus = dataset.test
    usable = torch.nonzero((corpus.lengths >= MEASURES.shortest) & (corpus.lengths <= MEASURES.longest)).squeeze(1)
    order = np.random.default_rng(seed).permutation(len(usable))[: MEASURES.texts.get(dataset.name, len(usable))]
    return corpus[usable[np.sort(order)]]


def all_measures(
    model: AttentionClassifier,
    corpus: Corpus,
    seed: int = 0,
    people: tuple[Phrases, Int[np.ndarray, "types"]] | None = None,
    dear: bool = True,
) -> dict[str, float]:
    """Every number of the wing's measures on a corpus of two classes; ``seed``: of what is drawn.

    ``people``: the phrases of SST that people rated, and how often each word occurs in its training texts. Without what
    is ``dear`` there are no integrated gradients and no erasure. A share that no text can have a say in, such as that
    of a bin without texts, is nan.
    """
    found, left = (yardsticks if dear else without_integration)(model, corpus, seed)
    with torch.no_grad():
        out = whole_output(model, corpus)
    logit, polarity = out.polarity.cpu().numpy(), out.token_polarity.cpu().numpy()
    side = np.where(logit > 0, 1, -1)
    adversary = explain.adversarial_attention(model, corpus, TOLERANCE)
    further = people_row(model, corpus, found, *people, seed) if people else {}
    if dear:
        further |= {"integrated gap": gap(model, found["integrated"], corpus)}
        further |= erasure_row(model, corpus, orders(found, polarity, side, corpus, seed), logit)
    return {
        "texts": len(corpus),
        **yardstick_agreements(found, side, corpus),
        **spreads(found, corpus),
        **part_shares(left),
        **permutation_row(permutations(out, corpus, seed=seed)),
        **zeroed_row(found, logit, corpus, seed),
        "exact adversary": float(adversary.divergence.double().mean()) / log(2),
        "exact adversary over half": float((adversary.divergence > log(2) / 2).double().mean()),
        "exact adversary ignores watched": ignored(adversary.weights.cpu().numpy(), found["attention"], corpus),
        **further,
    }


def spreads(found: dict[str, np.ndarray], corpus: Corpus) -> dict[str, float]:
    """How far attention spreads within texts beside two effects, and the τ that this foretells."""
    row = {}
    for effect in ("gradient", "leave-one-out"):
        said = spread(found["attention"], found[effect], corpus)
        row |= {f"spread {name} of {effect}".replace("_", " "): value for name, value in said._asdict().items()}
    return row


def ignored(other: np.ndarray, weights: np.ndarray, corpus: Corpus) -> float:
    """How often other weights give the most attended word of a text next to nothing."""
    first = np.lexsort((-weights, corpus.instance_of.cpu().numpy()))[corpus.offsets[:-1].cpu().numpy()]
    return float((other[first] < IGNORED).mean())
