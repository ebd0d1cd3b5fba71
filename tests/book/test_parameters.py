"""Parameters of a notebook: what a reader may give, and how the rest is refused."""

import re

import pytest
from jupyter_client.manager import run_kernel

from uaftc_book import choices
from uaftc_book.parameters import AtLeast, check_given, check_parameters, default_parameters
from uaftc_book.publish import chapters, parameters_of, read_source


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


def test_a_number_given_for_a_word_becomes_its_text():
    """As papermill gives the section 4.2."""
    values = namespace({"section": str}, {"section": 4.2})
    check_parameters(values, section=["4.1", "4.2"])
    assert values["section"] == "4.2"


def test_unknown_names_and_values_are_refused_with_those_there_are():
    with pytest.raises(ValueError, match="has no parameter 'typo'; it has lam$"):
        check_parameters(namespace({"lam": float}, {"lam": 1.0}, "# Parameters\ntypo = 1\n"))
    words = "dataset = 'nosuch' is not possible in this notebook; allowed: 'synthetic-1', 'sst'"
    with pytest.raises(ValueError, match=words):
        check_parameters(namespace({"dataset": str}, {"dataset": "nosuch"}), dataset=["synthetic-1", "sst"])


def test_a_least_value_comes_with_its_reason():
    words = "lam = 0.5: give at least 1; below 1 rounding is amplified"
    least = AtLeast(1, "below 1 rounding is amplified")
    with pytest.raises(ValueError, match=words):
        check_parameters(namespace({"lam": float}, {"lam": 0.5}), lam=least)
    with pytest.raises(ValueError, match="greater than 0"):
        check_parameters(namespace({"lam": float}, {"lam": -1.0}), lam=least)
    check_parameters(namespace({"lam": float}, {"lam": 1.0}), lam=least)


@pytest.mark.parametrize("name", chapters())
def test_choices_are_of_parameters_that_a_chapter_has_and_its_own_are_among_them(name):
    own = parameters_of(read_source(name))
    assert choices.allowed(name).keys() <= own.keys()
    check_given(name, {key: value for key, value in own.items() if value is not None}, own, choices.allowed(name))
    choices.check_together(name, own)


@pytest.mark.parametrize("name", ["A_gradients", "A_errata", "A_variants", "04_which_lambda"])
def test_a_chapter_refuses_a_dimension_that_it_cannot_take(name):
    with pytest.raises(ValueError, match="dimension = 1: give at least 2; V and W"):
        check_given(name, {"dimension": 1}, parameters_of(read_source(name)), choices.allowed(name))


def test_choices_are_of_chapters():
    assert choices.CHOICES.keys() | choices.TOGETHER.keys() <= set(chapters())


@pytest.mark.parametrize(
    "name, wrong, words",
    [
        ("02_training", {"lams": [3.0, 2.0]}, r"lams = \[3.0, 2.0\]: give at least two, ascending"),
        ("02_training", {"lam": 200.0}, "lam = 200.0, large_lam = 100.0: give lam < large_lam"),
    ],
)
def test_parameters_must_fit_together(name, wrong, words):
    with pytest.raises(ValueError, match=words):
        choices.check_together(name, parameters_of(read_source(name)) | wrong)


def test_a_rule_for_a_name_that_is_no_parameter_is_a_mistake_of_the_notebook():
    with pytest.raises(ValueError, match="'model' is no annotated parameter; there are lam"):
        check_parameters(namespace({"lam": float}, {"lam": 1.0}), model=["DP"])


def test_from_python_3_14_on_types_are_read_from_the_cells_that_ran():
    """In a kernel that keeps no history; Python itself knows the last annotated statement alone."""
    cells = ["lam: float = 1.0  # divides\nbatch_size: int | None = None", "half = (", "never: int = half"]
    cells += ["__annotate__ = lambda form: {'seed': int}", "from uaftc_book.parameters import annotated_types"]
    shown = []
    with run_kernel(kernel_name="python3") as client:
        for cell in [*cells, "print(annotated_types(globals()))"]:
            client.execute_interactive(cell, store_history=False, timeout=120, output_hook=shown.append)
    types = {"lam": float, "batch_size": int | None, "seed": int}
    assert [one["content"]["text"] for one in shown if one["msg_type"] == "stream"] == [f"{types}\n"]


def test_default_parameters_are_the_annotated_ones():
    assert default_parameters(["lam: float = -1.5  # words\nother = 3\nlams: list = [1, 2]"]) == {
        "lam": -1.5,
        "lams": [1, 2],
    }
