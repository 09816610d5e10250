"""Laws that every primitive keeps, for every dtype: the table is in ``samples.py``."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import jaxlite
from jaxlite.kernel_ir import nodes as ir
from jaxlite.kernel_ir.interpret import interpret_kernel
from jaxlite.language import dtypes
from jaxlite.language.array import ArrayImpl, asarray_eager
from jaxlite.language.primitive import as_tuple
from jaxlite.language.trace import EVAL_TRACE
from jaxlite.primitives.families import Elementwise
from tests.primitives.samples import (
    ELEMENTWISE,
    IN_JAX,
    QUICK,
    SAMPLES,
    SPECIAL,
    TOLERANCE,
    Sample,
    differentiable,
    operands,
)

WIDE = ("float64", "complex128")
#: JAX's own parameter of the functions whose accuracy some devices can choose.
HAS_ACCURACY = frozenset(
    {
        *("cbrt", "cos", "exp", "exp2", "expm1", "log", "log1p", "logistic", "rsqrt", "sin"),
        *("sqrt", "tan", "tanh"),
    }
)


@pytest.fixture(autouse=True)
def _wide_types() -> Any:
    with jaxlite.enable_x64(True), jax.enable_x64(True):
        yield


def pairs(samples: list[Sample], only: tuple[str, ...] | None = None, quick: Any = QUICK) -> Any:
    """Parametrize over samples and their dtypes; dtypes beside the common ones are slow."""
    cases = [
        pytest.param(
            sample,
            dtype,
            id=f"{sample.name}-{dtype}",
            marks=() if only or dtype in quick else pytest.mark.slow,
        )
        for sample in samples
        for dtype in sample.dtypes
        if only is None or dtype in only
    ]
    return pytest.mark.parametrize(("sample", "dtype"), cases)


def smooth(samples: list[Sample]) -> list[Sample]:
    return [s for s in samples if any(d in WIDE and differentiable(s, d) for d in s.dtypes)]


def wide(samples: list[Sample]) -> Any:
    return pairs(smooth(samples), WIDE)


def ours(sample: Sample, dtype: str) -> Any:
    params = sample.params_for(dtype)
    return lambda *args: sample.primitive.bind(*args, **params)


def theirs(sample: Sample, dtype: str) -> Any:
    name = sample.primitive.name
    # JAX keeps add_any_p to itself; its values are those of add.
    primitive = getattr(jax.lax, f"{'add' if name == 'add_any' else name}_p")
    params = dict(sample.params_for(dtype))
    if name == "round":
        params["rounding_method"] = jax.lax.RoundingMethod(int(params["rounding_method"]))
    if sample.primitive.name in HAS_ACCURACY:
        params["accuracy"] = None
    return lambda *args: primitive.bind(*args, **params)


def data(x: Any) -> Any:
    return np.asarray(x._data if isinstance(x, ArrayImpl) else x)


def assert_close(mine: Any, other: Any, dtype_for_tolerance: str | None = None) -> None:
    a, b = data(mine), data(other)
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    name = dtype_for_tolerance or a.dtype.name
    if name not in TOLERANCE:
        np.testing.assert_array_equal(a, b)
        return
    exact = np.complex128 if a.dtype.kind == "c" else np.float64
    tolerance = TOLERANCE[name]
    np.testing.assert_allclose(a.astype(exact), b.astype(exact), rtol=tolerance, atol=tolerance)


# --- values ---


@pairs(SAMPLES)
def test_eager_result_has_the_predicted_type(sample: Sample, dtype: str) -> None:
    args = [asarray_eager(a) for a in operands(sample, dtype)]
    params = sample.params_for(dtype)
    predicted = as_tuple(sample.primitive.abstract_eval(*(a.aval for a in args), **params))
    results = as_tuple(sample.primitive.impl(np, *(a._data for a in args), **params))
    for aval, result in zip(predicted, results, strict=True):
        assert np.shape(result) == aval.shape
        assert np.asarray(result).dtype == dtypes.storage_dtype(aval.dtype)


@pytest.mark.jax_oracle
@pairs(IN_JAX)
def test_value_and_types_equal_jax(sample: Sample, dtype: str) -> None:
    args = operands(sample, dtype)
    mine = ours(sample, dtype)(*map(asarray_eager, args))
    if sample.primitive.name == "optimization_barrier":
        other = theirs(sample, dtype)(*map(jax.numpy.asarray, args))[0]
    else:
        other = theirs(sample, dtype)(*map(jax.numpy.asarray, args))
    assert_close(mine, other, dtype if np.asarray(other).dtype.kind in "fcV" else None)
    assert mine.weak_type == other.weak_type


#: Where a float function turns, overflows or ends.
SPECIAL_FLOATS = np.concatenate(
    [
        [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 2, 3, -3, 1e-3, -7.7, 20, 88, -1000],
        [1e30, np.inf, -np.inf, np.nan],
    ]
)
SPECIAL_INTEGERS = np.array([0, 1, 2, 3, 7, 8, 31, 100, 126, 127, -1, -2, -7, -8, -127, -128])
#: JAX rounds these worse than our tolerance, or gives NaN where the limit is known.
LESS_EXACT_IN_JAX = frozenset(
    {"lgamma", "digamma", "polygamma", "zeta", "igamma", "igammac", "igamma_grad_a"}
)


@pytest.mark.jax_oracle
@pairs([s for s in [*ELEMENTWISE, *SPECIAL] if "scalar" not in s.label], ("float32", "int8"))
def test_special_values_equal_jax(sample: Sample, dtype: str) -> None:
    if sample.primitive.name in LESS_EXACT_IN_JAX or sample.label == "int32":
        pytest.skip("JAX is the less exact one here")
    n = len(sample.operands)
    points = (SPECIAL_INTEGERS if dtype == "int8" else SPECIAL_FLOATS[: 21 if n < 3 else 9]).astype(
        dtype
    )
    args = [a.ravel().copy() for a in np.meshgrid(*[points] * n, indexing="ij")]
    mine = ours(sample, dtype)(*map(asarray_eager, args))
    other = theirs(sample, dtype)(*map(jax.numpy.asarray, args))
    a, b = data(mine), np.array(other)
    if dtype == "float32" and a.dtype == b.dtype == np.float32:
        # XLA's CPU flushes what is smaller than the smallest normal number.
        tiny = np.finfo(np.float32).tiny
        a, b = (np.where(np.abs(v) < 2 * tiny, np.float32(0), v) for v in (a, b))
    assert_close(a, b)


# --- batching, compilation ---


@pairs(SAMPLES, quick=("float32",))
def test_vmap_equals_a_loop(sample: Sample, dtype: str) -> None:
    fun = ours(sample, dtype)
    rows = [operands(sample, dtype, seed) for seed in range(3)]
    n = len(rows[0])
    for axes in {(0,) * n, (-1,) * n, (None, *(0,) * (n - 1)), (*(-1,) * (n - 1), None)}:
        if all(axis is None for axis in axes):
            continue
        stacked = [
            rows[0][k] if axis is None else np.stack([row[k] for row in rows], axis)
            for k, axis in enumerate(axes)
        ]
        batched = as_tuple(jaxlite.vmap(fun, in_axes=axes)(*map(asarray_eager, stacked)))
        loop = [
            as_tuple(
                fun(*(asarray_eager(rows[0 if a is None else i][k]) for k, a in enumerate(axes)))
            )
            for i in range(3)
        ]
        for j, out in enumerate(batched):
            assert_close(out, np.stack([data(row[j]) for row in loop]))


@pairs([s for s in SAMPLES if isinstance(s.primitive, Elementwise)])
def test_kernel_ir_equals_impl(sample: Sample, dtype: str) -> None:
    args = [asarray_eager(a) for a in operands(sample, dtype)]
    params = sample.params_for(dtype)
    primitive: Any = sample.primitive
    if not primitive.can_lower(tuple(a.aval for a in args), params):
        pytest.skip("a host step")
    expected = ours(sample, dtype)(*args)
    size = expected.size
    i = ir.index("i")
    scalars = [
        ir.load(f"x{k}", i if a.ndim else ir.i64(0), a._data.dtype) for k, a in enumerate(args)
    ]
    value = primitive.lower_scalars(scalars, **params)
    assert value.dtype == expected.dtype
    kernel = ir.Kernel(
        primitive.name,
        (
            *(ir.Param(f"x{k}", a._data.dtype, a.size) for k, a in enumerate(args)),
            ir.Param("y", value.dtype, size, is_output=True),
        ),
        (ir.For("i", size, (ir.Store("y", i, value),), "vector"),),
    )
    out = np.zeros(size, value.dtype)
    interpret_kernel(kernel, {**{f"x{k}": a._data.ravel() for k, a in enumerate(args)}, "y": out})
    assert_close(out.reshape(expected.shape), expected)


@pairs(SAMPLES, quick=("float32", "int32"))
def test_jit_equals_eager(sample: Sample, dtype: str) -> None:
    args = [asarray_eager(a) for a in operands(sample, dtype)]
    fun = ours(sample, dtype)
    for mine, other in zip(as_tuple(jaxlite.jit(fun)(*args)), as_tuple(fun(*args)), strict=True):
        assert mine.aval is other.aval
        assert_close(mine, other)


# --- derivatives ---


def direction(x: Any, rng: Any) -> Any:
    """A random tangent of ``x`` (zero for operands that have none)."""
    if dtypes.kind_of(x.dtype) not in "fc":
        return np.zeros(x.shape, dtypes.float0)
    t = rng.normal(size=x.shape)
    return t + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else t


def restricted(sample: Sample, dtype: str) -> tuple[Any, list[Any]]:
    """The function of the differentiable operands alone, and their values."""
    arrays, at = operands(sample, dtype), differentiable(sample, dtype)

    def fun(*xs: Any) -> Any:
        full: list[Any] = [asarray_eager(a) for a in arrays]
        for k, x in zip(at, xs, strict=True):
            full[k] = x
        out = ours(sample, dtype)(*full)
        return out[0] if isinstance(out, tuple) else out

    return fun, [arrays[k] for k in at]


@pytest.fixture
def rng() -> Any:
    return np.random.default_rng(7)


STEP = 1e-6


def central_difference(fun: Any, xs: list[Any], ts: list[Any]) -> Any:
    ahead = data(fun(*(x + STEP * t for x, t in zip(xs, ts, strict=True))))
    behind = data(fun(*(x - STEP * t for x, t in zip(xs, ts, strict=True))))
    return (ahead - behind) / (2 * STEP)


def has_tangent(sample: Sample, dtype: str) -> bool:
    fun, xs = restricted(sample, dtype)
    return dtypes.kind_of(fun(*xs).dtype) in "fc"


def assert_slope(mine: Any, numeric: Any) -> None:
    # A central difference in float64 keeps about half of the digits.
    np.testing.assert_allclose(
        data(mine), numeric, rtol=2e-6, atol=2e-7 * (1 + np.abs(numeric).max())
    )


#: Steps, whose derivative is said to be something.
NOT_A_LIMIT = frozenset({"stop_gradient", "reduce_precision", "sign"})


def is_narrowing(sample: Sample, dtype: str) -> bool:
    new = sample.params_for(dtype).get("new_dtype")
    return new is not None and dtypes.finfo(new).bits < 64 and dtypes.kind_of(new) in "fc"


@wide(SAMPLES)
def test_jvp_equals_the_central_difference(sample: Sample, dtype: str, rng: Any) -> None:
    fun, xs = restricted(sample, dtype)
    if not xs or not has_tangent(sample, dtype):
        pytest.skip("no tangent")
    if sample.primitive.name in NOT_A_LIMIT or is_narrowing(sample, dtype):
        pytest.skip("its derivative is defined, not a limit")
    ts = [direction(x, rng) for x in xs]
    _, dy = jaxlite.jvp(fun, tuple(xs), tuple(ts))
    assert_slope(dy, central_difference(fun, xs, ts))


@wide(SAMPLES)
def test_vjp_is_the_transpose_of_jvp(sample: Sample, dtype: str, rng: Any) -> None:
    fun, xs = restricted(sample, dtype)
    if not xs or not has_tangent(sample, dtype):
        pytest.skip("no tangent")
    if sample.primitive.name == "reduce_precision":
        pytest.skip("rounding is linear by definition only")
    ts = [direction(x, rng) for x in xs]
    y, dy = jaxlite.jvp(fun, tuple(xs), tuple(ts))
    ct = direction(data(y), rng).astype(y.dtype)
    _, pull_back = jaxlite.vjp(fun, *xs)
    # JAX's pairing does not conjugate.
    exact = np.complex128
    forward = np.sum(ct.astype(exact) * data(dy)).real
    cts = pull_back(asarray_eager(ct))
    backward = sum(np.sum(data(c).astype(exact) * t).real for c, t in zip(cts, ts, strict=True))
    tolerance = 10 * TOLERANCE[y.dtype.name]
    np.testing.assert_allclose(forward, backward, rtol=tolerance, atol=tolerance)


@wide([s for s in SAMPLES if s.has_second_order])
def test_second_derivative_equals_the_difference_of_first(
    sample: Sample, dtype: str, rng: Any
) -> None:
    fun, xs = restricted(sample, dtype)
    if not xs or not has_tangent(sample, dtype):
        pytest.skip("no tangent")
    ts, us = ([direction(x, rng) for x in xs] for _ in range(2))

    def slope(*points: Any) -> Any:
        return jaxlite.jvp(fun, points, tuple(ts))[1]

    _, second = jaxlite.jvp(slope, tuple(xs), tuple(us))
    assert_slope(second, central_difference(slope, xs, us))


@pytest.mark.jax_oracle
@pytest.mark.slow
@pairs([s for s in smooth(ELEMENTWISE) if "scalar" not in s.label], ("float64",))
def test_slopes_at_special_points_equal_jax(sample: Sample, dtype: str) -> None:
    if sample.label == "int32":
        pytest.skip("covered by the float exponent")
    n = len(sample.operands)
    points = np.array([0.0, -0.0, 1, -1, 0.5, -2, 3, 1e-3, -7.7, 30, np.inf, -np.inf, np.nan])
    args = [a.ravel().copy() for a in np.meshgrid(*[points] * n, indexing="ij")]
    if not has_tangent(sample, dtype):
        pytest.skip("no tangent")
    for k in differentiable(sample, dtype):

        def slope(module: Any, fun: Any, k: int = k) -> Any:
            def of_operand(x: Any) -> Any:
                return fun(*(x if j == k else module.numpy.asarray(a) for j, a in enumerate(args)))

            x = module.numpy.asarray(args[k])
            return module.jvp(of_operand, (x,), (module.numpy.ones_like(x),))[1]

        mine, other = (
            data(slope(jaxlite, ours(sample, dtype))),
            data(slope(jax, theirs(sample, dtype))),
        )
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


def test_nothing_is_traced_between_the_laws() -> None:
    # A law that left its trace current would make the next ones pass for the wrong reason.
    assert jaxlite.language.trace.state.trace is EVAL_TRACE
