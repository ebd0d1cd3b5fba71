"""The benchmarks run, in tiny, and their tables say what they must. No test asserts a time."""

import json
import math
import subprocess
import sys

import fasttext_peer
import measure
import page
import pandas as pd
import pytest
import run
import scaling
import torch
from epochs import bytes_to_move
from textbook import Textbook, TextbookTrainer

from uaftc_book.publish import CHECKOUT
from uaftc_lib import AttentionClassifier, Corpus
from uaftc_lib.experiments.provenance import provenance
from uaftc_lib.locations import results_folder

COLUMNS = {"benchmark", "what", "unit", "ours", "peer", "ratio", "sense", "target", "met", "explanation", "note"}
COLUMNS |= {"ours_cpu", "peer_cpu", "rounds", "load", "group", *provenance()}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """What a quick run of everything writes."""
    folder = tmp_path_factory.mktemp("benchmarks")
    run.main(["--quick", "--out", str(folder)])
    return {path.stem: pd.read_csv(path) for path in folder.glob("*.csv")}


def test_every_benchmark_leaves_a_line_with_all_columns(tables):
    lines = tables["benchmarks"]
    assert set(lines.columns) == COLUMNS
    assert list(dict.fromkeys(lines["group"])) == list(run.BENCHMARKS)
    assert lines["benchmark"].is_unique
    numbers = lines[~lines["group"].str.contains("scaling")].set_index("benchmark")[["ours", "peer", "ratio"]].fillna(1)
    assert (numbers.drop("lab-slice", errors="ignore") > 0).all(axis=None)
    # The pauses of a tiny lab are shorter than the browser's clock can tell.
    assert (numbers >= 0).all(axis=None)
    assert lines["machine"].notna().all() and lines["torch"].notna().all()
    not_measured = lines[lines["ours"].isna()]
    peers = {"gpu", "fasttext-sst", "fasttext-imdb", "lab"}
    assert set(not_measured["group"]) <= peers and not_measured["note"].str.startswith("not measured: ").all()


def test_scaling_has_sizes_for_each_axis(tables):
    sizes = tables["benchmarks_scaling"].groupby("axis")["size"].nunique()
    assert dict(sizes) == {"tokens": 3, "types": 3, "dimension": 3}
    assert (tables["benchmarks_scaling"]["seconds"] > 0).all()


def test_a_part_of_the_benchmarks_replaces_only_its_lines(tmp_path, capsys):
    for name in ("load", "evaluation", "load"):
        run.main(["--quick", "--only", name, "--out", str(tmp_path)])
    assert list(pd.read_csv(tmp_path / "benchmarks.csv")["benchmark"]) == ["evaluation", "load"]
    assert "at most 0.2" in capsys.readouterr().out


def test_a_peer_that_is_not_installed_is_answered_in_words(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fasttext_peer, "fasttext", None)
    run.main(["--quick", "--only", "fasttext-imdb", "--out", str(tmp_path)])
    assert "not measured: fastText is not installed" in capsys.readouterr().out
    lines = pd.read_csv(tmp_path / "benchmarks.csv", keep_default_na=False)
    assert list(lines["benchmark"]) == ["fasttext-imdb", "accuracy-imdb"] and (lines["met"] == "").all()


def test_what_fails_stops_nothing_else_and_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(run.BENCHMARKS, "evaluation", lambda setup: 1 / 0)
    with pytest.raises(SystemExit, match="evaluation"):
        run.main(["--quick", "--only", "evaluation", "load", "--out", str(tmp_path)])
    assert list(pd.read_csv(tmp_path / "benchmarks.csv")["benchmark"]) == ["load"]


def test_unknown_benchmarks_are_refused(capsys):
    with pytest.raises(SystemExit):
        run.main(["--only", "nothing"])
    assert "textbook-sst" in capsys.readouterr().err


