"""report.html. The page needs no network, and no word in it can become markup."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Callable, Collection
from decimal import ROUND_HALF_UP, Decimal
from importlib import resources
from urllib.parse import quote

import jinja2
import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from markupsafe import Markup

from uaftc_lib.report.lists import TOP
from uaftc_lib.report.quality import NEARLY_WHOLE, VERDICTS

SHOWN_NUMBERS = 500_000  # of words in the page
SHOWN_WORDS = 5000
PER_CLASS = ("influence", "influence_low", "influence_high", "probability", "total")  # and counts
LEVELS = 5  # of colour, for each sign


def leading(words: pd.DataFrame, classes: int, most: int, first: Collection[str] = ()) -> Int[np.ndarray, "leading"]:
    """Places of the words that ``first`` names and of those that move the model most in all, in this order."""
    shape = (-1, classes)
    moved = words["influence"].abs().to_numpy(float).reshape(shape).max(1)
    moved = moved * words["texts"].to_numpy(float).reshape(shape)[:, 0]
    named = words["word"].iloc[::classes].isin(first).to_numpy()
    return np.lexsort([-np.nan_to_num(moved), ~named])[: max(most, named.sum())]


def word_rows(words: pd.DataFrame, classes: int, first: Collection[str]) -> list[list]:
    """What the page's table holds, a row for each word.

    [word, texts, attention, then by class influence, its lower and upper ends, probability, total, texts of the
    class, and the classes that list it]; None where there is no such number.
    """
    chosen = leading(words, classes, min(SHOWN_WORDS, SHOWN_NUMBERS // (6 * classes)), first)

    def by_class(name: str) -> np.ndarray:
        return words[name].to_numpy().reshape(-1, classes)[chosen]

    columns = [four_digits(by_class(name).astype(float)) for name in PER_CLASS]
    alone = words.iloc[chosen * classes]
    alone = alone["word"].tolist(), alone["texts"].tolist(), four_digits(alone["attention"].to_numpy(float))
    listed = [np.flatnonzero(row).tolist() for row in by_class("listed")]
    return [list(row) for row in zip(*alone, *columns, by_class("texts_of_class").tolist(), listed)]


def lists(words: pd.DataFrame) -> dict[str, list[dict]]:
    """For each class the listed words of largest total, and after them those that only their lower end brings in.

    Rounded as in the table of the page, so that a number is the same wherever it stands.
    """
    listed = words[words["listed"].astype(bool)].sort_values("total", ascending=False, kind="stable")
    found = {}
    for name, rows in listed.groupby("class", sort=False):
        largest = rows.head(TOP)
        surest = rows.nlargest(TOP, "influence_low")
        both = pd.concat([largest, surest[~surest["word"].isin(largest["word"])]])
        numbers = {column: four_digits(both[column].to_numpy(float)) for column in PER_CLASS if column in both}
        found[name] = both.assign(**numbers).to_dict("records")
    return found


def four_digits(values: Float[np.ndarray, "..."]) -> list:
    """Four digits are enough to read; None for what is not finite."""
    finite = np.isfinite(values)
    digits = 10.0 ** (3 - np.floor(np.log10(np.abs(values, where=finite, out=np.ones_like(values)).clip(1e-12))))
    return np.where(finite, np.round(values * digits) / digits, None).tolist()


def own(name: str) -> str:
    """A file of this room."""
    return (resources.files("uaftc_lib.report") / name).read_text(encoding="utf-8")


def fingerprint(source: str) -> str:
    """How a content policy names an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def render_page(report: dict, words: pd.DataFrame, columns: dict[str, dict]) -> str:
    """The page. Everything that comes from the file passes jinja's escaping or its JSON filter.

    Parameters
    ----------
    report : dict
        What report.json holds.
    words : DataFrame
        A row for each word with an interval and each class.
    columns : dict
        Of words.csv: what the schema says of each.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(own), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"percent": percent, "signed": signed, "plain": plain, "short": shortened, "sure": sure}
    environment.filters |= {"count": "{:,}".format, "address": fragment, "pieces": text_pieces}
    environment.filters |= {"gap": between_words, "ends": interval_ends}
    style, script = own("page.css"), own("page.js")
    policy = (
        f"default-src 'none'; style-src '{fingerprint(style)}'; script-src '{fingerprint(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    quality, names = report["quality"], [each["name"] for each in report["classes"]]
    listed = lists(words)
    first = {row["word"] for rows in listed.values() for row in rows}
    deciding = [row | {"names": parted(row["word"], words)} for row in report["deciding"]]
    first |= {word for row in deciding for word in row["names"]}
    first |= {row["word"] for row in report["attended_without_effect"]}
    shown = word_rows(words, len(names), first)
    return environment.get_template("page.html").render(
        report=report,
        names=names,
        policy=policy,
        style=Markup(style),
        script=Markup(script),
        lists=listed,
        deciding=deciding,
        nearly=all(row["covered"] >= NEARLY_WHOLE for row in deciding),
        percent=percent,
        of_list=TOP,
        known={row[0] for row in shown},
        data={"classes": names, "shares": [report["shares"][name] for name in names], "rows": shown},
        columns={name: about["description"] for name, about in columns.items()},
        verdict=[part.format_map(quality) for part in VERDICTS[quality["verdict"]]],
    )


def parted(word: str, words: pd.DataFrame) -> list[str]:
    """A word, or the several that stand together, joined by commas."""
    return [word] if (words["word"] == word).any() else [each.strip() for each in word.split(",")]


def text_pieces(example: dict) -> list[tuple[str, dict | None, str]]:
    """A text cut into its words and what stands between them; of a word, its numbers and its colour."""
    largest = max((abs(word["influence"]) for word in example["words"]), default=0)
    found, at = [], 0
    for word in example["words"]:
        found.append((example["text"][at : word["start"]], None, ""))
        at = word["end"]
        size = round(LEVELS * abs(word["influence"]) / largest) if largest else 0
        found.append((example["text"][word["start"] : at], word, f"{'np'[word['influence'] >= 0]}{size}"))
    return [*found, (example["text"][at:], None, "")]


def between_words(text: str, first: bool, last: bool) -> str:
    """What stands between words, with one blank line where there are several, and none at the ends of a text."""
    text = re.sub(r"\n\s*\n", "\n\n", text)
    text = text.lstrip() if first else text
    return text.rstrip() if last else text


def percent(share: float | None, digits: int = 1) -> str:
    return "–" if unmeasured(share) else f"{100 * share:z.{digits}f}\u00a0%".replace("-", "−")


def sure(confidence: float) -> str:
    """No model is ever 100 % sure."""
    return "more than 99 % sure" if confidence > 0.99 else f"{percent(confidence, 0)} sure"


def unmeasured(value: float | None) -> bool:
    """Whether there is no such number: what cannot be measured is a dash."""
    return value is None or not math.isfinite(value)


def signed(value: float | None) -> str:
    return ("+" if not unmeasured(value) and value >= 0.005 else "") + plain(value)


def plain(value: float | None) -> str:
    """Two decimals, of larger numbers fewer; what rounds to zero has no sign. Halves go up, as in page.js."""
    if unmeasured(value):
        return "–"
    digits = (abs(value) < 100) + (abs(value) < 10)
    told = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{told:z,f}".replace("-", "−")


def interval_ends(found: dict, told: Callable = plain) -> str:
    """From where to where an interval reaches."""
    measured = not unmeasured(found["low"]) and not unmeasured(found["high"])
    return f"{told(found['low'])} to {told(found['high'])}" if measured else "no interval"


def shortened(text: str, most: int = 60) -> str:
    """A word or a name that would fill the page is cut; the files beside the page have it whole."""
    return text if len(text) <= most else text[: most - 1] + "…"


def fragment(text: str) -> str:
    """As a part of an address within the page."""
    return quote(text.encode("utf-8", "replace"), safe="")
