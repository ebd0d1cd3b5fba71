"""From text notebook to page: execute what has changed, scrub, keep in book/, build the pages.

``python -m uaftc_lib.publish`` is what ``make book`` calls. A notebook is executed again when its key has
changed: its code cells (parameters among them), the lock, a file of the library or a measured result. A
changed sentence alone is carried into the executed copy without running anything.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from html import escape
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from uaftc_lib import __version__
from uaftc_lib.parameters import default_parameters

CHECKOUT = Path(__file__).resolve().parents[1]
WIDGET = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "jupytext": {"formats": "notebooks///md:myst,book///ipynb"},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "file_extension": ".py", "pygments_lexer": "ipython3"},
}


def chapters(checkout: Path = CHECKOUT) -> list[str]:
    """Names of the notebooks, in the order of the book."""
    return sorted(path.stem for path in (checkout / "notebooks").glob("*.md"))


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells with code, in order."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def read_source(name: str, checkout: Path = CHECKOUT) -> NotebookNode:
    """The text notebook as a notebook without outputs; ids and metadata depend on its text alone."""
    import jupytext

    notebook = jupytext.read(checkout / "notebooks" / f"{name}.md")
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return notebook


def read_published(name: str, checkout: Path = CHECKOUT) -> NotebookNode | None:
    """The executed notebook, or None if there is none."""
    path = checkout / "book" / f"{name}.ipynb"
    return nbformat.read(path, as_version=4) if path.exists() else None


def digest(root: Path, files: Iterable[Path]) -> str:
    """Digest of the names and contents of files; line endings do not matter."""
    total = hashlib.sha256()
    for path in sorted(files):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        total.update(f"{path.relative_to(root).as_posix()} {hashlib.sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()


def is_scratch(path: Path) -> bool:
    """Whether a file was left behind by a program (caches, locks), and is no part of the checkout."""
    return any(part == "__pycache__" or part.startswith(".") for part in path.parts)


def surroundings(checkout: Path = CHECKOUT) -> str:
    """Digest of what every notebook depends on: the lock, the library's files and the measured results."""
    files = [checkout / "requirements.lock"]
    for folder in (checkout / "uaftc_lib", checkout / "book" / "results"):
        files += (path for path in folder.rglob("*") if path.is_file() and not is_scratch(path.relative_to(checkout)))
    return digest(checkout, files)


def key(source: NotebookNode, checkout: Path = CHECKOUT) -> str:
    """What the outputs of a notebook depend on, as one digest."""
    code = json.dumps([cell.source for cell in code_cells(source)])
    return hashlib.sha256(f"{surroundings(checkout)} {code}".encode()).hexdigest()[:32]


def is_stale(name: str, checkout: Path = CHECKOUT) -> bool:
    """Whether the executed copy of a notebook belongs to other code, another lock or another library."""
    executed = read_published(name, checkout)
    stored = {} if executed is None else executed.metadata.get("uaftc", {})
    return stored.get("key") != key(read_source(name, checkout), checkout)


