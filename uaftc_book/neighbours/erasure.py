"""Words taken away, the most important first, until the decision turns; the rest is read again after each step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.special import expit, rel_entr
from statsmodels.duration.survfunc import SurvfuncRight

from uaftc_book.neighbours.yardsticks import reread
from uaftc_lib import explain
from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier

AFTER = (1, 2, 3, 5, 8)  # words removed
SHARES = tuple(k / 10 for k in range(1, 10))  # of a text's words
RATIONALES = (0.01, 0.05, 0.1, 0.2, 0.5)  # the same, of DeYoung et al. (2020, ERASER)


def orders(
    found: dict[str, Float[np.ndarray, "positions"]],
    polarity: Float[np.ndarray, "positions"],
    side: Int[np.ndarray, "instances"],
    corpus: Corpus,
    seed: int,
) -> dict[str, Int[np.ndarray, "positions"]]:
    """In which order the words of each text go, 0 first, by yardsticks of :func:`~.yardsticks.yardsticks`.

    Serrano & Smith (2019) take gradients with respect to weights. These are s_j, so that their "gradient" is the
    order by "polarity", and their "attention × gradient" that by "contribution", each towards the decision.
    """
    text_of = corpus.instance_of.cpu().numpy()
    towards = side[text_of]
    values = {
        "attention": found["attention"],
        "gradient": found["gradient"],
        "attention × gradient": found["attention"] * found["gradient"],
        "input × gradient": found["input × gradient"] * towards,
        "polarity": polarity * towards,
        "contribution": found["contribution"] * towards,
        "random": np.random.default_rng(seed).random(len(text_of)),
    }
    return {name: ranks(-value, corpus) for name, value in values.items()}


def ranks(values: Float[np.ndarray, "positions"], corpus: Corpus) -> Int[np.ndarray, "positions"]:
    """0, 1, ... from the smallest of each text; the earlier first where they are equal."""
    text_of, order = corpus.instance_of.cpu().numpy(), np.empty(len(values), np.int64)
    order[np.lexsort((values, text_of))] = np.arange(len(values))
    return order - corpus.offsets[:-1].cpu().numpy()[text_of]


class Curve(NamedTuple):
    """Logits after so many words of an instance were removed; sorted by instance and count."""

    instance: Int[np.ndarray, "steps"]
    removed: Int[np.ndarray, "steps"]
    logit: Float[np.ndarray, "steps"]


def steps(
    lengths: Int[np.ndarray, "instances"], every: bool
) -> tuple[Int[np.ndarray, "steps"], Int[np.ndarray, "steps"]]:
    """Instances and counts of removed words: ``every`` one that leaves a word, or :data:`AFTER` and some shares."""

    if every:
        return np.repeat(np.arange(len(lengths)), lengths - 1), np.concatenate([np.arange(1, n) for n in lengths])
    columns = [np.full_like(lengths, count) for count in AFTER]
    columns += [removed_at(share, lengths) for share in (*SHARES, *RATIONALES)]
    counts, longest = np.stack(columns, 1), lengths.max() + 1
    wanted = np.arange(len(lengths))[:, None] * longest + counts
    return np.divmod(np.unique(wanted[counts < lengths[:, None]]), longest)


def removed_at(share: float, lengths: Int[np.ndarray, "instances"]) -> Int[np.ndarray, "instances"]:
    """How many words a share of a text is: at least one, and one at least is left."""
    return np.clip(np.ceil(share * lengths - 1e-9), 1, lengths - 1).astype(np.int64)


def erased(model: AttentionClassifier, corpus: Corpus, order: Int[np.ndarray, "positions"]) -> Curve:
    """The words of each text removed in an order: one after the other where states do not know their neighbours.

    Elsewhere at the counts of :func:`steps`, each time read again; a decision may have turned between two of them.
    """
    instance, removed = steps(corpus.lengths.cpu().numpy(), every=model.recurrent is None)
    return Curve(instance, removed, reread(model, corpus, order, instance, removed, torch.lt).again)


def until_turned(curve: Curve, side: Int[np.ndarray, "instances"]) -> Float[np.ndarray, "instances"]:
    """How many words must go until the decision, ±1, is the other one; nan: it never is."""
    needed = np.full(len(side), np.nan)
    turned = np.flatnonzero((curve.logit > 0) != (side[curve.instance] > 0))[::-1]
    needed[curve.instance[turned]] = curve.removed[turned]  # of several the last that is written: the fewest words
    return needed


def comprehensiveness(
    curve: Curve, logit: Float[np.ndarray, "instances"], lengths: Int[np.ndarray, "instances"]
) -> Float[np.ndarray, "instances"]:
    """By how much the probability of the decision falls without the first words: mean over :data:`RATIONALES`."""
    longest = lengths.max() + 1
    texts, place = np.arange(len(lengths)), curve.instance * longest + curve.removed
    at = [np.searchsorted(place, texts * longest + removed_at(share, lengths)) for share in RATIONALES]
    return np.mean([fall(logit, curve.logit[one]) for one in at], axis=0)


def sufficiency(
    model: AttentionClassifier,
    corpus: Corpus,
    order: Int[np.ndarray, "positions"],
    logit: Float[np.ndarray, "instances"],
) -> Float[np.ndarray, "instances"]:
    """The same when only those words are left."""
    lengths, texts = corpus.lengths.cpu().numpy(), np.arange(len(corpus))
    kept = np.concatenate([removed_at(share, lengths) for share in RATIONALES])
    alone = reread(model, corpus, order, np.tile(texts, len(RATIONALES)), kept, torch.ge).again
    return np.mean([fall(logit, one) for one in alone.reshape(len(RATIONALES), -1)], axis=0)


def fall(logit: Float[np.ndarray, "rows"], after: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "rows"]:
    """How far the probability of the class that was decided for falls."""
    side = np.where(logit > 0, 1, -1)
    return expit(side * logit) - expit(side * after)


def standing(needed: Float[np.ndarray, "instances"], last: Float[np.ndarray, "instances"]) -> SurvfuncRight:
    """Kaplan and Meier's estimate of the decisions that stand; one that never turned was followed up to ``last``."""
    return SurvfuncRight(np.where(np.isnan(needed), last, needed), ~np.isnan(needed))


