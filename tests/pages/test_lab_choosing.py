"""V alone in the reader's hand: its programme and its flow held against Python, and the figure in a real browser."""

import contextlib
import json
import re

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

from conftest import violations
from uaftc_book.chapters.since_2020 import WITHOUT, ChoosingFigure, choosing_presets
from uaftc_book.lab.module import part
from uaftc_book.neighbours import selection

BEGIN, END, STEP, LARGEST = -5.0, 1000.0, 0.2, 300.0  # of js/choosing.js
CLOCK = "log(τ/\u2060λ²)"


def texts_of(given: dict) -> selection.Texts:
    """A problem in the plane as Python has it; the words of a text are in the order of their types."""
    lists = [sorted(types) for _, types in given["texts"]]
    E, lengths = np.array(given["words"], dtype=float), np.array([len(types) for types in lists])
    text, first = np.repeat(np.arange(len(lists)), lengths), np.append(0, lengths.cumsum()[:-1])
    y = np.array([y for y, _ in given["texts"]], dtype=float)
    return selection.Texts(
        text, np.concatenate(lists), np.zeros(len(text)), first, y, E, E @ np.array(given["W"], float)
    )


def initial_of(given: dict) -> np.ndarray:
    """V/λ where the flow begins."""
    turn = np.radians(given["angle"])
    return given["size"] * np.array([np.cos(turn), np.sin(turn)])


def stepped(texts: selection.Texts, start: np.ndarray, end: float = END) -> np.ndarray:
    """The flow by the method of js/choosing.js: V and log time along a curve of speed one; "steps 3"."""

    def ahead(z):
        pull, shift = selection.slope(texts, z[:2])
        move = np.append(pull * np.exp(min(shift + z[2], LARGEST)), 1.0)
        return move / np.linalg.norm(move)

    path = [np.append(start, BEGIN)]
    while path[-1][2] < end:
        z = path[-1]
        a = ahead(z)
        b = ahead(z + STEP / 2 * a)
        c = ahead(z + STEP / 2 * b)
        d = ahead(z + STEP * c)
        path.append(z + STEP / 6 * (a + 2 * b + 2 * c + d))
    return np.array(path)


def random_problem(seed: int) -> dict:
    """A few words, and texts of some of them."""
    draws = np.random.default_rng(seed)
    texts = [
        [int(draws.choice([-1, 1])), sorted(draws.permutation(6)[: draws.integers(1, 5)].tolist())] for _ in range(3)
    ]
    return {"words": draws.normal(size=(6, 2)).tolist(), "W": draws.normal(size=2).tolist(), "texts": texts}


