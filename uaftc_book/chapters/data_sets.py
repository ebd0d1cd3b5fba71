"""Chapter A_data_sets: Equation 28, and the counts of Tables 1 and S1."""

from __future__ import annotations

from collections.abc import Iterator

from uaftc_book.cases import SMALL, Part, Tables
from uaftc_book.claims import reading
from uaftc_book.equations import Equality, equation
from uaftc_book.random_models import Case
from uaftc_book.readings import not_made
from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset
from uaftc_lib.datasets.synthetic import synthetic
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.locations import PAPER_NAMES, published
from uaftc_lib.scores import examined_types
from uaftc_lib.token_lists import association, class_frequencies, token_types


def _small_data_one(case: Case) -> Dataset:
    return synthetic("synthetic-1", seed=case.seed, class_sizes=(600, 600), neutral_types=100)


def _open_intervals(case: Case) -> Equality:
    # Every polarity token of Data I has γ = ±1 exactly: open intervals find none of the hundred.
    data = _small_data_one(case)
    gamma = association(data.train, data.vocabulary)
    counts = class_frequencies(data.train, data.vocabulary)
    positive = (gamma > 0.5) & (gamma < 1) & (counts[:, 1] > 5)
    negative = (gamma > -1) & (gamma < -0.5) & (counts[:, 0] > 5)
    return Equality([positive.sum(), negative.sum()], [50, 50])


@equation(
    28,
    "γ, the association of a token with a class",
    "misprinted",
    printed=_open_intervals,
    correction="the intervals are half-open: (0.5, 1] and [−1, −0.5); the frequencies are token counts, not documents",
    standing="defined",
)
def _(case: Case):
    data = _small_data_one(case)
    found = token_types(data.train, data.vocabulary)
    return Equality([len(found["positive"]), len(found["negative"])], [50, 50])


@experiment(jobs_over(dataset=PAPER_NAMES))
def data_counts(dataset: str) -> list[dict]:
    """Tables 1 and S1: what is counted in a data set, beside what is printed."""
    data = load_dataset(dataset)
    printed, listed = (
        table[table.dataset == PAPER_NAMES[dataset]] for table in map(published, ("table1", "token_types"))
    )
    counts = {
        ("1", f"{split}, {name}"): int((corpus.labels == k).sum())
        for split, corpus in data.splits.items()
        for k, name in enumerate(data.classes)
    }
    tokens, texts = sum(len(c.tokens) for c in data.splits.values()), sum(map(len, data.splits.values()))
    counts |= {("1", "average length"): round(tokens / texts), ("1", "vocabulary"): len(data.vocabulary)}
    counts |= {("S1", name): len(ids) for name, ids in examined_types(data).items()}
    said = {("1", f"{row['split']}, {row['class']}"): row["count"] for _, row in printed.iterrows()}
    said |= {
        ("1", "average length"): printed["average_length"].iloc[0],
        ("1", "vocabulary"): printed["vocabulary"].iloc[0],
    }
    said |= {("S1", row["token_type"]): row["count"] for _, row in listed.iterrows()}
    return [{"table": t, "what": what, "ours": ours, "published": said[t, what]} for (t, what), ours in counts.items()]


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


reading(as_printed("1"), "table_1")
reading(as_printed("S1"), "table_S1")


@reading
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
