"""Parameters of a notebook: what a reader may give, and how the rest is refused."""

import re

import pytest

from uaftc_lib.book.parameters import check_parameters, default_parameters


def namespace(annotations: dict, values: dict, injected: str = "") -> dict:
    return {"__annotations__": annotations, "In": ["", injected], **values}


@pytest.mark.parametrize(
    ("annotation", "name", "value", "words"),
    [
        (float, "lam", 0, " = 0 is impossible: it must be greater than 0"),
        (float, "lam", -1.0, "greater than 0"),
        (float, "lam", float("nan"), "not finite"),
        (float, "lam", True, "of type bool, expected float"),
        (int, "seed", 1.5, "of type float, expected int"),
        (int, "seed", -1, "at least 0"),
        (int, "epochs", 0, "at least 1"),
        (float, "dropout", 1.0, "at least 0 and less than 1"),
        (list, "lams", [1.0, 0.0], "0.0 is impossible"),
        (list[float], "lams", 3.0, "of type float, expected list"),
        (int | None, "batch_size", "all", "expected int | None"),
        (int | None, "batch_size", 0, "at least 1"),
    ],
)
def test_impossible_values_are_refused(annotation, name, value, words):
    with pytest.raises(ValueError, match=f"{name}.*{re.escape(words)}"):
        check_parameters(namespace({name: annotation}, {name: value}))


@pytest.mark.parametrize(
    ("annotation", "name", "value"),
    [
        (float, "lam", 1e-3),
        (float, "lam", 5),
        (int | None, "batch_size", None),
        (list[float], "lams", [0.001, 1]),
        (bool, "penalised", True),
        (str, "label", "anything"),
        (float, "dropout", 0.0),
    ],
)
def test_possible_values_pass(annotation, name, value):
    check_parameters(namespace({name: annotation}, {name: value}, f"# Parameters\n{name} = 1\n"))


def test_unknown_names_and_values_are_refused_with_those_there_are():
    with pytest.raises(ValueError, match="has no parameter 'typo'; it has lam$"):
        check_parameters(namespace({"lam": float}, {"lam": 1.0}, "# Parameters\ntypo = 1\n"))
    words = "dataset = 'nosuch' is not possible in this notebook; allowed: 'synthetic-1', 'sst'"
    with pytest.raises(ValueError, match=words):
        check_parameters(namespace({"dataset": str}, {"dataset": "nosuch"}), dataset=["synthetic-1", "sst"])


def test_a_rule_for_a_name_that_is_no_parameter_is_a_mistake_of_the_notebook():
    with pytest.raises(ValueError, match="'model' is no annotated parameter; there are lam"):
        check_parameters(namespace({"lam": float}, {"lam": 1.0}), model=["DP"])


def test_default_parameters_are_the_annotated_ones():
    assert default_parameters(["lam: float = -1.5  # words\nother = 3\nlams: list = [1, 2]"]) == {
        "lam": -1.5,
        "lams": [1, 2],
    }
