"""Gather and scatter agree with JAX for random dimension numbers, in every index mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jax import lax

import jaxlite
from jaxlite.primitives import gather as ours_gather
from jaxlite.primitives import scatter as ours_scatter
from jaxlite.primitives.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from tests.primitives.against_jax import (
    Case,
    Keys,
    check,
    check_jit,
    check_jvp,
    check_pull,
    check_types,
    check_values,
    check_vjp,
    data_of,
    to_ours,
)

pytestmark = pytest.mark.jax_oracle
MODES = ["clip", "fill", "promise_in_bounds"]
KINDS = ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"]


class Walk:
    """A random operand, indices, and what goes where."""

    def __init__(self, seed: int, mode: str, index_dtype: Any = np.int32) -> None:
        rng = self.rng = np.random.default_rng(seed)
        ndim = int(rng.integers(1, 4))
        self.shape = tuple(int(n) for n in rng.integers(2, 5, ndim))
        roles = rng.choice(["window", "collapsed", "batching"], ndim, p=[0.5, 0.3, 0.2])
        self.batching = tuple(d for d in range(ndim) if roles[d] == "batching")
        self.collapsed = tuple(d for d in range(ndim) if roles[d] == "collapsed")
        free = [d for d in range(ndim) if d not in self.batching]
        chosen = [d for d in free if d in self.collapsed or rng.random() < 0.5]
        # JAX's CPU scatters go wrong when several windows have empty index vectors.
        chosen = chosen or free[:1]
        self.index_map = tuple(int(d) for d in rng.permutation(chosen))
        self.sizes = tuple(
            1 if roles[d] != "window" else int(rng.integers(1, n + 1))
            for d, n in enumerate(self.shape)
        )
        if not free:
            self.batching, roles[0] = tuple(range(1, ndim)), "collapsed"
            self.collapsed = self.index_map = (0,)
        plain = [int(n) for n in rng.integers(1, 4, int(rng.integers(0, 3)))]
        marked = [(n, None) for n in plain] + [(self.shape[d], d) for d in self.batching]
        order = rng.permutation(len(marked)) if marked else []
        batch = [marked[int(k)] for k in order]
        self.indices_batching = tuple(
            next(k for k, (_, d) in enumerate(batch) if d == axis) for axis in self.batching
        )
        self.batch_shape = tuple(n for n, _ in batch)
        self.indices = self._indices(mode, index_dtype)
        window = [n for d, n in enumerate(self.sizes) if roles[d] == "window"]
        total = len(window) + len(batch)
        places = np.sort(rng.choice(total, len(window), replace=False)) if window else []
        self.offset_dims = tuple(int(d) for d in places)
        inside, outside = iter(window), iter(self.batch_shape)
        self.out_shape = tuple(
            next(inside) if d in self.offset_dims else next(outside) for d in range(total)
        )

    def _indices(self, mode: str, dtype: Any) -> Any:
        low, high = (0, 0) if mode == "promise_in_bounds" else (-2, 2)
        shape = (*self.batch_shape, len(self.index_map))
        out = np.zeros(shape, np.int64)
        for k, d in enumerate(self.index_map):
            last = self.shape[d] - self.sizes[d]
            out[..., k] = self.rng.integers(low, last + high + 1, shape[:-1])
        return out.astype(dtype)

    @property
    def numbers(self) -> tuple[Any, ...]:
        return (
            self.offset_dims,
            self.collapsed,
            self.index_map,
            self.batching,
            self.indices_batching,
        )

    def array(self, shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
        # Few different values, so that the extremes of scatter_min and scatter_max meet.
        return self.rng.integers(-3, 4, shape).astype(dtype)

    def gather(self, mode: str, x: Any, fill_value: Any = None) -> Case:
        return Case(
            lambda x, i: ours_gather.gather(
                x,
                i,
                GatherDimensionNumbers(*self.numbers),
                self.sizes,
                mode=mode,
                fill_value=fill_value,
            ),
            lambda x, i: lax.gather(
                x,
                i,
                lax.GatherDimensionNumbers(*self.numbers),
                self.sizes,
                mode=mode,
                fill_value=fill_value,
            ),
            [x, self.indices],
            seed=len(self.shape),
        )

    def scatter(self, kind: str, mode: str, x: Any, updates: Any, **flags: Any) -> Case:
        return Case(
            lambda x, i, u: getattr(ours_scatter, kind)(
                x, i, u, ScatterDimensionNumbers(*self.numbers), mode=mode, **flags
            ),
            lambda x, i, u: getattr(lax, kind)(
                x, i, u, lax.ScatterDimensionNumbers(*self.numbers), mode=mode, **flags
            ),
            [x, self.indices, updates],
            seed=len(self.shape),
        )


@pytest.mark.parametrize("seed", range(6))
def test_gather(seed):
    mode = MODES[seed % 3]
    walk = Walk(seed, mode)
    check(walk.gather(mode, walk.array(walk.shape)))


def scatter_case(seed: int, mode: str, kind: str) -> Case:
    # JAX's tangents of scatter_min and scatter_max are NaN where a window was clipped.
    inside = kind in ("scatter_min", "scatter_max") and mode == "clip"
    walk = Walk(seed, "promise_in_bounds" if inside else mode)
    case = walk.scatter(kind, mode, walk.array(walk.shape), walk.array(walk.out_shape))
    if kind == "scatter_mul":
        case.open_sets = [(0,)]  # the other operand needs unique indices
    return case


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_scatter(kind, mode):
    check(scatter_case(20 + KINDS.index(kind) % 3, mode, kind))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 124))
def test_many_random_walks(seed):
    mode = MODES[seed % 3]
    walk = Walk(seed, mode)
    check(walk.gather(mode, walk.array(walk.shape)))
    check(scatter_case(seed, mode, KINDS[seed % 6]))


@pytest.mark.parametrize("kind", ["scatter", "scatter_mul"])
def test_scatter_with_unique_indices_is_differentiable_in_both_operands(kind):
    walk = Walk(3, "fill")
    walk.shape, walk.sizes = (5, 3), (1, 2)
    walk.indices = np.array([[4], [0], [7]], np.int32)
    walk.collapsed, walk.index_map, walk.offset_dims = (0,), (0,), (1,)
    walk.batching = walk.indices_batching = ()
    case = walk.scatter(kind, "fill", walk.array((5, 3)), walk.array((3, 2)), unique_indices=True)
    check(case)


def test_scatter_mul_without_unique_indices_says_what_it_needs():
    walk = Walk(1, "clip")
    case = walk.scatter("scatter_mul", "clip", walk.array(walk.shape), walk.array(walk.out_shape))
    case.open_sets = [(2,)]
    with pytest.raises(NotImplementedError, match="only implemented if `unique_indices=True`"):
        check_jvp(case)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "uint32", "complex64"])
def test_scatter_dtypes(kind, dtype):
    import ml_dtypes  # noqa: PLC0415

    dt = np.dtype(getattr(ml_dtypes, dtype, dtype))
    walk = Walk(21, "fill")
    x = np.abs(walk.array(walk.shape)).astype(dt)
    updates = np.abs(walk.array(walk.out_shape)).astype(dt)
    check_values(walk.scatter(kind, "fill", x, updates))


def test_scatter_add_rounds_after_every_element():
    walk = Walk(0, "fill")
    walk.collapsed, walk.index_map, walk.offset_dims = (0,), (0,), ()
    walk.batching = walk.indices_batching = ()
    walk.indices = np.zeros((3000, 1), np.int32)
    x, updates = np.array([256, 1], np.float16), np.ones(3000, np.float16)
    check_values(walk.scatter("scatter_add", "fill", x, updates))


def test_last_window_stays_when_windows_meet():
    numbers = ScatterDimensionNumbers((), (0,), (0,))
    indices = np.array([[1], [1], [0], [1]], np.int32)
    updates = np.array([1, 2, 3, 4], np.float32)
    out = ours_scatter.scatter(to_ours(np.zeros(2, np.float32)), indices, updates, numbers)
    np.testing.assert_array_equal(data_of(out), [3, 4])


@pytest.mark.parametrize("dtype", ["int8", "uint16", "bool", "complex64", "bfloat16", "float32"])
@pytest.mark.parametrize("fill_value", [None, 1])
def test_gather_fills_with(dtype, fill_value):
    import ml_dtypes  # noqa: PLC0415

    walk = Walk(5, "fill")
    x = walk.array(walk.shape, np.dtype(getattr(ml_dtypes, dtype, dtype)))
    case = walk.gather("fill", x, fill_value)
    check_values(case)
    check_pull(case)


@pytest.mark.parametrize("index_dtype", ["int8", "uint8", "int16", "uint32"])
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_gather_index_dtypes(index_dtype, mode):
    walk = Walk(2, mode, index_dtype)
    case = walk.gather(mode, walk.array(walk.shape))
    check_values(case)
    check_types(case)
    check_pull(case)


@pytest.mark.parametrize("mode", MODES)
def test_keys_are_gathered(mode):
    walk = Walk(4, "promise_in_bounds")
    keys = Keys(walk.rng.integers(0, 2**32, (*walk.shape, 2), dtype=np.uint32))
    case = walk.gather(mode, keys)
    check_values(case)
    check_types(case)


def test_outside_keys_are_all_ones():
    numbers = GatherDimensionNumbers((), (0,), (0,))
    keys = to_ours(Keys(np.zeros((3, 2), np.uint32)))
    out = ours_gather.gather(keys, np.array([[7]], np.int32), numbers, (1,), mode="fill")
    assert data_of(out).tolist() == [2**64 - 1]


def test_whole_rows_are_taken_in_every_mode():
    for mode in MODES:
        walk = Walk(0, mode)
        walk.shape, walk.sizes = (4, 3, 2), (4, 1, 2)
        walk.collapsed, walk.index_map, walk.offset_dims = (1,), (1,), (0, 3)
        walk.batching = walk.indices_batching = ()
        high = 3 if mode == "promise_in_bounds" else 6
        walk.indices = walk.rng.integers(0, high, (2, 3, 1)).astype(np.int32)
        check(walk.gather(mode, walk.array(walk.shape)))


def test_second_derivative_of_scatter_add_of_gather():
    walk = Walk(6, "clip")
    x = walk.array(walk.shape)
    numbers = walk.numbers

    def through(gather, scatter, gather_numbers, scatter_numbers):
        def f(x, i):
            read = gather(x, i, gather_numbers, walk.sizes, mode="clip")
            return scatter(x, i, read, scatter_numbers, mode="clip")

        return f

    case = Case(
        through(
            ours_gather.gather,
            ours_scatter.scatter_add,
            GatherDimensionNumbers(*numbers),
            ScatterDimensionNumbers(*numbers),
        ),
        through(
            lax.gather,
            lax.scatter_add,
            lax.GatherDimensionNumbers(*numbers),
            lax.ScatterDimensionNumbers(*numbers),
        ),
        [x, walk.indices],
    )
    check_jvp(case)
    check_vjp(case)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        (None, "FILL_OR_DROP"),
        ("drop", "FILL_OR_DROP"),
        ("fill", "FILL_OR_DROP"),
        ("clip", "CLIP"),
        ("promise_in_bounds", "PROMISE_IN_BOUNDS"),
    ],
)
def test_modes_have_jax_names(text, mode):
    found = GatherScatterMode.from_any(text)
    assert repr(found) == repr(lax.GatherScatterMode.from_any(text))
    assert found.name == mode


def test_unknown_mode():
    with pytest.raises(ValueError, match='Unknown gather mode "wrap"'):
        GatherScatterMode.from_any("wrap")


@pytest.mark.parametrize(
    ("dtype", "clipped", "filled"),
    [("int64", [0, 3, 3, 0, 3], [0, 9, 3, 9, 9]), ("uint64", [0, 3, 3, 0, 3], [0, 9, 3, 0, 9])],
)
def test_64_bit_indices_of_extreme_value(dtype, clipped, filled):
    # JAX reads such indices as int32 in mode "fill", so it is no oracle here.
    info = np.iinfo(dtype)
    indices = np.array([[0], [info.max], [3], [info.min], [info.max // 2 + 1]], dtype)
    numbers = GatherDimensionNumbers((), (0,), (0,))
    for mode, expected in (("clip", clipped), ("fill", filled)):

        def read(x, i, mode=mode):
            return ours_gather.gather(x, i, numbers, (1,), mode=mode, fill_value=9)

        with jaxlite.enable_x64(True):
            case = Case(read, read, [np.arange(4.0), indices])
            np.testing.assert_array_equal(data_of(read(*map(to_ours, case.args))), expected)
            check_pull(case)
            check_jit(case)
