"""Write: words.csv, predictions.csv, report.json and report.html, and a few lines for the terminal.

The page needs no network, and no word in it can become markup.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_UP, Decimal
from importlib import resources
from pathlib import Path
from urllib.parse import quote

import jinja2
import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from markupsafe import Markup

from uaftc_lib import __version__, coloured, files
from uaftc_lib.report.judge import TOP, Judged, verdict_sentences
from uaftc_lib.report.leaks import NEARLY_WHOLE
from uaftc_lib.report.predict import Predicted
from uaftc_lib.report.prepare import Prepared
from uaftc_lib.report.request import FILES, Columns, Refused, check_folder
from uaftc_lib.report.train import Trained
from uaftc_lib.vectors.file_format import is_numeral


def resource(name: str) -> str:
    """A file of this room."""
    return (resources.files("uaftc_lib.report") / name).read_text(encoding="utf-8")


SCHEMA = json.loads(resource("report.schema.json"))
COLUMNS = SCHEMA["$defs"]["words.csv"]["properties"]  # of words.csv, in their order
PREDICTIONS = SCHEMA["$defs"]["predictions.csv"]["required"]  # columns
MOST_ROWS = 120_000  # of words.csv, unless all are asked for
DECIMALS = {"influence": 4, "influence_low": 4, "influence_high": 4, "probability": 4, "attention": 4, "total": 2}
DECIMALS |= {"share_low": 4, "share_high": 4}
SHOWN_NUMBERS, SHOWN_WORDS = 500_000, 5000  # on the page: numbers of its words, and these
PER_CLASS = ("influence", "influence_low", "influence_high", "probability", "total", "share_low", "share_high")
NAMED, WIDEST = 8, 30  # on the terminal: words of each class, characters of its name


def contents(
    name: str,
    columns: Columns,
    prepared: Prepared,
    trained: Trained | None,
    judged: Judged,
    predicted: Predicted | None,
    model: dict | None = None,
) -> dict:
    """What report.json holds; see report.schema.json. ``name``: of the file; ``model``: one of the reader's own."""
    table = prepared.table
    return {
        "version": __version__,
        "file": name,
        "columns": asdict(columns),
        "rows": {"read": table.rows_read, "used": len(prepared.texts), "dropped": table.dropped},
        "loud": [*table.loud, *judged.loud],
        "notes": [*table.notes],
        "cut": prepared.cutter.description,
        "tested": "none" if not trained else "split" if columns.split else "time" if columns.time else "folds",
        "copies": prepared.copies,
        "vocabulary": {"words": prepared.vocabulary.word_count, "rare": prepared.rare_words},
        "settings": trained.settings if trained else {},
        "model": model if trained else None,
        "suspect_labels": int((predicted.suspect > 0).sum()) if predicted else 0,
    } | judged.findings


@dataclass(frozen=True)
class Rows:
    """What the files say of single rows, where a model is trained.

    Attributes
    ----------
    table : DataFrame
        predictions.csv (:func:`uaftc_lib.report.predict.prediction_table`).
    sentences : callable, optional
        The texts of the words that the page shows (:func:`uaftc_lib.report.sentences.sentences`); None where texts may
        not be shared.
    box : dict, optional
        What the page needs to answer about a new text (:func:`uaftc_lib.report.ask.box`).
    why : str
        Why there is no box.
    """

    table: pd.DataFrame
    sentences: Callable[[list[str]], dict] | None = None
    box: dict | None = None
    why: str = ""


NO_ROWS = Rows(pd.DataFrame(columns=PREDICTIONS))


