"""The symbols of the book: one file that is complete, and formulas that say what they mean."""

import pkgutil
import re
from collections import Counter
from functools import cache

import pytest
import symbols as extension
import yaml
from docutils.nodes import make_id
from test_pages import PAGES, opened, overflow

from uaftc_book.publish import CHECKOUT
from uaftc_book.random_models import Case, View
from uaftc_lib import AttentionClassifier

SYMBOLS, LOCAL = extension.read(CHECKOUT / "book").values()
FIELDS = {"group", "tex", "plain", "name", "meaning", "shape", "chapter", "code"}
ORDER = [
    CHAPTER["file"]
    for PART in yaml.safe_load((CHECKOUT / "_toc.yml").read_text())["parts"]
    for CHAPTER in PART["chapters"]
]
# What has no letter of its own: names of functions, words, and what stands for sets and expectations.
WORDS = re.compile(r"\\(?:text|mathrm|operatorname|begin|end|mathbb)\*?(?:\{[^}]*\}| \w)|^:.*$", re.MULTILINE)
GREEK = (
    "alpha beta gamma delta epsilon varepsilon eta theta kappa lambda mu nu xi pi rho sigma tau phi varphi psi omega"
)
NAMED = "|".join([*GREEK.split(), *(name.title() for name in GREEK.split()), "ell", "partial", "top"])
LETTER = re.compile(rf"(\\boldsymbol *)?\{{?(\\(?:{NAMED})(?![a-zA-Z])|(?<![\\a-zA-Z])[a-zA-Z](?![a-zA-Z]))")
MADE = {  # attributes that only an object has
    AttentionClassifier: (lambda: Case().model("DP-A"),),
    View: (lambda: Case().view(), lambda: Case().multiclass()),
}


def letters(tex: str) -> list[str]:
    """The letters of a formula, one after the other, a bold one with a mark."""
    commands = re.sub(rf"\\(?!boldsymbol|(?:{NAMED})(?![a-zA-Z]))[a-zA-Z]+", " ", WORDS.sub(" ", tex))
    spread = re.sub(r"(?<![\\a-zA-Z])[a-zA-Z]{2,}", lambda found: " ".join(found[0]), commands)
    return [("bold " if bold else "") + letter for bold, letter in LETTER.findall(spread)]


@cache
def formulas(chapter: str, displayed: bool = False) -> str:
    """The formulas of a notebook, in text and beside it."""
    text = (CHECKOUT / "notebooks" / f"{chapter}.md").read_text(encoding="utf-8")
    text = re.sub(r"```\{code-cell\}.*?\n```", "", text, flags=re.DOTALL)
    found = re.findall(r"```\{math\}\n(.*?)```", text, flags=re.DOTALL)
    found += re.findall(r"\$\$(.+?)\$\$", text, flags=re.DOTALL)
    text = re.sub(r"```\{math\}.*?```|\$\$.+?\$\$", "", text, flags=re.DOTALL)
    return "\n".join(found if displayed else found + re.findall(r"\$([^$]+)\$", text))


def standing(chapter: str) -> list[tuple[str, dict]]:
    """Each way of writing a symbol that means something on a page, with its symbol; those of the page alone without."""
    here = [one for one in SYMBOLS if chapter in one.get("only", [chapter])]
    written = [(tex, one) for one in here for tex in (one["tex"], *one.get("also", []))]
    return written + [(tex, {}) for tex in LOCAL.get(chapter, {}) if letters(tex)]


def in_the_code(name: str) -> bool:
    """Whether a full name stands for something."""
    try:
        return bool(pkgutil.resolve_name(name))
    except AttributeError:
        owner, _, last = name.rpartition(".")
        found = pkgutil.resolve_name(owner)
        made = MADE.get(found, ())
        return last in getattr(found, "__dataclass_fields__", {}) or any(hasattr(make(), last) for make in made)


def test_letters_are_found_in_formulas():
    tex = r"\frac{\partial\ell}{\partial\boldsymbol{e}_j} = "
    tex += r"\sum_{tw} \boldsymbol V^\top \mathrm{Var}(s) \exp\kappa \text{of}"
    found = [r"\partial", r"\ell", r"\partial", "bold e", "j", "t", "w", "bold V", r"\top", "s", r"\kappa"]
    assert letters(tex) == found


MARKUP = set("<>&`|")


