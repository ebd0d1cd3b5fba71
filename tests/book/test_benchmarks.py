"""The benchmarks run, in tiny, and their page says what is stored. No test asserts a time."""

import time

import explain_scale
import fasttext_peer
import five_minutes
import measure
import page
import pandas as pd
import pytest
import speed
import torch
from textbook import Textbook, TextbookTrainer

from uaftc_book.publish import CHECKOUT
from uaftc_lib import AttentionClassifier
from uaftc_lib.locations import results_folder

STORED = pd.read_csv(results_folder() / "benchmarks.csv")


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_an_epoch_is_timed_beside_the_textbook(dropout):
    line = speed.textbook(measure.zipf_dataset("sst", 6000, 400), dropout, rounds=1)
    assert list(line) == list(STORED.columns) and line["ours"] > 0 and line["peer"] > 0
    assert line["benchmark"] in set(STORED.benchmark)


def test_an_epoch_and_the_accuracy_are_compared_with_fasttext(tmp_path, monkeypatch):
    monkeypatch.setattr(fasttext_peer, "train", lambda path, epochs, *_: time.sleep(0.01 * epochs))
    monkeypatch.setattr(fasttext_peer, "accuracy", lambda model, path: 0.5)
    dataset = measure.zipf_dataset("imdb", 6000, 400)
    speed_line, accuracy = speed.fasttext(dataset, tmp_path, 1, (1, 2)), speed.accuracy(dataset, tmp_path, 1, 2, (1, 2))
    assert list(speed_line) == list(accuracy) == list(STORED.columns) and speed_line["ours"] > 0
    assert speed_line["peer"] == pytest.approx(0.01, rel=0.5) and accuracy["peer"] == 0.5
    assert {speed_line["benchmark"], accuracy["benchmark"]} <= set(STORED.benchmark)


@pytest.mark.parametrize(
    ("ratio", "sense", "met"), [(2.5, "at least", "yes"), (1.5, "at least", "no"), (2.5, "at most", "no")]
)
def test_a_target_bounds_the_ratio(ratio, sense, met):
    assert speed.line("x", "x", "s", {"ratio": ratio}, sense, 2.0, "")["met"] == met


def test_ratios_are_taken_within_rounds():
    numbers = measure.compare([1, 10, 3], [2, 20, 9], peer_over_ours=True)
    assert (numbers["ours"], numbers["peer"], numbers["ratio"]) == (3, 9, 2)
    assert measure.compare([1, 10, 3], [2, 20, 9], peer_over_ours=False)["ratio"] == 0.5


def test_made_up_texts_have_the_size_and_the_falling_frequencies():
    corpus = measure.zipf_dataset("x", 50_000, 100, length=50).train
    counts = corpus.tokens.bincount(minlength=100)
    assert len(corpus.tokens) == 50_000 and len(corpus) == 1000
    assert counts[0] / counts[27] == pytest.approx(29.7 / 2.7, rel=0.15)


def test_the_textbook_is_the_same_model():
    """From the same parameters it gives the same loss as ours: the peer does the same work."""
    corpus = measure.zipf_dataset("sst", 400, 30).train
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


def test_the_page_of_speed_says_what_is_stored_and_every_target_is_met():
    assert (CHECKOUT / "docs" / "speed.md").read_text(encoding="utf-8") == page.page(STORED)
    assert page.page(STORED.assign(ours=2 * STORED.ours)) != page.page(STORED)
    assert set(STORED.met) == {"yes"}


def test_time_and_memory_of_the_report_are_added_to_their_table(tmp_path, monkeypatch):
    stored = pd.read_csv(results_folder() / "explain_scale.csv")
    stored.to_csv(tmp_path / "explain_scale.csv", index=False)
    monkeypatch.setenv("UAFTC_RESULTS", str(tmp_path))
    explain_scale.main(2000)
    rows = pd.read_csv(tmp_path / "explain_scale.csv")
    assert rows[:-1].equals(stored) and rows["rows"].iloc[-1] == 2000
    assert (rows["seconds"] > 0).all() and (rows["peak_memory"] > 1e8).all()


def test_the_page_of_neighbours_says_what_is_stored():
    stored = pd.read_csv(results_folder() / "five_minutes.csv")
    assert five_minutes.markdown(stored) in (CHECKOUT / "docs" / "neighbours.md").read_text(encoding="utf-8")
    assert stored.groupby("tool")["lines"].unique().to_dict() == {
        tool: [five_minutes.lines_of(tool)] for tool in five_minutes.TOOLS
    }
