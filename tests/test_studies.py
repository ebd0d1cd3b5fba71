"""The settings that the chapters on real text train with; stored tables that come out again; the command."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from uaftc_lib import studies
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.score_studies import table2_cell
from uaftc_lib.studies import computed, main, make, results, rows_of, same_as_stored, same_rows


def test_a_chapter_trains_dp_as_released():
    cell = table2_cell("sst", lam=100, seed=3)
    assert (cell.dataset, cell.model, cell.lam, cell.seed) == ("sst", "DP", 100.0, 3)
    assert (cell.epochs, cell.learning_rate, cell.learning_rate_decay, cell.dropout) == (40, 0.02, 0.001, 0.5)
    assert (cell.dimension, cell.batch_size, cell.penalty, json.loads(cell.options)) == (100, 100, 0.0, {})


def test_a_given_setting_wins_and_the_rest_is_the_tables():
    cell = table2_cell("imdb", "DP-A", epochs=3, penalty=1e-4)
    assert (cell.epochs, cell.penalty) == (3, 1e-4)
    assert (cell.learning_rate, cell.weight_decay) == (0.01, 0.001)


@pytest.mark.parametrize("wrong", [{"model": "BERT"}, {"warmth": 3}, {"epochs": -1}])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError):
        table2_cell("sst", **wrong)


SMALL_DATA_I = {"noise": 0.0, "neutral_types": 100, "lam": 1.0, "seed": 7}
AGAIN = [  # in float64 to the digits that are stored
    ("terms", SMALL_DATA_I, 1e-4),
    ("terms", SMALL_DATA_I | {"lam": 10000.0, "seed": 4}, 1e-4),  # the farthest weight lies below the mean
    ("terms", SMALL_DATA_I | {"neutral_types": 1000, "lam": 10.0, "seed": 3}, 1e-4),
    ("terms", SMALL_DATA_I | {"neutral_types": 1000, "lam": 10.0, "noise": 0.1}, 1e-4),
    ("start_terms", {"embedding_range": 1.0, "weight_range": 0.1, "seed": 3}, 1e-4),
    ("class_terms", {"seed": 3}, studies.TOLERANCE),
    ("affine_terms", {"seed": 3}, studies.TOLERANCE),
]


def changed(stored, column):
    """Stored rows of which one differs in one column: by a letter, by one, or by 5 % of the largest number."""
    rows = stored.copy()
    value, step = rows.loc[0, column], 1
    if isinstance(value, float):
        step = 0.05 * rows[column].abs().max() or 1.0
    rows.loc[0, column] = f"{value}x" if isinstance(value, str) else value + step
    return rows


@pytest.mark.parametrize(("name", "job", "tolerance"), AGAIN, ids=lambda value: value if isinstance(value, str) else "")
def test_a_stored_row_comes_out_again_in_every_column(name, job, tolerance):
    now, stored = computed(name, job), rows_of(results(name), job)
    assert same_rows(now, stored, tolerance)
    unnoticed = [c for c in now if c not in job and same_rows(now, changed(stored, c), tolerance)]
    assert len(now.columns) > len(job) and not unnoticed


@pytest.mark.parametrize("name", PAPER_NAMES)
def test_stored_counts_are_those_of_the_data(name, dataset):
    dataset(name)
    now, stored = computed("data_counts", {"dataset": name}), rows_of(results("data_counts"), {"dataset": name})
    assert same_rows(now, stored, tolerance=0)
    assert not any(same_rows(now, changed(stored, c), tolerance=0) for c in ("table", "what", "ours", "published"))


@pytest.mark.parametrize("learner", ["Adam", pytest.param("GRU", marks=pytest.mark.long)])
def test_a_start_of_the_side_columns_comes_out_again(learner, dataset):
    dataset("sst")
    assert same_as_stored("side_scores", learner=learner, seed=3)


def test_rows_are_the_same_in_words_number_and_columns_or_not():
    rows = pd.DataFrame({"kind": ["a", "b"], "value": [1.0, 100.0], "open": [np.nan, 2.0], "never": [np.nan, np.nan]})
    assert same_rows(rows, rows) and same_rows(rows, rows.assign(seconds=3.0, machine="any"))
    assert same_rows(rows, rows.assign(value=[2.9, 100.0])) and not same_rows(rows, rows.assign(value=[3.1, 100.0]))
    for other in (
        rows.assign(kind=["a", "c"]),
        rows.assign(value=[np.nan, 100.0]),
        rows.assign(open=[2.0, 2.0]),
        rows.assign(stale=1.0),
        rows.drop(columns="value"),
    ):
        assert not same_rows(rows, other) and not same_rows(other, rows)
    equal = pd.DataFrame({"value": [1.0, 1.0]})
    assert not same_rows(equal, equal[:1]) and not same_rows(equal[:1], equal)


def test_of_a_run_with_another_best_epoch_the_beginning_is_compared():
    rows = pd.DataFrame({"early loss": [0.6], "best_epoch": [15], "test_accuracy": [0.8]})
    late = rows.assign(test_accuracy=0.7)
    assert not same_rows(rows, late)
    assert same_rows(rows, late.assign(best_epoch=16))
    assert not same_rows(rows, late.assign(**{"best_epoch": 16, "early loss": 0.7}))


def toy(lam: float, seed: int) -> list[dict]:
    """A study that takes no time.

    Not told in the help.
    """
    toy.calls += 1
    return [{"kind": kind, "value": lam + seed} for kind in ("a", "b")]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A folder with the complete table of a study of three jobs, which is the only one."""
    folder = tmp_path / "results"
    monkeypatch.setenv("UAFTC_RESULTS", str(folder))
    monkeypatch.setattr(studies, "STUDIES", {"toy": (toy, [{"lam": 1.0, "seed": seed} for seed in range(3)])})
    toy.calls = 0
    assert len(make("toy")) == 6 and toy.calls == 3
    return folder


