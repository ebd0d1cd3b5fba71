"""Chapter 14_is_it_explanation: what attention tells of a decision, how soon it turns, how free the weights are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from uaftc_book import rules
from uaftc_book.cases import SMALL, Part, Tables, exceeds
from uaftc_book.chapters.is_it_explanation import freedom, quarrel, shapley  # noqa: F401  (registers their experiments)
from uaftc_book.claims import reading
from uaftc_book.neighbours.erasure import AFTER, standing, still_there
from uaftc_book.neighbours.measured import TOLERANCE
from uaftc_book.neighbours.permutation import permutations
from uaftc_book.readings import column
from uaftc_book.small_data import SEEDS
from uaftc_lib import explain
from uaftc_lib.corpus import Corpus
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import train_real
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier, Output, softmax_by_instance, sum_by_instance
from uaftc_lib.scores import dot_product

SHORTEST = 3  # words of a sentence that is looked at: one word has no rival, two have no order to speak of
UNIFORM = 1e6  # λ at which all weights of a sentence are equal: mean pooling
STEPS, RATE, PENALTY = 500, 0.3, 20.0  # of the searches for other weights
MARGIN = 0.8  # of the tolerance is what the searches aim at, so as to end within it
LARGEST = log(2)  # divergence
CHOICE_SEED = 10  # beside the ten of the table: on it the settings of the searches were chosen


def usable(corpus: Corpus) -> Corpus:
    """The sentences of a corpus that have at least :data:`SHORTEST` words."""
    return corpus[corpus.lengths >= SHORTEST]


@dataclass(frozen=True)
class Reading:
    """What a model of two classes says of each sentence and each word of a corpus.

    ``contribution`` and ``left_out`` are those of :mod:`uaftc_lib.explain`; ``towards`` is ``left_out`` with the sign
    of the decision. ``watched``, ``decisive``, ``contributor``: the word of each sentence with most attention, without
    which the logit falls most towards the other side, and of the largest contribution to the decision.
    """

    model: AttentionClassifier
    corpus: Corpus
    out: Output
    alpha: Float[np.ndarray, "positions"]
    logit: Float[np.ndarray, "instances"]
    side: Int[np.ndarray, "instances"]
    contribution: Float[np.ndarray, "positions"]
    left_out: Float[np.ndarray, "positions"]
    towards: Float[np.ndarray, "positions"]
    watched: Int[np.ndarray, "instances"]
    decisive: Int[np.ndarray, "instances"]
    contributor: Int[np.ndarray, "instances"]

    @classmethod
    def of(cls, model: AttentionClassifier, corpus: Corpus) -> Reading:
        """Everything in float64."""
        model = model.double()
        with torch.no_grad():
            out = model(corpus)
        logit = out.polarity.numpy()
        side = np.where(logit > 0, 1, -1)
        sentence_of = corpus.instance_of.numpy()
        contribution, left_out = (f(model, corpus).numpy() for f in (explain.contributions, explain.leave_one_out))
        towards = left_out * side[sentence_of]
        return cls(
            model, corpus, out, out.weights.numpy(), logit, side, contribution, left_out, towards,
            watched=largest_position(out.weights.numpy(), corpus),
            decisive=largest_position(towards, corpus),
            contributor=largest_position(contribution * side[sentence_of], corpus),
        )  # fmt: skip

    @property
    def sentence_of(self) -> Int[np.ndarray, "positions"]:
        return self.corpus.instance_of.numpy()


def largest_position(values: Float[np.ndarray, "positions"], corpus: Corpus) -> Int[np.ndarray, "instances"]:
    """The position of the largest value in each sentence."""
    return pd.Series(values).groupby(corpus.instance_of.numpy()).idxmax().to_numpy()


def base_rate(holds: Bool[np.ndarray, "positions"], corpus: Corpus) -> Float[np.ndarray, "instances"]:
    """How often something holds for a word drawn at random from each sentence: the share of its words."""
    return pd.Series(holds).groupby(corpus.instance_of.numpy()).mean().to_numpy()


def mean_rank_correlation(
    x: Float[np.ndarray, "positions"], y: Float[np.ndarray, "positions"], corpus: Corpus
) -> float:
    """Rank correlation of two quantities over the words of each sentence, averaged over sentences."""
    sentence_of = corpus.instance_of.numpy()
    ranks = pd.DataFrame({"x": x, "y": y}).groupby(sentence_of).rank()
    ranks = ranks - ranks.groupby(sentence_of).transform("mean")
    sums = pd.DataFrame({"xy": ranks.x * ranks.y, "xx": ranks.x**2, "yy": ranks.y**2}).groupby(sentence_of).sum()
    return float((sums.xy / np.sqrt(sums.xx * sums.yy)).mean())


def agreements(read: Reading) -> dict[str, float]:
    """Rank correlations of attention and contribution with the effect of leaving a word out."""
    return {
        "attention and size of effect": mean_rank_correlation(read.alpha, abs(read.left_out), read.corpus),
        "attention and effect": mean_rank_correlation(read.alpha, read.towards, read.corpus),
        "contribution and effect": mean_rank_correlation(read.contribution, read.left_out, read.corpus),
    }


class Leads(NamedTuple):
    """Of each sentence: what holds for its leading words, and how often it does for a word drawn at random."""

    watched_decides: Bool[np.ndarray, "instances"]
    any_decides: Float[np.ndarray, "instances"]
    watched_pulls: Bool[np.ndarray, "instances"]
    any_pulls: Float[np.ndarray, "instances"]
    contributor_decides: Bool[np.ndarray, "instances"]


def leads(read: Reading) -> Leads:
    """Whether the word with most attention, or the largest contribution, is the decisive one, or pulls towards it."""
    pulls = read.contribution * read.side[read.sentence_of] > 0
    return Leads(
        read.watched == read.decisive,
        1 / read.corpus.lengths.double().numpy(),
        pulls[read.watched],
        base_rate(pulls, read.corpus),
        read.contributor == read.decisive,
    )


def pulls_by_side(read: Reading, lead: Leads) -> dict[str, float]:
    """How often the most attended word pulls, and any word, by decision; half intervals over sentences of the gap."""
    row, ahead = {}, lead.watched_pulls - lead.any_pulls
    for name, where in {"": read.side != 0, " positive": read.side > 0, " negative": read.side < 0}.items():
        found = rules.interval(ahead[where])
        row |= {
            f"watched pulls{name}": float(lead.watched_pulls[where].mean()),
            f"any pulls{name}": float(lead.any_pulls[where].mean()),
            f"sentences ±{name}": found.high - found.mean,
        }
    return row


def removals(read: Reading, seed: int) -> dict[str, Float[np.ndarray, "instances"]]:
    """How many words must go, in each of four orders, until the decision turns; nan: it never does."""
    smallest = [np.nan if found is None else len(found) for found in explain.minimal_flip_sets(read.model, read.corpus)]
    # As logarithms: at a small λ the contributions of one sentence differ by more than floats can add.
    polarity, scores = read.out.token_polarity.numpy(), read.out.scores.numpy()
    sign, size = np.sign(polarity), scores + np.log(abs(polarity))
    for_decision = sign * read.side[read.sentence_of]
    orders = {
        "by contribution": np.lexsort((for_decision * size, for_decision)).argsort().astype(float),
        "by attention": scores,
        "at random": np.random.default_rng(seed).random(len(scores)),
    }
    needed = {name: removed_until_turned(order, sign, size, read) for name, order in orders.items()}
    return {"smallest set": np.array(smallest, dtype=float)} | needed


def removed_until_turned(
    order_by: Float[np.ndarray, "positions"],
    sign: Float[np.ndarray, "positions"],
    size: Float[np.ndarray, "positions"],
    read: Reading,
) -> Float[np.ndarray, "instances"]:
    """How many words must go in falling order of a quantity; sign and logarithm are those of e^a s."""
    begins = read.corpus.offsets.numpy()
    needed = np.full(len(read.corpus), np.nan)
    for t, (begin, end) in enumerate(zip(begins[:-1], begins[1:])):
        order = begin + np.argsort(-order_by[begin:end], kind="stable")
        good, bad = (np.where(sign[order] == one, size[order], -np.inf)[::-1] for one in (1, -1))
        left = (np.logaddexp.accumulate(good) > np.logaddexp.accumulate(bad))[::-1]
        turned = np.nonzero(left[1:] != (read.logit[t] > 0))[0]
        if len(turned):
            needed[t] = turned[0] + 1
    return needed


class Found(NamedTuple):
    """What a search found: the divergence (0 where the tolerance is not kept), and whether it is kept."""

    divergence: Float[np.ndarray, "instances"]
    within: Bool[np.ndarray, "instances"]


def search(
    start: Float[Tensor, "parameters"],
    scores_of: Callable[[Tensor], Tensor],
    read: Reading,
    tolerance: float = TOLERANCE,
    steps: int = STEPS,
    rate: float = RATE,
    penalty: float = PENALTY,
) -> Found:
    """Other weights by gradient ascent, judged at the step at which the mean over sentences is greatest.

    Adam on the mean divergence less ``penalty`` times what exceeds the tolerance; its rate falls to 0 as a cosine.
    """
    corpus, answer = read.corpus, read.out.polarity.sigmoid()
    parameter = start.detach().clone().requires_grad_()
    optimizer = torch.optim.Adam([parameter], lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    best, kept = answer.new_zeros(len(corpus)), torch.ones(len(corpus), dtype=torch.bool)
    for _ in range(steps):
        weights = softmax_by_instance(scores_of(parameter), corpus.instance_of, len(corpus))
        logit = sum_by_instance(weights * read.out.token_polarity, corpus.instance_of, len(corpus))
        moved = (logit.sigmoid() - answer).abs()
        divergence = explain.jensen_shannon(read.out.weights, weights, corpus)
        within = moved.detach() <= tolerance
        counted = divergence.detach() * within
        if counted.sum() > best.sum():
            best, kept = counted, within
        optimizer.zero_grad()
        (penalty * (moved - MARGIN * tolerance).clamp(min=0) - divergence).mean().backward()
        optimizer.step()
        schedule.step()
    return Found(best.numpy(), kept.numpy())


def searches(read: Reading, seed: int, **settings: float) -> dict[str, Found]:
    """The same search with three kinds of parameters, from the model's own with noise.

    The weights of each sentence by itself; one score for each word, the same in all sentences; the context vector. All
    are scaled so that the noise moves scores by about one.
    """
    model = read.model
    types, place = read.corpus.tokens.unique(return_inverse=True)
    with torch.no_grad():
        type_scores, embedding = model.token_scores().attention[types], model.embedding[types]
        size = embedding.norm(dim=1).mean()
    noise = torch.randn(read.out.scores.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    kinds = {
        "each sentence": (read.out.scores, lambda scores: scores),
        "one score a word": (type_scores, lambda scores: scores[place]),
        "the context vector": (model.V.detach() / model.lam * size, lambda vector: (embedding @ vector / size)[place]),
    }
    return {
        name: search(start + noise[: len(start)], scores_of, read, **settings)
        for name, (start, scores_of) in kinds.items()
    }


@experiment(jobs_over(seed=SEEDS, lam=(1.0, 10.0, 100.0, UNIFORM)), rows=1)
def explanation_seeds(lam: float, seed: int) -> list[dict]:
    """SST, DP: what attention tells of decisions on the test set. Divergences are shares of the largest possible."""
    model, run = train_real(data := load_dataset("sst"), lam=lam, seed=seed)
    read = Reading.of(model, usable(data.test))
    lead, mixed = leads(read), permutations(read.out, read.corpus, 1, seed)
    row = {
        "test_accuracy": run.test_accuracy,
        "best_epoch": run.best_epoch,
        "early loss": run.history["loss"].iloc[:5].mean(),
        "V·W": dot_product(model),
        "largest weight": float(np.median(read.alpha[read.watched])),
        **{name.replace("_", " "): float(held.mean()) for name, held in lead._asdict().items()},
        **pulls_by_side(read, lead),
        "kept by uniform weights": float((mixed.mean * read.side > 0).mean()),
        "kept by a shuffle": float((mixed.drawn[0] * read.side > 0).mean()),
        "distance": mixed.distance(read.logit),
        "distance of a shuffle": mixed.distance(mixed.drawn[0]),
        **agreements(read),
    }
    for name, needed in removals(read, seed).items():
        stands = standing(needed, read.corpus.lengths.numpy() - 1.0)
        row |= {f"{name} {k}": share for k, share in zip(AFTER, still_there(stands, AFTER).tolist())}
        row |= {f"{name} median": float(stands.quantile(0.5)), f"{name} never": float(np.isnan(needed).mean())}
    exact = explain.adversarial_attention(model, read.corpus, TOLERANCE)
    row["exact"] = float(exact.divergence.mean()) / LARGEST
    row["exact over half"] = float((exact.divergence > LARGEST / 2).double().mean())
    row["exact ignores watched"] = float((exact.weights.numpy()[read.watched] < 0.01).mean())
    for name, found in searches(read, seed).items():
        row |= {name: float(found.divergence.mean()) / LARGEST, f"{name} within": float(found.within.mean())}
    for budget, steps in (("unsearched", 1), ("twice", 2 * STEPS)):
        for name, found in searches(read, seed, steps=steps).items():
            row[f"{name} {budget}"] = float(found.divergence.mean()) / LARGEST
    return [row]


@experiment(jobs_over(seed=SEEDS, lam=(1.0, 10.0, 100.0)), rows=1)
def explanation_mirrored(lam: float, seed: int) -> list[dict]:
    """Attention and decisions from −W₀ instead of W₀: which way the most attended word pulls."""
    model, _ = train_real(data := load_dataset("sst"), mirrored=True, lam=lam, seed=seed)
    read = Reading.of(model, usable(data.test))
    return [{"V·W": dot_product(model)} | pulls_by_side(read, leads(read))]


@experiment(jobs_over(lam=(1.0, 10.0, 100.0), rate=(0.1, 0.3, 1.0), penalty=(5.0, 20.0, 80.0)), rows=1)
def search_settings(lam: float, rate: float, penalty: float) -> list[dict]:
    """SST: what the searches find by rate and penalty, on a seed that is not among those of explanation_seeds."""
    data = load_dataset("sst")
    read = Reading.of(train_real(data, lam=lam, seed=CHOICE_SEED)[0], usable(data.test))
    found = searches(read, CHOICE_SEED, rate=rate, penalty=penalty)
    return [{name: float(one.divergence.mean()) / LARGEST for name, one in found.items()}]


@reading
def averages_at_large_lam(tables: Tables) -> list[Part]:
    kept = {lam: column(tables("explanation_seeds", lam=lam), "kept by uniform weights") for lam in (10.0, 100.0)}
    return [exceeds("SST", SMALL - (1 - kept[100.0]) / (1 - kept[10.0]))]
