"""The limits of the machine: measured once, kept on disk, and which of them binds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jaxlite.diagnose import machine as module
from jaxlite.diagnose.machine import Machine, machine
from jaxlite.runtime import disk_cache
from jaxlite.runtime.disk_cache import DiskCache


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Nothing is known of this machine before and after."""
    machine.cache_clear()
    yield
    machine.cache_clear()


def test_a_later_process_reads_what_an_earlier_one_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = DiskCache(tmp_path / "objects")
    monkeypatch.setattr(disk_cache, "current", lambda: cache)
    measured = machine()
    assert measured.copy_bytes_s > 1e8
    assert measured.flops_s > 1e8
    monkeypatch.setattr(module, "_measure", lambda: pytest.fail("measured again"))
    machine.cache_clear()
    assert machine() == measured


def test_another_machine_with_the_same_folder_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = DiskCache(tmp_path / "objects")
    monkeypatch.setattr(disk_cache, "current", lambda: cache)
    figures: list[Any] = [(1e9, 1e10), (2e9, 2e10)]
    monkeypatch.setattr(module, "_measure", lambda: figures.pop(0))
    assert machine().copy_bytes_s == 1e9
    monkeypatch.setattr(module.platform, "node", lambda: "elsewhere")
    machine.cache_clear()
    assert machine().copy_bytes_s == 2e9


def test_without_a_cache_it_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "current", lambda: None)
    monkeypatch.setattr(module, "_measure", lambda: (1e9, 1e10))
    assert machine().balance == 10.0


@pytest.mark.parametrize(
    ("n_bytes", "flops", "bound"),
    [(2e9, 1e9, (2.0, "memory")), (1e9, 5e10, (5.0, "arithmetic")), (0, 0, (0.0, "memory"))],
)
def test_the_slower_limit_binds(n_bytes: float, flops: float, bound: Any) -> None:
    assert Machine("m", 1, 1e9, 1e10).roofline(n_bytes, flops) == bound
