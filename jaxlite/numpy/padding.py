"""Padding. In: an array, widths, a rule for what stands outside. Out: a larger array."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.lax import shapes, slicing
from jaxlite.lax.operands import constant
from jaxlite.numpy import reductions, ufuncs
from jaxlite.numpy.arithmetic import round as round_to_even
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.promotion import as_operand, broadcast_value, check_arraylike, relaxed, retype
from jaxlite.numpy.ranges import linspace
from jaxlite.numpy.statistics import median

Widths = list[tuple[int, int]]


def _pairs(value: Any, rank: int, name: str) -> list[tuple[Any, Any]]:
    """Return (before, after) per axis from a scalar, a pair, or a pair per axis."""
    if isinstance(value, Array) or np.ndim(value) == 0:
        if getattr(value, "ndim", 0) == 0:
            return [(value, value)] * rank
        value = [value[k] for k in range(value.shape[0])]
    items = list(value)
    if all(np.ndim(v) == 0 for v in items):
        if len(items) == 1:
            return [(items[0], items[0])] * rank
        if len(items) == 2:
            return [(items[0], items[1])] * rank
        raise ValueError(f"jnp.pad: {name} with {len(items)} elements does not fit {rank} axes")
    rows = [tuple(v) for v in items]
    rows = [(r[0], r[0]) if len(r) == 1 else r for r in rows]
    if len(rows) == 1:
        rows = rows * rank
    if len(rows) != rank or any(len(r) != 2 for r in rows):
        raise ValueError(
            f"jnp.pad: {name} with nd={len(np.shape(value))} has unsupported shape "
            f"{tuple(np.shape(value))}. Valid shapes are ({rank}, 2), (1, 2), (2,), (1,), or ()."
        )
    return [(r[0], r[1]) for r in rows]


_ALLOWED: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Value:
    """Return ``array`` with more elements around it.

    Args:
        array: ``T[*s]``.
        pad_width: how many: an int, (before, after), or such a pair per axis (a dict by axis).
        mode: "constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean",
            "median", "minimum", "empty", or a function as in NumPy.
        kwargs: ``constant_values``, ``end_values``, ``stat_length`` or ``reflect_type``.

    Raises:
        ValueError: negative widths, or an argument that does not belong to the mode.
        NotImplementedError: an unknown mode.

    Example:
        >>> pad(np.array([1, 2]), (1, 2), constant_values=9)
        Array([9, 1, 2, 9, 9], dtype=int32)
    """
    check_arraylike("pad", array)
    x = as_operand("pad", array)
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(k, pad_width.get(k - x.ndim, (0, 0))) for k in range(x.ndim)]
        pad_width = [(w, w) if np.ndim(w) == 0 else w for w in pad_width]
    widths = [
        (operator.index(a), operator.index(b)) for a, b in _pairs(pad_width, x.ndim, "pad_width")
    ]
    if any(w < 0 for pair in widths for w in pair):
        raise ValueError("index can't contain negative values")
    if callable(mode):
        return _by_function(x, widths, mode, kwargs)
    if mode not in _ALLOWED:
        raise NotImplementedError(
            f"Unimplemented padding mode '{mode}' for np.pad.\n  Fix: one of {', '.join(_ALLOWED)}."
        )
    unknown = sorted(kwargs.keys() - set(_ALLOWED[mode]))
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {set(unknown)}")
    if not x.ndim:
        return x
    if mode in ("constant", "empty"):
        return _constant(
            x, widths, _pairs(kwargs.get("constant_values", 0), x.ndim, "constant_values")
        )
    for axis, (before, after) in enumerate(widths):
        if before or after:
            x = _along(x, axis, before, after, mode, kwargs)
    return x


def _constant(x: Value, widths: Widths, values: list[tuple[Any, Any]]) -> Value:
    weak = x.aval.weak_type
    scalars = [[retype(asarray(v), x.dtype, weak) for v in pair] for pair in values]
    first = values[0][0] if values else 0
    is_same = all(isinstance(v, int | float) and v == first for pair in values for v in pair)
    if is_same:
        value = scalars[0][0] if scalars else constant(0, x.dtype, weak)
        return shapes.pad(x, value, [(a, b, 0) for a, b in widths])
    for axis, ((before, after), (low, high)) in enumerate(zip(widths, scalars, strict=True)):
        config = [(0, 0, 0)] * x.ndim
        config[axis] = (before, 0, 0)
        x = shapes.pad(x, low, config)
        config[axis] = (0, after, 0)
        x = shapes.pad(x, high, config)
    return x


def _scalar(value: Any, dtype: Any) -> Value:
    return retype(asarray(value), dtype)


def _slab(x: Value, axis: int, start: int, stop: int) -> Value:
    return slicing.slice_in_dim(x, start, stop, 1, axis)


@relaxed
def _along(
    x: Value, axis: int, before: int, after: int, mode: str, kwargs: dict[str, Any]
) -> Value:
    size = x.shape[axis]
    if size == 0:
        raise ValueError(f"Cannot apply '{mode}' padding to empty axis")
    if mode in ("reflect", "symmetric"):
        return _mirrored(x, axis, before, after, mode, kwargs.get("reflect_type", "even"))
    if mode == "wrap":
        return _wrapped(x, axis, before, after)
    low, high = _outside(x, axis, before, after, mode, kwargs)
    return shapes.concatenate([low, x, high], axis)


def _outside(
    x: Value, axis: int, before: int, after: int, mode: str, kwargs: dict[str, Any]
) -> tuple[Value, Value]:
    size = x.shape[axis]
    edges = (_slab(x, axis, 0, 1), _slab(x, axis, size - 1, size))
    shape = [tuple(n if k == axis else m for k, m in enumerate(x.shape)) for n in (before, after)]
    if mode == "edge":
        low, high = (broadcast_value(e, s) for e, s in zip(edges, shape, strict=True))
        return low, high
    if mode == "linear_ramp":
        ends = _pairs(kwargs.get("end_values", 0), x.ndim, "end_values")[axis]
        low = _ramp(edges[0], ends[0], before, axis, x.dtype)
        high = shapes.rev(_ramp(edges[1], ends[1], after, axis, x.dtype), (axis,))
        return low, high
    lengths = kwargs.get("stat_length")
    given = (None, None) if lengths is None else _pairs(lengths, x.ndim, "stat_length")[axis]
    spans = [size if s is None else min(operator.index(s), size) for s in given]
    statistics: dict[str, Callable[..., Value]] = {
        "maximum": reductions.max,
        "minimum": reductions.min,
        "mean": reductions.mean,
        "median": median,
    }
    parts = (_slab(x, axis, 0, spans[0]), _slab(x, axis, size - spans[1], size))
    out = []
    for part, target in zip(parts, shape, strict=True):
        value = statistics[mode](part, axis=axis, keepdims=True)
        if mode in ("mean", "median") and dtypes.kind_of(x.dtype) in "iu":
            value = round_to_even(value)
        out.append(broadcast_value(retype(value, x.dtype), target))
    return out[0], out[1]


def _ramp(edge: Value, end: Any, count: int, axis: int, dtype: Any) -> Value:
    work = dtypes.to_inexact_dtype(dtype)
    values = linspace(
        retype(asarray(end), work),
        shapes.squeeze(retype(edge, work), (axis,)),
        count,
        endpoint=False,
        axis=axis,
    )
    return retype(values, dtype)


def _mirrored(x: Value, axis: int, before: int, after: int, mode: str, kind: str) -> Value:
    if kind not in ("even", "odd"):
        raise ValueError(f"reflect_type must be 'even' or 'odd', got {kind!r}")
    offset = 1 if mode == "reflect" else 0
    if x.shape[axis] == 1 and offset:
        full = tuple(1 + before + after if k == axis else m for k, m in enumerate(x.shape))
        return broadcast_value(x, full)
    while before > 0 or after > 0:
        size = x.shape[axis]
        period = size - offset
        low, high = min(before, period), min(after, period)
        front = shapes.rev(_slab(x, axis, offset, offset + low), (axis,))
        back = shapes.rev(_slab(x, axis, size - offset - high, size - offset), (axis,))
        if kind == "odd":
            first, last = _slab(x, axis, 0, 1), _slab(x, axis, size - 1, size)
            front = ufuncs.subtract(ufuncs.multiply(2, first), front)
            back = ufuncs.subtract(ufuncs.multiply(2, last), back)
        x = shapes.concatenate([front, x, back], axis)
        before, after = before - low, after - high
    return x


def _wrapped(x: Value, axis: int, before: int, after: int) -> Value:
    size = x.shape[axis]
    times = 1 + -(-before // size) + -(-after // size)
    many = shapes.concatenate([x] * times, axis)
    start = -(-before // size) * size - before
    return _slab(many, axis, start, start + before + size + after)


def _by_function(
    x: Value, widths: Widths, function: Callable[..., Any], kwargs: dict[str, Any]
) -> Value:
    out = _constant(x, widths, [(0, 0)] * x.ndim)
    for axis, pair in enumerate(widths):
        columns = out.swapaxes(axis, -1)
        flat = shapes.reshape(columns, (columns.size // columns.shape[-1], columns.shape[-1]))
        rows = [function(flat[k], pair, axis, kwargs) for k in range(flat.shape[0])]
        out = shapes.reshape(shapes.stack(rows), columns.shape).swapaxes(axis, -1)
    return out


__all__ = ["pad"]
