"""Which module serves which chapter: the map of the code is the table of contents.

A chapter has one notebook and one module (or package) of its name in ``book/chapters/``, which holds the checks of
its equations, its experiments and the readings of its claims. A chapter that needs none of these has no module.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

MODULES = {
    "01_model": "model",
    "02_gradients": "gradients",
    "03_polarity_dynamics": "polarity_dynamics",
    "04_attention_dynamics": "attention_dynamics",
    "05_embedding_geometry": "embedding_geometry",
    "06_exact_dynamics": "exact_dynamics",
    "21_which_lambda": "which_lambda",
    "07_variants": "variants",
    "20_since_2020": "since_2020",
    "23_learnt_first": "learnt_first",
    "A1_variants_derived": "variants_derived",
    "08_synthetic": "synthetic",
    "09_datasets": "datasets",
    "10_scores": "scores",
    "A2_atlas": "atlas",
    "11_weights": "weights",
    "22_interventions": "interventions",
    "12_lambda": "lam",
    "A3_table2": "table2",
    "13_words_and_classes": "words_and_classes",
    "14_is_it_explanation": "is_it_explanation",
    "15_staying_true": "staying_true",
    "16_pretrained": "pretrained",
    "17_scorecard": "scorecard",
    "A4_map": "map",
}
PACKAGE = "uaftc_book.chapters"
FOLDER = Path(__file__).with_name("chapters")


def chapter_of(module: str) -> str:
    """The chapter that a module serves, from the module's full name.

    Raises
    ------
    ValueError
        If it serves none: what is registered there would stand on no page.
    """
    for chapter, name in MODULES.items():
        if f"{module}.".startswith(f"{PACKAGE}.{name}."):
            return chapter
    raise ValueError(f"{module} serves no chapter: add it to uaftc_book/contents.py")


def load_chapters(chapters: Iterable[str] = tuple(MODULES)) -> None:
    """Import the modules of some chapters, by default of all, so that what they register is known."""
    for chapter in chapters:
        import_module(f"{PACKAGE}.{MODULES[chapter]}")
