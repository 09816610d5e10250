"""Memory of large results is used again, but never while somebody can see it."""

import numpy as np

from jaxlite.kernel_ir.program import Buffer
from jaxlite.runtime.memory import POOLED_BYTES, Pool, WorkspacePool, aligned, allocator_for

SHAPE = (1000, 300)
F32 = np.dtype(np.float32)
NBYTES = 1_200_000


def address(a: np.ndarray) -> int:
    return a.ctypes.data


def test_freed_memory_is_used_again() -> None:
    pool = Pool()
    first = pool.array(SHAPE, F32, NBYTES)
    where = address(first)
    del first
    assert address(pool.array(SHAPE, F32, NBYTES)) == where


def test_memory_in_use_is_not() -> None:
    pool = Pool()
    kept = [pool.array(SHAPE, F32, NBYTES) for _ in range(3)]
    assert len({address(a) for a in kept}) == 3


def test_views_and_exported_buffers_keep_memory_in_use() -> None:
    pool = Pool()
    for keep in (
        lambda a: a[10:20, ::2],
        lambda a: a.T.reshape(-1)[5:].view(np.int32) if a.T.flags.c_contiguous else a.T,
        memoryview,
        lambda a: np.asarray(memoryview(a)),
        lambda a: np.from_dlpack(a),
        lambda a: a.ctypes,
        lambda a: iter(a),
    ):
        array = pool.array(SHAPE, F32, NBYTES)
        where = address(array)
        kept = keep(array)
        del array
        other = pool.array(SHAPE, F32, NBYTES)
        assert address(other) != where, kept
        del kept, other


def test_the_pool_is_bounded() -> None:
    pool = Pool(limit_bytes=2 * NBYTES)
    kept = [pool.array(SHAPE, F32, NBYTES) for _ in range(5)]
    assert pool._total <= 2 * NBYTES
    del kept
    pool.array((500,), F32, 2 * NBYTES)  # another size: free blocks make room
    assert pool._total <= 2 * NBYTES
    pool.clear()
    assert pool._total == 0


def test_only_large_results_come_from_the_pool() -> None:
    small = Buffer("y", F32, (3, 4), "output")
    large = Buffer("y", F32, (POOLED_BYTES // 4,), "output")
    for buffer in (small, large):
        array = allocator_for(buffer)()
        assert array.shape == buffer.shape
        assert array.dtype == F32
        assert array.flags.c_contiguous
        assert array.flags.aligned
        assert array.flags.writeable


def test_workspaces_start_at_cache_lines_and_are_not_shared() -> None:
    assert all(address(aligned(n)) % 64 == 0 for n in (1, 100, 5000))
    pool = WorkspacePool(100)
    first, second = pool.take(), pool.take()
    assert not np.shares_memory(first, second)
    pool.give_back(first)
    assert pool.take() is first
