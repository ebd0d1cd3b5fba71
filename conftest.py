"""What tests need from outside, and what happens without it: a skip in words, or a failure where
UAFTC_REQUIRED names it ("data", "browser")."""

from uaftc_book import same_sums  # noqa: F401 (numpy and torch come later)

# isort: split
import difflib
import functools
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch
from filelock import FileLock
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

CHECKOUT = Path(__file__).resolve().parent
PACKAGES = ("uaftc_lib", "uaftc_book")
# What a file of tests keeps for several of them.
SHARED = re.compile(r'scope="module"|^@(functools\.)?(lru_)?cache', re.MULTILINE)
NUMBA = re.compile(r"^((import|from) (numba|uaftc_lib\.fast\.compiled)|@compiled$)", re.MULTILINE)


def typed_modules() -> list[str]:
    """The modules whose signatures can be checked at run time: those without loops that numba compiles.

    The name of a package stands for all that is in it.
    """
    names = []
    for path in sorted(path for package in PACKAGES for path in (CHECKOUT / package).rglob("*.py")):
        is_package = path.name == "__init__.py"
        files = path.parent.rglob("*.py") if is_package else [path]
        if not any(NUMBA.search(file.read_text(encoding="utf-8")) for file in files):
            parts = (path.parent if is_package else path.with_suffix("")).relative_to(CHECKOUT).parts
            names.append(".".join(parts))
    return names


# An int may stand for a float.
CHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
jaxtyping.install_import_hook(typed_modules(), CHECKER)

from uaftc_lib.datasets import load_dataset  # noqa: E402
from uaftc_lib.locations import data_home  # noqa: E402

