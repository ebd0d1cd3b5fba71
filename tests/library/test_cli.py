"""The command ``uaftc``: what it prints and writes, and one clear line for each wrong input."""

import importlib
import json
import os
import pickle
import re
import subprocess
import sys
import types
import warnings
import zipfile
import zlib
from dataclasses import asdict, fields
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import torch
from cases import uaftc

import uaftc_lib
from uaftc_book import cli as book_cli
from uaftc_book import publish
from uaftc_book.lab import parity
from uaftc_book.same_sums import SAME_SUMS
from uaftc_lib import AttentionClassifier, TrainingConfig, __version__, datasets, fit
from uaftc_lib.cli.options import option_of
from uaftc_lib.datasets import LOADERS, dataset_names
from uaftc_lib.experiments.cells import Cell, cells_of
from uaftc_lib.locations import results_folder
from uaftc_lib.report import request, source
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.write import terminal_lines
from uaftc_lib.settings import registered_names

pytestmark = pytest.mark.usefixtures("untyped")  # what readers type comes unchecked

SMALL = ["--dataset", "synthetic-1", "--option", "class_sizes=(30,40)", "--dimension", "8", "--epochs", "3"]


COMMANDS = ["book", "data", "explain", "run", "scorecard", "sweep", "tables", "train", "transformer", "vectors"]


def test_data_lists_names_and_options():
    lines = uaftc("data").stdout.splitlines()
    assert "sst" in lines
    assert any(line.startswith("synthetic-2") and "noise=0.1" in line for line in lines)


def test_data_counts():
    result = uaftc("data", "synthetic-1", "--option", "class_sizes=(1200, 34)")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "synthetic-1: 12.0 tokens on average, 1,103 token types",
        "  train  1,234 instances: 1,200 negative, 34 positive",
    ]


@pytest.mark.data("sst")
def test_train_prints_what_the_library_gives():
    sst = uaftc_lib.load_dataset("sst")
    model = AttentionClassifier(len(sst.vocabulary), dimension=10, lam=20, seed=5)
    expected = fit(model, sst, TrainingConfig(epochs=3, learning_rate=0.05, seed=5))
    words = "--dataset sst --dimension 10 --lam 20 --seed 5 --epochs 3 --learning-rate 0.05".split()
    result = uaftc("train", *words)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:3] == [
        f"dev accuracy  {100 * expected.dev_accuracy:.1f} %",
        f"test accuracy {100 * expected.test_accuracy:.1f} %",
        f"best epoch    {expected.best_epoch} of 3",
    ]


def test_train_passes_every_option_on(monkeypatch):
    seen = {}

    def fit(model, dataset, config):
        seen.update(model=model, dataset=dataset, config=config)
        raise ValueError("seen enough")

    monkeypatch.setattr(uaftc_lib, "fit", fit)
    words = [
        "--dataset", "synthetic-2", "--option", "class_sizes=[6, 5]", "--option", "noise=0.2",
        "--model", "AD", "--lam", "7", "--seed", "3", "--dimension", "9",
        "--optimizer", "adam", "--learning-rate", "0.5", "--learning-rate-decay", "0.25",
        "--learning-rates", "V=0.125", "--learning-rates", "M=1", "--batch-size", "full", "--epochs", "4",
        "--dropout", "0.3", "--penalty", "0.01", "--weight-decay", "0.02", "--method", "autograd",
    ]  # fmt: skip
    assert uaftc("train", *words).exit_code == 2
    assert seen["config"] == TrainingConfig(
        "adam", 0.5, 0.25, {"V": 0.125, "M": 1}, None, 4, 0.3, 0.01, 0.02, "autograd", 3
    )
    model = seen["model"]
    assert (model.lam, model.attention, model.seed, len(model.V)) == (7, "additive", 3, 9)
    assert torch.bincount(seen["dataset"].train.labels).tolist() == [6, 5]
    assert seen["dataset"].provenance["noise"] == 0.2
    defaults = uaftc("train", *SMALL[:-2])
    assert defaults.exit_code == 2
    assert seen["config"] == TrainingConfig()


