"""Functions that rearrange elements. In: arrays. Out: arrays of other shapes (or lists of them)."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.language.avals import canonical_shape
from jaxlite.lax import shapes, slicing
from jaxlite.lax.operands import is_array_like, shape_of
from jaxlite.lax.shapes import broadcast_shapes as common_shape
from jaxlite.numpy.axes import axes_tuple, canonical_axis
from jaxlite.numpy.promotion import (
    as_operand,
    broadcast_arrays_to,
    broadcast_value,
    check_arraylike,
    retype,
)

# --- facts ---


def _lengths(name: str, a: Any) -> tuple[int, ...]:
    if not hasattr(a, "shape") and not is_array_like(a):
        warnings.warn(
            f"{name} requires ndarray or scalar arguments, got {type(a)} at position 0. In a "
            "future JAX release this will be an error.",
            DeprecationWarning,
            stacklevel=3,
        )
    return shape_of(a)


def shape(a: Any) -> tuple[int, ...]:
    """Return the length of each axis."""
    return _lengths("shape", a)


def ndim(a: Any) -> int:
    """Return the number of axes."""
    return len(_lengths("ndim", a))


def size(a: Any, axis: Any = None) -> int:
    """Return the number of elements, along ``axis`` (an int or ints) if given."""
    lengths = _lengths("size", a)
    if axis is None:
        return math.prod(lengths)
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    axes = tuple([canonical_axis(k, len(lengths)) for k in axes])
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis: {axes}")
    return math.prod(lengths[k] for k in axes)


def broadcast_shapes(*shapes: Any) -> Any:
    """Return the shape that all shapes broadcast to; ValueError if there is none.

    Example:
        >>> broadcast_shapes((2, 1), (3,))
        (2, 3)
    """
    return common_shape(*shapes)


# --- one array ---


def reshape(
    a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None
) -> Value:
    """Return the elements in another shape; one length may be -1.

    Args:
        a: ``T[*s]``.
        shape: an int or ints with the same product.
        order: "C" (last axis fastest) or "F" (first axis fastest).
        copy: accepted.
        out_sharding: only None (one device).

    Raises:
        TypeError: the number of elements does not fit.

    Example:
        >>> reshape(np.arange(6), (2, -1))
        Array([[0, 1, 2],
               [3, 4, 5]], dtype=int32)
    """
    check_arraylike("reshape", a)
    x = as_operand("reshape", a)
    dims = full_shape(x.shape, canonical_shape(shape))
    if order == "C":
        return shapes.reshape(x, dims)
    if order == "F":
        flipped = transpose(x)
        return transpose(shapes.reshape(flipped, dims[::-1]))
    if order == "A":
        raise NotImplementedError("np.reshape order=A is not implemented.")
    raise ValueError(f"Unexpected value for 'order' argument: {order}.")


def full_shape(own: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return ``dims`` with -1 filled in so that the number of elements is that of ``own``."""
    total = math.prod(own)
    unknown = dims.count(-1)
    if unknown == 0:
        wanted = math.prod(dims)
        if wanted != total or min(dims, default=0) < 0:
            shown = dims[0] if len(dims) == 1 else dims
            raise TypeError(
                f"cannot reshape array of shape {own} (size {total}) into shape {shown} (size "
                f"{wanted})"
            )
        return dims
    if unknown > 1:
        raise TypeError(f"can only specify one unknown axis size with a `-1` value, got {dims}")
    known = math.prod(d for d in dims if d != -1)
    if (known == 0 and total) or (known and total % known):
        raise TypeError(
            f"cannot reshape array of shape {own} (size {total}) into shape {dims} because the "
            "product "
            f"of specified axis sizes ({known}) does not evenly divide {total}"
        )
    return tuple([(total // known if known else 0) if d == -1 else d for d in dims])


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Value:
    """Return the elements as a vector."""
    check_arraylike("ravel", a)
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    return reshape(a, (size(a),), order)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Value:
    """Return ``a`` with its axes in the order ``axes`` (None: reversed).

    Raises:
        TypeError: ``axes`` is no permutation.
    """
    check_arraylike("transpose", a)
    x = as_operand("transpose", a)
    if axes is None:
        order = tuple(range(x.ndim))[::-1]
    else:
        order = tuple([canonical_axis(k, x.ndim) for k in axes])
    return shapes.transpose(x, order)


def permute_dims(a: Any, /, axes: Sequence[int]) -> Value:
    """Return ``a`` with its axes in the order ``axes``."""
    check_arraylike("permute_dims", a)
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Value:
    """Return ``x`` with its last two axes exchanged; ValueError for fewer than two."""
    check_arraylike("matrix_transpose", x)
    rank = ndim(x)
    if rank < 2:
        raise ValueError(
            f"x must be at least two-dimensional for matrix_transpose; got ndim={rank}"
        )
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Value:
    """Return ``a`` with two axes exchanged."""
    check_arraylike("swapaxes", a)
    x = as_operand("swapaxes", a)
    order = np.arange(x.ndim)
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return shapes.transpose(x, tuple(order))


def moveaxis(a: Any, source: Any, destination: Any) -> Value:
    """Return ``a`` with some axes at other places; the others keep their order.

    Raises:
        ValueError: different numbers of sources and destinations.

    Example:
        >>> moveaxis(np.ones((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    check_arraylike("moveaxis", a)
    x = as_operand("moveaxis", a)
    many = [(s,) if hasattr(s, "__index__") else tuple(s) for s in (source, destination)]
    froms, tos = (tuple([canonical_axis(k, x.ndim) for k in axes]) for axes in many)
    if len(froms) != len(tos):
        raise ValueError(f"Inconsistent number of elements: {len(froms)} vs {len(tos)}")
    order = [k for k in range(x.ndim) if k not in froms]
    for to, source_axis in sorted(zip(tos, froms, strict=True)):
        order.insert(to, source_axis)
    return shapes.transpose(x, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Value:
    """Return ``a`` with ``axis`` moved before ``start``."""
    check_arraylike("rollaxis", a)
    rank = ndim(a)
    axis, start = canonical_axis(axis, rank), canonical_axis(start, rank + 1)
    return moveaxis(a, axis, start - 1 if axis < start else start)


def expand_dims(a: Any, axis: Any) -> Value:
    """Return ``a`` with axes of length 1 at the places ``axis`` of the result."""
    check_arraylike("expand_dims", a)
    places = np.asarray(axis) if isinstance(axis, Array) else axis
    axes = tuple([operator.index(k) for k in np.atleast_1d(places)])
    return shapes.expand_dims(as_operand("expand_dims", a), axes)


def squeeze(a: Any, axis: Any = None) -> Value:
    """Return ``a`` without its axes of length 1 (or those given).

    Raises:
        ValueError: an axis that is longer.
    """
    check_arraylike("squeeze", a)
    x = as_operand("squeeze", a)
    if axis is None:
        axes: tuple[int, ...] = tuple([k for k, n in enumerate(x.shape) if n == 1])
    else:
        axes = axes_tuple(axis, x.ndim)
    return shapes.squeeze(x, axes)


def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Value:
    """Return ``array`` repeated to ``shape``.

    Raises:
        ValueError: it does not broadcast to that shape.

    Example:
        >>> broadcast_to(np.arange(2), (2, 2))
        Array([[0, 1],
               [0, 1]], dtype=int32)
    """
    check_arraylike("broadcast_to", array)
    x = as_operand("broadcast_to", array)
    target = canonical_shape(shape)
    if x.shape == target:
        return x
    if len(target) < x.ndim:
        raise ValueError(
            f"Cannot broadcast to shape with fewer dimensions: arr_shape={x.shape} shape={target}"
        )
    pairs = zip(reversed(x.shape), reversed(target))
    if any(n not in (1, wanted) for n, wanted in pairs):
        name = dtypes.name_of(x.dtype)
        raise ValueError(
            "Incompatible types for broadcasting: input type="
            f"{name}[{','.join(map(str, x.shape))}] and requested type={name}"
            f"[{','.join(map(str, target))}]"
        )
    return broadcast_value(x, target)


def broadcast_arrays(*args: Any) -> list[Value]:
    """Return all arrays repeated to their common shape."""
    check_arraylike("broadcast_arrays", *args)
    arrays = [as_operand("broadcast_arrays", x) for x in args]
    return broadcast_arrays_to("broadcast_arrays", *arrays) if arrays else []


def flip(m: Any, axis: Any = None) -> Value:
    """Return ``m`` reversed along ``axis`` (None: all axes)."""
    check_arraylike("flip", m)
    x = as_operand("flip", m)
    return shapes.rev(x, axes_tuple(axis, x.ndim))


def fliplr(m: Any) -> Value:
    """Return ``m`` reversed along axis 1."""
    check_arraylike("fliplr", m)
    return flip(m, 1)


def flipud(m: Any) -> Value:
    """Return ``m`` reversed along axis 0."""
    check_arraylike("flipud", m)
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Value:
    """Return ``m`` turned by ``k`` quarters from the first of ``axes`` toward the second."""
    check_arraylike("rot90", m)
    rank = ndim(m)
    if rank < 2:
        raise ValueError(
            "rot90 requires its first argument to have ndim at least two, but got first argument "
            "of shape "
            f"{shape(m)}, which has ndim {rank}"
        )
    first, second = (canonical_axis(a, rank) for a in axes)
    if first == second:
        raise ValueError("Axes must be different")
    match k % 4:
        case 0:
            return as_operand("rot90", m)
        case 1:
            return swapaxes(flip(m, second), first, second)
        case 2:
            return flip(flip(m, first), second)
        case _:
            return flip(swapaxes(m, first, second), second)


def roll(a: Any, shift: Any, axis: Any = None) -> Value:
    """Return ``a`` with its elements moved along axes by ``shift``, around the ends.

    Example:
        >>> roll(np.arange(4), 1)
        Array([3, 0, 1, 2], dtype=int32)
    """
    check_arraylike("roll", a, shift) if not isinstance(shift, tuple | list) else None
    x = as_operand("roll", a)
    if axis is None:
        return shapes.reshape(roll(shapes.reshape(x, (x.size,)), shift, 0), x.shape)
    axes = axes_unsorted(axis, x.ndim)
    shifts = [shift] * len(axes) if not shape_of(shift) else list(_listed(shift))
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(shifts) != len(axes):
        raise ValueError("Shift and axis arguments to roll must have the same length")
    for amount, place in zip(shifts, axes, strict=True):
        x = _rolled(x, amount, place)
    return x


def _listed(values: Any) -> Any:
    return values.__jax_array__() if hasattr(values, "__jax_array__") else values


def axes_unsorted(axis: Any, rank: int) -> tuple[int, ...]:
    """Return axes counted from the front, in the order given."""
    axes = (axis,) if hasattr(axis, "__index__") else tuple(axis)
    return tuple([canonical_axis(k, rank) for k in axes])


def _rolled(x: Value, shift: Any, axis: int) -> Value:
    length = x.shape[axis]
    if length == 0:
        return x
    if isinstance(shift, Array):
        twice = shapes.concatenate([x, x], axis)
        start = (length - shift % length) % length
        return slicing.dynamic_slice_in_dim(twice, start, length, axis)
    amount = operator.index(shift) % length
    if amount == 0:
        return x
    tail = slicing.slice_in_dim(x, length - amount, length, 1, axis)
    return shapes.concatenate([tail, slicing.slice_in_dim(x, 0, length - amount, 1, axis)], axis)


def tile(A: Any, reps: Any) -> Value:
    """Return ``A`` repeated ``reps[k]`` times along axis ``k``.

    Example:
        >>> tile(np.array([1, 2]), 2)
        Array([1, 2, 1, 2], dtype=int32)
    """
    check_arraylike("tile", A)
    x = as_operand("tile", A)
    counts = canonical_shape(reps)
    x = shapes.expand_dims(x, tuple(range(len(counts) - x.ndim))) if len(counts) > x.ndim else x
    counts = (1,) * (x.ndim - len(counts)) + counts
    return shapes.tile(x, counts) if x.ndim else x


def atleast_1d(*arys: Any) -> Any:
    """Return arrays with at least one axis (a list if several)."""
    return _at_least("atleast_1d", arys, lambda x: shapes.reshape(x, (1,)) if x.ndim == 0 else x)


def atleast_2d(*arys: Any) -> Any:
    """Return arrays with at least two axes (a list if several)."""

    def two(x: Value) -> Value:
        return x if x.ndim >= 2 else shapes.expand_dims(x, (0,) if x.ndim else (0, 1))

    return _at_least("atleast_2d", arys, two)


def atleast_3d(*arys: Any) -> Any:
    """Return arrays with at least three axes (a list if several)."""

    def three(x: Value) -> Value:
        places: dict[int, tuple[int, ...]] = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
        return x if x.ndim >= 3 else shapes.expand_dims(x, places[x.ndim])

    return _at_least("atleast_3d", arys, three)


def _at_least(name: str, arrays: tuple[Any, ...], change: Any) -> Any:
    check_arraylike(name, *arrays)
    out = [change(as_operand(name, a)) for a in arrays]
    return out[0] if len(out) == 1 else out


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Value:
    """Return ``x`` with its elements converted to ``dtype``."""
    check_arraylike("astype", x)
    kind = dtypes.default_dtype(float) if dtype is None else dtypes.requested_dtype(dtype, "astype")
    array = as_operand("astype", x)
    if dtypes.kind_of(array.dtype) == "c" and dtypes.kind_of(kind) in "iuf":
        warnings_complex()
    return retype(array, kind)


def warnings_complex() -> None:
    """Warn that an imaginary part is dropped, as NumPy does."""
    warnings.warn(
        "Casting from complex to real dtypes will soon raise a ValueError. Please first use "
        "jnp.real or jnp.imag to take the real/imaginary component of your input.",
        DeprecationWarning,
        stacklevel=3,
    )


__all__ = [
    "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes",
    "broadcast_to", "expand_dims", "flip", "fliplr", "flipud", "matrix_transpose", "moveaxis",
    "ndim", "permute_dims", "ravel", "reshape", "roll", "rollaxis", "rot90", "shape", "size",
    "squeeze", "swapaxes", "tile", "transpose",
]  # fmt: skip
