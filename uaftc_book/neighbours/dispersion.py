"""How large a weight can be in a text of n words (after Veličković et al. 2025), and a λ that follows the length."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from numba import njit
from torch import Tensor
from torch.nn import functional

from uaftc_lib import checks
from uaftc_lib.corpus import Corpus
from uaftc_lib.fast import FusedTrainer
from uaftc_lib.fast.kernels.batch import attend, draw_pooled, score_occurrences, sort_by_type, update_occurrences
from uaftc_lib.fast.kernels.rows import OPTIONS, move_rows
from uaftc_lib.fast.masks import EMBEDDINGS, POOLED, batch_key
from uaftc_lib.models import AttentionClassifier, Dropout, Output, softmax_by_instance, sum_by_instance
from uaftc_lib.settings import TrainingConfig


def most(lengths: Int[np.ndarray, "texts"], span: float) -> Float[np.ndarray, "texts"]:
    """1/(1 + (n − 1)e^{−Δ}): the largest weight of a text of n words whose scores lie within Δ = ``span``.

    One word has the greatest score there is, and all others the least.
    """
    return 1 / (1 + (lengths - 1) * np.exp(-span))


def largest(scores: Float[np.ndarray, "types"], corpus: Corpus) -> Float[np.ndarray, "texts"]:
    """The largest weight of each text, from an attention score for each word type."""
    alpha = softmax_by_instance(torch.from_numpy(scores)[corpus.tokens], corpus.instance_of, len(corpus))
    return np.maximum.reduceat(alpha.numpy(), corpus.offsets[:-1].numpy())


def attention_scores(model: AttentionClassifier, corpus: Corpus) -> tuple[Float[np.ndarray, "types"], float]:
    """a of every word type, and Δ: how far those that stand in a corpus lie apart.

    Raises
    ------
    ValueError
        If the model has an encoder: a word then has another score in each text.
    """
    if model.encoder != "none":
        raise ValueError(f"a score for each word type is asked of models without encoder, not of {model.extra_repr()}")
    scores = model.token_scores().attention.detach().double().numpy()
    return scores, float(np.ptp(scores[np.unique(corpus.tokens.numpy())]))


def power_of_length(lengths: Int[np.ndarray, "texts"], weights: Float[np.ndarray, "texts"]) -> float:
    """With which power of n weights change: the slope in logarithms, over texts of two words or more."""
    some = lengths > 1
    return float(np.polyfit(np.log(lengths[some]), np.log(weights[some]), 1)[0])


# ---
# A scaling factor that falls with the length of a text, so that long texts are attended as sharply as short ones.
#
# Scores of bounded size give weights of order 1/n (above); a temperature of order
# 1/log n undoes it ("critical attention scaling"). Here a_j = (c_t/λ) e_j·V with a sharpness c_t for each text, and
# c_t ∝ log n_t with mean 1 over the training texts, so that λ keeps its meaning.


LENGTH_RULES = ("fixed", "length", "dealt")


class LengthAwareClassifier(AttentionClassifier):
    """DP with a sharpness for each text.

    Parameters
    ----------
    vocabulary_size : int
    lengths : Int[Tensor, "instances"]
        Those of the training texts, over which the mean sharpness is 1.
    rule : {"fixed", "length", "dealt"}
        c_t = 1 (DP), c_t ∝ log n_t, or the latter of another training text, drawn by the text's words: the control.
    **options
        As in :class:`AttentionClassifier`.

    Raises
    ------
    ValueError
        For another rule, or a variant that is not DP with two classes.
    """

    def __init__(self, vocabulary_size: int, lengths: Int[Tensor, "instances"], rule: str = "length", **options):
        super().__init__(vocabulary_size, **options)
        checks.one_of("rule", rule, LENGTH_RULES)
        if self.encoder != "none" or self.attention != "dot" or not self.binary:
            raise ValueError(f"a sharpness for each text is asked of a binary model DP, not of {self.extra_repr()}")
        self.rule, self.logs = rule, lengths.double().log()

    def sharpness(self, corpus: Corpus) -> Float[Tensor, "instances"]:
        """c of texts; a text of one word, whose weight is 1 whatever its scores, has 0 by "length"."""
        logs = corpus.lengths.double().log()
        if self.rule == "dealt":  # by the text's words, so that it is the same in whatever batch the text is read
            words = sum_by_instance(corpus.tokens.double(), corpus.instance_of, len(corpus)).long()
            logs = self.logs[words * 2654435761 % 2**32 % len(self.logs)]
        even = torch.ones_like(logs)
        return (even if self.rule == "fixed" else logs / self.logs.mean()).to(self.V)

    def attend(self, corpus: Corpus, dropout: Dropout | None = None, sparse: bool = False) -> Output:
        """As DP does, with the scores of each text times its sharpness."""
        of, n, sharpness = corpus.instance_of, len(corpus), self.sharpness(corpus)
        if dropout is None:
            rows, where = self.type_rows(corpus, sparse)
            a, s, _ = self.score(rows)
            scores, token_polarity = a[where] * sharpness[of], s[where]
            weights = softmax_by_instance(scores, of, n)
            return Output(sum_by_instance(weights * token_polarity, of, n), scores, weights, token_polarity)
        rows = functional.embedding(corpus.tokens, self.embedding, sparse=sparse) * dropout.embedding
        a, token_polarity, h = self.score(rows)
        scores = a * sharpness[of]
        weights = softmax_by_instance(scores, of, n)
        pooled = sum_by_instance(weights.unsqueeze(1) * h, of, n) * dropout.pooled
        return Output(pooled @ self.W, scores, weights, token_polarity)


@njit(**OPTIONS)
def length_aware_epoch(parameters, batches, rule, step, work, sharpness):
    """One pass like :func:`uaftc_lib.fast.kernels.train_epoch` (DP with dropout), with a sharpness for each text."""
    table, classes, T = parameters.table, rule.classes, parameters.table.dtype.type
    factor = T(2.0**rule.keep_digits / rule.keep_numerator)
    up = np.full(len(classes) + 1, factor * factor)
    up[0] = factor / T(rule.lam)
    none = np.zeros((0, table.shape[2]), table.dtype)
    loss = 0.0
    for b in range(len(batches.bounds) - 1):
        first, last = batches.bounds[b], batches.bounds[b + 1]
        decay = 1 + (step + b) * rule.decay
        U = parameters.U[:, 0].copy()
        gradients = np.zeros_like(U)
        count, slots = sort_by_type(batches, first, last, True, work)
        draw_pooled(work.pooled[: last - first], batch_key(rule.seed, POOLED, step + b), rule)
        key = batch_key(rule.seed, EMBEDDINGS, step + b)
        score_occurrences(table, U, none, classes, up, count, key, rule, work)
        for o in range(slots):
            position, t = work.occurrence[o]
            work.scores[position, 0] *= sharpness[batches.order[first + t]]
        loss += attend(batches, first, last, slots, classes, work)
        for o in range(slots):
            position, t = work.occurrence[o]
            work.sums[position, 0] *= sharpness[batches.order[first + t]]
        down, rate = -up / T(last - first), T(rule.table_rate / decay)
        update_occurrences(table, U, none, classes, down, count, rate, rule.adagrad, gradients, none, work)
        move_rows(parameters.U[:1], gradients[:1], T(rule.V_rate / decay), rule.adagrad)
        move_rows(parameters.U[1:], gradients[1:], T(rule.W_rate / decay), rule.adagrad)
    return loss


class LengthAwareTrainer(FusedTrainer):
    """Trains a :class:`LengthAwareClassifier` on a CPU, as ``fit(..., trainer=LengthAwareTrainer)``.

    Raises
    ------
    ValueError
        Without dropout, or with a penalty, which its loop does not know.
    """

    def __init__(self, model: LengthAwareClassifier, corpus: Corpus, config: TrainingConfig):
        if not config.dropout or config.penalty:
            raise ValueError("the loop of a sharpness for each text needs dropout and knows no penalty")
        super().__init__(model, corpus, config)
        sharpness = model.sharpness(corpus).numpy()
        self.loop = lambda *state: length_aware_epoch(*state, sharpness)
