"""Sorting and searching. In: arrays. Out: sorted arrays or positions (int32)."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import elementwise, shapes
from jaxlite.lax.operands import constant
from jaxlite.numpy.axes import canonical_axis
from jaxlite.numpy.promotion import (
    as_operand,
    broadcast_value,
    check_arraylike,
    promote_all,
    retype,
)
from jaxlite.primitives import reduction
from jaxlite.primitives import sort as strict
from jaxlite.primitives.comparison import le_to_p, lt_to_p

_INT32 = np.dtype(np.int32)


def _no_numpy_options(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(
            f"'kind' argument to {name} is not supported. Use stable=True or stable=False to "
            "specify sort "
            "stability."
        )
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")


def _flat_or_axis(x: Value, axis: int | None) -> tuple[Value, int]:
    if axis is None:
        return shapes.reshape(x, (x.size,)), 0
    return x, canonical_axis(axis, x.ndim)


def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Value:
    """Return ``a`` sorted along ``axis`` (None: flattened); NaN comes last.

    Args:
        a: ``T[*s]``.
        axis: which axis.
        kind: only None.
        order: only None.
        stable: accepted; sorts are stable.
        descending: greatest first.

    Example:
        >>> sort(np.array([3, 1, 2]))
        Array([1, 2, 3], dtype=int32)
    """
    check_arraylike("sort", a)
    _no_numpy_options("sort", kind, order)
    x, place = _flat_or_axis(as_operand("sort", a), axis)
    out = strict.sort([x], place, bool(stable), 1)[0]
    return shapes.rev(out, (place,)) if descending else out


def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Value:
    """Return the positions that sort ``a`` along ``axis`` (None: flattened).

    Example:
        >>> argsort(np.array([3, 1, 2]))
        Array([1, 2, 0], dtype=int32)
    """
    check_arraylike("argsort", a)
    _no_numpy_options("argsort", kind, order)
    x, place = _flat_or_axis(as_operand("argsort", a), axis)
    index = dtypes.default_dtype(int) if dtype is None else dtypes.requested_dtype(dtype, "argsort")
    return retype(strict.argsort(x, place, bool(stable), bool(descending)), index)


def lexsort(keys: Any, axis: int = -1) -> Value:
    """Return the positions that sort by several keys, the last being the most important.

    Raises:
        TypeError: no keys.
    """
    columns = [as_operand("lexsort", k) for k in keys]
    if not columns:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if len({c.shape for c in columns}) > 1:
        raise ValueError("all keys need to be the same shape")
    if columns[0].ndim == 0:
        return constant(0, _INT32)
    place = canonical_axis(axis, columns[0].ndim)
    number = shapes.broadcasted_iota(dtypes.default_dtype(int), columns[0].shape, place)
    return strict.sort([*columns[::-1], number], place, True, len(columns))[-1]


def partition(a: Any, kth: int, axis: int = -1) -> Value:
    """Return ``a`` rearranged so that element ``kth`` along ``axis`` is where sorting puts it."""
    check_arraylike("partition", a)
    x = as_operand("partition", a)
    place = canonical_axis(axis, x.ndim)
    order = argpartition(x, kth, place)
    return strict.take_along(x, order, place)


def argpartition(a: Any, kth: int, axis: int = -1) -> Value:
    """Return the positions that put element ``kth`` along ``axis`` where sorting puts it."""
    check_arraylike("partition", a)
    x = as_operand("argpartition", a)
    if dtypes.kind_of(x.dtype) == "c":
        raise NotImplementedError("jnp.argpartition for complex dtype is not implemented.")
    place = canonical_axis(axis, x.ndim)
    canonical_axis(operator.index(kth), x.shape[place])
    return strict.argsort(x, place, True, False)


def sort_complex(a: Any) -> Value:
    """Return ``a`` sorted along the last axis, as complex numbers."""
    out = sort(a)
    return retype(out, dtypes.to_complex_dtype(out.dtype))


# --- searching ---


def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan"
) -> Value:
    """Return where ``v`` would be inserted into the sorted vector ``a`` to keep it sorted.

    Args:
        a: ``T[n]``, ascending.
        v: ``U[*s]``.
        side: "left" (before equal elements) or "right" (after them).
        sorter: positions that sort ``a``.
        method: accepted.

    Returns:
        ``i32[*s]``.

    Raises:
        ValueError: ``a`` is no vector, or an unknown ``side``.

    Example:
        >>> searchsorted(np.array([1, 3, 5]), np.array([0, 3, 6]))
        Array([0, 1, 3], dtype=int32)
    """
    check_arraylike("searchsorted", a, v)
    if side not in ("left", "right"):
        raise ValueError(f"invalid argument side={side!r}, expected 'left' or 'right'")
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise ValueError(
            f"{method!r} is an invalid value for keyword 'method'. Expected one of "
            "['sort', 'scan', 'scan_unrolled', 'compare_all']."
        )
    x, q = promote_all("searchsorted", a, v)
    if x.ndim != 1:
        raise ValueError("a should be 1-dimensional")
    if sorter is not None:
        x = strict.take_along(x, retype(as_operand("searchsorted", sorter), _INT32), 0)
    size = x.shape[0]
    if size == 0:
        return shapes.full(q.shape, 0, _INT32)
    if size <= 64:
        return _compare_all(x, q, side)
    return _bisect(x, q, side)


def _before(x: Value, q: Value, side: str) -> Value:
    """Return whether elements of ``x`` stand before ``q``, NaN being the greatest."""
    primitive = lt_to_p if side == "left" else le_to_p
    return primitive.bind(_total(x), _total(q))


def _total(x: Value) -> Value:
    """Make -0.0 and 0.0, and all NaNs, the same in the total order."""
    if dtypes.kind_of(x.dtype) != "f":
        return x
    zero = constant(0, x.dtype, x.aval.weak_type)
    flat = shapes.full_like(x, 0)
    x = elementwise.select_n(elementwise.eq(x, zero), x, flat)
    return elementwise.select_n(elementwise.ne(x, x), x, shapes.full_like(x, np.nan))


def _compare_all(x: Value, q: Value, side: str) -> Value:
    full = (*q.shape, x.shape[0])
    wide = broadcast_value(shapes.expand_dims(q, (q.ndim,)), full)
    hits = _before(broadcast_value(x, full), wide, side)
    return reduction.reduce_sum(retype(hits, _INT32), (q.ndim,))


def _bisect(x: Value, q: Value, side: str) -> Value:
    """Halve the interval until one place is left: log2(n) gathers."""
    size = x.shape[0]
    low = shapes.full(q.shape, 0, _INT32)
    high = shapes.full(q.shape, size, _INT32)
    one, two = constant(1, _INT32), constant(2, _INT32)
    for _ in range(size.bit_length()):
        middle = elementwise.div(elementwise.add(low, high), two)
        probe = x.at[middle].get(mode="clip")
        is_before = elementwise.bitwise_and(_before(probe, q, side), elementwise.lt(low, high))
        low, high = (
            elementwise.select_n(is_before, low, elementwise.add(middle, one)),
            elementwise.select_n(is_before, middle, high),
        )
    return low


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Value:
    """Return the number of the bin that each element falls into (bins ascend or descend)."""
    check_arraylike("digitize", x, bins)
    edges = as_operand("digitize", bins)
    if edges.ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got {bins=}")
    if edges.shape[0] == 0:
        return shapes.full(as_operand("digitize", x).shape, 0, _INT32)
    side = "right" if not right else "left"
    ascending = searchsorted(edges, x, side)
    other = "left" if side == "right" else "right"
    mirrored = searchsorted(shapes.rev(edges, (0,)), x, other)
    descending = elementwise.sub(
        broadcast_value(constant(edges.shape[0], _INT32), mirrored.shape), mirrored
    )
    rises = elementwise.ge(edges[-1], edges[0])
    return elementwise.select_n(rises, descending, ascending)


__all__ = [
    "argpartition", "argsort", "digitize", "lexsort", "partition", "searchsorted", "sort",
    "sort_complex",
]  # fmt: skip
