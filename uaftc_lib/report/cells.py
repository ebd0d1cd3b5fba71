"""Cells: labels in one normal form, and texts without the residues of exports."""

from __future__ import annotations

import ast
import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import pandas as pd

from uaftc_lib.report.source import Refused
from uaftc_lib.report.words import CANONICAL, visible

HALF = re.compile("[\ud800-\udfff]")  # what JSON can hold, and no file
SEVERAL = "\0"  # parts the labels of one row while they are read
SEPARATORS = "|;,/+&"  # which may part labels in a cell
MOST_LABELS = 20_000  # above which a column holds no labels, and is left as it is
LISTS = 0.01  # share of the rows from which labels that look like lists are loud
GARBLED_TEXTS = 0.01  # share of the texts from which garbled letters are loud
AT_ONCE = 4096  # texts that are searched together
# Spellings of a missing value.
NOTHING = {"nan", "null", "none", "na", "n/a", "#n/a", "nil", "nat", "<na>", "undefined", "(null)", "\\n", "missing"}
NOTHING |= {"n.a.", "-", "--", "?", "unknown", "#value!", "#ref!", "#null!", "#name?", "#div/0!", "(blank)", "empty"}
# Controls, what was lost, and UTF-8 read as Mac Roman; UTF-8 read as cp1252 or Latin-1 is seen by reading it back.
GARBLED = re.compile("[\u0080-\u0084\u0086-\u009f\ufffd]|ï»¿|\u221a[©®†°±ß]|‚Ä[ôúùî]|[^\0-\x7f]{2,}")
WHOLE = re.compile(r"(-?(?:0|[1-9]\d*))\.0*")


def plain_labels(
    labels: pd.Series, separator: str | None = None, one: str | None = None
) -> tuple[pd.Series, list[str], list[str]]:
    """Labels in one normal form, notes and loud lines: :func:`visible`, a list of one as its element; and, where that
    alone parts two of them, numbers without empty decimals and full-width letters as plain ones.

    Parameters
    ----------
    labels : Series
        Strings; what is None stays so.
    separator : str, optional
        Parts several labels in a cell.
    one : str, optional
        The label that is one class, against the rest.

    Raises
    ------
    Refused
        If only a separator is given, or ``one`` is no label.
    """
    counts = labels.value_counts()
    if len(counts) > MOST_LABELS and one is None and separator is None:
        return labels.map(str.strip, na_action="ignore").astype(object), [], []
    parts = {label: parts_of(label, separator) for label in counts.index}
    by_key: dict[str, set[str]] = {}
    for part in {part for several in parts.values() for part in several}:
        by_key.setdefault(label_key(part), set()).add(part)
    merged = {part: key for key, several in by_key.items() if len(several) > 1 for part in several}
    parts = {label: [merged.get(part, part) for part in several] for label, several in parts.items()}
    new = {label: several[0] if len(several) == 1 else label for label, several in parts.items()}
    if separator is not None or one is not None:
        loud = lists_of_labels(new, parts, counts) if separator is None else []
        loud = [line for line in loud if "--label-sep" in line]  # else they are lists, which are known to be such
        new, notes = one_class(parts, counts, one)
        if separator is not None and not any(separator in label or SEVERAL in label for label in counts.index):
            raise Refused(f"--label-sep is {separator!r}, which stands in no label")
    else:
        notes, loud = changed_labels(new, counts)
        loud += lists_of_labels(new, parts, counts)
        new |= {label: None for label in new if SEVERAL in new[label]}
    if any(label != name for label, name in new.items()):
        labels = pd.Series([new.get(label) for label in labels], dtype=object)
    return labels, notes, loud