def scrub(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Outputs without what differs from run to run: widget views, progress bars, the cutting of streams."""
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
        kept.append(output)
    return kept


def assemble(source: NotebookNode, executed: NotebookNode, provenance: dict[str, object]) -> NotebookNode:
    """The source with the outputs of its executed copy, and nothing else of that copy."""
    for cell, twin in zip(code_cells(source), code_cells(executed), strict=True):
        cell.outputs = scrub(twin.outputs)
        cell.execution_count = twin.execution_count
    source.metadata.uaftc = provenance
    return source


def write(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook whole or not at all, and only if it says something new."""
    text = nbformat.writes(notebook) + "\n"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def execute(name: str, checkout: Path = CHECKOUT) -> tuple[float, str, str]:
    """Run a text notebook with its default parameters and put the executed copy into book/.

    Returns
    -------
    (float, str, str)
        Seconds, and name and text of the error that stopped it: empty if none did, and only then the copy
        in book/ is replaced.
    """
    import papermill
    from traitlets.config import Config

    # The same outputs on every run: no dates in figures, and one thread, as a sum depends on its order.
    os.environ.update(SOURCE_DATE_EPOCH="0", OMP_NUM_THREADS="1", TQDM_DISABLE="1")
    started = time.perf_counter()
    source = read_source(name, checkout)
    provenance = {
        "key": key(source, checkout),
        "versions": {
            "Python": platform.python_version(),
            "uaftc_lib": __version__,
            "torch": metadata.version("torch"),
            "numpy": metadata.version("numpy"),
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.ipynb"
        nbformat.write(source, path)
        try:
            executed = papermill.execute_notebook(
                path,
                None,
                cwd=checkout / "book",
                kernel_name="python3",
                progress_bar=False,
                config=Config(KernelManager={"transport_encryption": "auto"}),
            )
        except papermill.PapermillExecutionError as error:
            where = f"notebooks/{name}.md, cell [{error.exec_count}]"
            return time.perf_counter() - started, error.ename, f"{where}: {error.ename}: {error.evalue}"
    write(assemble(source, executed, provenance), checkout / "book" / f"{name}.ipynb")
    return time.perf_counter() - started, "", ""


def refresh(checkout: Path = CHECKOUT) -> tuple[list[str], list[str]]:
    """Bring book/ up to date with notebooks/.

    Returns
    -------
    (list of str, list of str)
        The notebooks whose older copy stays because their data cannot be had, and those that failed.
    """
    names = chapters(checkout)
    stale = [name for name in names if is_stale(name, checkout)]
    for name in names:
        if name not in stale:
            executed = read_published(name, checkout)
            fresh = assemble(read_source(name, checkout), executed, executed.metadata.uaftc)
            write(fresh, checkout / "book" / f"{name}.ipynb")
    for path in (checkout / "book").glob("*.ipynb"):
        if path.stem not in names:
            path.unlink()
    print(f"{len(names) - len(stale)} of {len(names)} notebooks are up to date", flush=True)
    kept, failed = [], []
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        results = pool.map(functools.partial(execute, checkout=checkout), stale)
        for name, (seconds, error, message) in zip(stale, results):
            print(f"  {name}: {message or f'executed in {seconds:.1f} s'}", flush=True)
            if error == "DataUnavailable" and read_published(name, checkout) is not None:
                kept.append(name)
            elif error:
                failed.append(name)
    return kept, failed


def forget(checkout: Path = CHECKOUT) -> None:
    """Drop the keys: the next :func:`refresh` executes every notebook."""
    for name in chapters(checkout):
        executed = read_published(name, checkout)
        if executed is not None and "uaftc" in executed.metadata:
            executed.metadata.uaftc.key = ""
            write(executed, checkout / "book" / f"{name}.ipynb")


def parameters_of(notebook: NotebookNode) -> dict[str, object]:
    """The notebook's parameters and their default values, in its order."""
    tagged = [cell for cell in code_cells(notebook) if "parameters" in cell.metadata.get("tags", [])]
    return default_parameters(cell.source for cell in tagged)


def rerun_command(name: str, parameters: dict[str, object]) -> str:
    """The shell command that makes a page's notebook again, every parameter spelled out."""
    words = ["papermill", f"book/{name}.ipynb", "out.ipynb"]
    for parameter, value in parameters.items():
        if isinstance(value, (int, float, str)):
            words += ["-p", parameter, str(value)]
        else:
            words += ["-y", json.dumps({parameter: value})]
    return shlex.join(words)


def banner(name: str, checkout: Path = CHECKOUT) -> str:
    """HTML to stand above a page whose notebook could not be executed again; empty if it is fresh."""
    if not is_stale(name, checkout):
        return ""
    return (
        '<div class="admonition warning stale"><p class="admonition-title">An older run</p>'
        "<p>The code or the library has changed since this page was made, and its data were not at hand "
        "to run it again. Numbers and figures are those of the older run.</p></div>"
    )


def footer(name: str, checkout: Path = CHECKOUT) -> str:
    """HTML to stand below a page: seed, versions, and how to make it again."""
    executed = read_published(name, checkout)
    parameters = parameters_of(executed)
    facts = [f"{one} {parameters[one]}" for one in ("seed", "seeds") if one in parameters]
    facts += [f"{package} {version}" for package, version in executed.metadata.uaftc.versions.items()]
    return (
        f'<footer class="provenance"><p>Made with {escape(", ".join(facts))}. To make this page\'s notebook '
        "again, or with other parameters:</p>"
        f"<pre>{escape(rerun_command(name, parameters))}</pre></footer>"
    )


def build(checkout: Path = CHECKOUT) -> Path:
    """Build the pages if anything they are made of has changed, and return their folder.

    Raises
    ------
    SystemExit
        If Jupyter Book fails or warns.
    """
    target = checkout / "_build" / "book"
    pages, built_from = target / "_build" / "html", target / "built-from"
    parts = [path for path in (checkout / "book").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    parts += [checkout / name for name in ("_config.yml", "_toc.yml", "requirements.lock")]
    stale = [name for name in chapters(checkout) if is_stale(name, checkout)]
    made_of = f"{digest(checkout, parts)} {stale} {os.environ.get('UAFTC_LAB_SST', '')}"
    if built_from.exists() and built_from.read_text() == made_of:
        return pages
    shutil.rmtree(target, ignore_errors=True)  # a page from a cache would not repeat its warnings
    command = [Path(sys.executable).with_name("jupyter-book"), "build", checkout / "book"]
    command += ["--config", checkout / "_config.yml", "--toc", checkout / "_toc.yml"]
    command += ["--path-output", target, "-W", "--keep-going", "-q"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"{done.stdout}\nJupyter Book failed or warned, and warnings are errors here.")
    built_from.write_text(made_of)
    return pages


def main() -> None:
    """Bring the executed notebooks up to date, build the pages, say where to look."""
    parser = argparse.ArgumentParser(prog="python -m uaftc_lib.publish", description=main.__doc__)
    parser.add_argument("--forget", action="store_true", help="drop the keys first: execute every notebook")
    parser.add_argument("--strict", action="store_true", help="fail if a page shows an older run")
    options = parser.parse_args()
    if options.forget:
        forget()
    kept, failed = refresh()
    if failed:
        raise SystemExit(f"These notebooks failed: {', '.join(failed)}")
    pages = build()
    print(f"The book is ready: open {(pages / 'index.html').relative_to(CHECKOUT)} in a browser.")
    if kept:
        print(f"Older runs, under a banner, because their data could not be had: {', '.join(kept)}")
    if kept and options.strict:
        raise SystemExit("--strict forbids older runs.")


if __name__ == "__main__":
    main()
