"""The three files of a report. The page needs no network, and no word in it can become markup."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from functools import partial
from importlib import resources
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
from jaxtyping import Float
from markupsafe import Markup

from uaftc_lib.explain.words import FEWEST
from uaftc_lib.report.quality import VERDICTS
from uaftc_lib.report.settings import ENOUGH_TEST, LEAST

SHOWN_NUMBERS = 500_000  # of words in the page; words.csv has all
SHOWN_WORDS = 5000
PER_CLASS = ("influence", "influence_low", "influence_high", "influence_seed_low", "influence_seed_high")
PER_CLASS += ("leave_one_out", "lift")


def write(report: dict, words: pd.DataFrame, folder: Path) -> None:
    """words.csv, report.json and report.html, each put in place whole."""
    page = render(report, words)
    folder.mkdir(parents=True, exist_ok=True)
    put(folder / "words.csv", harmless(words).to_csv(index=False, lineterminator="\n", float_format="%.6g"))
    put(folder / "report.json", as_json(report))
    put(folder / "report.html", page)


def as_json(report: dict) -> str:
    """The report, its table of words a line for each column."""
    plain = finite(report)
    columns = [f"{dumped(name)}: {dumped(column)}" for name, column in plain.pop("words").items()]
    head = dumped(plain, indent=1).removesuffix("\n}")
    return head + ',\n "words": {\n  ' + ",\n  ".join(columns) + "\n }\n}\n"


dumped = partial(json.dumps, ensure_ascii=False, allow_nan=False)


def put(path: Path, text: str) -> None:
    """Write beside the place and then move there, so that a reader never sees half a file."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(text.encode("utf-8", "replace"))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def harmless(words: pd.DataFrame) -> pd.DataFrame:
    """Class names that a spreadsheet would take for a formula get an apostrophe in front."""

    def plain(name: str) -> str:
        return f"'{name}" if name[:1] in "=+-@\t\r" and not is_number(name) else name

    return words.assign(**{"class": words["class"].map({name: plain(name) for name in words["class"].unique()})})


def is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def finite(value):
    """The same for JSON: plain numbers, and None for what is not finite."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value


def word_rows(words: pd.DataFrame, classes: int, listed: set[str]) -> list[list]:
    """What the page's table holds: the words that it lists, and then those that moved most in all, one row each.

    [word, support, attention, influences, lower and upper ends over texts, the same over runs, leave-one-out,
    lifts], from the influences on by class; None where there is no such number.
    """
    wanted = min(SHOWN_WORDS, SHOWN_NUMBERS // (len(PER_CLASS) * classes))
    shape = (-1, classes)
    moved = words["influence"].abs().to_numpy().reshape(shape).max(1)
    moved = moved * words["support"].to_numpy().reshape(shape)[:, 0]
    named = words["word"].iloc[::classes].isin(listed).to_numpy()
    order = np.lexsort([-moved, ~named])[: max(wanted, named.sum())]
    by_class = words.reindex(columns=PER_CLASS)  # one run has no intervals over runs
    columns = [rounded(by_class[name].to_numpy(float).reshape(shape)[order]) for name in PER_CLASS]
    first = words.iloc[order * classes]
    alone = first["word"].tolist(), first["support"].tolist(), rounded(first["attention"].to_numpy(float))
    return [list(row) for row in zip(*alone, *columns)]


def rounded(values: Float[np.ndarray, "..."]) -> list:
    """Four digits are enough to read; None for what is not finite."""
    finite = np.isfinite(values)
    digits = 10.0 ** (3 - np.floor(np.log10(np.abs(values, where=finite, out=np.ones_like(values)).clip(1e-12))))
    return np.where(finite, np.round(values * digits) / digits, None).tolist()


def own(name: str) -> str:
    """A file of this room that goes into the page."""
    return (resources.files("uaftc_lib.report") / name).read_text(encoding="utf-8")


def fingerprint(source: str) -> str:
    """How a content policy names an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def render(report: dict, words: pd.DataFrame) -> str:
    """The page. Everything that comes from the file passes jinja's escaping or its JSON filter."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(own), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters |= {
        "percent": percent,
        "signed": signed,
        "plain": plain,
        "level": level,
        "short": short,
        "sure": sure,
        "count": "{:,}".format,
    }
    style, script = own("page.css"), own("page.js")
    policy = (
        f"default-src 'none'; style-src '{fingerprint(style)}'; script-src '{fingerprint(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    names = [each["name"] for each in report["classes"]]
    listed = {row["word"] for rows in report["top_words"].values() for row in rows}
    listed |= {row["word"] for row in report["attended_without_effect"]}
    shown = word_rows(words, len(names), listed)
    return environment.get_template("page.html").render(
        report=report,
        names=names,
        policy=policy,
        style=Markup(style),
        script=Markup(script),
        data={"classes": names, "rows": shown, "several": report["settings"]["seeds"] > 1},
        shown=len(shown),
        least=LEAST,
        enough_test=ENOUGH_TEST,
        fewest=FEWEST,
        all_words=len(words) // len(names),
        verdict=[part.format_map(report["quality"]) for part in VERDICTS[report["quality"]["verdict"]]],
        largest={
            name: max([row.get(end, 0) for row in rows for end in PER_CLASS[2:5:2]], default=1)
            for name, rows in report["top_words"].items()
        },
    )


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}\u00a0%"


def sure(confidence: float) -> str:
    """No model is ever 100 % sure."""
    return "more than 99 % sure" if confidence > 0.99 else f"{percent(confidence, 0)} sure"


def signed(value: float) -> str:
    return ("+" if value >= 0.005 else "") + plain(value)


def plain(value: float) -> str:
    """Two digits; what rounds to zero has no sign."""
    return f"{value:z.2f}".replace("-", "−")


def short(text: str, most: int = 60) -> str:
    """A word or a name that would fill the page is cut; the files beside the page have it whole."""
    return text if len(text) <= most else text[: most - 1] + "…"


def level(value: float, largest: float) -> str:
    """The class of a word's background: n or p for its sign and 0 to 9 for its size."""
    size = round(9 * abs(value) / largest) if largest else 0
    return f"{'p' if value >= 0 else 'n'}{size}"
