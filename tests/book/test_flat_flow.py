"""Flat attention in closed form, against the mean field solved step by step."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

from uaftc_book.flat_flow import FlatFlow, driven, flat_leads
from uaftc_book.mean_field import MeanField
from uaftc_book.small_data import initial_model, set_cosine, small_data
from uaftc_lib.datasets import load_dataset
from uaftc_lib.scores import examined_types

DATA = {name: load_dataset(f"synthetic-{i}") for i, name in ((1, "Data I"), (2, "Data II"))}
DATA["small"] = small_data()  # as many neutral as polar words
RUNS = [(name, reach, time) for name in DATA for reach in (1.0, 0.1) for time in (50.0, 1440.0)]


def start(data, reach, centred=True, orthogonal=False, seed=0):
    """A float64 model; centred: e₊ = −e₋ and e₀ = 0 on average; orthogonal: V ⟂ W and g."""
    model, types = initial_model(data, weight_range=reach, seed=seed, dtype=torch.float64), examined_types(data)
    E, polar = model.embedding.data, torch.cat([types["positive"], types["negative"]])
    if centred:
        for ids in (polar, types["neutral"]):
            E[ids] -= E[ids].mean(0)
    if orthogonal:
        plane = torch.stack([model.W.data, E[types["positive"]].mean(0) - E[types["negative"]].mean(0)])
        basis = torch.linalg.qr(plane.T).Q
        model.V.data -= basis @ (basis.T @ model.V.data)
    return model


def by_mean_field(data, model, lam, time):
    """W·W, V·W, the gap and the lead of the weaker class at the end of the mean field's flow."""
    kinds = list(examined_types(data).values())
    field = MeanField.from_corpus(data.train, kinds)
    G = field.flow(field.start(model, kinds), lam, [0.0, time], rtol=1e-11, atol=1e-13)[-1]
    positive, negative, neutral = G[:3, -2] / lam
    return {"W·W": G[-1, -1], "V·W": G[-1, -2], "gap": positive - negative, "lead": min(positive, negative) - neutral}


def flat_flow(data, model):
    return FlatFlow.from_model(model, data.train, examined_types(data), exchangeable=True)


@pytest.mark.parametrize("name, reach, time", RUNS)
def test_w_and_the_gap_are_those_of_the_mean_field_at_a_very_large_lam(name, reach, time):
    data = DATA[name]
    model = start(data, reach)
    flow, expected = flat_flow(data, model), by_mean_field(data, model, 1e4, time)
    end = flow.end(time, 1e4)
    W, _ = flow.rotated(end["θ"])
    assert W @ W == pytest.approx(expected["W·W"], rel=3e-6)  # what is left out is of the order 1/λ²
    assert flow.V @ W == pytest.approx(expected["V·W"], rel=1e-4)
    assert end["gap"] == pytest.approx(expected["gap"], rel=1e-4)


@pytest.mark.parametrize("factor", ["nu", "share"])
def test_a_wrong_factor_is_noticed(factor):
    model, data = start(DATA["Data I"], 1.0), DATA["Data I"]
    flow, expected = flat_flow(data, model), by_mean_field(data, model, 1e4, 480.0)
    wrong = replace(flow, **{factor: 1.001 * getattr(flow, factor)}).end(480.0, 1e4)
    assert wrong["gap"] != pytest.approx(expected["gap"], rel=2e-4)


def test_w_and_the_gap_from_vectors_as_drawn():
    """The common vote of all words parts the β of the classes a little; it is small."""
    data = DATA["Data I"]
    for seed in range(3):
        model = start(data, 1.0, centred=False, seed=seed)
        flow, expected = flat_flow(data, model), by_mean_field(data, model, 1e4, 480.0)
        end = flow.end(480.0, 1e4)
        W, _ = flow.rotated(end["θ"])
        assert W @ W == pytest.approx(expected["W·W"], rel=1e-4)
        assert end["gap"] == pytest.approx(expected["gap"], rel=1e-3)


def test_the_rotation_conserves_the_difference_and_its_angle_follows_its_clock():
    flow = flat_flow(DATA["Data I"], start(DATA["Data I"], 0.1, centred=False))
    path = flow.path(4800.0, 1e4, moments=4000)
    W, g = flow.rotated(path["θ"])
    kept = (W * W).sum(1) - (g * g).sum(1)
    assert abs(kept - kept[0]).max() < 1e-10 * (W * W).sum(1).max()
    assert path["margin"] == pytest.approx(2 * flow.nu * (g * W).sum(1), rel=1e-12)
    assert path["τ"][-1] == 4800.0 and (np.diff(path["θ"]) > 0).all()
    time = np.trapezoid((1 + np.exp(path["margin"])) / (2 * flow.nu), path["θ"])
    assert time == pytest.approx(4800.0, rel=1e-5)


def test_what_drives_a_rotation_solves_its_equation():
    angle = np.linspace(0.0, 2.0, 4001)
    found = driven(angle, np.ones((len(angle), 1)))[:, 0]  # y' = z + 1, z' = y
    assert found == pytest.approx(np.sinh(angle), abs=1e-6)


