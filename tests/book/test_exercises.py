"""Every chapter has an exercise; running its page shows that the check accepts the right answer and no tempting one."""

import pytest

from uaftc_book.publish import chapters, read_source

WITHOUT = {"00_intro", "A_atlas", "A_table2", "A_map"}


@pytest.mark.parametrize("name", sorted({*chapters()} - WITHOUT))
def test_exercises_come_with_a_blank_a_solution_and_a_check(name):
    cells = read_source(name).cells
    count = sum(cell.source.count("{admonition} Exercise") for cell in cells)
    assert count == sum(cell.source.count("{dropdown} Solution") for cell in cells) > 0
    blanks, solutions = ([c for c in cells if tag in c.metadata.get("tags", [])] for tag in ("exercise", "solution"))
    assert [cell.source.partition("  #")[0] for cell in blanks] == ["answer = ..."] * count
    assert [cell.source.count("chapter.exercise(") for cell in solutions] == [1] * count
    assert all("hide-cell" in cell.metadata.tags for cell in solutions)
