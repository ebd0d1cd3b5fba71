"""The claims on Tables 1 and 2: the data sets, accuracy by λ, and which of its differences count."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from uaftc_lib.claims import rules
from uaftc_lib.claims.columns import LARGE, Column, compare, over_splits, p_over_splits
from uaftc_lib.claims.verdicts import OPEN, SMALL, Part, Tables, claim, with_interval
from uaftc_lib.locations import PAPER_NAMES, published

REAL = "12_lambda#which-differences-are-real"
LAMS, HUGE = 7, 10000.0
LOST = "points lost at small λ against each λ from 10 on; all must count"


def is_complete(rows: pd.DataFrame) -> bool:
    """Whether a column of Table 2 has every λ, with at least two seeds each."""
    made = rows.groupby("lam").seed.nunique() if len(rows) else ()
    return len(made) == LAMS and bool(made.min() > 1)


def columns_of(tables: Tables, model: str) -> Iterator[tuple[str, Column | None]]:
    """The columns of Table 2 of a model with their names; None where one is not complete yet."""
    known = tables.compared
    runs = tables("table2")
    for key, title in PAPER_NAMES.items():
        if (key, model) not in known:
            rows = runs[(runs.dataset == key) & (runs.model == model)] if len(runs) else runs
            known[key, model] = compare(rows) if is_complete(rows) else None
        yield f"{title}, {model}", known[key, model]


def not_made(name: str) -> Part:
    return Part(name, OPEN, "the runs are not complete yet")


def interval_of(pair: pd.Series) -> str:
    """Points between two λ, with their interval."""
    return with_interval(pair.points, pair.low, pair.high)


def least_and_most(pairs: pd.DataFrame) -> str:
    """The least and the most points between two λ, with their intervals."""
    return " to ".join(interval_of(pairs.loc[row]) for row in (pairs.points.idxmin(), pairs.points.idxmax()))


def worse_at(case: str, pairs: pd.DataFrame, seeds: int) -> Part:
    """The first λ is worse in all pairs, and all count; contradicted if one counts against it or all are equal."""
    right, wrong = (pairs.counts & (pairs.points > 0)).sum(), (pairs.counts & (pairs.points < 0)).sum()
    verdict = "supported" if right == len(pairs) else "undecided"
    if wrong or (pairs.equivalent & ~pairs.counts).all():
        verdict = "contradicted"
    return Part(case, verdict, f"{least_and_most(pairs)} points, {right} of {len(pairs)} count; {seeds} starts", seeds)


def small_lam_hurts(model: str):
    """Small λ against each λ ≥ 10: a case for each column and small λ."""

    def parts(tables: Tables) -> Iterator[Part]:
        for name, found in columns_of(tables, model):
            if found is None:
                yield not_made(name)
                continue
            for lam in (0.001, 1.0):
                pairs = found.pairs[(found.pairs.lam == lam) & (found.pairs.against >= LARGE)]
                yield worse_at(f"{name}, λ = {lam:g}", pairs, found.seeds)

    return parts


for model, name, said in (
    ("DP", "small_lam_is_worse", "With dot-product attention a small λ (1 or 0.001) gives worse results."),
    ("DP-A", "lam_is_crucial_with_affine", "A proper λ is crucial for the model with an affine layer, too."),
    ("DP-L", "lam_is_crucial_with_lstm", "A proper λ is crucial for the model with an LSTM, too."),
):
    claim("5", said, REAL, LOST, name)(small_lam_hurts(model))


@claim("5", "The best results may be obtained with a proper λ.", REAL,
       "whether the λ that is best on dev data counts against every other from 10 on, on test data")  # fmt: skip
def proper_lam_is_best(tables: Tables) -> Iterator[Part]:
    verdicts = {"real": "supported", "illusion": "contradicted", "undecided": "undecided"}
    for name, found in columns_of(tables, "DP"):
        if found is None:
            yield not_made(name)
            continue
        large = found.pairs[found.pairs.lam >= LARGE]
        rivals = large[(large.lam == found.best) | (large.against == found.best)]
        turned = rivals.against != found.best
        ahead = rivals.assign(
            points=rivals.points.mask(turned, -rivals.points),
            low=rivals.low.mask(turned, -rivals.high),
            high=rivals.high.mask(turned, -rivals.low),
        )
        told = f"best on dev: λ = {found.best:g}; {least_and_most(ahead)} points before the others"
        yield Part(name, verdicts[found.optimum], f"{told}; {found.seeds} starts", found.seeds)


def splits_compared(tables: Tables) -> pd.DataFrame:
    """λ = 10,000 against the others from 10 on, over the splits of 20News II that are stored: a row each.

    Columns: lam, points, low, high (:func:`columns.over_splits`), "p" (Holm), equivalent, splits. Empty without enough.
    """
    runs = tables("splits", dataset="20news-2", model="DP")
    by_lam = runs.pivot(index="options", columns="lam", values="test_accuracy").dropna() if len(runs) else runs
    if len(by_lam) < rules.LEAST_SEEDS or HUGE not in by_lam:
        return pd.DataFrame()
    counts = tables("data_counts", dataset="20news-2", table="1").set_index("what").ours
    train, test = (counts[counts.index.str.startswith(split)].sum() for split in ("train", "test"))
    rows, p_values = [], []
    for value in (value for value in by_lam if LARGE <= value < HUGE):
        points = 100 * (by_lam[HUGE] - by_lam[value]).to_numpy()
        mean, low, high, n = over_splits(points, test / train)
        inner = over_splits(points, test / train, 1 - 2 * rules.SIGNIFICANCE)  # two one-sided tests
        equal = max(-inner.low, inner.high) < 100 * rules.EQUIVALENCE_MARGIN
        rows.append({"lam": value, "points": mean, "low": low, "high": high, "equivalent": equal, "splits": n})
        p_values.append(p_over_splits(points, test / train))
    return pd.DataFrame(rows).assign(p=rules.holm(p_values))


def on_other_splits(tables: Tables) -> Part:
    """Contradicted if λ = 10,000 is the worse one of some pair, beyond chance for all pairs together."""
    case, found = "20News II, DP, other splits", splits_compared(tables)
    if not len(found):
        return not_made(case)
    worst = found.assign(strength=2 * found.points / (found.high - found.low)).sort_values("strength").iloc[0]
    counts = (found.p < rules.SIGNIFICANCE) & (found.points < 0)
    verdict = "contradicted" if counts.any() else "supported" if found.equivalent.all() else "undecided"
    told = "; ".join(f"{interval_of(row)} points against {row.lam:g}" for _, row in found.iterrows())
    n = int(worst.splits)
    told = f"{told}; {counts.sum()} of {len(found)} count, {n} splits"
    return Part(case, verdict, told, n, worst.strength, worst.points, worst.low, worst.high)


@claim("5", "A very large λ does not seem to have a significant impact on accuracy.", REAL,
       "λ = 10,000 against the others from 10 on: equivalent to all of them; over other splits the difference of each "
       "split, with an interval for splits that overlap, p-values corrected",
       instead="Where it is clearest ({case}), λ = 10,000 costs {size} points against another λ.")  # fmt: skip
def huge_lam_is_harmless(tables: Tables) -> Iterator[Part]:
    for name, found in columns_of(tables, "DP"):
        if found is None:
            yield not_made(name)
            continue
        pairs = found.pairs[(found.pairs.against == HUGE) & (found.pairs.lam >= LARGE)]
        verdict = "supported" if pairs.equivalent.all() else "contradicted" if pairs.counts.any() else "undecided"
        equal = f"{pairs.counts.sum()} of {len(pairs)} count, equivalent: {pairs.equivalent.sum()}"
        yield Part(name, verdict, f"{least_and_most(pairs)} points, {equal}; {found.seeds} starts", found.seeds)
    yield on_other_splits(tables)


def as_printed(table: str):
    """Counts of Table 1 or S1, a case for each data set: supported where none differs."""

    def parts(tables: Tables) -> Iterator[Part]:
        for key, title in PAPER_NAMES.items():
            rows = tables("data_counts", dataset=key, table=table)
            if not len(rows):
                yield not_made(title)
                continue
            other = rows[rows.ours != rows.published]
            told = "; ".join(f"{row.what} {row.ours:,}, printed {row.published:,}" for row in other.itertuples())
            found = f"{len(rows) - len(other)} of {len(rows)} counts as printed" + (f"; not {told}" if told else "")
            yield Part(title, "contradicted" if len(other) else "supported", found, len(rows))

    return parts


claim("5", "The data sets have the sizes of Table 1.", "09_datasets#four-data-sets", "counts that differ", "table_1")(
    as_printed("1")
)


@claim("5", "The data sets are balanced (Table 1).", "09_datasets#four-data-sets",
       f"whether the smallest class of each split lacks less than a fifth ({SMALL:g}) of the largest")  # fmt: skip
def balanced(tables: Tables) -> Iterator[Part]:
    for key, title in PAPER_NAMES.items():
        rows = tables("data_counts", dataset=key, table="1")
        rows = rows[rows.what.str.contains(", ")] if len(rows) else rows
        if not len(rows):
            yield not_made(title)
            continue
        classes = rows.groupby(rows.what.str.split(", ").str[0]).ours
        lacks = (1 - classes.min() / classes.max()).sort_values(ascending=False)
        told = ", ".join(f"{split} {share:.0%}" for split, share in lacks.items())
        yield Part(title, "supported" if lacks.max() < SMALL else "contradicted", f"lacking: {told}", len(rows))


@claim("5", "Test accuracies are those of Table 2.", "12_lambda#the-table-with-its-noise",
       "cells whose mean lies farther from the printed value than the rules allow")  # fmt: skip
def table_2(tables: Tables) -> Iterator[Part]:
    printed = published("table2").set_index(["dataset", "model", "scaling_factor"]).sort_index()
    printed = printed.test_accuracy_percent / 100
    runs = tables("table2")
    for key, title in PAPER_NAMES.items():
        for model in ("DP", "DP-A", "AD", "DP-L"):
            rows = runs[(runs.dataset == key) & (runs.model == model)] if len(runs) else runs
            if not is_complete(rows):
                yield not_made(f"{title}, {model}")
                continue
            cells, of = rows.groupby("lam").test_accuracy.agg(["mean", "size"]), printed[title, model]
            missed = [lam for lam, mean in cells["mean"].items() if rules.misses_published(lam, mean, of[lam])]
            found = f"{len(cells) - len(missed)} of {len(cells)} cells within the margin"
            apart = {lam: 100 * (rows[rows.lam == lam].test_accuracy.to_numpy() - of[lam]) for lam in missed}
            if missed:
                by = {lam: with_interval(*rules.interval(points)[:3]) for lam, points in apart.items()}
                found += "; not " + "; ".join(f"λ = {lam:g} by {points} points" for lam, points in by.items())
            n = int(cells["size"].min())
            yield Part(f"{title}, {model}", "contradicted" if missed else "supported", f"{found}; {n} starts", n)
