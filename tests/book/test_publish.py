"""The pipeline: how what has changed is executed, what that leaves behind, how pages are built."""

import functools
import json
import os
import queue
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from urllib.parse import unquote

import nbformat
import numpy as np
import pandas as pd
import pytest
import yaml
from bs4 import BeautifulSoup
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from nbformat.v4 import new_code_cell, new_output
from small_book import add_pages, chapter, list_chapters, make_checkout, pretend_executed, replace

from uaftc_book import publish
from uaftc_book.parameters import default_parameters
from uaftc_book.publish import CHECKOUT, execution
from uaftc_book.publish.keys import has_its_outputs
from uaftc_book.publish.sources import with_drawings
from uaftc_lib import plots


@pytest.fixture
def checkout(tmp_path) -> Path:
    return make_checkout(tmp_path)


def test_two_runs_are_the_same_bytes_and_hold_nothing_of_the_run(checkout):
    target = checkout / "book" / "01_small.ipynb"
    _, error, message = publish.execute("01_small", checkout)
    assert (error, message) == ("", "")
    assert "SOURCE_DATE_EPOCH" not in os.environ, "it is the notebook's alone: zipfile writes no file of 1970"
    first = target.read_bytes()
    publish.drop_keys(["01_small"], checkout)
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


def test_a_file_edited_during_the_run_makes_stale(checkout):
    code = "with open('results/grid.csv', 'a') as file:\n    file.write('1')\nopen('results/grid.csv').close()"
    chapter(checkout).write_text(f"# Small\n\n```{{code-cell}} ipython3\n{code}\n```\n")
    assert publish.execute("01_small", checkout)[1:] == ("", "")
    assert publish.read_published("01_small", checkout).metadata.uaftc.files == ["book/results/grid.csv"]
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


def test_a_dropped_key_makes_stale_and_keeps_the_copy(checkout):
    target = pretend_executed(checkout)
    publish.drop_keys([], checkout)
    assert not publish.is_stale("01_small", checkout)
    publish.drop_keys(["01_small"], checkout)
    assert publish.is_stale("01_small", checkout)
    assert "stored" in target.read_text()


@pytest.mark.parametrize(
    ("options", "dropped"), [({}, []), ({"again": ["01_model"]}, ["01_model"]), ({"forget": True}, publish.chapters())]
)
def test_publish_executes_again_what_it_is_told_to(monkeypatch, options, dropped):
    calls = []
    monkeypatch.setattr(publish, "is_ready", lambda: False)
    monkeypatch.setattr(publish, "drop_keys", lambda names: calls.append(list(names)))
    monkeypatch.setattr(publish, "refresh", lambda: calls.append("refresh") or ([], []))
    monkeypatch.setattr(publish, "build", lambda whole: calls.append("build"))
    publish.publish(**options)
    assert calls == [dropped, "refresh", "build"]


def test_publish_knows_its_chapters():
    with pytest.raises(ValueError, match="chapter must be one of 00_intro, .*, got '01_modle'"):
        publish.publish(again=["01_modle"])


def test_what_is_no_chapter_is_left_alone_and_named(checkout, capsys):
    """A reader's own notebook, a copy of a chapter with its text, and the chapter whose text was deleted."""
    target = pretend_executed(checkout)
    copy = shutil.copy(target, target.with_stem("01_small-Copy1"))
    text = shutil.copy(chapter(checkout), chapter(checkout).with_stem("01_small-Copy1"))
    own = target.with_stem("my_notes")
    own.write_text("what a reader wrote")
    chapter(checkout).unlink()
    publish.refresh(checkout)
    assert target.exists() and copy.exists() and text.exists() and own.read_text() == "what a reader wrote"
    files = "book/01_small-Copy1.ipynb, book/01_small.ipynb, book/my_notes.ipynb, notebooks/01_small-Copy1.md"
    assert f"left as they are: {files} (a chapter has" in capsys.readouterr().out


