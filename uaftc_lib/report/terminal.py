"""A report in a few lines, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from uaftc_lib.report.quality import VERDICTS

NAMED = 8  # words of each class


def lines(report: dict, out: Path) -> Iterator[str]:
    """What must be seen, what was read, the verdict, the words of each class, and where the rest is."""
    return (f"{name:14}{text}" for name, text in told(report, out))


def told(report: dict, out: Path) -> Iterator[tuple[str, str]]:
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
        yield name, f"{found['accuracy']:.1%} right of unseen texts; mean over classes {found['balanced_accuracy']:.1%}"
    yield from zip(("verdict", "because"), (text.format_map(quality) for text in VERDICTS[quality["verdict"]]))
    for one in report["deciding"]:
        found = f"{one['texts_of_class']:,} of its {one['texts']:,} texts"
        linear = f"{one['recall']:.1%} of the class with it and {one['recall_without']:.1%} without"
        yield "look at", f"{one['word']!r} nearly decides {one['class']!r} ({found}); a linear model finds {linear}"
    for name, words in report["top_words"].items():
        yield name[:13], ", ".join(word["word"] for word in words[:NAMED]) or "no word"
    if report["replaced"]:
        yield "replaced", ", ".join(report["replaced"])
    yield "written to", str(out / "report.html")
