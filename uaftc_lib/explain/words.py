"""Words → classes: association and influence, with intervals over sentences and over seeds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from scipy import sparse, stats
from torch import Tensor

from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.explain.contributions import beside, by_hop, leave_group_out, probabilities
from uaftc_lib.models import AttentionClassifier, Output, TokenScores, sum_by_instance

INTERVALS = ("lift", "influence", "leave_one_out")
FEWEST = 10  # instances that a word needs for an interval
BLOCK = 10_000_000  # numbers held at once by the bootstrap


def word_instance_pairs(
    corpus: Corpus, types: int
) -> tuple[Int[Tensor, "pairs"], Int[Tensor, "pairs"], Int[Tensor, "positions"]]:
    """Word and instance of each pair that occurs, by instance and then by word, and each position's pair."""
    pairs, pair_of = torch.unique(corpus.instance_of * types + corpus.tokens, return_inverse=True)
    return pairs % types, pairs // types, pair_of


@torch.no_grad()
def attention_matrix(model: AttentionClassifier, corpus: Corpus) -> Float[Tensor, "types instances"]:
    """A: the attention that each word receives in each instance, summed over its occurrences; sparse.

    Every column is a probability distribution over words; hops of structured attention are averaged.
    """
    types = len(model.embedding)
    word, instance, pair_of = word_instance_pairs(corpus, types)
    hops = by_hop(model(corpus), corpus)
    weights = sum(sum_by_instance(hop.weights, pair_of, len(word)) for hop in hops) / len(hops)
    return torch.sparse_coo_tensor(
        torch.stack([word, instance]), weights, (types, len(corpus)), check_invariants=False
    ).coalesce()


@torch.no_grad()
def class_matrix(model: AttentionClassifier, corpus: Corpus) -> Float[Tensor, "classes instances"]:
    """P: the model's class probabilities. Every column is a probability distribution over classes."""
    return probabilities(model(corpus).polarity).T


def association_matrix(
    A: Float[Tensor, "types instances"], P: Float[Tensor, "classes instances"]
) -> Float[Tensor, "types classes"]:
    """I = A Pᵀ. Its rows sum to the attention a word receives in all, its columns to Σ_t P_kt."""
    return torch.sparse.mm(A, P.T.contiguous())


def class_polarity(values: Float[Tensor, "rows ..."]) -> Float[Tensor, "rows classes"]:
    """A column for each class; one logit s counts as −s for the negative and s for the positive class."""
    return torch.stack([-values, values], 1) if values.dim() == 1 else values


