"""Sweeps: resumable after any kill, never a finished cell lost or run twice."""

import json
import multiprocessing
import os
import random
import signal
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, astuple

import numpy as np
import pytest
from cases import uaftc

from uaftc_book.publish import CHECKOUT
from uaftc_lib import AttentionClassifier, fit, load_dataset
from uaftc_lib.experiments import cells as cells_module
from uaftc_lib.experiments import sweep as sweeps
from uaftc_lib.experiments.cells import KEY, Cell, cells_of, load_grid
from uaftc_lib.experiments.registry import stored
from uaftc_lib.experiments.sweep import COLUMNS, MEASURED, decode_errors, encode_errors, estimate, run_cell, sweep

TINY = {
    "dataset": "synthetic-1",
    "model": ["DP", "AD"],
    "lam": [1, 10, 100],
    "seeds": 4,
    "settings": {
        "epochs": 2,
        "dimension": 8,
        "method": "autograd",  # needs no compiled code in each new process
        "options": {"class_sizes": [40, 40], "neutral_types": 30, "polarity_types": 5},
    },
}
SAME_EACH_TIME = [name for name in COLUMNS if name not in ("seconds", "peak_memory", "date")]
CELLS = cells_of(TINY)
fresh = multiprocessing.get_context("forkserver")
fresh.set_forkserver_preload(["uaftc_lib.experiments.sweep", "torch._dynamo"])  # an optimizer imports it, slowly


def results(out):
    return sweeps.sweep_table(out).frame()


def finished(out):
    return sweeps.sweep_table(out).done()


def job(cell):
    """As the store has it."""
    return sweeps.sweep_table("").job(asdict(cell))


def table(out):
    return results(out).sort_values(["seed", "model", "lam"], ignore_index=True)[SAME_EACH_TIME]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("sweep") / "tiny.csv"
    sweep(CELLS, out)
    return out


def test_a_grid_becomes_cells_seed_by_seed():
    assert len(CELLS) == 24 and len(set(CELLS)) == 24
    assert [cell.seed for cell in CELLS] == sorted(cell.seed for cell in CELLS)
    assert {(cell.model, cell.lam) for cell in CELLS[:6]} == {(m, lam) for m in ("DP", "AD") for lam in (1, 10, 100)}
    assert all(cell.epochs == 2 and json.loads(cell.options)["class_sizes"] == [40, 40] for cell in CELLS)


def test_overrides_win_over_columns_and_columns_over_settings():
    grid = TINY | {"column": [{"model": "AD", "learning_rate": 0.5, "seeds": 2}, {"dataset": "sst", "dropout": 0.9}]}
    by_model = {m: [c for c in cells_of(grid) if c.model == m] for m in ("DP", "AD")}
    assert {len(cells) for cells in by_model.values()} == {12, 6}
    assert {c.learning_rate for c in by_model["AD"]} == {0.5} and {c.learning_rate for c in by_model["DP"]} == {0.02}
    assert {c.dropout for c in cells_of(grid)} == {0.0} and {
        c.dropout for c in cells_of(grid, dataset="sst", options={})
    } == {0.9}
    changed = cells_of(grid, model="AD", lam=7, seeds=1, learning_rate=0.1, learning_rates={"V": 0.2})
    assert [(c.lam, c.learning_rate, c.learning_rates) for c in changed] == [(7.0, 0.1, '{"V": 0.2}')]