@pytest.fixture(scope="module")
def visited(browser, tmp_path_factory):
    """``visited(...)`` yields a page with the figure; afterwards, that nothing went wrong and nothing was asked for."""
    path = tmp_path_factory.mktemp("pages") / "A_since_2020.html"

    @contextlib.contextmanager
    def visit(preset="first toy", width=1280, theme="light"):
        path.write_text(
            f'<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8"><title>V</title>'
            '<meta name="viewport" content="width=device-width"></head><body><main><h1>V</h1>'
            f"{ChoosingFigure(preset)._repr_html_()}</main></body></html>",
            encoding="utf-8",
        )
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, reduced_motion="reduce")
        page = context.new_page()
        troubles = []
        page.on("console", lambda said: said.type in ("error", "warning") and troubles.append(said.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith("http") and troubles.append(asked.url))
        page.goto(path.as_uri())
        page.locator(".plane .word").first.wait_for()
        yield page
        assert troubles == []
        context.close()

    return visit


CALL = """async ([text, name, problems]) => {
    const address = URL.createObjectURL(new Blob([text + "export { $choosing };"], { type: "text/javascript" }));
    const { $choosing: one } = await import(address);
    return problems.map(([given, more]) => {
        const result = one[name](one.problem(given), more);
        if (name !== "programme" || !result) return result;
        return [result.V, one.tightAndBetter(one.problem(given), more, result).length];
    });
}"""


def in_browser(page, name: str, problems: list) -> list:
    """What a function of js/choosing.js gives for each (problem, argument)."""
    return page.evaluate(CALL, [part("choosing"), name, problems])


def test_programmes_are_those_of_python(visited):
    """Random problems in the plane, every choice that the draw names, with and without a solution: to 10⁻⁹."""
    asked, expected = [], []
    for seed in range(200):
        given = random_problem(seed)
        texts = texts_of(given)
        draws = np.random.default_rng([seed, 1])
        for direction in (draws.normal(size=2), None):
            if direction is None:  # any words, which often no V chooses together
                chosen = np.array([draws.choice(np.flatnonzero(texts.text == i)) for i in range(len(texts.y))])
            else:
                chosen = selection.chosen_by(texts, direction)
            margin = selection.max_margin(texts, chosen)
            expected.append((margin, selection.tight_and_better(texts, chosen, margin).sum()))
            asked.append([given, texts.type[chosen].tolist()])
    with visited() as page:
        found = in_browser(page, "programme", asked)
    solved = [margin.feasible for margin, _ in expected]
    assert solved == [one is not None for one in found] and 100 < sum(solved) < 390
    for (margin, better), one in zip(expected, found, strict=True):
        if margin.feasible:
            assert np.abs(margin.V - one[0]).max() <= 1e-9 * max(1, np.linalg.norm(margin.V))
            assert better == one[1]
    assert 20 < sum(better > 0 for _, better in expected)


TURNED = [("first toy", 90, 10), ("second toy", -90, 3), ("not the best", 60, 5), ("leaves", -120, 2)]


def test_flows_are_those_of_the_same_method_in_python(visited, untyped):
    """All steps to log(τ/λ²) = 1,000, of every preset and of some with V turned: to 10⁻⁹ of |V|."""
    presets = choosing_presets()
    problems = [*presets.values(), *(presets[name] | {"angle": angle, "size": size} for name, angle, size in TURNED)]
    with visited() as page:
        found = in_browser(page, "flow", [[given, initial_of(given).tolist()] for given in problems])
    for given, one in zip(problems, found, strict=True):
        path, one = stepped(texts_of(given), initial_of(given)), np.array(one)
        count = min(len(path), len(one))
        assert abs(len(path) - len(one)) <= 1 and path[-1, 2] >= END
        away = np.linalg.norm(path[:count] - one[:count], axis=1) / np.maximum(1, np.linalg.norm(path[:count], axis=1))
        assert away.max() < 1e-9


@pytest.mark.parametrize("name", choosing_presets())
def test_the_method_finds_the_flow(name):
    """Held against the implicit method of the chapter, at each of its steps but while V jumps: to 10⁻⁴ of |V|."""
    given = choosing_presets()[name]
    texts, path = texts_of(given), stepped(texts_of(given), initial_of(given))
    exact = selection.gradient_flow(texts, initial_of(given), END, precision=1e-8)
    speed = np.linalg.norm(np.diff(exact.V, axis=0), axis=1) / np.maximum(np.diff(exact.log_times), 1e-12)
    calm = (np.append(0, speed) < 10) & (exact.log_times <= END)
    rising = np.append(True, np.diff(path[:, 2]) > 1e-9)
    found = PchipInterpolator(path[rising, 2], path[rising, :2])(exact.log_times[calm])
    sizes = np.maximum(1, np.linalg.norm(exact.V[calm], axis=1))
    assert calm.sum() > 100 and (exact.log_times[calm] > 900).any()
    assert (np.linalg.norm(found - exact.V[calm], axis=1) / sizes).max() < 1e-4


def ends(name: str, end: float = END, **initial) -> tuple[selection.Texts, np.ndarray, selection.Margin, np.ndarray]:
    """Texts, the choice at the end and its programme, and V there, of a preset with another initial V."""
    given = choosing_presets()[name] | initial
    texts = texts_of(given)
    V = stepped(texts, initial_of(given), end)[-1, :2]
    chosen = selection.chosen_by(texts, V)
    return texts, chosen, selection.max_margin(texts, chosen), V


def test_presets_show_what_they_say():
    for name in ("first toy", "second toy"):
        texts, chosen, margin, _ = ends(name, end=100)
        assert (chosen == texts.best(texts.gamma)).all() and (margin.multipliers > 1e-9).sum() == 2
    for angle in range(-180, 180, 60):
        texts, chosen, *_ = ends("second toy", end=100, angle=angle, size=10)
        assert (chosen == texts.best(texts.gamma)).all()
    texts, chosen, margin, V = ends("not the best", end=300)
    assert texts.type[chosen].tolist() == [0] and texts.gamma[2] > texts.gamma[0] > texts.gamma[1]
    assert not selection.tight_and_better(texts, chosen, margin).any() and selection.cosine(V, margin.V) > 0.9999
    assert np.flatnonzero(margin.slack < 1e-6).tolist() == [1], "only b stands in its way"
    assert [ends("not the best", end=100, angle=angle)[1].tolist() for angle in (15, 60)] == [[2], [2]]
    begins = [initial_of(choosing_presets()["not the best"] | {"angle": angle}) for angle in (15, 60)]
    assert [selection.chosen_by(texts, V).tolist() for V in begins] == [[0], [2]]
    texts, chosen, *_ = ends("leaves", end=100)
    assert texts.type[chosen].tolist() == [2]
    held = np.array([0])
    assert selection.tight_and_better(texts, held, selection.max_margin(texts, held)).tolist() == [False, False, True]
    given = choosing_presets()["leaves"]
    path = stepped(texts, initial_of(given), end=100)
    leads = (path[:, :2] @ (texts.E[0] - texts.E[2])) > 0
    assert leads[path[:, 2] < 72].all() and not leads[path[:, 2] > 74].any(), "for long"


def told(page) -> str:
    """What stands below the pictures."""
    return page.locator(".uaftc-choosing > .caption").last.inner_text().replace("\u2060", "")


def cosine_of(page) -> float:
    return float(re.search(r"cosine (−?[\d.]+)", told(page).replace("−", "-"))[1])


def press(page, label: str, key: str, times: int = 1) -> None:
    """A slider moved by the keyboard."""
    page.get_by_role("slider", name=label).focus()
    for _ in range(times):
        page.keyboard.press(key)


def preset(page, name: str) -> None:
    page.get_by_role("button", name=choosing_presets()[name]["label"], exact=True).click()


def test_the_clock_runs_and_is_moved_by_the_keyboard(visited):
    with visited() as page:
        clock = page.get_by_role("slider", name="clock τ/λ²")
        assert told(page).startswith("V is still turning: cosine 0.99")
        press(page, "clock", "End")
        texts, chosen, margin, V = ends("first toy")
        assert told(page).startswith("V points where the programme does: cosine 0.9999 at log(τ/λ²) = 1,000.0.")
        assert selection.cosine(V, margin.V) > 0.9999 and "each the best of its text" in told(page)
        assert clock.get_attribute("aria-valuetext").startswith(f"{CLOCK} = 1,000.0, cosine 0.9999")
        press(page, "clock", "Home")
        assert told(page).startswith("V is zero") and page.locator(".plane .now").count() == 0
        press(page, "clock", "ArrowRight")
        assert page.locator(".plane .now").count() > 0
        press(page, "clock", "Home")
        page.get_by_role("button", name="Play").press("Enter")
        page.wait_for_function("document.querySelector('.time input').valueAsNumber > 20")
        page.get_by_role("button", name="Pause").press("Space")
        stands = clock.input_value()
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert clock.input_value() == stands and page.get_by_role("button", name="Play").is_visible()


def test_another_initial_V_chooses_another_word_and_another_programme(visited):
    aim = "document.querySelector('.plane .aim').getAttribute('d')"
    with visited("not the best") as page:
        press(page, "clock", "End")
        assert "Chosen: a (c would be better). The choice is locally optimal. V keeps it" in told(page)
        before, cosine = page.evaluate(aim), cosine_of(page)
        press(page, "initial V: direction", "ArrowRight", 19)
        assert page.get_by_role("slider", name="initial V: direction").get_attribute("aria-valuetext") == "60°"
        assert "Chosen: c, the best word. The choice is locally optimal." in told(page)
        assert page.evaluate(aim) != before and min(cosine, cosine_of(page)) > 0.999
        assert page.locator("button[aria-pressed=true]").count() == 0
        box = page.locator(".plane .unit").bounding_box()  # and in the picture, with the mouse
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 1)
        assert page.get_by_role("slider", name="initial V: direction").get_attribute("aria-valuetext") == "−90°"
        assert "Chosen: a" in told(page) and page.evaluate(aim) == before


