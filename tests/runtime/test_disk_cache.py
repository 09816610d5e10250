"""The object cache: found again, never trusted blindly, never in the way."""

import os
import warnings
from pathlib import Path

import pytest

from jaxlite.errors import CacheError
from jaxlite.runtime import disk_cache
from jaxlite.runtime.disk_cache import DiskCache, key_of
from jaxlite.settings import override

posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX owners and modes")


def test_what_is_put_is_found(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "objects")
    assert cache.get("a") is None
    cache.put("a", b"code")
    cache.put("a", b"newer code")
    assert DiskCache(tmp_path / "objects").get("a") == b"newer code"
    cache.clear()
    assert cache.get("a") is None


@posix
def test_the_folder_is_private(tmp_path: Path) -> None:
    DiskCache(tmp_path / "objects")
    assert (tmp_path / "objects").stat().st_mode & 0o777 == 0o700


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o755])
def test_a_folder_open_to_others_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "objects"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(CacheError, match="others have access to it"):
        DiskCache(folder)


@posix
def test_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(CacheError, match="it is not a folder"):
        DiskCache(tmp_path / "link")
    cache = DiskCache(tmp_path / "real")
    cache.put("a", b"code")
    (tmp_path / "real" / "b.o").symlink_to(tmp_path / "real" / "a.o")
    assert cache.get("b") is None


@pytest.mark.parametrize("damage", [b"", b"x" * 10, None], ids=["empty", "short", "changed"])
def test_damaged_files_count_as_absent(tmp_path: Path, damage: bytes | None) -> None:
    cache = DiskCache(tmp_path / "objects")
    cache.put("a", b"code")
    path = tmp_path / "objects" / "a.o"
    path.write_bytes(path.read_bytes()[:-1] + b"!" if damage is None else damage)
    assert cache.get("a") is None


@pytest.mark.parametrize("limit", ["bytes", "files"])
def test_the_oldest_files_go_when_it_is_full(
    tmp_path: Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = DiskCache(tmp_path / "objects", limit_bytes=1500 if limit == "bytes" else 10**9)
    monkeypatch.setattr(disk_cache, "MOST_FILES", 10 if limit == "files" else 10**9)
    for n in range(20):
        cache.put(f"k{n:02}", b"x" * 100)
        os.utime(tmp_path / "objects" / f"k{n:02}.o", (n, n))
    cache.sweep()
    left = sorted(p.stem for p in (tmp_path / "objects").iterdir())
    assert left == [f"k{n:02}" for n in range(20 - len(left), 20)]
    assert 5 <= len(left) <= 10


def test_the_folder_is_swept_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = DiskCache(tmp_path / "objects")
    sweeps: list[int] = []
    monkeypatch.setattr(cache, "sweep", lambda: sweeps.append(1))
    for n in range(2000):
        cache.put(f"k{n}", b"")
    assert 1 <= len(sweeps) <= 40


def test_a_vanished_folder_is_no_error(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "objects")
    (tmp_path / "objects").rmdir()
    cache.put("a", b"code")
    assert cache.get("a") is None


def test_settings_choose_the_folder(tmp_path: Path) -> None:
    with override(cache_dir=str(tmp_path / "mine"), enable_compilation_cache=True):
        cache = disk_cache.current()
        assert cache is not None
        assert cache.folder == tmp_path / "mine"
        assert disk_cache.current() is cache
        with override(enable_compilation_cache=False):
            assert disk_cache.current() is None
    with override(cache_dir="off"):
        assert disk_cache.current() is None


@posix
def test_a_bad_folder_that_was_asked_for_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    with override(cache_dir=str(tmp_path / "shared"), enable_compilation_cache=True):
        with pytest.warns(RuntimeWarning, match="cannot be used: others have access"):
            assert disk_cache.current() is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert disk_cache.current() is None


def test_keys_depend_on_every_part() -> None:
    keys = {
        key_of(*parts) for parts in (("a", "b"), ("ab", ""), ("a",), ("b", "a"), ("a", "b", ""))
    }
    assert len(keys) == 5
