"""One step of gradient descent for the embeddings alone, and what it is said to leave in them.

Wu, Shevchenko, Oymak and Mondelli (NeurIPS 2025, arXiv 2505.17282; the abstract was read): at λ = 1 and with the
logistic loss one step aligns each embedding with W in proportion to the word's average signed frequency; V by itself
then selects the words that are predictive of the label. The length of their step is not known to us: it is a choice.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float

from uaftc_lib import dynamics
from uaftc_lib.corpus import Corpus
from uaftc_lib.models import AttentionClassifier


def signed_frequency(corpus: Corpus, types: int) -> Float[np.ndarray, "types"]:
    """The mean over texts of y times the word's share of the text: π of Eq 16 at V = W = 0, but for ½."""
    shares = (corpus.signs.double() / corpus.lengths)[corpus.instance_of] / len(corpus)
    return np.bincount(corpus.tokens.numpy(), shares.numpy(), types)


def step_embeddings(model: AttentionClassifier, corpus: Corpus, length: float) -> float:
    """Move E, and nothing else, by one full-batch gradient step, in place; gives the learning rate.

    The rate is such that what is added to the words of the corpus is, in root mean square, ``length`` times as long as
    their embeddings are.

    Raises
    ------
    ValueError
        If ``length`` is not above 0, or the slope is zero.
    """
    if not length > 0:
        raise ValueError(f"a step has a length above 0, got {length}")
    slope = dynamics.gradients(model, corpus)["embedding"]
    met = torch.bincount(corpus.tokens, minlength=len(slope)) > 0
    if not slope.any():
        raise ValueError("the embeddings have no slope, so that no step has a length")
    with torch.no_grad():
        rate = length * float(model.embedding[met].norm() / slope[met].norm())
        model.embedding -= rate * slope
    return rate
