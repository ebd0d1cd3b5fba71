"""From a file of the reader's own to a report: trains, explains, judges itself, writes three files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int

import uaftc_lib
from uaftc_lib.corpus import Corpus, Dataset
from uaftc_lib.explain.contributions import contributions, probabilities
from uaftc_lib.explain.flips import minimal_flip_sets
from uaftc_lib.explain.words import class_polarity, word_class_influence
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.progress import progress_bar
from uaftc_lib.report.page import write
from uaftc_lib.report.quality import LinearBaseline, quality
from uaftc_lib.report.request import check_folder
from uaftc_lib.report.settings import ENOUGH_TEST, LEAST, Settings
from uaftc_lib.report.tables import read_table, sample
from uaftc_lib.report.texts import Prepared, prepare, words_of
from uaftc_lib.training import fit

TOP = 15  # words listed for each class
EXAMPLES = 5  # of each kind
LONGEST_EXAMPLE = 150  # words


def explain_file(
    path: str | os.PathLike,
    text: str,
    label: str,
    out: str | os.PathLike,
    settings: Settings | None = None,
    encoding: str = "utf-8",
    progress: bool = True,
) -> dict:
    """Train on a file and write report.html, words.csv and report.json into the folder ``out``.

    Parameters
    ----------
    path : path
        CSV, TSV, JSON lines or Parquet.
    text, label : str
        Names of its columns.
    out : path
        A folder; it is made when all is done, so a refusal leaves nothing.
    settings : Settings, optional
    encoding : str
        Of CSV, TSV and JSON lines.

    Returns
    -------
    dict
        What report.json holds.

    Raises
    ------
    Refused
        If the file cannot be explained.
    ValueError
        If a setting is impossible.
    """
    settings = settings or Settings()
    path, out = Path(path), Path(out)
    check_folder(out)
    with progress_bar(total=6, disable=not progress, bar_format="{desc:17} step {n} of {total} {elapsed}") as bar:

        def begin(stage: str) -> None:
            bar.set_description_str(stage)
            bar.update()

        def bar_of(things: str) -> Callable:
            return partial(progress_bar, desc=things, leave=False, disable=not progress)

        begin("reading")
        table = sample(read_table(path, text, label, encoding, bar_of("lines")), seed=settings.seed)
        begin("counting words")
        prepared = prepare(table, path.name, settings.seed, bar_of("texts"))
        dataset = prepared.dataset
        config = settings.training(len(dataset.train), settings.seed)
        begin("training")
        total = settings.seeds * config.epochs
        with bar_of("epochs")(total=total) as epochs:
            models = train(dataset, settings, epochs.update)
        begin("linear baseline")
        by_seed = [probability_table(model, dataset.test) for model in models]
        linear = LinearBaseline(dataset, progress=bar_of("strengths")).probabilities(dataset.test)
        judged = quality(by_seed, linear, dataset.train.labels, dataset.test.labels.numpy())
        begin("words and classes")
        words, over = influence_table(models, prepared, settings, bar_of("parts"))
        begin("writing")
        report = {
            "file": path.name,
            "columns": {"text": text, "label": label},
            "rows": {"read": table.rows_read, "used": len(table.texts), "dropped": table.dropped},
            "notes": table.notes,
            "classes": class_counts(dataset, np.mean(by_seed, 0).argmax(1)),
            "vocabulary": {"words": dataset.vocabulary.word_count, "rare": prepared.rare_words},
            "settings": asdict(settings)
            | {"epochs": config.epochs, "batch_size": config.batch_size, "optimizer": config.optimizer},
            "quality": judged,
            "words_over": over,
            "top_words": top_words(words),
            "attended_without_effect": attended_without_effect(words),
            "examples": examples(models[0], prepared),
            "too_long_to_show": {
                "words": LONGEST_EXAMPLE,
                "texts": int((dataset.test.lengths > LONGEST_EXAMPLE).sum()),
            },
            "version": uaftc_lib.__version__,
            "words": words.to_dict("list"),
        }
        write(report, words, out)
    return report


def train(dataset: Dataset, settings: Settings, done: Callable) -> list[AttentionClassifier]:
    """One model for each seed, at its epoch of least dev loss; ``done()`` after each epoch.

    With more than two classes what all logits have in common is taken out of them (W less its mean over the classes):
    no probability changes, because only differences of logits matter, and pushes can be compared between classes.
    """

    def record(epoch: int, model: AttentionClassifier) -> dict:
        done(epoch > 0)
        return {}

    models = []
    for seed in range(settings.seed, settings.seed + settings.seeds):
        model = AttentionClassifier(
            len(dataset.vocabulary),
            settings.dimension,
            settings.lam,
            encoder=settings.encoder,
            classes=len(dataset.classes),
            seed=seed,
        )
        fit(model, dataset, settings.training(len(dataset.train), seed), record, best="loss", progress=False)
        if not model.binary:
            with torch.no_grad():
                model.W -= model.W.mean(1, keepdim=True)
        models.append(model)
    return models


@torch.no_grad()
def probability_table(model: AttentionClassifier, corpus: Corpus) -> Float[np.ndarray, "instances classes"]:
    """The model's class probabilities."""
    return probabilities(model(corpus).polarity).double().cpu().numpy()