def test_over_a_complete_table_the_command_says_that_it_computes_nothing(store, capsys):
    before = (store / "toy.csv").read_bytes()
    main(["toy", "toy"])
    told = capsys.readouterr().out
    assert (
        told == f"toy: 0 of 3 jobs computed, 6 rows in {store / 'toy.csv'}; --out FOLDER makes it anew, and compares\n"
    )
    assert toy.calls == 3 and (store / "toy.csv").read_bytes() == before


def test_a_table_is_made_anew_in_another_folder_and_compared(store, tmp_path, capsys):
    stored = results("toy").assign(value=lambda table: table["value"].where(table["seed"] != 1, 2.5))
    stored.to_csv(store / "toy.csv", index=False)
    before, out = (store / "toy.csv").read_bytes(), tmp_path / "a" / "new"
    main(["--out", str(out)])
    assert capsys.readouterr().out == (
        f"toy: 3 of 3 jobs computed, 6 rows in {out / 'toy.csv'}; 2 of 3 jobs as stored, within 2 %\n"
    )
    assert toy.calls == 6 and (store / "toy.csv").read_bytes() == before
    assert pd.read_csv(out / "toy.csv")["value"].tolist() == [1, 1, 2, 2, 3, 3]
    stored[:4].to_csv(store / "toy.csv", index=False)
    main(["toy", "--out", str(out)])  # goes on where it stopped: nothing is left to do
    assert capsys.readouterr().out == (
        f"toy: 0 of 3 jobs computed, 6 rows in {out / 'toy.csv'}; 1 of 3 jobs as stored, within 2 % (1 not stored)\n"
    )
    assert toy.calls == 6


def test_from_python_too_a_table_goes_on_in_the_folder_that_is_named(store, tmp_path):
    make("toy", tmp_path)[:2].to_csv(tmp_path / "toy.csv", index=False)
    assert toy.calls == 6
    assert make("toy", tmp_path)["value"].tolist() == [1, 1, 2, 2, 3, 3] and toy.calls == 8
    assert len(pd.read_csv(tmp_path / "toy.csv")) == 6


def refused(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        main([*map(str, words)])
    told = capsys.readouterr()
    assert stop.value.code == 2 and not told.out and told.err.count("error:") == 1
    return told.err.splitlines()[-1]


def test_what_cannot_be_is_said_in_words_before_anything_is_computed(store, tmp_path, capsys):
    out, file = tmp_path / "none", tmp_path / "file"
    file.write_text("")
    assert "no study 'nosuch'; there are toy" in refused(capsys, "toy", "nosuch", "--out", out)
    assert "another folder than" in refused(capsys, "--out", store / ".." / "results")
    assert "file is none and cannot be made (File exists)" in refused(capsys, "--out", file)
    assert "below is none and cannot be made (Not a directory)" in refused(capsys, "--out", file / "below")
    assert not out.exists()
    out.mkdir()
    for other in (b"", b"\xff\xfe\x00", b"lam,seed\n1,0\n", b"a\n1,2,3\n"):
        (out / "toy.csv").write_bytes(other)
        assert "toy.csv holds something else than the table toy" in refused(capsys, "toy", "--out", out)
        assert (out / "toy.csv").read_bytes() == other
    assert toy.calls == 3


def test_a_folder_that_cannot_be_written_to_is_refused(store, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert "a folder that can be written to, which" in refused(capsys, "--out", tmp_path / "locked")
    assert toy.calls == 3


def test_data_that_cannot_be_had_are_a_line(store, tmp_path, capsys, monkeypatch):
    def offline(seed: int) -> list[dict]:
        """A study of data far away."""
        raise OSError("the data could\nnot be downloaded")

    monkeypatch.setitem(studies.STUDIES, "toy", (offline, [{"seed": 0}]))
    assert refused(capsys, "--out", tmp_path / "new").endswith("error: the data could not be downloaded")


def command(*words):
    return subprocess.run([sys.executable, "-m", "uaftc_lib.studies", *map(str, words)], capture_output=True, text=True)


def test_the_command_helps_and_refuses_a_wrong_name():
    told = command("--help")
    assert told.returncode == 0 and not told.stderr
    listed = told.stdout.split("studies:\n")[1].splitlines()
    assert [line.split()[:2] for line in listed] == [[n, str(len(jobs))] for n, (_, jobs) in studies.STUDIES.items()]
    assert all(len(line.split("jobs  ")[1]) > 20 for line in listed)
    wrong = command("nosuch")
    assert wrong.returncode == 2 and not wrong.stdout and "Traceback" not in wrong.stderr
    assert f"no study 'nosuch'; there are {', '.join(studies.STUDIES)}\n" in wrong.stderr


def test_a_stored_table_comes_out_again_by_its_command(tmp_path):
    told = command("start_terms", "--out", tmp_path)
    assert told.returncode == 0 and "40 of 40 jobs computed" in told.stdout and "40 of 40 jobs as stored" in told.stdout
    assert len(pd.read_csv(tmp_path / "start_terms.csv")) == len(results("start_terms"))
