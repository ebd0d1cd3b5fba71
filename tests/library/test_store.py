"""Stored tables: who resumes makes again what is not whole, who reports refuses it; experiments, and their reader."""

import errno
import multiprocessing
import os
import random
import signal
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cases import uaftc

from uaftc_book import contents
from uaftc_lib.experiments import registry, tables
from uaftc_lib.experiments.provenance import provenance
from uaftc_lib.experiments.registry import EXPERIMENTS, experiment, jobs_over, same_as_stored, same_rows, stored
from uaftc_lib.experiments.store import StoredTable, canonical, fill
from uaftc_lib.experiments.tables import complete, listing, remake, table_names
from uaftc_lib.locations import results_folder

fresh = multiprocessing.get_context("forkserver")
fresh.set_forkserver_preload(["uaftc_lib.experiments.registry"])


def toy(lam: float, seed: int) -> list[dict]:
    """An experiment that takes no time.

    Not told in the list.
    """
    toy.calls += 1
    return [{"kind": kind, "value": lam + seed} for kind in ("a", "b")]


def uneven(lam: float, seed: int) -> list[dict]:
    """An experiment whose jobs have one row, two or three."""
    return [{"epoch": epoch, "loss": lam / (epoch + 1), "said": 'a "word", and more'} for epoch in range(1 + seed % 3)]


toy.calls = 0
JOBS = [{"lam": 10.0, "seed": seed} for seed in range(5)]


@pytest.fixture
def results(tmp_path, monkeypatch):
    """An empty folder of results; the two experiments are the only ones."""
    folder = tmp_path / "results"
    monkeypatch.setenv("UAFTC_RESULTS", str(folder))
    monkeypatch.setattr(registry, "EXPERIMENTS", {})
    experiment(JOBS[:3], rows=2)(toy)
    experiment(JOBS)(uneven)
    toy.calls = 0
    return folder


def made(name):
    """The table of an experiment that has just been made."""
    list(complete([name]))
    return registry.experiment_task(name)[0]


def without_cost(table):
    return stored(table.path.stem, table.path.parent).drop(columns="seconds")


def lacking(name):
    table, work = registry.experiment_task(name)
    return [job for job, _ in work if table.job(job) not in table.done()]


ROWS = {"toy": 2, "uneven": None}  # of each job, where they are known


@pytest.mark.parametrize("name", ROWS)
def test_a_cut_table_is_refused_by_who_reports_and_completed_by_who_resumes(results, name):
    table = made(name)
    content, before = table.path.read_bytes(), without_cost(table)
    rows_of, kept = Counter(map(table.job, table.whole_rows()[1])), {}
    first, unseen = content.index(b"\n") + 1, 0
    for cut in range(first, len(content)):
        table.path.write_bytes(content[:cut])
        rows = kept[cut] = Counter(map(table.job, table.whole_rows()[1]))
        at_a_row = content[:cut].endswith(b"\n")
        if cut == first or not at_a_row or ROWS[name] and (content[:cut].count(b"\n") - 1) % ROWS[name]:
            assert rows.items() <= rows_of.items() and rows.keys() < rows_of.keys(), cut
            with pytest.raises(ValueError, match=f"{name}.csv(, line \\d+| holds no rows)"):
                stored(name)
        else:
            unseen += 1
            assert len(stored(name)) < len(before)
    assert unseen == {"toy": 2, "uneven": 8}[name], "a cut between two jobs, or rows of a job of unknown length"
    for cut in (first, len(content) - 1, *random.Random(0).sample(range(first, len(content)), 8)):
        if not content[:cut].endswith(b"\n"):
            table.path.write_bytes(content[:cut])
            assert lacking(name)
            list(complete([name]))
            assert without_cost(table).sort_values(["seed", *before], ignore_index=True).equals(before), cut


def altered(old, new, line=None):
    """What an editor or a spreadsheet does to a table: a text is exchanged for another, in one line or in all."""

    def alter(text):
        lines = text.splitlines(keepends=True)
        return "".join(one.replace(old, new) if line in (None, number) else one for number, one in enumerate(lines, 1))

    return alter


