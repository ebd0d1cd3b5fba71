"""The settings of chapter 8's runs, from ``settings.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class JainWallace:
    """The protocol of Jain & Wallace (2019); ``states``: the size of a representation h, by what is read."""

    dimension: int
    embedding_range: float
    states: dict[str, int]
    epochs: int
    patience: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    length_noise: float


@dataclass(frozen=True)
class Measures:
    """What is measured, and on how much: see the file."""

    shortest: int
    longest: int
    read_again: int
    integrated_steps: int
    integrated_positions: int
    texts: dict[str, int]
    permutations: int


@dataclass(frozen=True)
class Quarrel:
    """The runs of chapter 8: seeds by data set and model, at its usual λ, at every λ, and at the ends."""

    lams: list[float]
    ends: list[float]
    usual: dict[str, dict[str, int]]
    by_lam: dict[str, dict[str, int]]
    at_ends: dict[str, dict[str, int]]


@dataclass(frozen=True)
class Changed:
    """What was changed of the protocol, and the seeds of each model: ranges of the embeddings, the first epoch kept."""

    embedding_ranges: list[float]
    other_initialisations: dict[str, int]
    second_epoch: dict[str, int]


@dataclass(frozen=True)
class Crossed:
    """Models of which the interval over seeds and texts is taken as a whole."""

    models: list[str]
    seeds: int


@dataclass(frozen=True)
class AdversarySettings:
    """The adversary that is trained as a whole (Wiegreffe & Pinter 2019), and the seeds of each of its bases."""

    models: dict[str, int]
    strengths: list[float]
    epochs: int
    patience: int
    tolerances: list[float]


@dataclass(frozen=True)
class Deception:
    """Training that hides attention (Pruthi et al. 2020)."""

    models: dict[str, int]
    strengths: list[float]


@dataclass(frozen=True)
class Guided:
    """Models whose weights are given (Wiegreffe & Pinter 2019)."""

    seeds: int


@dataclass(frozen=True)
class Variation:
    """Trainings that differ in their seed alone."""

    models: list[str]
    seeds: int


@dataclass(frozen=True)
class Controls:
    """Models that know nothing: which, seeds; the share of the words that are held out, of those not rarer than so."""

    models: dict[str, int]
    held_out: float
    fewest: int


@dataclass(frozen=True)
class Second:
    """Second models that are trained to have other weights: seeds of each objective, strengths."""

    objectives: dict[str, int]
    strengths: list[float]


@dataclass(frozen=True)
class WordLevel:
    """Chapter 9: the objectives, their strengths, what is asked of states; seeds by data set and kind."""

    masked: float
    most_told: int
    probed: int
    probe_read: int
    probe_positions: int
    probe_epochs: int
    tried: dict[str, list[float]]
    searched: dict[str, int]
    price: float
    chosen: dict[str, dict[str, float]]
    dear: dict[str, dict[str, float]]
    usual: dict[str, dict[str, int]]
    two_layers: dict[str, dict[str, int]]
    second: Second
    lams: list[float]
    lam_seeds: int


_read = tomllib.loads(Path(__file__).with_name("settings.toml").read_text(encoding="utf-8"))
JAIN_WALLACE = JainWallace(**_read["jain-wallace"])
MEASURES = Measures(**_read["measures"])
QUARREL = Quarrel(**_read["quarrel"])
CHANGED = Changed(**_read["changed"])
CROSSED = Crossed(**_read["crossed"])
ADVERSARY = AdversarySettings(**_read["adversary"])
DECEPTION = Deception(**_read["deception"])
GUIDED = Guided(**_read["guided"])
VARIATION = Variation(**_read["variation"])
CONTROLS = Controls(**_read["controls"])
WORD_LEVEL = WordLevel(**_read["word-level"] | {"second": Second(**_read["word-level"]["second"])})
