"""Every file is written whole or stays as it was, a report's together."""

import errno
import itertools
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from uaftc_lib import files
from uaftc_lib.datasets.cache import made_whole

THREE = ("words.csv", "report.json", "report.html")
STEPS = [(Path, name) for name in ("write_bytes", "replace", "unlink", "mkdir", "rmdir", "touch")]
STEPS += [(os, "fsync"), (shutil, "copy2"), (shutil, "copymode"), (shutil, "rmtree")]


class Dead(BaseException):
    """Raised at the step where a process dies, and at each later one, so that none has an effect."""


def texts(folder):
    """What stands in a folder, hidden files included."""
    return {path.name: path.read_text() if path.is_file() else "folder" for path in folder.iterdir()}


@pytest.fixture
def dies_at(monkeypatch):
    """A function that calls another, which dies at a step; whether it did. What is left is then a dead process's."""
    monkeypatch.setattr(files, "lives", lambda process: False)

    def dies(step, call, *given):
        steps = itertools.count()

        def counted(real):
            def one(*given, **named):
                if next(steps) >= step:
                    raise Dead
                return real(*given, **named)

            return one

        with monkeypatch.context() as patch:
            for place, name in STEPS:
                patch.setattr(place, name, counted(getattr(place, name)))
            try:
                call(*given)
            except Dead:
                return True
        return False

    return dies


@pytest.mark.parametrize("before", [{}, dict.fromkeys(THREE, "old"), {"report.html": "old", "other": "mine"}])
def test_wherever_a_process_dies_the_next_leaves_all_files_or_none(tmp_path, dies_at, before):
    other, mixed, steps = {"other": "mine"}.items() & before.items(), 0, 0
    while True:
        folder = tmp_path / str(steps)
        folder.mkdir()
        for name, text in before.items():
            (folder / name).write_text(text)
        if not dies_at(steps, files.write_together, {folder / name: "new" for name in THREE}):
            break
        shown = {name: text for name, text in texts(folder).items() if not name.startswith(".")}
        mixed += shown not in (before, dict.fromkeys(THREE, "new") | dict(other))
        files.unfinished(folder / THREE[0], "draft")  # what the next one does first
        assert texts(folder) in (before, dict.fromkeys(THREE, "new") | dict(other)), steps
        steps += 1
    assert texts(folder) == dict.fromkeys(THREE, "new") | dict(other)
    assert steps > 10 and mixed == 2, "between the first of three files and the last"


def test_wherever_a_process_dies_a_file_is_the_former_or_the_new_one(tmp_path, dies_at):
    steps = 0
    while True:
        (tmp_path / "words.csv").write_text("old")
        if not dies_at(steps, files.write, tmp_path / "words.csv", "new"):
            break
        assert (tmp_path / "words.csv").read_text() in ("old", "new")
        files.unfinished(tmp_path / "words.csv", "draft")
        assert [*texts(tmp_path)] == ["words.csv"]
        steps += 1
    assert steps >= 3


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


MOMENTS = ("pathlib.Path.write_bytes", "os.fsync", "pathlib.Path.replace")


@pytest.mark.parametrize("moment, there", [*itertools.product(MOMENTS, ["old", None]), ("shutil.copymode", "old")])
def test_an_error_names_the_file_and_leaves_everything_as_it_was(tmp_path, monkeypatch, moment, there):
    before = {name: there for name in THREE if there}
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(moment, full)
    with pytest.raises(OSError, match="words.csv cannot be written: No space left on device"):
        files.write(tmp_path / "words.csv", "new")
    with pytest.raises(OSError, match="cannot be written: No space left on device"):
        files.write_together({tmp_path / name: "new" for name in THREE})
    with pytest.raises(OSError, match="new cannot be written"), files.whole_folder(tmp_path / "new"):
        full()
    monkeypatch.undo()
    assert texts(tmp_path) == before


@pytest.mark.parametrize("error", [OSError(errno.EACCES, "Permission denied"), KeyboardInterrupt()])
@pytest.mark.parametrize("before", [{}, dict.fromkeys(THREE, "old"), {"report.html": "old"}])
@pytest.mark.parametrize("fails_at", range(5))  # the former files are set aside, three are moved in, all is confirmed
def test_a_move_that_fails_leaves_all_files_or_none(tmp_path, monkeypatch, before, error, fails_at):
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    move, moves = Path.replace, iter(range(9))

    def refuse(path, target):
        if next(moves) == fails_at:
            raise error
        return move(path, target)

    monkeypatch.setattr(Path, "replace", refuse)
    try:
        files.write_together({tmp_path / name: "new" for name in THREE})
    except (OSError, KeyboardInterrupt) as raised:
        assert isinstance(raised, KeyboardInterrupt) or "cannot be written: Permission denied" in str(raised)
        assert texts(tmp_path) == before
    else:
        assert fails_at == 4 and isinstance(error, OSError), "of what is left nobody need know"
        assert {name: text for name, text in texts(tmp_path).items() if name[0] != "."} == dict.fromkeys(THREE, "new")


def test_a_folder_that_was_made_in_vain_is_gone_and_one_of_files_is_whole(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="cannot be written"):
            files.write_together({tmp_path / "a" / "b" / name: "new" for name in THREE})
    assert not texts(tmp_path)
    with made_whole(tmp_path / "data", {"words": 2}) as place:
        files.write(place / "one", b"1")
        assert not (tmp_path / "data").exists()
    assert {*texts(tmp_path)} == {"data"} and {*texts(tmp_path / "data")} == {"one", "about.json"}


def test_only_what_dead_processes_left_is_cleared(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    node = platform.node()
    for process in (gone.pid, os.getpid(), os.getppid()):
        (tmp_path / f".x.{node}-{process}-abcdef.draft").touch()
    (tmp_path / f".x.elsewhere-{gone.pid}-abcdef.draft").touch()
    files.write(tmp_path / "x", "new")
    assert len(texts(tmp_path)) == 4 and (tmp_path / "x").read_text() == "new"


def test_a_file_that_is_replaced_keeps_its_mode_a_link_stays_one_and_a_device_too(tmp_path):
    file, link = tmp_path / "kept", tmp_path / "link"
    file.touch(mode=0o600)
    link.symlink_to(file)
    for place in (link, Path(os.devnull)):
        files.write(place, "new")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o600)
    assert link.is_symlink() and not Path(os.devnull).is_file()
