"""What remains of the dynamics, the band and the law of the gap, and which verdicts turn, when E starts far from zero.

Starts from word vectors differ from the paper's in two ways: embeddings are long, and they have a geometry that means
something. :data:`STARTS` has both, either and neither. V and W start as ever, the same in all starts of one seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from uaftc_lib import checks, dynamics
from uaftc_lib.book import contents, rules
from uaftc_lib.book.cases import OPEN, Tables
from uaftc_lib.book.chapters.attention_dynamics import sst_config
from uaftc_lib.book.chapters.exact_dynamics import growing_vector
from uaftc_lib.book.chapters.scores import human_agreement, score_row
from uaftc_lib.book.claims import CLAIMS
from uaftc_lib.book.panels import score_rows, tilt
from uaftc_lib.book.small_data import SEEDS, by_kind, ends
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.dynamics.laws import admissible_band
from uaftc_lib.dynamics.ledger import fit_with_ledger
from uaftc_lib.experiments.registry import experiment, stored
from uaftc_lib.experiments.table2 import table2_cell
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import Types, dot_product, examined_types, score_frame
from uaftc_lib.streams import generator
from uaftc_lib.training import fit
from uaftc_lib.vectors.unused_reviews import own_vectors
from uaftc_lib.vectors.word_vectors import WordVectors, read_vectors

STARTS = {
    "random": "within ±0.1, as in the paper: near zero, without meaning",
    "short vectors": "the vectors, all multiplied by the number that makes them as long as random ones",
    "long random": "random directions, each as long as the word's vector: far from zero, without meaning",
    "dealt out": "the vectors, permuted among words of like frequency: far from zero, a geometry, no meaning",
    "vectors": "the book's own vectors: far from zero, with meaning",
}
DATASETS = ("sst", "20news-1")
GROUP = 50  # words of like frequency, among which vectors are dealt out
LAMS = (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)
MIRRORS = {"as drawn": (1, 1), "−V": (-1, 1), "−W": (1, -1), "−V −W": (-1, -1)}  # the signs of V and W


def random_directions(vectors: Float[Tensor, "types d"], draws: torch.Generator) -> Float[Tensor, "types d"]:
    """For each vector another of its length, in a random direction; what is nan stays."""
    drawn = torch.randn(vectors.shape, generator=draws, dtype=vectors.dtype)
    return drawn * (vectors.norm(dim=1) / drawn.norm(dim=1)).unsqueeze(1)


def dealt_out(
    vectors: Float[Tensor, "types d"], counts: Int[Tensor, "types"], draws: torch.Generator
) -> Float[Tensor, "types d"]:
    """The vectors, permuted within groups of :data:`GROUP` words that follow one another by count; nan stays."""
    there = (~vectors.isnan().any(1)).nonzero().squeeze(1)
    by_count, dealt = there[counts[there].argsort(descending=True, stable=True)], vectors.clone()
    for ids in by_count.split(GROUP):
        dealt[ids] = vectors[ids[torch.randperm(len(ids), generator=draws)]]
    return dealt


def start_vectors(start: str, vectors: WordVectors, dataset: Dataset, seed: int) -> Float[Tensor, "types d"] | None:
    """What E starts from: the argument ``vectors`` of a model. Words without a vector start as ever in all starts.

    Raises
    ------
    ValueError
        If ``start`` is none of :data:`STARTS`.
    """
    checks.one_of("start", start, STARTS)
    if start == "random":
        return None
    scale = 0.1 if start == "short vectors" else None
    matrix, draws = vectors.aligned(dataset.vocabulary, dataset.train, scale).matrix, generator(seed, "data")
    if start == "long random":
        return random_directions(matrix, draws)
    if start == "dealt out":
        return dealt_out(matrix, torch.bincount(dataset.train.tokens, minlength=len(matrix)), draws)
    return matrix


@cache
def book_vectors() -> WordVectors:
    """The book's own vectors, read once."""
    return read_vectors(own_vectors())


class Change(NamedTuple):
    """The change of a score by its two causes, "types" or "types classes"; see :func:`changes`."""

    moved: Float[Tensor, "types ..."]
    carried: Float[Tensor, "types ..."]


