"""Joining and splitting arrays. In: several arrays, or one. Out: one array, or its parts."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite import errors
from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.language.trace import Tracer
from jaxlite.lax import shapes, slicing
from jaxlite.numpy.axes import canonical_axis
from jaxlite.numpy.promotion import as_operand, check_arraylike, promote_all, retype
from jaxlite.numpy.rearrange import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    ndim,
    ravel,
    shape,
)
from jaxlite.primitives import joining

# --- several arrays ---


def _sequence(name: str, arrays: Any) -> list[Value]:
    if isinstance(arrays, Array | np.ndarray):
        stacked: Any = arrays
        return [stacked[k] for k in range(stacked.shape[0])]
    if not isinstance(arrays, list | tuple):
        raise TypeError(f"{name} requires a sequence of arrays, got {type(arrays)}")
    check_arraylike(name, *arrays)
    return list(arrays)


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Value:
    """Return arrays one after another along ``axis`` (None: flattened), in their common dtype.

    Raises:
        ValueError: no arrays, or arrays without axes.
        TypeError: shapes that differ in another axis.

    Example:
        >>> concatenate([np.arange(2), np.ones(1)])
        Array([0., 1., 1.], dtype=float32)
    """
    items = _sequence("concatenate", arrays)
    if not items:
        raise ValueError("Need at least one array to concatenate.")
    if dtype is None:
        values = promote_all("concatenate", *items)
    else:
        wanted = dtypes.requested_dtype(dtype, "concatenate")
        values = [retype(as_operand("concatenate", x), wanted) for x in items]
    if axis is None:
        return shapes.concatenate([shapes.reshape(v, (v.size,)) for v in values], 0)
    if values[0].ndim == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    _same_rank(values)
    return shapes.concatenate(values, canonical_axis(axis, values[0].ndim))


def _same_rank(values: Sequence[Value]) -> None:
    if len({v.ndim for v in values}) > 1:
        raise TypeError(
            "Cannot concatenate arrays with different numbers of dimensions: got "
            f"{', '.join(str(v.shape) for v in values)}."
        )


def concat(arrays: Any, /, *, axis: int | None = 0) -> Value:
    """Return arrays one after another along ``axis``."""
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Value:
    """Return arrays of one shape along a new axis.

    Raises:
        ValueError: no arrays, or different shapes.

    Example:
        >>> stack([np.arange(2), np.arange(2)], axis=1)
        Array([[0, 0],
               [1, 1]], dtype=int32)
    """
    items = _sequence("stack", arrays)
    if not items:
        raise ValueError("Need at least one array to stack.")
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.stack is not supported.")
    if len({shape(x) for x in items}) > 1:
        raise ValueError(
            "All input arrays must have the same shape. Got "
            f"{', '.join(str(shape(x)) for x in items)}."
        )
    place = canonical_axis(axis, ndim(items[0]) + 1)
    return concatenate([expand_dims(x, place) for x in items], place, dtype)


def vstack(tup: Any, dtype: Any = None) -> Value:
    """Return arrays below each other: along axis 0, vectors as rows."""
    rows = [atleast_2d(x) for x in _sequence("vstack", tup)]
    return concatenate(rows, 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Value:
    """Return arrays beside each other: along axis 1, vectors along axis 0."""
    columns = [atleast_1d(x) for x in _sequence("hstack", tup)]
    return concatenate(columns, 0 if columns and columns[0].ndim == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Value:
    """Return arrays behind each other: along axis 2."""
    return concatenate([atleast_3d(x) for x in _sequence("dstack", tup)], 2, dtype)


def column_stack(tup: Any) -> Value:
    """Return vectors as the columns of a matrix; matrices stay as they are."""
    columns = [as_operand("column_stack", x) for x in _sequence("column_stack", tup)]
    return concatenate([shapes.reshape(x, (x.size, 1)) if x.ndim < 2 else x for x in columns], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Value:
    """Return ``values`` after ``arr`` along ``axis`` (None: both flattened)."""
    check_arraylike("append", arr, values)
    return (
        concatenate([ravel(arr), ravel(values)])
        if axis is None
        else concatenate([arr, values], axis)
    )


def block(arrays: Any) -> Value:
    """Return an array put together from nested lists of blocks.

    Example:
        >>> block([[np.zeros((1, 1)), np.ones((1, 1))]])
        Array([[0., 1.]], dtype=float32)
    """
    depth = _depth(arrays)
    leaf_rank = max(ndim(x) for x in _block_leaves(arrays))
    return _block(arrays, max(depth, leaf_rank), depth)


def _depth(arrays: Any) -> int:
    if isinstance(arrays, tuple):
        raise ValueError("jax.numpy.block does not allow tuples, got {arrays}")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("jax.numpy.block does not allow empty list arguments")
    inner = {_depth(a) for a in arrays}
    if len(inner) > 1:
        raise ValueError("List depths are mismatched. First element was at depth {}")
    return 1 + inner.pop()


def _block_leaves(arrays: Any) -> list[Any]:
    if isinstance(arrays, list):
        return [leaf for a in arrays for leaf in _block_leaves(a)]
    return [arrays]


def _block(arrays: Any, rank: int, depth: int) -> Value:
    if not isinstance(arrays, list):
        x = as_operand("block", arrays)
        return shapes.expand_dims(x, tuple(range(rank - x.ndim))) if rank > x.ndim else x
    parts = [_block(a, rank, depth - 1) for a in arrays]
    return concatenate(parts, rank - depth)


# --- parts ---


def _split(name: str, ary: Any, indices_or_sections: Any, axis: int, uneven: bool) -> list[Value]:
    check_arraylike(name, ary)
    x = as_operand(name, ary)
    place = canonical_axis(axis, x.ndim)
    length = x.shape[place]
    if isinstance(indices_or_sections, tuple | list) or np.ndim(indices_or_sections):
        cuts = [_known(name, operator.index, i) for i in indices_or_sections]
        bounds = [0, *[min(c + length if c < 0 else c, length) for c in cuts], length]
    else:
        sections = _known(name, int, indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        part, rest = divmod(length, sections)
        if rest and not uneven:
            raise ValueError(f"array split does not result in an equal division: rest is {rest}")
        bounds = [k * part + min(k, rest) for k in range(sections + 1)]
    if all(a <= b for a, b in itertools.pairwise(bounds)):
        sizes = tuple([b - a for a, b in itertools.pairwise(bounds)])
        return list(joining.split(x, sizes, place))
    return [slicing.slice_in_dim(x, a, max(a, b), 1, place) for a, b in itertools.pairwise(bounds)]


def _known(name: str, convert: Callable[[Any], int], value: Any) -> int:
    if isinstance(value, Tracer) and value.concrete_value() is None:
        raise errors.ConcretizationTypeError(value, f"in jax.numpy.{name} argument 1\n")
    return convert(value)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """Return equal parts along ``axis`` (an int), or the parts between the given indices.

    Raises:
        ValueError: the axis is no multiple of the number of parts.

    Example:
        >>> split(np.arange(4), 2)
        [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis, uneven=False)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Value]:
    """Return parts along ``axis`` that may differ by one in length."""
    return _split("array_split", ary, indices_or_sections, axis, uneven=True)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Value]:
    """Return parts along axis 0."""
    return _split("vsplit", ary, indices_or_sections, 0, uneven=False)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Value]:
    """Return parts along axis 1 (axis 0 of a vector)."""
    check_arraylike("hsplit", ary)
    return _split("hsplit", ary, indices_or_sections, 0 if ndim(ary) == 1 else 1, uneven=False)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Value]:
    """Return parts along axis 2."""
    return _split("dsplit", ary, indices_or_sections, 2, uneven=False)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Value, ...]:
    """Return the slices along ``axis`` as a tuple; ValueError for an array without axes."""
    check_arraylike("unstack", x)
    array = as_operand("unstack", x)
    return shapes.unstack(array, canonical_axis(axis, array.ndim))


__all__ = [
    "append", "array_split", "block", "column_stack", "concat", "concatenate", "dsplit",
    "dstack", "hsplit", "hstack", "split", "stack", "unstack", "vsplit", "vstack",
]  # fmt: skip
