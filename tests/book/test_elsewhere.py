"""A chapter that Colab opens: its first cell fetches the book."""

import json
import subprocess
import sys

import pytest
from nbformat import NotebookNode
from small_book import chapter, make_checkout, pretend_executed, replace
from test_wheel import Environment, closure

from uaftc_book import publish
from uaftc_book.publish import CHECKOUT
from uaftc_book.publish.sources import FETCH

ADDRESS = "https://github.com/Example/living-edition"


def colab_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if "colab" in cell.metadata.get("tags", [])]


def test_a_notebook_fetches_the_book_for_colab_if_the_book_has_an_address(tmp_path):
    checkout = make_checkout(tmp_path)
    pretend_executed(checkout)
    config = checkout / "_config.yml"
    for address in ("", ADDRESS, ADDRESS + "-moved", ""):
        config.write_text(f"repository:\n  url: {json.dumps(address)}\n")
        assert publish.refresh(checkout) == ([], []) and not publish.is_stale("01_small", checkout)
        notebook = publish.read_published("01_small", checkout)
        assert [cell.source for cell in colab_cells(notebook)] == [FETCH.format(address=address)] * bool(address)
        assert notebook.cells[0].source.startswith("# A small chapter")
        assert publish.code_cells(notebook)[-1].outputs[0].text == "stored\n"


def test_the_cell_for_colab_is_no_part_of_the_text(tmp_path):
    """An editor that pairs the copies writes it there."""
    checkout = make_checkout(tmp_path)
    pretend_executed(checkout)
    carried = "```{code-cell} ipython3\n:tags: [colab, remove-cell]\n\nimport sys\n```\n\nA sentence."
    replace(chapter(checkout), "A sentence.", carried)
    assert publish.refresh(checkout) == ([], [])
    assert colab_cells(publish.read_published("01_small", checkout)) == []


def test_nothing_is_fetched_elsewhere(monkeypatch):
    monkeypatch.setattr(subprocess, "run", None)
    path = sys.path.copy()
    exec(FETCH.format(address=ADDRESS), {})
    assert sys.path == path


# What Colab has of what chapters need: anywidget, jaxtyping and papermill are not among it.
COLAB = "torch numpy pandas scipy scikit-learn statsmodels numba click tqdm pooch platformdirs joblib jinja2 filelock"
COLAB += " matplotlib seaborn spacy ipython ipywidgets ipykernel nbformat pygments beautifulsoup4 pip"
RUN = """
import sys, types
sys.modules["google.colab"] = types.ModuleType("google.colab")
import nbformat
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_cell(sys.argv[1]).raise_error()
for cell in nbformat.read("uaftc/book/A_gradients.ipynb", as_version=4).cells:
    if cell.cell_type == "code" and "colab" not in cell.metadata.get("tags", []):
        shell.run_cell(cell.source).raise_error()
print("from", __import__("uaftc_lib").__file__)
"""


@pytest.mark.long
def test_a_chapter_runs_on_what_colab_brings(tmp_path):
    """The cell as it is, but for the address, which is that of this checkout: of what is committed."""
    environment = Environment(tmp_path / "colab")
    environment.link(closure(COLAB.split()))
    fetched = [environment.site / name for name in ("anywidget", "jaxtyping", "papermill")]
    assert [path.exists() for path in fetched] == [False] * 3
    done = environment.run("python", "-c", RUN, FETCH.format(address=CHECKOUT.as_uri()))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == f"from {environment.folder / 'uaftc' / 'uaftc_lib' / '__init__.py'}"
    assert [path.exists() for path in fetched] == [True] * 3