@torch.no_grad()
def changes(first: AttentionClassifier, last: AttentionClassifier) -> dict[str, Change]:
    """What became of the scores of every type between two states of a DP, exactly.

    s − s₀ = (e − e₀)·W + e₀·(W − W₀): ``moved`` is what the embedding's own movement did, ``carried`` what a word
    would have got had its embedding stayed where it began. Likewise a, with V/λ.
    """
    e0, e = first.embedding.double(), last.embedding.double()
    heads = {
        "polarity": (first.W.double(), last.W.double()),
        "attention": (first.V.double() / first.lam, last.V.double() / last.lam),
    }
    return {name: Change((e - e0) @ now, e0 @ (now - before)) for name, (before, now) in heads.items()}


def carried_shares(first: AttentionClassifier, last: AttentionClassifier, types: Types) -> dict[str, float]:
    """Which share of the change of scores was carried (:func:`changes`), of polar words and of neutral ones.

    Σ sign(Δs)·carried / Σ|Δs|: together with that of what moved, one. And the mean sizes of both over polar words.
    """
    groups = {
        "polar": torch.cat([ids for name, ids in types.items() if name != "neutral"]),
        "neutral": types["neutral"],
    }
    found = {}
    for score, (moved, carried) in changes(first, last).items():
        total = moved + carried
        for name, ids in groups.items():
            share = (total[ids].sign() * carried[ids]).sum() / total[ids].abs().sum()
            found[f"{score} carried {name}"] = float(share)
        for name, part in (("moved", moved), ("carried", carried)):
            found[f"|{score} {name}|"] = float(part[groups["polar"]].abs().mean())
    return found


def far_model(dataset: Dataset, start: str, lam: float, seed: int, **options) -> AttentionClassifier:
    """A DP of the paper's size, with E from a start."""
    vectors = start_vectors(start, book_vectors(), dataset, seed)
    return AttentionClassifier(len(dataset.vocabulary), lam=lam, vectors=vectors, seed=seed, **options)


@experiment(
    jobs=[
        {"dataset": data, "start": start, "optimizer": optimizer, "lam": 10.0, "seed": seed}
        for seed, data, optimizer, start in product(SEEDS, DATASETS, ("Adagrad", "SGD"), STARTS)
    ],
    rows=1,
)
def far_terms(dataset: str, start: str, optimizer: str, lam: float, seed: int) -> list[dict]:
    """From each start of E, without dropout: π, ρ and what A to F have added, means over the words of each kind.

    In the form of "sst_terms": π and ρ are the mean of looks after every epoch. With what V and W brought alone.
    """
    data, looks = load_dataset(dataset), []
    types, model = examined_types(data), far_model(data, start, lam, seed, dtype=torch.float64)
    first = deepcopy(model)

    def look(epoch: int, model: AttentionClassifier) -> dict:
        if epoch:
            sums = dynamics.token_sums(model, data.train)
            looks.append(by_kind({"π": sums.pi, "ρ": sums.rho}, types))
        return {}

    only = replace(data, dev=None, test=None)
    run, ledgers = fit_with_ledger(model, only, sst_config(optimizer, seed), look)
    names = {name: name for name in "ABCDEF"} | {"rest of s": "polarity_remainder", "rest of a": "attention_remainder"}
    added = by_kind({name: getattr(ledgers[-1], entry) for name, entry in names.items()}, types)
    seen = pd.DataFrame(looks).mean().to_dict() | {"loss": run.history["loss"].iloc[-1]}
    return [seen | added | ends(model, types) | carried_shares(first, model, types)]


