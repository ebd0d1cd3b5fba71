"""The phase diagram that is solved in the page: held against Python, and used as its readers use it, offline."""

import contextlib

import numpy as np
import pytest
import test_pages
from bs4 import BeautifulSoup

from conftest import violations
from uaftc_book.chapters.which_lambda import KEPT, MISSING, SCALE, SHOWN, in_equal_steps, live_phase, source, turned
from uaftc_book.flat_flow import FlatFlow
from uaftc_book.mean_field import MeanField
from uaftc_book.small_data import RANGES, WHOLE_STEPS, initial_model, set_cosine
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.registry import stored
from uaftc_lib.scores import KINDS, examined_types

UPPER = np.triu_indices(5)
PHASE = "document.querySelector('uaftc-phase')"
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
    path.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Phase</title><meta name="viewport" '
        f'content="width=device-width"></head><body><main><h1>Phase</h1>{figure._repr_html_()}</main></body></html>',
        encoding="utf-8",
    )

    @contextlib.contextmanager
    def visit(**options):
        with test_pages.opened(browser, path, **options) as (page, troubles):
            page.wait_for_function(f"{PHASE}?.predicted")
            yield page
            assert troubles == []

    return visit


@pytest.fixture(scope="module")
def shared(opened):
    with opened() as page:
        yield page


@pytest.fixture
def page(shared):
    """The page as its reader finds it; loaded once for many tests."""
    shared.evaluate(f"{PHASE}.move({PHASE}.base); document.activeElement.blur()")
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
    """All fifteen numbers at all moments to 10⁻⁹ of the largest, and the scores to 10⁻⁹; the end to 10⁻⁷ as the solver
    of the library, whose steps are not equal."""
    initial, time = initialisation_of(figure, reach, seed), WHOLE_STEPS * RANGES[reach]
    found = np.array(page.evaluate(FLOW, [source(), initial, cosine, lam, time]))
    start = turned(gram_of(initial), cosine)
    expected = in_equal_steps(field, start, lam, time)
    assert found[:, 0] == pytest.approx(np.linspace(0, time, KEPT + 1))
    away = np.abs(found[:, 1:].reshape(-1, 5, 5) - expected)
    assert away.max() < 1e-9 * np.abs(expected).max() and away[:, :3, 3].max() / lam < 1e-9, away.max()
    exact = field.flow(start, lam, [0, time], "DOP853", 1e-12, 1e-13)[-1]
    assert np.abs(expected[-1] - exact).max() < 1e-7 * np.abs(exact).max()


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
    page.evaluate(f"{PHASE}.move({{ range: {reach}, seed: 1, length: {length} }})")
    ends = page.evaluate(f"cosines => cosines.map((one) => {PHASE}.upperEnd(one))", cosines)
    expected = [flow.upper_end(length, within=(1e-4, 1e5)) for flow in flows]
    assert np.minimum(ends, 1e5) == pytest.approx(expected, rel=1e-4)


EVERY_RUN = f"""() => {{ const one = {PHASE}, {{ lams, cosines }} = one.data;
    return lams.flatMap(lam => cosines.map(cosine => {{ one.move({{ lam, cosine }}); return one.predicted; }})); }}"""


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


STATE = f"(({{ lam, cosine }}) => [lam, cosine])({PHASE}.state)"


def says(page) -> str:
    return page.locator("uaftc-phase .caption").inner_text()


def at(page, lam: float, cosine: float) -> tuple[float, float]:
    """Where a point of the plane lies on the screen."""
    point = f"new DOMPoint({PHASE}.x({lam}), {PHASE}.y({cosine}))"
    return page.evaluate(f"(({{ x, y }}) => [x, y])({point}.matrixTransform({PHASE}.plane.getScreenCTM()))")


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
    page.evaluate("window.heard = 0; document.addEventListener('keydown', () => { window.heard += 1; });")
    point = page.get_by_role("slider", name="moved by the arrow keys")
    page.locator("input[data-name=seed]:checked").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert point.evaluate("one => one === document.activeElement")
    ring = point.locator(".reach").evaluate("one => getComputedStyle(one).stroke")
    assert ring not in ("none", ""), "it is seen where the keys go"
    heard, before = page.evaluate("heard"), [10, 0.25]
    for key, right, up in (("ArrowRight", 1, 0), ("ArrowLeft", -1, 0), ("ArrowUp", 0, 1), ("ArrowDown", 0, -1)):
        page.keyboard.press(key)
        after = page.evaluate(STATE)
        assert np.sign(np.subtract(after, before)).tolist() == [right, up], key
        before = after
    assert before == [10, 0.25], "there and back"
    for _ in range(30):
        page.keyboard.press("ArrowDown")
    assert page.evaluate(STATE)[1] < -0.3, "no run holds it fast"
    for key, lam in (("End", 1000), ("Home", 1)):
        page.keyboard.press(key)
        assert page.evaluate(STATE)[0] == lam
    _, cosine = page.evaluate(STATE)
    assert point.get_attribute("aria-valuetext") == f"λ = 1, cos(V₀, W₀) = −{-cosine:g}"
    assert point.get_attribute("aria-valuenow") == "1"
    assert page.evaluate("heard") == heard


