"""The lab in Python: the same problem as in the browser, captions from PyTorch, presets that show what they say."""

import json
import re
from functools import cache

import lab_reference
import numpy as np
import pytest
import torch

from uaftc_book.lab import lab, parity
from uaftc_book.lab.module import module_source
from uaftc_lib.plots.summaries import number

# Whole trainings, without the type checks of each call.
pytestmark = pytest.mark.usefixtures("untyped")
SMALL = {"instances": 1200, "epochs": 3, "batch": 100, "d": 6}


@cache
def trained(settings: str) -> tuple[list[dict], parity.Epoch]:
    """The rows that a page is held against, and the end of training: made once for all tests."""
    rows = []
    for moment in parity.train(json.loads(settings)):
        rows.append(lab_reference.epoch_row(moment))
    return rows, moment


def end_of(**state) -> dict:
    """The numbers after the last epoch, and that moment."""
    moment = trained(json.dumps(state, sort_keys=True))[1]
    return parity.numbers(moment) | {"moment": moment}


def test_draws_are_uniform_and_streams_differ():
    first, second = (parity.uniform(parity.stream_key(0, name), np.arange(100_000)) for name in ("V", "W"))
    assert np.bincount((first * 16).astype(int), minlength=16) == pytest.approx(6250, abs=5 * 6250**0.5)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.02
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.02
    normal = parity.normal(parity.stream_key(3, "V"), 20_000)
    assert normal.mean() == pytest.approx(0, abs=0.03) and normal.std() == pytest.approx(1, abs=0.03)


def test_instances_are_as_the_paper_makes_them():
    data = parity.dataset({"instances": 1200, "ratio": 0.25, "noise": 0.1})
    tokens, labels = data.train.tokens.reshape(1200, 12), data.train.labels
    assert int(labels.sum()) == 300
    assert all(len(set(row)) == 12 for row in tokens.tolist())
    assert ((tokens < 1000).sum(1) == 10).all()
    positive = ((tokens >= 1000) & (tokens < 1050)).sum(1) == 2
    assert (positive | ((tokens >= 1050).sum(1) == 2)).all()
    assert int((positive & (labels == 0)).sum()) == 90 and int((~positive & (labels == 1)).sum()) == 30
    assert data.vocabulary.word(1049) == "positive-49" and data.vocabulary.word(1050) == "negative-0"


@pytest.mark.parametrize("angle", [0, 35, 90, 180])
def test_angle_of_the_initial_vectors(angle):
    made = parity.model({"angle": angle}, 1103)
    drawn = parity.model({}, 1103)
    cosine = torch.cosine_similarity(made.V.detach(), made.W.detach(), dim=0)
    assert float(cosine) == pytest.approx(np.cos(np.radians(angle)), abs=1e-12)
    assert made.W.norm().item() == pytest.approx(drawn.W.norm().item(), rel=1e-12)
    assert torch.equal(made.V, drawn.V) and torch.equal(made.embedding, drawn.embedding)


def test_batches_are_a_partition_that_changes_with_the_epoch():
    first, second = (parity.batches({"batch": 500}, 1200, epoch) for epoch in (1, 2))
    assert [len(batch) for batch in first] == [500, 500, 200]
    assert torch.cat(first).sort().values.tolist() == list(range(1200))
    assert not torch.equal(first[0], second[0])
    assert len(parity.batches({"batch": "full"}, 1200, 1)) == 1


@pytest.mark.parametrize(
    "options, message",
    [
        ({"state": {"lambda": 3}}, "no setting lambda"),
        ({"state": {"lam": 0}}, "lam must lie between 0.001 and 10000, got 0"),
        ({"state": {"optimizer": "adam"}}, "optimizer must be one of sgd, adagrad, got 'adam'"),
        ({"mode": "tiny"}, "mode must be one of full, compact"),
        ({"figure": "pie"}, "figure must be one of scatter"),
        ({"preset": "huge"}, "no preset 'huge'"),
        ({"mode": "compact", "text": "{lam} {lambda}"}, "the text speaks of lambda"),
        ({"text": "{lam}"}, "only a compact lab"),
    ],
)
def test_impossible_labs_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        lab(**options)


