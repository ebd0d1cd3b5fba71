"""Chapter 16: what words that no training text holds come to score, by their vectors alone.

Fixed before the ten seeds were run (five others had been looked at, to choose rate and epochs of frozen vectors): a
fifth of the words that have a vector is drawn and cut out of the training texts. After training their scores e·V/λ and
e·W are compared, in what they gained, with those of a model that read the texts whole, from random vectors and from
another seed: all that the two share is the texts. Looked at are words that occur at least ten times there.
Controls: vectors dealt out among words of like frequency; labels dealt out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from scipy.stats import spearmanr
from torch import Tensor

from uaftc_book.chapters.pretrained.initialisations import from_book
from uaftc_book.controls import with_permuted_labels
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.locations import replaced
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import outranks
from uaftc_lib.settings import TrainingConfig
from uaftc_lib.streams import generator
from uaftc_lib.token_lists import token_types
from uaftc_lib.training import fit

DATASETS, LAMS = ("sst", "20news-1"), (1.0, 10.0, 100.0)
SEEDS = range(10, 20)  # those below were looked at while the protocol was made
HELD_OUT = 0.2  # of the words that have a vector
LEAST = 10  # occurrences in the whole texts of a word that is looked at: the scores of rarer ones tell little
OTHER = 1000  # added to the seed of the model that read the texts whole
# With vectors that do not move V and W alone learn: at a larger rate and for longer, or they are not done.
LEARNING = {
    "frozen": {"learning_rates": {"embedding": 0.0}, "learning_rate": 0.2, "epochs": 100},
    "trained": {"epochs": 10},
}
KINDS = ("vectors", "dealt out", "permuted labels")
SHOWN_LAMS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)  # stops of the slider


def training_counts(dataset: Dataset) -> Int[Tensor, "types"]:
    """Occurrences of each type in training."""
    return torch.bincount(dataset.train.tokens, minlength=len(dataset.vocabulary))


def words_cut_out(matrix: Float[Tensor, "types d"], seed: int) -> Bool[Tensor, "types"]:
    """A fifth of the words that have a vector."""
    drawn = torch.rand(len(matrix), generator=generator(seed, "masked words")) < HELD_OUT
    return drawn & ~matrix.isnan().any(1)


class Gained(NamedTuple):
    """Scores of all types after training, what they gained by it, and the test accuracy."""

    scores: dict[str, Float[Tensor, "types"]]
    gains: dict[str, Float[Tensor, "types"]]
    accuracy: float


def gained(dataset: Dataset, matrix: Float[Tensor, "types d"] | None, learning: str, lam: float, seed: int) -> Gained:
    """DP, plainly trained from vectors or, with None, from the paper's initialisation."""
    d = {} if matrix is None else {"dimension": matrix.shape[1], "vectors": matrix}
    model = AttentionClassifier(len(dataset.vocabulary), **d, lam=lam, seed=seed)
    before = model.token_scores()._asdict()
    run = fit(model, dataset, TrainingConfig(seed=seed, **LEARNING[learning]), progress=False)
    after = model.token_scores()._asdict()
    return Gained(after, {name: after[name] - before[name] for name in after}, run.test_accuracy)


def unseen_row(mine: Gained, whole: Gained, asked: Bool[Tensor, "types"], lists: dict[str, Tensor]) -> dict[str, float]:
    """How the unseen words' gains agree with those of the model that read them, and where the lists' words stand.

    Rank correlations; AUC of unseen positive over negative words by polarity, of polar over neutral ones by attention.
    """
    row = {name: spearmanr(mine.gains[name][asked], whole.gains[name][asked]).statistic for name in mine.gains}
    there = {kind: ids[asked[ids]] for kind, ids in lists.items()}
    positive, negative, neutral = (there[kind] for kind in ("positive", "negative", "neutral"))
    for of, scores in (("unseen", mine.scores), ("read", whole.scores)):
        vote, a = scores["polarity"], scores["attention"]
        row[f"{of}: positive over negative"] = outranks(vote[positive], vote[negative])
        row[f"{of}: polar over neutral"] = outranks(a[torch.cat([positive, negative])], a[neutral])
    return row | {f"{kind} words": len(ids) for kind, ids in there.items()}