def test_the_switches_change_range_and_seed(page):
    dots, before = page.locator("svg.plane > g").first.inner_html(), says(page)
    page.get_by_label("±1", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_label("±0.1").is_checked()
    other = says(page)
    assert other != before and page.locator("svg.plane > g").first.inner_html() != dots
    assert page.evaluate(f"{PHASE}.path.at(-1)[0]") == WHOLE_STEPS * RANGES[0.1]
    page.get_by_label("2", exact=True).check()
    assert says(page) != other and page.evaluate(f"{PHASE}.state.seed") == 2


def test_training_longer_moves_boundary_and_curves_but_no_stored_run(page):
    slider, boundary = page.get_by_role("slider", name="length of training"), page.locator("svg.plane .end")
    before, faint = boundary.get_attribute("d"), page.locator("svg.plane .dots.faint")
    page.locator("input[data-name=range]").last.check()
    assert slider.get_attribute("aria-valuetext") == "1,440 steps", "untouched, it follows the range"
    page.locator("input[data-name=range]").first.check()
    assert boundary.get_attribute("d") == before and faint.count() == 0
    slider.press("End")
    assert slider.get_attribute("aria-valuetext") == page.locator(".said").inner_text() == "4,800 steps"
    assert boundary.get_attribute("d") != before and page.evaluate(f"{PHASE}.path.at(-1)[0]") == 4800
    assert page.evaluate(f"{PHASE}.upperEnd(0.25)") > 1.4 * 17.5 and page.locator("svg.scores .ran").count() == 0
    assert faint.count() == page.locator("svg.plane .dots").count() > 0
    assert says(page).endswith("The faint dots are stored runs of 480 steps.") and "seeds" not in says(page)
    page.locator("input[data-name=range]").last.check()
    assert slider.get_attribute("aria-valuetext") == "4,800 steps" and says(page).endswith("runs of 1,440 steps.")


def test_the_address_restores_the_figure_and_keeps_the_others(opened):
    shown = "[...document.querySelectorAll('uaftc-phase :is(.caption, svg, .said)')].map(one => one.innerHTML)"
    with opened(address="#lab:lab?lam=3;phase?lam=1e9&length=481&range=5&seed=7&cosine=x") as page:
        assert page.evaluate(f"Object.values({PHASE}.state)") == [10, 0.25, 1, 0, None]
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
    with opened(width=390, touch=True) as page:
        hand = page.context.new_cdp_session(page)

        def swipe(start, by):
            """A finger goes in five steps."""
            for k in range(6):
                x, y = np.add(start, np.multiply(k, by)).tolist()
                kind = "touchMove" if k else "touchStart"
                hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
            hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

        swipe(at(page, 10, 0.25), (12, 18))
        page.wait_for_function(f"{STATE}[0] > 20")
        lam, cosine = page.evaluate(STATE)
        assert lam > 30 and cosine < 0.03 and page.evaluate("scrollY") == 0
        page.evaluate("addEventListener('scrollend', () => { window.still = true; })")
        swipe(at(page, 5, 0.0), (0, -30))
        page.wait_for_function("window.still && scrollY > 0")
        assert page.evaluate(STATE) == [lam, cosine]
        page.touchscreen.tap(*at(page, 500, 0.45))
        page.wait_for_function(f"{STATE}[0] === 500")
        assert page.evaluate(STATE) == [500, 0.45] and "negative words end below" in says(page)


@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_it_fits_desk_and_phone_in_both_schemes(opened, axe, width, scheme):
    with opened(width=width, scheme=scheme) as page:
        page.evaluate(f"document.documentElement.dataset.theme = '{scheme}'")
        assert test_pages.overflow(page) <= 0
        plane, scores = (page.locator(f"svg.{name}").bounding_box() for name in ("plane", "scores"))
        below, beside = scores["y"] >= plane["y"] + plane["height"], scores["x"] >= plane["x"] + plane["width"]
        assert below if width == 390 else beside
        card = page.locator(".uaftc-phase").evaluate("one => getComputedStyle(one).backgroundColor")
        assert card == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 27)"}[scheme]
        assert violations(page, axe) == []
        page.emulate_media(media="print")
        assert test_pages.overflow(page) <= 0 and not page.locator(".choices").is_visible()


def test_without_javascript_a_sentence_stands_there(figure):
    assert BeautifulSoup(figure._repr_html_(), "html.parser").find("uaftc-phase").p.get_text() == MISSING
    assert figure._repr_mimebundle_()["text/plain"] == MISSING
