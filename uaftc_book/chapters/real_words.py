"""Chapter 05_real_words: scores and weights of real words, and what Section 5 says of them (every panel: atlas)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor, nn

from uaftc_book.accuracies import AT_STAKE, accuracy_difference, columns_of, cost_of_small, harmlessness
from uaftc_book.cases import SMALL, Part, Tables, alike, contrast, exceeds
from uaftc_book.claims import Cases, reading, reads
from uaftc_book.controls import (
    LOSSES,
    RUNS_OF_LABELS,
    at_loss,
    held_out_types,
    matched_types,
    shuffled,
    with_permuted_labels,
    world,
)
from uaftc_book.nulls import against_null, at_losses, control_rows, lead_of, null_of, panel_null
from uaftc_book.panels import weight_frame
from uaftc_book.readings import (
    HUNDRED,
    NOISY,
    OTHER_MODELS,
    SHORT_HUNDRED,
    SHORT_TEN,
    TEN,
    VERY_LARGE,
    both,
    cells,
    column,
    difference,
    lead,
    least,
    not_made,
    on_both_sides,
    opposed,
    rows_of,
    several,
    size,
    sst,
    wide,
)
from uaftc_book.real_scores import PAIRS_OF_KINDS, human_agreement, score_measures, score_row
from uaftc_book.small_data import SEEDS
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import table2_cell, train_real
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.experiments.sweep import decode_errors, encode_errors
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.models import AttentionClassifier, Dropout, Output
from uaftc_lib.scores import Types, auc_of, dot_product, examined_types, score_frame
from uaftc_lib.training import TrainingConfig, choose_trainer, fit

# ---
# Scores where the training labels mean nothing, on lists from other texts, and among words of equal frequency.

LONGER = 3  # times as many epochs for permuted labels, which are learnt later
FREQUENT_WORDS = 200  # words, that is more than half of the running text
# Data set, model, λ, permutations.
CONTROLLED_MODELS = [
    ("sst", "DP", 10.0, 40),
    ("sst", "DP", 100.0, 40),
    ("20news-1", "DP", 10.0, 40),
    ("sst", "AD", 10.0, 20),
]
CONTROLLED_MODELS += [("sst", "DP-A", 10.0, 20), ("imdb", "DP", 10.0, 40)]
CONTROL_JOBS = [
    {"dataset": dataset, "model": model, "lam": lam, "labels": labels, "seed": seed}
    for dataset, model, lam, permutations in CONTROLLED_MODELS
    for labels, seeds in (("real", SEEDS), ("half", SEEDS), ("permuted", range(permutations)))
    for seed in seeds
]


@experiment(jobs=CONTROL_JOBS)
def null_controls(dataset: str, model: str, lam: float, labels: str, seed: int) -> list[dict]:
    """Scores by lists under real and permuted training labels: at the kept epoch, at equal epochs and losses."""
    data, lists = world(load_dataset(dataset), labels, seed)
    cell = table2_cell(dataset, model, lam, seed)
    usual = cell.epochs
    cell = replace(cell, epochs=usual * (LONGER if labels == "permuted" else 1))
    classifier = cell.classifier(data, "cpu")
    seen: list[dict[str, dict]] = []

    def look(_epoch: int, now: AttentionClassifier) -> dict:
        seen.append({name: score_measures(now, data, types) for name, types in lists.items()})
        return {}

    history = fit(classifier, data, cell.training(), record=look).history
    kept = int(history["dev_accuracy"].iloc[: usual + 1].idxmax())
    moments = {"kept": kept, f"epoch {usual // 4}": usual // 4, f"epoch {usual}": usual}
    moments |= at_losses(history["loss"], LOSSES)
    return [
        {"lists": name, "moment": moment, "epoch": epoch}
        | {"loss": history["loss"][epoch], "dev_accuracy": history["dev_accuracy"][epoch]}
        | row
        for moment, epoch in moments.items()
        for name, row in seen[epoch].items()
    ]


@experiment(jobs_over(seed=SEEDS), rows=FREQUENT_WORDS)
def frequent_words(seed: int) -> list[dict]:
    """SST at λ = 10: both scores of each of the most frequent words, and the list on which it stands, if on one."""
    data = load_dataset("sst")
    model, _ = train_real(data, seed=seed)
    scores = model.token_scores()
    lists = {i: name for name, ids in examined_types(data).items() for i in ids.tolist()}
    return [
        {
            "word": data.vocabulary.word(i),
            "list": lists.get(i, "none"),
            "attention": float(scores.attention[i]),
            "polarity": float(scores.polarity[i]),
        }
        for i in range(FREQUENT_WORDS)
    ]


# ---
# The supplement's panels of scores, and both of 20News II, where the training labels mean nothing.


SUPPLEMENT_LOSSES = (0.5, 0.2)  # mean training losses at which runs are compared
LOWEST = f"loss {min(SUPPLEMENT_LOSSES):g}"
PERMUTATIONS = range(20)
SUPPLEMENT_MODELS = [("sst", "DP-A", 20.0), ("imdb", "DP-A", 10.0)]
SUPPLEMENT_MODELS += [("20news-1", "DP-A", lam) for lam in (1.0, 10.0, 20.0, 50.0)]
SUPPLEMENT_MODELS += [("imdb", "AD", 10.0), ("20news-2", "DP", 10.0), ("20news-2", "DP-A", 10.0), ("sst", "DP-L", 10.0)]
SUPPLEMENT_JOBS = [
    {"dataset": dataset, "model": model, "lam": lam, "labels": labels, "seed": seed}
    for dataset, model, lam in SUPPLEMENT_MODELS
    for labels, seeds in (("real", SEEDS), ("permuted", PERMUTATIONS))
    for seed in seeds
]


def vote_for_own_class(words: pd.DataFrame, name: str, classes: Sequence[str]) -> float:
    """How far the words of a list vote for its class: their mean score for it, less the largest one for another."""
    if name == "neutral":
        return float("nan")
    if "polarity" in words:
        return words["polarity"].mean() * (-1 if name == "negative" else 1)
    votes = words[[f"polarity {each}" for each in classes]].mean().set_axis(list(classes))
    return votes[name] - votes.drop(name).max()


def rows_by_kind(model: AttentionClassifier, dataset: Dataset, types: Types) -> list[dict]:
    """A row for each kind of words: how many, their mean scores, and how well scores tell them from neutral ones.

    With a recurrent encoder also their local scores, over the training occurrences.
    """
    rows: Mapping[str, dict] = {name: {"type": name, "words": len(ids)} for name, ids in types.items()}
    for prefix, corpus in (("", None), ("local ", dataset.train))[: 1 + (model.recurrent is not None)]:
        frame = score_frame(model, dataset, types, corpus)
        for name, row in rows.items():
            mine = frame[frame["type"] == name]
            row[f"{prefix}attention"] = mine["attention"].mean()
            row[f"{prefix}attention over neutral"] = auc_of(frame, "attention", name, "neutral")
            row[f"{prefix}own polarity"] = vote_for_own_class(mine, name, dataset.classes)
            vote = "polarity" if "polarity" in frame else f"polarity {name}"
            if vote in frame:
                beside = (name, "neutral") if name != "negative" else ("neutral", name)
                row[f"{prefix}own polarity over neutral"] = auc_of(frame, vote, *beside)
    return list(rows.values())


class Enough(Exception):
    """A longer run has reached what it was for."""


class Watch:
    """Trains as usual, and keeps scores by kinds of words for several moments, each at the first chance."""

    def __init__(self, dataset: Dataset, lists: Mapping[str, Types], last: int):
        self.dataset, self.lists, self.last, self.rows = dataset, lists, last, {}

    def __call__(self, model: AttentionClassifier, corpus: Corpus, config: TrainingConfig) -> Watch:
        """As ``trainer`` of ``fit``: what follows is another run."""
        self.trainer, self.losses = choose_trainer(model, config)(model, corpus, config), [math.nan]
        return self

    def epoch(self, batches: Sequence[Tensor]) -> float:
        self.losses.append(self.trainer.epoch(batches))
        return self.losses[-1]

    def look(self, epoch: int, model: AttentionClassifier) -> dict:
        """As ``record`` of ``fit``: the last epoch, and the first one whose loss lies below each level."""
        for moment, reached in [(f"loss {level:g}", self.losses[-1] <= level) for level in SUPPLEMENT_LOSSES]:
            if reached:
                self.keep(moment, epoch, model)
        if epoch == self.last:
            self.keep("last", epoch, model)
        if "kept" in self.rows and LOWEST in self.rows:  # only in the longer run
            raise Enough
        return {}

    def keep(self, moment: str, epoch: int, model: AttentionClassifier) -> None:
        """Measure, unless this moment is over."""
        if moment not in self.rows:
            about = {"moment": moment, "epoch": epoch, "loss": self.losses[epoch]}
            found = ((name, rows_by_kind(model, self.dataset, types)) for name, types in self.lists.items())
            self.rows[moment] = [{"lists": name} | about | row for name, rows in found for row in rows]


@experiment(jobs=SUPPLEMENT_JOBS)
def panel_controls(dataset: str, model: str, lam: float, labels: str, seed: int) -> list[dict]:
    """Scores by kinds of words under real and permuted training labels: at the kept and last epoch, at equal losses.

    Permuted labels that the usual epochs do not teach to the lowest of the losses are trained longer, for the losses.
    """
    data = load_dataset(dataset)
    if labels == "permuted":
        data = with_permuted_labels(data, seed)
    lists = {"training": examined_types(data)}
    lists["matched"] = matched_types(lists["training"], data.train, len(data.vocabulary))
    if labels == "real":
        lists["held out"] = held_out_types(data)
    cell = table2_cell(dataset, model, lam, seed)
    watch = Watch(data, lists, cell.epochs)
    classifier = cell.classifier(data, "cpu")
    run = fit(classifier, data, cell.training(), record=watch.look, trainer=watch)
    watch.keep("kept", run.best_epoch, classifier)
    if labels == "permuted" and LOWEST not in watch.rows:
        cell = replace(cell, epochs=LONGER * watch.last)
        with suppress(Enough):
            fit(cell.classifier(data, "cpu"), data, cell.training(), record=watch.look, trainer=watch)
    return [row for rows in watch.rows.values() for row in rows]


# ---
# Does the penalty on V·W cost or gain accuracy on SST? Test text by test text, against the runs of Table 2.


@experiment(jobs_over(lam=(10.0, 100.0), seed=SEEDS), rows=1)
def sst_penalty(lam: float, seed: int) -> list[dict]:
    """SST with a penalty on V·W, as in "sst_scores": which test texts are classified wrongly."""
    dataset = load_dataset("sst")
    model, run = train_real(dataset, lam=lam, penalty=1e-4, seed=seed)
    wrong = (model.predict(dataset.test) != dataset.test.labels).cpu().numpy()
    return [{"test_accuracy": run.test_accuracy, "test_errors": encode_errors(wrong)}]


@reading
def penalty_and_accuracy(tables: Tables) -> Iterator[Part]:
    ((_, found),) = columns_of(tables, "DP", ["sst"])
    for lam in (10.0, 100.0):
        runs = tables("sst_penalty", lam=lam)
        if found is None or len(runs) != found.seeds:
            yield not_made(f"SST, λ = {lam:g}")
            continue
        held = ~np.array([decode_errors(errors, found.instances) for errors in runs.test_errors])
        gained = held - found.right[lam].astype(float)
        yield contrast(f"SST, λ = {lam:g}", SMALL * cost_of_small(found, AT_STAKE) - gained)


# ---
# Why V·W ends below zero on SST: the same training on data from which one cause after another was taken.


EPOCHS = 10  # about the kept one, and the same for all


class Biased(AttentionClassifier):
    """DP with a bias: its polarity may lean to a class without any word's help. Trained by autograd."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, corpus: Corpus, dropout: Dropout | None = None, sparse: bool = False) -> Output:
        out = super().forward(corpus, dropout, sparse)
        return out._replace(polarity=out.polarity + self.bias)


