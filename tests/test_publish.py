"""The pipeline: what makes a notebook stale, what it leaves behind, how a reader's re-run is refused."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_output

from uaftc_lib import publish
from uaftc_lib.parameters import check_parameters, default_parameters
from uaftc_lib.publish import CHECKOUT

SMALL = """# A small chapter

A sentence.

```{code-cell} ipython3
:tags: [parameters]

lam: float = 10.0  # scaling factor
seed: int = 3  # seed
dataset: str = "synthetic-1"  # data set
epochs: list = [1, 2]  # a list
```

```{code-cell} ipython3
from uaftc_lib.parameters import check_parameters

check_parameters(globals(), dataset=["synthetic-1", "sst"])
```

```{code-cell} ipython3
import sys

import matplotlib.pyplot as plt
from ipywidgets import IntSlider
from tqdm.auto import tqdm

%config InlineBackend.figure_formats = ["svg"]
plt.rcParams["svg.hashsalt"] = "uaftc"
for _ in tqdm(range(3)):
    print("line", flush=True)
plt.plot([1, 2, 3])
plt.show()
IntSlider()
```

```{code-cell} ipython3
print(lam * 2)
```
"""


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A checkout with one chapter, a lock, a library of one file and one measured result."""
    for folder in ("notebooks", "book/results", "uaftc_lib"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "notebooks" / "01_small.md").write_text(SMALL)
    (tmp_path / "requirements.lock").write_text("torch==2\n")
    (tmp_path / "uaftc_lib" / "models.py").write_text("x = 1\n")
    (tmp_path / "book" / "results" / "grid.csv").write_text("lam,accuracy\n")
    return tmp_path


def chapter(checkout: Path) -> Path:
    return checkout / "notebooks" / "01_small.md"


def replace(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_two_runs_are_the_same_bytes_and_hold_nothing_of_the_run(checkout):
    target = checkout / "book" / "01_small.ipynb"
    _, error, message = publish.execute("01_small", checkout)
    assert (error, message) == ("", "")
    first = target.read_bytes()
    target.unlink()
    publish.execute("01_small", checkout)
    assert target.read_bytes() == first
    notebook = nbformat.reads(first.decode(), as_version=4)
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"jupytext", "kernelspec", "language_info", "uaftc"}
    assert {name for cell in notebook.cells for name in cell.metadata} == {"tags"}
    *_, drawing, last = publish.code_cells(notebook)
    assert [output.output_type for output in drawing.outputs] == ["stream", "display_data"]
    assert drawing.outputs[0].text == "line\n" * 3
    assert "image/svg+xml" in drawing.outputs[1].data
    assert last.outputs[0].text == "20.0\n"


def pretend_executed(checkout: Path) -> Path:
    """Put a copy with made-up outputs and the right key into book/."""
    source = publish.read_source("01_small", checkout)
    executed = publish.read_source("01_small", checkout)
    publish.code_cells(executed)[-1].outputs = [new_output("stream", name="stdout", text="stored\n")]
    target = checkout / "book" / "01_small.ipynb"
    provenance = {"key": publish.key(source, checkout), "versions": {"Python": "3"}}
    publish.write(publish.assemble(source, executed, provenance), target)
    return target


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("notebooks/01_small.md", "lam * 2", "lam * 3"),
        ("notebooks/01_small.md", "float = 10.0", "float = 20.0"),
        ("requirements.lock", "2", "3"),
        ("uaftc_lib/models.py", "1", "2"),
        ("book/results/grid.csv", "lam", "seed"),
    ],
)
def test_a_notebook_is_stale_when_what_it_depends_on_changes(checkout, file, old, new):
    pretend_executed(checkout)
    assert not publish.is_stale("01_small", checkout)
    replace(checkout / file, old, new)
    assert publish.is_stale("01_small", checkout)


def test_a_new_library_file_makes_stale_and_a_cache_does_not(checkout):
    pretend_executed(checkout)
    (checkout / "uaftc_lib" / "__pycache__").mkdir()
    (checkout / "uaftc_lib" / "__pycache__" / "models.pyc").write_bytes(b"0")
    (checkout / "book" / "results" / ".grid.csv.lock").write_bytes(b"")
    assert not publish.is_stale("01_small", checkout)
    (checkout / "uaftc_lib" / "table.csv").write_text("a\n")
    assert publish.is_stale("01_small", checkout)


def test_a_changed_sentence_is_carried_over_without_a_run(checkout, capsys):
    target = pretend_executed(checkout)
    replace(chapter(checkout), "A sentence.", "Another sentence.")
    assert publish.refresh(checkout) == ([], [])
    assert "1 of 1 notebooks are up to date" in capsys.readouterr().out
    text = target.read_text()
    assert "Another sentence." in text and "stored" in text
    before = target.stat().st_mtime_ns
    publish.refresh(checkout)
    assert target.stat().st_mtime_ns == before, "an unchanged notebook is not written"


