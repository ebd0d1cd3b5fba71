"""The three files of a report: drafts of all of them first, then each in its place."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import pandas as pd

from uaftc_lib.report.page import leading, own, render_page
from uaftc_lib.report.request import FILES, Refused, check_folder
from uaftc_lib.vectors.file_format import is_numeral

SCHEMA = json.loads(own("report.schema.json"))
COLUMNS = SCHEMA["$defs"]["words.csv"]["properties"]  # of words.csv, in their order
MOST_ROWS = 120_000  # of words.csv, unless all are asked for
DECIMALS = {"influence": 4, "influence_low": 4, "influence_high": 4, "probability": 4, "attention": 4, "total": 2}


def write_report(report: dict, words: pd.DataFrame, folder: Path, all_words: bool = False) -> list[str]:
    """words.csv, report.json and report.html; which of them were there before and were replaced.

    Nothing is put in its place before all three are written, so that an error leaves what was there.

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
        Whether words.csv holds words without an interval, and more than 120,000 rows if need be; else those that move
        the model least are left out.

    Raises
    ------
    Refused
        If the folder cannot be written into, or is full.
    """
    check_folder(folder)
    classes = len(report["classes"])
    every, words = words, words[words["influence_low"].notna()]
    kept = every if all_words else words
    if len(kept) > MOST_ROWS and not all_words:
        places = np.sort(leading(words, classes, MOST_ROWS // classes))
        kept = words.iloc[(places[:, None] * classes + np.arange(classes)).ravel()]
    counted = {"with_interval": len(words) // classes, "in_csv": len(kept) // classes}
    report = {"schema": SCHEMA["$id"]} | report | {"vocabulary": report["vocabulary"] | counted}
    as_json = json.dumps(finite(report), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    contents = dict(zip(FILES, (words_csv(kept), as_json, render_page(report, words, COLUMNS))))
    drafts = {folder / name: folder / f".{name}.{os.getpid()}" for name in contents}
    made = [place for place in (folder, *folder.absolute().parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for (path, draft), text in zip(drafts.items(), contents.values()):
            put(draft, text, path)
        replaced = put_all(drafts)
    except OSError as error:
        named = error.filename2 or error.filename or folder  # of a move, where to
        raise Refused(f"{named} cannot be written: {error.strerror or error}") from None
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
        for place in made:  # of a folder that was made in vain nothing stays
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()
    return replaced


def put(draft: Path, text: str, path: Path) -> None:
    """Write the draft of a file; an error names the file."""
    try:
        draft.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def put_all(drafts: dict[Path, Path]) -> list[str]:
    """Every draft in its place, or, if one cannot go there, all files as they were; the names of those replaced."""
    former = {path: draft.with_name(f"{draft.name}.former") for path, draft in drafts.items() if path.exists()}
    try:
        for path, draft in drafts.items():
            if path in former:
                path.replace(former[path])
            draft.replace(path)
    except BaseException:
        for path in drafts:
            if path not in former:
                path.unlink(missing_ok=True)
            elif former[path].exists():
                former[path].replace(path)
        raise
    for old in former.values():
        old.unlink()
    return [path.name for path in former]


def words_csv(words: pd.DataFrame) -> str:
    """words.csv: the columns that the schema describes, numbers as exact as they are of use."""
    shown = words[list(COLUMNS)].round(DECIMALS)
    for name in ("word", "class"):
        shown[name] = harmless(shown[name])
    for name in ("q", "q_beyond"):
        shown[name] = shown[name].map("{:.2g}".format, na_action="ignore")
    return shown.to_csv(index=False, lineterminator="\n")


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
