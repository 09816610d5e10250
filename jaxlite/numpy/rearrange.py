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
from jaxlite.numpy.axes import axes_tuple, canonical_axis
from jaxlite.numpy.promotion import (
    as_operand,
    broadcast_arrays_to,
    broadcast_value,
    check_arraylike,
    promote_all,
    retype,
)
from jaxlite.primitives import joining


# --- facts ---


def shape(a: Any) -> tuple[int, ...]:
    """Return the length of each axis."""
    return tuple(a.shape) if hasattr(a, "shape") else tuple(np.shape(a))


def ndim(a: Any) -> int:
    """Return the number of axes."""
    return len(shape(a))


def size(a: Any, axis: Any = None) -> int:
    """Return the number of elements, along ``axis`` (an int or ints) if given."""
    lengths = shape(a)
    if axis is None:
        return math.prod(lengths)
    return math.prod(lengths[k] for k in axes_tuple(axis, len(lengths)))


def broadcast_shapes(*shapes_: Any) -> Any:
    """Return the shape that all shapes broadcast to; ValueError if there is none.

    Example:
        >>> broadcast_shapes((2, 1), (3,))
        (2, 3)
    """
    return shapes.broadcast_shapes(*shapes_)


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
                f"cannot reshape array of shape {own} (size {total}) into shape {shown} (size {wanted})"
            )
        return dims
    if unknown > 1:
        raise TypeError(f"can only specify one unknown axis size with a `-1` value, got {dims}")
    known = math.prod(d for d in dims if d != -1)
    if (known == 0 and total) or (known and total % known):
        raise TypeError(
            f"cannot reshape array of shape {own} (size {total}) into shape {dims} because the product "
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
        raise ValueError(
            f"Inconsistent number of elements: {len(froms)} vs {len(tos)}"
        )
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
    axes = (axis,) if hasattr(axis, "__index__") else tuple(axis)
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
            "rot90 requires its first argument to have ndim at least two, but got first argument of shape "
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
    """Return ``a`` with its elements moved along axes by ``shift``; what leaves comes in on the other side.

    Example:
        >>> roll(np.arange(4), 1)
        Array([3, 0, 1, 2], dtype=int32)
    """
    check_arraylike("roll", a, shift) if not isinstance(shift, tuple | list) else None
    x = as_operand("roll", a)
    if axis is None:
        return shapes.reshape(roll(shapes.reshape(x, (x.size,)), shift, 0), x.shape)
    axes = axes_unsorted(axis, x.ndim)
    shifts = [shift] * len(axes) if np.ndim(shift) == 0 else list(shift)
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(shifts) != len(axes):
        raise ValueError("Shift and axis arguments to roll must have the same length")
    for amount, place in zip(shifts, axes, strict=True):
        x = _rolled(x, amount, place)
    return x


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


# --- several arrays ---


def _sequence(name: str, arrays: Any) -> list[Value]:
    if isinstance(arrays, Array | np.ndarray):
        return [arrays[k] for k in range(arrays.shape[0])]
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
    return concatenate(
        [shapes.reshape(x, (x.size, 1)) if x.ndim < 2 else x for x in columns], 1
    )


def append(arr: Any, values: Any, axis: int | None = None) -> Value:
    """Return ``values`` after ``arr`` along ``axis`` (None: both flattened)."""
    check_arraylike("append", arr, values)
    return concatenate([ravel(arr), ravel(values)]) if axis is None else concatenate([arr, values], axis)


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
        cuts = [operator.index(i) for i in indices_or_sections]
        bounds = [0, *[min(c + length if c < 0 else c, length) for c in cuts], length]
    else:
        sections = operator.index(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        part, rest = divmod(length, sections)
        if rest and not uneven:
            raise ValueError(f"array split does not result in an equal division: rest is {rest}")
        bounds = [k * part + min(k, rest) for k in range(sections + 1)]
    if all(a <= b for a, b in zip(bounds, bounds[1:])):
        sizes = tuple([b - a for a, b in zip(bounds, bounds[1:])])
        return list(joining.split(x, sizes, place))
    return [
        slicing.slice_in_dim(x, a, max(a, b), 1, place) for a, b in zip(bounds, bounds[1:])
    ]


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
    "append", "array_split", "astype", "atleast_1d", "atleast_2d", "atleast_3d", "block",
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "column_stack", "concat", "concatenate",
    "dsplit", "dstack", "expand_dims", "flip", "fliplr", "flipud", "hsplit", "hstack",
    "matrix_transpose", "moveaxis", "ndim", "permute_dims", "ravel", "reshape", "roll", "rollaxis",
    "rot90", "shape", "size", "split", "squeeze", "stack", "swapaxes", "tile", "transpose",
    "unstack", "vsplit", "vstack",
]  # fmt: skip