@pytest.mark.parametrize("lam", [3.0, 10.0, 100.0])
def test_the_next_order_is_exact_where_v_is_orthogonal(lam):
    for data, reach, time in ((DATA["Data I"], 1.0, 480.0), (DATA["small"], 0.1, 1440.0)):
        model = start(data, reach, orthogonal=True)
        flow, expected = flat_flow(data, model), by_mean_field(data, model, lam, time)
        end = flow.end(time, lam, turning=True)
        W, _ = flow.rotated(end["θ"])
        assert W @ W == pytest.approx(expected["W·W"], rel=1e-6)
        assert end["lead"] == pytest.approx(expected["lead"], rel=1e-6)
        assert abs(end["gap"]) < 1e-8 and abs(expected["gap"]) < 1e-8


@pytest.mark.parametrize("lam, flat, turning", [(1000.0, 0.01, 0.001), (100.0, 0.1, 0.03), (30.0, 0.4, 0.08)])
def test_the_next_order_is_nearer_to_the_mean_field(lam, flat, turning):
    """Largest relative error of the gap from vectors as drawn, over two ranges and lengths."""
    data, errors = DATA["Data I"], {False: [], True: []}
    for reach in (1.0, 0.1):
        for time in (480.0, 4800.0):
            model = start(data, reach, centred=False, seed=2)
            expected = by_mean_field(data, model, lam, time)["gap"]
            for order in errors:
                errors[order].append(abs(flat_flow(data, model).end(time, lam, order)["gap"] / expected - 1))
    assert max(errors[True]) < turning < max(errors[False]) < flat


@pytest.mark.parametrize("reach, time", [(1.0, 480.0), (0.1, 1440.0)])
def test_above_the_upper_end_one_class_loses_its_attention(reach, time):
    data = DATA["Data I"]
    model = set_cosine(start(data, reach, centred=False), 0.25)
    flow = flat_flow(data, model)
    up = flow.upper_end(time)
    assert flow.end(time, 0.99 * up)["lead"] > 0 > flow.end(time, 1.01 * up)["lead"]
    turned = brentq(lambda lam: flow.end(time, lam, turning=True)["lead"], up / 2, 2 * up)
    for end, error in ((up, 0.2), (turned, 0.08)):
        assert by_mean_field(data, model, (1 - error) * end, time)["lead"] > 0
        assert by_mean_field(data, model, (1 + error) * end, time)["lead"] < 0


def test_the_upper_end_of_centred_vectors_is_the_middle_over_the_cosine():
    data = DATA["Data I"]
    model = start(data, 1.0)
    flow = flat_flow(data, model)
    g = flow.grown(480.0)
    cosine = flow.V @ g / np.linalg.norm(flow.V) / np.linalg.norm(g)
    assert flow.upper_end(480.0) == pytest.approx(flow.middle(g) / abs(cosine), rel=1e-6)
    assert replace(flow, V=flow.V - g * (flow.V @ g) / (g @ g)).upper_end(480.0, within=(1.0, 1e3)) == 1e3
    lengths = [flow.middle(flow.grown(time)) for time in (480.0, 1440.0, 4800.0)]
    margins = [flow.end(time, 1e4)["margin"] for time in (480.0, 1440.0, 4800.0)]
    assert np.array(lengths) / lengths[0] == pytest.approx(np.sqrt(np.array(margins) / margins[0]), rel=0.05)


@pytest.mark.parametrize("sizes", [(6000, 6000), (2000, 10000)])
def test_the_leads_of_unequal_classes_are_those_of_the_mean_field(sizes):
    data = load_dataset("synthetic-1", class_sizes=sizes)
    kinds, model = list(examined_types(data).values()), start(data, 1.0, centred=False)
    field = MeanField.from_corpus(data.train, kinds)
    c, L = flat_leads(field, field.start(model, kinds), 480.0)
    G = field.flow(field.start(model, kinds), 1e4, [0.0, 480.0], rtol=1e-11, atol=1e-13)[-1]
    assert c + L / 1e4 == pytest.approx(G[:2, -2] - G[2, -2], rel=1e-3)
    if sizes == (6000, 6000):
        flow = flat_flow(data, model)
        assert c[0] - c[1] == pytest.approx(1e6 * flow.end(480.0, 1e6)["gap"], rel=1e-3)
        assert L == pytest.approx(2 * [flow.lift(flow.grown(480.0))], rel=0.01)
    else:
        with pytest.raises(ValueError, match="equal size"):
            flat_flow(data, model)


def test_what_the_flow_refuses():
    data = DATA["small"]
    types, model = examined_types(data), start(data, 1.0)
    with pytest.raises(ValueError, match="positive"):
        flat_flow(data, model).end(0.0, 10.0)
    with pytest.raises(ValueError, match="types must be"):
        FlatFlow.from_model(model, data.train, {"positive": types["positive"]})
