"""``uaftc explain``: from a file of the reader's own to a report.

source      the bytes of a file, and their encoding
request     what is refused before anything is read
settings    how the models are trained, and how texts are cut: ``words``
read        the rows of a file: a Table; its ``cells`` in one normal form
prepare     copies, words, vocabulary: Prepared
train       five models, each asked about texts it has not seen: Trained
judge       how good they are, and which words are listed: Judged; ``leaks`` and what ``beyond`` words answers
predict     what is answered about every row, and which labels are suspect: Predicted
compare     if asked for: which words drive a class in one group of the texts more than in another
write       words.csv, predictions.csv, report.json, report.html with its ``sentences``, and the lines of the terminal
ask         the models kept in a folder, and what they answer about new texts: Saved
estimator   one such model as an estimator of scikit-learn
own_model   the same for a classifier of the reader's own: explain_model

Each step takes the frozen values of the steps before it, and returns one of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from uaftc_lib.progress import progress_bar
from uaftc_lib.report.request import SAVED, Columns, Refused, check_folder
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.source import name_of

if TYPE_CHECKING:
    from tqdm import tqdm

    from uaftc_lib.report.prepare import Prepared
    from uaftc_lib.report.read import Table
    from uaftc_lib.report.train import Trained
    from uaftc_lib.report.words import Cutter
    from uaftc_lib.vectors.word_vectors import WordVectors


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
    compare: str | None = None,
    all_words: bool = False,
    no_texts: bool = False,
    save: str | os.PathLike | None = None,
    progress: bool = True,
) -> dict:
    """Train on a file and write report.html, words.csv, predictions.csv and report.json into the folder ``out``.

    Parameters
    ----------
    path : path
        CSV, TSV, JSON lines, JSON, Parquet or Excel (.xlsx), also packed (.gz, .bz2, .xz); "-" is standard input.
    text, label : str
        Names of its columns.
    out : path
        A folder; it is made when all is done, so a refusal leaves nothing.
    settings : Settings, optional
    encoding : str
        Of CSV, TSV and JSON.
    group, split, time, compare : str, optional
        Columns: texts of one group are never on both sides of a split; texts marked test are the unseen ones; the
        latest fifth of the texts are the unseen ones; the words of groups or periods are compared.
    all_words : bool
        Whether words.csv holds every word of two texts or more, however many there are.
    no_texts : bool
        Whether no text of the file stands in the report.
    save : path, optional
        A folder for the models, which :func:`uaftc_lib.report.ask.load_saved` reads.
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
    # here, as the command checks its options before anything large is imported
    from uaftc_lib.report.read import read_table, sample
    from uaftc_lib.report.train import train
    from uaftc_lib.vectors.word_vectors import read_vectors

    settings = settings or Settings()
    path, out = Path(path), Path(out)
    columns = Columns(text, label, group, split, time, compare, settings.label_sep, settings.against_rest)
    cutter = settings.cutter()
    check_folder(out)
    if save is not None:
        check_folder(Path(save), "--save", SAVED)
    with progress_bar(total=4, disable=not progress, bar_format="{desc:9} step {n} of {total} {elapsed}") as steps:
        bar = partial(progress_bar, leave=False, disable=not progress)
        begin(steps, "reading")
        vectors = read_vectors(settings.vectors, settings.dimension) if settings.vectors else None
        table = sample(read_table(path, columns, encoding, partial(bar, desc="lines")), seed=settings.seed)
        how = {"all_words": all_words, "no_texts": no_texts, "save": save, "vectors": vectors}
        return explain_table(table, name_of(path), columns, out, settings, cutter, train, steps, bar, **how)


def begin(steps: tqdm, stage: str) -> None:
    """Name the next stage in the bar."""
    steps.set_description_str(stage)
    steps.update()


def explain_table(
    table: Table,
    name: str,
    columns: Columns,
    out: str | os.PathLike,
    settings: Settings,
    cutter: Cutter,
    train: Callable[[Prepared, Settings, Callable], Trained],
    steps: tqdm,
    bar: Callable,
    *,
    all_words: bool = False,
    no_texts: bool = False,
    save: str | os.PathLike | None = None,
    vectors: WordVectors | None = None,
    model: dict | None = None,
) -> dict:
    """The stages after reading; see :func:`explain_file`.

    ``train``: as :func:`uaftc_lib.report.train.train`; ``model``: what the report says of a model of the reader's own.
    """
    from uaftc_lib import files
    from uaftc_lib.report import ask
    from uaftc_lib.report.compare import compare, groups_of
    from uaftc_lib.report.judge import judge
    from uaftc_lib.report.predict import predict, prediction_table
    from uaftc_lib.report.prepare import prepare
    from uaftc_lib.report.sentences import sentences
    from uaftc_lib.report.write import NO_ROWS, Rows, contents, write_report

    prepared = prepare(table, cutter, partial(bar, desc="texts"), vectors)
    groups = groups_of(prepared, columns.compare, settings.seed) if columns.compare and not prepared.short else None
    begin(steps, "training")
    trained = None if prepared.short else train(prepared, settings, bar)
    begin(steps, "judging")
    judged = judge(prepared, trained, all_words)
    verdict = judged.findings["quality"]["verdict"] if trained else ""
    predicted = predict(prepared, trained, verdict) if trained else None
    compared = None
    if groups and verdict != "nothing":
        compared = {"column": columns.compare} | compare(prepared, trained, groups, settings.seed)
    begin(steps, "writing")
    vain = ["No word is compared: the model does not tell the classes apart"] if groups and not compared else []
    notes = [*groups.notes, *vain] if groups else []
    report = contents(name, columns, prepared, trained, judged, predicted, model)
    report |= {"compared": compared, "notes": [*report["notes"], *notes]}
    of_rows = NO_ROWS
    if trained:
        kept = None if model else ask.saved(trained, prepared, predicted.temperature, settings, columns.text, verdict)
        rows = prediction_table(prepared, predicted)
        shown = None if no_texts else partial(sentences, prepared, trained, predicted)
        of_rows = Rows(rows.assign(words="") if no_texts else rows, shown, *(ask.box(kept) if kept else (None, "")))
    replaced = write_report(report, judged.words, Path(out), all_words, of_rows)
    if save is not None:
        if not trained:
            raise Refused(
                f"--save: the words of such short texts are counted, no model is trained; {out} has the report"
            )
        files.write_together({Path(save) / name: content for name, content in ask.contents(kept).items()})
    return report | {"replaced": replaced}
