"""Repeating and removing elements. In: arrays. Out: longer or shorter arrays."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from jaxlite import errors
from jaxlite.language.array import Array, Value, from_numpy
from jaxlite.language.avals import canonical_shape
from jaxlite.language.trace import Tracer
from jaxlite.lax import elementwise, shapes, slicing
from jaxlite.lax.operands import constant
from jaxlite.numpy.at import scatter
from jaxlite.numpy.axes import AxisError, axes_tuple, canonical_axis
from jaxlite.numpy.choosing import choose_between
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.indexing import concrete_data
from jaxlite.numpy.joining import concatenate
from jaxlite.numpy.ordering import argsort, sort
from jaxlite.numpy.promotion import (
    as_operand,
    broadcast_value,
    check_arraylike,
    relaxed,
    retype,
)
from jaxlite.numpy.rearrange import ravel
from jaxlite.numpy.reductions import sum as array_sum
from jaxlite.numpy.selection import take
from jaxlite.primitives.cumulative import cumsum

_INT32 = np.dtype(np.int32)


def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Value:
    """Return every element repeated along ``axis`` (None: of the flattened array).

    Args:
        a: ``T[*s]``.
        repeats: how often, one number or one per element.
        axis: which axis.
        total_repeat_length: length of the result; needed where ``repeats`` is traced.
        out_sharding: only None (one device).

    Raises:
        ConcretizationTypeError: traced ``repeats`` without ``total_repeat_length``.

    Example:
        >>> repeat(np.array([1, 2]), np.array([2, 1]))
        Array([1, 1, 2], dtype=int32)
    """
    check_arraylike("repeat", a)
    x = as_operand("repeat", a)
    if axis is None or x.ndim == 0:
        x, place = shapes.reshape(x, (x.size,)), 0
    else:
        place = canonical_axis(axis, x.ndim)
    size = x.shape[place]
    check_arraylike("repeat", a, repeats)
    data = np.asarray(repeats) if not isinstance(repeats, Array) else concrete_data(repeats)
    if data is None:
        if total_repeat_length is None:
            raise errors.ConcretizationTypeError(
                repeats,
                "When jit-compiling jnp.repeat, the total number of repeats must be static. To fix "
                "this, "
                "either specify a static value for `repeats`, or pass a static value to "
                "`total_repeat_length`.\n",
            )
        return _repeat_traced(x, asarray(repeats), place, operator.index(total_repeat_length))
    if data.ndim > 1:
        raise ValueError(f"repeat: repeats must be at most 1-dimensional, got shape {data.shape}")
    if total_repeat_length is None and data.size == 1:
        return _repeat_evenly(x, int(data.reshape(())), place)
    counts = np.broadcast_to(data, (size,)) if data.ndim == 0 or data.size == 1 else data
    if len(counts) != size:
        raise ValueError(
            "operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"({len(counts)},)  and requested shape ({size},)"
        )
    positions = np.repeat(np.arange(size, dtype=np.int32), counts)
    if total_repeat_length is not None:
        extra = total_repeat_length - len(positions)
        filler = positions[-1] if len(positions) else 0
        positions = np.concatenate(
            [positions[:total_repeat_length], np.full(max(extra, 0), filler)]
        )
    return take(x, from_numpy(positions.astype(np.int32)), place, mode="clip")


def _repeat_evenly(x: Value, times: int, place: int) -> Value:
    shape = (*x.shape[: place + 1], times, *x.shape[place + 1 :])
    kept = tuple(k for k in range(len(shape)) if k != place + 1)
    wide = shapes.broadcast_in_dim(x, shape, kept)
    return shapes.reshape(wide, (*x.shape[:place], x.shape[place] * times, *x.shape[place + 1 :]))


def _repeat_traced(x: Value, repeats: Value, place: int, total: int) -> Value:
    """Mark where each element begins and count the marks up to each place of the result."""
    size = x.shape[place]
    counts = broadcast_value(retype(repeats, _INT32), (size,))
    ends = cumsum(counts)
    starts = elementwise.sub(ends, counts)
    marks = scatter(shapes.full((total,), 0, _INT32), starts, 1, slicing.scatter_add, mode="drop")
    number = elementwise.sub(cumsum(marks), constant(1, _INT32))
    return take(x, number, place, mode="clip")


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Value:
    """Return ``arr`` without the slices at ``obj`` along ``axis``.

    Example:
        >>> delete(np.array([1, 2, 3]), 1)
        Array([1, 3], dtype=int32)
    """
    check_arraylike("delete", arr)
    x = as_operand("delete", arr)
    if axis is None:
        x, place = shapes.reshape(x, (x.size,)), 0
    else:
        place = canonical_axis(axis, x.ndim)
    size = x.shape[place]
    obj = obj.__jax_array__() if hasattr(obj, "__jax_array__") else obj
    if assume_unique_indices and not isinstance(obj, slice):
        return _delete_unique(x, obj, place)
    if isinstance(obj, slice):
        gone: Any = np.arange(size)[obj]
    else:
        gone = concrete_data(obj) if isinstance(obj, Array) else np.asarray(obj)
        if gone is None and not obj.ndim:
            return _delete_unique(x, obj, place)
        if gone is None:
            raise errors.ConcretizationTypeError(obj, "'obj' array argument of jnp.delete()\n")
        if gone.ndim == 0 and not -size <= int(gone) < size:
            raise AxisError(f"axis {int(gone)} is out of bounds for array of dimension {size}")
        outside: Any = gone[(gone >= size) | (gone < -size)] if gone.dtype != bool else ()
        if gone.ndim and len(outside):
            raise IndexError(
                f"index {outside[0]} is out of bounds for axis {place} with size {size}"
            )
    keep = np.ones(size, bool)
    keep[gone] = False
    return take(x, from_numpy(np.nonzero(keep)[0].astype(np.int32)), place, mode="clip")


def _delete_unique(x: Value, obj: Any, place: int) -> Value:
    """Delete distinct positions that need not be known while tracing."""
    size = x.shape[place]
    gone = ravel(retype(asarray(obj), _INT32))
    zero, length = constant(0, _INT32), constant(size, _INT32)
    gone = choose_between(elementwise.lt(gone, zero), elementwise.add(gone, length), gone)
    gone = elementwise.clamp(zero, gone, constant(max(size - 1, 0), _INT32))
    gone = sort(gone)
    # Place k of the result comes after as many deleted ones as lie before it.
    before = elementwise.sub(gone, shapes.iota(_INT32, gone.shape[0]))
    kept = shapes.iota(_INT32, max(size - gone.shape[0], 0))
    skipped = elementwise.ge(
        broadcast_value(shapes.expand_dims(kept, (1,)), (kept.shape[0], gone.shape[0])),
        broadcast_value(shapes.expand_dims(before, (0,)), (kept.shape[0], gone.shape[0])),
    )
    return take(x, elementwise.add(kept, array_sum(skipped, 1, _INT32)), place, mode="clip")


@relaxed
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Value:
    """Return ``arr`` with ``values`` inserted before the positions ``obj`` along ``axis``.

    Example:
        >>> insert(np.array([1, 3]), 1, 2)
        Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("insert", arr, 0 if isinstance(obj, slice) else obj, values)
    x = as_operand("insert", arr)
    new = retype(as_operand("insert", values, 2), x.dtype, x.aval.weak_type)
    if axis is None:
        x, place = shapes.reshape(x, (x.size,)), 0
    else:
        place = canonical_axis(axis, x.ndim)
    size = x.shape[place]
    obj = obj.__jax_array__() if hasattr(obj, "__jax_array__") else obj
    if isinstance(obj, slice):
        positions: Any = np.arange(size, dtype=np.int32)[obj]
    elif isinstance(obj, Tracer) and concrete_data(obj) is None:
        positions = retype(obj, _INT32)
    else:
        positions = np.asarray(concrete_data(obj) if isinstance(obj, Array) else obj)
        positions = positions.astype(np.int32)
    if positions.ndim > 1:
        raise ValueError("jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar")
    is_scalar = positions.ndim == 0
    positions = ravel(asarray(positions))
    if positions.shape[0] == 1:
        # One position takes all values.
        if is_scalar and new.ndim == x.ndim - 1 and new.ndim:
            new = shapes.expand_dims(new, (place,))
        count = new.shape[place] if new.ndim == x.ndim else 1
        positions = broadcast_value(positions, (count,))
    n = positions.shape[0]
    zero, length = constant(0, _INT32), constant(size, _INT32)
    positions = choose_between(
        elementwise.lt(positions, zero), elementwise.add(positions, length), positions
    )
    positions = elementwise.clamp(zero, positions, length)
    order = argsort(positions, stable=True)
    target = elementwise.add(take(positions, order, mode="clip"), shapes.iota(_INT32, n))
    new = broadcast_value(new, tuple(n if k == place else d for k, d in enumerate(x.shape)))
    # Every place of the result that is no target takes the next old element.
    total = size + n
    is_new = scatter(shapes.full((total,), 0, _INT32), target, 1, slicing.scatter_add, mode="drop")
    old = elementwise.sub(shapes.iota(_INT32, total), cumsum(is_new))
    source = scatter(
        old,
        target,
        elementwise.add(retype(order, _INT32), length),
        slicing.scatter,
        mode="drop",
    )
    return take(concatenate([x, new], place), source, place, mode="clip")


