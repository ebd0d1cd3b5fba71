"""What ``uaftc train`` prints and keeps of a run."""

from __future__ import annotations

import io
import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from uaftc_lib import files
from uaftc_lib.experiments.cells import TABLES, Cell
from uaftc_lib.settings import model_arguments

if TYPE_CHECKING:  # whoever made a mistake need not wait for torch
    from uaftc_lib.models import AttentionClassifier
    from uaftc_lib.training import Run


def as_percent(accuracy: float) -> str:
    """An accuracy in percent, or a dash where there is none."""
    return "-" if math.isnan(accuracy) else f"{100 * accuracy:.1f} %"


def keep_run(out: Path, cell: Cell, told: dict, run: Run, classifier: AttentionClassifier) -> None:
    """Write what was asked for, what came out and where: as JSON, or with the parameters as a torch file."""
    from uaftc_lib.experiments.provenance import provenance

    asked = asdict(cell) | {name: cell.table(name) for name in TABLES} | model_arguments(cell.model)
    sizes = {"vocabulary_size": len(classifier.embedding), "classes": classifier.classes}
    results = {name: getattr(run, name) for name in ("dev_accuracy", "test_accuracy", "best_epoch")}
    record = asked | sizes | told | results | provenance() | {"history": run.history.to_dict("records")}
    record = json.loads(json.dumps(record), parse_constant=lambda _: None)  # JSON has no nan
    if out.suffix == ".json":
        files.write(out, json.dumps(record, indent=1) + "\n")
    else:
        import torch

        content = io.BytesIO()
        torch.save({"record": record, "parameters": classifier.state_dict()}, content)
        files.write(out, content.getvalue())
    click.echo(f"{'written to':14}{out}")
