"""Made-up files of texts and labels whose truth is known, by seed.

Each function gives a frame with the columns text and label, and the truth:

- "causes": for each class the words that raise it, and by how much (what they add to its logit, less the mean of what
  they add to all classes);
- "confounds": words that keep company with a cause and do nothing themselves, and which cause that is;
- "nulls": words as frequent as causes that have nothing to do with the label;
- "best accuracy": how often the class that is likeliest, if all of this were known, is the label.

Words are made of letters only, so that no rule for numbers applies to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, product

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

BACKGROUND = 2000  # words that fill the texts, common ones commoner as in language
LENGTHS = (8, 25)  # words of a text, planted ones not counted
SHARES = (0.03, 0.08)  # of the texts hold a planted word, from and to
STRONG, MODERATE = 2.4, 1.2  # log-odds
NAMES = "Anna Omar Ines Paul Mira Juan Lena Raj Nora Ivan Aiko Sven Dora Hugo Zoe Emil Ruth Karl Vera Luis".split()
MONTHS = "January March April June July September October November".split()


def spelling(first: str, count: int) -> list[str]:
    """That many words which begin with ``first``: no two alike, and none of any language."""
    syllables = ["".join(letters) for letters in product("bdfgklmnprstvz", "aeiou")]
    return [first + "".join(word) for word in islice(product(syllables, repeat=2), count)]


def background(draws: np.random.Generator, lengths: Int[np.ndarray, "texts"]) -> list[list[str]]:
    """Texts of these lengths of common and rare words."""
    words = np.array(spelling("wo", BACKGROUND), dtype=object)
    heights = np.cumsum(1 / (np.arange(BACKGROUND) + 2.7))
    ids = np.searchsorted(heights, draws.random(lengths.sum()) * heights[-1])
    return [part.tolist() for part in np.split(words[ids], lengths.cumsum()[:-1])]


def file_of(
    draws: np.random.Generator,
    rows: int,
    effects: Mapping[str, Float[np.ndarray, "classes"]],
    companions: Mapping[str, str],
    nulls: Sequence[str] = (),
    intercept: Float[np.ndarray, "classes"] | float = 0.0,
    shares: tuple[float, float] = SHARES,
    together: float = 0.5,
) -> tuple[pd.DataFrame, dict]:
    """Texts with planted words, labels drawn from the logits, which are the sums of the causes' effects.

    ``companions``: confound → cause. A confound is as frequent as its cause, and stands in the share ``together`` of
    the texts that hold it.
    """
    held: dict[str, Bool[np.ndarray, "rows"]] = {}
    for word in [*effects, *nulls]:
        held[word] = draws.random(rows) < draws.uniform(*shares)
    for word, cause in companions.items():
        share = held[cause].mean()
        alone = share * (1 - together) / (1 - share)
        held[word] = draws.random(rows) < np.where(held[cause], together, alone)
    logits = intercept + sum(np.outer(held[word], effect) for word, effect in effects.items())
    answers = (logits + draws.gumbel(size=logits.shape)).argmax(1)
    texts = background(draws, draws.integers(LENGTHS[0], LENGTHS[1] + 1, rows))
    for word, where in held.items():
        for row in np.flatnonzero(where).tolist():
            texts[row].insert(draws.integers(len(texts[row]) + 1), word)
    names = class_names(logits.shape[1])
    centred = {word: effect - effect.mean() for word, effect in effects.items()}
    truth = {
        "causes": {
            name: {word: float(effect[k]) for word, effect in centred.items() if effect[k] > 0}
            for k, name in enumerate(names)
        },
        "confounds": dict(companions),
        "nulls": [*nulls],
        "best accuracy": float((logits.argmax(1) == answers).mean()),
    }
    return pd.DataFrame({"text": map(" ".join, texts), "label": [names[k] for k in answers]}), truth


def class_names(classes: int) -> list[str]:
    return [f"class {letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:classes]]


def known_causes(
    seed: int,
    rows: int = 3000,
    classes: int = 2,
    strong: int = 5,
    moderate: int = 5,
    confounds: int = 5,
    nulls: int = 40,
    times: Sequence[int] = (),
) -> tuple[pd.DataFrame, dict]:
    """Known causes: so many strong and moderate ones for each class, and so many confounds of its strong ones.

    ``times``: by how many times each class's texts are made longer, with words that say nothing.

    Each planted word is in 3 to 8 % of the texts. Counts alone cannot tell a confound from a cause: half of its texts
    hold its cause. What asks for both words at once can.
    """
    draws, size = np.random.default_rng([seed, 1]), strong + moderate
    words, beside = spelling("ca", classes * size), spelling("co", classes * confounds)
    sizes = np.repeat([STRONG, MODERATE], [strong, moderate])
    effects = {word: sizes[i % size] * np.eye(classes)[i // size] for i, word in enumerate(words)}
    causes = (words[k * size + i % strong] for k in range(classes) for i in range(confounds))
    frame, truth = file_of(draws, rows, effects, dict(zip(beside, causes)), spelling("nu", nulls))
    if times:
        longer = np.array(times)[[class_names(classes).index(name) for name in frame["label"]]]
        more = background(draws, (longer - 1) * frame["text"].str.split().str.len().to_numpy())
        frame["text"] = [" ".join([text, *words]) for text, words in zip(frame["text"], more)]
    return frame, truth


def mixed_causes(
    seed: int, rows: int = 3000, classes: int = 2, own: int = 8, rare: float = 0.0
) -> tuple[pd.DataFrame, dict]:
    """So many causes of each class, rare and common ones, weak and strong ones; a confound to every second of them.

    A confound stands in seven of ten texts that hold its cause. ``rare``: taken from the logit of the last class.
    """
    draws, words = np.random.default_rng([seed, 8]), spelling("ca", classes * own)
    effects = {word: draws.uniform(1, 3) * np.eye(classes)[i % classes] for i, word in enumerate(words)}
    companions = dict(
        zip(spelling("co", len(words) // 2), (words[i] for i in range(len(words)) if not i // classes % 2))
    )
    intercept = -rare * np.eye(classes)[-1]
    return file_of(draws, rows, effects, companions, (), intercept, shares=(0.012, 0.16), together=0.7)


def label_first(
    seed: int, rows: int = 3000, times: Sequence[int] = (1, 1), own: int = 20, again: float = 0.0
) -> tuple[pd.DataFrame, dict]:
    """The label is drawn first, then the words: each class's own are 1.6 to 4 times as likely in its texts.

    ``times``: how many times as long each class's texts are. ``again``: in so many places stands a word that the text
    has already, as in speech.
    """
    draws, classes = np.random.default_rng([seed, 6]), len(times)
    words, names = np.array(spelling("wo", BACKGROUND), dtype=object), class_names(classes)
    chosen = draws.permutation(np.arange(20, 600))[: own * classes].reshape(classes, own)
    rates = np.tile(1 / (np.arange(BACKGROUND) + 1.0), (classes, 1))
    for k in range(classes):
        rates[k, chosen[k]] *= draws.uniform(1.6, 4, own)
    heights, labels = np.cumsum(rates, 1), draws.integers(0, classes, rows)
    lengths = (np.array(times)[labels] * draws.lognormal(np.log(14), 0.5, rows)).astype(int).clip(2)
    texts = []
    for k, length in zip(labels.tolist(), lengths.tolist()):
        text = np.searchsorted(heights[k], draws.random(length) * heights[k, -1])
        for place in np.flatnonzero(draws.random(length) < again).tolist():
            text[place] = text[draws.integers(max(place, 1))]
        texts.append(" ".join(words[text]))
    effects = np.log(rates * np.arange(1, BACKGROUND + 1))
    causes = {name: {words[i]: float(effects[k, i]) for i in chosen[k]} for k, name in enumerate(names)}
    truth = {"causes": causes, "confounds": {}, "nulls": [], "best accuracy": np.nan}
    return pd.DataFrame({"text": texts, "label": [names[k] for k in labels]}), truth


def random_labels(seed: int, rows: int = 3000, classes: int = 2, nulls: int = 60) -> tuple[pd.DataFrame, dict]:
    """Texts as those of :func:`known_causes`, and labels drawn beside them: any listed word is wrong."""
    draws = np.random.default_rng([seed, 2])
    return file_of(draws, rows, {}, {}, spelling("nu", nulls), np.zeros((rows, classes)))


def faint(seed: int, rows: int, share: float) -> pd.DataFrame:
    """Few rows, and in so many of them one word of five of a class, in 85 of 100 the right class."""
    draws = np.random.default_rng([seed, 7])
    labels = draws.integers(0, 2, rows)
    texts = background(draws, draws.lognormal(np.log(12), 0.5, rows).astype(int).clip(3))
    for row in np.flatnonzero(draws.random(rows) < share).tolist():
        side = labels[row] ^ (draws.random() < 0.15)
        texts[row].append(f"{'ab'[side]}word{'xyzuv'[draws.integers(5)]}")
    names = class_names(2)
    return pd.DataFrame({"text": map(" ".join, texts), "label": [names[k] for k in labels]})


def form_letters(seed: int, letters: int = 40, copies: int = 25, classes: int = 2) -> tuple[pd.DataFrame, dict]:
    """So many copies of each letter with other names, numbers and dates; each letter's label is drawn at random.

    What a model learns by heart of a letter it can say again of every copy, and nothing of another letter: of texts
    that are no copies of those it was trained on, no more than chance is right.
    """
    draws, names = np.random.default_rng([seed, 3]), class_names(classes)
    bodies = background(draws, draws.integers(30, 61, letters))
    rows = []
    for body, label in zip(bodies, draws.integers(classes, size=letters).tolist()):
        first, second = sorted(draws.choice(np.arange(5, len(body) - 4), 2, replace=False).tolist())
        for _ in range(copies):
            number, day, year = draws.integers([10_000, 1, 2015], [100_000, 29, 2026]).tolist()
            date = f"{day} {draws.choice(MONTHS)} {year}"
            parts = ["dear", str(draws.choice(NAMES)), *body[:first], date, *body[first:second], f"{number}"]
            rows.append({"text": " ".join([*parts, *body[second:], str(draws.choice(NAMES))]), "label": names[label]})
    truth = {"causes": dict.fromkeys(names, {}), "confounds": {}, "nulls": [], "best accuracy": 1 / classes}
    return pd.DataFrame(rows).sample(frac=1, random_state=seed, ignore_index=True), truth


def imbalanced(seed: int, rows: int = 3000) -> tuple[pd.DataFrame, dict]:
    """One class in about twenty texts, and plain signal: four words, one or more in most of its texts and few others.

    Who always answers the other class is right in 95 of 100 texts, and has seen nothing.
    """
    draws, words = np.random.default_rng([seed, 4]), spelling("ca", 4)
    effects = {word: np.array([0.0, 7.0]) for word in words}
    return file_of(draws, rows, effects, {}, spelling("nu", 40), np.array([0.0, -5.0]), shares=(0.011, 0.016))


def alike_classes(
    seed: int, rows: int = 6000, classes: int = 8, shared: int = 4, own: int = 2
) -> tuple[pd.DataFrame, dict]:
    """Eight classes round a circle; most causes raise five that stand together: neighbours share most of them.

    ``shared``: how many causes begin at each class; ``own``: how many raise it alone. A word may be listed under the
    classes that it raises and under no other: from all others it pushes away.
    """
    draws = np.random.default_rng([seed, 5])
    words, effects = iter(spelling("ca", classes * (shared + own))), {}
    for k in range(classes):
        raised = np.isin(np.arange(classes), (k + np.arange(5)) % classes)
        effects |= {next(words): STRONG * raised for _ in range(shared)}
        effects |= {next(words): STRONG * np.eye(classes)[k] for _ in range(own)}
    return file_of(draws, rows, effects, {}, spelling("nu", 40))
