"""Classifiers whose states stay close to their words, and objectives that keep them there.

Tutek & Šnajder (2020, "Staying True to Your Word") put states and embeddings together, tie them, or have the states
tell masked words; Mohankumar et al. (2020) let states differ from one another. The first paper's code and tables could
not be had: what it left open is settled here, and said.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from uaftc_book.neighbours.jain_wallace import JainWallaceClassifier, Objective, class_balanced, train_model
from uaftc_book.neighbours.settings import JAIN_WALLACE, WORD_LEVEL
from uaftc_book.neighbours.yardsticks import at_places, drawn_texts, largest_by_instance, place_in_text
from uaftc_lib import checks
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.models import AttentionClassifier, Output, softmax_by_instance, sum_by_instance
from uaftc_lib.models.encoders import Recurrent, consecutive_parts
from uaftc_lib.streams import generator
from uaftc_lib.token_lists import token_types

POOLED = ("state", "concatenation", "residual")


class WordLevelClassifier(JainWallaceClassifier):
    """Theirs over an LSTM whose states have as many elements as embeddings, so that the two can be compared and added.

    Parameters
    ----------
    vocabulary_size : int
    pools : {"state", "concatenation", "residual"}
        What is pooled: h_j, [h_j; e_j] or h_j + e_j.
    orthogonal : bool
        Whether each state of a direction is made orthogonal to the sum of those before it.
    layers : int
        LSTMs, each but the first over the states of the one before.
    keys, lam, seed
        As in :class:`JainWallaceClassifier`.

    Raises
    ------
    ValueError
        For an unknown choice or an impossible number.
    """

    def __init__(
        self,
        vocabulary_size: int,
        pools: str = "state",
        orthogonal: bool = False,
        layers: int = 1,
        keys: str = "tanh",
        lam: float | None = None,
        seed: int = 0,
    ):
        checks.one_of("pools", pools, POOLED)
        checks.whole("layers", layers, 1)
        size = JAIN_WALLACE.dimension
        pooled = 2 * size if pools == "concatenation" else size
        super().__init__(vocabulary_size, "bilstm", keys, lam, seed, states=size, pooled=pooled)
        self.pools, self.orthogonal = pools, orthogonal
        draws = generator(seed, "further layers")
        self.further = nn.ModuleList(
            Recurrent("lstm", size, size // 2, draws, self.V.dtype, self.V.device) for _ in range(layers - 1)
        )
        if orthogonal:
            for layer in (self.recurrent, *self.further):
                layer.onward, layer.backward_ = Orthogonal(layer.onward), Orthogonal(layer.backward_)

    def __getstate__(self) -> dict:
        """What a copy takes along: not the states of a text."""
        return {name: value for name, value in super().__getstate__().items() if name != "latest"}

    def encode(
        self, embeddings: Float[Tensor, "tokens d"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> Float[Tensor, "tokens h"]:
        """What is pooled, of tokens; their states are kept in ``latest``, for an objective to ask nothing twice."""
        h = self.latest = self.states(embeddings, offsets)
        if self.pools == "concatenation":
            return torch.cat([h, embeddings], dim=1)
        return h + embeddings if self.pools == "residual" else h

    def states(
        self, embeddings: Float[Tensor, "tokens d"], offsets: Int[Tensor, "boundaries"] | None = None
    ) -> Float[Tensor, "tokens d"]:
        """The states of the last layer."""
        if offsets is None:
            offsets = torch.arange(len(embeddings) + 1, device=embeddings.device)
        h = self.recurrent(embeddings, offsets)
        for layer in self.further:
            h = layer(h, offsets)
        return h

    def again(self, seed: int) -> WordLevelClassifier:
        """A model of the same kind and size at another initialisation."""
        layers = 1 + len(self.further)
        return WordLevelClassifier(len(self.embedding), self.pools, self.orthogonal, layers, self.keys, self.lam, seed)


class Orthogonal(nn.Module):
    """An LSTM that reads on with states less their component along the sum of those before (Mohankumar et al. 2020)."""

    def __init__(self, network: nn.LSTM):
        super().__init__()
        self.network = network

    def forward(self, padded: Float[Tensor, "steps texts d"]) -> tuple[Float[Tensor, "steps texts h"], None]:
        """As torch's LSTM from a zero state."""
        net = self.network
        read = functional.linear(padded, net.weight_ih_l0, net.bias_ih_l0 + net.bias_hh_l0)
        h = c = before = read.new_zeros(padded.shape[1], net.hidden_size)
        states = []
        for gates in read:
            entry, forget, new, out = (gates + h @ net.weight_hh_l0.T).chunk(4, dim=1)
            c = forget.sigmoid() * c + entry.sigmoid() * new.tanh()
            h = out.sigmoid() * c.tanh()
            along = (h * before).sum(1, keepdim=True) / (before * before).sum(1, keepdim=True).clamp(min=1e-12)
            h = h - along * before
            before = before + h
            states.append(h)
        return torch.stack(states), None


