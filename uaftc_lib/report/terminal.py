"""A report in a few lines, for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from uaftc_lib.report.quality import NEARLY_WHOLE, VERDICTS

NAMED = 8  # words of each class
WIDEST = 30  # characters of a class's name


def lines(report: dict, out: Path) -> Iterator[str]:
    """What must be seen, what was read, the verdict, the words of each class, and where the rest is."""
    pairs = [(cut(name), text) for name, text in headed(report, out)]
    width = max(14, *(len(name) + 1 for name, _ in pairs))
    return (f"{name:{width}}{text}" for name, text in pairs)


def cut(name: str) -> str:
    """A name that is too long ends with a sign of it."""
    return name if len(name) <= WIDEST else name[: WIDEST - 1] + "…"


def in_percent(value: float | None) -> str:
    """A share in percent, or a dash where it cannot be measured."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.1%}"


def headed(report: dict, out: Path) -> Iterator[tuple[str, str]]:
    """The same as pairs of a heading and a text."""
    rows, quality = report["rows"], report["quality"]
    for loud in report["loud"]:
        yield "take care", loud
    for reason, dropped in rows["dropped"].items():
        yield "dropped", f"{dropped:,}: {reason}"
    for note in report["notes"]:
        yield "note", note
    yield "used", f"{rows['used']:,} of {rows['read']:,} rows, {len(report['classes'])} classes"
    for name, key in (("attention", "attention"), ("linear model", "linear"), ("largest class", "majority")):
        found = quality[key]
        right, mean = in_percent(found["accuracy"]), in_percent(found["balanced_accuracy"])
        yield name, f"{right} right of unseen texts; mean over classes {mean}"
    yield from zip(("verdict", "because"), (text.format_map(quality) for text in VERDICTS[quality["verdict"]]))
    for one in report["deciding"]:
        tells = "nearly decides" if one["covered"] >= NEARLY_WHOLE else "by itself tells"
        found = f"{one['texts_of_class']:,} of its {one['texts']:,} texts are of this class; "
        found += f"{in_percent(one['covered'])} of the class's texts hold it"
        linear = f"{in_percent(one['recall'])} of the class with it and {in_percent(one['recall_without'])} without"
        yield "look at", f"{one['word']!r} {tells} {one['class']!r} ({found}); a linear model finds {linear}"
    for name, words in () if quality["verdict"] == "useless" else report["top_words"].items():
        listed = ", ".join(word["word"] for word in words[:NAMED]) or "no word"
        linear = ", ".join(report.get("linear_words", {}).get(name, [])[:NAMED])
        yield name, f"{listed}; the linear model: {linear}" if linear else listed
    if report["replaced"]:
        yield "replaced", ", ".join(report["replaced"])
    yield "written to", str(out / "report.html")
