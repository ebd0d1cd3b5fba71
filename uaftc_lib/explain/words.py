"""Words → classes: association and influence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from scipy import sparse
from torch import Tensor

from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.explain.contributions import beside, by_hop, leave_group_out, probabilities
from uaftc_lib.models import AttentionClassifier, Output, TokenScores, sum_by_instance


def word_instance_pairs(
    corpus: Corpus, types: int
) -> tuple[Int[Tensor, "pairs"], Int[Tensor, "pairs"], Int[Tensor, "positions"]]:
    """Word and instance of each pair that occurs, by instance and then by word, and each position's pair."""
    pairs, pair_of = torch.unique(corpus.instance_of * types + corpus.tokens, return_inverse=True)
    return pairs % types, pairs // types, pair_of


@torch.no_grad()
def attention_matrix(model: AttentionClassifier, corpus: Corpus) -> Float[Tensor, "types instances"]:
    """Q: the attention that each word receives in each instance, summed over its occurrences; sparse.

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
    Q: Float[Tensor, "types instances"], P: Float[Tensor, "classes instances"]
) -> Float[Tensor, "types classes"]:
    """J = Q Pᵀ. Its rows sum to the attention a word receives in all, its columns to Σ_t P_kt."""
    return torch.sparse.mm(Q, P.T.contiguous())


def class_polarity(values: Float[Tensor, "rows ..."]) -> Float[Tensor, "rows classes"]:
    """A column for each class; one logit s counts as −s for the negative and s for the positive class."""
    return torch.stack([-values, values], 1) if values.dim() == 1 else values


@torch.no_grad()
def word_class_influence(model: AttentionClassifier, dataset: Dataset, split: str = "test") -> pd.DataFrame:
    """How each word of a split goes with each class, and what it does to it.

    Returns
    -------
    DataFrame
        A row for each word that occurs and each class:

        - association: J = Q Pᵀ, the attention of the word times the probability of the class, summed;
        - lift: association over what its marginals would give if words and classes had nothing in common;
        - attention: mean weight of the word in the instances that hold it;
        - influence: mean contribution α s to the logit of the class, over the instances that hold it
          (two classes: the negative class gets −α s);
        - leave_one_out: mean fall of the probability of the class when the word is dropped from an instance
          that holds it, over these;
        - support: the number of instances that hold it;
        - attention_score, polarity_score: a_e and s_e of the word fed alone (global scores).

    Raises
    ------
    ValueError
        If the data set lacks the split.
    """
    if split not in dataset.splits:
        raise ValueError(f"data set {dataset.name} has no split {split!r}; it has {', '.join(dataset.splits)}")
    corpus, classes = dataset.splits[split], model.classes
    word, instance, pair_of = word_instance_pairs(corpus, len(model.embedding))
    found, word = word.unique(return_inverse=True)
    pairs = Pairs(word.cpu().numpy(), instance.cpu().numpy(), len(found), len(corpus))
    scores = model.token_scores()
    if scores.attention.dim() > 1:
        scores = TokenScores(scores.attention.mean(1), scores.polarity.sum(1))
    columns = influence_columns(pairs.sums(pair_values(model(corpus), corpus, pair_of, instance)), classes) | {
        "attention_score": scores.attention[found].cpu().numpy()[:, None].repeat(classes, 1),
        "polarity_score": class_polarity(scores.polarity[found]).cpu().numpy(),
    }
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


def pair_values(
    out: Output, corpus: Corpus, pair_of: Int[Tensor, "positions"], instance: Int[Tensor, "pairs"]
) -> Float[np.ndarray, "pairs columns"]:
    """What is summed over the instances of a word: 1, Q, then for each class Q·P, contribution, fall of P."""

    def summed(values):
        return sum_by_instance(values, pair_of, len(instance))

    hops = by_hop(out, corpus)
    Q = sum(summed(hop.weights) for hop in hops) / len(hops)
    contribution = sum(summed(beside(hop.weights, hop.token_polarity) * hop.token_polarity) for hop in hops)
    fall = sum(leave_group_out(hop, corpus, pair_of, instance) for hop in hops)
    P = probabilities(out.polarity)[instance]
    without = probabilities(out.polarity[instance] - fall)
    Q = Q.unsqueeze(1)
    columns = [torch.ones_like(Q), Q, Q * P, class_polarity(contribution), P - without]
    return torch.cat(columns, 1).cpu().numpy()


def influence_columns(
    sums: Float[np.ndarray, "words columns"], classes: int
) -> dict[str, Float[np.ndarray, "words classes"]]:
    """The columns of the table from sums over pairs (:func:`pair_values`)."""
    support, attention = sums[:, :1], sums[:, 1:2]
    together, contribution, fall = (sums[:, 2 + i * classes : 2 + (i + 1) * classes] for i in range(3))
    total = together.sum(0, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "association": together,
            "lift": together * total.sum() / (attention * total),
            "attention": np.broadcast_to(attention / support, together.shape),
            "influence": contribution / support,
            "leave_one_out": fall / support,
            "support": np.broadcast_to(support.round().astype(np.int64), together.shape),
        }
