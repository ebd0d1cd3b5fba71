"""Words that by themselves tell a class, as a tag or a signature does, and what is left without them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from uaftc_lib.report.folds import Fold
from uaftc_lib.report.linear import LinearBaseline
from uaftc_lib.report.quality import MATERIAL
from uaftc_lib.report.texts import Prepared
from uaftc_lib.report.training import Reader

NEARLY_ALL, MOST = 0.95, 0.5  # of its texts are of one class; of the class's texts hold it: such a word tells a class
FEWER = 5  # so many times fewer texts of other classes are among its texts than among all
ENOUGH, MOST_NAMED = 20, 3  # texts of such a word; words that are tried
TOGETHER = 0.9  # Jaccard index of the texts of two words from which they are one thing, as a tag of two words


def deciding(words: pd.DataFrame, prepared: Prepared) -> list[dict]:
    """Words almost only texts of one class hold, and most of these do; those that stand together in one row."""
    labels = prepared.whole.labels.numpy()
    sizes = dict(zip(prepared.classes, np.bincount(labels).tolist()))
    rows = words.loc[words["texts"] >= ENOUGH, ["word", "class", "texts", "texts_of_class"]]
    size = rows["class"].map(sizes)
    rows = rows.assign(covered=rows["texts_of_class"] / size)
    others, usual = 1 - rows["texts_of_class"] / rows["texts"], 1 - size / len(labels)
    found = rows[(others <= (usual / FEWER).clip(upper=1 - NEARLY_ALL)) & (rows["covered"] >= MOST)]
    named: list[dict] = []
    for row in found.nlargest(10 * MOST_NAMED, "covered").to_dict("records"):
        held = texts_with(row["word"], prepared)
        same = (one for one in named if one["class"] == row["class"] and jaccard_index(one["held"], held) >= TOGETHER)
        if one := next(same, None):
            one["words"].append(row["word"])
        elif len(named) < MOST_NAMED:
            named.append(row | {"words": [row["word"]], "held": held})
    return named


def texts_with(word: str, prepared: Prepared) -> Int[np.ndarray, "texts"]:
    """Which texts hold a word."""
    where = prepared.whole.tokens.numpy() == prepared.vocabulary.id(word)
    return np.unique(prepared.whole.instance_of.numpy()[where])


def jaccard_index(one: Int[np.ndarray, "texts"], other: Int[np.ndarray, "others"]) -> float:
    """The Jaccard index of two sets."""
    both = len(np.intersect1d(one, other))
    return both / (len(one) + len(other) - both)


def leaks(
    words: pd.DataFrame,
    prepared: Prepared,
    folds: list[Fold],
    readers: list[Reader],
    line: LinearBaseline,
    linear: Float[np.ndarray, "tested classes"],
    tested: Int[np.ndarray, "tested"],
) -> list[dict]:
    """Of the deciding words those without which the linear models are materially worse, with what these reach."""
    whole, types, found = prepared.whole, len(prepared.vocabulary), []
    labels = whole.labels.numpy()[tested]
    for row in deciding(words, prepared):
        names, k = row.pop("words"), prepared.classes.index(row["class"])
        del row["held"]
        other = np.zeros((len(whole), whole.class_count))
        for fold, reader in zip(folds, readers):
            corpora = [reader.read(whole, rows) for rows in (fold.train, fold.dev, fold.test)]
            ids = tuple(prepared.vocabulary.id(name) for name in names)
            other[fold.test] += LinearBaseline(*corpora[:2], types, line, ids).probabilities(corpora[2])
        for name, said in (("", linear), ("_without", other[tested])):
            right = said.argmax(1) == labels
            row |= {f"recall{name}": float(right[labels == k].mean()), f"accuracy{name}": float(right.mean())}
        if max(row["recall"] - row["recall_without"], row["accuracy"] - row["accuracy_without"]) >= MATERIAL:
            found.append(row | {"word": ",".join(names)})
    return found
