"""Sequences, grids and triangles. In: numbers and shapes. Out: arrays made by rule."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite import errors
from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value, check_allocation, from_numpy
from jaxlite.language.avals import ShapedArray, canonical_shape
from jaxlite.language.trace import EVAL_TRACE, Tracer, state
from jaxlite.lax import elementwise, shapes
from jaxlite.lax.operands import constant, shape_of
from jaxlite.numpy import ufuncs
from jaxlite.numpy.arithmetic import power
from jaxlite.numpy.choosing import choose_between
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.indexing import concrete_data
from jaxlite.numpy.promotion import (
    as_operand,
    broadcast_arrays_to,
    broadcast_value,
    check_arraylike,
    promote_all_inexact,
    relaxed,
    retype,
)
from jaxlite.numpy.rearrange import moveaxis

_INT32 = np.dtype(np.int32)
_BOOL = np.dtype(np.bool_)


# --- sequences ---


def _known(value: Any, argument: str) -> Any:
    """Return a bound of ``arange`` as a NumPy scalar: it decides the shape."""
    if isinstance(value, Tracer) and value.concrete_value() is None:
        raise errors.ConcretizationTypeError(
            value, f"It arose in the jnp.arange argument '{argument}'\n"
        )
    if isinstance(value, Array):
        data = concrete_data(value)
        assert data is not None
        return data[()]
    return value


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Value:
    """Return ``start, start + step, ...`` up to but without ``stop``.

    Args:
        start: first number, or ``stop`` if it is the only argument.
        stop: bound.
        step: distance, 1 by default.
        dtype: of the result.
        device: where to put it.
        out_sharding: only None (one device).

    Raises:
        ConcretizationTypeError: a bound is not known while tracing.
        ZeroDivisionError: ``step`` is 0.

    Example:
        >>> arange(3), arange(1, 2, 0.5)
        (Array([0, 1, 2], dtype=int32), Array([1. , 1.5], dtype=float32))
    """
    given = [v for v in (start, stop, step) if v is not None]
    for value in given:
        _check_number(value)
    kind = dtypes.result_type(*given) if dtype is None else dtypes.requested_dtype(dtype, "arange")
    if stop is None and step is None:
        first, last, by = 0, _known(start, "stop"), 1
    else:
        first = _known(start, "start")
        last = first if stop is None else _known(stop, "stop")
        by = 1 if step is None else _known(step, "step")
        if stop is None:
            first, last = 0, first
    length = math.ceil((last - first) / by) if by else _zero_step()
    length = int(max_zero(length))
    if dtypes.kind_of(kind) not in "iufc":
        return shapes.broadcasted_iota(kind, (length,), 0)
    if state.trace is EVAL_TRACE:
        check_allocation("arange", [ShapedArray((length,), kind)])
        return from_numpy(_sequence_data(first, by, length, kind))
    out = shapes.broadcasted_iota(kind, (length,), 0)
    if by != 1:
        out = elementwise.mul(out, constant(by, kind))
    return elementwise.add(out, constant(first, kind)) if first != 0 else out


def _check_number(value: Any) -> None:
    if not isinstance(value, Array) and (
        isinstance(value, str) or dtypes.kind_of(np.asarray(value).dtype) not in "biufc"
    ):
        raise TypeError(
            f"Value {value!r} with dtype {np.asarray(value).dtype} is not a valid JAX array type. "
            "Only arrays of numeric types are supported by JAX."
        )
    if getattr(value, "ndim", 0):
        raise ValueError(f"jax.numpy.arange: arguments must be scalars; got {value}")
    if dtypes.kind_of(dtypes.dtype(value)) == "c":
        raise ValueError(
            "Passing complex start/stop/step to jnp.arange is no longer supported starting in JAX "
            "v0.10.0.\n  Fix: arange of real numbers, then astype(complex)."
        )


def _zero_step() -> int:
    raise ZeroDivisionError("division by zero")


def max_zero(length: int) -> int:
    """Return ``length``, or 0 if it is negative."""
    return length if length > 0 else 0


def _sequence_data(first: Any, by: Any, length: int, dtype: Any) -> Any:
    if dtypes.kind_of(dtype) in "iu":
        whole = np.arange(length, dtype=np.int64) * np.int64(by) + np.int64(first)
        return whole.astype(dtype)
    return (
        np.arange(first, first + length * by, by)[:length].astype(dtype)
        if length
        else (np.zeros((0,), dtype))
    )


@relaxed
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop``.

    Args:
        start: first number(s).
        stop: last number(s), the first one left out without ``endpoint``.
        num: how many.
        endpoint: whether ``stop`` is the last.
        retstep: return ``(numbers, distance)``.
        dtype: of the result; integers are rounded down.
        axis: where the new axis goes.
        device: where to put it.

    Raises:
        ValueError: ``num`` is negative.

    Example:
        >>> linspace(0, 1, 3)
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    num = _count(num, "num")
    check_arraylike("linspace", start, stop)
    a, b = promote_all_inexact("linspace", start, stop)
    work = a.dtype
    wanted = work if dtype is None else dtypes.requested_dtype(dtype, "linspace")
    if dtypes.kind_of(wanted) in "fc" and dtype is not None:
        work = dtypes.to_inexact_dtype(dtypes.result_type(work, wanted))
    a, b = broadcast_arrays_to("linspace", retype(a, work), retype(b, work))
    n = num - 1 if endpoint else num
    delta = ufuncs.subtract(b, a)
    step = ufuncs.divide(delta, constant(n, work)) if n > 0 else shapes.full(a.shape, np.nan, work)
    out = _between(a, b, num, n, endpoint, work)
    if axis:
        out = moveaxis(out, 0, axis)
    if dtypes.kind_of(wanted) in "iu":
        out = elementwise.floor(out)
    out = retype(out, wanted)
    return (out, step) if retstep else out


def _between(a: Value, b: Value, num: int, n: int, endpoint: bool, dtype: Any) -> Value:
    if num == 0:
        return shapes.full((0, *a.shape), 0, dtype)
    if n <= 0:
        return shapes.expand_dims(a, (0,))
    real = dtypes.to_real_dtype(dtype)
    count = n if endpoint else num
    fraction = ufuncs.divide(shapes.iota(real, count), constant(n, real))
    fraction = shapes.reshape(fraction, (count,) + (1,) * a.ndim)
    rest = ufuncs.subtract(constant(1, real), fraction)
    first, last = shapes.expand_dims(a, (0,)), shapes.expand_dims(b, (0,))
    inner = ufuncs.add(ufuncs.multiply(first, rest), ufuncs.multiply(last, fraction))
    return shapes.concatenate([inner, last], 0) if endpoint else inner


def _count(num: Any, name: str) -> int:
    if isinstance(num, Tracer) and num.concrete_value() is None:
        raise errors.ConcretizationTypeError(num, f"'{name}' argument of jnp.linspace\n")
    value = operator.index(num)
    if value < 0:
        raise ValueError(f"Number of samples, {value}, must be non-negative.")
    return value


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Value:
    """Return ``num`` numbers from ``base**start`` to ``base**stop``, evenly in the exponent."""
    check_arraylike("logspace", start, stop)
    wanted = None if dtype is None else dtypes.requested_dtype(dtype, "logspace")
    out = power(base, linspace(start, stop, num, endpoint, axis=axis))
    return out if wanted is None else retype(out, wanted)


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Value:
    """Return ``num`` numbers from ``start`` to ``stop`` with a constant ratio.

    Example:
        >>> geomspace(1, 100, 3)
        Array([  1.,  10., 100.], dtype=float32)
    """
    check_arraylike("geomspace", start, stop)
    a, b = promote_all_inexact("geomspace", start, stop)
    wanted = (
        retype(a, a.dtype).dtype if dtype is None else dtypes.requested_dtype(dtype, "geomspace")
    )
    sign: Any = constant(1, a.dtype)
    if dtypes.kind_of(a.dtype) != "c":
        zero = constant(0, a.dtype)
        both = (
            elementwise.bitwise_and(elementwise.lt(a, zero), elementwise.lt(b, zero))
            if (a.shape == b.shape)
            else ufuncs.bitwise_and(ufuncs.less(a, zero), ufuncs.less(b, zero))
        )
        sign = choose_between(both, constant(-1, a.dtype), constant(1, a.dtype))
        a, b = ufuncs.multiply(a, sign), ufuncs.multiply(b, sign)
    ten = math.log(10)
    exponents = linspace(
        ufuncs.divide(ufuncs.log(a), ten), ufuncs.divide(ufuncs.log(b), ten), num, endpoint
    )
    out = power(constant(10, exponents.dtype), exponents)
    if num:
        first = broadcast_value(shapes.expand_dims(a, (0,)), (1, *out.shape[1:]))
        out = shapes.concatenate([first, out[1:]], 0)
        if endpoint and num > 1:
            last = broadcast_value(shapes.expand_dims(b, (0,)), (1, *out.shape[1:]))
            out = shapes.concatenate([out[:-1], last], 0)
    out = ufuncs.multiply(sign, out)
    return retype(moveaxis(out, 0, axis) if axis else out, wanted)


# --- matrices by rule ---


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Value:
    """Return an N by M matrix with 1 on diagonal ``k``, else 0.

    Example:
        >>> eye(2, dtype=int)
        Array([[1, 0],
               [0, 1]], dtype=int32)
    """
    kind = dtypes.default_dtype(float) if dtype is None else dtypes.requested_dtype(dtype, "eye")
    rows, columns = canonical_shape((N, N if M is None else M))
    if rows < 0 or columns < 0:
        raise ValueError(f"negative dimensions are not allowed, got {N} and {M}")
    on = _compare_indices((rows, columns), k, elementwise.eq)
    return retype(on, kind)


def _compare_indices(shape: tuple[int, ...], k: Any, compare: Callable[..., Value]) -> Value:
    """Return where ``row + k`` compares with ``column`` in the last two axes."""
    rows = shapes.broadcasted_iota(_INT32, shape, len(shape) - 2)
    columns = shapes.broadcasted_iota(_INT32, shape, len(shape) - 1)
    if isinstance(k, int):
        # Beyond the last diagonal nothing changes, and int32 is enough.
        k = max(-shape[-2], min(k, shape[-1]))
    offset = constant(k, _INT32) if isinstance(k, int) else retype(asarray(k), _INT32)
    return compare(elementwise.add(rows, offset), columns)


def identity(n: Any, dtype: Any = None) -> Value:
    """Return the n by n identity matrix."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Value:
    """Return an N by M matrix with 1 on and below diagonal ``k``, else 0."""
    kind = np.dtype(np.float32) if dtype is None else dtypes.requested_dtype(dtype, "tri")
    shape = canonical_shape((N, N if M is None else M))
    if isinstance(k, int):
        dtypes.check_python_int(k, dtypes.default_dtype(int))
    return retype(_compare_indices(shape, k, elementwise.ge), kind)


