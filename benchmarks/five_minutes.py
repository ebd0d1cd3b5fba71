"""Five minutes with each tool on the same files: python benchmarks/five_minutes.py

The programs stand in docs/neighbours.md. Each runs in a process of its own, three times, with another seed each time. A
row for each file, tool and seed goes into five_minutes.csv in the results folder; rows that are there stay. At the end
it prints the table of the page. Needs the extra bench, and SST.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib.metadata import version
from itertools import combinations
from pathlib import Path

import made_files
import numpy as np
import pandas as pd
from measure import load, processor_seconds
from peers import file_named

from uaftc_lib import results_folder
from uaftc_lib.experiments.store import StoredTable, fill

PAGE = Path(__file__).parents[1] / "docs" / "neighbours.md"
OURS = "uaftc explain"
COMMAND = "explain rows.csv --text text --label label --out report --seed"
TOOLS = (OURS, "scattertext", "SHAP", "LIME", "eli5", "cleanlab")
FILES = ("emotions", "made-up", "SST", "shuffled")
FIRST = 15  # words of a class
SEPARATOR = " · "
MEASURES = {  # heading of a line of the page -> column, files, how a number is written
    "lines of the program": ("lines", FILES[:1], "{:.0f}".format),
    "seconds": ("wall", FILES[:3], "{:.1f}".format),
    "seconds of processor": ("processor", FILES[:3], "{:.1f}".format),
    "largest page or picture, kB": ("page_kb", FILES[:3], "{:,.0f}".format),
    "pages or pictures": ("pages", FILES[:3], "{:.0f}".format),
    "they need no network": ("offline", FILES[:1], lambda value: "yes" if value else "no"),
    "words listed": ("listed", FILES[:3], "{:.0f}".format),
    "another seed puts the same words first, share": ("words", FILES[:3], "{:.2f}".format),
    "labels doubted": ("suspect", FILES[:3], "{:,.0f}".format),
    "made-up file: words among the first 15 of each class": ("first", FILES[1:2], "{:.0f}".format),
    "of these, causes": ("causes", FILES[1:2], "{:.0f}".format),
    "of these, words that only accompany causes": ("companions", FILES[1:2], "{:.0f}".format),
    "shuffled labels: words listed": ("listed", FILES[3:], "{:.0f}".format),
    "shuffled labels: labels doubted": ("suspect", FILES[3:], "{:,.0f}".format),
}
REMOTE = re.compile(r"""<(?:script|link|img)\b[^>]*\b(?:src|href)\s*=\s*["']?(?:https?:)?//""", re.IGNORECASE)


def rows_of(file: str, seed: int) -> tuple[pd.DataFrame, dict]:
    """A file and its truth, if it is known. ``seed`` is that of the shuffle; other files are always the same."""
    if file == "emotions":
        return pd.read_csv(PAGE.with_name("emotions.csv")), {}
    if file == "SST":
        return file_named("sst", 0).rows, {}
    rows, truth = made_files.known_causes(0, strong=8, moderate=8, confounds=8)
    if file == "made-up":
        return rows, truth
    return rows.assign(label=rows["label"].sample(frac=1, random_state=seed).to_numpy()), {}


def program(tool: str) -> str:
    """The program of a tool, as the page shows it."""
    page = PAGE.read_text(encoding="utf-8")
    return re.search(rf"^<summary>{tool}</summary>\n\n```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]


def lines_of(tool: str) -> int:
    """Lines of a tool's program that are not blank."""
    return 1 if tool == OURS else sum(map(bool, map(str.strip, program(tool).splitlines())))


def first_words(folder: Path) -> tuple[int, list[str]]:
    """How many words a tool lists, and the first ones of each class, as class:word."""
    path = next(folder.rglob("words.csv"))
    words = pd.read_csv(path, keep_default_na=False, na_values={"total": [""]}, dtype={"word": str})
    if "listed" in words:
        words = words[words["listed"]].sort_values("total", ascending=False)
    first = words.groupby("class", sort=False).head(FIRST)
    return len(words), sorted(first["class"].str.cat(first["word"], ":"))


def suspect_labels(folder: Path) -> float:
    """How many labels a tool doubts, if it looks at labels."""
    for path in folder.rglob("predictions.csv"):
        return int(pd.read_csv(path)["suspect"].notna().sum())
    for path in folder.rglob("issues.csv"):
        return int(pd.read_csv(path)["is_label_issue"].sum())
    return np.nan


def measured(file: str, tool: str, seed: int) -> dict:
    """A row of the table; its seconds are those of the tool's process."""
    rows, truth = rows_of(file, seed)
    command = ["-m", "uaftc_lib", *COMMAND.split()] if tool == OURS else ["-c", program(tool), "rows.csv"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows.to_csv(folder / "rows.csv", index=False)
        begin, cpu = time.perf_counter(), processor_seconds()
        subprocess.run([sys.executable, *command, str(seed)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        found = {"wall": time.perf_counter() - begin, "processor": processor_seconds() - cpu, "load": load()}
        pages = [path for path in folder.rglob("*") if path.suffix in (".html", ".png")]
        texts = [path.read_text(encoding="utf-8") for path in pages if path.suffix == ".html"]
        found["page_kb"] = max((path.stat().st_size / 1000 for path in pages), default=np.nan)
        found["pages"] = len(pages) or np.nan
        found |= {"offline": not any(map(REMOTE.search, texts)) if pages else None, "suspect": suspect_labels(folder)}
        listed, words = (np.nan, []) if tool == "cleanlab" else first_words(folder)
    if truth and words:
        causes = {f"{name}:{word}" for name, some in truth["causes"].items() for word in some}
        found |= {"causes": len(causes & {*words}), "first": len(words)}
        found["companions"] = sum(word.split(":")[1] in truth["confounds"] for word in words)
    found["lines"] = lines_of(tool)
    peer = "uaftc-lib" if tool == OURS else tool
    return found | {"listed": listed, "tool_version": version(peer), "words": SEPARATOR.join(words) or None}


def agreement(words: pd.Series) -> float:
    """Of the words that two seeds put first, the share that both put first (Jaccard)."""
    sets = [{*text.split(SEPARATOR)} for text in words.dropna()]
    return float(np.mean([len(one & other) / len(one | other) for one, other in combinations(sets, 2)] or [np.nan]))


def markdown(table: pd.DataFrame) -> str:
    """The table of the page: medians over seeds."""
    of_tool = table.assign(offline=table["offline"].astype(float)).groupby(["file", "tool"])
    middle, same = of_tool.median(numeric_only=True), of_tool["words"].agg(agreement)
    lines = [f"| | {' | '.join(TOOLS)} |", "|---" * (1 + len(TOOLS)) + "|"]
    for heading, (column, files, form) in MEASURES.items():
        values = same if column == "words" else middle[column]
        known = [[values[file, tool] for file in files if values[file, tool] >= 0] for tool in TOOLS]
        lines.append(f"| {heading} | {' | '.join(' / '.join(map(form, some)) or '–' for some in known)} |")
    return "\n".join(lines)


def main(seeds: int = 3) -> None:
    table = StoredTable(results_folder() / "five_minutes.csv", ("file", "tool", "seed"), rows=1)
    jobs = [{"file": file, "tool": tool, "seed": seed} for file in FILES for tool in TOOLS for seed in range(seeds)]
    fill(table, [(job, partial(measured, **job)) for job in jobs])
    print(markdown(table.frame()))


if __name__ == "__main__":
    main()
