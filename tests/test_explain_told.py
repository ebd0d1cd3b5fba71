"""What is told of copies, groups and dates before a file is explained."""

from types import SimpleNamespace

import numpy as np
import pytest
from test_explain_copies import base, letters, partition, table_of

from uaftc_lib.report.report import Trained, unfinished
from uaftc_lib.report.request import Columns
from uaftc_lib.report.tables import read_table
from uaftc_lib.report.texts import prepare
from uaftc_lib.report.words import Cutter


def test_copies_that_say_nothing_of_their_labels_are_spread_and_told():
    texts, form = letters(3, 100, np.random.default_rng(0))
    labels = np.random.default_rng(1).choice(["a", "b"], 300)
    table = table_of(texts, labels)
    assert len(partition(prepare(table, Cutter()).cluster)) == 300
    assert table.loud[0].startswith("The texts of 'a', 'b' are so alike that near-copies cannot be kept apart: 300")


def test_near_copies_under_other_labels_are_told():
    texts, labels = base(200)
    table = table_of(texts + [f"{text} thanks" for text in texts[:40]], labels + ["a"] * 40)
    prepare(table, Cutter())
    assert len(table.loud) == 1 and "of 240 texts have a near-copy under another label" in table.loud[0]
    table = table_of(texts + [f"{text} thanks" for text in texts[:40]], labels + labels[:40])
    prepare(table, Cutter())
    assert table.loud == []


def test_a_group_that_holds_many_texts_is_told():
    texts, labels = base(300)
    table = table_of(texts, labels, group=["guest" if i % 3 == 0 else f"writer {i}" for i in range(300)])
    prepare(table, Cutter())
    assert table.loud == [
        "The group 'guest' holds 100 of 300 texts, and all of them stay together: is it a placeholder? An empty cell "
        "joins nothing"
    ]


@pytest.mark.parametrize(
    "cells, told",
    [
        (["03/04/2024", "05/05/2024"], "'03/04/2024' was read as 04 March 2024"),
        (["03/04/2024", "25/05/2024"], None),
        (["2024-03-04"], None),
        (["03/03/2024"], None),
    ],
)
def test_dates_that_can_be_read_in_two_ways_are_told(tmp_path, cells, told):
    rows = [f"text {i},{i % 2},{cell}" for i, cell in enumerate(cells * 10)]
    (tmp_path / "a.csv").write_text("\n".join(["t,l,when", *rows]))
    notes = read_table(tmp_path / "a.csv", Columns("t", "l", time="when")).notes
    assert (told in notes[0]) if told else not notes


@pytest.mark.parametrize("verdict", ["useless", "worse than linear", "few", "sound"])
def test_trainings_that_ended_early_are_told_unless_the_model_is_sound(verdict):
    def told(most: int) -> list[str]:
        trained = object.__new__(Trained)
        trained.readers = [SimpleNamespace(unfinished=i < most) for i in range(5)]
        trained.settings = {"epochs": 30}
        return unfinished(trained, verdict)

    assert told(2) == []
    assert told(3) == [] if verdict == "sound" else "(--epochs 60)" in told(3)[0]
