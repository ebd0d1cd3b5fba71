"""The command ``uaftc``: what it prints and writes, and one clear line for each wrong input."""

import json
import re

import nbformat
import pytest
import torch
from typer.testing import CliRunner

from uaftc_lib import AttentionClassifier, __version__, cli, publish
from uaftc_lib.cli import app

pytestmark = pytest.mark.usefixtures("untyped")  # what readers type comes unchecked

SMALL = ["--dataset", "synthetic-1", "--option", "class_sizes=(30,40)", "--dimension", "8", "--epochs", "3"]


def uaftc(*words):
    return CliRunner().invoke(app, list(words))


def test_version():
    result = uaftc("--version")
    assert (result.exit_code, result.stdout) == (0, f"uaftc {__version__}\n")


@pytest.mark.parametrize("command", ["data", "train", "run", "scorecard"])
def test_help(command):
    assert command in uaftc("--help").stdout
    assert uaftc(command, "--help").exit_code == 0


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


def test_train_prints_what_the_library_gives(dataset):
    sst = dataset("sst")
    model = AttentionClassifier(len(sst.vocabulary), dimension=10, lam=20, seed=5)
    expected = cli.fit(model, sst, cli.TrainingConfig(epochs=3, learning_rate=0.05, seed=5))
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

    monkeypatch.setattr(cli, "fit", fit)
    words = [
        "--dataset", "synthetic-2", "--option", "class_sizes=[6, 5]", "--option", "noise=0.2",
        "--model", "AD", "--lam", "7", "--seed", "3", "--dimension", "9",
        "--optimizer", "adam", "--learning-rate", "0.5", "--learning-rate-decay", "0.25",
        "--learning-rates", "V=0.125", "--learning-rates", "M=1", "--batch-size", "full", "--epochs", "4",
        "--dropout", "0.3", "--penalty", "0.01", "--weight-decay", "0.02", "--method", "autograd",
    ]  # fmt: skip
    assert uaftc("train", *words).exit_code == 2
    assert seen["config"] == cli.TrainingConfig(
        "adam", 0.5, 0.25, {"V": 0.125, "M": 1}, None, 4, 0.3, 0.01, 0.02, "autograd", 3
    )
    model = seen["model"]
    assert (model.lam, model.attention, model.seed, len(model.V)) == (7, "additive", 3, 9)
    assert torch.bincount(seen["dataset"].train.labels).tolist() == [6, 5]
    assert seen["dataset"].provenance["noise"] == 0.2
    defaults = uaftc("train", *SMALL[:-2])
    assert defaults.exit_code == 2
    assert seen["config"] == cli.TrainingConfig()


def test_train_writes_json(tmp_path):
    out = tmp_path / "result.json"
    result = uaftc("train", *SMALL, "--lam", "5", "--out", str(out))
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


def test_train_writes_the_model(tmp_path):
    out = tmp_path / "model.pt"
    assert uaftc("train", *SMALL, "--model", "DP-A", "--out", str(out)).exit_code == 0
    stored = torch.load(out, weights_only=True)
    assert set(stored["parameters"]) == {"embedding", "V", "W", "M"}
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
        "```{code-cell} ipython3\nprint(2.0 * lam)\n```\n"
    )
    nbformat.write(publish.read_source("99_small", tmp_path), tmp_path / "book" / "99_small.ipynb")
    monkeypatch.setattr(publish, "CHECKOUT", tmp_path)
    monkeypatch.setattr(publish, "chapters", lambda: ["99_small"])
    monkeypatch.setattr(publish, "read_source", lambda name, read=publish.read_source: read(name, tmp_path))
    out = tmp_path / "again.ipynb"
    result = uaftc("run", "99_small", "-p", "lam", "50", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert nbformat.read(out, 4).cells[-1].outputs[0].text == "100.0\n"
    result = uaftc("run", "99_small", "-p", "lam", "oops", "--out", str(out))
    assert result.exit_code == 2
    assert "99_small, cell [3]: TypeError: can't multiply" in result.stderr


WRONG = [
    (["data", "nosuch"], "data set must be one of 20news-1, .* got 'nosuch'"),
    (["data", "sst", "--option", "noise=0.1"], "data set sst has no option 'noise'"),
    (["data", "sst", "--option", "noise"], "expected NAME=VALUE, got 'noise'"),
    (["train", "--dataset", "nosuch"], "data set must be one of"),
    (["train", *SMALL, "--model", "dp"], "model must be one of DP, DP-L, DP-A, AD, GRU, got 'dp'"),
    (["train", *SMALL, "--lam", "0"], "lam must be a finite number above 0, got 0"),
    (["train", *SMALL, "--lam", "nan"], "lam must be a finite number above 0, got nan"),
    (["train", *SMALL, "--seed", "-1"], "seed must be a whole number, at least 0, got -1"),
    (["train", *SMALL, "--optimizer", "adamw"], "optimizer must be one of adagrad, sgd, adam"),
    (["train", *SMALL, "--batch-size", "0"], "batch_size .* at least 1, got 0"),
    (["train", *SMALL, "--batch-size", "some"], "batch-size must be a whole number.* or full, got some"),
    (["train", *SMALL, "--dropout", "1"], r"dropout must lie in \[0, 1\), got 1"),
    (["train", *SMALL, "--learning-rates", "V"], "expected NAME=VALUE, got 'V'"),
    (["train", *SMALL, "--learning-rates", "v=1"], "learning_rates names v; the parameters are"),
    (["train", *SMALL, "--device", "nosuch"], "device 'nosuch' cannot be used here"),
    (["train", *SMALL, "--out", "x.csv"], "--out must be a .json or a .pt file"),
    (["train", *SMALL, "--out", "nosuch/x.json"], "in a folder that exists, got nosuch/x.json"),
    (["run", "99_nosuch"], "no chapter '99_nosuch'; there are .*01_model"),
    (["run", "01_model", "-p", "typo", "1"], "01_model has no parameter 'typo'; it has .*lam"),
    (["run", "01_model", "-p", "lam"], "expected -p NAME VALUE, got '-p lam'"),
    (["run", "01_model", "--lam", "1"], "expected -p NAME VALUE, got '--lam 1'"),
    (["run", "01_model", "--out", "nosuch/x.ipynb"], "the folder of --out nosuch/x.ipynb does not exist"),
]


@pytest.mark.parametrize("words, message", WRONG)
def test_wrong_input_is_one_line_and_code_2(words, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = uaftc(*words)
    lines = [line for line in result.stderr.splitlines() if line.startswith("uaftc: ")]
    assert result.exit_code == 2
    assert len(lines) == 1 == result.stderr.count("uaftc:")
    assert re.search(message, lines[0])
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_no_data_and_no_network_is_one_line(monkeypatch, tmp_path):
    def offline(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("pooch.retrieve", offline)
    result = uaftc("train", "--data-home", str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr.startswith("uaftc: ") and "could not be downloaded" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_other_errors_keep_their_traceback(monkeypatch):
    def broken(*_):
        raise KeyError("a bug")

    monkeypatch.setattr(cli, "fit", broken)
    assert isinstance(uaftc("train", *SMALL).exception, KeyError)
