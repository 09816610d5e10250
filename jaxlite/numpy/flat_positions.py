"""Positions in flattened arrays. In: coordinates or flat positions. Out: the other."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite import errors
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import canonical_shape
from jaxlite.language.trace import Tracer
from jaxlite.lax import elementwise
from jaxlite.lax.operands import constant
from jaxlite.numpy import ufuncs
from jaxlite.numpy.arithmetic import remainder
from jaxlite.numpy.indexing import concrete_data
from jaxlite.numpy.promotion import as_operand, check_arraylike, retype


def unravel_index(indices: Any, shape: Any) -> tuple[Value, ...]:
    """Return the coordinates of flat positions in an array of ``shape``, clamped into it.

    Example:
        >>> unravel_index(np.array([5]), (2, 3))
        (Array([1], dtype=int32), Array([2], dtype=int32))
    """
    check_arraylike("unravel_index", indices)
    flat = as_operand("unravel_index", indices)
    dims = tuple(shape) if isinstance(shape, tuple | list | np.ndarray) else (shape,)
    dims = tuple([n if isinstance(n, Tracer) else operator.index(n) for n in dims])
    total = functools.reduce(ufuncs.multiply, dims) if _any_traced(dims) else math.prod(dims)

    def scalar(n: Any) -> Value:
        if isinstance(n, Tracer):
            return retype(n, flat.dtype, flat.aval.weak_type)
        return constant(n, flat.dtype, flat.aval.weak_type)

    wrapped = elementwise.select_n(
        elementwise.lt(flat, scalar(0)), flat, elementwise.add(flat, scalar(total))
    )
    last = ufuncs.maximum(total - 1, 0) if _any_traced(dims) else max(total - 1, 0)
    position = elementwise.clamp(scalar(0), wrapped, scalar(last))
    out = []
    for length in reversed(dims):
        out.append(remainder(position, scalar(length)))
        position = elementwise.div(position, scalar(length))
    return tuple(out[::-1])


def _any_traced(dims: tuple[Any, ...]) -> bool:
    return any(isinstance(n, Tracer) for n in dims)


def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: Any = None,
) -> Value:
    """Return the flat positions of coordinates in an array of shape ``dims``.

    Raises:
        ValueError: coordinates out of bounds and ``mode="raise"``.
    """
    if len(multi_index) != len(dims):
        raise ValueError(
            "len(multi_index) should equal len(dims); got "
            f"multi_index=({', '.join(map(str, multi_index))}), dims={tuple(dims)}"
        )
    check_arraylike("ravel_multi_index", *multi_index)
    lengths = canonical_shape(tuple(dims))
    columns = [as_operand("ravel_multi_index", c) for c in multi_index]
    for column in columns:
        if dtypes.kind_of(column.dtype) not in "iu":
            raise ValueError(f"dtype=dtype('{column.dtype}') is not an integer type.")
    columns = _in_bounds(columns, lengths, mode)
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    if order == "F":
        columns, lengths = columns[::-1], lengths[::-1]
    kind = dtypes.result_type(*columns) if dtype is None else dtypes.as_dtype(dtype)
    out: Any = constant(0, kind)
    columns = [retype(c, kind) for c in columns]
    for column, length in zip(columns, lengths, strict=True):
        out = ufuncs.add(ufuncs.multiply(out, length), column)
    return out


def _in_bounds(columns: list[Value], lengths: tuple[int, ...], mode: str) -> list[Value]:
    """Return the coordinates with those outside dealt with as ``mode`` says."""
    if mode == "raise":
        for column, length in zip(columns, lengths, strict=True):
            data = concrete_data(column)
            if data is None:
                raise errors.ConcretizationTypeError(
                    column,
                    "The error occurred because ravel_multi_index was jit-compiled with "
                    "mode='raise'. Use mode='wrap' or mode='clip' instead.\n",
                )
            if np.any((data < 0) | (data >= length)):
                raise ValueError("invalid entry in coordinates array")
    elif mode == "clip":
        columns = [
            elementwise.clamp(constant(0, c.dtype), c, constant(n - 1, c.dtype))
            for c, n in zip(columns, lengths, strict=True)
        ]
    elif mode == "wrap":
        columns = [
            remainder(c, constant(n, c.dtype)) for c, n in zip(columns, lengths, strict=True)
        ]
    elif mode != "ignore":
        raise ValueError(f"invalid mode={mode!r}. Expected 'raise', 'wrap', or 'clip'")
    return columns


__all__ = ["ravel_multi_index", "unravel_index"]
