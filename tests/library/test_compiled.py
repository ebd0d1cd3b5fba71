"""What numba keeps on disk: a file that a crash has cut is made anew."""

import pytest
from numba import config

from uaftc_lib.fast import compiled


def twice(x):
    return 2 * x


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Compiles, or takes from the disk, as a new process would; the number of functions taken from there."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def compile_and_call():
        function = compiled.compiled_once()(twice)
        assert function(3) == 6
        return sum(function.stats.cache_hits.values())

    assert (compile_and_call(), compile_and_call()) == (0, 1)
    return compile_and_call


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("harm", [lambda whole: whole[: len(whole) // 2], lambda _: b"", lambda _: b"\0" * 64])
def test_a_damaged_file_is_made_anew(load, tmp_path, ending, harm):
    (file,) = tmp_path.rglob(f"*.{ending}")
    file.write_bytes(harm(file.read_bytes()))
    assert (load(), load()) == (0, 1)


PLACES = {"numba.core.caching.IndexDataCacheFile.save": OSError, "uaftc_lib.fast.compiled.MendedCache": RuntimeError}


@pytest.mark.parametrize("place, error", PLACES.items())
def test_a_cache_that_cannot_be_written_costs_only_time(load, tmp_path, monkeypatch, place, error):
    def refused(*_):
        raise error

    (index,) = tmp_path.rglob("*.nbi")
    index.unlink()
    monkeypatch.setattr(place, refused)
    assert (load(), load()) == (0, 0)