@torch.no_grad()
def word_class_influence(
    model: AttentionClassifier | Sequence[AttentionClassifier],
    dataset: Dataset,
    split: str = "test",
    replicates: int = 0,
    seed: int = 0,
    level: float = 0.95,
    progress: Callable = iter,
) -> pd.DataFrame:
    """How each word of a split goes with each class, and what it does to it.

    Parameters
    ----------
    model : AttentionClassifier or several of them
        Several models that differ in their seed: everything is averaged over them.
    dataset : Dataset
    split : str
    replicates : int
        Poisson bootstrap samples over the instances; 0: no such intervals.
    seed : int
        Of the bootstrap.
    level : float
        Of the intervals.
    progress : callable, optional
        Wraps the models, and the parts of the bootstrap, in a bar.

    Returns
    -------
    DataFrame
        A row for each word that occurs and each class:

        - association: I = A Pᵀ, the attention of the word times the probability of the class, summed;
        - lift: association over what its marginals would give if words and classes had nothing in common;
        - attention: mean weight of the word in the instances that hold it;
        - influence: mean contribution α s to the logit of the class, over the instances that hold it
          (two classes: the negative class gets −α s);
        - leave_one_out: mean fall of the probability of the class when the word is dropped from an instance
          that holds it, over these;
        - attention_score, polarity_score: a_e and s_e of the word fed alone (global scores);
        - support: the number of instances that hold it.

        With replicates, bounds of lift, influence and leave_one_out over instances ("influence_low",
        "influence_high"): what other sentences might give. With several models, bounds of their mean
        ("influence_seed_low", "influence_seed_high", Student's t): what other seeds might give; and
        agreement, the share of models whose influence has the sign of the mean.

    Raises
    ------
    ValueError
        If the data set lacks the split, a number is out of range or there is no model.
    """
    models = [model] if isinstance(model, AttentionClassifier) else list(model)
    if not models:
        raise ValueError("need at least one model, got none")
    if split not in dataset.splits:
        raise ValueError(f"data set {dataset.name} has no split {split!r}; it has {', '.join(dataset.splits)}")
    if replicates < 0 or not 0 < level < 1:
        raise ValueError(f"need replicates ≥ 0 and 0 < level < 1, got {replicates} and {level}")
    corpus = dataset.splits[split]
    classes = models[0].classes
    types = len(models[0].embedding)
    word, instance, pair_of = word_instance_pairs(corpus, types)
    found, word = word.unique(return_inverse=True)
    pairs = Pairs(word.cpu().numpy(), instance.cpu().numpy(), len(found), len(corpus))

    values, summaries = 0.0, []
    for each in progress(models):
        of_model = pair_values(each(corpus), corpus, pair_of, instance)
        values = values + of_model / len(models)
        scores = each.token_scores()
        if scores.attention.dim() > 1:
            scores = TokenScores(scores.attention.mean(1), scores.polarity.sum(1))
        summaries.append(
            summarise(pairs.sums(of_model), classes)
            | {
                "attention_score": scores.attention[found].cpu().numpy()[:, None].repeat(classes, 1),
                "polarity_score": class_polarity(scores.polarity[found]).cpu().numpy(),
            }
        )
    columns = {name: np.mean([each[name] for each in summaries], 0) for name in summaries[0]}
    columns |= summarise(pairs.sums(values), classes)
    if replicates:
        columns |= bootstrap(pairs, values, columns, replicates, seed, level, progress)
    if len(models) > 1:
        for name in INTERVALS:
            over_seeds = np.stack([each[name] for each in summaries])
            reach = stats.t.ppf((1 + level) / 2, len(models) - 1) * stats.sem(over_seeds, axis=0)
            columns[f"{name}_seed_low"] = over_seeds.mean(0) - reach
            columns[f"{name}_seed_high"] = over_seeds.mean(0) + reach
        signs = np.sign([each["influence"] for each in summaries])
        columns["agreement"] = (signs == np.sign(columns["influence"])).mean(0)
    spelling = np.array([dataset.vocabulary.word(i) for i in found.tolist()], dtype=object)
    class_names = np.array(dataset.classes, dtype=object)
    names = {"word": spelling.repeat(classes), "class": np.tile(class_names, len(found))}
    return pd.DataFrame(names | {name: column.reshape(-1) for name, column in columns.items()})


@dataclass(frozen=True)
class Pairs:
    """Which word occurs in which instance; words counted from 0 among those that occur."""

    word: Int[np.ndarray, "pairs"]
    instance: Int[np.ndarray, "pairs"]
    words: int
    instances: int

    def sums(self, values: Float[np.ndarray, "pairs columns"]) -> Float[np.ndarray, "words columns"]:
        """The sums over the instances of each word."""
        shape = (self.words, len(self.word))
        return sparse.csr_array((np.ones(len(self.word)), (self.word, np.arange(len(self.word)))), shape) @ values

    def resampled(
        self, values: Float[np.ndarray, "pairs columns"], times: Float[np.ndarray, "samples instances"]
    ) -> Float[np.ndarray, "samples words columns"]:
        """The same with every instance taken so many ``times``."""
        shape = (self.words, self.instances)
        columns = (sparse.csr_array((column, (self.word, self.instance)), shape) for column in values.T)
        return np.stack([(column @ times.T).T for column in columns], -1)


