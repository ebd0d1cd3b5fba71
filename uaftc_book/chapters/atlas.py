"""Chapter A_atlas: every panel of scores and weights, ten seeds of each, and what the paper says of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pandas as pd
import torch

from uaftc_book.cases import Part, Tables, exceeds
from uaftc_book.claims import reading
from uaftc_book.controls import with_permuted_labels
from uaftc_book.nulls import against_null, at_losses, lead_of, least_of, panel_null, polar_of
from uaftc_book.panels import in_print, panels, score_rows, seeds_of_panel, tilt
from uaftc_book.readings import both, column, lead, least, neutral_small, opposed, sides_along_VW, wide
from uaftc_book.small_data import SEEDS, by_kind, sst_config
from uaftc_book.wording import short
from uaftc_lib import checks, dynamics
from uaftc_lib.datasets import load_dataset
from uaftc_lib.dynamics.ledger import fit_with_ledger
from uaftc_lib.experiments.cells import Cell, cells_of, load_grid
from uaftc_lib.experiments.paper_models import table2_cell, train_real
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.scores import examined_types, score_frame
from uaftc_lib.training import fit


def figure_jobs() -> list[dict]:
    """Ten seeds of each panel's model."""
    runs = panels()[["dataset", "model", "lam"]].drop_duplicates().astype({"lam": float}).to_dict("records")
    return [run | {"seed": seed} for seed in SEEDS for run in runs]


@experiment(jobs=figure_jobs())
def figure_scores(dataset: str, model: str, lam: float, seed: int) -> list[dict]:
    """The paper's panels of scores and weights: distributions by token type, of scores and of weights."""
    return scores_after(table2_cell(dataset, model=model, lam=lam, seed=seed))


@experiment(jobs_over(seed=SEEDS, learner=("Adam", "GRU")), rows=12)
def side_scores(learner: str, seed: int) -> list[dict]:
    """SST at λ = 10: the scores of the side columns of Table 2: DP by Adam, or behind a GRU."""
    checks.one_of("learner", learner, ("Adam", "GRU"))
    (cell,) = cells_of(load_grid("side_columns"), model="DP" if learner == "Adam" else learner, lam=10.0, seeds=1)
    return scores_after(replace(cell, seed=seed))


def scores_after(cell: Cell) -> list[dict]:
    """Train a cell: distributions of all scores by token type, with what there is to say of the run."""
    data = load_dataset(cell.dataset)
    classifier = cell.classifier(data, "cpu")
    run = fit(classifier, data, cell.training())
    of_run = {
        **{name: getattr(cell, name) for name in ("epochs", "learning_rate", "weight_decay")},
        "V·W": tilt(classifier),
        "early loss": run.history["loss"].iloc[:5].mean(),
        **{name: getattr(run, name) for name in ("dev_accuracy", "test_accuracy", "best_epoch")},
    }
    return [row | of_run for row in score_rows(classifier, data, examined_types(data))]


@experiment(
    jobs=[
        {"dataset": d, "model": m, "lam": 10.0}
        for d, m in (("imdb", "DP"), ("20news-1", "DP"), ("20news-2", "DP"), ("sst", "AD"))
    ]
)
def figure_points(dataset: str, model: str, lam: float) -> list[dict]:
    """The scatters of Figs 2 to 4 that take long to make: up to 100 tokens of each type, from frequent to rare."""
    data = load_dataset(dataset)
    classifier, _ = train_real(data, model=model, lam=lam)
    types = {
        name: ids[torch.linspace(0, len(ids) - 1, min(100, len(ids))).long()]
        for name, ids in examined_types(data).items()
    }
    if classifier.binary:
        return score_frame(classifier, data, types).drop(columns="word").to_dict("records")
    attention = classifier.token_scores().attention
    return [
        {"type": name, "rank": int(i) + 1, "attention": float(attention[i])} for name, ids in types.items() for i in ids
    ]


def of_lstm(tables: Tables, scores: str, value: str = "mean") -> tuple[pd.DataFrame, pd.Series]:
    """Scores of the LSTM on SST by type, and their mean over all polar words."""
    rows, words = (wide(tables, "sst", "DP-L", scores=scores, value=name) for name in (value, "words"))
    kinds = [f"{scores} {kind}" for kind in ("positive", "negative")]
    many = [column(words, kind) for kind in kinds]
    return rows, sum(n * column(rows, kind) for n, kind in zip(many, kinds)) / sum(many)


@reading
def lstm_local(tables: Tables) -> Iterator[Part]:
    rows, polar = of_lstm(tables, "local attention")
    parts = {"all polar words": (polar - column(rows, "local attention neutral"), polar_of)}
    parts["the weaker kind"] = lead(rows, "local attention"), lead_of
    for name, (found, value) in parts.items():
        null = panel_null(tables, ("sst", "DP-L", 10.0), "local attention", value)
        yield replace(exceeds(f"SST, {name}", found), null=null)


@reading
def lstm_global(tables: Tables) -> Iterator[Part]:
    by = {
        scores: wide(tables, "sst", "DP-L", scores=scores, value="over neutral")
        for scores in ("attention", "local attention")
    }
    for kind in ("positive", "negative"):
        pair = [column(rows, f"{scores} {kind}") for scores, rows in by.items()]
        yield exceeds(f"SST, {kind} words", pair[0] - pair[1])
    everyone = [of_lstm(tables, scores, "over neutral")[1] for scores in by]
    yield exceeds("SST, all polar words", everyone[0] - everyone[1])