torch.set_num_threads(1)  # small models: threads cost more than they bring, and sums depend on their order
settings.register_profile("local", deadline=None, max_examples=25)
settings.register_profile("ci", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

HOME = data_home().absolute()  # where the data sets lie; a test sees those that it declares
HOMES = tempfile.TemporaryDirectory()
FILES = {
    "sst": ["trainDevTestTrees_PTB.zip", "prepared/sst-*"],
    "imdb": ["aclImdb*", "prepared/*imdb-*"],
    "20news-1": ["20news-bydate_py3.pkz", "prepared/20news-1-*"],
    "20news-2": ["20news-bydate_py3.pkz", "prepared/20news-2-*"],
}

PROXIES = {name: os.environ.get(name) for name in ("http_proxy", "https_proxy", "no_proxy")}
SHUT = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9") | {"no_proxy": "localhost,127.0.0.1"}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
AXE = "4.14.1"

# Not unit tests: the built book, tables computed again, the book executed, fresh environments, timings.
WHOLE = {"test_pages", "test_lab_pages", "test_stored_tables", "test_publish", "test_replay"}
WHOLE |= {"test_wheel", "test_contributing", "test_documents", "test_benchmarks"}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave a reader's own notebooks in book/ alone."""
    in_book = collection_path.parent == CHECKOUT / "book" and collection_path.suffix == ".ipynb"
    return True if in_book and not (CHECKOUT / "notebooks" / f"{collection_path.stem}.md").exists() else None


def missing(kind: str, reason: str) -> None:
    """Skip, saying why; fail where the run was promised that nothing of this kind is missing."""
    if kind in os.environ.get("UAFTC_REQUIRED", "").split():
        pytest.fail(f"{reason} (and UAFTC_REQUIRED names {kind!r})", pytrace=False)
    pytest.skip(reason)


@functools.cache
def why_not(name: str) -> str:
    """Why a data set cannot be had; empty if it can."""
    try:
        load_dataset(name, HOME)
    except OSError as error:
        return str(error)
    return ""


@functools.cache
def home_with(names: frozenset[str]) -> Path:
    """A data home that holds these data sets alone, as links."""
    if names >= FILES.keys():
        return HOME
    home = Path(tempfile.mkdtemp(dir=HOMES.name))
    for path in {path for name in names for pattern in FILES[name] for path in HOME.glob(pattern)}:
        link = home / path.relative_to(HOME)
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(path)
    return home


def data_of(item: pytest.Item) -> list[str]:
    """The data sets that a test declares by its mark ``data``: each by name, or by the parameter that names it."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return [parameters.get(name, name) for mark in item.iter_markers("data") for name in mark.args]


def pytest_itemcollected(item: pytest.Item) -> None:
    """What a notebook declares in its metadata, its cells declare."""
    if item.path.suffix == ".ipynb" and (names := item.parent.nb.metadata.get("data")):
        item.add_marker(pytest.mark.data(*names))


def forget() -> None:
    """Empty the library's memory: of a data set that was read for one test, another that declares none sees nothing."""
    for module in [module for name, module in sys.modules.items() if name.startswith(PACKAGES)]:
        for value in list(vars(module).values()):
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def surround(variables: dict[str, str | None]) -> None:
    """Set these variables of the environment, or unset them."""
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before anything else of a test, its kernel too: it is skipped for want of data, or has what it declares alone."""
    names = frozenset(data_of(item))
    surround(PROXIES)
    for name in sorted(names):
        if reason := why_not(name):
            missing("data", f"data set {name!r} is not at hand: {reason}")
    home = str(home_with(names))
    if home != str(HOME) and not item.get_closest_marker("network"):  # nor can it fetch what it has not declared
        surround(SHUT)
    if home != os.environ.get("UAFTC_DATA"):
        os.environ["UAFTC_DATA"] = home
        forget()


@pytest.fixture
def untyped(monkeypatch):
    """Switches the type checks of this run off: for a wrong type, which shall reach the library's own checks, and for
    whole computations, of which the checks of each call take a quarter."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def global_generators_untouched():
    """Fails the test if it moved a generator that belongs to everybody."""

    def states():
        kind, keys, *rest = np.random.get_state()
        return torch.get_rng_state().tolist(), kind, keys.tolist(), rest

    before = states()
    yield
    assert states() == before


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium browser."""
    from uaftc_book.publish.paper import BROWSERS

    found = [path for name in BROWSERS if (path := shutil.which(name))]
    if not found:
        missing("browser", f"no browser is installed (looked for {', '.join(BROWSERS)})")
    return found[0]


# Not for the whole session: while it runs, nothing else may run an event loop in this process.
@pytest.fixture(scope="module")
def browser(chromium):
    """A running browser, driven from Python."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield running
        running.close()


PICTURES = CHECKOUT / "test-artifacts"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """When a test fails: a picture of every page that is open in the browser; of a notebook, what differs."""
    report = yield
    if report.failed and "browser" in getattr(item, "funcargs", {}):
        pages = [page for context in item.funcargs["browser"].contexts for page in context.pages]
        for number, page in enumerate(pages):
            name = re.sub(r"\W+", "-", f"{item.name}-{number}")
            page.screenshot(path=PICTURES / f"{name}.png", full_page=True)
    if report.failed and call.when == "call" and item.path.suffix == ".ipynb":
        report.longrepr = what_failed(item) or report.longrepr
    return report


# --- the replay of the notebooks

SHOWN = 10  # differing lines of a cell
WIDTH = 60  # characters of each


def lines_of(outputs: list[dict]) -> list[str]:
    """What a cell puts out, line by line; of markup, tag by tag."""
    lines = []
    for output in outputs:
        lines += output.get("text", "").splitlines()
        for kind, content in sorted(output.get("data", {}).items()):
            if not kind.startswith(("image/png", "image/jpeg", "application/vnd.jupyter.widget")):
                text = content if isinstance(content, str) else json.dumps(content, sort_keys=True)
                lines += (re.sub(r">\s*<", ">\n<", text) if text.lstrip().startswith("<") else text).splitlines()
    return lines


def clipped(old: str, new: str) -> str:
    """``old → new``, both from a little before the place where they differ."""
    start = max(0, len(os.path.commonprefix([old, new])) - WIDTH // 3)
    parts = [line[start : start + WIDTH] + "…" * (len(line) > start + WIDTH) for line in (old, new)]
    return " → ".join("…" * (start > 0) + part if part else "(nothing)" for part in parts)


def differences(old: list[str], new: list[str]) -> list[str]:
    """The lines that differ, each as ``old → new``."""
    found = []
    for kind, first, last, begin, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            found += itertools.starmap(clipped, itertools.zip_longest(old[first:last], new[begin:end], fillvalue=""))
    return found


def what_failed(item: pytest.Item) -> str:
    """Chapter and cell of a replay that failed, what differs, and how to accept it; empty if it did not come so far."""
    outputs = item.test_outputs or []
    chapter = item.path.stem
    cell = f"{chapter}, cell {item.cell_num + 1}"
    for output in outputs:
        if "ename" in output:
            plain = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output["traceback"]))
            where = [line.strip() for line in plain.splitlines() if line.startswith("-")][1:2]
            return "\n".join([f"{cell}: {output['ename']}: {output['evalue']}", *where])
    found = differences(
        *(item.sanitize("\n".join(lines_of(each))).splitlines() for each in (item.cell.outputs, outputs))
    )
    if not found:
        return ""
    more = [f"… and {len(found) - SHOWN} more"] * (len(found) > SHOWN)
    accept = f"If this is as it should be, keep it by: uaftc book --again {chapter}"
    return "\n".join([f"{cell}: output differs", *(f"  {line}" for line in [*found[:SHOWN], *more]), accept])