def test_a_choice_that_is_not_locally_optimal_is_said_to_be_left(visited):
    with visited("leaves") as page:
        assert "not locally optimal (tight, and no worse: c)." in told(page)
        left = float(re.search(r"V leaves it at log\(τ/λ²\) = (\d+\.\d)", told(page))[1])
        assert 72 < left < 74
        press(page, "clock", "End")
        assert "Chosen: c, the best word. The choice is locally optimal. V keeps it to the end" in told(page)
        line = page.locator(".course .line").get_attribute("d")
        assert line.count("M") == 2, "the curve breaks where the programme changes"


def test_words_that_no_direction_chooses_together_are_said_to_be_so(visited):
    """Two texts that want the same two words the other way round: no preset, so the caption's maker is asked."""
    given = {"words": [[0, 1], [0, 0], [3, 0]], "W": [0, 1], "texts": [[1, [0, 1]], [-1, [0, 1, 2]]]}
    contrary = given | {"angle": 90, "size": 3, "label": "contrary", "says": ""}
    source = ChoosingFigure()._repr_html_().split("<script>", 1)[1].split("</script>")[0]
    presets = json.dumps({"first toy": contrary})
    source = re.sub(r"const PRESETS = .*;\n", lambda _: f"const PRESETS = {presets};\n", source)
    with visited() as page:
        page.evaluate(source)
        assert "No V chooses the best word of every text at once." in told(page)


