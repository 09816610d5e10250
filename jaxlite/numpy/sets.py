"""Arrays as sets. In: arrays. Out: sorted vectors of distinct elements, or memberships.

The number of distinct elements is known only from the values: traced arrays need ``size``.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from jaxlite import errors
from jaxlite.language import dtypes
from jaxlite.language.array import Value, from_numpy
from jaxlite.lax import elementwise, shapes, slicing
from jaxlite.lax.operands import constant
from jaxlite.numpy import ufuncs
from jaxlite.numpy.at import scatter
from jaxlite.numpy.axes import canonical_axis
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.indexing import concrete_data
from jaxlite.numpy.joining import concatenate
from jaxlite.numpy.logic import isnan
from jaxlite.numpy.ordering import lexsort
from jaxlite.numpy.promotion import (
    as_operand,
    broadcast_value,
    check_arraylike,
    promote_all,
    retype,
)
from jaxlite.numpy.rearrange import moveaxis, ravel
from jaxlite.numpy.reductions import any as any_of
from jaxlite.numpy.selection import nonzero, take
from jaxlite.primitives.cumulative import cumsum

_INT32 = np.dtype(np.int32)
_BOOL = np.dtype(np.bool_)


class _UniqueAllResult(NamedTuple):
    values: Value
    indices: Value
    inverse_indices: Value
    counts: Value


class _UniqueCountsResult(NamedTuple):
    values: Value
    counts: Value


class _UniqueInverseResult(NamedTuple):
    values: Value
    inverse_indices: Value


def _check_size(x: Value, size: int | None, name: str, argument: str = "first argument") -> None:
    if size is None and concrete_data(x) is None:
        raise errors.ConcretizationTypeError(
            x,
            f"The error arose for the {argument} of jnp.{name}(). To make jnp.{name}() compatible "
            "with JIT "
            "and other transforms, you can specify a concrete value for the size argument, which "
            "will "
            "determine the output size.\n",
        )


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """Return the distinct elements (slices along ``axis``) in ascending order.

    Args:
        ar: ``T[*s]``.
        return_index: also where each occurs first.
        return_inverse: also which of them each element is.
        return_counts: also how often each occurs.
        axis: compare slices along it; None: elements.
        equal_nan: whether NaNs are one element.
        size: length of the result; needed where ``ar`` is traced.
        fill_value: what fills a result that is longer than needed (the least element).
        sorted: accepted; results are sorted.

    Raises:
        ConcretizationTypeError: traced ``ar`` without ``size``.

    Example:
        >>> unique(np.array([3, 1, 3]))
        Array([1, 3], dtype=int32)
    """
    check_arraylike("unique", ar)
    x = as_operand("unique", ar)
    _check_size(x, size, "unique")
    shape = x.shape
    if axis is None:
        x = shapes.reshape(x, (x.size,))
        place = 0
    else:
        place = canonical_axis(axis, x.ndim)
        x = moveaxis(x, place, 0)
    rows = shapes.reshape(x, (x.shape[0], math.prod(x.shape[1:])))
    n = rows.shape[0]
    if n == 0:
        return _unique_of_nothing(
            x, place, size, fill_value, [return_index, return_inverse, return_counts]
        )
    order, starts = _groups(rows, equal_nan)
    data = concrete_data(starts)
    total = size if data is None or size is not None else int(data.sum())
    assert total is not None
    begins = nonzero(starts, size=operator.index(total), fill_value=n)[0]
    firsts = take(order, begins, mode="clip")
    values = take(x, firsts, 0, mode="clip")
    number = ufuncs.subtract(cumsum(retype(starts, _INT32)), 1)
    filler = None if fill_value is None else asarray(fill_value)
    missing = ufuncs.greater_equal(begins, n)
    values = _filled(
        values, missing, filler, take(x, take(order, np.zeros(1, int)), 0, mode="clip")
    )
    out: list[Value] = [moveaxis(values, 0, place)]
    if return_index:
        out.append(_filled(firsts, missing, None, take(order, np.zeros(1, int))))
    if return_inverse:
        inverse = scatter(shapes.full((n,), 0, _INT32), order, number, slicing.scatter)
        out.append(shapes.reshape(inverse, shape) if axis is None else inverse)
    if return_counts:
        ends = concatenate([begins[1:], np.full((1,), n, np.int32)]) if total else begins
        out.append(ufuncs.subtract(ends, begins))
    return out[0] if len(out) == 1 else tuple(out)


def _unique_of_nothing(
    x: Value, place: int, size: int | None, fill_value: Any, wanted: list[bool]
) -> Any:
    count = size or 0
    values = shapes.full((count, *x.shape[1:]), 0 if fill_value is None else fill_value, x.dtype)
    lengths = (count, 0, count)
    extras = [shapes.full((m,), 0, _INT32) for m, w in zip(lengths, wanted, strict=True) if w]
    out = (moveaxis(values, 0, place), *extras)
    return out[0] if len(out) == 1 else out


def _filled(values: Value, missing: Value, filler: Value | None, default: Value) -> Value:
    """Return ``values`` with rows that stand for nothing replaced."""
    other = default if filler is None else retype(filler, values.dtype)
    mask = shapes.reshape(missing, missing.shape + (1,) * (values.ndim - 1))
    return elementwise.select_n(
        broadcast_value(mask, values.shape), values, broadcast_value(other, values.shape)
    )


def _groups(rows: Value, equal_nan: bool) -> tuple[Value, Value]:
    """Return (order that sorts rows, which of them in that order differ from the one before)."""
    columns = [rows[:, k] for k in range(rows.shape[1])]
    n = rows.shape[0]
    if not columns:
        starts = from_numpy(np.arange(n) == 0)
        return from_numpy(np.arange(n, dtype=np.int32)), starts
    order = lexsort(columns[::-1])
    ordered = take(rows, order, 0, mode="clip")
    before, after = ordered[:-1], ordered[1:]
    differs = ufuncs.not_equal(after, before)
    if equal_nan and dtypes.kind_of(rows.dtype) in "fc":
        differs = ufuncs.bitwise_and(
            differs, ufuncs.invert(ufuncs.bitwise_and(isnan(after), isnan(before)))
        )
    return order, concatenate([np.ones((1,), bool), any_of(differs, 1)])


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> _UniqueAllResult:
    """Return values, first indices, inverse and counts of the distinct elements."""
    check_arraylike("unique_all", x)
    return _UniqueAllResult(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_counts(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> _UniqueCountsResult:
    """Return the distinct elements and how often each occurs."""
    check_arraylike("unique_counts", x)
    return _UniqueCountsResult(
        *unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_inverse(
    x: Any, /, *, size: int | None = None, fill_value: Any = None
) -> _UniqueInverseResult:
    """Return the distinct elements and which of them each element is."""
    check_arraylike("unique_inverse", x)
    return _UniqueInverseResult(
        *unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Value:
    """Return the distinct elements."""
    check_arraylike("unique_values", x)
    out: Value = unique(x, equal_nan=False, size=size, fill_value=fill_value)
    return out


# --- several sets ---


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Value:
    """Return whether each element occurs in ``test_elements``: ``-> bool[*s]``.

    Example:
        >>> isin(np.array([1, 2, 3]), np.array([2, 5]))
        Array([False,  True, False], dtype=bool)
    """
    check_arraylike("isin", element, test_elements)
    x, tests = promote_all("isin", element, test_elements)
    tests = shapes.reshape(tests, (tests.size,))
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            "method must be one of ['auto', 'compare_all', 'binary_search', 'sort']. Got {method=}"
        )
    if not tests.size or not x.size:
        return shapes.full(x.shape, bool(invert), _BOOL)
    full = (*x.shape, tests.shape[0])
    wide = broadcast_value(shapes.expand_dims(x, (x.ndim,)), full)
    hits = any_of(elementwise.eq(wide, broadcast_value(tests, full)), -1)
    return ufuncs.invert(hits) if invert else hits


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Value:
    """Return the distinct elements of both arrays."""
    check_arraylike("union1d", ar1, ar2)
    joined = concatenate([ravel(ar1), ravel(ar2)])
    out: Value = unique(joined, size=size, fill_value=fill_value)
    return out


def setdiff1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Value:
    """Return the distinct elements of ``ar1`` that are not in ``ar2``."""
    check_arraylike("setdiff1d", ar1, ar2)
    x = ravel(ar1)
    _check_size(x, size, "setdiff1d")
    if size is None:
        values = x if assume_unique else unique(x)
        return values[isin(values, ar2, invert=True)]
    keep = isin(x, ar2, invert=True)
    places = nonzero(keep, size=x.size, fill_value=x.size)[0]
    kept = take(x, places, mode="clip")
    found = elementwise.lt(places, broadcast_value(constant(x.size, _INT32), places.shape))
    return _sized(kept, found, size, 0 if fill_value is None else fill_value)


def _sized(values: Value, found: Value, size: int, fill_value: Any) -> Value:
    """Return the distinct values marked by ``found`` in a vector of fixed length.

    The rest is ``fill_value``; if that is None, the least of them.
    """
    group = shapes.stack([retype(ufuncs.invert(found), values.dtype), values], 1)
    order, starts = _groups(group, True)
    is_new = ufuncs.bitwise_and(starts, take(found, order, mode="clip"))
    places = nonzero(is_new, size=size, fill_value=values.size)[0]
    ordered = take(values, order, mode="clip")
    if fill_value is not None:
        return take(ordered, places, mode="fill", fill_value=fill_value)
    beyond = elementwise.ge(places, constant(values.size, places.dtype))
    chosen = take(ordered, places, mode="clip")
    return (
        elementwise.select_n(beyond, chosen, broadcast_value(chosen[:1], chosen.shape))
        if size
        else chosen
    )


def intersect1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Return the distinct elements that are in both arrays (and where, if ``return_indices``)."""
    check_arraylike("intersect1d", ar1, ar2)
    x, y = promote_all("intersect1d", ravel(ar1), ravel(ar2))
    _check_size(x, size, "intersect1d")
    _check_size(y, size, "intersect1d", "second argument")
    if size is not None:
        hits = isin(x, y)
        out: Any = _sized(x, hits, size, fill_value)
        if return_indices:
            raise NotImplementedError("intersect1d with size and return_indices")
        return out
    a, first_a = unique(x, return_index=True)
    b, first_b = unique(y, return_index=True)
    in_both = isin(a, b)
    values = a[in_both]
    if not return_indices:
        return values
    return values, first_a[in_both], first_b[isin(b, a)]


def setxor1d(
    ar1: Any,
    ar2: Any,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Value:
    """Return the distinct elements that are in exactly one of the arrays."""
    check_arraylike("setxor1d", ar1, ar2)
    x, y = promote_all("setxor1d", ravel(ar1), ravel(ar2))
    _check_size(x, size, "setxor1d")
    _check_size(y, size, "setxor1d", "second argument")
    if size is None:
        joined = concatenate([setdiff1d(x, y), setdiff1d(y, x)])
        out: Value = unique(joined)
        return out
    joined = concatenate([x, y])
    found = concatenate([isin(x, y, invert=True), isin(y, x, invert=True)])
    return _sized(joined, found, size, 0 if fill_value is None else fill_value)


__all__ = [
    "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip
