"""What a word is worth on texts that were not trained on, and what its scores and its weights tell of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pandas as pd
import torch
from jaxtyping import Float, Int
from scipy.stats import spearmanr
from torch import Tensor

from uaftc_book.cases import Part, Tables, exceeds
from uaftc_book.chapters.scores.null_controls import LOSSES
from uaftc_book.claims import reading
from uaftc_book.controls import with_permuted_labels
from uaftc_book.nulls import against_null, at_losses
from uaftc_book.panels import mean_weights
from uaftc_book.readings import column, lead
from uaftc_book.small_data import SEEDS
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import table2_cell
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.explain.contributions import leave_group_out
from uaftc_lib.models import AttentionClassifier, Output, sum_by_instance
from uaftc_lib.scores import Types, examined_types
from uaftc_lib.token_lists import association
from uaftc_lib.training import fit

LEAST_TEXTS = 5  # of the test set that must contain a word whose effect is measured
LEAST_COUNT = 6  # occurrences in training, as for a word of a list
PERMUTATIONS, LONGER = range(20), 20  # so many epochs more for permuted labels, which are learnt later
PROGRESS = ("is", "this", "progress")  # the short text of Section 5


class Effects(NamedTuple):
    """What deleting a word does to the texts that contain it, a mean over them; nan where there are none."""

    size: Float[Tensor, "types"]  # |s − s without the word|
    loss: Float[Tensor, "types"]  # the loss without the word, less the loss
    texts: Int[Tensor, "types"]


@torch.no_grad()
def effects(model: AttentionClassifier, corpus: Corpus) -> Effects:
    """Each word deleted from each text, all its occurrences at once: exact, in float64."""
    types = len(model.embedding)
    out = Output(*(values.double() for values in model(corpus)))
    pairs, pair_of = torch.unique(corpus.instance_of * types + corpus.tokens, return_inverse=True)
    text, word = pairs // types, pairs % types
    fall = leave_group_out(out, corpus, pair_of, text)
    y, s = corpus.signs.double()[text], out.polarity[text]
    rise = torch.nn.functional.softplus(-y * (s - fall)) - torch.nn.functional.softplus(-y * s)
    texts = torch.bincount(word, minlength=types)
    return Effects(*(sum_by_instance(values, word, types) / texts for values in (fall.abs(), rise)), texts)


@torch.no_grad()
def polar_heaviest(model: AttentionClassifier, corpus: Corpus, polar: Int[Tensor, "ids"]) -> dict[str, float]:
    """Of texts with polar words and others: how often a polar one weighs most, and the polar share of words."""
    weights, text = model(corpus).weights.double(), corpus.instance_of
    is_polar = torch.isin(corpus.tokens, polar).double()
    share = sum_by_instance(is_polar, text, len(corpus)) / corpus.lengths
    of_text = pd.Series(weights.numpy()).groupby(text.numpy())
    leads, mixed = is_polar[torch.tensor(of_text.idxmax().tolist())], (share > 0) & (share < 1)
    return {"polar leads": float(leads[mixed].mean()), "polar share": float(share[mixed].mean())}


def word_measures(model: AttentionClassifier, dataset: Dataset, types: Types) -> dict[str, float]:
    """Rank correlations over words, effects by list, who leads a text, and the scores of :data:`PROGRESS`.

    "score and effect": of the attention score with the effect on the test set ("weight": of its mean weight there;
    "loss": with the rise of the loss). "association and attention": of |γ| with the attention score ("polarity": with
    |s|). "effect positive": the mean effect of the words of a list.
    """
    a, s = (values.detach() for values in model.token_scores())
    found, count = effects(model, dataset.test), torch.bincount(dataset.train.tokens, minlength=len(a))
    weight, gamma = mean_weights(model, dataset.test)[0], association(dataset.train, dataset.vocabulary).abs()
    tested = (found.texts >= LEAST_TEXTS) & (count > 0)
    known = torch.zeros(len(a), dtype=torch.bool)
    known[: len(gamma)] = count[: len(gamma)] >= LEAST_COUNT
    row = {
        "score and effect": spearmanr(a[tested], found.size[tested]).statistic,
        "weight and effect": spearmanr(weight[tested], found.size[tested]).statistic,
        "score and loss": spearmanr(a[tested], found.loss[tested]).statistic,
        "weight and loss": spearmanr(weight[tested], found.loss[tested]).statistic,
        "words tested": int(tested.sum()),
        "association and attention": spearmanr(gamma[known], a[known]).statistic,
        "association and polarity": spearmanr(gamma[known], s.abs()[known]).statistic,
    }
    row |= {f"effect {name}": float(found.size[ids].nanmean()) for name, ids in types.items()}
    row |= polar_heaviest(model, dataset.test, torch.cat([ids for name, ids in types.items() if name != "neutral"]))
    return row | {f"attention {word}": float(a[dataset.vocabulary.id(word)]) for word in PROGRESS}


@experiment(jobs_over(labels="real", seed=SEEDS) + jobs_over(labels="permuted", seed=PERMUTATIONS))
def held_out_words(labels: str, seed: int) -> list[dict]:
    """SST, DP, λ = 10; held-out words under true and permuted labels, at the kept epoch and at equal losses."""
    data = load_dataset("sst")
    if labels == "permuted":
        data = with_permuted_labels(data, seed)
    types, cell = examined_types(data), table2_cell("sst", seed=seed)
    usual = cell.epochs
    cell = replace(cell, epochs=usual + LONGER * (labels == "permuted"))
    model, seen = cell.classifier(data, "cpu"), []

    def look(_epoch: int, now: AttentionClassifier) -> dict:
        seen.append(word_measures(now, data, types))
        return {}

    history = fit(model, data, cell.training(), record=look).history
    moments = {"kept": int(history["dev_accuracy"].iloc[: usual + 1].idxmax())}
    moments |= at_losses(history["loss"], LOSSES)
    return [
        {"lists": "training", "moment": moment, "epoch": epoch, "loss": history["loss"][epoch]} | seen[epoch]
        for moment, epoch in moments.items()
    ]


def difference_of(one: str, other: str) -> Callable[[pd.DataFrame], pd.Series]:
    """By how much a column exceeds another."""
    return lambda rows: column(rows, one) - column(rows, other)


READ = {  # claim -> case -> X − Y
    "score_is_importance": {
        "SST, the score by itself": lambda rows: column(rows, "score and effect"),
        "SST, the score beside the weight": difference_of("score and effect", "weight and effect"),
        "SST, rise of the loss, the score by itself": lambda rows: column(rows, "score and loss"),
        "SST, rise of the loss, the score beside the weight": difference_of("score and loss", "weight and loss"),
    },
    "polar_words_lead_texts": {"SST": difference_of("polar leads", "polar share")},
    "association_and_attention": {"SST": lambda rows: column(rows, "association and attention")},
    "association_and_polarity": {"SST": lambda rows: column(rows, "association and polarity")},
    "neutral_words_matter_less": {"SST": lambda rows: lead(rows, "effect")},
}


def parts_of(claim: str, tables: Tables) -> Iterator[Part]:
    """The kept epoch with real labels; the control is at equal training loss."""
    rows = tables("held_out_words")
    for case, value in READ[claim].items():
        kept = rows[(rows["labels"] == "real") & (rows["moment"] == "kept")] if len(rows) else rows
        part = exceeds(case, value(kept))
        yield replace(part, null=against_null(rows, value) if len(rows) else None)


for _claim in READ:
    reading(partial(parts_of, _claim), _claim)