def test_train_writes_json(tmp_path):
    out = tmp_path / "result.json"
    result = uaftc("train", *SMALL, "--lam", "5", "--batch-size", "full", "--out", out)
    assert result.exit_code == 0
    assert str(out) in result.stdout
    record = json.loads(out.read_text(), parse_constant=pytest.fail)
    asked = {"dataset": "synthetic-1", "model": "DP", "lam": 5, "seed": 0, "epochs": 3, "dimension": 8}
    assert asked.items() <= record.items()
    assert record["options"] == {"class_sizes": [30, 40]}
    assert record["version"] == __version__
    assert record["dev_accuracy"] is None
    assert record["best_epoch"] == 3
    assert [row["epoch"] for row in record["history"]] == [1, 2, 3]
    assert record["seconds"] > 0
    assert (record["batch_size"], record["encoder"], record["learning_rates"]) == ("full", "none", {})


def test_a_full_batch_is_none_in_python_and_full_in_every_table():
    (cell,) = cells_of(dict.fromkeys(("settings", "vary"), {}), dataset="sst", model="DP", lam=1, batch_size="full")
    assert asdict(cell)["batch_size"] == cell.batch_size == "full" and cell.training().batch_size is None
    assert parity.training({"batch": "full"}).batch_size is None
    for wrong in (0, None, "0", "none"):
        with pytest.raises(ValueError, match="batch_size .or full. must be a whole number, at least 1"):
            Cell(batch_size=wrong)


@pytest.mark.parametrize("settings", [Cell, Settings])
def test_every_setting_is_an_option_with_its_default(settings):
    command = {Cell: "train", Settings: "explain"}[settings]
    told = uaftc(command, "--help").stdout
    for field in fields(settings):
        (flag,) = option_of(field).opts
        assert flag in told
        assert option_of(field).default in (field.default, None) or option_of(field).multiple
        assert all(choice in told for choice in field.metadata["choices"])


def test_train_writes_the_model(tmp_path):
    out = tmp_path / "model.pt"
    assert uaftc("train", *SMALL, "--model", "DP-A", "--out", str(out)).exit_code == 0
    stored = torch.load(out, weights_only=True)
    assert set(stored["parameters"]) == {"embedding", "V", "W", "M", "_extra_state"}
    model = AttentionClassifier(stored["record"]["vocabulary_size"], dimension=8, encoder="affine")
    model.load_state_dict(stored["parameters"])
    assert stored["record"]["model"] == "DP-A"


