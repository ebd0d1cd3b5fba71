"""The rules of the verdicts against their definitions and their error rates."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from uaftc_book import rules
from uaftc_book.accuracies import equivalent, mcnemar_p, paired_p

rng = np.random.default_rng(0)


def test_an_interval_covers_the_mean_as_often_as_it_says():
    covered = [low < 0.3 < high for _, low, high, _ in map(rules.interval, rng.normal(0.3, 1, (4000, 6)))]
    assert abs(np.mean(covered) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 4000)
    assert rules.interval(np.array([0.5])) == (0.5, -np.inf, np.inf, 1)


@pytest.mark.parametrize("values", [[], [np.nan, 1.0]])
def test_an_interval_of_nothing_is_refused(values):
    with pytest.raises(ValueError, match="finite"):
        rules.interval(np.array(values))


def test_the_paired_test_knows_equal_runs():
    one = rng.normal(0, 1, 10)
    assert paired_p(one, one) == 1
    assert paired_p(np.full(5, 0.75), np.full(5, 0.5)) == 0


def test_mcnemar_counts_the_discordant_instances_of_the_majority():
    one, other = np.ones((3, 20), bool), np.ones((3, 20), bool)
    other[:2, :8] = False  # most runs of the other are wrong on 8 instances
    one[0, 9:] = False  # a single wrong run does not matter
    one[:2, 8] = False
    assert mcnemar_p(one, other) == pytest.approx(stats.binomtest(1, 9).pvalue)
    one, other = np.ones((2, 9), bool), np.ones((2, 9), bool)
    other[0, :8] = False  # even splits are left out
    assert mcnemar_p(one, other) == 1


def test_equivalence_is_that_of_two_one_sided_tests():
    answers = []
    for shift in np.linspace(-0.02, 0.02, 60):
        one, other = rng.normal(0, 0.008, (2, 10))
        p = ttost_paired(one + shift, other, -0.01, 0.01)[0]
        answers.append(equivalent(one + shift, other))
        assert answers[-1] == (p < 0.05)
    assert 5 < sum(answers) < 55


def test_the_interval_over_seeds_and_instances_covers_the_mean_of_both():
    covered, narrow = [], []
    for _ in range(1500):
        seeds, instances = rng.normal(0, 0.3, (8, 1)), rng.normal(0, 1, (1, 30))
        values = 0.5 + seeds + instances + rng.normal(0, 1, (8, 30))
        found = rules.crossed(values)
        covered.append(found.low < 0.5 < found.high)
        by_seed = rules.interval(values.mean(1))
        narrow.append(by_seed.low < 0.5 < by_seed.high)
        assert found.mean == pytest.approx(values.mean()) and found.n == 8
    assert 0.93 <= np.mean(covered) <= 0.985 and np.mean(narrow) < 0.9, "instances are random, too"


def test_the_interval_over_seeds_and_instances_at_its_corners():
    assert rules.crossed(np.full((3, 4), 0.5)) == (0.5, 0.5, 0.5, 3)
    with pytest.raises(ValueError, match="two of each"):
        rules.crossed(np.ones((1, 5)))


def test_a_further_run_falls_into_its_interval_as_often_as_it_says():
    inside = []
    for values in rng.normal(0, 1, (4000, 6)):
        found = rules.further_run(values[:5])
        inside.append(found.low < values[5] < found.high)
    assert abs(np.mean(inside) - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 4000)


def test_correlation_and_slope_are_those_of_scipy():
    one, other = rng.normal(0, 1, (2, 12))
    line, found = stats.linregress(one, other), rules.slope_on(one, other)
    assert rules.correlation(one, other)[0] == pytest.approx(stats.pearsonr(one, other).statistic)
    assert found.mean == pytest.approx(line.slope) and (found.low > 0 or found.high < 0) == (line.pvalue < 0.05)
    assert -found == (-found.mean, -found.high, -found.low, 12)


def test_verdicts():
    noise = rng.normal(0, 1, 12)
    noise -= noise.mean()
    assert [rules.decided(rules.interval(noise + shift)) for shift in (3, -3, 0)] == list(rules.VERDICTS)
    assert {rules.decided(rules.Interval(x, x, x, rules.LEAST_SEEDS - 1)) for x in (3, -3)} == {rules.OPEN}
