"""Chapter 17_scorecard: how a judged claim reads on a page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from math import isfinite

from uaftc_lib.book.cases import OPEN, Part
from uaftc_lib.book.claims import MARKS, WORDS, Judged, counted, filled

SIGNS = dict(zip(WORDS, ("✓", "◐", "✗", "?", "…")))


def address(page: str) -> str:
    """chapter#heading as the address of a built page."""
    chapter, _, heading = page.partition("#")
    return f"{chapter}.html{'#' + heading if heading else ''}"


def told(part: Part) -> str:
    """A case and what was found in it."""
    return f"{part.case}: {part.found}" if part.found else part.case


def beside_null(one: Judged) -> str:
    """In how many cases the sentence says more than permuted labels do; empty where no case has this control."""
    nulls = [part.null for part in one.parts if part.null]
    if not nulls:
        return ""
    words = [f"{word} in {n}" for word in ("as much", "less") if (n := sum(null.verdict == word for null in nulls))]
    rest = f" ({', '.join(words)})" if words else ""
    return f" · more than with permuted labels in {sum(null.verdict == 'more' for null in nulls)} of {len(nulls)}{rest}"


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
    controlled = any(part.null for part in one.parts)
    rows = "".join(
        f"<tr><td>{escape(part.case)}</td><td>{escape(part.found)}</td><td>{MARKS[part.verdict]}</td>"
        + (f"<td>{escape(part.null.told if part.null else '')}</td>" if controlled else "")
        + "</tr>"
        for part in one.parts
    )
    name = one.claim.page.split("#")[0]
    return (
        f'<details class="claim"><summary><b>{SIGNS[one.verdict]} {one.verdict}</b> · {escape(one.claim.said)} '
        f"<small>§ {one.claim.section} · {escape(evidence(one) + beside_null(one))}</small></summary>"
        f"<p>Measured: {escape(one.claim.measured)}. Shown in "
        f'<a href="{address(one.claim.page)}">{name}</a>.</p>'
        "<table><thead><tr><th>case</th><th>found</th><th>holds there</th>"
        f"{'<th>permuted labels, at equal loss</th>' * controlled}</tr></thead>"
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
    return (
        f"Of **{len(judged)} claims** {holds} hold, {condition} hold under a condition, {fails} {do} not hold"
        + (f"; undecided: {undecided}" if undecided else "")
        + (f"; not measured yet: {missing}" if missing else "")
        + "."
    )


def null_line(judged: Iterable[Judged]) -> str:
    """In how many cases real labels show more than permuted ones do; empty where no case has this control."""
    nulls = [part.null for one in judged for part in one.parts if part.null]
    if not nulls:
        return ""
    more = sum(null.verdict == "more" for null in nulls)
    return (
        f"{len(nulls)} cases of claims about lists of words were measured with permuted training labels, too: at equal "
        f"training loss real labels show more in **{more}** of them. "
        "[The page](10_scores.html#would-nonsense-look-the-same) tells how, and what is left on words that other texts "
        "have chosen."
    )


def surprise(one: Judged) -> str:
    """A claim that fails, what was found instead in its worst case, and where it is shown."""
    claim = one.claim
    held, decided = len(one.cases("supported")), sum(part.verdict != OPEN for part in one.parts)
    but = f" The sentence holds in {held} of {decided} cases." if held else ""
    return f"*{claim.said}* {filled(claim.instead, one.worst)}{but} [The page]({address(claim.page)}) shows it."
