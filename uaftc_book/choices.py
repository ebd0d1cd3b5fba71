"""What the parameters of each chapter may be, beyond the ranges of well-known names.

Asked by the chapter itself and, before a kernel starts, by ``uaftc run``: nothing here imports torch or pandas.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources

from uaftc_book.parameters import Allowed, AtLeast
from uaftc_book.verdicts import STATUSES, WORDS
from uaftc_lib.datasets import dataset_names
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.settings import MODELS, PAPER_MODELS

TO_ROUNDING = {"lam": AtLeast(1, "below 1 rounding is amplified, and this page compares to rounding")}
OF_A_CASE = TO_ROUNDING | {"dimension": AtLeast(2, "V and W must be able to point apart")}
OF_A_CORPUS = dict.fromkeys(("types", "instances"), AtLeast(4, "a random corpus has words of both classes"))
STORED_SEEDS = {"seed": range(10)}


@cache
def sections() -> list[str]:
    """The sections of the paper that claims are from."""
    text = (resources.files("uaftc_book") / "claims.toml").read_text(encoding="utf-8")
    return sorted(tomllib.loads(text))


CHOICES: dict[str, Callable[[], dict[str, Allowed]]] = {
    "A_gradients": lambda: OF_A_CASE | OF_A_CORPUS,
    "02_training": lambda: TO_ROUNDING,
    "A_geometry": lambda: TO_ROUNDING,
    "03_attention_order": lambda: TO_ROUNDING,
    "A_variants": lambda: (
        OF_A_CASE | {"class_size": AtLeast(100, "with fewer texts of a class words are too rare to be compared")}
    ),
    "A_synthetic": lambda: {"weight_range": [0.01, 0.1, 0.5, 1.0, 2.0]},
    "A_data_sets": lambda: {"dataset": list(PAPER_NAMES)},
    "05_real_words": lambda: {"dataset": list(PAPER_NAMES), "model": list(MODELS), "split": ["train", "dev", "test"]},
    "06_accuracy": lambda: {"dataset": list(PAPER_NAMES), "model": PAPER_MODELS},
    "07_words_and_classes": lambda: {
        "dataset": [name for name in dataset_names() if not name.startswith("synthetic")],
        "replicates": AtLeast(20, "with fewer an interval has no ends"),
    },
    "08_is_it_explanation": lambda: {"dataset": ["sst", "imdb", "20news-1"]},
    "09_staying_true": lambda: {
        "kind": ["concatenation", "residual", "tied", "tied by norm", "masked", "diverse", "orthogonal"],
        "strength": AtLeast(0.0, "it is what the objective is multiplied by"),
        "texts": AtLeast(100, "with fewer nothing is learnt"),
    },
    "A_pretrained": lambda: {"lam": [1.0, 10.0, 100.0]},
    "10_scorecard": lambda: {"section": ["all", *sections()], "verdict": ["all", *WORDS]},
    "A_errata": lambda: OF_A_CASE | OF_A_CORPUS,
    "A_since_2020": lambda: TO_ROUNDING | {"texts": AtLeast(4, "both classes must be among them")},
    "04_which_lambda": lambda: TO_ROUNDING | {"dimension": AtLeast(2, "V and W are turned against each other")},
    "A_interventions": lambda: STORED_SEEDS,
    "A_atlas": lambda: STORED_SEEDS,
    "A_table2": lambda: {"dataset": list(PAPER_NAMES), "seed": range(3)},
    "A_map": lambda: {"status": ["all", *STATUSES]},
}


WITHOUT_STRENGTH = ("concatenation", "residual", "orthogonal")

# What parameters must be together, and what to say if they are not.
TOGETHER: dict[str, tuple[tuple[Callable[[Mapping], bool], str], ...]] = {
    "02_training": (
        (
            lambda given: (lams := given["lams"])[1:] and lams == sorted(lams) and lams[-1] >= 10 * lams[0],
            "lams = {lams}: give at least two, ascending, the last at least ten times the first",
        ),
        (lambda given: given["lam"] < given["large_lam"], "lam = {lam}, large_lam = {large_lam}: give lam < large_lam"),
    ),
    "09_staying_true": (
        (
            lambda given: (given["strength"] == 0) == (given["kind"] in WITHOUT_STRENGTH),
            "kind = {kind!r}, strength = {strength}: give 0 to "
            + ", ".join(WITHOUT_STRENGTH)
            + ", and more than 0 to the others",
        ),
    ),
}


def allowed(chapter: str) -> dict[str, Allowed]:
    """For a parameter of a chapter: its allowed values, or the least of them."""
    return CHOICES.get(chapter, dict)()


def check_together(chapter: str, values: Mapping[str, object]) -> None:
    """Raise ValueError unless all parameters of a chapter, each of them possible, are so together."""
    for fit, message in TOGETHER.get(chapter, ()):
        if not fit(values):
            raise ValueError(message.format(**values))