def equal_classes(dataset: Dataset, seed: int) -> Dataset:
    """As many training texts of each class: of the larger ones, a share drawn at random."""
    order, labels = shuffled(len(dataset.train), seed), dataset.train.labels
    least = int(labels.bincount().min())
    kept = [order[labels[order] == k][:least] for k in range(dataset.train.class_count)]
    return replace(dataset, train=dataset.train[torch.cat(kept).sort().values])


def without_types(dataset: Dataset, types: Int[Tensor, "ids"]) -> Dataset:
    """The data set without some words in any split; texts that have no other words are left out."""

    left = {name: corpus.without(torch.isin(corpus.tokens, types)) for name, corpus in dataset.splits.items()}
    return replace(dataset, **left)


def with_types_dealt_out(dataset: Dataset, types: Int[Tensor, "ids"], seed: int, by_class: bool = False) -> Dataset:
    """The training texts with some words dealt out anew among the places where one of them stands: as many of each.

    ``by_class``: as many of each in the texts of each class.
    """
    train, tokens = dataset.train, dataset.train.tokens.clone()
    among = torch.isin(tokens, types)
    classes = train.labels[train.instance_of] if by_class else torch.zeros_like(tokens)
    for places in ((among & (classes == k)).nonzero().squeeze(1) for k in classes.unique()):
        tokens[places] = tokens[places[shuffled(len(places), seed)]]
    return replace(dataset, train=replace(train, tokens=tokens))


