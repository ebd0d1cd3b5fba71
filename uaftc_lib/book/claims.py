"""From measured values to a verdict on a sentence of the paper.

A claim is tried in one or more cases (a data set, a model, a λ). In each the sentence is read as "X exceeds Y"
and X − Y is measured once a start; the rules of :mod:`uaftc_lib.book.rules` make of it *supported*,
*contradicted* or *undecided*. Cases without results, or with fewer starts than the rules ask for, stay *open*.
All measured cases supported: the claim holds. Some: it holds under a condition, namely in those. None, and more than
half of them contradicted: it does not hold. Else it is undecided.

"Close to zero" is read as "less than a fifth of what it is compared with" (:data:`SMALL`). This reading was
chosen with the results known, and it is wide on purpose: in Data I the sum rule of ρ alone makes a neutral word
exactly one tenth as large as a polar one.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import resources
from string import Formatter

import numpy as np
import pandas as pd

from uaftc_lib.book import contents, rules
from uaftc_lib.book.nulls import Null, null_of
from uaftc_lib.book.verdicts import WORDS
from uaftc_lib.book.wording import short, with_interval
from uaftc_lib.experiments.registry import stored

SMALL = 0.2
KINDS = ("claim", "identity", "definition", "assumption")  # only the first is graded
OPEN = "open"
MARKS = {"supported": "yes", "contradicted": "no", "undecided": "undecided", OPEN: "open"}  # of a case


class Tables:
    """Stored results by name; an empty frame where there are none."""

    def __init__(self, frames: Mapping[str, pd.DataFrame] | None = None):
        self.frames = dict(frames or {})
        self.stored = frames is None
        self.compared: dict = {}  # columns of Table 2, by data set and model: several claims ask for each

    def __call__(self, name: str, **where) -> pd.DataFrame:
        """The rows of a table that have these values, ordered by seed."""
        if name not in self.frames:
            self.frames[name] = pd.DataFrame()
            if self.stored:
                with suppress(FileNotFoundError):
                    self.frames[name] = stored(name)
        rows = self.frames[name]
        for column, value in where.items():
            rows = rows[rows[column] == value] if len(rows) else rows
        return rows.sort_values("seed") if "seed" in rows else rows


@dataclass(frozen=True)
class Part:
    """One case of a claim: the verdict of the rules, what was found in words, and how far it is from zero.

    ``strength``: the mean of X − Y in half widths of its interval; nan where there is none. Only :func:`exceeds` fills
    in ``mean``, ``low`` and ``high`` (of X − Y) and ``held`` (in how many of the ``n`` starts it lies above zero).
    ``null``: how X − Y stands to that of models trained on permuted labels, where this is known.
    """

    case: str
    verdict: str
    found: str = ""
    n: int = 0
    strength: float = float("nan")
    mean: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    held: int = 0
    null: Null | None = None


def exceeds(case: str, differences: Iterable[float]) -> Part:
    """X exceeds Y, from X − Y of each start."""
    values = np.asarray(differences, dtype=float)
    values = values[np.isfinite(values)]
    if not len(values):
        return Part(case, OPEN, "no runs yet")
    mean, low, high, n = rules.interval(values)
    found = with_interval(mean, low, high) if n > 1 else short(mean)
    held = int((values > 0).sum())
    found += f", {held} of {n} starts"
    if 0 < held < n:
        among = rules.share(values > 0)
        found += f" ({100 * among.low:.0f}–{100 * among.high:.0f} %)"
    if n < rules.LEAST_SEEDS:
        return Part(case, OPEN, f"{found}; {rules.LEAST_SEEDS} starts are needed", n)
    half = (high - low) / 2
    strength = mean / half if half else math.copysign(math.inf, mean) if mean else 0.0
    return Part(case, rules.exceeds(values), found, n, strength, mean, low, high, held)


def same(case: str, differences: Iterable[float]) -> Part:
    """Two accuracies are equivalent, from their difference in each start; contradicted where they surely are not."""
    values = np.asarray(differences, dtype=float)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return Part(case, OPEN, "no runs yet")
    mean, low, high, n = rules.interval(values)
    margin = rules.EQUIVALENCE_MARGIN
    apart = low > margin or high < -margin
    equal = rules.equivalent(values, np.zeros(n))
    verdict = "supported" if equal else "contradicted" if apart else "undecided"
    found = f"{with_interval(100 * mean, 100 * low, 100 * high)} points, {n} starts"
    return Part(case, verdict, found, n, (margin - abs(mean)) / max((high - low) / 2, 1e-12))


def exact(case: str, errors: Iterable[float], tolerance: float = 1e-12) -> Part:
    """An identity, from its relative error in each of several random models."""
    errors = list(errors)
    worst, n = max(errors), len(errors)
    if worst < tolerance:
        return Part(case, "supported", f"relative error below {tolerance:.0e} in {n} of {n}", n, 1.0)
    return Part(case, "contradicted", f"relative error up to {worst:.0e}, {n} tried", n, -1.0)


def alike(values: pd.Series) -> pd.Series:
    """How much smaller the distance of each start from the mean is than the mean: the same sign and about the size."""
    return abs(values.mean()) - (values - values.mean()).abs()


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, our reading of it, where it is shown, what is measured (claims.toml).

    ``said``: the reading. ``page``: chapter#heading. ``measured``: what X − Y is, in words. ``instead``: what was found
    where the sentence fails, as a template over its worst case (:func:`filled`). ``quote``: the paper's own words, at
    most two lines. ``kind``: of :data:`KINDS`. ``beside``: a case whose name has one of these is told and not counted.
    """

    name: str
    section: str
    said: str
    page: str
    measured: str
    instead: str = ""
    quote: str = ""
    kind: str = "claim"
    beside: tuple[str, ...] = ()

    def parts(self, tables: Tables) -> tuple[Part, ...]:
        """The cases, as the reading in the module of the claim's chapter finds them.

        Raises
        ------
        ValueError
            If there is no such reading.
        """
        contents.load([self.page.partition("#")[0]])
        if self.name not in READINGS:
            raise ValueError(f"the claim {self.name} has no reading in the module of {self.page}")
        return tuple(READINGS[self.name](tables))


