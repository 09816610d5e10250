"""Reductions that leave NaN out. In: an array, axes.

Out: as the function without ``nan`` in its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.lax import elementwise
from jaxlite.lax.operands import constant
from jaxlite.numpy import reductions as plain
from jaxlite.numpy import ufuncs
from jaxlite.numpy.axes import check_no_out
from jaxlite.numpy.choosing import choose_between
from jaxlite.numpy.cumulative import without_nan
from jaxlite.numpy.logic import isnan, logical_not
from jaxlite.numpy.promotion import as_operand, check_arraylike
from jaxlite.primitives import reduction as red


def _skipping(
    name: str, base: Callable[..., Value], neutral: Any, text: str, takes_dtype: bool
) -> Callable[..., Value]:
    def run(
        a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any
    ) -> Value:
        check_arraylike(name, a)
        check_no_out(name, out)
        x = as_operand(name, a)
        options = {"dtype": dtype} if takes_dtype else {}
        value = neutral(x.dtype) if callable(neutral) else neutral
        result = base(
            without_nan(x, value), axis, keepdims=keepdims, initial=initial, where=where, **options
        )
        if takes_dtype or initial is not None or dtypes.kind_of(x.dtype) not in "fc":
            return result
        only_nan = plain.all(isnan(x), axis, keepdims=keepdims)
        return choose_between(only_nan, constant(np.nan, result.dtype), result)

    if takes_dtype:

        def function(
            a: Any,
            axis: Any = None,
            dtype: Any = None,
            out: None = None,
            keepdims: bool = False,
            initial: Any = None,
            where: Any = None,
        ) -> Value:
            return run(a, axis, dtype, out, keepdims, initial, where)

    else:

        def function(  # type: ignore[misc]
            a: Any,
            axis: Any = None,
            out: None = None,
            keepdims: bool = False,
            initial: Any = None,
            where: Any = None,
        ) -> Value:
            return run(a, axis, None, out, keepdims, initial, where)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the {text} of elements that are not NaN over ``axis`` (None: all)."
    return function


def _least(dtype: Any) -> Any:
    return red.extreme(dtype, -1).item()


def _greatest(dtype: Any) -> Any:
    return red.extreme(dtype, 1).item()


nansum = _skipping("nansum", plain.sum, 0, "sum", True)
nanprod = _skipping("nanprod", plain.prod, 1, "product", True)
nanmax = _skipping("nanmax", plain.max, _least, "greatest", False)
nanmin = _skipping("nanmin", plain.min, _greatest, "least", False)


def _mask(x: Value, where: Any) -> Value:
    mask = logical_not(isnan(x))
    return mask if where is None else ufuncs.bitwise_and(mask, where)


def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Value:
    """Return the mean of elements that are not NaN over ``axis`` (None: all).

    Example:
        >>> nanmean(np.float32([1, np.nan, 3]))
        Array(2., dtype=float32)
    """
    check_arraylike("nanmean", a)
    check_no_out("nanmean", out)
    x = as_operand("nanmean", a)
    if dtypes.kind_of(x.dtype) in "biu":
        return plain.mean(x, axis, dtype, None, keepdims, where=where)
    return plain.mean(x, axis, dtype, None, keepdims, where=_mask(x, where))


def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Value:
    """Return the variance of elements that are not NaN over ``axis`` (None: all)."""
    check_arraylike("nanvar", a)
    check_no_out("nanvar", out)
    x = as_operand("nanvar", a)
    mask = _mask(x, where)
    clean = without_nan(x, 0)
    return plain.var(clean, axis, dtype, None, ddof, keepdims, where=mask, mean=mean)


def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Value:
    """Return the standard deviation of elements that are not NaN over ``axis`` (None: all)."""
    check_arraylike("nanstd", a)
    check_no_out("nanstd", out)
    return elementwise.sqrt(nanvar(a, axis, dtype, None, ddof, keepdims, where, mean))


def _nan_argument(
    name: str, base: Callable[..., Value], worst: Callable[[Any], Any], text: str
) -> Callable[..., Value]:
    def function(
        a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
    ) -> Value:
        check_arraylike(name, a)
        check_no_out(name, out)
        x = as_operand(name, a)
        if dtypes.kind_of(x.dtype) not in "fc":
            return base(x, axis, keepdims=keepdims)
        index = base(without_nan(x, worst(x.dtype)), axis, keepdims=keepdims)
        nowhere = plain.all(isnan(x), axis, keepdims=bool(keepdims))
        return choose_between(nowhere, constant(-1, index.dtype), index)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return where the {text} element that is not NaN is along ``axis``; -1 if all are NaN."
    )
    return function


nanargmax = _nan_argument("nanargmax", plain.argmax, _least, "greatest")
nanargmin = _nan_argument("nanargmin", plain.argmin, _greatest, "least")

__all__ = [
    "nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
    "nanvar",
]  # fmt: skip
