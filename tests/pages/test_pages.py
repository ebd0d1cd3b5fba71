"""The built pages in a real browser, from file://, with the network shut: what a reader at home sees."""

import contextlib
import gzip
import html
import importlib
import itertools
import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
import yaml
from bs4 import BeautifulSoup
from figures import with_numbers_apart  # an extension of Sphinx

import conftest
from uaftc_book.publish import CHECKOUT
from uaftc_book.verdicts import WORDS

PAGES = CHECKOUT / "_build" / "book" / "_build" / "html"
NAMES = sorted(path.stem for path in PAGES.glob("*.html"))
CHAPTERS = sorted(path.stem for path in (CHECKOUT / "book").glob("*.ipynb"))
TITLE = yaml.safe_load((CHECKOUT / "_config.yml").read_text(encoding="utf-8"))["title"]
SITE_AT_MOST, PAGE_AT_MOST = 5.5e6, 400e3  # bytes that travel, compressed as hosts do
WIDTHS = {"desktop": 1280, "phone": 390}
FORMULAS = """[...document.querySelectorAll('div.math')].map(math => {
  const formula = math.querySelector('mjx-container'), number = math.querySelector('.eqno');
  const over = number ? formula.getBoundingClientRect().right - number.getBoundingClientRect().left : 0;
  return [math.id, formula.scrollWidth - formula.clientWidth, over];
})"""  # of each: its name, how much of it is cut off, how far it comes over its number
CUT = """[...document.querySelectorAll('.bd-article .uaftc-table')]
  .filter((one) => one.checkVisibility({ contentVisibilityAuto: true }) && one.scrollWidth - one.clientWidth > 1)
  .map((one) => [one.querySelector('tr').innerText, one.scrollWidth - one.clientWidth])"""  # cut tables: head, pixels


def test_there_are_pages():
    assert set(CHAPTERS) <= set(NAMES), "no pages have been built: run `make book`"


def test_the_book_travels_light():
    """But for the cards, which no reader fetches."""
    paths = [path for path in PAGES.rglob("*") if path.is_file() and path.parent.name != "social_previews"]
    sizes = {path: len(gzip.compress(path.read_bytes(), 6)) for path in paths}
    assert sum(sizes.values()) <= SITE_AT_MOST
    assert {path.name for path, size in sizes.items() if path.suffix == ".html" and size > PAGE_AT_MOST} == set()


def test_no_two_equations_have_one_number():
    numbers = [
        number
        for path in PAGES.glob("*.html")
        for number in re.findall(r'class="eqno">\(([^)]*)\)', path.read_text(encoding="utf-8"))
    ]
    assert len(numbers) > 100 and len(set(numbers)) == len(numbers)


def test_many_numbers_of_a_figure_are_a_file_beside_the_page(tmp_path):
    rows = "word,score\n" + "".join(f"é &,{i}\n" for i in range(1000))
    few, many = (f'<a href="data:text/csv;charset=utf-8,{html.escape(quote(text))}">' for text in ("a,b", rows))
    page = with_numbers_apart(few + many, tmp_path / "numbers")
    (file,) = (tmp_path / "numbers").iterdir()
    assert page == f'{few}<a href="numbers/{file.name}">' and file.read_text(encoding="utf-8") == rows


def test_heads_say_what_each_page_is():
    said = {}
    for name in (name for name in NAMES if name not in ("index", "404", "search", "genindex")):  # no text of the book
        text = (PAGES / f"{name}.html").read_text(encoding="utf-8")
        head = BeautifulSoup(text.partition("<body")[0], "html.parser").head
        values = {tag.get("name") or tag.get("property"): tag["content"] for tag in head("meta") if tag.get("content")}
        said[name] = values["description"]
        (foot,) = re.findall('<footer class="provenance.*?</footer>', text, re.DOTALL)
        assert "Version " in foot
        assert values["description"] == values["og:description"], name
        assert values["citation_title"] == values["og:title"], name
        assert values["og:site_name"] == values["citation_inbook_title"] == TITLE, name
        assert re.fullmatch(r"\d{4}/\d\d/\d\d", values["citation_publication_date"]), name
    assert len(set(said.values())) == len(said) and min(map(len, said.values())) > 20
    assert [name for name, text in said.items() if "<" in text] == []
    assert [name for name, text in said.items() if text[-1] not in ".?!"] == [], "a sentence is whole"


