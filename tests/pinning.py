"""What must not change while files move: `python tests/pinning.py` writes it anew, tests/book/test_pinned.py compares.

Who means to change a value changes its pin in the same commit, and says why.
"""

# ruff: noqa: E402
from __future__ import annotations

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(CHECKOUT / folder) for folder in ("", ".ci", "benchmarks")]

from uaftc_book import same_sums  # noqa: F401 (numpy and torch come later)

# isort: split
import ast
import hashlib
import inspect
import re
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter

import made_files
import nbformat
import numpy as np
import pandas as pd
from compare import rounded

import uaftc_lib
import uaftc_lib.dynamics
import uaftc_lib.explain
from conftest import lines_of
from uaftc_book import claims, equations
from uaftc_book.chapters import map as figures
from uaftc_book.numbers import MARK
from uaftc_book.publish import chapters
from uaftc_lib import load_dataset
from uaftc_lib.report import explain_file

HERE = CHECKOUT / "tests" / "pinned"

BOUNDS = {"finding": (1, "holds"), "identity": (2, "bound")}  # where the bound stands among the arguments
CONDITIONS = ("above", "below", "between", "each_above", "not_above", "undecided", "so", "exact")  # of a number
CELL = re.compile("<td>([^<]*\xa0[✓✗])</td>")
SIGNED = """load_dataset AttentionClassifier AttentionClassifier.forward AttentionClassifier.token_scores
    AttentionClassifier.loss TrainingConfig fit token_types results_folder Corpus Corpus.from_lists Corpus.__getitem__
    dynamics.token_sums dynamics.gradients dynamics.polarity_update dynamics.attention_update dynamics.conserved
    explain.contributions explain.word_class_influence explain.leave_one_out explain.permutation_test
    explain.minimal_flip_sets explain.shapley explain.adversarial_attention""".split()


def code_cells(chapter: str) -> Iterator[nbformat.NotebookNode]:
    """The cells of an executed chapter that a replay compares."""
    for cell in nbformat.read(CHECKOUT / "book" / f"{chapter}.ipynb", as_version=4).cells:
        if cell.cell_type == "code" and "nbval-ignore-output" not in cell.metadata.get("tags", []):
            yield cell


def outputs(chapter: str) -> list[str]:
    """What each cell puts out, as a digest."""
    texts = [rounded("\n".join(lines_of(cell.outputs))) for cell in code_cells(chapter)]
    return [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts if text]


def findings(chapter: str) -> list[str]:
    """Every statement with its value, as it was printed, and the bounds in the order of the code."""
    lines = []
    for cell in code_cells(chapter):
        lines += [line for line in lines_of(cell.outputs) if re.match("(measured|proved): ", line)]
        for shown in (output.get("data", {}) for output in cell.outputs):
            lines += [f"{kind}: {text} {sign}" for kind, _, text, sign in MARK.findall(shown.get("text/markdown", ""))]
            lines += [f"checked: {text}" for text in CELL.findall(shown.get("text/html", ""))]
        for node in ast.walk(ast.parse(re.sub("^[%!].*", "", cell.source, flags=re.MULTILINE))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in BOUNDS:
                place, name = BOUNDS[node.func.attr]
                bound = [*node.args[place : place + 1], *(each.value for each in node.keywords if each.arg == name)]
                lines += [f"bound: {ast.unparse(each)}" for each in bound]
            name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            if name in CONDITIONS:
                lines += [f"bound: {name} {', '.join(map(ast.unparse, node.args))}"]
    return lines


def signatures() -> list[str]:
    """How the names that other code relies on are called."""
    return [f"{name}{inspect.signature(attrgetter(name)(uaftc_lib))}" for name in SIGNED]


@cache
def judged() -> list[claims.Judged]:
    """Every claim, judged by the stored tables."""
    return claims.judge_all(kinds=claims.KINDS)


def scorecard() -> list[str]:
    """Every case of every claim."""
    cases = claims.scorecard(judged())
    return cases.drop(columns=["claim", "measured", "page"]).to_csv(index=False).splitlines()


def proofs() -> list[str]:
    """Every equation, its status, bounds and errors; an error of rounding differs between processors."""
    table = equations.errata_table().drop(columns="page")
    for name in ("value", "failing_value"):
        table[name] = table[name].map(lambda x: "rounding" if abs(x) < 1e-9 else f"{x:.2g}", na_action="ignore")
    return table.to_csv(index=False).splitlines()


def made_again() -> list[str]:
    """Every figure and table of the paper, and what became of it."""
    made = figures.reproduction_map(judged())
    return made[["number", "status"]].to_csv(index=False).splitlines()


def reports() -> list[str]:
    """Of made-up files and of SST the verdict and the listed words."""
    lines = []
    for name, rows in files().items():
        with tempfile.TemporaryDirectory() as folder:
            rows.to_csv(file := Path(folder, "rows.csv"), index=False)
            report = explain_file(file, "text", "label", Path(folder, "out"), progress=False)
        worth = report["quality"] or {"verdict": "counted", "auc": {"model": np.nan}}
        lines.append(f"{name}: {worth['verdict']}, {worth['auc']['model']:.2f}")
        for of_class, words in report["top_words"].items():
            lines += [f"{name}, {of_class}: {row['word']} {row['texts_of_class']}/{row['texts']}" for row in words]
    return lines


def files() -> dict[str, pd.DataFrame]:
    """What is explained: known causes, unlike lengths, noise, rare classes, copies, short answers, SST."""
    sst = load_dataset("sst")
    texts = [
        " ".join(map(sst.vocabulary.word, instance.tolist()))
        for instance in sst.train.tokens.split(sst.train.lengths.tolist())
    ]
    answers = pd.DataFrame(
        {"text": ["good", "bad", "very good", "not bad", "no"] * 80, "label": ["x", "y", "x", "x", "y"] * 80}
    )
    return {
        "causes": made_files.known_causes(0)[0],
        "three classes": made_files.known_causes(0, classes=3)[0],
        "lengths": made_files.label_first(0, 1500, (1, 2))[0],
        "noise": made_files.random_labels(0, 600)[0],
        "rare class": made_files.imbalanced(0)[0],
        "form letters": made_files.form_letters(0)[0],
        "answers": answers,
        "SST": pd.DataFrame({"text": texts, "label": [sst.classes[k] for k in sst.train.labels.tolist()]}),
    }


WHOLE: dict[str, Callable[[], list[str]]] = {
    "scorecard.csv": scorecard,
    "equations.csv": proofs,
    "map.csv": made_again,
    "signatures.txt": signatures,
}
SLOW: dict[str, Callable[[], list[str]]] = {"reports.txt": reports}
BY_CHAPTER: dict[str, Callable[[str], list[str]]] = {"outputs": outputs, "findings": findings}


def pinned(name: str) -> list[str]:
    """The lines of a pin."""
    return (HERE / name).read_text(encoding="utf-8").splitlines()


def write(name: str, lines: list[str]) -> None:
    (HERE / name).parent.mkdir(exist_ok=True)
    (HERE / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    for name, made in (WHOLE | SLOW).items():
        write(name, made())
    for name, made in BY_CHAPTER.items():
        for chapter in chapters():
            write(f"{name}/{chapter}.txt", made(chapter))