@pytest.mark.parametrize(
    "alter, message, jobs",
    [
        (lambda text: text[:-1], "line 7 has 11 whole cells for 12 columns", [2]),
        (altered(",a,", ",a,,", 4), "line 4 has 13 whole cells", [0, 1]),
        (altered("10,1,b,11,", "10,1,", 5), "line 5 has 10 whole cells", [1, 2]),
        (lambda text: text + text.splitlines(keepends=True)[1], "line 8 stands there twice", [0]),
        (lambda text: text + "".join(text.splitlines(keepends=True)[1:3]), "line 8 stands there twice", [0]),
        (lambda text: "".join(text.splitlines(keepends=True)[:6]), "line 6 begins a job of 1 rows, not 2", [2]),
        (lambda text: text.splitlines(keepends=True)[0], "holds no rows", [0, 1, 2]),
        (lambda text: text.splitlines(keepends=True)[0].strip(), "holds something else", None),
        (lambda text: "", "holds no rows", [0, 1, 2]),
        (altered(",", ";"), "holds something else than the table toy", None),
        (altered("b,11,", "b,#DIV/0!,"), "line 5: '#DIV/0!' stands among the numbers of value", []),
        (altered("b,11,", 'b,"0,5",'), "line 5: '0,5' stands among the numbers of value", []),
    ],
)
def test_who_reports_refuses_what_is_not_whole_with_file_and_line(results, alter, message, jobs):
    table = made("toy")
    table.path.write_text(alter(table.path.read_text()))
    with pytest.raises(ValueError, match=f"toy.csv(, | ){message}"):
        stored("toy")
    if jobs is None:
        with pytest.raises(ValueError, match=message):
            list(complete(["toy"]))
    else:
        assert [job["seed"] for job in lacking("toy")] == jobs


@pytest.mark.parametrize("alter", [altered("\n", "\r\n"), altered("\n", "\r"), lambda text: "\ufeff" + text + "\n"])
def test_ends_of_lines_and_marks_of_editors_are_read(results, alter):
    table = made("toy")
    before = without_cost(table)
    table.path.write_bytes(alter(table.path.read_text()).encode())
    assert without_cost(table).equals(before) and not lacking("toy")


def test_true_in_capitals_is_true(results):
    @experiment([{"flat": flat} for flat in (True, False)])
    def flags(flat: bool) -> list[dict]:
        """An experiment with a key that is true or false."""
        return [{"value": int(flat)}]

    table = made("flags")
    table.path.write_text(table.path.read_text().replace("True", "TRUE").replace("False", "FALSE"))
    assert not lacking("flags") and stored("flags", flat=True)["value"].tolist() == [1]


def test_a_folder_of_results_that_is_not_there_is_named(results):
    with pytest.raises(NotADirectoryError, match="the results folder .*results is not there"):
        stored("toy")
    done = uaftc("scorecard")
    assert done.exit_code == 2 and f"the results folder {results} is not there" in done.output


def test_what_is_there_keeps_its_text_when_rows_and_columns_are_added(results):
    table = made("toy")
    content = table.path.read_text().replace("10,0,a,10,", "10.0,0,a,1.0e1,")
    table.path.write_text(content)
    assert not lacking("toy"), "10.0 is 10"
    table.put([{"lam": 10, "seed": 9, "kind": "a", "value": np.float64(1) / 3, "more": True} | provenance()] * 2)
    header, *lines = table.path.read_text().splitlines()
    assert header == content.splitlines()[0] + ",more"
    assert lines[:6] == [line + "," for line in content.splitlines()[1:]]
    assert lines[6].startswith("10,9,a,0.333333,") and lines[6].endswith(",True")


def test_jobs_are_compared_by_value():
    assert canonical(10) == canonical(10.0) == canonical("10") == canonical("10.0") == canonical(np.float64(10))
    assert (
        canonical(True) == canonical("True") != canonical(1) and canonical("1:1") == "1:1" and canonical("nan") == "nan"
    )


def fills_and_dies(path):
    """Another process, killed when it has finished two jobs of three and writes the third."""
    fsync, files = os.fsync, iter(range(4))  # a file and its folder, each
    os.fsync = lambda file: fsync(file) if next(files, None) is not None else os.kill(os.getpid(), signal.SIGKILL)
    fill(StoredTable(path, ("seed",)), [({"seed": seed}, lambda: {"value": 1.0}) for seed in range(3)])


