"""Judge: how good the models are, which words are listed, and which of them decide a class.

A word is listed under a class where plain counts and the model agree. The class is commoner among the texts that hold
the word than among all, commoner also than their lengths explain, and the word pushes towards it, in both ways in which
that is measured. But words keep company, so one more is asked, which a word that only accompanies a cause cannot
answer: is the class commoner than the lengths and the other words of these texts predict? And where the texts without
a stronger word are no more of the class than others, the word is not listed. Where many words say the same none of them
adds to the others; then it is enough that neither a single stronger word accounts for the counts nor all stronger ones
together that have answered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int, Shaped
from scipy import sparse, stats
from sklearn.metrics import recall_score
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from uaftc_lib.corpus import Corpus, Vocabulary
from uaftc_lib.report.beyond import answered_without_words
from uaftc_lib.report.leaks import MATERIAL, leaks
from uaftc_lib.report.prepare import LOUD, Prepared
from uaftc_lib.report.train import SPREAD, Z95, Answers, Pushes, Trained, auc, by_unit, verdict_of

Probabilities = Float[np.ndarray, "texts classes"]

BINS = 10  # of confidence
WORD_COLUMNS = ("listed", "influence", "influence_low", "influence_high", "probability", "attention", "texts")
WORD_COLUMNS += ("texts_of_class", "share_low", "share_high", "total", "q", "q_beyond")
ENDS = ("low", "high", "z")
FEWEST = 5  # texts that a word needs for an interval
FALSE_DISCOVERIES = 0.05  # share of what counts name that they may name by chance
ALONE = 0.01  # p of a word's counts without other words, above which these account for them
AGAINST = 0.1  # the same for a word that the model lists: above this p it only accompanies another one
MOST_COMPARED = 2000  # words of a class that are compared with one another: those that do most in all
TOP = 15  # words shown for each class
LITTLE = 0.1  # push, as a share of the largest, below which a word is said to have little effect
VERDICTS = {  # what may be concluded, and why
    "nothing": (
        "No conclusion may be drawn.",
        "On texts it had not seen, the model is not measurably better than chance. Its words are not to be trusted.",
    ),
    "open": (
        "Whether anything may be concluded remains open.",
        "On {independent:,} texts it had not seen (copies, and texts of one group, counted once), the model was better "
        "than chance, but chance may explain it: more texts would show. Take its words for candidates.",
    ),
    "sure": (
        "Conclusions may be drawn about this model, and the model is worth asking.",
        "On texts it had not seen, it surely tells the classes apart, and a linear model on the same words is not "
        "materially better.",
    ),
    "linear is better": (
        "Conclusions may be drawn about this model, but not about what matters in these texts.",
        "A linear model that only counts the same words is clearly better on unseen texts: there is more to "
        "learn from these texts than this model has learnt. Its words stand beside.",
    ),
}
COUNTED = (
    "The words are counted; no model is trained.",
    "Nearly all texts are of one to three words, and most are copies of others or too few are different, as "
    "with answers to a question. There is nothing to read but the words, so each row counts by itself.",
)


def verdict_sentences(worth: dict | None) -> list[str]:
    """What :func:`quality` concludes, and why; None: what is said where no model is trained."""
    if worth is None:
        return list(COUNTED)
    better = worth["linear_is_better"]
    first, why = VERDICTS["linear is better" if better and worth["verdict"] == "sure" else worth["verdict"]]
    more = " A linear model on the same words is clearly better." if better and worth["verdict"] != "sure" else ""
    return [first, why.format_map(worth) + more]


@dataclass(frozen=True)
class Judged:
    """What is concluded.

    Attributes
    ----------
    words : DataFrame
        See :func:`word_table`; none is listed under "nothing".
    findings : dict
        What report.json says of the models and of the words.
    loud : list of str
        What must be seen before anything else.
    """

    words: pd.DataFrame
    findings: dict
    loud: list[str]


def judge(prepared: Prepared, trained: Trained | None, all_words: bool = False) -> Judged:
    """How good the models are, and what follows for the words; ``all_words``: see :func:`word_table`."""
    if trained is None:
        return judged_by_counts(prepared, all_words)
    labels, names = prepared.whole.labels.numpy(), prepared.classes
    words = word_table(trained.pushes, prepared.vocabulary, prepared.unit, all_words)
    answers = trained.ours, trained.linear, trained.length, trained.prior
    worth = quality(*answers, labels[trained.tested], prepared.unit[trained.tested])
    nothing = worth["verdict"] == "nothing"
    words = words.assign(listed=words["listed"] & (not nothing))
    sure = words[words["q"].notna()]
    findings = {
        "classes": class_counts(prepared, trained),
        "quality": worth,
        "top_words": {name: [] for name in names} | top_words(sure),
        "listed": listed_counts(sure, names),
        "shares": {name: float((labels == k).mean()) for k, name in enumerate(names)},
        "linear_words": linear_words(prepared, trained) if worth["linear_is_better"] else {},
        "deciding": [] if nothing else leaks(sure, prepared, trained),
        "attended_without_effect": attended_without_effect(sure),
    }
    loud = [*copied(prepared), *told_by_length(worth)]
    if worth["verdict"] != "sure" or worth["linear_is_better"]:
        loud += answered_without_words(prepared, trained, MATERIAL, balanced_accuracy)
    return Judged(words, findings, loud)


def judged_by_counts(prepared: Prepared, all_words: bool) -> Judged:
    """Which words go with a class by their counts alone."""
    names, labels = prepared.classes, prepared.whole.labels.numpy()
    shares = {name: float((labels == k).mean()) for k, name in enumerate(names)}
    words = counted_words(prepared, all_words)
    excess = words["texts_of_class"] - words["texts"] * words["class"].map(shares)
    top = top_words(words.assign(total=excess))
    findings = {
        "classes": [{"name": name, "texts": int((labels == k).sum())} for k, name in enumerate(names)],
        "quality": None,
        "top_words": {name: [row | {"total": None} for row in top.get(name, [])] for name in names},
        "listed": listed_counts(words, names),
        "shares": shares,
        "linear_words": {},
        "deciding": [],
        "attended_without_effect": [],
    }
    nothing = {"tested": 0, "right": 0, "recall": None}
    findings["classes"] = [each | nothing for each in findings["classes"]]
    vain = [f"--{name}" for name in ("group", "split", "time", "compare") if name in prepared.table.rows]
    return Judged(
        words, findings, [f"{' and '.join(vain)}: not considered, every row counts by itself"] if vain else []
    )


def class_counts(prepared: Prepared, trained: Trained) -> list[dict]:
    """How many texts each class has, how many were tested, and how many of these were answered right."""
    labels, tested = prepared.whole.labels.numpy(), trained.tested
    right = trained.ours.probability.argmax(1) == labels[tested]
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
    """A loud line where many texts are copies, also with other names, numbers or dates."""
    near = prepared.copies["near"]
    if near < LOUD * len(prepared.texts):
        return []
    return [
        f"{near:,} of the {len(prepared.texts):,} texts are copies of others (names, numbers and dates may differ). "
        "Copies are kept on one side of every split, and count once in tests"
    ]


def told_by_length(worth: dict) -> list[str]:
    """A loud line where the number of words alone tells the classes apart."""
    if not worth["length_tells"]:
        return []
    return [
        f"The number of words alone answers {worth['length']['accuracy']:.0%} of the unseen texts right, the largest "
        f"class {worth['majority']['accuracy']:.0%}: texts of the classes differ in length. A word is listed only "
        "where its counts are more than the lengths explain"
    ]


def calibration(probability: Probabilities, labels: Int[np.ndarray, "texts"]) -> pd.DataFrame:
    """Confidence of the predicted class against how often it was right, in ten bins of equal width."""
    confidence, right = probability.max(1), probability.argmax(1) == labels
    rows = pd.DataFrame({"confidence": confidence, "accuracy": right, "instances": 1})
    index = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins = rows.groupby(index).agg({"confidence": "mean", "accuracy": "mean", "instances": "sum"})
    bins.insert(0, "low", bins.index / BINS)
    bins.insert(1, "high", (bins.index + 1) / BINS)
    return bins.reset_index(drop=True)


def calibration_error(bins: pd.DataFrame) -> float:
    """Expected calibration error: the mean gap of confidence and accuracy, weighted by instances."""
    gap = (bins["confidence"] - bins["accuracy"]).abs()
    return float((gap * bins["instances"]).sum() / bins["instances"].sum())


def share_right(right: Bool[np.ndarray, "texts"], units: int) -> dict[str, float]:
    """The share of right answers with its 95 % interval (Wilson), as wide as for so many texts."""
    low, high = proportion_confint(right.mean() * units, units, method="wilson")
    return {"accuracy": float(right.mean()), "low": float(low), "high": float(high)}


def mean_log_loss(probability: Probabilities, labels: Int[np.ndarray, "texts"]) -> float:
    """The mean of −log of the probability of the true class, in nats a text."""
    return float(-np.log(probability[np.arange(len(labels)), labels].clip(1e-12)).mean())


def balanced_accuracy(probability: Probabilities, labels: Int[np.ndarray, "texts"]) -> float:
    """The mean over the classes of the share of right answers."""
    return float(recall_score(labels, probability.argmax(1), labels=np.unique(labels), average="macro"))


def quality(
    ours: Answers,
    linear: Answers,
    length: Answers,
    prior: Answers,
    labels: Int[np.ndarray, "texts"],
    unit: Int[np.ndarray, "texts"],
) -> dict:
    """Everything that the report says of the model's worth, and its verdict.

    Shares are of all texts. In tests the texts of one unit (−1: none) count once, by their mean, and intervals are as
    wide as for so many texts.
    """
    said = {"model": ours, "linear": linear, "length": length}
    areas = {name: auc(*by_unit(answers.rank, labels, unit)) for name, answers in said.items()}
    right = {name: (answers.probability.argmax(1) == labels) * 1.0 for name, answers in said.items()}
    ahead, of_unit = by_unit((right["linear"] - right["model"])[:, None], labels, unit)
    margin = balanced_mean(ahead[:, 0], of_unit)
    largest = int(np.bincount(labels).argmax())
    return {
        "verdict": verdict_of(areas["model"]),
        "linear_is_better": margin["accuracy"] > MATERIAL and margin["low"] > 0,
        "length_tells": verdict_of(areas["length"]) == "sure",
        "tested": len(labels),
        "independent": len(of_unit),
        "largest_class": largest,
        "log_loss": {name: mean_log_loss(each.probability, labels) for name, each in (said | {"prior": prior}).items()},
        "auc": {name: area["auc"] for name, area in areas.items()} | {key: areas["model"][key] for key in ENDS},
        "attention": worth_of(ours.probability, labels, len(of_unit)),
        "linear": worth_of(linear.probability, labels, len(of_unit)),
        "length": shares_right(length.probability, labels, len(of_unit)),
        "majority": share_right(labels == largest, len(of_unit)) | {"balanced_accuracy": 1 / len(np.unique(labels))},
        "margin": margin,
    }


def balanced_mean(values: Float[np.ndarray, "units"], labels: Int[np.ndarray, "units"]) -> dict[str, float]:
    """Mean over the classes of a value's mean in each, with its 95 % interval."""
    classes = [values[labels == k] for k in np.unique(labels)]
    mean = float(np.mean([each.mean() for each in classes]))
    reach = Z95 * SPREAD * math.sqrt(sum(each.var() / len(each) for each in classes)) / len(classes)
    return {"accuracy": mean, "low": mean - reach, "high": mean + reach}


