"""Taking elements out and putting them in. In: arrays and positions or masks. Out: arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jaxlite import errors
from jaxlite.language import dtypes
from jaxlite.language.array import Value, from_numpy
from jaxlite.language.trace import Tracer
from jaxlite.lax import elementwise, shapes, slicing
from jaxlite.lax.operands import constant
from jaxlite.numpy.arithmetic import remainder
from jaxlite.numpy.at import scatter
from jaxlite.numpy.axes import canonical_axis
from jaxlite.numpy.choosing import choose_between, truth, where_three
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.indexing import concrete_data, getitem
from jaxlite.numpy.promotion import (
    as_operand,
    broadcast_arrays_to,
    broadcast_value,
    check_arraylike,
    promote_all,
    retype,
)
from jaxlite.primitives.cumulative import cumsum
from jaxlite.primitives.indexing import GatherDimensionNumbers, GatherScatterMode
from jaxlite.primitives.reduction import reduce_sum

_INT32 = np.dtype(np.int32)
_INT32_MAX = np.iinfo(np.int32).max


# --- by position ---


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Value:
    """Return elements of ``a`` at ``indices`` along ``axis`` (None: of the flattened array).

    Args:
        a: ``T[*s]``.
        indices: integers ``[*t]``.
        axis: which axis they index.
        out: only None.
        mode: "fill" (default: NaN or the least integer outside), "clip", "wrap".
        unique_indices: a promise that no index appears twice.
        indices_are_sorted: a promise that the indices ascend.
        fill_value: what "fill" reads outside.

    Raises:
        ValueError: indices that are no integers.

    Example:
        >>> take(np.array([5, 6, 7]), np.array([2, 0]))
        Array([7, 5], dtype=int32)
    """
    check_arraylike("take", a, indices)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.take is not supported.")
    x, positions = as_operand("take", a), as_operand("take", indices, 1)
    if positions.dtype == np.bool_:
        positions = retype(positions, _INT32)
    if axis is None:
        x, place = shapes.reshape(x, (x.size,)), 0
    else:
        place = canonical_axis(axis, x.ndim)
    size = x.shape[place]
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported.")
    if mode == "wrap":
        positions, mode = remainder(positions, constant(max(size, 1), positions.dtype)), "clip"
    elif dtypes.kind_of(positions.dtype) == "i" and mode != "clip":
        positions = _wrapped(positions, size)
    if 0 in x.shape or positions.size == 0:
        shape = (*x.shape[:place], *positions.shape, *x.shape[place + 1 :])
        if size == 0 and positions.size:
            raise IndexError("Cannot do a non-empty jnp.take() from an empty axis.")
        return shapes.full(shape, 0, x.dtype)
    rank = positions.ndim
    sizes = [1 if k == place else n for k, n in enumerate(x.shape)]
    windows = tuple(range(place)) + tuple(range(place + rank, rank + x.ndim - 1))
    return slicing.gather(
        x,
        shapes.expand_dims(positions, (rank,)),
        GatherDimensionNumbers(windows, (place,), (place,)),
        sizes,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        mode="fill" if mode is None else mode,
        fill_value=fill_value,
    )


def _wrapped(positions: Value, size: int) -> Value:
    """Count negative positions from the end."""
    if dtypes.kind_of(positions.dtype) == "i" and size > np.iinfo(positions.dtype).max:
        positions = retype(positions, _INT32 if size <= _INT32_MAX else np.dtype(np.int64))
    zero = constant(0, positions.dtype, positions.aval.weak_type)
    if not isinstance(positions, Tracer):
        data = concrete_data(positions)
        assert data is not None
        fixed = np.where(
            data < 0, data + data.dtype.type(min(size, np.iinfo(data.dtype).max)), data
        )
        return from_numpy(fixed.astype(data.dtype), positions.aval.weak_type)
    moved = elementwise.add(positions, constant(size, positions.dtype, positions.aval.weak_type))
    return elementwise.select_n(elementwise.lt(positions, zero), positions, moved)


def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: Any = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Value:
    """Return elements along ``axis``: each row of ``indices`` picks from its row of ``arr``.

    Args:
        arr: ``T[*s]``.
        indices: integers of the same rank; the other axes broadcast.
        axis: which axis they index (None: flattened).
        mode: "fill" (default), "clip" or "promise_in_bounds".
        fill_value: what "fill" reads outside.
        wrap_negative_indices: whether negative indices count from the end.

    Raises:
        TypeError: indices that are no integers.
        ValueError: different ranks.

    Example:
        >>> x = np.array([[3, 1, 2]])
        >>> take_along_axis(x, np.array([[1, 2, 0]]), axis=1)
        Array([[1, 2, 3]], dtype=int32)
    """
    check_arraylike("take_along_axis", arr, indices)
    x, positions = as_operand("take_along_axis", arr), as_operand("take_along_axis", indices, 1)
    if dtypes.kind_of(positions.dtype) not in "iu":
        raise TypeError(
            "take_along_axis indices must be of integer type, got "
            f"{dtypes.name_of(positions.dtype)}"
        )
    if axis is None:
        if positions.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        return take_along_axis(shapes.reshape(x, (x.size,)), positions, 0, mode, fill_value)
    if x.ndim != positions.ndim:
        raise ValueError(
            "indices and arr must have the same number of dimensions; "
            f"{positions.ndim} vs. {x.ndim}"
        )
    place = canonical_axis(axis, x.ndim)
    if wrap_negative_indices is None:
        # Who promises that indices are in range has no negative ones.
        trusts = GatherScatterMode.PROMISE_IN_BOUNDS
        wrap_negative_indices = mode is None or GatherScatterMode.from_any(mode) is not trusts
    if dtypes.kind_of(positions.dtype) == "i" and wrap_negative_indices:
        positions = _wrapped(positions, x.shape[place])
    others = [k for k in range(x.ndim) if k != place]
    target = list(
        shapes.broadcast_shapes(
            tuple(x.shape[k] for k in others), tuple(positions.shape[k] for k in others)
        )
    )
    target.insert(place, positions.shape[place])
    if 0 in target:
        return shapes.full(tuple(target), 0, x.dtype)
    return _along(x, positions, place, tuple(target), mode, fill_value)


def _along(
    x: Value, positions: Value, place: int, target: tuple[int, ...], mode: Any, fill_value: Any
) -> Value:
    source = tuple(n if k == place else target[k] for k, n in enumerate(x.shape))
    if any(x.shape[k] != source[k] for k in range(x.ndim)):
        x = broadcast_value(x, source)
    positions = broadcast_value(positions, target)
    batch = tuple(k for k in range(x.ndim) if k != place)
    if mode is not None and GatherScatterMode.from_any(mode) is GatherScatterMode.ONE_HOT:
        return _one_hot_along(x, positions, place)
    return slicing.gather(
        x,
        shapes.expand_dims(positions, (positions.ndim,)),
        GatherDimensionNumbers((), (place,), (place,), batch, batch),
        (1,) * x.ndim,
        mode="fill" if mode is None else mode,
        fill_value=fill_value,
    )


def _one_hot_along(x: Value, positions: Value, place: int) -> Value:
    """Pick by multiplying with zeros and ones; outside of the axis everything is 0."""
    wide = shapes.expand_dims(positions, (place + 1,))
    shape = (*x.shape[:place], positions.shape[place], *x.shape[place:])
    numbers = shapes.broadcasted_iota(positions.dtype, shape, place + 1)
    hits = elementwise.eq(broadcast_value(wide, shape), numbers)
    rows = broadcast_value(shapes.expand_dims(x, (place,)), shape)
    zero = constant(0, x.dtype, x.aval.weak_type)
    return reduce_sum(choose_between(hits, rows, zero), (place + 1,))


def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Value:
    """Return ``arr`` with ``values`` at ``indices`` along ``axis``; needs ``inplace=False``."""
    _check_inplace("put_along_axis", inplace)
    check_arraylike("put_along_axis", arr, indices, values)
    x, positions = as_operand("put_along_axis", arr), as_operand("put_along_axis", indices, 1)
    shape = x.shape
    if axis is None:
        x, axis = shapes.reshape(x, (x.size,)), 0
    place = canonical_axis(axis, x.ndim)
    target = tuple(
        positions.shape[k] if k == place else max(n, positions.shape[k])
        for k, n in enumerate(x.shape)
    )
    positions = broadcast_value(positions, target)
    index = tuple(
        positions if k == place else shapes.broadcasted_iota(_INT32, target, k)
        for k in range(x.ndim)
    )
    out = scatter(x, index, values, slicing.scatter, mode=mode)
    return shapes.reshape(out, shape)


def _check_inplace(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(
            f"jax.numpy.{name} cannot modify arrays in-place, because JAX arrays are immutable. "
            "Pass "
            "inplace=False to instead return an updated array."
        )


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Value:
    """Return ``a`` with ``v`` at flat positions ``ind``; needs ``inplace=False``."""
    _check_inplace("put", inplace)
    check_arraylike("put", a, ind, v)
    x = as_operand("put", a)
    positions, values = (shapes.reshape(y, (y.size,)) for y in map(asarray, (ind, v)))
    if not x.size or not positions.size or not values.size:
        return x
    if mode == "wrap":
        positions = remainder(positions, constant(x.size, positions.dtype))
    elif mode not in ("clip", None):
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got mode={mode!r}")
    else:
        positions = elementwise.clamp(
            constant(0, positions.dtype), positions, constant(x.size - 1, positions.dtype)
        )
    values = getitem(values, (np.arange(positions.size) % values.size,))
    flat = scatter(shapes.reshape(x, (x.size,)), positions, values, slicing.scatter)
    return shapes.reshape(flat, x.shape)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Value:
    """Return ``arr`` with ``vals`` where ``mask`` holds; needs ``inplace=False``."""
    _check_inplace("place", inplace)
    check_arraylike("place", arr, mask, vals)
    x, hits = as_operand("place", arr), truth(as_operand("place", mask, 1))
    if x.size != hits.size:
        raise ValueError("place: arr and mask must be the same size")
    values = shapes.reshape(asarray(vals), (asarray(vals).size,))
    if not values.size:
        raise ValueError("place: array of values to put is empty")
    flat = shapes.reshape(hits, (hits.size,))
    number = elementwise.sub(cumsum(retype(flat, _INT32)), constant(1, _INT32))
    chosen = getitem(values, (remainder(number, constant(values.size, _INT32)),))
    out = choose_between(flat, retype(chosen, x.dtype), shapes.reshape(x, (x.size,)))
    return shapes.reshape(out, x.shape)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Value:
    """Return ``a`` with ``val`` on its main diagonal; needs ``inplace=False``."""
    _check_inplace("fill_diagonal", inplace)
    check_arraylike("fill_diagonal", a, val)
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must be False")
    x = as_operand("fill_diagonal", a)
    if x.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if x.ndim > 2 and len(set(x.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    n = min(x.shape)
    values = asarray(val)
    if values.ndim:
        values = getitem(shapes.reshape(values, (values.size,)), (np.arange(n) % values.size,))
    return scatter(x, (np.arange(n),) * x.ndim, values, slicing.scatter)


# --- by mask ---


def where(
    condition: Any,
    x: Any = None,
    y: Any = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Return ``x`` where ``condition`` holds, else ``y``; with one argument, where it holds.

    Args:
        condition: ``bool[*s]`` (other dtypes: not 0).
        x: ``T[*t]``.
        y: ``U[*u]``; all three broadcast.
        size: with one argument: how many positions to return (needed under ``jit``).
        fill_value: positions beyond those found.

    Raises:
        ValueError: only one of ``x`` and ``y``.

    Example:
        >>> where(np.array([True, False]), 1.0, 0.0)
        Array([1., 0.], dtype=float32, weak_type=True)
    """
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    check_arraylike("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError(
            "size and fill_value arguments cannot be used in three-term where function."
        )
    return where_three(condition, x, y)


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Value, ...]:
    """Return the positions of elements that are not 0, one vector per axis.

    Args:
        a: ``T[*s]``.
        size: length of the vectors; needed under ``jit``, where the number is not known.
        fill_value: what vectors hold beyond the positions found (0).

    Raises:
        ConcretizationTypeError: traced ``a`` without ``size``.

    Example:
        >>> nonzero(np.array([0, 5, 0, 7]))
        (Array([1, 3], dtype=int32),)
    """
    check_arraylike("nonzero", a)
    x = as_operand("nonzero", a)
    if x.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero() "
            "instead."
        )
    data = concrete_data(x)
    if data is not None:
        return _nonzero_now(data, size, fill_value)
    if size is None:
        raise errors.ConcretizationTypeError(
            x,
            "The size argument of jnp.nonzero must be statically specified to use jnp.nonzero "
            "within "
            "JAX transformations.\n",
        )
    return _nonzero_traced(x, operator.index(size), fill_value)