@reading
def other_panels(tables: Tables) -> Iterator[Part]:
    of = panels()
    for panel in of[of.figure.str.startswith("S") & (of.scores == "attention") & (of.model != "DP-L")].itertuples():
        rows = wide(tables, panel.dataset, panel.model, panel.lam)
        kinds = [name for name in rows.columns if name not in ("seed", "attention neutral")] if len(rows) else []
        found = least(*(column(rows, name) for name in kinds)) - column(rows, "attention neutral") if kinds else []
        part = exceeds(f"{panel.figure}: {PAPER_NAMES[panel.dataset]}, {panel.model}, λ = {panel.lam:g}", found)
        null = panel_null(tables, (panel.dataset, panel.model, panel.lam), "attention", lead_of)
        known = lead_of(in_print(panel.figure).set_index("type")[["mean"]].T).item()
        yield replace(part, found=f"{part.found}; in print {short(known)}", null=null)


@reading
def other_polarity_panels(tables: Tables) -> Iterator[Part]:
    of, stored = panels(), tables("figure_scores")
    for panel in of[of.figure.str.startswith("S") & (of.scores == "polarity")].to_dict("records"):
        rows, kind = seeds_of_panel(panel, stored) if len(stored) else stored, panel["type"]
        means = rows.pivot(index="seed", columns="type", values="mean") if len(rows) else rows
        found = []
        if len(rows):
            found = (
                means[kind] - means.drop(columns=kind).max(axis=1) if kind else least(means.positive, -means.negative)
            )
        case = f"{panel['figure']}: {PAPER_NAMES[panel['dataset']]}, {panel['model']}, λ = {panel['lam']:g}"
        value = (lambda means, kind=kind: means[kind]) if kind else least_of
        null = panel_null(tables, (panel["dataset"], panel["model"], panel["lam"]), "own polarity", value)
        yield replace(exceeds(f"{case}, {kind}" if kind else case, found), null=null)


LOSSES = (0.5, 0.3)  # mean training losses at which runs with real and with permuted labels are compared
LONGER = 8  # epochs more for permuted labels, which are learnt later


@experiment(
    jobs_over(optimizer=("Adagrad", "SGD"), labels="real", seed=SEEDS)
    + jobs_over(optimizer="Adagrad", labels="permuted", seed=range(20))
)
def sst_terms(optimizer: str, labels: str, seed: int) -> list[dict]:
    """SST, λ = 10, without dropout: π, ρ and what A to F have added, means over the examined words of each kind.

    π and ρ: the mean of looks after every epoch. A row at the end of the usual epochs, and where the mean training loss
    first falls to one of :data:`LOSSES`.
    """
    data, looks = load_dataset("sst"), []
    if labels == "permuted":
        data = with_permuted_labels(data, seed)
    types, config = examined_types(data), sst_config(optimizer, seed)
    usual = config.epochs
    config = replace(config, epochs=usual + LONGER * (labels == "permuted"))
    only = replace(data, dev=None, test=None)

    def look(epoch: int, model: AttentionClassifier) -> dict:
        if epoch:
            sums = dynamics.token_sums(model, data.train)
            looks.append(by_kind({"π": sums.pi, "ρ": sums.rho}, types) | {"V·W": tilt(model)})
        return {}

    model = AttentionClassifier(len(data.vocabulary), lam=10.0, seed=seed, dtype=torch.float64)
    run, ledgers = fit_with_ledger(model, only, config, look)
    losses = run.history.set_index("epoch")["loss"]
    rows = []
    for moment, epoch in ({f"epoch {usual}": usual} | at_losses(losses, LOSSES)).items():
        added = {name: getattr(ledgers[epoch - 1], name) for name in "ABCDEF"}
        row = pd.DataFrame(looks[:epoch]).mean().to_dict() | by_kind(added, types) | {"V·W": looks[epoch - 1]["V·W"]}
        rows.append({"lists": "training", "moment": moment, "epoch": epoch, "loss": losses[epoch]} | row)
    return rows


FINDINGS = {  # what Section 4 finds of polar words
    "π takes sides": lambda rows: opposed(rows, "π"),
    "ρ is positive": lambda rows: both(rows, "ρ"),
    "C takes sides": lambda rows: opposed(rows, "C"),
    "D takes sides, as V·W points": lambda rows: sides_along_VW(rows, "D"),
    "F is positive": lambda rows: both(rows, "F"),
}  # B has the sign of π, and E that of ρ
FINDINGS |= {f"{name} is small for neutral words": neutral_small(name) for name in "πρBCDEF"}


@reading
def findings_on_real_data(tables: Tables) -> Iterator[Part]:
    controls = tables("sst_terms", optimizer="Adagrad")
    for optimizer, (name, value) in product(("Adagrad", "SGD"), FINDINGS.items()):
        rows = tables("sst_terms", optimizer=optimizer, labels="real")
        part = exceeds(
            f"SST, {optimizer}: {name}", value(rows[rows["moment"].str.startswith("epoch")]) if len(rows) else []
        )
        null = against_null(controls, value) if optimizer == "Adagrad" and len(controls) else None
        yield replace(part, null=null)


@reading
def words_overlooked(tables: Tables) -> Iterator[Part]:
    SST, NEWS = (("sst", "DP", 10.0), ("sst", "DP", 100.0)), (("20news-1", "DP-A", 10.0), ("20news-1", "DP-A", 50.0))
    for case, scores, runs in (
        ("SST, DP, λ = 100, weights in equal shares", "times equal share", SST),
        ("SST, DP, λ = 100, raw weights", "weight", SST),
        ("20News I, DP-A, λ = 50, scores", "attention", NEWS),
    ):
        ten, large = (both(wide(tables, *run, scores=scores, value="over neutral"), scores) for run in runs)
        yield exceeds(case, least(ten - large, 0.5 - large))
