"""The record that accompanies every result."""

import json
from datetime import UTC, datetime

import torch

import uaftc_lib
from uaftc_lib.experiments.provenance import provenance


def test_provenance_names_versions_machine_and_day():
    record = provenance()
    assert list(record) == ["version", "python", "torch", "numpy", "machine", "cores", "date"]
    assert record["version"] == uaftc_lib.__version__
    assert record["torch"] == torch.__version__
    assert record["cores"] >= 1
    assert record["machine"].strip()
    assert abs((datetime.now(UTC).date() - datetime.fromisoformat(record["date"]).date()).days) <= 1
    assert json.loads(json.dumps(record)) == record