def shares_right(probability: Probabilities, labels: Int[np.ndarray, "texts"], units: int) -> dict[str, float]:
    """How often a model is right, in all and in the mean over the classes."""
    balanced = balanced_accuracy(probability, labels)
    return share_right(probability.argmax(1) == labels, units) | {"balanced_accuracy": balanced}


def worth_of(probability: Probabilities, labels: Int[np.ndarray, "texts"], units: int) -> dict:
    """How often a model is right, in all and class by class, and whether it knows how often."""
    bins = calibration(probability, labels)
    return shares_right(probability, labels, units) | {
        "confidence": float(probability.max(1).mean()),
        "calibration_error": calibration_error(bins),
        "calibration": bins.to_dict("records"),
    }


class Units:
    """What is counted once: a text; or all texts of a class that are copies of one another or of one group.

    ``unit``: number of each text's unit; −1: in none.
    """

    def __init__(self, whole: Corpus, unit: Int[np.ndarray, "texts"], types: int):
        counted = np.flatnonzero(unit >= 0)
        whole, unit = whole[torch.from_numpy(counted)], unit[counted]
        labels, classes = whole.labels.numpy(), whole.class_count
        _, first, unit = np.unique(unit, return_index=True, return_inverse=True)
        self.of_class = np.eye(classes)[labels[first]]  # units × classes
        text, word = whole.instance_of.numpy(), whole.tokens.numpy()
        self.held = sparse.csc_array((np.ones(len(text), np.float32), (unit[text], word)), (len(first), types))
        self.held.sum_duplicates()
        self.held.data[:] = 1  # units × words
        # Copies are as long as one of them; texts of one group are as long as their different words ask for.
        different = np.bincount(unit, np.bincount(np.unique(text * types + word) // types, minlength=len(whole)))
        repeated = different / np.bincount(self.held.indices, minlength=len(first))
        lengths, size = np.unique(np.rint(np.bincount(unit, whole.lengths.numpy()) / repeated), return_inverse=True)
        of_length = np.zeros((len(lengths), classes))
        np.add.at(of_length, size, self.of_class)
        rates = np.geomspace(0.1 / (lengths @ of_length.sum(1)), 50.0, 500)
        self.expected = -np.expm1(-rates[:, None] * lengths) @ of_length  # units that hold a word, rates × classes

    @property
    def sizes(self) -> Float[np.ndarray, "classes"]:
        """How many units each class has."""
        return self.of_class.sum(0)

    def counts(self) -> Int[np.ndarray, "types classes"]:
        """For each word and class the number of units that hold it."""
        return (self.held.T @ self.of_class).astype(np.int64)

    def shares(self, counts: Int[np.ndarray, "words classes"]) -> Float[np.ndarray, "words classes"]:
        """For each word :meth:`share` of every class."""
        return np.stack([self.share(counts.sum(1), k) for k in range(counts.shape[1])], 1)

    def most_shares(self, counts: Int[np.ndarray, "words classes"]) -> Float[np.ndarray, "words classes"]:
        """The same, but at least the class's share of all units: a word may stand in long texts no more often."""
        return self.shares(counts).clip(self.sizes / self.sizes.sum())

    def share(self, n: Shaped[np.ndarray, "..."], k: int) -> Float[np.ndarray, "..."]:
        """The share of class k of n units that hold a word, if it stands at every place of all texts as often.

        Its rate f is that for which Σ (1 − exp(−f L)) = n over the lengths L of all units. Where the classes' lengths
        are alike, this is the class's share of all units.
        """
        total = self.expected.sum(1)
        return np.interp(n, total, self.expected[:, k] / total)


def by_chance(
    counts: Int[np.ndarray, "words classes"], shares: Float[np.ndarray, "words classes"]
) -> Float[np.ndarray, "words classes"]:
    """p of each word and class: of the units that hold the word, would so many be of the class by chance?

    One-sided binomial test with the classes' :meth:`Units.share`; conservative beside Fisher's exact test, as the
    word's own units are among them.
    """
    return stats.binom.sf(counts - 1, counts.sum(1, keepdims=True), shares)


def accounted_for(
    units: Units,
    words: Int[np.ndarray, "words"],
    push: Float[np.ndarray, "words"],
    sure: Bool[np.ndarray, "words"],
    k: int,
) -> Bool[np.ndarray, "words"]:
    """Which words a stronger one accounts for, or all stronger ones that are sure together.

    Among the units that hold the word without that one, or without any of these, class k is not commoner than
    among all, or not commoner than their lengths explain.

    ``words``: ids; ``push``: on class k, by which one is stronger than another.
    """
    held, of_class = units.held[:, words].astype(float).tocsr(), units.of_class[:, k]
    n, in_class, share = without_each(units, words, k)
    by_one = (stats.binom.sf(in_class - 1, n, share) > ALONE) & (push[None, :] > push[:, None])
    strongest = (held * (push * sure)).max(axis=1).toarray().ravel()  # sure word of a unit, by its push; 0: none
    row, word = held.nonzero()
    alone = strongest[row] <= push[word]
    n, in_class = (
        np.bincount(word[alone], each[row[alone]], len(words)) for each in (np.ones_like(of_class), of_class)
    )
    by_all = stats.binom.sf(in_class - 1, n, units.share(n, k).clip(of_class.mean()))
    return by_one.any(1) | (by_all > ALONE)


def without_each(
    units: Units, words: Int[np.ndarray, "words"], k: int
) -> tuple[Float[np.ndarray, "words others"], Float[np.ndarray, "words others"], Float[np.ndarray, "words others"]]:
    """Of the units that hold a word without another one: how many there are, how many are of class k, and the share
    that is expected of the class: that among all units, or the higher one that their lengths explain."""
    held, of_class = units.held[:, words].astype(float), units.of_class[:, k]
    both, of_both = (held.T @ held).toarray(), (held.T @ sparse.diags_array(of_class) @ held).toarray()
    n, in_class = both.diagonal()[:, None] - both, of_both.diagonal()[:, None] - of_both
    return n, in_class, units.share(n, k).clip(of_class.mean())


def accompanies(
    units: Units,
    words: Int[np.ndarray, "words"],
    usual: Float[np.ndarray, "words"],
    push: Float[np.ndarray, "words"],
    k: int,
) -> Bool[np.ndarray, "words"]:
    """Which words only accompany a stronger one: without it their units are not measurably more of class k.

    And there are enough of these units: if as many of them were of the class as of all units of the word, it would be
    measurable. A model that is trained on few texts of a class credits a cause with less than it does, and what stands
    next to the cause with the rest; then :meth:`~uaftc_lib.report.train.Pushes.beyond` cannot tell them apart.

    ``words``: ids; ``usual``: the share of class k among all units of the word; ``push``: on class k, by which one is
    stronger than another.
    """
    n, in_class, share = without_each(units, words, k)
    as_usual = np.ceil(n * usual[:, None] - 1e-9)
    measured, measurable = (stats.binom.sf(each - 1, n, share) <= AGAINST for each in (in_class, as_usual))
    return (~measured & measurable & (push[None, :] > push[:, None])).any(1)


def false_discovery_rates(p: Float[np.ndarray, "words classes"]) -> Float[np.ndarray, "words classes"]:
    """Benjamini & Hochberg's correction over all words and classes of which there is a p."""
    rates, measured = np.full_like(p, np.nan), np.isfinite(p)
    if measured.any():
        rates[measured] = multipletests(p[measured], method="fdr_bh")[1]
    return rates


def counted_words(prepared: Prepared, all_words: bool) -> pd.DataFrame:
    """The columns of :func:`word_table` where no model is trained: what a model would say is nan."""
    whole, vocabulary = prepared.whole, prepared.vocabulary
    units = Units(whole, prepared.unit, len(vocabulary))
    counts = units.counts()
    ids = np.flatnonzero(counts[: vocabulary.word_count].sum(1) >= (1 if all_words else FEWEST))
    counts = counts[ids]
    p = np.where(counts.sum(1, keepdims=True) >= FEWEST, by_chance(counts, units.most_shares(counts)), np.nan)
    q = false_discovery_rates(p)
    return word_frame(vocabulary, ids, whole.classes, counts, counts, {"listed": q <= FALSE_DISCOVERIES, "q": q})


def word_frame(
    vocabulary: Vocabulary,
    ids: Int[np.ndarray, "words"],
    names: tuple[str, ...],
    texts: Int[np.ndarray, "words classes"],
    counts: Int[np.ndarray, "words classes"],
    columns: dict[str, Shaped[np.ndarray, "words classes"]],
) -> pd.DataFrame:
    """The columns of words.csv in their order, a row for each word and class; those that are not given are nan.

    ``texts``: how many of each class hold the word; ``counts``: how many units. The interval of the share is as wide as
    if there were as many texts as units.
    """
    held, units = (each.sum(1, keepdims=True) * np.ones_like(each) for each in (texts, counts))
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = proportion_confint(texts / held * units, units, method="wilson")
    columns = columns | {"texts": held, "texts_of_class": texts, "share_low": low, "share_high": high}
    words = np.array([vocabulary.word(i) for i in ids.tolist()], dtype=object)
    table = {"word": words.repeat(len(names)), "class": np.tile(np.array(names, dtype=object), len(words))}
    for name in WORD_COLUMNS:
        table[name] = columns.get(name, np.full(texts.shape, np.nan)).reshape(-1)
    return pd.DataFrame(table)


def word_table(
    pushes: Pushes, vocabulary: Vocabulary, unit: Int[np.ndarray, "texts"], all_words: bool = False
) -> pd.DataFrame:
    """A row for each word of at least five texts and each class; in tests a unit counts once.

    ``all_words``: rarer words as well. These, and a word that stands in no text outside one fifth (in copies of one
    text, say), have no interval, no q, and are never listed.

    Columns: word, class, listed, influence with its interval, probability (mean fall of the class's probability when
    the word is taken out), attention (mean share), texts (that hold the word), texts_of_class (those of the class), the
    interval of their share of units (Wilson), total (influence × texts), q and q_beyond (false discovery rates of
    :func:`by_chance` and :meth:`~uaftc_lib.report.train.Pushes.beyond`).
    """
    whole, types = pushes.whole, len(vocabulary)
    units = Units(whole, unit, types)
    each = units if len(units.of_class) == len(whole) else Units(whole, np.arange(len(whole)), types)
    texts = each.counts()
    attention, push, reach, fall = pushes.means()
    shown = np.isfinite(push).all(1) & (all_words | (texts.sum(1) >= FEWEST))
    known = shown & (texts.sum(1) >= FEWEST) & np.isfinite(reach).all(1)
    known[vocabulary.word_count :] = shown[vocabulary.word_count :] = False
    reach[~known] = np.nan
    influence, probability, held = push[shown], fall[shown], texts[shown].sum(1)[:, None]
    counts = units.counts()[shown]
    plain = units.sizes / units.sizes.sum()
    q, q_most, q_beyond = (
        false_discovery_rates(np.where(known[shown, None], p, np.nan))
        for p in (
            by_chance(counts, units.shares(counts)),
            by_chance(counts, units.most_shares(counts)),
            pushes.beyond()[shown],
        )
    )
    commoner = (counts > counts.sum(1, keepdims=True) * plain) & (texts[shown] * len(whole) > held * each.sizes)
    raised, ids = commoner & (influence > 0) & (probability > 0), np.flatnonzero(shown)
    candidate = raised & (q_most <= FALSE_DISCOVERIES)
    listed = raised & (q <= FALSE_DISCOVERIES) & (q_beyond <= FALSE_DISCOVERIES)
    for k in range(whole.class_count):
        order = np.argsort(-influence[:, k] * held[:, 0], kind="stable")
        sure = order[listed[order, k]][:MOST_COMPARED]
        usual = counts[sure, k] / counts[sure].sum(1)
        listed[sure, k] = ~accompanies(units, ids[sure], usual, influence[sure, k], k)
        asked = order[candidate[order, k]][:MOST_COMPARED]
        if len(asked):
            listed[asked, k] |= ~accounted_for(units, ids[asked], influence[asked, k], listed[asked, k], k)
    columns = {
        "listed": listed,
        "influence": influence,
        "influence_low": influence - reach[shown],
        "influence_high": influence + reach[shown],
        "probability": probability,
        "attention": attention[shown, None] * np.ones_like(influence),
        "total": influence * held,
        "q": q,
        "q_beyond": q_beyond,
    }
    return word_frame(vocabulary, ids, whole.classes, texts[shown], counts, columns)


def top_words(words: pd.DataFrame) -> dict[str, list[dict]]:
    """The listed words of each class, those first that do most in all.

    Of the orders tried on halves of one file, that by total names the same words most often; that by the lower ends of
    the intervals least often, as their length is known from five models only.
    """
    columns = ["word", "influence", "influence_low", "influence_high", "probability", "attention", "texts"]
    columns += ["texts_of_class", "share_low", "share_high", "total"]
    listed = words[words["listed"]].sort_values("total", ascending=False, kind="stable")
    first = {name: rows[columns].head(TOP) for name, rows in listed.groupby("class")}
    shorter = {"influence_low": "low", "influence_high": "high"}
    return {
        name: first[name].rename(columns=shorter).to_dict("records") if name in first else []
        for name in words["class"].unique()
    }


def listed_counts(words: pd.DataFrame, names: Sequence[str]) -> dict[str, int]:
    """How many words are listed under each class; :func:`top_words` has the first of them."""
    return {name: int((words["listed"] & (words["class"] == name)).sum()) for name in names}


def attended_without_effect(words: pd.DataFrame) -> list[dict]:
    """Of the words that hold most attention in all, up to ten that push least for the attention they get.

    These are a hundred, and at most a quarter of all. The push of a word is the range of its influences over the
    classes; only what is less than LITTLE of the largest among them counts as little, and no listed word does.
    """
    by_word = words.groupby("word", sort=False)
    push = by_word["influence"].max() - by_word["influence"].min()
    rows = words.drop_duplicates("word").set_index("word")[["attention", "texts"]]
    rows = rows.assign(held=rows["attention"] * rows["texts"], influence=push, listed=by_word["listed"].any())
    rows = rows.nlargest(min(100, len(rows) // 4), "held")
    rows = rows[(rows["influence"] < LITTLE * rows["influence"].max()) & ~rows["listed"]]
    rows = rows.assign(effect=rows["influence"] / rows["attention"]).nsmallest(10, "effect")
    return rows.reset_index()[["word", "attention", "influence", "texts"]].to_dict("records")