def test_forget_makes_stale_and_keeps_the_copy(checkout):
    target = pretend_executed(checkout)
    publish.forget(checkout)
    assert publish.is_stale("01_small", checkout)
    assert "stored" in target.read_text()


def test_the_copy_of_a_deleted_chapter_goes(checkout):
    target = pretend_executed(checkout)
    chapter(checkout).unlink()
    publish.refresh(checkout)
    assert not target.exists()


NO_DATA = "from uaftc_lib.datasets.download import DataUnavailable\nraise DataUnavailable('no')"


def test_a_run_that_fails_leaves_the_older_copy(checkout, capsys):
    """A chapter that is wrong, one without its data, and one without its data or an older copy."""
    target = pretend_executed(checkout)
    before = target.read_bytes()
    codes = {"01_small": "raise ValueError('wrong')", "02_without": NO_DATA, "03_never": NO_DATA}
    for name, code in codes.items():
        (checkout / "notebooks" / f"{name}.md").write_text(f"# Small\n\n```{{code-cell}} ipython3\n{code}\n```\n")
    copy = shutil.copy(target, target.with_stem("02_without"))
    assert publish.refresh(checkout) == (["02_without"], ["01_small", "03_never"])
    assert target.read_bytes() == before == copy.read_bytes()
    assert not target.with_stem("03_never").exists()
    said = capsys.readouterr().out
    assert "notebooks/01_small.md, cell [1]: ValueError: wrong" in said
    assert "notebooks/02_without.md, cell [1]: DataUnavailable: no" in said
    assert "An older run" in publish.banner("02_without", checkout)


def test_a_fresh_page_has_no_banner_and_a_footer_that_makes_it_again(checkout):
    pretend_executed(checkout)
    assert publish.banner("01_small", checkout) == ""
    footer = publish.footer("01_small", checkout)
    assert "Made with seed 3, Python 3." in footer
    command = "papermill book/01_small.ipynb out.ipynb -p lam 10.0 -p seed 3 -p dataset synthetic-1 -y"
    assert command in footer
    assert publish.rerun_command("x", {"lams": [1, 2]}).endswith("""-y '{"lams": [1, 2]}'""")


def test_scrub_joins_streams_and_drops_what_is_dead_on_a_page():
    widget = {publish.WIDGET: {"model_id": "random"}, "text/plain": "IntSlider(value=0)"}
    outputs = [
        new_output("stream", name="stdout", text="a"),
        new_output("stream", name="stdout", text="b"),
        new_output("stream", name="stderr", text="\r50%"),
        new_output("stream", name="stderr", text="a warning"),
        new_output("display_data", data=dict(widget)),
        new_output("display_data", data={**widget, "text/html": "<b>lab</b>"}),
    ]
    kept = publish.scrub(outputs)
    assert [output.get("text") for output in kept] == ["ab", "a warning", None]
    assert set(kept[-1].data) == {"text/html", "text/plain"}


# --- pages are built with warnings as errors


@pytest.fixture
def small_book(checkout) -> Path:
    pretend_executed(checkout)
    for file in ("_config.yml", "book/references.bib", "book/references.md"):
        shutil.copy(CHECKOUT / file, checkout / file)
    for folder in ("_ext", "_static"):
        shutil.copytree(CHECKOUT / "book" / folder, checkout / "book" / folder)
    (checkout / "_toc.yml").write_text("format: jb-book\nroot: 01_small\nchapters:\n- file: references\n")
    return checkout


def test_pages_are_built_once_and_warnings_are_errors(small_book, monkeypatch):
    replace(chapter(small_book), "A sentence.", "A sentence {cite:p}`sun-lu-2020`.")
    publish.refresh(small_book)
    pages = publish.build(small_book)
    index = pages / "01_small.html"
    built = index.stat().st_mtime_ns
    publish.build(small_book)
    assert index.stat().st_mtime_ns == built, "nothing changed, nothing built"
    replace(chapter(small_book), "A sentence", "A sentence {eq}`nowhere`")
    publish.refresh(small_book)
    with pytest.raises(SystemExit, match="nowhere"):
        publish.build(small_book)
    # The next build must not find the pages that the failed one left, and take them for its own.
    monkeypatch.setattr(publish.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 1, "once more"))
    with pytest.raises(SystemExit, match="once more"):
        publish.build(small_book)