@pytest.mark.parametrize("name", ["uaftc_lib", "uaftc_lib.dynamics", "uaftc_lib.explain", "uaftc_lib.plots"])
def test_the_page_of_the_library_has_every_public_name(name):
    module = importlib.import_module(name)
    public = {f"{name}.{one}" for one in module.__all__ if callable(getattr(module, one))}
    assert public <= anchors(PAGES / "api.html")


@contextlib.contextmanager
def opened(
    browser, path: Path, width: int = 1280, scheme: str = "light", *, address: str = "", before: str = "", touch=False
):
    """A page, and the list of what went wrong on it: requests that leave the machine, console errors.

    ``address`` is what follows the name of the file, ``before`` a script that runs before those of the page.
    """
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        offline=True,
        reduced_motion="reduce",
        has_touch=touch,
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.add_init_script(before)
    troubles: list[str] = []

    def recorded(request):
        if not request.url.startswith(("file:", "data:", "blob:", "about:")):
            troubles.append(f"request: {request.url}")

    def said(message):
        if message.type in ("error", "warning"):
            troubles.append(f"console: {message.text}")

    if "<base " in (text := path.read_text(encoding="utf-8")):  # it asks the network for all of its files
        here = re.sub("<base [^>]*>", "", text)
        page.route(path.as_uri(), lambda route: route.fulfill(body=here, content_type="text/html"))
    page.on("request", recorded)
    page.on("requestfailed", lambda request: troubles.append(f"failed: {request.url} {request.failure}"))
    page.on("console", said)
    page.on("pageerror", lambda error: troubles.append(f"exception: {error}"))
    page.goto(path.as_uri() + address, wait_until="load")
    # index.html only leads on to the first chapter
    page.wait_for_function("!document.querySelector('meta[http-equiv=Refresh]') && document.readyState == 'complete'")
    page.wait_for_function("!window.MathJax || !MathJax.startup || MathJax.startup.promise.then(() => true)")
    page.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    yield page, troubles
    context.close()  # not after a failure: conftest.py takes a picture first


@cache
def anchors(path: Path) -> set[str]:
    """What a link into a page can name."""
    return set(re.findall(r'\b(?:id|name)="([^"]+)"', path.read_text(encoding="utf-8"))) | {"top"}


