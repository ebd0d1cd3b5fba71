"""Leaks: words, or sets of words of one form, that nearly decide a class by themselves, such as a signature."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from uaftc_lib.report.prepare import Prepared
from uaftc_lib.report.train import LinearBaseline, Trained

MATERIAL = 0.02  # by how much a linear model must be better to matter: a share of the texts
NEARLY_ALL, HALF = 0.95, 0.5  # of its texts are of one class; of the class's texts hold it: such a word tells a class
NEARLY_WHOLE = 0.9  # share of a class's texts from which a word that tells the class nearly decides it
FEWER = 5  # so many times fewer texts of other classes are among its texts than among all
ENOUGH, MOST_NAMED = 20, 3  # texts of a word that tells a class; words that are tried
LETTERS, DIGITS, PLAIN = re.compile(r"[^\W\d_]+"), re.compile(r"\d+"), re.compile(r"[a'-]*")  # of a word; of its form
HEX = re.compile(r"(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{6,}(?:-[0-9a-f]{4,})*")  # as of hashes and UUIDs
SEVERAL = 3  # words of one form, from which they are a set
TOGETHER = 0.9  # Jaccard index of the texts of two words from which they are one thing, as a tag of two words


def leaks(words: pd.DataFrame, prepared: Prepared, trained: Trained) -> list[dict]:
    """Of the deciding words those that make the linear models materially better, with what these reach.

    Both are measured without the other deciding words: of two leaks in one text neither would be missed otherwise.
    """
    rows, result = deciding(words, prepared), []
    ids = [prepared.vocabulary.id(word) for row in rows for word in row["words"]]
    right_without = answers_without(ids, prepared, trained) if rows else None
    labels = prepared.whole.labels.numpy()[trained.tested]
    for row in rows:
        own = {prepared.vocabulary.id(word) for word in row["words"]}
        right = answers_without([i for i in ids if i not in own], prepared, trained)
        mine = labels == prepared.classes.index(row["class"])
        for name, each in (("", right), ("_without", right_without)):
            row |= {f"recall{name}": float(each[mine].mean()), f"accuracy{name}": float(each.mean())}
        if max(row["recall"] - row["recall_without"], row["accuracy"] - row["accuracy_without"]) >= MATERIAL:
            names = row.pop("words")
            del row["held"]
            result.append(row | {"word": ",".join(names)})
    return result


def answers_without(left_out: list[int], prepared: Prepared, trained: Trained) -> Bool[np.ndarray, "tested"]:
    """Which of the tested texts linear models on all words but these ids answer right."""
    whole = prepared.whole
    probability = np.zeros((len(whole), whole.class_count))
    for fold, reader in zip(trained.folds, trained.readers):
        train, dev, test = (reader.read(whole, rows) for rows in (fold.train, fold.dev, fold.test))
        model = LinearBaseline(train, dev, len(prepared.vocabulary), trained.line, tuple(left_out))
        probability[fold.test] += model.probabilities(test)
    return (probability.argmax(1) == whole.labels.numpy())[trained.tested]


def deciding(words: pd.DataFrame, prepared: Prepared) -> list[dict]:
    """Words almost only texts of one class hold, and most of these do; those that stand together in one row.

    So do sets of words of one form, such as order numbers: each in few texts, all of one class.
    """
    labels = prepared.whole.labels.numpy()
    sizes = dict(zip(prepared.classes, np.bincount(labels).tolist()))
    rows = words[["word", "class", "texts", "texts_of_class"]]
    size = rows["class"].map(sizes).astype(float)
    others, usual = 1 - rows["texts_of_class"] / rows["texts"], 1 - size / len(labels)
    rows = rows.assign(covered=rows["texts_of_class"] / size)[others <= (usual / FEWER).clip(upper=1 - NEARLY_ALL)]
    chosen = rows[(rows["texts"] >= ENOUGH) & (rows["covered"] >= HALF)]
    named: list[dict] = []
    for row in chosen.nlargest(10 * MOST_NAMED, "covered").to_dict("records"):
        held = texts_with([row["word"]], prepared)
        same = (one for one in named if one["class"] == row["class"] and jaccard_index(one["held"], held) >= TOGETHER)
        if one := next(same, None):
            one["words"].append(row["word"])
        elif len(named) < MOST_NAMED:
            named.append(row | {"form": "", "words": [row["word"]], "held": held})
    return named + sets_of_one_form(rows[~rows["word"].isin(chosen["word"])], prepared, sizes)


def sets_of_one_form(rows: pd.DataFrame, prepared: Prepared, sizes: dict[str, int]) -> list[dict]:
    """Of words that almost only texts of one class hold, those of one form that most of its texts hold together."""
    named = []
    form = rows["word"].map(form_of)
    for (name, one_form), some in rows[form != ""].groupby(["class", form]):
        held = texts_with(some["word"], prepared)
        of_class = int((prepared.whole.labels.numpy()[held] == prepared.classes.index(name)).sum())
        if len(some) >= SEVERAL and len(held) >= ENOUGH and of_class >= HALF * sizes[name]:
            numbers = {"texts": len(held), "texts_of_class": of_class, "covered": of_class / sizes[name]}
            in_order = some.sort_values("texts", ascending=False, kind="stable")["word"].tolist()
            named.append({"class": name, "form": one_form} | numbers | {"words": in_order, "held": held})
    return sorted(named, key=lambda row: -row["covered"])[:MOST_NAMED]


def form_of(word: str) -> str:
    """Letters as a, digits as 0, other signs as they are; one form for all addresses, one for hexadecimal numbers; ""
    for a word of letters, and for a pair, whose words have forms of their own."""
    if " " in word:
        return ""
    if HEX.fullmatch(word):
        return "hexadecimal"
    if "://" in word or word.startswith("www."):
        return "address"
    form = DIGITS.sub("0", LETTERS.sub("a", word))
    return "" if PLAIN.fullmatch(form) else form


def texts_with(words: Collection[str], prepared: Prepared) -> Int[np.ndarray, "texts"]:
    """Which texts hold one of some words."""
    where = np.isin(prepared.whole.tokens.numpy(), [prepared.vocabulary.id(word) for word in words])
    return np.unique(prepared.whole.instance_of.numpy()[where])


def jaccard_index(one: Int[np.ndarray, "texts"], other: Int[np.ndarray, "others"]) -> float:
    """The Jaccard index of two sets."""
    both = len(np.intersect1d(one, other))
    return both / (len(one) + len(other) - both)
