"""Chapter 12_lambda: the columns of Table 2, every pair of λ compared by the rules, and what Section 5 says of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from uaftc_book import rules
from uaftc_book.cases import OPEN, Part, Tables, contrast
from uaftc_book.chapters.lam import frames  # noqa: F401  (registers its experiment)
from uaftc_book.chapters.lam.columns import LARGE, Column, compare_lams, holm, over_splits, p_over_splits
from uaftc_book.chapters.lam.contrasts import SMALL_LAMS, cost_of_huge, cost_of_small, harmlessness
from uaftc_book.claims import reading
from uaftc_book.readings import HUGE, not_made
from uaftc_book.wording import short, with_interval
from uaftc_lib.locations import PAPER_NAMES, published
from uaftc_lib.settings import PAPER_MODELS

LAMS = 7  # of a whole column
ALLOWED_OUTSIDE = 2  # so many of seven lie outside 95 % prediction intervals by chance in 4 % of the columns


def is_complete(rows: pd.DataFrame) -> bool:
    """Whether a column of Table 2 has every λ, with at least two seeds each."""
    made = rows.groupby("lam").seed.nunique() if len(rows) else ()
    return len(made) == LAMS and bool(made.min() > 1)


def columns_of(
    tables: Tables, model: str, datasets: Iterable[str] = tuple(PAPER_NAMES)
) -> Iterator[tuple[str, Column | None]]:
    """The columns of Table 2 of a model with their names; None where one is not complete yet."""
    known = tables.compared
    runs = tables("table2")
    for key in datasets:
        title = PAPER_NAMES[key]
        if (key, model) not in known:
            rows = runs[(runs.dataset == key) & (runs.model == model)] if len(runs) else runs
            known[key, model] = compare_lams(rows) if is_complete(rows) else None
        yield f"{title}, {model}", known[key, model]


def by_vote(pairs: pd.DataFrame) -> str:
    """The test that was registered first, beside: in how many pairs the majority of the seeds differs beyond chance."""
    return f" (pairs that count by vote: {pairs.counts.sum()} of {len(pairs)})"


def small_lam_hurts(model: str):
    """Small λ against the mean of all λ ≥ 10: a case for each column and small λ."""

    def parts(tables: Tables) -> Iterator[Part]:
        for name, found in columns_of(tables, model):
            if found is None:
                yield not_made(name)
                continue
            for lam in SMALL_LAMS:
                pairs = found.pairs[(found.pairs.lam == lam) & (found.pairs.against >= LARGE)]
                yield contrast(f"{name}, λ = {lam:g}", cost_of_small(found, lam), by_vote(pairs))

    return parts


reading(small_lam_hurts("DP"), "small_lam_is_worse")
reading(small_lam_hurts("DP-A"), "lam_is_crucial_with_affine")
reading(small_lam_hurts("DP-L"), "lam_is_crucial_with_lstm")


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
    return pd.DataFrame(rows).assign(p=holm(p_values))


def on_other_splits(tables: Tables) -> Part:
    """Contradicted if λ = 10,000 is the worse one of some pair, beyond chance for all pairs together."""
    case, found = "20News II, DP, other splits", splits_compared(tables)
    if not len(found):
        return not_made(case)
    worst = found.assign(strength=2 * found.points / (found.high - found.low)).sort_values("strength").iloc[0]
    counts = (found.p < rules.SIGNIFICANCE) & (found.points < 0)
    verdict = "contradicted" if counts.any() else "supported" if found.equivalent.all() else "undecided"
    against = ((with_interval(row.points, row.low, row.high), row.lam) for row in found.itertuples())
    told = "; ".join(f"{points} points against {lam:g}" for points, lam in against)
    n = int(worst.splits)
    told = f"{told}; {counts.sum()} of {len(found)} count, {n} splits"
    return Part(case, verdict, told, n, worst.strength, worst.points, worst.low, worst.high)


@reading
def proper_lam_is_best(tables: Tables) -> Iterator[Part]:
    for name, found in columns_of(tables, "DP"):
        if found is None:
            yield not_made(name)
            continue
        told = f"; best on dev: λ = {found.moderate_best:g}; as an optimum among all from 10 on: {found.optimum}"
        yield contrast(name, cost_of_huge(found), told)


@reading
def huge_lam_is_harmless(tables: Tables) -> Iterator[Part]:
    for name, found in columns_of(tables, "DP"):
        if found is None:
            yield not_made(name)
            continue
        pairs = found.pairs[(found.pairs.against == HUGE) & (found.pairs.lam >= LARGE)]
        cost = cost_of_huge(found)
        told = f"; it costs {with_interval(*rules.crossed(100 * cost)[:3])} points{by_vote(pairs)}"
        yield contrast(name, harmlessness(cost, found), told)
    yield on_other_splits(tables)


@reading
def table_2(tables: Tables) -> Iterator[Part]:
    printed = published("table2").set_index(["dataset", "model", "scaling_factor"]).sort_index()
    printed = printed.test_accuracy_percent / 100
    runs = tables("table2")
    for key, title in PAPER_NAMES.items():
        for model in PAPER_MODELS:
            rows = runs[(runs.dataset == key) & (runs.model == model)] if len(runs) else runs
            if not is_complete(rows):
                yield not_made(f"{title}, {model}")
                continue
            of = printed[title, model]
            further = {lam: rules.further_run(cell.test_accuracy.to_numpy()) for lam, cell in rows.groupby("lam")}
            outside = [lam for lam, run in further.items() if not run.low <= of[lam] <= run.high]
            found = f"{len(further) - len(outside)} of {len(further)} printed values are as one further run could be"
            if outside:
                apart = (f"{short(100 * (further[lam].mean - of[lam]))} at λ = {lam:g}" for lam in outside)
                found += f"; ours less print, in points: {', '.join(apart)}"
            n = min(run.n for run in further.values())
            verdict = "contradicted" if len(outside) >= ALLOWED_OUTSIDE else "supported"
            if verdict == "supported" and n < rules.LEAST_SEEDS:  # a wide interval holds anything
                verdict, found = OPEN, f"{found}; {rules.LEAST_SEEDS} seeds are needed"
            yield Part(f"{title}, {model}", verdict, f"{found}; {n} seeds", n)