def without(*ranks: int) -> Callable[[Dataset, int], Dataset]:
    """The data set without the words of these frequency ranks (from, to; counted from 0)."""
    return lambda dataset, _seed: without_types(dataset, torch.arange(*ranks))


def dealt_out(*ranks: int, by_class: bool = False) -> Callable[[Dataset, int], Dataset]:
    """The words of these frequency ranks stay as frequent, but which stands at which of their places is drawn anew."""
    return lambda dataset, seed: with_types_dealt_out(dataset, torch.arange(*ranks), seed, by_class)


MOST_FREQUENT, ALL_WORDS = 50, 100_000  # how many words are called frequent; more than SST has
WORLDS: dict[str, tuple[Callable[[Dataset, int], Dataset], ...]] = {
    "as it is": (),
    "equal classes": (equal_classes,),
    "without the 10 most frequent words": (without(10),),
    "without the 50 most frequent words": (without(50),),
    "without words 51 to 500": (without(50, 500),),
    "equal classes, without the 50": (equal_classes, without(50)),
    "permuted labels": (with_permuted_labels,),
    "permuted labels, equal classes": (with_permuted_labels, equal_classes),
    "permuted labels, without the 50": (with_permuted_labels, without(50)),
    "equal classes, without the 10": (equal_classes, without(10)),
    "permuted labels, equal classes, without the 50": (with_permuted_labels, equal_classes, without(50)),
    "equal classes, the 50 dealt out": (equal_classes, dealt_out(MOST_FREQUENT)),
    "equal classes, all others dealt out": (equal_classes, dealt_out(MOST_FREQUENT, ALL_WORDS)),
    "equal classes, the 50 dealt out within classes": (equal_classes, dealt_out(MOST_FREQUENT, by_class=True)),
}
BIASED = ("as it is", "equal classes", "permuted labels")
MANY = range(40)  # seeds where classes are equal, each with a deal of its own where something is dealt out
TILT_JOBS = jobs_over(world=WORLDS, bias=False, seed=SEEDS) + jobs_over(world=BIASED, bias=True, seed=SEEDS)
TILT_JOBS += jobs_over(world=[one for one in WORLDS if "equal classes" in one], bias=False, seed=MANY[len(SEEDS) :])