def tril(m: Any, k: int = 0) -> Value:
    """Return ``m`` with zeros above diagonal ``k`` of its last two axes."""
    return _triangle("tril", m, k, keeps_lower=True)


def triu(m: Any, k: int = 0) -> Value:
    """Return ``m`` with zeros below diagonal ``k`` of its last two axes."""
    return _triangle("triu", m, k, keeps_lower=False)


def _triangle(name: str, m: Any, k: int, keeps_lower: bool) -> Value:
    check_arraylike(name, m)
    x = as_operand(name, m)
    if x.ndim < 2:
        raise ValueError(f"Argument to jax.numpy.{name} must be at least 2D")
    offset = k if keeps_lower else k - 1
    lower = broadcast_value(_compare_indices(x.shape[-2:], offset, elementwise.ge), x.shape)
    zero = constant(0, x.dtype, x.aval.weak_type)
    return choose_between(lower, x, zero) if keeps_lower else choose_between(lower, zero, x)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Value:
    """Return a matrix of powers of ``x``, falling (or ``increasing``) along the rows."""
    check_arraylike("vander", x)
    v = as_operand("vander", x)
    if v.ndim != 1:
        raise ValueError("x must be a one-dimensional array")
    n = v.shape[0] if N is None else operator.index(N)
    if n < 0:
        raise ValueError("N must be nonnegative")
    steps = np.arange(n, dtype=np.int32)
    exponents = from_numpy(steps if increasing else steps[::-1].copy())
    if dtypes.kind_of(v.dtype) not in "iub":
        exponents = retype(exponents, v.dtype, v.aval.weak_type)
    return power(shapes.expand_dims(v, (1,)), shapes.expand_dims(exponents, (0,)))