def test_what_was_finished_before_a_kill_is_in_the_next_table(tmp_path):
    path = tmp_path / "killed.csv"
    process = fresh.Process(target=fills_and_dies, args=(path,))
    process.start()
    process.join(120)
    table = StoredTable(path, ("seed",))
    assert process.exitcode == -signal.SIGKILL and not path.exists() and len(table.done()) == 2
    assert fill(table, [({"seed": seed}, lambda: {"value": 2.0}) for seed in range(3)]) == 1
    assert table.frame()["value"].tolist() == [1.0, 1.0, 2.0] and {*os.listdir(tmp_path)} <= {
        path.name,
        ".killed.csv.lock",
    }


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("moment", ["os.fsync", "pathlib.Path.replace"])
def test_a_full_disk_leaves_the_table_as_it_was(results, monkeypatch, moment):
    table = made("toy")
    before = table.path.read_bytes()
    registry.EXPERIMENTS["toy"] = registry.EXPERIMENTS["toy"]._replace(jobs=JOBS)
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(moment, full)
        list(complete(["toy"]))
    assert table.path.read_bytes() == before and {*os.listdir(results)} <= {"toy.csv", ".toy.csv.lock", ".toy.csv.jobs"}
    list(complete(["toy"]))
    assert len(table.whole_rows()[1]) == 10 and table.path.read_bytes().startswith(before)


def test_a_second_maker_is_refused_and_the_table_is_made_once(results):
    table, work = registry.experiment_task("toy")
    with table.only_maker(), pytest.raises(OSError, match="another process makes .*toy.csv: wait for it"):
        fill(table, work)
    assert fill(table, work) == 3 and toy.calls == 3


def test_processes_make_the_same_table(results):
    one = without_cost(made("uneven"))
    table, _ = registry.experiment_task("uneven", results / "two")
    assert fill(table, registry.experiment_task("uneven", results / "two")[1], workers=2) == 5
    assert without_cost(table).sort_values(["seed", "epoch"], ignore_index=True).equals(one)


@pytest.mark.parametrize("other", [b"\xff\xfe\x00", b"lam,seed\n1,0\n", b"a\n1,2,3\n", b"one line of notes"])
def test_a_file_that_holds_something_else_is_left_alone(results, other):
    results.mkdir()
    (results / "toy.csv").write_bytes(other)
    for read in (lambda: list(complete(["toy"])), lambda: stored("toy"), lambda: listing()):
        with pytest.raises(ValueError, match="toy.csv holds something else than the table toy"):
            read()
    assert (results / "toy.csv").read_bytes() == other and not toy.calls


def test_a_table_goes_on_where_it_stopped(results):
    results.mkdir()
    with pytest.raises(FileNotFoundError, match="toy.csv is not there: make it with uaftc tables toy --make"):
        stored("toy")
    assert list(complete(["toy", "toy"])) == [f"toy: 3 of 3 jobs computed, 6 rows in {results / 'toy.csv'}"]
    before = (results / "toy.csv").read_bytes()
    assert list(complete(["toy"])) == [
        f"toy: 0 of 3 jobs computed, 6 rows in {results / 'toy.csv'}; --out FOLDER makes it anew, and compares"
    ]
    assert toy.calls == 3 and (results / "toy.csv").read_bytes() == before
    registry.EXPERIMENTS["toy"] = registry.EXPERIMENTS["toy"]._replace(jobs=JOBS)
    list(complete(["toy"]))
    assert toy.calls == 5 and stored("toy", kind="a")["value"].tolist() == [10, 11, 12, 13, 14]
    assert {"seconds", *provenance()} <= set(stored("toy"))
    assert same_as_stored("toy", lam=10.0, seed=2)
    with pytest.raises(ValueError, match="no row"):
        same_as_stored("toy", lam=2.0, seed=2)


def test_a_wrong_stored_row_is_noticed(results):
    table = made("toy")
    table.path.write_text(table.path.read_text().replace("10,1,b,11,", "10,1,b,11.5,"))
    assert same_as_stored("toy", lam=10.0, seed=0) and not same_as_stored("toy", lam=10.0, seed=1)