def test_caption_is_made_of_the_numbers_that_pytorch_finds():
    text = "At λ = {lam}: {a_positive}, {s_negative}, gap {gap}, V·W {VW}, {accuracy}."
    shown = lab({**SMALL, "lam": 30}, mode="compact", text=text)
    told = end_of(**SMALL, lam=30)
    expected = [number(told[name]) for name in ("a_positive", "s_negative", "gap", "VW")]
    assert shown.caption() == "At λ = 30: {}, {}, gap {}, V·W {}, {:.1f} %.".format(*expected, 100 * told["accuracy"])
    assert re.sub("<[^>]+>", "", shown.html(False)) == shown.caption()
    numbers_in_page = re.findall(r'<b data-name="(\w+)">', shown.html(False))
    assert numbers_in_page == ["lam", "a_positive", "s_negative", "gap", "VW", "accuracy"]


def test_settings_are_said_as_the_sliders_say_them():
    text = "{penalty}; {angle}; {ratio}; {noise}; {optimizer}; {epochs}"
    said = [
        lab(SMALL | state, mode="compact", text=text).caption()
        for state in ({}, {"penalty": 0.01, "angle": 90, "noise": 0.125, "optimizer": "adagrad"})
    ]
    assert said == ["none; as drawn; 50 %; 0 %; SGD; 3", "0.01; 90°; 50 %; 12.5 %; Adagrad; 3"]


def test_html_says_what_differs_and_hostile_text_stays_text():
    one = lab({"lam": 100})
    assert one.html() == lab({"lam": 100}).html()
    assert one.html().count("<script") == 1 and "<script" not in one.html(with_module=False)
    assert ' state="{&quot;lam&quot;: 100}"' in one.html(False) and 'state="' not in lab().html(False)
    page = lab(SMALL, mode="compact", text='<img src=x onerror="alert(1)"> {lam}').html(False)
    assert "<img" not in page and "&lt;img" in page


def test_page_and_live_kernel_get_the_same_file_without_dependencies():
    source = module_source()
    assert not re.search(r"^\s*import\s|https?://", source, re.MULTILINE)
    assert source.count("export ") == 1 and "export default { render };" in source
    script = re.search(r'<script type="module">\n(.*)</script>', lab().html(), re.DOTALL)[1]
    assert script == source == str(lab().widget()._esm)


@pytest.mark.parametrize("which, state", list(enumerate(lab_reference.STATES)))
def test_stored_reference_is_what_pytorch_finds(which, state):
    stored = json.loads(module_source().split("const REFERENCE = ")[1].split(";\n")[0])
    assert len(stored) == len(lab_reference.STATES) and stored[which]["state"] == state
    rows, _ = trained(json.dumps(state))
    assert rows[0]["loss"] is stored[which]["loss"][0] is None and len(rows) == 31
    for name in ("loss", "attention", "polarity"):
        fresh = np.array([row[name] for row in rows[1:]])
        assert np.abs(fresh - np.array(stored[which][name][1:])).max() < 1e-11, name


def test_sums_with_random_signs_measure_a_distance():
    draws = np.random.default_rng(0)
    for away in (np.eye(1100)[777], draws.normal(size=1100), np.ones(1100)):
        found = np.array(lab_reference.sums(torch.from_numpy(away), count=64))
        assert np.sqrt(np.mean(found**2)) == pytest.approx(np.linalg.norm(away), rel=0.25)


# Each preset is named after what it shows. (Trained by PyTorch on the lab's own data.)


def preset(name: str) -> dict:
    return end_of(**parity.settings()["presets"][name]["state"])


