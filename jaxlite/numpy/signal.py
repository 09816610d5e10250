"""Convolution, interpolation, windows. In: vectors. Out: vectors."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import elementwise, shapes
from jaxlite.lax.linear_algebra import dot_general
from jaxlite.lax.operands import constant, shape_of
from jaxlite.numpy import ufuncs
from jaxlite.numpy.arithmetic import conj, remainder
from jaxlite.numpy.choosing import clip, where_three
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.cumulative import cumsum, diff
from jaxlite.numpy.functions import i0
from jaxlite.numpy.indexing import getitem
from jaxlite.numpy.joining import concatenate
from jaxlite.numpy.ordering import argsort, searchsorted
from jaxlite.numpy.promotion import as_operand, check_arraylike, promote_all_inexact, retype
from jaxlite.numpy.ranges import arange

# --- sums of shifted products ---


def convolve(
    a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None
) -> Value:
    """Return the convolution of two vectors: ``out[k] = sum over i of a[i] * v[k - i]``.

    Args:
        a: ``T[n]``.
        v: ``U[m]``.
        mode: "full" (n + m - 1 results), "same" (max(n, m)), "valid" (whole overlaps only).
        precision: accepted; the CPU is exact.
        preferred_element_type: dtype of the sums.

    Raises:
        ValueError: no vectors, empty ones, or an unknown mode.

    Example:
        >>> convolve(np.array([1, 2, 3]), np.array([0, 1]))
        Array([0., 1., 2., 3.], dtype=float32)
    """
    return _correlation("convolve", a, v, mode, precision, preferred_element_type, flips=True)


def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Value:
    """Return the correlation of two vectors: ``out[k] = sum over i of a[i + k] * conj(v[i])``."""
    return _correlation("correlate", a, v, mode, precision, preferred_element_type, flips=False)


def _correlation(
    name: str, a: Any, v: Any, mode: str, precision: Any, preferred: Any, flips: bool
) -> Value:
    check_arraylike(name, a, v)
    x, y = promote_all_inexact(name, a, v)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"{name}() only support 1-dimensional inputs.")
    if not x.size or not y.size:
        raise ValueError(f"{name}: inputs cannot be empty, got shapes {x.shape} and {y.shape}.")
    if mode not in ("full", "same", "valid"):
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    if not flips:
        y = conj(y)
    swapped = x.shape[0] < y.shape[0]
    if flips:
        x, y = (y, x) if swapped else (x, y)
        y = shapes.rev(y, (0,))
    elif swapped:
        x, y = shapes.rev(y, (0,)), shapes.rev(x, (0,))
    n, m = x.shape[0], y.shape[0]
    low, high = {"valid": (0, 0), "same": (m // 2, m - m // 2 - 1), "full": (m - 1, m - 1)}[mode]
    if mode == "same" and not flips and swapped:
        low, high = high, low
    return _windows_dot(x, y, low, high, n, m, precision, preferred)


def _windows_dot(
    x: Value, y: Value, low: int, high: int, n: int, m: int, precision: Any, preferred: Any
) -> Value:
    padded = shapes.pad(x, constant(0, x.dtype), ((low, high, 0),))
    length = n + low + high - m + 1
    places = np.arange(length)[:, None] + np.arange(m)[None, :]
    windows = getitem(padded, (places.astype(np.int32),))
    return dot_general(windows, y, (((1,), (0,)), ((), ())), precision, preferred)


# --- interpolation ---


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Value:
    """Return values at ``x`` on the straight lines between the points (xp, fp).

    Args:
        x: ``T[*s]``.
        xp: ``U[n]``, ascending.
        fp: ``V[n]``.
        left: value left of ``xp[0]`` (``fp[0]``; "extrapolate" goes on straight).
        right: value right of ``xp[-1]`` (``fp[-1]``; "extrapolate" goes on straight).
        period: of ``xp``, if values repeat.

    Raises:
        ValueError: ``xp`` and ``fp`` that are no vectors of one length.

    Example:
        >>> interp(1.5, np.array([1, 2]), np.array([10.0, 20.0]))
        Array(15., dtype=float32)
    """
    check_arraylike("interp", x, xp, fp)
    if shape_of(xp) != shape_of(fp) or len(shape_of(xp)) != 1:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    if dtypes.kind_of(dtypes.result_type(x, xp)) == "c":
        raise ValueError("jnp.interp: complex x values not supported.")
    if period is not None and shape_of(period):
        raise ValueError(f"period must be a scalar; got {period}")
    q, places = promote_all_inexact("interp", x, xp)
    (values,) = promote_all_inexact("interp", fp)
    if period is not None:
        q, places, values = _unrolled_period(q, places, values, period)
        left = right = None
    size = places.shape[0]
    i = clip(searchsorted(places, q, side="right"), 1, size - 1)
    before = ufuncs.subtract(i, 1)
    df = ufuncs.subtract(values[i], values[before])
    dx = ufuncs.subtract(places[i], places[before])
    delta = ufuncs.subtract(q, places[before])
    tiny = float(np.spacing(dtypes.finfo(places.dtype).eps))
    is_point = ufuncs.less_equal(elementwise.abs(dx), tiny)
    slope = ufuncs.multiply(ufuncs.divide(delta, where_three(is_point, 1, dx)), df)
    out = where_three(is_point, values[before], ufuncs.add(values[before], slope))
    if period is None and not _extrapolates("left", left):
        edge = values[0] if left is None else left
        out = where_three(ufuncs.less(q, places[0]), edge, out)
    if period is None and not _extrapolates("right", right):
        edge = values[-1] if right is None else right
        out = where_three(ufuncs.greater(q, places[-1]), edge, out)
    return out


def _extrapolates(name: str, side: Any) -> bool:
    if isinstance(side, str):
        if side != "extrapolate":
            raise ValueError(
                f"the only valid string value of `{name}` is 'extrapolate', but got: {side!r}"
            )
        return True
    return False


def _unrolled_period(
    q: Value, places: Value, values: Value, period: Any
) -> tuple[Value, Value, Value]:
    span = elementwise.abs(retype(asarray(period), places.dtype))
    q, places = remainder(q, span), remainder(places, span)
    order = argsort(places)
    places, values = places[order], values[order]
    places = concatenate([ufuncs.subtract(places[-1:], span), places, ufuncs.add(places[:1], span)])
    return q, places, concatenate([values[-1:], values, values[:1]])


def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Value:
    """Return angles with jumps of more than half a ``period`` taken out along ``axis``."""
    check_arraylike("unwrap", p)
    x = as_operand("unwrap", p)
    kind = dtypes.result_type(x, period)
    exact = dtypes.kind_of(kind) in "iu"
    x = retype(x, kind)
    turn = constant(period, kind)
    half = constant(period // 2 if exact else period / 2, kind)
    limit = half if discont is None else retype(asarray(discont), kind)
    steps = diff(x, axis=axis)
    wrapped = ufuncs.subtract(remainder(ufuncs.add(steps, half), turn), half)
    at_edge = ufuncs.bitwise_and(
        ufuncs.equal(wrapped, ufuncs.negative(half)), ufuncs.greater(steps, 0)
    )
    wrapped = where_three(at_edge, half, wrapped)
    correction = where_three(
        ufuncs.less(elementwise.abs(steps), limit), 0, ufuncs.subtract(wrapped, steps)
    )
    place = axis % x.ndim
    first = tuple(slice(0, 1) if k == place else slice(None) for k in range(x.ndim))
    rest = tuple(slice(1, None) if k == place else slice(None) for k in range(x.ndim))
    return concatenate([x[first], ufuncs.add(x[rest], cumsum(correction, axis))], place)


# --- windows ---


def _steps(M: int, name: str) -> tuple[int, Value]:
    n = operator.index(M)
    if n < 0:
        raise ValueError(f"{name} requires M >= 0, got {n}")
    return n, arange(n, dtype=dtypes.default_dtype(float))


def _cosines(M: int, name: str, *weights: float) -> Value:
    """Return w0 - w1 cos(x) + w2 cos(2x) over one turn of n points."""
    n, k = _steps(M, name)
    if n <= 1:
        return shapes.full((n,), 1, k.dtype)
    angle = ufuncs.divide(ufuncs.multiply(2 * np.pi, k), n - 1)
    out: Any = constant(weights[0], k.dtype)
    for order, weight in enumerate(weights[1:], start=1):
        term = ufuncs.multiply(abs(weight), ufuncs.cos(ufuncs.multiply(order, angle)))
        out = ufuncs.add(out, term) if weight > 0 else ufuncs.subtract(out, term)
    return out


def hanning(M: int) -> Value:
    """Return the Hann window of ``M`` points."""
    return _cosines(M, "hanning", 0.5, -0.5)


def hamming(M: int) -> Value:
    """Return the Hamming window of ``M`` points."""
    return _cosines(M, "hamming", 0.54, -0.46)


def blackman(M: int) -> Value:
    """Return the Blackman window of ``M`` points."""
    return _cosines(M, "blackman", 0.42, -0.5, 0.08)


def bartlett(M: int) -> Value:
    """Return the Bartlett window (a triangle) of ``M`` points."""
    n, k = _steps(M, "bartlett")
    if n <= 1:
        return shapes.full((n,), 1, k.dtype)
    return ufuncs.subtract(
        1, elementwise.abs(ufuncs.divide(ufuncs.subtract(ufuncs.multiply(2, k), n - 1), n - 1))
    )


def kaiser(M: int, beta: Any) -> Value:
    """Return the Kaiser window of ``M`` points with shape ``beta``."""
    n, k = _steps(M, "kaiser")
    if n <= 1:
        return shapes.full((n,), 1, k.dtype)
    shape = retype(asarray(beta), k.dtype)
    half = (n - 1) / 2
    along = ufuncs.divide(ufuncs.subtract(k, half), half)
    return ufuncs.divide(
        i0(ufuncs.multiply(shape, ufuncs.sqrt(ufuncs.subtract(1, ufuncs.multiply(along, along))))),
        i0(shape),
    )


__all__ = [
    "bartlett", "blackman", "convolve", "correlate", "hamming", "hanning", "interp", "kaiser",
    "unwrap",
]  # fmt: skip
