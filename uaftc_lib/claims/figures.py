"""The reproduction map: every figure and table of the paper, where it is made again, how, and how it came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from uaftc_lib.claims.analysis import MANY, NOISY_MANY
from uaftc_lib.claims.verdicts import OPEN, Judged, Tables
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.panels import compare, panels
from uaftc_lib.studies import table2_cell

STATUSES = ("reproduced", "differs", "not yet")


@dataclass(frozen=True)
class Item:
    """A figure or table of the paper: what it shows, chapter#heading, data, command.

    ``shows``: the claims that decide whether it came out, by name, each with the cases drawn in it (none: all).
    """

    number: str
    what: str
    page: str
    data: str
    command: str
    shows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def run(chapter: str, **parameters: object) -> str:
    """The command that makes a chapter again."""
    return " ".join(
        [
            "uaftc run",
            chapter,
            *(
                f"-p {name} {value:g}" if isinstance(value, float) else f"-p {name} {value}"
                for name, value in parameters.items()
            ),
        ]
    )


def study(name: str) -> str:
    """The command that makes a stored table again."""
    return f"python -m uaftc_lib.studies {name}"


MODEL, COUNTS, ACCURACY = (
    "01_model#from-scores-to-weights-to-a-decision",
    "09_datasets",
    "12_lambda#the-table-with-its-noise",
)
GEOMETRY, SYNTHETIC, VARIANTS = "05_embedding_geometry", "08_synthetic", "07_variants"
STARTING, ENDING = f"{GEOMETRY}#small-and-large-starts-fig-s1", f"{GEOMETRY}#where-the-words-end-figs-s2-and-s6"
KINDS, GAP, RATIO = (
    f"{SYNTHETIC}#{name}"
    for name in ("do-the-scores-find-the-words", "where-the-gap-comes-from", "more-bad-news-than-good")
)
AFFINE, ADDITIVE, CLASSES = (
    f"{VARIANTS}#{name}" for name in ("an-affine-layer", "additive-attention", "several-classes")
)
TWO = (MANY, NOISY_MANY)
RANDOM = tuple(f"{ratio}, random start" for ratio in ("1:2", "2:1", "1:5", "5:1"))
OTHERS = (
    Item("Table 1", "sizes of the data sets", f"{COUNTS}#four-data-sets", "data_counts", run(COUNTS), {"table_1": ()}),
    Item("Table 2", "test accuracy by λ", ACCURACY, "table2", "uaftc sweep --grid table2", {"table_2": ()}),
    Item("Table S1", "examined tokens", f"{COUNTS}#counting-words", "data_counts", run(COUNTS), {"table_S1": ()}),
    Item("Fig 1", "the model", MODEL, "live", run("01_model"), {"weighted_sum": ()}),
    Item("Fig S1", "inner products, small and large start", STARTING, "embedding_start", study("embedding_start"),
         {"products_move": (), "smaller_is_quicker": ()}),
    Item("Fig S2", "inner products by pair", ENDING, "live, terms", run(GEOMETRY),
         {"products_part": (MANY,), "products_of_neutral": (MANY,), "like_outweighs": (MANY,)}),
    Item("Fig S3", "polarity scores, Data I and II", KINDS, "live, terms", run(SYNTHETIC),
         {"polarity_parts": TWO, "polarity_of_neutral": TWO}),
    Item("Fig S4", "attention scores, Data I and II", KINDS, "live, terms", run(SYNTHETIC), {"polar_lead": TWO}),
    Item("Fig S5", "attention with and without penalty", GAP, "synthetic_gap", study("synthetic_gap"),
         {"apparent_gap": (), "penalty_closes_the_gap": ("Data I, λ = 10",)}),
    Item("Fig S6", "six inner products in training", ENDING, "live, terms", run(GEOMETRY),
         {"products_part": (NOISY_MANY,), "products_of_neutral": (NOISY_MANY,)}),
    Item("Fig S7", "V·W by class ratio", RATIO, "synthetic_ratio", study("synthetic_ratio"), {"VW_and_ratio": RANDOM}),
    Item("Fig S8", "inner products, affine layer", AFFINE, "live, affine_terms", run(VARIANTS),
         {"affine_products": ()}),
    Item("Fig S9", "scores, affine layer and penalty", AFFINE, "live, variants", run(VARIANTS),
         {"affine_polarity": ("with penalty",), "affine_attention": ("with penalty",)}),
    Item("Fig S10", "scores, additive attention", ADDITIVE, "live, variants", run(VARIANTS),
         {"additive_polarity": (), "additive_attention": ()}),
    Item("Fig S11", "inner products, three classes", CLASSES, "live, class_terms", run(VARIANTS),
         {"classes_attract": ()}),
    Item("Fig S12", "attention, three classes", CLASSES, "live, class_terms", run(VARIANTS),
         {"class_attention_grows": ()}),
)  # fmt: skip


def panel_item(panel: dict) -> Item:
    """A panel of scores or weights of the chapters on real data."""
    of = f" of {panel['type']}" if panel["type"] else ""
    what = f"{panel['scores']}{of}, {PAPER_NAMES[panel['dataset']]}, {panel['model']}, λ = {panel['lam']:g}"
    page, number = "10_scores#every-panel-of-the-paper", f"Fig {panel['figure']}"
    if panel["scores"] == "weight":
        return Item(number, what, "11_weights#average-weights", "figure_scores", run("11_weights"))
    cell = table2_cell(panel["dataset"], panel["model"], float(panel["lam"]))
    settings = {name: getattr(cell, name) for name in ("dataset", "model", "lam", "epochs", "learning_rate")}
    return Item(number, what, page, "figure_scores", run("10_scores", **settings))


def items() -> list[Item]:
    """All figures and tables, those of the supplement last; panels with data of their own stand by themselves."""
    found = [*OTHERS, *map(panel_item, panels().to_dict("records"))]
    return sorted(found, key=lambda item: (item.number.startswith("Fig"), " S" in item.number, order(item.number)))


def order(number: str) -> int:
    """The number of a figure: "Fig S13top" -> 13. Its panels stay as the paper has them."""
    return int("".join(filter(str.isdigit, number.split()[1])))


def by_claims(shows: Mapping[str, tuple[str, ...]], judged: Mapping[str, Judged]) -> tuple[str, str]:
    """Status and reason of a figure from the cases of the claims that it shows."""
    parts = [
        (judged[name].claim, part)
        for name, cases in shows.items()
        for part in judged[name].parts
        if not cases or part.case in cases
    ]
    measured = [(claim, part) for claim, part in parts if part.verdict != OPEN]
    if not measured:
        return "not yet", ""
    wrong = [(claim, part) for claim, part in measured if part.verdict != "supported"]
    told = f"{len(measured) - len(wrong)} of {len(measured)} cases as said" + (
        f", {len(parts) - len(measured)} open" if len(parts) > len(measured) else ""
    )
    if wrong:
        by = {claim.measured: [part for other, part in wrong if other is claim] for claim, _ in wrong}
        told += "; not: " + "; ".join(
            f"{measure} ({', '.join(f'{part.case}: {part.found}' for part in found)})" for measure, found in by.items()
        )
    return ("differs" if wrong else "reproduced"), told


def reproduction_map(judged: Iterable[Judged], tables: Tables | None = None) -> pd.DataFrame:
    """A row a figure or table: number, what, status, reason, data, command, page."""
    by_name, stored = {one.claim.name: one for one in judged}, (tables or Tables())("figure_scores")
    compared = {f"Fig {row['figure']}": row for row in compare(stored).to_dict("records")} if len(stored) else {}
    rows = []
    for item in items():
        panel = compared.get(item.number, {"starts": 0})
        status, reason = by_claims(item.shows, by_name)
        if panel["starts"]:
            status = "reproduced" if panel["verdict"] == "reproduced" else "differs"
            reason = f"printed order of the means in {panel['as printed']} of {panel['starts']} starts"
        rows.append({"number": item.number, "what": item.what, "status": status, "reason": reason, "data": item.data,
                     "command": item.command, "page": item.page})  # fmt: skip
    return pd.DataFrame(rows)
