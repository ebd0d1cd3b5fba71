"""Chapter A_map: every figure and table of the paper, where it is made again, how, and how it came out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import jinja2
import pandas as pd

from uaftc_book.cards import address
from uaftc_book.cases import OPEN, Tables
from uaftc_book.claims import Judged
from uaftc_book.panels import cited_panel, compare, panels
from uaftc_book.readings import NOISY, RANGES_OF_M, SIGNS_AT, TEN, ranges, signs_case
from uaftc_lib import plots
from uaftc_lib.experiments.paper_models import table2_cell
from uaftc_lib.experiments.registry import EXPERIMENTS
from uaftc_lib.experiments.tables import about, grid_names, task
from uaftc_lib.locations import PAPER_NAMES

Whys = Mapping[str, tuple[str, str]]  # number in the paper -> why it differs, and chapter#heading where that is told
FAR = 1.0  # printed boxes (p75 − p25): from here on a median is told to be off
WRONG = ("in some seeds", "differs")
NAMED = 2  # so many cases against a figure are told one by one


@dataclass(frozen=True)
class Item:
    """A figure or table of the paper: what it shows, chapter#heading, data ("live": the page trains), command.

    ``shows``: the claims that decide whether it came out, by name, each with the cases drawn in it (none: all).
    """

    number: str
    what: str
    page: str
    data: str
    command: str
    shows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def commands(self) -> tuple[str, ...]:
        """The command, and those that make the stored data again."""
        stored = (making(name) for name in self.data.split(", ") if name in (*EXPERIMENTS, *grid_names()))
        return tuple(dict.fromkeys((self.command, *stored)))


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


def making(name: str) -> str:
    """The command that makes a stored table."""
    return f"uaftc tables {name} --make"


SPELLED = {
    "lam": "λ",
    "n_polar": "polar words",
    "n_neutral": "neutral words",
    "weight_range": "W₀ within ±",
    "embedding_range": "embeddings within ±",
    "dimension": "d",
}


def values_of(jobs: list[dict], name: str) -> str:
    """The values of a column in the order of the jobs; of many numbers the least and the greatest."""
    values = list(dict.fromkeys(job[name] for job in jobs))
    if len(values) > 4 and all(isinstance(one, int | float) for one in values):
        return f"{min(values):g} to {max(values):g} ({len(values)})"
    told = (f"{one:g}" if isinstance(one, float) else PAPER_NAMES.get(one, str(one)) for one in values)
    return ", ".join(told)


def settings_of_runs() -> pd.DataFrame:
    """What was run for every stored table: in words, with what settings, how many seeds and how many runs."""
    found = []
    for name, (_, told_of, maker) in about().items():
        jobs = [job for job, _ in task(name)[1]]
        shown = [one for one in jobs[0] if one not in ("seed", "method", "options", "learning_rates")]
        told = "; ".join(f"{SPELLED.get(one, one.replace('_', ' '))}: {values_of(jobs, one)}" for one in shown)
        said = re.sub(r":func:`(\w+)`|``", lambda match: match[1] or "", told_of)
        seeds = len({job["seed"] for job in jobs}) if "seed" in jobs[0] else 1
        row = {"table": name, "what was run": said, "settings": told, "seeds": seeds, "runs": len(jobs)}
        found.append(row | {"made in": maker})
    return pd.DataFrame(found)


NAME = re.compile(r"(?<=<tr><td>)\w+|(?<![\w/&#])(?:[\w/]+/\w+\.\w+|[a-z]+(?:_\w+)+|\w+\.py)")  # of a table or of code


def settings_table() -> str:
    """The same as HTML, names of code set as such."""
    told = settings_of_runs()
    what = [f"{row[2]} {row.settings}".strip() + "." * bool(row.settings) for row in told.itertuples()]
    where = told["made in"].str.removeprefix("uaftc_lib/").str.removeprefix("uaftc_book/")
    shown = {"table": told["table"], "what was run, and with what": what, "seeds": told["seeds"], "runs": told["runs"]}
    head, body = plots.table(pd.DataFrame(shown | {"made in": where})).to_html().split("<tbody>")
    return head + "<tbody>" + NAME.sub(r"<code>\g<0></code>", body)


MODEL, COUNTS, ACCURACY = (
    "01_model#from-scores-to-weights-to-a-decision",
    "A_data_sets",
    "06_accuracy#the-table-with-its-noise",
)
GEOMETRY, SYNTHETIC, VARIANTS = "A_geometry", "A_synthetic", "A_variants"
INITIAL, ENDING = f"{GEOMETRY}#small-and-large-initial-embeddings", f"{GEOMETRY}#where-the-words-end-figs-s2-and-s6"
KINDS, GAP, RATIO = (
    f"{SYNTHETIC}#{name}"
    for name in ("do-the-scores-find-the-words", "where-the-gap-comes-from", "more-negative-texts-than-positive-ones")
)
AFFINE, ADDITIVE, CLASSES = (
    f"{VARIANTS}#{name}" for name in ("an-affine-layer", "additive-attention", "several-classes")
)
TWO = (TEN, NOISY)
SIGNS = tuple(signs_case(epoch, weight) for epoch, weight in product(SIGNS_AT, (0.1, 1.0)))
PENALISED, ADDED = (tuple(f"Data I, {what}{ranges(M)}" for M in RANGES_OF_M) for what in ("with penalty, ", ""))
RANDOM = tuple(f"Data I, {ratio}, as drawn" for ratio in ("1:2", "2:1", "1:5", "5:1"))
OTHERS = (
    Item("Table 1", "sizes of the data sets", f"{COUNTS}#four-data-sets", "data_counts", run(COUNTS), {"table_1": ()}),
    Item("Table 2", "test accuracy by λ", ACCURACY, "table2", run("06_accuracy"), {"table_2": ()}),
    Item("Table S1", "examined tokens", f"{COUNTS}#counting-words", "data_counts", run(COUNTS), {"table_S1": ()}),
    Item("Fig 1", "the model", MODEL, "live", run("01_model"), {"weighted_sum": ()}),
    Item("Fig S1", "inner products of single pairs, small and large range", INITIAL, "embedding_start", run(GEOMETRY),
         {"products_move": (), "smaller_is_quicker": SIGNS}),
    Item("Fig S2", "inner products by pair", ENDING, "live, terms", run(GEOMETRY),
         {"products_part": (TEN,), "products_of_neutral": (TEN,), "like_outweighs": (TEN,)}),
    Item("Fig S3", "polarity scores, Data I and II", KINDS, "live, terms", run(SYNTHETIC),
         {"polarity_parts": TWO, "neutral_around_zero": ()}),
    Item("Fig S4", "attention scores, Data I and II", KINDS, "live, terms", run(SYNTHETIC), {"polar_lead": TWO}),
    Item("Fig S5", "attention with and without penalty", GAP, "synthetic_gap", run(SYNTHETIC),
         {"apparent_gap": (), "penalty_closes_the_gap": ("Data I, λ = 10",)}),
    Item("Fig S6", "six inner products in training", ENDING, "live, terms", run(GEOMETRY),
         {"products_part": (NOISY,), "products_of_neutral": (NOISY,), "like_outweighs": (NOISY,)}),
    Item("Fig S7", "V·W by class ratio", RATIO, "synthetic_ratio", run(SYNTHETIC),
         {"ratio_moves_VW": RANDOM, "VW_and_ratio": RANDOM}),
    Item("Fig S8", "inner products, affine layer", AFFINE, "live, variants_whole", run(VARIANTS),
         {"affine_products": ()}),
    Item("Fig S9", "scores, affine layer and penalty", AFFINE, "live, variants_whole", run(VARIANTS),
         {"affine_polarity": PENALISED, "affine_attention": PENALISED}),
    Item("Fig S10", "scores, additive attention", ADDITIVE, "live, variants_whole", run(VARIANTS),
         {"additive_polarity": ADDED, "additive_attention": ADDED}),
    Item("Fig S11", "inner products, three classes", CLASSES, "live, class_terms_whole", run(VARIANTS),
         {"classes_attract": ()}),
    Item("Fig S12", "attention, three classes", CLASSES, "live, class_terms_whole", run(VARIANTS),
         {"class_attention_grows": ()}),
)  # fmt: skip


def whole_figure(number: str) -> str:
    """The figure of a panel: "Fig 2a" -> "Fig 2", "Fig S13, top" -> "Fig S13"."""
    return re.match(r"\w+ S?\d+", number).group()


def panel_item(panel: dict) -> Item:
    """A panel of scores or weights of the chapters on real data."""
    of = f" of {panel['type']}" if panel["type"] else ""
    what = f"{panel['scores']}{of}, {PAPER_NAMES[panel['dataset']]}, {panel['model']}, λ = {panel['lam']:g}"
    number = cited_panel(panel["figure"])
    if panel["scores"] == "weight":
        return Item(
            number, what, "05_real_words#average-weights", "live, figure_scores, sst_weights", run("05_real_words")
        )
    cell = table2_cell(panel["dataset"], panel["model"], float(panel["lam"]))
    settings = {name: getattr(cell, name) for name in ("dataset", "model", "lam", "epochs", "learning_rate")}
    in_paper, on_sst = not panel["figure"].startswith("S"), (panel["dataset"], panel["model"]) == ("sst", "DP")
    drawn_live, drawn = "05_real_words#every-examined-word", "05_real_words#the-other-panels-of-figs-2-to-4"
    page = "A_atlas#every-panel-of-the-paper" if not in_paper else drawn_live if on_sst else drawn
    data = "figure_scores, figure_points" if in_paper and not on_sst else "figure_scores"  # those drawn from points
    return Item(number, what, page, data, run("05_real_words", **settings))


def items() -> list[Item]:
    """All figures and tables, those of the supplement last; panels with data of their own stand by themselves."""
    found = [*OTHERS, *map(panel_item, panels().to_dict("records"))]
    return sorted(found, key=lambda item: (item.number.startswith("Fig"), " S" in item.number, order(item.number)))


def order(number: str) -> int:
    """The number of a figure: "Fig S13, top" -> 13. Its panels stay as the paper has them."""
    return int("".join(filter(str.isdigit, whole_figure(number))))


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
    told = f"{len(measured) - len(wrong)} of {len(measured)} cases hold" + (
        f", {len(parts) - len(measured)} open" if len(parts) > len(measured) else ""
    )
    if wrong:
        by = {claim.measured.partition(";")[0]: [part for other, part in wrong if other is claim] for claim, _ in wrong}
        told += "; not: " + "; ".join(
            f"{measure} ({'; '.join(f'{part.case}: {part.found}' for part in found)})"
            if len(found) <= NAMED
            else f"{measure} ({len(found)} cases, in the scorecard)"
            for measure, found in by.items()
        )
    return ("differs" if wrong else "reproduced"), told


def reproduction_map(judged: Iterable[Judged], tables: Tables | None = None) -> pd.DataFrame:
    """A row a figure or table: number, what, status, reason, data, commands, page.

    ``reason``: the numbers behind the status.
    """
    by_name, stored = {one.claim.name: one for one in judged}, (tables or Tables())("figure_scores")
    compared = {cited_panel(row["figure"]): row for row in compare(stored).to_dict("records")} if len(stored) else {}
    rows = []
    for item in items():
        panel = compared.get(item.number, {"seeds": 0})
        status, reason = by_claims(item.shows, by_name)
        if panel["seeds"]:
            status = panel["verdict"]
            reason = f"published order of the means in {panel['as printed']} of {panel['seeds']} seeds"
            if panel["off"] > FAR:
                reason += f", a median {panel['off']:.1f} boxes off"
        rows.append({"number": item.number, "what": item.what, "status": status, "reason": reason, "data": item.data,
                     "commands": item.commands, "page": item.page})  # fmt: skip
    return pd.DataFrame(rows)


# A command's lines break between options only, not within "-p name value"; numbers and equations stay whole.
MAP = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
MAP = MAP.from_string("""\
<div class="uaftc-table map"><table><thead><tr>
<th>in the paper</th><th>status</th><th>what it shows</th><th>data, and what makes it again</th>
</tr></thead><tbody>
{% for row in rows %}
<tr><td><a href="{{ address(row.page) }}">{{ row.number.replace(" ", joined, 1) }}</a></td>
<td>
{%- if row.status in wrong %}<a href="{{ address(told[row.number]) }}">{% endif %}{{ row.status }}
{%- if row.status in wrong %}</a>{% endif %}
{%- if row.status == "reproduced" %} <small>{{ row.reason }}</small>{% endif %}</td>
<td>{{ row.what.replace(" = ", joined + "=" + joined) }}</td>
<td>{{ "live" if row.data == "live" else "live, stored" if "live" in row.data else "stored" }}
{% for command in row.commands %}
<code style="display:block">
{%- for part in options(command) %}<span style="white-space:nowrap">{{ part }}</span>{{ " " }}{% endfor %}</code>
{% endfor %}
</td></tr>
{% endfor %}
</tbody></table></div>
""")


def map_table(made: pd.DataFrame, whys: Whys) -> str:
    """The reproduction map as HTML: number, how it came out, what it shows, data and commands."""
    told = dict(zip(made.number, made.page)) | {number: place for number, (_, place) in whys.items()}
    return MAP.render(
        rows=list(made.itertuples()), told=told, wrong=WRONG, joined="\N{NO-BREAK SPACE}", address=address,
        options=partial(re.split, r" (?=-)"),
    )  # fmt: skip


def differing(made: pd.DataFrame, whys: Whys) -> str:
    """What differs from the paper: in what, why as far as it is known, and where that is told."""
    lines = []
    for row in made[made.status.isin(WRONG)].itertuples():
        why, told = whys.get(row.number, ("", row.page))
        known = f"Why: {why}" if why else "Why is not known"
        lines.append(f"* **{row.number}**: {row.reason}. {known} ([more]({address(told)})).")
    return "\n".join(lines)
