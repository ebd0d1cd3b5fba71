"""The list of the paper's panels, what is printed in them, and how stored seeds are set against it."""

import numpy as np
import pandas as pd
import pytest
import torch

from uaftc_book import panels
from uaftc_lib import AttentionClassifier, Corpus, Dataset, Vocabulary, published
from uaftc_lib.experiments.registry import stored as read_stored
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.scores import KINDS, examined_types


def test_every_published_panel_of_real_words_is_listed():
    listed = set(panels.panels()["figure"])
    known = {*published("main_figures")["figure"], *published("scatters")["figure"]}
    assert listed >= {figure for figure in known if not figure.startswith(("S3", "S4"))}
    assert {f"S{n}" for n in range(14, 29)} <= listed and len(listed) == len(panels.panels())


@pytest.mark.parametrize("panel", panels.panels().to_dict("records"), ids=lambda panel: panel["figure"])
def test_printed_means_stand_in_the_listed_order(panel):
    known = panels.in_print(panel["figure"])
    if known is None:
        assert not panel["values"]
        return
    if panel["values"] == "scatters":
        words = published("scatters").query("figure == @panel['figure']")["panel"].iloc[0]
        assert (f"λ{panel['lam']:g}" in words and panel["model"] in words) or "…" in words
        assert panels.in_order(panel["order"], known.set_index("type")["mean"].to_dict())
    elif panel["values"] == "boxes":
        assert panels.in_order(panel["order"], known.set_index("type")["median"].to_dict())
    else:
        assert (known["min"] < known["max"]).all()


def test_an_order_may_leave_some_open():
    means = {"a": 3.0, "b": 2.0, "c": 1.0}
    assert panels.in_order("a > b > c", means) and panels.in_order("b a > c", means)
    assert not panels.in_order("b > a > c", means) and not panels.in_order("a > c b > c", means)


def test_an_unknown_panel_is_refused():
    with pytest.raises(ValueError, match="no panel 'S29'; there are 2a, "):
        panels.in_print("S29")


def seeds(means: list[dict], dataset="20news-1", model="DP-A", lam=50.0, scores="attention"):
    """Stored rows with these means."""
    rows = [
        {"dataset": dataset, "model": model, "lam": lam, "seed": seed, "scores": scores, "type": kind, "mean": mean}
        for seed, of_seed in enumerate(means)
        for kind, mean in of_seed.items()
    ]
    return pd.DataFrame(rows).assign(median=lambda frame: frame["mean"])


def test_seeds_are_counted_and_judged():
    printed = {"positive": -0.257, "negative": 0.356, "neutral": 0.001}
    mirror = {"positive": 0.356, "negative": -0.257, "neutral": 0.001}
    row = panels.compare(seeds([printed] * 9 + [mirror])).set_index("figure").loc["S24"]
    assert (row["seeds"], row["as printed"], row["mirrored"], row["verdict"]) == (10, 9, 1, "reproduced")
    # The largest distance is that of the positive median: a tenth of (0.356 + 0.257) over 0.327 − 0.183.
    assert row["off"] == pytest.approx(0.0613 / 0.144, rel=1e-3)
    others = panels.compare(seeds([printed] + [mirror] * 9)).set_index("figure")
    assert others["verdict"]["S24"] == "in some seeds" and others["verdict"]["S23"] == "not made"
    assert panels.compare(seeds([mirror])).set_index("figure")["verdict"]["S24"] == "differs"


def test_three_classes_are_told_apart_by_their_three_scores():
    rows = pd.concat(
        seeds([{"rec.motorcycles": mean, "sci.med": 9.0}], "20news-2", "DP-A", 10.0, f"polarity {name}")
        for name, mean in (("rec.motorcycles", 3.0), ("talk.politics.guns", 2.0), ("sci.med", 1.0))
    )
    assert panels.compare(rows).set_index("figure")["as printed"]["S25"] == 1


@pytest.mark.parametrize(("encoder", "attention"), [("none", "dot"), ("affine", "dot"), ("none", "additive")])
def test_the_tilt_is_the_product_in_the_space_of_embeddings(encoder, attention):
    model = AttentionClassifier(7, dimension=4, encoder=encoder, attention=attention, dtype=torch.float64, seed=2)
    e = torch.full((1, 4), 1e-6, dtype=torch.float64, requires_grad=True)  # small, where tanh is the identity
    a, s, _ = model.score(e)
    gradients = [torch.autograd.grad(score.sum(), e, retain_graph=True)[0] for score in (a, s)]
    assert panels.tilt(model) == pytest.approx(model.lam * float((gradients[0] * gradients[1]).sum()), rel=1e-6)


def test_rows_are_those_of_the_scores():
    vocabulary = Vocabulary([f"{kind}-{i}" for kind in KINDS for i in range(9)])
    train = Corpus.from_lists([list(range(27)), [0, 9]], [1, 0], classes=("negative", "positive"))
    data = Dataset("synthetic-1", vocabulary, ("negative", "positive"), train)
    types, model = examined_types(data), AttentionClassifier(len(data.vocabulary), encoder="affine", seed=1)
    rows = pd.DataFrame(panels.score_rows(model, data, types)).set_index(["scores", "type"])
    values = model.token_scores().polarity[types["negative"]].double().numpy()
    row = rows.loc["polarity", "negative"]
    assert list(row[list(panels.QUANTILES)]) == pytest.approx(np.quantile(values, list(panels.QUANTILES.values())))
    neutral = model.token_scores().polarity[types["neutral"]].double().numpy()
    assert row["over neutral"] == pytest.approx((values[:, None] > neutral).mean(), abs=1e-6)
    assert set(rows.index.get_level_values("scores")) == {"attention", "polarity"}


def test_the_stored_seeds_examine_as_many_words_as_the_paper():
    stored = read_stored("figure_scores")
    counts = published("token_types").set_index(["dataset", "token_type"])["count"]
    examined = stored[(stored.scores == "attention") & (stored.dataset != "20news-2")]
    for name, rows in examined.groupby(["dataset", "type"]):
        assert abs(rows["words"] - counts[PAPER_NAMES[name[0]], name[1]]).max() <= 1  # IMDB: one neutral word more
