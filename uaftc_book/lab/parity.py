"""The lab's problem in PyTorch: the same corpus, initial values and batches, trained by the reference.

Random numbers are a pure function of (seed, purpose, index) on 32-bit integers, bit for bit those of
js/random.js.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from uaftc_book.flat_flow import FlatFlow
from uaftc_book.lab.module import read
from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.dynamics import invariants
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.settings import batch_size_of
from uaftc_lib.threads import one_thread
from uaftc_lib.training import AutogradTrainer, TrainingConfig

PURPOSES = ("embedding", "V", "W", "neutral", "polarity", "place", "instance", "order", "sign")
NEUTRAL_TYPES, POLARITY_TYPES, NEUTRAL_TOKENS, POLARITY_TOKENS = 1000, 50, 10, 2
KINDS = {"neutral": NEUTRAL_TYPES, "positive": POLARITY_TYPES, "negative": POLARITY_TYPES}  # by ids
TYPES = sum(KINDS.values())
NONE = {"angle": None, "log or none": 0}  # what a setting of a kind may be besides the values of its range
TOLD = ("epoch", "loss", "accuracy", "gap", "VW", "drift")
TOLD += tuple(f"{score}_{kind}" for score in "as" for kind in KINDS)


@cache
def settings() -> dict:
    """The lab's controls with their ranges and defaults, and its presets."""
    return json.loads(read("settings.json"))


def complete_state(state: dict | None = None) -> dict:
    """A state of the lab with every setting spelled out.

    Raises
    ------
    ValueError
        For an unknown setting or a value outside its range.
    """
    state, controls = state or {}, settings()["controls"]
    unknown = [name for name in state if name not in controls]
    if unknown:
        raise ValueError(f"the lab has no setting {', '.join(unknown)}; it has {', '.join(controls)}")
    for name, value in state.items():
        about = controls[name]
        if about["kind"] == "choice":
            if str(value) not in about["choices"]:
                raise ValueError(f"{name} must be one of {', '.join(about['choices'])}, got {value!r}")
        elif value != NONE.get(about["kind"], about["min"]) and not about["min"] <= value <= about["max"]:
            raise ValueError(f"{name} must lie between {about['min']} and {about['max']}, got {value}")
    return {name: about["default"] for name, about in controls.items()} | state


def mix(x: np.ndarray | int) -> np.ndarray | np.uint32:
    """A bijection of 32-bit integers (C. Wellons' "lowbias32")."""
    x = np.asarray(x, dtype=np.uint32)
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint32(16))) * np.uint32(0x21F0AAAD)
        x = (x ^ (x >> np.uint32(15))) * np.uint32(0x735A2D97)
    return x ^ (x >> np.uint32(15))


def stream_key(seed: int, purpose: str, part: int = 0) -> int:
    """The key of one stream of draws."""
    key = 0
    for number in (seed + 0x9E3779B9, PURPOSES.index(purpose) + 1, part):
        key = int(mix((key + number) % 2**32))
    return key


def draw(key: int, indices: np.ndarray) -> np.ndarray:
    """The stream's 32-bit integers at some indices."""
    shifted = (np.asarray(indices, dtype=np.uint64) + np.uint64(0x9E3779B9)).astype(np.uint32)
    return mix(mix(shifted) ^ np.uint32(key))


