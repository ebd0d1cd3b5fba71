"""The labs in the chapters: what stands in the notebook, on the page and in the browser is what PyTorch finds."""

import html
import json
import re
from functools import cache
from types import SimpleNamespace

import controls  # an extension of Sphinx
import nbformat
import pytest
from test_pages import PAGES, opened, overflow

from uaftc_book.lab import Lab, lab, parity
from uaftc_book.parameters import annotated_types
from uaftc_book.publish import CHECKOUT

BOOK = CHECKOUT / "book"
ELEMENT = re.compile(r"<uaftc-lab([^>]*)><p>(.*?)</p></uaftc-lab>", re.DOTALL)
EXPECTED = {"00_intro", "01_model", "02_training", "03_attention_order", "A_synthetic"}


# Reading a notebook takes long, finding a word in its file does not.
CHAPTERS = sorted(path.stem for path in BOOK.glob("*.ipynb") if "<uaftc-lab" in path.read_text(encoding="utf-8"))


@cache
def code_cells(name: str) -> list:
    """The cells of code of an executed chapter."""
    cells = nbformat.read(BOOK / f"{name}.ipynb", as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code"]


def outputs(name: str) -> str:
    """All that they have put out as HTML."""
    return "\n".join(one.get("data", {}).get("text/html", "") for cell in code_cells(name) for one in cell.outputs)


def embedded(text: str) -> list[tuple[dict, str]]:
    """(attributes, caption) of every lab in a piece of HTML."""
    found = []
    for written, caption in ELEMENT.findall(text):
        attributes = {name: html.unescape(value) for name, value in re.findall(r' ([\w-]+)="([^"]*)"', written)}
        attributes["state"] = json.loads(attributes.get("state", "{}"))
        found.append((attributes, html.unescape(re.sub("<[^>]+>", "", caption))))
    return found


def made_anew(attributes: dict) -> Lab:
    """The lab made from nothing but the attributes of the element, which PyTorch trains."""
    return lab(**{name: attributes[name] for name in ("state", "mode", "figure", "text") if name in attributes})


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_opening_command_is_accepted_by_its_chapter(name):
    """What the command beside a lab sets before anyone moves λ, js/again.js writes; and with the smallest λ there."""
    cells = code_cells(name)
    (first,) = (i for i, cell in enumerate(cells) if "parameters" in cell.metadata.get("tags", []))
    given, check = (cell.source for cell in cells[first : first + 2])
    for attributes, _ in embedded(outputs(name)):
        state, least = parity.complete_state(attributes["state"]), float(attributes.get("least", 1e-3))
        for lam in {state["lam"], least}:
            taken = {attributes.get("parameter", "lam"): float(lam)} if lam >= least else {}
            namespace, wanted = {}, taken | {"seed": state["seed"]}
            exec(given, namespace)
            assert set(wanted) <= set(annotated_types(namespace))
            exec(check, namespace | wanted)


def test_the_chapters_that_should_hold_a_lab_do():
    assert set(CHAPTERS) >= EXPECTED
    assert embedded(outputs("00_intro"))[0][0].get("mode") != "compact", "the book opens with the full lab"


PAPER = 718  # pixels between the margins of a sheet of A4
CUT = """() => [...document.querySelectorAll('article table, article pre, article figure, article svg, uaftc-lab')]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 || one.scrollWidth > one.clientWidth + 1)
    .filter((one) => one.clientWidth && !one.closest('mjx-container')).map((one) => one.outerHTML.slice(0, 200))"""
SHOWS = """([i, wanted]) => { const lab = document.querySelectorAll('uaftc-lab')[i];
    return Object.entries(wanted).every(([name, value]) => lab.run?.config[name] === value)
        && lab.run?.milliseconds != null && lab.run.job === lab.job && lab.frame == null; }"""  # trained
# A browser scrolls with its next frame.
FRAMES = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"


@pytest.mark.parametrize("name", CHAPTERS)
def test_labs_of_a_built_page_train_to_what_pytorch_finds(browser, name):
    """By turns on a desk in the light and on a phone in the dark: test_pages.py opens every page in all four."""
    width, scheme = [(390, "dark"), (1280, "light")][CHAPTERS.index(name) % 2]
    text = outputs(name)
    in_notebook = embedded(text)
    assert len({attributes["name"] for attributes, _ in in_notebook}) == text.count("<uaftc-lab")
    assert text.count("const REFERENCE = ") == 1, "the module stands once in a notebook"
    with opened(browser, PAGES / f"{name}.html", width, scheme) as (page, troubles):
        labs = page.locator("uaftc-lab").all()
        for i, (shown, (attributes, caption)) in enumerate(zip(labs, in_notebook, strict=True)):
            shown.scroll_into_view_if_needed()  # a lab trains when it is about to be seen
            page.wait_for_function(SHOWS, arg=[i, {}])
            told, found = shown.evaluate("lab => lab.numbers"), made_anew(attributes)
            for key in found.numbers.keys() - found.state.keys():
                assert told[key] == pytest.approx(found.numbers[key], rel=1e-9, abs=1e-9), key
            assert caption == found.caption()
            if attributes.get("mode") == "compact":
                assert shown.locator(".sentence").text_content() == caption
            assert shown.evaluate("lab => lab.dataset.scheme") == scheme
        assert overflow(page) <= 0 and troubles == []
        page.set_viewport_size({"width": PAPER, "height": 900})
        page.emulate_media(media="print")
        page.evaluate(FRAMES)
        assert page.evaluate(CUT) == [], "nothing is cut on paper"


NEAREST = """button => { const at = button.getBoundingClientRect().top;
    const away = [...document.querySelectorAll('uaftc-lab')].map(lab => lab.getBoundingClientRect())
        .map(({top, bottom}) => Math.max(top - at, at - bottom));
    return away.indexOf(Math.min(...away)); }"""
STANDS = "([button, before]) => Math.abs(button.getBoundingClientRect().top - before) <= 1"
ROOM = 60  # pixels by which the sentence of a live figure may grow
SEEN = """([i, room]) => { const one = document.querySelectorAll('uaftc-lab')[i].root;
    const { top, bottom } = one.querySelector('[data-figure] canvas, .compact canvas').getBoundingClientRect();
    return top + bottom > 2 * room && top + bottom < 2 * innerHeight; }"""  # half of its picture
WITH_SETTINGS = {"00_intro": 2, "01_model": 2, "02_training": 3, "03_attention_order": 2, "A_synthetic": 2}


@pytest.mark.parametrize("name", WITH_SETTINGS)
def test_a_setting_in_the_text_sets_the_figure_beside_it(browser, name):
    """By mouse and by keyboard; the figure trains, all else of it is as published, and what is read stays in place."""
    with opened(browser, PAGES / f"{name}.html") as (page, _):
        states = [attributes["state"] for attributes, _ in embedded(outputs(name))]
        buttons = page.locator("article button.set")
        assert buttons.count() == WITH_SETTINGS[name]
        for button in buttons.all():
            wanted = dict(re.findall(r"(\w+)=([\d.]+)", button.get_attribute("data-set")))
            wanted = {key: json.loads(value) for key, value in wanted.items()}
            said = re.findall(r"\d+(?:\.\d+)?", button.inner_text())
            assert list(map(json.loads, said)) == list(wanted.values())
            i = button.evaluate(NEAREST)
            button.scroll_into_view_if_needed()
            for press in (button.click, lambda button=button: button.press("Enter")):
                page.evaluate("i => document.querySelectorAll('uaftc-lab')[i].change({ lam: 3, seed: 7, epoch: 1 })", i)
                page.wait_for_function(SHOWS, arg=[i, {"lam": 3, "seed": 7}])
                button.scroll_into_view_if_needed()  # a reader presses what is in sight
                page.evaluate(FRAMES)
                before, seen = button.bounding_box()["y"], page.evaluate(SEEN, [i, ROOM])
                press()
                page.wait_for_function(SHOWS, arg=[i, wanted])
                page.wait_for_function(SEEN, arg=[i, 0])
                trained = page.locator("uaftc-lab").nth(i).evaluate("lab => [lab.run.config, lab.numbers.epoch]")
                whole = parity.complete_state(states[i] | wanted)
                assert trained == [whole, whole["epochs"]]
                assert button.evaluate("one => document.activeElement === one")
                if seen:
                    page.wait_for_function(STANDS, arg=[button.element_handle(), before])


MOVED = {"05_real_words": 2, "07_words_and_classes": 2, "08_is_it_explanation": 2, "A_pretrained": 2}
MOVED |= {"A_since_2020": 2}
IN_SIGHT = """() => {
    const { top, bottom } = document.querySelector('.frame[data-set]:not([hidden])').getBoundingClientRect();
    return top < innerHeight - 60 && bottom > 60; }"""


@pytest.mark.parametrize("name", MOVED)
def test_a_setting_in_the_text_moves_the_slider_beside_it(browser, name):
    with opened(browser, PAGES / f"{name}.html", 390) as (page, _):
        page.set_viewport_size({"width": 390, "height": 844})
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        buttons = page.locator("article button.set").all()
        assert len(buttons) == MOVED[name]
        for button in buttons:
            button.press("Enter")
            says = page.locator(".frame[data-set]:visible").get_attribute("data-says")
            assert re.split("[ :]", says)[2] == re.split("[  ]", button.inner_text())[2]
            box = page.locator(".uaftc-frames:has(.frame[data-set])")
            assert box.locator(".caption").inner_text() == says
            assert box.locator("input").get_attribute("aria-valuetext") == says.split(":")[0]
            assert page.evaluate(IN_SIGHT)


def test_on_a_phone_a_setting_brings_slider_and_picture_into_view(browser):
    with opened(browser, PAGES / "00_intro.html", 390) as (page, _):
        page.set_viewport_size({"width": 390, "height": 844})
        button = page.locator("article button.set").last
        for press in (button.click, lambda: button.press("Enter")):
            button.scroll_into_view_if_needed()
            page.evaluate("scrollBy(0, 300)")  # away from the figure
            assert not page.evaluate(SEEN, [0, 0])
            press()
            page.wait_for_function(SEEN, arg=[0, 0])
            for part in ("[name=lam]", "[data-figure] canvas"):
                box = page.locator("uaftc-lab").locator(part).first.bounding_box()
                assert 56 <= box["y"] and box["y"] + box["height"] <= 844, part
            assert button.evaluate("one => document.activeElement === one")
        chips = [one.bounding_box() for one in page.locator("uaftc-lab .full > .presets button").all()]
        assert (
            len({round(box["y"]) for box in chips}) <= 2 and max(box["x"] + box["width"] for box in chips) <= 390 - 16
        )


@pytest.mark.parametrize(
    "text, sets",
    [
        ("λ = 10 and seed 0", "lam=10&seed=0"),
        ("penalty = 0.001", "penalty=0.001"),
        ("0.01", "lam=0.01"),
        ("a lot", None),
    ],
)
def test_a_text_names_settings_or_is_refused(text, sets):
    inliner = SimpleNamespace(reporter=SimpleNamespace(error=lambda message, line: message))
    made, refused = controls.role("set", f"{{set}}`{text}`", text, 1, inliner)
    assert [one["sets"] for one in made] == [sets] * bool(sets) and bool(refused) == (sets is None)
    assert all(one.astext() == text for one in made)