def embeddings_and_states(
    model: WordLevelClassifier, batch: Corpus
) -> tuple[Float[Tensor, "tokens d"], Float[Tensor, "tokens d"]]:
    """Embeddings and states of all positions."""
    embeddings = functional.embedding(batch.tokens, model.embedding)
    return embeddings, model.states(embeddings, batch.offsets)


def mean_by_instance(values: Float[Tensor, "positions"], corpus: Corpus) -> Float[Tensor, "instances"]:
    """The mean over the positions of each instance."""
    return sum_by_instance(values, corpus.instance_of, len(corpus)) / corpus.lengths


def conicity(h: Float[Tensor, "positions d"], corpus: Corpus) -> Float[Tensor, "instances"]:
    """The mean cosine of the states of a text with their mean: 1 where all point one way."""
    mean = sum_by_instance(h, corpus.instance_of, len(corpus))
    return mean_by_instance(functional.cosine_similarity(h, mean[corpus.instance_of], eps=1e-8), corpus)


def tied(corpus: Corpus, strength: float) -> Objective:
    """The usual loss, and of each text strength · mean_j |h_j − e_j|²."""
    usual = class_balanced(corpus)

    def loss(model: AttentionClassifier, batch: Corpus, out: Output) -> Tensor:
        apart = model.latest - functional.embedding(batch.tokens, model.embedding)
        return usual(model, batch, out) + strength * mean_by_instance((apart**2).sum(1), batch).sum()

    return loss


def diverse(corpus: Corpus, strength: float) -> Objective:
    """The usual loss, and of each text strength · :func:`conicity`."""
    usual = class_balanced(corpus)

    def loss(model: AttentionClassifier, batch: Corpus, out: Output) -> Tensor:
        return usual(model, batch, out) + strength * conicity(model.latest, batch).sum()

    return loss


def masked(corpus: Corpus, strength: float, seed: int) -> Objective:
    """The usual loss, and for each text strength · the mean −log p of a batch's masked words.

    Some words are read as zero vectors, and the states of some of these tell them: p is the softmax of h·E + log f over
    all types, f their shares of the corpus (one is added to each count), so that a state need tell only what f does
    not. The decoder is the table of embeddings (theirs is linear; whether it is tied, or has a bias, is not known).
    """
    usual, draws = class_balanced(corpus), generator(seed, "masked words")

    @lru_cache(1)
    def log_shares(model: AttentionClassifier) -> Float[Tensor, "types"]:
        counts = 1 + torch.bincount(corpus.tokens, minlength=len(model.embedding))
        return (counts / counts.sum()).log().to(model.embedding)

    def loss(model: AttentionClassifier, batch: Corpus, out: Output) -> Tensor:
        hidden = torch.rand(len(batch.tokens), generator=draws).to(model.embedding) < WORD_LEVEL.masked
        if not hidden.any():
            return usual(model, batch, out)
        asked = torch.nonzero(hidden).squeeze(1)
        asked = asked[torch.randperm(len(asked), generator=draws)[: WORD_LEVEL.most_told].to(asked.device)]
        e = functional.embedding(batch.tokens, model.embedding)
        h = model.states(e.masked_fill(hidden.unsqueeze(1), 0.0), batch.offsets)
        told = functional.cross_entropy(h[asked] @ model.embedding.T + log_shares(model), batch.tokens[asked])
        return usual(model, batch, out) + strength * told * len(batch)

    return loss


