"""Chapter 07_words_and_classes: what a word is worth, lists of words beside peers, several hops, parts of speech."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from scipy import sparse
from scipy.stats import rankdata, spearmanr
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from uaftc_book import rules
from uaftc_book.cases import Part, Tables, exceeds
from uaftc_book.claims import reading
from uaftc_book.controls import LOSSES, RUNS_OF_LABELS, at_loss, with_permuted_labels
from uaftc_book.neighbours.measured import looked_at
from uaftc_book.neighbours.yardsticks import agreement, gap, integrated_gradients, left_out
from uaftc_book.nulls import against_null, at_losses
from uaftc_book.panels import mean_weights
from uaftc_book.readings import column, lead
from uaftc_book.real_scores import rated_words
from uaftc_book.rules import resampled
from uaftc_book.small_data import SEEDS
from uaftc_lib import explain, files
from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import table2_cell, train_real
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.explain.contributions import contributions, leave_group_out
from uaftc_lib.explain.words import Pairs, influence_columns, word_instance_pairs
from uaftc_lib.models import AttentionClassifier, Output, StructuredClassifier, sum_by_instance
from uaftc_lib.plots import Figure
from uaftc_lib.plots.figure import render
from uaftc_lib.plots.summaries import itemised, number, titled
from uaftc_lib.plots.theme import GREEN, GREY, INK
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.train import PATIENCE, word_values
from uaftc_lib.scores import Types, examined_types
from uaftc_lib.token_lists import association, token_types
from uaftc_lib.training import Run, TrainingConfig, fit

# ---
# What a word is worth on texts that were not trained on, and what its scores and its weights tell of that.


LEAST_TEXTS = 5  # of the test set that must contain a word whose effect is measured
LEAST_COUNT = 6  # occurrences in training, as for a word of a list
PERMUTATIONS, LONGER = range(20), 20  # so many epochs more for permuted labels, which are learnt later
PROGRESS = ("is", "this", "progress")  # the short text of Section 5


class Effects(NamedTuple):
    """What deleting a word does to the texts that contain it, a mean over them; nan where there are none."""

    size: Float[Tensor, "types"]  # |s − s without the word|
    loss: Float[Tensor, "types"]  # the loss without the word, less the loss
    texts: Int[Tensor, "types"]


@torch.no_grad()
def effects(model: AttentionClassifier, corpus: Corpus) -> Effects:
    """Each word deleted from each text, all its occurrences at once: exact, in float64."""
    types = len(model.embedding)
    out = Output(*(values.double() for values in model(corpus)))
    pairs, pair_of = torch.unique(corpus.instance_of * types + corpus.tokens, return_inverse=True)
    text, word = pairs // types, pairs % types
    fall = leave_group_out(out, corpus, pair_of, text)
    y, s = corpus.signs.double()[text], out.polarity[text]
    rise = torch.nn.functional.softplus(-y * (s - fall)) - torch.nn.functional.softplus(-y * s)
    texts = torch.bincount(word, minlength=types)
    return Effects(*(sum_by_instance(values, word, types) / texts for values in (fall.abs(), rise)), texts)


@torch.no_grad()
def polar_heaviest(model: AttentionClassifier, corpus: Corpus, polar: Int[Tensor, "ids"]) -> dict[str, float]:
    """Of texts with polar words and others: how often a polar one weighs most, and the polar share of words."""
    weights, text = model(corpus).weights.double(), corpus.instance_of
    is_polar = torch.isin(corpus.tokens, polar).double()
    share = sum_by_instance(is_polar, text, len(corpus)) / corpus.lengths
    of_text = pd.Series(weights.numpy()).groupby(text.numpy())
    leads, mixed = is_polar[torch.tensor(of_text.idxmax().tolist())], (share > 0) & (share < 1)
    return {"polar leads": float(leads[mixed].mean()), "polar share": float(share[mixed].mean())}


def word_measures(model: AttentionClassifier, dataset: Dataset, types: Types) -> dict[str, float]:
    """Rank correlations over words, effects by list, who leads a text, and the scores of :data:`PROGRESS`.

    "score and effect": of the attention score with the effect on the test set ("weight": of its mean weight there;
    "loss": with the rise of the loss). "association and attention": of |γ| with the attention score ("polarity": with
    |s|). "effect positive": the mean effect of the words of a list.
    """
    a, s = (values.detach() for values in model.token_scores())
    found, count = effects(model, dataset.test), torch.bincount(dataset.train.tokens, minlength=len(a))
    weight, gamma = mean_weights(model, dataset.test)[0], association(dataset.train, dataset.vocabulary).abs()
    tested = (found.texts >= LEAST_TEXTS) & (count > 0)
    known = torch.zeros(len(a), dtype=torch.bool)
    known[: len(gamma)] = count[: len(gamma)] >= LEAST_COUNT
    row = {
        "score and effect": spearmanr(a[tested], found.size[tested]).statistic,
        "weight and effect": spearmanr(weight[tested], found.size[tested]).statistic,
        "score and loss": spearmanr(a[tested], found.loss[tested]).statistic,
        "weight and loss": spearmanr(weight[tested], found.loss[tested]).statistic,
        "words tested": int(tested.sum()),
        "association and attention": spearmanr(gamma[known], a[known]).statistic,
        "association and polarity": spearmanr(gamma[known], s.abs()[known]).statistic,
    }
    row |= {f"effect {name}": float(found.size[ids].nanmean()) for name, ids in types.items()}
    row |= polar_heaviest(model, dataset.test, torch.cat([ids for name, ids in types.items() if name != "neutral"]))
    return row | {f"attention {word}": float(a[dataset.vocabulary.id(word)]) for word in PROGRESS}


@experiment(jobs_over(labels="real", seed=SEEDS) + jobs_over(labels="permuted", seed=PERMUTATIONS))
def held_out_words(labels: str, seed: int) -> list[dict]:
    """SST, DP, λ = 10; held-out words under true and permuted labels, at the kept epoch and at equal losses."""
    data = load_dataset("sst")
    if labels == "permuted":
        data = with_permuted_labels(data, seed)
    types, cell = examined_types(data), table2_cell("sst", seed=seed)
    usual = cell.epochs
    cell = replace(cell, epochs=usual + LONGER * (labels == "permuted"))
    model, seen = cell.classifier(data, "cpu"), []

    def look(_epoch: int, now: AttentionClassifier) -> dict:
        seen.append(word_measures(now, data, types))
        return {}

    history = fit(model, data, cell.training(), record=look).history
    moments = {"kept": int(history["dev_accuracy"].iloc[: usual + 1].idxmax())}
    moments |= at_losses(history["loss"], LOSSES)
    return [
        {"lists": "training", "moment": moment, "epoch": epoch, "loss": history["loss"][epoch]} | seen[epoch]
        for moment, epoch in moments.items()
    ]


def difference_of(one: str, other: str) -> Callable[[pd.DataFrame], pd.Series]:
    """By how much a column exceeds another."""
    return lambda rows: column(rows, one) - column(rows, other)


READ = {  # claim -> case -> X − Y
    "score_is_importance": {
        "SST, the score by itself": lambda rows: column(rows, "score and effect"),
        "SST, the score minus the weight": difference_of("score and effect", "weight and effect"),
        "SST, rise of the loss, the score by itself": lambda rows: column(rows, "score and loss"),
        "SST, rise of the loss, the score minus the weight": difference_of("score and loss", "weight and loss"),
    },
    "polar_words_lead_texts": {"SST": difference_of("polar leads", "polar share")},
    "association_and_attention": {"SST": lambda rows: column(rows, "association and attention")},
    "association_and_polarity": {"SST": lambda rows: column(rows, "association and polarity")},
    "neutral_words_matter_less": {"SST": lambda rows: lead(rows, "effect")},
}


def parts_of(claim: str, tables: Tables) -> Iterator[Part]:
    """The kept epoch with real labels; the control is at equal training loss."""
    rows = tables("held_out_words")
    for case, value in READ[claim].items():
        kept = rows[(rows["labels"] == "real") & (rows["moment"] == "kept")] if len(rows) else rows
        part = exceeds(case, value(kept))
        yield replace(part, null=against_null(rows, value) if len(rows) else None)


for _claim in READ:
    reading(partial(parts_of, _claim), _claim)


# ---
# Lists of words beside those of other methods: what differs for sure, by pairs of the same file and seed.


OURS = "uaftc explain"
LESS_IS_BETTER = {"wrong_side", "confounds", "nulls", "processor_seconds"}


def ahead(rows: pd.DataFrame, file: str, method: str, measure: str, ours: str = OURS) -> rules.Interval | None:
    """How far ours is better than another method: mean over the seeds that both have, and its interval.

    None where fewer than two seeds have both numbers.
    """
    values = rows[rows["file"] == file].pivot(index="seed", columns="method", values=measure)
    pairs = values.reindex(columns=[ours, method]).dropna()
    if len(pairs) < 2:
        return None
    difference = (pairs[ours] - pairs[method]).to_numpy()
    return rules.interval(-difference if measure in LESS_IS_BETTER else difference)


def ranked(rows: pd.DataFrame, caption: str, ours: str, **options: object) -> Figure:
    """A bar for each row (name, mean, low, high), the worst on top; ours in colour, all others grey."""
    rows = rows.sort_values("mean", ignore_index=True)
    places, off = range(len(rows)), [rows["mean"] - rows["low"], rows["high"] - rows["mean"]]

    def draw(axes: Axes) -> list:
        axes.barh(places, rows["mean"], color=[(GREEN if name == ours else GREY, 0.5) for name in rows["name"]])
        axes.errorbar(rows["mean"], places, xerr=off, fmt="none", ecolor=INK, elinewidth=1.2, capsize=2.5)
        axes.axvline(0, color=INK, linewidth=0.7)
        axes.set_yticks(places, rows["name"])
        axes.grid(False, axis="y")
        axes.invert_yaxis()
        return []

    alt = itemised(
        f"{one.name}: {number(one.mean)} ({number(one.low)} to {number(one.high)})"
        for one in rows.itertuples(index=False)
    )
    return render(
        draw,
        rows[["name", "mean", "low", "high"]],
        caption,
        f"Bars{titled(**options)}, with 95 % intervals.{alt}",
        **options,
    )


# ---
# A made-up file of eight emotions, whose causes are known, and what ``uaftc explain`` says of it.
#
# The texts come from templates, not from people: what a method finds here shows whether it could find it, not how
# people write. A text has a frame, in which nothing tells its emotion, and mostly one cause: a word from which the
# emotion is drawn. An adjective speaks for one emotion, a verb for one strongly and for another weakly (*despise*:
# hatred, and sadness); beside one adjective of each emotion a thing stands in half of the texts that has nothing to
# say of its own.


ADJECTIVES = {  # of one emotion each; the first keeps company with the thing below
    "excitement": "thrilled eager exhilarated electrified exuberant",
    "hatred": "hostile spiteful bitter vengeful resentful",
    "sadness": "gloomy tearful heartbroken lonely miserable",
    "joy": "delighted cheerful blissful merry jolly",
    "fear": "frightened scared terrified anxious timid",
    "surprise": "astonished stunned baffled startled speechless",
    "gratitude": "thankful grateful indebted obliged touched",
    "calm": "relaxed peaceful serene rested composed",
}
VERBS = {  # verb -> the emotion it speaks for, and that for which it speaks weakly
    "anticipate": ("excitement", "fear"),
    "despise": ("hatred", "sadness"),
    "regret": ("sadness", "hatred"),
    "adore": ("joy", "gratitude"),
    "dread": ("fear", "sadness"),
    "discover": ("surprise", "excitement"),
    "appreciate": ("gratitude", "joy"),
    "accept": ("calm", "gratitude"),
}
COMPANY = dict(zip(ADJECTIVES, "concert traffic rain cake cellar parcel neighbours garden".split()))
EMOTIONS = tuple(ADJECTIVES)

OPENINGS = "today|this morning|last night|on monday|on friday|after lunch|before work|in the evening|at noon|this week"
OPENINGS += "|yesterday|once again|late in autumn|early in spring|during the break|over the weekend"
OPENINGS = OPENINGS.split("|")
PEOPLE = "sister brother uncle aunt cousin teacher manager driver doctor baker friend tenant".split()
DONE = "called|phoned|wrote to|visited|met|passed|helped|followed|greeted|saw|joined|drove|asked|answered".split("|")
THINGS = """letter meeting train bridge kitchen market lesson report ticket window bicycle library office river picnic
 journey museum station novel supper lecture holiday village harbour recipe bakery exhibition interview rehearsal
 schedule tournament apartment workshop festival seminar orchestra""".split()
PLACES = "home|town|the park|the corner|the school|the square|the coast|the hills|the hotel|the airport".split("|")
ENDINGS = "as usual|for a while|with the others|until ten|more than once|all day|and went on|since then".split("|")
FEELINGS = ("i feel {} about the {}", "i was {} after the {}", "we were {} over the {}", "i left {} after the {}")
DOINGS = ("i {} the {}", "we {} the {}", "i think i {} the {}", "all of us {} the {}")


@dataclass(frozen=True)
class File:
    """How the texts are made."""

    rows: int = 4000
    with_cause: float = 0.85  # share of the texts; the others' emotion is drawn from all alike
    own: float = 0.85  # how often an adjective's text is of its emotion; else of any, all alike
    strong: float = 0.6  # how often a verb's text is of its first emotion,
    weak: float = 0.3  # and of its second; else of any
    together: float = 0.5  # of the texts of the first adjective hold its company, and of the company's the adjective


FILE = File()
OPTIONS = {"none": (), "lstm": ("--encoder", "lstm", "--epochs", "8")}  # of the command, by what reads the words
SEEDS_OF_EMOTIONS = 10
ASKED_CLASS, QUESTION = "excitement", ("hatred", "despise")  # the classes and the word of the two questions


def causes(file: File = FILE) -> pd.DataFrame:
    """The truth: for each cause (rows) the probability of each emotion (columns) where it stands."""
    tables = {}
    for emotion, words in ADJECTIVES.items():
        for word in words.split():
            tables[word] = (1 - file.own) / len(EMOTIONS) + file.own * np.isin(EMOTIONS, emotion)
    rest = (1 - file.strong - file.weak) / len(EMOTIONS)
    for word, (first, second) in VERBS.items():
        tables[word] = rest + file.strong * np.isin(EMOTIONS, first) + file.weak * np.isin(EMOTIONS, second)
    return pd.DataFrame(tables, index=EMOTIONS).T


def truth() -> pd.DataFrame:
    """Word and class of every cause, and its part: "own", "strong" or "weak"; the company's words are none."""
    rows = [(word, emotion, "own") for emotion, words in ADJECTIVES.items() for word in words.split()]
    rows += [(word, emotion, part) for word, both in VERBS.items() for emotion, part in zip(both, ("strong", "weak"))]
    return pd.DataFrame(rows, columns=["word", "class", "part"])


