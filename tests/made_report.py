"""A report and its table of words as the judge stage hands them on, made up: for tests of what is written."""

import re

import numpy as np
import pandas as pd

from uaftc_lib.report.write import Rows

HOSTILE = ('<script>alert("class")</script>', '"><img src=x onerror=alert(1)>', "=HYPERLINK(1)", "]]></style>{{7*7}}")
SCRIPTS = ("שלום", "مرحبا", "中", "ไ", "👩🏽‍🚀", "c++", "3.5", "e-mail", "@name", "#tag", "naïve", "o'clock")
HARD = ("</script><script>alert(2)</script>", "<b>bold</b>", "=1+1", "${x}", "a=b&c", "100%", "\u202eturned", "y" * 300)


def made_report(
    classes=("spam", "ham"), words=60, texts=400, verdict="sure", special=(*SCRIPTS, *HARD), seed=0, encoder="none"
) -> tuple[dict, pd.DataFrame]:
    """Texts of random words, of which each class has three that push towards it; numbers that fit together.

    ``verdict``: "nothing", "open", "sure", or "linear is better", which is sure as well.
    """
    random = np.random.default_rng(seed)
    K = len(classes)
    types = [*special, *(f"word{i}" for i in range(words))] + [f"mark{k}{i}" for k in range(K) for i in range(3)]
    labels = np.arange(texts) % K
    draws = [random.choice(len(special) + words, 8) for _ in range(texts)]
    drawn = [[types[i] for i in row] + [f"mark{k}{random.integers(3)}"] * (random.random() < 0.9)
             for row, k in zip(draws, labels.tolist())]  # fmt: skip
    drawn = [list(random.permutation(row)) for row in drawn]
    holds = np.array([[word in row for row in map(set, drawn)] for word in types])
    counts = np.stack([holds[:, labels == k].sum(1) for k in range(K)], 1)
    influence = random.normal(0, 0.05, (len(types), K))
    half = random.uniform(0.05, 0.3, (len(types), K))
    for k in range(K):
        influence[[types.index(f"mark{k}{i}") for i in range(3)], k] += (2.5, 2.0, 1.5)
        half[types.index(f"mark{k}2"), k] = 3  # listed, and far from sure
    influence -= influence.mean(1, keepdims=True)
    n = holds.sum(1)
    frame = pd.DataFrame({"word": np.repeat(types, K), "class": list(classes) * len(types)})
    frame = frame.assign(
        listed=influence.ravel() > 0.5,
        influence=influence.ravel(),
        influence_low=(influence - half).ravel(),
        influence_high=(influence + half).ravel(),
        probability=np.tanh(influence.ravel()) / 2,
        attention=np.repeat(random.uniform(0, 0.4, len(types)), K),
        texts=np.repeat(n, K),
        texts_of_class=counts.ravel(),
        share_low=(counts / n[:, None]).ravel() / 2,
        share_high=(1 + counts / n[:, None]).ravel() / 2,
        total=(influence * n[:, None]).ravel(),
        q=random.uniform(0, 1, influence.size),
        q_beyond=random.uniform(0, 1, influence.size),
    )
    if verdict == "nothing":
        frame["listed"] = False
    return report_of(frame, classes, drawn, labels, verdict, encoder, random), frame


def made_texts(special=(*SCRIPTS, *HARD), texts=12) -> list[dict]:
    """Texts of words that are hard to show: each with where its words stand and what they push."""
    random, made = np.random.default_rng(0), []
    for t in range(texts):
        text = "  ".join(random.permutation([*special, "mark00"])[:9]) + " !"
        spans = [match.span() for match in re.finditer(r"\S+", text)][:-1]
        words = [{"span": span, "word": text[slice(*span)], "influence": random.normal()} for span in spans]
        made.append({"row": t + 1, "text": text, "words": words})
    return made


def made_rows(report, texts=None) -> Rows:
    """What the files say of single rows; ``texts``: :func:`made_texts`."""
    texts = texts or made_texts()

    def sentences(shown: list[str]) -> dict:
        lines = []
        for t, one in enumerate(texts):
            end, words = 0, []
            for word in one["words"]:
                place = shown.index(word["word"]) if word["word"] in shown else -1
                words += [word["span"][0] - end, word["span"][1] - word["span"][0], place, 3]
                words += [round(100 * word["influence"])]
                end = word["span"][1]
            lines.append([one["row"], t % 2, 0, 0.9 - t / 100, int(t == 1), one["text"], words, []])
        return {"of": len(texts), "texts": lines}

    names = [each["name"] for each in report["classes"]]
    row = {"row": 8, "label": names[0], "answer": names[1], "probability": 0.9, "label_probability": 0.05}
    table = pd.DataFrame([row | {"suspect": 1, "words": "=mark10 +2.00"}])
    return Rows(table, sentences, None, "<b>because</b>")