@pytest.mark.parametrize(
    "ours, ratio, sense, met",
    [
        (3.0, math.nan, "at most", "no"),
        (2.0, math.nan, "at most", "yes"),
        (9.0, 2.5, "at least", "yes"),
        (9.0, 1.5, "at least", "no"),
        (3.0, math.nan, "1 ±", "yes"),
        (-1.5, math.nan, "1 ±", "no"),
        (math.nan, math.nan, "at least", ""),
        (9.0, 1.5, "", ""),
    ],
)
def test_a_target_bounds_the_ratio_or_where_there_is_none_ours(ours, ratio, sense, met):
    line = measure.Line("x", "x", "s", ours, ratio=ratio, sense=sense, target=2.0, load=9.0)
    assert line.met == met
    assert ("missed by" in line.explanation) == (met == "no")


def test_ratios_are_taken_within_rounds():
    ours = [measure.Seconds(1, 1), measure.Seconds(10, 1), measure.Seconds(3, 1)]
    peer = [measure.Seconds(2, 4), measure.Seconds(20, 4), measure.Seconds(9, 4)]
    numbers = measure.compare(ours, peer, peer_over_ours=True)
    assert (numbers["ours"], numbers["peer"], numbers["ratio"]) == (3, 9, 2)
    assert measure.compare(ours, peer, peer_over_ours=False)["ratio"] == 0.5


def test_slope_is_the_exponent():
    assert scaling.slope([1, 10, 100], [3, 30, 300]) == pytest.approx(1)
    assert scaling.slope([1, 10, 100], [5, 500, 50_000]) == pytest.approx(2)


def test_zipf_corpus_has_the_size_and_the_falling_frequencies():
    corpus = measure.zipf_corpus(50_000, 100, length=50)
    counts = corpus.tokens.bincount(minlength=100)
    assert len(corpus.tokens) == 50_000 and len(corpus) == 1000
    assert counts[0] / counts[27] == pytest.approx(29.7 / 2.7, rel=0.15)


def test_the_textbook_is_the_same_model():
    """From the same parameters it gives the same loss as ours: the peer does the same work."""
    corpus = measure.zipf_dataset("x", 400, 30).train
    ours = AttentionClassifier(33, 8, lam=2.0, seed=1)
    trainer = TextbookTrainer(33, corpus, 8)
    trainer.model = Textbook(33, 8, lam=2.0)
    with torch.no_grad():
        pairs = zip(
            (trainer.model.embedding.weight, trainer.model.V, trainer.model.W), (ours.embedding, ours.V, ours.W)
        )
        for theirs, mine in pairs:
            theirs.copy_(mine)
        polarity = trainer.polarity(corpus.tokens.split(corpus.lengths.tolist()))
    torch.testing.assert_close(polarity, ours(corpus).polarity.detach())
    assert trainer.accuracy(corpus) == ours.accuracy(corpus)


def test_bytes_to_move_counts_each_type_once_a_batch():
    corpus = Corpus.from_lists([[0, 0, 1], [1, 1], [2, 3]], [0, 1, 0])
    assert bytes_to_move(corpus, dimension=10, batch_size=3) == 4 * 10 * 4 * 4
    assert bytes_to_move(corpus, dimension=10, batch_size=1) == (2 + 1 + 2) * 10 * 4 * 4


def test_the_stored_table_can_be_read():
    lines = pd.read_csv(results_folder() / "benchmarks.csv")
    assert set(lines.columns) == COLUMNS
    assert set(lines["group"]) == set(run.BENCHMARKS)


def test_the_page_of_speed_says_what_is_stored_and_every_target_is_met():
    lines = pd.read_csv(results_folder() / "benchmarks.csv")
    assert (CHECKOUT / "docs" / "speed.md").read_text(encoding="utf-8") == page.page(lines)
    slower = lines.assign(ours=2 * lines.ours)
    assert page.page(slower) != page.page(lines)
    assert set(lines.met.dropna()) == {"yes"}


def test_memory_is_measured_in_a_process_of_its_own():
    command = [sys.executable, CHECKOUT / "benchmarks" / "memory.py", "50", "8", "1000"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert json.loads(said)["needed"] == 2 * 4 * (50 * 8 + 2 * 8) + 8 * 1000
    assert json.loads(said)["peak"] >= 0
