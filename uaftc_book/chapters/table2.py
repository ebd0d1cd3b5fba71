"""Chapter A_table2: Table 2 cell by cell, beside what is printed; and what Appendix G says of Adam."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from uaftc_book.cases import Tables
from uaftc_book.claims import Cases, reads
from uaftc_book.readings import by_type, lead, least, opposed, rows_of, several


def other_models_on_sst(learner: str) -> Cases:
    """SST at λ = 10 by another optimizer or with another encoder: both scores, in the same form."""

    def of(tables: Tables) -> Iterator[tuple[str, pd.DataFrame]]:
        rows = tables("side_scores", learner=learner)
        if len(rows):
            attention, polarity = (by_type(rows[rows.scores == name], name) for name in ("attention", "polarity"))
            rows = attention.merge(polarity, on="seed")
        yield f"SST, {learner}", rows

    return of


reads(
    "adam_is_similar",
    several(rows_of("Data I", "optimizers_whole", optimizer="adam", lam=10.0), other_models_on_sst("Adam")),
    lambda rows: least(lead(rows), opposed(rows, "polarity")),
)
