"""A made-up file of eight emotions, whose causes are known, and what ``uaftc explain`` says of it.

The texts come from templates, not from people: what a method finds here shows whether it could find it, not how people
write. A text has a frame, in which nothing tells its emotion, and mostly one cause: a word from which the emotion is
drawn. An adjective speaks for one emotion, a verb for one strongly and for another weakly (*despise*: hatred, and
sadness); beside one adjective of each emotion a thing stands in half of the texts that has nothing to say of its own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from uaftc_lib.experiments.registry import experiment, jobs_over

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
SEEDS = 10
ASKED = ("hatred", "despise")  # the class and the word of the question


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
    frame.to_csv(file, index=False)
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


@experiment(jobs_over(encoder=OPTIONS, seed=range(SEEDS)), rows=len(EMOTIONS))
def emotions(encoder: str, seed: int) -> list[dict]:
    """Made-up texts of eight emotions, through the command: for a class its words, for a word its classes."""
    return judged_lists(of_file(encoder, seed))


@experiment(jobs_over(seed=range(SEEDS)))
def hatred_and_despise(seed: int) -> list[dict]:
    """The two questions as they were asked: what drives hatred, its causes and their company, and what "despise" does.

    "part": of a word in hatred, as in :func:`truth`, or "company"; "chance": of the class, where the word stands.
    """
    words, true, chances = of_file("none", seed), truth(), causes()
    emotion, verb = ASKED
    part = true[true["class"] == emotion].set_index("word")["part"].to_dict() | {COMPANY[emotion]: "company"}
    asked = words[((words["class"] == emotion) & words["word"].isin(part)) | (words["word"] == verb)]
    return [
        {name: row[name] for name in ("word", "class", "influence", "listed")}
        | {"part": part[row["word"]], "chance": chances[row["class"]].get(row["word"], np.nan)}
        for row in asked.to_dict("records")
    ]
