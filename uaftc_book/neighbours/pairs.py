"""Data IV: the class is in two words together, and in neither alone; beside it the same words, each telling.

After the case that Snell, Zhong, Klein and Steinhardt (2021) look at, in which single words say nothing of the answer
(abstract read; the data are ours). A text has one of the words A0 or A1, one of B0 or B1, and neutral words.
"""

from __future__ import annotations

import numpy as np
import torch

from uaftc_lib.checks import one_of, whole
from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.datasets.synthetic import distinct_integers

DRAWN = 19  # the stream from which Data IV is drawn
KINDS = ("A0", "A1", "B0", "B1", "neutral")
SIGNALS = ("pairs", "words")
CLASSES = ("negative", "positive")


def kinds_of(types: int = 10, neutral_types: int = 100) -> dict[str, torch.Tensor]:
    """The token ids of each kind of word."""
    starts = np.append(np.arange(5) * types, 4 * types + neutral_types)
    return {name: torch.arange(a, b) for name, a, b in zip(KINDS, starts, starts[1:])}


def told_by(
    signal: str, texts: int = 1200, types: int = 10, neutral_types: int = 100, neutral_tokens: int = 10, seed: int = 0
) -> Dataset:
    """Data IV, with as many test texts as training texts.

    Parameters
    ----------
    signal : {"pairs", "words"}
        "pairs": positive are A0 with B0 and A1 with B1, so that each word is in as many texts of either class. "words":
        positive are A1 with either, so that A tells the class and B is as idle as a neutral word.
    texts : int
        A multiple of four: the four combinations are equally frequent.
    types : int
        Words of each kind of the four.

    Raises
    ------
    ValueError
        For an unknown signal or an impossible number.
    """
    one_of("signal", signal, SIGNALS)
    for name, value in (("texts", texts), ("types", types), ("neutral_types", neutral_types)):
        whole(name, value, least=1)
    if texts % 4:
        raise ValueError(f"texts must be a multiple of four, got {texts}")
    rng = np.random.default_rng([DRAWN, seed])

    def corpus() -> Corpus:
        A, B = np.divmod(rng.permutation(np.arange(texts) % 4), 2)
        labels = A == B if signal == "pairs" else A == 1
        words = rng.integers(types, size=(texts, 2)) + types * np.column_stack([A, 2 + B])
        neutral = 4 * types + distinct_integers(rng, texts, neutral_tokens, neutral_types)
        tokens = rng.permuted(np.hstack([words, neutral]), axis=1)
        offsets = torch.arange(texts + 1) * tokens.shape[1]
        return Corpus(
            torch.from_numpy(tokens.reshape(-1)), offsets, torch.from_numpy(labels.astype(int)), classes=CLASSES
        )

    names = [f"{kind}-{i}" for kind, ids in kinds_of(types, neutral_types).items() for i in range(len(ids))]
    return Dataset("told by " + signal, Vocabulary(names), CLASSES, corpus(), test=corpus())
