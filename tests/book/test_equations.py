"""Every numbered equation, on random cases; every misprint fails as printed."""

import pytest
import torch
from cases import cases, few
from hypothesis import given

from uaftc_book import contents, paths
from uaftc_book.chapters import geometry, gradients, variants
from uaftc_book.chapters.geometry import _claims, census, margins_of
from uaftc_book.chapters.variants import causes_71, linearised_71
from uaftc_book.equations import (
    REGISTRY,
    STATUSES,
    Equality,
    Inequality,
    Order,
    check,
    check_printed,
    measure,
    relative_error,
    source_of_check,
)
from uaftc_book.random_models import Case
from uaftc_lib import Corpus

contents.load_chapters()  # registers all equations
MISPRINTED = {28, 44, 45, 46, 64, 82, 83}
FAILING = sorted(number for number, entry in REGISTRY.items() if entry.printed)
# The orders need a size and λ at which the leading term of the error leads.
ORDERS = [8, 9, 10, 11, 21, 69, 70]
DERIVED = {*range(48, 56)} | {9, 21, 62, 69, 70}  # corollaries of Eq 44; product rules, which hold on any path


def test_the_registry_holds_all_equations():
    assert sorted(REGISTRY) == list(range(1, 84))
    assert {number for number, entry in REGISTRY.items() if entry.status == "misprinted"} == MISPRINTED
    assert set(FAILING) == MISPRINTED | {30, 33, 35} | set(range(48, 56))
    assert {number for number, entry in REGISTRY.items() if entry.standing == "derived"} == DERIVED
    for entry in REGISTRY.values():
        assert entry.status in STATUSES
        assert entry.standing == "defined" or entry.status != "definition"
        assert (entry.status in ("definition", "exact")) or entry.correction


@pytest.mark.parametrize("number", [number for number in sorted(REGISTRY) if number not in ORDERS])
@given(case=cases())
@few
def test_holds_on_random_cases(number, case):
    result = check(number, case)
    assert result.passed, str(result)


def test_the_source_of_a_check_is_its_own_and_what_it_calls_once():
    entry, shown = REGISTRY[44], []
    first = source_of_check(check(44), entry.check, shown)
    assert first.startswith("# relative error ") and "\ndef equation_44(case: Case):\n    view" in first
    assert "def _half(" in first and "@equation" not in first
    second = source_of_check(check_printed(44), entry.printed, shown)
    assert "allowed: < 1e-12\ndef _printed_44(" in second and "def _half(" not in second


@pytest.mark.parametrize("number", ORDERS)
@pytest.mark.parametrize("case", [Case(seed=1), Case(dimension=10, lam=10.0, instances=40, seed=2)], ids=str)
def test_orders_on_other_cases(number, case):
    result = check(number, case)
    assert result.passed, str(result)


@pytest.mark.parametrize("number", [*ORDERS, 45, 46, 47, 71])
def test_an_order_notices_a_formula_that_is_off_by_a_ten_thousandth(monkeypatch, number):
    for module in (geometry, gradients, paths, variants):
        monkeypatch.setattr(module, "relative_error", lambda left, right: relative_error(1.0001 * left, right))
    assert not check(number).passed


@pytest.mark.parametrize("number", FAILING)
@given(case=cases())
@few
def test_what_is_printed_fails(number, case):
    result = check_printed(number, case)
    assert not result.passed, str(result)


@pytest.mark.parametrize("number", range(48, 56))
@given(case=cases())
@few
def test_each_inequality_holds_exactly_where_its_condition_does(number, case):
    inside, outside = margins_of(number, case)
    assert len(inside) and bool((inside > 0).all())
    assert len(outside) and bool((outside <= 0).all())


@pytest.mark.parametrize("number, unlike", [(51, 53), (52, 53)])
def test_a_condition_of_another_equation_does_not_do(number, unlike):
    """The masks differ: a check that took any condition would be seen."""
    margins, _ = _claims(number, Case())[0]
    _, condition = _claims(unlike, Case())[0]
    assert bool(((condition > 1e-9) & (margins < -1e-9)).any())


def test_product_rules_notice_a_wrong_factor_and_a_wrong_remainder():
    case = Case()
    scores = {"polarity": ("W", case.view().s_rate), "attention": ("V", case.view().a_rate)}
    for which, (vector, rate) in scores.items():
        for tried in "VW":
            right = tried == vector
            along = paths.product_rule(case, which, tried)
            step = Equality(paths.stepped(case, which, tried, 1.0), rate)
            assert measure(9, "", along).passed == measure(12, "", step).passed == right


