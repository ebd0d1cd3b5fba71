"""The scorecard in words: how a judged claim reads on a page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from uaftc_lib.claims.verdicts import MARKS, OPEN, WORDS, Judged, Part, counted

SIGNS = dict(zip(WORDS, ("✓", "◐", "✗", "?", "…")))


def address(page: str) -> str:
    """chapter#heading as the address of a built page."""
    chapter, _, heading = page.partition("#")
    return f"{chapter}.html{'#' + heading if heading else ''}"


def told(part: Part) -> str:
    """A case and what was found in it."""
    return f"{part.case}: {part.found}" if part.found else part.case


def evidence(one: Judged) -> str:
    """The verdict in one line: where it holds, or the case that decides, with its numbers."""
    decided = [part for part in one.parts if part.verdict != OPEN]
    if not decided:
        return told(one.parts[0])
    if one.condition:
        return f"yes: {one.condition} · not: {'; '.join(one.cases('contradicted', 'undecided'))}"
    nearest = min(decided, key=lambda part: part.strength if part.strength == part.strength else 0.0)
    more = f" ({len(decided)} cases; this is the weakest)" if one.verdict == "holds" and len(decided) > 1 else ""
    return told(nearest) + more


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
    line = (
        f"Of **{len(judged)} claims** {holds} hold, {condition} hold under a condition, {fails} do not hold"
        + (f"; undecided: {undecided}" if undecided else "")
        + (f"; not measured yet: {missing}" if missing else "")
    )
    return line + "."


def surprise(one: Judged) -> str:
    """A claim that fails, and by what."""
    worst = min((part for part in one.parts if part.verdict == "contradicted"), key=lambda part: part.strength)
    return (
        f"*{one.claim.said}* Not so. Were it so, this would be above zero: {one.claim.measured}. At worst "
        f"({worst.case}) it is {worst.found}; [the page]({address(one.claim.page)}) shows it."
    )
