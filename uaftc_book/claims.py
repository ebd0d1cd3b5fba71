"""From measured values to a verdict on a sentence of the paper.

A claim is measured in one or more cases (a data set, a model, a λ). In each the sentence is read as "X exceeds Y" and
X − Y is a number a seed (:mod:`uaftc_book.cases`), of which :mod:`uaftc_book.rules` make a verdict on the case, and of
the cases one on the claim.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources

import numpy as np
import pandas as pd

from uaftc_book import contents, rules
from uaftc_book.cases import OPEN, SMALL, SURE, Part, Tables, exceeds
from uaftc_book.nulls import null_of
from uaftc_book.verdicts import WORDS
from uaftc_book.wording import with_interval

MARKS = {"supported": "yes", "contradicted": "no", "undecided": "too wide", OPEN: "too few"}  # of a case
SHUFFLED = {"more": "less", "as much": "as much", "less": "more"}  # what the labels show when shuffled

KINDS = ("claim", "identity", "definition", "assumption")  # the first alone is graded
# Settings that the paper leaves open, as they stand in the names of cases: shown, not counted.
UNNAMED = ("W₀ within ±0.1", "W ±0.1", "M ±0.1", "M ±3/√d")
REAL = re.compile("SST|IMDB|20News")  # real texts, in the names of cases
# Claims whose cases measure one quantity in one unit: accuracies; ratios, and scores where no λ sets the scale.
POOLED = {
    "points": """small_lam_is_worse lam_is_crucial_with_affine lam_is_crucial_with_lstm proper_lam_is_best
        huge_lam_is_harmless penalty_and_accuracy""",
    "": """pi_of_neutral neutral_part_of_C B_and_C_of_neutral polarity_of_neutral rho_of_neutral D_of_neutral F_of_polar
        F_at_first E_of_neutral F_of_neutral figure_2_neutral products_of_neutral B_decides_first E_dominates_first
        F_is_positive trials_are_similar neutral_around_zero penalty_closes_the_gap affine_E_of_neutral terms_set_aside
        class_A_is_small lstm_global polarity_parts A_tips_the_balance polar_attention_is_positive
        figure_2_polarity figure_2_attention control_of_VW penalty_at_large_lam polarity_grows products_part
        products_move ratio_moves_VW VW_and_ratio affine_polarity""",
}
UNITS = {name: unit for unit, names in POOLED.items() for name in names.split()}


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, our reading of it, where it is shown, what is measured (claims.toml).

    ``said``: the reading. ``page``: chapter#heading. ``measured``: what X − Y is, in words. ``quote``: the paper's own
    words, at most two lines. ``kind``: of :data:`KINDS`. ``beside``: a case whose name has one of these is shown
    and not counted.
    """

    name: str
    section: str
    said: str
    page: str
    measured: str
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
        contents.load_chapters([self.page.partition("#")[0]])
        if self.name not in READINGS:
            raise ValueError(f"the claim {self.name} has no reading in the module of {self.page}")
        return tuple(READINGS[self.name](tables))


def read_claims() -> dict[str, Claim]:
    """The claims of claims.toml by name, in its order."""
    listed = tomllib.loads((resources.files(__package__) / "claims.toml").read_text(encoding="utf-8"))
    found = {}
    for section, name, about in ((section, *claim) for section, claims in listed.items() for claim in claims.items()):
        if name in found:
            raise ValueError(f"{name} stands in claims.toml twice")
        about["measured"] = (
            about["measured"].replace("{small}", f"{SMALL:g} (what counts as small)").replace("{sure}", f"{SURE:.1f}")
        )
        about["beside"] = tuple(about.get("beside", ()))
        found[name] = Claim(name, section, **about)
        if found[name].kind not in KINDS:
            raise ValueError(f"{name}: a sentence is {', '.join(KINDS)}, not {found[name].kind!r}")
    return found


CLAIMS = read_claims()
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

    ``null``: cases on real data are held against permuted labels (:data:`uaftc_book.nulls.NULLS`).
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
    tables: tuple[str, ...] = ()  # that were read

    def counts(self, part: Part) -> bool:
        """Whether a case is one of the world: not one of a setting that the paper leaves open, nor a second measure."""
        return not any(name in part.case for name in (*UNNAMED, *self.claim.beside))

    @cached_property
    def counted(self) -> tuple[Part, ...]:
        """The cases of which the verdict is made."""
        return tuple(part for part in self.parts if self.counts(part))

    def cases(self, *verdicts: str) -> list[str]:
        return [part.case for part in self.counted if part.verdict in verdicts]

    @property
    def verdict(self) -> str:
        return rules.graded(len(self.cases("supported")), len(self.cases("contradicted")), len(self.counted))

    @property
    def tally(self) -> str:
        """So many cases; of so many the answer is yes, no, too wide, too few seeds."""
        answers = ", ".join(f"{n} {word}" for verdict, word in MARKS.items() if (n := len(self.cases(verdict))))
        return f"{len(self.counted)} case{'s' * (len(self.counted) > 1)}: {answers}"

    @property
    def on_real(self) -> bool:
        """Whether a case that counts is one of real texts."""
        return any(REAL.search(part.case) for part in self.counted)

    @cached_property
    def pooled(self) -> rules.Interval | None:
        """The mean over cases with its interval, where three or more measure one quantity in one unit."""
        cases = [part.number.interval for part in self.counted if part.verdict != OPEN]
        return rules.pooled(cases) if self.claim.name in UNITS and len(cases) > 2 else None

    @property
    def pool_in_words(self) -> str:
        return f"{with_interval(*self.pooled[:3])} {UNITS[self.claim.name]}".strip()

    @property
    def pool_doubts(self) -> bool:
        """Whether the pooled mean leaves the sign open where the cases decide it."""
        return bool(self.pooled) and self.pooled.low * self.pooled.high <= 0 and self.verdict not in WORDS[2::3]

    @property
    def turned_by(self) -> list[Part]:
        """The cases beside that speak against the verdict; where it is undecided, those that decide."""
        against = {word: ("contradicted",) for word in WORDS[:2]} | {word: ("supported",) for word in WORDS[3:5]}
        against |= {"undecided": ("supported", "contradicted")}
        return [part for part in self.parts if not self.counts(part) and part.verdict in against.get(self.verdict, ())]

    @property
    def weakest(self) -> Part:
        """The case that speaks least for the sentence: a contradicted one, or else the one nearest to zero."""
        order = ("contradicted", "undecided", OPEN, "supported")
        return min(self.counted, key=lambda one: (order.index(one.verdict), np.nan_to_num(one.strength, nan=np.inf)))

    @property
    def shuffled(self) -> list[str]:
        """What shuffled labels show in each case that has this control: less, as much, or more."""
        return [SHUFFLED[part.null.verdict] for part in self.counted if part.null]


def judge(claim: Claim, tables: Tables) -> Judged:
    """The verdict on one claim."""
    tables.read.clear()
    return Judged(claim, claim.parts(tables), tuple(sorted(tables.read)))


def judge_all(tables: Tables | None = None, kinds: Iterable[str] = KINDS[:1]) -> list[Judged]:
    """All sentences of some kinds, in the order of the paper; without tables: on the stored results."""
    tables = tables or Tables()
    return [judge(claim, tables) for claim in CLAIMS.values() if claim.kind in kinds]


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
                "kind": one.claim.kind,
                "verdict": one.verdict,
                "measured": one.claim.measured,
                "case": part.case,
                "counts": one.counts(part),
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