@experiment(jobs=TILT_JOBS, rows=1)
def sst_tilt(world: str, bias: bool, seed: int) -> list[dict]:
    """SST at λ = 10 without one cause after another: V·W after the first epoch and after ten, from W₀ and from −W₀."""
    dataset = load_dataset("sst")
    for change in WORLDS[world]:
        dataset = change(dataset, seed)
    cell = replace(table2_cell("sst", lam=10.0, seed=seed), epochs=EPOCHS)
    row: dict[str, float] = {}
    for mirror, side in (("", 1), (" from −W₀", -1)):
        model = cell.classifier(dataset, "cpu")
        if bias:
            model = Biased(len(dataset.vocabulary), lam=cell.lam, seed=seed)
        with torch.no_grad():
            model.W *= side

        def look(epoch: int, now: AttentionClassifier, mirror: str = mirror) -> dict:
            if epoch in (0, 1, EPOCHS):
                row[f"V·W {epoch}{mirror}"] = dot_product(now)
            return {}

        run = fit(model, dataset, cell.training(), record=look)
        row.update({f"dev_accuracy{mirror}": run.dev_accuracy, f"test_accuracy{mirror}": run.test_accuracy})
    return [row]


def sst_scores_run(**settings) -> tuple[dict, pd.DataFrame]:
    """DP on SST, trained by :func:`train_real`: what is stored of it, and the scores of the examined tokens."""
    dataset = load_dataset("sst")
    types = examined_types(dataset)
    model, run = train_real(dataset, **settings)
    scores = score_frame(model, dataset, types)
    return score_row(model, run, scores, types) | human_agreement(model, dataset), scores


