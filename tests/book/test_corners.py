"""Every chapter at other settings: whatever a reader chooses, it runs to its end, and what is an identity holds.

Findings need not: under other parameters a chapter says of each whether it holds there too.
"""

import re
from collections.abc import Iterator
from functools import cache

import nbformat
import pytest

from uaftc_book.choices import allowed
from uaftc_book.publish import CHECKOUT, chapters, parameters_of, read_published, read_source
from uaftc_lib.locations import PAPER_NAMES

LEAST = 3  # settings of a chapter
EDGES = [{"lam": 1.0, "seed": 1}, {"lam": 100.0, "seed": 2}]
SIZES = [{"types": 4, "instances": 4}, {"types": 60, "instances": 150, "seed": 4}]
RANDOM = [*EDGES, {"dimension": 2, "seed": 3}, {"dimension": 40}, *SIZES]
TRAINED = [{"dimension": 5, "seed": 3}, {"dimension": 200}, {"class_size": 2000}, {"class_size": 10_000, "seed": 4}]
CORNERS = {
    "00_intro": [*EDGES, {"lam": 0.1, "epochs": 1}],
    "01_model": [*EDGES, {"lam": 0.5, "dimension": 50}],
    "A_gradients": RANDOM,
    "02_training": [{"lam": 1.0, "seed": 1}, {"lam": 20.0, "large_lam": 200.0, "seed": 2}, *TRAINED],
    "A_geometry": [*EDGES, *TRAINED],
    "03_attention_order": [*EDGES, *TRAINED],
    "A_variants": [*EDGES, {"lam": 1.0, "seed": 3}, *TRAINED[:2], {"class_size": 300}, {"epochs": 100, "seed": 4}],
    "A_synthetic": [
        *EDGES,
        {"noise": 0.3, "penalty": 0.0, "weight_range": 0.1},
        {"positive_instances": 2000, "dimension": 10},
    ],
    "A_data_sets": [{"dataset": "imdb"}, {"dataset": "20news-1", "seed": 1}, {"dataset": "20news-2", "redraws": 3}],
    "A_errata": RANDOM,
}
CORNERS["A_interventions"] = CORNERS["A_atlas"] = [{"seed": seed} for seed in (1, 5, 9)]  # seeds that are stored
CORNERS["A_map"] = [{"status": status} for status in ("reproduced", "differs", "not yet")]
# Of the other chapters: these, as far as they have such parameters.
USUAL = [
    {"lam": 1.0, "seed": 1},
    {"lam": 100.0, "large_lam": 1000.0, "dimension": 20},
    {"dataset": "20news-1", "epochs": 5},
    {"epochs": 2, "seed": 2},
    {"model": "DP-A", "seeds": 2},
    {"class_size": 2000},
    {"section": "5"},
    {"verdict": "holds"},
    {"section": "C.1", "verdict": "does not hold"},
]
# What makes a run as small as can be, where a chapter has such a parameter and admits so little.
ONES = ("dimension", "epochs", "slider_epochs", "texts", "types", "instances", "shuffles", "redraws")
SMALL = dict.fromkeys((*ONES, "replicates", "rounds"), 1) | {"class_size": 10, "lams": [1.0, 10.0]}
SMALL |= {"positive_instances": 10, "negative_instances": 10}
LONG = (pytest.mark.long,)
# Six to eight seconds of a processor each: these are run with every test run.
QUICKEST = {"00_intro", "A_gradients", "10_scorecard", "A_errata"}

source_of = cache(read_source)


def data_of(name: str, corner: dict) -> set[str]:
    """The data sets that a chapter reads at these settings."""
    return {*source_of(name).metadata.get("data", []), corner.get("dataset")} & {*PAPER_NAMES}


def corners_of(name: str) -> list[dict]:
    """The settings at which a chapter is run."""
    if name in CORNERS:
        return CORNERS[name]
    defaults = parameters_of(source_of(name))
    fitting = [{key: value for key, value in corner.items() if key in defaults} for corner in USUAL]
    return [corner for place, corner in enumerate(fitting) if corner and corner not in fitting[:place]]


CASES = [
    pytest.param(
        name,
        corner,
        id="-".join([name, *(f"{key}-{value}" for key, value in corner.items())]),
        marks=pytest.mark.data(*data_of(name, corner)),
    )
    for name in chapters()
    for corner in corners_of(name)
]


