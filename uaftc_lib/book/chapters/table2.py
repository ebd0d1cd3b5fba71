"""Chapter A3_table2: Table 2 cell by cell, beside what is printed; and what Appendix G says of Adam."""

from __future__ import annotations

import pandas as pd

from uaftc_lib.book import rules
from uaftc_lib.book.chapters.lam import is_complete
from uaftc_lib.book.claims import reads
from uaftc_lib.book.readings import beside, lead, least, opposed, rows_of, several
from uaftc_lib.experiments.registry import stored
from uaftc_lib.locations import PAPER_NAMES, published
from uaftc_lib.settings import PAPER_MODELS


def stored_runs(name: str) -> pd.DataFrame:
    """The runs of a stored sweep, by λ (they stand there as they were finished); accuracy is that on the test data."""
    runs = stored(name).rename(columns={"test_accuracy": "accuracy"})
    return runs.sort_values("lam", kind="stable", ignore_index=True)


def printed_accuracies() -> pd.DataFrame:
    """The published Table 2: dataset and model (under our names), lam, accuracy (a fraction)."""
    printed = published("table2").rename(columns={"scaling_factor": "lam"})
    printed["accuracy"] = printed.pop("test_accuracy_percent") / 100
    printed["dataset"] = printed["dataset"].map({name: key for key, name in PAPER_NAMES.items()})
    return printed


def complete_columns(runs: pd.DataFrame) -> dict[str, list[str]]:
    """Data set -> its models of which every λ has been made."""
    complete = {key for key, rows in runs.groupby(["dataset", "model"]) if is_complete(rows)}
    blocks = {key: [name for name in PAPER_MODELS if (key, name) in complete] for key in PAPER_NAMES}
    return {key: models for key, models in blocks.items() if models}


def beside_print(runs: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """A row a cell, in per cent: mean, low, high (the interval of the mean), seeds, published, difference, missed.

    ``least``, ``most``: ours − print, for one further run of ours (95 %); ``missed``: zero lies outside.
    """
    said = printed.set_index(["dataset", "model", "lam"]).accuracy
    rows = []
    for (key, name, value), group in runs.groupby(["dataset", "model", "lam"]):
        mean, low, high, n = rules.interval(group.accuracy.to_numpy())
        target = said[key, name, value]
        further = rules.further_run(group.accuracy.to_numpy())
        rows.append({
            "dataset": key, "model": name, "lam": value, "mean": 100 * mean, "low": 100 * low, "high": 100 * high,
            "seeds": n, "published": 100 * target, "difference": 100 * (mean - target),
            "least": 100 * (further.low - target), "most": 100 * (further.high - target),
            "missed": not further.low <= target <= further.high,
        })  # fmt: skip
    return pd.DataFrame(rows)


reads(
    "adam_is_similar",
    several(rows_of("Data I", "optimizers_whole", optimizer="adam", lam=10.0), beside("Adam")),
    lambda rows: least(lead(rows), opposed(rows, "polarity")),
)
