"""Statistics of samples: the most frequent value, ranks, the standard error of the mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from jaxlite import numpy as jnp
from jaxlite.api.vmap import vmap
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.numpy.axes import canonical_axis
from jaxlite.numpy.promotion import as_operand, check_arraylike, promote_all_inexact

__all__ = ["ModeResult", "mode", "rankdata", "sem"]

_METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """What ``mode`` returns."""

    mode: Value
    count: Value


def _checked(nan_policy: str) -> None:
    if nan_policy == "omit":
        raise NotImplementedError(f"Logic for `nan_policy` of {nan_policy} is not implemented")
    if nan_policy == "raise":
        raise NotImplementedError(
            "In order to best JIT compile `mode`, we cannot know whether `x` contains nans. "
            "Please check if nans exist in `x` outside of the `mode` function."
        )
    if nan_policy != "propagate":
        raise ValueError(
            f"Illegal nan_policy value {nan_policy!r}; expected one of "
            "{'propagate', 'omit', 'raise'}"
        )


def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """Return the most frequent value along an axis (of several the least), and how often it is.

    Args:
        a: ``T[*s]``.
        axis: the axis; None takes all elements.
        nan_policy: only "propagate".
        keepdims: leave the axis with length 1.

    Raises:
        NotImplementedError: another ``nan_policy``.

    >>> mode(jnp.array([3, 1, 3]))
    ModeResult(mode=Array(3, dtype=int32), count=Array(2, dtype=int32))
    """
    check_arraylike("mode", a)
    x = jnp.atleast_1d(as_operand("mode", a))
    _checked(nan_policy)
    rank = x.ndim
    if axis is not None:
        axis = canonical_axis(axis, rank)
        x = jnp.moveaxis(x, axis, 0)
    shape = x.shape[1:] if axis is not None else ()
    columns = x.reshape((x.shape[0], -1)) if axis is not None and x.size else x.reshape((-1, 1))
    if x.size == 0:
        real = dtypes.to_inexact_dtype(x.dtype)
        value, count = jnp.full(shape, jnp.nan, real), jnp.zeros(shape, real)
    else:
        value, count = vmap(_mode, in_axes=1)(columns)
        value, count = value.reshape(shape), count.reshape(shape)
    if keepdims:
        kept = tuple(range(rank)) if axis is None else (axis,)
        value, count = jnp.expand_dims(value, kept), jnp.expand_dims(count, kept)
    return ModeResult(value, count)


def _mode(x: Value) -> tuple[Value, Value]:
    values, counts = jnp.unique(x, return_counts=True, size=x.shape[0])
    best = jnp.argmax(counts)
    return values[best], counts[best]


def rankdata(
    a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Value:
    """Return the place of each element in ascending order, from 1 on.

    Args:
        a: ``T[*s]``.
        method: what equal elements get: the "average", "min" or "max" of their places, the same
            place without gaps after it ("dense"), or places as they stand ("ordinal").
        axis: the axis; None flattens ``a``.
        nan_policy: only "propagate".

    Raises:
        ValueError: another method.

    >>> rankdata(jnp.array([5, 2, 5]))
    Array([2.5, 1. , 2.5], dtype=float32)
    """
    check_arraylike("rankdata", a)
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"Illegal nan_policy value {nan_policy!r}; expected one of "
            "{'propagate', 'omit', 'raise'}"
        )
    if nan_policy != "propagate":
        raise NotImplementedError(f"Logic for `nan_policy` of {nan_policy} is not implemented")
    if method not in _METHODS:
        raise ValueError(f"unknown method '{method}'")
    x = as_operand("rankdata", a)
    if axis is None:
        return _ranks(x.reshape(-1), method)
    axis = canonical_axis(axis, x.ndim)
    moved = jnp.moveaxis(x, axis, -1)
    rows = moved.reshape((math.prod(moved.shape[:-1]), moved.shape[-1]))
    out = vmap(lambda row: _ranks(row, method))(rows)
    return jnp.moveaxis(out.reshape(moved.shape), -1, axis)


def _ranks(x: Value, method: str) -> Value:
    n = x.shape[0]
    order = jnp.argsort(x)
    inverse = jnp.argsort(order)
    if method == "ordinal":
        return (inverse + 1).astype(float)
    values = x[order]
    is_new = jnp.concatenate([jnp.ones(min(n, 1), bool), values[1:] != values[:-1]])
    dense = jnp.cumsum(is_new)[inverse]
    if method == "dense":
        ranks = dense
    else:
        starts = jnp.nonzero(is_new, size=n + 1, fill_value=n)[0]
        if method == "max":
            ranks = starts[dense]
        elif method == "min":
            ranks = starts[dense - 1] + 1
        else:
            ranks = (starts[dense] + starts[dense - 1] + 1) / 2
    ranks = ranks.astype(float)
    if dtypes.kind_of(x.dtype) == "f":
        ranks = jnp.where(jnp.any(jnp.isnan(x)), jnp.nan, ranks)
    return ranks


def sem(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Value:
    """Return the standard error of the mean along an axis.

    Args:
        a: ``T[*s]``.
        axis: the axis; None takes all elements.
        ddof: what is taken from the number of elements.
        nan_policy: "propagate" or "omit" (leaves NaN out).
        keepdims: leave the axis with length 1.

    Raises:
        ValueError: another ``nan_policy``.
    """
    (x,) = promote_all_inexact("sem", a)
    if nan_policy == "raise":
        raise NotImplementedError(f"Logic for `nan_policy` of {nan_policy} is not implemented")
    if nan_policy not in ("propagate", "omit"):
        raise ValueError(
            f"Illegal nan_policy value {nan_policy!r}; expected one of "
            "{'propagate', 'omit', 'raise'}"
        )
    if axis is None:
        x = x.reshape((-1,) + (1,) * (x.ndim - 1 if keepdims else 0))
        axis = 0
    if nan_policy == "omit":
        count = jnp.sum(~jnp.isnan(x), axis, keepdims=keepdims)
        spread = jnp.nanstd(x, axis, ddof=ddof, keepdims=keepdims)
        return spread / jnp.sqrt(count.astype(spread.dtype))
    spread = jnp.std(x, axis, ddof=ddof, keepdims=keepdims)
    return spread / jnp.sqrt(jnp.asarray(x.shape[axis], spread.dtype))
