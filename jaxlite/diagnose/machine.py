"""What this machine can do at most. In: nothing. Out: ``Machine``, measured once per machine.

Two limits bind every kernel: how fast memory is copied, and how many multiplications and additions
are done per second. Both are measured in about 0.3 s, the way NumPy does them, and kept in the
compilation cache for later processes.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.runtime import disk_cache

__all__ = ["Machine", "machine", "measure_again"]

_COPY_BYTES, _SIDE = 1 << 25, 768
_LIMIT_S = 0.12
#: What ``measure_again`` has found, until ``machine`` takes it.
_better: list[Machine] = []


@dataclass(frozen=True, slots=True)
class Machine:
    """Limits of this machine.

    ``copy_bytes_s`` counts bytes read and written; ``flops_s`` is that of a float32 matrix product
    on all cores, ``balance`` the operations per byte at which the two limits meet.
    """

    name: str
    cores: int
    copy_bytes_s: float
    flops_s: float

    def roofline(self, n_bytes: float, flops: float) -> tuple[float, str]:
        """Return the seconds this much work takes at full speed, and the limit that binds.

        Data in the processor's caches can be moved faster than this, and a machine that was busy
        when it was measured can do more.

        >>> Machine("x86_64", 2, 2e10, 2e11).roofline(2e10, 1e11)
        (1.0, 'memory')
        """
        moving, counting = n_bytes / self.copy_bytes_s, flops / self.flops_s
        return (moving, "memory") if moving >= counting else (counting, "arithmetic")

    @property
    def balance(self) -> float:
        """Operations per byte at which memory stops to be the limit."""
        return self.flops_s / self.copy_bytes_s

    def text(self) -> str:
        """Return the figures as lines.

        >>> print(Machine("x86_64", 2, 2e10, 2e11).text())
        x86_64, 2 cores
        memory      20.0 GB/s    copying 32 MiB
        arithmetic  200 GFLOP/s  float32 matrix product
        balance     10.0 FLOP/B  below it memory is the limit
        """
        rows = (
            ("memory", f"{self.copy_bytes_s / 1e9:.1f} GB/s", "copying 32 MiB"),
            ("arithmetic", f"{self.flops_s / 1e9:.0f} GFLOP/s", "float32 matrix product"),
            ("balance", f"{self.balance:.1f} FLOP/B", "below it memory is the limit"),
        )
        lines = [f"{a:<10}  {b:<11}  {c}" for a, b, c in rows]
        return "\n".join([f"{self.name}, {self.cores} core{'s' if self.cores > 1 else ''}", *lines])


@functools.cache
def machine() -> Machine:
    """Return the limits: those an earlier process measured on this machine, else measured now."""
    return _better.pop() if _better else _limits(Machine("", 0, 0.0, 0.0))


def measure_again() -> Machine:
    """Measure once more and keep the better figures: the machine was busy if a kernel beats them.

    >>> measure_again().flops_s >= machine().flops_s
    True
    """
    _better[:] = [_limits(machine())]
    machine.cache_clear()
    return machine()


def _limits(before: Machine) -> Machine:
    """Return kept or measured limits that are at least those of ``before`` (0: nothing known)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    name, cores = platform.processor() or platform.machine(), cores or 1
    cache = disk_cache.current()
    # Figures of another machine that shares the folder, or of another NumPy, are not ours.
    key = disk_cache.key_of("machine", platform.node(), name, str(cores), np.__version__)
    kept = cache.get(key) if cache and not before.cores else None
    if kept is not None:
        return Machine(name, cores, *json.loads(kept))
    copy_bytes_s, flops_s = _measure()
    copy_bytes_s = max(copy_bytes_s, before.copy_bytes_s)
    flops_s = max(flops_s, before.flops_s)
    if cache:
        cache.put(key, json.dumps((copy_bytes_s, flops_s)).encode())
    return Machine(name, cores, copy_bytes_s, flops_s)


def _measure() -> tuple[float, float]:
    """Return bytes per second of a copy, operations per second of a matrix product."""
    source = np.ones(_COPY_BYTES, np.uint8)
    target = np.empty_like(source)
    a = np.ones((_SIDE, _SIDE), np.float32)
    out = np.empty_like(a)
    copy_s = _best(lambda: np.copyto(target, source))
    product_s = _best(lambda: np.matmul(a, a, out=out))
    return 2 * _COPY_BYTES / copy_s, 2 * _SIDE**3 / product_s


def _best(run: Callable[[], Any]) -> float:
    """Return the shortest time of as many runs as fit."""
    run()
    best, end = float("inf"), time.perf_counter() + _LIMIT_S
    while (start := time.perf_counter()) < end:
        run()
        best = min(best, time.perf_counter() - start)
    return best