# --- indices of triangles and diagonals ---


def _indices(data: Any) -> Value:
    return from_numpy(data.astype(dtypes.default_dtype(int)))


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Value, Value]:
    """Return the row and column indices of the lower triangle of an n by m matrix."""
    rows, columns = np.tril_indices(operator.index(n), operator.index(k), m)
    return _indices(rows), _indices(columns)


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Value, Value]:
    """Return the row and column indices of the upper triangle of an n by m matrix."""
    rows, columns = np.triu_indices(operator.index(n), operator.index(k), m)
    return _indices(rows), _indices(columns)


def _matrix_shape(name: str, arr: Any) -> tuple[int, int]:
    shape = shape_of(arr)
    if len(shape) != 2:
        raise ValueError("input array must be 2-d")
    return shape


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Value, Value]:
    """Return the indices of the lower triangle of the matrix ``arr``."""
    rows, columns = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Value, Value]:
    """Return the indices of the upper triangle of the matrix ``arr``."""
    rows, columns = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def mask_indices(
    n: int, mask_func: Callable[[Any, int], Any], k: int = 0, *, size: int | None = None
) -> tuple[Value, Value]:
    """Return the indices where ``mask_func`` of an n by n matrix of ones and ``k`` is not 0."""
    data = concrete_data(asarray(mask_func(shapes.full((n, n), 1, _INT32), k)))
    assert data is not None, "the mask of ones is known"
    rows, columns = np.nonzero(data)
    if size is not None:
        rows, columns = (
            np.resize(np.append(p, np.zeros(size, int))[:size], size) for p in (rows, columns)
        )
    return _indices(rows), _indices(columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[Value, ...]:
    """Return the indices of the main diagonal of an array with ``ndim`` axes of length n."""
    if n < 0 or ndim < 0:
        raise ValueError(
            f"n and ndim arguments to diag_indices must be nonnegative, got {n} and {ndim}"
        )
    return (arange(n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Value, ...]:
    """Return the indices of the main diagonal of ``arr``, whose axes are equally long."""
    check_arraylike("diag_indices_from", arr)
    x = as_operand("diag_indices_from", arr)
    if x.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(x.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(x.shape[0], x.ndim)


__all__ = [
    "arange", "diag_indices", "diag_indices_from", "eye", "geomspace", "identity",
    "linspace", "logspace", "mask_indices",
    "tri", "tril", "tril_indices", "tril_indices_from", "triu",
    "triu_indices", "triu_indices_from", "vander",
]  # fmt: skip
