"""Speed and scale side by side with peers, in one run: `make bench`, or `python benchmarks/run.py --help`."""

from __future__ import annotations

import argparse
import tempfile
import time
import traceback
from dataclasses import asdict
from functools import partial
from pathlib import Path

import epochs
import lab_page
import pandas as pd
import scaling
import tasks
from measure import Setup, single_thread

from uaftc_lib import results_folder
from uaftc_lib.experiments.provenance import provenance
from uaftc_lib.experiments.store import StoredTable

# Each gives lines, or lines and rows for one of the further tables.
BENCHMARKS = {
    "textbook-sst": partial(epochs.textbook, name="sst", dropout=0.0, target=25.0),
    "textbook-sst-dropout": partial(epochs.textbook, name="sst", dropout=0.5, target=15.0),
    "textbook-imdb": partial(epochs.textbook, name="imdb", dropout=0.0, target=10.0),
    "textbook-imdb-dropout": partial(epochs.textbook, name="imdb", dropout=0.5, target=5.0),
    "additive": epochs.additive,
    "fasttext-sst": partial(epochs.fasttext, name="sst", target=1.0),
    "fasttext-imdb": partial(epochs.fasttext, name="imdb", target=0.8),
    "limit-sst": partial(epochs.memory_limit, name="sst"),
    "limit-imdb": partial(epochs.memory_limit, name="imdb"),
    "evaluation": tasks.evaluation,
    "load": tasks.loading,
    "imdb": tasks.imdb_corpus,
    "slider": tasks.slider,
    "lab": lab_page.lab_page,
    "recurrent": tasks.recurrent_step,
    "memory": scaling.memory,
    "scaling-types": scaling.types,
    "scaling-dimension": scaling.dimension,
    "scaling-tokens": scaling.tokens,
    "sweep": tasks.sweep,
    "gpu": epochs.gpu,
}
TABLES = {"fasttext": "benchmarks_accuracy", "scaling": "benchmarks_scaling"}  # by the first word of a benchmark's name


def measured(name: str, setup: Setup) -> dict[str, pd.DataFrame]:
    """The tables of one benchmark, by file name; a column ``group`` says which benchmark made a row."""
    begin = time.perf_counter()
    single_thread()
    result = BENCHMARKS[name](setup)
    lines, rows = result if isinstance(result, tuple) else (result, [])
    about = {"group": name} | provenance()
    made = {
        "benchmarks": pd.DataFrame(
            [asdict(line) | {"met": line.met, "explanation": line.explanation} | about for line in lines]
        )
    }
    if rows:
        made[TABLES[name.split("-")[0]]] = pd.DataFrame([row | about for row in rows])
    print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
    return made


def write(frames: dict[str, pd.DataFrame], folder: Path) -> None:
    """Each table as CSV; rows of benchmarks that were not run stay as they are."""
    for name, rows in frames.items():
        StoredTable(folder / f"{name}.csv", ("group",), order=tuple(BENCHMARKS)).add(rows.to_dict("records"), anew=True)


def show(table: pd.DataFrame) -> str:
    shown = pd.DataFrame({"line": table["what"], "met": table["met"].fillna("")})
    shown["target"] = [
        f"{sense} {target:g}" if sense else "" for sense, target in zip(table["sense"].fillna(""), table["target"])
    ]
    for column in ("ratio", "ours", "peer"):
        shown[column] = [f"{value:.3g}" if pd.notna(value) else "" for value in table[column]]
    shown["unit"] = table["unit"]
    remarks = [
        f"  {line.benchmark}: {remark}"
        for line in table.itertuples()
        for remark in (line.explanation, line.note)
        if remark and (remark == line.explanation or "not measured" in remark)
    ]
    return "\n".join([shown.to_string(index=False), *remarks])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, no data: shows that all of it runs")
    parser.add_argument("--only", nargs="+", choices=list(BENCHMARKS), metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--rounds", type=int, default=5, help="turns of ours and peer; medians are taken over them")
    parser.add_argument("--out", type=Path, help="folder of the tables; default: the results folder, if not --quick")
    given = parser.parse_args(arguments)
    if given.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {given.rounds}")
    folder = given.out or (None if given.quick else results_folder())
    with tempfile.TemporaryDirectory() as scratch:
        setup = Setup(given.quick, 1 if given.quick else given.rounds, Path(scratch))
        tables, failed = [], []
        for name in given.only or BENCHMARKS:
            try:
                frames = measured(name, setup)
            except Exception:
                traceback.print_exc()
                failed.append(name)
                continue
            tables.append(frames["benchmarks"])
            if folder:
                write(frames, folder)
    if tables:
        print(show(pd.concat(tables, ignore_index=True)))
    if folder:
        print(f"written to {folder}")
    if failed:
        raise SystemExit(f"failed, see above: {', '.join(failed)}")


if __name__ == "__main__":
    main()