@pytest.mark.parametrize("name", sorted({*chapters(), *CORNERS}))
def test_a_chapter_has_three_corners(name):
    defaults, corners = parameters_of(read_source(name)), corners_of(name)
    assert all(corner and corner.keys() <= defaults.keys() for corner in corners), f"it has {', '.join(defaults)}"
    others = [corner for corner in corners if any(defaults[key] != value for key, value in corner.items())]
    assert len(others) >= LEAST, "give it settings in CORNERS"


def smallest(name: str) -> dict:
    """The settings at which a chapter has least to compute; where no parameter makes it small, its first corner."""
    least = allowed(name)
    small = {key: max(value, getattr(least.get(key), "least", value)) for key, value in SMALL.items()}
    return {key: small[key] for key in parameters_of(source_of(name)) if key in small} or corners_of(name)[0]


SMALLEST = [
    pytest.param(name, id=name, marks=[pytest.mark.data(*data_of(name, {})), *LONG * (name not in QUICKEST)])
    for name in chapters()
]


def execute(notebook: nbformat.NotebookNode, corner: dict, folder) -> str:
    """Run a notebook with other parameters; what stopped it, with what its cells said to fail, empty if nothing did."""
    import papermill

    source, target = folder / "source.ipynb", folder / "executed.ipynb"
    nbformat.write(notebook, source)
    try:
        papermill.execute_notebook(
            source, target, corner, cwd=CHECKOUT / "book", kernel_name="python3", progress_bar=False
        )
    except papermill.PapermillExecutionError as error:
        outputs = [output for cell in nbformat.read(target, 4).cells for output in cell.get("outputs", [])]
        lines = "\n".join(output.get("data", {}).get("text/plain", "") for output in outputs).splitlines()
        failed = [line for line in lines if line.startswith("does not hold here:")]
        return "\n".join([f"cell [{error.exec_count}]: {error.ename}: {error.evalue}", *failed])
    return ""


@pytest.mark.long
@pytest.mark.parametrize("name, corner", CASES)
def test_every_chapter_runs_to_its_end_at_other_settings(name, corner, tmp_path, monkeypatch):
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert execute(read_source(name), corner, tmp_path) == ""


CODE = re.compile(r"<(script|style|pre)\b.*?</\1>|<[^>]*>", re.DOTALL)
CHECKS = ("✓ ", "proved ", "measured ", "holds here too ", "does not hold here ")  # lines that say what they are
OF_THIS_RUN = re.compile(r"\b(this run|these runs)\b", re.IGNORECASE)
# Or of stored runs.
TRUE_OF_ANY = {"For the simple model, to which these runs belong, the verdict depends on λ.", "These runs are live;"}


def shown(notebook: nbformat.NotebookNode) -> Iterator[str]:
    """What a reader sees of each output: its text without markup, code and drawn lines."""
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        data = output.get("data", {"text/plain": output.get("text", "")})
        text = next((data[kind] for kind in ("text/markdown", "text/html", "text/plain") if kind in data), "")
        yield " ".join(CODE.sub(" ", text).split())


def typed(notebook: nbformat.NotebookNode) -> set[str]:
    """Sentences, or parts of them, that speak of this run and hold no number."""
    texts = [text for text in shown(notebook) if not text.startswith(CHECKS)]
    parts = {part for text in texts for part in re.split(r"(?<=[.:;?!])\s+", text)}
    return {part for part in parts if OF_THIS_RUN.search(part) and not re.search(r"\d", part)}


@pytest.mark.parametrize("name", SMALLEST)
def test_what_a_chapter_says_of_its_smallest_run_was_measured_there(name, tmp_path, monkeypatch):
    """It shows no nan, and what it says of this run in words alone is not what the published page says, word for word.

    A sentence that is true of both runs stands in TRUE_OF_ANY. What names no run, or has numbers, is not looked at.
    """
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert execute(read_source(name), smallest(name), tmp_path) == ""
    run = nbformat.read(tmp_path / "executed.ipynb", 4)
    assert [text for text in shown(run) if re.search(r"\b(nan|inf)\b", text, re.IGNORECASE)] == []
    assert typed(run) & typed(read_published(name)) <= TRUE_OF_ANY
