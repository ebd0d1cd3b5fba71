"""Pages for a person to read: not too long, not too full of numbers, with captions of one sentence."""

import re
from statistics import mean

import pytest
from bs4 import BeautifulSoup
from test_pages import CHECKOUT, PAGES

READABLE = sorted(page.stem for page in (CHECKOUT / "notebooks").glob("*.md"))
SILENT = "script, style, svg, nav, button, template, pre, .math"
AVOIDED = re.compile(
    r"\b(tells?|told|hardly|beside|of which|comes? out|does so|that of|so it was"
    r"|(is|are|was|were|be|been) (told|asked|tried|named|said))\b",
    re.IGNORECASE,
)


def counted(html: str) -> dict[str, float]:
    """Words that are seen and folded, and what the running text and the captions are like."""
    article = BeautifulSoup(html, "html.parser").article
    for one in article.select(SILENT):
        one.decompose()
    seen, folded, running = 0, 0, []
    for text in article.strings:
        around, words = [*text.parents], text.split()
        names = {one.name for one in around}
        folds = [one for one in around if one.name == "details" and not one.has_attr("open")]
        closed = any(not any(one.name == "summary" and one.parent is fold for one in around) for fold in folds)
        folded, seen = (folded + len(words), seen) if closed else (folded, seen + len(words))
        if not closed and names & {"p", "li"} and not names & {"table", "code", "figcaption"}:
            running += words
    captions = [len(one.get_text(" ").split()) for one in article("figcaption")] or [0]
    return {
        "words seen": seen,
        "words folded": folded,
        "numerals in 100 words": 100 * mean(bool(re.search(r"\d", word)) for word in running),
        "avoided words in 1,000": 1000 * len(AVOIDED.findall(" ".join(running))) / len(running),
        "words of a caption, mean": mean(captions),
        "words of the longest caption": max(captions),
    }


LIMITS = dict(zip(counted("<article><p>a</p></article>"), (2500, 4500, 7, 1, 30, 50)))
APPENDIX = {"words seen": 3000, "words folded": 5000}
LOOKED_UP = {"words seen": 6000, "words folded": 6000}


def limits_of(name: str) -> dict[str, float]:
    """The limits of a page: appendices may be longer, and pages on which one looks things up longer still."""
    longer = LOOKED_UP if name in ("10_scorecard", "A_errata", "A_map") else APPENDIX if name.startswith("A_") else {}
    return LIMITS | longer


@pytest.mark.parametrize("name", READABLE)
def test_a_page_can_be_read(name):
    counts = counted((PAGES / f"{name}.html").read_text(encoding="utf-8"))
    limits = limits_of(name)
    assert {what: value for what, value in counts.items() if value > limits[what]} == {}


def test_what_is_counted():
    html = """<p>left out</p><article><p>One of 2 words is told.</p><pre>code</pre><table><tr><td>7 8</td></tr></table>
        <details><summary>More</summary><p>Two words</p><details><summary>and</summary></details></details>
        <figure><svg><text>a</text></svg>
        <figcaption>A caption</figcaption></figure></article>"""
    assert [round(value, 1) for value in counted(html).values()] == [11, 3, 16.7, 166.7, 2, 2]
