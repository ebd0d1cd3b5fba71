"""The quadratic programme, the flow of V alone, the clock, Data III, and what is read off them."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import minimize

from uaftc_book.chapters import since_2020
from uaftc_book.mean_field import crossing
from uaftc_book.neighbours import needles, one_step, selection
from uaftc_book.random_models import Case
from uaftc_lib import AttentionClassifier, Corpus
from uaftc_lib.datasets import load_dataset


def of_case(seed=0, **options):
    case = Case(**({"dimension": 20, "lam": 1.0, "types": 40, "instances": 10} | options), seed=seed)
    return case.model(), case.corpus()


@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_the_slope_and_its_derivative_are_those_of_autograd(scale):
    model, corpus = of_case()
    texts = selection.texts_of(model, corpus)
    with torch.no_grad():
        model.V.mul_(scale)
    V = model.V.detach().numpy().copy()
    model.loss(corpus).backward()
    direction, shift = selection.slope(texts, V)
    assert direction * np.exp(shift) == pytest.approx(-model.V.grad.numpy(), rel=1e-10, abs=1e-14)

    def slope(v):
        found, log = selection.slope(texts, v)
        return found * np.exp(log)

    numeric = np.array([(slope(V + 1e-6 * e) - slope(V - 1e-6 * e)) / 2e-6 for e in np.eye(len(V))]).T
    slopes, shift = selection.curvature(texts, V)
    assert slopes * np.exp(shift) == pytest.approx(numeric, abs=1e-6 * abs(numeric).max())


def test_the_slope_does_not_vanish_where_weights_are_rounded_to_one():
    model, corpus = of_case()
    texts = selection.texts_of(model, corpus)
    direction, shift = selection.slope(texts, 1e6 * model.V.detach().numpy())
    assert shift < -5000 and np.linalg.norm(direction) > 1e-6
    with torch.no_grad():
        model.V.mul_(1e6)
    model.loss(corpus).backward()
    assert float(model.V.grad.norm()) == 0


def test_a_text_of_one_word_and_a_word_that_stands_twice():
    model = of_case()[0]
    corpus = Corpus.from_lists([[3], [1, 1, 2]], [0, 1])
    texts = selection.texts_of(model, corpus)
    assert texts.type.tolist() == [3, 1, 2] and texts.log_count == pytest.approx([0, np.log(2), 0])
    margin = selection.max_margin(texts, texts.best(texts.gamma))
    apart = texts.E[1] - texts.E[2]
    assert np.linalg.norm(margin.V) == pytest.approx(1 / np.linalg.norm(apart)) and margin.error < 1e-10
    alone = selection.texts_of(model, Corpus.from_lists([[3]], [1]))
    assert selection.slope(alone, model.V.detach().numpy()) == (pytest.approx(0), -np.inf)


@pytest.mark.parametrize("seed", range(3))
def test_the_programme_is_solved_as_another_solver_does(seed):
    model, corpus = of_case(seed)
    texts = selection.texts_of(model, corpus)
    chosen = selection.chosen_by(texts, model.V.detach().numpy())
    margin = selection.max_margin(texts, chosen)
    G = texts.E[texts.type[chosen[texts.text]]] - texts.E[texts.type]
    G = G[np.isfinite(margin.slack)]
    other = minimize(
        lambda v: (v @ v) / 2, margin.V * 2, jac=lambda v: v, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda v: G @ v - 1, "jac": lambda _: G}, options={"maxiter": 500},
    )  # fmt: skip
    assert other.success and margin.V == pytest.approx(other.x, abs=1e-4) and margin.error < 1e-9


def test_a_choice_that_no_vector_makes_is_seen():
    model = of_case()[0]
    texts = selection.texts_of(model, Corpus.from_lists([[1, 2], [1, 2]], [0, 1]))
    margin = selection.max_margin(texts, np.array([0, 3]))
    assert not margin.feasible and since_2020.contradicted(texts, np.array([0, 3])) == 1
    assert since_2020.contradicted(texts, np.array([0, 2])) == 0
    with pytest.raises(ValueError, match="one row of each text"):
        selection.max_margin(texts, np.array([0, 1]))


def test_only_the_plain_binary_model_is_asked():
    corpus = Corpus.from_lists([[0, 1], [1, 2]], [0, 1])
    with pytest.raises(ValueError, match="binary model DP"):
        selection.texts_of(AttentionClassifier(3, encoder="affine"), corpus)


def test_a_worse_tight_word_makes_a_choice_optimal_and_a_better_one_does_not():
    model, corpus = of_case()
    texts = selection.texts_of(model, Corpus.from_lists([[1, 2]], [1]))
    best = texts.best(texts.gamma)
    for chosen, optimal in ((best, True), (1 - best, False)):
        margin = selection.max_margin(texts, chosen)
        assert (not selection.tight_and_better(texts, chosen, margin).any()) == optimal


def test_the_flow_turns_to_the_programme_of_its_choice():
    row = since_2020.choice_measures(*(pair := of_case(3)), since_2020.select(*pair))
    assert row["cosine"] > 0.999 and row["condition"] == 1 and row["margin reached"] > 0.9
    assert row["initial cosine"] < 0.9 and row["error"] < 1e-9 and row["rests"] == 0 and row["shared"] == 0


def test_a_flow_with_a_least_loss_comes_to_rest():
    """A word that is best in one text and worst in the other: nothing is gained far away."""
    E = torch.tensor([[0.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    model = AttentionClassifier(2, dimension=2, lam=1.0, dtype=torch.float64)
    with torch.no_grad():
        model.embedding.copy_(E)
        model.V.zero_()
        model.W.copy_(torch.tensor([2.0, 0.0]))
    corpus = Corpus.from_lists([[0, 1], [0, 1], [0, 1]], [1, 1, 0])
    texts = selection.texts_of(model, corpus)
    path = selection.gradient_flow(texts, np.array([0.3, 0.0]))
    assert path.rests and path.log_times[-1] < 60
    assert np.linalg.norm(selection.slope(texts, path.V[-1])[0]) < 1e-4
    assert (selection.largest_weight(texts, path.V[-1]) < 0.99).all()


def test_the_clock_of_frozen_words():
    model, corpus = of_case(lam=2.0)
    paths = [since_2020.frozen_path(model, corpus, 20, 0.1, lam) for lam in (1.0, 7.0, 100.0)]
    for path in paths[1:]:
        assert path == pytest.approx(paths[0], rel=1e-12, abs=1e-13)
    assert abs(paths[0][-1] - paths[0][0]).max() > 1e-3


def test_a_crossing_is_read_between_times():
    times = np.array([0.0, 1.0, 10.0, 100.0])
    assert crossing(times, np.array([0.0, 0.0, 1.0, 1.0]), 0.5) == pytest.approx(np.sqrt(10))
    assert np.isnan(crossing(times, np.zeros(4), 0.5))


def test_data_three_has_its_signal_in_one_token_of_each_positive_text():
    weak, strong = (needles.needles(16, strength, texts=20, seed=1) for strength in (0.0, 5.0))
    moved = (strong.X - weak.X).norm(dim=2)
    assert ((moved > 1e-6).sum(1) == (strong.y > 0)).all() and moved.max() == pytest.approx(5, rel=1e-5)
    assert (strong.X[..., -1] == 1).all()
    with pytest.raises(ValueError, match="length"):
        needles.needles(0, 1.0)


def test_its_attention_is_that_of_the_model():
    data = needles.needles(5, 3.0, texts=4, dimension=3, seed=0)
    model = AttentionClassifier(20, dimension=4, lam=1.0, seed=0)
    with torch.no_grad():
        model.embedding.copy_(data.X.reshape(20, 4))
    corpus = Corpus.from_lists([list(range(5 * t, 5 * t + 5)) for t in range(4)], (data.y > 0).long().tolist())
    with torch.no_grad():
        found, told = needles.logits(data.X, model.V, model.W), model(corpus).polarity
    assert found.numpy() == pytest.approx(told.numpy(), abs=1e-6)


def test_thresholds_and_their_power():
    rows = pd.DataFrame(
        {"length": length, "seed": 0, "strength": s, "attention": 0.9 if s >= 4 else 0.5,
         "mean pooling": 1.0 if s**2 > length else 0.5}
        for length in (16, 64, 256) for s in (1.0, 2.0, 4.1, 8.1, 16.1)
    )  # fmt: skip
    found = since_2020.thresholds(rows)
    of = {name: own.sort_values("length") for name, own in found.groupby("pooling")}
    assert since_2020.exponent(of["attention"]) == pytest.approx(0, abs=1e-9)
    assert since_2020.exponent(of["mean pooling"]) == pytest.approx(0.5, abs=0.02)
    assert np.isnan(since_2020.threshold(rows[(rows.strength < 4) & (rows.length == 16)], "mean pooling"))


def test_the_signed_frequency_is_pi_of_a_model_that_knows_nothing():
    data = load_dataset("synthetic-1", class_sizes=(30, 30), neutral_types=20)
    model = AttentionClassifier(len(data.vocabulary), dimension=5, dtype=torch.float64)
    with torch.no_grad():
        model.V.zero_()
        model.W.zero_()
    from uaftc_lib import dynamics

    pi = dynamics.token_sums(model, data.train).pi.numpy() / len(data.train)
    assert one_step.signed_frequency(data.train, len(data.vocabulary)) / 2 == pytest.approx(pi, abs=1e-12)
    with torch.no_grad():
        model.W.fill_(1e-9)
    own = since_2020.first_slopes(model, data)["own part of it"]
    assert np.corrcoef(own, pi)[0, 1] == pytest.approx(1)


@pytest.mark.parametrize("lam", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("head", since_2020.HEADS)
def test_score_and_length_are_tied_up_to_the_step(lam, head):
    one, half = (since_2020.law_departure(lam, 5, head, step, False, 1) for step in (0.1, 0.05))
    assert one["error"] / half["error"] == pytest.approx(2, abs=0.2) and one["error"] < 0.1
    assert half["error"] < half["with a line for it"] < half["without the exponential"]
    freed = since_2020.law_departure(lam, 5, head, 0.1, True, 1)
    assert freed["error"] > one["error"]


def test_with_the_head_held_scores_come_to_one_size_whatever_lam_and_the_exponential_tells():
    found = [since_2020.law_departure(lam, 5, "held", 0.1, False, 1) for lam in (1.0, 3.0, 10.0)]
    assert [row["score"] for row in found] == pytest.approx([found[0]["score"]] * 3, rel=0.02)
    assert all(row["score"] > 2 and row["error"] < 0.002 and row["with a line for it"] > 0.3 for row in found)


def in_plane(*problem) -> since_2020.Selected:
    return since_2020.select(*since_2020.in_plane(*problem))


def test_the_plane_shows_what_is_said_of_it():
    toy = in_plane(since_2020.TOY)
    assert (toy.chosen == toy.texts.best(toy.texts.gamma)).all() and selection.cosine(
        toy.path.V[-1], toy.margin.V
    ) > 0.9999
    stays, turns, leaves = (
        in_plane(since_2020.STAYS, -35),
        in_plane(since_2020.STAYS, 60),
        in_plane(since_2020.LEAVES, -35),
    )
    assert [one.texts.type[one.chosen].tolist() for one in (stays, turns, leaves)] == [[0], [2], [2]]
    gamma = stays.texts.gamma
    assert gamma[2] > gamma[0] > gamma[1], "c is better than a, b is worse"
    assert np.flatnonzero(stays.margin.slack < 1e-6).tolist() == [1], "only b stands in the way of a"
    assert not selection.tight_and_better(stays.texts, stays.chosen, stays.margin).any()
    assert min(selection.cosine(one.path.V[-1], one.margin.V) for one in (stays, turns)) > 0.9999
    texts, held = leaves.texts, np.array([0])
    assert selection.tight_and_better(texts, held, selection.max_margin(texts, held)).tolist() == [False, False, True]
    leads = leaves.path.V @ (texts.E[0] - texts.E[2]) > 0
    times = leaves.path.log_times
    assert leads[times < 70].all() and not leads[times > 75].any(), "it leaves a late"
    course = since_2020.course(leaves).set_index("log τ")["cosine"]
    assert course[(course.index > 20) & (course.index < 70)].min() > 0.98 and course[course.index > 70].min() < 0.6
    figure = since_2020.draw_plane(leaves, "V leaves a")
    assert figure.data.chosen.tolist() == [False, False, True] and "chosen in the end: c;" in figure.alt