def filled(template: str, part: Part) -> str:
    """A template with the numbers of a case.

    {case}; {mean}, {low}, {high}: of X − Y; {held}, {n}: starts in which X was larger, and all; {size}: the mean
    without its sign; {share}: Y itself where X is :data:`SMALL`; {ratio}: X itself where Y is.

    Raises
    ------
    ValueError
        If the template asks for anything else.
    """
    values = {"case": part.case, "held": str(part.held), "n": str(part.n)}
    values |= {name: short(getattr(part, name)) for name in ("mean", "low", "high")}
    values |= {"size": short(abs(part.mean)), "share": short(SMALL - part.mean), "ratio": short(SMALL + part.mean)}
    unknown = [name for _, name, *_ in Formatter().parse(template) if name is not None and name not in values]
    if unknown:
        raise ValueError(f"no placeholder {{{unknown[0]}}}; there are {', '.join(values)}")
    return template.format(**values)


def sentences() -> dict[str, Claim]:
    """The claims of claims.toml by name, in its order."""
    listed = tomllib.loads((resources.files(__package__) / "claims.toml").read_text(encoding="utf-8"))
    found = {}
    for name, about in listed.items():
        filled(about.get("instead", ""), Part("", OPEN))
        found[name] = Claim(name, **about | {"measured": about["measured"].replace("{small}", f"{SMALL:g}")})
        if found[name].kind not in KINDS:
            raise ValueError(f"{name}: a sentence is {', '.join(KINDS)}, not {found[name].kind!r}")
    return found


CLAIMS = sentences()
READINGS: dict[str, Callable[[Tables], Iterable[Part]]] = {}
Cases = Callable[[Tables], Iterable[tuple[str, pd.DataFrame]]]


def reading(function: Callable[[Tables], Iterable[Part]], name: str = "") -> Callable:
    """Decorator: how the claim of the function's name is measured, a function from stored tables to cases.

    Raises
    ------
    ValueError
        If there is no such claim, or it is read already.
    """
    name = name or function.__name__
    if name not in CLAIMS:
        raise ValueError(f"no claim {name!r} in claims.toml: add its sentence there")
    if name in READINGS:
        raise ValueError(f"the claim {name} is read twice")
    READINGS[name] = function
    return function