def report_of(frame, classes, drawn, labels, verdict, encoder, random) -> dict:
    better = verdict == "linear is better"
    share = {name: float((labels == k).mean()) for k, name in enumerate(classes)}
    top = {}
    for name, rows in frame[frame["listed"]].groupby("class"):
        rows = rows.rename(columns={"influence_low": "low", "influence_high": "high"}).nlargest(15, "total")
        top[name] = rows.drop(columns=["class", "listed", "q", "q_beyond"]).to_dict("records")
    bins = [
        {"low": x, "high": x + 0.1, "instances": 40, "confidence": x + 0.05, "accuracy": x} for x in (0.5, 0.7, 0.9)
    ]
    right = {"accuracy": 0.8, "low": 0.75, "high": 0.85, "balanced_accuracy": 0.79}
    judged = right | {"confidence": 0.85, "calibration_error": 0.03, "calibration": bins}
    of_mark = frame.loc[frame["word"] == "mark00", ["texts", "texts_of_class"]].iloc[0].to_dict()

    return {
        "version": "0", "file": "<u>&file.csv",
        "columns": {"text": "<i>text</i>", "label": "'label'"} | dict.fromkeys(("group", "split", "time", "compare")),
        "rows": {"read": len(labels) + 7, "used": len(labels), "dropped": {"no text": 7}},
        "loud": ["12 % of the rows went: <b>the same</b> words under different labels"],
        "notes": ["A note"], "cut": "Words are runs of letters and digits", "tested": "folds",
        "copies": {"near": 12, "clusters": len(labels) - 6},
        "classes": [
            {"name": name, "texts": n, "tested": n, "right": 3, "recall": 3 / n}
            for name, n in zip(classes, np.bincount(labels).tolist())
        ],
        "shares": share, "vocabulary": {"words": frame["word"].nunique(), "rare": 4321},
        "settings": {"encoder": encoder, "ngrams": 1, "epochs": 30, "rounds": 1, "seed": 0},
        "model": None,
        "quality": {
            "verdict": "sure" if better else verdict, "linear_is_better": better, "length_tells": False,
            "tested": len(labels), "independent": len(labels) - 6, "largest_class": 0,
            "log_loss": {"model": 0.4, "prior": 0.69, "linear": 0.42, "length": 0.69},
            "auc": {"model": 0.91, "linear": 0.9, "length": 0.5, "low": 0.88, "high": 0.93, "z": 14.0},
            "attention": judged, "linear": judged, "length": right, "majority": right,
            "margin": {"accuracy": -0.01, "low": -0.03, "high": 0.01},
        },
        "top_words": {name: [] if verdict == "nothing" else top.get(name, []) for name in classes},
        "listed": frame.groupby("class")["listed"].sum().to_dict(),
        "linear_words": {name: ["mark00", "word1"] for name in classes} if better else {},
        "deciding": [] if verdict == "nothing" else [{
            "word": "mark00", "form": "", "class": classes[0], **of_mark,
            "covered": 0.97, "recall": 0.98, "recall_without": 0.55, "accuracy": 0.9, "accuracy_without": 0.7,
        }],
        "suspect_labels": 1, "compared": None if verdict == "nothing" else {
            "column": "<i>group</i>", "groups": [{"name": name, "texts": 200} for name in ("<b>A</b>", "y" * 300)],
            "shuffled": 0.25,
            "words": {name: [{
                "word": word, "group": "<b>A</b>", "difference": 0.3, "low": 0.12, "high": 0.48,
                "a": {"texts": 40.0, "of_class": 33.0, "expected": 0.48}, "q": 0.01,
                "b": {"texts": 2041.0, "of_class": 1020.0, "expected": 0.46},
            } for word in ("mark00", "<b>bold</b>", "y" * 300)] * 6 * (verdict == "sure") for name in classes},
        },
        "attended_without_effect": [{"word": "word2", "attention": 0.4, "influence": 0.01, "texts": 50}],
    }  # fmt: skip