@given(case=cases())
@few
def test_the_terms_of_eq_71_have_their_causes(case):
    view = case.view("AD")
    assert relative_error(sum(causes_71(view)), view.a_rate) < 1e-12


@pytest.mark.parametrize("wrong", range(4))
def test_eq_71_notices_a_wrong_term(monkeypatch, wrong):
    def changed(view):
        return [term * (1.001 if k == wrong else 1) for k, term in enumerate(linearised_71(view))]

    monkeypatch.setattr(variants, "linearised_71", changed)
    assert not check(71).passed


def test_eq_71_holds_where_only_one_of_its_terms_is_there(monkeypatch):
    """Where every text repeats a single word ρ is zero, and with it three of the four terms."""
    silent = Corpus.from_lists([[0], [1, 1], [2], [3, 3, 3]], [0, 1, 0, 1])
    monkeypatch.setattr(Case, "corpus", lambda case, classes=2: silent)
    assert not Case(types=4).view("AD").rho.abs().max() > 1e-12
    assert check(71, Case(types=4)).passed


@given(case=cases())
@few
def test_census_counts_what_is_decided(case):
    """All words on both sides: the same margins as Eq 48 to 53 have for pairs, but for those of a word with itself."""
    every = torch.arange(20)
    view = geometry._all_pairs(case)
    for number, (condition, statement, conclusion) in census(view, every, every).items():
        clear = condition.abs() > 1e-9
        assert bool(((statement > 0) == (condition > 0))[clear].all())
        assert bool((conclusion > 0)[(condition > 0) & clear].all())
        if number < 51:
            assert condition.numel() == 20 * 19


def test_mirror_images_are_told_by_a_tolerance():
    """Words of equal a, opposite s and π: no mirror error. Moved apart by a little they are nearly so, and no more."""
    view, plus, minus = geometry.mirrored(Case()), torch.arange(3), torch.arange(3, 6)

    def met(view, tolerance):
        return [int((census(view, plus, minus, tolerance)[number][0] > 0).sum()) for number in (54, 55)]

    exact = met(view, geometry.ROUNDED)
    assert min(exact) > 0
    with torch.no_grad():
        view.model.embedding[3:6, 1] *= 1.001
    moved = geometry.State.of(view.model, view.corpus)
    assert met(moved, geometry.ROUNDED) == [0, 0]
    assert all(one >= other for one, other in zip(met(moved, geometry.NEARLY), exact))


@given(case=cases())
@few
def test_a_state_holds_what_a_view_does(case):
    view = case.view()
    state = geometry.State.of(view.model, view.corpus)
    for name in ("E", "a_e", "s_e", "pi", "rho"):
        assert relative_error(getattr(state, name), getattr(view, name)) < 1e-12
    assert state.m == view.m and relative_error(state.grad["embedding"], view.grad["embedding"]) < 1e-12


def test_a_check_can_fail():
    one = torch.ones(3, dtype=torch.float64)
    assert measure(1, "", Equality(one, one)).passed
    assert not measure(1, "", Equality(one, one + 1e-9)).passed
    assert not measure(1, "", Equality(one * torch.nan, one)).passed
    assert not measure(1, "", Equality(one, one[:2])).passed
    assert measure(1, "", Order([0.1, 0.2], [1e-6, 4e-6], expected=2)).passed
    assert not measure(1, "", Order([0.1, 0.2], [0.01, 0.04], expected=2)).passed
    assert not measure(1, "", Order([0.1, 0.2], [1e-6, 2e-6], expected=2)).passed
    assert not measure(1, "", Order([0.1, 0.2], [[1e-6, 1e-6], [4e-6, 2e-6]], expected=2)).passed
    assert measure(1, "", Inequality([1.0, 0.1])).passed
    assert not measure(1, "", Inequality([1.0, 0.0])).passed
    with pytest.raises(TypeError, match="Equality"):
        measure(1, "", True)


def test_unknown_equations_are_named():
    with pytest.raises(ValueError, match="1 to 83"):
        check(84)
    with pytest.raises(ValueError, match="exact"):
        check_printed(19)
    with pytest.raises(ValueError, match="lam"):
        Case(lam=0.5)
    with pytest.raises(ValueError, match="dimension"):
        Case(dimension=1)