def influence_table(
    models: list[AttentionClassifier], prepared: Prepared, settings: Settings, progress: Callable = iter
) -> tuple[pd.DataFrame, str]:
    """:func:`word_class_influence` over the test split, or over all texts where that is small."""
    dataset, over = prepared.dataset, "test"
    if len(dataset.test) < ENOUGH_TEST:
        dataset, over = Dataset(dataset.name, dataset.vocabulary, dataset.classes, prepared.whole), "all"
    split = "test" if over == "test" else "train"
    table = word_class_influence(models, dataset, split, settings.replicates, settings.seed, progress=progress)
    unknown = dataset.vocabulary.word(dataset.vocabulary.unk)
    return table[table["word"] != unknown].reset_index(drop=True), over


def class_counts(dataset: Dataset, answers: Int[np.ndarray, "instances"]) -> list[dict]:
    """How many texts of each class went into which split, and how many of those tested were answered right."""
    right = dataset.test.labels[torch.from_numpy(answers) == dataset.test.labels]
    labels = {split: corpus.labels for split, corpus in dataset.splits.items()} | {"right": right}
    return [
        {"name": name} | {part: int((of_part == k).sum()) for part, of_part in labels.items()}
        for k, name in enumerate(dataset.classes)
    ]


def top_words(words: pd.DataFrame) -> dict[str, list[dict]]:
    """For each class the words of largest influence, by the lower end of their intervals.

    The lower of the lower ends of both intervals, over texts and (with several runs) over runs, counts. It must be
    above zero, and at least LEAST of that of the leading word: of many words some exclude zero by chance.
    """
    ends = [f"influence_{kind}" for kind in ("low", "high", "seed_low", "seed_high") if f"influence_{kind}" in words]
    columns = ["word", "influence", *ends, "leave_one_out", "attention", "support"]
    sure = words[[end for end in ends if end.endswith("low")]].min(axis=1, skipna=False)
    leading = sure.groupby(words["class"]).transform("max")
    enough = (sure > 0) & (sure >= LEAST * leading)
    listed = words.assign(sure=sure)[enough].sort_values("sure", ascending=False, kind="stable")
    found = {name: rows[columns].head(TOP).to_dict("records") for name, rows in listed.groupby("class")}
    return {name: found.get(name, []) for name in words["class"].unique()}


def attended_without_effect(words: pd.DataFrame) -> list[dict]:
    """Of the hundred words that hold most attention in all, up to ten that push least for the attention they get.

    The push of a word is the range of its influences over the classes; only what is less than LEAST of the largest
    among the hundred counts as little.
    """
    by_word = words.groupby("word", sort=False)
    push = by_word["influence"].max() - by_word["influence"].min()
    found = words.drop_duplicates("word").set_index("word")[["attention", "support"]]
    found = found.assign(total=found["attention"] * found["support"], push=push).nlargest(100, "total")
    found = found[found["push"] < LEAST * found["push"].max()]
    found = found.assign(effect=found["push"] / found["attention"]).nsmallest(10, "effect")
    return found.reset_index()[["word", "attention", "push", "support"]].to_dict("records")


def examples(model: AttentionClassifier, prepared: Prepared) -> dict[str, list[dict]]:
    """Test texts that the model got right and wrong with most confidence, and those it was least sure of."""
    dataset, test = prepared.dataset, prepared.dataset.test
    probability = torch.from_numpy(probability_table(model, test))
    confidence, predicted = probability.max(1)
    right = predicted == test.labels
    short = test.lengths <= LONGEST_EXAMPLE
    chosen = {
        "right": spread(confidence.masked_fill(~(right & short), -1), predicted),
        "wrong": confidence.masked_fill(right | ~short, -1).argsort(descending=True, stable=True),
        "uncertain": confidence.masked_fill(~short, 2).argsort(stable=True),
    }
    allowed = {"right": right & short, "wrong": ~right & short, "uncertain": short}
    return {
        kind: [
            example(model, prepared, t, float(confidence[t]), dataset.classes[predicted[t]])
            for t in order.tolist()[:EXAMPLES]
            if allowed[kind][t]
        ]
        for kind, order in chosen.items()
    }


def spread(confidence: torch.Tensor, predicted: torch.Tensor) -> torch.Tensor:
    """Instances by falling confidence, the classes taking turns."""
    order = confidence.argsort(descending=True, stable=True)
    turn = torch.zeros_like(order)
    for k in predicted.unique():
        members = order[predicted[order] == k]
        turn[members] = torch.arange(len(members))
    return order[turn[order].argsort(stable=True)]


@torch.no_grad()
def example(model: AttentionClassifier, prepared: Prepared, instance: int, confidence: float, predicted: str) -> dict:
    """One text: its words with weight and contribution to the predicted class, and what would turn it."""
    dataset = prepared.dataset
    corpus = dataset.test[instance]
    votes = class_polarity(contributions(model, corpus))[:, dataset.classes.index(predicted)]
    spelt = words_of(prepared.texts["test"][instance])
    flip = minimal_flip_sets(model, corpus)[0]
    return {
        "label": dataset.classes[int(corpus.labels[0])],
        "predicted": predicted,
        "confidence": confidence,
        "words": spelt,
        "known": [token != dataset.vocabulary.unk for token in corpus.tokens.tolist()],
        "weights": model(corpus).weights.tolist(),
        "contributions": votes.tolist(),
        "turned_by": None if flip is None else [spelt[j] for j in flip.tolist()],
    }
