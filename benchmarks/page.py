"""How fast, as a page: docs/speed.md and its picture, from the tables that `make bench` stores."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from uaftc_lib import files
from uaftc_lib.locations import results_folder

DOCS = Path(__file__).parents[1] / "docs"
PICTURED = {  # name in the picture -> line of the table, and whose time
    "textbook, dropout": ("textbook-{}-dropout", "peer"),
    "textbook": ("textbook-{}", "peer"),
    "fastText": ("fasttext-{}", "peer"),
    "ours, dropout": ("textbook-{}-dropout", "ours"),
    "ours": ("textbook-{}", "ours"),
}
MACHINE = ("machine", "cores", "date", "python", "torch", "numpy")
DATASETS = {"sst": "SST", "imdb": "IMDB"}
PAGE = """\
# How fast

A word's two scores depend on the word alone. So a training step goes once over the words of a batch and once over their
occurrences. It builds no padded batch, and trains the same model as automatic differentiation.

![Seconds for an epoch of DP on SST and IMDB, by method, on a logarithmic scale: ours takes least.](speed.svg)

The *textbook* is the loop that one writes first in PyTorch: padded batches, an embedding layer, automatic
differentiation, with the number of threads that suits it best. *fastText* averages word vectors and has no attention.
Where there is a peer, it takes turns with ours, and each time is the median of its turns. The ratio is how many times
as long the peer takes; for fastText it is our time over theirs, and of accuracies ours over theirs.
Targets are bounds that the project set itself; remarks stand in `book/results/benchmarks.csv`.

{table}

Measured on {machine}, {cores} cores, on {date}, with Python {python}, torch {torch} and NumPy {numpy}. `make bench`
measures all of it again, and writes this page.
"""


def page(lines: pd.DataFrame) -> str:
    """The page of a table of benchmarks."""
    about = {name: " and ".join(map(str, lines[name].unique())) for name in MACHINE}
    unit = " " + lines.unit.fillna("")
    table = pd.DataFrame(
        {
            "what": lines.what,
            "ours": lines.ours.map("{:.3g}".format) + unit,
            "peer": lines.peer.map("{:.3g}".format) + unit,
            "ratio": lines.ratio.map("{:.3g}".format),
            "target": lines.sense + " " + lines.target.map("{:.3g}".format),
            "met": lines.met,
        }
    )
    rows = [table.columns, ["---"] * len(table.columns), *table.apply(lambda row: row.str.strip(), axis=1).to_numpy()]
    return PAGE.format(table="\n".join(f"| {' | '.join(row)} |" for row in rows), **about)


def picture(lines: pd.DataFrame, path: Path) -> None:
    """Seconds for an epoch, by method and data set."""
    of_line = lines.set_index("benchmark")
    figure, axes = plt.subplots(1, len(DATASETS), figsize=(8, 2.4), sharey=True, layout="constrained")
    for place, (name, label) in zip(axes, DATASETS.items()):
        seconds = [of_line[side][line.format(name)] for line, side in PICTURED.values()]
        bars = place.barh(list(PICTURED), seconds, color=["#9a9a9a"] * 3 + ["#0072b2"] * 2)
        place.bar_label(bars, [f"{value:.2g} s" for value in seconds], padding=3)
        place.set(title=label, xscale="log", xlabel="seconds for an epoch", xlim=(min(seconds) / 2, max(seconds) * 5))
        place.spines[["top", "right"]].set_visible(False)
    with plt.rc_context({"svg.hashsalt": "speed", "svg.fonttype": "none"}):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor="white")
    files.write(path, buffer.getvalue())
    plt.close(figure)


if __name__ == "__main__":
    stored = pd.read_csv(results_folder() / "benchmarks.csv")
    files.write(DOCS / "speed.md", page(stored))
    picture(stored, DOCS / "speed.svg")
