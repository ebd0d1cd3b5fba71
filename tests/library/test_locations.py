"""Where data and results live, streams of random numbers, published values, records, progress bars."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch
from tqdm.notebook import tqdm_notebook

import uaftc_lib
from uaftc_lib import locations, progress, published, results_folder
from uaftc_lib.experiments.provenance import provenance
from uaftc_lib.locations import data_home
from uaftc_lib.progress import progress_bar
from uaftc_lib.streams import PURPOSES, generator, stream_seed


def test_data_home(monkeypatch, tmp_path):
    monkeypatch.setenv("UAFTC_DATA", str(tmp_path))
    assert data_home() == tmp_path
    assert data_home(tmp_path / "other") == tmp_path / "other"
    assert data_home("~/x") == Path.home() / "x"
    monkeypatch.delenv("UAFTC_DATA")
    assert data_home().name == "uaftc"


def test_results_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("UAFTC_RESULTS", raising=False)
    assert results_folder() == Path(locations.__file__).parents[1] / "book" / "results"
    monkeypatch.chdir(tmp_path)
    assert results_folder().parent.parent == Path(locations.__file__).parents[1]
    monkeypatch.setenv("UAFTC_RESULTS", str(tmp_path))
    assert results_folder() == tmp_path
    assert results_folder(tmp_path / "other") == tmp_path / "other"
    with pytest.raises(NotADirectoryError, match="the results folder .*other is not there"):
        results_folder(tmp_path / "other", existing=True)


def test_results_folder_outside_a_checkout(monkeypatch, tmp_path):
    monkeypatch.delenv("UAFTC_RESULTS", raising=False)
    monkeypatch.setattr(locations, "__file__", str(tmp_path / "uaftc_lib" / "locations.py"))
    with pytest.raises(FileNotFoundError, match="name a results folder, or set UAFTC_RESULTS"):
        results_folder()


def test_published_tables():
    table = published("table2")
    best = table.query("dataset == 'SST' and model == 'DP'")["test_accuracy_percent"].max()
    assert best == 82.2
    with pytest.raises(ValueError, match="no published table 'table3'; there are .*table1, table2"):
        published("table3")


@pytest.mark.usefixtures("global_generators_untouched")
def test_streams_are_separate_and_repeatable():
    seeds = {(seed, purpose): stream_seed(seed, purpose) for seed in range(20) for purpose in PURPOSES}
    assert len(set(seeds.values())) == len(seeds)
    assert all(0 <= value < 2**63 for value in seeds.values())
    assert generator(3, "order").initial_seed() == seeds[3, "order"]


@pytest.mark.parametrize(
    "seed, purpose, words",
    [
        (-1, "order", "seed must be a whole number, at least 0, got -1"),
        (0.5, "order", "seed must be a whole number"),
        (True, "order", "got True"),
        (None, "order", "got None"),
        (0, "lottery", f"purpose must be one of {', '.join(PURPOSES)}, got 'lottery'"),
    ],
)
def test_streams_refuse(untyped, seed, purpose, words):
    with pytest.raises(ValueError, match=words):
        stream_seed(seed, purpose)


# --- the record that accompanies every result


def test_provenance_names_versions_machine_and_day():
    record = provenance()
    assert list(record) == ["version", "python", "torch", "numpy", "machine", "cores", "date"]
    assert record["version"] == uaftc_lib.__version__
    assert record["torch"] == torch.__version__
    assert record["cores"] >= 1
    assert record["machine"].strip()
    assert abs((datetime.now(UTC).date() - datetime.fromisoformat(record["date"]).date()).days) <= 1
    assert json.loads(json.dumps(record)) == record


# --- progress bars can be silenced, also in notebooks


@pytest.mark.parametrize("value, silent", [("1", True), ("true", True), ("", False), ("0", False)])
@pytest.mark.parametrize("terminal, kind", [(True, "xterm"), (True, "dumb"), (False, "xterm")])
def test_a_bar_is_for_terminals_and_the_environment_silences_it(monkeypatch, capsys, value, silent, terminal, kind):
    monkeypatch.setenv("TQDM_DISABLE", value)
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    silent = silent or not terminal or kind == "dumb"
    assert list(progress_bar(range(3), desc="counting")) == [0, 1, 2]
    assert ("counting" not in capsys.readouterr().err) == silent


def test_the_bar_of_a_notebook_is_silenced_too(monkeypatch, capsys):
    monkeypatch.setattr(progress, "tqdm", tqdm_notebook)
    assert progress.can_show(), "a notebook is no terminal"
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert list(progress_bar(range(3))) == [0, 1, 2]
    assert not any(capsys.readouterr())
