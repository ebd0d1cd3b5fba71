"""Judge: how good the models are, which words are listed, which of them decide a class, and texts to look at.

A word is listed under a class where plain counts and the model agree. The class is commoner among the texts that hold
the word than among all, and the word pushes towards it, in both ways in which that is measured. But words keep company,
so one more is asked, which a word that only accompanies a cause cannot answer: is the class commoner than the other
words of these texts foretell? Where many words say the same none of them adds to the others; then it is enough that
neither a single stronger word accounts for the counts nor all stronger ones together that have answered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int, Shaped
from scipy import sparse, stats
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.metrics import recall_score, roc_auc_score
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from uaftc_lib.corpus import Corpus, Vocabulary
from uaftc_lib.explain.flips import minimal_flip_sets
from uaftc_lib.intervals import half_width
from uaftc_lib.report.prepare import LOUD, Prepared
from uaftc_lib.report.train import FOLDS, LinearBaseline, Pushes, Reader, Trained, push_columns, word_values

Probabilities = Float[np.ndarray, "texts classes"]

BINS = 10  # of confidence
FEW = 200  # unseen texts below which it remains open how good a model is
MATERIAL = 0.02  # by how much the linear model must be better to matter: a share of balanced accuracy
NEARLY_WHOLE = 0.9  # share of a class's texts from which a word that tells the class nearly decides it
FEWEST = 5  # texts that a word needs for an interval
FALSE_DISCOVERIES = 0.05  # share of what counts name that they may name by chance
ALONE = 0.01  # p of a word's counts without other words, above which these account for them
MOST_COMPARED = 2000  # words of a class that are compared with one another: those that do most in all
TOP = 15  # words shown for each class
LITTLE = 0.1  # push, as a share of the largest, below which a word is said to have little effect
NEARLY_ALL, HALF = 0.95, 0.5  # of its texts are of one class; of the class's texts hold it: such a word tells a class
FEWER = 5  # so many times fewer texts of other classes are among its texts than among all
ENOUGH, MOST_NAMED = 20, 3  # texts of a word that tells a class; words that are tried
TOGETHER = 0.9  # Jaccard index of the texts of two words from which they are one thing, as a tag of two words
EACH = 5  # examples: of the surest, the wrong and the unsure texts
SHORT, LONGEST = 150, 1000  # words of an example: longer ones only where there are no others, and never
VERDICTS = {  # what may be concluded, and why
    "useless": (
        "No conclusion may be drawn.",
        "On texts it had not seen, the model is not surely better than the shares of the classes alone: it has learnt "
        "nothing, or its five trainings disagree too much to tell. Its words are not to be trusted.",
    ),
    "worse than linear": (
        "Conclusions may be drawn about this model, but not about what matters in these texts.",
        "A linear model that only counts the same words is clearly better on unseen texts: there is more to "
        "learn from these texts than this model has learnt. Its words stand beside.",
    ),
    "few": (
        "Conclusions may be drawn about this model; how good it is remains open.",
        "It is better than the shares of the classes, but only {independent} unseen texts were there to test it "
        "(copies, and texts of one group, counted once).",
    ),
    "sound": (
        "Conclusions may be drawn about this model, and the model is worth asking.",
        "On texts it had not seen, it is better than the shares of the classes, and a linear model on the same words "
        "is not materially better.",
    ),
}


@dataclass(frozen=True)
class Judged:
    """What is concluded.

    Attributes
    ----------
    words : DataFrame
        See :func:`word_table`; none is listed under "useless".
    findings : dict
        What report.json says of the models, of the words and of single texts.
    loud : list of str
        What must be seen before anything else.
    """

    words: pd.DataFrame
    findings: dict
    loud: list[str]


def judge(prepared: Prepared, trained: Trained, all_words: bool = False) -> Judged:
    """How good the models are, and what follows for the words; ``all_words``: see :func:`word_table`."""
    labels, names = prepared.whole.labels.numpy(), prepared.classes
    independent = len(np.unique(prepared.cluster[trained.tested]))
    words = word_table(trained.pushes, prepared.vocabulary, prepared.cluster, all_words)
    worth = quality(trained.ours, trained.linear, trained.prior, labels[trained.tested], trained.part, independent)
    useless, worse = (worth["verdict"] == verdict for verdict in ("useless", "worse than linear"))
    words = words.assign(listed=words["listed"] & (not useless))
    sure = words[words["influence_low"].notna()]
    findings = {
        "classes": class_counts(prepared, trained),
        "quality": worth,
        "top_words": {name: [] for name in names} | top_words(sure),
        "shares": {name: float((labels == k).mean()) for k, name in enumerate(names)},
        "linear_words": linear_words(prepared, trained) if worse else {},
        "deciding": [] if useless else leaks(sure, prepared, trained),
        "attended_without_effect": attended_without_effect(sure),
        "examples": examples(trained.reader_of, prepared, prepared.cutter.spans, trained.tested, trained.ours),
    }
    return Judged(words, findings, [*copied(prepared), *unfinished(trained, worth["verdict"])])


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


def share_right(right: Bool[np.ndarray, "texts"]) -> dict[str, float]:
    """The share of right answers with its 95 % interval (Wilson)."""
    low, high = proportion_confint(int(right.sum()), len(right), method="wilson")
    return {"accuracy": float(right.mean()), "low": float(low), "high": float(high)}


def mean_log_loss(probability: Probabilities, labels: Int[np.ndarray, "texts"]) -> float:
    """The mean of −log of the probability of the true class, in nats a text."""
    return float(-np.log(probability[np.arange(len(labels)), labels].clip(1e-12)).mean())


def balanced_accuracy(probability: Probabilities, labels: Int[np.ndarray, "texts"]) -> float:
    """The mean over the classes of the share of right answers."""
    return float(recall_score(labels, probability.argmax(1), labels=np.unique(labels), average="macro"))


def auc(probability: Probabilities, labels: Int[np.ndarray, "texts"]) -> float:
    """How often a text of a class is given a higher probability of it than one of another class; mean over classes.

    Not a number where all texts are of one class.
    """
    classes = [k for k in np.unique(labels) if not (labels == k).all()]
    areas = [roc_auc_score(labels == k, probability[:, k]) for k in classes]
    return float(np.mean(areas)) if areas else math.nan


def tempered(
    probability: Probabilities, prior: Probabilities, labels: Int[np.ndarray, "texts"], part: Int[np.ndarray, "texts"]
) -> Probabilities:
    """The same answers, as sure as they proved right to be: prior · (probability / prior)ᵃ, a from the other parts.

    A model that ranks texts well but is too sure of itself would else seem worse than the prior, which is a = 0.
    """
    floor = 1e-12
    ahead = np.log(probability.clip(floor)) - np.log(prior.clip(floor))

    def answers(a: float, rows: np.ndarray) -> np.ndarray:
        return softmax(np.log(prior[rows].clip(floor)) + a * ahead[rows], axis=1)

    def loss(a: float, rows: np.ndarray) -> float:
        return mean_log_loss(answers(a, rows), labels[rows])

    result = np.empty_like(probability)
    for k in np.unique(part):
        a = minimize_scalar(loss, bounds=(0, 5), args=(part != k,), method="bounded").x
        result[part == k] = answers(a, part == k)
    return result


def over_parts(
    measure: Callable, part: Int[np.ndarray, "texts"], *arrays: Shaped[np.ndarray, "texts ..."]
) -> tuple[float, float, float]:
    """Mean and 95 % interval (Student's t) of a measure over the parts of the unseen texts in which it can be had."""
    values = np.array([measure(*(array[part == k] for array in arrays)) for k in np.unique(part)])
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return math.nan, math.nan, math.nan
    mean, half = float(values.mean()), float(half_width(stats.sem(values), len(values) - 1))
    return mean, mean - half, mean + half


def quality(
    ours: Probabilities,
    linear: Probabilities,
    prior: Probabilities,
    labels: Int[np.ndarray, "texts"],
    part: Int[np.ndarray, "texts"],
    independent: int,
) -> dict:
    """Everything that the report says of the model's worth, and its verdict.

    ``prior``: the shares of the classes among the training texts; ``part``: the fifth to which an unseen text belongs;
    ``independent``: how many unseen texts there are, copies and groups counted once.

    The verdict is "useless" unless the log-loss of the :func:`tempered` answers is surely below that of the prior and
    the AUC surely above one half (95 % intervals over the parts), "worse than linear" if the linear model's balanced
    accuracy is surely higher and by more than two points, "few" below 200 independent unseen texts, else "sound".
    """
    fair = tempered(ours, prior, labels, part)
    gain = over_parts(lambda p, q, y: mean_log_loss(q, y) - mean_log_loss(p, y), part, fair, prior, labels)
    ranking, linear_ranking = (over_parts(auc, part, each, labels) for each in (ours, linear))
    margin = over_parts(lambda p, q, y: balanced_accuracy(q, y) - balanced_accuracy(p, y), part, ours, linear, labels)
    if not (gain[1] > 0 and ranking[1] > 0.5):  # so also where they cannot be had
        verdict = "useless"
    elif margin[0] > MATERIAL and margin[1] > 0:
        verdict = "worse than linear"
    else:
        verdict = "few" if independent < FEW else "sound"
    largest = int(prior.mean(0).argmax())
    losses = {name: mean_log_loss(P, labels) for name, P in (("model", ours), ("prior", prior), ("linear", linear))}
    bounds = ("low", "high")
    return {
        "verdict": verdict,
        "tested": len(labels),
        "independent": independent,
        "largest_class": largest,
        "log_loss": losses | {"gain": gain[0]} | dict(zip(bounds, gain[1:])),
        "auc": {"model": ranking[0], "linear": linear_ranking[0]} | dict(zip(bounds, ranking[1:])),
        "attention": worth_of(ours, labels),
        "linear": worth_of(linear, labels),
        "majority": share_right(labels == largest) | {"balanced_accuracy": 1 / len(np.unique(labels))},
        "margin": {"accuracy": margin[0]} | dict(zip(bounds, margin[1:])),
    }


def worth_of(probability: Probabilities, labels: Int[np.ndarray, "texts"]) -> dict:
    """How often a model is right, in all and class by class, and whether it knows how often."""
    bins = calibration(probability, labels)
    return share_right(probability.argmax(1) == labels) | {
        "balanced_accuracy": balanced_accuracy(probability, labels),
        "confidence": float(probability.max(1).mean()),
        "calibration_error": calibration_error(bins),
        "calibration": bins.to_dict("records"),
    }


class Units:
    """What is counted once: a text; or all texts of a class that are copies of one another or of one group.

    ``cluster``: texts of one number may be one unit.
    """

    def __init__(self, whole: Corpus, cluster: Int[np.ndarray, "texts"], types: int):
        labels, classes = whole.labels.numpy(), whole.class_count
        _, first, unit = np.unique(cluster * classes + labels, return_index=True, return_inverse=True)
        self.of_class = np.eye(classes)[labels[first]]  # units × classes
        places = (unit[whole.instance_of.numpy()], whole.tokens.numpy())
        self.held = sparse.csc_array((np.ones(len(places[0]), np.float32), places), (len(first), types))
        self.held.sum_duplicates()
        self.held.data[:] = 1  # units × words

    @property
    def sizes(self) -> Float[np.ndarray, "classes"]:
        """How many units each class has."""
        return self.of_class.sum(0)

    def counts(self) -> Int[np.ndarray, "types classes"]:
        """For each word and class the number of units that hold it."""
        return (self.held.T @ self.of_class).astype(np.int64)


def by_chance(
    counts: Int[np.ndarray, "words classes"], sizes: Float[np.ndarray, "classes"]
) -> Float[np.ndarray, "words classes"]:
    """p of each word and class: of the units that hold the word, would so many be of the class by chance?

    One-sided binomial test with the class's share of all units; conservative beside Fisher's exact test, as the word's
    own units are among them.
    """
    return stats.binom.sf(counts - 1, counts.sum(1, keepdims=True), sizes / sizes.sum())


def accounted_for(
    units: Units,
    words: Int[np.ndarray, "words"],
    push: Float[np.ndarray, "words"],
    sure: Bool[np.ndarray, "words"],
    k: int,
) -> Bool[np.ndarray, "words"]:
    """Which words a stronger one accounts for, or all stronger ones that are sure together.

    Among the units that hold the word without that one, or without any of these, class k is not commoner.

    ``words``: ids; ``push``: on class k, by which one is stronger than another.
    """
    held, of_class = units.held[:, words].astype(float).tocsr(), units.of_class[:, k]
    both, of_both = (held.T @ held).toarray(), (held.T @ sparse.diags_array(of_class) @ held).toarray()
    n, in_class = both.diagonal()[:, None] - both, of_both.diagonal()[:, None] - of_both
    by_one = stats.binom.sf(in_class - 1, n, of_class.mean())
    strongest = (held * (push * sure)).max(axis=1).toarray().ravel()  # sure word of a unit, by its push; 0: none
    row, word = held.nonzero()
    alone = strongest[row] <= push[word]
    n, in_class = (
        np.bincount(word[alone], each[row[alone]], len(words)) for each in (np.ones_like(of_class), of_class)
    )
    by_all = stats.binom.sf(in_class - 1, n, of_class.mean())
    return ((by_one > ALONE) & (push[None, :] > push[:, None])).any(1) | (by_all > ALONE)


def false_discovery_rates(p: Float[np.ndarray, "words classes"]) -> Float[np.ndarray, "words classes"]:
    """Benjamini & Hochberg's correction over all words and classes of which there is a p."""
    rates, measured = np.full_like(p, np.nan), np.isfinite(p)
    if measured.any():
        rates[measured] = multipletests(p[measured], method="fdr_bh")[1]
    return rates


def word_table(
    pushes: Pushes, vocabulary: Vocabulary, cluster: Int[np.ndarray, "texts"], all_words: bool = False
) -> pd.DataFrame:
    """A row for each word of at least five texts and each class; in tests a cluster counts once.

    ``all_words``: rarer words as well; they have no interval, no q, and are never listed.

    Columns: word, class, listed, influence with its interval, probability (mean fall of the class's probability when
    the word is taken out), attention (mean share), texts (that hold the word), texts_of_class (those of the class),
    total (influence × texts), q and q_beyond (false discovery rates of :func:`by_chance` and
    :meth:`~uaftc_lib.report.train.Pushes.beyond`).
    """
    whole, types = pushes.whole, len(vocabulary)
    each = Units(whole, np.arange(len(whole)), types)
    units = each if len(np.unique(cluster)) == len(cluster) else Units(whole, cluster, types)
    texts = each.counts()
    attention, push, reach, fall = pushes.means()
    known = (texts.sum(1) >= FEWEST) & np.isfinite(push).all(1) & np.isfinite(reach).all(1)
    shown = np.isfinite(push).all(1) if all_words else known.copy()
    known[vocabulary.word_count :] = shown[vocabulary.word_count :] = False
    reach[~known] = np.nan
    influence, probability, held = push[shown], fall[shown], texts[shown].sum(1)[:, None]
    q, q_beyond = (
        false_discovery_rates(np.where(known[shown, None], p, np.nan))
        for p in (by_chance(units.counts()[shown], units.sizes), pushes.beyond()[shown])
    )
    alike = np.ones_like(influence)
    candidate = (q <= FALSE_DISCOVERIES) & (influence > 0) & (probability > 0)
    listed, ids = candidate & (q_beyond <= FALSE_DISCOVERIES), np.flatnonzero(shown)
    for k in range(whole.class_count):
        asked = np.flatnonzero(candidate[:, k])
        asked = asked[np.argsort(-influence[asked, k] * held[asked, 0], kind="stable")][:MOST_COMPARED]
        if len(asked):
            listed[asked, k] |= ~accounted_for(units, ids[asked], influence[asked, k], listed[asked, k], k)
    table = {
        "listed": listed,
        "influence": influence,
        "influence_low": influence - reach[shown],
        "influence_high": influence + reach[shown],
        "probability": probability,
        "attention": attention[shown, None] * alike,
        "texts": held * alike.astype(int),
        "texts_of_class": texts[shown],
        "total": influence * held,
        "q": q,
        "q_beyond": q_beyond,
    }
    words = np.array([vocabulary.word(i) for i in ids.tolist()], dtype=object)
    classes = np.array(whole.classes, dtype=object)
    names = {"word": words.repeat(len(classes)), "class": np.tile(classes, len(words))}
    return pd.DataFrame(names | {name: column.reshape(-1) for name, column in table.items()})


def top_words(words: pd.DataFrame) -> dict[str, list[dict]]:
    """The listed words of each class, those first that do most in all.

    Of the orders tried on halves of one file, that by total names the same words most often; that by the lower ends of
    the intervals least often, as their length is known from five models only.
    """
    columns = ["word", "influence", "influence_low", "influence_high", "probability", "attention", "texts"]
    columns += ["texts_of_class", "total"]
    listed = words[words["listed"]].sort_values("total", ascending=False, kind="stable")
    first = {name: rows[columns].head(TOP) for name, rows in listed.groupby("class")}
    shorter = {"influence_low": "low", "influence_high": "high"}
    return {
        name: first[name].rename(columns=shorter).to_dict("records") if name in first else []
        for name in words["class"].unique()
    }


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


def deciding(words: pd.DataFrame, prepared: Prepared) -> list[dict]:
    """Words almost only texts of one class hold, and most of these do; those that stand together in one row."""
    labels = prepared.whole.labels.numpy()
    sizes = dict(zip(prepared.classes, np.bincount(labels).tolist()))
    rows = words.loc[words["texts"] >= ENOUGH, ["word", "class", "texts", "texts_of_class"]]
    size = rows["class"].map(sizes)
    rows = rows.assign(covered=rows["texts_of_class"] / size)
    others, usual = 1 - rows["texts_of_class"] / rows["texts"], 1 - size / len(labels)
    chosen = rows[(others <= (usual / FEWER).clip(upper=1 - NEARLY_ALL)) & (rows["covered"] >= HALF)]
    named: list[dict] = []
    for row in chosen.nlargest(10 * MOST_NAMED, "covered").to_dict("records"):
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


def leaks(words: pd.DataFrame, prepared: Prepared, trained: Trained) -> list[dict]:
    """Of the deciding words those without which the linear models are materially worse, with what these reach."""
    whole, types, result = prepared.whole, len(prepared.vocabulary), []
    labels = whole.labels.numpy()[trained.tested]
    for row in deciding(words, prepared):
        names, k = row.pop("words"), prepared.classes.index(row["class"])
        del row["held"]
        without = np.zeros((len(whole), whole.class_count))
        ids = tuple(prepared.vocabulary.id(name) for name in names)
        for fold, reader in zip(trained.folds, trained.readers):
            train, dev, test = (reader.read(whole, rows) for rows in (fold.train, fold.dev, fold.test))
            without[fold.test] += LinearBaseline(train, dev, types, trained.line, ids).probabilities(test)
        for name, probability in (("", trained.linear), ("_without", without[trained.tested])):
            right = probability.argmax(1) == labels
            row |= {f"recall{name}": float(right[labels == k].mean()), f"accuracy{name}": float(right.mean())}
        if max(row["recall"] - row["recall_without"], row["accuracy"] - row["accuracy_without"]) >= MATERIAL:
            result.append(row | {"word": ",".join(names)})
    return result


def examples(
    reader_of: Callable[[int], Reader],
    prepared: Prepared,
    spans: Callable[[str], list[tuple[int, int]]],
    tested: Int[np.ndarray, "tested"],
    probability: Float[np.ndarray, "tested classes"],
) -> dict[str, list[dict]]:
    """Of each class a text that is typical of it; the surest, the wrong and the unsure ones. No text stands twice.

    Parameters
    ----------
    reader_of : callable
        The model for which a text, by its place in ``prepared.whole``, was unseen.
    prepared : Prepared
    spans : callable
        Where the words of a text stand in it: ``Cutter.spans``.
    tested : Int[np.ndarray, "tested"]
        Places of the texts that were tested.
    probability : Float[np.ndarray, "tested classes"]
        What was said of them.
    """
    lengths = prepared.whole.lengths.numpy()[tested]
    chosen = choice(probability, prepared.whole.labels.numpy()[tested], lengths)
    return {
        kind: [
            example(reader_of(int(tested[i])), prepared, spans, int(tested[i]), probability[i]) for i in places.tolist()
        ]
        for kind, places in chosen.items()
    }


def choice(
    probability: Float[np.ndarray, "tested classes"],
    labels: Int[np.ndarray, "tested"],
    lengths: Int[np.ndarray, "tested"],
) -> dict[str, Int[np.ndarray, "chosen"]]:
    """Which of the tested texts are shown, as places among them.

    "typical" are those that were answered right with the median confidence of their class.
    """
    confidence, predicted = probability.max(1), probability.argmax(1)
    right, free = predicted == labels, lengths <= LONGEST

    def first(order: Int[np.ndarray, "tested"], allowed: Bool[np.ndarray, "tested"], count: int) -> np.ndarray:
        order = order[(allowed & free)[order]]
        order = order[np.argsort(lengths[order] > SHORT, kind="stable")][:count]
        free[order] = False
        return order

    falling = np.argsort(-confidence, kind="stable")
    typical = []
    for k in range(probability.shape[1]):
        mine = right & (labels == k)
        if mine.any():
            typical.append(first(np.argsort(abs(confidence - np.median(confidence[mine])), kind="stable"), mine, 1))
    return {
        "typical": np.concatenate([np.zeros(0, np.int64), *typical]),
        "sure": first(turns(falling, predicted), right, EACH),
        "wrong": first(falling, ~right, EACH),
        "unsure": first(falling[::-1], np.ones_like(right), EACH),
    }


def turns(order: Int[np.ndarray, "tested"], classes: Int[np.ndarray, "tested"]) -> Int[np.ndarray, "tested"]:
    """The same order, the classes taking turns."""
    turn = np.zeros_like(order)
    for k in np.unique(classes):
        mine = np.flatnonzero(classes[order] == k)
        turn[mine] = np.arange(len(mine))
    return order[np.argsort(turn, kind="stable")]


@torch.no_grad()
def example(
    reader: Reader,
    prepared: Prepared,
    spans: Callable[[str], list[tuple[int, int]]],
    place: int,
    probability: Float[np.ndarray, "classes"],
) -> dict:
    """One text: where its words stand, their attention and influence on the answer, and what would turn it.

    ``turned_by`` is None where no removal turns the answer, and with a recurrent encoder, where nobody knows it.
    ``word`` is None where the model does not know it.
    """
    corpus, answer = reader.read(prepared.whole, np.array([place])), int(probability.argmax())
    text, vocabulary, recurrent = prepared.texts[place], prepared.vocabulary, reader.model.recurrent is not None
    each, here = torch.arange(len(corpus.tokens)), torch.zeros(len(corpus.tokens), dtype=torch.long)
    _, values = word_values(reader.model, corpus, each, here)
    influence = values[:, push_columns(corpus.class_count)][:, answer]
    words = [
        {
            "start": start,
            "end": end,
            "word": None if token == vocabulary.unk else vocabulary.word(token),
            "attention": round(attention, 6),
            "influence": round(push, 6),
        }
        for (start, end), token, attention, push in zip(
            spans(text), corpus.tokens.tolist(), values[:, 1].tolist(), influence.tolist(), strict=True
        )
    ]
    flip = None if recurrent else minimal_flip_sets(reader.model, corpus)[0]
    return {
        "row": int(prepared.rows[place]),
        "text": text,
        "label": prepared.classes[int(corpus.labels[0])],
        "predicted": prepared.classes[answer],
        "confidence": float(probability.max()),
        "words": words,
        "turned_by": None if flip is None else flip.tolist(),
    }
