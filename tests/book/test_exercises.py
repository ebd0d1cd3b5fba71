"""Every chapter has an exercise that the reader can check, and its solution is checked by the replay of the page.

The answers themselves run with the page: a cell tagged ``solution`` gives the right answer and a tempting one to
the check of its exercise, and fails unless the first is taken and the second refused.
"""

import ast

import pytest

from uaftc_book.publish import chapters, read_source

WITHOUT = {"00_intro", "A_atlas", "A_table2", "A_map"}
CHECKED = [name for name in chapters() if name not in WITHOUT]


def cells_tagged(notebook, tag):
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]


def verdicts(source: str) -> tuple[str, str]:
    """The checks that a solution takes and refuses: its one ``assert check(right) and not check(wrong)``."""
    asserted = [statement.test for statement in ast.parse(source).body if isinstance(statement, ast.Assert)]
    assert len(asserted) == 1 and isinstance(asserted[0], ast.BoolOp) and isinstance(asserted[0].op, ast.And)
    taken, refused = asserted[0].values
    assert isinstance(refused, ast.UnaryOp) and isinstance(refused.op, ast.Not)
    assert ast.dump(taken) != ast.dump(refused.operand)
    return taken.func.id, refused.operand.func.id


@pytest.mark.parametrize("name", CHECKED)
def test_exercises_come_with_a_check_and_a_solution(name):
    notebook = read_source(name)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    count = prose.count("{admonition} Exercise")
    expected = [f"exercise_{k}" for k in range(1, count + 1)]
    assert count and prose.count("{dropdown} Solution") == count
    assert [check for check in expected if f"`{check}(" not in prose] == [], "the exercise says how to check"
    defined = [ast.parse(cell.source).body[-1].name for cell in cells_tagged(notebook, "exercise")]
    assert defined == expected
    solutions = cells_tagged(notebook, "solution")
    assert [verdicts(cell.source) for cell in solutions] == [(check, check) for check in expected]
    assert all("hide-cell" in cell.metadata.tags for cell in solutions)


def test_all_chapters_but_four_have_exercises():
    assert len(CHECKED) == len(chapters()) - len(WITHOUT) >= 19


@pytest.mark.parametrize(
    "source",
    ["print(exercise_1(x))", "assert exercise_1(x)", "assert exercise_1(x) and exercise_1(y)",
     "assert exercise_1(x) and not exercise_1(x)"],
)  # fmt: skip
def test_a_solution_without_a_verdict_is_seen(source):
    with pytest.raises(AssertionError):
        verdicts(source)