def reads(name: str, cases: Cases, value: Callable[[pd.DataFrame], pd.Series], null: bool = False) -> None:
    """A claim that asks the same of every case: ``value`` is X − Y by seed, from the rows of a case.

    ``null``: cases on real data are held against permuted labels (:data:`uaftc_lib.book.nulls.NULLS`).
    """

    def parts(tables: Tables) -> Iterator[Part]:
        for case, rows in cases(tables):
            part = exceeds(case, value(rows))
            yield replace(part, null=null_of(case, tables, value)) if null else part

    reading(parts, name)


@dataclass(frozen=True)
class Judged:
    """A claim with its parts and its verdict."""

    claim: Claim
    parts: tuple[Part, ...]

    def cases(self, *verdicts: str) -> list[str]:
        return [part.case for part in self.parts if part.verdict in verdicts]

    @property
    def verdict(self) -> str:
        supported, contradicted = (len(self.cases(word)) for word in ("supported", "contradicted"))
        decided = len(self.parts) - len(self.cases(OPEN))
        if not decided:
            return "not yet measured"
        if supported:
            return "holds" if supported == decided else "holds under a condition"
        return "does not hold" if 2 * contradicted > decided else "undecided"

    @property
    def condition(self) -> str:
        """Where it holds, if under a condition: the number of cases, and the shorter list, of them or of the others."""
        if self.verdict != "holds under a condition":
            return ""
        there, words = self.cases("supported"), ("contradicted", "undecided")
        others = [f"{part.case} ({part.verdict})" for part in self.parts if part.verdict in words]
        line = f"in {len(there)} of {len(there) + len(others)} cases"
        if len(others) <= len(there):
            return f"{line}; not: {'; '.join(others)}"
        told = ", ".join(f"{word} in {len(self.cases(word))}" for word in words if self.cases(word))
        return f"{line}: {'; '.join(there)} · {told}"

    @property
    def worst(self) -> Part | None:
        """The contradicted case that lies farthest on the wrong side; the first where no distance is known."""
        wrong = [part for part in self.parts if part.verdict == "contradicted"]
        return min(wrong, key=lambda part: part.strength if np.isfinite(part.strength) else np.inf, default=None)


def judge(claim: Claim, tables: Tables) -> Judged:
    """The verdict on one claim."""
    return Judged(claim, claim.parts(tables))


def judge_all(tables: Tables | None = None) -> list[Judged]:
    """All claims, in the order of the paper; without tables: on the stored results."""
    tables = tables or Tables()
    return [judge(claim, tables) for claim in CLAIMS.values()]


def counted(judged: Iterable[Judged]) -> dict[str, int]:
    """How many claims got each verdict."""
    verdicts = [one.verdict for one in judged]
    return {word: verdicts.count(word) for word in WORDS}


def scorecard(judged: Iterable[Judged]) -> pd.DataFrame:
    """A row a case: section, claim, verdict on the claim, case, what was found there, and what of it was made."""
    return pd.DataFrame(
        [
            {
                "section": one.claim.section,
                "claim": one.claim.said,
                "verdict": one.verdict,
                "measured": one.claim.measured,
                "case": part.case,
                "found": part.found,
                "n": part.n,
                "holds there": MARKS[part.verdict],
                "permuted labels": part.null.told if part.null else "",
                "page": one.claim.page,
                "name": one.claim.name,
            }
            for one in judged
            for part in one.parts
        ]
    )


def cases_of(*names: str, tables: Tables | None = None) -> pd.DataFrame:
    """The cases of some claims, for the page on which they are shown: claim, measured, case, found, holds there.

    Raises
    ------
    ValueError
        If there is no such claim.
    """
    unknown = [name for name in names if name not in CLAIMS]
    if unknown:
        raise ValueError(f"no claim {unknown[0]!r}; there are {', '.join(CLAIMS)}")
    tables = tables or Tables()
    return scorecard(judge(CLAIMS[name], tables) for name in names)[
        ["claim", "measured", "case", "found", "holds there", "permuted labels"]
    ]


def surprises(judged: Iterable[Judged], most: int = 3) -> list[Judged]:
    """The claims that fail most clearly, of those that say what was found instead.

    First those that do not hold, then those with a case against them; both by how far the worst case lies on the
    wrong side, in half widths of its interval. Left out is what holds on the whole data
    and not on all small copies of them.
    """
    failing = (one for one in judged if one.claim.instead and one.worst)
    wrong = [one for one in failing if np.isfinite(one.worst.strength)]
    return sorted(wrong, key=lambda one: (one.verdict != "does not hold", one.worst.strength))[:most]