def overflow(page) -> int:
    """By how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.fixture(scope="module", params=NAMES)
def book_page(browser, request):
    """A page of the book, read once for all of its tests: it, and the list of what went wrong."""
    with opened(browser, PAGES / f"{request.param}.html") as both:
        yield both


def test_page_is_quiet_and_fits(book_page):
    page, troubles = book_page
    for (device, width), scheme in itertools.product(WIDTHS.items(), ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"document.documentElement.dataset.theme == '{scheme}'")  # or the test fails
        assert overflow(page) <= 0, f"{device}, {scheme}"
    broken = "[...document.images].filter(i => i.complete && i.naturalWidth === 0).map(i => i.src)"
    assert page.evaluate(broken) == []
    assert page.locator("i[class*=fa-]").count() == 0, "each icon is drawn"
    assert page.locator("svg[data-icon]").count() > 0 and page.locator("[data-fa-i2svg] > g > *").count() == 0
    assert troubles == []


@pytest.mark.parametrize("book_page", CHAPTERS, indirect=True)
def test_a_laptop_shows_every_open_table(book_page):
    page, _ = book_page
    page.set_viewport_size({"width": WIDTHS["desktop"], "height": 900})
    assert page.evaluate(CUT) == []


def test_a_phone_in_the_dark_opens_a_page_as_it_is_read(browser):
    """Opened so, and not changed later: the first page, which is reached from the index."""
    with opened(browser, PAGES / "index.html", WIDTHS["phone"], "dark") as (page, troubles):
        page.wait_for_url("**/00_intro.html")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert overflow(page) <= 0 and troubles == []


@pytest.mark.parametrize("book_page", CHAPTERS, indirect=True)
class TestChapter:
    def test_is_complete(self, book_page):
        page, _ = book_page
        name = Path(page.url).stem
        text = page.locator("article").inner_text()
        assert f"papermill book/{name}.ipynb out.ipynb" in page.locator("footer.provenance").inner_text()
        assert page.locator("mjx-container").count() == page.locator(".math").count()
        assert page.locator("mjx-merror, [data-mjx-error]").count() == 0
        assert "Traceback (most recent call last)" not in text
        written = (PAGES / f"{name}.html").read_text(encoding="utf-8")  # no role or formula is left, also not by code
        assert not re.findall(r"\{(?:cite|doc|eq|ref)[:\w]*\}|\$[^$<>\n]*\\[a-z]+[^$<>\n]*\$", written)
        assert page.locator(".stale").count() == 0
        assert page.locator(f'a[href$="{name}.ipynb"]').count() >= 1, "the notebook can be downloaded"
        assert page.locator("a.left-prev, a.right-next").count() >= 1

    def test_pictures_have_words(self, book_page):
        """Each figure has a caption; each drawing an alternative text that is more than a file's name."""
        page, _ = book_page
        for lab in page.locator("uaftc-lab").all():  # a live figure trains, and gets its captions, in sight
            lab.scroll_into_view_if_needed()
        page.wait_for_function("[...document.querySelectorAll('uaftc-lab')].every((lab) => lab.numbers)")
        captions = [figure.locator("figcaption").all_text_contents() for figure in page.locator("figure").all()]
        assert [caption for caption in captions if len(caption) != 1 or len(caption[0]) < 20] == []
        drawn = [svg.get_attribute("aria-label") for svg in page.locator("figure svg").all()]
        shown = [image.get_attribute("alt") for image in page.locator("article img").all()]
        assert [words for words in drawn + shown if not words or len(words) < 20 or "_images/" in words] == []

    def test_links_within_the_book_lead_somewhere(self, book_page):
        page, _ = book_page
        links = page.evaluate("[...document.querySelectorAll('a[href]')].map(a => a.href)")
        local = {link.split("#")[0].split("?")[0] for link in links if link.startswith("file:")}
        assert len(local) > 2
        assert [link for link in local if not Path(link.removeprefix("file://")).exists()] == []
        aims = {unquote(link.removeprefix("file://").split("?")[0]) for link in links if link.startswith("file:")}
        parts = [aim.split("#") for aim in aims if not aim.endswith("#") and "#" in aim]
        assert [(path, name) for path, name in parts if name not in anchors(Path(path))] == []

    def test_formulas_are_seen(self, book_page):
        """On a laptop all of a formula; on a phone it scrolls by itself, and its number stays beside it."""
        page, _ = book_page
        page.set_viewport_size({"width": 1200, "height": 900})
        # Up to two pixels are rounding of lines and glyphs.
        assert [name for name, cut, _ in page.evaluate(FORMULAS) if cut > 2] == []
        page.set_viewport_size({"width": WIDTHS["phone"], "height": 900})
        assert [name for name, _, over in page.evaluate(FORMULAS) if over > 0] == []


# Axe reads each page whole in one view, its live figures trained by what is asked above; these, with all that is folded
# opened, in two or in all four.
IN_TWO_VIEWS = {"01_model", "03_attention_order", "06_accuracy", "09_staying_true", "10_scorecard"}
IN_TWO_VIEWS |= {"symbols", "glossary", "references", "genindex"}
IN_EVERY_VIEW = {"00_intro"}
VIEWS = [(1200, "light"), (390, "dark"), (390, "light"), (1200, "dark")]
OPEN = """() => [document, ...[...document.querySelectorAll('uaftc-lab')].map((lab) => lab.root)]
    .forEach((tree) => tree.querySelectorAll('details').forEach((one) => { one.open = true; }))"""
# What MathJax makes of formulas, half of the elements of a page, is read on these alone.
WITH_FORMULAS = {"00_intro", "01_model", "symbols"}
WITHOUT_FORMULAS = "document.querySelectorAll('mjx-container > *').forEach((one) => one.replaceChildren())"
# The theme lets Tab reach what scrolls, a moment after a window has changed.
REACHED = "[...document.querySelectorAll('pre')].every(one => one.scrollWidth <= one.clientWidth || one.tabIndex == 0)"


