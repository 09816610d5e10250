"""Reductions. In: an array and ``axes``. Out: the array without these axes.

Sums and products of half precision are accumulated in float32. Empty reductions give the identity.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import ArrayModule, TangentMaps, not_differentiable
from jaxlite.language.trace import get_aval
from jaxlite.primitives.arithmetic import div, mul
from jaxlite.primitives.families import (
    ANY,
    NOT_LINEAR,
    Reduction,
    in_float32,
    ops,
    provide,
    quiet,
    scalar_like,
)

Axes = tuple[int, ...]
_NUMBER = ("number",)


def kept_axes(rank: int, axes: Axes) -> Axes:
    """Return the axes that a reduction over ``axes`` leaves."""
    return tuple(axis for axis in range(rank) if axis not in axes)


def broadcast_back(x: Value, shape: tuple[int, ...], axes: Axes) -> Value:
    """Return a reduction's result repeated along the axes that were reduced."""
    return ops.broadcast_in_dim(x, shape, kept_axes(len(shape), axes))


class ReduceSum(Reduction):
    """The sum of the elements along ``axes``. Linear."""

    name = "reduce_sum"
    combiner = "add"
    accepts = _NUMBER

    def identity(self, dtype: Any) -> Any:
        return dtype.type(0)

    @quiet
    def impl(self, xp: ArrayModule, x: Any, *, axes: Axes, **params: Any) -> Any:
        return in_float32(lambda v: xp.sum(v, axis=axes, dtype=v.dtype), x)

    def jvp(self, out: Value, x: Value, **params: Any) -> TangentMaps:
        return (lambda t: self.bind(t, **params),)

    def transpose(self, ct: Value, x: Any, *, axes: Axes, **params: Any) -> tuple[Any, ...]:
        return (broadcast_back(ct, x.aval.shape, axes),)


class ReduceProd(Reduction):
    """The product of the elements along ``axes``."""

    name = "reduce_prod"
    combiner = "mul"
    accepts = _NUMBER
    transpose = NOT_LINEAR

    def identity(self, dtype: Any) -> Any:
        return dtype.type(1)

    @quiet
    def impl(self, xp: ArrayModule, x: Any, *, axes: Axes) -> Any:
        return in_float32(lambda v: xp.prod(v, axis=axes, dtype=v.dtype), x)

    def jvp(self, out: Value, x: Value, *, axes: Axes) -> TangentMaps:
        others = _product_of_others(x, axes)
        return (lambda t: reduce_sum(mul(t, others), axes),)


def _product_of_others(x: Value, axes: Axes) -> Value:
    """Return for each element the product of all others it is reduced with; exact at zeros."""
    shape = get_aval(x).shape
    kept = kept_axes(len(shape), axes)
    order = (*kept, *axes)
    length = math.prod(shape[axis] for axis in axes)
    rows = ops.reshape(ops.transpose(x, order), (*(shape[axis] for axis in kept), length))
    axis, one = len(kept), scalar_like(x, 1)
    before = [(0, 0, 0)] * axis
    # Product of what comes before and of what comes after: running products, moved by one.
    left = ops.pad(ops.cumprod(rows, axis, False), one, (*before, (1, -1, 0)))
    right = ops.pad(ops.cumprod(rows, axis, True), one, (*before, (-1, 1, 0)))
    product = ops.reshape(mul(left, right), tuple(shape[axis] for axis in order))
    inverse = tuple(order.index(axis) for axis in range(len(order)))
    return ops.transpose(product, inverse)


class _ReduceExtremum(Reduction):
    """Maximum or minimum along ``axes``; NaN wins."""

    accepts = ANY
    transpose = NOT_LINEAR
    ufunc: ClassVar[str]

    @quiet
    def impl(self, xp: ArrayModule, x: Any, *, axes: Axes, **params: Any) -> Any:
        if x.size == 0:
            shape = tuple(n for axis, n in enumerate(x.shape) if axis not in axes)
            return xp.full(shape, self.identity(x.dtype), x.dtype)
        return in_float32(lambda v: getattr(xp, self.ufunc)(v, axis=axes), x)

    def jvp(self, out: Value, x: Value, *, axes: Axes, **params: Any) -> TangentMaps:
        # The winners share the tangent equally.
        shape = get_aval(x).shape
        is_winner = ops.eq(x, broadcast_back(out, shape, axes))
        winners = ops.convert_element_type(is_winner, get_aval(x).dtype)
        count = reduce_sum(winners, axes)
        return (lambda t: div(reduce_sum(mul(t, winners), axes), count),)


class ReduceMax(_ReduceExtremum):
    """The greatest element along ``axes``."""

    name = "reduce_max"
    combiner = ufunc = "max"

    def identity(self, dtype: Any) -> Any:
        return extreme(dtype, -1)