@pytest.mark.parametrize("symbol", SYMBOLS, ids=lambda symbol: symbol["name"])
def test_a_symbol_is_whole_and_stands_in_its_first_chapter(symbol):
    assert FIELDS <= symbol.keys() <= FIELDS | {"also", "only"} and all(symbol.values())
    assert {*symbol.get("only", []), symbol["chapter"]} <= {*ORDER}
    assert not MARKUP & set("".join(symbol[key] for key in FIELDS - {"tex"}))
    assert in_the_code(symbol["code"])
    letter, pages = letters(symbol["tex"])[0], symbol.get("only", ORDER)
    assert letter in letters(formulas(symbol["chapter"]))
    for page in ORDER[: ORDER.index(symbol["chapter"])]:  # nor is it in a displayed equation before
        same = [other for tex, other in standing(page) if letters(tex)[0] == letter]
        known = any(not other or ORDER.index(other["chapter"]) <= ORDER.index(page) for other in same)
        assert page not in pages or known or letter not in letters(formulas(page, displayed=True)), page


def test_no_symbol_is_defined_twice():
    for names in ([make_id(one["name"]) for one in SYMBOLS], [one["plain"] for one in SYMBOLS]):
        assert len(set(names)) == len(names)
    for scope in [None, *ORDER]:
        own = [one for one in SYMBOLS if (scope in one.get("only", []) if scope else "only" not in one)]
        written = Counter(tex for one in own for tex in (one["tex"], *one.get("also", [])))
        assert set(written.values()) <= {1}, written


@pytest.mark.parametrize("page", LOCAL)
def test_a_letter_of_one_page_stands_there(page):
    known = {*letters(formulas(page))}
    for tex, name in LOCAL[page].items():
        assert name and not MARKUP & set(name) and {*letters(tex)[:1]} <= known, tex


@pytest.mark.parametrize("chapter", [one for one in ORDER if (CHECKOUT / "notebooks" / f"{one}.md").exists()])
def test_each_letter_of_an_equation_is_explained(chapter):
    assert {*letters(formulas(chapter, displayed=True))} <= {letters(tex)[0] for tex, _ in standing(chapter)}


def test_the_pages_show_every_symbol_and_every_term():
    page, index = ((PAGES / name).read_text(encoding="utf-8") for name in ("symbols.html", "genindex.html"))
    for one in SYMBOLS:
        assert f'id="{extension.anchor(one)}"' in page
        assert index.count(f'href="symbols.html#{extension.anchor(one)}"') == 2
    terms = re.findall(r'<dt id="(term-[^"]+)"', (PAGES / "glossary.html").read_text(encoding="utf-8"))
    assert len(terms) >= 50 and terms == sorted(terms, key=str.lower)
    assert [term for term in terms if f'href="glossary.html#{term}"' not in index] == []


@pytest.fixture(scope="module", params=[(1280, "light"), (390, "dark")], ids=["desktop", "phone"])
def appendix(browser, request):
    """The appendix on gradients; the last of its tests leaves it."""
    with opened(browser, PAGES / "A_gradients.html", *request.param) as both:
        yield both


@pytest.fixture
def gradients(appendix):
    """It, an equation of it, and the note."""
    page, troubles = appendix
    formula = page.locator("#equation-eq-13 mjx-container")
    formula.scroll_into_view_if_needed()
    yield page, formula, page.locator(".symbol-note")
    assert troubles == [] and overflow(page) <= 0


def place(formula, code: str):
    """The middle of the first symbol of an equation that has this letter."""
    box = formula.locator(f'[data-c="{code}"]').first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


ALPHA, BETA = "1D6FC", "1D6FD"


def test_a_symbol_explains_itself_on_hover(gradients):
    page, formula, note = gradients
    x, y = place(formula, ALPHA)
    for _ in range(1000):  # until the symbols are learned
        page.mouse.move(x - 1, y)
        page.mouse.move(x, y)
        if note.is_visible():
            break
    alpha = next(one for one in SYMBOLS if one["plain"] == "α")
    assert all(alpha[key] in note.inner_text() for key in ("name", "meaning", "shape"))
    assert formula.locator(".symbol-on").count() == 1
    link = note.get_by_role("link")
    assert link.get_attribute("href") == f"symbols.html#{extension.anchor(alpha)}"
    area, beside = note.bounding_box(), formula.bounding_box()
    width = page.viewport_size["width"]
    assert 0 <= area["x"] and area["x"] + area["width"] <= width and area["y"] >= beside["y"] + beside["height"] - 1
    # It stays while the pointer is on its way to it, and on it, and goes with Escape or with the pointer.
    page.mouse.move(area["x"] + 20, area["y"] + 20, steps=5)
    page.wait_for_timeout(500)
    assert note.is_visible()
    page.keyboard.press("Escape")
    assert note.is_hidden()
    page.mouse.move(x, y)
    note.wait_for(state="visible")
    page.mouse.move(x, beside["y"] - 60)
    note.wait_for(state="hidden")


