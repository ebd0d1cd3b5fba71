"""The precomputed λ slider and the ipywidgets sliders."""

import json
import re
from dataclasses import replace

import ipywidgets
import pandas as pd
import pytest
import torch

from uaftc_book.chapters import accuracy
from uaftc_book.chapters.accuracy import (
    LAMS,
    STORED,
    frame_of,
    keep_frames,
    kept_frames,
    path_of,
    slider_cells,
    stored_slider,
)
from uaftc_book.lab import Frame, LambdaSlider, Slider, Stop, lambda_slider, sliders, train_frame
from uaftc_book.lab.stops import redrawn
from uaftc_lib import TrainingConfig, load_dataset, plots
from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.experiments.provenance import provenance
from uaftc_lib.experiments.tables import complete
from uaftc_lib.plots.summaries import number
from uaftc_lib.plots.theme import COLORS

CONFIG = TrainingConfig(optimizer="sgd", learning_rate=1.0, epochs=2)
OPTIONS = {"dimension": 8, "dtype": torch.float64}


@pytest.fixture(scope="module")
def small():
    return load_dataset("synthetic-1", class_sizes=(300, 300))


@pytest.fixture(scope="module")
def slider(small):
    return lambda_slider(small, (1, 10, 100), CONFIG, shown=40, **OPTIONS)


def test_every_frame_is_its_own_training_run(small, slider):
    assert [frame.lam for frame in slider.frames] == [1, 10, 100]
    again = train_frame(small, 100, CONFIG, shown=40, **OPTIONS)
    assert repr(slider.frames[2]) == repr(again)  # its accuracies are nan, which differs from itself
    assert slider.frames[0].means != slider.frames[1].means


def test_caption_tells_the_numbers_of_its_frame(slider):
    page = slider._repr_html_()
    said = re.findall(r'data-says="([^"]*)"', page)
    assert len(said) == 3
    for frame, sentence in zip(slider.frames, said):
        assert sentence.startswith(f"λ = {number(frame.lam)}:")
        for kind, (_, attention, _) in frame.means.items():
            assert f"{number(attention)} for {kind}" in sentence
    assert page.count(" hidden>") == 2  # one frame is seen, at λ = 10
    assert '<p class="caption" aria-live="polite">λ = 10:' in page


def test_output_is_the_same_every_time(small, slider):
    again = lambda_slider(small, (1, 10, 100), CONFIG, shown=40, **OPTIONS)
    assert again._repr_html_() == slider._repr_html_()


def test_frames_survive_a_file(slider, tmp_path):
    keep_frames(slider.frames, tmp_path / "frames.json")
    loaded = LambdaSlider(kept_frames(tmp_path / "frames.json"))
    assert loaded._repr_html_() == slider._repr_html_()
    assert len(json.loads((tmp_path / "frames.json").read_text())) == 3


def test_accuracy_picture_only_where_there_is_an_accuracy(slider):
    assert "accuracy" not in slider._repr_html_()
    scores = {"positive": [1.0]}, {"positive": [0.5]}, {"positive": (1.0, 0.5, 1)}
    frames = [Frame(lam, 0.7, 0.8, 1, *scores) for lam in (1, 2)]
    assert "test accuracy 80.0 %" in LambdaSlider(frames)._repr_html_()


def test_three_classes_have_frames_too():
    """Each class has a word of its own; two words are everybody's."""
    lists, labels = [[k, 3, 4] for k in range(3)] * 30, [0, 1, 2] * 30
    classes = ("<cars>", "medicine", "guns")
    corpus = replace(Corpus.from_lists(lists, labels, class_count=3), classes=classes)
    vocabulary = Vocabulary(["engine", "doctor", "rifle", "the", "a"])
    news = Dataset("news", vocabulary, classes, corpus, corpus, corpus)
    shown = lambda_slider(news, (1, 10), TrainingConfig(optimizer="sgd", learning_rate=1.0, epochs=20), dimension=4)
    frame = shown.frames[1]
    assert {kind: count for kind, (_, _, count) in frame.means.items()} == {"neutral": 2} | dict.fromkeys(classes, 1)
    assert all(frame.means[kind][0] > frame.means["neutral"][0] for kind in classes)  # each votes for its own class
    page = shown._repr_html_()
    assert "&lt;cars&gt;" in page and "<cars>" not in page and "test accuracy 100.0 %" in page
    drawn = shapes(shown.stops[1].picture)
    assert len(drawn) == len(set.union(*drawn.values())) == 4, "nor do two kinds share a shape"


