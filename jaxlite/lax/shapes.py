"""``lax`` functions that make arrays or rearrange elements. In: arrays, shapes. Out: arrays.

Each checks and completes its arguments as JAX does and hands them to the strict function in
``primitives``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Array, ArrayImpl, Value
from jaxlite.language.avals import ShapedArray, canonical_shape
from jaxlite.language.trace import EVAL_TRACE, state
from jaxlite.lax.operands import as_array, axis_of, constant, shape_of
from jaxlite.primitives import joining
from jaxlite.primitives import shape as strict
from jaxlite.primitives.convert import bitcast_convert_type_p, convert_element_type_p

__all__ = [
    "bitcast_convert_type",
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "broadcasted_iota",
    "collapse",
    "concatenate",
    "convert_element_type",
    "dtype",
    "empty",
    "expand_dims",
    "full",
    "full_like",
    "iota",
    "pad",
    "reshape",
    "rev",
    "shape_as_value",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unstack",
]


# --- making ---


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Value:
    """Return ``T[*shape]`` filled with a scalar.

    Args:
        shape: an int or a sequence of ints.
        fill_value: a scalar; a Python number without ``dtype`` gives a weakly typed array.
        dtype: of the result.
        sharding: only None (one device).

    Raises:
        TypeError: ``fill_value`` is not a scalar.

    Example:
        >>> full((2,), 3.0, "float32")
        Array([3., 3.], dtype=float32)
    """
    shape = canonical_shape(shape)
    weak = dtype is None and dtypes.is_weakly_typed(fill_value)
    if np.ndim(fill_value) if not isinstance(fill_value, Array) else fill_value.ndim:
        raise TypeError(
            "full must be called with scalar fill_value, "
            f"got fill_value.shape {tuple(np.shape(fill_value))}."
        )
    if dtype is None:
        dtype = dtypes.dtype(fill_value, canonicalize=True)
    else:
        dtype = dtypes.requested_dtype(dtype, "full")
    if isinstance(fill_value, Array):
        scalar = convert_type(fill_value, dtype, weak)
    elif isinstance(dtype, dtypes.KeyDType):
        scalar = ArrayImpl(np.asarray(dtype.element(int(fill_value))), ShapedArray((), dtype))
    else:
        if isinstance(fill_value, int) and dtypes.kind_of(dtype) not in "iu":
            dtypes.check_python_int(int(fill_value), dtypes.default_dtype(int))
        data = np.asarray(fill_value)
        scalar = constant(
            data.astype(dtype)[()] if data.dtype.kind == "V" else _as(data, dtype), dtype, weak
        )
    if state.trace is EVAL_TRACE and type(scalar) is ArrayImpl:
        return ArrayImpl(
            np.full(shape, scalar._data, dtypes.storage_dtype(dtype)),
            ShapedArray(shape, dtype, weak),
        )
    return strict.broadcast_in_dim(scalar, shape, ())


def _as(data: Any, dtype: Any) -> Any:
    """Convert a 0-d NumPy array as XLA would, then to a Python number where that is exact."""
    with np.errstate(all="ignore"):
        if data.dtype.kind == "c" and dtypes.kind_of(dtype) != "c":
            data = data.real
        cast = data.astype(dtypes.storage_dtype(dtype))
    return cast.item() if dtypes.kind_of(dtype) in "biu" else cast[()]


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None
) -> Value:
    """Return an array like ``x`` filled with a scalar; ``dtype`` and ``shape`` replace its own.

    Example:
        >>> full_like(np.zeros((2,), np.int32), 7)
        Array([7, 7], dtype=int32)
    """
    target = shape_of(x) if shape is None else canonical_shape(shape)
    weak = dtype is None and dtypes.is_weakly_typed(x)
    kind = (
        dtypes.dtype(x, canonicalize=True)
        if dtype is None
        else dtypes.requested_dtype(dtype, "full_like")
    )
    if not isinstance(fill_value, Array):
        fill_value = np.asarray(fill_value)
    elif fill_value.ndim == 0:
        fill_value = convert_type(fill_value, kind, weak)
        if type(fill_value) is not ArrayImpl or state.trace is not EVAL_TRACE:
            return strict.broadcast_in_dim(fill_value, target, ())
    out = full(target, fill_value, kind)
    return (
        ArrayImpl(out._data, ShapedArray(target, kind, True))
        if weak and type(out) is ArrayImpl
        else (convert_type(out, kind, weak))
    )


def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Value:
    """Return ``T[*shape]`` of unspecified (here zero) elements."""
    return full(shape, 0, dtype)


def iota(dtype: Any, size: int) -> Value:
    """Return ``[0, 1, ..., size - 1]``.

    Example:
        >>> iota("int32", 3)
        Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int, *, out_sharding: Any = None) -> Value:
    """Return ``T[*shape]`` whose elements are their own index along ``dimension``."""
    dt = dtypes.requested_dtype(dtype, "iota")
    return strict.broadcasted_iota(dt, canonical_shape(shape), operator.index(dimension))