SST_RUNS = jobs_over(lam=(10.0, 100.0), penalty=(0.0, 1e-4), seed=SEEDS)


@experiment(jobs=SST_RUNS, rows=1)
def sst_scores(lam: float, penalty: float, seed: int) -> list[dict]:
    """SST: means and AUC of the examined tokens' scores, agreement with human ratings, accuracies."""
    return [sst_scores_run(lam=lam, penalty=penalty, seed=seed)[0]]


@experiment(jobs=SST_RUNS, rows=1)
def sst_mirrored(lam: float, penalty: float, seed: int) -> list[dict]:
    """The scores of SST from −W₀ instead of W₀; and the largest size of an attention score."""
    row, scores = sst_scores_run(lam=lam, penalty=penalty, seed=seed, mirrored=True)
    return [row | {"largest attention": scores["attention"].abs().max()}]


def ten_and_hundred(tables: Tables, name: str) -> tuple[pd.Series, pd.Series]:
    """The mean size of polar words' scores on SST at λ = 10 and at λ = 100."""
    return tuple(size(tables("sst_scores", lam=lam, penalty=0), name) for lam in (10, 100))


DATA_I_AND_II = (("Data I", 0.0), ("Data II", 0.1))
PENALISED = several(
    sst(100, 1e-4),
    *(
        rows_of(f"{name}, λ = 100", "interventions_whole", noise=noise, intervention="penalty")
        for name, noise in DATA_I_AND_II
    ),
)


reads("opposite_signs", several(cells(HUNDRED, SHORT_HUNDRED), VERY_LARGE, sst(100)), on_both_sides, null=True)
reads(
    "figure_3b",
    sst(100),
    lambda rows: least(-difference(rows), column(rows, "attention neutral") - column(rows, "attention positive")),
    null=True,
)


@reading
def attention_shrinks(tables: Tables) -> Iterator[Part]:
    ten, hundred = ten_and_hundred(tables, "attention")
    yield exceeds("SST, polar words", SMALL - hundred / ten)
    ten, hundred = (column(tables("sst_scores", lam=lam, penalty=0), "attention neutral").abs() for lam in (10, 100))
    yield exceeds("SST, neutral words", SMALL - hundred / ten)


@reading
def polarity_grows(tables: Tables) -> Iterator[Part]:
    ten, hundred = ten_and_hundred(tables, "polarity")
    yield exceeds("SST, kept epochs", hundred - ten)
    for moment in ("epoch 10", "epoch 40", "loss 0.2"):  # λ = 100 keeps a later epoch, and scores grow
        same = {"dataset": "sst", "model": "DP", "labels": "real", "lists": "training", "moment": moment}
        ten, hundred = (size(tables("null_controls", lam=lam, **same), "polarity") for lam in (10, 100))
        yield exceeds(f"SST, {moment}", hundred - ten)
    ten, hundred = (size(tables("terms", noise=0.0, lam=lam), "polarity") for lam in (10.0, 100.0))
    yield exceeds("Data I", hundred - ten)


@reading
def large_lam_still_works(tables: Tables) -> Iterator[Part]:
    ((_, found),) = columns_of(tables, "DP", ["sst"])
    if found is None:
        yield not_made("SST")
        return
    lost = accuracy_difference(found, 10.0, 100.0)
    yield contrast("SST", cost_of_small(found, AT_STAKE) / 2 - lost)
    yield contrast("SST, less than a fifth", harmlessness(lost, found))