def shapes(picture: str) -> dict[str, set[str]]:
    """Colour of dots -> the forms that are drawn in it."""
    forms = dict(re.findall(r'<path id="([\w-]+)" d="([^"]*)"', picture))
    drawn = re.findall(r'<use xlink:href="#([\w-]+)"[^>]* style="fill: (#\w+); fill-opacity', picture)
    return {colour: {forms[name] for name, other in drawn if other == colour} for _, colour in drawn}


def test_kinds_differ_in_shape_not_only_in_colour(slider):
    drawn = shapes(slider.stops[1].picture)
    assert set(drawn) == {COLORS[kind].lower() for kind in ("positive", "negative", "neutral")}
    assert all(len(shape) == 1 for shape in drawn.values())
    assert len(set.union(*drawn.values())) == 3


def test_many_marks_are_one_line_and_none_is_lost():
    places = pd.DataFrame({"x": [float(i) for i in range(400)], "y": [i % 7 for i in range(400)], "kind": "neutral"})
    picture = plots.scatter(places, "x", "y", "kind", "400 points", raster=False).drawings()
    (corners,) = re.findall(r'<polyline points="([^"]*)"', picture)
    across = [float(corner.split(",")[0]) for corner in corners.split()]
    steps = {round(after - before, 1) for before, after in zip(across, across[1:])}
    assert len(across) == 400 and max(steps) - min(steps) <= 0.11 and "<image" not in picture


@pytest.mark.parametrize("dataset, model", STORED)
def test_stored_frames_are_those_of_the_command(dataset, model):
    path, kept = path_of(dataset, model), stored_slider(dataset, model, start=100)
    assert [frame.lam for frame in kept.frames] == LAMS == [cell.lam for cell in slider_cells(dataset, model)]
    assert path.stat().st_size < 1_000_000 and kept.frames[kept.start].lam == 100 and kept.retrain is None
    for frame in kept.frames:
        assert 0.6 < frame.test_accuracy < 0.95 and 1 <= frame.best_epoch <= STORED[dataset, model]
        assert frame.means["negative"][0] < 0 < frame.means["positive"][0]


@pytest.mark.long
@pytest.mark.data("dataset")
@pytest.mark.parametrize("dataset, model", STORED)
def test_a_stored_frame_made_again(dataset, model):
    again, kept = frame_of(slider_cells(dataset, model)[2]), stored_slider(dataset, model).frames[2]
    assert again.test_accuracy == pytest.approx(kept.test_accuracy, abs=0.01)
    for kind, means in kept.means.items():
        assert again.means[kind] == pytest.approx(means, rel=0.1, abs=0.02)


def test_frames_are_stored_with_how_they_were_made(tmp_path, monkeypatch, slider):
    monkeypatch.setenv("UAFTC_RESULTS", str(tmp_path))
    monkeypatch.setattr(accuracy, "frame_of", lambda cell: replace(slider.frames[0], lam=cell.lam))
    list(complete(["frames"]))
    told = pd.read_csv(tmp_path / "frames.csv")
    for file, rows in told.groupby("file"):
        assert [frame["lam"] for frame in json.loads((tmp_path / file).read_text())] == rows["lam"].tolist() == LAMS
    assert set(told["file"]) == {path_of(*key).name for key in STORED}
    runs = [cell for key in STORED for cell in slider_cells(*key)]
    assert told["learning_rate"].tolist() == [cell.learning_rate for cell in runs]
    assert {"epochs", "seed", *provenance()} <= set(told.columns)


