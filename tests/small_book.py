"""A book of one small chapter, and how tests change it."""

from pathlib import Path

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
from uaftc_lib.book.parameters import check_parameters

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


def chapter(checkout: Path) -> Path:
    return checkout / "notebooks" / "01_small.md"


def replace(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