@experiment(
    jobs=[
        {"dataset": data, "start": start, "optimizer": optimizer, "lam": lam, "seed": seed}
        for seed in SEEDS
        for data, optimizer, lam in (
            ("sst", "Adagrad", 10.0),
            ("20news-1", "Adagrad", 10.0),
            ("sst", "Adagrad", 100.0),
            ("sst", "SGD", 10.0),
        )
        for start in STARTS
    ],
    rows=len(MIRRORS),
)
def far_pairs(dataset: str, start: str, optimizer: str, lam: float, seed: int) -> list[dict]:
    """From each start of E, with V₀ and W₀ as drawn and with other signs: the gap, and V₀·(the W that grows)."""
    data = load_dataset(dataset)
    types, only, rows = examined_types(data), replace(data, dev=None, test=None), []
    for mirror, signs in MIRRORS.items():
        model = far_model(data, start, lam, seed)
        with torch.no_grad():
            for parameter, sign in zip((model.V, model.W), signs):
                parameter *= sign
        V, W, growing = model.V.detach().clone(), model.W.detach(), growing_vector(model, data.train)
        told = {"V₀·W₀": float(V @ W), "V₀·growing": float(V @ growing), "‖W₀‖": float(W.norm())}
        told |= {"‖growing‖": float(growing.norm()), "gap at the start": ends(model, types)["gap"]}
        run = fit(model, only, sst_config(optimizer, seed), progress=False)
        rows.append({"mirror": mirror} | told | ends(model, types) | {"loss": run.history["loss"].iloc[-1]})
    return rows


def middle_of_band(model: AttentionClassifier, dataset: Dataset, types: Types) -> dict[str, float]:
    """The ends of the band of λ (:func:`admissible_band`): their medians over polar words."""
    polar = torch.cat([types["positive"], types["negative"]])
    found = admissible_band(model, dataset.train)._asdict()
    return {f"{name} end": float(values[polar].nanmedian()) for name, values in found.items()}


@experiment(
    jobs=[
        {"dataset": data, "start": start, "lam": lam, "penalty": penalty, "seed": seed}
        for seed, data, start in product(SEEDS, DATASETS, STARTS)
        for penalty, lams in ((0.0, LAMS), (1e-4, (10.0, 100.0) if data == "sst" else ()))
        for lam in lams
    ],
    rows=1,
)
def far_scores(dataset: str, start: str, lam: float, penalty: float, seed: int) -> list[dict]:
    """The paper's training from each start of E: scores and accuracies, gap, lead, and the band at start and end.

    In the form of "sst_scores"; of 20News I without what people say of words.
    """
    data = load_dataset(dataset)
    types, cell = examined_types(data), table2_cell(dataset, lam=lam, penalty=penalty, seed=seed)
    model = cell.classifier(data, "cpu", vectors=start_vectors(start, book_vectors(), data, seed))
    first = deepcopy(model)
    run = fit(model, data, cell.training(), progress=False)
    row = score_row(model, run, score_frame(model, data, types), types) | ends(model, types)
    row |= {f"{name} at the start": value for name, value in middle_of_band(first, data, types).items()}
    row |= middle_of_band(model, data, types) | carried_shares(first, model, types)
    return [row | (human_agreement(model, data) if dataset == "sst" else {})]


@experiment(
    jobs=[
        {"dataset": data, "model": "DP", "lam": lam, "start": start, "seed": seed}
        for seed, (data, lam), start in product(SEEDS, (("sst", 10.0), ("sst", 100.0), ("20news-1", 10.0)), STARTS)
    ],
    rows=12,
)
def far_panels(dataset: str, model: str, lam: float, start: str, seed: int) -> list[dict]:
    """The same in the form of "figure_scores": distributions of scores and weights by kind of word."""
    data, cell = load_dataset(dataset), table2_cell(dataset, model=model, lam=lam, seed=seed)
    classifier = cell.classifier(data, "cpu", vectors=start_vectors(start, book_vectors(), data, seed))
    fit(classifier, data, cell.training(), progress=False)
    return [row | {"V·W": tilt(classifier)} for row in score_rows(classifier, data, examined_types(data))]


