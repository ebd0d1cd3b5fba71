"""The phases of weight decay, against descent from random starts and full models."""

import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_book.chapters.which_lambda import edges
from uaftc_book.decay import DecayProgramme, descend, one_sided_factor
from uaftc_book.small_data import ends, initial_model
from uaftc_lib.datasets import load_dataset
from uaftc_lib.scores import examined_types

POINTS = {(1.0, 7e-3): "two-sided", (3.0, 7e-3): "one-sided", (10.0, 2e-3): "one-sided", (30.0, 1e-3): "flat"}


@pytest.mark.parametrize("lam, mu", POINTS)
def test_no_random_start_ends_below_the_optimum_or_outside_the_phases(lam, mu):
    programme = DecayProgramme(lam, mu)
    optima = programme.optima
    assert programme.phase == POINTS[lam, mu]
    least = min(one.objective for one in optima.values())
    nothing = np.log(2)  # all vectors zero
    ended = [programme.from_start(seed).objective for seed in range(12)]
    assert min(ended) == pytest.approx(least, abs=1e-6)
    known = np.array([nothing, *(one.objective for one in optima.values())])
    assert max(abs(known - one).min() for one in ended) < 1e-5


@pytest.mark.parametrize("lam", [3.0, 10.0])
def test_flat_attention_is_unstable_below_its_critical_decay(lam):
    critical = DecayProgramme(lam, 1e-3).critical
    for factor, below in ((0.98, True), (1.02, False)):
        programme = DecayProgramme(lam, factor * critical)
        s = programme.optima["flat"].polarity[0]
        votes, up = s * np.array([1, -1, 0]), np.array([1, 1, 0]) * 1e-4 - 1e-4 * 100 / 1100
        change = programme.objective(up, votes) - programme.objective(0 * up, votes)
        assert (change < 0) == below


def test_one_sided_attention_is_the_vote():
    one = DecayProgramme(10.0, 2e-3).optima["one-sided"]
    assert np.ptp(one.attention / one.polarity) < 1e-9
    assert sorted(abs(one.polarity)) == pytest.approx([1.58, 5.585, 12.67], abs=0.01)


def test_a_full_model_descends_to_the_optimum():
    lam, mu, data = 3.0, 7e-3, load_dataset("synthetic-1")
    types = examined_types(data)
    model = descend(initial_model(data, lam, seed=1), data.train, mu, rate=5.0, steps=1200, momentum=0.9)
    optimum = DecayProgramme(lam, mu).optima["one-sided"]
    end = ends(model, types)
    found = np.array([end[f"polarity {kind}"] for kind in types])
    mirrored = -optimum.polarity[[1, 0, 2]]  # the classes exchanged
    error = min(abs(found - one).max() for one in (optimum.polarity, mirrored))
    assert error < 0.01 * abs(optimum.polarity).max()
    values = torch.linalg.svdvals(model.embedding.detach())
    assert values[1] < 0.001 * values[0]
    W = model.W.detach()
    factor = float(model.V.detach() @ W / (W @ W))
    assert one_sided_factor(model, data.train, lam, mu) == pytest.approx(factor, rel=1e-3)


def test_edges_lie_where_objectives_cross_or_meet():
    x = np.log10([1e-4, 1e-3, 1e-2, 1e-1, 1.0])
    two, one, flat = 2 * (x + 3.5), x + 3.5, np.full(5, 2.2)  # in log μ two and one cross at −3.5, one and flat at −1.3
    grid = pd.DataFrame({"lam": 1.0, "mu": 10**x, "two-sided": two, "one-sided": np.minimum(one, flat), "flat": flat})
    grid["phase"] = ["two-sided", "one-sided", "one-sided", "flat", "nothing"]
    edge = np.log10(edges(grid).set_index("phase")["edge"])
    assert edge["two-sided"] == pytest.approx(-3.5) and edge["one-sided"] == pytest.approx(-1.3)
