"""How judged claims read on a page: each by itself, and all together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from uaftc_book.claims import KINDS, Judged, scorecard
from uaftc_book.verdicts import WORDS

SIGNS = dict(zip(WORDS, ("✓", "◕", "◑", "◔", "✗", "?")))
BADGE = "–"  # of what is not graded
INDEX = re.compile(r"([_^])(\*[+−]?|\w)")  # of a symbol as the sources write it: α_j, L^p
JOINS = {"3": "1", "4": "4.1", "6": "5"}  # sections with a sentence or two, and the one whose list they join
CLAUSE = re.compile(r"; |, (?![^\[]*\])| \((?=pairs)")  # ends what comes first in what was found
COLUMNS = {"case": "case", "counts": "counts", "found": "measured", "n": "runs", "holds there": "supports it",
           "permuted labels": "shuffled labels"}  # fmt: skip


def part_of(section: str) -> str:
    """Under which heading a section's sentences are listed: 4.1, 4.2, the supplement by its letter."""
    return JOINS.get(section, section if section[0].isdigit() else section[0])


def typeset(text: str) -> Markup:
    """Text as HTML, indices set low and powers high."""
    tag = {"_": "sub", "^": "sup"}
    return Markup(INDEX.sub(lambda found: f"<{tag[found[1]]}>{found[2]}</{tag[found[1]]}>", escape(text)))


CARDS = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
CARDS.filters["typeset"] = typeset
CARD = CARDS.from_string("""\
<details class="claim" id="{{ claim.name }}" data-verdict="{{ word }}">
<summary><span class="verdict">{{ sign }} {{ word }}</span>
<span class="sentence"><q>{{ claim.quote | typeset }}</q> <small>§{{ claim.section }}</small>
<span class="evidence">{{ evidence }}{% if control %} {{ control }}.{% endif %}</span></span></summary>
<p>We read: {{ claim.said }} <a href="{{ address }}">Measured</a>: {{ claim.measured | typeset }}.</p>
{% if others %}<p>Nor in: {{ others }}.</p>{% endif %}
{% if turned %}<p><b>Against it, not counted</b>: {{ turned }}.</p>{% endif %}
{% if pooled %}<p>The pooled mean leaves it open: {{ pooled }}.</p>{% endif %}
<p><a download="{{ claim.name }}.csv" href="data:text/csv;charset=utf-8,{{ numbers }}">Cases (CSV)</a>
<a href="#{{ claim.name }}">link</a></p></details>
""")


def address(page: str) -> str:
    """chapter#heading as the address of a built page."""
    chapter, _, heading = page.partition("#")
    return f"{chapter}.html{'#' + heading if heading else ''}"


def card(one: Judged) -> str:
    """A sentence with its verdict, which opens to show our reading; without a verdict where it is no claim."""
    claim, graded = one.claim, one.claim.kind == KINDS[0]
    rest = [part for part in one.counted if part.verdict != "supported" and part != one.weakest]
    rows = scorecard([one])[[*COLUMNS]].rename(columns=COLUMNS).assign(tables=" ".join(one.tables))
    return CARD.render(
        claim=claim,
        word=one.verdict if graded else claim.kind,
        sign=SIGNS[one.verdict] if graded else BADGE,
        evidence=evidence(one),
        control=control(one),
        turned="; ".join(part.case for part in one.turned_by) if graded else "",
        address=address(claim.page),
        others="; ".join(part.case for part in rest),
        pooled=one.pool_in_words if one.pool_doubts else "",
        numbers=quote(rows.to_csv(index=False, lineterminator="\n"), safe=" ,.;:+-/()[]"),
    )


def cards(judged: Iterable[Judged]) -> str:
    """HTML of several claims; plain text where there are none."""
    shown = "".join(map(card, judged)) or "<p>No claim here has this verdict.</p>"
    return f'<div class="uaftc-table scorecard">{shown}</div>'


def filter_bar() -> str:
    """Where the page puts its buttons and its search (book/_static/scorecard.js)."""
    return f"<div class=\"scorecard-filter\" data-order='{json.dumps(WORDS)}'></div>"


def evidence(one: Judged) -> str:
    """How many cases support or contradict a sentence, and the one that speaks least for it."""
    n, against = len(one.counted), len(one.cases("contradicted"))
    text = f"Supported in {len(one.cases('supported'))} of {n}" + f", contradicted in {against}" * bool(against)
    return f"{text}; {'weakest: ' * (n > 1)}{one.weakest.case}, {CLAUSE.split(one.weakest.found)[0]}."


def control(one: Judged) -> str:
    """What shuffled labels show, in how many cases; empty where none has this control."""
    shown = ", ".join(f"{word} in {n}" for word in ("less", "as much", "more") if (n := one.shuffled.count(word)))
    return f"Shuffled labels: {shown} of {len(one.shuffled)}" if shown else ""


def so_many(judged: Iterable[Judged]) -> str:
    """How many of some sentences hold or mostly hold."""
    verdicts = [one.verdict for one in judged]
    return f"{sum(word in WORDS[:2] for word in verdicts)} of {len(verdicts)}"


def headline(judged: Iterable[Judged]) -> str:
    """What became of the sentences, in one line."""
    judged = list(judged)
    real, invented = (so_many(one for one in judged if one.on_real == chosen) for chosen in (True, False))
    return (
        f"{so_many(judged)} sentences hold or mostly hold: {real} with cases on real texts, {invented} on invented "
        "texts alone."
    )
