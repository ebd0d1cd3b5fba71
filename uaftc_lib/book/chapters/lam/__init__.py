"""Chapter 12_lambda: the columns of Table 2, every pair of λ compared by the rules, and what Section 5 says of them."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from uaftc_lib.book import rules
from uaftc_lib.book.chapters.lam import frames  # noqa: F401  (registers its experiment)
from uaftc_lib.book.chapters.lam.columns import LARGE, Column, compare, over_splits, p_over_splits
from uaftc_lib.book.claims import Part, Tables, reading
from uaftc_lib.book.readings import HUGE, not_made
from uaftc_lib.book.wording import with_interval
from uaftc_lib.locations import PAPER_NAMES, published

LAMS = 7  # of a whole column


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


def interval_of(pair: pd.Series) -> str:
    """Points between two λ, with their interval."""
    return with_interval(pair.points, pair.low, pair.high)


def least_and_most(pairs: pd.DataFrame) -> str:
    """The least and the most points between two λ, with their intervals."""
    return " to ".join(interval_of(pairs.loc[row]) for row in (pairs.points.idxmin(), pairs.points.idxmax()))


def carried(case: str, verdict: str, found: str, seeds: int) -> Part:
    """A case of a column of Table 2; with fewer seeds than the rules ask for it is undecided, whatever was found."""
    few = seeds < rules.LEAST_SEEDS
    return Part(case, "undecided" if few else verdict, f"{found}; {seeds} starts{', too few' * few}", seeds)


def worse_at(case: str, pairs: pd.DataFrame, seeds: int) -> Part:
    """The first λ is worse in all pairs, and all count; contradicted if one counts against it or all are equal."""
    right, wrong = (pairs.counts & (pairs.points > 0)).sum(), (pairs.counts & (pairs.points < 0)).sum()
    verdict = "supported" if right == len(pairs) else "undecided"
    if wrong or (pairs.equivalent & ~pairs.counts).all():
        verdict = "contradicted"
    return carried(case, verdict, f"{least_and_most(pairs)} points, {right} of {len(pairs)} count", seeds)


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


@reading
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
        yield carried(name, verdicts[found.optimum], told, found.seeds)


@reading
def huge_lam_is_harmless(tables: Tables) -> Iterator[Part]:
    for name, found in columns_of(tables, "DP"):
        if found is None:
            yield not_made(name)
            continue
        pairs = found.pairs[(found.pairs.against == HUGE) & (found.pairs.lam >= LARGE)]
        verdict = "supported" if pairs.equivalent.all() else "contradicted" if pairs.counts.any() else "undecided"
        equal = f"{pairs.counts.sum()} of {len(pairs)} count, equivalent: {pairs.equivalent.sum()}"
        yield carried(name, verdict, f"{least_and_most(pairs)} points, {equal}", found.seeds)
    yield on_other_splits(tables)


@reading
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
            verdict = "contradicted" if missed else "supported"
            yield carried(f"{title}, {model}", verdict, found, int(cells["size"].min()))
