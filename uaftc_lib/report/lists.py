"""Which words are listed under which class: where plain counts and the model agree.

The class is commoner among the texts that hold the word than among all, and the word pushes towards it, in both ways in
which that is measured. But words keep company, so one more is asked, which a word that only accompanies a cause cannot
answer: is the class commoner than the other words of these texts foretell? Where many words say the same none of them
adds to the others; then it is enough that neither a single stronger word accounts for the counts nor all stronger ones
together that have answered.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy import sparse, stats
from statsmodels.stats.multitest import multipletests

from uaftc_lib.corpus import Corpus, Vocabulary
from uaftc_lib.report.pushes import Pushes

FEWEST = 5  # texts that a word needs for an interval
FALSE_DISCOVERIES = 0.05  # share of what counts name that they may name by chance
ALONE = 0.01  # p of a word's counts without other words, above which these account for them
MOST_COMPARED = 2000  # words of a class that are compared with one another: those that do most in all
TOP = 15  # words shown for each class
LITTLE = 0.1  # push, as a share of the largest, below which a word is said to have little effect


class Units:
    """What is counted once: a text; or all texts of a class that are copies of one another or of one group.

    ``of``: texts of one number may be one unit.
    """

    def __init__(self, whole: Corpus, of: Int[np.ndarray, "texts"], types: int):
        labels, classes = whole.labels.numpy(), whole.class_count
        _, first, unit = np.unique(of * classes + labels, return_index=True, return_inverse=True)
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
    found: Int[np.ndarray, "words classes"], sizes: Float[np.ndarray, "classes"]
) -> Float[np.ndarray, "words classes"]:
    """p of each word and class: of the units that hold the word, would so many be of the class by chance?

    One-sided binomial test with the class's share of all units; conservative beside Fisher's exact test, as the word's
    own units are among them.
    """
    return stats.binom.sf(found - 1, found.sum(1, keepdims=True), sizes / sizes.sum())


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
    n, found = both.diagonal()[:, None] - both, of_both.diagonal()[:, None] - of_both
    by_one = stats.binom.sf(found - 1, n, of_class.mean())
    strongest = (held * (push * sure)).max(axis=1).toarray().ravel()  # sure word of a unit, by its push; 0: none
    row, word = held.nonzero()
    alone = strongest[row] <= push[word]
    n, found = (np.bincount(word[alone], some[row[alone]], len(words)) for some in (np.ones_like(of_class), of_class))
    by_all = stats.binom.sf(found - 1, n, of_class.mean())
    return ((by_one > ALONE) & (push[None, :] > push[:, None])).any(1) | (by_all > ALONE)


def false_discovery_rates(p: Float[np.ndarray, "words classes"]) -> Float[np.ndarray, "words classes"]:
    """Benjamini & Hochberg's correction over all words and classes of which there is a p."""
    found, there = np.full_like(p, np.nan), np.isfinite(p)
    if there.any():
        found[there] = multipletests(p[there], method="fdr_bh")[1]
    return found


def word_table(
    pushes: Pushes, vocabulary: Vocabulary, cluster: Int[np.ndarray, "texts"], all_words: bool = False
) -> pd.DataFrame:
    """A row for each word of at least five texts and each class; in tests a cluster counts once.

    ``all_words``: rarer words as well; they have no interval, no q, and are never listed.

    Columns: word, class, listed, influence with its interval, probability (mean fall of the class's probability when
    the word is taken out), attention (mean share), texts (that hold the word), texts_of_class (those of the class),
    total (influence × texts), q and q_beyond (false discovery rates of :func:`by_chance` and
    :meth:`~uaftc_lib.report.pushes.Pushes.beyond`).
    """
    whole, types = pushes.whole, len(vocabulary)
    each = Units(whole, np.arange(len(whole)), types)
    units = each if len(np.unique(cluster)) == len(cluster) else Units(whole, cluster, types)
    texts = each.counts()
    attention, push, reach, fall = pushes.means()
    known = (texts.sum(1) >= FEWEST) & np.isfinite(push).all(1) & np.isfinite(reach).all(1)
    told = np.isfinite(push).all(1) if all_words else known.copy()
    known[vocabulary.word_count :] = told[vocabulary.word_count :] = False
    reach[~known] = np.nan
    influence, probability, held = push[told], fall[told], texts[told].sum(1)[:, None]
    q, q_beyond = (
        false_discovery_rates(np.where(known[told, None], p, np.nan))
        for p in (by_chance(units.counts()[told], units.sizes), pushes.beyond()[told])
    )
    alike = np.ones_like(influence)
    candidate = (q <= FALSE_DISCOVERIES) & (influence > 0) & (probability > 0)
    listed, ids = candidate & (q_beyond <= FALSE_DISCOVERIES), np.flatnonzero(told)
    for k in range(whole.class_count):
        asked = np.flatnonzero(candidate[:, k])
        asked = asked[np.argsort(-influence[asked, k] * held[asked, 0], kind="stable")][:MOST_COMPARED]
        if len(asked):
            listed[asked, k] |= ~accounted_for(units, ids[asked], influence[asked, k], listed[asked, k], k)
    table = {
        "listed": listed,
        "influence": influence,
        "influence_low": influence - reach[told],
        "influence_high": influence + reach[told],
        "probability": probability,
        "attention": attention[told, None] * alike,
        "texts": held * alike.astype(int),
        "texts_of_class": texts[told],
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
    found = {name: rows[columns].head(TOP) for name, rows in listed.groupby("class")}
    shorter = {"influence_low": "low", "influence_high": "high"}
    return {
        name: found[name].rename(columns=shorter).to_dict("records") if name in found else []
        for name in words["class"].unique()
    }


def attended_without_effect(words: pd.DataFrame) -> list[dict]:
    """Of the words that hold most attention in all, up to ten that push least for the attention they get.

    These are a hundred, and at most a quarter of all. The push of a word is the range of its influences over the
    classes; only what is less than LITTLE of the largest among them counts as little, and no listed word does.
    """
    by_word = words.groupby("word", sort=False)
    push = by_word["influence"].max() - by_word["influence"].min()
    found = words.drop_duplicates("word").set_index("word")[["attention", "texts"]]
    found = found.assign(held=found["attention"] * found["texts"], influence=push, listed=by_word["listed"].any())
    found = found.nlargest(min(100, len(found) // 4), "held")
    found = found[(found["influence"] < LITTLE * found["influence"].max()) & ~found["listed"]]
    found = found.assign(effect=found["influence"] / found["attention"]).nsmallest(10, "effect")
    return found.reset_index()[["word", "attention", "influence", "texts"]].to_dict("records")