@pytest.mark.parametrize("book_page", [name for name in NAMES if name != "index"], indirect=True)
def test_axe_finds_nothing(book_page, axe):
    page, _ = book_page
    name = Path(page.url).stem
    views = {name: [VIEWS[i % len(VIEWS)]] for i, name in enumerate(NAMES)}
    views |= dict.fromkeys(IN_TWO_VIEWS, VIEWS[:2]) | dict.fromkeys(IN_EVERY_VIEW, VIEWS)
    if name in IN_TWO_VIEWS | IN_EVERY_VIEW:
        page.evaluate(OPEN)
    if name not in WITH_FORMULAS:
        page.evaluate(WITHOUT_FORMULAS)
    for width, scheme in views[name]:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"document.documentElement.dataset.theme == '{scheme}'")
        page.wait_for_function(f"document.getAnimations().length == 0 && {REACHED}")
        assert conftest.violations(page, axe) == [], f"{width}, {scheme}"


AT_REST = """async () => {
  for (let calm = 0, last; calm < 60; calm = scrollY === last ? calm + 1 : 0) {
    last = scrollY;
    await new Promise(requestAnimationFrame);
  }
}"""  # a page that has stood still for sixty frames
AIM = "document.getElementById(location.hash.slice(1)).getBoundingClientRect().top"


@pytest.mark.parametrize(
    ("place", "width", "slower"),
    [("03_attention_order.html#equation-law-vw", 390, 6), ("A_gradients.html#equation-eq-27", 1280, 1)],
)
def test_a_link_to_a_formula_shows_it(browser, place, width, slower):
    """Formulas above it are set when the page has gone there, on a slow machine long after; the second time sooner."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.set_default_timeout(300_000)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    for _ in range(2):
        page.goto("about:blank")
        page.goto(f"{PAGES.as_uri()}/{place}", wait_until="commit")
        page.wait_for_function("document.readyState === 'complete' && window.MathJax?.startup?.promise")
        page.evaluate("MathJax.startup.promise")
        page.wait_for_function(f"0 < {AIM} && {AIM} < 400")
        page.evaluate(AT_REST)
        assert 0 < page.evaluate(AIM) < 400
    page.context.close()


def test_the_check_sees_what_it_should(browser, tmp_path):
    """A page that asks another machine, throws, complains and is too wide is caught on all counts."""
    bad = tmp_path / "bad.html"
    script = "console.error('complaint'); throw new Error('thrown')"
    source = json.dumps("https://example.org/x.png")
    bad.write_text(f"<p style='width: 2000px'>wide</p><img src={source}><script>{script}</script>")
    with opened(browser, bad, 390) as (page, troubles):
        found = " ".join(troubles)
        assert all(word in found for word in ("request: https://example.org", "complaint", "thrown"))
        assert overflow(page) > 0


def test_the_scorecard_can_be_filtered_searched_and_linked(browser):
    path = PAGES / "10_scorecard.html"
    with opened(browser, path) as (page, troubles):
        claims = page.locator(", ".join(f'details.claim[data-verdict="{word}"]' for word in WORDS))
        everything, shown = claims.count(), claims.filter(visible=True)
        buttons = page.locator(".scorecard-filter button").all_inner_texts()
        assert sum(int(text.split()[-1]) for text in buttons) == everything
        assert page.get_by_text(f" of {everything} sentences hold or mostly hold").count() == 1
        button = page.locator(".scorecard-filter button", has_text=re.compile(r"^holds \d"))
        holding = int(button.inner_text().split()[-1])
        button.click()
        assert shown.count() == holding < everything and button.get_attribute("aria-pressed") == "true"
        assert set(shown.evaluate_all("all => all.map(o => o.dataset.verdict)")) == {"holds"}
        button.click()
        for typed in ("mean pooling", '"progress"', "-0.032"):  # as a keyboard has it
            page.get_by_role("searchbox", name="search the sentences").fill(typed)
            assert 0 < shown.count() < everything
            said = page.locator(".scorecard-filter [role=status]").inner_text()
            assert said == f"{shown.count()} of {everything}"
        page.get_by_role("searchbox", name="search the sentences").fill("xyzzy")
        assert shown.count() == 0 and not troubles
    with opened(browser, path, address="#table_2") as (page, _):
        page.wait_for_function("document.getElementById('table_2').open")
        assert page.locator("#table_2 [download]").is_visible() and page.locator("#table_1 [download]").is_hidden()
