"""The quadratic programme, the flow of V alone, the clock, the race, and what is read off them."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from uaftc_book.chapters import since_2020
from uaftc_book.mean_field import crossing
from uaftc_book.neighbours import one_step, selection
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
    row = since_2020.choice_measures(since_2020.select(*of_case(3)))
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


def test_the_signed_frequency_is_pi_of_a_model_that_knows_nothing():
    data = load_dataset("synthetic-1", class_sizes=(30, 30), neutral_types=20)
    model = AttentionClassifier(len(data.vocabulary), dimension=5, dtype=torch.float64)
    with torch.no_grad():
        model.V.zero_()
        model.W.zero_()
    from uaftc_lib import dynamics

    pi = dynamics.token_sums(model, data.train).pi.numpy() / len(data.train)
    assert one_step.signed_frequency(data.train, len(data.vocabulary)) / 2 == pytest.approx(pi, abs=1e-12)


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


def test_a_choice_is_kept_from_the_cone_about_its_direction_and_others_from_elsewhere():
    rows = since_2020.choices_by_start(since_2020.RANDOM, 10, 0)
    assert len({row["choice"] for row in rows}) > 5
    near = [row for row in rows if row["condition"]]
    assert np.mean([row["stays"] for row in near]) > 0.5


@pytest.mark.parametrize(("beside", "constant"), [((0.0, 0.0), 0.5), ((1.0, 0.0), 1.0)])
def test_the_lead_of_one_text_is_two_log_log_tau_and_a_constant(beside, constant):
    """A word that votes nothing at zero, or as long as the chosen one and across it: e^g = κ log²τ / 2, κ = 1 or 2."""
    texts = selection.texts_of(*since_2020.in_plane([(0.0, 1.0), beside], 0))
    path = selection.joint_flow(texts, np.zeros(2), np.array([0.0, 1.0]), 1e6)
    lead = path.V @ (texts.E[0] - texts.E[1])
    late = path.log_times > 1e3
    assert lead[late] == pytest.approx(np.log(constant) + 2 * np.log(path.log_times[late]), abs=0.02)


def test_half_of_what_is_gained_is_read_between_two_looks():
    assert since_2020.half_time(np.array([1.0, 1.0, 2.0, 4.0, 5.0])) == pytest.approx(2.5)
    assert np.isnan(since_2020.half_time(np.array([1.0, 2.0, 0.5])))
