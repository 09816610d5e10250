"""Order statistics, histograms, correlations. In: arrays. Out: numbers that describe them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite import errors
from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.lax import elementwise, shapes, slicing
from jaxlite.lax.operands import constant
from jaxlite.numpy import ufuncs
from jaxlite.numpy.arithmetic import conj, imag, real
from jaxlite.numpy.at import scatter
from jaxlite.numpy.axes import axes_tuple
from jaxlite.numpy.choosing import choose_between, clip, where_three
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.cumulative import diff
from jaxlite.numpy.diagonals import diag
from jaxlite.numpy.indexing import concrete_data, getitem
from jaxlite.numpy.joining import concatenate
from jaxlite.numpy.logic import isnan
from jaxlite.numpy.ordering import searchsorted, sort
from jaxlite.numpy.products import dot
from jaxlite.numpy.promotion import (
    as_operand,
    broadcast_value,
    check_arraylike,
    promote_all,
    promote_all_inexact,
    relaxed,
    retype,
)
from jaxlite.numpy.ranges import linspace
from jaxlite.numpy.rearrange import moveaxis, ravel
from jaxlite.numpy.reductions import average
from jaxlite.numpy.reductions import max as max_of
from jaxlite.numpy.reductions import min as min_of
from jaxlite.numpy.reductions import sum as sum_of

_INT32 = np.dtype(np.int32)
_range = range  # the name is an argument of the histograms
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


# --- quantiles ---


def _quantile(
    name: str,
    a: Any,
    q: Any,
    axis: Any,
    method: str,
    keepdims: bool,
    skips_nan: bool,
) -> Value:
    if method not in _METHODS:
        raise ValueError(
            "method can only be 'linear', 'lower', 'higher', 'midpoint', 'nearest' or "
            "'inverted_cdf'"
        )
    check_arraylike(name, a, q)
    x, levels = promote_all_inexact(name, a, q)
    if dtypes.kind_of(x.dtype) == "c":
        raise ValueError(
            f"{name} does not support complex input, as the operation is poorly defined."
        )
    if levels.ndim > 1:
        raise ValueError("q must be have rank <= 1, got shape {}".format(levels.shape))  # noqa: UP032
    rank, axes = x.ndim, axes_tuple(axis, x.ndim)
    kept = [k for k in range(rank) if k not in axes]
    shape = tuple(x.shape[k] for k in kept)
    x = moveaxis(x, tuple(kept), tuple(range(len(kept))))
    n = math.prod(x.shape[len(kept) :])
    x = shapes.reshape(x, (*shape, n))
    if n == 0:
        out = shapes.full((*levels.shape, *shape), np.nan, x.dtype)
    else:
        out = _levels(sort(x), levels, n, method, skips_nan)
    if keepdims:
        out = shapes.expand_dims(out, tuple(k + levels.ndim for k in axes))
    return out


def _levels(ordered: Value, levels: Value, n: int, method: str, skips_nan: bool) -> Value:
    """Return the quantiles (first axis, if ``levels`` is a vector) of sorted rows."""
    dtype = ordered.dtype
    nan_count = sum_of(retype(isnan(ordered), _INT32), -1)
    if skips_nan:
        counts = ufuncs.subtract(constant(n, _INT32), nan_count)
        last = ufuncs.subtract(retype(counts, dtype), 1)
    else:
        last = shapes.full(nan_count.shape, n - 1, dtype)
    level = shapes.reshape(levels, levels.shape + (1,) * last.ndim)
    place = ufuncs.multiply(level, last)
    if method == "inverted_cdf":
        # The first element at which the share of elements so far reaches the level.
        place = ufuncs.subtract(elementwise.ceil(ufuncs.multiply(level, ufuncs.add(last, 1))), 1)
    low, high = elementwise.floor(place), elementwise.ceil(place)
    weight = ufuncs.subtract(place, low)
    limit = constant(0, dtype)
    low, high = (ufuncs.maximum(limit, ufuncs.minimum(p, last)) for p in (low, high))
    lower, upper = (_pick(ordered, retype(p, _INT32)) for p in (low, high))
    match method:
        case "linear":
            rest = ufuncs.subtract(1, weight)
            out = ufuncs.add(ufuncs.multiply(lower, rest), ufuncs.multiply(upper, weight))
        case "lower" | "inverted_cdf":
            out = lower
        case "higher":
            out = upper
        case "nearest":
            out = where_three(ufuncs.less_equal(weight, 0.5), lower, upper)
        case _:
            out = ufuncs.multiply(ufuncs.add(lower, upper), 0.5)
    spoiled = ufuncs.less(last, limit) if skips_nan else ufuncs.greater(nan_count, 0)
    out = where_three(broadcast_value(spoiled, out.shape), np.nan, out)
    return retype(out, dtype)


def _pick(ordered: Value, places: Value) -> Value:
    """Return ``ordered[..., places]`` row by row; ``places`` may have a first axis of levels."""
    extra = places.ndim - (ordered.ndim - 1)
    rows = tuple(
        shapes.broadcasted_iota(_INT32, places.shape, k + extra) for k in range(ordered.ndim - 1)
    )
    return getitem(ordered, (*rows, places))


def _quantile_function(name: str, scale: float, skips_nan: bool, text: str) -> Callable[..., Value]:
    def function(
        a: Any,
        q: Any,
        axis: Any = None,
        out: None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
    ) -> Value:
        check_arraylike(name, a, q)
        if overwrite_input or out is not None:
            raise ValueError(
                f"jax.numpy.{name} does not support overwrite_input=True or out != None"
            )
        if weights is not None:
            raise NotImplementedError(f"weights of jnp.{name} are not supported")
        levels = q if scale == 1.0 else ufuncs.divide(q, scale)
        return _quantile(name.removeprefix("nan"), a, levels, axis, method, keepdims, skips_nan)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return {text} of elements over ``axis`` (None: all).\n\n"
        "    ``method`` says what lies between two elements: linear, lower, higher, midpoint,\n    "
        "nearest, inverted_cdf.\n\n"
        "    Raises:\n        ValueError: an unknown method, or complex numbers.\n"
    )
    return function


quantile = _quantile_function("quantile", 1.0, False, "the quantiles ``q`` (0 to 1)")
percentile = _quantile_function("percentile", 100.0, False, "the percentiles ``q`` (0 to 100)")
nanquantile = _quantile_function("nanquantile", 1.0, True, "the quantiles ``q``, NaN left out,")
nanpercentile = _quantile_function(
    "nanpercentile", 100.0, True, "the percentiles ``q``, NaN left out,"
)


def median(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Value:
    """Return the middle element over ``axis`` (None: all), the mean of two if their number is even.

    Example:
        >>> median(np.array([3, 1, 2, 10]))
        Array(2.5, dtype=float32)
    """
    check_arraylike("median", a)
    return quantile(a, 0.5, axis, out, overwrite_input, keepdims=keepdims, method="midpoint")


def nanmedian(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Value:
    """Return the median over ``axis``, NaN left out."""
    check_arraylike("nanmedian", a)
    return nanquantile(a, 0.5, axis, out, overwrite_input, keepdims=keepdims, method="midpoint")


# --- counting ---


def bincount(
    x: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Value:
    """Return how often each number 0, 1, 2, ... occurs (or the sum of its ``weights``).

    Args:
        x: integers ``[n]``; negative ones count as 0.
        weights: ``T[n]``.
        minlength: at least so many counts.
        length: exactly so many; needed where ``x`` is traced.
        out_sharding: only None (one device).

    Raises:
        TypeError: ``x`` is not of integer dtype.

    Example:
        >>> bincount(np.array([1, 1, 3]))
        Array([0, 2, 0, 1], dtype=int32)
    """
    check_arraylike("bincount", x)
    v = as_operand("bincount", x)
    if dtypes.kind_of(v.dtype) not in "biu":
        raise TypeError(
            f"x argument to bincount must have an integer type; got {dtypes.name_of(v.dtype)}"
        )
    if v.ndim != 1:
        raise ValueError("only 1-dimensional input supported.")
    minlength = operator.index(minlength)
    if length is None:
        data = concrete_data(v)
        if data is None:
            raise errors.ConcretizationTypeError(
                v,
                "The error occurred because of argument 'x' of jnp.bincount. To avoid this error, "
                "pass a "
                "static `length` argument.\n",
            )
        length = max(minlength, int(data.max()) + 1 if data.size else 0)
    amount: Any = 1 if weights is None else as_operand("bincount", weights, 1)
    if weights is not None and tuple(amount.shape) != v.shape:
        raise ValueError("shape of weights must match shape of x.")
    kind = dtypes.default_dtype(int) if weights is None else amount.dtype
    positions = clip(retype(v, dtypes.default_dtype(int)) if v.dtype == np.bool_ else v, 0)
    return scatter(
        shapes.full((length,), 0, kind), positions, amount, slicing.scatter_add, mode="drop"
    )


@relaxed
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Value:
    """Return the edges of equal bins from the least to the greatest element (``range``)."""
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    check_arraylike("histogram_bin_edges", a, bins)
    (x,) = promote_all_inexact("histogram_bin_edges", a)
    if np.ndim(bins) if not isinstance(bins, Array) else bins.ndim:
        return retype(asarray(bins), x.dtype)
    n = operator.index(bins)
    if range is None:
        low, high = (
            (min_of(x), max_of(x)) if x.size else (constant(0, x.dtype), constant(1, x.dtype))
        )
    else:
        low, high = (retype(asarray(r), x.dtype) for r in range)
    is_point = ufuncs.equal(low, high)
    low, high = (
        choose_between(is_point, ufuncs.subtract(low, 0.5), low),
        choose_between(is_point, ufuncs.add(high, 0.5), high),
    )
    return linspace(low, high, n + 1, dtype=x.dtype)


def histogram(
    a: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Value, Value]:
    """Return (how many elements fall into each bin, the edges of the bins).

    Args:
        a: ``T[*s]``.
        bins: how many, or their edges.
        range: (low, high) of the bins, that of the elements by default.
        weights: counted instead of 1.
        density: whether to scale so that the integral is 1.

    Example:
        >>> histogram(np.array([1, 2, 2, 5]), bins=2)[0]
        Array([3., 1.], dtype=float32)
    """
    check_arraylike("histogram", a, *([] if weights is None else [weights]))
    (x,) = promote_all_inexact("histogram", a)
    if weights is None:
        w = shapes.full(x.shape, 1, x.dtype)
    else:
        w = as_operand("histogram", weights)
        if w.shape != x.shape:
            raise ValueError("weights should have the same shape as a.")
    edges = histogram_bin_edges(x, bins, range)
    counts = _bin_counts(ravel(x), edges, ravel(w))
    if density:
        counts = _density(counts, diff(edges))
    return counts, edges


@relaxed
def _density(counts: Value, widths: Value) -> Value:
    return ufuncs.divide(ufuncs.divide(counts, widths), sum_of(counts))


@relaxed
def _bin_counts(x: Value, edges: Value, w: Value) -> Value:
    """The last bin contains its right edge; elements outside are dropped."""
    n = edges.shape[0] - 1
    place = ufuncs.subtract(searchsorted(edges, x, side="right"), 1)
    place = where_three(ufuncs.equal(x, edges[-1]), n - 1, place)
    place = where_three(ufuncs.less(place, 0), n, place)
    return scatter(shapes.full((n,), 0, w.dtype), place, w, slicing.scatter_add, mode="drop")


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Value, Value, Value]:
    """Return (counts of pairs, edges of x, edges of y)."""
    check_arraylike("histogram2d", x, y)
    several = isinstance(bins, list | tuple) and len(bins) == 2
    sample = shapes.stack(promote_all("histogram2d", ravel(x), ravel(y)), 1)
    counts, edges = histogramdd(sample, bins if several else [bins, bins], range, weights, density)
    return counts, edges[0], edges[1]


@relaxed
def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Value, list[Value]]:
    """Return (counts of points, edges per coordinate) of points ``T[n, d]``."""
    points = as_operand("histogramdd", sample)
    if points.ndim != 2:
        raise ValueError(f"sample must be two-dimensional, got shape {points.shape}")
    n, d = points.shape
    per_axis = list(bins) if isinstance(bins, list | tuple) else [bins] * d
    if len(per_axis) != d:
        raise ValueError("should be one bin for each dimension.")
    ranges = [None] * d if range is None else list(range)
    edges = [histogram_bin_edges(points[:, k], per_axis[k], ranges[k]) for k in _range(d)]
    lengths = tuple(e.shape[0] - 1 for e in edges)
    flat: Any = constant(0, _INT32)
    outside: Any = constant(False, np.dtype(bool))
    for k, edge in enumerate(edges):
        v = retype(points[:, k], edge.dtype)
        place = ufuncs.subtract(searchsorted(edge, v, side="right"), 1)
        place = where_three(ufuncs.equal(v, edge[-1]), lengths[k] - 1, place)
        beyond = ufuncs.bitwise_or(ufuncs.less(place, 0), ufuncs.greater_equal(place, lengths[k]))
        outside = ufuncs.bitwise_or(outside, beyond)
        flat = ufuncs.add(ufuncs.multiply(flat, lengths[k]), place)
    flat = where_three(outside, math.prod(lengths), flat)
    amount = shapes.full((n,), 1, _INT32) if weights is None else as_operand("histogramdd", weights)
    total = scatter(
        shapes.full((math.prod(lengths),), 0, amount.dtype),
        flat,
        amount,
        slicing.scatter_add,
        mode="drop",
    )
    counts = shapes.reshape(total, lengths)
    if density:
        counts = ufuncs.divide(counts, sum_of(counts))
        for k, edge in enumerate(edges):
            shape = [1] * d
            shape[k] = lengths[k]
            counts = ufuncs.divide(counts, shapes.reshape(diff(edge), tuple(shape)))
    return counts, edges


# --- correlation ---


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Value:
    """Return the covariances of variables (rows of ``m``, columns if not ``rowvar``).

    Args:
        m: ``T[variables, observations]`` or ``T[observations]``.
        y: more variables.
        rowvar: whether rows are variables.
        bias: divide by n instead of n - 1.
        ddof: divide by n - ddof.
        fweights: how often each observation counts (integers).
        aweights: how important each observation is.
        dtype: of the result.

    Example:
        >>> cov(np.float32([[1, 2, 3], [3, 2, 1]]))
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    arrays = [m] if y is None else [m, y]
    check_arraylike("cov", *arrays)
    values = promote_all_inexact("cov", *arrays)
    if any_rank_over_two(values):
        raise ValueError("m has more than 2 dimensions")
    rows = [_as_rows(v, rowvar) for v in values]
    x = concatenate(rows, 0) if len(rows) > 1 else rows[0]
    _check_inexact("cov", dtype)
    if dtype is not None:
        x = retype(x, dtypes.requested_dtype(dtype, "cov"))
    if ddof is None:
        ddof = 0 if bias else 1
    w = _observation_weights(x, fweights, aweights)
    if w is None:
        mean, total = average(x, 1, keepdims=True), None
        divisor: Any = x.shape[1] - ddof
    else:
        mean, sums = average(x, 1, broadcast_value(w, x.shape), returned=True)
        mean, total = shapes.expand_dims(mean, (1,)), sums[0]
        if ddof == 0:
            divisor = total
        elif aweights is None:
            divisor = ufuncs.subtract(total, ddof)
        else:
            again = ufuncs.multiply(w, elementwise.abs(retype(asarray(aweights), w.dtype)))
            divisor = ufuncs.subtract(
                total, ufuncs.divide(ufuncs.multiply(ddof, sum_of(again)), total)
            )
    centered = ufuncs.subtract(x, mean)
    weighted = centered if w is None else ufuncs.multiply(centered, w)
    out = ufuncs.divide(dot(centered, conj(shapes.transpose(weighted, (1, 0)))), divisor)
    return shapes.squeeze(out, tuple(k for k, n in enumerate(out.shape) if n == 1))


