"""Rank agreement against scipy, and its refusal."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from uaftc_lib.book.chapters.words_and_classes import rank_agreement


def test_rank_agreement_is_spearmans_with_an_interval():
    random = np.random.default_rng(0)
    truth = random.normal(size=300).round(1)  # with ties
    data = pd.DataFrame({"near": truth + random.normal(size=300), "far": random.normal(size=300), "truth": truth})
    data.loc[0, "near"] = np.nan
    table = rank_agreement(data, ["far", "near"], "truth").set_index("quantity")
    complete = data.dropna()
    assert list(table.index) == ["near", "far"] and (table["rows"] == 299).all()
    for name in table.index:
        assert table.loc[name, "correlation"] == pytest.approx(spearmanr(complete[name], complete["truth"])[0])
    assert table.loc["near", "low"] > 0.5 and table.loc["far", "low"] < 0 < table.loc["far", "high"]
    width = table.loc["far", "high"] - table.loc["far", "low"]
    assert width == pytest.approx(2 * 1.96 / np.sqrt(299), rel=0.25)


def test_quantities_are_compared_in_pairs():
    """Two that share most of their noise: their intervals overlap, their difference is sure."""
    random = np.random.default_rng(1)
    truth, noise = random.normal(size=(2, 400))
    data = pd.DataFrame({"near": truth + noise, "further": truth + 1.3 * noise, "truth": truth})
    data["as near"] = truth + random.permutation(noise)
    table = rank_agreement(data, ["further", "near", "as near"], "truth").set_index("quantity")
    best = table.index[0]
    assert best in ("near", "as near") and (table.loc[best, ["behind", "behind_low", "behind_high"]] == 0).all()
    assert table.loc["further", "high"] > table.loc["near", "low"], "they overlap"
    pair = rank_agreement(data, ["further", "near"], "truth").set_index("quantity")
    assert 0 < pair.loc["further", "behind_low"] < pair.loc["further", "behind"] < pair.loc["further", "behind_high"]
    expected = pair.loc["near", "correlation"] - pair.loc["further", "correlation"]
    assert pair.loc["further", "behind"] == pytest.approx(expected)
    equal = rank_agreement(data, ["as near", "near"], "truth").iloc[-1]
    assert equal["behind_low"] < 0 < equal["behind_high"]


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="three complete rows, got 2"):
        rank_agreement(pd.DataFrame({"a": [1, 2, np.nan], "b": [1, 2, 3]}), ["a"], "b")