def test_run_executes_a_chapter_with_parameters(monkeypatch, tmp_path):
    """A chapter of one parameter, so that the test takes no longer than a kernel's start."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "book").mkdir()
    (tmp_path / "notebooks" / "99_small.md").write_text(
        "---\njupytext:\n  text_representation:\n    extension: .md\n    format_name: myst\n---\n\n"
        "```{code-cell} ipython3\n:tags: [parameters]\n\nlam: float = 10.0\n```\n\n"
        "```{code-cell} ipython3\nprint(2.0 * lam, 1 / (lam - 1))\n```\n"
    )
    nbformat.write(publish.read_source("99_small", tmp_path), tmp_path / "book" / "99_small.ipynb")
    monkeypatch.setattr(publish, "CHECKOUT", tmp_path)
    monkeypatch.setattr(publish, "chapters", lambda: ["99_small"])
    monkeypatch.setattr(publish, "read_published", lambda name, read=publish.read_published: read(name, tmp_path))
    out = tmp_path / "again.ipynb"
    result = uaftc("run", "99_small", "-p", "lam", "50", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert nbformat.read(out, 4).cells[-1].outputs[0].text.startswith("100.0 ")
    result = uaftc("run", "99_small", "-p", "lam", "1", "--out", str(out))
    assert result.exit_code == 2
    assert "99_small, cell [3]: ZeroDivisionError" in result.stderr
    (tmp_path / "book" / "99_small.ipynb").unlink()
    result = uaftc("run", "99_small")
    assert result.exit_code == 2 and "99_small was never executed here: uaftc book does that" in result.stderr


# In this process: what loads torch before it answers, or asks of another command what AT_ONCE asks below.
WRONG = [
    (["data", "sst", "--option", "noise=0.1"], "data set sst has no option 'noise'"),
    (["data", "sst", "--option", "noise"], "expected NAME=VALUE, got 'noise'"),
    (["train", *SMALL, "--lam", "nan"], "lam must be a finite number above 0, got nan"),
    (["train", *SMALL, "--seed", "-1"], "seed must be a whole number, at least 0, got -1"),
    (["train", *SMALL, "--batch-size", "some"], "batch_size .or full. must be a whole number, at least 1, got 'some'"),
    (["train", *SMALL, "--learning-rates", "V"], "expected NAME=VALUE, got 'V'"),
    (["train", *SMALL, "--optimizer", "sgd", "--learning-rate", "1e30", "--out", "x.pt"], "training diverged in epoch"),
    (["train", *SMALL, "--out", "/proc/x.pt"], "/proc/x.pt cannot be written"),
    (["train", *SMALL, "--device", "cuda:77"], "device 'cuda:77' cannot be used here"),
    (["train", *SMALL, "--out", "nosuch/x.json"], "in a folder that exists, got nosuch/x.json"),
    (["run", "01_model", "-p", "lam"], "expected -p NAME VALUE, got '-p lam'"),
    (["run", "01_model", "--lam", "1"], "expected -p NAME VALUE, got '--lam 1'"),
    (["run", "01_model", "--out", "nosuch/x.ipynb"], "the folder of --out nosuch/x.ipynb does not exist"),
]


def is_one_line(message, told):
    """Whether what was told on stderr is one line of the command with this message, and no traceback."""
    lines = [line for line in told.splitlines() if line.startswith("uaftc: ")]
    return len(lines) == 1 == told.count("uaftc:") and re.search(message, lines[0]) and "Traceback" not in told


@pytest.mark.parametrize("words, message", WRONG)
def test_wrong_input_is_one_line_and_code_2(words, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = uaftc(*words)
    assert result.exit_code == 2 and is_one_line(message, result.stderr)
    assert list(tmp_path.iterdir()) == []


def test_no_data_and_no_network_is_one_line(monkeypatch, tmp_path):
    def offline(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("pooch.retrieve", offline)
    result = uaftc("train", "--data-home", str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr.startswith("uaftc: ") and "could not be downloaded" in result.stderr
    assert len(result.stderr.splitlines()) == 1


OTHERS = [MemoryError(), OverflowError("too large"), RecursionError("too deep"), RuntimeError("can't allocate memory")]
OTHERS += [EOFError(), pickle.UnpicklingError("truncated"), zipfile.BadZipFile("Bad CRC-32"), zlib.error("Error -3")]


@pytest.mark.parametrize("error", OTHERS, ids=repr)
def test_what_libraries_raise_is_one_line_that_names_the_command(monkeypatch, error):
    def broken(*_):
        raise error

    monkeypatch.setattr(uaftc_lib, "fit", broken)
    result = uaftc("train", *SMALL)
    message = f"^uaftc: train: {type(error).__name__}: {str(error) or 'no more is known'}$"
    assert result.exit_code == 2 and is_one_line(message, result.stderr)


@pytest.mark.parametrize("name", ["x.json", "x.pt"])
def test_a_full_disk_leaves_the_former_file_and_is_named(tmp_path, monkeypatch, name):
    out, write = tmp_path / name, Path.write_bytes
    out.write_text("former")

    def half(path, content):
        write(path, content[:50])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", half)
    result = uaftc("train", *SMALL, "--out", out)
    assert result.exit_code == 2 and is_one_line(f"{name} cannot be written: No space left", result.stderr)
    assert [path.name for path in tmp_path.iterdir()] == [name] and out.read_text() == "former"


def test_other_errors_keep_their_traceback(monkeypatch):
    def broken(*_):
        raise KeyError("a bug")

    monkeypatch.setattr(uaftc_lib, "fit", broken)
    assert isinstance(uaftc("train", *SMALL).exception, KeyError)


HEAVY = {"torch", "pandas", "numba", "scipy", "sklearn"}
LOOP = 0.025  # seconds of the loop below on a quiet machine
# Seconds are of a quiet processor: one that other work slows down takes longer for the loop, too.
ANSWER = f"""
import resource, sys, time
from uaftc_lib.cli import app
try:
    app(sys.argv[1:], prog_name="uaftc")
