"""What runs from other initialisations of E say: terms against each other, the law of the gap, verdicts that turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from uaftc_book import contents, rules
from uaftc_book.cases import OPEN, Tables
from uaftc_book.chapters.pretrained.initialisations import INITIALISATIONS
from uaftc_book.claims import CLAIMS
from uaftc_lib.experiments.registry import stored


def with_shares(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of "far_terms" with the sizes of A to F set against each other, over polar words.

    A of B, D of E: the other score's part in a word's own movement. C of B + C, F of E + F: what W and V brought.
    """
    size = {name: (rows[f"|{name}| positive"] + rows[f"|{name}| negative"]) / 2 for name in "ABCDEF"}
    return rows.assign(
        **{
            "A / B": size["A"] / size["B"],
            "C / (B + C)": size["C"] / (size["B"] + size["C"]),
            "D / E": size["D"] / size["E"],
            "F / (E + F)": size["F"] / (size["E"] + size["F"]),
        }
    )


def means_by_initialisation(rows: pd.DataFrame, columns: Iterable[str], *by: str) -> pd.DataFrame:
    """Means with intervals over seeds: a row for each initialisation (each value of ``by``) and column.

    Of several runs of one seed first the mean is taken: they share their V and W.
    """
    found = []
    for values, some in rows.groupby([*by, "initialisation"], sort=False):
        for name in columns:
            of_seeds = some.groupby("seed")[name].mean()
            told = rules.interval(of_seeds.to_numpy())._asdict()
            found.append(dict(zip([*by, "initialisation"], values)) | {"measure": name} | told)
    return pd.DataFrame(found)


def gap_law(rows: pd.DataFrame) -> pd.DataFrame:
    """How well V₀·(the W that grows) tells the gap in "far_pairs"; by data set, optimizer, λ and initialisation.

    "told": the share of runs in which the gap has its sign, first in each seed; "change told": the same of what
    training added to the initial gap; "V·W tells": that in which the gap has the sign of V·W at the end. "along":
    the gap with the sign of V₀·growing, which −V₀ turns; "besides": the mean gap of V₀ and −V₀, which no V₀·W can
    tell. And correlations (:func:`uaftc_book.rules.correlation_by_seed`).
    """
    sign = np.sign(rows["V₀·growing"])
    rows = rows.assign(change=rows["gap"] - rows["initial gap"], along=sign * rows["gap"], besides=rows["gap"])
    rows["told"] = (sign == np.sign(rows["gap"])).astype(float)
    rows["change told"] = (sign == np.sign(rows["change"])).astype(float)
    rows["V·W tells"] = (np.sign(rows["V·W"]) == np.sign(rows["gap"])).astype(float)
    keys = ("dataset", "optimizer", "lam")
    found = means_by_initialisation(rows, ("told", "change told", "V·W tells", "along", "besides"), *keys).to_dict(
        "records"
    )
    for values, some in rows.groupby([*keys, "initialisation"], sort=False):
        where = dict(zip((*keys, "initialisation"), values))
        for name in ("gap", "change"):
            told = rules.correlation_by_seed(some, name, "V₀·growing")._asdict()
            found.append(where | {"measure": f"{name} with V₀·growing"} | told)
    return pd.DataFrame(found)


def frames_from(initialisation: str) -> dict[str, pd.DataFrame]:
    """The tables that claims read of SST and 20News I, as they are from one initialisation of E."""
    terms = stored("far_terms", initialisation=initialisation, dataset="sst")
    scores = stored("far_scores", initialisation=initialisation, dataset="sst")
    return {
        "sst_scores": scores[scores["lam"].isin((10.0, 100.0))],
        "sst_terms": terms.assign(labels="real", lists="training", moment="epoch"),
        "figure_scores": stored("far_panels", initialisation=initialisation),
    }


def turned_verdicts(frames: Mapping[str, Mapping[str, pd.DataFrame]] | None = None) -> pd.DataFrame:
    """The verdict on every case of a claim that these tables decide, from each initialisation of E.

    Parameters
    ----------
    frames : dict of dicts, optional
        For each initialisation its tables by name; the first is what the others are compared with. Default:
        :data:`INITIALISATIONS`, :func:`frames_from`.

    Returns
    -------
    DataFrame
        claim, case; the verdict from each initialisation, under its name; "turned by", those from which it is another
        than from the first; what was found from each, under "found from" and its name. Empty where one lacks the runs.
    """
    contents.load_chapters()
    frames = frames or {initialisation: frames_from(initialisation) for initialisation in INITIALISATIONS}
    first, found = next(iter(frames)), {}
    for initialisation, those in frames.items():
        tables = Tables(those)
        for claim in CLAIMS.values():
            for part in claim.parts(tables) if claim.kind == "claim" else ():
                if part.verdict != OPEN:
                    row = found.setdefault((claim.name, part.case), {"claim": claim.name, "case": part.case})
                    row |= {initialisation: part.verdict, f"found from {initialisation}": part.found}
    columns = ["claim", "case", *frames, *(f"found from {one}" for one in frames)]
    rows = pd.DataFrame([[row.get(name, "") for name in columns] for row in found.values()], columns=columns)
    others = [one for one in frames if one != first]
    differs = [", ".join(one for one in others if row[one] not in ("", row[first])) for row in rows.to_dict("records")]
    rows.insert(2 + len(frames), "turned by", differs)
    return rows