# --- types ---


def dtype(x: Any) -> Any:
    """Return the dtype of ``x`` as an array."""
    return dtypes.dtype(x, canonicalize=True)


def convert_type(x: Value, dtype: Any, weak_type: bool) -> Value:
    """Return the array ``x`` with this dtype and weakness; ``x`` itself if it has them."""
    if x.aval.dtype == dtype and x.aval.weak_type == weak_type:
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)


def convert_element_type(operand: Any, new_dtype: Any) -> Value:
    """Return ``operand`` with its elements converted to ``new_dtype`` (never weak).

    Raises:
        ValueError: ``new_dtype`` is None.

    Example:
        >>> convert_element_type(1.7, "int32")
        Array(1, dtype=int32)
    """
    if new_dtype is None:
        raise ValueError("dtype must be specified.")
    is_python = isinstance(new_dtype, type) and new_dtype in (int, float, complex)
    dt = (
        dtypes.default_dtype(new_dtype)
        if is_python
        else dtypes.requested_dtype(new_dtype, "convert_element_type")
    )
    if type(operand) is int and not _fits(operand, dtypes.default_dtype(int)):
        # A Python number that no default integer holds wraps; it comes as the widest there is.
        operand = np.asarray(operand, np.int64).astype(dtypes.storage_dtype(dt))
    return convert_type(as_array(operand, "convert_element_type"), dt, False)


def _fits(number: int, dtype: Any) -> bool:
    info = np.iinfo(dtype)
    return bool(info.min <= number <= info.max)


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Value:
    """Return the bits read as ``new_dtype``; a size ratio becomes (or eats) a last axis."""
    dt = dtypes.requested_dtype(new_dtype, "bitcast_convert_type")
    return bitcast_convert_type_p.bind(as_array(operand, "bitcast_convert_type"), new_dtype=dt)


# --- shapes ---


def broadcast_shapes(*shapes: Any) -> Any:
    """Return the shape that all shapes broadcast to; ValueError if there is none.

    Example:
        >>> broadcast_shapes((2, 3), (3,), (1, 1))
        (2, 3)
    """
    tuples = [canonical_shape(s) for s in shapes]
    rank = max((len(s) for s in tuples), default=0)
    joined = []
    for axis in range(-rank, 0):
        lengths = {s[axis] for s in tuples if len(s) >= -axis} - {1}
        if len(lengths) > 1:
            raise ValueError(f"Incompatible shapes for broadcasting: shapes={tuples}")
        joined.append(lengths.pop() if lengths else 1)
    return tuple(joined)