NO_DATA = "from uaftc_lib.datasets.download import DataUnavailable\nraise DataUnavailable('no')"


def test_a_run_that_fails_leaves_the_older_copy(checkout, capsys):
    """A chapter that is wrong, one without its data, and one without its data or an older copy."""
    target = pretend_executed(checkout)
    before = target.read_bytes()
    codes = {"01_small": "raise ValueError('wrong')", "02_without": NO_DATA, "03_never": NO_DATA}
    for name, code in codes.items():
        (checkout / "notebooks" / f"{name}.md").write_text(f"# Small\n\n```{{code-cell}} ipython3\n{code}\n```\n")
    list_chapters(checkout, "02_without", "03_never")
    copy = shutil.copy(target, target.with_stem("02_without"))
    assert publish.refresh(checkout) == (["02_without"], ["01_small", "03_never"])
    assert target.read_bytes() == before == copy.read_bytes()
    assert not target.with_stem("03_never").exists()
    said = capsys.readouterr().out
    assert "notebooks/01_small.md, cell [1]: ValueError: wrong" in said
    assert "notebooks/02_without.md, cell [1]: DataUnavailable: no" in said
    assert "An older run" in publish.banner("02_without", checkout)


def changed(target: Path, change) -> None:
    """Change a copy as an editor would."""
    notebook = nbformat.read(target, as_version=4)
    change(notebook)
    nbformat.write(notebook, target)


def edit(notebook) -> None:
    notebook.cells[0].source += "\n\nEdited."


def add_cell(notebook) -> None:
    notebook.cells.append(new_code_cell("1 + 1", id="new"))


@pytest.mark.parametrize("change", [edit, add_cell])
def test_what_somebody_wrote_into_a_copy_is_not_lost(checkout, change):
    """It is named until the text says it too, or the copy is removed; also where the text was changed otherwise."""
    target = pretend_executed(checkout)
    changed(target, change)
    before = target.read_bytes()
    with pytest.raises(ValueError, match="not in the text: book/01_small.ipynb"):
        publish.refresh(checkout)
    replace(chapter(checkout), "A sentence.", "Another sentence.")
    with pytest.raises(ValueError, match="not in the text: book/01_small.ipynb"):
        publish.refresh(checkout)
    assert target.read_bytes() == before


def test_an_edit_in_both_copies_is_carried_on(checkout):
    target = pretend_executed(checkout)
    changed(target, edit)
    replace(chapter(checkout), "# A small chapter\n\nA sentence.", "# A small chapter\n\nA sentence.\n\nEdited.")
    assert publish.refresh(checkout) == ([], [])
    assert publish.read_published("01_small", checkout).metadata.uaftc.text != ""


def test_jupytext_brings_an_edit_into_the_text(checkout):
    """As the words above say, and as JupyterLab does when it saves, for which jupytext.toml names the pair."""
    header = (CHECKOUT / "notebooks" / "01_model.md").read_text().partition("# ")[0]
    chapter(checkout).write_text(header + chapter(checkout).read_text())
    target = pretend_executed(checkout)
    shutil.copy(CHECKOUT / "jupytext.toml", checkout)
    changed(target, edit)
    chapter(checkout).touch()
    with pytest.raises(ValueError, match="touch book/01_small.ipynb && jupytext --sync book/01_small.ipynb"):
        publish.refresh(checkout)
    target.touch()
    jupytext = Path(sys.executable).with_name("jupytext")
    ask = functools.partial(subprocess.run, cwd=checkout, capture_output=True, text=True)
    assert "book/01_small.ipynb" in ask([jupytext, "--paired-paths", "notebooks/01_small.md"]).stdout
    ask([jupytext, "--sync", target])
    assert "A sentence.\n\nEdited.\n" in chapter(checkout).read_text()
    assert publish.refresh(checkout) == ([], [])