def test_lam_moves_the_clock_of_tau_and_nothing_else(visited):
    with visited("not the best") as page:
        press(page, "clock", "PageUp")
        ruler = "[...document.querySelectorAll('.course text.tau:not(.label)')].map((text) => text.outerHTML).join()"
        shown = "document.querySelector('.plane').innerHTML + document.querySelector('.course .line').outerHTML"
        at_ten = told(page), page.evaluate(shown), page.evaluate(ruler)
        says = page.locator("label", has=page.get_by_role("slider", name="scaling factor λ")).locator(".said")
        log, size = (
            float(x.replace(",", ""))
            for x in re.search(r"10: log τ = ([\d.]+), \|V\| = ([\d.,]+)", says.inner_text()).groups()
        )
        press(page, "scaling factor λ", "End")
        assert says.inner_text().startswith("1,000: ")
        at_thousand = told(page), page.evaluate(shown), page.evaluate(ruler)
        assert at_ten[:2] == at_thousand[:2] and at_ten[2] != at_thousand[2]
        later, longer = (
            float(x.replace(",", ""))
            for x in re.search(r"log τ = ([\d.]+), \|V\| = ([\d.,]+)", says.inner_text()).groups()
        )
        assert later - log == pytest.approx(2 * np.log(100), abs=0.11) and longer / size == pytest.approx(100, rel=0.05)


def test_presets_say_what_they_show_until_V_moves(visited):
    with visited() as page:
        for name, given in choosing_presets().items():
            preset(page, name)
            assert page.locator(".uaftc-choosing > .caption").first.inner_text() == given["says"]
            assert page.locator("button[aria-pressed=true]").inner_text() == given["label"]
        preset(page, "first toy")
        press(page, "initial V: direction", "ArrowLeft")
        assert page.get_by_role("slider", name="initial V/λ: length").input_value() == "3", "zero cannot be turned"
        assert page.locator("button[aria-pressed=true]").count() == 0


@pytest.mark.parametrize("width, theme", [(320, "light"), (375, "dark"), (1280, "dark")])
def test_it_fits_a_phone_and_is_legible_in_the_dark(visited, width, theme):
    with visited("leaves", width=width, theme=theme) as page:
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        wide = page.locator(".uaftc-choosing").bounding_box()["width"]
        assert all(one.bounding_box()["width"] <= wide for one in page.locator(".uaftc-choosing svg").all())
        style = "(name) => getComputedStyle(document.querySelector(name)).getPropertyValue({})"
        ground = page.evaluate(style.format("'background-color'"), ".uaftc-choosing")
        arrow = page.evaluate(style.format("'stroke'"), ".plane .now")
        dark = (ground, arrow) == ("rgb(20, 24, 27)", "rgb(232, 235, 237)")
        assert dark == (theme == "dark")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(visited, axe, theme):
    with visited("leaves", theme=theme) as page:
        assert violations(page, axe) == []


def test_without_javascript_a_sentence_stands_there(browser, tmp_path):
    path = tmp_path / "plain.html"
    path.write_text(f"<!doctype html><meta charset='utf-8'>{ChoosingFigure()._repr_html_()}", encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator(".uaftc-choosing").inner_text() == WITHOUT == repr(ChoosingFigure())
    context.close()


def test_an_unknown_preset_is_refused():
    with pytest.raises(ValueError, match="no preset 'third toy'; there are first toy, second toy"):
        ChoosingFigure("third toy")
