"""A formula within a line keeps what stands at it."""

import importlib.util
from types import SimpleNamespace

import pytest
from docutils import nodes

from uaftc_book.publish import CHECKOUT

SPEC = importlib.util.spec_from_file_location("equations", CHECKOUT / "book" / "_ext" / "equations.py")
equations = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(equations)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("with (", "), or", ["with ", "(x),", " or"]),
        ("with ", " or", ["with ", "x", " or"]),
        ("", ", or", ["x,", " or"]),
        ("so ", ".", ["so ", "x."]),
        ("", "", ["x"]),
    ],
)
def test_a_formula_is_joined_to_what_stands_at_it(before, after, told):
    line = nodes.paragraph("", "", *(nodes.Text(one) for one in [before] if one), nodes.math("", "x"))
    line += [nodes.Text(after)] if after else []
    equations.join(None, line)
    assert [one.astext() for one in line.children] == told
    assert "".join(told) == line.astext()
    joined = [one for one in line.children if "joined" in getattr(one, "attributes", {}).get("classes", [])]
    assert len(joined) == any(len(one) > 1 and "x" in one for one in told)


@pytest.mark.parametrize(
    ("before", "told"), [("so ", "(13)"), ("(both of ", "Eq\xa013"), ("(see there) ", "(13)"), ("(E, ", "Eq\xa013")]
)
def test_an_equation_that_is_named_in_brackets_has_none_of_its_own(before, told):
    domain = equations.PaperMathDomain.__new__(equations.PaperMathDomain)
    domain.data = {"objects": {"eq-13": ("page", "13")}}
    env = SimpleNamespace(config=SimpleNamespace(math_numfig=False, numfig=False, math_eqref_format=None))
    line = nodes.paragraph("", "", nodes.Text(before), nodes.math("", "]0, 1)"), nodes.inline())
    link = domain.resolve_xref(env, "page", None, "eq", "eq-13", line[-1], None)
    assert link.astext() == told


def test_two_formulas_side_by_side_stay_in_order():
    line = nodes.paragraph("", "", nodes.math("", "x"), nodes.Text("/"), nodes.math("", "y"), nodes.Text(", z"))
    equations.join(None, line)
    assert line.astext() == "x/y, z"
    assert len(list(line.findall(nodes.math))) == 2