def pair_values(
    out: Output, corpus: Corpus, pair_of: Int[Tensor, "positions"], instance: Int[Tensor, "pairs"]
) -> Float[np.ndarray, "pairs columns"]:
    """What is summed over the instances of a word: 1, A, then for each class A·P, contribution, fall of P."""

    def summed(values):
        return sum_by_instance(values, pair_of, len(instance))

    hops = by_hop(out, corpus)
    A = sum(summed(hop.weights) for hop in hops) / len(hops)
    contribution = sum(summed(beside(hop.weights, hop.token_polarity) * hop.token_polarity) for hop in hops)
    fall = sum(leave_group_out(hop, corpus, pair_of, instance) for hop in hops)
    P = probabilities(out.polarity)[instance]
    without = probabilities(out.polarity[instance] - fall)
    A = A.unsqueeze(1)
    columns = [torch.ones_like(A), A, A * P, class_polarity(contribution), P - without]
    return torch.cat(columns, 1).cpu().numpy()


def summarise(
    sums: Float[np.ndarray, "*words columns"],
    classes: int,
    total: Float[np.ndarray, "*one classes"] | None = None,
) -> dict[str, Float[np.ndarray, "*words classes"]]:
    """The columns of the table from sums over pairs (:func:`pair_values`); ``total``: Σ_w I, by class."""
    support, attention = sums[..., :1], sums[..., 1:2]
    together, contribution, fall = (sums[..., 2 + i * classes : 2 + (i + 1) * classes] for i in range(3))
    total = together.sum(-2, keepdims=True) if total is None else total
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "association": together,
            "lift": together * total.sum(-1, keepdims=True) / (attention * total),
            "attention": np.broadcast_to(attention / support, together.shape),
            "influence": contribution / support,
            "leave_one_out": fall / support,
            "support": np.broadcast_to(support.round().astype(np.int64), together.shape),
        }


def bootstrap(
    pairs: Pairs,
    values: Float[np.ndarray, "pairs columns"],
    estimates: dict[str, Float[np.ndarray, "words classes"]],
    replicates: int,
    seed: int,
    level: float,
    progress: Callable = iter,
) -> dict[str, Float[np.ndarray, "words classes"]]:
    """Intervals of the Poisson bootstrap: every instance counts Poisson(1) times, independently.

    An interval reaches as far to both sides of the estimate as the percentile interval does to the farther one,
    times t(n−1) / z · √(n / (n−1)) for the n instances that hold the word: percentiles alone are too narrow for few
    and for skewed numbers (Student's t; Hesterberg 2015, The American Statistician 69). A word that fewer than
    FEWEST instances hold gets none (nan).
    """
    classes = estimates["lift"].shape[1]
    times = np.random.default_rng(seed).poisson(1, (replicates, pairs.instances)).astype(float)
    of_all = Pairs(np.zeros_like(pairs.word), pairs.instance, 1, pairs.instances)
    total = of_all.resampled(values[:, 2 : 2 + classes], times)
    support = np.bincount(pairs.word, minlength=pairs.words)
    by_word = np.argsort(pairs.word, kind="stable")
    ends = support.cumsum()
    nothing = np.full((pairs.words, classes), np.nan)
    bounds = {f"{name}_{end}": nothing.copy() for name in INTERVALS for end in ("low", "high")}
    # In blocks of words, so that memory stays bounded; the same samples serve all of them.
    block = max(1, BLOCK // (replicates * values.shape[1]))
    often = np.nonzero(support >= FEWEST)[0]
    for words in progress(np.split(often, range(block, len(often), block))):
        chosen = np.concatenate([by_word[ends[w] - support[w] : ends[w]] for w in words] or [by_word[:0]])
        n = support[words]
        part = Pairs(np.repeat(np.arange(len(words)), n), pairs.instance[chosen], len(words), pairs.instances)
        resampled = summarise(part.resampled(values[chosen], times), classes, total)
        p = (1 + level) / 2
        wider = (stats.t.ppf(p, n - 1) / stats.norm.ppf(p) * np.sqrt(n / (n - 1)))[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # at tiny λ a word may hold no attention: no lift
            for name in INTERVALS:
                low, high = np.nanquantile(resampled[name], [1 - p, p], axis=0)
                found = estimates[name][words]
                reach = wider * np.maximum(found - low, high - found)
                bounds[f"{name}_low"][words], bounds[f"{name}_high"][words] = found - reach, found + reach
    bounds["lift_low"] = bounds["lift_low"].clip(min=0)
    return bounds