def test_a_copied_checkout_says_what_to_do(tmp_path):
    """Its environment runs the library of the checkout that it was made for."""
    copy = tmp_path / "a copy"
    (copy / ".venv" / "bin").mkdir(parents=True)
    (copy / "uaftc_lib").mkdir()
    (copy / "uaftc_lib" / "__init__.py").touch()
    (copy / ".venv" / "book.installed").touch()
    shutil.copy(CHECKOUT / "Makefile", copy)
    python = copy / ".venv" / "bin" / "python"
    for there, code in ((CHECKOUT, 2), (copy, 0)):
        python.write_text(f'#!/bin/sh\nPYTHONPATH="{there}" exec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        said = subprocess.run(["make", "here"], cwd=copy, capture_output=True, text=True)
        assert (said.returncode, "was copied or moved" in said.stdout) == (code, bool(code))


def clear(notebook) -> None:
    for cell in publish.code_cells(notebook):
        cell.outputs, cell.execution_count = [], None


def drop(notebook) -> None:
    publish.code_cells(notebook)[-1].outputs = []


def forge(notebook) -> None:
    publish.code_cells(notebook)[-1].outputs[0].text = "forged\n"


@pytest.mark.parametrize("change", [clear, drop, forge])
def test_a_copy_without_the_outputs_of_its_run_is_not_published(checkout, change):
    target = pretend_executed(add_pages(checkout))
    changed(target, change)
    assert publish.refresh(checkout) == ([], [])
    with pytest.raises(SystemExit, match="^Not published.*: book/01_small.ipynb. .* uaftc book --again"):
        publish.build(checkout)


CONFLICT = "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n"


@pytest.mark.parametrize(
    "text", [CONFLICT, '{"cells": [', "", "version https://git-lfs.github.com/spec/v1\n", "{}", "[]"]
)
def test_a_damaged_copy_is_named(checkout, text):
    pretend_executed(checkout).write_text(text)
    with pytest.raises(ValueError, match="book/01_small.ipynb is no notebook"):
        publish.refresh(checkout)


def test_a_conflict_in_a_text_is_named(checkout):
    chapter(checkout).write_text(f"# Small\n\n{CONFLICT}")
    with pytest.raises(
        ValueError, match="notebooks/01_small.md is no chapter: a conflict of two versions: <<<<<<< HEAD"
    ):
        publish.refresh(checkout)


@pytest.mark.parametrize("text", ["", "---\na: [\n---\n\n# Small\n", "# Small\n"])
def test_a_damaged_text_is_named(checkout, text):
    target = pretend_executed(checkout)
    before = target.read_bytes()
    chapter(checkout).write_text(text)
    with pytest.raises(ValueError, match="notebooks/01_small.md is no chapter"):
        publish.refresh(checkout)
    assert target.read_bytes() == before


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_kernel_that_dies_is_replaced_once_and_then_named(checkout, deaths):
    """The cell counts its runs in a file, and kills its kernel the first times."""
    code = (
        f"import os\nwith open('../died', 'a+') as file:\n    _ = file.write('x'), file.seek(0)\n"
        f"    if len(file.read()) <= {deaths}:\n        file.flush()\n        os.kill(os.getpid(), 9)"
    )
    chapter(checkout).write_text(f"# Small\n\n```{{code-cell}} ipython3\n{code}\n```\n")
    _, kind, message = publish.execute("01_small", checkout)
    assert (checkout / "died").read_text() == "xx"
    assert (kind, message) == (
        ("", "") if deaths == 1 else ("DeadKernelError", "notebooks/01_small.md: DeadKernelError: Kernel died")
    )


def test_a_kernel_that_is_not_there_is_named(checkout, monkeypatch):
    def no_kernel(manager, name):
        raise NoSuchKernel(name)

    monkeypatch.setattr(KernelSpecManager, "get_kernel_spec", no_kernel)
    _, kind, message = publish.execute("01_small", checkout)
    assert (kind, message) == ("NoSuchKernel", "notebooks/01_small.md: NoSuchKernel: No such kernel named python3")


def test_a_cell_that_does_not_end_is_named(checkout, monkeypatch):
    monkeypatch.setattr(execution, "LIMIT", 1)
    chapter(checkout).write_text("# Small\n\n```{code-cell} ipython3\nwhile True:\n    pass\n```\n")
    _, kind, message = publish.execute("01_small", checkout)
    assert kind == "CellTimeoutError" and message.startswith(
        "notebooks/01_small.md: CellTimeoutError: A cell timed out"
    )


def test_a_second_making_of_the_book_waits(tmp_path, monkeypatch):
    """Until the first is done, and says so."""
    lines = queue.Queue()  # what a thread prints while capsys is read may be lost
    monkeypatch.setattr(publish, "print", lambda line, flush: lines.put(line), raising=False)
    with ThreadPoolExecutor() as pool, publish.alone(tmp_path):
        second = pool.submit(lambda: publish.alone(tmp_path).__enter__())
        assert "waiting" in lines.get(timeout=60)
        assert not wait([second], timeout=0.5).done
    assert second.done()


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


def test_a_drawing_is_kept_as_an_image_and_drawn_on_the_page():
    """As an image JupyterLab shows it to those who have not trusted the notebook."""
    figure = plots.bars(pd.DataFrame({"<x>": ["λ's", "50 %"], "y": [1, 2]}), "<x>", "y", "“a” & b #1")
    drawn = figure.to_html()
    (kept,) = publish.scrub([new_output("display_data", data={"text/html": drawn})])
    page = BeautifulSoup(kept.data["text/html"], "html.parser")
    assert not page.find("svg") and page.find("img")["alt"].startswith("Bars of y.")
    url = page.find("img")["src"]
    assert url.startswith("data:image/svg+xml,") and not set('"#&\n') & set(url)
    assert unquote(url.partition(",")[2]) in drawn
    assert with_drawings(kept.data["text/html"]) == drawn
    assert publish.scrub([kept]) == [kept]


# --- pages are built with warnings as errors


@pytest.fixture
def small_book(checkout) -> Path:
    return add_pages(checkout)


def all_files(folder: Path) -> dict[str, str]:
    """Files of pages by name; the index of the search lists its pages in the order in which they came."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    search = files.pop("searchindex.js").decode().removeprefix("Search.setIndex(").removesuffix(")")
    index = json.loads(search)
    names = np.array(index["docnames"])  # a term that stands on no page any more is not looked for
    of_terms = {term: sorted(names[pages].ravel()) for term, pages in index["terms"].items() if pages != []}
    return files | {"terms": of_terms, "entries": sorted(index["indexentries"]), "titles": sorted(index["alltitles"])}


@pytest.mark.parametrize(
    ("part", "page"),
    [
        ("book/01_small.ipynb", "01_small"),
        ("day of book/api.md", "api"),
        ("uaftc_lib/models/classifier.py", "api"),
        ("book/_static/book.css", ""),
        ("version", ""),
    ],
)
def test_a_change_is_of_a_page_or_of_all(part, page):
    """The page of the library shows docstrings, which no copy has."""
    assert publish.pages.page_of(part) == page


def test_changed_texts_alone_are_built_anew_as_in_a_whole_build_and_warnings_are_errors(small_book, monkeypatch):
    """A title is shown by other pages too, the search knows their entries of the index, and a label may move."""
    first, later = chapter(small_book), small_book / "book" / "references.md"
    replace(first, "A sentence.", "A sentence {cite:p}`sun-lu-2020`.")
    later.write_text(f"{later.read_text()}\n{{index}}`entry`\n\n(place)=\n## A section\n\nSee {{ref}}`place`.\n")
    publish.refresh(small_book)
    pages = publish.build(small_book)
    index, other = pages / "01_small.html", pages.parent / ".doctrees" / "references.doctree"
    built, read = index.stat().st_mtime_ns, other.stat().st_mtime_ns
    publish.build(small_book)
    assert index.stat().st_mtime_ns == built, "nothing changed, nothing built"
    replace(first, "A sentence", "Another sentence")
    replace(first, "A small chapter", "Another chapter")
    assert not publish.is_ready(small_book)
    publish.refresh(small_book)
    publish.build(small_book)
    assert other.stat().st_mtime_ns == read, "the other page is not read again"
    assert publish.is_ready(small_book)
    in_part = all_files(pages)
    assert in_part["entries"] == ["entry"]
    publish.build(small_book, whole=True)
    assert other.stat().st_mtime_ns > read and all_files(pages) == in_part
    replace(later, "(place)=\n", "")
    replace(first, "Another sentence", "(place)=\n## A section\n\nSee {ref}`place`. Another sentence")
    publish.refresh(small_book)
    publish.build(small_book)
    assert 'href="#place"' in index.read_text(), "a label may move to an earlier page"
    replace(first, "(place)=\n", "")
    replace(first, "See {ref}`place`.", "")
    publish.refresh(small_book)
    with pytest.raises(SystemExit, match="undefined label: 'place'"):
        publish.build(small_book)  # by the page that has not changed
    assert index.exists(), "the older pages stay until new ones are whole"
    # The next build must not find the pages that the failed one left, and take them for its own.
    monkeypatch.setattr(
        publish.pages.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 1, "once more")
    )
    with pytest.raises(SystemExit, match="once more"):
        publish.build(small_book)


def test_a_page_with_a_copy_and_no_text_is_not_published(small_book):
    chapter(small_book).unlink()
    with pytest.raises(SystemExit, match="have no text in notebooks/: book/01_small.ipynb"):
        publish.build(small_book)


@pytest.mark.parametrize("root", ['"01_small"', " '01_small'  # the first", "01_small.md"])
def test_chapters_are_read_as_the_table_of_contents_is(checkout, root):
    (checkout / "_toc.yml").write_text(f"format: jb-book\nroot : {root}\nparts: [{{chapters: [{{file: other}}]}}]\n")
    assert publish.chapters(checkout) == ["01_small"]


# --- a reader's re-run


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["-p", "datset", "sst"],
            "this notebook has no parameter 'datset' (did you mean 'dataset'?); it has lam, seed, dataset, epochs",
        ),
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


# --- the chapters of this checkout


@pytest.mark.parametrize("name", publish.chapters())
class TestChapter:
    def test_is_fresh(self, name):
        assert not publish.is_stale(name), "run `make book` and commit what it writes into book/"
        assert has_its_outputs(name), f"its outputs are not those of its run: uaftc book --again {name}"
        used = publish.read_published(name).metadata.uaftc.files
        assert "uaftc_lib/__init__.py" in used, "it was executed with the library of another checkout"

    def test_begins_with_parameters_and_their_check_and_says_what_held(self, name):
        cells = publish.code_cells(publish.read_source(name))
        assert "parameters" in cells[0].metadata.tags
        lines = [line for line in cells[0].source.splitlines() if line]
        assert [line for line in lines if "  # " not in line] == [], "a parameter needs a comment"
        assert len(default_parameters([cells[0].source])) == len(lines), "a parameter is annotated"
        assert f'chapter = Chapter("{name}", globals()' in cells[1].source
        code = "".join(cell.source for cell in cells)
        assert re.search(r"chapter\.(identity|number)\b", code), "a chapter states what was proved and measured"
        assert not re.search(r"chapter\.(identity|say|results|table)\(", code[code.rfind("chapter.show()") :])

    def test_copy_holds_nothing_of_the_run(self, name):
        executed = publish.read_published(name)
        text = nbformat.writes(executed)
        assert publish.WIDGET not in text and "application/vnd.jupyter.widget-state" not in text
        outputs = [output for cell in publish.code_cells(executed) for output in cell.outputs]
        assert [output.text for output in outputs if output.get("name") == "stderr"] == []
        assert " at 0x" not in text, "an object shows its address"
        printed = "\n".join(output.get("data", {}).get("text/plain", "") for output in outputs).splitlines()
        elsewhere = [line for line in printed if line.startswith(("holds here", "does not hold"))]
        assert elsewhere == [], "the words are about this run"

    def test_is_in_the_table_of_contents(self, name):
        toc = yaml.safe_load((CHECKOUT / "_toc.yml").read_text())
        listed = [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
        assert name in [toc["root"], *listed]


def test_no_kernel_takes_the_socket_of_another(monkeypatch):
    """Sockets are named after the connection file; and what kernels inherit makes sums the same."""
    monkeypatch.delenv("OMP_NUM_THREADS")
    managers = [dict(execution.kernel_options()["config"].KernelManager) for _ in range(2)]
    if os.name == "posix":
        assert [one["transport"] for one in managers] == ["ipc", "ipc"]
        assert len({one["connection_file"] for one in managers}) == 2
    assert {name: os.environ[name] for name in execution.SAME_SUMS} == execution.SAME_SUMS


SPENT = re.compile(r"(?s)<(svg|script|style).*?</\1>|<[^>]*>")  # drawings, data of live figures, markup
DECIMAL = re.compile(r"\d\.\d")


def test_few_numbers_are_not_compared_at_a_replay():
    """Those beside timings; the share of decimals outside drawings may only fall."""
    counts = {True: 0, False: 0}
    for name in publish.chapters():
        for cell in publish.code_cells(publish.read_published(name)):
            exempt = "nbval-ignore-output" in cell.metadata.get("tags", [])
            assert exempt == ("timings" in cell.metadata.get("tags", [])), f"{name}: a cell says why it is exempt"
            assert not (exempt and re.search(r"stored\(|read_csv", cell.source)), f"{name}: stored tables do not vary"
            texts = [output.get("text", "") for output in cell.outputs]
            texts += [
                text for output in cell.outputs for text in output.get("data", {}).values() if isinstance(text, str)
            ]
            counts[exempt] += sum(len(DECIMAL.findall(SPENT.sub("", text))) for text in texts)
    assert counts[True] <= 0.002 * sum(counts.values()) and counts[False] > 12_000


SUMS = """
from uaftc_book.chapter import Chapter
import hashlib
import numpy as np
import torch
from uaftc_lib import AttentionClassifier, TrainingConfig, fit, load_dataset

x = torch.rand(300, 300, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
for y in (x @ x, x.float() @ x.float(), x.softmax(-1), x.numpy() @ x.numpy(), np.exp(x.numpy()), np.log(x.numpy())):
    print(hashlib.md5(np.asarray(y).tobytes()).hexdigest())
torch.manual_seed(0)
print(hashlib.md5(torch.nn.LSTM(300, 50)(x.float()[:, None])[0].detach().numpy().tobytes()).hexdigest())
dataset = load_dataset("synthetic-1")
model = AttentionClassifier(len(dataset.vocabulary), dimension=37, lam=1.0)
fit(model, dataset, TrainingConfig(epochs=2))
print(hashlib.md5(model.embedding.detach().numpy().tobytes()).hexdigest())
"""
WITH_ALL = {"MKL_CBWR": "AUTO", "ATEN_CPU_CAPABILITY": "avx512", "NPY_DISABLE_CPU_FEATURES": ""}
WITH_LESS = {"MKL_CBWR": "COMPATIBLE", "ATEN_CPU_CAPABILITY": "default", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"}
WITH_LESS |= {"ONEDNN_MAX_CPU_ISA": "SSE41", "OPENBLAS_CORETYPE": "Nehalem", "NUMBA_CPU_NAME": "generic"}


def test_sums_come_out_the_same_whatever_the_processor_can():
    """To the last digit, with all that these libraries know of this processor and with less."""
    command = [sys.executable, "-c", SUMS]
    found = {
        subprocess.run(command, env=os.environ | some, capture_output=True, text=True, check=True).stdout
        for some in (WITH_ALL, WITH_LESS)
    }
    assert len(found) == 1 and found.pop().count("\n") == 8