finally:
    spent, begin = resource.getrusage(resource.RUSAGE_SELF), time.process_time()
    sum(i * i for i in range(400_000))
    slowed = max(1, (time.process_time() - begin) / {LOOP})
    seconds = (spent.ru_utime + spent.ru_stime) / slowed
    print("seconds", seconds, "imported", *sorted({HEAVY} & set(sys.modules)), file=sys.stderr)
"""
DATA = ["--dataset", "synthetic-1"]
FILE = ["--text", "text", "--label", "label", "--out", "report"]
AT_ONCE = [
    ([], "Usage: uaftc"),
    (["--help"], "(?s)" + ".*".join(COMMANDS)),
    (["--version"], f"uaftc {__version__}"),
    *(([command, "--help"], f"Usage: uaftc {command}") for command in COMMANDS),
    (["nosuch"], "No such command 'nosuch'"),
    (["train", "--nosuch"], "No such option"),
    (["train", "--lam"], "requires an argument"),
    (["explain"], "Missing"),
    (["run"], "Missing argument 'NOTEBOOK'"),
    (["train", "--model", "XX"], "model must be one of DP, DP-L, DP-A, AD, GRU, got 'XX'"),
    (["train", "--dataset", "nope"], "dataset must be one of 20news-1, .*sst.*got 'nope'"),
    (["train", "--lam", "-1"], "lam must be a finite number above 0, got -1"),
    (["train", "--epochs", "x"], "'x' is not a valid integer"),
    (["train", "--batch-size", "0"], "batch_size .or full. must be a whole number, at least 1, got 0"),
    (["train", "--option", "noise"], "expected NAME=VALUE, got 'noise'"),
    (["train", "--out", "x.csv"], "--out must be a .json or a .pt file"),
    (["train", *DATA, "--option", "foo=1"], "options: unknown foo; allowed are class_sizes, .*seed"),
    (["train", *DATA, "--option", "noise=3"], "noise must lie in .0, 1., got 3"),
    (["train", "--dataset", "20news-2", "--option", "foo=1"], "options: unknown foo; allowed are split_seed"),
    (["train", "--device", "nosuch"], "device must be one of cpu, cuda, mps, xpu, got 'nosuch'"),
    (["data", "nope"], "data set must be one of 20news-1, .*got 'nope'"),
    (["sweep", "--grid", "nope"], "no grid 'nope'; there are .*table2"),
    (["sweep", "--model", "DP,XX"], "model must be one of DP, .*got 'XX'"),
    (["sweep", "--set", "rate=1"], "unknown rate; allowed are batch_size"),
    (["sweep", "--set", "batch_size=none"], "batch_size .or full. must be .*got 'none'"),
    (["sweep", "--workers", "0"], "workers must be a whole number, at least 1"),
    (["sweep", "--dask", ""], "dask needs the address of a scheduler"),
    (["sweep", "--out", "."], "is a folder: name a file in it"),
    (["train", "--learning-rates", "X=1"], "learning_rates: unknown X; allowed are V, W, embedding"),
    (["tables", "benchmarks", "--make"], "the table benchmarks is made by make bench"),
    (["tables", "--out", str(results_folder())], "--out needs another folder than .*that of the stored results"),
    (["scorecard", "--verdict", "nope"], "no verdict 'nope'; there are holds, "),
    (["tables", "terms", "--out", "words.docx/remade"], "words.docx"),
    (["tables", "nope"], "table must be one of .*table2.*, got 'nope'"),
    (["run", "nochapter"], "no chapter 'nochapter'; there are .*06_accuracy"),
    (["run", "06_accuracy", "-p", "lam", "-1"], "lam = -1 is impossible: it must be greater than 0"),
    (["run", "06_accuracy", "-p", "lam", "3", "-p", "lam", "4"], "lam is given twice"),
    (["data", "--option", "noise=0.2"], "--option noise=0.2 is of no data set: name one"),
    (["train", "--method", "fast", "--model", "DP-L"], 'method="fast" would not be exact: encoder="lstm" makes'),
    (["sweep", "--model", "DP,GRU", "--set", "method=fast"], 'method="fast" would not be exact: encoder="gru" makes'),
    (["tables", "terms", "--make", "--dask", "tcp://host:x"], "a scheduler with its port, .*got 'tcp://host:x'"),
    (["explain", "some.csv", *FILE], "some.csv has no column 'text'; .*'texts', 'label'.* Did you mean 'texts'"),
    (["explain", "some.jsonl", *FILE], "some.jsonl has no column 'text'; its columns are 'texts', 'label'"),
    (["explain", "wide.csv", *FILE], "wide.csv is not encoded in utf-8: .*try --encoding utf-16"),
    (["run", "06_accuracy", "-p", "lam", "x"], "lam = 'x' is of type str, expected float"),
    (["run", "06_accuracy", "-p", "lamm", "1"], "06_accuracy has no parameter 'lamm' .did you mean 'lam'..; it has "),
    (["run", "06_accuracy", "-p", "dataset", "nosuch"], "dataset = 'nosuch' is not possible .*allowed: 'sst', 'imdb'"),
    (
        ["run", "06_accuracy", "-p", "model", "XX"],
        "model = 'XX' is not possible in this notebook; allowed: 'DP', 'DP-A'",
    ),
    (["run", "A_gradients", "-p", "lam", "0.5"], "lam = 0.5: give at least 1; below 1 rounding is amplified"),
    (["run", "02_training", "-p", "lams", "[3, 2]"], "give at least two, ascending"),
    (["run", "01_model", "--out", "."], "is a folder: name a file in it"),
    (["run", "A_interventions", "-p", "seed", "10"], "seed = 10 is not possible in this notebook; allowed: 0, 1"),
    (["explain", "missing.csv", *FILE], "missing.csv is not there"),
    (["explain", "right.csv", *FILE[:-1], ""], "'--out' is an empty path: is a variable of the shell not set"),
    (["explain", "words.docx", *FILE], "files that end in '.docx' are not known; there are CSV"),
    (["explain", "words.docx", *FILE, "--encoder", "q"], "encoder must be one of none, affine, lstm, gru, got 'q'"),
    (["train", "--device", "cpu:x"], "device 'cpu:x' must be one of cpu, cuda, mps, xpu, or one with a number"),
    (["train", "--vectors", "words.docx"], "words.docx holds no word vectors: line 1 is .no table., expected"),
    (["explain", "right.csv", *FILE, "--vectors", "nosuch"], "nosuch is not there: give the path of a file"),
    (["vectors", "--count", "0"], "count must be a whole number, at least 1, got 0"),
    (["explain", "words.docx", *FILE, "--encoding", "nosuch"], "the encoding 'nosuch' is not known"),
    (["explain", "words.docx", *FILE, "--epochs", "0"], "epochs must be a whole number, at least 1, got 0"),
    (["explain", "words.docx", *FILE, "--words", "letters"], "texts can be cut by rule, spaces, characters, spacy"),
    (["explain", "words.docx", *FILE, "--ignore", "(x"], "the pattern '\\(x' cannot be read: missing \\)"),
    (
        ["explain", "some.csv", "--text", "texts", "--label", "label", "--out", "o", "--group", "author"],
        "no column 'author'",
    ),
]


@pytest.mark.parametrize(
    "words, message", AT_ONCE, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_what_needs_no_data_is_answered_at_once(words, message, tmp_path):
    """In half a second of a quiet processor, the least of three attempts: other processes do not count."""
    (tmp_path / "words.docx").write_text("no table")
    (tmp_path / "some.csv").write_text("texts,label\ngood,1\n")
    (tmp_path / "right.csv").write_text("text,label\ngood,1\n")
    (tmp_path / "some.jsonl").write_text('{"texts": "good", "label": 1}\n')
    (tmp_path / "wide.csv").write_text("text,label\ngood,1\n", encoding="utf-16")
    least, there = float("inf"), {*tmp_path.iterdir()}
    for _ in range(3):
        answer = subprocess.run([sys.executable, "-c", ANSWER, *words], cwd=tmp_path, capture_output=True, text=True)
        told, seconds, imported = re.fullmatch(r"(.*)seconds (\S+) imported ?(.*)\n", answer.stderr, re.DOTALL).groups()
        assert not imported
        asked = not told or told.startswith(("Usage: ", "Error: "))  # or refused by click itself, in its own form
        right = re.search(message, answer.stdout + told) if asked else is_one_line(message, told)
        assert right and {*tmp_path.iterdir()} == there, answer.stdout + told
        assert answer.returncode == (0 if {"--help", "--version"} & {*words} else 2)
        least = min(least, float(seconds))
        if least < 0.5:
            break
    assert least < 0.5


def test_names_are_read_from_the_source_as_they_are_registered():
    found = registered_names(datasets.__path__, "register")
    for file in found.values():
        importlib.import_module(f"{datasets.__name__}.{file.stem}")
    assert dataset_names() == sorted(LOADERS) == sorted(found)


def test_tables_and_book_pass_on_what_was_asked(monkeypatch):
    seen = []
    counted = {"done": 3, "jobs": 5, "rows": 30, "seconds": 90.0}
    row = types.SimpleNamespace(name="terms", kind="experiment", about="Six terms.", maker="a.py", **counted)
    stored = types.SimpleNamespace(
        table_names=lambda *places: ["terms", "table2"],
        listing=lambda names: [] if "table2" in names else [row],
        complete=lambda *given: seen.append(given) or ["completed"],
        remake=lambda *given: seen.append(given) or ["compared"],
        check_made_here=lambda names: None,
        check_remade=lambda out: None,
    )
    monkeypatch.setattr(book_cli, "stored", stored)
    for name in SAME_SUMS:
        monkeypatch.setenv(name, "else")
    assert re.search(r"terms +experiment +3 of +5 jobs +30 rows +1\.5 min  a\.py  Six terms\.", uaftc("tables").stdout)
    assert uaftc("tables", "table2").stdout == ""
    assert uaftc("tables", "terms", "--make", "--workers", "2").stdout == "completed\n"
    assert uaftc("tables", "--out", "anew", "--dask", "tcp://a:1").stdout == "compared\n"
    assert {name: os.environ[name] for name in SAME_SUMS} == SAME_SUMS
    assert [tuple(map(str, given)) for given in seen] == [
        ("('terms',)", "2", "None"),
        ("()", "anew", "1", "tcp://a:1", "None"),
    ]
    assert "table must be one of terms, table2, got 'nope'" in uaftc("tables", "nope").stderr
    monkeypatch.setattr(publish, "publish", lambda *given: seen.append(given))
    assert uaftc("book", "--forget").exit_code == 0
    assert seen[-1] == (True, False, ())


class Stopping:
    """Whoever imports this module is interrupted."""

    def find_spec(self, name, *_):
        if name == "uaftc_lib.report.train":
            raise KeyboardInterrupt


@pytest.mark.parametrize("while_importing", [True, False])
def test_an_interrupted_report_says_that_nothing_was_written(tmp_path, monkeypatch, while_importing):
    (tmp_path / "rows.csv").write_text("text,label\n" + "good,1\nbad,0\n" * 60)
    if while_importing:
        monkeypatch.delitem(sys.modules, "uaftc_lib.report.train", raising=False)
        monkeypatch.setattr(sys, "meta_path", [Stopping(), *sys.meta_path])
    else:
        from uaftc_lib.report import prepare, train

        def stopped(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(train, "train", stopped)
        monkeypatch.setattr(prepare, "prepare", lambda *_: SimpleNamespace(short=False))
    done = uaftc("explain", str(tmp_path / "rows.csv"), *FILE[:-1], str(tmp_path / "out"))
    assert done.exit_code == 130 and done.stderr.splitlines()[-1] == "uaftc: stopped; nothing was written"
    assert not (tmp_path / "out").exists()


def test_an_interrupted_start_is_one_line():
    """While the command itself is imported, before any of its code runs."""
    code = """