def one_class(parts: dict[str, list[str]], counts: pd.Series, one: str | None) -> tuple[dict[str, str], list[str]]:
    """Label as it stands → ``one`` if that is among its parts, else "not ``one``"; and a note."""
    rows: Counter[str] = Counter()
    for label, several in parts.items():
        rows.update({name: int(counts[label]) for name in several if name})
    known = ", ".join(f"{name!r} ({n:,} rows)" for name, n in rows.most_common(20))
    if one is None:
        raise Refused(f"--label-sep needs --against-rest NAME, the label that is a class against all others: {known}")
    name = next((name for name in rows if label_key(name) == label_key(visible(one))), None)
    if name is None:
        raise Refused(f"--against-rest: there is no label {one!r}; the labels are {known}")
    new = {label: name if name in parts[label] else f"not {name}" if any(parts[label]) else "" for label in parts}
    others = sum(int(counts[label]) for label in new if new[label] == f"not {name}")
    return new, [f"{rows[name]:,} rows have the label {name!r}; the other {others:,} are the class 'not {name}'"]


def changed_labels(new: dict[str, str], counts: pd.Series) -> tuple[list[str], list[str]]:
    """A note on labels that are read in another spelling; it is loud where classes fall together by that."""
    changed = [label for label in new if new[label] not in (label, "")]
    if not changed:
        return [], []
    together = {name for name, n in Counter(new.values()).items() if n > 1}
    changed.sort(key=lambda label: new[label] not in together)
    named = ", ".join(f"{label!a} as {new[label]!r} ({counts[label]:,} rows)" for label in changed[:3])
    named += ", ..." if len(changed) > 3 else ""
    line = f"{counts[changed].sum():,} labels hold what is hardly seen, outer quotation marks or the like: {named}"
    return ([], [f"{line}. What differs in nothing else is one class"]) if new[changed[0]] in together else ([line], [])


def lists_of_labels(new: dict[str, str], parts: dict[str, list[str]], counts: pd.Series) -> list[str]:
    """A loud line where many labels look like lists of labels: their parts are labels of other rows."""
    lists = {"": [label for label in parts if len(parts[label]) > 1]}
    for separator in SEPARATORS:
        split = {label: [visible(part) for part in label.split(separator)] for label in new if separator in label}
        shared = Counter(part for names in split.values() for part in set(names))
        shared.update(dict.fromkeys(set(new.values()) - set(split), len(new) + 1))  # labels that stand alone
        lists[separator] = [
            label
            for label, names in split.items()
            if all(names) and (max(map(shared.get, names)) > len(new) or min(map(shared.get, names)) > 1)
        ]
    rows, separator = max((int(counts[lists[separator]].sum()), separator) for separator in lists)
    if rows < max(2, LISTS * counts.sum()):
        return []
    label = lists[separator][0]
    read = "were dropped" if SEVERAL in label else "are classes as they are spelt"
    option = f"--label-sep {separator!r} with --against-rest NAME" if separator else "--against-rest NAME"
    line = f"{rows:,} labels look like lists of labels, such as {', '.join(label.split(SEVERAL))!r}, and {read}"
    return [f"{line}: {option} makes one class against the rest"]


def parts_of(label: str, separator: str | None) -> list[str]:
    """The labels in a cell, each in its normal form: of a list as Python or JSON writes it, or of parts."""
    separator = SEVERAL if SEVERAL in label else separator
    parts = label.split(separator) if separator else [label]
    if re.match(r"\s*[\[(]\s*['\"\d]", label) and not re.search(r"['\"]\s+['\"]", label):  # as numpy prints them
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            value = ast.literal_eval(label.strip())
            parts = list(map(str, value)) if isinstance(value, (list, tuple)) else parts
    return [part for part in (visible(undone(part)) for part in parts) if part] or [""]


def label_key(label: str) -> str:
    """What labels have in common that differ in what is hardly seen: 1 and 1.0, full-width letters, hyphens."""
    key = unicodedata.normalize("NFC", label.translate(CANONICAL)).replace("\u2212", "-")
    number = WHOLE.fullmatch(key)
    return number[1] if number else key


def literal_text(match: re.Match) -> str:
    """What b'...' encloses; the same text if it is no such literal, or its bytes are no UTF-8."""
    with suppress(ValueError, SyntaxError, MemoryError):
        return ast.literal_eval(match[0].strip()).decode()
    return match[0]


class Residue(NamedTuple):
    """What a program that exported texts left in them: what it is, a string that it holds, its pattern, and what a
    match stands for, where that is sure."""

    what: str
    mark: str
    pattern: str
    undo: Callable[[re.Match], str] | None = None