# --- a reader's re-run


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["-p", "datset", "sst"],
            "this notebook has no parameter 'datset' (did you mean 'dataset'?); it has lam, seed, dataset, epochs",
        ),
        (["-p", "lam", "fifty"], "lam = 'fifty' is of type str, expected float"),
        (["-p", "lam", "50"], ""),
    ],
)
def test_papermill_from_another_folder_stops_with_words_or_runs(checkout, tmp_path, options, words):
    target = pretend_executed(checkout)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    papermill = Path(sys.executable).with_name("papermill")
    command = [papermill, "--no-progress-bar", target, "out.ipynb", *options]
    done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True)
    assert (done.returncode != 0) == bool(words)
    assert words in done.stderr
    if not words:
        assert "100" in (elsewhere / "out.ipynb").read_text(), "lam * 2, of the value that was given"


def namespace(annotations: dict, values: dict, injected: str = "") -> dict:
    return {"__annotations__": annotations, "In": ["", injected], **values}


@pytest.mark.parametrize(
    ("annotation", "name", "value", "words"),
    [
        (float, "lam", 0, " = 0 is impossible: it must be greater than 0"),
        (float, "lam", -1.0, "greater than 0"),
        (float, "lam", float("nan"), "not finite"),
        (float, "lam", True, "of type bool, expected float"),
        (int, "seed", 1.5, "of type float, expected int"),
        (int, "seed", -1, "at least 0"),
        (int, "epochs", 0, "at least 1"),
        (float, "dropout", 1.0, "at least 0 and less than 1"),
        (list, "lams", [1.0, 0.0], "0.0 is impossible"),
        (list[float], "lams", 3.0, "of type float, expected list"),
        (int | None, "batch_size", "all", "expected int | None"),
        (int | None, "batch_size", 0, "at least 1"),
    ],
)
def test_impossible_values_are_refused(annotation, name, value, words):
    with pytest.raises(ValueError, match=f"{name}.*{re.escape(words)}"):
        check_parameters(namespace({name: annotation}, {name: value}))


@pytest.mark.parametrize(
    ("annotation", "name", "value"),
    [
        (float, "lam", 1e-3),
        (float, "lam", 5),
        (int | None, "batch_size", None),
        (list[float], "lams", [0.001, 1]),
        (bool, "penalised", True),
        (str, "label", "anything"),
        (float, "dropout", 0.0),
    ],
)
def test_possible_values_pass(annotation, name, value):
    check_parameters(namespace({name: annotation}, {name: value}, f"# Parameters\n{name} = 1\n"))


def test_unknown_names_and_values_are_refused_with_those_there_are():
    with pytest.raises(ValueError, match="has no parameter 'typo'; it has lam$"):
        check_parameters(namespace({"lam": float}, {"lam": 1.0}, "# Parameters\ntypo = 1\n"))
    words = "dataset = 'nosuch' is not possible in this notebook; allowed: 'synthetic-1', 'sst'"
    with pytest.raises(ValueError, match=words):
        check_parameters(namespace({"dataset": str}, {"dataset": "nosuch"}), dataset=["synthetic-1", "sst"])


def test_a_rule_for_a_name_that_is_no_parameter_is_a_mistake_of_the_notebook():
    with pytest.raises(ValueError, match="'model' is no annotated parameter; there are lam"):
        check_parameters(namespace({"lam": float}, {"lam": 1.0}), model=["DP"])


def test_default_parameters_are_the_annotated_ones():
    assert default_parameters(["lam: float = -1.5  # words\nother = 3\nlams: list = [1, 2]"]) == {
        "lam": -1.5,
        "lams": [1, 2],
    }


# --- the chapters of this checkout


@pytest.mark.parametrize("name", publish.chapters())
class TestChapter:
    def test_is_fresh(self, name):
        assert not publish.is_stale(name), "run `make book` and commit what it writes into book/"

    def test_begins_with_parameters_and_their_check_and_ends_with_assertions(self, name):
        cells = publish.code_cells(publish.read_source(name))
        assert "parameters" in cells[0].metadata.tags
        lines = [line for line in cells[0].source.splitlines() if line]
        assert [line for line in lines if "  # " not in line] == [], "a parameter needs a comment"
        assert len(default_parameters([cells[0].source])) == len(lines), "a parameter is annotated"
        assert "check_parameters(" in cells[1].source
        assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(cells[-1].source)))

    def test_copy_holds_nothing_of_the_run(self, name):
        executed = publish.read_published(name)
        text = nbformat.writes(executed)
        assert publish.WIDGET not in text and "application/vnd.jupyter.widget-state" not in text
        outputs = [output for cell in publish.code_cells(executed) for output in cell.outputs]
        assert [output.text for output in outputs if output.get("name") == "stderr"] == []
        assert " at 0x" not in text, "an object shows its address"

    def test_is_in_the_table_of_contents(self, name):
        toc = yaml.safe_load((CHECKOUT / "_toc.yml").read_text())
        listed = [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
        assert name in [toc["root"], *listed]
