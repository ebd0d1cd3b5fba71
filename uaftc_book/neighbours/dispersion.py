"""How large a weight can be in a text of n words (after Veličković et al. 2025)."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int

from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier, softmax_by_instance


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
