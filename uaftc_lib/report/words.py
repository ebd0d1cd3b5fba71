"""How a text is cut into words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from uaftc_lib.extras import needs

WORDS = ("rule", "spaces", "characters", "spacy")
DESCRIPTIONS = {
    "rule": "Words are runs of letters and digits, with apostrophes, hyphens and decimal points inside (isn't, "
    "well-known, 3.5); C++, C#, .NET, node.js, AT&T, U.S.A, $5, 50%, :-), <3 and the like, web and e-mail addresses, "
    "@names, #tags and emoji count whole; in scripts without spaces each character is a word. Other punctuation is "
    "left out.",
    "spaces": "Words are what stands between spaces, punctuation included.",
    "characters": "Each letter, digit and emoji is a word.",
    "spacy": "Words are the tokens of spaCy's rules for the language {language!r}, without punctuation.",
}
# Scripts written without spaces (Thai, Lao, Burmese, Khmer, Japanese, Chinese).
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
UNSPACED += "\U00020000-\U000323af"
HAS_UNSPACED = re.compile(f"[{UNSPACED}]")
PICTOGRAPHS = "\u231a-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
APOSTROPHES = "´`ʼ‘‛′＇"  # what some type for one, inside words
JOINERS = f"'’{APOSTROPHES}_\\-\u00b7\u200c\u200d\u2010\u2011"  # apostrophes, hyphens, what joins letters
# What cannot be seen: soft hyphens, marks of direction, byte order marks, fillers, spaces of no width.
UNSEEN = "\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u3164\uffa0"
# Joiners change how Persian or Hindi letters and emoji look; beside a Latin letter nobody sees them.
INVISIBLE = re.compile(f"[{UNSEEN}]|(?<![^\0-\u024f])[\u200c\u200d]|[\u200c\u200d](?![^\0-\u024f])")
INSIDE = re.compile(rf"(?<=\w)[{APOSTROPHES}](?=\w)")
CANONICAL = {ord("’"): "'", 0x2010: "-", 0x2011: "-", 0xFE0F: None}
# Full-width, half-width, bold and other forms of one letter, and ligatures.
for code in (*range(0xFB00, 0xFB07), *range(0xFB50, 0xFFEF), *range(0x1D400, 0x1D800)):
    if (form := unicodedata.normalize("NFKC", chr(code))) != chr(code) and not re.search(r"\s", form):
        CANONICAL[code] = form
ENCLOSED = re.compile("[\"“”„‟«»]+([^\"“”„‟«»]+)[\"“”„‟«»]+|['‘’‚‛‹›`´]+([^'‘’‚‛‹›`´]+)['‘’‚‛‹›`´]+")
# Letters of Cyrillic and Greek that look like Latin ones.
LOOK_ALIKE = str.maketrans("аеорсухіјѕԁԛԝАВЕКМНОРСТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "aeopcyxijsdqwABEKMHOPCTXIJSABEZHIKMNOPTYXo")
CONTROLS = re.compile("[\0-\x08\x0e-\x1b\x7f\ufe0e\ufe0f]")
SPACES = re.compile(r"\S+")


def character_ranges(characters: Iterable[str]) -> str:
    """Characters in their order, as a class of a regular expression names them."""
    runs: list[list[int]] = []
    for code in map(ord, characters):
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in runs)


@cache
def patterns() -> dict[str, re.Pattern]:
    """What is a word by the rule, and by characters."""
    every = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x33480), *range(0xE0100, 0xE01F0))]
    marks = character_ranges(c for c in every if unicodedata.category(c)[0] == "M" and c != "\ufe0f")
    letter = f"[{character_ranges(c for c in every if c.isalnum() and not HAS_UNSPACED.match(c))}]"
    character = f"[{character_ranges(c for c in every if c.isalnum())}]"
    return {how: re.compile(pattern) for how, pattern in patterns_of(letter, character, f"[{marks}]").items()}


def for_javascript(pattern: str) -> str:
    """The same pattern as JavaScript reads it with the flag u."""
    return pattern.replace(r"[\w", r"[\p{L}\p{N}_").replace(r"\w", r"[\p{L}\p{N}_]").replace(r"\d", r"\p{Nd}")


def patterns_of(letter: str, character: str, mark: str) -> dict[str, str]:
    """What is a word by the rule, and by characters; tried in this order.

    ``letter``: one of a script with spaces; ``character``: one of any; ``mark``: what stands above or below one.
    """
    character = f"{character}{mark}*"
    run = f"{letter}(?:{letter}|{mark})*"
    pictograph = f"[{PICTOGRAPHS}][\ufe0f\U0001f3fb-\U0001f3ff\u20e3\U000e0020-\U000e007f]*"
    flag = "[\U0001f1e6-\U0001f1ff]{2}"
    emoji = [flag, f"{pictograph}(?:\u200d{pictograph})*", "[\U0001f3fb-\U0001f3ff]", "[0-9#*]\ufe0f?\u20e3"]
    rule = [
        r"(?:[Hh][Tt][Tt][Pp][Ss]?://|[Ww]{3}\.)[!#-;=?-~]*[A-Za-z0-9/#=&%~+_-]",
        r"[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
        rf"(?<![\w&])[@#](?:{letter}|[_{UNSPACED}]|{mark})+",
        *emoji,
        r"(?<!\w)(?:[A-Za-z]#|[A-Za-z]+\+\+\d*)(?!\w)",  # C#, C++11, notepad++
        r"(?<![\w.])(?:[A-Za-z]*\.[Nn][Ee][Tt]|[A-Za-z]+\.[Jj][Ss])(?!\w)",  # .NET, node.js
        r"(?<![\w&])(?:[A-Z]{1,3}&[A-Z]{1,3}|[A-Za-z]{1,2}&[A-Za-z]{1,2})(?![\w;&])",  # AT&T, r&d
        r"(?<![\w.])(?:[A-Za-z]\.)+[A-Za-z](?!\.?\w)",  # U.S.A.
        r"[$€£¥]\d+(?:[.,]\d+)*(?!\w)|(?<![\w.,])\d+(?:[.,]\d+)*[%€]",
        r"(?<!\w)[:;]'?-?(?:[()]+|[DPp])(?!\w)|(?<![\w<])</?3+(?!\w|[.,]\d|[%>])",  # :-), <3
        rf"{run}(?:[{JOINERS}{UNSEEN}][{UNSEEN}]*{run}|(?<=\d)[.,](?=\d){run})*",
        f"[{UNSPACED}]{mark}*",
    ]
    return {"rule": "|".join(rule), "characters": "|".join([*emoji, character]), "spaces": SPACES.pattern}


def way_to_cut(name: str, how: str) -> str:
    """The name of a way to cut texts: one of WORDS, or "spacy:LANGUAGE".

    Raises
    ------
    ValueError
        For any other.
    """
    kind, _, language = how.partition(":")
    if kind not in WORDS or (language and kind != "spacy"):
        raise ValueError(f"{name} is {how!r}; texts can be cut by {', '.join(WORDS)} or spacy:LANGUAGE")
    return how


def pattern(name: str, value: str | None) -> str | None:
    """A regular expression, or None.

    Raises
    ------
    ValueError
        If it cannot be read.
    """
    try:
        re.compile(value or "")
    except re.error as error:
        raise ValueError(f"{name}: the pattern {value!r} cannot be read: {error}") from None
    return value


class Cutter:
    """Cuts texts into words, in lower case.

    Parameters
    ----------
    how : str
        One of WORDS. "spacy:LANGUAGE" takes spaCy's rules for a language, e.g. "spacy:de".
    ignore : str, optional
        A regular expression (upper and lower case are the same): what it matches is no part of any word.
    without : sequence of str
        Words that are left out.
    ngrams : int
        2: pairs of neighbouring words count, too (:func:`uaftc_lib.report.prepare.with_pairs`).

    Raises
    ------
    ValueError
        If ``how`` or ``ignore`` cannot be understood, spaCy is not installed, or one of ``without`` is no single word.
    """

    def __init__(self, how: str = "rule", ignore: str | None = None, without: Sequence[str] = (), ngrams: int = 1):
        kind, _, language = way_to_cut("how", how).partition(":")
        self.how, self.ignore, self.without, self._by_spaces = how, None, frozenset(), True
        self.description = DESCRIPTIONS[kind].format(language=language or "xx") + " Upper and lower case are the same."
        if kind == "spacy":
            self._find, self._by_spaces = spacy_spans(language or "xx")
        else:
            self._find = matches_of(patterns()[kind])
        self.ngrams = ngrams
        if ngrams == 2:
            self.description += " Pairs of neighbouring words count as words, too, if they are not rare."
        if without:
            self.without = frozenset(self._as_one_word(word) for word in without)
            self.description += f" Left out: {', '.join(sorted(self.without))}."
        if ignore:
            self.ignore = re.compile(pattern("ignore", ignore), re.IGNORECASE)
            self.description += f" What matches {ignore} is left out."

    def in_javascript(self) -> dict[str, str | list[str]]:
        """What a page needs to cut texts as this does, but for ``ignore`` and spaCy's words."""
        letter = rf"(?:(?![{UNSPACED}])[\p{{L}}\p{{N}}])"
        words = patterns_of(letter, r"[\p{L}\p{N}]", r"(?:(?!\ufe0f)\p{M})")[self.how]
        known = {"words": words, "invisible": INVISIBLE.pattern, "inside": INSIDE.pattern}
        return {name: for_javascript(pattern) for name, pattern in known.items()} | {"without": sorted(self.without)}

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the words of a text begin and end in it."""
        spans = self._find(self._blanked(text))
        return [span for span in spans if spelt(text[slice(*span)]) not in self.without] if self.without else spans

    def words(self, text: str) -> list[str]:
        """The words of a text as they are counted: in lower case, every apostrophe and hyphen the plain one."""
        return [word for piece in self.pieces(text) for word in self.cut(piece)]

    def pieces(self, text: str) -> list[str]:
        """The parts of a text that are cut one by one: mostly what stands between spaces."""
        text = self._blanked(text)
        return text.split() if self._by_spaces else [text]

    def cut(self, piece: str) -> list[str]:
        """The words of such a part."""
        words = [spelt(piece[begin:end]) for begin, end in self._find(piece)]
        return [word for word in words if word not in self.without] if self.without else words

    def count_without(self, texts: Iterable[str]) -> dict[str, int]:
        """In how many texts each word stands that is left out."""
        counts = dict.fromkeys(sorted(self.without), 0)
        for text in texts if counts else ():
            text = self._blanked(text)
            plain = spelt(text)
            if near := [word for word in counts if word in plain]:
                held = {spelt(text[slice(*span)]) for span in self._find(text)}
                for word in held.intersection(near):
                    counts[word] += 1
        return counts

    def _blanked(self, text: str) -> str:
        return self.ignore.sub(lambda match: " " * len(match[0]), text) if self.ignore else text

    def _as_one_word(self, word: str) -> str:
        words = self.words(unicodedata.normalize("NFC", word))
        if len(words) != 1:
            raise ValueError(f"{word!r} is {len(words) or 'no'} words here, not one: give each word by itself")
        return words[0]


def spelt(word: str) -> str:
    """The spelling under which a word is counted."""
    if word.isascii():
        return word.lower() if "`" not in word else INSIDE.sub("'", word.lower())
    plain = INSIDE.sub("'", INVISIBLE.sub("", word)).translate(CANONICAL)
    return (plain if plain == word else unicodedata.normalize("NFC", plain)).lower() or word


def visible(name: str) -> str:
    """A name without what cannot be seen, outer blanks and quotation marks, its runs of blanks as single ones."""
    name = " ".join(unicodedata.normalize("NFC", CONTROLS.sub("", INVISIBLE.sub("", name))).split())
    enclosed = ENCLOSED.fullmatch(name)
    return visible(enclosed[1] or enclosed[2]) if enclosed else name


def matches_of(pattern: re.Pattern) -> Callable[[str], list[tuple[int, int]]]:
    """Where a pattern matches."""
    return lambda text: [match.span() for match in pattern.finditer(text)]


def spacy_spans(language: str) -> tuple[Callable[[str], list[tuple[int, int]]], bool]:
    """Where those of spaCy's tokens stand that hold a letter, a digit or an emoji; whether no token goes over a space.

    Raises
    ------
    ValueError
        If spaCy, or what it needs for the language, is not installed.
    """
    with needs("--words spacy", ".[words]", ValueError):
        import spacy  # large
    try:
        cut = spacy.blank(language).tokenizer
    except (ImportError, OSError) as error:
        raise ValueError(f"spaCy cannot cut the language {language!r}: {str(error).strip().splitlines()[0]}") from None
    holds_word = patterns()["characters"].search

    def spans(text: str) -> list[tuple[int, int]]:
        return [(token.idx, token.idx + len(token)) for token in cut(text) if holds_word(token.text)]

    return spans, type(cut) is spacy.tokenizer.Tokenizer
