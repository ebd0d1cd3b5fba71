"""The lab in a real browser, from file://, with the network shut: trained there, compared with PyTorch here."""

import contextlib
import json
import re

import numpy as np
import pytest
import test_pages
from matplotlib.cbook import boxplot_stats
from playwright.sync_api import expect

from conftest import violations
from uaftc_book.lab import lab, parity
from uaftc_book.lab.module import module_source
from uaftc_book.lab.widget import FIGURES
from uaftc_book.panels import mean_weights
from uaftc_lib import dynamics
from uaftc_lib.plots.summaries import number

QUICK = {"instances": 1200, "batch": 100, "lr": 1.0, "epochs": 5}
# Wall clocks stretch with whatever else runs here: this catches what has become several times slower than 0.6 s.
# `make bench` measures the time itself.
RETRAINS = 4 * 600  # milliseconds: Data I, d = 20, 30 epochs
SLICE = 0.016  # seconds
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
def opened(browser, tmp_path_factory):
    """``opened(html, ...)`` yields a page that shows labs, trained; afterwards, that nothing went wrong on it."""
    path = tmp_path_factory.mktemp("pages") / "A_synthetic.html"

    @contextlib.contextmanager
    def open_page(html, wait=True, **options):
        path.write_text(
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Lab</title>'
            '<meta name="viewport" content="width=device-width"></head>'
            f"<body><main><h1>Lab</h1>{html}</main></body></html>",
            encoding="utf-8",
        )
        with test_pages.opened(browser, path, **options) as (page, page_troubles):
            page.troubles = page_troubles
            if wait:
                trained(page)
            yield page
            assert page_troubles == []

    return open_page


@pytest.fixture(scope="module")
def shared(opened):
    """A page with one small lab."""
    with opened(lab(QUICK).html()) as page:
        yield page


@pytest.fixture
def quick(shared):
    """This page as its reader finds it; loaded once for many tests."""
    shared.evaluate(f"{LAB}.change({LAB}.base); {LAB}.root.querySelector('details.more').open = false")
    shared.mouse.click(1, 1)  # nothing is pointed at, and Tab begins at the top
    trained(shared)
    yield shared
    trained(shared)
    assert shared.troubles == []


LABS = "document.querySelectorAll('uaftc-lab')"
LAB = f"{LABS}[0]"
LAST = f"{LAB}.run.snapshots.at(-1)"
PLACES = f"{LAB}.parts.canvases.scatter.places.y"


def trained(page, which: int = 0) -> None:
    """Wait until what is shown is the finished run of the present settings."""
    one = f"{LABS}[{which}]"
    page.wait_for_function(
        f"{one}?.run && {one}.run.milliseconds !== null && {one}.run.job === {one}.job && {one}.frame == null"
    )


def alarm(page) -> str:
    """What the lab says is wrong, as the reader sees it."""
    return page.locator(".status.alarm").inner_text()


def numbers(page, which: int = 0) -> dict:
    return page.evaluate(f"{LABS}[{which}].numbers")


def open_more(page) -> None:
    """What the figure does not show at once, drawn."""
    page.locator("details.more > summary").click()
    trained(page)


def set_lam(page, value) -> None:
    page.get_by_label("λ, as a number").fill(str(value))
    page.keyboard.press("Enter")
    page.wait_for_function(f"{LAB}.state.lam === {value}")
    trained(page)


SHOTS = """lab => JSON.stringify(lab.run.snapshots.map(({ loss, drift, accuracy, a, s, weight }) =>
    ({ loss, drift, accuracy, attention: [...a], polarity: [...s], weight: [...weight] })))"""
BOXES = """async (text) => {
    const address = URL.createObjectURL(new Blob([text + "export { $pictures };"], { type: "text/javascript" }));
    const { run } = document.querySelector("uaftc-lab"), { weightsByKind } = (await import(address)).$pictures;
    return weightsByKind(run, run.last).map(({ q1, median, q3, low, high, outliers }) =>
        ({ q1, med: median, q3, whislo: low, whishi: high, fliers: [...outliers] }));
}"""


def test_every_score_of_every_epoch_agrees_with_pytorch(opened, untyped):
    """Data I whole, λ = 10 and 100: losses, scores and mean weights of all types, and the drift, to 10⁻¹⁰."""
    with opened(lab().html()) as page:
        for change in ({}, {"lam": 100, "epochs": 8}):
            page.evaluate(f"{LAB}.change({json.dumps(change)})")
            trained(page)
            shots, largest = json.loads(page.locator("uaftc-lab").evaluate(SHOTS)), {}
            assert len(shots) == change.get("epochs", 30) + 1 and len(shots[0]["weight"]) == 1100
            for moment, shot in zip(parity.train(change), shots, strict=True):
                scores, told = moment.model.token_scores(), parity.numbers(moment)
                weights, _ = mean_weights(moment.model, moment.data.train)
                expected = {"attention": scores.attention, "polarity": scores.polarity, "weight": weights}
                expected = {name: values[:1100].numpy() for name, values in expected.items()}
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


def moment_of(state: dict, epoch: int) -> parity.Epoch:
    """What PyTorch has at an epoch."""
    return next(moment for moment in parity.train(state) if moment.epoch == epoch)


def captions_of(moment: parity.Epoch, token: int = 1000, drifts: str = "") -> dict[str, str]:
    """What the lab must say below each picture, every number of it from the library. drifts: why the matrix does."""
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
        "vectors": f"V·W = {say['VW']}; the conserved matrix has drifted by {say['drift']} of its size{drifts}.",
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


ENGINE = """async ([text, configs, epochs]) => {
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
        return epochs.map((epoch) => numbers(run, epoch ?? run.last)).map((told) => [sentence(told), told]);
    });
}"""  # of the run of each configuration, at each epoch (null: the last), what the page says, and the numbers


def runs(page, states: list[dict], *epochs: int | None) -> list[list[tuple[str, dict]]]:
    """Of the runs of some states what the page says at some epochs, held against its numbers, and these numbers."""
    made = page.evaluate(ENGINE, [module_source(), [parity.complete_state(state) for state in states], epochs])
    assert [[said for said, _ in run] for run in made] == [[sentence_of(told) for _, told in run] for run in made]
    return made


OTHER_STATES = [
    {**QUICK, "optimizer": "adagrad", "lr": 0.02, "d": 7, "angle": 60},
    {**QUICK, "penalty": 0.01, "ratio": 0.25, "noise": 0.1, "seed": 5, "batch": "full"},
    {**QUICK, "epochs": 30, "noise": 0.1, "seed": 1, "d": 33, "angle": 100},
]


@pytest.mark.parametrize("state", OTHER_STATES)
def test_every_setting_means_the_same_in_pytorch(shared, state):
    *_, last = parity.train(state)
    (((_, told),),) = runs(shared, [state], None)
    for name, value in parity.numbers(last).items():
        assert told[name] == pytest.approx(value, rel=1e-10, abs=1e-10), name


NINE = (0.001, 0.01, 0.1, 1, 10, 30, 100, 1000, 10000)
BRIEF = {"instances": 3000, "batch": 500, "lr": 5.0, "epochs": 15}


@pytest.mark.parametrize("data", [BRIEF, pytest.param({}, marks=pytest.mark.long)])
def test_the_sentence_is_true_at_nine_lambdas_of_ten_seeds(opened, data):
    """As the formula predicts in most runs; accuracy suffers at small λ alone."""
    with opened("", wait=False) as page:
        made = runs(page, [data | {"lam": lam, "seed": seed} for seed in range(10) for lam in NINE], None)
    said = [said for ((said, _),) in made]
    suffers = np.reshape(["suffers" in one for one in said], (10, 9))
    assert suffers[:, :2].all() and not suffers[:, 3:].any()
    assert sum("as the formula predicts" in one for one in said) >= 80
    assert all(part in str(said) for part in ("lies within", "lies above", "but the formula"))


STATES = [{"penalty": 0.01}, {"optimizer": "adagrad", "lr": 0.02}, {"ratio": 0.8}, {"noise": 0.5}]
STATES += [{"noise": 0.1}, {"angle": 90}, {"lr": 20}, *({"seed": seed} for seed in range(3))]


def test_every_state_has_its_sentence_and_its_band(shared):
    """The band ends where Python has its end; the first four states have none."""
    states = [BRIEF | {"lam": 30} | state for state in STATES]
    uppers = [told["upper"] for *_, (_, told) in runs(shared, states, 0, 1, None)]
    expected = [next(parity.train(state)).upper for state in states]
    assert uppers[:4] == expected[:4] == [None] * 4 and uppers[4:] == pytest.approx(expected[4:], rel=1e-10)


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


