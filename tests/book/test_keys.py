"""When a notebook is stale: a real run with a made-up library, of which everything is changed in turn."""

import shutil
from pathlib import Path

import pytest
from small_book import SMALL, chapter, replace

from uaftc_book import publish
from uaftc_book.publish import CHECKOUT
from uaftc_book.publish.keys import recorded_files

# What a made-up library holds, and the end of a chapter that uses some of it.
LIBRARY = {
    "uaftc_lib/__init__.py": "",
    "uaftc_lib/direct.py": "from uaftc_lib import indirect\n",
    "uaftc_lib/indirect.py": "def late():\n    from uaftc_lib import lazy\n",
    "uaftc_lib/lazy.py": "",
    "uaftc_lib/child.py": "",
    "uaftc_lib/worker.py": "def work(number):\n    return number\n",
    "uaftc_lib/unused.py": "",
    "uaftc_lib/experiments/grids/used.toml": "lam = 1\n",
    "uaftc_lib/experiments/grids/unused.toml": "lam = 1\n",
    "uaftc_lib/published/table1.csv": "a\n1\n",
    "uaftc_lib/published/table2.csv": "a\n1\n",
    "uaftc_lib/report/page.css": "p {}\n",
    "uaftc_book/lab/js/main.js": "//\n",
    "uaftc_book/__init__.py": "",
    "uaftc_book/chapter.py": "",
    "uaftc_book/parameters.py": (CHECKOUT / "uaftc_book" / "parameters.py").read_text(),
    "book/results/used.csv": "a\n1\n",
    "book/results/unused.csv": "a\n1\n",
}
USING = """
```{code-cell} ipython3
import subprocess
from importlib import resources
from pathlib import Path

import joblib
import pandas as pd
from uaftc_lib import direct, worker
from uaftc_book import chapter

direct.indirect.late()
subprocess.run([sys.executable, "-c", "import uaftc_lib.child"], check=True)
print(joblib.Parallel(2)(joblib.delayed(worker.work)(number) for number in range(2)))
library = resources.files("uaftc_lib")
pd.read_csv("results/used.csv")
pd.read_csv(library / "published" / "table1.csv")
library.joinpath("experiments/grids/used.toml").read_text()
resources.files("uaftc_book").joinpath("lab/js/main.js").read_text()
try:
    open("results/wished.csv")
except FileNotFoundError:
    print("not made yet")
Path("results/.used.csv.lock").touch()
open("results/.used.csv.lock").close()
```
"""


@pytest.fixture(scope="module")
def really_executed(tmp_path_factory) -> Path:
    """A checkout with the made-up library, whose chapter has been executed with it."""
    root = tmp_path_factory.mktemp("library")
    for name, text in LIBRARY.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "notebooks").mkdir()
    (root / "notebooks" / "01_small.md").write_text(SMALL + USING)
    (root / "requirements.lock").write_text("torch==2\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(root))
        _, error, message = publish.execute("01_small", root)
    assert (error, message) == ("", "")
    return root


@pytest.fixture
def library(really_executed, tmp_path) -> Path:
    """A copy of it, to change."""
    return shutil.copytree(really_executed, tmp_path / "copy")


UNUSED = [name for name in LIBRARY if "unused" in name or name.endswith(("published/table2.csv", "report/page.css"))]
USED = [*(name for name in LIBRARY if name not in UNUSED), "book/results/wished.csv"]


def test_a_run_records_what_all_its_processes_open(library):
    about = publish.read_published("01_small", library).metadata.uaftc
    assert about.files == sorted(USED)
    assert not publish.is_stale("01_small", library)


@pytest.mark.parametrize("file", [*USED, "requirements.lock"])
def test_a_notebook_is_stale_when_what_it_uses_changes(library, file):
    with (library / file).open("a") as changed:
        changed.write("\n")
    assert publish.is_stale("01_small", library)


@pytest.mark.parametrize("file", USED[:-1])
def test_a_notebook_is_stale_when_what_it_uses_is_gone(library, file):
    (library / file).unlink()
    assert publish.is_stale("01_small", library)


@pytest.mark.parametrize(
    "file",
    [
        *UNUSED,
        *("uaftc_lib/new.py", "uaftc_book/new.py", "book/results/new.csv", "tests.py", "_config.yml"),
        *("uaftc_lib/__pycache__/lazy.cpython-311.pyc", "book/results/.used.csv.lock"),
    ],
)
def test_a_notebook_is_not_stale_when_another_file_changes(library, file):
    (library / file).parent.mkdir(exist_ok=True)
    with (library / file).open("a") as changed:
        changed.write("\n")
    assert not publish.is_stale("01_small", library)


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [("lam * 2", "lam * 3", True), ("float = 10.0", "float = 20.0", True), ("A sentence.", "Another.", False)],
)
def test_of_a_notebook_itself_code_makes_stale_and_prose_does_not(library, old, new, stale):
    replace(chapter(library), old, new)
    assert publish.is_stale("01_small", library) == stale


def test_a_copy_that_does_not_say_what_it_used_is_stale(library):
    executed = publish.read_published("01_small", library)
    del executed.metadata.uaftc["files"]
    publish.write(executed, library / "book" / "01_small.ipynb")
    assert publish.is_stale("01_small", library)


def test_what_programs_keep_for_themselves_is_no_input(tmp_path):
    log = tmp_path / "opened"
    names = [
        "__pycache__/a.cpython-311.pyc",
        "__pycache__/a.loop-7.py311.nbi",
        ".numba_cache/a.nbc",
        ".x.lock",
        "x.lock",
    ]
    log.write_text("".join(f"{tmp_path.resolve()}/uaftc_lib/{name}\n" for name in [*names, "b.csv"]))
    assert recorded_files(log, tmp_path) == ["uaftc_lib/a.py", "uaftc_lib/b.csv"]


@pytest.mark.parametrize(("line", "stale"), [("numpy==3\n", True), ("zizmor==2\n", False)])
def test_of_the_lock_only_what_outputs_depend_on_makes_stale(library, line, stale):
    with (library / "requirements.lock").open("a") as lock:
        lock.write(line)
    assert publish.is_stale("01_small", library) == stale
