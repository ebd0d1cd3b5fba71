"""How a judged claim reads on a page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import jinja2
from markupsafe import Markup, escape

from uaftc_book.claims import KINDS, MARKS, Judged, counted, filled
from uaftc_book.contents import MODULES
from uaftc_book.verdicts import WORDS

SIGNS = dict(zip(WORDS, ("✓", "◕", "◑", "◔", "✗", "?")))
BADGE = "–"  # of what is not graded
DATA = re.compile(r"Data II?\b|SST|IMDB|20News II?\b|three classes")
INDEX = re.compile(r"([_^])(\*[+−]?|\w)")  # of a symbol as the sources write it: α_j, L^p
CASES = {"dealt out": "shuffled vectors"}  # as stored tables name a case, and as a page does


def typeset(text: str) -> Markup:
    """Text as HTML, indices set low and powers high."""
    tag = {"_": "sub", "^": "sup"}
    return Markup(INDEX.sub(lambda found: f"<{tag[found[1]]}>{found[2]}</{tag[found[1]]}>", escape(text)))


def named(case: str) -> str:
    """A case as the pages name it."""
    for stored, told in CASES.items():
        case = case.replace(stored, told)
    return case


CARDS = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
CARDS.filters |= {"typeset": typeset, "named": named}
CARD = CARDS.from_string("""\
<details class="claim" id="{{ claim.name }}" data-verdict="{{ word }}">
<summary><span class="verdict">{{ sign }} {{ word }}</span>
<span class="sentence"><q>{{ claim.quote | typeset }}</q>
<small>§ {{ claim.section }}</small>
<span class="reading">{{ claim.said }}</span></span>
<span class="tally">{{ tally }}{% if control %}<br>{{ control }}{% endif %}
{% if turned %}<br><b>turned beside</b>: {{ turned }}{% endif %}</span></summary>
<p>Measured: {{ claim.measured | typeset }}. {{ dependent }} Shown on <a href="{{ address }}">its page</a>;
<a href="#{{ claim.name }}">link to this claim</a>.
Read by <code>{{ reader }}</code>{% if tables %} from <code>{{ tables }}</code>{% endif %}.</p>
<table><thead><tr><th>case</th><th>found</th><th>supports</th>
{% if controlled %}<th>permuted labels, at equal loss</th>{% endif %}</tr></thead><tbody>
{% for part in parts %}
<tr{% if not counts(part) %} class="beside"{% endif %}><td>{{ part.case | named }}</td><td>{{ part.found }}</td>
<td>{{ marks[part.verdict] }}{% if not counts(part) %} <small>(beside)</small>{% endif %}</td>
{% if controlled %}<td>{{ part.null.told if part.null else "" }}</td>{% endif %}</tr>
{% endfor %}
</tbody></table></details>
""")


def address(page: str) -> str:
    """chapter#heading as the address of a built page."""
    chapter, _, heading = page.partition("#")
    return f"{chapter}.html{'#' + heading if heading else ''}"


def dependence(one: Judged) -> str:
    """Whether several cases share a data set, and so its texts and seeds."""
    sets = [match.group() for part in one.counted if (match := DATA.search(part.case))]
    if len(set(sets)) == len(sets):
        return ""
    return f"Of its {len(one.counted)} cases those of one data set share texts and seeds: they are not independent."


def card(one: Judged) -> str:
    """A sentence with its verdict, which opens to show its cases; without a verdict where it is no claim."""
    claim, graded = one.claim, one.claim.kind == KINDS[0]
    word = one.verdict if graded else claim.kind
    return CARD.render(
        claim=claim,
        word=word,
        sign=SIGNS[one.verdict] if graded else BADGE,
        tally=one.tally,
        control=one.against_control,
        turned="; ".join(named(part.case) for part in one.turned_by) if graded else "",
        dependent=dependence(one),
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


def counted_line(judged: Iterable[Judged]) -> str:
    """So many claims hold, so many mostly hold, ..."""
    judged = list(judged)
    parts = ", ".join(f"{n} {'are ' * (word in ('mixed', 'undecided'))}{PLURAL.get(word, word)}"
                      for word, n in counted(judged).items() if n)  # fmt: skip
    return f"Of **{len(judged)} claims** {parts}."


PLURAL = {"holds": "hold", "mostly holds": "mostly hold", "mostly not": "mostly do not", "does not hold": "do not hold"}


def null_line(judged: Iterable[Judged]) -> str:
    """In how many cases real labels show more than permuted ones do; empty where no case has this control."""
    nulls = [part.null for one in judged for part in one.counted if part.null]
    if not nulls:
        return ""
    more = sum(null.verdict == "more" for null in nulls)
    return (
        f"{len(nulls)} cases of claims about lists of words were measured with permuted training labels, too: at equal "
        f"training loss the effect is larger with real labels in **{more}** of them. "
        "[The page](05_real_words.html#would-permuted-labels-look-the-same) tells how, and what is left on words that "
        "other texts have chosen."
    )


def surprise(one: Judged) -> str:
    """A claim that fails, what was found instead in its worst case, and where it is shown."""
    claim = one.claim
    held = len(one.cases("supported"))
    but = f" The sentence holds in {held} of {len(one.counted)} cases." if held else ""
    return f"*{claim.said}* {filled(claim.instead, one.worst)}{but} [The page]({address(claim.page)}) shows it."
