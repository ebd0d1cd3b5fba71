"""What the states of a recurrent classifier keep of their words, and how far words alone say what they do in a text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from uaftc_book.neighbours.again import drawn_texts
from uaftc_book.neighbours.settings import WORD_LEVEL
from uaftc_book.neighbours.word_level import WordLevelClassifier, conicity, embeddings_and_states, mean_by_instance
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.models.encoders import consecutive_parts
from uaftc_lib.streams import generator
from uaftc_lib.token_lists import token_types


@torch.no_grad()
def pooled(model: AttentionClassifier, corpus: Corpus) -> Float[Tensor, "positions h"]:
    """What a model pools, of every position."""

    def part(some: Corpus) -> Tensor:
        return model.encode(functional.embedding(some.tokens, model.embedding), some.offsets)

    return torch.cat([part(corpus[one]) for one in consecutive_parts(corpus.lengths)])


class Information(NamedTuple):
    """In nats: how far the types are from certain, and how much of that a probe takes away, of true and shuffled pairs.

    The second is a lower bound of the mutual information of type and state (Barber & Agakov 2003), as tight as the
    linear probe is good; with shuffled pairs, which have none, it shows the probe's bias, at most 0 but for the draw.
    """

    entropy: float
    told: float
    told_shuffled: float


def information(model: AttentionClassifier, dataset: Dataset, seed: int = 0) -> Information:
    """I(word; state) ≥ H(word) − the cross-entropy of a linear probe, over the most frequent words in training.

    The probe is trained on states of the training texts and asked about those of the test set; H is that of the words
    of the test set under their shares in training, so that a probe that learns nothing but these is told 0.
    """
    asked = pairs(model, dataset, seed)
    entropy = float(-asked.shares.log()[asked.t].mean())
    mixed = asked._replace(y=words_reordered(asked.y, seed))
    return Information(entropy, *(entropy - cross_entropy_of_probe(of, seed) for of in (asked, mixed)))


def told_of_shuffled(model: AttentionClassifier, dataset: Dataset, seed: int = 0) -> float:
    """What the same probe tells of words that are dealt out anew, trained to its last epoch: the bound's bias."""
    asked = pairs(model, dataset, seed)
    entropy = float(-asked.shares.log()[asked.t].mean())
    return entropy - cross_entropy_of_probe(asked._replace(y=words_reordered(asked.y, seed)), seed, to_the_end=True)


def words_reordered(y: Int[Tensor, "rows"], seed: int) -> Int[Tensor, "rows"]:
    """The same words in another order."""
    return y[torch.randperm(len(y), generator=generator(seed, "order"))]


class StatesAndWords(NamedTuple):
    """States and words, (x, y) of training texts and (z, t) of test texts, and the words' shares of the former."""

    x: Float[Tensor, "rows h"]
    y: Int[Tensor, "rows"]
    z: Float[Tensor, "others h"]
    t: Int[Tensor, "others"]
    shares: Float[Tensor, "words"]


def pairs(model: AttentionClassifier, dataset: Dataset, seed: int) -> StatesAndWords:
    """What the probe is trained on and asked, states in units of their spread in training."""
    counts = dataset.train.tokens.bincount(minlength=len(dataset.vocabulary))
    words = counts.argsort(descending=True, stable=True)[: min(WORD_LEVEL.probed, int((counts > 0).sum()))]
    known = torch.full_like(counts, -1)
    known[words] = torch.arange(len(words))
    (x, y), (z, t) = (states_of(model, split, known, seed) for split in (dataset.train, dataset.test))
    center, scale = x.mean(0), x.std(0) + 1e-6
    shares = (y.bincount(minlength=len(words)) + 1.0) / (len(y) + len(words))
    return StatesAndWords((x - center) / scale, y, (z - center) / scale, t, shares)


def states_of(
    model: AttentionClassifier, corpus: Corpus, known: Int[Tensor, "types"], seed: int
) -> tuple[Float[Tensor, "rows h"], Int[Tensor, "rows"]]:
    """States and words of at most so many positions with a known word, drawn; of a large corpus, from some texts."""
    corpus = corpus[drawn_texts(corpus, WORD_LEVEL.probe_read, seed)]
    usable = torch.nonzero(known[corpus.tokens] >= 0).squeeze(1)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(usable))[: WORD_LEVEL.probe_positions])
    return pooled(model, corpus)[usable[order]], known[corpus.tokens[usable[order]]]


@torch.enable_grad()
def cross_entropy_of_probe(asked: StatesAndWords, seed: int, to_the_end: bool = False) -> float:
    """Of a linear classifier, trained on (x, y) from the words' shares alone, on (z, t); in nats.

    It is left at the epoch that tells best a tenth of the training rows, which it does not see; the first is before
    training, so that it never does worse than the shares by being trained too long. Or it is trained to the last.
    """
    x, y, z, t, shares = asked
    draws = generator(seed, "order")
    weight = torch.zeros(len(shares), x.shape[1], requires_grad=True)
    bias = shares.log().clone().requires_grad_()
    optimizer = torch.optim.Adam([weight, bias], lr=1e-3)
    held = len(x) // 10
    best, kept = np.inf, (weight, bias)
    for _ in range(WORD_LEVEL.probe_epochs + 1):
        with torch.no_grad():
            reached = float(functional.cross_entropy(x[:held] @ weight.T + bias, y[:held]))
        if reached < best or to_the_end:
            best, kept = reached, (weight.detach().clone(), bias.detach().clone())
        for rows in (held + torch.randperm(len(x) - held, generator=draws)).split(256):
            loss = functional.cross_entropy(x[rows] @ weight.T + bias, y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        return float(functional.cross_entropy(z @ kept[0].T + kept[1], t))


@torch.no_grad()
def words_alone(model: AttentionClassifier, dataset: Dataset) -> dict[str, float]:
    """How often a word that is a text by itself is put on its side: the positive and negative tokens of Eq 28."""
    lists, scores = token_types(dataset.train, dataset.vocabulary), model.token_scores().polarity
    sides = {"positive": True, "negative": False}
    return {f"alone {kind}": float(((scores[lists[kind]] > 0) == side).double().mean()) for kind, side in sides.items()}


@torch.no_grad()
def alone_and_in_texts(model: AttentionClassifier, corpus: Corpus) -> dict[str, float]:
    """Correlation over positions of a word's score alone and in its text, of attention and of polarity.

    Scores of attention are compared within texts, as no constant that a text adds to all changes its weights.
    """
    alone, out = model.token_scores(), model(corpus)

    def within(scores: Tensor) -> Tensor:
        return scores - mean_by_instance(scores, corpus)[corpus.instance_of]

    pairs = {
        "attention": (within(alone.attention[corpus.tokens]), within(out.scores)),
        "polarity": (alone.polarity[corpus.tokens], out.token_polarity),
    }
    return {
        f"{name} alone and in its text": float(torch.corrcoef(torch.stack(pair))[0, 1]) for name, pair in pairs.items()
    }


@torch.no_grad()
def kept(model: WordLevelClassifier, dataset: Dataset, seed: int = 0) -> dict[str, float]:
    """All of the above on the test set, the mean conicity of its texts, and the mean |h_j − e_j|² and |h_j|²."""
    e, h = embeddings_and_states(model, dataset.test)
    return {
        **{name.replace("_", " "): value for name, value in information(model, dataset, seed)._asdict().items()},
        **words_alone(model, dataset),
        **alone_and_in_texts(model, dataset.test),
        "conicity": float(conicity(h, dataset.test).mean()),
        "apart": float(((h - e) ** 2).sum(1).mean()),
        "size": float((h**2).sum(1).mean()),
    }
