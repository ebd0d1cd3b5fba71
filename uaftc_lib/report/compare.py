"""Compare: which words drive a class in one group of the texts, or in one period, more than in another.

For example, 33 of a word's 40 texts in group A are of the class, and 20 of its 40 texts in group B. From their other
words, their length and their group we expect 19 in either group. So the word drives the class in A more than in B. What
we expect is Σ P₋ over the texts of the word; the excess of the word in a group is its mean y − P₋.

The same push adds fewer points to P₋ = 0.9 than to 0.5. So the groups must differ twice, in points and in log-odds. The
push δ suits the word's texts of both groups together; P' = σ(logit P₋ + δ), V = Σ P'(1 − P'), n texts of a group hold
the word:

    in points  z = (excess_A − excess_B) / √(V_A/n_A² + V_B/n_B²),
    in odds    z = Σ_A (y − P') / √(V_A V_B / (V_A + V_B)).

The smaller z decides. Shuffled groups are the control.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy import stats
from scipy.special import expit, logit
from statsmodels.stats.proportion import proportion_confint

from uaftc_lib.explain.words import Pairs
from uaftc_lib.report.judge import FALSE_DISCOVERIES, FEWEST, false_discovery_rates
from uaftc_lib.report.prepare import Prepared
from uaftc_lib.report.read import ambiguous_dates, times
from uaftc_lib.report.request import Refused
from uaftc_lib.report.train import Trained, chunks, length_features, read_without, with_length

MOST_GROUPS, FEWEST_TEXTS = 8, 50  # groups that are compared, and tested texts of each
MOST_TEXTS, MOST_VALUES = 100_000, 5_000_000  # that are compared; and their words, times classes
LEAST = 0.1  # difference that is listed
SHUFFLES, STEPS, MOST_PUSH = 20, 15, 6.0  # of the control; of Newton's method, and how far δ may go


@dataclass(frozen=True)
class Groups:
    """What is compared: the names of groups, the number of each text's group (−1: not compared), notes."""

    names: tuple[str, ...]
    index: Int[np.ndarray, "texts"]
    notes: tuple[str, ...]


def groups_of(prepared: Prepared, column: str, seed: int = 0) -> Groups:
    """The values of a column, or of many dates or numbers the earlier and the later half.

    Raises
    ------
    Refused
        If fewer than two values, or more than MOST_GROUPS, have enough tested texts of two classes.
    """
    cells, whole, notes = prepared.table.rows["compare"].fillna("").reset_index(drop=True), prepared.whole, []
    values = cells[(prepared.unit >= 0) & (True if prepared.test is None else prepared.test) & (cells != "")]
    if values.nunique() > MOST_GROUPS:
        with suppress(Refused):
            read = times(values)
            notes, read = ambiguous_dates(values, read), read.dropna()
            cut = max(read.median(), read[read > read.min()].min())
            begin = str(read[read >= cut].min()).removesuffix(" 00:00:00").removesuffix(".0")  # 2023-05-01, 2023
            values = pd.Series(np.where(read >= cut, f"from {begin}", f"before {begin}"), read.index)
    sizes = pd.Series(whole.labels.numpy()[values.index]).groupby(values.to_numpy()).agg(["size", "nunique"])
    names = tuple(sizes.index[(sizes["size"] >= FEWEST_TEXTS) & (sizes["nunique"] > 1)])
    if not 2 <= len(names) <= MOST_GROUPS:
        raise Refused(
            f"--compare: {len(names)} of the {len(sizes)} values of {column!r} have {FEWEST_TEXTS} tested texts or "
            f"more and two classes; a comparison takes 2 to {MOST_GROUPS} such values, or a column of dates or numbers"
        )
    group = (
        pd.Series(pd.Categorical(values, names).codes, values.index).reindex(cells.index, fill_value=-1).to_numpy(int)
    )
    rows = np.flatnonzero(group >= 0)
    if lost := int((cells == "").sum()) + len(values) - len(rows):
        notes.append(f"{lost:,} texts have no value in the column of --compare, or a rare one: they are not compared")
    if prepared.test is not None:
        notes.append("Only the texts that are tested are compared")
    most = min(MOST_TEXTS, int(MOST_VALUES / (whole.class_count * whole.lengths.double().mean())))
    if len(rows) > most:
        group[np.random.default_rng(seed).permutation(rows)[most:]] = -1
        notes.append(f"Of {len(rows):,} texts of the groups {most:,}, drawn at random, are compared")
    return Groups(names, group, tuple(notes))