def test_a_symbol_explains_itself_on_tap(gradients):
    page, formula, note = gradients
    x, y = place(formula, BETA)
    finger = page.context.new_cdp_session(page)
    for kind, points in (("touchStart", [{"x": x, "y": y + 8}]), ("touchEnd", [])):  # it is not precise
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    note.wait_for(state="visible")
    assert "how wrong a text is" in note.inner_text()
    page.mouse.move(x, y + 200)
    page.wait_for_timeout(500)
    assert note.is_visible(), "what was tapped stays"
    page.locator("article h2").first.click()
    assert note.is_hidden()


def test_arrow_keys_go_through_the_symbols(gradients):
    page, formula, note = gradients
    stops = page.locator("mjx-container[tabindex='0']").count()
    formula.focus()
    names, again = [], "(it => it === (window.first ??= it))(document.querySelector('.symbol-on'))"
    while not names or len(names) < 30 and not (page.evaluate(again) and names[1:]):
        page.keyboard.press("ArrowRight")
        note.wait_for(state="visible")
        names.append(note.locator("strong").inner_text().split("\n")[-1].strip())
        assert page.locator(".symbol-on").count() == 1
    assert names[0] == names[-1] == "partial derivative"
    assert {"loss", "embedding", "attention weight", "scaling factor", "pooled vector", "class vector"} <= set(names)
    page.keyboard.press("ArrowLeft")
    assert note.locator("strong").inner_text().split("\n")[-1].strip() == names[-2]
    page.keyboard.press("Escape")
    assert note.is_hidden() and formula.evaluate("it => it === document.activeElement")
    page.keyboard.press("ArrowRight")
    note.wait_for(state="visible")
    page.keyboard.press("Tab")
    assert note.is_hidden() and page.locator("mjx-container[tabindex='0']").count() == stops
    formula.focus()
    page.keyboard.press("ArrowRight")
    note.wait_for(state="visible")
    page.keyboard.press("Enter")
    page.wait_for_url("**/symbols.html#symbol-partial-derivative")


HERE = r"""async formula => {
  const names = new Set();
  for (let i = 0; i < 30; i++) {
    names.add(document.querySelector(".symbol-note:not([hidden]) strong").innerText.split("\n").pop().trim());
    formula.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    await new Promise(setTimeout);
  }
  return [...names];
}"""  # what the symbols of a formula are called


MEANT = {  # page -> [letters of a formula, what it says they are, what it must not say]
    "A_since_2020": [
        ("2211 1D452", {"attention score", "polarity score"}, "word"),  # e^a: a number
        ("1D462", {"what a word A0 or A1 adds to a text's logit"}, "pull of a place"),  # here alone
    ],
    "09_staying_true": [("1D6FF", {"strength of the tie"}, "change")],
    "A_errata": [("1D434", {"how attention moves two words"}, "side effect on the vote")],
}


@pytest.mark.parametrize("page", MEANT)
def test_a_letter_says_what_it_means_on_its_page(browser, page):
    with opened(browser, PAGES / f"{page}.html") as (shown, _):
        for codes, names, wrong in MEANT[page]:
            with_them = "".join(f':has([data-c="{code}"])' for code in codes.split())
            formula = shown.locator(f".bd-article mjx-container{with_them}").first
            formula.dispatch_event("keydown", {"key": "ArrowRight"})
            shown.locator(".symbol-note").wait_for(state="visible")
            said = set(formula.evaluate(HERE))
            assert names <= said and wrong not in said
            shown.keyboard.press("Escape")


def test_only_pages_with_formulas_load_the_symbols():
    for path in PAGES.glob("*.html"):
        page = path.read_text(encoding="utf-8")
        loaded = [name in page for name in extension.SCRIPTS]
        assert loaded == ['class="math' in page] * 2, path.name