import sys
class Stopping:
    def find_spec(self, name, *_):
        if name == "uaftc_lib.experiments.cells":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stopping())
from uaftc_lib.cli import app
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "uaftc: stopped; nothing was written\n")


def test_the_terminal_tells_what_must_be_seen_the_verdict_and_the_words(tmp_path):
    accuracies = {name: {"accuracy": 0.9, "balanced_accuracy": 0.8} for name in ("attention", "linear", "majority")}
    report = {
        "loud": ["Half of the rows are copies"],
        "rows": {"read": 10, "used": 8, "dropped": {"no text": 2}},
        "notes": [],
        "classes": [{}, {}],
        "quality": accuracies | {"verdict": "open", "independent": 8, "linear_is_better": False},
        "deciding": [
            {
                "word": "tag",
                "form": "",
                "class": "b",
                "texts": 4,
                "texts_of_class": 4,
                "recall": 1.0,
                "recall_without": 0.5,
            }
            | {"covered": covered}
            for covered in (0.9, 0.52)
        ],
        "top_words": {"a": [{"word": f"word{i}"} for i in range(9)], "b": []},
        "suspect_labels": 3,
        "replaced": ["words.csv"],
    }
    told = list(terminal_lines(report, tmp_path))
    assert told[0] == "take care     Half of the rows are copies" and told[1].startswith("dropped       2: no text")
    assert "a             word0, word1, word2, word3, word4, word5, word6, word7" in told
    assert "b             no word" in told and "replaced      words.csv" in told
    assert any("3 labels are worth checking" in line for line in told)
    assert any("On 8 texts it had not seen" in line for line in told) and any("50.0% without" in line for line in told)
    found = [line for line in told if line.startswith("look at")]
    assert "nearly decides 'b' (4 of its 4 texts are of this class; 90.0% of the class's texts hold it)" in found[0]
    assert "'tag' by itself tells 'b' (" in found[1] and "52.0%" in found[1]
    report["quality"] |= {"linear": {"accuracy": float("nan"), "balanced_accuracy": None}}
    long = ["talk.politics.guns", "talk.politics.mideast", "n" * 31]
    told = list(terminal_lines(report | {"top_words": {name: [{"word": "x"}] for name in long}}, tmp_path))
    assert [line for line in told if line.endswith(" x")] == [f"{n:30} x" for n in (*long[:2], "n" * 29 + "…")]
    assert [line for line in told if "– right of unseen texts; mean over classes –" in line]
    more = list(terminal_lines(report | {"listed": {"a": 1245, "b": 0}}, tmp_path))
    assert [line for line in more if line.endswith("word6, word7 … and 1,237 more in words.csv")]
    beside = report | {"linear_words": {"a": ["fine"], "b": ["poor"]}}
    assert "b             no word; the linear model: poor" in list(terminal_lines(beside, tmp_path))
    report["quality"]["verdict"], report["deciding"] = "nothing", []
    told = "\n".join(terminal_lines(report, tmp_path))
    assert "no word" not in told and "No conclusion may be drawn" in told