def uniform(key: int, indices: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1)."""
    return draw(key, indices) / 2**32


def below(key: int, indices: np.ndarray, bounds: np.ndarray | int) -> np.ndarray:
    """Whole numbers in [0, bound)."""
    return (draw(key, indices).astype(np.uint64) * np.asarray(bounds, np.uint64) >> np.uint64(32)).astype(int)


def normal(key: int, count: int) -> np.ndarray:
    """Twelve uniform numbers less six: mean 0, variance 1, and no logarithm that rounds in its own way."""
    twelve = draw(key, np.arange(12 * count)).reshape(count, 12).astype(np.uint64)
    return twelve.sum(1) / 2**32 - 6


def permutation(key: int, count: int) -> list[int]:
    """Fisher and Yates."""
    order = list(range(count))
    chosen = below(key, np.arange(count), np.arange(1, count + 1)).tolist()
    for i in range(count - 1, 0, -1):
        order[i], order[chosen[i]] = order[chosen[i]], order[i]
    return order


def distinct(key: int, rows: int, count: int, bound: int) -> np.ndarray:
    """Each row: ``count`` distinct whole numbers below ``bound``, all sets equally likely (Floyd)."""
    drawn = np.empty((rows, count), int)
    for j in range(count):
        last = bound - count + j
        candidate = below(key, np.arange(rows) * count + j, last + 1)
        taken = (drawn[:, :j] == candidate[:, None]).any(1)
        drawn[:, j] = np.where(taken, last, candidate)
    return drawn


def dataset(state: dict | None = None) -> Dataset:
    """The synthetic data of a state (Appendix C), token for token the one that the browser makes."""
    config = complete_state(state)
    seed, instances = config["seed"], int(config["instances"])
    positives = math.floor(instances * config["ratio"] + 0.5)
    negatives = instances - positives
    positive = np.arange(instances) >= negatives
    rank = np.where(positive, np.arange(instances) - negatives, np.arange(instances))
    exchanged = [math.floor(config["noise"] * size + 0.5) for size in (negatives, positives)]
    looks_positive = positive ^ (rank < np.where(positive, exchanged[1], exchanged[0]))
    polar = distinct(stream_key(seed, "polarity"), instances, POLARITY_TOKENS, POLARITY_TYPES)
    polar += NEUTRAL_TYPES + np.where(looks_positive, 0, POLARITY_TYPES)[:, None]
    neutral = distinct(stream_key(seed, "neutral"), instances, NEUTRAL_TOKENS, NEUTRAL_TYPES)
    tokens, rows = np.hstack([neutral, polar]), np.arange(instances)
    length = tokens.shape[1]
    for i in range(length - 1, 0, -1):
        j = below(stream_key(seed, "place"), rows * length + i, i + 1)
        tokens[rows, i], tokens[rows, j] = tokens[rows, j], tokens[rows, i]
    order = permutation(stream_key(seed, "instance"), instances)
    flat, labels = torch.from_numpy(tokens[order].reshape(-1)), torch.from_numpy(positive[order].astype(int))
    classes = ("negative", "positive")
    corpus = Corpus(tokens=flat, offsets=torch.arange(instances + 1) * length, labels=labels, classes=classes)
    vocabulary = Vocabulary([f"{kind}-{i}" for kind, size in KINDS.items() for i in range(size)])
    return Dataset("lab", vocabulary, classes, corpus, provenance={"source": "generated", **config})


def model(state: dict | None, types: int) -> AttentionClassifier:
    """The classifier of a state before training, in float64: E and W uniform in ±0.1, V of variance 1."""
    config = complete_state(state)
    seed, d = config["seed"], config["d"]
    E = 0.1 * (2 * uniform(stream_key(seed, "embedding"), np.arange(types * d)) - 1).reshape(types, d)
    V = normal(stream_key(seed, "V"), d)
    W = 0.1 * (2 * uniform(stream_key(seed, "W"), np.arange(d)) - 1)
    if config["angle"] is not None:
        across = W - (V @ W) / (V @ V) * V
        radians = math.radians(config["angle"])
        on_V, on_side = V / np.linalg.norm(V), across / np.linalg.norm(across)
        W = np.linalg.norm(W) * (math.cos(radians) * on_V + math.sin(radians) * on_side)
    made = AttentionClassifier(types, dimension=d, lam=config["lam"], dtype=torch.float64)
    with torch.no_grad():
        for parameter, values in ((made.embedding, E), (made.V, V), (made.W, W)):
            parameter.copy_(torch.from_numpy(values))
    return made


def training(state: dict | None) -> TrainingConfig:
    """The training configuration of a state."""
    config = complete_state(state)
    alike = {name: config[name] for name in ("optimizer", "epochs", "penalty", "seed")}
    return TrainingConfig(learning_rate=config["lr"], batch_size=batch_size_of(config["batch"]), **alike)


def batches(state: dict | None, instances: int, epoch: int) -> list[torch.Tensor]:
    """Instance indices of each batch of an epoch, counted from 1, in the lab's order."""
    config = complete_state(state)
    size = batch_size_of(config["batch"]) or instances
    if size >= instances:
        return [torch.arange(instances)]
    return list(torch.tensor(permutation(stream_key(config["seed"], "order", epoch), instances)).split(size))