def made(seed: int, file: File = FILE) -> pd.DataFrame:
    """The file: a frame with the columns text and label."""
    draws, table = np.random.default_rng([seed, 13]), causes(file)
    beside = {words.split()[0]: COMPANY[emotion] for emotion, words in ADJECTIVES.items()}
    share = 1 / len(table)  # of the texts with a cause, for each cause
    alone = share * (1 - file.together) / (1 - share)  # so that half of the company's texts hold the cause

    def one(words: Iterable[str]) -> str:
        return str(draws.choice([*words]))

    rows = []
    for _ in range(file.rows):
        cause = one(table.index) if draws.random() < file.with_cause else None
        thing = one(THINGS)
        for word, company in beside.items():
            if draws.random() < (file.together if word == cause else alone):
                thing = company
        said = f"the {one(PEOPLE)} noticed the {thing}" if cause is None else ""
        if cause is not None:
            said = one(DOINGS if cause in VERBS else FEELINGS).format(cause, thing)
        frame = f"{one(OPENINGS)} the {one(PEOPLE)} {one(DONE)} the {one(PEOPLE)} near {one(PLACES)}"
        ending = f"{one(ENDINGS)} , then from {one(PLACES)} to the {one(THINGS)}"
        parts = [f"{frame} to see the {one(THINGS)}", said, ending]
        chances = np.full(len(EMOTIONS), 1 / len(EMOTIONS)) if cause is None else table.loc[cause].to_numpy()
        rows.append({"text": " , ".join(parts), "label": str(draws.choice(EMOTIONS, p=chances))})
    return pd.DataFrame(rows)