def started(words, folder, stdout=subprocess.PIPE, encoding="cp1252"):
    """The command in a process of its own, whose stdout and stderr hold no λ."""
    variables = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "uaftc_lib", *map(str, words)]
    return subprocess.Popen(command, cwd=folder, env=variables, stdout=stdout, stderr=subprocess.PIPE)


@pytest.mark.parametrize("options", [[], ["--quiet"], ["--json"]], ids=" ".join)
def test_what_explain_prints(tmp_path, options):
    """No bar into a file; and what stdout cannot hold ends no run."""
    rows = "".join(f"{word} λ{i % 30} x{i},{word}\n" for i in range(70) for word in ("good", "μ"))
    (tmp_path / "rows.csv").write_text("text,label\n" + rows + ",μ\n" * 20, encoding="utf-8")
    done = started(["explain", "rows.csv", *FILE, "--dimension", 4, "--epochs", 2, *options], tmp_path)
    out, told = done.communicate()
    assert done.returncode == 0 and {path.name for path in (tmp_path / "report").iterdir()} == {*request.FILES}
    if "--json" in options:
        assert told == b"" and out == (tmp_path / "report" / "report.json").read_bytes() and json.loads(out)
    else:
        loud, printed = (told, out) if options else (out, told)
        assert loud.startswith(b"take care     20 of 160 rows") and (printed == b"")
        assert (b"\\u03bc" in out and b"written to" in out) != bool(options)


