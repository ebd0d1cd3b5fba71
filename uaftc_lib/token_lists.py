"""γ and the positive, negative and neutral tokens (Section 5, Eq 28; footnote 9 for more classes)."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_lib.checks import whole
from uaftc_lib.corpus import Corpus, Vocabulary


def class_frequencies(corpus: Corpus, vocabulary: Vocabulary) -> Int[Tensor, "types classes"]:
    """How often each token type occurs in the instances of each class: token counts, not documents.

    Raises
    ------
    ValueError
        If the corpus is empty, or holds a token id that the vocabulary lacks.
    """
    corpus.check_filled()
    if int(corpus.tokens.max()) >= len(vocabulary):
        raise ValueError(
            f"the corpus holds token id {int(corpus.tokens.max())}, but the vocabulary ends at "
            f"{len(vocabulary) - 1}: give the data set's own vocabulary"
        )
    cells = corpus.tokens * corpus.class_count + corpus.labels[corpus.instance_of]
    counts = torch.bincount(cells, minlength=len(vocabulary) * corpus.class_count)
    return counts.reshape(len(vocabulary), corpus.class_count)


def association(corpus: Corpus, vocabulary: Vocabulary) -> Float[Tensor, "types"]:
    """γ = (f⁺ − f⁻) / (f⁺ + f⁻) (Eq 28); nan for a type that does not occur.

    Raises
    ------
    ValueError
        If there are more than two classes.
    """
    if corpus.class_count != 2:
        raise ValueError(f"γ is defined for two classes, this corpus has {corpus.class_count}")
    negative, positive = class_frequencies(corpus, vocabulary).double().unbind(1)
    return (positive - negative) / (positive + negative)


def token_types(
    corpus: Corpus, vocabulary: Vocabulary, share: float = 0.8, minimum_count: int = 20, excess: float = 1.2
) -> dict[str, Int[Tensor, "ids"]]:
    """Ids of the polarity and neutral tokens of a training corpus.

    Two classes: "positive" where γ ∈ (0.5, 1] and f⁺ > 5, "negative" where γ ∈ [−1, −0.5) and f⁻ > 5,
    "neutral" where |γ| < 0.1 and |f⁺ − f⁻| < 5. The paper prints the intervals open; the published
    numbers of tokens decide for the half-open ones. The other arguments play no part.

    More classes: a type of at least ``minimum_count`` occurrences belongs to the class that holds more than
    ``share`` of them; it is "neutral" where the largest share is at most ``excess`` times an even one, 1/K.
    The paper gives none of the three numbers; these come near its counts for 20News II.

    Raises
    ------
    ValueError
        If ``share`` is not between 1/K and 1 (K classes), ``minimum_count`` is no whole number, or ``excess`` is
        below 1.
    """
    K = corpus.class_count
    if not 1 / K < share < 1:
        raise ValueError(f"share must lie between 1/{K} and 1, got {share}")
    whole("minimum_count", minimum_count)
    if not excess >= 1:
        raise ValueError(f"excess must be at least 1, an even share, got {excess}")
    if corpus.class_count == 2:
        negative, positive = class_frequencies(corpus, vocabulary).unbind(1)
        gamma = association(corpus, vocabulary)
        chosen = {
            "positive": (gamma > 0.5) & (positive > 5),
            "negative": (gamma < -0.5) & (negative > 5),
            "neutral": (gamma.abs() < 0.1) & ((positive - negative).abs() < 5),
        }
        return {name: mask.nonzero().squeeze(1) for name, mask in chosen.items()}
    counts = class_frequencies(corpus, vocabulary)
    total = counts.sum(1)
    largest, owner = (counts / total.clamp(min=1).unsqueeze(1)).max(1)
    frequent = (total >= minimum_count) & (total > 0)
    chosen = {name: frequent & (owner == k) & (largest > share) for k, name in enumerate(corpus.classes)}
    chosen["neutral"] = frequent & (largest <= excess / K)
    return {name: mask.nonzero().squeeze(1) for name, mask in chosen.items()}
