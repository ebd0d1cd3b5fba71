"""The lab in a real browser, from file://, with the network shut: trained there, compared with PyTorch here."""

import contextlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.cbook import boxplot_stats
from playwright.sync_api import expect

from conftest import violations
from uaftc_book.lab import Slider, Stop, lab, parity
from uaftc_book.lab.module import module_source
from uaftc_book.lab.widget import FIGURES
from uaftc_book.panels import mean_weights
from uaftc_lib import dynamics
from uaftc_lib.plots.summaries import number

CHECKOUT = Path(__file__).resolve().parents[2]
QUICK = {"instances": 1200, "batch": 100, "lr": 1.0, "epochs": 5}
TARGETS = {"data-one": 0.6, "first": 0.1, "slice": 0.016}  # seconds
# A dragged λ, then [seconds until all is trained and drawn, seconds until the first new lines are].
STOPWATCH = """() => new Promise((resolve) => {
    const lab = document.querySelector('uaftc-lab'), hear = lab.hear.bind(lab), begun = performance.now();
    const passed = () => (performance.now() - begun) / 1000;
    let seen = null;
    lab.hear = (message) => {
        hear(message);
        if (message.snapshot?.epoch === 1) requestAnimationFrame(() => { seen ??= passed(); });
        if (message.done === undefined) return;
        delete lab.hear;
        requestAnimationFrame(() => resolve([passed(), seen]));
    };
    window.resumed = begun;
    lab.change({ lam: lab.state.lam === 20 ? 21 : 20 }, { dragging: true });
})"""
# A page that has no workers, and notes how long it trains between two pauses: these are messages to itself.
NO_WORKER = """
window.Worker = undefined; window.slices = []; window.resumed = null;
const { prototype } = MessagePort, { set } = Object.getOwnPropertyDescriptor(prototype, "onmessage");
const { postMessage } = prototype;
Object.defineProperty(prototype, "onmessage", { set(hear) {
    set.call(this, (event) => { resumed = performance.now(); hear(event); });
} });
prototype.postMessage = function (message) {
    if (resumed !== null) slices.push((performance.now() - resumed) / 1000);
    postMessage.call(this, message);
};"""
OF_KIND = {"positive": slice(1000, 1050), "negative": slice(1050, 1100), "neutral": slice(0, 1000)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the pages of these tests lie."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def visited(browser):
    """``visited(address, ...)`` yields a page; afterwards, that nothing went wrong on it."""

    @contextlib.contextmanager
    def visit(address, width=1280, scheme="light", before="", wait=True, touch=False):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            reduced_motion="reduce",
            has_touch=touch,
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.troubles = troubles = []
        page.on("console", lambda said: said.type in ("error", "warning") and troubles.append(said.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith("http") and troubles.append(asked.url))
        if before:
            page.add_init_script(before)
        page.goto(address)
        if wait:
            trained(page)
        yield page
        assert troubles == []
        context.close()  # not after a failure: conftest.py takes a picture first

    return visit


@pytest.fixture(scope="module")
def opened(visited, folder):
    """``opened(html, ...)`` yields a page that shows labs, trained."""

    def open_page(html, address="", head="", **options):
        path = folder / "A_synthetic.html"
        path.write_text(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Lab</title>{head}'
            '<meta name="viewport" content="width=device-width"></head>'
            f"<body><main><h1>Lab</h1>{html}</main></body></html>",
            encoding="utf-8",
        )
        return visited(path.as_uri() + address, **options)

    return open_page


@pytest.fixture(scope="module")
def shared(opened):
    """A page with one small lab."""
    with opened(lab(QUICK).html()) as page:
        yield page


@pytest.fixture
def quick(shared):
    """This page as its reader finds it; loaded once for many tests."""
    shared.evaluate(f"{LAB.format(0)}.change({LAB.format(0)}.base)")
    shared.evaluate(f"{LAB.format(0)}.root.querySelector('details.more').open = false")
    shared.mouse.click(1, 1)  # nothing is pointed at, and Tab begins at the top
    trained(shared)
    yield shared
    trained(shared)
    assert shared.troubles == []


LAB = "document.querySelectorAll('uaftc-lab')[{}]"
LAST = f"{LAB.format(0)}.run.snapshots.at(-1)"
PLACES = f"{LAB.format(0)}.parts.canvases.scatter.places.y"


def trained(page, which: int = 0) -> None:
    """Wait until what is shown is the finished run of the present settings."""
    one = LAB.format(which)
    page.wait_for_function(
        f"{one}?.run && {one}.run.milliseconds !== null && {one}.run.job === {one}.job && {one}.frame == null"
    )


def alarm(page) -> str:
    """What the lab says is wrong, as the reader sees it."""
    return page.locator(".status.alarm").inner_text()


def numbers(page, which: int = 0) -> dict:
    return page.evaluate(f"{LAB.format(which)}.numbers")


def open_more(page) -> None:
    """What the figure does not show at once, drawn."""
    page.locator("details.more > summary").click()
    trained(page)


def set_lam(page, value) -> None:
    page.get_by_label("λ, as a number").fill(str(value))
    page.keyboard.press("Enter")
    page.wait_for_function(f"{LAB.format(0)}.state.lam === {value}")
    trained(page)


SHOTS = """lab => lab.run.snapshots.map(({ loss, drift, accuracy, a, s, weight }) =>
    ({ loss, drift, accuracy, attention: [...a], polarity: [...s], weight: [...weight] }))"""
BOXES = """async (text) => {
    const address = URL.createObjectURL(new Blob([text + "export { $pictures };"], { type: "text/javascript" }));
    const { run } = document.querySelector("uaftc-lab"), { weightsByKind } = (await import(address)).$pictures;
    return weightsByKind(run, run.last).map(({ q1, median, q3, low, high, outliers }) =>
        ({ q1, med: median, q3, whislo: low, whishi: high, fliers: [...outliers] }));
}"""


def test_every_score_of_every_epoch_agrees_with_pytorch(opened, untyped):
    """Data I whole, λ = 10 and 100: losses, scores and mean weights of all types, and the drift, to 10⁻¹⁰."""
    with opened(lab().html()) as page:
        for lam in (10, 100):
            if lam != 10:
                set_lam(page, lam)
            shots, largest = page.locator("uaftc-lab").evaluate(SHOTS), {}
            assert len(shots) == 31 and len(shots[0]["weight"]) == 1100
            for moment, shot in zip(parity.train({"lam": lam}), shots, strict=True):
                scores, told = moment.model.token_scores(), parity.numbers(moment)
                weights, _ = mean_weights(moment.model, moment.data.train)
                expected = {"attention": scores.attention, "polarity": scores.polarity, "weight": weights}
                for name, values in expected.items():
                    expected[name] = values[:1100].numpy()
                expected |= {"drift": told["drift"]} | ({"loss": moment.loss} if moment.epoch else {})
                for name, value in expected.items():
                    away = np.abs(np.array(shot[name]) - value).max()
                    largest[name] = max(largest.get(name, 0), away)
                assert shot["accuracy"] == told["accuracy"]
            assert len(largest) == 5 and max(largest.values()) < 1e-10, largest
            for box, kind in zip(page.evaluate(BOXES, module_source()), OF_KIND.values(), strict=True):
                (drawn,) = boxplot_stats(np.sort(expected["weight"][kind]))
                for name, value in box.items():
                    assert value == pytest.approx(drawn[name], abs=1e-10), name


OTHER_STATES = [
    {**QUICK, "optimizer": "adagrad", "lr": 0.02, "d": 7, "angle": 60},
    {**QUICK, "penalty": 0.01, "ratio": 0.25, "noise": 0.1, "seed": 5, "batch": "full"},
    {**QUICK, "epochs": 30, "noise": 0.1, "seed": 1, "d": 33, "angle": 100},
]


@pytest.mark.parametrize("state", OTHER_STATES)
def test_every_setting_means_the_same_in_pytorch(opened, state):
    with opened(lab(state).html()) as page:
        *_, last = parity.train(state)
        told = numbers(page)
        for name, value in parity.numbers(last).items():
            assert told[name] == pytest.approx(value, rel=1e-10, abs=1e-10), name
        assert (told["upper"] is None) == ("upper" not in parity.numbers(last)) == (state != OTHER_STATES[2])


def moment_of(state: dict, epoch: int) -> parity.Epoch:
    """What PyTorch has at an epoch."""
    return next(moment for moment in parity.train(state) if moment.epoch == epoch)


def captions_of(moment: parity.Epoch, token: int = 1000) -> dict[str, str]:
    """What the lab must say below each picture, every number of it from the library."""
    told, model, corpus = parity.numbers(moment), moment.model, moment.data.train
    say = {name: number(value) for name, value in told.items()}

    def three(score):
        return ", ".join(f"{say[f'{score}_{kind}']} {kind}" for kind in OF_KIND)

    lam, weights = model.lam, mean_weights(model, corpus)[0]
    s, a = dynamics.polarity_update(model, corpus), dynamics.attention_update(model, corpus)
    terms = "; ".join(
        ", ".join(f"{name} {number(float(getattr(update, name)[token]))}" for name in names)
        for update, names in ((s, "ABC"), (a, "DEF"))
    )
    medians = ", ".join(f"{number(float(np.median(weights[kind])))} {name}" for name, kind in OF_KIND.items())
    return {
        "scatter": f"After epoch {moment.epoch} at λ = {number(lam)}: mean attention score {three('a')}.",
        "means": f"Mean polarity score {three('s')}; the gap in attention between positive and negative "
        f"is {say['gap']}.",
        "terms": f"{moment.data.vocabulary.word(token)} after epoch {moment.epoch}: {terms}.",
        "vectors": f"V·W = {say['VW']}; the conserved matrix has drifted by {say['drift']} of its size.",
        "weights": f"Median weight {medians}.",
        "accuracy": f"After epoch {moment.epoch}: training accuracy {100 * told['accuracy']:.1f} %, "
        f"loss {say['loss']}.",
    }


def captions(page) -> dict[str, str]:
    """What stands below each picture, and is its name for those who cannot see it."""
    found = page.locator("figure").evaluate_all(
        "all => all.map(f => [f.dataset.figure, f.querySelector('figcaption').textContent,"
        " f.querySelector('canvas').getAttribute('aria-label')])"
    )
    assert all(caption == label for _, caption, label in found)
    return {figure: caption for figure, caption, _ in found}


def sentence_of(told: dict) -> str:
    """What the lab must say of a moment under its slider."""
    lam, upper, over, most = told["lam"], told.get("upper"), told["epoch"] == told["epochs"], 1 - told["noise"]
    positive, negative = (
        "above" if told[f"a_{kind}"] > told["a_neutral"] else "below" for kind in ("positive", "negative")
    )
    when = "After training" if over else f"After epoch {told['epoch']} of {told['epochs']}"
    words = (
        f"and negative words are {positive}"
        if positive == negative
        else f"words are {positive} and negative words {negative}"
    )
    right, possible = (f"{100 * share:.1f} %" for share in (told["accuracy"], most))
    suffers = over and told["accuracy"] < most - 0.01
    right = f" suffers: {right}, where {possible.replace('.0', '')} is possible" if suffers else f": {right}"
    band, formula = (
        ". No band here: its formula needs SGD without a penalty, classes of equal size, and noise below 50 %",
        "",
    )
    if upper is not None:
        place, predicted = ("within", "both above") if lam < upper else ("above", "positive or negative words below")
        band = f" lies {place} the green band ({'no upper end' if upper == np.inf else f'up to {number(upper)}'})"
        agrees = (positive == negative == "above") == (lam < upper)
        formula = (", as the formula predicts" if agrees else f", but the formula predicts {predicted}") * over
    said = f"{when if told['epoch'] else 'Before training'}, positive {words} neutral words in mean attention{formula}"
    return f"λ = {number(lam)}{band}. {said}. Accuracy{right}."


SAID = """async ([text, configs, epoch]) => {
    const module = text + "export { defineEngine, $run, $sentence };";
    const address = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
    const { defineEngine, $run: { Run, numbers }, $sentence: { sentence } } = await import(address);
    const { answers } = defineEngine().workshop(() => {});
    return configs.map((config) => {
        const run = new Run(0, config);
        for (const message of answers({ lab: "", job: 0, config })) {
            if (message?.problem) run.problem = message.problem;
            if (message?.snapshot) run.add(message.snapshot);
        }
        const at = epoch ?? run.last, { a, accuracy } = run.snapshots[at];
        return [sentence(numbers(run, at)), { accuracy, epoch: at, a: [...a] }];
    });
}"""


def sentences(page, states: list[dict], epoch: int | None = None) -> list[str]:
    """What the page says of the runs of some states, held against its scores and accuracy, and Python's band."""
    configs, uppers, found = [parity.complete_state(state) for state in states], {}, []
    for config, (said, shot) in zip(configs, page.evaluate(SAID, [module_source(), configs, epoch]), strict=True):
        before = json.dumps(config | {"lam": 10})  # the band does not know λ
        if before not in uppers:
            uppers[before] = next(parity.train(json.loads(before))).upper
        scores = {f"a_{kind}": np.mean(shot["a"][words]) for kind, words in OF_KIND.items()}
        assert said == sentence_of(config | shot | scores | {"upper": uppers[before]})
        found.append(said)
    return found


NINE = (0.001, 0.01, 0.1, 1, 10, 30, 100, 1000, 10000)
BRIEF = {"instances": 3000, "batch": 100, "epochs": 15}


@pytest.mark.parametrize("data", [BRIEF, pytest.param({}, marks=pytest.mark.long)])
def test_the_sentence_is_true_at_nine_lambdas_of_ten_seeds(opened, data):
    """As the formula predicts in most runs; accuracy suffers at small λ alone."""
    with opened("", wait=False) as page:
        said = sentences(page, [data | {"lam": lam, "seed": seed} for seed in range(10) for lam in NINE])
    suffers = np.reshape(["suffers" in one for one in said], (10, 9))
    assert suffers[:, :2].all() and not suffers[:, 3:].any()
    assert sum("as the formula predicts" in one for one in said) >= 80
    assert {"lies within", "lies above", "but the formula"} <= set(
        re.findall("lies within|lies above|but the formula", str(said))
    )


STATES = (
    {"penalty": 0.01},
    {"optimizer": "adagrad", "lr": 0.02},
    {"ratio": 0.8},
    {"noise": 0.5},
    {"angle": 90},
    {"lr": 20},
)


@pytest.mark.parametrize("epoch", [0, 1, None])
def test_every_state_has_its_sentence(shared, epoch):
    assert len(sentences(shared, [BRIEF | {"lam": 30} | state for state in STATES], epoch)) == len(STATES)


TITLES = {  # what a preset's title claims, as the sentence says it
    "a moderate λ": "lies within .* words are above neutral words .* Accuracy: 100.0 %",
    "λ too large: one class falls": "lies above .* positive words are below and negative words above",
    "the penalty closes the gap": "words are above neutral words .* Accuracy: 100.0 %",
    "balanced and calm": "lies within .* words are above neutral words .* Accuracy: 100.0 %",
    "λ too small: one word takes all": "lies within .* Accuracy suffers: 9",
    "a skewed corpus": "classes of equal size, .* Accuracy: 100.0 %",
    "a tenth mislabelled": "Accuracy: 90.0 %",
}  # fmt: skip


def test_the_title_of_a_preset_agrees_with_its_sentence(shared):
    """Its other claims are held against PyTorch in test_lab.py."""
    presets = parity.settings()["presets"].values()
    assert [preset["label"] for preset in presets] == list(TITLES)
    for said, claim in zip(sentences(shared, [preset["state"] for preset in presets]), TITLES.values()):
        assert re.search(claim, said), said


def test_the_axis_of_attention_stays_while_lambda_moves(opened):
    """At λ = 100 positive and negative words are seen apart, at 10,000 they are not."""
    axes, apart = [], []
    with opened(lab({"epochs": 10}).html()) as page:
        for lam in (1, 100, 10000):
            set_lam(page, lam)
            y, a = map(np.array, page.evaluate(f"[{PLACES}, {LAST}.a].map((values) => [...values])"))
            axes.append(np.polyfit(np.arcsinh(a / 0.01), y, 1))
            apart.append(abs(y[OF_KIND["positive"]].mean() - y[OF_KIND["negative"]].mean()))
    assert np.ptp(axes, axis=0).max() < 1e-3 and apart[1] > 10 > 1 > apart[2], (axes, apart)


def test_every_sentence_of_the_lab_follows_its_state(quick):
    seen = {}
    open_more(quick)
    for change, epoch in (({}, 5), ({"lam": 0.5, "token": 1099}, 5), ({"lam": 0.01, "token": 3, "epoch": 2}, 2)):
        quick.evaluate(f"{LAB.format(0)}.change({json.dumps(change)})")
        trained(quick)
        lam, token = change.get("lam", 10), change.get("token", 1000)
        moment, said = moment_of(QUICK | {"lam": lam}, epoch), captions(quick)
        assert said == captions_of(moment, token)
        assert not set(seen.items()) & set(said.items()), "every caption has changed"
        seen = said
        told = parity.complete_state(QUICK | {"lam": lam}) | parity.numbers(moment)
        assert quick.locator(".lambda + .says").inner_text() == sentence_of(told)
        assert quick.locator(".epoch").inner_text() == f"epoch {epoch} of 5"
        status = quick.locator(".status").inner_text()
        assert re.fullmatch(r"1,200 sentences, 1,100 words\. Trained in \d+ ms, here in your browser\.", status)


def test_a_preset_says_what_it_shows_until_something_moves(quick):
    """What it says is held against PyTorch in test_lab.py."""
    says = quick.locator(".remark")
    open_more(quick)
    assert says.inner_text() == ""
    for preset in parity.settings()["presets"].values():
        button = quick.get_by_role("button", name=preset["label"], exact=True)
        button.click()
        assert says.inner_text() == preset["says"] and button.get_attribute("aria-pressed") == "true"
        assert quick.evaluate(f"{LAB.format(0)}.config") == parity.complete_state(preset["state"])
        assert quick.locator("button[aria-pressed=true]").count() == 1
    set_lam(quick, 33)
    assert says.inner_text() == "" and quick.locator(".says").inner_text().startswith("λ = 33 lies ")
    assert quick.locator("button[aria-pressed=true]").count() == 0


def test_address_reproduces_what_its_sender_saw(opened):
    html = lab(QUICK).html()
    with opened(html) as page:
        open_more(page)
        page.get_by_label("seed", exact=True).fill("3")
        page.get_by_label("initial angle of V and W").fill("12")
        set_lam(page, 42)
        page.get_by_label("epoch shown").fill("2")
        page.wait_for_function("location.hash.includes('epoch=2')")
        sent, hash_ = numbers(page), page.evaluate("location.hash")
        assert sent["epoch"] == 2 and sent["angle"] == 60 and sent["seed"] == 3 and sent["lam"] == 42
    with opened(html, address=hash_) as page:
        assert numbers(page) == sent
        page.get_by_role("button", name="Reset").click()
        page.wait_for_function("location.hash === ''")
        trained(page)
        assert numbers(page)["lam"] == 10


def copies(page, label: str, text: str, moved: str = "{}") -> None:
    """A button that copies, pressed right after a move, says so and puts this text into the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('')")
    button = page.locator("button", has_text=re.compile(f"^({label}|Copied)$"))
    button.evaluate(f"button => {{ {LAB.format(0)}.change({moved}); button.click(); }}")
    page.wait_for_function("async (text) => await navigator.clipboard.readText() === text", arg=text)
    assert button.inner_text() == "Copied"


def test_a_copied_link_says_what_is_shown(opened):
    """At once after a move, before the address is written, and after a jump within the page."""
    html = lab(QUICK).html() + '<h2 id="there">There</h2>'
    with opened(html) as page:
        plain = page.evaluate("location.href")
        copies(page, "Copy link", plain)
        at_once = plain + "#lab:lab?lam=42&seed=3"
        copies(page, "Copy link", at_once, "{ lam: 42, seed: 3 }")
        page.evaluate("location.hash = '#there'")
        page.wait_for_function("location.hash === '#there'")
        copies(page, "Copy link", at_once)
        page.get_by_role("button", name="Copy link", exact=True).wait_for()  # after a moment it is itself again
        trained(page)


def test_a_spoilt_name_in_an_address_spoils_nothing_else(opened):
    with opened(lab(QUICK).html(), address="#lab:%E0%A4?lam=3;lab?lam=30") as page:
        assert numbers(page)["lam"] == 30
        assert "“%E0%A4” in the address of this page cannot be read" in alarm(page)
        page.evaluate("location.hash = '#lab:lab?lam=40'")
        page.wait_for_function(f"{LAB.format(0)}.state.lam === 40")
        expect(page.locator(".status.alarm")).to_have_count(0)
        page.evaluate("location.hash = '#lab:%E0%A4?lam=3'")
        page.wait_for_function(f"{LAB.format(0)}.warning !== ''")
        trained(page)
        assert "%E0%A4" in alarm(page)


def test_two_labs_share_one_address(opened):
    one, two = (lab(QUICK, mode="compact", name=name) for name in ("first", "second"))
    with opened(one.html() + two.html(False), address="#lab:phase?lam=3") as page:
        trained(page, 1)
        for which, key in ((0, "PageUp"), (1, "PageDown")):
            page.get_by_role("slider", name="scaling factor λ").nth(which).focus()
            page.keyboard.press(key)
        page.wait_for_function("location.hash.includes('first?lam=') && location.hash.includes('second?lam=')")
        assert page.evaluate("location.hash.endsWith(';phase?lam=3')")
        trained(page, 0)
        trained(page, 1)
        high, low = numbers(page, 0), numbers(page, 1)
        assert high["lam"] > 10 > low["lam"]


def test_keyboard_alone_suffices(quick):
    seen, focused = set(), "el => { let e = document.activeElement; return e.shadowRoot?.activeElement ?? e; }"
    for _ in range(60):
        quick.keyboard.press("Tab")
        what = quick.evaluate(f"({focused})().getAttribute?.('aria-label') || ({focused})().innerText || ''").strip()
        seen.add(what)
        if what == "scaling factor λ":
            quick.keyboard.press("PageUp")
            quick.wait_for_function(f"{LAB.format(0)}.state.lam > 10")
        elif what == "epoch shown":
            quick.keyboard.press("ArrowLeft")
            quick.wait_for_function(f"{LAB.format(0)}.state.epoch === 4")
        elif what == "Reset":
            quick.keyboard.press("Space")
            quick.wait_for_function(f"{LAB.format(0)}.state.epoch === null")
        elif what.startswith("Token types."):
            quick.keyboard.press("ArrowRight")
            quick.keyboard.press("Enter")
            quick.wait_for_function(f"{LAB.format(0)}.state.token !== null")
            assert quick.locator(".tip").is_visible()
        elif what.startswith("More"):
            quick.keyboard.press("Enter")
            quick.get_by_role("heading", name="All settings").wait_for()
        elif what == "balanced and calm":
            quick.keyboard.press("Enter")
            quick.wait_for_function(f"{LAB.format(0)}.state.angle === 90")
        elif what == "Check now":
            break
    wanted = {"scaling factor λ", "λ, as a number", "Play"}
    wanted |= {"balanced and calm", "Reset", "Copy link", "learning rate η", "Check now", "Copy"}
    assert wanted <= seen
    details = quick.locator("details.more")
    assert details.get_attribute("open") is not None
    assert details.locator(".controls").locator("input, select").count() == len(parity.settings()["controls"]) - 1


def test_play_walks_through_training_and_pauses(opened):
    with opened(lab({**QUICK, "epochs": 30}).html()) as page:
        page.get_by_role("button", name="Play").click()
        page.wait_for_function(f"0 < {LAB.format(0)}.numbers.epoch && {LAB.format(0)}.numbers.epoch < 30")
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Play").wait_for()
        at = numbers(page)["epoch"]
        assert 0 < at < 30
        page.get_by_role("button", name="Play").click()
        page.wait_for_function(f"{LAB.format(0)}.state.epoch === null")
        page.wait_for_function(f"{LAB.format(0)}.numbers.epoch === 30")
        assert page.get_by_role("button", name="Play").is_visible()


def test_pointing_at_a_dot_tells_the_token_and_its_numbers(quick):
    stage = quick.locator("figure[data-figure=scatter] canvas")
    x, y = stage.evaluate("c => [c.places.x[1050], c.places.y[1050]]")
    stage.hover(position={"x": x, "y": y})
    tip = quick.locator(".tip")
    word = tip.locator("b").inner_text()
    kind, number_of_kind = word.split("-")
    token = {"neutral": 0, "positive": 1000, "negative": 1050}[kind] + int(number_of_kind)
    shot = quick.evaluate(
        f"(l => ({{a: l.run.snapshots.at(-1).a[{token}], s: l.run.snapshots.at(-1).s[{token}]}}))({LAB.format(0)})"
    )
    assert kind == "negative"
    assert f"s {number(shot['s'])} · a {number(shot['a'])}" in tip.inner_text()
    stage.click(position={"x": x, "y": y})
    expect(quick.locator(".token")).to_have_text(word)  # with the next frame
    assert quick.evaluate(f"{LAB.format(0)}.state.token") == token


def test_a_finger_does_what_a_mouse_does(opened):
    with opened(lab(QUICK).html(), width=390, touch=True) as page:
        canvas = page.locator("figure[data-figure=scatter] canvas")
        canvas.scroll_into_view_if_needed()
        x, y = canvas.evaluate("c => [c.places.x[1050], c.places.y[1050]]")
        canvas.tap(position={"x": x, "y": y})
        assert page.locator(".tip").is_visible()
        page.wait_for_function(f"{LAB.format(0)}.state.token >= 1050")
        for label, share in (("epoch shown", 0.05), ("scaling factor λ", 0.9)):
            slider = page.get_by_role("slider", name=label)
            box = slider.bounding_box()
            assert box["height"] >= 24
            slider.tap(position={"x": share * box["width"], "y": box["height"] / 2})
        page.wait_for_function(f"{LAB.format(0)}.state.lam > 1000 && {LAB.format(0)}.state.epoch === 0")
        page.get_by_role("button", name="the penalty closes the gap").tap()
        page.wait_for_function(f"{LAB.format(0)}.state.penalty === 0.001")


def test_sentence_of_a_compact_lab_says_the_numbers_of_its_state(opened):
    """What stands in the page without JavaScript, from PyTorch, is what the browser then finds."""
    text = "λ = {lam}: {a_positive}, {a_negative}, {a_neutral}; {s_positive}, {gap}, {VW}, {accuracy}, {loss}; {angle}"
    one = lab({**QUICK, "lam": 30}, mode="compact", text=text)
    with opened(one.html()) as page:
        shown = page.locator(".sentence").text_content()
        assert shown == one.caption() == page.locator("uaftc-lab > p").text_content()
        page.get_by_role("slider", name="scaling factor λ").focus()
        page.keyboard.press("PageUp")
        page.wait_for_function(f"{LAB.format(0)}.state.lam > 30")
        trained(page)
        told = numbers(page)
        said = page.locator(".sentence").text_content()
        assert f": {number(told['a_positive'])}, {number(told['a_negative'])}" in said


COLOURS = "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
NEVER_SEEN = "window.IntersectionObserver = class { observe() {} disconnect() {} };"


def test_a_sentence_is_whole_before_anything_is_trained(opened):
    one = lab({**QUICK, "lam": 30}, mode="compact")
    with opened(one.html(), before=NEVER_SEEN, wait=False) as page:
        assert page.locator(".sentence").text_content() == one.caption()
        assert page.evaluate(f"{LAB.format(0)}.run") is None
    with opened(one.html(), before=NEVER_SEEN, address="#lab:lab?lam=3", wait=False) as page:
        assert page.locator(".sentence .value").all_inner_texts() == ["…"] * 3


@pytest.mark.parametrize("mode", ["full", "compact"])
def test_nothing_is_blank_in_print(opened, mode):
    """Not even in a lab that nobody has scrolled to. Paper is white."""
    with opened(lab(QUICK, mode=mode).html(), before=NEVER_SEEN, scheme="dark", wait=False) as page:
        page.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {LAB.format(0)}.dataset.scheme; }})")
        assert page.evaluate(f"{LAB.format(0)}.run") is None
        if mode == "full":
            page.locator("details.more > summary").click()
        assert len(page.pdf()) > 20_000
        assert numbers(page)["epoch"] == QUICK["epochs"]
        assert min(page.locator("canvas").evaluate_all(f"all => all.map({COLOURS})")) > 3
        assert page.evaluate("window.printed") == "light"
        assert page.locator("uaftc-lab").get_attribute("data-scheme") == "dark"


def test_a_compact_lab_carries_the_command_too(opened):
    with opened(lab(QUICK, mode="compact", text="λ = {lam}, seed {seed}: {gap}").html()) as page:
        for name in ("scaling factor λ", "seed"):
            page.get_by_role("slider", name=name).focus()
            page.keyboard.press("ArrowRight")
        page.get_by_text("Re-run this page").click()
        command = "papermill book/A_synthetic.ipynb out.ipynb -p lam 10.2 -p seed 1"
        assert page.get_by_label("command that runs this page's notebook again").input_value() == command
        copies(page, "Copy", command)
        trained(page)


def test_the_command_follows_the_rule_of_its_chapter(opened):
    with opened(lab({**QUICK, "lam": 100}, parameter="large_lam", least=20).html()) as page:
        open_more(page)
        field, hint = page.locator(".command"), page.locator(".again .hint")
        assert field.input_value().endswith("-p large_lam 100 -p seed 0") and "large_lam" in hint.inner_text()
        set_lam(page, 20)
        assert field.input_value().endswith("-p large_lam 20 -p seed 0")
        set_lam(page, 19)
        assert field.input_value().endswith("out.ipynb -p seed 0") and "at least 20" in hint.inner_text()
        assert "no other setting" not in hint.inner_text()
        page.get_by_role("button", name="the penalty closes the gap").click()
        assert "no other setting, such as a penalty" in hint.inner_text()


def test_the_angle_returns_to_as_drawn(quick):
    open_more(quick)
    angle = quick.get_by_role("slider", name="angle of V and W")
    for key, value in (("End", 180), ("Home", None), ("ArrowRight", 0)):
        angle.focus()
        quick.keyboard.press(key)
        assert quick.evaluate(f"{LAB.format(0)}.state.angle") == value
    quick.get_by_role("button", name="Reset").click()
    assert angle.input_value() == "-1" and angle.get_attribute("aria-valuetext") == "as drawn"
    trained(quick)


def test_the_caption_says_why_the_conserved_matrix_drifts(quick):
    open_more(quick)
    caption = quick.locator("figure[data-figure=vectors] figcaption")
    for change, said in (
        ("{}", ()),
        ("{ penalty: 0.001 }", ("penalty",)),
        ("{ optimizer: 'adagrad' }", ("penalty", "Adagrad")),
        ("{ penalty: 0 }", ("Adagrad",)),
    ):
        quick.evaluate(f"{LAB.format(0)}.change({change})")
        trained(quick)
        reason = caption.inner_text().partition("of its size")[2]
        assert {word for word in ("penalty", "Adagrad") if word in reason} == set(said), change


def test_every_picture_can_stand_alone(opened):
    labs = [lab(QUICK, mode="compact", figure=figure, name=figure).html(figure == FIGURES[0]) for figure in FIGURES]
    with opened("".join(labs), width=390) as page:
        for i in range(len(FIGURES)):
            page.locator("uaftc-lab").nth(i).scroll_into_view_if_needed()
            trained(page, i)
            assert page.locator("canvas").nth(i).evaluate(COLOURS) > 10, FIGURES[i]


def test_diverging_training_is_said_in_words_inside_a_sentence_too(opened):
    text = "With λ = {lam} and a penalty of {penalty}, V·W ends at {VW}."
    with opened(lab(QUICK | {"lr": 2}, preset="penalty", mode="compact", text=text).html()) as page:
        assert page.locator(".status").is_hidden()
        page.get_by_role("slider", name="penalty on |V·W|").focus()
        page.keyboard.press("End")
        page.wait_for_function(f"{LAB.format(0)}.state.penalty === 1")
        trained(page)
        assert "the numbers grew beyond all bounds: lower the learning rate or the penalty" in alarm(page)
        page.get_by_role("button", name="reset").click()
        trained(page)
        assert page.locator(".status").is_hidden()


def test_a_typed_number_is_what_it_says_or_is_refused_in_words(quick):
    field = quick.get_by_label("λ, as a number")
    for text, lam in (("1,000", 1000), ("0,5", 0.5), ("9,999.5", 9999.5), ("0,001", 0.001), ("1,5", 1.5)):
        field.fill(text)
        quick.keyboard.press("Enter")
        assert quick.evaluate(f"{LAB.format(0)}.state.lam") == lam, text
        expect(quick.locator(".status.alarm")).to_have_count(0)
    said = {"12,345": "12345"}
    for lam, text in enumerate(("1,00,0", "1.000,5", "12,345", "99999", "0", "ten", ""), start=20):
        set_lam(quick, lam)
        expect(quick.locator(".status.alarm")).to_have_count(0)
        field.fill(text)
        quick.keyboard.press("Enter")
        quick.locator(".status.alarm").wait_for()
        assert f"λ lies between 0.001 and 10⁴; “{said.get(text, text)}” is left out" in alarm(quick)
        assert field.input_value() == str(lam) and numbers(quick)["lam"] == lam


def test_an_address_that_cannot_be_is_refused_in_words(opened):
    wrong = "#lab:lab?lam=1e9&seed=3&optimizer=adam&epoch=x&token=99999999&data=moon&d=nan&constructor=1;other?lam=2"
    with opened(lab(QUICK).html(), address=wrong) as page:
        told = numbers(page)
        assert (told["lam"], told["seed"], told["optimizer"]) == (10, 3, "sgd")
        assert all(f"“{word}” is left out" in alarm(page) for word in ("1e9", "adam", "nan", "x", "99999999"))
        assert all(f"no setting “{word}”; it is left out" in alarm(page) for word in ("data", "constructor"))
        state = page.evaluate(f"{LAB.format(0)}.state")
        wrong = "seed=1.5 seed= seed=-1 lam=abc lam=-1 lam=0 lam= lam=0x10 lam=Infinity lam=1,5 lamda=3 =3 lam epoch=6"
        wrong += " epoch=1.5 epoch=-1 token=1100 d=20.5 angle= penalty=%20 batch=501 optimizer= ratio=1 epochs=none"
        for part in wrong.split():
            page.evaluate(f"{LAB.format(0)}.warning = ''; location.hash = '#lab:lab?' + {json.dumps(part)}")
            page.wait_for_function(f"{LAB.format(0)}.warning !== ''")
            trained(page)
            assert "left out." in alarm(page), part
            assert page.evaluate(f"{LAB.format(0)}.state") == {**state, "seed": 0}, part
        for part, value in (("lam=1e3", 1000), ("lam=%200.5", 0.5), ("lam=7&epoch=5&token=none", 7)):
            page.evaluate(f"location.hash = '#lab:lab?' + {json.dumps(part)}")
            page.wait_for_function(f"{LAB.format(0)}.state.lam === {value}")
            trained(page)
            expect(page.locator(".status.alarm")).to_have_count(0)


@pytest.mark.parametrize("trains", [True, False])
@pytest.mark.parametrize(
    "width, scheme, ground", [(1280, "light", "rgb(255, 255, 255)"), (390, "dark", "rgb(20, 24, 27)")]
)
def test_axe_finds_nothing_in_a_window_that_all_fits(opened, axe, width, scheme, ground, trains):
    """A lab, a sentence with a lab and a slider, closed and open, before training and after it."""
    stops = [Stop(lam, "<b>one</b>", f"λ = {lam:g}: one.") for lam in (1, 10)]
    html = lab(QUICK).html() + lab(QUICK, mode="compact", name="sentence").html(False)
    html += Slider("scaling factor", "λ", stops)._repr_html_()
    with opened(html, width=width, scheme=scheme, before="" if trains else NEVER_SEEN, wait=trains) as page:
        page.evaluate(f"document.documentElement.dataset.theme = '{scheme}'")
        page.wait_for_function("document.getAnimations().length === 0")
        assert violations(page, axe) == []
        for summary in page.locator("summary").all():
            summary.click()
        if trains:
            trained(page)
            trained(page, 1)
        assert violations(page, axe) == []
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        assert page.locator(".lab").first.evaluate("el => getComputedStyle(el).backgroundColor") == ground


def test_the_figure_opens_with_one_picture(opened):
    """λ with its band and the scores of all words; the rest opens by keyboard, and nothing remembers that it did."""
    with opened(lab(QUICK).html()) as page:
        summary, shown = page.locator("details.more > summary"), page.locator("canvas:visible")
        assert shown.count() == 2 and page.locator("figure:visible").get_attribute("data-figure") == "scatter"
        assert page.get_by_role("group", name="presets", exact=True).get_by_role("button").count() == 3
        assert page.get_by_label("seed", exact=True).is_hidden()
        address = page.evaluate("location.href")
        summary.focus()
        page.keyboard.press("Enter")
        expect(shown).to_have_count(7)
        drawn = f"[...{LAB.format(0)}.root.querySelectorAll('canvas')].map({COLOURS})"
        page.wait_for_function(f"Math.min(...{drawn}) > 3")
        assert page.get_by_label("seed", exact=True).is_visible()
        page.keyboard.press("Space")
        expect(shown).to_have_count(2)
        page.keyboard.press("Enter")
        assert page.evaluate("location.href") == address
        page.reload()
        trained(page)
        assert shown.count() == 2


def test_a_preset_does_not_speak_of_the_end_before_it(quick):
    quick.get_by_role("button", name="the penalty closes the gap").click()
    trained(quick)
    says, at_the_end = quick.locator(".remark"), parity.settings()["presets"]["penalty"]["says"]
    assert says.inner_text() == at_the_end
    quick.get_by_label("epoch shown").fill("2")
    assert says.inner_text() == ""
    quick.get_by_label("epoch shown").fill("30")
    assert says.inner_text() == at_the_end


def test_a_worker_that_is_lost_is_replaced(opened):
    dying = "window.Worker = class { postMessage() { setTimeout(() => this.onerror()); } };"
    with opened(lab(QUICK).html(), before=dying, wait=False) as page:
        trained(page)
        expect(page.locator(".status.alarm")).to_have_count(0)


def test_training_that_fails_says_so_and_blocks_nothing(quick):
    quick.evaluate(f"(l => {{ l.state.instances = -1; l.request(); }})({LAB.format(0)})")
    quick.wait_for_function(f"/stopped/.test({LAB.format(0)}.root.querySelector('.status').textContent)")
    quick.evaluate(f"{LAB.format(0)}.change({{ instances: 1200, lam: 7 }})")
    quick.wait_for_function(f"{LAB.format(0)}.numbers?.lam === 7")
    trained(quick)
    expect(quick.locator(".status.alarm")).to_have_count(0)


def test_page_without_workers_trains_in_slices(opened):
    # Frames are counted in the page: asked from outside, a quick run would be over before the first question.
    during = f"{LAB.format(0)}?.incoming?.milliseconds === null"
    count = f"window.turns = 0; (function turn() {{ turns += {during}; requestAnimationFrame(turn); }})();"
    state = {**QUICK, "instances": 12000, "epochs": 20}
    with opened(lab(state).html(), before=NO_WORKER + count, wait=False) as page:
        trained(page)
        assert page.evaluate("turns") >= 5  # the page was drawn while it trained
        # The clock counts others' work too: the slices of the quiet moments tell. `make bench` measures the longest.
        slices = page.evaluate("slices")
        assert len(slices) > 5 and np.quantile(slices, 0.25) <= TARGETS["slice"]
        assert numbers(page)["accuracy"] > 0.9


SPOILING = """const Real = window.Worker; window.Worker = class extends Real {
    get onmessage() { return super.onmessage; }
    set onmessage(hear) { super.onmessage = (event) => {
        const { lab, snapshot } = event.data;
        if (/check 100/.test(lab) && snapshot?.epoch === 17) window.spoil?.(snapshot);
        hear(event);
    }; }
    postMessage(wish) {
        if (!/check/.test(wish.lab) || !window.failing) super.postMessage(wish);
        else setTimeout(() => this.onmessage({ data: { lab: wish.lab, job: wish.job, failed: "no memory" } }));
    }
};"""


def test_check_now_holds_the_browser_against_pytorch(opened):
    """It sees one number that is off by 10⁻⁸, says so if it fails, and can be tried again."""
    with opened(lab(QUICK).html(), before=SPOILING) as page:
        open_more(page)

        def checked(before: str) -> tuple[str, bool]:
            page.evaluate(before)
            page.get_by_role("button", name="Check now").click()
            page.wait_for_function(f"!{LAB.format(0)}.root.querySelector('.check button').disabled")
            return page.locator(".check .caption").inner_text(), page.locator(".check .caption.alarm").count() == 1

        for number in ("s[777]", "a[1099]", "loss"):
            said, alarmed = checked(f"void (window.spoil = (snapshot) => {{ snapshot.{number} += 1e-8; }})")
            assert " 10⁻⁸ at λ = 100," in said and alarmed, number
        said, alarmed = checked("window.failing = true; window.spoil = null")
        assert said.startswith("The check was not finished (no memory)") and alarmed
        said, alarmed = checked("window.failing = false")
        assert "over the loss and the scores a and s of all 1,100 words in all 30 epochs" in said and not alarmed
        assert len(re.findall("·10⁻¹[¹²³⁴] at λ", said)) == 2, said


def test_widget_of_a_live_kernel_keeps_state_in_step(opened):
    """The module's ``render`` with a stand-in for the kernel's model."""
    state = json.dumps(lab(QUICK).state)
    holders = f'<div id="here"></div><script type="text/plain" id="source">{module_source()}</script>'
    with opened(holders, wait=False) as page:
        page.evaluate(f"""async () => {{
            const text = document.getElementById('source').textContent;
            const module = await import(URL.createObjectURL(new Blob([text], {{type: 'text/javascript'}})));
            const traits = {{state: {state}, mode: 'full', name: 'lab'}}, heard = {{}};
            window.model = {{
                traits, heard, get: (name) => traits[name], set: (name, value) => {{ traits[name] = value; }},
                on: (name, what) => {{ heard[name] = what; }}, save_changes: () => {{}},
            }};
            module.default.render({{model, el: document.getElementById('here')}});
        }}""")
        trained(page)
        set_lam(page, 77)
        assert page.evaluate("model.traits.state.lam") == 77
        page.evaluate("model.traits.state = {...model.traits.state, lam: 5}; model.heard['change:state']()")
        page.wait_for_function(f"{LAB.format(0)}.state.lam === 5")
        trained(page)
        page.wait_for_function("model.traits.numbers?.lam === 5")
        assert page.evaluate("location.hash") == ""
        assert page.get_by_role("button", name="Copy link").count() == 0


# Wall clocks stretch with whatever else runs here: these bounds catch what has become several times slower.
# `make bench` measures the times themselves.
GROSS = 4


def test_data_one_whole_retrains_within_its_time(opened):
    with opened(lab({"d": 20, "epochs": 30, "instances": 12000}).html()) as page:
        whole, first = np.min([page.evaluate(STOPWATCH) for _ in range(3)], axis=0)
        print(f"Data I, d = 20, 30 epochs: {whole:.3f} s, first change after {first:.3f} s (least of three)")
        assert whole <= GROSS * TARGETS["data-one"]
        assert first <= GROSS * TARGETS["first"]


def test_something_new_is_seen_while_a_slider_moves_without_rest(opened):
    """A new wish every sixteen milliseconds must not keep every run from being seen."""
    with opened(lab().html()) as page:
        seen = page.evaluate(f"""async () => {{
            const lab = {LAB.format(0)}, first = lab.job, begun = performance.now();
            let seen = 0;
            for (let k = 1; performance.now() - begun < 1500; k++) {{
                lab.change({{ lam: 10 + k / 10 }}, {{ dragging: true }});
                await new Promise((resume) => setTimeout(resume, 16));
                if (lab.viewOf("means").run.job > first && lab.viewOf("means").run.last > 0) seen++;
            }}
            return seen;
        }}""")
        trained(page)
        assert seen > 5


KEPT_BACK = """const Real = window.Worker; window.Worker = class extends Real {
    set onmessage(hear) { super.onmessage = (event) => {
        const { job, snapshot, done } = event.data;
        if (job === 1 || (done === undefined && !(snapshot?.epoch > 3))) hear(event);
    }; }
};"""


COMING = f"(l => l.incoming.last === 3 && performance.now() - l.incoming.begun > 200)({LAB.format(0)})"


def keep_waiting(page) -> None:
    """Move λ to 200, of whose run nothing is heard after epoch 3, and draw what there is."""
    page.evaluate(f"{LAB.format(0)}.change({{ lam: 200 }}, {{ dragging: true }})")
    page.wait_for_function(COMING)
    page.evaluate(f"{LAB.format(0)}.draw()")
    page.wait_for_function(f"{LAB.format(0)}.frame == null")
    assert page.evaluate(f"{LAB.format(0)}.run.job") == 1


@pytest.mark.parametrize("figure", ["scatter", "terms"])
def test_a_compact_lab_grows_while_it_trains(opened, figure):
    """Of the second run nothing is heard after epoch 3, and yet it is seen, and spoken of."""
    with opened(lab(QUICK, mode="compact", figure=figure).html(), before=KEPT_BACK) as page:
        picture = "document.querySelector('uaftc-lab').canvas.toDataURL()"
        before = page.evaluate(picture)
        keep_waiting(page)
        assert page.evaluate(picture) != before
        told = parity.numbers(moment_of(QUICK | {"lam": 200}, 3))
        assert page.locator(".sentence").text_content() == (
            f"At λ = 200, mean attention score {number(told['a_positive'])} for positive, "
            f"{number(told['a_negative'])} for negative and {number(told['a_neutral'])} for neutral words."
        )


def test_while_the_lab_trains_each_caption_speaks_of_its_picture(opened):
    """Lines over time grow with the coming run; the other pictures stay with the last one."""
    with opened(lab(QUICK).html(), before=KEPT_BACK) as page:
        open_more(page)
        keep_waiting(page)
        old, coming = captions_of(moment_of(QUICK, 5)), captions_of(moment_of(QUICK | {"lam": 200}, 3))
        assert captions(page) == old | {name: coming[name] for name in ("means", "vectors", "accuracy")}
        told = parity.complete_state(QUICK) | parity.numbers(moment_of(QUICK, 5))
        assert page.locator(".says").inner_text() == sentence_of(told)


PIECES = """async ([text, configs, most]) => {
    const address = URL.createObjectURL(new Blob([text + "export { defineEngine };"], { type: "text/javascript" }));
    const { workshop } = (await import(address)).defineEngine(), { answers } = workshop(() => {}), all = [];
    for (const config of configs) {
        const least = [];
        for (let round = 0; round < 3 || (round < 100 && Math.max(...least) >= most); round++) {
            let k = 0, begun = performance.now();
            const wish = { lab: "", job: 0, config: { ...config, noise: round / 100 } };
            for (const _ of answers(wish)) {
                const now = performance.now();
                least[k] = Math.min(least[k] ?? Infinity, now - begun);
                begun = now;
                k++;
            }
        }
        all.push([least.length, Math.max(...least)]);
    }
    return all;
}"""
LARGEST = [
    {"batch": "full", "d": 100, "epochs": 2},
    {"optimizer": "adagrad", "lr": 0.02, "batch": "full", "d": 100, "epochs": 2},
]


def test_training_can_pause_within_milliseconds_in_every_setting(browser):
    """A slice ends at the first chance after 10 ms, so no work between two chances may take the other 6.

    Of several rounds the least time of each piece counts: what else runs here is not the lab's. On a busy machine
    there are more rounds.
    """
    page = browser.new_page()
    configs = [parity.complete_state(state) for state in LARGEST]
    most = 6
    for config, (pieces, longest) in zip(configs, page.evaluate(PIECES, [module_source(), configs, most])):
        print(f"{config['optimizer']}: {pieces} pieces, the longest {longest:.1f} ms")
        assert longest < most
    page.close()