# Each as the arguments of its model, and what makes its objective from (corpus, strength, seed) where it has one.
KINDS: dict[str, tuple[dict, Callable[[Corpus, float, int], Objective] | None]] = {
    "base": ({}, None),
    "concatenation": ({"pools": "concatenation"}, None),
    "residual": ({"pools": "residual"}, None),
    "tied": ({}, lambda corpus, strength, _seed: tied(corpus, strength)),
    "masked": ({}, masked),
    "diverse": ({}, lambda corpus, strength, _seed: diverse(corpus, strength)),
    "orthogonal": ({"orthogonal": True}, None),
}


def train_kind(
    dataset: Dataset,
    kind: str,
    strength: float = 0.0,
    seed: int = 0,
    layers: int = 1,
    epochs: int = JAIN_WALLACE.epochs,
    lam: float | None = None,
) -> tuple[WordLevelClassifier, int]:
    """A classifier of one of :data:`KINDS`, trained by Jain & Wallace's protocol; the epoch at which it is left.

    Raises
    ------
    ValueError
        For an unknown kind, or a strength where there is no objective to weigh, or none where there is.
    """
    checks.one_of("kind", kind, KINDS)
    given, objective = KINDS[kind]
    if (strength > 0) != (objective is not None):
        needs = "needs a strength above 0" if objective else "has no objective: its strength is 0"
        raise ValueError(f"{kind!r} {needs}, got {strength}")
    model = WordLevelClassifier(len(dataset.vocabulary), **given, layers=layers, lam=lam, seed=seed)
    model.check(dataset.train)
    asked = objective(dataset.train, strength, seed) if objective else None
    return model, train_model(model, dataset, seed, epochs, asked)


# ---
# What the states of a recurrent classifier keep of their words, and how far words alone say what they do in a text.


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


# ---
# What states near their words guarantee: how much leaving a word out can do by way of the states of the others.


class Bounded(NamedTuple):
    """Of each position: what its absence does to the logit beyond its own state's fall, the most it can do, and ε."""

    beyond: Float[Tensor, "positions"]
    bound: Float[Tensor, "positions"]
    epsilon: Float[Tensor, "positions"]


@torch.no_grad()
def by_others(model: WordLevelClassifier, corpus: Corpus) -> Bounded:
    """|s(x₋ⱼ) − s(x₋ⱼ with the states of x)| of every position j, and its bound by how far states are from words.

    Where |h_i − e_i| ≤ ε in x and in x₋ⱼ, no state moves by more than 2ε, so no s_i by more than u = 2ε|W| and no a_i
    by more than θ = 2ε|V||M|/λ (the operator norm of M, as tanh moves less than its argument). Weights then move by a
    total variation of at most tanh(θ/2), and the logit by at most u + (max s_i − min s_i) tanh(θ/2).

    Raises
    ------
    ValueError
        If the model pools something else than its states, its keys are not those of tanh, or a text has one word.
    """
    if model.pools != "state" or model.keys != "tanh":
        raise ValueError(f"the bound is that of pooled states and keys of tanh, not of {model.pools!r}, {model.keys!r}")
    if int(corpus.lengths.min()) < 2:
        raise ValueError("a text of one word has no others: give texts of two words or more")
    place, copies = torch.from_numpy(place_in_text(corpus)), at_places(corpus)[corpus.instance_of]
    rest = copies.without(place[copies.tokens] == place[copies.instance_of])  # copy j of a text lacks position j

    def said(texts: Corpus) -> list[Tensor]:
        e, h = embeddings_and_states(model, texts)
        a, s, _ = model.score(e, texts.offsets)
        return [a.double(), s.double(), (h - e).norm(dim=1).double()]

    def logit(scores: Tensor, values: Tensor) -> Tensor:
        weights = softmax_by_instance(scores, rest.instance_of, len(rest))
        return sum_by_instance(weights * values, rest.instance_of, len(rest))

    a, s, apart = (values[rest.tokens] for values in said(corpus))
    a_new, s_new, apart_new = said(rest._with(tokens=corpus.tokens[rest.tokens]))
    epsilon = largest_by_instance(torch.maximum(apart, apart_new), rest)
    V, W, M = model.V.double(), model.W.double(), model.M.double()
    u, theta = 2 * epsilon * W.norm(), 2 * epsilon * V.norm() * torch.linalg.matrix_norm(M, 2) / model.lam
    spread = largest_by_instance(s, rest) + largest_by_instance(-s, rest)
    return Bounded((logit(a_new, s_new) - logit(a, s)).abs(), u + spread * torch.tanh(theta / 2), epsilon)