def test_varied_settings_are_crossed_and_give_way_to_overrides():
    grid = TINY | {"lam": 10, "seeds": 2, "vary": {"dropout": [0, 0.5]}}
    grid["column"] = [{"model": "AD", "vary": {"learning_rate": [0.1, 0.2, 0.3]}}]
    found = {(c.model, c.learning_rate, c.dropout, c.seed) for c in cells_of(grid)}
    assert len(found) == len(cells_of(grid)) == 2 * (2 + 2 * 3)
    assert ("AD", 0.3, 0.5, 1) in found and ("DP", 0.02, 0.0, 0) in found
    assert {c.learning_rate for c in cells_of(grid, model="AD", learning_rate=0.7)} == {0.7}
    with pytest.raises(ValueError, match="rate"):
        cells_of(TINY | {"vary": {"rate": [1]}})


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"rate": 1}, "rate"),
        ({"model": "DQ"}, "DQ"),
        ({"dataset": "nothing"}, "nothing"),
        ({"lam": [0]}, "lam"),
        ({"lam": []}, "names no lam"),
        ({"seeds": 0}, "seeds"),
        ({"dropout": 1.0}, "dropout"),
        ({"epochs": -1}, "epochs"),
        ({"dimension": 0}, "dimension .* at least 1"),
        ({"hidden": 0}, "hidden .* at least 1"),
        ({"lam": "ten"}, "lam must be a finite number above 0, got 'ten'"),
        ({"grid": 3}, "unknown grid"),
        ({"options": {"nope": 1}}, "options: unknown nope; allowed are class_sizes"),
        ({"options": 5}, "options must be a table"),
        ({"options": "foo"}, "options must be a table"),
        ({"options": {"class_sizes": {1}}}, "options cannot be kept"),
        ({"learning_rates": {"Q": 1}}, "learning_rates: unknown Q; allowed are V, W, embedding"),
        ({"learning_rates": [5]}, "learning_rates must be a table"),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_runs(wrong, message, untyped):
    with pytest.raises(ValueError, match=message):
        cells_of(TINY, **wrong)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ("settings = 3", "settings must be a table"),
        ("epochs = 3", "the grid: unknown epochs"),
        ("column = 3", "columns are"),
        ("column = [3]", r"a \[\[column\]\] must be a table"),
        ("[column]\nmodel = 'DP'", "columns are"),
        ("[[column]]\nmodel = 'DPX'", "the model of a .* must be one of DP, .* got 'DPX'"),
        ("[[column]]\ndataset = ['sst', 'SST']", "the dataset of a .* must be one of .* got 'SST'"),
        ("[[column]]\nvary = { rate = [1] }", "vary: unknown rate"),
        ("vary = [1]", "vary must be a table"),
        ("[vary]\ndropout = 0.5", "vary needs a list of values for dropout, got 0.5"),
        ("[vary]\ndropout = []", "vary needs a list"),
        ("[settings", "not TOML"),
    ],
)
def test_a_grid_of_another_shape_is_refused(wrong, message, tmp_path, untyped):
    (tmp_path / "mine.toml").write_text(f"dataset = 'sst'\nmodel = 'DP'\nlam = 10\n{wrong}\n")
    with pytest.raises(ValueError, match=message):
        cells_of(load_grid(tmp_path / "mine.toml"))


def test_what_is_named_twice_runs_once():
    cells = cells_of(TINY, lam=[1, 1.0], seeds=2)
    assert len(cells) == len(set(cells)) == 4
    assert len(cells_of(TINY | {"vary": {"seeds": [1, 2], "dropout": [0.5, 0.5]}})) == 2 * 2 * 3


def test_a_column_may_have_its_own_lams():
    grid = TINY | {"column": [{"model": "AD", "lam": [10, 20]}]}
    assert {(c.model, c.lam) for c in cells_of(grid)} == {("DP", 1), ("DP", 10), ("DP", 100), ("AD", 10), ("AD", 20)}
    assert {(c.model, c.lam) for c in cells_of(grid, lam=3)} == {("DP", 3), ("AD", 3)}


STORED = sorted(file.name[:-5] for file in cells_module.GRIDS.iterdir() if file.name != "quick.toml")


@pytest.mark.parametrize("name", STORED)
def test_every_stored_run_belongs_to_its_grid(name):
    path = CHECKOUT / "book" / "results" / f"{name}.csv"
    assert path.exists(), "a grid of the book has its results beside it"
    there, asked = finished(path), {job(cell) for cell in cells_of(load_grid(name))}
    assert there and not there - asked, "rows that no cell of the grid asks for"


def test_grids_come_by_name_or_from_a_file(tmp_path):
    assert load_grid("quick")["dataset"] == "sst"
    (tmp_path / "mine.toml").write_text('dataset = "sst"\nmodel = "DP"\nlam = [1, 2]\nseeds = 3\n')
    assert len(cells_of(load_grid(tmp_path / "mine.toml"))) == 6
    with pytest.raises(ValueError, match="quick, search, .*splits, table2"):
        load_grid("no such grid")