# Also escaped several times.
ENTITY = "&(?:amp;)*(#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[a-zA-Z][a-zA-Z0-9]{1,30};)"
RESIDUES = (
    Residue("b'...' as Python prints bytes", "b'", r"\A\s*b'(?s:.*)'\s*\Z", literal_text),
    Residue('b"..." as Python prints bytes', 'b"', r'\A\s*b"(?s:.*)"\s*\Z', literal_text),
    Residue(r"\u00e9 and the like, as in JSON", "\\", r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16))),
    Residue("_x000D_ and the like, as in Excel", "_", "_x([0-9A-F]{4})_", lambda match: chr(int(match[1], 16))),
    Residue("entities of HTML such as &amp; or &#39;", "&", ENTITY, lambda match: html.unescape(f"&{match[1]}")),
    Residue("markup such as <br>: the names of its tags count as words", "<", "</?[a-zA-Z][^<>]*>"),
    Residue(r"\n, \r or \t written out: the letter joins the next word", "\\", r"\\[nrt]"),
    Residue("=20 and the like (quoted-printable)", "=", r"\w=20\w|=3D|=\r?\n|=[89A-F][0-9A-F]=[89A-F][0-9A-F]"),
)
RESIDUES = tuple(residue._replace(pattern=re.compile(residue.pattern)) for residue in RESIDUES)


def undone(label: str) -> str:
    """A label without the residues that can be undone."""
    for _, mark, pattern, undo in RESIDUES:
        label = clean(pattern.sub(undo, label)) if undo and mark in label else label
    return label


def garbled_in(text: str) -> str:
    """The first letters of a text that seem to have been read in a wrong encoding, or ""."""
    for match in GARBLED.finditer(text) if not text.isascii() else ():
        letters = match[0]
        if len(letters) == 1 or not letters.isprintable() or letters[0] in "\u221a‚":
            return letters
        for encoding in ("cp1252", "latin-1") if letters[1:] not in set("»”’“«…–—›") else ():  # É” can be a quotation
            with suppress(UnicodeError):
                letters.encode(encoding).decode("utf-8")
                return letters
    return ""


def without_residues(texts: pd.Series) -> tuple[list[str], list[str], list[str]]:
    """The texts without residues of exports that can surely be undone, notes on all that stand in them, and loud lines
    on garbled letters."""
    texts, counts, garbled = texts.tolist(), Counter(), []
    for begin in range(0, len(texts), AT_ONCE):
        some = range(begin, min(begin + AT_ONCE, len(texts)))
        together = "\n".join(texts[begin : some.stop])
        for what, mark, pattern, undo in RESIDUES:
            for i in some if mark in together else ():
                if mark in texts[i] and pattern.search(texts[i]):
                    before, texts[i] = texts[i], clean(pattern.sub(undo, texts[i])) if undo else texts[i]
                    counts[what] += not undo or texts[i] != before
                    together += texts[i] if undo else ""
        garbled += [] if together.isascii() else filter(None, map(garbled_in, texts[begin : some.stop]))
    notes = [
        f"{counts[what]:,} texts {f'held {what}: what they stand for was read' if undo else f'hold {what}'}"
        for what, _, _, undo in RESIDUES
        if counts[what]
    ]
    if nothing := [text for text in texts if len(text) < 10 and text.strip().casefold() in NOTHING]:
        notes.append(f"{len(nothing):,} texts are {nothing[0].strip()!r} or the like, which stand for a missing value")
    if len(garbled) <= GARBLED_TEXTS * len(texts):
        return texts, notes, []
    loud = (
        f"{len(garbled):,} of {len(texts):,} texts hold letters that seem to have been read in a wrong encoding, such "
        f"as {garbled[0]!r}: was the file, or the one it comes from, opened in another encoding than it is saved in?"
    )
    return texts, notes, [loud]


def clean(text: str) -> str:
    """A text in Unicode's composed form; half characters are joined, or become the one for what cannot be read."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if HALF.search(text) else text
        text = unicodedata.normalize("NFC", text)
    return "" if text.isspace() else text
