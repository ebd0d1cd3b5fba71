"""Progress bars can be silenced, also in notebooks."""

import pytest
from tqdm.notebook import tqdm_notebook

from uaftc_lib import progress
from uaftc_lib.progress import progress_bar


@pytest.mark.parametrize("value, silent", [("1", True), ("true", True), ("", False), ("0", False)])
def test_the_environment_silences_the_bar(monkeypatch, capsys, value, silent):
    monkeypatch.setenv("TQDM_DISABLE", value)
    assert list(progress_bar(range(3), desc="counting")) == [0, 1, 2]
    assert ("counting" not in capsys.readouterr().err) == silent


def test_the_bar_of_a_notebook_is_silenced_too(monkeypatch, capsys):
    monkeypatch.setattr(progress, "tqdm", tqdm_notebook)
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert list(progress_bar(range(3))) == [0, 1, 2]
    assert not any(capsys.readouterr())
