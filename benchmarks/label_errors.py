"""Wrong labels found again: python benchmarks/label_errors.py

Of SST's sentences one label in twenty is turned. ``uaftc explain`` names suspect labels; cleanlab orders the same rows
by the same probabilities. A row for each seed goes into label_errors.csv in the results folder; rows that are there
stay. Needs SST and cleanlab.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from peers import file_named

from uaftc_lib import results_folder
from uaftc_lib.experiments.store import StoredTable, fill
from uaftc_lib.report import explain_file

TURNED = 0.05  # share of the labels
SHARES = (0.25, 0.5, 1.0)  # of as many rows as are wrong


def measured(seed: int) -> dict:
    """Precision of the first rows of either order, at several lengths."""
    from cleanlab.filter import find_label_issues

    rows = file_named("sst", 0).rows
    random = np.random.default_rng(seed)
    wrong = random.random(len(rows)) < TURNED
    names = np.array(sorted(set(rows["label"])))
    truth = np.searchsorted(names, rows["label"])
    given = np.where(wrong, 1 - truth, truth)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        rows.assign(label=names[given]).to_csv(path, index=False)
        explain_file(path, "text", "label", Path(folder, "out"), progress=False)
        table = pd.read_csv(Path(folder, "out", "predictions.csv"))
    used = table["row"].to_numpy() - 1
    wrong, given = wrong[used], given[used]
    ours = table["suspect"].sort_values().dropna().index.to_numpy()
    P = np.empty((len(table), 2))
    P[np.arange(len(P)), given] = table["label_probability"]
    P[np.arange(len(P)), 1 - given] = 1 - table["label_probability"]
    theirs = find_label_issues(given, P, return_indices_ranked_by="self_confidence")
    found = {"texts": len(table), "wrong": int(wrong.sum()), "suspect": len(ours), "cleanlab": len(theirs)}
    for share in SHARES:
        for name, order in (("ours", ours), ("cleanlab", theirs)):
            found[f"{name} at {share:g}"] = float(wrong[order[: int(share * wrong.sum())]].mean())
    return found


def main(seeds: int = 10) -> None:
    table = StoredTable(results_folder() / "label_errors.csv", ("seed",), rows=1)
    fill(table, [({"seed": seed}, partial(measured, seed)) for seed in range(seeds)])
    print(table.frame().mean(numeric_only=True).to_string())


if __name__ == "__main__":
    main()
