"""A book of one small chapter, and how tests change it."""

import shutil
from pathlib import Path

from nbformat.v4 import new_output

from uaftc_book import publish
from uaftc_book.publish import CHECKOUT
from uaftc_book.publish.keys import digests
from uaftc_book.publish.sources import digest_of_outputs

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
from uaftc_book.parameters import check_parameters

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


def make_checkout(folder: Path) -> Path:
    """A checkout with one chapter, a lock, a library of one file and one measured result."""
    for inner in ("notebooks", "book/results", "uaftc_lib"):
        (folder / inner).mkdir(parents=True)
    (folder / "notebooks" / "01_small.md").write_text(SMALL)
    (folder / "_toc.yml").write_text("format: jb-book\nroot: 01_small\n")
    (folder / "requirements.lock").write_text("torch==2\n")
    (folder / "uaftc_lib" / "models.py").write_text("x = 1\n")
    (folder / "book" / "results" / "grid.csv").write_text("lam,accuracy\n")
    return folder


def pretend_executed(checkout: Path) -> Path:
    """Put a copy with made-up outputs and the right key into book/."""
    source = publish.read_source("01_small", checkout)
    executed = publish.read_source("01_small", checkout)
    publish.code_cells(executed)[-1].outputs = [new_output("stream", name="stdout", text="stored\n")]
    target = checkout / "book" / "01_small.ipynb"
    files = ["book/results/grid.csv", "uaftc_lib/absent.toml", "uaftc_lib/models.py"]
    contents = digests(checkout, (checkout / file for file in files))
    key = publish.key(source, contents, checkout)
    provenance = {"key": key, "versions": {"Python": "3"}, "files": files}
    copy = publish.assemble(source, executed, provenance)
    copy.metadata.uaftc.outputs = digest_of_outputs(copy)
    publish.write(copy, target)
    return target


def add_pages(checkout: Path) -> Path:
    """What its pages are built from."""
    pretend_executed(checkout)
    of_book = (f"book/{name}" for name in ("references.bib", "references.md", "search.toml", "symbols.toml"))
    for file in ("_config.yml", "CHANGELOG.md", *of_book):
        shutil.copy(CHECKOUT / file, checkout / file)
    for folder in ("_ext", "_static", "_templates"):
        shutil.copytree(CHECKOUT / "book" / folder, checkout / "book" / folder)
    (checkout / "book" / "needs.toml").write_text("01_small = []\n")
    list_chapters(checkout, "references")
    return checkout


def list_chapters(checkout: Path, *names: str) -> None:
    """Put chapters, or other pages, behind the first in the table of contents."""
    listed = "".join(f"- file: {name}\n" for name in names)
    (checkout / "_toc.yml").write_text(f"format: jb-book\nroot: 01_small\nchapters:\n{listed}")


def chapter(checkout: Path) -> Path:
    return checkout / "notebooks" / "01_small.md"


def replace(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