def explained(frame: pd.DataFrame, folder: Path, *options: str) -> pd.DataFrame:
    """words.csv of the command ``uaftc explain``, run on a file of these texts in this folder, with these options.

    Raises
    ------
    RuntimeError
        If the command refuses; with what it says.
    """
    file, out = folder / "emotions.csv", folder / "report"
    files.write(file, frame.to_csv(index=False))
    command = ["explain", str(file), "--text", "text", "--label", "label", "--out", str(out), *options]
    ran = subprocess.run(
        [sys.executable, "-c", "from uaftc_lib.cli import app; app()", *command], capture_output=True, text=True
    )
    if ran.returncode:
        raise RuntimeError(f"uaftc {' '.join(command)} failed: {ran.stderr[-2000:]}")
    return pd.read_csv(out / "words.csv", keep_default_na=False, na_values=[""])


def listed_words(words: pd.DataFrame, emotion: str) -> list[str]:
    """The first question: the words that are listed under a class, those that do most in all first."""
    own = words[(words["class"] == emotion) & words["listed"]]
    return own.sort_values("total", ascending=False, kind="stable")["word"].tolist()


def classes_of(words: pd.DataFrame, word: str) -> pd.Series:
    """The second question: a word's influence on each class, the largest first."""
    own = words[words["word"] == word].set_index("class")["influence"]
    return own.sort_values(ascending=False, kind="stable")


def by_counts(words: pd.DataFrame, word: str, emotion: str) -> bool:
    """Whether plain counts, held to the report's false discovery rate of 5 %, give the word to the class."""
    own = words[(words["word"] == word) & (words["class"] == emotion)]
    return bool((own["q"] <= 0.05).any())


def judged_lists(words: pd.DataFrame) -> list[dict]:
    """A row for each class: how its list compares with the truth, and whether its verb is answered rightly.

    precision: the share of its list that speaks for it, strongly or weakly; "recall own", "strong" and "weak": of the
    words of these parts; company: whether the thing that keeps company with a cause is listed; "company by counts":
    whether counts alone would list it; "strong leads": its verb has the largest influence on it; "weak is second": the
    next largest on the other emotion of the verb.
    """
    true, rows = truth(), []
    for emotion in EMOTIONS:
        own, listed = true[true["class"] == emotion], listed_words(words, emotion)
        row = {
            "class": emotion,
            "listed": len(listed),
            "precision": float(np.mean([word in set(own["word"]) for word in listed])) if listed else np.nan,
            "company": float(COMPANY[emotion] in listed),
            "company by counts": float(by_counts(words, COMPANY[emotion], emotion)),
            "in its order": " ".join(listed[:12]),
        }
        for part in ("own", "strong", "weak"):  # of no word some emotions are the weak one
            row[f"recall {part}"] = own.loc[own["part"] == part, "word"].isin(listed).mean()
        verb, (_, second) = next((verb, both) for verb, both in VERBS.items() if both[0] == emotion)
        order = classes_of(words, verb).index.tolist()
        known = len(order) > 1
        row |= {"verb": verb, "strong leads": float(known and order[0] == emotion)}
        rows.append(row | {"weak is second": float(known and order[:2] == [emotion, second])})
    return rows


def of_file(encoder: str, seed: int) -> pd.DataFrame:
    """words.csv of the made-up texts of a seed."""
    with TemporaryDirectory() as folder:
        return explained(made(seed), Path(folder), "--seed", str(seed), *OPTIONS[encoder])


@experiment(jobs_over(encoder=OPTIONS, seed=range(SEEDS_OF_EMOTIONS)), rows=len(EMOTIONS))
def emotions(encoder: str, seed: int) -> list[dict]:
    """Made-up texts of eight emotions, through the command: for a class its words, for a word its classes."""
    return judged_lists(of_file(encoder, seed))


READERS = {"words": "none", "LSTM": "lstm", "GRU": "gru"}  # and what the model calls them
ATTENTIONS = {"dot": "dot", "tanh": "additive"}
LAMS = (0.3, 1.0, 10.0, 100.0)
FILES_OF_READER = {"words": SEEDS_OF_EMOTIONS, "LSTM": rules.LEAST_SEEDS, "GRU": rules.LEAST_SEEDS}
ORDERS = {"association": "association", "lift": "lift", "influence × texts": "total"}  # and their columns
LEAST_TEXTS_OF_ORDER = 5  # of the unseen fifth that must hold a word: lift says little of rare ones


