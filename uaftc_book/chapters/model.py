"""Chapter 01_model: Equations 1 to 7, and the claim of Section 3."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from uaftc_book.cases import Part, Tables, exact
from uaftc_book.claims import reading
from uaftc_book.equations import Equality, equation
from uaftc_book.random_models import Case
from uaftc_book.small_data import small_data
from uaftc_lib.corpus import Corpus
from uaftc_lib.datasets import load_dataset
from uaftc_lib.experiments.paper_models import train_real
from uaftc_lib.experiments.registry import experiment, jobs_over
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.plots.figure import Figure, render, require
from uaftc_lib.plots.summaries import number
from uaftc_lib.plots.theme import COLORS, INK, OTHERS, WIDE

# ---
# Drawings of the model itself: its architecture, and a map of words in the plane of V and W.


ATTENTION, _, POLARITY = OTHERS[:3]
SUBSCRIPTED = 13.6  # points; subscripts are seven tenths of it


def architecture(words: list[str], caption: str) -> Figure:
    """The classifier with attention, drawn from the words up (Fig 1)."""
    columns = range(len(words))
    middle = (len(words) - 1) / 2
    top = 5.1

    def box(axes: Axes, x: float, y: float, text: str, color: str, width: float = 0.76) -> None:
        axes.add_patch(
            FancyBboxPatch(
                (x - width / 2, y - 0.24), width, 0.48, boxstyle="round,pad=0.02,rounding_size=0.1",
                facecolor=color, alpha=0.22, edgecolor=color, linewidth=1.2,
            )
        )  # fmt: skip
        axes.text(x, y, text, ha="center", va="center", fontsize=SUBSCRIPTED)

    def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
        style = {"arrowstyle": "-|>", "color": INK, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", xy=end, xytext=start, arrowprops=style)

    def draw(axes: Axes) -> None:
        for j in columns:
            axes.text(j, -0.1, words[j], ha="center", va="center")
            arrow(axes, (j, 0.12), (j, 0.62))
            box(axes, j, 0.9, f"$\\mathbf{{h}}_{j + 1}$", COLORS["neutral"])
            arrow(axes, (j, 1.18), (j, 1.72))
            box(axes, j, 2.0, f"$a_{j + 1}$", ATTENTION)
            arrow(axes, (j, 2.28), (j, 2.72))
            box(axes, j, 3.0, f"$\\alpha_{j + 1}$", ATTENTION)
            arrow(axes, (j, 3.28), (middle + 0.22 * (j - middle), 3.92))
        box(axes, middle, 4.2, "$\\mathbf{h} = \\Sigma_j\\,\\alpha_j \\mathbf{h}_j$", COLORS["neutral"], 1.9)
        arrow(axes, (middle, 4.48), (middle, top - 0.28))
        box(axes, middle, top, "$s = \\mathbf{h} \\cdot \\mathbf{W}$", POLARITY, 1.9)
        notes = (
            (0.9, "word\nvectors"),
            (2.0, "scores\n$\\mathbf{h}\\cdot\\mathbf{V}/\\lambda$"),
            (3.0, "weights\n(softmax)"),
            (4.2, "pooled\nvector"),
            (top, "polarity"),
        )
        for y, note in notes:
            axes.text(-0.75, y, note, ha="right", va="center")
        axes.set(xlim=(-2.0, len(words) - 0.5), ylim=(-0.4, top + 0.4))
        axes.axis("off")

    alt = (
        f"Diagram, from bottom to top: the words {', '.join(words)}; their vectors h; an attention score a "
        "for each, from V and λ; attention weights α, by softmax; the weighted sum h; the polarity s, from W."
    )
    return render(draw, pd.DataFrame({"word": words}), caption, alt, WIDE)


def word_map(data: pd.DataFrame, caption: str) -> Figure:
    """Words as arrows in the plane: columns word, polarity (across) and attention (up), as on every map of the book."""
    require(data, "word", "attention", "polarity")

    def draw(axes: Axes) -> None:
        axes.axhline(0, color=POLARITY, linewidth=1.0)  # along W
        axes.axvline(0, color=ATTENTION, linewidth=1.0)  # along V
        for _, row in data.iterrows():
            at = (row["polarity"], row["attention"])
            style = {"arrowstyle": "-|>", "color": COLORS["neutral"], "linewidth": 1.1, "shrinkB": 0}
            axes.annotate("", xy=at, xytext=(0, 0), arrowprops=style)
            axes.annotate(row["word"], at, xytext=(4, 4), textcoords="offset points")
        axes.margins(0.25)
        axes.scatter(data["polarity"], data["attention"], s=12, color=INK)
        axes.set(xlabel="polarity score (along W) →", ylabel="attention score (along V, ÷ λ) →")

    places = (f"{row['word']} ({number(row['polarity'])}, {number(row['attention'])})" for _, row in data.iterrows())
    alt = f"Map of words, polarity score across and attention score up: {'; '.join(places)}."
    return render(draw, data, caption, alt, WIDE)


@equation(1, "attention score of a token", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model(view.corpus).scores, view.h_j @ view.V / view.lam)


@equation(2, "attention weight", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model(view.corpus).weights, view.alpha)


@equation(3, "representation of an instance", "definition")
def _(case: Case):
    # The model never forms h; it is what s varies with when W does.
    view = case.view()
    by_W = torch.func.jacrev(
        lambda W: torch.func.functional_call(view.model, view.P | {"W": W}, (view.corpus,)).polarity
    )(view.W)
    return Equality(by_W, view.h)


@equation(4, "polarity score of an instance", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model(view.corpus).polarity, view.h @ view.W)


@equation(5, "logistic loss", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model.loss(view.corpus), -torch.sigmoid(view.y * view.s).log().mean())


@equation(6, "an instance's polarity is the weighted sum of its tokens'", "exact")
def _(case: Case):
    view = case.view()
    out = view.model(view.corpus)
    weighted = out.weights * out.token_polarity
    return Equality(torch.stack([weighted[part].sum() for part in view.parts]), view.h @ view.W)


@equation(7, "polarity score of a token", "definition")
def _(case: Case):
    view = case.view()
    return Equality(view.model(view.corpus).token_polarity, view.h_j @ view.W)


@reading
def weighted_sum(tables: Tables) -> Iterator[Part]:
    corpus, errors = small_data(class_sizes=(20, 20)).train, []
    for seed in range(10):
        model = AttentionClassifier(200, dimension=8, weight_range=1.0, seed=seed, dtype=torch.float64)
        with torch.no_grad():
            out = model(corpus)
            pooled = torch.zeros(len(corpus), 8, dtype=torch.float64)
            pooled.index_add_(0, corpus.instance_of, out.weights[:, None] * model.embedding[corpus.tokens])
            summed = torch.zeros(len(corpus), dtype=torch.float64)
            summed.index_add_(0, corpus.instance_of, out.weights * out.token_polarity)
            errors.append(float((summed - pooled @ model.W).abs().max() / summed.abs().max()))
    yield exact("random models", errors)


# ---
# The running sentence of the book, read by models that learnt from real reviews.


SENTENCE = ("the", "film", "is", "truly", "wonderful")


@experiment(jobs_over(lam=(1.0, 10.0, 100.0), seed=range(10)), rows=len(SENTENCE))
def running_sentence(lam: float, seed: int) -> list[dict]:
    """SST, DP by the protocol of Table 2: scores, weight and contribution of each word of one sentence."""
    data = load_dataset("sst")
    model, run = train_real(data, lam=lam, seed=seed)
    with torch.no_grad():
        out = model(Corpus.from_lists([data.vocabulary.encode(SENTENCE)], [1]))
    columns = {"attention": out.scores, "weight": out.weights, "polarity": out.token_polarity}
    rows = pd.DataFrame({"word": SENTENCE} | {name: values.double().numpy() for name, values in columns.items()})
    rows["contribution"] = rows["weight"] * rows["polarity"]
    return rows.assign(accuracy=run.test_accuracy).to_dict("records")