def test_a_table_is_made_anew_in_another_folder_and_compared(results, tmp_path):
    table = made("toy")
    table.path.write_text(table.path.read_text().replace("10,1,b,11,", "10,1,b,11.5,"))
    before, out = table.path.read_bytes(), tmp_path / "a" / "new"
    before_hand = "toy: 0.0 minutes of one process when its {} jobs were stored"
    assert list(remake(["toy"], out)) == [
        before_hand.format(3),
        f"toy: 3 of 3 jobs computed, 6 rows in {out / 'toy.csv'}; 2 of 3 jobs as stored, within 2 %",
    ]
    assert toy.calls == 6 and table.path.read_bytes() == before
    table.path.write_bytes(b"".join(before.splitlines(keepends=True)[:5]))
    assert list(remake(["toy"], out)) == [  # goes on where it stopped: nothing is left to do
        before_hand.format(2),
        f"toy: 0 of 3 jobs computed, 6 rows in {out / 'toy.csv'}; 1 of 3 jobs as stored, within 2 % (1 not stored)",
    ]
    assert toy.calls == 6


@pytest.mark.parametrize("minutes, jobs", [(0.0, [1]), (1.5, [1]), (2.5, [1, 2]), (99.0, [1, 2, 0])])
def test_a_sample_is_of_the_quickest_jobs(results, tmp_path, minutes, jobs):
    table, took = made("toy"), {0: 90.0, 1: 60.0, 2: 75.0}
    rows = table.frame().assign(seconds=lambda rows: rows.seed.map(took))
    rows.to_csv(table.path, index=False)
    sampled = tables.jobs_of_least_time("toy", registry.experiment_task("toy")[1], minutes)
    assert [job["seed"] for job, _ in sampled] == jobs
    told = list(remake(["toy"], tmp_path / "some", minutes=minutes))
    assert told[0].startswith("toy: 3.8 minutes")
    assert told[0].endswith(
        f"; of these {len(jobs)}, which took {sum(took[job] for job in jobs) / 60:.1f} minutes of one process"
    )
    assert f"{len(jobs)} of {len(jobs)} jobs as stored" in told[1]


def test_a_sample_begins_with_the_quickest_job_of_each_variant(monkeypatch, tmp_path):
    table, took = StoredTable(tmp_path / "toy.csv", ("model", "seed")), [30.0, 20.0, 70.0, 60.0]
    work = [({"model": "AD" if seed > 1 else "DP", "seed": seed}, None) for seed in range(4)]
    table.put([job | {"seconds": took[job["seed"]]} | provenance() for job, _ in work])
    monkeypatch.setattr(tables, "task", lambda name: (table, work))
    assert [job["seed"] for job, _ in tables.jobs_of_least_time("toy", work, 1.9)] == [1, 3, 0]


@pytest.mark.parametrize("took, jobs", [({0: 90.0, 1: 60.0}, [1, 0]), ({}, [0])])
def test_a_job_of_unknown_time_counts_as_the_longest(results, tmp_path, took, jobs):
    table = made("toy")
    table.frame().assign(seconds=lambda rows: rows.seed.map(took)).to_csv(table.path, index=False)
    sampled = tables.jobs_of_least_time("toy", registry.experiment_task("toy")[1], 99.0)
    assert [job["seed"] for job, _ in sampled] == jobs
    announced = "at least 2.5 minutes of one process" if took else "an unknown time (it is not stored)"
    assert next(remake(["toy"], tmp_path, minutes=99.0)).startswith(f"toy: {announced} when its 3 jobs were stored")


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda out: remake(["toy", "nosuch"], out / "new"), "no table 'nosuch'; there are toy, uneven, further_"),
        (lambda out: remake([], out / "results" / ".." / "results"), "another folder than"),
        (lambda out: complete(["benchmarks"]), "benchmarks is made by make bench"),
        (lambda out: complete(["toy"], workers=0), "workers must be a whole number, at least 1"),
        (lambda out: remake(["toy"], out / "file"), "cannot be written to .*File exists"),
        (lambda out: remake(["toy"], out / "file" / "below"), "cannot be written to .*Not a directory"),
    ],
)
def test_what_cannot_be_is_said_in_words_before_anything_is_computed(results, tmp_path, call, message):
    (tmp_path / "file").touch()
    with pytest.raises((ValueError, OSError), match=message):
        list(call(tmp_path))
    assert not toy.calls and [path.name for path in tmp_path.iterdir()] == ["file"]


