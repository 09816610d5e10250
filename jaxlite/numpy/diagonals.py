"""Diagonals of matrices. In: arrays. Out: diagonals, or matrices that have them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jaxlite.language.array import Value
from jaxlite.lax import elementwise, shapes
from jaxlite.lax.operands import constant
from jaxlite.numpy.axes import canonical_axis, check_no_out
from jaxlite.numpy.choosing import choose_between
from jaxlite.numpy.indexing import getitem
from jaxlite.numpy.promotion import as_operand, broadcast_value, check_arraylike
from jaxlite.numpy.rearrange import moveaxis
from jaxlite.numpy.reductions import sum as array_sum

_INT32 = np.dtype(np.int32)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Value:
    """Return the diagonal of two axes as the last axis.

    Raises:
        ValueError: fewer than two axes, or the same axis twice.

    Example:
        >>> diagonal(np.array([[1, 2], [3, 4]]))
        Array([1, 4], dtype=int32)
    """
    check_arraylike("diagonal", a)
    x = as_operand("diagonal", a)
    if x.ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    offset = operator.index(offset)
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    n = max(0, min(x.shape[-2] + min(offset, 0), x.shape[-1] - max(offset, 0)))
    steps = np.arange(n, dtype=np.int32)
    return getitem(x, (..., steps - min(offset, 0), steps + max(offset, 0)))


def diag(v: Any, k: int = 0) -> Value:
    """Return a matrix with vector ``v`` on diagonal ``k``, or that diagonal of a matrix ``v``.

    Raises:
        ValueError: other ranks.

    Example:
        >>> diag(np.array([1, 2]))
        Array([[1, 0],
               [0, 2]], dtype=int32)
    """
    check_arraylike("diag", v)
    x = as_operand("diag", v)
    k = operator.index(k)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("diag input must be 1d or 2d")
    zero = constant(0, x.dtype, x.aval.weak_type)
    n = x.shape[0] + abs(k)
    padded = shapes.pad(x, zero, ((max(0, k), max(0, -k), 0),))
    rows = shapes.broadcasted_iota(_INT32, (n, n), 0)
    columns = shapes.broadcasted_iota(_INT32, (n, n), 1)
    on = elementwise.eq(elementwise.add(rows, constant(k, _INT32)), columns)
    # Row i of the result holds element i - max(0, -k) of v, column j element j - max(0, k).
    values = shapes.broadcast_in_dim(padded, (n, n), (1,))
    return choose_between(on, values, zero)


def diagflat(v: Any, k: int = 0) -> Value:
    """Return a matrix with the elements of ``v``, read as a vector, on diagonal ``k``."""
    check_arraylike("diagflat", v)
    x = as_operand("diagflat", v)
    return diag(shapes.reshape(x, (x.size,)), k)


def trace(
    a: Any,
    offset: Any = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: None = None,
) -> Value:
    """Return the sum of a diagonal of two axes.

    Example:
        >>> trace(np.array([[1, 2], [3, 4]]))
        Array(5, dtype=int32)
    """
    check_arraylike("trace", a)
    check_no_out("trace", out)
    x = as_operand("trace", a)
    if canonical_axis(axis1, x.ndim) == canonical_axis(axis2, x.ndim):
        raise ValueError(f"axis1 and axis2 can not be same. axis1={axis1} and axis2={axis2}")
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    rows = shapes.broadcasted_iota(_INT32, x.shape[-2:], 0)
    columns = shapes.broadcasted_iota(_INT32, x.shape[-2:], 1)
    shift = constant(offset, _INT32) if isinstance(offset, int) else as_operand("trace", offset)
    on = broadcast_value(elementwise.eq(elementwise.add(rows, shift), columns), x.shape)
    kept = choose_between(on, x, constant(0, x.dtype, x.aval.weak_type))
    return array_sum(kept, (-2, -1), dtype)


__all__ = ["diag", "diagflat", "diagonal", "trace"]