@pytest.fixture(scope="session")
def axe():
    """The text of axe-core, fetched by npm into a folder that git ignores."""
    folder = CHECKOUT / ".axe"
    path = folder / "node_modules" / "axe-core" / "axe.min.js"
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "lock"):  # one of the processes fetches it, and the others wait
        if not path.exists():
            if not shutil.which("npm"):
                missing("browser", "axe-core is not at hand, and there is no npm to fetch it")
            (folder / "package.json").write_text('{"private": true}\n')
            command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", f"axe-core@{AXE}"]
            try:
                subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=90, text=True)
            except (subprocess.SubprocessError, OSError) as error:
                why = getattr(error, "stderr", None) or error
                missing("browser", f"axe-core is not at hand, and npm could not fetch it: {why}")
    return path.read_text(encoding="utf-8")


WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def violations(page, axe: str) -> list[tuple[str, str, list[str]]]:
    """What axe finds on a whole page: the rule, how bad it is, and the first elements that break it."""
    page.evaluate(axe)
    found = page.evaluate("(tags) => axe.run({ resultTypes: ['violations'], preload: false, runOnly: tags })", WCAG)
    assert len(found["passes"]) > 5
    return [
        (one["id"], one["impact"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found["violations"]
    ]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Which are no unit tests; and of the long ones the share that UAFTC_SHARE names: "3/20" is every twentieth."""
    for item in items:
        if item.path.stem in WHOLE or "chromium" in getattr(item, "fixturenames", ()) or any(item.iter_markers("data")):
            item.add_marker("whole")
    if share := os.environ.get("UAFTC_SHARE"):
        if not re.fullmatch(r"\d+/[1-9]\d*", share):
            raise pytest.UsageError(f"UAFTC_SHARE = {share!r}: give a number and a step, as in 3/20")
        first, step = map(int, share.split("/"))
        items[:] = [item for item in items if item.get_closest_marker("long")][first % step :: step]


class Units(LoadScopeScheduling):
    """Tests go to the workers one by one; a notebook, or a file whose tests share something, goes as a whole."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if is_shared(CHECKOUT / file) else nodeid


@functools.cache
def is_shared(path: Path) -> bool:
    return path.suffix != ".py" or bool(SHARED.search(path.read_text(encoding="utf-8")))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log) -> Units:
    return Units(config, log)