def test_jobs_are_all_combinations_the_last_name_changing_first_the_seed_at_the_end():
    jobs = jobs_over(name="ab", seed=range(2), lam=(1.0, 2.0))
    assert [tuple(job.items())[1:] for job in jobs] == [(("lam", v), ("seed", s)) for s in (0, 1) for v in (1.0, 2.0)]
    assert {job["name"] for job in jobs} == {"ab"}


@pytest.mark.parametrize(
    "jobs, message", [([], "needs jobs"), ([{"a": 1}, {"b": 1}], "the same columns"), ([{"a": 1}], "registered twice")]
)
def test_an_experiment_that_cannot_be_is_refused(results, jobs, message):
    with pytest.raises(ValueError, match=message):
        experiment(jobs)(toy)


@pytest.mark.parametrize("rows", [[], [{"value": 1}] * 3])
def test_an_experiment_gives_the_rows_that_it_says(results, rows):
    @experiment([{"seed": 0}], rows=2)
    def short(seed: int) -> list[dict]:
        return rows

    with pytest.raises(ValueError, match=f"gave {len(rows)} rows for .'seed': 0., not 2"):
        list(complete(["short"]))


def test_an_experiment_may_write_files_beside_its_table(results, tmp_path):
    @experiment([{"seed": seed} for seed in range(2)])
    def beside(seed: int, folder: Path) -> list[dict]:
        """An experiment with files."""
        (folder / f"{seed}.txt").write_text("x")
        return [{"file": f"{seed}.txt"}]

    list(remake(["beside"], tmp_path / "out"))
    assert {path.name for path in (tmp_path / "out").glob("[!.]*")} == {"0.txt", "1.txt", "beside.csv"}
    list(complete(["beside"]))
    (results / "0.txt").unlink()
    assert same_as_stored("beside", seed=0) and not (results / "0.txt").exists()


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


@pytest.fixture(scope="module")
def listed():
    contents.load_chapters()  # registers the experiments; processes that run the toys need none

    return {one.name: one for one in listing()}


def test_every_stored_table_is_listed_with_all_its_jobs(listed):
    assert {path.stem for path in results_folder().glob("*.csv")} == set(listed) - {"quick"}
    assert not [one.name for one in listed.values() if one.done != one.jobs and one.name != "quick"]
    assert all(
        one.rows >= one.jobs and (len(one.about) > 15 or one.kind == "benchmark")
        for one in listed.values()
        if one.name != "quick"
    )
    assert listed["table2"][:5] == ("table2", "grid", 931, 931, 931)
    once = stored("terms").drop_duplicates(["noise", "lam", "seed"])  # its jobs; some have several rows
    assert listed["terms"].seconds == pytest.approx(once.seconds.sum(), rel=1e-5) and once.seconds.sum() > 1
    assert listed["terms"].kind == "experiment" and listed["benchmarks"].maker == "make bench"
    assert listed["terms"].maker == "uaftc_book/chapters/training.py"
    file, runner = listed["table2"].maker.split(" ", 1)
    assert (tables.PACKAGE.parent / file).exists() and runner == "(run_cell in uaftc_lib/experiments/sweep.py)"


@pytest.mark.parametrize("name", sorted(path.stem for path in results_folder().glob("*.csv")))
def test_the_reader_gives_every_table_as_pandas_reads_it(name):
    text = {"keep_default_na": False, "na_values": {n: [""] for n in ("dev_accuracy", "test_accuracy", "best_epoch")}}
    known = pd.read_csv(results_folder() / f"{name}.csv", **(text if name in tables.grid_names() else {}))
    pd.testing.assert_frame_equal(stored(name), known)


def test_names_are_known_without_importing_what_makes_tables(tmp_path):
    (tmp_path / "one.py").write_text("@experiment(jobs=[{}])\ndef first(): pass\n\n@other\ndef none(): pass\n")
    (tmp_path / "two.py").write_text("@registry.experiment(JOBS)\ndef second(): raise\n")
    found = table_names(tmp_path)
    assert found[:2] == ["first", "second"] and {"table2", "quick", "benchmarks"} <= set(found) and len(found) == 19
    assert "terms" in table_names(contents.FOLDER)
    assert "toy" not in EXPERIMENTS