def with_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of "far_terms" with the sizes of A to F set against each other, over polar words.

    A of B, D of E: the other score's part in a word's own movement. C of B + C, F of E + F: what W and V brought.
    """
    size = {name: (rows[f"|{name}| positive"] + rows[f"|{name}| negative"]) / 2 for name in "ABCDEF"}
    return rows.assign(
        **{
            "A / B": size["A"] / size["B"],
            "C / (B + C)": size["C"] / (size["B"] + size["C"]),
            "D / E": size["D"] / size["E"],
            "F / (E + F)": size["F"] / (size["E"] + size["F"]),
        }
    )


def by_start(rows: pd.DataFrame, columns: Iterable[str], *by: str) -> pd.DataFrame:
    """Means with intervals over seeds: a row for each start (and each value of ``by``) and each column.

    Of several runs of one seed first the mean is taken: they share their V and W.
    """
    found = []
    for values, some in rows.groupby([*by, "start"], sort=False):
        for name in columns:
            of_seeds = some.groupby("seed")[name].mean()
            told = rules.interval(of_seeds.to_numpy())._asdict()
            found.append(dict(zip([*by, "start"], values)) | {"measure": name} | told)
    return pd.DataFrame(found)


def correlation(rows: pd.DataFrame, one: str, other: str, draws: int = 2000) -> rules.Interval:
    """Of two columns over all rows, with the middle 95 % of samples of whole seeds, drawn with replacement."""
    of_seeds = [some[[one, other]].to_numpy(float) for _, some in rows.groupby("seed")]
    choices = np.random.default_rng(0).integers(len(of_seeds), size=(draws, len(of_seeds)))
    again = [np.corrcoef(np.concatenate([of_seeds[i] for i in chosen]).T)[0, 1] for chosen in choices]
    low, high = np.quantile(again, [0.025, 0.975])
    return rules.Interval(rows[one].corr(rows[other]), float(low), float(high), len(of_seeds))


def gap_law(rows: pd.DataFrame) -> pd.DataFrame:
    """How well V₀·(the W that grows) tells the gap in "far_pairs"; by data set, optimizer, λ and start.

    "told": the share of runs in which the gap has its sign, first in each seed; "change told": the same of what
    training added to the gap of the start. "along": the gap with the sign of V₀·growing, which −V₀ turns; "besides":
    the mean gap of V₀ and −V₀, which no V₀·W can tell. And correlations (:func:`correlation`).
    """
    sign = np.sign(rows["V₀·growing"])
    rows = rows.assign(change=rows["gap"] - rows["gap at the start"], along=sign * rows["gap"], besides=rows["gap"])
    rows["told"] = (sign == np.sign(rows["gap"])).astype(float)
    rows["change told"] = (sign == np.sign(rows["change"])).astype(float)
    keys = ("dataset", "optimizer", "lam")
    found = by_start(rows, ("told", "change told", "along", "besides"), *keys).to_dict("records")
    for values, some in rows.groupby([*keys, "start"], sort=False):
        where = dict(zip((*keys, "start"), values))
        for name in ("gap", "change"):
            told = correlation(some, name, "V₀·growing")._asdict()
            found.append(where | {"measure": f"{name} with V₀·growing"} | told)
    return pd.DataFrame(found)


def frames_from(start: str) -> dict[str, pd.DataFrame]:
    """The tables that claims read of SST and 20News I, as they are from one start of E."""
    terms = stored("far_terms", start=start, dataset="sst")
    scores = stored("far_scores", start=start, dataset="sst")
    return {
        "sst_scores": scores[scores["lam"].isin((10.0, 100.0))],
        "sst_terms": terms.assign(labels="real", moment="epoch"),
        "figure_scores": stored("far_panels", start=start),
    }


def turned(frames: Mapping[str, Mapping[str, pd.DataFrame]] | None = None) -> pd.DataFrame:
    """The verdict on every case of a claim that these tables decide, from each start of E.

    Parameters
    ----------
    frames : dict of dicts, optional
        For each start its tables by name; the first is what the others are compared with. Default: :data:`STARTS`,
        :func:`frames_from`.

    Returns
    -------
    DataFrame
        claim, case; the verdict from each start, under its name; "turned by", the starts from which it is another than
        from the first; what was found from each, under "found from" and its name.
    """
    contents.load()
    frames = frames or {start: frames_from(start) for start in STARTS}
    first, found = next(iter(frames)), {}
    for start, those in frames.items():
        tables = Tables(those)
        for claim in CLAIMS.values():
            for part in claim.parts(tables) if claim.kind == "claim" else ():
                if part.verdict != OPEN:
                    row = found.setdefault((claim.name, part.case), {"claim": claim.name, "case": part.case})
                    row |= {start: part.verdict, f"found from {start}": part.found}
    rows = pd.DataFrame(found.values(), columns=["claim", "case", *frames, *(f"found from {one}" for one in frames)])
    others = [one for one in frames if one != first]
    differs = [", ".join(one for one in others if row[one] != row[first]) for row in rows.to_dict("records")]
    rows.insert(2 + len(frames), "turned by", differs)
    return rows