@dataclass(frozen=True)
class Epoch:
    """One moment of the reference's training: epoch 0 is before it, and has no loss."""

    epoch: int
    loss: float
    model: AttentionClassifier
    data: Dataset
    at_start: Float[Tensor, "d d"]  # EᵀE − VVᵀ − WWᵀ, which gradient flow conserves
    upper: float | None  # end of the band


@torch.no_grad()
def conserved_matrix(model: AttentionClassifier) -> Float[Tensor, "d d"]:
    """EᵀE − VVᵀ − WWᵀ over the synthetic types: the vocabulary's special ones, which never move, are not the page's."""
    (matrix,) = invariants("DP", {"embedding": model.embedding[:TYPES], "V": model.V, "W": model.W}).values()
    return matrix


def upper_end(state: dict, untrained: AttentionClassifier, data: Dataset) -> float | None:
    """The λ at which the band ends (:meth:`FlatFlow.upper_end`); None where the closed form does not hold."""
    ids = dict(zip(KINDS, torch.arange(TYPES).split([*KINDS.values()])))
    if state["optimizer"] != "sgd" or state["penalty"] or state["ratio"] != 0.5 or state["noise"] >= 0.5:
        return None
    steps = state["epochs"] * len(batches(state, len(data.train), 1))
    return FlatFlow.from_model(untrained, data.train, ids).upper_end(steps * state["lr"], within=(0.0, math.inf))


def train(state: dict | None = None) -> Iterator[Epoch]:
    """Train a state by autograd (:class:`AutogradTrainer`); each epoch yields the one model as it is then."""
    config, data = complete_state(state), dataset(state)
    classifier = model(config, len(data.vocabulary))
    trainer = AutogradTrainer(classifier, data.train, training(config))
    at_start, upper = conserved_matrix(classifier), upper_end(config, classifier, data)
    yield Epoch(0, math.nan, classifier, data, at_start, upper)
    for epoch in range(1, config["epochs"] + 1):
        with one_thread():
            loss = trainer.epoch(batches(config, len(data.train), epoch))
        yield Epoch(epoch, loss, classifier, data, at_start, upper)


@one_thread()
def numbers(moment: Epoch) -> dict[str, float]:
    """What a caption may say of one moment, under the names that the lab uses."""
    scores = moment.model.token_scores()
    told = {"epoch": moment.epoch, "loss": moment.loss, "accuracy": moment.model.accuracy(moment.data.train)}
    for score, values in (("a", scores.attention), ("s", scores.polarity)):
        of_kind = zip(KINDS, values[:TYPES].split([*KINDS.values()]))
        told |= {f"{score}_{kind}": float(part.mean()) for kind, part in of_kind}
    told["gap"] = abs(told["a_positive"] - told["a_negative"])
    told["VW"] = float(moment.model.V.detach() @ moment.model.W.detach())
    if moment.upper is not None:
        told["upper"] = moment.upper
    change = conserved_matrix(moment.model) - moment.at_start
    told["drift"] = float(change.norm() / moment.at_start.norm())
    return told