def test_table2_has_the_papers_112_cells():
    cells = cells_of(load_grid("table2"))
    assert len({(cell.dataset, cell.model, cell.lam) for cell in cells}) == 4 * 4 * 7
    for column in {(cell.dataset, cell.model) for cell in cells}:
        mine = [cell for cell in cells if (cell.dataset, cell.model) == column]
        assert {cell.lam for cell in mine} == {0.001, 1, 10, 20, 50, 100, 10000}
        varied = [KEY.index(name) for name in ("lam", "seed")]
        settings = {tuple(np.delete(np.array(astuple(cell), object), varied)) for cell in mine}
        assert len(settings) == 1, "the same settings for all λ of a column"
        least = {("imdb", "DP-L"): 3, ("imdb", "AD"): 5}.get(column, 5 if "DP-L" in column else 10)
        assert len({cell.seed for cell in mine}) == least


@pytest.mark.data("20news-1")
def test_a_row_tells_what_fit_gives():
    cell = Cell("20news-1", "DP", 10.0, seed=3, epochs=1, dimension=8)
    corpora = load_dataset("20news-1")
    row = run_cell(cell)
    assert set(row) == set(COLUMNS)
    model = AttentionClassifier(len(corpora.vocabulary), 8, seed=3)
    run = fit(model, corpora, cell.training())
    assert (row["dev_accuracy"], row["test_accuracy"]) == (run.dev_accuracy, run.test_accuracy)
    wrong = decode_errors(row["test_errors"], len(corpora.test))
    assert 1 - wrong.mean() == pytest.approx(run.test_accuracy, abs=1e-12)
    assert np.array_equal(wrong, (model.predict(corpora.test) != corpora.test.labels).numpy())
    assert row["peak_memory"] > 2**20 and row["seconds"] > 0


def test_a_run_that_diverges_says_so_and_no_mean_takes_it(tmp_path):
    out = tmp_path / "runs.csv"
    given = {"dataset": "synthetic-1", "epochs": 2, "dimension": 2, "optimizer": "sgd"}
    cells = [Cell(**given, learning_rate=rate) for rate in (0.1, 1e30)]
    found = sweep(cells, out)
    row = dict(zip(COLUMNS, out.read_text().splitlines()[2].split(",")))
    assert [row[name] for name in MEASURED] == ["diverged"] * 3 and row["seconds"] and not row["test_errors"]
    assert found["best_epoch"].isna().tolist() == [False, True] and found["best_epoch"].mean() == 2
    words = ["--dataset", "synthetic-1", "--out", out, "--epochs", 2, "--set", "dimension=2", "--set", "optimizer=sgd"]
    last = uaftc("sweep", *words, "--set", "learning_rate=1e30").stdout.splitlines()[-1]
    assert last == f"2 runs in {out}, 1 of them diverged: no mean takes these", "it is finished, and not run again"


def test_a_grid_has_a_most_number_of_cells():
    with pytest.raises(ValueError, match="the grid has more than 100,000 cells"):
        cells_of({"dataset": "sst", "model": "DP", "lam": [1, 10]}, seeds=60_000)


def test_errors_survive_encoding():
    wrong = np.random.default_rng(0).random(43) < 0.4
    assert np.array_equal(decode_errors(encode_errors(wrong), 43), wrong)


def test_a_second_sweep_repeats_nothing(undisturbed, monkeypatch):
    before = undisturbed.read_bytes()
    monkeypatch.setattr("uaftc_lib.experiments.sweep.run_cell", lambda *args: pytest.fail("a finished cell ran again"))
    sweep(CELLS, undisturbed)
    assert undisturbed.read_bytes() == before
    assert before.count(b"dataset,") == 1 and len(finished(undisturbed)) == 24
    assert list(results(undisturbed).columns) == list(COLUMNS)


