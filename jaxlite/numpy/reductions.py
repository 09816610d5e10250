"""Functions that combine elements along axes. In: an array, axes, maybe a mask.

Out: an array with fewer axes.

Half precision is summed in float32; small integers are summed as int32 (uint32), as in JAX.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.primitive import Primitive
from jaxlite.lax import elementwise, shapes
from jaxlite.lax.operands import constant
from jaxlite.numpy.axes import axes_tuple, canonical_axis, check_no_out
from jaxlite.numpy.choosing import choose_between, truth
from jaxlite.numpy.promotion import (
    as_operand,
    bind_broadcast,
    broadcast_value,
    check_arraylike,
    convert,
    promote_all_inexact,
    retype,
)
from jaxlite.primitives import argreduce
from jaxlite.primitives import arithmetic as ar
from jaxlite.primitives import reduction as red
from jaxlite.primitives.comparison import ne_p

_FLOAT32 = np.dtype(np.float32)
_BOOL = np.dtype(np.bool_)


def is_half(dtype: Any) -> bool:
    """Say whether ``dtype`` is a float of 16 bits or fewer."""
    return dtypes.kind_of(dtype) == "f" and dtype.itemsize <= 2


def kept_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return ``shape`` with the axes of a reduction as length 1."""
    return tuple([1 if axis in axes else n for axis, n in enumerate(shape)])


def keep_axes(out: Value, shape: tuple[int, ...], axes: tuple[int, ...]) -> Value:
    """Return a reduction's result with its axes back as length 1."""
    return shapes.expand_dims(out, axes) if axes else out


def masked(x: Value, where: Any, neutral: Any, name: str) -> Value:
    """Return ``x`` with ``neutral`` where the mask does not hold."""
    mask = truth(as_operand(name, where))
    return choose_between(mask, x, constant(neutral, x.aval.dtype), name)


def sum_dtype(dtype: Any) -> Any:
    """Return the dtype that a sum or product of ``dtype`` has: at least the default integer."""
    kind = dtypes.kind_of(dtype)
    default = dtypes.default_dtype(int)
    if kind == "b" or (kind == "i" and dtype.itemsize < default.itemsize):
        return default
    if kind == "u" and dtype.itemsize < default.itemsize:
        return np.dtype(f"u{default.name}")
    return dtype


def _combine(
    name: str, primitive: Primitive, merge: Primitive, neutral: int, text: str, **params: Any
) -> Callable[..., Value]:
    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
        promote_integers: bool = True,
    ) -> Value:
        check_arraylike(name, a)
        check_no_out(name, out)
        x = as_operand(name, a)
        axes = axes_tuple(axis, x.aval.ndim)
        own = x.aval.dtype
        if dtype is not None:
            result = dtypes.requested_dtype(dtype, name)
        elif promote_integers or own == _BOOL:
            result = sum_dtype(own)
        else:
            result = own
        work = _FLOAT32 if is_half(result) else result
        x = retype(x, work)
        if where is not None:
            x = masked(x, where, neutral, name)
        total = primitive.bind(x, axes=axes, **params)
        if keepdims:
            total = keep_axes(total, x.aval.shape, axes)
        if initial is not None:
            total = merge.bind(_initial(initial, work, name), total)
        return retype(total, result)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return the {text} of elements over ``axis`` (None: all).\n\n"
        "    Args:\n        a: ``T[*s]``.\n        axis: an int or ints.\n        dtype: of the "
        "result.\n"
        "        out: only None.\n        keepdims: leave the axes with length 1.\n"
        "        initial: combined with the result.\n        where: mask of the elements to take.\n"
        "        promote_integers: small integers give int32 (uint32).\n\n"
        "    Raises:\n        TypeError: ``a`` is a list.\n        ValueError: an axis that does "
        "not exist.\n"
    )
    return function


def _initial(value: Any, dtype: Any, name: str) -> Value:
    initial = retype(as_operand(name, value), dtype)
    if initial.ndim:
        raise ValueError(f"initial value must be a scalar. Got array of shape {initial.shape}")
    return initial


sum = _combine("sum", red.reduce_sum_p, ar.add_p, 0, "sum", out_sharding=None)
prod = _combine("prod", red.reduce_prod_p, ar.mul_p, 1, "product")


def _extremum(
    name: str, primitive: Primitive, merge: Primitive, sign: int, text: str
) -> Callable[..., Value]:
    public = {"amax": "max", "amin": "min"}.get(name, name)

    def function(
        a: Any,
        axis: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Value:
        check_arraylike(public, a)
        check_no_out(public, out)
        x = as_operand(public, a)
        axes = axes_tuple(axis, x.aval.ndim)
        shape = x.aval.shape
        if initial is None:
            if any_empty(shape, axes):
                raise ValueError(
                    f"zero-size array to reduction operation {public} which has no identity"
                    "\n  Fix: initial=value gives a result for empty arrays."
                )
            if where is not None:
                raise ValueError(
                    f"reduction operation {public} does not have an identity, so to use a where "
                    "mask "
                    "one has to specify 'initial'"
                )
        x = retype(x, x.aval.dtype)
        if where is not None:
            x = masked(x, where, red.extreme(x.aval.dtype, sign).item(), public)
        best = primitive.bind(x, axes=axes)
        if keepdims:
            best = keep_axes(best, shape, axes)
        if initial is not None:
            best = merge.bind(_initial(initial, x.aval.dtype, public), best)
        return best

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return the {text} element over ``axis`` (None: all); NaN wins.\n\n"
        "    Raises:\n        ValueError: no elements and no ``initial``.\n"
    )
    return function