FOLLOWED = [  # a change, the last epoch shown, and why the conserved matrix drifts
    ({}, 5, ""),
    ({"lam": 0.5, "token": 1099, "penalty": 0.001}, 5, ", for the penalty on |V·W| breaks the law of conservation"),
    ({"lam": 0.01, "token": 3, "epoch": 2, "penalty": 0}, 2, ""),
    ({"lam": 30, "token": 7, "optimizer": "adagrad", "epoch": 1}, 1, ", for Adagrad does not follow the gradient flow"),
]


def test_every_sentence_of_the_lab_follows_its_state(quick):
    state, seen = {"token": 1000}, {}
    open_more(quick)
    for change, epoch, drifts in FOLLOWED:
        quick.evaluate(f"{LAB}.change({json.dumps(change)})")
        trained(quick)
        state |= change
        config = QUICK | {name: value for name, value in state.items() if name not in ("token", "epoch")}
        moment, said = moment_of(config, epoch), captions(quick)
        assert said == captions_of(moment, state["token"], drifts)
        assert not set(seen.items()) & set(said.items()), "every caption has changed"
        seen = said
        told = parity.complete_state(config) | parity.numbers(moment)
        assert quick.locator(".lambda + .says").inner_text() == sentence_of(told)
        assert quick.locator(".epoch").inner_text() == f"epoch {epoch} of 5"
        status = quick.locator(".status").inner_text()
        assert re.fullmatch(r"1,200 sentences, 1,100 words\. Trained in \d+ ms, here in your browser\.", status)


def test_a_preset_says_what_it_shows_at_the_end_until_something_moves(quick):
    """What it says is held against PyTorch in test_lab.py."""
    says, shown = quick.locator(".remark"), quick.get_by_label("epoch shown")
    open_more(quick)
    assert says.inner_text() == ""
    for preset in parity.settings()["presets"].values():
        button = quick.get_by_role("button", name=preset["label"], exact=True)
        button.click()
        assert says.inner_text() == preset["says"] and button.get_attribute("aria-pressed") == "true"
        assert quick.evaluate(f"{LAB}.config") == parity.complete_state(preset["state"])
        assert quick.locator("button[aria-pressed=true]").count() == 1
    trained(quick)
    for epoch, words in (("2", ""), ("30", preset["says"])):
        shown.fill(epoch)
        assert says.inner_text() == words
    set_lam(quick, 33)
    assert says.inner_text() == "" and quick.locator(".says").inner_text().startswith("λ = 33 lies ")
    assert quick.locator("button[aria-pressed=true]").count() == 0