def split_in_three(frame: pd.DataFrame, seed: int) -> Dataset:
    """Seven tenths of the texts to train on, one to choose the epoch, and a fifth that no model has seen."""
    texts = [text.replace(",", " ").split() for text in frame["text"]]
    vocabulary = Vocabulary(sorted({word for text in texts for word in text}))
    labels = [EMOTIONS.index(label) for label in frame["label"]]
    ids = [[vocabulary.id(word) for word in text] for text in texts]
    whole = Corpus.from_lists(ids, labels, len(EMOTIONS), EMOTIONS)
    drawn = torch.from_numpy(np.random.default_rng([seed, 32]).permutation(len(whole)))
    train, dev, test = (
        whole[part.sort().values] for part in drawn.tensor_split([7 * len(whole) // 10, 8 * len(whole) // 10])
    )
    return Dataset("emotions", vocabulary, EMOTIONS, train, dev, test)


@torch.no_grad()
def word_class_orders(model: AttentionClassifier, data: Dataset) -> pd.DataFrame:
    """Of each word of the unseen texts and each class: association J = QPᵀ, its lift, and influence times texts.

    Over a recurrent encoder the influence is what the logit loses when the text is read again without the word.
    """
    types, classes = len(model.embedding), model.classes
    word, instance, pair_of = word_instance_pairs(data.test, types)
    _, values = word_values(model, data.test, pair_of, instance)
    sums = Pairs(word.numpy(), instance.numpy(), types, len(data.test)).sums(values)
    enough = np.flatnonzero(sums[:, 0] >= LEAST_TEXTS_OF_ORDER)
    columns = influence_columns(sums, classes)
    columns["total"] = columns["influence"] * columns["support"]
    words = np.array([data.vocabulary.word(i) for i in enough.tolist()], dtype=object)
    keys = {"word": words.repeat(classes), "class": np.tile(np.array(data.classes, dtype=object), len(words))}
    return pd.DataFrame(keys | {name: columns[name][enough].ravel() for name in ORDERS.values()})


def judged_order(words: pd.DataFrame, column: str) -> dict[str, float]:
    """How often an order answers both questions rightly, means over the emotions.

    true: of the first words of an emotion, as many as speak for it, the share that do; company: whether the thing
    that accompanies its first adjective is among them; "strong leads", "weak is second": of its verb's emotions.
    """
    rows, true = [], truth()
    for verb, (emotion, second) in VERBS.items():
        own = set(true.loc[true["class"] == emotion, "word"])
        first = set(words[words["class"] == emotion].nlargest(len(own), column)["word"])
        order = words[words["word"] == verb].nlargest(2, column)["class"].tolist()
        row = {"true": len(own & first) / len(own), "company": COMPANY[emotion] in first}
        rows.append(row | {"strong leads": order[:1] == [emotion], "weak is second": order == [emotion, second]})
    return pd.DataFrame(rows).astype(float).mean().to_dict()


def trained_reader(
    reader: str, attention: str, lam: float, labels: str, seed: int
) -> tuple[AttentionClassifier, Dataset, Run]:
    """A model of the made-up file of a seed, trained as the report trains, left at the best epoch on dev."""
    frame = made(seed)
    if labels == "permuted":
        frame["label"] = np.random.default_rng([seed, 31]).permutation(frame["label"])
    data = split_in_three(frame, seed)
    settings = {"encoder": READERS[reader], "attention": ATTENTIONS[attention], "classes": len(EMOTIONS), "seed": seed}
    model = AttentionClassifier(len(data.vocabulary), Settings().dimension, lam, **settings)
    config = Settings().training(len(data.train), seed)
    run = fit(model, data, config, best="loss", progress=False, patience=PATIENCE)
    with torch.no_grad():
        model.W -= model.W.mean(1, keepdim=True)  # what all logits have in common decides nothing
    return model, data, run


@experiment(
    [
        job
        for reader, files in FILES_OF_READER.items()
        for job in jobs_over(
            reader=[reader], attention=ATTENTIONS, lam=LAMS, labels=["real", "permuted"], seed=range(files)
        )
    ],
    rows=len(ORDERS),
)
def emotions_by_attention(reader: str, attention: str, lam: float, labels: str, seed: int) -> list[dict]:
    """The question's own construction on made-up emotions: attention times class probabilities, for both questions.

    With real and permuted labels, over words as they are, an LSTM and a GRU; "largest weight": median over the unseen
    texts; accuracy: on them.
    """
    model, data, run = trained_reader(reader, attention, lam, labels, seed)
    with torch.no_grad():
        out = model(data.test)
    largest = out.weights.new_zeros(len(data.test)).scatter_reduce(0, data.test.instance_of, out.weights, "amax")
    row = {
        "best_epoch": run.best_epoch,
        "accuracy": float((out.polarity.argmax(1) == data.test.labels).double().mean()),
        "largest weight": float(largest.median()),
    }
    words = word_class_orders(model, data)
    return [{"method": name} | row | judged_order(words, column) for name, column in ORDERS.items()]


@experiment(jobs_over(lam=(1.0, 10.0), seed=range(rules.LEAST_SEEDS)))
def asked_of_attention(lam: float, seed: int) -> list[dict]:
    """The forum's own model, an LSTM with dot-product attention: both questions by association.

    For the class :data:`ASKED_CLASS` its first words, in their order ("part": as in :func:`truth`, or none), as many as
    it has causes; for the word of :data:`QUESTION` the share of its association with each class, and the chance that
    the text it stands in is of this class.
    """
    model, data, _ = trained_reader("LSTM", "dot", lam, "real", seed)
    words, true, verb = word_class_orders(model, data), truth(), QUESTION[1]
    own = true[true["class"] == ASKED_CLASS].set_index("word")["part"]
    first = words[words["class"] == ASKED_CLASS].nlargest(len(own), "association")
    of_verb = words[words["word"] == verb].set_index("class")["association"]
    return [
        {"word": word, "class": ASKED_CLASS, "part": own.get(word, "none"), "share": np.nan, "chance": np.nan}
        for word in first["word"]
    ] + [
        {"word": verb, "class": name, "part": "verb", "share": of_verb[name] / of_verb.sum(), "chance": chance}
        for name, chance in causes().loc[verb].items()
    ]


ENOUGH = 0.8  # of an emotion's first words that must be causes, or of the verbs whose first class must come first
IN_WORDS = {"words": "words", "LSTM": "an LSTM", "GRU": "a GRU"}  # what attention pools


def both_answers(rows: pd.DataFrame) -> pd.DataFrame:
    """Both questions, answered by association over an LSTM at each λ (:func:`asked_of_attention`), and the truth.

    The first words of a class in the first file; the shares of a word's association, means over the files.
    """
    verb, true = QUESTION[1], truth()
    of_class, of_verb = rows[rows["class"].eq(ASKED_CLASS) & rows["word"].ne(verb)], rows[rows["word"] == verb]
    words = of_class[of_class["seed"] == 0].groupby("lam")["word"].agg(", ".join).rename(index="λ = {:g}".format)
    words["truth"] = ", ".join(true.loc[true["class"] == ASKED_CLASS, "word"])
    shares = of_verb.pivot_table(index="lam", columns="class", values="share").rename(index="λ = {:g}".format)
    shares.loc["truth"] = of_verb.groupby("class")["chance"].mean()
    two = shares.loc["truth"].nlargest(2).index
    table = pd.DataFrame({f"first words for {ASKED_CLASS}": words}).rename_axis("")
    return table.assign(**{f"{verb}: {name}": shares[name].map("{:.0%}".format) for name in two}).reset_index()


def is_function_word(word: str) -> bool:
    """Whether a word is one of scikit-learn's function words, an ending ("n't", "'s") or without a letter."""
    return word in ENGLISH_STOP_WORDS or word.startswith("'") or word == "n't" or not any(map(str.isalpha, word))


def as_frame(data: Dataset) -> pd.DataFrame:
    """All texts of a data set as a file of one's own has them; "n t" and "s", as the corpora have them, are whole."""
    rows = [
        (" ".join(data.text(split, i)), data.classes[label])
        for split, corpus in data.splits.items()
        for i, label in enumerate(corpus.labels.tolist())
    ]
    texts, labels = zip(*rows)
    whole = [re.sub(r"\b(s|ll|re|ve)\b", r"'\1", re.sub(r"\bn t\b", "n't", text)) for text in texts]
    return pd.DataFrame({"text": whole, "label": labels})


def embedded(page: str, title: str) -> str:
    """A whole page inside another one."""
    inside = f'class="report" title="{escape(title)}" loading="lazy" srcdoc="{escape(page)}"'
    return f"<div><iframe {inside}></iframe></div>"


# ---
# How alike the hops of structured attention are, and whether each has something of its own to look at.


EVEN = 1e-4  # a hop is even over a text if its weights or scores spread by less than this share of their size
SIGN, FUNCTION, OTHER_WORD = "sign", "function word", "other"

Hops = Float[Tensor, "positions hops"]


def grams(values: Hops, corpus: Corpus) -> Float[Tensor, "instances hops hops"]:
    """Σ_j x_jr x_jq of each instance, for all pairs of hops."""
    rows = [sum_by_instance(one.unsqueeze(1) * values, corpus.instance_of, len(corpus)) for one in values.unbind(1)]
    return torch.stack(rows, 1)


def pairs_of(matrices: Float[Tensor, "instances hops hops"]) -> Float[Tensor, "instances pairs"]:
    """The entries of two different hops, each pair once."""
    one, other = torch.triu_indices(*matrices.shape[1:], offset=1)
    return matrices[:, one, other]


def correlations(values: Hops, corpus: Corpus) -> Float[Tensor, "instances pairs"]:
    """Pearson's correlation of each two hops over the positions of an instance; nan where one of the two is even.

    It is 1 for equal hops and 0, on average, where the positions of one are shuffled, however sharp or diffuse the two
    are: mean and spread are taken out. So diffuse hops are alike only if they lean to the same words. (The products of
    weights in Lin's ‖AAᵀ − I‖² tell sharp hops on one word from all others; the weight that two hops have in common is
    large for any two that are diffuse.)
    """
    values = values.double()
    means = sum_by_instance(values, corpus.instance_of, len(corpus)) / corpus.lengths.unsqueeze(1)
    rest = values - means[corpus.instance_of]
    squares = sum_by_instance(rest**2, corpus.instance_of, len(corpus))
    size = sum_by_instance(values**2, corpus.instance_of, len(corpus))
    norms = torch.where(squares > EVEN**2 * size, squares, torch.nan).sqrt()
    return pairs_of(grams(rest / norms[corpus.instance_of], corpus))


def mutual_information(table: Float[Tensor, "groups hops"]) -> float:
    """Mutual information of hop and group, in bits, where column r has the weight of hop r by group and sums to 1."""
    joint = table / table.shape[1]
    expected = joint.sum(1, keepdim=True) / table.shape[1]
    ratio = torch.where(joint > 0, joint / expected, 1.0)
    return float((joint * ratio.log2()).sum())


def told_by_hop(weights: Hops, group: Int[Tensor, "positions"], corpus: Corpus) -> float:
    """What the hop tells of the group of the words that it weighs (:func:`mutual_information`).

    A text is drawn, then a hop, then a position by its weights.
    """
    return mutual_information(sum_by_instance(weights.double(), group, int(group.max()) + 1) / len(corpus))


def kinds(data: Dataset) -> tuple[list[str], Int[Tensor, "types"]]:
    """Names of kinds of words, and the kind of each type: what the lists of Eq 28 have, signs, function words, others.

    A word of a class's list is of that kind whatever else it is; function words are scikit-learn's.
    """
    lists = token_types(data.train, data.vocabulary)
    names = [*data.classes, "neutral", SIGN, FUNCTION, OTHER_WORD]
    kind = torch.full((len(data.vocabulary),), names.index(OTHER_WORD))
    kind[lists["neutral"]] = names.index("neutral")
    words = data.vocabulary.words
    for name, holds in (
        (FUNCTION, lambda word: word in ENGLISH_STOP_WORDS),
        (SIGN, lambda word: not any(map(str.isalpha, word))),
    ):
        kind[torch.tensor([i for i, word in enumerate(words) if holds(word)], dtype=torch.long)] = names.index(name)
    for side, name in enumerate(data.classes if len(data.classes) > 2 else ("negative", "positive")):
        kind[lists[name]] = side
    return names, kind


# ---
# Structured self-attention (Lin et al. 2017) at full size: how many hops, how strong a penalty, and what hops do.


@dataclass(frozen=True)
class Grid:
    """What is trained. The encoder is an LSTM in both directions; λ = 1, as Lin et al. divide by nothing."""

    datasets: tuple[str, ...] = ("sst", "20news-2")
    hops: tuple[int, ...] = (1, 3, 10, 30)
    penalties: tuple[float, ...] = (0.0, 0.03, 1.0)
    seeds: int = 3
    chosen_seeds: int = 10  # of the chosen model, of the same with projections, and of one hop without a penalty
    dimension: int = 100
    hidden: int = 50  # of each direction
    lam: float = 1.0


GRID = Grid()
# Data set -> hops and penalty: of several hops the simplest whose mean dev accuracy on the stored grid lies within one
# standard error of the best (Breiman et al. 1984); fewer hops are simpler, then a smaller penalty. Tests recompute it.
CHOSEN: dict[str, dict[str, float]] = {"sst": {"hops": 3, "penalty": 0.0}, "20news-2": {"hops": 10, "penalty": 0.0}}
EPOCHS = {0.0: 4, 0.03: 4, 1.0: 8}  # of each penalty: where it is strong the hops part first, the classes come late
CONFIG = {"optimizer": "adam", "learning_rate": 0.003, "batch_size": 50, "dropout": 0.5}


def structured_jobs(chosen: dict[str, dict[str, float]] = CHOSEN) -> list[dict]:
    """The grid, first seeds first; then more seeds of what is chosen, of it with projections, and of one hop."""
    run = {"dataset": GRID.datasets, "hops": GRID.hops, "penalty": GRID.penalties, "projections": False}
    grid = jobs_over(seed=range(GRID.seeds), **run)
    further = [
        {"dataset": dataset, **settings, "projections": projections, "seed": seed}
        for seed, (dataset, one) in product(range(GRID.chosen_seeds), chosen.items())
        for settings, projections in ((one, False), (one, True), ({"hops": 1, "penalty": 0.0}, False))
    ]
    return [dict(job) for job in dict.fromkeys(tuple(job.items()) for job in grid + further)]


def trained_model(
    data: Dataset, hops: int, penalty: float, projections: bool, seed: int, **changed: int
) -> tuple[StructuredClassifier, Run]:
    """A model of the grid, left at the epoch of the best dev accuracy; ``changed``: the number of its epochs."""
    sizes = {"hidden": GRID.hidden, "classes": len(data.classes)}
    options = {"encoder": "lstm", "hops": hops, "projections": projections, "seed": seed} | sizes
    model = StructuredClassifier(len(data.vocabulary), GRID.dimension, GRID.lam, **options)
    config = TrainingConfig(**({"epochs": EPOCHS[penalty]} | CONFIG | changed), penalty=penalty, seed=seed)
    return model, fit(model, data, config, progress=False)


@torch.no_grad()
def looked_into(model: StructuredClassifier, data: Dataset) -> dict[str, float]:
    """How alike two hops are on the test set, nan of one hop; and what the hop tells of the kind of word."""
    weights = model(data.test).weights
    alike = correlations(weights, data.test).nanmean() if weights.shape[1] > 1 else float("nan")
    kind = kinds(data)[1][data.test.tokens]
    return {"correlation of weights": float(alike), "kind, bits": told_by_hop(weights, kind, data.test)}


@experiment(structured_jobs(), rows=1)
def structured(dataset: str, hops: int, penalty: float, projections: bool, seed: int) -> list[dict]:
    """Structured self-attention on all texts: quality, how alike its hops are, what they specialise in."""
    data = load_dataset(dataset)
    model, run = trained_model(data, hops, penalty, projections, seed)
    told = {"dev_accuracy": run.dev_accuracy, "test_accuracy": run.test_accuracy, "best_epoch": run.best_epoch}
    return [told | {"early loss": run.history["loss"].iloc[0]} | looked_into(model, data)]


@experiment(jobs_over(seed=range(GRID.seeds), dataset=CHOSEN), rows=1)
def structured_permuted(dataset: str, seed: int) -> list[dict]:
    """A control: the chosen model on training texts whose labels mean nothing, left at its last epoch."""
    data = load_dataset(dataset)
    mixed = replace(with_permuted_labels(data, seed), dev=None)
    model, run = trained_model(mixed, **CHOSEN[dataset], projections=False, seed=seed)
    return [{"test_accuracy": run.test_accuracy, "best_epoch": run.best_epoch} | looked_into(model, data)]


# ---
# The plain yardstick beside structured attention: tf-idf and logistic regression on the same words and splits.


STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # C, 1 / regularisation; of equals on dev the smallest is taken


def counts_of_words(corpus: Corpus, types: int) -> sparse.csr_matrix:
    """How often each word occurs in each instance: "instances types"."""
    counts = sparse.csr_matrix((np.ones(len(corpus.tokens)), corpus.tokens, corpus.offsets), (len(corpus), types))
    counts.sum_duplicates()
    return counts


def linear(data: Dataset) -> dict[str, float]:
    """Accuracies of a logistic regression on tf-idf, of the strength that is best on dev."""
    weigh = TfidfTransformer(sublinear_tf=True).fit(counts_of_words(data.train, len(data.vocabulary)))
    features = {
        name: weigh.transform(counts_of_words(split, len(data.vocabulary))) for name, split in data.splits.items()
    }
    labels = {name: split.labels.numpy() for name, split in data.splits.items()}
    fitted = [LogisticRegression(C=C, max_iter=2000).fit(features["train"], labels["train"]) for C in STRENGTHS]
    best = max(fitted, key=lambda model: model.score(features["dev"], labels["dev"]))
    scores = {f"{name}_accuracy": best.score(features[name], labels[name]) for name in ("dev", "test")}
    return {"C": best.C} | {name: float(value) for name, value in scores.items()}


@experiment(jobs_over(dataset=GRID.datasets), rows=1)
def tfidf_baseline(dataset: str) -> list[dict]:
    """What tf-idf and logistic regression reach where structured attention is tried."""
    return [linear(load_dataset(dataset))]


# ---
# Are heavily weighted words adjectives and adverbs? By the lists of WordNet, beside words of the same frequency.


WORDNET = "UAFTC_WORDNET"  # environment variable: the folder of WordNet's files, if not Debian's
FOLDER = "/usr/share/wordnet"
MOST, BESIDE = 100, 5  # words of most weight, and how many others of nearest frequency each is held against
DESCRIBING, NOUN_OR_VERB, BOTH, UNLISTED = CLASSES = ("adjective or adverb", "noun or verb", "ambiguous", "unlisted")
INFLECTIONS = {  # of inflected forms, and of their base: the rules of WordNet's own look-up
    "noun": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("ies", "y"),
             ("men", "man")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip


def word_lists(folder: Path | None = None) -> dict[str, tuple[set[str], set[str]]]:
    """Of "noun", "verb", "adj" and "adv": the words of WordNet, and the irregular forms of some.

    Raises
    ------
    FileNotFoundError
        If WordNet's files are not there.
    """
    folder = folder or Path(os.environ.get(WORDNET, FOLDER))
    if not (folder / "index.adj").is_file():
        raise FileNotFoundError(
            f"no WordNet in {folder}: install Debian's wordnet-base, or set {WORDNET} to the folder of index.adj"
        )

    def first(name: str) -> set[str]:
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        return {line.split(" ")[0] for line in lines if line[:1].strip()}

    return {name: (first(f"index.{name}"), first(f"{name}.exc")) for name in INFLECTIONS}


def word_class(word: str, lists: Mapping[str, tuple[set[str], set[str]]]) -> str:
    """One of :data:`CLASSES`; ambiguous: WordNet has it, or its base form, on both sides."""

    def listed(name: str) -> bool:
        words, irregular = lists[name]
        bases = (
            word[: -len(end)] + base for end, base in INFLECTIONS[name] if word.endswith(end) and len(word) > len(end)
        )
        return word in words or word in irregular or any(base in words for base in bases)

    describes, other = listed("adj") or listed("adv"), listed("noun") or listed("verb")
    return (BOTH if other else DESCRIBING) if describes else NOUN_OR_VERB if other else UNLISTED


def of_same_frequency(top: Iterable[int], counts: np.ndarray, most: int = BESIDE) -> list[list[int]]:
    """For each of some words the others of nearest count, of those that are not among them."""
    top = list(top)
    others = np.setdiff1d(np.arange(len(counts)), top)
    logs = np.log(counts)
    return [others[np.argsort(abs(logs[others] - logs[i]), kind="stable")[:most]].tolist() for i in top]


def class_shares(ranked_by: np.ndarray, counts: np.ndarray, classes: list[str]) -> list[dict]:
    """A row a class: how many of the :data:`MOST` first words are of it, and how many of words of their frequency."""
    top = np.argsort(-ranked_by, kind="stable")[:MOST]
    own = Counter(classes[i] for i in top)
    matched = Counter(classes[j] for near in of_same_frequency(top, counts) for j in near)
    return [{"class": name, "words": own[name], "matched": matched[name] / BESIDE} for name in CLASSES]


@experiment(jobs_over(seed=SEEDS), rows=2 * len(CLASSES))
def parts_of_speech(seed: int) -> list[dict]:
    """SST, DP, λ = 10: of the words of most weight in the test set, or of the highest scores, how many of which class.

    "matched": of five words of the nearest frequency for each. Words that occur six times in training, and in the test
    set. Needs WordNet's files (:data:`WORDNET`).
    """
    lists, data = word_lists(), load_dataset("sst")
    model, _ = train_real(data, seed=seed)
    counts = torch.bincount(data.train.tokens, minlength=len(model.embedding))
    weights, tested = mean_weights(model, data.test)
    known = ((counts >= LEAST_COUNT) & (tested > 0)).nonzero().squeeze(1)
    known = known[known < data.vocabulary.word_count]
    classes = [word_class(data.vocabulary.word(i), lists) for i in known.tolist()]
    ranked = {"weight": weights, "score": model.token_scores().attention.detach()}
    return [
        {"by": by} | row
        for by, values in ranked.items()
        for row in class_shares(values[known].double().numpy(), counts[known].double().numpy(), classes)
    ]


def describing(rows: pd.DataFrame, counted: tuple[str, ...] = (DESCRIBING,)) -> pd.Series:
    """The share of adjectives and adverbs among listed words, less that among words of the same frequency; by seed.

    Ambiguous words count on neither side, unless they are among ``counted``.
    """

    def share(name: str) -> pd.Series:
        by_class = rows.pivot(index="seed", columns="class", values=name).reindex(columns=CLASSES, fill_value=0)
        ours = by_class[[*counted]].sum(axis=1)
        return ours / (ours + by_class[NOUN_OR_VERB])

    return share("words") - share("matched") if len(rows) else pd.Series(dtype=float)


@reading
def heavy_words_describe(tables: Tables) -> Iterator[Part]:
    for by, name in (("weight", "mean weight"), ("score", "attention score")):
        rows = tables("parts_of_speech", by=by)
        yield exceeds(f"SST, {name}", describing(rows))
        yield exceeds(f"SST, {name}, ambiguous words counted as adjectives", describing(rows, (DESCRIBING, BOTH)))


# ---
# How far three measures of a word's influence agree where an LSTM reads (Table 2's DP-L), and where none does (DP).
#
# Contribution α_j s_j, with the state that has read the whole text; leave-one-out, the fall of the logit when the
# text is read again without the word (Li et al. 2016); integrated gradients of the logit along the embeddings
# (Sundararajan et al. 2017). All have a sign. With more than two classes the logit of a class is its own less the
# mean of all, so each class is looked at as if it stood against the rest.


Positions = Float[np.ndarray, "positions"]


@dataclass(frozen=True)
class Asked:
    """What is measured of which models."""

    datasets: tuple[str, ...] = ("sst", "20news-2")
    models: tuple[str, ...] = ("DP", "DP-L")  # without the LSTM and with it
    lam: float = 10.0
    seeds: int = 10
    steps: int = 16  # of the rule by which gradients are integrated
    positions: int = 40_000  # of texts, drawn, on which they are: SST's test set is smaller
    least_texts: int = 5  # that must hold a word, at positions where all three are known
    leading: int = 20  # words of a class
    shuffles: int = 20  # of one measure within each text: what agreement comes from the texts alone


ASKED = Asked()
MEASURES_OF_INFLUENCE = ("contribution", "leave-one-out", "integrated")


def against_rest(model: AttentionClassifier, k: int) -> AttentionClassifier:
    """A copy of two classes whose logit is that of class k less the mean of all; of two classes: the model itself."""
    if model.binary:
        return model
    one = deepcopy(model)
    one.W = nn.Parameter((model.W[:, k] - model.W.mean(1)).detach())
    one.classes, one.binary = 2, True
    return one


def one_against_rest(corpus: Corpus, k: int) -> Corpus:
    """The same texts; positive are those of class k."""
    return replace(corpus, labels=(corpus.labels == k).long(), class_count=2, classes=())


def influences(model: AttentionClassifier, corpus: Corpus, seed: int = 0, asked: Asked = ASKED) -> dict[str, Positions]:
    """The three measures of every position, by name; nan where a text was not read again, or not integrated."""
    return {
        "contribution": contributions(model, corpus).double().numpy(),
        "leave-one-out": left_out(model, corpus, seed=seed).whole,
        "integrated": integrated_gradients(model, corpus, asked.steps, asked.positions, seed),
    }


def dealt_anew(
    values: Positions, known: Bool[np.ndarray, "positions"], text: Int[np.ndarray, "positions"], seed: int
) -> Positions:
    """The known values of each text, dealt out anew among the positions at which they stood."""
    where = np.flatnonzero(known)
    order = np.lexsort((np.random.default_rng(seed).random(len(where)), text[where]))
    mixed = values.copy()
    mixed[where] = values[where[order]]
    return mixed


def by_word(
    values: Positions, known: Bool[np.ndarray, "positions"], corpus: Corpus, types: int, least: int
) -> Float[np.ndarray, "types"]:
    """The mean of each word over its known positions; nan for words that too few texts hold there."""
    tokens, text = corpus.tokens.numpy()[known], corpus.instance_of.numpy()[known]
    texts = np.bincount(np.unique(text * types + tokens) % types, minlength=types)
    means = np.bincount(tokens, values[known], types) / np.bincount(tokens, minlength=types).clip(1)
    return np.where(texts >= least, means, np.nan)


def common(one: Float[np.ndarray, "types"], other: Float[np.ndarray, "types"], leading: int) -> float:
    """The share that the leading words by two measures have in common."""
    first, second = (set(pd.Series(values).nlargest(leading).index) for values in (one, other))
    return len(first & second) / leading


def of_words(
    x: Positions,
    y: Positions,
    known: Bool[np.ndarray, "positions"],
    corpus: Corpus,
    types: int,
    both: bool,
    asked: Asked,
) -> dict[str, float]:
    """Spearman's correlation of two measures over words, and what their leading words share; ``both``: at both ends."""
    one, other = (by_word(values, known, corpus, types, asked.least_texts) for values in (x, y))
    ends = [common(sign * one, sign * other, asked.leading) for sign in ((1, -1) if both else (1,))]
    there = np.isfinite(one) & np.isfinite(other)
    return {"rho": spearmanr(one[there], other[there]).statistic, "leading": float(np.mean(ends))}


def agreed(
    found: dict[str, Positions], corpus: Corpus, types: int, both: bool, seed: int = 0, asked: Asked = ASKED
) -> dict[str, float]:
    """How far the measures of one logit agree, pair by pair, where all three are known.

    - tau: Kendall's, within texts, the mean; of the signed values and "tau of sizes" of the absolute ones;
    - rho: Spearman's, over words of their mean signed influence; leading: the share that their leading words have in
      common, at both ends where ``both`` classes are read off one logit;
    - "rho shuffled" and "leading shuffled": the same where the second measure is dealt out anew within each text, so
      that words keep their texts and lose what is their own; the mean over shuffles.
    """
    known = np.logical_and.reduce([np.isfinite(values) for values in found.values()])
    row = {
        "words": float(
            np.isfinite(by_word(found[MEASURES_OF_INFLUENCE[0]], known, corpus, types, asked.least_texts)).sum()
        )
    }
    masked = {name: np.where(known, values, np.nan) for name, values in found.items()}
    text = corpus.instance_of.numpy()
    for pair in combinations(MEASURES_OF_INFLUENCE, 2):
        name, (x, y) = ", ".join(pair), (masked[one] for one in pair)
        row[f"tau {name}"] = agreement(x, y, corpus).mean()
        row[f"tau of sizes {name}"] = agreement(abs(x), abs(y), corpus).mean()
        row |= {f"{what} {name}": v for what, v in of_words(x, y, known, corpus, types, both, asked).items()}
        chance = pd.DataFrame(
            of_words(x, dealt_anew(y, known, text, seed + k), known, corpus, types, both, asked)
            for k in range(asked.shuffles)
        ).mean()
        row |= {f"{what} shuffled {name}": float(value) for what, value in chance.items()}
    return row


def leaders(
    values: Positions, corpus: Corpus, words: Sequence[str], asked: Asked = ASKED
) -> tuple[list[str], list[str]]:
    """The words of the largest mean influence, and those of the least, of those that stand in enough texts."""
    known = np.isfinite(values)
    means = pd.Series(by_word(values, known, corpus, len(words), asked.least_texts), list(words)).dropna()
    return means.nlargest(asked.leading).index.tolist(), means.nsmallest(asked.leading).index.tolist()


def over_classes(
    model: AttentionClassifier, corpus: Corpus, words: Sequence[str], asked: Asked = ASKED
) -> dict[str, float | str]:
    """:func:`agreed` and the gap of the integration; with more than two classes the mean over classes.

    "words, ..." are the leading words of each class by each measure, at the same positions, as JSON; ``words`` names
    every type.
    """
    rows, lists = [], {name: {} for name in MEASURES_OF_INFLUENCE}
    for k in range(1 if model.binary else model.classes):
        one = against_rest(model, k)
        texts = corpus if model.binary else one_against_rest(corpus, k)
        found = influences(one, texts, asked=asked)
        row = agreed(found, texts, len(model.embedding), model.binary, asked=asked)
        rows.append(row | {"integrated gap": gap(one, found["integrated"], texts)})
        known = np.logical_and.reduce([np.isfinite(values) for values in found.values()])
        for name, values in found.items():
            most, least = leaders(np.where(known, values, np.nan), texts, words, asked)
            lists[name] |= (
                {corpus.classes[1]: most, corpus.classes[0]: least} if model.binary else {corpus.classes[k]: most}
            )
    told = {f"words, {name}": json.dumps(of_classes) for name, of_classes in lists.items()}
    return pd.DataFrame(rows).mean().to_dict() | told


@experiment(jobs_over(seed=range(ASKED.seeds), dataset=ASKED.datasets, model=ASKED.models), rows=1)
def recurrent_influence(dataset: str, model: str, seed: int) -> list[dict]:
    """Table 2's models at λ = 10, the test set: how far contribution, leave-one-out and integrated gradients agree."""
    data = load_dataset(dataset)
    trained, run = train_real(data, model=model, lam=ASKED.lam, seed=seed)
    corpus, words = looked_at(data), [data.vocabulary.word(i) for i in range(len(data.vocabulary))]
    told = {"best_epoch": run.best_epoch, "early loss": run.history["loss"].iloc[:5].mean()}
    told |= {"test_accuracy": run.test_accuracy, "texts": len(corpus)}
    return [told | over_classes(trained, corpus, words)]


TOKENS = {"none": 15_000, "lstm": 11_000}  # that a model of several hops is trained on, about


def thinned(data: Dataset, most: int = 130_000) -> tuple[Dataset, int]:
    """One text in so many that this many tokens are left to train on, under a vocabulary of their own; in how many.

    Most of the time of a short run goes into the rows of its vocabulary, also of words that no text holds any more.
    """
    every = -(-len(data.train.tokens) // most)
    if every == 1:
        return data, every
    parts, words = {name: split[::every] for name, split in data.splits.items()}, data.vocabulary.word_count
    left = torch.cat([part.tokens for part in parts.values()]).unique()
    left = left[left < words]
    vocabulary = Vocabulary([data.vocabulary.word(i) for i in left.tolist()])
    ids = torch.arange(len(data.vocabulary)) - words + vocabulary.word_count  # right for the specials, which come last
    ids[left] = torch.arange(len(left))
    parts = {name: replace(part, tokens=ids[part.tokens]) for name, part in parts.items()}
    return Dataset(data.name, vocabulary, data.classes, **parts), every


def hop_model(data: Dataset, encoder: str, projections: bool) -> StructuredClassifier:
    """A small model of three hops that has read a part of the texts, for seconds: what is exact can be seen on it."""
    step = max(1, len(data.train.tokens) // TOKENS[encoder])  # not the first ones: the file may be sorted
    part = Dataset(data.name, data.vocabulary, data.classes, data.train[::step])
    options = {"hops": 3, "projections": projections, "hidden": 15, "classes": len(data.classes)}
    model = StructuredClassifier(len(data.vocabulary), 30, 1.0, encoder, **options)
    fit(model, part, TrainingConfig(epochs=3, penalty=0.03, learning_rate=0.05, batch_size=25), progress=False)
    return model


TELLS = {  # what is correlated with what
    "attention with |influence|": ("attention", "size"),
    "lift with influence": ("lift", "influence"),
    "attention score with attention": ("attention_score", "attention"),
    "attention score with influence": ("attention_score", "influence"),
}


def two_scores(data: Dataset, lam: float, seed: int, mirrored: bool = False) -> dict[str, float]:
    """Table 2's DP: test accuracy, and rank correlations over the words of five test texts or more.

    Attention and influence are those on the last class. ``mirrored``: from −W instead of W.
    """
    model, run = train_real(data, mirrored, lam=lam, seed=seed)
    words = explain.word_class_influence(model, data)
    words = words[(words["support"] >= 5) & (words["class"] == data.classes[-1])]
    words = words.assign(size=words["influence"].abs())
    tells = {name: spearmanr(words[x], words[y], nan_policy="omit").statistic for name, (x, y) in TELLS.items()}
    return {"epochs": run.best_epoch, "test accuracy": run.test_accuracy} | tells


@experiment(
    jobs_over(seed=SEEDS, dataset=("sst", "20news-1"), lam=(0.01, 1.0, 10.0, 100.0), mirrored=(False, True)), rows=1
)
def parting(dataset: str, lam: float, seed: int, mirrored: bool) -> list[dict]:
    """Table 2's DP at four λ: what both scores of a word tell of its attention and influence; from W₀ and from −W₀."""
    return [two_scores(load_dataset(dataset), lam, seed, mirrored)]


def rank_agreement(
    data: pd.DataFrame, quantities: Sequence[str], yardstick: str, replicates: int = 500
) -> pd.DataFrame:
    """Spearman's correlation of each quantity with the yardstick over the rows, with bootstrap intervals of 95 %.

    The same samples of rows serve all quantities, so that they can be compared in pairs: quantities measured on the
    same rows may differ for sure though their own intervals overlap. Rows that lack a number are left out.

    Returns
    -------
    DataFrame
        quantity, correlation, low, high; behind, behind_low, behind_high: how far it is behind the best; rows. The
        best first.

    Raises
    ------
    ValueError
        If fewer than three rows are complete.
    """
    numbers = data[[*quantities, yardstick]].dropna().astype(float)
    if len(numbers) < 3:
        raise ValueError(f"rank correlation needs three complete rows, got {len(numbers)}")
    rows, numbers = np.arange(len(numbers)), numbers.to_numpy()

    def correlations(rows: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "quantities"]:
        return np.corrcoef(rankdata(numbers[rows], axis=0).T)[-1, :-1]  # spearmanr, of two columns too

    def behind(rows: Int[np.ndarray, "rows"]) -> Float[np.ndarray, "quantities"]:
        now = correlations(rows)
        return now[best] - now

    best = correlations(rows).argmax()
    told = {"quantity": list(quantities), "correlation": correlations(rows)}
    told["low"], told["high"] = resampled(correlations, len(rows), replicates)
    told["behind"] = behind(rows)
    told["behind_low"], told["behind_high"] = resampled(behind, len(rows), replicates)
    told["rows"] = len(rows)
    return pd.DataFrame(told).sort_values("correlation", ascending=False, ignore_index=True)


def felt(model: AttentionClassifier, corpus: Corpus, rated: pd.DataFrame) -> dict[str, float]:
    """Rank correlations with people's ratings, over the rated words of five texts or more: with strength and with side.

    Strength is |rating − 2|, with which signed quantities are compared by their size; the side is its sign, where it
    has one. Attention weights and influence are means over the corpus, as in :mod:`uaftc_lib.explain`.
    """
    out, types = model(corpus), len(model.embedding)
    texts = torch.unique(corpus.instance_of * types + corpus.tokens) % types
    held_by = torch.bincount(texts, minlength=types)
    ids = torch.as_tensor(rated["rank"].to_numpy() - 1)
    words = rated[(held_by[ids] >= 5).numpy()]
    ids = torch.as_tensor(words["rank"].to_numpy() - 1)
    alone = model.token_scores()
    of_texts = {"weight": out.weights, "influence": out.weights * out.token_polarity}
    quantities = {name: sum_by_instance(values, corpus.tokens, types) / held_by for name, values in of_texts.items()}
    quantities |= {"attention score": alone.attention, "polarity score": alone.polarity}
    found, rating = {"words": len(words)}, words["rating"] - 2
    for name, values in quantities.items():
        mine = pd.Series(values[ids].double().numpy(), index=words.index)
        size = mine.abs() if name in ("influence", "polarity score") else mine
        found[f"{name}, strength"] = spearmanr(size, rating.abs()).statistic
        found[f"{name}, side"] = spearmanr(mine[rating != 0], np.sign(rating[rating != 0])).statistic
    return found


@experiment(
    jobs=[{"labels": labels, "seed": s} for labels in ("real", "permuted") for s in range(RUNS_OF_LABELS[labels])],
    rows=1,
)
def ratings_felt(labels: str, seed: int) -> list[dict]:
    """SST at λ = 10, real and permuted labels, at equal loss: how near each quantity comes to people's ratings."""
    data = whole = load_dataset("sst")
    if labels == "permuted":
        data = with_permuted_labels(data, seed)
    rated = rated_words(whole)

    @torch.no_grad()
    def look(now: AttentionClassifier) -> dict:
        return felt(now, whole.test, rated)

    epoch, loss, found = at_loss(data, labels, seed, look)
    return [{"epoch": epoch, "loss": loss} | found]
