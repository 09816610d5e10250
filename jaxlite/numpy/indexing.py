"""What an index means. In: an array and what stands between the brackets.

Out: the elements it selects.

``parse`` turns the index into one item per axis (integers known now, slices, arrays of integers,
new axes). Then the cheapest operation that does it is chosen: ``slice`` and ``rev`` when
everything is known, ``dynamic_slice`` for traced scalars beside contiguous slices, ``gather`` for
the rest (``index_plan.py``, which ``at.py`` uses to write).

Reading out of bounds clamps, as in JAX.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxlite import errors
from jaxlite.language import dtypes
from jaxlite.language.array import Array, ArrayImpl, Value, asarray_eager
from jaxlite.language.pytree import tree_leaves
from jaxlite.language.trace import EVAL_TRACE, Tracer, state
from jaxlite.lax import elementwise, shapes, slicing
from jaxlite.lax.operands import constant
from jaxlite.numpy.index_plan import Fixed, Item, NewAxis, Span, Taken, plan
from jaxlite.numpy.promotion import broadcast_shapes, convert
from jaxlite.primitives.convert import convert_element_type
from jaxlite.primitives.indexing import GatherDimensionNumbers, GatherScatterMode
from jaxlite.primitives.joining import concatenate
from jaxlite.settings import config

__all__ = ["concrete_data", "getitem", "parse"]


_ISSUE = "See https://github.com/jax-ml/jax/issues/4564 for more information."


def _as_tuple(idx: Any) -> tuple[Any, ...]:
    if type(idx) is tuple:
        return idx
    if isinstance(idx, list) or (isinstance(idx, tuple) and not hasattr(idx, "shape")):
        if isinstance(idx, tuple):
            return tuple(idx)
        nested = any(i is None or i is Ellipsis or isinstance(i, slice | list | tuple) for i in idx)
        kind = "tuple" if nested else "array"
        raise TypeError(
            "Using a non-tuple sequence for multidimensional indexing is not allowed; "
            f"use `arr[{kind}(seq)]` instead of `arr[seq]`. {_ISSUE}"
        )
    return (idx,)


def _is_bool(item: Any) -> bool:
    if isinstance(item, bool | np.bool_):
        return True
    return isinstance(item, Array | np.ndarray) and item.dtype == np.bool_


def _as_index(item: Any) -> Any:
    """Return an item as int, slice, None, Ellipsis or an array; raise for anything else."""
    if item is None or item is Ellipsis or isinstance(item, slice | int | Array):
        return item
    if isinstance(item, str):
        raise TypeError(f"JAX does not support string indexing; got idx={item!r}")
    if isinstance(item, np.integer):
        return int(item)
    if isinstance(item, float | complex | np.generic | np.ndarray):
        item = np.asarray(item)
    elif isinstance(item, Sequence):
        if any(isinstance(x, Tracer) for x in tree_leaves(item)):
            return _stacked(item)
        item = np.asarray(item) if len(item) else np.zeros((0,), np.int32)
    elif hasattr(item, "__jax_array__"):
        item = item.__jax_array__()
    elif hasattr(item, "__index__"):
        return operator.index(item)
    else:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or "
            "boolean "
            f"arrays are valid indices. Got {item}"
        )
    if item.ndim == 0 and item.dtype.kind in "iu":
        return int(item)
    return item


def _stacked(item: Any) -> Value:
    """Return nested sequences of indices, some of them traced, as one array."""
    if not isinstance(item, Sequence):
        array = item if isinstance(item, Array) else asarray_eager(item)
        return convert_element_type(array, _INT32) if array.weak_type else array
    rows = [shapes.expand_dims(_stacked(x), (0,)) for x in item]
    return concatenate(rows, 0)


def _check_kind(item: Any) -> None:
    if dtypes.kind_of(item.dtype) not in "iub":
        raise TypeError(
            "Indexer must have integer or boolean type, got indexer with type "
            f"{dtypes.name_of(item.dtype)}"
        )


def concrete_data(item: Any) -> np.ndarray[Any, Any] | None:
    """Return the values of an array as NumPy data, None if they are not known now."""
    if isinstance(item, np.ndarray):
        return item
    if isinstance(item, Tracer):
        item = item.concrete_value()
        if item is None:
            return None
    data: np.ndarray[Any, Any] = asarray_eager(item)._data
    return data


def _span(item: slice, size: int, position: int) -> Span:
    try:
        bounds = [_bound(b) for b in (item.start, item.stop, item.step)]
    except errors.JAXTypeError:
        raise IndexError(
            f"Slice entries must be static integers. Got {_slice_text(item)} at position {position}"
            "\n  The length of the result would depend on values that are not known while tracing."
            "\n  Fix: lax.dynamic_slice_in_dim(x, start, length, axis) has a fixed length."
        ) from None
    start, stop, step = slice(*bounds).indices(size)
    length = len(range(start, stop, step))
    if length == 0 and step == 1:
        start = min(max(start, 0), size)
    return Span(start, step, length, length == size and step == 1)


def _bound(value: Any) -> int | None:
    if value is None:
        return None
    return operator.index(value)


def _slice_text(item: slice) -> str:
    def text(bound: Any) -> str:
        if isinstance(bound, Tracer):
            return f"{repr(bound).split('(')[0]}({bound.aval})"
        return repr(bound)

    return f"slice({text(item.start)}, {text(item.stop)}, {text(item.step)})"


def _mask_indices(mask: Any) -> tuple[np.ndarray[Any, Any], ...]:
    data = concrete_data(mask) if isinstance(mask, Array | np.ndarray) else np.asarray(mask)
    if data is None:
        raise errors.NonConcreteBooleanIndexError(mask)
    return np.nonzero(data)


def parse(
    shape: tuple[int, ...], idx: Any, wraps: bool = True
) -> tuple[list[Item], tuple[int, ...]]:
    """Return (items in order, shape of the operand they apply to).

    The shape differs from the array's only for scalar bools (``x[True]``): each adds an axis.
    ``wraps``: negative integers count from the end (else they are out of bounds).

    Raises:
        IndexError: too many indices, two ellipses, a mask of the wrong shape, a traced slice bound.
        NonConcreteBooleanIndexError: a mask whose values are not known now.
        TypeError: an index of another type.
    """
    entries = [_as_index(item) for item in _as_tuple(idx)]
    consumed = 0
    for entry in entries:
        if entry is None or entry is Ellipsis:
            continue
        is_mask = _is_bool(entry)
        consumed += (
            np.ndim(entry)
            if is_mask and isinstance(entry, np.ndarray)
            else (entry.ndim if is_mask and isinstance(entry, Array) else (0 if is_mask else 1))
        )
    if consumed > len(shape):
        raise IndexError(
            f"Too many indices: array is {len(shape)}-dimensional, but {consumed} were indexed"
        )
    dots = [k for k, entry in enumerate(entries) if entry is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    fill = [slice(None)] * (len(shape) - consumed)
    place = dots[0] if dots else len(entries)
    entries[place : place + len(dots)] = fill
    return _items(shape, entries, wraps)


def _items(
    shape: tuple[int, ...], entries: list[Any], wraps: bool
) -> tuple[list[Item], tuple[int, ...]]:
    items: list[Item] = []
    expanded: list[int] = []
    axis = 0
    for position, entry in enumerate(entries):
        if entry is None:
            items.append(NewAxis())
        elif isinstance(entry, slice):
            items.append(_span(entry, shape[axis], position))
            expanded.append(shape[axis])
            axis += 1
        elif _is_bool(entry):
            rank = getattr(entry, "ndim", 0)
            _check_mask(entry, shape, axis, rank, position)
            if rank == 0:
                items.append(Taken(np.asarray(_mask_indices(np.atleast_1d(_truth(entry)))[0])))
                expanded.append(1)
            items.extend(Taken(i.astype(np.int32)) for i in (_mask_indices(entry) if rank else ()))
            expanded.extend(shape[axis : axis + rank])
            axis += rank
        else:
            size = shape[axis]
            items.append(_integer(entry, size, axis, wraps))
            expanded.append(size)
            axis += 1
    return items, tuple(expanded)


def _truth(entry: Any) -> np.ndarray[Any, Any]:
    data = concrete_data(entry) if isinstance(entry, Array) else np.asarray(entry)
    if data is None:
        raise errors.NonConcreteBooleanIndexError(entry)
    return data


def _check_mask(mask: Any, shape: tuple[int, ...], axis: int, rank: int, position: int) -> None:
    expected = tuple(shape[axis : axis + rank])
    # An axis of the mask may be empty: then nothing is selected.
    if rank and any(m not in (n, 0) for m, n in zip(mask.shape, expected, strict=True)):
        raise IndexError(
            f"boolean index did not match shape of indexed array in index {position}: "
            f"got {tuple(mask.shape)}, expected {list(shape[axis : axis + rank])}"
        )


def _integer(entry: Any, size: int, axis: int, wraps: bool) -> Item:
    if isinstance(entry, int):
        if size == 0:
            raise IndexError(f"index is out of bounds for axis {axis} with size 0")
        if not -(2**31) <= entry < 2**31 and not config.frame.enable_x64:
            raise OverflowError(f"Python int {entry} too large to convert to int32")
        return Fixed(entry + size if entry < 0 and wraps else entry)
    _check_kind(entry)
    if entry.ndim == 0 and size == 0:
        raise IndexError(f"index is out of bounds for axis {axis} with size 0")
    data = concrete_data(entry) if not isinstance(entry, Tracer) else None
    if data is not None:
        index: Any = data.astype(np.int64 if data.dtype.itemsize == 8 else np.int32)
        if wraps:
            index = np.where(index < 0, index + size, index)
        return Taken(index.astype(np.int32))
    return Taken(_from_front(entry, size) if wraps else convert(entry, _INT32))


def _from_front(index: Value, size: int) -> Value:
    """Count negative indices from the end."""
    if dtypes.kind_of(index.dtype) == "u":
        return convert(index, _INT32)
    if index.dtype != _INT32:
        index = convert(index, _INT32)
    is_negative = elementwise.lt(index, constant(0, _INT32))
    return elementwise.select_n(is_negative, index, elementwise.add(index, constant(size, _INT32)))


_INT32 = np.dtype(np.int32)


# --- reading ---


def getitem(
    x: Value,
    idx: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    fill_value: Any = None,
    wraps: bool = True,
) -> Value:
    """Return ``x[idx]``; indices out of bounds are clamped unless ``mode`` says otherwise."""
    items, shape = parse(x.aval.shape, idx, wraps)
    if shape != x.aval.shape:
        x = shapes.reshape(x, shape)
    fills = mode is not None and GatherScatterMode.from_any(mode) is GatherScatterMode.FILL_OR_DROP
    taken = [item for item in items if isinstance(item, Taken)]
    if not fills and not taken and not _is_outside(x, items):
        return _static(x, items)
    if not fills and all(np.ndim(t.indices) == 0 for t in taken) and _is_contiguous(items):
        return _dynamic(x, items)
    return _gathered(x, items, indices_are_sorted, unique_indices, mode, fill_value)


def _is_outside(x: Value, items: list[Item]) -> bool:
    """Say whether a traced program should show that a known index is out of bounds."""
    if state.trace is EVAL_TRACE or not _is_contiguous(items):
        return False
    sizes = iter(x.aval.shape)
    inside = [
        not isinstance(item, Fixed) or 0 <= item.index < size
        for item, size in ((i, next(sizes)) for i in items if not isinstance(i, NewAxis))
    ]
    return not all(inside)


def _is_contiguous(items: list[Item]) -> bool:
    return all(item.step == 1 for item in items if isinstance(item, Span))


def _clamped(index: int, size: int) -> int:
    return min(max(index, 0), size - 1)


def _static(x: Value, items: list[Item]) -> Value:
    if state.trace is EVAL_TRACE and type(x) is ArrayImpl:
        return _static_eager(x, items)
    shape = x.aval.shape
    starts, limits, strides, squeezed, flipped, new = [], [], [], [], [], []
    axis = rank = 0
    for item in items:
        match item:
            case NewAxis():
                new.append(rank)
                rank += 1
            case Fixed(index):
                index = _clamped(index, shape[axis])
                starts.append(index)
                limits.append(index + 1)
                strides.append(1)
                squeezed.append(axis)
                axis += 1
            case Span(start, step, length, _):
                low = start if step > 0 else start + (length - 1) * step
                low = low if length else min(max(start, 0), shape[axis])
                starts.append(low)
                limits.append(low + (length - 1) * abs(step) + 1 if length else low)
                strides.append(abs(step) if length > 1 else 1)
                if step < 0 and length > 1:
                    flipped.append(axis - len(squeezed))
                axis += 1
                rank += 1
            case Taken():
                raise AssertionError("only indices known now come here")
    if tuple(limits) != shape or any(starts) or any(s != 1 for s in strides):
        steps = None if all(s == 1 for s in strides) else tuple(strides)
        x = slicing.slice(x, tuple(starts), tuple(limits), steps)
    if squeezed:
        x = shapes.squeeze(x, tuple(squeezed))
    if flipped:
        x = shapes.rev(x, tuple(flipped))
    return shapes.expand_dims(x, tuple(new)) if new else x


def _static_eager(x: ArrayImpl, items: list[Item]) -> ArrayImpl:
    """Index NumPy data at once; a row of a contiguous array shares its memory."""
    key: list[Any] = []
    axis = 0
    for item in items:
        match item:
            case NewAxis():
                key.append(None)
                continue
            case Fixed(index):
                key.append(_clamped(index, x.aval.shape[axis]))
            case Span():
                key.append(_numpy_slice(item))
            case Taken():
                raise AssertionError("only indices known now come here")
        axis += 1
    data = x._data[tuple(key)]
    if type(data) is not np.ndarray:
        data = np.asarray(data, x._data.dtype)
    if not data.flags.c_contiguous:
        data = np.array(data, order="C", copy=True)
    return ArrayImpl(data, x.aval.update(shape=data.shape))


def _dynamic(x: Value, items: list[Item]) -> Value:
    starts: list[Any] = []
    sizes, squeezed, new = [], [], []
    axis = rank = 0
    for item in items:
        match item:
            case NewAxis():
                new.append(rank)
                rank += 1
                continue
            case Span(start, _, length, _):
                starts.append(constant(start, _INT32))
                sizes.append(length)
                rank += 1
            case Fixed(index):
                starts.append(constant(index, _INT32))
            case Taken(index):
                starts.append(
                    constant(int(index), _INT32)
                    if isinstance(index, np.ndarray | np.generic)
                    else index
                )
        if not isinstance(item, Span):
            sizes.append(1)
            squeezed.append(axis)
        axis += 1
    out = slicing.dynamic_slice_strict(x, starts, tuple(sizes))
    out = shapes.squeeze(out, tuple(squeezed))
    return shapes.expand_dims(out, tuple(new)) if new else out


def _gathered(
    x: Value, items: list[Item], is_sorted: bool, is_unique: bool, mode: Any, fill_value: Any
) -> Value:
    is_known = all(isinstance(t.indices, np.ndarray) for t in items if isinstance(t, Taken))
    if mode is None and is_known and type(x) is ArrayImpl and state.trace is EVAL_TRACE and x.size:
        return _gathered_eager(x, items)
    p = plan(x.aval.shape, items)
    if 0 in p.shape:
        out = shapes.full(p.shape, 0, x.dtype)
    else:
        out = slicing.gather(
            x,
            p.indices,
            GatherDimensionNumbers(p.window_dims, p.collapsed_dims, p.indexed_dims),
            p.slice_sizes,
            indices_are_sorted=is_sorted or p.is_sorted,
            unique_indices=is_unique or p.is_unique,
            mode=GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else mode,
            fill_value=fill_value,
        )
    return shapes.expand_dims(out, p.new_axes) if p.new_axes else out


def _gathered_eager(x: ArrayImpl, items: list[Item]) -> ArrayImpl:
    """Index NumPy data at once, with clamped indices."""
    broadcast_shapes("indexing", *[np.shape(t.indices) for t in items if isinstance(t, Taken)])
    key: list[Any] = []
    axis = 0
    for item in items:
        match item:
            case NewAxis():
                key.append(None)
                continue
            case Fixed(index):
                key.append(_clamped(index, x.aval.shape[axis]))
            case Taken(indices):
                last = x.aval.shape[axis] - 1
                # Two comparisons cost less than np.clip's checks.
                key.append(np.minimum(np.maximum(indices, 0), last))
            case Span():
                key.append(_numpy_slice(item))
        axis += 1
    data = np.asarray(x._data[tuple(key)], x._data.dtype)
    if not data.flags.c_contiguous:
        data = np.array(data, order="C", copy=True)
    return ArrayImpl(data, x.aval.update(shape=data.shape))


def _numpy_slice(item: Span) -> slice:
    if not item.length:
        return slice(0, 0)
    stop = item.start + item.length * item.step
    return slice(item.start, stop if stop >= 0 else None, item.step)
