"""Memory of results and workspaces. In: sizes. Out: arrays. Next: ``launch.py``.

A fresh large array costs more than the arithmetic that fills it: every page is faulted in and
cleared. So memory of large results is used again once nobody holds the array: no Array, view, or
exported buffer.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from jaxlite.errors import AllocationError
from jaxlite.kernel_ir.nodes import DType
from jaxlite.kernel_ir.program import Buffer

#: Results of at least this size come from the pool; below, malloc is as good.
POOLED_BYTES: Final = 1 << 20
#: Memory the pool may hold, free and in use.
LIMIT_BYTES: Final = 1 << 29
_LINE: Final = 64

Block = np.ndarray[Any, Any]


def _start(block: Block) -> int:
    """Return the offset of the first cache line in ``block``."""
    return int(-block.ctypes.data % _LINE)


def aligned(nbytes: int) -> Block:
    """Return ``nbytes`` of memory that starts at a cache line."""
    block = np.empty(nbytes + _LINE, np.uint8)
    start = _start(block)
    return block[start : start + nbytes]


def _references(blocks: list[Block], number: int) -> int:
    # Arrays made from a block, views of those and exported buffers all hold a reference to the
    # block itself: NumPy keeps the owner of the memory as their base.
    return sys.getrefcount(blocks[number])


#: References to a block that only its list knows.
_FREE_COUNT: Final = _references([np.empty(1)], 0)
#: Without a GIL another thread may be about to take a reference: then nothing is used again.
_COUNTS_ARE_EXACT: Final = getattr(sys, "_is_gil_enabled", lambda: True)()


def _last_try(nbytes: int) -> Block:
    """Return new memory, or raise AllocationError with the size: nothing more can be freed."""
    try:
        return np.empty(nbytes + _LINE, np.uint8)
    except MemoryError:
        raise AllocationError(
            f"Out of memory: a result of {nbytes} bytes ({nbytes / 2**30:.3g} GiB) does not fit."
            "\n  Fix: work on smaller pieces, or delete arrays that are no longer needed."
        ) from None


class Pool:
    """Blocks of memory by size, each used by at most one array at a time."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes if _COUNTS_ARE_EXACT else 0
        self._lock = threading.Lock()
        self._blocks: dict[int, list[Block]] = {}
        self._total = 0

    def array(self, shape: tuple[int, ...], dtype: DType, nbytes: int) -> np.ndarray[Any, Any]:
        """Return an array on memory that nobody else refers to; its elements are arbitrary."""
        block = self._take(nbytes)
        return np.ndarray(shape, dtype, block, _start(block))

    def _take(self, nbytes: int) -> Block:
        with self._lock:
            blocks = self._blocks.setdefault(nbytes, [])
            for number in range(len(blocks)):
                if _references(blocks, number) == _FREE_COUNT:
                    return blocks[number]
            self._make_room(nbytes)
            try:
                block = np.empty(nbytes + _LINE, np.uint8)
            except MemoryError:
                self._make_room(self.limit_bytes + 1)
                block = _last_try(nbytes)
            if self._total + nbytes <= self.limit_bytes:
                blocks.append(block)
                self._total += nbytes
            return block

    def _make_room(self, nbytes: int) -> None:
        """Drop free blocks if ``nbytes`` more would go over the limit."""
        for size, blocks in self._blocks.items():
            if self._total + nbytes <= self.limit_bytes:
                return
            kept = [blocks[n] for n in range(len(blocks)) if _references(blocks, n) > _FREE_COUNT]
            self._total -= size * (len(blocks) - len(kept))
            blocks[:] = kept

    def clear(self) -> None:
        """Forget all blocks; memory in use is freed by its last user."""
        with self._lock:
            self._blocks.clear()
            self._total = 0


pool = Pool()


def allocator_for(buffer: Buffer) -> Callable[[], np.ndarray[Any, Any]]:
    """Return a function that makes arrays of one shape, quickly."""
    nbytes, shape, dtype = buffer.nbytes, buffer.shape, buffer.dtype
    if nbytes < POOLED_BYTES:
        return functools.partial(np.empty, shape, dtype)
    return functools.partial(pool.array, shape, dtype, nbytes)


class WorkspacePool:
    """Workspaces of one executable: as many as there have been calls at the same time."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self._free: list[Block] = []

    def take(self) -> Block:
        """Return a workspace that nobody uses."""
        try:
            return self._free.pop()
        except IndexError:
            return aligned(self.nbytes)

    def give_back(self, workspace: Block) -> None:
        """Let a later call use ``workspace``."""
        self._free.append(workspace)