def any_empty(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Say whether a reduction over ``axes`` has no elements to combine."""
    return math.prod(shape[axis] for axis in axes) == 0


max = _extremum("max", red.reduce_max_p, ar.max_p, -1, "greatest")
min = _extremum("min", red.reduce_min_p, ar.min_p, 1, "least")
amax = _extremum("amax", red.reduce_max_p, ar.max_p, -1, "greatest")
amin = _extremum("amin", red.reduce_min_p, ar.min_p, 1, "least")


def _truths(name: str, primitive: Primitive, neutral: bool, text: str) -> Callable[..., Value]:
    def function(
        a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
    ) -> Value:
        check_arraylike(name, a)
        check_no_out(name, out)
        x = truth(as_operand(name, a))
        axes = axes_tuple(axis, x.aval.ndim)
        x = retype(x, _BOOL)
        if where is not None:
            x = masked(x, where, neutral, name)
        result = primitive.bind(x, axes=axes)
        return keep_axes(result, x.aval.shape, axes) if keepdims else result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return whether {text} over ``axis`` (None: all) differ from 0: ``-> bool``."
    )
    return function


all = _truths("all", red.reduce_and_p, True, "all elements")
any = _truths("any", red.reduce_or_p, False, "any elements")


def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Value:
    """Return how many elements over ``axis`` (None: all) differ from 0: ``-> i32``.

    Example:
        >>> count_nonzero(np.array([[0, 1], [2, 3]]), axis=0)
        Array([1, 2], dtype=int32)
    """
    check_arraylike("count_nonzero", a)
    x = as_operand("count_nonzero", a)
    hit = ne_p.bind(x, constant(0, x.aval.dtype, x.aval.weak_type))
    return sum(hit, axis, dtypes.default_dtype(int), keepdims=keepdims)


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Value:
    """Return the greatest minus the least element over ``axis`` (None: all)."""
    check_arraylike("ptp", a)
    check_no_out("ptp", out)
    high, low = max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims)
    return ar.sub_p.bind(high, low)


# --- means ---


def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Value:
    """Return the arithmetic mean over ``axis`` (None: all); integers give floats.

    Args:
        a: ``T[*s]``.
        axis: an int or ints.
        dtype: of the result.
        out: only None.
        keepdims: leave the axes with length 1.
        where: mask of the elements to take.

    Example:
        >>> mean(np.array([[1, 2], [3, 5]]), axis=1)
        Array([1.5, 4. ], dtype=float32)
    """
    check_arraylike("mean", a)
    check_no_out("mean", out)
    x = as_operand("mean", a)
    axes = axes_tuple(axis, x.aval.ndim)
    if dtype is None:
        result = dtypes.to_inexact_dtype(x.aval.dtype)
    else:
        result = dtypes.requested_dtype(dtype, "mean")
    work = _FLOAT32 if is_half(result) else result
    total = sum(x, axis, dtype=work, keepdims=keepdims, where=where)
    count = _count(x.aval.shape, axes, where, work, keepdims)
    return convert(bind_broadcast(ar.div_p, "mean", total, count), result)


def _count(
    shape: tuple[int, ...], axes: tuple[int, ...], where: Any, dtype: Any, keepdims: bool
) -> Value:
    """Return how many elements each mean combines, as ``dtype``."""
    if where is None:
        return constant(math.prod(shape[axis] for axis in axes), dtype)
    mask = broadcast_value(truth(as_operand("where", where)), shape)
    return sum(mask, axes, dtype=dtype, keepdims=keepdims)


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Value:
    """Return the mean squared distance from the mean over ``axis``; the divisor is n - ddof.

    Args:
        a: ``T[*s]``.
        axis: an int or ints; None is all.
        dtype: of the result.
        out: only None.
        ddof: subtracted from the number of elements (``correction`` is another name).
        keepdims: leave the axes with length 1.
        where: mask of the elements to take.
        mean: the mean with its axes kept, where it is known.
        correction: other name of ``ddof``.

    Raises:
        ValueError: both ``ddof`` and ``correction``.

    Example:
        >>> var(np.float32([1, 3]))
        Array(1., dtype=float32)
    """
    check_arraylike("var", a)
    check_no_out("var", out)
    if correction is not None:
        if ddof:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    x = as_operand("var", a)
    axes = axes_tuple(axis, x.aval.ndim)
    work, result = _var_dtypes(x.aval.dtype, dtype)
    x = retype(x, work)
    centre = (
        _mean_kept(x, axis, work, where) if mean is None else retype(as_operand("var", mean), work)
    )
    centered = bind_broadcast(ar.sub_p, "var", x, centre)
    squares = _squared(centered)
    real = squares.aval.dtype
    n = _count(x.aval.shape, axes, where, real, keepdims)
    divisor = ar.sub_p.bind(n, retype(as_operand("var", ddof), real))
    total = sum(squares, axis, dtype=real, keepdims=keepdims, where=where)
    out_value = convert(bind_broadcast(ar.div_p, "var", total, divisor), result)
    positive = elementwise.gt(divisor, constant(0, real))
    return choose_between(positive, out_value, constant(np.nan, result), "var")


def _mean_kept(x: Value, axis: Any, dtype: Any, where: Any) -> Value:
    return mean(x, axis, dtype=dtype, keepdims=True, where=where)


def _squared(x: Value) -> Value:
    if dtypes.kind_of(x.aval.dtype) == "c":
        re, im = elementwise.real(x), elementwise.imag(x)
        return ar.add_p.bind(ar.square_p.bind(re), ar.square_p.bind(im))
    return ar.square_p.bind(x)


def _var_dtypes(own: Any, dtype: Any) -> tuple[Any, Any]:
    """Return (dtype of the computation, dtype of the result)."""
    if dtype is not None:
        wanted = dtypes.requested_dtype(dtype, "var")
        if dtypes.kind_of(own) == "c" and dtypes.kind_of(wanted) != "c":
            raise ValueError(
                "jax.numpy.var does not yet support real dtype parameters when computing the "
                "variance "
                "of an array of complex values. The semantics of numpy.var seem unclear in this "
                "case. "
                "Please comment on https://github.com/jax-ml/jax/issues/2283 if this behavior is "
                "important to you."
            )
        wide = dtypes.to_inexact_dtype(dtypes.promote_types(own, wanted))
        return (_FLOAT32 if is_half(wide) else wide), dtypes.to_real_dtype(wanted)
    inexact = dtypes.to_inexact_dtype(own)
    return (_FLOAT32 if is_half(inexact) else inexact), dtypes.to_real_dtype(inexact)


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Value:
    """Return the standard deviation over ``axis``: the square root of ``var``.

    Example:
        >>> std(np.float32([1, 3]))
        Array(1., dtype=float32)
    """
    check_arraylike("std", a)
    check_no_out("std", out)
    variance = var(
        a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction
    )
    return elementwise.sqrt(variance)


def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """Return the weighted mean over ``axis`` (with the sum of weights if ``returned``).

    Args:
        a: ``T[*s]``.
        axis: an int or ints; None is all.
        weights: of the shape of ``a``, or a vector along ``axis``.
        returned: return ``(average, sum of weights)``.
        keepdims: leave the axes with length 1.

    Raises:
        ValueError: weights of another shape.
        TypeError: weights of another shape and no axis.

    Example:
        >>> average(np.float32([1, 2]), weights=np.float32([3, 1]))
        Array(1.25, dtype=float32)
    """
    if weights is None:
        check_arraylike("average", a)
        (x,) = promote_all_inexact("average", a)
        out = mean(x, axis, keepdims=keepdims)
        n = x.size if axis is None else math.prod(x.shape[k] for k in axes_tuple(axis, x.ndim))
        total: Value = constant(n, out.dtype)
    else:
        check_arraylike("average", a, weights)
        x, w = promote_all_inexact("average", a, weights)
        if x.shape != w.shape:
            w = _weights_along(x, w, axis)
        total = sum(w, axis, keepdims=keepdims)
        out = bind_broadcast(
            ar.div_p, "average", sum(ar.mul_p.bind(x, w), axis, keepdims=keepdims), total
        )
    if not returned:
        return out
    return out, broadcast_value(total, out.shape)


def _weights_along(x: Value, w: Value, axis: Any) -> Value:
    if axis is None:
        raise ValueError("Axis must be specified when shapes of a and weights differ.")
    axes = axes_tuple(axis, x.ndim)
    if tuple(x.shape[k] for k in axes) != w.shape:
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    return shapes.broadcast_in_dim(w, x.shape, axes)


# --- where extremes are ---


def _argument(
    name: str, strict: Callable[[Value, int, Any], Value], text: str
) -> Callable[..., Value]:
    def function(
        a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
    ) -> Value:
        check_arraylike(name, a)
        check_no_out(name, out)
        x = as_operand(name, a)
        rank = x.ndim
        if axis is None:
            x, place = shapes.reshape(x, (x.size,)), 0
        else:
            place = canonical_axis(axis, rank)
        if x.shape[place] == 0:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        index = retype(strict(x, place, dtypes.default_dtype(int)), dtypes.default_dtype(int))
        if not keepdims:
            return index
        return shapes.expand_dims(index, tuple(range(rank)) if axis is None else (place,))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return where the {text} element along ``axis`` is (None: in the flattened array): ``-> "
        "i32``.\n\n"
        "    The first of equal ones; NaN counts as both.\n\n"
        "    Raises:\n        ValueError: the axis is empty or does not exist.\n"
    )
    return function


argmax = _argument("argmax", argreduce.argmax, "greatest")
argmin = _argument("argmin", argreduce.argmin, "least")

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "max", "mean",
    "min", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip
