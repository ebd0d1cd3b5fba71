"""How judged claims read on a page: each by itself, and all together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import jinja2
import pandas as pd
from markupsafe import Markup, escape

from uaftc_book.claims import KINDS, MARKS, Judged, counted, filled
from uaftc_book.contents import MODULES
from uaftc_book.verdicts import WORDS

SIGNS = dict(zip(WORDS, ("✓", "◕", "◑", "◔", "✗", "?")))
BADGE = "–"  # of what is not graded
INDEX = re.compile(r"([_^])(\*[+−]?|\w)")  # of a symbol as the sources write it: α_j, L^p


def typeset(text: str) -> Markup:
    """Text as HTML, indices set low and powers high."""
    tag = {"_": "sub", "^": "sup"}
    return Markup(INDEX.sub(lambda found: f"<{tag[found[1]]}>{found[2]}</{tag[found[1]]}>", escape(text)))


CARDS = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
CARDS.filters["typeset"] = typeset
CARD = CARDS.from_string("""\
<details class="claim" id="{{ claim.name }}" data-verdict="{{ word }}">
<summary><span class="verdict">{{ sign }} {{ word }}</span>
<span class="sentence"><q>{{ claim.quote | typeset }}</q>
<small>§ {{ claim.section }}</small>
<span class="reading">{{ claim.said }}</span></span>
<span class="tally">{{ tally }}{% if turned %}<br><b>against it, not counted</b>: {{ turned }}{% endif %}</span>
<span class="tally">{{ control }}</span></summary>
<p>Measured: {{ claim.measured | typeset }}. Shown on <a href="{{ address }}">its page</a>;
<a href="#{{ claim.name }}">link to this claim</a>.
Read by <code>{{ reader }}</code>{% if tables %} from <code>{{ tables }}</code>{% endif %}.</p>
<table><thead><tr><th>case</th><th>found</th><th>supports</th>
{% if controlled %}<th>shuffled labels, at equal loss</th>{% endif %}</tr></thead><tbody>
{% for part in parts %}
<tr{% if not counts(part) %} class="beside"{% endif %}><td>{{ part.case }}</td><td>{{ part.found }}</td>
<td>{{ marks[part.verdict] }}{% if not counts(part) %} (not counted){% endif %}</td>
{% if controlled %}<td>{{ part.null.told if part.null else "" }}</td>{% endif %}</tr>
{% endfor %}
</tbody></table></details>
""")


def address(page: str) -> str:
    """chapter#heading as the address of a built page."""
    chapter, _, heading = page.partition("#")
    return f"{chapter}.html{'#' + heading if heading else ''}"


def card(one: Judged) -> str:
    """A sentence with its verdict, which opens to show its cases; without a verdict where it is no claim."""
    claim, graded = one.claim, one.claim.kind == KINDS[0]
    word = one.verdict if graded else claim.kind
    return CARD.render(
        claim=claim,
        word=word,
        sign=SIGNS[one.verdict] if graded else BADGE,
        tally=one.tally,
        control=control(one),
        turned="; ".join(part.case for part in one.turned_by) if graded else "",
        address=address(claim.page),
        reader=f"{MODULES[claim.page.partition('#')[0]]}.py",
        tables=", ".join(one.tables),
        parts=sorted(one.parts, key=lambda part: not one.counts(part)),
        counts=one.counts,
        marks=MARKS,
        controlled=any(part.null for part in one.parts),
    )


def cards(judged: Iterable[Judged]) -> str:
    """HTML of several claims; plain text where there are none."""
    shown = "".join(map(card, judged)) or "<p>No claim here has this verdict.</p>"
    return f'<div class="uaftc-table scorecard">{shown}</div>'


def filter_bar() -> str:
    """Where the page puts its buttons and its search (book/_static/scorecard.js)."""
    return f"<div class=\"scorecard-filter\" data-order='{json.dumps(WORDS)}'></div>"


def control(one: Judged) -> str:
    """What shuffled labels show, in how many cases; empty where none has this control."""
    shown = ", ".join(f"{word} in {n}" for word in ("less", "as much", "more") if (n := one.shuffled.count(word)))
    return f"shuffled labels: {shown} of {len(one.shuffled)}" if shown else ""


GROUPS = {  # of sentences
    "with cases on real texts": lambda one: one.on_real,
    "on invented texts alone": lambda one: not one.on_real,
    "in a single case": lambda one: len(one.counted) == 1,
    "in several cases": lambda one: len(one.counted) > 1,
    "all": lambda one: True,
}


def totals(judged: Iterable[Judged]) -> pd.DataFrame:
    """How many sentences have which verdict, by where and how often they were measured."""
    judged = list(judged)
    table = pd.DataFrame({name: counted(filter(chosen, judged)) for name, chosen in GROUPS.items()}).T
    return table.assign(sentences=table.sum(axis=1))


def so_many(totals: pd.DataFrame, group: str) -> str:
    """How many sentences of a group hold or mostly hold."""
    return f"{totals.loc[group, list(WORDS[:2])].sum()} of {totals.loc[group, 'sentences']}"


def headline(judged: Iterable[Judged]) -> str:
    """What became of the sentences, in one line."""
    table = totals(judged)
    groups = ("with cases on real texts", "on invented texts alone", "all")
    real, invented, every = (so_many(table, name) for name in groups)
    return (
        f"{every} sentences hold or mostly hold: {real} with cases on real texts, {invented} on invented texts alone."
    )


def pool_line(judged: Iterable[Judged]) -> str:
    """For how many sentences the pooled mean says more than the count of cases, and for which."""
    pooled = [one for one in judged if one.pooled]
    more, less = ([one for one in pooled if one.pool_says == word] for word in ("more", "less"))
    names = "".join(f" *[{one.claim.said}](#{one.claim.name})* ({one.pool_in_words})." for one in more)
    return (
        f"{len(pooled)} sentences have a pooled mean. For {len(less)} of them it says less than the count: its "
        f"interval holds zero. For {len(more) or 'none'} it says more{':' * bool(more)}{names or '.'}"
    )


def surprise(one: Judged) -> str:
    """A claim that fails, what was found instead in its worst case, and where it is shown."""
    claim = one.claim
    held = len(one.cases("supported"))
    but = f" The sentence holds in {held} of {len(one.counted)} cases." if held else ""
    return f"*{claim.said}* {filled(claim.instead, one.worst)}{but} [The page]({address(claim.page)}) shows it."