class ReduceMin(_ReduceExtremum):
    """The least element along ``axes``."""

    name = "reduce_min"
    combiner = ufunc = "min"

    def identity(self, dtype: Any) -> Any:
        return extreme(dtype, 1)


def extreme(dtype: Any, sign: int) -> Any:
    """Return the least (``sign`` -1) or greatest (1) value of ``dtype``, infinite for floats."""
    kind = dtypes.kind_of(dtype)
    if kind == "b":
        return dtype.type(sign > 0)
    if kind in "iu":
        info = dtypes.iinfo(dtype)
        return dtype.type(info.max if sign > 0 else info.min)
    return dtype.type(sign * math.inf)


class _ReduceBits(Reduction):
    """Combine the bits along ``axes``."""

    jvp = not_differentiable("integer result")
    transpose = NOT_LINEAR
    ufunc: ClassVar[str]

    def abstract_eval(self, operand: ShapedArray, *, axes: Axes, **params: Any) -> ShapedArray:
        if dtypes.kind_of(operand.dtype) not in "biu":
            raise TypeError(
                "logical reduction requires operand dtype bool or int, "
                f"got {dtypes.name_of(operand.dtype)}."
            )
        return super().abstract_eval(operand, axes=axes, **params)

    def identity(self, dtype: Any) -> Any:
        return dtype.type(0)

    def impl(self, xp: ArrayModule, x: Any, *, axes: Axes) -> Any:
        return getattr(xp, self.ufunc).reduce(x, axis=axes, initial=self.identity(x.dtype))


class ReduceAnd(_ReduceBits):
    """Bits set in all elements along ``axes``."""

    name = "reduce_and"
    combiner = "and"
    ufunc = "bitwise_and"

    def identity(self, dtype: Any) -> Any:
        return np.invert(dtype.type(0))


class ReduceOr(_ReduceBits):
    """Bits set in any element along ``axes``."""

    name = "reduce_or"
    combiner = "or"
    ufunc = "bitwise_or"


class ReduceXor(_ReduceBits):
    """Bits set in an odd number of elements along ``axes``."""

    name = "reduce_xor"
    combiner = "xor"
    ufunc = "bitwise_xor"


reduce_sum_p, reduce_prod_p = ReduceSum(), ReduceProd()
reduce_max_p, reduce_min_p = ReduceMax(), ReduceMin()
reduce_and_p, reduce_or_p, reduce_xor_p = ReduceAnd(), ReduceOr(), ReduceXor()


def reduce_sum(x: Value, axes: Axes) -> Value:
    """Return the sum over ``axes``: ``T[*s] -> T[*kept]`` for numbers."""
    return reduce_sum_p.bind(x, axes=tuple(axes), out_sharding=None)


def reduce_prod(x: Value, axes: Axes) -> Value:
    """Return the product over ``axes``: ``T[*s] -> T[*kept]`` for numbers."""
    return reduce_prod_p.bind(x, axes=tuple(axes))


def reduce_max(x: Value, axes: Axes) -> Value:
    """Return the maximum over ``axes``: ``T[*s] -> T[*kept]``; NaN wins."""
    return reduce_max_p.bind(x, axes=tuple(axes))


def reduce_min(x: Value, axes: Axes) -> Value:
    """Return the minimum over ``axes``: ``T[*s] -> T[*kept]``; NaN wins."""
    return reduce_min_p.bind(x, axes=tuple(axes))


def reduce_and(x: Value, axes: Axes) -> Value:
    """Return the bitwise and over ``axes``: ``T[*s] -> T[*kept]`` for integers and bools."""
    return reduce_and_p.bind(x, axes=tuple(axes))


def reduce_or(x: Value, axes: Axes) -> Value:
    """Return the bitwise or over ``axes``: ``T[*s] -> T[*kept]`` for integers and bools."""
    return reduce_or_p.bind(x, axes=tuple(axes))


def reduce_xor(x: Value, axes: Axes) -> Value:
    """Return the bitwise exclusive or over ``axes``: ``T[*s] -> T[*kept]``."""
    return reduce_xor_p.bind(x, axes=tuple(axes))


provide(reduce_sum=reduce_sum, reduce_prod=reduce_prod, reduce_max=reduce_max)
provide(reduce_min=reduce_min, reduce_and=reduce_and, reduce_or=reduce_or)

__all__ = [
    "broadcast_back", "extreme", "kept_axes", "reduce_and", "reduce_and_p", "reduce_max",
    "reduce_max_p", "reduce_min", "reduce_min_p", "reduce_or", "reduce_or_p", "reduce_prod",
    "reduce_prod_p", "reduce_sum", "reduce_sum_p", "reduce_xor", "reduce_xor_p",
]  # fmt: skip
