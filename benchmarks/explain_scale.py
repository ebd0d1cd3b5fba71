"""How long `uaftc explain` takes for a million short reviews, and how much memory: python benchmarks/explain_scale.py

Writes a made-up file, explains it in a process of its own, and appends a row with the machine and the
versions to explain_scale.csv in the results folder.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import load

from uaftc_lib import files, results_folder
from uaftc_lib.experiments.provenance import provenance
from uaftc_lib.experiments.store import StoredTable
from uaftc_lib.report.train import FOLDS

TYPES, TELLING = 60_000, 400  # words in all, and words of which each text holds one


def write_reviews(path: Path, rows: int, seed: int = 0) -> None:
    """Texts of 5 to 25 words, common words commoner as in language, one word in each that tells its class."""
    draws = np.random.default_rng(seed)
    words = np.array([f"word{i}" for i in range(TYPES)], dtype=object)
    heights = np.cumsum(1 / (np.arange(TYPES) + 2.7))
    lengths = draws.integers(5, 26, rows)
    ids = np.searchsorted(heights, draws.random(lengths.sum()) * heights[-1])
    telling, wrong = draws.integers(0, TELLING, rows), draws.random(rows) < 0.1
    spelt, begin = words[ids], 0
    lines = ["text,label"]
    for length, word, flipped in zip(lengths.tolist(), telling.tolist(), wrong.tolist()):
        label = "good" if (word % 2 == 1) != flipped else "bad"
        lines.append(f"{' '.join(spelt[begin : begin + length])} telling{word},{label}")
        begin += length
    files.write(path, "\n".join(lines) + "\n")


def main(rows: int = 1_000_000) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        path, out = Path(scratch, "reviews.csv"), Path(scratch, "report")
        write_reviews(path, rows)
        size, begin = path.stat().st_size, time.perf_counter()
        command = ["explain", path, "--text", "text", "--label", "label", "--out", out]
        subprocess.run([sys.executable, "-m", "uaftc_lib", *command], check=True)
        seconds = time.perf_counter() - begin
        report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    row = {
        "rows": report["rows"]["read"],
        "words": report["vocabulary"]["words"],
        "epochs": max(report["settings"]["best_epochs"]),
        "seconds": round(seconds, 1),
        "peak_memory": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
        "test_accuracy": report["quality"]["attention"]["accuracy"],
        "linear_accuracy": report["quality"]["linear"]["accuracy"],
    }
    row |= {"file_size": size, "seeds": FOLDS, "load": load()} | provenance()
    StoredTable(results_folder() / "explain_scale.csv", tuple(row), rows=1).put([row])
    print(f"{row['rows']:,} rows: {row['seconds']:.0f} s, {row['peak_memory'] / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