def broadcast(operand: Any, sizes: Sequence[int], *, out_sharding: Any = None) -> Value:
    """Return ``operand`` repeated along new leading axes: ``T[*s] -> T[*sizes, *s]``."""
    x = as_array(operand, "broadcast")
    front = canonical_shape(sizes)
    if not front and isinstance(operand, Array):
        return x
    axes = tuple(range(len(front), len(front) + x.ndim))
    return strict.broadcast_in_dim(x, front + x.shape, axes)


def broadcast_in_dim(
    operand: Any, shape: Any, broadcast_dimensions: Sequence[int], *, out_sharding: Any = None
) -> Value:
    """Return ``operand`` with axis ``i`` as axis ``broadcast_dimensions[i]`` of the result.

    Example:
        >>> broadcast_in_dim(np.arange(2), (2, 3), (0,))
        Array([[0, 0, 0],
               [1, 1, 1]], dtype=int32)
    """
    axes = tuple(operator.index(d) for d in broadcast_dimensions)
    x = as_array(operand, "broadcast_in_dim")
    target = canonical_shape(shape)
    if x.shape == target and axes == tuple(range(len(target))) and isinstance(operand, Array):
        return x
    return strict.broadcast_in_dim(x, target, axes)


def broadcast_like(arr: Any, like_arr: Any) -> Value:
    """Return ``arr`` broadcast to the shape of ``like_arr`` by NumPy's rules."""
    x = as_array(arr, "broadcast_like")
    target = as_array(like_arr, "broadcast_like", 1).shape
    broadcast_shapes(x.shape, target)
    return broadcast_in_dim(x, target, tuple(range(len(target) - x.ndim, len(target))))


def broadcast_to_rank(x: Any, rank: int) -> Value:
    """Return ``x`` with axes of length 1 in front until it has ``rank`` axes."""
    x = as_array(x, "broadcast_to_rank")
    return expand_dims(x, tuple(range(rank - x.ndim))) if rank > x.ndim else x


def reshape(
    operand: Any,
    new_sizes: Any,
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: Any = None,
) -> Value:
    """Return the elements in another shape; ``dimensions`` reorders the axes first.

    Raises:
        TypeError: the number of elements differs, or a size is negative.

    Example:
        >>> reshape(np.arange(4), (2, 2))
        Array([[0, 1],
               [2, 3]], dtype=int32)
    """
    x = as_array(operand, "reshape")
    sizes = canonical_shape(new_sizes)
    if dimensions is not None:
        order = tuple(operator.index(d) for d in dimensions)
        if order != tuple(range(x.ndim)):
            x = transpose(x, order)
    if x.shape == sizes and isinstance(operand, Array):
        return x
    return strict.reshape(x, sizes)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Value:
    """Return ``operand`` with the axes ``start_dimension:stop_dimension`` merged into one."""
    x = as_array(operand, "collapse")
    low, high, _ = slice(start_dimension, stop_dimension).indices(x.ndim)
    if high <= low:
        raise ValueError(f"Invalid dimension range passed to collapse: {x.shape}[{low}:{high}]")
    merged = math.prod(x.shape[low:high])
    return reshape(x, (*x.shape[:low], merged, *x.shape[high:]))


def squeeze(array: Any, dimensions: Sequence[int]) -> Value:
    """Return ``array`` without the axes ``dimensions``, which have length 1."""
    x = as_array(array, "squeeze")
    axes = tuple(axis_of(d, x.ndim) for d in dimensions)
    if not axes and isinstance(array, Array):
        return x
    return strict.squeeze(x, axes)


def expand_dims(array: Any, dimensions: Sequence[int]) -> Value:
    """Return ``array`` with axes of length 1 at the places ``dimensions`` of the result."""
    if len(set(dimensions)) != len(tuple(dimensions)):
        raise ValueError(f"repeated axis in lax.expand_dims: {tuple(dimensions)}")
    x = as_array(array, "expand_dims")
    rank = x.ndim + len(dimensions)
    new = sorted(axis_of(d, rank) for d in dimensions)
    if not new:
        return x
    if len(set(new)) != len(new):
        raise ValueError(f"repeated axis in lax.expand_dims: {tuple(dimensions)}")
    kept = [axis for axis in range(rank) if axis not in new]
    shape = [1] * rank
    for axis, length in zip(kept, x.shape, strict=True):
        shape[axis] = length
    return strict.broadcast_in_dim(x, tuple(shape), tuple(kept))


