"""From a file of the reader's own to a report in four stages: read, train, judge, write."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from torch import Tensor

import uaftc_lib
from uaftc_lib.progress import progress_bar
from uaftc_lib.report import files
from uaftc_lib.report.copies import LOUD
from uaftc_lib.report.examples import examples
from uaftc_lib.report.folds import FOLDS, Fold, folds, numbered, parts
from uaftc_lib.report.leaks import leaks
from uaftc_lib.report.linear import LinearBaseline
from uaftc_lib.report.lists import attended_without_effect, top_words, word_table
from uaftc_lib.report.pushes import Pushes
from uaftc_lib.report.quality import quality
from uaftc_lib.report.request import Columns, Refused, check_folder
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.tables import read_table, sample
from uaftc_lib.report.texts import Prepared, prepare
from uaftc_lib.report.training import Reader, readers
from uaftc_lib.report.words import Cutter
from uaftc_lib.vectors.word_vectors import read_vectors


def explain_file(
    path: str | os.PathLike,
    text: str,
    label: str,
    out: str | os.PathLike,
    settings: Settings | None = None,
    encoding: str = "utf-8",
    group: str | None = None,
    split: str | None = None,
    time: str | None = None,
    all_words: bool = False,
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
    group, split, time : str, optional
        Columns: texts of one group are never on both sides of a split; texts marked test are the unseen ones; the
        latest fifth of the texts are the unseen ones.
    all_words : bool
        Whether words.csv holds every word of two texts or more, however many there are.
    progress : bool
        Whether bars are shown.

    Returns
    -------
    dict
        What report.json holds, and under "replaced" the files that were there before.

    Raises
    ------
    Refused
        If the file cannot be explained, or nothing can be written.
    ValueError
        If a setting is impossible.
    """
    settings = settings or Settings()
    path, out, columns = Path(path), Path(out), Columns(text, label, group, split, time)
    cutter = Cutter(settings.words, settings.ignore, settings.without.split(",") if settings.without else ())
    check_folder(out)
    with progress_bar(total=4, disable=not progress, bar_format="{desc:9} step {n} of {total} {elapsed}") as bar:

        def begin(stage: str) -> None:
            bar.set_description_str(stage)
            bar.update()

        bar_of = partial(progress_bar, leave=False, disable=not progress)
        begin("reading")
        found = read_vectors(settings.vectors, settings.dimension) if settings.vectors else None
        table = sample(read_table(path, columns, encoding, partial(bar_of, desc="lines")), seed=settings.seed)
        prepared = prepare(table, cutter, partial(bar_of, desc="texts"))
        start = found and found.aligned(prepared.vocabulary, prepared.whole)
        begin("training")
        trained = train_folds(prepared, settings, bar_of, start and start.matrix)
        begin("judging")
        words = word_table(trained.pushes, prepared.vocabulary, prepared.cluster, all_words)
        words, judged = judge_model(prepared, cutter, trained, words)
        report = {
            "version": uaftc_lib.__version__,
            "file": path.name,
            "columns": asdict(columns),
            "rows": {"read": table.rows_read, "used": len(prepared.texts), "dropped": table.dropped},
            "loud": [*table.loud, *copied(prepared), *unfinished(trained, judged["quality"]["verdict"])],
            "notes": [*table.notes, *([start.told] if start else [])],
            "cut": cutter.told,
            "tested": "split" if split else "time" if time else "folds",
            "copies": prepared.copies,
            "vocabulary": {"words": prepared.vocabulary.word_count, "rare": prepared.rare_words},
            "settings": asdict(settings) | trained.settings | {"vectors": start and start.source},
        } | judged
        begin("writing")
        replaced = files.write_report(report, words, out, all_words)
    return report | {"replaced": replaced}


@dataclass
class Trained:
    """Five models, and what they and their yardsticks say of the texts that they have not seen."""

    folds: list[Fold]
    readers: list[Reader]
    pushes: Pushes
    tested: Int[np.ndarray, "tested"]
    part: Int[np.ndarray, "tested"]
    ours: Float[np.ndarray, "tested classes"]
    linear: Float[np.ndarray, "tested classes"]
    prior: Float[np.ndarray, "tested classes"]
    coefficients: Float[np.ndarray, "types classes"]
    line: LinearBaseline
    settings: dict

    def of(self, text: int) -> Reader:
        """A model that has not seen this text."""
        return next(reader for reader, fold in zip(self.readers, self.folds) if text in fold.test)