def test_every_preset_is_asserted_here():
    assert set(parity.settings()["presets"]) == {
        name.removeprefix("test_preset_") for name in globals() if name.startswith("test_preset_")
    }


def sides(told: dict, term: str) -> torch.Tensor:
    """A term of Eq 27, of the fifty positive and of the fifty negative types."""
    from uaftc_lib.dynamics import attention_update

    update = attention_update(told["moment"].model, told["moment"].data.train)
    return getattr(update, term)[1000:1100].reshape(2, 50)


def test_preset_moderate():
    told = preset("moderate")
    assert told["a_negative"] > told["a_neutral"] + 0.5, "far above"
    assert 0 < told["a_positive"] - told["a_neutral"] < 0.1 and told["a_positive"] < 0, "just above, not above zero"
    assert 10 < told["upper"] and told["gap"] > 0.5 and told["accuracy"] > 0.999
    D = sides(told, "D").mean(1)
    assert D[0] < 0 < D[1] and told["a_positive"] < told["a_negative"] and told["VW"] < 0, "V·W pulls them apart"


def test_preset_large():
    told = preset("large")
    assert told["a_positive"] < told["a_neutral"] < told["a_negative"]
    assert told["VW"] < 0 and told["upper"] < 100
    assert (sides(told, "D").abs() > sides(told, "E").abs() + sides(told, "F").abs()).all(), "D decides"


def test_preset_calm():
    told = preset("calm")
    assert min(told["a_positive"], told["a_negative"]) > told["a_neutral"] + 0.3
    assert told["gap"] < 0.25 * preset("moderate")["gap"] and told["accuracy"] > 0.999
    assert told["upper"] > 5 * preset("moderate")["upper"], "several times wider"


def test_preset_penalty():
    told, without = preset("penalty"), preset("moderate")
    assert told["gap"] < 0.02 * without["gap"] and min(told["a_positive"], told["a_negative"]) > told["a_neutral"]
    assert told["accuracy"] == without["accuracy"] and "upper" not in told


def test_preset_small():
    told = preset("small")
    moment, corpus = told["moment"], told["moment"].data.train
    start = parity.model(parity.settings()["presets"]["small"]["state"], 1103)
    for model in (start, moment.model):
        weights = model(corpus).weights.detach().reshape(-1, 12)
        assert float(weights.amax(1).mean()) > 0.9, "nearly all on one word"
    on_polarity = corpus.tokens.reshape(-1, 12).gather(1, weights.argmax(1, keepdim=True))[:, 0] >= 1000
    right = (moment.model(corpus).polarity > 0).long() == corpus.labels
    assert right[on_polarity].all() and on_polarity.double().mean() > 0.5
    assert right[~on_polarity].double().mean() < 0.75, "where it is a neutral one, many are not"
    assert 0.9 < told["accuracy"] < 0.97 < preset("moderate")["accuracy"]


def test_preset_skewed():
    told, balanced = preset("skewed"), preset("calm")
    assert told["moment"].data.train.labels.double().mean() == 0.8
    assert abs(parity.numbers(next(parity.train({"angle": 90, "ratio": 0.8})))["VW"]) < 1e-12
    assert told["VW"] > 2 * abs(balanced["VW"]) and told["accuracy"] > 0.999


def test_preset_noisy():
    told, clean = preset("noisy"), preset("moderate")
    corpus = told["moment"].data.train
    looks_positive = ((corpus.tokens >= 1000) & (corpus.tokens < 1050)).reshape(-1, 12).any(1)
    mislabelled = looks_positive.long() != corpus.labels
    assert mislabelled.double().mean() == 0.1
    wrong = (told["moment"].model(corpus).polarity > 0).long() != corpus.labels
    assert torch.equal(wrong, mislabelled), "that tenth is classified wrongly"
    assert 5 < told["s_positive"] < clean["s_positive"] and 5 < -told["s_negative"] < -clean["s_negative"]
    assert told["gap"] < 0.5 * clean["gap"]
