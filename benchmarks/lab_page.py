"""What a reader of the lab waits for, in a headless browser: from a moved λ to something new, and to all of it."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from math import nan

from measure import Line, Setup, load, median, not_measured

from uaftc_book.lab import lab

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
TARGETS = {"data-one": 0.6, "first": 0.1, "slice": 0.016}  # seconds
LAB = "document.querySelector('uaftc-lab')"
TRAINED = f"{LAB}?.run?.milliseconds != null && {LAB}.run.job === {LAB}.job && {LAB}.frame == null"
# A dragged λ, then [seconds until all is trained and drawn, seconds until the first new lines are].
STOPWATCH = f"""() => new Promise((resolve) => {{
    const lab = {LAB}, hear = lab.hear.bind(lab), begun = performance.now();
    const passed = () => (performance.now() - begun) / 1000;
    let seen = null;
    lab.hear = (message) => {{
        hear(message);
        if (message.snapshot?.epoch === 1) requestAnimationFrame(() => {{ seen ??= passed(); }});
        if (message.done === undefined) return;
        delete lab.hear;
        requestAnimationFrame(() => resolve([passed(), seen]));
    }};
    window.resumed = begun;
    lab.change({{ lam: lab.state.lam === 20 ? 21 : 20 }}, {{ dragging: true }});
}})"""
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


@contextmanager
def browsing():
    """A headless browser.

    Raises
    ------
    OSError
        Where there is none, or nothing to drive it.
    """
    found = [path for name in BROWSERS if (path := shutil.which(name))]
    if not found:
        raise OSError(f"no browser is installed (looked for {', '.join(BROWSERS)})")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise OSError("playwright is not installed: pip install playwright") from None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found[0], args=FLAGS)
        yield browser
        browser.close()


def page_of(browser, setup: Setup, state: dict, before: str = ""):
    """A page with the lab in some state, trained once."""
    path = setup.scratch / "lab.html"
    path.write_text(f'<!doctype html><meta charset="utf-8">{lab(state).html()}', encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(60_000)
    page.add_init_script(before)
    page.goto(path.as_uri())
    page.wait_for_function(TRAINED)
    return page


def processor_seconds(browser) -> float:
    """Of all the processes of a browser."""
    return sum(
        one["cpuTime"] for one in browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    )


def retrained(browser, page, rounds: int) -> tuple[list[float], list[float], list[float]]:
    """Of each round: seconds until all is drawn, until something is, and of the processor."""
    found = []
    for _ in range(rounds):
        before = processor_seconds(browser)
        found.append([*page.evaluate(STOPWATCH), processor_seconds(browser) - before])
    return tuple(map(list, zip(*found)))


def measured(setup: Setup) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Seconds of each round, by the names of ``TARGETS``: by the clock, and of the processor."""
    small = {"instances": 1200, "batch": 100, "epochs": 3} if setup.quick else {}
    with browsing() as browser:
        page = page_of(browser, setup, small)
        whole, first, cpu = retrained(browser, page, setup.rounds)
        page.close()
        page, longest = page_of(browser, setup, small, NO_WORKER), []
        for _ in range(setup.rounds):
            page.evaluate("slices.length = 0")
            page.evaluate(STOPWATCH)
            longest.append(page.evaluate("Math.max(0, ...slices)"))
    return {"data-one": whole, "first": first, "slice": longest}, {"data-one": cpu}


def lab_page(setup: Setup) -> list[Line]:
    """A moved λ in the lab."""
    whats = {
        "data-one": "lab in a browser: a change of λ, Data I whole trained and drawn (d = 20, 30 epochs)",
        "first": "lab in a browser: a change of λ on Data I to the first new lines",
        "slice": "lab in a browser without workers: Data I, longest time between two pauses",
    }
    about = {name: {"sense": "at most", "target": target} for name, target in TARGETS.items()}
    try:
        found, cpu = measured(setup)
    except OSError as error:
        return [not_measured(f"lab-{name}", what, "s", str(error), **about[name]) for name, what in whats.items()]
    return [
        Line(
            f"lab-{name}", what, "s", median(found[name]), ours_cpu=median(cpu.get(name, [nan])), rounds=setup.rounds,
            load=load(), note="headless Chromium", **about[name],
        )
        for name, what in whats.items()
    ]  # fmt: skip
