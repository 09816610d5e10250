"""``lax`` functions that read and write parts of arrays. In: arrays, places. Out: arrays.

Static places give ``slice``; places known at run time give ``dynamic_slice`` (moved inside the
array) or ``gather`` and ``scatter`` (a mode says what happens outside).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.language.avals import canonical_shape
from jaxlite.language.trace import Tracer
from jaxlite.lax.operands import as_array, axis_of, constant
from jaxlite.lax.shapes import concatenate, convert_type, expand_dims, squeeze
from jaxlite.primitives import scatter as strict_scatter
from jaxlite.primitives.arithmetic import add_p
from jaxlite.primitives.comparison import lt_p
from jaxlite.primitives.gather import gather_p
from jaxlite.primitives.indexing import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from jaxlite.primitives.select import select_n_p
from jaxlite.primitives.slicing import dynamic_slice_p, dynamic_update_slice_p, slice_p

__all__ = [
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "gather",
    "index_in_dim",
    "index_take",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
    "slice",
    "slice_in_dim",
]

_builtin_slice = slice
_INT32 = np.dtype(np.int32)


def slice(
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Value:
    """Return ``operand[start:limit:stride]`` along every axis.

    Raises:
        TypeError: a start or limit outside the array, a stride that is not positive.

    Example:
        >>> slice(np.arange(5), (1,), (4,))
        Array([1, 2, 3], dtype=int32)
    """
    x = as_array(operand, "slice")
    return slice_p.bind(
        x,
        start_indices=canonical_shape(tuple(start_indices)),
        limit_indices=canonical_shape(tuple(limit_indices)),
        strides=None if strides is None else canonical_shape(tuple(strides)),
    )


def slice_in_dim(
    operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Value:
    """Return ``operand[start_index:limit_index:stride]`` along one axis."""
    x = as_array(operand, "slice_in_dim")
    axis = axis_of(axis, x.ndim)
    size = x.shape[axis]
    start = 0 if start_index is None else operator.index(start_index)
    limit = size if limit_index is None else operator.index(limit_index)
    starts, limits, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[axis] = start + size if start < 0 else start
    limits[axis] = limit + size if limit < 0 else limit
    strides[axis] = operator.index(stride)
    return slice(x, starts, limits, strides)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Value:
    """Return the slice at ``index`` of one axis; IndexError if it is out of bounds."""
    x = as_array(operand, "index_in_dim")
    place, axis = operator.index(index), axis_of(axis, x.ndim)
    size = x.shape[axis]
    if not -size <= place < size:
        raise IndexError(f"index {place} is out of bounds for axis {axis} with size {size}")
    place %= size
    part = slice_in_dim(x, place, place + 1, 1, axis)
    return part if keepdims else squeeze(part, (axis,))


# --- places known at run time ---


def _starts(
    name: str, operand: Value, start_indices: Any, allow_negative: bool | Sequence[bool]
) -> list[Value]:
    """Return one scalar index per axis, negative ones counted from the end."""
    if isinstance(start_indices, Array | np.ndarray) and start_indices.ndim == 1:
        vector: Any = start_indices
        parts = [vector[k] for k in range(vector.shape[0])]
    else:
        parts = list(start_indices)
    if len(parts) != operand.ndim:
        raise ValueError(
            "Length of slice indices must match number of operand dimensions "
            f"({len(parts)} vs {operand.shape})"
        )
    kinds = [dtypes.dtype(p, canonicalize=True) for p in parts]
    if any(dtypes.kind_of(k) not in "iu" for k in kinds) or len(set(kinds)) > 1:
        listed = ", ".join(k.name for k in kinds)
        raise TypeError(
            f"index arguments to {name} must be integers of the same type, got: {listed}"
        )
    wraps = [allow_negative] * len(parts) if isinstance(allow_negative, bool) else allow_negative
    return [
        _start(p, size, wrap, name)
        for p, size, wrap in zip(parts, operand.shape, wraps, strict=True)
    ]


def _start(index: Any, size: int, wrap: bool, name: str) -> Value:
    if not isinstance(index, Array):
        place = operator.index(index)
        own = dtypes.dtype(index, canonicalize=True) if hasattr(index, "dtype") else _INT32
        return constant(place + size if wrap and place < 0 else place, own)
    if not isinstance(index, Tracer):
        known: Any = index
        place = operator.index(known)
        dtype = _INT32 if index.aval.weak_type else index.dtype
        return constant(place + size if wrap and place < 0 else place, dtype)
    if index.aval.weak_type:
        index = convert_type(index, index.dtype, False)
    if not wrap or dtypes.kind_of(index.dtype) == "u":
        return index
    is_negative = lt_p.bind(index, constant(0, index.dtype))
    return select_n_p.bind(is_negative, index, add_p.bind(index, constant(size, index.dtype)))


def _starts_along(x: Value, start: Any, axis: int) -> list[Any]:
    """Return zeros of the type of ``start`` for all axes but ``axis``."""
    starts = [np.zeros((), dtypes.dtype(start, canonicalize=True))] * x.ndim
    return [*starts[:axis], start, *starts[axis + 1 :]]


def _same_type(starts: list[Value]) -> list[Value]:
    kinds = {s.dtype for s in starts}
    if len(kinds) <= 1:
        return starts
    dtype = dtypes.result_type(*kinds)
    return [convert_type(s, dtype, False) for s in starts]


def dynamic_slice_strict(x: Value, starts: Sequence[Value], sizes: tuple[int, ...]) -> Value:
    """Apply ``dynamic_slice`` to starts that are scalars already counted from the front."""
    return dynamic_slice_p.bind(x, *_same_type(list(starts)), slice_sizes=sizes)


def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Value:
    """Return a window of ``slice_sizes`` that starts at ``start_indices``, moved inside the array.

    Raises:
        TypeError: the window is larger than the array, or an index is no integer.
        ValueError: not one index per axis.

    Example:
        >>> dynamic_slice(np.arange(5), (4,), (2,))
        Array([3, 4], dtype=int32)
    """
    x = as_array(operand, "dynamic_slice")
    starts = _starts("dynamic_slice", x, start_indices, allow_negative_indices)
    return dynamic_slice_strict(x, starts, canonical_shape(tuple(slice_sizes)))


def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Value:
    """Return ``slice_size`` elements from ``start_index`` on along one axis."""
    x = as_array(operand, "dynamic_slice_in_dim")
    axis = axis_of(axis, x.ndim)
    starts, sizes = _starts_along(x, start_index, axis), list(x.shape)
    sizes[axis] = operator.index(slice_size)
    return dynamic_slice(x, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Value:
    """Return the slice at ``index`` (known at run time, clamped) of one axis."""
    part = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return part if keepdims else squeeze(part, (axis_of(axis, part.ndim),))


def dynamic_update_slice(
    operand: Any,
    update: Any,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Value:
    """Return ``operand`` with ``update`` in a window, which is moved inside the array."""
    x = as_array(operand, "dynamic_update_slice")
    value = as_array(update, "dynamic_update_slice", 1)
    starts = _starts("dynamic_update_slice", x, start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(x, value, *_same_type(starts))


def dynamic_update_slice_in_dim(
    operand: Any,
    update: Any,
    start_index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Value:
    """Return ``operand`` with ``update`` written from ``start_index`` on along one axis."""
    x = as_array(operand, "dynamic_update_slice_in_dim")
    axis = axis_of(axis, x.ndim)
    starts = _starts_along(x, start_index, axis)
    return dynamic_update_slice(x, update, starts, allow_negative_indices=allow_negative_indices)


def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Value:
    """Return ``operand`` with a slice replaced; ``update`` may lack that axis."""
    x = as_array(operand, "dynamic_update_index_in_dim")
    value = as_array(update, "dynamic_update_index_in_dim", 1)
    axis = axis_of(axis, x.ndim)
    if value.ndim != x.ndim:
        if value.ndim + 1 != x.ndim:
            raise ValueError(
                f"update of shape {value.shape} does not fit an axis of an array of shape {x.shape}"
            )
        value = expand_dims(value, (axis,))
    return dynamic_update_slice_in_dim(
        x, value, index, axis, allow_negative_indices=allow_negative_indices
    )


# --- gather and scatter ---


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Value:
    """Return the windows of ``operand`` that start at ``start_indices: i32[*batch, k]``.

    Args:
        operand: ``T[*s]``.
        start_indices: one index vector of length k per window.
        dimension_numbers: which axes the vectors index and where the windows go.
        slice_sizes: size of a window along every axis of ``operand``.
        unique_indices: a promise that no two windows are the same.
        indices_are_sorted: a promise that the index vectors ascend.
        mode: "promise_in_bounds" (default), "clip", or "fill" (outside reads ``fill_value``).
        fill_value: default NaN for floats, the least (unsigned: greatest) integer, True.
    """
    x = as_array(operand, "gather")
    indices = as_array(start_indices, "gather", 1)
    parsed = (
        GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    )
    if parsed is GatherScatterMode.FILL_OR_DROP and fill_value is None:
        fill_value = default_fill(x.dtype)
    return gather_p.bind(
        x,
        indices,
        dimension_numbers=dimension_numbers,
        fill_value=fill_value if parsed is GatherScatterMode.FILL_OR_DROP else None,
        indices_are_sorted=bool(indices_are_sorted),
        mode=parsed,
        slice_sizes=canonical_shape(tuple(slice_sizes)),
        unique_indices=bool(unique_indices),
    )


# Each one object, so that equations that read outside compare as equal (it may be a NaN).
_LAST_KEYS = {
    dtype: dtype.element(2**32 - 1)
    for dtype in (dtypes.KEY_FRY, dtypes.KEY_RBG, dtypes.KEY_UNSAFE_RBG)
}


def default_fill(dtype: Any) -> Any:
    """Return what a gather reads outside an array of ``dtype``."""
    if isinstance(dtype, dtypes.KeyDType):
        return _LAST_KEYS[dtype]
    match dtypes.kind_of(dtype):
        case "f" | "c":
            return float("nan")
        case "i":
            return int(dtypes.iinfo(dtype).min)
        case "u":
            return int(dtypes.iinfo(dtype).max)
        case "b":
            return True
        case _:
            raise ValueError(f"Unsupported dtype for gather fill_value: {dtypes.name_of(dtype)}")


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Value:
    """Return ``src`` at the points whose coordinates along ``axes`` are the vectors ``idxs``."""
    x = as_array(src, "index_take")
    columns = [as_array(i, "index_take", k + 1) for k, i in enumerate(idxs)]
    stacked = concatenate([expand_dims(c, (1,)) for c in columns], 1)
    sizes = list(x.shape)
    for axis in axes:
        sizes[axis] = 1
    kept = tuple(range(1, 1 + x.ndim - len(axes)))
    return gather(x, stacked, GatherDimensionNumbers(kept, tuple(sorted(axes)), tuple(axes)), sizes)


def _scatter(name: str, strict: Callable[..., Value], text: str) -> Callable[..., Value]:
    def function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Value:
        return strict(
            as_array(operand, name),
            as_array(scatter_indices, name, 1),
            as_array(updates, name, 2),
            dimension_numbers,
            indices_are_sorted=bool(indices_are_sorted),
            unique_indices=bool(unique_indices),
            mode=GatherScatterMode.from_any(mode),
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return ``operand`` {text} ``updates`` in the windows at ``scatter_indices: i32[*batch, "
        "k]``.\n\n"
        'Windows outside the array are dropped unless ``mode`` is "clip" (moved inside).'
    )
    return function


scatter = _scatter("scatter", strict_scatter.scatter, "replaced by")
scatter_add = _scatter("scatter_add", strict_scatter.scatter_add, "plus")
scatter_sub = _scatter("scatter_sub", strict_scatter.scatter_sub, "minus")
scatter_mul = _scatter("scatter_mul", strict_scatter.scatter_mul, "times")
scatter_min = _scatter("scatter_min", strict_scatter.scatter_min, "or the lesser of it and")
scatter_max = _scatter("scatter_max", strict_scatter.scatter_max, "or the greater of it and")


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Value], Value],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Value:
    """Return ``operand`` with ``func`` applied once to each window at ``scatter_indices``."""
    x = as_array(operand, "scatter_apply")
    numbers = GatherDimensionNumbers(*dimension_numbers)
    sizes = _window_sizes(x, dimension_numbers, tuple(update_shape))
    windows = gather(x, scatter_indices, numbers, sizes, mode="clip")
    return scatter(
        x, scatter_indices, func(windows), dimension_numbers,
        indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
    )  # fmt: skip


def _window_sizes(
    x: Value, numbers: ScatterDimensionNumbers, update_shape: tuple[int, ...]
) -> list[int]:
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    lengths = iter([update_shape[d] for d in numbers.update_window_dims])
    return [1 if axis in gone else next(lengths) for axis in range(x.ndim)]