reads("penalty_at_large_lam", PENALISED, lambda rows: least(both(rows), lead(rows)))


def polar_lead(rows: pd.DataFrame) -> pd.Series:
    """Mean attention of the two lists of polar words, less that of neutral ones."""
    return (column(rows, "attention positive") + column(rows, "attention negative")) / 2 - column(
        rows, "attention neutral"
    )


def as_alike(values: pd.Series) -> pd.Series:
    """:func:`uaftc_book.cases.alike` in units of the mean: models have scores of very different size."""
    return alike(values) / abs(values.mean())


LEADS = {"polar minus neutral words": polar_lead, "positive minus negative words": difference}
MODELS_OF_SEEDS = {
    f"{PAPER_NAMES[key]}, {model}" + (f", λ = {lam:g}" if lam != 10 else ""): (key, model, lam)
    for key, model, lam in OTHER_MODELS
}
MODELS_OF_SEEDS = {"SST, λ = 10": ("sst", "DP", 10.0)} | MODELS_OF_SEEDS


@reading
def patterns_are_similar(tables: Tables) -> Iterator[Part]:
    for name, where in MODELS_OF_SEEDS.items():
        rows = tables("sst_scores", lam=10.0, penalty=0) if where[1] == "DP" else wide(tables, *where)
        controls = control_rows(tables, where)
        for what, value in LEADS.items():
            part = exceeds(f"{name}: {what}", as_alike(value(rows)))
            null = against_null(controls, lambda some, value=value: as_alike(value(some))) if len(controls) else None
            yield replace(part, null=null)


def first_three(scores: str) -> Cases:
    """The data sets of Fig 2 at λ = 10."""
    others = {"IMDB": "imdb", "20News I": "20news-1"}
    return several(
        sst(10, case="SST"), lambda tables: [(name, wide(tables, key, scores=scores)) for name, key in others.items()]
    )


reads("figure_2_polarity", first_three("polarity"), lambda rows: opposed(rows, "polarity"), null=True)


@reading
def figure_2_neutral(tables: Tables) -> Iterator[Part]:
    for key in ("sst", "imdb", "20news-1"):
        values = ("p25", "mean", "p75")
        of = {value: wide(tables, key, scores="polarity", value=value) for value in values}
        neutral = {value: column(rows, "polarity neutral").abs() for value, rows in of.items()}
        polar = size(of["mean"], "polarity") if len(of["mean"]) else 1
        yield exceeds(PAPER_NAMES[key], SMALL - (neutral["p25"] + neutral["p75"]) / 2 / polar)
        yield exceeds(f"{PAPER_NAMES[key]}, mean of all", SMALL - neutral["mean"] / polar)


reads("figure_2_attention", first_three("attention"), lead, null=True)


reads("polar_attention_is_positive", several(cells(TEN, SHORT_TEN, NOISY), first_three("attention")), both, null=True)


@reading
def figure_3c(tables: Tables) -> Iterator[Part]:
    rows = wide(tables, "20news-2")
    classes = [column(rows, f"attention {name}") for name in ("rec.motorcycles", "sci.med", "talk.politics.guns")]
    null = panel_null(tables, ("20news-2", "DP", 10.0), "attention", lead_of)
    yield replace(exceeds("20News II", least(*classes) - column(rows, "attention neutral")), null=null)


@reading
def figure_4(tables: Tables) -> Iterator[Part]:
    for what, value in (("attention", lead), ("polarity", lambda rows: opposed(rows, "polarity"))):
        part = exceeds(f"SST, {what}", value(wide(tables, "sst", "AD", scores=what)))
        yield replace(part, null=null_of("SST, AD", tables, value))


def common_range(*panels: pd.Series, room: float = 0.05) -> tuple[float, float]:
    """The y-axis that neighbouring panels share: from their least to their greatest value, and some room."""
    low, high = min(panel.min() for panel in panels), max(panel.max() for panel in panels)
    return low - room * (high - low), high + room * (high - low)


# ---
# The weights of SST, and what Section 5 says of them.