def test_what_is_not_stored_is_named():
    with pytest.raises(ValueError, match="no frames are stored for AD on sst; there are DP-L on sst, DP on imdb"):
        stored_slider("sst", "AD")


@pytest.mark.parametrize("frames, message", [([], "at least one frame"), ([0, 0], "every λ may occur once")])
def test_impossible_frames_are_refused(slider, frames, message):
    with pytest.raises(ValueError, match=message):
        LambdaSlider([slider.frames[i] for i in frames])


def test_live_slider_retrains_and_shows_the_new_frame(small):
    box = sliders(small, CONFIG, controls=("lam", "epochs", "penalty"), shown=40, **OPTIONS)
    lam, epochs, penalty, picture = box.children
    before = picture.value
    lam.value = 100
    assert "λ = 100:" in picture.value and "λ = 10:" in before
    at_two = picture.value
    epochs.value = 3
    expected = train_frame(
        small, 100, TrainingConfig(optimizer="sgd", learning_rate=1.0, epochs=3), shown=40, **OPTIONS
    )
    for _, attention, _ in expected.means.values():
        assert number(attention) in picture.value
    assert re.sub("Trained.*", "", picture.value) != re.sub("Trained.*", "", at_two)


def test_live_part_of_the_frames_retrains_between_them(small, slider):
    control, picture = slider.live().children
    control.value = 30
    _, attention, _ = train_frame(small, control.value, CONFIG, shown=40, **OPTIONS).means["positive"]
    assert "λ = 30:" in picture.value and number(attention) in picture.value


def test_unknown_control_is_named(small):
    with pytest.raises(ValueError, match="unknown controls lambda; there are lam"):
        sliders(small, controls=("lambda",))


def test_numbers_are_written_with_three_digits_and_a_true_minus():
    written = [number(value) for value in (-0.07591, 1000, 1e-5, 12345, 0)]
    assert written == ["−0.0759", "1000", "10⁻⁵", "1.23·10⁴", "0"]


def test_a_control_of_a_notebook_draws_what_is_chosen():
    def draw(t):
        return plots.sentence(pd.DataFrame({"word": [f"word-{t}"], "weight": [1.0]}), caption=f"number {t}").to_html()

    control, picture = redrawn({"t": ipywidgets.IntSlider(2, 0, 4)}, draw).children
    assert "word-2" in picture.value
    control.value = 4
    assert "word-4" in picture.value and "number 4" in picture.value and "word-2" not in picture.value


def test_stops_are_switched_on_a_page_and_drawn_anew_in_a_kernel():
    stops = [Stop(value, f"<b>picture {value}</b>", f"λ = {value}: <told>.") for value in (0.1, 1, 10)]
    shown = Slider("strength", "λ", stops, 1, lambda at: f"<i>anew {at:g}</i>")
    page = shown._repr_html_()
    assert page.count("<b>picture") == 3 and page.count(" hidden>") == 2 and "&lt;told&gt;" in page
    assert '<div class="frame" data-says="λ = 1: &lt;told&gt;." data-set="lam=1"><b>picture 1</b>' in page
    assert 'aria-valuetext="λ = 1"' in page and "strength λ" in page
    assert shown._repr_mimebundle_()["text/plain"].splitlines() == [stop.says for stop in stops]
    control, picture = shown.live().children
    assert "picture 1" in picture.value and (10**control.min, 10**control.max) == (0.1, 10)
    control.value = 5
    assert picture.value == "<i>anew 5</i>"


def test_what_cannot_be_drawn_is_said():
    def draw(value):
        raise ValueError(f"{value:g} < 2")

    control, picture = Slider("strength", "λ", [Stop(1, "one", "λ = 1: one.")], redraw=draw).live().children
    control.value = 1.0
    control.min, control.max = -1, 1
    control.value = 5
    assert picture.value == "<p>5 &lt; 2</p>"