def _fill_tuple(fill_value: Any, rank: int) -> tuple[Any, ...]:
    if fill_value is None:
        return (0,) * rank
    values = tuple(fill_value) if isinstance(fill_value, tuple) else (fill_value,) * rank
    if len(values) != rank:
        raise ValueError(
            f"fill_value must be a scalar or a tuple of length {rank}; got {fill_value}"
        )
    return values


def _nonzero_now(data: Any, size: int | None, fill_value: Any) -> tuple[Value, ...]:
    found = np.nonzero(data)
    if size is not None:
        fills = _fill_tuple(fill_value, data.ndim)
        found = tuple(
            np.concatenate([p[:size], np.full(max(size - len(p), 0), int(f), p.dtype)])
            for p, f in zip(found, fills, strict=True)
        )
    index = dtypes.default_dtype(int)
    return tuple(from_numpy(p.astype(index)) for p in found)


def _nonzero_traced(x: Value, size: int, fill_value: Any) -> tuple[Value, ...]:
    """Number the hits by a running sum and write each position at its number."""
    index = dtypes.default_dtype(int)
    fills = _fill_tuple(fill_value, x.ndim)
    if x.size == 0 or size == 0:
        return tuple(shapes.full((size,), int(f), index) for f in fills)
    hits = retype(shapes.reshape(truth(x), (x.size,)), index)
    number = elementwise.sub(cumsum(hits), constant(1, index))
    # Positions that are no hit are written outside, where they are dropped.
    target = elementwise.select_n(truth(hits), shapes.full((x.size,), size, index), number)
    flat = scatter(
        shapes.full((size,), 0, index),
        target,
        shapes.iota(index, x.size),
        slicing.scatter,
        mode="drop",
    )
    count = reduce_sum(hits, (0,))
    is_hit = elementwise.lt(shapes.iota(index, size), broadcast_value(count, (size,)))
    out = []
    stride = x.size
    for length, fill in zip(x.shape, fills, strict=True):
        stride //= length
        position = remainder(
            elementwise.div(flat, constant(stride, index)), constant(length, index)
        )
        out.append(choose_between(is_hit, position, retype(asarray(fill), index)))
    return tuple(out)


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Value:
    """Return the positions in the flattened array of elements that are not 0."""
    check_arraylike("flatnonzero", a)
    x = as_operand("flatnonzero", a)
    return nonzero(shapes.reshape(x, (x.size,)), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Value:
    """Return the positions of elements that are not 0 as rows: ``i32[n, rank]``."""
    check_arraylike("argwhere", a)
    x = as_operand("argwhere", a)
    if x.ndim == 0:
        found = nonzero(shapes.reshape(x, (1,)), size=size, fill_value=fill_value)[0]
        return shapes.full((found.shape[0], 0), 0, _INT32)
    return shapes.stack(nonzero(x, size=size, fill_value=fill_value), 1)


def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Value:
    """Return the slices of ``a`` along ``axis`` (None: flattened) where ``condition`` holds."""
    check_arraylike("compress", condition, a)
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.compress is not supported.")
    hits, x = truth(as_operand("compress", condition)), as_operand("compress", a, 1)
    if hits.ndim != 1:
        raise ValueError("condition must be a 1D array")
    if axis is None:
        x, place = shapes.reshape(x, (x.size,)), 0
    else:
        place = canonical_axis(axis, x.ndim)
    n = min(hits.shape[0], x.shape[place])
    hits = slicing.slice_in_dim(hits, 0, n)
    if size is None:
        return take(x, nonzero(hits)[0], place, mode="clip")
    if size > x.shape[place]:
        raise ValueError(
            "size must be positive and not greater than the size of the array axis; got "
            f"size={size} for a.shape[axis]={x.shape[place]}"
        )
    positions = nonzero(hits, size=size, fill_value=x.shape[place])[0]
    return take(x, positions, place, mode="fill", fill_value=fill_value)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Value:
    """Return the elements of ``arr`` where ``condition`` holds, as a vector."""
    hits = as_operand("extract", condition)
    return compress(shapes.reshape(hits, (hits.size,)), arr, size=size, fill_value=fill_value)


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Value:
    """Return, elementwise, the element of ``choices[a]``.

    Raises:
        ValueError: an index out of bounds and ``mode="raise"``, or an unknown mode.
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.choose is not supported.")
    options = list(choices)
    check_arraylike("choose", a, *options)
    index = as_operand("choose", a)
    if dtypes.kind_of(index.dtype) not in "iu":
        raise ValueError("`a` array must be integer typed")
    n = len(options)
    if mode == "raise":
        data = concrete_data(index)
        if data is None:
            raise errors.ConcretizationTypeError(
                index,
                "The error occurred because jnp.choose was jit-compiled with mode='raise'. "
                "Use mode='wrap' or mode='clip' instead.\n",
            )
        if np.any((data < 0) | (data >= n)):
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        index = remainder(index, constant(n, index.dtype))
    elif mode != "clip":
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    values = promote_all("choose", *options)
    values = [retype(v, v.dtype) for v in values]
    index, *values = broadcast_arrays_to("choose", index, *values)
    return elementwise.select_n(retype(index, _INT32), *values) if n > 1 else values[0]


__all__ = [
    "argwhere", "choose", "compress", "extract", "fill_diagonal", "flatnonzero", "nonzero", "place",
    "put", "put_along_axis", "take", "take_along_axis",
    "where",
]  # fmt: skip
