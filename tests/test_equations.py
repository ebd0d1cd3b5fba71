"""Every numbered equation, on random cases; every misprint fails as printed."""

import pytest
import torch
from cases import cases, few
from hypothesis import given

from uaftc_lib.equations import (
    REGISTRY,
    STATUSES,
    Case,
    Equality,
    Inequality,
    Order,
    check,
    check_printed,
    check_table,
    errata_table,
    main_paper,
    measure,
)
from uaftc_lib.equations.appendix_b import _claims, decided

MISPRINTED = {28, 44, 45, 46, 64, 82, 83}
FAILING = sorted(number for number, entry in REGISTRY.items() if entry.printed)
# The orders need a size and λ at which the leading term of the error leads.
ORDERS = [8, 9, 10, 11, 21, 69, 70, 71]


def test_the_registry_holds_all_equations():
    assert sorted(REGISTRY) == list(range(1, 84))
    assert {number for number, entry in REGISTRY.items() if entry.status == "misprinted"} == MISPRINTED
    assert set(FAILING) == MISPRINTED | {30, 33, 35} | set(range(48, 56))
    for entry in REGISTRY.values():
        assert entry.status in STATUSES
        assert (entry.status in ("definition", "exact")) or entry.correction


@pytest.mark.parametrize("number", sorted(REGISTRY))
def test_holds(number):
    result = check(number)
    assert result.passed, str(result)


@pytest.mark.parametrize("number", [number for number in sorted(REGISTRY) if number not in ORDERS])
@given(case=cases())
@few
def test_holds_on_random_cases(number, case):
    result = check(number, case)
    assert result.passed, str(result)


@pytest.mark.parametrize("number", ORDERS)
@pytest.mark.parametrize("case", [Case(seed=1), Case(dimension=10, lam=10.0, instances=40, seed=2)], ids=str)
def test_orders_on_other_cases(number, case):
    result = check(number, case)
    assert result.passed, str(result)


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
    inside, outside = decided(number, case)
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
            along = main_paper.product_rule(case, which, tried)
            step = Equality(main_paper._stepped(case, which, tried, 1.0), rate)
            assert measure(9, "", along).passed == measure(12, "", step).passed == right


def test_a_check_can_fail():
    one = torch.ones(3, dtype=torch.float64)
    assert measure(1, "", Equality(one, one)).passed
    assert not measure(1, "", Equality(one, one + 1e-9)).passed
    assert not measure(1, "", Equality(one * torch.nan, one)).passed
    assert not measure(1, "", Equality(one, one[:2])).passed
    assert measure(1, "", Order([0.1, 0.2], [0.01, 0.04], expected=2)).passed
    assert not measure(1, "", Order([0.1, 0.2], [0.1, 0.2], expected=2)).passed
    assert measure(1, "", Inequality([1.0, 0.1])).passed
    assert not measure(1, "", Inequality([1.0, 0.0])).passed
    with pytest.raises(TypeError, match="Equality"):
        measure(1, "", True)


def test_tables_come_from_the_registry():
    errata = errata_table()
    assert list(errata.equation) == list(range(1, 84))
    assert errata.holds.all()
    assert errata.fails.dropna().all() and errata.fails.notna().sum() == len(FAILING)
    table = check_table([19, 44])
    assert list(table.equation) == [19, 44, 44]
    assert (table.holds == table.expected).all()


def test_unknown_equations_are_named():
    with pytest.raises(ValueError, match="1 to 83"):
        check(84)
    with pytest.raises(ValueError, match="exact"):
        check_printed(19)
    with pytest.raises(ValueError, match="lam"):
        Case(lam=0.5)
    with pytest.raises(ValueError, match="dimension"):
        Case(dimension=1)
