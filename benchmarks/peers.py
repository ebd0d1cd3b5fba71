"""Lists of words beside those of others, on the same files: python benchmarks/peers.py

Each method with its usual settings says which words speak for which class. What it lists is held against the truth of
made-up files (made_files.py) and against people's ratings of words (SST). A method that knows no threshold lists its
20 first words of each class. A row for each file, seed and method goes into peers.csv in the results folder; rows
that are there stay.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import made_files
import numpy as np
import pandas as pd
from measure import load, processor_seconds
from rankings import METHODS, File

from uaftc_book.real_scores import word_ratings
from uaftc_lib import load_dataset, results_folder
from uaftc_lib.experiments.store import StoredTable, fill
from uaftc_lib.locations import data_home

COMPARED = 50  # words of a class by which two halves are compared where no truth says how many
RATED_IN = 10  # texts that hold a word whose rating counts

MADE = {
    "two classes": made_files.known_causes,
    "three classes": partial(made_files.known_causes, classes=3),
    "random labels": made_files.random_labels,
    "form letters": made_files.form_letters,
    "95 : 5": made_files.imbalanced,
    "eight alike classes": made_files.alike_classes,
    "one class twice as long": partial(made_files.label_first, times=(1, 2)),
    "twice as long, in bursts": partial(made_files.label_first, times=(2, 1), again=0.3),
    "mixed causes, 95 : 5": partial(made_files.mixed_causes, rare=5.0),
    "mixed causes, 20,000 texts": partial(made_files.mixed_causes, rows=20_000),
    "mixed causes, twenty classes": partial(made_files.mixed_causes, classes=20, own=4),
}
HALVED = ("two classes", "sst")
SEEDS = {"eight alike classes": 5, "sst": 3} | dict.fromkeys((name for name in MADE if name.startswith("mixed")), 5)
LIME_SEEDS = 3
MEASURES = {  # what the columns hold
    "listed": "words listed, counted under each class",
    "precision": "share of these that raise the class",
    "recall": "share listed of the words that raise a class",
    "precision_at_truth": "share of true ones among as many first words of each class as are true",
    "confounds": "share listed of the words that only stand beside a cause",
    "nulls": "share listed of words without effect that are as frequent as causes",
    "wrong_side": "share of the listed words that have an effect, but not this one",
    "overlap": "share that two halves of the file have in common of the first words of each class",
    "ratings": "rank correlation with people's ratings of words",
    "rated": "words that were rated, over which it is taken",
    "accuracy": "share of unseen texts that are answered right",
    "balanced_accuracy": "the same, every class counting alike",
    "best_accuracy": "what who knows the truth would reach",
    "verdict": "what the report says of itself",
    "seconds": "of one list, answers included where there are any",
    "processor_seconds": "the same, of the processor",
}


@cache
def file_named(name: str, seed: int) -> File:
    """A made-up file by its seed, or SST: all its sentences."""
    if name in MADE:
        return File(*MADE[name](seed))
    data = load_dataset("sst")
    rows = [
        (" ".join(data.text(split, t)), data.classes[int(corpus.labels[t])])
        for split, corpus in data.splits.items()
        for t in range(len(corpus))
    ]
    return File(pd.DataFrame(rows, columns=["text", "label"]), {})


def first(found: pd.DataFrame, counts: dict[str, int]) -> set[tuple[str, str]]:
    """So many words of each class in the method's own order."""
    ordered = found.sort_values("order", ascending=False, kind="stable")
    return {pair for name, n in counts.items() for pair in pairs(ordered[ordered["class"] == name].head(n))}


def pairs(found: pd.DataFrame) -> set[tuple[str, str]]:
    return set(zip(found["word"], found["class"]))


def against_truth(file: File, found: pd.DataFrame) -> dict:
    """Of what is listed how much is true, and of the truth how much is listed; both at the length of the truth."""
    causes, listed = file.truth["causes"], pairs(found[found["listed"]])
    true = {(word, name) for name, words in causes.items() for word in words}
    told = {"listed": len(listed), "best_accuracy": file.truth["best accuracy"]}
    words, some = {word for word, _ in listed}, {word for word, _ in true}
    for name, those in (("confounds", file.truth["confounds"]), ("nulls", file.truth["nulls"])):
        told[name] = len(words & {*those}) / len(those) if those else np.nan
    if not true:
        return told
    at_truth = first(found, {name: len(words) for name, words in causes.items()})
    wrong = {(word, name) for word, name in listed - true if word in some}
    return told | {
        "precision": len(listed & true) / len(listed) if listed else np.nan,
        "recall": len(listed & true) / len(true),
        "precision_at_truth": len(at_truth & true) / len(true),
        "wrong_side": len(wrong) / len(listed) if listed else np.nan,
    }