@pytest.mark.parametrize(
    "words, encoding", [("explain --help", "cp1252"), ("train --help", "ascii"), ("data", "ascii"), ("run λ", "ascii")]
)
def test_a_stdout_that_cannot_hold_it_or_is_shut_ends_quietly(tmp_path, words, encoding):
    done = started(words.split(), tmp_path, encoding=encoding)
    out, told = done.communicate()
    assert done.returncode == 2 * ("λ" in words) and len(out + told) > 90
    reader, writer = os.pipe()
    os.close(reader)
    shut = started(words.split(), tmp_path, writer, encoding)
    os.close(writer)
    assert shut.communicate()[1] == told and shut.returncode == (1 if out else 2)


def test_the_help_names_kinds_and_limits():
    told = " ".join(uaftc("explain", "--help").stdout.split())
    assert all(f"{kind} ({', '.join(endings)})" in told for kind, endings in source.FORMATS.items())
    assert "at least 100 rows and 2 to 50 classes of 5 texts or more" in told and "more than 1,000,000 rows" in told


def test_a_warning_is_one_line(monkeypatch):
    monkeypatch.setattr(uaftc_lib, "load_dataset", lambda *_, **__: warnings.warn("it is\nslow", stacklevel=1))
    monkeypatch.setattr("uaftc_lib.cli.describe", lambda _: None)
    assert uaftc("data", "sst").stderr == "warning: it is slow\n"
    assert "is a file" in uaftc("data", "sst", "--data-home", __file__).stderr


def test_a_folder_in_the_place_of_a_file_is_refused_before_the_work(tmp_path):
    (tmp_path / "rows.csv").write_text("text,label\ngood,1\n")
    (tmp_path / "out" / "report.html").mkdir(parents=True)
    done = uaftc("explain", str(tmp_path / "rows.csv"), *FILE[:-1], str(tmp_path / "out"))
    assert done.exit_code == 2 and "report.html is a folder" in done.stderr
