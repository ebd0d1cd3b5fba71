"""The scorecard in words: how a judged claim reads on a page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from math import isfinite

import pandas as pd

from uaftc_lib.claims.verdicts import MARKS, OPEN, WORDS, Judged, Part, counted, filled

SIGNS = dict(zip(WORDS, ("✓", "◐", "✗", "?", "…")))
JOINED = "&nbsp;"  # no line breaks here


def address(page: str) -> str:
    """chapter#heading as the address of a built page."""
    chapter, _, heading = page.partition("#")
    return f"{chapter}.html{'#' + heading if heading else ''}"


def told(part: Part) -> str:
    """A case and what was found in it."""
    return f"{part.case}: {part.found}" if part.found else part.case


def evidence(one: Judged) -> str:
    """The verdict in one line: where it holds, or the case that decides, with its numbers, and how the others stand."""
    decided = [part for part in one.parts if part.verdict != OPEN]
    if not decided:
        return told(one.parts[0])
    if one.condition:
        return one.condition
    if one.worst:
        against, open_ = len(one.cases("contradicted")) - 1, len(one.cases("undecided"))
        more = [f"{n} {word}" for n, word in ((against, "contradicted"), (open_, "undecided")) if n]
        return told(one.worst) + (f" (other cases: {', '.join(more)})" if more else "")
    if len(decided) == 1:
        return told(decided[0])
    if not all(isfinite(part.strength) for part in decided):  # which is the weakest is not known
        return f"{told(decided[0])} (the first of {len(decided)} cases)"
    choose, which = (min, "weakest") if one.verdict == "holds" else (max, "nearest")
    return f"{told(choose(decided, key=lambda part: part.strength))} ({len(decided)} cases; this is the {which})"


def card(one: Judged) -> str:
    """A claim that opens to show its cases."""
    rows = "".join(
        f"<tr><td>{escape(part.case)}</td><td>{escape(part.found)}</td><td>{MARKS[part.verdict]}</td></tr>"
        for part in one.parts
    )
    name = one.claim.page.split("#")[0]
    return (
        f'<details class="claim"><summary><b>{SIGNS[one.verdict]} {one.verdict}</b> · {escape(one.claim.said)} '
        f"<small>§ {one.claim.section} · {escape(evidence(one))}</small></summary>"
        f"<p>Measured: {escape(one.claim.measured)}. Shown in "
        f'<a href="{address(one.claim.page)}">{name}</a>.</p>'
        "<table><thead><tr><th>case</th><th>found</th><th>holds there</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></details>"
    )


def cards(judged: Iterable[Judged]) -> str:
    """HTML of several claims; plain text where there are none."""
    shown = "".join(map(card, judged)) or "<p>No claim here has this verdict.</p>"
    return f'<div class="uaftc-table scorecard">{shown}</div>'


def counted_line(judged: Iterable[Judged]) -> str:
    """So many claims hold, so many under a condition, ..."""
    judged = list(judged)
    holds, condition, fails, undecided, missing = counted(judged).values()
    do = "does" if fails == 1 else "do"
    line = (
        f"Of **{len(judged)} claims** {holds} hold, {condition} hold under a condition, {fails} {do} not hold"
        + (f"; undecided: {undecided}" if undecided else "")
        + (f"; not measured yet: {missing}" if missing else "")
    )
    copies = sum(one.but_for_copies for one in judged)
    return line + (
        f". Of those under a condition {copies} are not supported on our small copies of the data only."
        if copies
        else "."
    )


def surprise(one: Judged) -> str:
    """A claim that fails, what was found instead in its worst case, and where it is shown."""
    claim = one.claim
    held, decided = len(one.cases("supported")), sum(part.verdict != OPEN for part in one.parts)
    but = f" The sentence holds in {held} of {decided} cases." if held else ""
    return f"*{claim.said}* {filled(claim.instead, one.worst)}{but} [The page]({address(claim.page)}) shows it."


def unbroken(command: str) -> str:
    """A command as HTML whose lines break between options only, not within "-p name value"."""
    parts = (f'<span style="white-space:nowrap">{escape(part)}</span>' for part in re.split(r" (?=-)", command))
    return f'<code style="display:block">{" ".join(parts)}</code>'


def map_table(made: pd.DataFrame) -> str:
    """The reproduction map as HTML: printed, what it shows, how it came out, data and commands."""
    rows = "".join(
        f'<tr><td><a href="{address(row.page)}">{escape(row.number).replace(" ", JOINED, 1)}</a></td>'
        + f"<td>{escape(row.what).replace(' = ', f'{JOINED}={JOINED}')}</td><td>"
        + (f'<a href="{address(row.told)}">differs</a>' if row.status == "differs" else row.status)
        + (f" <small>{escape(row.reason)}</small>" if row.status == "reproduced" else "")
        + f"</td><td>{escape(row.data)} {''.join(map(unbroken, row.commands))}</td></tr>"
        for row in made.itertuples()
    )
    heads = "".join(
        f"<th>{head}</th>" for head in ("printed", "what it shows", "status", "data, and what makes it again")
    )
    return f'<div class="uaftc-table map"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def differing(made: pd.DataFrame) -> str:
    """What differs from print: in what, why as far as it is known, and where that is told."""
    return "\n".join(
        f"* **{row.number}**: {row.reason}. " + (f"Why: {row.why}" if row.why else "Why is not known")
        + f" ([more]({address(row.told)}))."
        for row in made[made.status == "differs"].itertuples()
    )  # fmt: skip