def resize(a: Any, new_shape: Any) -> Value:
    """Return the elements, repeated as often as needed, in another shape."""
    check_arraylike("resize", a)
    target = canonical_shape(new_shape)
    x = ravel(a)
    total = math.prod(target)
    if any(n < 0 for n in target):
        raise ValueError("all elements of `new_shape` must be non-negative")
    if total == 0 or x.size == 0:
        return shapes.full(target, 0, x.dtype)
    times = -(-total // x.size)
    return shapes.reshape(slicing.slice_in_dim(shapes.tile(x, (times,)), 0, total), target)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Value:
    """Return an array without the zeros at the front ("f") and back ("b") of its axes.

    Args:
        filt: ``T[*s]``, known while tracing: it decides the shape.
        trim: which ends.
        axis: which axes (None: all); a slice is trimmed if all of it is zero.

    Example:
        >>> trim_zeros(np.array([0, 1, 2, 0]))
        Array([1, 2], dtype=int32)
    """
    check_arraylike("trim_zeros", filt)
    x = as_operand("trim_zeros", filt)
    data = concrete_data(x)
    if data is None:
        raise errors.ConcretizationTypeError(
            x, "Error arose in the `filt` argument of trim_zeros()\n"
        )
    axes = range(x.ndim) if axis is None else axes_tuple(axis, x.ndim)
    for k in axes:
        hits = np.nonzero((data != 0).any(axis=tuple(a for a in range(x.ndim) if a != k)))[0]
        length = x.shape[k]
        low = int(hits[0]) if len(hits) else length
        high = int(hits[-1]) + 1 if len(hits) else 0
        start = low if "f" in trim.lower() else 0
        stop = high if "b" in trim.lower() else length
        x = slicing.slice_in_dim(x, start, max(start, stop), 1, k)
    return x


__all__ = ["delete", "insert", "repeat", "resize", "trim_zeros"]