def still_there(found: SurvfuncRight, after: tuple[float, ...]) -> Float[np.ndarray, "after"]:
    """The share of the decisions that stand after so much was removed."""
    return np.append(1.0, found.surv_prob)[np.searchsorted(found.surv_times, after, side="right")]


def erasure_row(
    model: AttentionClassifier,
    corpus: Corpus,
    ordered: dict[str, Int[np.ndarray, "positions"]],
    logit: Float[np.ndarray, "instances"],
) -> dict[str, float]:
    """By each order: words and share removed until the decision turns, what still stands, the two of ERASER.

    "mean share" counts a decision that never turns as 1; medians are Kaplan and Meier's (nan: over half stand).
    """
    row, lengths, side = {}, corpus.lengths.cpu().numpy(), np.where(logit > 0, 1, -1)
    for name, order in ordered.items():
        curve = erased(model, corpus, order)
        needed = until_turned(curve, side)
        stands = standing(needed, lengths - 1.0)
        row |= {
            f"removed by {name} mean share": float(np.where(np.isnan(needed), 1.0, needed / lengths).mean()),
            f"removed by {name} median share": float(standing(needed / lengths, 1 - 1 / lengths).quantile(0.5)),
            f"removed by {name} median": float(stands.quantile(0.5)),
            f"removed by {name} never": float(np.isnan(needed).mean()),
            f"comprehensiveness by {name}": float(comprehensiveness(curve, logit, lengths).mean()),
            f"sufficiency by {name}": float(sufficiency(model, corpus, order, logit).mean()),
        }
        row |= {f"removed by {name} stand {k}": float(at) for k, at in zip(AFTER, still_there(stands, AFTER))}
    return row | smallest_row(model, corpus, logit)


def smallest_row(model: AttentionClassifier, corpus: Corpus, logit: Float[np.ndarray, "instances"]) -> dict[str, float]:
    """The fewest states without which the decision turns, and whether it does when the rest is read again."""
    sets, lengths = explain.minimal_flip_sets(model, corpus), corpus.lengths.cpu().numpy()
    needed = np.array([np.nan if one is None else len(one) for one in sets], dtype=float)
    left = np.ones(len(corpus.tokens), np.int64)
    for begin, one in zip(corpus.offsets[:-1].tolist(), sets):
        if one is not None:
            left[begin + one.cpu().numpy()] = 0
    some = np.flatnonzero(~np.isnan(needed))
    again = reread(model, corpus, left, some, np.ones_like(some), torch.lt).again
    return {
        "smallest set mean share": float(np.where(np.isnan(needed), 1.0, needed / lengths).mean()),
        "smallest set median": float(standing(needed, lengths - 1.0).quantile(0.5)),
        "smallest set never": float(np.isnan(needed).mean()),
        "smallest set turns when read again": float(((again > 0) != (logit[some] > 0)).mean()),
    }


def zeroed_row(
    found: dict[str, Float[np.ndarray, "positions"]], logit: Float[np.ndarray, "instances"], corpus: Corpus, seed: int
) -> dict[str, float]:
    """Serrano & Smith: the largest weight of each text set to zero, or one of the others, drawn; states held fixed.

    Which of the two turns the decision, and by how much the answer moves (Jensen and Shannon's divergence).
    """
    random, text_of = np.random.default_rng(seed), corpus.instance_of.cpu().numpy()
    first = np.lexsort((-found["attention"], text_of))[corpus.offsets[:-1].cpu().numpy()]
    keys = random.random(len(text_of))
    keys[first] = 2
    other = np.lexsort((keys, text_of))[corpus.offsets[:-1].cpu().numpy()]
    largest, drawn = (logit - found["state fall"][place] for place in (first, other))
    turned, other_turned = ((one > 0) != (logit > 0) for one in (largest, drawn))
    moved, other_moved = (answer_divergence(logit, one) for one in (largest, drawn))
    return {
        "zeroed: largest turns": float(turned.mean()),
        "zeroed: other turns": float(other_turned.mean()),
        "zeroed: only largest turns": float((turned & ~other_turned).mean()),
        "zeroed: only other turns": float((other_turned & ~turned).mean()),
        "zeroed: largest moves": float(moved.mean()),
        "zeroed: other moves": float(other_moved.mean()),
        "zeroed: largest moves more": float((moved > other_moved).mean()),
    }


def answer_divergence(a: Float[np.ndarray, "rows"], b: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "rows"]:
    """Jensen and Shannon's, of the answers of two logits, in nats."""
    p, q = (np.stack([expit(-one), expit(one)]) for one in (a, b))
    return (rel_entr(p, (p + q) / 2) + rel_entr(q, (p + q) / 2)).sum(0) / 2