def unseen(
    dataset: str, lam: float, seed: int, kinds: tuple[str, ...] = KINDS
) -> Iterator[tuple[dict, Gained, Gained, Tensor]]:
    """Of each kind of run and of learning: its name, the run without the drawn words, that with them, who is asked."""
    data = load_dataset(dataset)
    counts, out = training_counts(data), words_cut_out(from_book("vectors", data), seed)
    whole, asked = gained(data, None, "trained", lam, seed + OTHER), out & (counts >= LEAST)
    without = replace(data, train=data.train.without(out[data.train.tokens]))
    for kind in kinds:
        given = from_book({"dealt out": "dealt out", "short": "short vectors"}.get(kind, "vectors"), data, seed)
        of = with_permuted_labels(without, seed) if kind == "permuted labels" else without
        for learning in LEARNING:
            yield {"kind": kind, "learning": learning}, gained(of, given, learning, lam, seed), whole, asked


@experiment(jobs_over(dataset=DATASETS, lam=LAMS, seed=SEEDS), rows=len(KINDS) * len(LEARNING))
def unseen_words(dataset: str, lam: float, seed: int) -> list[dict]:
    """Words cut out of the training texts: their scores by vector against those of a model that read them."""
    data = load_dataset(dataset)
    lists = token_types(data.train, data.vocabulary)
    return [
        name | unseen_row(mine, whole, asked, lists)
        | {"words": int(asked.sum()), "right": mine.accuracy, "right, all words read": whole.accuracy}
        for name, mine, whole, asked in unseen(dataset, lam, seed)
    ]  # fmt: skip


@experiment(jobs_over(dataset=DATASETS, lam=LAMS, seed=SEEDS), rows=len(LEARNING))
def unseen_words_short(dataset: str, lam: float, seed: int) -> list[dict]:
    """unseen_words from vectors as short as the paper's random ones: a setting that the question leaves open."""
    data = load_dataset(dataset)
    lists = token_types(data.train, data.vocabulary)
    return [
        name | unseen_row(mine, whole, asked, lists) | {"right": mine.accuracy}
        for name, mine, whole, asked in unseen(dataset, lam, seed, ("short",))
    ]


def path_of_unseen(folder: Path, dataset: str) -> Path:
    """Where the frames of the slider are kept."""
    return folder / f"unseen_{dataset}.json"


def shown_at(dataset: str, lam: float) -> tuple[list[dict], dict[str, float]]:
    """Of one seed, from frozen vectors: the unseen words of the lists, each with its scores, and their row."""
    data = load_dataset(dataset)
    lists = token_types(data.train, data.vocabulary)
    kind_of = {i: kind for kind, ids in lists.items() for i in ids.tolist()}
    _, mine, whole, asked = next(unseen(dataset, lam, SEEDS[0], ("vectors",)))
    ids = [i for i in asked.nonzero()[:, 0].tolist() if i in kind_of]
    words = [{"word": data.vocabulary.word(i), "kind": kind_of[i]} for i in ids]
    for (of, run), name in product((("unseen", mine), ("read", whole)), mine.scores):
        for word, value in zip(words, run.scores[name][ids].tolist()):
            word[f"{name} {of}"] = round(value, 4)
    return words, unseen_row(mine, whole, asked, lists)


@experiment(jobs=[{"dataset": "sst"}], rows=len(SHOWN_LAMS))
def unseen_frames(dataset: str, folder: Path) -> list[dict]:
    """What the slider shows, in a file beside the table: unseen polar words of one seed, at each λ."""
    shown = {lam: shown_at(dataset, lam) for lam in SHOWN_LAMS}
    frames = [{"lam": lam, "words": words} for lam, (words, _) in shown.items()]
    path = path_of_unseen(folder, dataset)
    with replaced(path) as part:
        part.write_text(json.dumps(frames, ensure_ascii=False), encoding="utf-8")
    return [{"lam": lam, "seed": SEEDS[0], "words": len(words)} | row for lam, (words, row) in shown.items()]
