"""The phase diagram that is solved in the page: held against Python, and used as its readers use it, offline."""

import contextlib
import json
import re

import numpy as np
import pytest

from conftest import violations
from uaftc_book.chapters.which_lambda import KEPT, MISSING, SCALE, SHOWN, in_equal_steps, live_phase, source, turned
from uaftc_book.flat_flow import FlatFlow
from uaftc_book.mean_field import MeanField
from uaftc_book.small_data import RANGES, WHOLE_STEPS, initial_model, set_cosine
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import stored
from uaftc_lib.scores import KINDS, examined_types

UPPER = np.triu_indices(5)
SETTINGS = [  # range, seed, λ, cosine: on the grid of the stored runs and off it, and at the ends of the plane
    (1.0, 0, 1.0, -0.95), (1.0, 0, 10.0, 0.25), (1.0, 1, 33.3, 0.007), (1.0, 2, 1000.0, 1.0),
    (0.1, 0, 1.0, 0.95), (0.1, 1, 2.5, -0.61), (0.1, 2, 10.0, -1.0), (0.1, 2, 420.0, 0.03),
]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return load_dataset("synthetic-1")


@pytest.fixture(scope="module")
def field(data):
    return MeanField.from_corpus(data.train, list(examined_types(data).values()))


@pytest.fixture(scope="module")
def runs():
    return stored("exact_phase")


@pytest.fixture(scope="module")
def figure(data, field, runs):
    return live_phase(data, field, runs)