def test_killed_ten_times_it_loses_and_repeats_nothing(undisturbed, tmp_path):
    delays, out, lines = random.Random(0), tmp_path / "tiny.csv", 0
    for _ in range(10):
        process = fresh.Process(target=sweep, args=(CELLS, out))
        process.start()
        target = min(lines + delays.choice([0, 1, 2]), len(CELLS) - 1)  # at any moment of the next cell
        while len(finished(out)) < target and process.is_alive():
            time.sleep(0.001)
        time.sleep(delays.random() * 0.02)
        process.kill()
        process.join()
        assert len(finished(out)) >= lines, "a finished cell was lost"
        lines = len(finished(out))
    assert lines > 0, "cells are written when they finish"
    sweep(CELLS, out)
    assert len(results(out)) == len(CELLS) and table(out).equals(table(undisturbed))


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "one line of notes", "dataset,model,lam and more"])
def test_a_file_with_something_else_is_left_alone(tmp_path, text):
    out = tmp_path / "notes.txt"
    out.write_text(text)
    with pytest.raises(ValueError, match="other columns"):
        sweep(CELLS[:1], out)
    with pytest.raises(ValueError, match="other columns"):
        sweeps.sweep_table(out).put([asdict(CELLS[0])])
    assert out.read_text() == text


def test_what_cannot_be_written_is_said_at_once(tmp_path):
    blocked = tmp_path / "blocked.csv"
    blocked.symlink_to(tmp_path / "nowhere" / "blocked.csv")  # as /proc has it, for the superuser too
    with pytest.raises(OSError, match="blocked.csv cannot be written"):
        sweep(CELLS[:1], blocked)


def test_a_killed_worker_costs_only_what_it_was_doing(undisturbed, tmp_path, monkeypatch, capfd):
    """A process is taken away in the middle of its cell, as the system does when memory runs out."""
    mark = tmp_path / "killed"

    def fatal_once(cell, *rest):
        if cell.model == "AD" and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        from uaftc_lib.experiments.sweep import run_cell  # that of the worker, which nothing has replaced

        return run_cell(cell, *rest)

    monkeypatch.setattr("uaftc_lib.experiments.sweep.run_cell", fatal_once)
    sweep(CELLS, tmp_path / "tiny.csv", workers=2)
    assert table(tmp_path / "tiny.csv").equals(table(undisturbed))
    said = capfd.readouterr().err
    assert said.count("a worker process was killed") == 1 and "Traceback" not in said


def test_workers_that_always_die_end_the_sweep_in_words(undisturbed, tmp_path, monkeypatch):
    pools = []

    def dies(cells):
        pools.append(cells)
        if len(pools) == 2:  # between the first two failures a cell is finished
            yield [results(undisturbed).iloc[0].to_dict()]
        raise BrokenProcessPool

    monkeypatch.setattr("uaftc_lib.experiments.store.joblib.Parallel", lambda **_: dies)
    with pytest.raises(OSError, match="killed 3 times, .* fewer workers than 2. 1 jobs are kept"):
        sweep(CELLS, tmp_path / "tiny.csv", workers=2)
    assert len(pools) == 4 and len(results(tmp_path / "tiny.csv")) == 1


def test_a_cluster_runs_it_though_a_worker_is_killed(undisturbed, tmp_path):
    distributed = pytest.importorskip("distributed")
    out = tmp_path / "tiny.csv"
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options, silence_logs=50) as local, distributed.Client(local) as client:
        pids = list(client.run(os.getpid).values())
        process = fresh.Process(target=sweep, args=(CELLS, out), kwargs={"dask": local.scheduler_address})
        process.start()
        while len(finished(out)) < 3 and process.is_alive():
            time.sleep(0.01)
        assert process.is_alive(), "the worker must be killed during the run"
        os.kill(pids[0], signal.SIGKILL)
        process.join(120)
        assert process.exitcode == 0
    assert table(out).equals(table(undisturbed))