def copies(page, label: str, text: str, moved: str = "{}") -> None:
    """A button that copies, pressed right after a move, says so and puts this text into the clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('')")
    button = page.locator("button", has_text=re.compile(f"^({label}|Copied)$"))
    button.evaluate(f"button => {{ {LAB}.change({moved}); button.click(); }}")
    page.wait_for_function("async (text) => await navigator.clipboard.readText() === text", arg=text)
    assert button.inner_text() == "Copied"


def test_a_link_reproduces_what_its_sender_saw(opened):
    """Copied at once after a move, before the address is written, and after a jump within the page."""
    html, address = lab(QUICK).html() + '<h2 id="there">There</h2>', "#lab:lab?lam=42&seed=3&angle=60&epoch=2"
    with opened(html) as page:
        plain = page.evaluate("location.href")
        copies(page, "Copy link", plain)
        copies(page, "Copy link", plain + address, "{ lam: 42, seed: 3, angle: 60, epoch: 2 }")
        page.evaluate("location.hash = '#there'")
        page.wait_for_function("location.hash === '#there'")
        copies(page, "Copy link", plain + address)
        page.get_by_role("button", name="Copy link", exact=True).wait_for()  # after a moment it is itself again
        trained(page)
        sent = numbers(page)
    assert [sent[name] for name in ("lam", "seed", "angle", "epoch")] == [42, 3, 60, 2]
    with opened(html, address=f"{address}&data=moon") as page:
        assert numbers(page) == sent and "no setting “data”; it is left out" in alarm(page)
        page.get_by_role("button", name="Reset").click()
        page.wait_for_function("location.hash === ''")
        trained(page)
        assert numbers(page)["lam"] == 10


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


PRESSED = {  # at what Tab comes to: a key, and what is then so
    "balanced and calm": ("Enter", "state.angle === 90"),
    "scaling factor λ": ("PageUp", "state.lam > 10"),
    "Token types. Left and right arrow keys walk through them, Enter chooses one.": ("ArrowRight", "hovered !== null"),
    "epoch shown": ("ArrowLeft", "state.epoch === 4"),
    "Reset": ("Space", "state.epoch === null"),
    "More: presets, five pictures, all settings": ("Enter", "root.querySelector('details.more').open"),
}


def test_keyboard_alone_suffices(quick):
    at, seen = "(it => it.getAttribute('aria-label') || it.innerText.trim())", set()
    focused = f"{at}(document.activeElement.shadowRoot?.activeElement ?? document.activeElement)"
    while "Check now" not in seen and len(seen) < 60:
        quick.keyboard.press("Tab")
        what = quick.evaluate(focused)
        seen.add(what)
        if what in PRESSED:
            key, then = PRESSED[what]
            quick.keyboard.press(key)
            quick.wait_for_function(f"{LAB}.{then}")
        if what.startswith("Token types."):
            assert quick.locator(".tip").is_visible()
            quick.keyboard.press("Enter")
            quick.wait_for_function(f"{LAB}.state.token === {LAB}.hovered")
    assert {*PRESSED, "λ, as a number", "Play", "Copy link", "learning rate η", "Check now", "Copy"} <= seen
    controls = quick.locator("details.more .controls").locator("input, select")
    assert controls.count() == len(parity.settings()["controls"]) - 1


def test_play_walks_through_training_and_pauses(opened):
    with opened(lab({**QUICK, "epochs": 30}).html()) as page:
        page.get_by_role("button", name="Play").click()
        page.wait_for_function(f"0 < {LAB}.numbers.epoch && {LAB}.numbers.epoch < 30")
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Play").wait_for()
        at = numbers(page)["epoch"]
        assert 0 < at < 30
        page.get_by_role("button", name="Play").click()
        page.wait_for_function(f"{LAB}.state.epoch === null")
        page.wait_for_function(f"{LAB}.numbers.epoch === 30")
        assert page.get_by_role("button", name="Play").is_visible()


def test_pointing_at_a_dot_tells_the_token_and_its_numbers(quick):
    stage, tip = quick.locator("figure[data-figure=scatter] canvas"), quick.locator(".tip")
    x, y = stage.evaluate("c => [c.places.x[1050], c.places.y[1050]]")
    stage.hover(position={"x": x, "y": y})
    word = tip.locator("b").inner_text()
    kind, number_of_kind = word.split("-")
    token = OF_KIND[kind].start + int(number_of_kind)
    s, a = quick.evaluate(f"[{LAST}.s[{token}], {LAST}.a[{token}]]")
    assert kind == "negative" and f"s {number(s)} · a {number(a)}" in tip.inner_text()
    stage.click(position={"x": x, "y": y})
    expect(quick.locator(".token")).to_have_text(word)  # with the next frame
    assert quick.evaluate(f"{LAB}.state.token") == token


def test_a_finger_does_what_a_mouse_does(opened):
    with opened(lab(QUICK).html(), width=390, touch=True) as page:
        canvas = page.locator("figure[data-figure=scatter] canvas")
        canvas.scroll_into_view_if_needed()
        x, y = canvas.evaluate("c => [c.places.x[1050], c.places.y[1050]]")
        canvas.tap(position={"x": x, "y": y})
        assert page.locator(".tip").is_visible()
        page.wait_for_function(f"{LAB}.state.token >= 1050")
        for label, share in (("epoch shown", 0.05), ("scaling factor λ", 0.9)):
            slider = page.get_by_role("slider", name=label)
            box = slider.bounding_box()
            assert box["height"] >= 24
            slider.tap(position={"x": share * box["width"], "y": box["height"] / 2})
        page.wait_for_function(f"{LAB}.state.lam > 1000 && {LAB}.state.epoch === 0")
        page.get_by_role("button", name="the penalty closes the gap").tap()
        page.wait_for_function(f"{LAB}.state.penalty === 0.001")


COLOURS = "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
NEVER_SEEN = "window.IntersectionObserver = class { observe() {} disconnect() {} };"


def test_a_sentence_is_whole_before_anything_is_trained(opened):
    one = lab({**QUICK, "lam": 30}, mode="compact")
    with opened(one.html(), before=NEVER_SEEN, wait=False) as page:
        assert page.locator(".sentence").text_content() == one.caption()
        assert page.evaluate(f"{LAB}.run") is None
    with opened(one.html(), before=NEVER_SEEN, address="#lab:lab?lam=3", wait=False) as page:
        assert page.locator(".sentence .value").all_inner_texts() == ["…"] * 3


def test_nothing_is_blank_in_print(opened, axe):
    """Not even in labs that nobody has scrolled to. Paper is white. (test_pages.py lets axe read trained labs.)"""
    html = lab(QUICK).html() + lab(QUICK, mode="compact", name="sentence").html(False)
    with opened(html, before=NEVER_SEEN, scheme="dark", wait=False) as page:
        schemes = f"[...{LABS}].map(one => one.dataset.scheme)"
        page.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {schemes}; }})")
        assert page.evaluate(f"[...{LABS}].map(one => one.run)") == [None, None]
        for summary in page.locator("summary").all():
            summary.click()
        assert violations(page, axe) == []
        assert len(page.pdf()) > 20_000
        assert [numbers(page, which)["epoch"] for which in (0, 1)] == [QUICK["epochs"]] * 2
        assert min(page.locator("canvas").evaluate_all(f"all => all.map({COLOURS})")) > 3
        assert page.evaluate("printed") == ["light"] * 2 and page.evaluate(schemes) == ["dark"] * 2


def test_a_compact_lab_says_the_numbers_of_its_state_and_carries_the_command(opened):
    """What stands in the page without JavaScript, from PyTorch, is what the browser then finds."""
    text = "λ = {lam}: {a_positive}, {a_negative}, {a_neutral}; {s_positive}, {gap}, {VW}, {accuracy}, {loss}; {seed}"
    one = lab(QUICK, mode="compact", text=text)
    with opened(one.html()) as page:
        sentence = page.locator(".sentence")
        assert sentence.text_content() == one.caption() == page.locator("uaftc-lab > p").text_content()
        for name in ("scaling factor λ", "seed"):
            page.get_by_role("slider", name=name).press("ArrowRight")
        page.get_by_text("Re-run this page").click()
        command = "papermill book/A_synthetic.ipynb out.ipynb -p lam 10.2 -p seed 1"
        assert page.get_by_label("command that runs this page's notebook again").input_value() == command
        copies(page, "Copy", command)
        trained(page)
        told = numbers(page)
        assert f"λ = 10.2: {number(told['a_positive'])}, {number(told['a_negative'])}," in sentence.text_content()


def test_the_command_follows_the_rule_of_its_chapter(opened):
    with opened(lab({**QUICK, "lam": 20}, parameter="large_lam", least=20).html()) as page:
        open_more(page)
        field, hint = page.locator(".command"), page.locator(".again .hint")
        assert field.input_value().endswith("-p large_lam 20 -p seed 0") and "large_lam" in hint.inner_text()
        set_lam(page, 19)
        assert field.input_value().endswith("out.ipynb -p seed 0") and "at least 20" in hint.inner_text()
        assert "no other setting" not in hint.inner_text()
        page.get_by_role("button", name="the penalty closes the gap").click()
        assert "no other setting, such as a penalty" in hint.inner_text()


def test_the_angle_returns_to_as_drawn(quick):
    open_more(quick)
    angle = quick.get_by_role("slider", name="angle of V and W")
    for key, value in (("End", 180), ("Home", None), ("ArrowRight", 0)):
        angle.press(key)
        assert quick.evaluate(f"{LAB}.state.angle") == value
    quick.get_by_role("button", name="Reset").click()
    assert angle.input_value() == "-1" and angle.get_attribute("aria-valuetext") == "as drawn"


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
        page.wait_for_function(f"{LAB}.state.penalty === 1")
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
        assert quick.evaluate(f"{LAB}.state.lam") == lam, text
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


WRONG = (
    "seed=1.5 seed= seed=-1 lam=1e9 lam=abc lam=-1 lam=0 lam= lam=0x10 lam=Infinity lam=1,5 lamda=3 =3 lam epoch=6 "
    "epoch=1.5 epoch=-1 epoch=x token=1100 d=20.5 d=nan angle= penalty=%20 batch=501 optimizer= optimizer=adam ratio=1 "
    "epochs=none constructor=1"
)


def test_an_address_that_cannot_be_is_refused_in_words(opened):
    """A part that cannot be read, or one wrong setting, spoils nothing else."""
    with opened(lab(QUICK).html(), address="#lab:%E0%A4?lam=3;lab?lam=30&seed=3") as page:

        def asked(part: str) -> None:
            page.evaluate(f"location.hash = '#lab:' + {json.dumps(part)}")

        assert numbers(page)["lam"] == 30
        assert "“%E0%A4” in the address of this page cannot be read" in alarm(page)
        asked("lab?lam=1e9&seed=3&optimizer=adam&token=99999999;other?lam=2")
        page.wait_for_function(f"{LAB}.state.lam === 10 && {LAB}.state.seed === 3")
        assert all(f"“{word}” is left out" in alarm(page) for word in ("1e9", "adam", "99999999"))
        state = page.evaluate(f"{LAB}.state") | {"seed": 0}
        for part in WRONG.split():
            page.evaluate(f"{LAB}.warning = ''")
            asked(f"lab?{part}")
            page.wait_for_function(f"{LAB}.warning !== ''")
            assert "left out." in page.evaluate(f"{LAB}.warning"), part
            assert page.evaluate(f"{LAB}.state") == state, part
        for part, value in (("lam=1e3", 1000), ("lam=%200.5", 0.5), ("lam=7&epoch=5&token=none", 7)):
            asked(f"lab?{part}")
            page.wait_for_function(f"{LAB}.state.lam === {value}")
            trained(page)
            expect(page.locator(".status.alarm")).to_have_count(0)
        asked("%E0%A4?lam=3")
        page.wait_for_function(f"{LAB}.warning !== ''")
        trained(page)
        assert "%E0%A4" in alarm(page)


def test_the_figure_opens_with_one_picture(opened):
    """λ with its band and the scores of all words; the rest opens by keyboard, and nothing remembers that it did."""
    with opened(lab(QUICK).html()) as page:
        shown, address = page.locator("canvas:visible"), page.evaluate("location.href")
        assert shown.count() == 2 and page.locator("figure:visible").get_attribute("data-figure") == "scatter"
        assert page.get_by_role("group", name="presets", exact=True).get_by_role("button").count() == 3
        assert page.get_by_label("seed", exact=True).is_hidden()
        page.locator("details.more > summary").focus()
        for key, count in (("Enter", 7), ("Space", 2), ("Enter", 7)):
            page.keyboard.press(key)
            expect(shown).to_have_count(count)
        page.wait_for_function(f"Math.min(...[...{LAB}.root.querySelectorAll('canvas')].map({COLOURS})) > 3")
        assert page.get_by_label("seed", exact=True).is_visible() and page.evaluate("location.href") == address
        page.reload()
        trained(page)
        assert shown.count() == 2


def test_a_worker_that_is_lost_is_replaced(opened):
    dying = "window.Worker = class { postMessage() { setTimeout(() => this.onerror()); } };"
    with opened(lab(QUICK).html(), before=dying, wait=False) as page:
        trained(page)
        expect(page.locator(".status.alarm")).to_have_count(0)


def test_training_that_fails_says_so_and_blocks_nothing(quick):
    quick.evaluate(f"(l => {{ l.state.instances = -1; l.request(); }})({LAB})")
    quick.wait_for_function(f"/stopped/.test({LAB}.root.querySelector('.status').textContent)")
    quick.evaluate(f"{LAB}.change({{ instances: 1200, lam: 7 }})")
    quick.wait_for_function(f"{LAB}.numbers?.lam === 7")
    trained(quick)
    expect(quick.locator(".status.alarm")).to_have_count(0)


def test_page_without_workers_trains_in_slices(opened):
    # Frames are counted in the page: asked from outside, a quick run would be over before the first question.
    during = f"{LAB}?.incoming?.milliseconds === null"
    count = f"window.turns = 0; (function turn() {{ turns += {during}; requestAnimationFrame(turn); }})();"
    state = {**QUICK, "instances": 12000, "epochs": 20}
    with opened(lab(state).html(), before=NO_WORKER + count, wait=False) as page:
        trained(page)
        assert page.evaluate("turns") >= 5  # the page was drawn while it trained
        # The clock counts others' work too: the slices of the quiet moments tell. `make bench` measures the longest.
        slices = page.evaluate("slices")
        assert len(slices) > 5 and np.quantile(slices, 0.25) <= SLICE
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
            page.wait_for_function(f"!{LAB}.root.querySelector('.check button').disabled")
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
        page.wait_for_function(f"{LAB}.state.lam === 5")
        trained(page)
        page.wait_for_function("model.traits.numbers?.lam === 5")
        assert page.evaluate("location.hash") == ""
        assert page.get_by_role("button", name="Copy link").count() == 0


def test_data_one_retrains_within_its_time_and_is_seen_while_a_slider_moves_without_rest(opened):
    """A new wish every sixteen milliseconds must not keep every run from being seen."""
    with opened(lab().html()) as page:
        seen = page.evaluate(f"""async () => {{
            const lab = {LAB}, first = lab.job, begun = performance.now();
            let seen = 0;
            for (let k = 1; performance.now() - begun < 1500; k++) {{
                lab.change({{ lam: 10 + k / 10 }}, {{ dragging: true }});
                await new Promise((resume) => setTimeout(resume, 16));
                if (lab.viewOf("means").run.job > first && lab.viewOf("means").run.last > 0) seen++;
            }}
            return seen;
        }}""")
        assert seen > 5
        took = []
        for lam in (20, 21, 22):
            set_lam(page, lam)
            took.append(page.evaluate(f"{LAB}.run.milliseconds"))
        print(f"Data I, d = 20, 30 epochs: {min(took):.0f} ms (least of three)")
        assert min(took) <= RETRAINS


KEPT_BACK = """const Real = window.Worker; window.Worker = class extends Real {
    set onmessage(hear) { super.onmessage = (event) => {
        const { job, snapshot, done } = event.data;
        if (job === 1 || (done === undefined && !(snapshot?.epoch > 3))) hear(event);
    }; }
};"""


COMING = f"(l => l.incoming.last === 3 && performance.now() - l.incoming.begun > 200)({LAB})"


def keep_waiting(page) -> None:
    """Move λ to 200, of whose run nothing is heard after epoch 3, and draw what there is."""
    page.evaluate(f"{LAB}.change({{ lam: 200 }}, {{ dragging: true }})")
    page.wait_for_function(COMING)
    page.evaluate(f"{LAB}.draw()")
    page.wait_for_function(f"{LAB}.frame == null")
    assert page.evaluate(f"{LAB}.run.job") == 1


def test_a_compact_lab_grows_while_it_trains(opened):
    """Of the second run nothing is heard after epoch 3, and yet it is seen, and spoken of."""
    with opened(lab(QUICK, mode="compact", figure="terms").html(), before=KEPT_BACK) as page:
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


PIECES = """async ([text, config, most]) => {
    const address = URL.createObjectURL(new Blob([text + "export { defineEngine };"], { type: "text/javascript" }));
    const { workshop } = (await import(address)).defineEngine(), { answers } = workshop(() => {}), least = [];
    for (let round = 0; round < 3 || (round < 100 && Math.max(...least) >= most); round++) {
        let k = 0, begun = performance.now();
        for (const _ of answers({ lab: "", job: 0, config: { ...config, noise: round / 100 } })) {
            const now = performance.now();
            least[k] = Math.min(least[k] ?? Infinity, now - begun);
            begun = now;
            k++;
        }
    }
    return Math.max(...least);
}"""


@pytest.mark.parametrize("state", [{}, {"optimizer": "adagrad", "lr": 0.02}])
def test_training_can_pause_within_milliseconds_in_the_largest_setting(shared, state):
    """A slice ends at the first chance after 10 ms, so no work between two chances may take the other 6.

    Of several rounds the least time of each piece counts: what else runs here is not the lab's. On a busy machine
    there are more rounds.
    """
    config, most = parity.complete_state(state | {"batch": "full", "d": 100, "epochs": 2}), 6
    assert shared.evaluate(PIECES, [module_source(), config, most]) < most