QUANTITIES = {  # of a word, and the column of weight_frame
    "equal share (length alone)": "expected",
    "weight": "weight",
    "weight / equal share": "times equal share",
    "attention score": "score",
}


@experiment(jobs_over(lam=10.0, seed=SEEDS), rows=3)
def sst_weights(lam: float, seed: int) -> list[dict]:
    """SST: quartiles of the mean attention weight of each type on the test set, a row a type (Fig 5)."""
    dataset = load_dataset("sst")
    model, _ = train_real(dataset, lam=lam, seed=seed)
    frame = weight_frame(model, dataset, examined_types(dataset))
    quartiles = {"least": 0.0, "q1": 0.25, "median": 0.5, "q3": 0.75, "greatest": 1.0}
    return [
        {"type": name, "words": len(rows), **{key: rows["weight"].quantile(q) for key, q in quartiles.items()}}
        for name, rows in frame.groupby("type")
    ]


def quantities_told_apart(
    model: AttentionClassifier, dataset: Dataset, types: Types, split: str = "test"
) -> dict[str, dict[str, float]]:
    """How well each of :data:`QUANTITIES` tells two lists apart, among words that occur in a split."""
    words = weight_frame(model, dataset, types, split)
    ids = [dataset.vocabulary.id(word) for word in words["word"]]
    words["score"] = model.token_scores().attention[ids].double().numpy()
    words["times equal share"] = words["weight"] / words["expected"]
    return {
        name: {f"{high} over {low}": auc_of(words, column, high, low) for high, low in PAIRS_OF_KINDS}
        for name, column in QUANTITIES.items()
    }


@experiment(jobs=[{"labels": labels, "seed": s} for labels, n in RUNS_OF_LABELS.items() for s in range(n)])
def lists_by_weight(labels: str, seed: int) -> list[dict]:
    """SST at λ = 10, real, half and permuted labels, at equal loss: what tells lists apart, those of other texts too.

    Those of permuted labels are the lists of dev and test, whose labels stay as they are.
    """
    whole = load_dataset("sst")
    data, lists = world(whole, labels, seed)
    lists = {"training": lists["training"], "held out": lists.get("held out") or held_out_types(whole)}
    epoch, loss, seen = at_loss(
        data, labels, seed, lambda now: {n: quantities_told_apart(now, data, of) for n, of in lists.items()}
    )
    return [
        {"lists": name, "told by": quantity, "epoch": epoch, "loss": loss} | row
        for name, by in seen.items()
        for quantity, row in by.items()
    ]


def medians(tables: Tables) -> pd.DataFrame:
    """Median mean weight of each kind by seed: "weight positive", ..."""
    rows = tables("sst_weights", lam=10)
    return (
        rows.pivot(index="seed", columns="type", values="median").add_prefix("weight ").reset_index()
        if len(rows)
        else rows
    )


reads("figure_5_polar", lambda tables: [("SST", medians(tables))], lambda rows: lead(rows, "weight"), null=True)


@reading
def figure_5_order(tables: Tables) -> Iterator[Part]:
    for case, name, rows in (
        ("SST, median weight", "weight", medians(tables)),
        ("SST, attention score", "attention", tables("sst_scores", lam=10, penalty=0)),
    ):
        part = exceeds(case, -difference(rows, name))
        yield replace(part, null=null_of("SST", tables, lambda rows, name=name: -difference(rows, name)))


reads(
    "figure_5_outliers",
    rows_of("SST", "sst_weights", lam=10, type="neutral"),
    lambda rows: column(rows, "greatest") - 2.5 * column(rows, "q3") + 1.5 * column(rows, "q1"),
)


PROGRESS = rows_of("SST", "held_out_words", labels="real", moment="kept")
reads("progress_is_negative", PROGRESS, lambda rows: -pd.concat(scores_of_progress(rows), axis=1).max(axis=1))
reads(
    "progress_leads",
    PROGRESS,
    lambda rows: scores_of_progress(rows)[-1] - pd.concat(scores_of_progress(rows)[:-1], axis=1).max(axis=1),
)


def scores_of_progress(rows: pd.DataFrame) -> list[pd.Series]:
    """The attention scores of the text "is this progress", by seed."""
    return [column(rows, f"attention {word}") for word in ("is", "this", "progress")]
