"""--compare: words that drive a class in one group and not in another, and none where the groups differ in nothing."""

import made_files
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from test_explain_lists import explained

from uaftc_lib.report.compare import differences, interval
from uaftc_lib.report.request import Refused
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.write import terminal_lines

pytestmark = pytest.mark.usefixtures("untyped")  # whole computations, whose parts have tests of their own

COMMON = dict(zip(made_files.spelling("ca", 6), (2, -2, 2, -2, 1.5, -1.5)))
OWN = ({"onlya": 3.5, "onlyb": 0.0}, {"onlya": 0.0, "onlyb": -3.5})


def rows_of(seed, own=OWN, base=(-0.8, 0.8)):
    """600 texts of each group. ``own``: what words add to the logit of class B in either; ``base``: its logit there."""
    draws, second = np.random.default_rng([seed, 7]), np.array([0.0, 1.0])
    effects = ({word: effect * second for word, effect in (COMMON | more).items()} for more in own)
    parts = [made_files.file_of(draws, 600, e, {}, (), b * second, (0.13, 0.17))[0] for e, b in zip(effects, base)]
    return pd.concat(parts, ignore_index=True).assign(side=np.repeat(["A", "B"], 600))


def listed(report):
    return {(row["word"], name, row["group"]) for name, rows in report["compared"]["words"].items() for row in rows}


def test_words_that_drive_a_class_in_one_group_alone_are_listed_there_and_on_the_page(tmp_path):
    """20 such files list both words each; three of them list one more word, as seed 1 does."""
    true, more = {("onlya", "class B", "A"), ("onlyb", "class A", "B")}, set()
    for seed in (1, 2, 0):
        rows = rows_of(seed)
        report, _ = explained(rows.assign(side=rows["side"].mask(rows.index % 100 == 0, "")), tmp_path, compare="side")
        assert listed(report) >= true
        more |= listed(report) - true
    assert len(more) <= 1 and listed(report) == true
    assert report["compared"]["shuffled"] < 0.5 and report["notes"][-1].startswith("12 texts have no value")
    page = BeautifulSoup((tmp_path / "out" / "report.html").read_text(encoding="utf-8"), "html.parser")
    assert [one.text for one in page.select("nav [href='#compared'], #compared td a")] == ["Compared", "onlyb", "onlya"]
    assert "onlyb (B → class A)" in " ".join(terminal_lines(report | {"replaced": []}, tmp_path))


def test_nothing_is_listed_where_groups_differ_in_base_rates_alone(tmp_path):
    """Of 40 such files two list a word, one each, seed 2 among them: the false discovery rate is 5 %."""
    words = []
    for seed in range(4):
        report, _ = explained(rows_of(seed, ({}, {}), (-1.2, 1.2)), tmp_path, compare="side")
        assert report["quality"]["verdict"] == "sure"
        words += listed(report)
    assert len(words) <= 1


@pytest.mark.parametrize("names", [("before 2024-02-01", "from 2024-02-01"), ("2", "all but 2")])
def test_times_are_halved_and_each_of_several_groups_is_compared_with_all_others(tmp_path, names):
    rows, i = rows_of(0), np.arange(1200)
    days = np.where(i < 600, np.datetime64("2023-01-01") + i % 365, np.datetime64("2024-02-01") + i % 9).astype(str)
    days[:10] = ""  # so that the median is the first late day
    rows["side"] = days if len(names[0]) > 1 else np.where(i < 600, 2, i % 2)
    report, _ = explained(rows, tmp_path, compare="side")
    assert {("onlya", "class B", names[0]), ("onlyb", "class A", names[1])} <= listed(report)
    assert report["compared"]["groups"][-1]["texts"] == 600


@pytest.mark.parametrize("values, why", [(["A"], "1 of the 1 values"), ([f"v{i}" for i in range(9)], "9 of the 9")])
def test_what_cannot_be_compared_is_refused(tmp_path, values, why):
    with pytest.raises(Refused, match=why):
        explained(rows_of(0).assign(side=np.resize(values, 1200)), tmp_path, compare="side")


def test_under_the_verdict_nothing_no_word_is_compared(tmp_path):
    rows = rows_of(0).assign(label=np.random.default_rng(0).permutation(["a", "b"] * 600))
    report, _ = explained(rows, tmp_path, Settings(epochs=2), compare="side")
    assert report["compared"] is None and report["notes"][-1].startswith("No word is compared")


def test_intervals_hold_the_difference():
    draws = np.random.default_rng(0)
    n, (truth, expected) = draws.integers(20, 61, (2, 4000)), draws.uniform(0.05, 0.95, (2, 2, 4000))
    _, low, high = interval(np.stack([n, draws.binomial(n, truth), n * expected], -1)) - np.subtract(*truth - expected)
    assert 0.93 <= ((low <= 0) & (high >= 0)).mean() <= 0.98


def test_groups_must_differ_in_points_and_in_odds():
    """Words that make 0.9 of 0.5, and 0.99 of 0.9, are as strong: 40 points and 9. By 0.95 they are not."""
    sums = np.array([[200, 180, 100, 180, 18], [200, 198, 180, 198, 1.98]])
    assert [differences((sums * [1, 1, 1, alike, 1])[None, None])[0].any() for alike in (1, 0.95)] == [False, True]