def test_the_estimate_counts_what_is_left(undisturbed, tmp_path):
    whole = estimate(CELLS, tmp_path / "none.csv")
    assert whole["runs"].tolist() == [12, 12] and whole["finished"].tolist() == [0, 0]
    assert whole["cells"].tolist() == [3, 3] and (whole["hours"] > 0).all()
    assert estimate(CELLS, undisturbed)["hours"].tolist() == [0, 0]
    more = estimate(cells_of(TINY, seeds=6), undisturbed).set_index("model")
    measured = results(undisturbed).groupby("model")["seconds"].median()
    elsewhere = estimate(cells_of(TINY, seeds=6), undisturbed, "cuda").set_index("model")["hours"]
    assert np.allclose(elsewhere, whole.set_index("model")["hours"] / 2)
    for model in ("AD", "DP"):
        assert more["hours"][model] * 3600 == pytest.approx(6 * measured[model], rel=1e-6)


def test_the_command_plans_runs_and_resumes(tmp_path):
    out = tmp_path / "few.csv"
    words = ["--dataset", "synthetic-1", "--model", "DP,AD", "--lam", "1, 10", "--seeds", 2, "--epochs", 1]
    words += ["--set", "dimension=8", "--set", "options={'class_sizes': [20, 20]}", "--out", out]
    plan = uaftc("sweep", *words, "--dry-run")
    assert plan.exit_code == 0 and "4 cells, 8 runs, 8 of them to do" in plan.output and not out.exists()
    assert uaftc("sweep", *words).exit_code == 0
    rows = results(out)
    assert len(rows) == 8 and set(rows["lam"]) == {1.0, 10.0} and set(rows["epochs"]) == {1}
    before = out.read_bytes()
    assert uaftc("sweep", *words).exit_code == 0 and out.read_bytes() == before
    assert "8 runs, 0 of them to do" in uaftc("sweep", *words, "--dry-run").output


@pytest.mark.parametrize("planned", [[], ["--dry-run"]])
@pytest.mark.parametrize(
    "words",
    [
        ["--grid", ""],
        ["--set", "grid=3"],
        ["--set", "options=5"],
        ["--epochs", "2", "--set", "epochs=3"],
        ["--set", "dropout=0.5", "--set", "dropout=0.1"],
        ["--lam", "0"],
        ["--lam", ""],
        ["--workers", "-2"],
        ["--device", "meta"],
    ],
    ids=" ".join,
)
def test_the_command_refuses_what_it_cannot_do(words, planned, tmp_path, untyped):
    answer = uaftc("sweep", *words, "--out", tmp_path / "none.csv", *planned)
    assert answer.exit_code == 2 and answer.stderr.startswith("uaftc: ") and answer.stderr.count("\n") == 1
    assert not (tmp_path / "none.csv").exists()


def test_runs_without_an_epoch_say_nothing_of_the_time(tmp_path):
    out = tmp_path / "none.csv"
    sweep(cells_of(TINY, model="DP", lam=1, seeds=1, epochs=0), out)
    assert (estimate(CELLS, out)["hours"] > 0).all()


def test_table2_runs_with_what_the_search_found():
    cells, beside = cells_of(load_grid("table2")), cells_of(load_grid("side_columns"))
    searched = ["weight_decay", "learning_rate", "hidden"]
    search = stored("search", CHECKOUT / "book" / "results").groupby(["dataset", "model", *searched])["dev_accuracy"]
    means = search.mean().round(9).reset_index()  # equal up to rounding is equal
    # The best on dev; equal ones are decided for the smaller L2, the rate nearest to 0.02, the smaller LSTM.
    means["detour"] = (means["learning_rate"] - 0.02).abs()
    order = ["dev_accuracy", "weight_decay", "detour", "hidden"]
    ranked = means.sort_values(order, ascending=[False, True, True, True], kind="stable")
    for found in ranked.groupby(["dataset", "model"]).head(1).itertuples():
        group = {"sst": ("sst", "imdb"), "20news-1": ("20news-1", "20news-2")}[found.dataset]
        # The GRU of SST's side columns takes the settings of DP-L.
        models = (
            {found.model: cells, "GRU": beside} if found.model == "DP-L" and "sst" in group else {found.model: cells}
        )
        for model, mine in models.items():
            used = {
                (cell.weight_decay, cell.learning_rate, cell.hidden)
                for cell in mine
                if cell.model == model and cell.dataset in group
            }
            assert used == {(found.weight_decay, found.learning_rate, found.hidden)}
