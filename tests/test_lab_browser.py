"""The lab in a real browser, from file://, with the network shut: trained there, compared with PyTorch here."""

import contextlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from uaftc_lib.lab import Frame, LambdaSlider, lab, parity
from uaftc_lib.lab.module import module_source
from uaftc_lib.lab.svg import number

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT / "benchmarks"))  # as `python benchmarks/run.py` has it

from lab_page import NO_WORKER, STOPWATCH, TARGETS  # noqa: E402

QUICK = {"instances": 1200, "batch": 100, "lr": 1.0, "epochs": 5}


@pytest.fixture
def opened(browser, tmp_path, request):
    """``opened(html, ...)`` yields a page that shows labs, trained; afterwards, that nothing went wrong on it."""

    @contextlib.contextmanager
    def open_page(html, width=1280, scheme="light", address="", before="", head="", wait=True, touch=False):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            reduced_motion="reduce",
            has_touch=touch,
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        troubles = []
        page.on("console", lambda said: said.type in ("error", "warning") and troubles.append(said.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith("http") and troubles.append(asked.url))
        if before:
            page.add_init_script(before)
        path = tmp_path / "08_synthetic.html"
        path.write_text(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Lab</title>{head}'
            '<meta name="viewport" content="width=device-width"></head>'
            f"<body><main><h1>Lab</h1>{html}</main></body></html>",
            encoding="utf-8",
        )
        try:
            page.goto(path.as_uri() + address)
            if wait:
                trained(page)
            yield page
            assert troubles == []
        except BaseException:
            folder = CHECKOUT / "test-artifacts"
            folder.mkdir(exist_ok=True)
            page.screenshot(path=folder / f"{request.node.name}.png", full_page=True)
            raise
        finally:
            context.close()

    return open_page


LAB = "document.querySelectorAll('uaftc-lab')[{}]"
LAST = f"{LAB.format(0)}.run.snapshots.at(-1)"


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


def set_lam(page, value) -> None:
    page.get_by_label("λ, as a number").fill(str(value))
    page.keyboard.press("Enter")
    page.wait_for_function(f"{LAB.format(0)}.state.lam === {value}")
    trained(page)


def test_every_score_of_every_epoch_agrees_with_pytorch(opened):
    """λ = 10 and 100, Data I whole, all losses and the scores of all types: 10⁻¹⁰ is asked for."""
    with opened(lab().html()) as page:
        for lam in (10, 100):
            if lam != 10:
                set_lam(page, lam)
            shots = page.evaluate(
                f"{LAB.format(0)}.run.snapshots.map(({{loss, a, s, accuracy}}) => [loss, [...a], [...s], accuracy])"
            )
            largest = {"loss": 0.0, "attention": 0.0, "polarity": 0.0}
            for moment, (loss, a, s, _) in zip(parity.train({"lam": lam}), shots, strict=True):
                scores = moment.model.token_scores()
                if moment.epoch:
                    largest["loss"] = max(largest["loss"], abs(moment.loss - loss))
                for name, ours in (("attention", a), ("polarity", s)):
                    away = np.abs(getattr(scores, name).numpy()[: len(ours)] - np.array(ours)).max()
                    largest[name] = max(largest[name], away)
                assert len(a) == 1100
            assert shots[-1][3] == moment.model.accuracy(moment.data.train)
            assert len(shots) == 31
            assert max(largest.values()) < 1e-10, largest


OTHER_STATES = [
    {**QUICK, "optimizer": "adagrad", "lr": 0.02, "d": 7, "angle": 60},
    {**QUICK, "penalty": 0.01, "ratio": 0.25, "noise": 0.1, "seed": 5, "batch": 0},
]


@pytest.mark.parametrize("state", OTHER_STATES)
def test_every_setting_means_the_same_in_pytorch(opened, state):
    with opened(lab(state).html()) as page:
        *_, last = parity.train(state)
        told = numbers(page)
        for name, value in parity.numbers(last).items():
            assert told[name] == pytest.approx(value, rel=1e-10, abs=1e-10), name


def test_terms_and_band_are_those_of_the_library(opened):
    from uaftc_lib import dynamics

    with opened(lab(QUICK).html()) as page:
        *_, last = parity.train(QUICK)
        s = dynamics.polarity_update(last.model, last.data.train)
        a = dynamics.attention_update(last.model, last.data.train)
        for token in (3, 1001, 1099):
            terms = page.evaluate(f"{LAB.format(0)}.run.terms({token}).at(-1)")
            for name in "ABC":
                assert terms[name] == pytest.approx(float(getattr(s, name)[token]), rel=1e-8), name
            for name in "DEF":
                assert terms[name] == pytest.approx(float(getattr(a, name)[token]), rel=1e-8), name
        band = dynamics.admissible_band(last.model, last.data.train)
        told = numbers(page)
        assert told["lower"] == pytest.approx(float(np.median(band.lower[1000:1100].numpy())), rel=1e-8)
        assert told["upper"] == pytest.approx(float(np.median(band.upper[1000:1100].numpy())), rel=1e-8)


def test_moving_lam_changes_scores_picture_and_captions(opened):
    with opened(lab(QUICK).html()) as page:
        before, canvas = numbers(page), page.locator("figure[data-figure=scatter] canvas")
        picture = canvas.screenshot()
        slider = page.get_by_role("slider", name="scaling factor λ")
        slider.focus()
        for _ in range(5):
            page.keyboard.press("PageUp")
        page.wait_for_function(f"{LAB.format(0)}.state.lam > 100")
        trained(page)
        after = numbers(page)
        assert after["lam"] > 100 and abs(after["a_negative"]) < abs(before["a_negative"]) / 3
        assert canvas.screenshot() != picture
        said = page.locator("figure[data-figure=scatter] figcaption").inner_text()
        assert said == (
            f"After epoch 5 at λ = {number(after['lam'])}: mean attention score {number(after['a_positive'])} "
            f"positive, {number(after['a_negative'])} negative, {number(after['a_neutral'])} neutral."
        )
        assert f"-p lam {after['lam']:g} -p seed 0" in page.locator(".command").input_value()
        assert page.locator(".command").input_value().startswith("papermill book/08_synthetic.ipynb out.ipynb")


def test_address_reproduces_what_its_sender_saw(opened):
    html = lab(QUICK).html()
    with opened(html) as page:
        page.get_by_text("All settings").click()
        page.get_by_label("seed", exact=True).fill("3")
        page.get_by_label("angle of V and W at the start").fill("12")
        set_lam(page, 42)
        page.get_by_label("a sentence to read").fill("+3 neutral-7 x;y & <b>")
        page.get_by_label("epoch shown").fill("2")
        page.wait_for_function("location.hash.includes('epoch=2')")
        sent, hash_ = numbers(page), page.evaluate("location.hash")
        assert sent["epoch"] == 2 and sent["angle"] == 60 and sent["seed"] == 3 and sent["lam"] == 42
    with opened(html, address=hash_) as page:
        assert numbers(page) == sent
        assert page.get_by_label("a sentence to read").input_value() == "+3 neutral-7 x;y & <b>"
        page.get_by_role("button", name="Reset").click()
        page.wait_for_function("location.hash === ''")
        trained(page)
        assert numbers(page)["lam"] == 10


def pasted(page, button: str, moved: str = "{}") -> str:
    """What is in the clipboard once a button that copies, pressed right after a move, has said so."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=button, exact=True).evaluate(
        f"button => {{ {LAB.format(0)}.change({moved}); button.click(); }}"
    )
    page.get_by_role("button", name="Copied", exact=True).wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("button", name=button, exact=True).wait_for()
    return text


def test_a_copied_link_says_what_is_shown(opened):
    """At once after a move, before the address is written, and after a jump within the page."""
    html = lab(QUICK).html() + '<h2 id="there">There</h2>'
    with opened(html) as page:
        plain = page.evaluate("location.href")
        assert pasted(page, "Copy link") == plain
        at_once = plain + "#lab:lab?lam=42&seed=3"
        assert pasted(page, "Copy link", "{ lam: 42, seed: 3 }") == at_once
        page.evaluate("location.hash = '#there'")
        page.wait_for_function("location.hash === '#there'")
        assert pasted(page, "Copy link") == at_once
        trained(page)


def test_a_copied_command_is_the_one_in_its_field(opened):
    with opened(lab(QUICK).html()) as page:
        set_lam(page, 42)
        assert pasted(page, "Copy") == "papermill book/08_synthetic.ipynb out.ipynb -p lam 42 -p seed 0"


def test_nonsense_in_an_address_is_left_aside(opened):
    wrong = "#lab:lab?lam=-3&seed=1e9&optimizer=adam&epoch=x&token=99999999&data=moon&d=nan;other?lam=2"
    with opened(lab(QUICK).html(), address=wrong) as page:
        told = numbers(page)
        assert (told["lam"], told["seed"], told["optimizer"], told["data"]) == (10, 0, "sgd", "synthetic")


def test_a_spoilt_name_in_an_address_spoils_nothing_else(opened):
    with opened(lab(QUICK).html(), address="#lab:%E0%A4?lam=3;lab?lam=30") as page:
        assert numbers(page)["lam"] == 30
        assert "“%E0%A4” in the address of this page cannot be read" in alarm(page)
        page.evaluate("location.hash = '#lab:lab?lam=40'")
        page.wait_for_function(f"{LAB.format(0)}.state.lam === 40")
        assert page.locator(".status.alarm").count() == 0
        page.evaluate("location.hash = '#lab:%E0%A4?lam=3'")
        page.wait_for_function(f"{LAB.format(0)}.warning !== ''")
        trained(page)
        assert "%E0%A4" in alarm(page)


def test_a_typed_number_is_what_it_says(opened):
    with opened(lab(QUICK).html()) as page:
        field = page.get_by_label("λ, as a number")
        for text, lam in (("1,000", 1000), ("0,5", 0.5), ("9,999.5", 9999.5), ("0,001", 0.001), ("1,5", 1.5)):
            field.fill(text)
            page.keyboard.press("Enter")
            assert page.evaluate(f"{LAB.format(0)}.state.lam") == lam, text
            assert page.locator(".status.alarm").count() == 0
        for text in ("1,00,0", "1.000,5", "12,345"):
            field.fill(text)
            page.keyboard.press("Enter")
            assert page.evaluate(f"{LAB.format(0)}.state.lam") == 1.5
            assert "is left out" in alarm(page)
        field.fill("10")
        page.keyboard.press("Enter")
        trained(page)


def test_a_check_that_fails_can_be_tried_again(opened):
    """A worker that answers every wish of the check with a failure."""
    failing = """const Real = window.Worker; window.Worker = class extends Real {
        postMessage(wish) {
            if (!/check/.test(wish.lab)) super.postMessage(wish);
            else setTimeout(() => this.onmessage({ data: { lab: wish.lab, job: wish.job, failed: "no memory" } }));
        }
    };"""
    with opened(lab(QUICK).html(), before=failing) as page:
        button = page.get_by_role("button", name="Check now")
        button.click()
        page.get_by_text("The check was not finished (no memory)").wait_for()
        page.wait_for_function(f"!{LAB.format(0)}.root.querySelector('.check button').disabled")


def test_two_labs_share_one_address(opened):
    one, two = (lab(QUICK, mode="compact", name=name) for name in ("first", "second"))
    with opened(one.html() + two.html(False)) as page:
        trained(page, 1)
        for which, key in ((0, "PageUp"), (1, "PageDown")):
            page.get_by_role("slider", name="scaling factor λ").nth(which).focus()
            page.keyboard.press(key)
        page.wait_for_function("location.hash.includes('first?lam=') && location.hash.includes('second?lam=')")
        trained(page, 0)
        trained(page, 1)
        high, low = numbers(page, 0), numbers(page, 1)
        assert high["lam"] > 10 > low["lam"]


def test_keyboard_alone_suffices(opened):
    with opened(lab(QUICK).html()) as page:
        seen, focused = set(), "el => { let e = document.activeElement; return e.shadowRoot?.activeElement ?? e; }"
        for _ in range(60):
            page.keyboard.press("Tab")
            what = page.evaluate(f"({focused})().getAttribute?.('aria-label') || ({focused})().innerText || ''").strip()
            seen.add(what)
            if what == "balanced and calm":
                page.keyboard.press("Enter")
                page.wait_for_function(f"{LAB.format(0)}.state.angle === 90")
            elif what == "Reset":
                page.keyboard.press("Space")
                page.wait_for_function(f"{LAB.format(0)}.state.angle === null")
                trained(page)
            elif what == "epoch shown":
                page.keyboard.press("ArrowLeft")
            elif what.startswith("Token types."):
                page.keyboard.press("ArrowRight")
                page.keyboard.press("Enter")
                page.wait_for_function(f"{LAB.format(0)}.state.token !== null")
                assert page.locator(".tip").is_visible()
            elif what == "All settings":
                page.keyboard.press("Enter")
            elif what == "Check now":
                break
        wanted = {"scaling factor λ", "λ, as a number", "Play", "token whose terms are shown", "a sentence to read"}
        wanted |= {"balanced and calm", "Reset", "Copy link", "Another one", "All settings", "Check now", "Copy"}
        assert wanted <= seen
        details = page.locator("details.more")
        assert details.get_attribute("open") is not None
        assert details.locator("input, select").count() == len(parity.settings()["controls"]) - 1


def test_play_walks_through_training_and_pauses(opened):
    with opened(lab({**QUICK, "epochs": 60}).html()) as page:
        page.get_by_role("button", name="Play").click()
        page.wait_for_function(f"{LAB.format(0)}.numbers.epoch === 2")
        page.get_by_role("button", name="Pause").click()
        at = numbers(page)["epoch"]
        assert 2 <= at < 60
        page.get_by_role("button", name="Play").click()
        page.wait_for_function(f"{LAB.format(0)}.state.epoch === null")
        assert numbers(page)["epoch"] == 60 and page.get_by_role("button", name="Play").is_visible()


def test_pointing_at_a_dot_tells_the_token_and_its_numbers(opened):
    with opened(lab(QUICK).html()) as page:
        stage = page.locator("figure[data-figure=scatter] canvas")
        x, y = stage.evaluate("c => [c.places.x[1050], c.places.y[1050]]")
        stage.hover(position={"x": x, "y": y})
        tip = page.locator(".tip")
        word = tip.locator("b").inner_text()
        token = page.evaluate(f"{LAB.format(0)}.words.id({json.dumps(word)})")
        shot = page.evaluate(
            f"(l => ({{a: l.run.snapshots.at(-1).a[{token}], s: l.run.snapshots.at(-1).s[{token}]}}))({LAB.format(0)})"
        )
        assert word.startswith("negative-")
        assert f"s {number(shot['s'])} · a {number(shot['a'])}" in tip.inner_text()
        stage.click(position={"x": x, "y": y})
        page.wait_for_function(f"{LAB.format(0)}.state.token === {token}")
        assert page.get_by_label("token whose terms are shown").input_value() == word


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


def test_a_typed_sentence_is_read_as_the_model_reads_it(opened):
    with opened(lab(QUICK).html()) as page:
        page.get_by_label("a sentence to read").fill("positive-3 neutral-17 negative-4 hello")
        page.wait_for_function(f"{LAB.format(0)}.root.querySelectorAll('.word').length === 4")
        *_, last = parity.train(QUICK)
        scores = last.model.token_scores()
        ids = [1003, 17, 1054]
        alpha = scores.attention[ids].softmax(0)
        told = page.locator(".word").all_inner_texts()
        for text, weight, share in zip(told, alpha.tolist(), (alpha * scores.polarity[ids]).tolist()):
            assert f"α {number(float(f'{weight:.2g}'))}" in text and f"αs {number(float(f'{share:.2g}'))}" in text
        assert "unknown" in told[3]
        logit = float((alpha * scores.polarity[ids]).sum())
        caption = page.locator(".sentence-box .caption").inner_text()
        assert f"Logit {number(logit)}:" in caption and "Unknown words (1) are left out." in caption


def test_hostile_words_stay_text(opened):
    words = (
        '<img/src=x/onerror=window.hit=1> <script>window.hit=1</script> "><svg/onload=window.hit=1> {lam} positive-1'
    )
    with opened(lab(QUICK).html()) as page:
        page.get_by_label("a sentence to read").fill(words)
        page.wait_for_function(f"{LAB.format(0)}.root.querySelectorAll('.word').length === 5")
        assert page.locator(".map img, .map script, .map svg").count() == 0
        assert page.locator(".word").first.inner_text().startswith("<img/src=x/onerror=window.hit=1>")
        page.get_by_label("token whose terms are shown").fill("<img src=x onerror=window.hit=1>")
        page.keyboard.press("Enter")
        assert page.evaluate("window.hit") is None
        hash_ = page.evaluate("new Promise(r => setTimeout(() => r(location.hash), 400))")
    with opened(lab(QUICK).html(), address=hash_) as page:
        assert page.locator(".word").count() == 5 and page.evaluate("window.hit") is None


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("mode", ["full", "compact"])
def test_nothing_is_blank_in_print(opened, mode, scheme):
    """Not even in a lab that nobody has scrolled to. Paper is white."""
    with opened(lab(QUICK, mode=mode).html(), before=NEVER_SEEN, scheme=scheme, wait=False) as page:
        page.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {LAB.format(0)}.dataset.scheme; }})")
        assert page.evaluate(f"{LAB.format(0)}.run") is None
        assert len(page.pdf()) > 20_000
        assert numbers(page)["epoch"] == QUICK["epochs"]
        assert min(page.locator("canvas").evaluate_all(f"all => all.map({COLOURS})")) > 3
        assert page.evaluate("window.printed") == "light"
        assert page.locator("uaftc-lab").get_attribute("data-scheme") == scheme


def test_a_compact_lab_carries_the_command_too(opened):
    with opened(lab(QUICK, mode="compact", text="λ = {lam}, seed {seed}: {gap}").html()) as page:
        for name in ("scaling factor λ", "seed"):
            page.get_by_role("slider", name=name).focus()
            page.keyboard.press("ArrowRight")
        page.get_by_text("Re-run this page").click()
        field = page.get_by_label("command that runs this page's notebook again")
        assert field.input_value() == "papermill book/08_synthetic.ipynb out.ipynb -p lam 10.2 -p seed 1"
        page.get_by_role("button", name="Copy").click()
        trained(page)


def test_the_command_follows_the_rule_of_its_chapter(opened):
    with opened(lab({**QUICK, "lam": 100}, parameter="large_lam", least=20).html()) as page:
        field, hint = page.locator(".command"), page.locator(".again .hint")
        assert field.input_value().endswith("-p large_lam 100 -p seed 0") and "large_lam" in hint.inner_text()
        set_lam(page, 20)
        assert field.input_value().endswith("-p large_lam 20 -p seed 0")
        set_lam(page, 19)
        assert field.input_value().endswith("out.ipynb -p seed 0") and "at least 20" in hint.inner_text()


def test_the_angle_returns_to_as_drawn(opened):
    with opened(lab(QUICK).html()) as page:
        page.get_by_text("All settings").click()
        angle = page.get_by_role("slider", name="angle of V and W")
        for key, value in (("End", 180), ("Home", None), ("ArrowRight", 0)):
            angle.focus()
            page.keyboard.press(key)
            assert page.evaluate(f"{LAB.format(0)}.state.angle") == value
        page.get_by_role("button", name="Reset").click()
        assert angle.input_value() == "-1" and angle.get_attribute("aria-valuetext") == "as drawn"
        trained(page)


def test_the_caption_says_why_the_conserved_matrix_drifts(opened):
    with opened(lab(QUICK).html()) as page:
        caption = page.locator("figure[data-figure=vectors] figcaption")
        for change, said in (
            ("{}", ()),
            ("{ penalty: 0.001 }", ("penalty",)),
            ("{ optimizer: 'adagrad' }", ("penalty", "Adagrad")),
            ("{ penalty: 0 }", ("Adagrad",)),
        ):
            page.evaluate(f"{LAB.format(0)}.change({change})")
            trained(page)
            reason = caption.inner_text().partition("of its size")[2]
            assert {word for word in ("penalty", "Adagrad") if word in reason} == set(said), change


@pytest.mark.parametrize("figure", ["scatter", "means", "terms", "vectors", "weights", "accuracy"])
def test_every_picture_can_stand_alone(opened, figure):
    with opened(lab(QUICK, mode="compact", figure=figure).html(), width=390) as page:
        assert page.locator("canvas").evaluate(COLOURS) > 10


def test_diverging_training_is_said_in_words(opened):
    with opened(lab({**QUICK, "lam": 0.001, "lr": 20, "penalty": 1.0, "epochs": 30}).html()) as page:
        assert "the numbers grew beyond all bounds: lower the learning rate or the penalty" in alarm(page)


def test_a_penalty_of_one_is_answered_in_words_inside_a_sentence_too(opened):
    text = "With λ = {lam} and a penalty of {penalty}, V·W ends at {VW}."
    with opened(lab(QUICK | {"lr": 2}, preset="penalty", mode="compact", text=text).html()) as page:
        assert page.locator(".status").is_hidden()
        page.get_by_role("slider", name="penalty on |V·W|").focus()
        page.keyboard.press("End")
        page.wait_for_function(f"{LAB.format(0)}.state.penalty === 1")
        trained(page)
        assert "the numbers grew beyond all bounds" in alarm(page)
        page.get_by_role("button", name="reset").click()
        trained(page)
        assert page.locator(".status").is_hidden()


@pytest.mark.parametrize("typed", ["99999", "0", "ten", ""])
def test_a_lam_that_cannot_be_is_refused_in_words(opened, typed):
    with opened(lab(QUICK).html()) as page:
        field = page.get_by_label("λ, as a number")
        field.fill(typed)
        page.keyboard.press("Enter")
        page.wait_for_function(f"{LAB.format(0)}.root.querySelector('.status').className.includes('alarm')")
        assert f"λ lies between 0.001 and 10⁴; “{typed}” is left out" in alarm(page)
        assert field.input_value() == "10" and numbers(page)["lam"] == 10
        set_lam(page, 20)
        assert "alarm" not in page.locator(".status").get_attribute("class")


def test_an_address_that_cannot_be_is_refused_in_words(opened):
    with opened(lab(QUICK).html(), address="#lab:lab?lam=1e9&optimizer=adam&seed=3") as page:
        assert numbers(page)["lam"] == 10 and numbers(page)["seed"] == 3
        assert "“1e9” is left out" in alarm(page) and "“adam” is left out" in alarm(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_fits_the_window_in_colours_of_its_own(opened, scheme, width):
    with opened(lab(QUICK).html(), width=width, scheme=scheme) as page:
        page.get_by_text("All settings").click()
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        ground = page.locator(".lab").evaluate("el => getComputedStyle(el).backgroundColor")
        assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 27)"}[scheme]


FRAMES = [
    Frame(
        lam,
        0.8,
        0.7 + lam / 100,
        1,
        *({"neutral": [0.0, 0.1], "positive": [1.0, lam]} for _ in "sa"),
        {"positive": (1, lam, 2)},
    )
    for lam in (1.0, 10.0)
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("mode", ["full", "compact", "frames"])
def test_axe_finds_nothing_serious(opened, axe, mode, scheme):
    html = LambdaSlider(FRAMES)._repr_html_() if mode == "frames" else lab(QUICK, mode=mode).html()
    with opened(html, scheme=scheme, wait=mode != "frames") as page:
        page.evaluate(f"document.documentElement.dataset.theme = '{scheme}'")
        for more in ("All settings", "Re-run this page", "The numbers of every λ"):
            if page.locator("summary", has_text=more).count():
                page.locator("summary", has_text=more).click()
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert len(found["passes"]) > 10
        serious = [
            (one["id"], one["impact"], [node["html"][:120] for node in one["nodes"]][:3])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == []


SST = {
    "words": ["good", "bad", "film", "<unk>", "<eos>", "<pad>"],
    "splits": {
        name: {"tokens": [0, 2, 1, 2] * 20, "lengths": [2] * 40, "labels": [1, 0] * 20} for name in ("train", "dev")
    },
}


def test_real_sentences_are_greyed_with_a_reason_where_there_are_none(opened):
    with opened(lab(QUICK).html()) as page:
        page.get_by_text("All settings").click()
        assert page.locator("option[value=sst]").is_disabled()
        assert "SST needs your own copy of the data" in page.locator(".hint:not([hidden])").inner_text()
    with opened(lab(QUICK).html(), address="#lab:lab?data=sst") as page:
        assert numbers(page)["data"] == "synthetic"


def test_real_sentences_are_read_from_the_file_beside_the_page(opened, with_sst):
    with opened(lab(QUICK).html(), head=with_sst) as page:
        page.get_by_text("All settings").click()
        assert page.locator(".hint:not([hidden])").inner_text() == ""
        page.get_by_label("data", exact=True).select_option("sst")
        page.wait_for_function(f"{LAB.format(0)}.numbers?.data === 'sst'")
        trained(page)
        told = page.evaluate(f"(l => [l.run.problem.types, l.run.problem.train.labels.length])({LAB.format(0)})")
        assert told == [6, 40]
        assert numbers(page)["accuracy"] == 1 and numbers(page)["optimizer"] == "adagrad"
        assert "on the dev set 100.0 %" in page.locator("figure[data-figure=accuracy] figcaption").inner_text()
        page.get_by_label("a sentence to read").fill("A good film!")
        page.wait_for_function(f"{LAB.format(0)}.root.querySelectorAll('.word').length === 3")
        assert "unknown" in page.locator(".word").nth(0).inner_text()
        assert "α" in page.locator(".word").nth(2).inner_text()


def data_is_sst(page) -> None:
    page.wait_for_function(f"{LAB.format(0)}.numbers?.data === 'sst'")
    trained(page)
    assert page.locator(".status.alarm").count() == 0


@pytest.fixture
def with_sst(tmp_path) -> str:
    """What a page says in its head of the file of token ids beside it."""
    (tmp_path / "uaftc-sst.js").write_text(f"globalThis.uaftcSST = {json.dumps(SST)};")
    return '<meta name="uaftc-sst" content="uaftc-sst.js">'


def test_a_newer_wish_while_sentences_are_read_brings_them_too(opened, with_sst):
    with opened(lab(QUICK).html(), head=with_sst) as page:
        page.evaluate(f"(l => {{ l.change({{ data: 'sst' }}); l.change({{ lam: 20 }}); }})({LAB.format(0)})")
        data_is_sst(page)
        assert numbers(page)["lam"] == 20


def test_a_worker_that_is_lost_is_replaced(opened, with_sst):
    dying = "window.Worker = class { postMessage() { setTimeout(() => this.onerror()); } };"
    with opened(lab(QUICK | {"data": "sst"}).html(), head=with_sst, before=dying, wait=False) as page:
        data_is_sst(page)


def test_training_that_fails_says_so_and_blocks_nothing(opened, with_sst):
    with opened(lab(QUICK).html(), head=with_sst) as page:
        page.evaluate(f"(l => {{ l.sentSST = true; l.change({{ data: 'sst' }}); }})({LAB.format(0)})")
        page.wait_for_function(f"/stopped/.test({LAB.format(0)}.root.querySelector('.status').textContent)")
        page.evaluate(f"{LAB.format(0)}.change({{ data: 'synthetic', lam: 7 }})")
        page.wait_for_function(f"{LAB.format(0)}.numbers?.lam === 7")
        trained(page)
        assert page.locator(".status.alarm").count() == 0


def test_sst_trained_here_and_in_pytorch(opened, dataset, tmp_path):
    from uaftc_lib.lab.sst import pack

    sst = dataset("sst")
    (tmp_path / "uaftc-sst.js").write_text(f"globalThis.uaftcSST = {json.dumps(pack(sst))};", encoding="utf-8")
    state = {"data": "sst", "optimizer": "adagrad", "lr": 0.02, "batch": 100, "d": 50, "epochs": 2}
    head = '<meta name="uaftc-sst" content="uaftc-sst.js">'
    with opened(lab(state, data="sst").html(), head=head) as page:
        *_, last = parity.train(state, sst)
        shot = page.evaluate(
            "({a, s, loss, devAccuracy: dev}) => ({a: [...a], s: [...s], loss, dev})".join(["(", f")({LAST})"])
        )
        scores = last.model.token_scores()
        assert np.abs(scores.attention.numpy() - np.array(shot["a"])).max() < 1e-10
        assert np.abs(scores.polarity.numpy() - np.array(shot["s"])).max() < 1e-10
        assert shot["loss"] == pytest.approx(last.loss, abs=1e-12)
        assert shot["dev"] == last.model.accuracy(sst.dev)
        kinds = page.evaluate(f"[...{LAB.format(0)}.run.problem.kinds]")
        assert [kinds.count(kind) for kind in (1, 2, 0)] == [412, 265, 1384]


def test_page_without_workers_trains_in_slices(opened):
    count = "window.turns = 0; (function turn() { turns++; requestAnimationFrame(turn); })();"
    state = {**QUICK, "instances": 12000, "epochs": 20}
    with opened(lab(state).html(), before=NO_WORKER + count, wait=False) as page:
        page.wait_for_function(f"{LAB.format(0)}?.incoming")
        before = page.evaluate("turns")
        trained(page)
        assert page.evaluate("turns") - before >= 5  # the page was drawn while it trained
        slices = page.evaluate("slices")  # the longest is measured by `make bench`: the clock counts others' work too
        assert len(slices) > 5 and np.median(slices) <= TARGETS["slice"]
        assert numbers(page)["accuracy"] > 0.9


def test_check_now_holds_the_browser_against_pytorch(opened):
    with opened(lab(QUICK).html()) as page:
        page.get_by_role("button", name="Check now").click()
        says = page.locator(".check .caption")
        page.wait_for_function(
            f"/at λ = 10,.*at λ = 100/.test({LAB.format(0)}.root.querySelector('.check .caption').textContent)"
        )
        said = says.inner_text()
        assert "over the loss and the scores a and s of all 1,100 token types in all 30 epochs" in said
        assert len(re.findall("·10⁻¹[¹²³⁴] at λ", said)) == 2, said
        assert page.locator(".check .alarm").count() == 0


@pytest.mark.parametrize("spoil", ["snapshot.s[777] += 1e-8", "snapshot.a[1099] += 1e-8", "snapshot.loss += 1e-8"])
def test_check_now_sees_one_number_that_is_off(opened, spoil):
    spoilt = f"""const Real = window.Worker; window.Worker = class extends Real {{
        set onmessage(hear) {{ super.onmessage = (event) => {{
            const {{ lab, snapshot }} = event.data;
            if (/check 100/.test(lab) && snapshot?.epoch === 17) {spoil};
            hear(event);
        }}; }}
    }};"""
    with opened(lab(QUICK).html(), before=spoilt) as page:
        page.get_by_role("button", name="Check now").click()
        says = f"{LAB.format(0)}.root.querySelector('.check .caption').textContent"
        page.wait_for_function(f"/at λ = 10,.*at λ = 100/.test({says})")
        assert " 10⁻⁸ at λ = 100," in page.evaluate(says)
        assert page.locator(".check .caption.alarm").count() == 1


@pytest.fixture
def in_a_live_kernel(opened):
    """``in_a_live_kernel(answer)``: the module's ``render`` with a stand-in for the kernel's model, and its answer."""

    @contextlib.contextmanager
    def show(answer="null"):
        state = json.dumps(lab(QUICK).state)
        holders = f'<div id="here"></div><script type="text/plain" id="source">{module_source()}</script>'
        with opened(holders, wait=False) as page:
            page.evaluate(f"""async () => {{
                const text = document.getElementById('source').textContent;
                const module = await import(URL.createObjectURL(new Blob([text], {{type: 'text/javascript'}})));
                const traits = {{state: {state}, mode: 'full', name: 'lab'}}, heard = {{}};
                window.model = {{
                    traits, heard, get: (name) => traits[name], set: (name, value) => {{ traits[name] = value; }},
                    on: (name, what) => {{ heard[name] = what; }}, off: (name) => {{ delete heard[name]; }},
                    save_changes: () => {{}}, send: () => setTimeout(() => heard['msg:custom']({answer})),
                }};
                module.default.render({{model, el: document.getElementById('here')}});
            }}""")
            trained(page)
            yield page

    return show


def test_a_live_kernel_answers_with_sentences(in_a_live_kernel):
    with in_a_live_kernel(f"{{ sst: {json.dumps(SST)} }}") as page:
        page.evaluate(f"{LAB.format(0)}.change({{ data: 'sst' }})")
        data_is_sst(page)
        assert page.evaluate("model.traits.state.data") == "sst"
        assert page.evaluate("'msg:custom' in model.heard") is False


def test_a_live_kernel_without_the_data_says_so(in_a_live_kernel):
    with in_a_live_kernel("{ sst_error: 'the archive is not here' }") as page:
        page.get_by_text("All settings").click()
        page.get_by_label("data", exact=True).select_option("sst")
        page.locator(".status.alarm").wait_for()
        trained(page)
        assert alarm(page) == "SST cannot be had: the archive is not here"
        assert page.locator("option[value=sst]").is_disabled()
        assert page.get_by_text("the archive is not here").count() == 2, "the status, and the hint below the settings"
        assert numbers(page)["data"] == "synthetic" == page.evaluate("model.traits.state.data")


def test_widget_of_a_live_kernel_keeps_state_in_step(in_a_live_kernel):
    with in_a_live_kernel() as page:
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


def quickest(page, what: str) -> tuple[float, float]:
    """The least seconds in which a moved λ is trained and drawn, and in which something of it is seen."""
    times = [page.evaluate(STOPWATCH) for _ in range(5)]
    whole, first = np.min(times, axis=0)
    print(f"{what}: {whole:.3f} s, first change after {first:.3f} s (least of five)")
    return whole, first


def test_data_one_whole_retrains_within_its_time(opened):
    with opened(lab({"d": 20, "epochs": 30, "instances": 12000}).html()) as page:
        whole, first = quickest(page, "Data I, d = 20, 30 epochs")
        assert whole <= GROSS * TARGETS["data-one"]
        assert first <= GROSS * TARGETS["first"]


def test_sst_retrains_within_its_time(opened, dataset, tmp_path):
    from uaftc_lib.lab.sst import pack

    (tmp_path / "uaftc-sst.js").write_text(
        f"globalThis.uaftcSST = {json.dumps(pack(dataset('sst')))};", encoding="utf-8"
    )
    head = '<meta name="uaftc-sst" content="uaftc-sst.js">'
    with opened(lab(data="sst").html(), head=head) as page:
        assert quickest(page, "SST, d = 50, 10 epochs")[0] <= GROSS * TARGETS["sst"]


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


@pytest.mark.parametrize("figure", ["means", "scatter", "terms"])
def test_a_compact_lab_grows_while_it_trains(opened, figure):
    """Of the second run nothing is heard after epoch 3, and yet it is seen."""
    with opened(lab(QUICK, mode="compact", figure=figure).html(), before=KEPT_BACK) as page:
        picture = "document.querySelector('uaftc-lab').canvas.toDataURL()"
        before = page.evaluate(picture)
        page.evaluate(f"{LAB.format(0)}.change({{ lam: 200 }}, {{ dragging: true }})")
        page.wait_for_function(
            f"(l => l.incoming.last === 3 && performance.now() - l.incoming.begun > 200)({LAB.format(0)})"
        )
        page.evaluate(f"{LAB.format(0)}.draw()")
        page.wait_for_function(f"{LAB.format(0)}.frame == null")
        assert page.evaluate(f"{LAB.format(0)}.run.job") == 1
        assert page.evaluate(picture) != before


PIECES = """async ([text, configs]) => {
    const address = URL.createObjectURL(new Blob([text + "export { defineEngine };"], { type: "text/javascript" }));
    const { workshop } = (await import(address)).defineEngine(), { answers } = workshop(() => {}), all = [];
    const types = 16000, n = 7000, offsets = Int32Array.from({ length: n + 1 }, (_, t) => 19 * t);
    const tokens = Int32Array.from({ length: 19 * n }, (_, i) => ((i * i) % 8191) + (i % types) / 2);
    const train = { tokens, offsets, labels: Int8Array.from({ length: n }, (_, t) => t % 2) };
    const dev = { tokens, offsets: offsets.slice(0, 1000), labels: train.labels.slice(0, 999) };
    for (const config of configs) {
        const least = [];
        for (let round = 0; round < 4; round++) {
            let k = 0, begun = performance.now();
            const wish = { lab: "", job: 0, config: { ...config, noise: round / 100 } };
            if (config.data === "sst") wish.corpus = { types, train, dev };
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
    {"batch": 0, "d": 100, "epochs": 2},
    {"data": "sst", "optimizer": "adagrad", "lr": 0.02, "batch": 0, "d": 100, "epochs": 2},
]


def test_training_can_pause_within_milliseconds_in_every_setting(browser):
    """A slice ends at the first chance after 10 ms, so no work between two chances may take the other 6.

    Of several rounds the least time of each piece counts: what else runs here is not the lab's.
    """
    page = browser.new_page()
    configs = [parity.complete(state) | {"decay": 0} for state in LARGEST]
    for config, (pieces, longest) in zip(configs, page.evaluate(PIECES, [module_source(), configs])):
        print(f"{config['data']}: {pieces} pieces, the longest {longest:.1f} ms")
        assert longest < 6
    page.close()
