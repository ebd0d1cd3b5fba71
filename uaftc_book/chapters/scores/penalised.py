"""Does the penalty on V·W cost or gain accuracy on SST? Test text by test text, against the runs of Table 2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from uaftc_book.cases import SMALL, Part, Tables, contrast
from uaftc_book.chapters.lam import columns_of
from uaftc_book.chapters.lam.contrasts import AT_STAKE, cost_of_small
from uaftc_book.claims import reading
from uaftc_book.readings import not_made
from uaftc_book.small_data import SEEDS
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import train_real
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.experiments.sweep import decode_errors, encode_errors


@experiment(jobs_over(lam=(10.0, 100.0), seed=SEEDS), rows=1)
def sst_penalty(lam: float, seed: int) -> list[dict]:
    """SST with a penalty on V·W, as in "sst_scores": which test texts are classified wrongly."""
    dataset = load_dataset("sst")
    model, run = train_real(dataset, lam=lam, penalty=1e-4, seed=seed)
    wrong = (model.predict(dataset.test) != dataset.test.labels).cpu().numpy()
    return [{"test_accuracy": run.test_accuracy, "test_errors": encode_errors(wrong)}]


@reading
def penalty_and_accuracy(tables: Tables) -> Iterator[Part]:
    ((_, found),) = columns_of(tables, "DP", ["sst"])
    for lam in (10.0, 100.0):
        runs = tables("sst_penalty", lam=lam)
        if found is None or len(runs) != found.seeds:
            yield not_made(f"SST, λ = {lam:g}")
            continue
        held = ~np.array([decode_errors(errors, found.instances) for errors in runs.test_errors])
        gained = held - found.right[lam].astype(float)
        yield contrast(f"SST, λ = {lam:g}", SMALL * cost_of_small(found, AT_STAKE) - gained)