def train_folds(
    prepared: Prepared, settings: Settings, bar: Callable, vectors: Float[Tensor, "types d"] | None = None
) -> Trained:
    """A model and a linear one for each fold; both are asked about the texts they have not seen."""
    whole, labels, types = prepared.whole, prepared.whole.labels.numpy(), len(prepared.vocabulary)
    chosen = list(folds(labels, prepared.cluster, prepared.test, settings.seed))
    check_classes(prepared, chosen)
    said = {name: np.zeros((len(whole), whole.class_count)) for name in ("ours", "linear", "prior")}
    times = np.bincount(np.concatenate([fold.test for fold in chosen]), minlength=len(whole))
    own = pd.Series(prepared.cluster * whole.class_count + labels)
    weights = 1 / own.groupby(own).transform("size").to_numpy() / times.clip(1)
    pushes, kept, line, coefficients = Pushes(whole, types, weights), [], None, 0.0
    config = settings.training(len(chosen[0].train), settings.seed)
    with (
        bar(desc="epochs", total=FOLDS * config.epochs) as epochs,
        closing(readers(whole, prepared.vocabulary, chosen, settings, epochs.update, vectors)) as made,
    ):
        for fold, reader in zip(chosen, made):
            line = LinearBaseline(*(reader.read(whole, rows) for rows in (fold.train, fold.dev)), types, line)
            coefficients = coefficients + line.coefficients() / FOLDS
            pushes.add(reader, fold, settings.seed)
            shares = np.bincount(labels[fold.train], minlength=whole.class_count) / len(fold.train)
            for name, found in (
                ("ours", reader.probability(whole, fold.test)),
                ("linear", line.probabilities(reader.read(whole, fold.test))),
                ("prior", shares),
            ):
                said[name][fold.test] += found / times[fold.test, None]
            kept.append(reader)
    tested = np.flatnonzero(times)
    if prepared.test is None:
        part = numbered((fold.test for fold in chosen), len(whole))
    else:
        part = parts(labels[tested], prepared.cluster[tested], FOLDS, settings.seed)
    trained = {"epochs": config.epochs, "batch_size": config.batch_size, "optimizer": config.optimizer, "folds": FOLDS}
    said = {name: found[tested] for name, found in said.items()}
    told = {"coefficients": coefficients, "line": line, "settings": trained}
    return Trained(chosen, kept, pushes, tested, part, **said, **told)


def check_classes(prepared: Prepared, chosen: list[Fold]) -> None:
    """Refuse what leaves a class without a text to learn from, or a test with one class alone."""
    labels = prepared.whole.labels.numpy()
    for fold in chosen:
        for rows, what in ((fold.train, "learn from"), (fold.test, "test")):
            there, least = np.unique(labels[rows]), len(prepared.classes) if what == "learn from" else 2
            if len(there) < least:
                lacking = next(name for k, name in enumerate(prepared.classes) if k not in there)
                raise Refused(
                    f"of the class {lacking!r} too few texts that belong to no common group or copy are left to {what}"
                    ": leave the class out, or do without --group, --split and --time"
                )


def judge_model(prepared: Prepared, cutter: Cutter, trained: Trained, words: pd.DataFrame) -> tuple[pd.DataFrame, dict]:
    """The words, none listed under "useless"; and what the report says of the model, of them, and of single texts."""
    labels, names = prepared.whole.labels.numpy(), prepared.classes
    independent = len(np.unique(prepared.cluster[trained.tested]))
    judged = quality(trained.ours, trained.linear, trained.prior, labels[trained.tested], trained.part, independent)
    useless, worse = (judged["verdict"] == verdict for verdict in ("useless", "worse than linear"))
    words = words.assign(listed=words["listed"] & (not useless))
    sure = words[words["influence_low"].notna()]
    return words, {
        "classes": class_counts(prepared, trained),
        "quality": judged,
        "top_words": {name: [] for name in names} | top_words(sure),
        "shares": {name: float((labels == k).mean()) for k, name in enumerate(names)},
        "linear_words": linear_words(prepared, trained) if worse else {},
        "deciding": []
        if useless
        else leaks(sure, prepared, trained.folds, trained.readers, trained.line, trained.linear, trained.tested),
        "attended_without_effect": attended_without_effect(sure),
        "examples": examples(trained.of, prepared, cutter.spans, trained.tested, trained.ours),
    }


def class_counts(prepared: Prepared, trained: Trained) -> list[dict]:
    """How many texts each class has, how many were tested, and how many of these were answered right."""
    labels, tested = prepared.whole.labels.numpy(), trained.tested
    right = trained.ours.argmax(1) == labels[tested]
    rows = []
    for k, name in enumerate(prepared.classes):
        mine = labels[tested] == k
        rows.append(
            {
                "name": name,
                "texts": int((labels == k).sum()),
                "tested": int(mine.sum()),
                "right": int(right[mine].sum()),
                "recall": float(right[mine].mean()) if mine.any() else None,
            }
        )
    return rows


def linear_words(prepared: Prepared, trained: Trained, most: int = 10) -> dict[str, list[str]]:
    """The words of largest weight for each class in the linear models."""
    order = np.argsort(-trained.coefficients[: prepared.vocabulary.word_count], axis=0, kind="stable")[:most]
    word = prepared.vocabulary.word
    return {name: [word(i) for i in column] for name, column in zip(prepared.classes, order.T.tolist())}


def copied(prepared: Prepared) -> list[str]:
    """A loud line where many texts are near-copies."""
    near = prepared.copies["near"]
    if near <= LOUD * len(prepared.texts):
        return []
    return [
        f"{near:,} of the {len(prepared.texts):,} texts are near-copies of others (names, numbers and dates apart). "
        "Copies are kept on one side of every split, and count once"
    ]


def unfinished(trained: Trained, verdict: str) -> list[str]:
    """A loud line where most models were still getting better when their training ended, unless they are sound."""
    if verdict == "sound" or sum(reader.unfinished for reader in trained.readers) <= FOLDS / 2:
        return []
    return [
        f"Most trainings were best after their last epoch, number {trained.settings['epochs']}: with more epochs "
        f"(--epochs {2 * trained.settings['epochs']}) the models may learn more"
    ]
