"""The two copies of a chapter: its text, which is the source, and the executed notebook in book/."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, unquote

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from uaftc_book.parameters import default_parameters
from uaftc_lib import files

CHECKOUT = Path(__file__).resolve().parents[2]
CONFLICT = re.compile(r"^<{7} .*$(?=(?s:.*)^>{7} )", re.MULTILINE)
DRAWING = re.compile(r'<svg role="img" aria-label="([^"]*)"(?s:.*?)</svg>')
IMAGE_URL = "data:image/svg+xml,"
IMAGE = re.compile(rf'<img alt="[^"]*" style="[^"]*" src="{re.escape(IMAGE_URL)}([^"]*)">')
WIDGET = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "jupytext": {"formats": "notebooks///md:myst,book///ipynb"},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "file_extension": ".py", "pygments_lexer": "ipython3"},
}
# Colab opens a notebook alone: it fetches the book first. No page shows the cell, and elsewhere nothing happens in it.
COLAB = "colab"
FETCH = """import subprocess
import sys
from pathlib import Path

if "google.colab" in sys.modules:
    if not Path("uaftc").exists():
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", "{address}", "uaftc"], check=True)
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "./uaftc[live]"], check=True)
    sys.path.insert(0, str(Path("uaftc").resolve()))  # with the stored tables, which the package leaves out"""


def chapters(checkout: Path = CHECKOUT) -> list[str]:
    """Names of the notebooks that are in the book: in notebooks/, and in its table of contents."""
    return sorted(name for name in listed(checkout) if (checkout / "notebooks" / f"{name}.md").exists())


def listed(checkout: Path = CHECKOUT) -> set[str]:
    """The pages of the table of contents, each by its file's name without the ending."""
    import yaml

    def pages(entry: object) -> Iterator[str]:
        if isinstance(entry, dict):
            yield from (Path(entry[key]).stem for key in ("root", "file") if key in entry)
        for part in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
            yield from pages(part)

    return set(pages(yaml.safe_load((checkout / "_toc.yml").read_text(encoding="utf-8"))))


def own_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells of a notebook but that for Colab."""
    return [cell for cell in notebook.cells if COLAB not in cell.metadata.get("tags", [])]


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells with code, in order, but that for Colab."""
    return [cell for cell in own_cells(notebook) if cell.cell_type == "code"]


def digest_of(parts: object) -> str:
    """Digest of what can be written as JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def digest_of_text(notebook: NotebookNode) -> str:
    """Digest of its cells without outputs; white space at their ends does not matter."""
    cells = own_cells(notebook)
    return digest_of([[cell.cell_type, cell.source.strip(), cell.metadata.get("tags", [])] for cell in cells])


def digest_of_outputs(notebook: NotebookNode) -> str:
    """Digest of what its cells put out, and of what its copy says of the run."""
    outputs = [[cell.execution_count, cell.outputs] for cell in code_cells(notebook)]
    return digest_of([outputs, notebook.metadata.get("uaftc", {}).get("versions")])


def parameters_of(notebook: NotebookNode) -> dict[str, object]:
    """The notebook's parameters and their default values, in its order."""
    tagged = [cell for cell in code_cells(notebook) if "parameters" in cell.metadata.get("tags", [])]
    return default_parameters(cell.source for cell in tagged)


def read_source(name: str, checkout: Path = CHECKOUT) -> NotebookNode:
    """The text notebook as a notebook without outputs; ids and metadata depend on its text alone.

    Raises
    ------
    ValueError
        If the file holds no chapter; the message names it.
    """
    path = checkout / "notebooks" / f"{name}.md"
    try:
        return deepcopy(parsed(path.read_text(encoding="utf-8")))
    except Exception as error:  # of jupytext, YAML, nbformat
        raise ValueError(f"notebooks/{path.name} is no chapter: {str(error).partition(chr(10))[0]}") from None


@lru_cache
def parsed(text: str) -> NotebookNode:
    """A text as a notebook; every step of the making of the book asks for it, and jupytext is slow."""
    import jupytext

    if conflict := CONFLICT.search(text):
        raise ValueError(f"a conflict of two versions: {conflict[0]}")
    notebook = jupytext.reads(text, fmt="md")
    if not code_cells(notebook):
        raise ValueError("it has no cell with code")
    data = {"data": notebook.metadata["data"]} if "data" in notebook.metadata else {}
    notebook.metadata = nbformat.from_dict(METADATA | data)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    # An editor that keeps both copies alike may have written the cell for Colab into the text.
    notebook.cells = own_cells(notebook)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return notebook


def read_published(name: str, checkout: Path = CHECKOUT) -> NotebookNode | None:
    """The executed notebook, or None if there is none.

    Raises
    ------
    ValueError
        If the file holds no notebook; the message names it.
    """
    path = checkout / "book" / f"{name}.ipynb"
    try:
        return nbformat.read(path, as_version=4) if path.exists() else None
    # Two versions in conflict, half a file, the pointer of a store of large files.
    except (ValueError, AttributeError, TypeError, nbformat.ValidationError) as error:
        found = str(error).partition("\n")[0][:100]
        raise ValueError(f"book/{path.name} is no notebook ({found}): restore or remove it") from None


def as_image(drawing: re.Match) -> str:
    """A drawing of a figure as an image, which shows in JupyterLab before anybody has trusted the notebook."""
    url = quote(drawing[0], safe=" /:;=,.()!?-_")
    return f'<img alt="{drawing[1]}" style="max-width:100%;background-color:#fff" src="{IMAGE_URL}{url}">'


def with_drawings(text: str) -> str:
    """HTML with its images drawn again, for pages: there they have the colours of the page."""
    return IMAGE.sub(lambda image: unquote(image[1]), text)


def scrub(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Outputs without what differs from run to run (widget views, progress bars, cut streams), drawings as images."""
    kept: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "stream":
            if output.name == "stderr" and "\r" in output.text:
                continue
            if kept and kept[-1].get("name") == output.name:
                kept[-1].text += output.text
                continue
        elif WIDGET in output.get("data", {}):
            del output.data[WIDGET]
            if set(output.data) <= {"text/plain"}:  # nothing is left to see: the page would show a repr
                continue
        if "text/html" in output.get("data", {}):
            output.data["text/html"] = DRAWING.sub(as_image, output.data["text/html"])
        kept.append(output)
    return kept


def assemble(
    source: NotebookNode, executed: NotebookNode, provenance: dict[str, object], address: str = ""
) -> NotebookNode:
    """The source with the outputs of its executed copy, and nothing else of that copy.

    Below its title stands the cell for Colab, if the book has an address from which it can be fetched.
    """
    for cell, twin in zip(code_cells(source), code_cells(executed), strict=True):
        cell.outputs = scrub(twin.outputs)
        cell.execution_count = twin.execution_count
    source.metadata.uaftc = provenance | {"text": digest_of_text(source)}
    if address:
        fetch = new_code_cell(FETCH.format(address=address), id=COLAB, metadata={"tags": [COLAB, "remove-cell"]})
        source.cells.insert(1, fetch)
    return source


def write(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook whole or not at all, and only if it says something new."""
    text = nbformat.writes(notebook) + "\n"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    files.write(path, text)