def transpose(operand: Any, permutation: Sequence[int]) -> Value:
    """Return ``operand`` with its axes in the order ``permutation``."""
    order = tuple(operator.index(d) for d in permutation)
    x = as_array(operand, "transpose")
    if order == tuple(range(x.ndim)) and isinstance(operand, Array):
        return x
    return strict.transpose(x, order)


def rev(operand: Any, dimensions: Sequence[int]) -> Value:
    """Return ``operand`` reversed along ``dimensions``."""
    return strict.rev(as_array(operand, "rev"), tuple(operator.index(d) for d in dimensions))


def concatenate(operands: Any, dimension: int) -> Value:
    """Return arrays of equal rank and dtype one after another along axis ``dimension``.

    Raises:
        ValueError: there are no operands.
        TypeError: shapes differ in another axis, or dtypes differ.

    Example:
        >>> concatenate([np.ones(1, np.int32), np.zeros(2, np.int32)], 0)
        Array([1, 0, 0], dtype=int32)
    """
    if len(operands) == 0:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    arrays = [as_array(x, "concatenate", i) for i, x in enumerate(operands)]
    if len(arrays) == 1 and isinstance(operands[0], Array):
        return arrays[0]
    return strict_concatenate(arrays, operator.index(dimension))


strict_concatenate = joining.concatenate


def stack(operands: Sequence[Any], axis: int = 0) -> Value:
    """Return arrays of one shape and dtype along a new axis."""
    if len(operands) == 0:
        raise ValueError("stack requires a non-empty sequence of arrays")
    arrays = [as_array(x, "stack", i) for i, x in enumerate(operands)]
    place = axis_of(axis, arrays[0].ndim + 1)
    return strict_concatenate([expand_dims(a, (place,)) for a in arrays], place)


def unstack(x: Any, axis: int = 0) -> tuple[Value, ...]:
    """Return the slices of ``x`` along ``axis`` as a tuple."""
    array = as_array(x, "unstack")
    place = axis_of(axis, array.ndim)
    parts = split(array, (1,) * array.shape[place], place)
    return tuple(squeeze(part, (place,)) for part in parts)


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Value]:
    """Return consecutive parts of lengths ``sizes`` along ``axis``.

    Raises:
        ValueError: the sizes do not add up to the length of the axis.

    Example:
        >>> split(np.arange(3), (1, 2))
        [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    x = as_array(operand, "split")
    return list(joining.split(x, canonical_shape(tuple(sizes)), axis_of(axis, x.ndim)))


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Value:
    """Return ``operand`` with a scalar around and between its elements.

    ``padding_config`` has (low, high, interior) per axis; negative low or high remove elements.

    Example:
        >>> pad(np.float32([1, 2]), np.float32(0), ((1, 0, 1),))
        Array([0., 1., 0., 2.], dtype=float32)
    """
    x = as_array(operand, "pad")
    value = as_array(padding_value, "pad", 1)
    if value.aval.weak_type and value.dtype == x.dtype and not x.aval.weak_type:
        value = convert_type(value, x.dtype, False)
    config = tuple((int(low), int(high), int(gap)) for low, high, gap in padding_config)
    return joining.pad(x, value, config)


def tile(operand: Any, reps: Sequence[int]) -> Value:
    """Return ``operand`` repeated ``reps[axis]`` times along each axis."""
    return strict.tile(as_array(operand, "tile"), canonical_shape(tuple(reps)))


def shape_as_value(shape: Any) -> Any:
    """Return a shape as a vector of integers."""
    return np.asarray(canonical_shape(shape), dtypes.default_dtype(int))