def against_ratings(file: File, found: pd.DataFrame) -> dict:
    """Rank correlation with people's ratings of words, over those of ten texts or more; who is silent says zero."""
    held_in = pd.Series([word for text in file.rows["text"] for word in set(text.lower().split())]).value_counts()
    rated = word_ratings(data_home()).set_index("word")["rating"]
    rated = rated[rated.index.isin(held_in.index[held_in >= RATED_IN])]
    scores = found[found["class"] == file.classes[-1]].set_index("word")["score"]
    said = scores.reindex(rated.index).fillna(0.0)
    return {"listed": int(found["listed"].sum()), "ratings": rated.corr(said, method="spearman"), "rated": len(rated)}


def overlap(file: File, method: Callable, seed: int) -> float:
    """Of the first words of one half of the file how many are among the first of the other."""
    causes = file.truth.get("causes") or dict.fromkeys(file.classes, range(COMPARED))
    counts = {name: len(words) for name, words in causes.items()}
    one, other = (first(method(half, seed)[0], counts) for half in file.halves(seed))
    return len(one & other) / sum(counts.values())


def measured(name: str, seed: int, method: str) -> dict:
    """A row of the table; its seconds are those of one list, and of the answers where there are any."""
    file, (call, _) = file_named(name, seed), METHODS[method]
    begin, cpu = time.perf_counter(), processor_seconds()
    found, answered = call(file, seed)
    told = {"seconds": time.perf_counter() - begin, "processor_seconds": processor_seconds() - cpu} | answered
    told |= (against_truth if file.truth else against_ratings)(file, found)
    if name in HALVED:
        told["overlap"] = overlap(file, call, seed)
    return {"texts": len(file.rows)} | {name: told.get(name) for name in MEASURES} | {"load": load()}


def jobs(files: Iterable[str], methods: Iterable[str], seeds: int) -> list[dict]:
    """So many seeds of each made-up file; fewer where they differ in the seed of the method alone, or take long."""
    return [
        {"file": name, "seed": seed, "method": method}
        for name in files
        for seed in range(min(seeds, SEEDS.get(name, seeds)))
        for method in methods
        if method != "LIME" or seed < LIME_SEEDS
    ]


def show(table: pd.DataFrame) -> str:
    """The means over seeds."""
    shown = table.groupby(["file", "method"], sort=False)[[*MEASURES]].mean(numeric_only=True)
    return shown.dropna(axis=1, how="all").to_string(float_format=lambda value: f"{value:.3g}", na_rep="")


SHORT = {  # of the table in the README: file and measure -> heading; where the tool wins, then where it loses
    ("two classes", "precision"): "listed words that are causes, share",
    ("two classes", "confounds"): "words that only accompany causes: listed, share",
    ("random labels", "listed"): "words listed where labels are random",
    ("two classes", "recall"): "causes that are listed, share",
    ("eight alike classes", "recall"): "the same with eight classes that are alike",
    ("one class twice as long", "recall"): "the same where the texts of one class are twice as long",
    ("sst", "overlap"): "words that the lists of two halves of SST share",
    ("two classes", "processor_seconds"): "seconds of processor",
}
LESS_IS_BETTER = ("confounds", "listed", "processor_seconds")


def short_table(table: pd.DataFrame) -> str:
    """Means over seeds in Markdown, a column for each method; the best of a row is bold."""
    means = table.groupby(["file", "method"], sort=False)[[*MEASURES]].mean(numeric_only=True)
    methods = list(table["method"].unique())
    lines = [f"| | {' | '.join(methods)} |", "|---" * (1 + len(methods)) + "|"]
    for (file, measure), heading in SHORT.items():
        cells = [means[measure].get((file, method), np.nan) for method in methods]
        best = (np.nanmin if measure in LESS_IS_BETTER else np.nanmax)(cells)
        shown = ["" if np.isnan(cell) else f"{cell:.0f}" if cell >= 10 else f"{cell:.2g}" for cell in cells]
        shown = [f"**{text}**" if cell == best else text for text, cell in zip(shown, cells)]
        lines.append(f"| {heading} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", default=[*MADE, "sst"], choices=[*MADE, "sst"], metavar="NAME")
    parser.add_argument("--methods", nargs="+", default=[*METHODS], choices=[*METHODS], metavar="NAME")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, help="folder of peers.csv; default: the results folder")
    given = parser.parse_args(arguments)
    lacking = [name for name in given.methods if METHODS[name][1] and not find_spec(METHODS[name][1])]
    if lacking:
        print(f"not measured, because not installed: {', '.join(lacking)} (in a clone: pip install '.[bench]')")
    table = StoredTable(
        (given.out or results_folder()) / "peers.csv", ("file", "seed", "method"), rows=1, order=(*MADE, "sst")
    )
    wanted = jobs(given.files, [name for name in given.methods if name not in lacking], given.seeds)
    fill(table, [(job, partial(measured, job["file"], job["seed"], job["method"])) for job in wanted])
    print(show(table.frame()))
    print(f"written to {table.path}")


if __name__ == "__main__":
    main()