def compare(prepared: Prepared, trained: Trained, groups: Groups, seed: int = 0) -> dict:
    """What report.json holds under "compared", but the name of the column."""
    names, words = groups.names, {name: [] for name in prepared.classes}
    text, word, without = unseen_pairs(prepared, trained, groups, seed)
    rows, text = np.unique(text, return_inverse=True)
    _, first, unit = np.unique(prepared.unit[rows], return_index=True, return_inverse=True)
    weight = (1 / np.bincount(unit))[unit][text]
    kept = (np.bincount(word, weight)[word] >= 2 * FEWEST) & (word < prepared.vocabulary.word_count)
    text, weight, without = text[kept], weight[kept], without[kept]
    ids, word = np.unique(word[kept], return_inverse=True)
    labels = prepared.whole.labels.numpy()[rows][text]
    columns = [columns_of(labels == k, P, weight, word) for k, P in enumerate(without.T)]

    def differing(group: Int[np.ndarray, "texts"]) -> tuple:
        pairs = Pairs(word * len(names) + group[text], text, len(ids) * len(names), len(rows))
        return differences(np.stack([pairs.sums(each).reshape(len(ids), len(names), 5) for each in columns]))

    group, draws = groups.index[rows], np.random.default_rng(seed)
    shuffled = [differing(draws.permutation(group[first])[unit])[0].sum() for _ in range(SHUFFLES)]
    listed, sides, q = differing(group)
    for k, i, g in np.argwhere(listed):
        order = int(np.sign(interval(sides[:, k, i, g])[0]))
        both, numbers = (names[g], names[1] if len(names) == 2 else f"all but {names[g]}"), sides[::order, k, i, g]
        row = {"word": prepared.vocabulary.word(int(ids[i])), "group": both[::order][0], "q": q[k, i, g]}
        row |= {of: {"texts": n, "of_class": y, "expected": P / n} for of, (n, y, P, *_) in zip("ab", numbers.round(6))}
        words[prepared.classes[k]].append(row | dict(zip(("difference", "low", "high"), interval(numbers))))
    for each in words.values():
        each.sort(key=lambda row: -row["difference"] * min(row["a"]["texts"], row["b"]["texts"]))
    sizes = [{"name": name, "texts": int((group == g).sum())} for g, name in enumerate(names)]
    return {"groups": sizes, "shuffled": float(np.mean(shuffled)), "words": words}


def unseen_pairs(
    prepared: Prepared, trained: Trained, groups: Groups, seed: int
) -> tuple[Int[np.ndarray, "pairs"], Int[np.ndarray, "pairs"], Float[np.ndarray, "pairs classes"]]:
    """Text and word of each pair, and P₋ by the models that had not seen the text, in the mean of these."""
    whole, types, parts = prepared.whole, len(prepared.vocabulary), []
    of_group = groups.index[:, None] == np.arange(len(groups.names))
    known = np.hstack([length_features(whole.lengths.numpy()), of_group])
    for fold, reader in zip(trained.folds, trained.readers):
        probability, labels = reader.probability(whole, fold.test), whole.labels.numpy()[fold.test]
        expected = with_length(probability, known[fold.test], labels)
        for part in chunks(fold.test[groups.index[fold.test] >= 0], reader, "test", seed):
            pairs, _, without = read_without(reader, whole, part, expected, known[part])
            parts.append((part[pairs.instance] * types + pairs.word, without))
    keys, values = map(np.concatenate, zip(*parts))
    key, place = np.unique(keys, return_inverse=True)
    without = Pairs(place, place, len(key), len(whole)).sums(values) / np.bincount(place)[:, None]
    return key // types, key % types, without


def columns_of(
    of_class: Bool[np.ndarray, "pairs"],
    without: Float[np.ndarray, "pairs"],
    weight: Float[np.ndarray, "pairs"],
    word: Int[np.ndarray, "pairs"],
) -> Float[np.ndarray, "pairs 5"]:
    """Of one class what is summed over the texts of a word: 1, y, P₋, P' and P'(1 − P')."""
    base, push = logit(without.clip(1e-6, 1 - 1e-6)), np.zeros(word.max(initial=0) + 1)
    for _ in range(STEPS + 1):
        P = expit(base + push[word])
        slope, curve = (np.bincount(word, weight * each) for each in (of_class - P, P * (1 - P)))
        push = (push + (slope / curve.clip(1e-9)).clip(-1, 1)).clip(-MOST_PUSH, MOST_PUSH)
    return weight[:, None] * np.stack([np.ones(len(P)), of_class, without, P, P * (1 - P)], 1)


def differences(sums: Float[np.ndarray, "classes words groups 5"]) -> tuple:
    """Which words differ, a class, word and group each; the sums of the group and of all others; q.

    Of two groups we compare one with the other. Of more, we compare each with all others, and take the clearest.
    """
    one = sums[:, :, : 1 if sums.shape[2] == 2 else None]
    sides = np.stack([one, sums.sum(2, keepdims=True) - one])
    n, of_class, expected, alike, variance = np.moveaxis(sides, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = (of_class - expected) / n
        points = (excess[0] - excess[1]) / np.sqrt((variance / n**2).sum(0))
        odds = (of_class - alike)[0] / np.sqrt(variance.prod(0) / variance.sum(0))
    z = np.where((n >= FEWEST).all(0), np.where(points * odds > 0, np.minimum(abs(points), abs(odds)), 0), np.nan)
    q = false_discovery_rates(2 * stats.norm.sf(z.reshape(-1, 1))).reshape(z.shape)
    clear = np.nan_to_num(abs(z))
    listed = (q <= FALSE_DISCOVERIES) & (abs(excess[0] - excess[1]) >= LEAST) & (clear == clear.max(2, keepdims=True))
    return listed & (excess.sum(0) > 0), sides, q  # not a word that drives the class away, and another one there


def interval(sides: Float[np.ndarray, "2 ... columns"]) -> Float[np.ndarray, "3 ..."]:
    """The excess of one side less that of the other, and its 95 % interval: that of the difference of two shares
    (Newcombe 1998, Statistics in Medicine 17, method 10), shifted by the expected difference. ``sides``: the sums of 1,
    y and P₋, and more."""
    n, of_class, expected, *_ = np.moveaxis(sides, -1, 0)
    share, (low, high) = of_class / n, proportion_confint(of_class, n, method="wilson")
    difference = np.subtract(*(of_class - expected) / n)
    down, up = np.hypot(share - low, (high - share)[::-1])[0], np.hypot(high - share, (share - low)[::-1])[0]
    return np.stack([difference, difference - down, difference + up])