@pytest.fixture(scope="module")
def opened(browser, figure, tmp_path_factory):
    """``opened(...)`` yields a page with the figure; afterwards, that nothing went wrong and nothing was asked for."""
    path = tmp_path_factory.mktemp("pages") / "phase.html"

    @contextlib.contextmanager
    def visit(width=1280, scheme="light", touch=False, script=True, address=""):
        path.write_text(
            f'<!doctype html><html lang="en" data-theme="{scheme}"><head><meta charset="utf-8"><title>Phase</title>'
            f'<meta name="viewport" content="width=device-width"></head><body><main><h1>Phase</h1>'
            f"{figure._repr_html_()}</main></body></html>",
            encoding="utf-8",
        )
        view = {"width": width, "height": 900}
        context = browser.new_context(viewport=view, offline=True, has_touch=touch, java_script_enabled=script)
        page, troubles = context.new_page(), []
        page.on("console", lambda said: said.type in ("error", "warning") and troubles.append(said.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on(
            "request",
            lambda asked: asked.url != path.as_uri() and asked.url[:5] != "blob:" and troubles.append(asked.url),
        )
        page.goto(path.as_uri() + address)
        if script:
            page.wait_for_function("document.querySelector('uaftc-phase')?.predicted")
        yield page
        assert troubles == []
        context.close()

    return visit


@pytest.fixture(scope="module")
def shared(opened):
    with opened() as page:
        yield page


@pytest.fixture
def page(shared):
    """The page as its reader finds it; loaded once for many tests."""
    shared.evaluate("""() => { const one = document.querySelector('uaftc-phase');
        one.move(one.base); document.activeElement.blur(); }""")
    return shared


FLOW = """async ([text, initial, cosine, lam, time]) => {
    const { data } = document.querySelector("uaftc-phase");
    const address = URL.createObjectURL(new Blob([text + "export { $flow };"], { type: "text/javascript" }));
    const { flow, turned } = (await import(address)).$flow;
    return flow(data.field, turned(initial.gram, cosine), lam, time, data.flow).map(([at, G]) => [at, ...G]);
}"""


def initialisation_of(figure, reach: float, seed: int) -> dict:
    """What the figure holds of a seed."""
    (one,) = (one for one in figure.ranges if one["reach"] == reach)
    return one["initialisations"][seed]


def gram_of(initial: dict) -> np.ndarray:
    G = np.empty((5, 5))
    G[UPPER] = G.T[UPPER] = initial["gram"]
    return G


@pytest.mark.parametrize(("reach", "seed", "lam", "cosine"), SETTINGS)
def test_the_page_solves_as_python_does(page, figure, field, reach, seed, lam, cosine):
    """All fifteen numbers at all moments to 10⁻⁹ of the largest, and the scores to 10⁻⁹."""
    initial, time = initialisation_of(figure, reach, seed), WHOLE_STEPS * RANGES[reach]
    found = np.array(page.evaluate(FLOW, [source(), initial, cosine, lam, time]))
    expected = in_equal_steps(field, turned(gram_of(initial), cosine), lam, time)
    assert found[:, 0] == pytest.approx(np.linspace(0, time, KEPT + 1))
    away = np.abs(found[:, 1:].reshape(-1, 5, 5) - expected)
    assert away.max() < 1e-9 * np.abs(expected).max() and away[:, :3, 3].max() / lam < 1e-9, away.max()


@pytest.mark.parametrize(("reach", "seed", "lam", "cosine"), SETTINGS[::2])
def test_equal_steps_end_where_the_solver_of_the_library_does(figure, field, reach, seed, lam, cosine):
    time, initial = WHOLE_STEPS * RANGES[reach], turned(gram_of(initialisation_of(figure, reach, seed)), cosine)
    ours, exact = (
        in_equal_steps(field, initial, lam, time)[-1],
        field.flow(initial, lam, [0, time], "DOP853", 1e-12, 1e-13)[-1],
    )
    assert np.abs(ours - exact).max() < 1e-7 * np.abs(exact).max()


@pytest.mark.parametrize("cosine", [-1.0, -0.3, 0.0, 0.7])
@pytest.mark.parametrize("reach", RANGES)
def test_turning_the_products_is_turning_the_vectors(data, field, reach, cosine):
    ids = list(examined_types(data).values())
    model = set_cosine(initial_model(data, weight_range=reach, seed=3, dtype=initial_model(data).V.double().dtype), 0.0)
    level = field.start(model, ids)
    assert turned(level, cosine) == pytest.approx(field.start(set_cosine(model, cosine), ids), abs=1e-11)


@pytest.mark.parametrize("length", [48, 480, 4800])
@pytest.mark.parametrize("reach", RANGES)
def test_the_boundary_is_the_closed_form(page, data, figure, reach, length):
    """In the page, for a W₀ turned in the page, against the closed form of the vectors themselves."""
    model, cosines = initial_model(data, weight_range=reach, seed=1), [-0.9, -0.25, -0.03, 0.1, 0.6]
    flows = [FlatFlow.from_model(set_cosine(model, cosine), data.train, examined_types(data)) for cosine in cosines]
    wanted = {"range": reach, "seed": 1, "length": length}
    page.evaluate("wanted => document.querySelector('uaftc-phase').move(wanted)", wanted)
    ends = page.evaluate("cosines => cosines.map(one => document.querySelector('uaftc-phase').upperEnd(one))", cosines)
    expected = [flow.upper_end(length, within=(1e-4, 1e5)) for flow in flows]
    assert np.minimum(ends, 1e5) == pytest.approx(expected, rel=1e-4)


EVERY_RUN = """() => { const one = document.querySelector("uaftc-phase"), { lams, cosines } = one.data;
    return lams.flatMap(lam => cosines.map(cosine => { one.move({ lam, cosine }); return one.predicted; })); }"""


@pytest.mark.parametrize("which, reach", list(enumerate(RANGES)))
def test_the_page_foretells_what_the_table_stores(page, runs, which, reach):
    """At each stored run of a seed: who ends above, by the mean field, as the chapter's table counts it."""
    page.locator("input[data-name=range]").nth(which).check()
    rows = runs[(runs["weight_range"] == reach) & (runs["seed"] == 0)].sort_values(["lam", "cosine"])
    told = page.evaluate(EVERY_RUN)
    assert len(told) == len(rows) == 143
    assert [letter == "w" for letter in told] == (rows["predicted lead"] > 0).tolist()
    assert {"w", "p", "n"} <= set(told)


def test_stored_runs_stand_where_they_were_made(figure, runs):
    data = figure.data()
    for one in data["ranges"]:
        of_range = runs[runs["weight_range"] == one["reach"]]
        assert len(one["initialisations"]) == SHOWN and len(one["outcomes"]) == of_range["seed"].nunique()
        for seed, letters in enumerate(one["outcomes"]):
            rows = of_range[of_range["seed"] == seed].sort_values(["lam", "cosine"])
            assert [letter == "w" for letter in letters] == (rows["lead"] > 0).tolist()
            sinks = rows["attention positive"] < rows["attention neutral"]
            assert [letter == "p" for letter in letters] == sinks.tolist()
            if seed < SHOWN:
                ends = np.array(one["initialisations"][seed]["ends"]).reshape(-1, 3) / SCALE
                scores = rows[[f"attention {kind}" for kind in KINDS]].to_numpy() * rows["lam"].to_numpy()[:, None]
                assert np.abs(ends - scores).max() <= 0.5 / SCALE + 1e-9


def test_runs_off_the_grid_are_refused(data, field, runs):
    with pytest.raises(ValueError, match="±1, seed 0: the runs are not one for each λ and cosine"):
        live_phase(data, field, runs.iloc[1:])


STATE = "(({ lam, cosine }) => [lam, cosine])(document.querySelector('uaftc-phase').state)"


def says(page) -> str:
    return page.locator("uaftc-phase .caption").inner_text()


def at(page, lam: float, cosine: float) -> tuple[float, float]:
    """Where a point of the plane lies on the screen."""
    return page.evaluate(
        """([lam, cosine]) => { const one = document.querySelector("uaftc-phase");
            const { x, y } = new DOMPoint(one.x(lam), one.y(cosine)).matrixTransform(one.plane.getScreenCTM());
            return [x, y]; }""",
        [lam, cosine],
    )


def test_a_drag_moves_the_point_and_the_outcome(page):
    before, curves = says(page), page.locator("svg.scores").inner_html()
    assert before.startswith("λ = 10, cos(V₀, W₀) = 0.25, 480 steps: in the mean field positive and negative words end")
    assert "The stored run there agrees. With its settings 10 of 10 seeds" in before
    assert page.locator("svg.scores .ran").count() == 3
    page.mouse.move(*at(page, 10, 0.25))
    page.mouse.down()
    page.mouse.move(*at(page, 60, 0.3), steps=4)
    assert page.evaluate(STATE)[0] == pytest.approx(60, rel=0.2), "it follows before it is let go"
    page.mouse.move(*at(page, 140, -0.5), steps=4)
    page.mouse.up()
    lam, cosine = page.evaluate(STATE)
    assert lam == pytest.approx(140, rel=0.05) and cosine == pytest.approx(-0.5, abs=0.05)
    after = says(page)
    assert after.startswith(f"λ = {lam:g}, cos(V₀, W₀) = −{-cosine:g}, 480 steps: in the mean field positive words end")
    assert "This λ lies above its upper end" in after and "at λ = 100 and −0.45, the nearest," in after
    assert page.locator("svg.scores").inner_html() != curves and page.locator("svg.scores .ran").count() == 0
    page.mouse.move(*at(page, 2, 0.9))
    assert page.evaluate(STATE) == [lam, cosine], "let go, it stays"


def test_a_click_beside_a_run_goes_to_it(page):
    x, y = at(page, 200, 0.1)
    page.mouse.click(x + 1, y - 1)
    assert page.evaluate(STATE) == [200, 0.1]
    assert page.locator("svg.scores .ran").count() == 3 and "The stored run there agrees" in says(page)


def test_keys_move_the_point_and_turn_no_leaf(page):
    page.evaluate("() => { window.heard = 0; document.addEventListener('keydown', () => { window.heard += 1; }); }")
    point = page.get_by_role("slider", name="moved by the arrow keys")
    page.locator("input[data-name=seed]:checked").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert point.evaluate("one => one === document.activeElement")
    ring = point.locator(".reach").evaluate("one => getComputedStyle(one).stroke")
    assert ring not in ("none", ""), "it is seen where the keys go"
    heard = page.evaluate("window.heard")
    for key, right, up in (("ArrowRight", 1, 0), ("ArrowLeft", -1, 0), ("ArrowUp", 0, 1), ("ArrowDown", 0, -1)):
        lam, cosine = page.evaluate(STATE)
        page.keyboard.press(key)
        new_lam, new_cosine = page.evaluate(STATE)
        assert (np.sign(new_lam - lam), np.sign(new_cosine - cosine)) == (right, up), key
    assert page.evaluate(STATE) == [10, 0.25], "there and back"
    for _ in range(30):
        page.keyboard.press("ArrowDown")
    assert page.evaluate(STATE)[1] < -0.3, "no run holds it fast"
    for key, lam in (("End", 1000), ("Home", 1)):
        page.keyboard.press(key)
        assert page.evaluate(STATE)[0] == lam
    _, cosine = page.evaluate(STATE)
    assert point.get_attribute("aria-valuetext") == f"λ = 1, cos(V₀, W₀) = −{-cosine:g}"
    assert point.get_attribute("aria-valuenow") == "1"
    assert page.evaluate("window.heard") == heard


def test_the_switches_change_range_and_seed(page):
    dots, before = page.locator("svg.plane > g").first.inner_html(), says(page)
    page.get_by_label("±1", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_label("±0.1").is_checked()
    other = says(page)
    assert other != before and page.locator("svg.plane > g").first.inner_html() != dots
    assert page.evaluate("document.querySelector('uaftc-phase').path.at(-1)[0]") == WHOLE_STEPS * RANGES[0.1]
    page.get_by_label("2", exact=True).check()
    assert says(page) != other and page.evaluate("document.querySelector('uaftc-phase').state.seed") == 2


def test_training_longer_moves_boundary_and_curves_but_no_stored_run(page):
    def end_of(path):
        return page.evaluate(f"document.querySelector('uaftc-phase').{path}")

    slider, boundary = page.get_by_role("slider", name="length of training"), page.locator("svg.plane .end")
    before, faint = boundary.get_attribute("d"), page.locator("svg.plane .dots.faint")
    page.locator("input[data-name=range]").last.check()
    assert slider.get_attribute("aria-valuetext") == "1,440 steps", "untouched, it follows the range"
    page.locator("input[data-name=range]").first.check()
    assert boundary.get_attribute("d") == before and faint.count() == 0
    slider.press("End")
    assert slider.get_attribute("aria-valuetext") == page.locator(".said").inner_text() == "4,800 steps"
    assert boundary.get_attribute("d") != before and end_of("path.at(-1)[0]") == 4800
    assert end_of("upperEnd(0.25)") > 1.4 * 17.5 and page.locator("svg.scores .ran").count() == 0
    assert faint.count() == page.locator("svg.plane .dots").count() > 0
    assert says(page).endswith("The faint dots are stored runs of 480 steps.") and "seeds" not in says(page)
    page.locator("input[data-name=range]").last.check()
    assert slider.get_attribute("aria-valuetext") == "4,800 steps" and says(page).endswith("runs of 1,440 steps.")


def test_the_address_restores_the_figure_and_keeps_the_others(opened):
    shown = "[...document.querySelectorAll('uaftc-phase :is(.caption, svg, .said)')].map(one => one.innerHTML)"
    with opened(address="#lab:lab?lam=3;phase?lam=1e9&length=481&range=5&seed=7&cosine=x") as page:
        assert page.evaluate("Object.values(document.querySelector('uaftc-phase').state)") == [10, 0.25, 1, 0, None]
        page.locator("input[data-name=range]").last.check()
        page.get_by_label("2", exact=True).check()
        page.get_by_role("slider", name="length of training").press("Home")
        page.mouse.click(*at(page, 200, -0.1))
        address = "#lab:phase?lam=200&cosine=-0.1&range=0.1&seed=2&length=48;lab?lam=3"
        page.wait_for_function("address => location.hash === address", arg=address)
        before = page.evaluate(shown)
    with opened(address=address) as page:
        assert page.evaluate(shown) == before
        assert page.locator("input:checked").evaluate_all("all => all.map(one => one.value)") == ["0.1", "2"]
        page.evaluate("location.hash = '#lab:phase?lam=5'")
        page.wait_for_function(f"{STATE}[0] === 5")
        assert "λ = 5, cos(V₀, W₀) = 0.25, 480 steps" in says(page)


def test_a_finger_drags_the_point_and_scrolls_beside_it(opened):
    with opened(390, touch=True) as page:
        hand = page.context.new_cdp_session(page)

        def touch(kind, *points):
            found = [{"x": x, "y": y} for x, y in points]
            hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": found})

        first = at(page, 10, 0.25)
        touch("touchStart", first)
        for k in range(1, 6):
            touch("touchMove", (first[0] + 12 * k, first[1] + 18 * k))
        touch("touchEnd")
        page.wait_for_function(f"{STATE}[0] > 20")
        lam, cosine = page.evaluate(STATE)
        assert lam > 30 and cosine < 0.03 and page.evaluate("scrollY") == 0
        page.evaluate("addEventListener('scrollend', () => { window.still = true; })")
        beside = at(page, 5, 0.0)
        touch("touchStart", beside)
        for k in range(1, 6):
            touch("touchMove", (beside[0], beside[1] - 30 * k))
        touch("touchEnd")
        page.wait_for_function("window.still && scrollY > 0")
        assert page.evaluate(STATE) == [lam, cosine]
        page.touchscreen.tap(*at(page, 500, 0.45))
        page.wait_for_function(f"{STATE}[0] === 500")
        assert page.evaluate(STATE) == [500, 0.45] and "negative words end below" in says(page)


WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SHADES = """() => [[".uaftc-phase", "backgroundColor"], [".uaftc-phase", "color"],
    [".line.positive", "stroke"], [".end", "stroke"]]
    .map(([what, name]) => getComputedStyle(document.querySelector(what))[name])
    .map((text) => text.match(/[0-9.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0))"""


@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_it_fits_desk_and_phone_in_both_schemes(opened, axe, width, scheme):
    with opened(width, scheme) as page:
        assert page.evaluate(WIDER) <= 0
        plane, scores = (page.locator(f"svg.{name}").bounding_box() for name in ("plane", "scores"))
        assert (
            (scores["y"] >= plane["y"] + plane["height"])
            if width == 390
            else (scores["x"] >= plane["x"] + plane["width"])
        )
        card, ink, line, band = page.evaluate(SHADES)  # red, green and blue added up
        assert card < 150 < min(ink, line, band) if scheme == "dark" else card > 700 > max(ink, line, band)
        assert violations(page, axe) == []
        page.emulate_media(media="print")
        assert page.evaluate(WIDER) <= 0 and not page.locator(".choices").is_visible()


def test_without_javascript_a_sentence_stands_there(opened, figure):
    with opened(script=False) as page:
        assert page.locator("uaftc-phase").inner_text().strip() == MISSING
    assert figure._repr_mimebundle_()["text/plain"] == MISSING


def test_what_the_page_carries_is_small_and_its_own(figure):
    html = figure._repr_html_()
    assert len(html.encode()) < 42_000 and not re.search(r"https?://|\bfetch\(|^import ", html, re.MULTILINE)
    told = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)[1])
    assert told == json.loads(json.dumps(figure.data()))
