"""Running sums and products, differences. In: an array, an axis. Out: an array."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.primitive import Primitive
from jaxlite.lax import shapes, slicing
from jaxlite.lax.operands import constant
from jaxlite.numpy import ufuncs
from jaxlite.numpy.axes import axes_tuple, canonical_axis, check_no_out
from jaxlite.numpy.choosing import choose_between
from jaxlite.numpy.joining import append, concatenate
from jaxlite.numpy.logic import isnan
from jaxlite.numpy.promotion import (
    as_operand,
    check_arraylike,
    promote_all_inexact,
    retype,
)
from jaxlite.numpy.rearrange import moveaxis, ravel
from jaxlite.numpy.reductions import sum as array_sum
from jaxlite.numpy.reductions import sum_dtype
from jaxlite.primitives import cumulative as strict

_BOOL = np.dtype(np.bool_)


def _running(
    name: str, primitive: Primitive, neutral: int | None, text: str
) -> Callable[..., Value]:
    """Make a running reduction; with ``neutral`` NaN counts as that number."""

    def function(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Value:
        check_arraylike(name, a)
        check_no_out(name, out)
        x = as_operand(name, a)
        if axis is None or x.ndim == 0:
            x, place = shapes.reshape(x, (x.size,)), 0
        else:
            place = canonical_axis(axis, x.ndim)
        if neutral is not None:
            x = without_nan(x, neutral)
        kind = x.dtype if dtype is None else dtypes.requested_dtype(dtype, name)
        if kind == _BOOL:
            kind = dtypes.default_dtype(int)
        return primitive.bind(retype(x, kind), axis=place, reverse=False)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return running {text} along ``axis`` (None: of the flattened array): ``T[*s] -> "
        "T[*s]``.\n\n"
        "    Raises:\n        ValueError: an axis that does not exist.\n"
    )
    return function


def without_nan(x: Value, value: Any) -> Value:
    """Return ``x`` with ``value`` in place of NaN."""
    if dtypes.kind_of(x.dtype) not in "fc":
        return x
    return choose_between(isnan(x), constant(value, x.dtype), x)


cumsum = _running("cumsum", strict.cumsum_p, None, "sums")
cumprod = _running("cumprod", strict.cumprod_p, None, "products")
nancumsum = _running("nancumsum", strict.cumsum_p, 0, "sums, NaN counting as 0,")
nancumprod = _running("nancumprod", strict.cumprod_p, 1, "products, NaN counting as 1,")


def _with_initial(name: str, base: Callable[..., Value], initial: int) -> Callable[..., Value]:
    def function(
        x: Any,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        include_initial: bool = False,
    ) -> Value:
        check_arraylike(name, x)
        array = as_operand(name, x)
        if array.ndim == 0:
            raise ValueError(
                "The input must be non-scalar to take a cumulative sum, however a scalar value or "
                "scalar array was given."
            )
        if axis is None and array.ndim > 1:
            raise ValueError(
                f"The input array has rank {array.ndim}, however axis was not set to an explicit "
                "value. "
                "The axis argument is only optional for one-dimensional arrays."
            )
        place = canonical_axis(0 if axis is None else axis, array.ndim)
        if dtype is None and initial == 0:
            dtype = sum_dtype(array.dtype)  # as the array API standard has it, for sums alone
        out = base(array, place, dtype)
        if not include_initial:
            return out
        shape = tuple(1 if k == place else n for k, n in enumerate(out.shape))
        return shapes.concatenate([shapes.full(shape, initial, out.dtype), out], place)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        "Return running results along ``axis``; ``include_initial`` puts the neutral element in "
        "front."
    )
    return function


cumulative_sum = _with_initial("cumulative_sum", cumsum, 0)
cumulative_prod = _with_initial("cumulative_prod", cumprod, 1)


# --- differences ---


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Value:
    """Return the ``n``-th differences of neighbors along ``axis``.

    Args:
        a: ``T[*s]``.
        n: how often to take differences.
        axis: which axis.
        prepend: values in front.
        append: values at the end.

    Raises:
        ValueError: ``n`` is negative, or a scalar.

    Example:
        >>> diff(np.array([1, 4, 9]))
        Array([3, 5], dtype=int32)
    """
    check_arraylike("diff", a)
    x = as_operand("diff", a)
    n = operator.index(n)
    if n == 0:
        return x
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if x.ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    place = canonical_axis(axis, x.ndim)
    parts = [_edge(e, x, place) for e in (prepend, append)]
    pieces = [p for p in (parts[0], x, parts[1]) if p is not None]
    if len(pieces) > 1:
        x = concatenate(pieces, place)
    operation = ufuncs.not_equal if x.dtype == _BOOL else ufuncs.subtract
    for _ in range(n):
        size = x.shape[place]
        high = slicing.slice_in_dim(x, min(1, size), size, 1, place)
        low = slicing.slice_in_dim(x, 0, max(size - 1, 0), 1, place)
        x = operation(high, low)
    return x


def _edge(value: Any, x: Value, place: int) -> Value | None:
    if value is None:
        return None
    edge = as_operand("diff", value)
    if edge.ndim == 0:
        shape = tuple(1 if k == place else n for k, n in enumerate(x.shape))
        edge = shapes.broadcast_in_dim(edge, shape, ())
    return edge


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Value:
    """Return the differences of neighbors of the flattened array, with values around them."""
    check_arraylike("ediff1d", ary)
    x = ravel(ary)
    out = (
        ufuncs.subtract(slicing.slice_in_dim(x, 1, None), slicing.slice_in_dim(x, 0, -1))
        if (x.size)
        else x
    )
    if to_begin is not None:
        out = concatenate([ravel(retype(as_operand("ediff1d", to_begin), x.dtype)), out])
    if to_end is not None:
        out = append(out, ravel(retype(as_operand("ediff1d", to_end), x.dtype)))
    return out


def gradient(
    f: Any, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int | None = None
) -> Any:
    """Return slopes: central differences inside, one-sided ones at the ends.

    Args:
        f: ``T[*s]``.
        varargs: nothing, one distance, or a distance or coordinates per axis.
        axis: an int or ints (None: all).
        edge_order: only None or 1.

    Raises:
        ValueError: an axis with fewer than two elements.

    Example:
        >>> gradient(np.float32([1, 4, 9]))
        Array([3., 4., 5.], dtype=float32)
    """
    if edge_order not in (None, 1):
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    check_arraylike("gradient", f)
    (x,) = promote_all_inexact("gradient", f)
    axes = tuple(range(x.ndim)) if axis is None else axes_in_order(axis, x.ndim)
    if any(x.shape[k] < 2 for k in axes):
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least 2 elements are "
            "required."
        )
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"Invalid number of spacing arguments {len(varargs)}")
    steps = list(varargs) if len(varargs) == len(axes) else list(varargs or (1,)) * len(axes)
    out = [_slope(x, k, step) for k, step in zip(axes, steps, strict=True)]
    return out[0] if len(out) == 1 else out


def axes_in_order(axis: Any, rank: int) -> tuple[int, ...]:
    """Return axes counted from the front, in the order given."""
    axes_tuple(axis, rank)
    many = (axis,) if hasattr(axis, "__index__") else tuple(axis)
    return tuple(canonical_axis(k, rank) for k in many)


def _slope(x: Value, axis: int, step: Any) -> Value:
    y = moveaxis(x, axis, 0)
    spacing = as_operand("gradient", step)
    if spacing.ndim == 0:
        inner = ufuncs.divide(ufuncs.multiply(ufuncs.subtract(y[2:], y[:-2]), 0.5), spacing)
        first = ufuncs.divide(ufuncs.subtract(y[1:2], y[0:1]), spacing)
        last = ufuncs.divide(ufuncs.subtract(y[-1:], y[-2:-1]), spacing)
    else:
        gaps = diff(spacing)
        gaps = shapes.reshape(gaps, (gaps.shape[0],) + (1,) * (y.ndim - 1))
        d1, d2 = gaps[:-1], gaps[1:]
        total = ufuncs.add(d1, d2)
        weights = (
            ufuncs.negative(ufuncs.divide(d2, ufuncs.multiply(d1, total))),
            ufuncs.divide(ufuncs.subtract(d2, d1), ufuncs.multiply(d1, d2)),
            ufuncs.divide(d1, ufuncs.multiply(d2, total)),
        )
        parts = [ufuncs.multiply(w, v) for w, v in zip(weights, (y[:-2], y[1:-1], y[2:]))]
        inner = ufuncs.add(ufuncs.add(parts[0], parts[1]), parts[2])
        first = ufuncs.divide(ufuncs.subtract(y[1:2], y[0:1]), gaps[0:1])
        last = ufuncs.divide(ufuncs.subtract(y[-1:], y[-2:-1]), gaps[-1:])
    return moveaxis(shapes.concatenate([first, inner, last], 0), 0, axis)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Value:
    """Return the integral along ``axis`` by the trapezoidal rule.

    Example:
        >>> trapezoid(np.array([1, 2, 3]))
        Array(4., dtype=float32)
    """
    if x is None:
        check_arraylike("trapezoid", y)
        (values,) = promote_all_inexact("trapezoid", y)
        values = moveaxis(values, axis, -1)
        gaps: Any = dx
        if getattr(dx, "ndim", 0):
            gaps = as_operand("trapezoid", dx)
            gaps = moveaxis(gaps[(None,) * (values.ndim - gaps.ndim)], axis, -1)
    else:
        check_arraylike("trapezoid", y, x)
        values, places = promote_all_inexact("trapezoid", y, x)
        values = moveaxis(values, axis, -1)
        gaps = diff(places) if places.ndim == 1 else diff(moveaxis(places, axis, -1))
    means = ufuncs.add(values[..., 1:], values[..., :-1])
    return ufuncs.multiply(0.5, array_sum(ufuncs.multiply(gaps, means), -1))


__all__ = [
    "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "diff", "ediff1d", "gradient",
    "nancumprod", "nancumsum", "trapezoid",
]  # fmt: skip