def write_report(
    report: dict, words: pd.DataFrame, folder: Path, all_words: bool = False, of_rows: Rows = NO_ROWS
) -> list[str]:
    """Write words.csv, predictions.csv, report.json and report.html; return the names of files that were replaced.

    All are replaced, or none (:func:`uaftc_lib.files.write_together`).

    Parameters
    ----------
    report : dict
        What report.json holds; see report.schema.json.
    words : DataFrame
        A row for each word and each class, the classes of a word together and in the report's order. Only words with an
        interval are shown on the page.
    folder : path
        Is made.
    all_words : bool
        Whether words.csv holds more than 120,000 rows if need be; else those are left out that move the model least and
        are not listed.
    of_rows : Rows

    Raises
    ------
    Refused
        If the folder cannot be written into, or is full.
    """
    check_folder(folder)
    classes = len(report["classes"])
    rows, words = words, words[words["q"].notna()]
    if len(rows) > MOST_ROWS and not all_words:
        places = np.sort(leading(rows, classes, MOST_ROWS // classes, {*words["word"][words["listed"]]}))
        rows = rows.iloc[(places[:, None] * classes + np.arange(classes)).ravel()]
    counted = {"with_interval": len(words) // classes, "in_csv": len(rows) // classes}
    report = {"schema": SCHEMA["$id"]} | report | {"vocabulary": report["vocabulary"] | counted}
    as_json = json.dumps(finite(report), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    texts = words_csv(rows), predictions_csv(of_rows.table), as_json, render_page(report, words, COLUMNS, of_rows)
    try:
        return [path.name for path in files.write_together({folder / name: text for name, text in zip(FILES, texts)})]
    except OSError as error:
        raise Refused(str(error)) from None


def words_csv(words: pd.DataFrame) -> str:
    """words.csv: the columns that the schema describes, numbers as exact as they are of use."""
    shown = words[list(COLUMNS)].round(DECIMALS)
    for name in ("word", "class"):
        shown[name] = harmless(shown[name])
    for name in ("q", "q_beyond"):
        shown[name] = shown[name].map("{:.2g}".format, na_action="ignore")
    return shown.to_csv(index=False, lineterminator="\n")


def predictions_csv(table: pd.DataFrame) -> str:
    """predictions.csv: the columns that the schema describes."""
    names = {name: harmless(table[name]) for name in ("label", "answer", "words")}
    return table.assign(**names).to_csv(index=False, lineterminator="\n", float_format="%.4f")


def harmless(names: pd.Series) -> pd.Series:
    """What a spreadsheet would take for a formula gets an apostrophe in front; numbers stay."""

    def plain(name: str) -> str:
        return f"'{name}" if name[:1] in tuple("=+-@\t\r") and not is_numeral(name) else name

    return names.map({name: plain(name) for name in names.unique()})


def finite(value):
    """The same for JSON: plain numbers, and None for what is not finite."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def leading(words: pd.DataFrame, classes: int, most: int, first: Collection[str] = ()) -> Int[np.ndarray, "leading"]:
    """Places of the words that ``first`` names and of those that move the model most in all, in this order."""
    shape = (-1, classes)
    moved = words["influence"].abs().to_numpy(float).reshape(shape).max(1)
    moved = moved * words["texts"].to_numpy(float).reshape(shape)[:, 0]
    named = words["word"].iloc[::classes].isin(first).to_numpy()
    return np.lexsort([-np.nan_to_num(moved), ~named])[: max(most, named.sum())]


def word_rows(words: pd.DataFrame, classes: int, first: Collection[str]) -> list[list]:
    """What the page's table holds, a row for each word.

    [word, texts, attention, then by class the columns of PER_CLASS, texts of the class, and the classes that list it];
    None where there is no such number.
    """
    chosen = leading(words, classes, min(SHOWN_WORDS, SHOWN_NUMBERS // (8 * classes)), first)

    def by_class(name: str) -> np.ndarray:
        return words[name].to_numpy().reshape(-1, classes)[chosen]

    columns = [four_digits(by_class(name).astype(float)) for name in PER_CLASS]
    alone = words.iloc[chosen * classes]
    alone = alone["word"].tolist(), alone["texts"].tolist(), four_digits(alone["attention"].to_numpy(float))
    listed = [np.flatnonzero(row).tolist() for row in by_class("listed")]
    return [list(row) for row in zip(*alone, *columns, by_class("texts_of_class").tolist(), listed)]


def lists(top_words: dict[str, list[dict]]) -> dict[str, list[dict]]:
    """The listed words of each class, rounded as in the table of the page: a number is the same wherever it stands."""
    return {
        name: [
            row | {key: four_digits(np.array([row[key]], float))[0] for key in ("influence", "total")} for row in rows
        ]
        for name, rows in top_words.items()
    }


def four_digits(values: Float[np.ndarray, "..."]) -> list:
    """Four digits are enough to read; None for what is not finite."""
    finite = np.isfinite(values)
    digits = 10.0 ** (3 - np.floor(np.log10(np.abs(values, where=finite, out=np.ones_like(values)).clip(1e-12))))
    return np.where(finite, np.round(values * digits) / digits, None).tolist()


def fingerprint(source: str) -> str:
    """How a content policy names an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def render_page(report: dict, words: pd.DataFrame, columns: dict[str, dict], of_rows: Rows = NO_ROWS) -> str:
    """The page. Everything that comes from the file passes jinja's escaping or its JSON filter.

    Parameters
    ----------
    report : dict
        What report.json holds.
    words : DataFrame
        A row for each word with an interval and each class.
    columns : dict
        Of words.csv: what the schema says of each.
    of_rows : Rows
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(resource), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    environment.filters |= {"percent": percent, "signed": signed, "plain": plain, "short": shortened}
    environment.filters |= {"count": "{:,}".format, "address": fragment, "ends": interval_ends}
    style = coloured.STYLE + resource("page.css")
    parts = ["page.js", *["sentences.js"] * bool(of_rows.sentences), *["ask.js"] * bool(of_rows.box)]
    script = "".join(map(resource, parts))
    policy = (
        f"default-src 'none'; style-src '{fingerprint(style)}'; script-src '{fingerprint(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    quality, names = report["quality"], [each["name"] for each in report["classes"]]
    listed = lists(report["top_words"])
    first = {row["word"] for rows in listed.values() for row in rows}
    deciding = [row | {"names": parted(row["word"], words)} for row in report["deciding"]]
    first |= {word for row in deciding for word in row["names"]}
    first |= {row["word"] for row in report["attended_without_effect"]}
    if report["compared"]:
        first |= {row["word"] for rows in report["compared"]["words"].values() for row in rows[:TOP]}
    shown = word_rows(words, len(names), first)
    data = {"classes": names, "shares": [report["shares"][name] for name in names], "rows": shown, "box": of_rows.box}
    data["texts"] = of_rows.sentences([row[0] for row in shown]) if of_rows.sentences else None
    return environment.get_template("page.html" if quality else "counts.html").render(
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
        data=data,
        why=of_rows.why,
        columns={name: about["description"] for name, about in columns.items()},
        verdict=verdict_sentences(quality),
    )


def parted(word: str, words: pd.DataFrame) -> list[str]:
    """A word, or the several that stand together, joined by commas."""
    return [word] if (words["word"] == word).any() else [each.strip() for each in word.split(",")]


def percent(share: float | None, digits: int = 1) -> str:
    return "–" if unmeasured(share) else f"{100 * share:z.{digits}f}\u00a0%".replace("-", "−")


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
    rounded = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{rounded:z,f}".replace("-", "−")


def interval_ends(interval: dict, as_text: Callable = plain) -> str:
    """From where to where an interval reaches."""
    measured = not unmeasured(interval["low"]) and not unmeasured(interval["high"])
    return f"{as_text(interval['low'])} to {as_text(interval['high'])}" if measured else "no interval"


def shortened(text: str, most: int = 60) -> str:
    """A word or a name that would fill the page is cut; the files beside the page have it whole."""
    return text if len(text) <= most else text[: most - 1] + "…"


def fragment(text: str) -> str:
    """As a part of an address within the page."""
    return quote(text.encode("utf-8", "replace"), safe="")


def terminal_lines(report: dict, out: Path) -> Iterator[str]:
    """What must be seen, what was read, the verdict, the words of each class, and where the rest is."""
    pairs = [(shortened(name, WIDEST), text) for name, text in headed(report, out)]
    width = max(14, *(len(name) + 1 for name, _ in pairs))
    return (f"{name:{width}}{text}" for name, text in pairs)


def in_percent(value: float | None) -> str:
    """A share in percent, or a dash where it cannot be measured."""
    return "–" if unmeasured(value) else f"{value:.1%}"


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
    measured = {"attention": "attention", "linear model": "linear", "largest class": "majority"} if quality else {}
    for name, key in measured.items():
        worth = quality[key]
        right, mean = in_percent(worth["accuracy"]), in_percent(worth["balanced_accuracy"])
        yield name, f"{right} right of unseen texts; mean over classes {mean}"
    yield from zip(("verdict", "because"), verdict_sentences(quality))
    for one in report["deciding"]:
        names, nearly = one["word"].split(","), one["covered"] >= NEARLY_WHOLE
        word, tells = repr(one["word"]), "nearly decides" if nearly else "by itself tells"
        if one["form"]:
            word, tells = f"{', '.join(names[:3])}, ... ({len(names)} words of one form)", "together tell"
        whose = "their" if len(names) > 1 else "its"
        share = f"{one['texts_of_class']:,} of {whose} {one['texts']:,} texts are of this class; "
        share += f"{in_percent(one['covered'])} of the class's texts hold {'them' if len(names) > 1 else 'it'}"
        linear = f"{in_percent(one['recall'])} of the class with it and {in_percent(one['recall_without'])} without"
        yield "look at", f"{word} {tells} {one['class']!r} ({share}); a linear model finds {linear}"
    for name, words in () if quality and quality["verdict"] == "nothing" else report["top_words"].items():
        listed = ", ".join(word["word"] for word in words[:NAMED]) or "no word"
        more = report.get("listed", {}).get(name, 0) - NAMED
        listed += f" … and {more:,} more in words.csv" if more > 0 else ""
        linear = ", ".join(report.get("linear_words", {}).get(name, [])[:NAMED])
        yield name, f"{listed}; the linear model: {linear}" if linear else listed
    if compared := report.get("compared"):
        named = [
            f"{shortened(row['word'], WIDEST)} ({shortened(row['group'], WIDEST)} → {shortened(name, WIDEST)})"
            for name, rows in compared["words"].items()
            for row in rows
        ]
        text = f"{len(named):,} words drive a class more in one group; with groups shuffled {compared['shuffled']:.2f}"
        yield "compared", ": ".join([text, ", ".join(named[:NAMED])] if named else [text])
    if report["suspect_labels"]:
        yield "suspect", f"{report['suspect_labels']:,} labels are worth checking: predictions.csv ranks them"
    if report["replaced"]:
        yield "replaced", ", ".join(report["replaced"])
    yield "written to", str(out / "report.html")