def _check_inexact(name: str, dtype: Any) -> None:
    if dtype is not None and dtypes.kind_of(dtypes.as_dtype(dtype)) not in "fc":
        raise ValueError(f"{name}: dtype must be a subclass of float or complex; got dtype={dtype}")


def any_rank_over_two(values: Sequence[Value]) -> bool:
    """Say whether an array has more than two axes."""
    return any(v.ndim > 2 for v in values)


def _as_rows(v: Value, rowvar: bool) -> Value:
    rows = shapes.expand_dims(v, tuple(k for k in _range(2 - v.ndim)))
    return shapes.transpose(rows, (1, 0)) if not rowvar and v.ndim == 2 else rows


def _observation_weights(x: Value, fweights: Any, aweights: Any) -> Value | None:
    w: Value | None = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        check_arraylike("cov", given)
        array = as_operand("cov", given)
        if array.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if array.shape[0] != x.shape[1]:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if name == "fweights" and dtypes.kind_of(array.dtype) not in "iu":
            raise TypeError("fweights must be integer.")
        array = elementwise.abs(retype(array, dtypes.to_real_dtype(x.dtype)))
        w = array if w is None else ufuncs.multiply(w, array)
    return w


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Value:
    """Return the correlations of variables: covariances divided by both standard deviations.

    Example:
        >>> corrcoef(np.float32([[1, 2, 3], [3, 2, 1]]))
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    check_arraylike("corrcoef", x)
    _check_inexact("corrcoef", dtype)
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return ufuncs.divide(c, c)
    deviation = elementwise.sqrt(real(diag(c)))
    deviation = retype(deviation, c.dtype)
    c = ufuncs.divide(
        ufuncs.divide(c, shapes.expand_dims(deviation, (1,))), shapes.expand_dims(deviation, (0,))
    )
    if dtypes.kind_of(c.dtype) == "c":
        return elementwise.complex(clip(real(c), -1, 1), clip(imag(c), -1, 1))
    return clip(c, -1, 1)


__all__ = [
    "bincount", "corrcoef", "cov", "histogram", "histogram2d", "histogram_bin_edges",
    "histogramdd", "median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile",
]  # fmt: skip
